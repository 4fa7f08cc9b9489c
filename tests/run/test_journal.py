"""Test lines of the journal: what was written can be read, and torn lines are rejected."""

from __future__ import annotations

import errno
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.errors import RunError
from zlang.run import journal, run_state
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
    Skip,
    Start,
    Unmade,
)

word = st.text("abcXYZ019._/-", max_size=12)
place = st.text("abcXYZ019_-", max_size=5).map(lambda name: f"trials/{name}/1/a1")
times = st.integers(0, 2 * 10**12).map(lambda thousandths: thousandths / 1000)
whole = st.integers(-200, 10**6)
events: st.SearchStrategy[Recorded] = st.one_of(
    st.builds(Session, times, word, word),
    st.builds(Begin, times, word, whole, whole, place),
    st.builds(Start, times, word, place),
    st.builds(End, times, word, place, whole),
    st.builds(Made, times, word, word),
    st.builds(Altered, times, word, word, word),
    st.builds(Unmade, times, word, word),
    st.builds(Commit, times, word, whole, place),
    st.builds(Fail, times, word, whole, place, word),
    st.builds(Finish, times),
    st.builds(Interrupt, times),
    st.builds(Skip, times, word, whole, whole, word),
)


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=700))
def test_the_checksum_is_that_of_cksum(data: bytes) -> None:
    printed = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout
    assert journal.cksum(data) == int(printed.split()[0])


@pytest.mark.parametrize("length", [127, 128, 255, 256, 32_767, 32_768, 65_535, 65_536])
def test_the_checksum_counts_the_bytes_of_the_length(length: int) -> None:
    data = b"x" * length
    printed = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout
    assert journal.cksum(data) == int(printed.split()[0])


def test_clocks_are_written_in_milliseconds() -> None:
    line = journal.encode(Finish(1.23456, up=2.34567, apart=0.01234), 7)
    assert line.startswith(b'{"n":7,"t":1.235,"up":2.346,"apart":0.012,"event":')
    assert b"apart" not in journal.encode(Finish(1.0, up=2.0), 7)


def test_a_line_is_as_the_script_writes_it() -> None:
    line = journal.encode(End(1795241196.347, "measure", "trials/ab12/1/a1", 0, up=812.5), 12)
    body = b'{"n":12,"t":1795241196.347,"up":812.5,"event":"end","step":"measure","out":"trials/ab12/1/a1","rc":0'
    printed = subprocess.run(["cksum"], input=body, capture_output=True, check=True).stdout
    assert line == body + b',"crc":' + printed.split()[0] + b"}\n"


@given(events, st.one_of(st.none(), st.integers(1, 10**9)), st.one_of(st.none(), times))
def test_encoded_events_can_be_decoded(event: Recorded, number: int | None, up: float | None) -> None:
    event = replace(event, up=up)
    assert journal.decode(journal.encode(event, number)) == (number, event)


@given(events, st.data())
def test_torn_or_altered_lines_are_ignored(event: Recorded, data: st.DataObject) -> None:
    line = journal.encode(event, 7)
    cut = data.draw(st.integers(1, len(line) - 2))
    assert journal.decode(line[:cut]) is None
    where = data.draw(st.integers(0, len(line) - 2))
    other = bytes([line[where] ^ (1 << data.draw(st.integers(0, 7)))])
    assert journal.decode(line[:where] + other + line[where + 1 :]) in {None, (7, event)}


@pytest.mark.parametrize(
    "body",
    [
        '{"n":0,"t":1.0,"event":"finish"',
        '{"n":true,"t":1.0,"event":"finish"',
        '{"n":1.5,"t":1.0,"event":"finish"',
        '{"n":1,"t":-1e300,"event":"finish"',
        '{"n":1,"t":1e300,"event":"finish"',
        '{"n":1,"t":253402300800,"event":"finish"',
        '{"n":9007199254740992,"t":1.0,"event":"finish"',
        '{"n":1,"t":1.0,"event":"end","step":"a","out":"x","rc":9007199254740992',
        '{"n":1,"t":true,"event":"finish"',
        '{"n":1,"t":"1","event":"finish"',
        '{"n":1,"t":1.0,"up":1e13,"event":"finish"',
        '{"n":1,"t":1.0,"event":["finish"]',
        '{"n":1,"t":1.0,"event":null',
        '{"n":1,"t":1.0,"event":"start","step":"a","out":"/etc"',
        '{"n":1,"t":1.0,"event":"start","step":"a","out":"trials/../../x"',
        '{"n":1,"t":1.0,"event":"start","step":"a b","out":"x"',
        '{"n":1,"t":1.0,"event":"start","step":"a","out":"x\\u0000"',
        '{"n":1,"t":1.0,"event":"end","step":"a","out":"x","rc":99999999999999999999999',
        '{"n":1,"t":1.0,"event":"commit","trial":"a","replicate":true,"out":"x"',
        '{"n":1,"t":1.0,"event":"commit","trial":"a","replicate":1,"out":"x","files":7',
        "[1",
        '"',
    ],
)
def test_a_line_that_no_run_writes_is_not_believed(body: str) -> None:
    assert journal.decode(b'%b,"crc":%d}\n' % (body.encode(), journal.cksum(body.encode()))) is None


def _write(path: Path, *events: Recorded) -> list[bytes]:
    path.unlink(missing_ok=True)
    with journal.Writer(path) as writer:
        writer.write(*events)
    return path.read_bytes().splitlines(keepends=True)


def _read(path: Path, lines: list[bytes]) -> tuple[list[float], list[str], int]:
    """Return the times of the events, the gaps, and the number of torn lines."""
    path.write_bytes(b"".join(lines))
    read = journal.Lines(path)
    lines_and_gaps = list(read)
    gaps = [str(line) for line in lines_and_gaps if isinstance(line, journal.Gap)]
    return [line.t for line in lines_and_gaps if not isinstance(line, journal.Gap)], gaps, read.torn


def test_a_line_that_is_missing_altered_doubled_or_moved_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first, two, three, four = _write(path, *(Finish(float(n)) for n in (1, 2, 3, 4)))
    flipped = two.replace(b"2.0", b"3.0")
    missing = "line 2 of the journal is missing or broken"
    assert _read(path, [first, two, three, four]) == ([1, 2, 3, 4], [], 0)
    assert _read(path, [first, three, four]) == ([1, 3, 4], [missing], 0)
    assert _read(path, [first, flipped, three, four]) == ([1, 3, 4], [missing], 0)
    assert _read(path, [first, b"\0" * 5_000_000 + b"\n", three, four]) == ([1, 3, 4], [missing], 0)
    assert _read(path, [first, four]) == ([1, 4], ["lines 2 to 3 of the journal are missing or broken"], 0)
    assert _read(path, [two, three]) == ([2, 3], ["line 1 of the journal is missing or broken"], 0)
    misplaced = "line 2 of the journal is duplicated or in the wrong place"
    assert _read(path, [first, two, two, three]) == ([1, 2, 3], [misplaced], 0)
    assert _read(path, [first, three, two, four]) == ([1, 3, 4], [missing, misplaced], 0)
    assert _read(path, [first, two, b"junk\n", three]) == ([1, 2, 3], [], 1)
    assert _read(path, [first, flipped]) == ([1], [missing], 0)
    assert _read(path, [first, flipped, flipped, four]) == (
        [1, 4],
        ["lines 2 to 3 of the journal are missing or broken"],
        0,
    )
    assert _read(path, [first, flipped, flipped]) == ([1], ["lines 2 to 3 of the journal are missing or broken"], 0)
    assert _read(path, [first, two, b"junk\n", b"\n", b"junk\n", three]) == ([1, 2, 3], [], 2)


def test_a_line_torn_by_a_crash_is_not_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first, two, three = _write(path, *(Finish(float(n)) for n in (1, 2, 3)))
    for torn in (two[:-1][:20], b"\0" * 4096, two[:10] + b"\0" * 4096):
        assert _read(path, [first, torn]) == ([1], [], 1)
        assert _read(path, [first, torn, b"\n", two, three]) == ([1, 2, 3], [], 1)


def test_a_gap_stays_when_a_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first, two = _write(path, Finish(1.0), Finish(2.0))
    path.write_bytes(first + two.replace(b"2.0", b"3.0"))
    state = run_state.read(path)
    assert (state.damage, state.number) == (["line 2 of the journal is missing or broken"], 2)
    with journal.Writer(path, state.number) as writer:
        writer.write(Finish(3.0))
    assert run_state.read(path).damage == state.damage


def test_an_older_journal_has_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    session = journal.encode(Session(3.0, "r", "b"))
    first, two = journal.encode(Finish(1.0)), journal.encode(Finish(2.0))
    assert _read(path, [first, two, session]) == ([1, 2, 3], [], 0)
    assert _read(path, [first, two[:9] + b"\n", session]) == ([1, 3], [], 1)
    assert _read(path, [first, two[:9] + b"\n", first]) == ([1, 1], ["line 2 of the journal is missing or broken"], 0)
    assert _read(path, [first, two, journal.encode(Finish(3.0), 3)]) == ([1, 2, 3], [], 0)
    assert _read(path, [first, journal.encode(Finish(2.0), 2), first]) == (
        [1, 2],
        ["line 3 of the journal is missing or broken"],
        0,
    )
    body = b'{"t":1.0,"event":"spare","trial":"a","replicate":1,"number":1,"why":"precise"'
    skip = Skip(1.0, "a", 1, 1, "precise")
    assert journal.decode(b'%b,"crc":%d}\n' % (body, journal.cksum(body))) == (None, skip)


def test_a_writer_begins_on_a_fresh_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    first, second = Commit(1.0, "a", 1, "trials/a/1/a1"), Commit(2.0, "b", 1, "trials/b/1/a1")
    path.write_bytes(journal.encode(first, 1) + journal.encode(second, 2)[:30])
    with journal.Writer(path, run_state.read(path).number) as writer:
        writer.write(second)
    lines = journal.Lines(path)
    assert list(lines) == [first, second]
    assert lines.torn == 1
    state = run_state.read(path)
    assert (state.done, state.torn, state.damage) == (2, 1, [])


def test_a_line_that_is_not_awaited_is_on_the_disk_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "journal.jsonl", list[bytes]()
    begin, commit = Begin(1.0, "a", 1, 1, "trials/a/1/a1"), Commit(2.0, "a", 1, "trials/a/1/a1")
    with journal.Writer(path) as writer:
        monkeypatch.setattr("os.fsync", lambda _: synced.append(path.read_bytes()))
        writer.write(begin, is_awaited=False)
        assert (path.read_bytes(), synced) == (journal.encode(begin, 1), [])
        writer.write(commit)
    assert synced == [journal.encode(begin, 1) + journal.encode(commit, 2)]


def test_a_whole_line_without_its_newline_counts(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(journal.encode(Finish(1.0), 1)[:-1])
    with journal.Writer(path, run_state.read(path).number) as writer:
        writer.write(Finish(2.0))
    lines = journal.Lines(path)
    assert (list(lines), lines.torn) == ([Finish(1.0), Finish(2.0)], 0)


def test_resources_that_were_not_destroyed_are_leftovers(tmp_path: Path) -> None:
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
    state = run_state.read(path)
    assert list(state.leftovers) == ["q", "d"]
    assert state.setup_attempts == {"p": 1, "d": 2, "e": 1}


def test_no_journal_is_an_empty_one(tmp_path: Path) -> None:
    assert run_state.read(tmp_path / "none").done == 0
    with pytest.raises(RunError) as refused:
        run_state.read(tmp_path)
    assert (refused.value.message, refused.value.hint) == (
        f"cannot read the journal {tmp_path}: not a regular file",
        "",
    )


def test_after_a_failed_write_the_next_line_starts_fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.jsonl"
    with journal.Writer(path) as writer:
        writer.write(Finish(1.0))
        with monkeypatch.context() as fault:
            fault.setattr("os.fsync", _fail)
            with pytest.raises(RunError) as refused:
                writer.write(Finish(2.0))
        assert refused.value.message == f"cannot write the journal {path}: input/output error"
        writer.write(Finish(2.0))
        writer.write(Finish(3.0))
    lines = path.read_bytes().splitlines()
    assert [bool(line) for line in lines] == [True, True, False, True, True]
    assert list(journal.Lines(path))[-1] == Finish(3.0)


def _fail(descriptor: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_lines_that_are_missing_are_counted() -> None:
    assert [len(journal.Gap(first, last)) for first, last in ((1, 1), (3, 5), (7, 4))] == [1, 3, 1]


def test_a_journal_that_cannot_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.symlink_to("elsewhere")
    with pytest.raises(RunError) as refused:
        journal.Writer(path)
    assert refused.value.message == f"cannot open the journal {path}: too many levels of symbolic links"
    assert not (tmp_path / "elsewhere").exists()


def test_the_name_of_a_new_journal_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[Path] = []
    monkeypatch.setattr("zlang.run.journal.sync_directory", waited.append)
    path = tmp_path / "journal.jsonl"
    for number in (1, 2):
        with journal.Writer(path) as writer:
            assert waited == [tmp_path], number
            writer.write(Finish(1.0))
    assert path.stat().st_mode & 0o777 == 0o644
    assert b"\n\n" not in path.read_bytes()


def test_a_line_that_ends_otherwise_is_not_believed() -> None:
    line = journal.encode(Finish(1.0), 1)
    assert journal.decode(line) is not None
    assert journal.decode(line.replace(b"}\n", b"x\n")) is None
    assert journal.decode(b'"7}\n') is None


@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_lines_after_an_overlong_line_are_read(beyond: int, tmp_path: Path) -> None:
    """Lines that end exactly at the limit of one read are included."""
    path = tmp_path / "journal"
    with journal.Writer(path) as writer:
        writer.write(Session(1.0, "plan", "tools"))
    length = journal._LONGEST_LINE + beyond - 1
    path.write_bytes(path.read_bytes() + b"x" * length + b"\n")
    with journal.Writer(path, 2) as writer:
        writer.write(Finish(2.0))
    assert [type(event) for event in journal.Lines(path)] == [Session, journal.Gap, Finish]


def test_a_growing_journal_is_read_from_its_last_end(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines = [journal.encode(Finish(float(number)), number) for number in (1, 2, 3)]
    written = [b"", lines[0] + lines[1][:20], lines[1][20:], b'{"torn', b"\n" + lines[2]]

    def write_more() -> bool:
        if not written:
            return False
        with path.open("ab") as file:
            file.write(written.pop(0))
        return True

    assert list(journal.Tail(path, write_more)) == [Finish(1.0), Finish(2.0), Finish(3.0)]


def test_a_missing_line_of_a_journal_that_grows_is_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(journal.encode(Finish(1.0), 1) + journal.encode(Finish(3.0), 3))
    assert list(journal.Tail(path, lambda: False)) == [Finish(1.0), journal.Gap(2, 2), Finish(3.0)]


# -- signatures


def _sign(line: bytes) -> str:
    return f"{journal.cksum(line):032x}"


def _forged(body: bytes) -> bytes:
    return b'%b,"crc":%d}\n' % (body, journal.cksum(body))


SIGNED = journal.encode(Commit(1.0, "ab12", 1, "trials/ab12/1/a1"), 1, _sign)
_BODY = SIGNED[: SIGNED.index(b',"crc"')]


def test_a_signed_line_is_known() -> None:
    assert journal.is_signed(SIGNED, _sign)
    assert journal.decode(SIGNED) == (1, Commit(1.0, "ab12", 1, "trials/ab12/1/a1"))


@pytest.mark.parametrize(
    "line",
    [
        journal.encode(Commit(1.0, "ab12", 1, "trials/ab12/1/a1"), 1),
        _forged(_BODY.replace(b'"n":1', b'"n":2')),
        _forged(_BODY + b',"replicate":2'),
        _forged(_BODY + b',"crc":1'),
        _forged(_BODY[:-1] + b'0"'),
        _BODY,
        b"",
    ],
    ids=["without", "of another line", "a member behind it", "two checksums", "too long", "no checksum", "nothing"],
)
def test_unsigned_lines_are_recognised(line: bytes) -> None:
    assert not journal.is_signed(line, _sign)


def test_lines_are_signed_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with journal.Writer(path, sign=_sign) as writer:
        writer.write(Session(1.0, "run", "boot"), Finish(2.0))
    with journal.Writer(path, 2) as writer:
        writer.write(Session(3.0, "run", "boot"))
    assert [journal.is_signed(line, _sign) for line in path.read_bytes().splitlines(keepends=True)] == [
        True,
        True,
        False,
    ]
    assert run_state.read(path, _sign).unsigned == [3]
    assert run_state.read(path).unsigned == []
