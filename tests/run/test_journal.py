"""Lines of the journal: what is written is read, what is torn is not believed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.errors import RunError
from zlang.run import journal
from zlang.run.events import (
    Altered,
    Begin,
    Commit,
    End,
    Fail,
    Finish,
    Interrupt,
    Made,
    Recorded,
    Session,
    Start,
    Unmade,
)

word = st.text("abcXYZ019._/-", max_size=12)
times = st.integers(0, 2 * 10**12).map(lambda thousandths: thousandths / 1000)
whole = st.integers(-200, 10**6)
events: st.SearchStrategy[Recorded] = st.one_of(
    st.builds(Session, times, word, word),
    st.builds(Begin, times, word, whole, whole, word),
    st.builds(Start, times, word, word),
    st.builds(End, times, word, word, whole),
    st.builds(Made, times, word, word),
    st.builds(Altered, times, word, word, word),
    st.builds(Unmade, times, word, word),
    st.builds(Commit, times, word, whole, word),
    st.builds(Fail, times, word, whole, word, word),
    st.builds(Finish, times),
    st.builds(Interrupt, times),
)


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=700))
def test_the_checksum_is_that_of_cksum(data: bytes) -> None:
    printed = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout
    assert journal.cksum(data) == int(printed.split()[0])


def test_a_line_is_as_the_script_writes_it() -> None:
    line = journal.encode(End(1795241196.347, "measure", "trials/ab12/1/a1", 0))
    body = b'{"t":1795241196.347,"event":"end","step":"measure","out":"trials/ab12/1/a1","rc":0'
    printed = subprocess.run(["cksum"], input=body, capture_output=True, check=True).stdout
    assert line == body + b',"crc":' + printed.split()[0] + b"}\n"


@given(events)
def test_what_is_encoded_is_decoded(event: Recorded) -> None:
    assert journal.decode(journal.encode(event)) == event


@given(events, st.data())
def test_what_is_torn_or_altered_is_not_believed(event: Recorded, data: st.DataObject) -> None:
    line = journal.encode(event)
    cut = data.draw(st.integers(1, len(line) - 2))
    assert journal.decode(line[:cut]) is None
    where = data.draw(st.integers(0, len(line) - 2))
    other = bytes([line[where] ^ (1 << data.draw(st.integers(0, 7)))])
    assert journal.decode(line[:where] + other + line[where + 1 :]) in {None, event}


def test_a_writer_begins_on_a_fresh_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first, second = Commit(1.0, "a", 1, "trials/a/1/a1"), Commit(2.0, "b", 1, "trials/b/1/a1")
    path.write_bytes(journal.encode(first) + journal.encode(second)[:30])
    with journal.Writer(path) as writer:
        writer.write(second)
    lines = journal.Lines(path)
    assert list(lines) == [first, second]
    assert lines.bad == 1
    standing = journal.standing(path)
    assert (standing.done, standing.bad) == (2, 1)


def test_a_whole_line_without_its_newline_counts(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(journal.encode(Finish(1.0))[:-1])
    with journal.Writer(path) as writer:
        writer.write(Finish(2.0))
    lines = journal.Lines(path)
    assert (list(lines), lines.bad) == ([Finish(1.0), Finish(2.0)], 0)


def test_what_was_made_and_not_unmade_is_left(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with journal.Writer(path) as writer:
        for event in (
            Start(1.0, "make", "setups/p/a1"),
            Made(1.0, "pool", "p"),
            Start(1.0, "make", "setups/d/a2"),
            Start(1.0, "make", "setups/e/a1"),
            Altered(1.0, "pool", "p", "q"),
            Unmade(1.0, "file", "e"),
        ):
            writer.write(event)
    standing = journal.standing(path)
    assert list(standing.left) == ["q", "d"]
    assert standing.attempts == {"p": 1, "d": 2, "e": 1}


def test_no_journal_is_an_empty_one(tmp_path: Path) -> None:
    assert journal.standing(tmp_path / "none").done == 0
    with pytest.raises(RunError, match="Is a directory"):
        journal.standing(tmp_path)
