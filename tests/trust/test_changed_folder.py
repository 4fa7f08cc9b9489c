"""Test run folders changed by hand: what no longer counts, what is reported, and what is still carried out."""

from __future__ import annotations

import re
import shutil
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from command_line import Zlang

from zlang.plan.plan import Trial
from zlang.readers.judge import judge
from zlang.run.account import FILES_CHANGED, LOST, NOT_CARRIED_OUT, PLAN_CHANGED, Account
from zlang.run.folder import Folder

PROGRAM = """
let n = 1 | 2
dir here { path = "." }
shell io { command = "echo speed={n}000"  metrics = [regex("speed: count=speed=([0-9]+)")]  writes = off }
experiment e { on = here  run = io  repeat = 2 }
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    zlang = Zlang(tmp_path_factory.mktemp("measured"))
    zlang.run(PROGRAM)
    return zlang.folder()


@pytest.fixture
def zlang(measured: Path, tmp_path: Path) -> Zlang:
    """Create a directory with a copy of the run, which may be changed."""
    shutil.copytree(measured.parents[1], tmp_path, dirs_exist_ok=True)
    return Zlang(tmp_path)


def substitute(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(run: Path) -> None:
        for path in run.glob(name):
            text = path.read_text()
            assert old in text
            path.write_text(text.replace(old, new))

    return change


def relined(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Path], None]:
    """Change the lines from the end of the first trial's command on: end, commit, begin, start and so on."""

    def rewrite(run: Path) -> None:
        journal = run / "journal.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        at = next(n for n, line in enumerate(lines) if b'"step":"measure"' in line and b'"end"' in line)
        journal.write_bytes(b"".join(lines[:at] + change(lines[at:])))

    return rewrite


def trial(run: Path, number: int) -> Trial:
    return next(item for item in Folder(run).read_plan().items() if isinstance(item, Trial) and item.number == number)


def write_in_first(name: str, content: str) -> Callable[[Path], None]:
    """Write a file of the first trial's output."""

    def write(run: Path) -> None:
        (run / trial(run, 1).place / "a1" / name).write_text(content)

    return write


def swap_outputs(run: Path) -> None:
    """Give the first trial the output of one with the other level."""
    level = trial(run, 1).factors["n"]
    other = next(item for item in map(partial(trial, run), range(2, 5)) if item.factors["n"] != level)
    write_in_first("measure.out", (run / other.place / "a1" / "measure.out").read_text())(run)


def change_the_kernel(run: Path) -> None:
    (run / "facts" / "kernel.out").write_text("Linux 9\n")


JOURNAL = "its part of the journal is damaged"
CHANGES: dict[str, tuple[Callable[[Path], None], dict[int, str]]] = {
    "a level in the plan": (substitute("plan.jsonl", '"n":1', '"n":2'), dict.fromkeys(range(1, 5), PLAN_CHANGED)),
    "a command in the plan": (substitute("plan.jsonl", "1000", "9000"), dict.fromkeys(range(1, 5), PLAN_CHANGED)),
    "a figure": (write_in_first("measure.out", "speed=9000\n"), {1: FILES_CHANGED}),
    "one more file": (write_in_first("notes", "mine"), {1: FILES_CHANGED}),
    "the output of another trial": (swap_outputs, {1: FILES_CHANGED}),
    "a bit of the journal": (
        relined(lambda lines: [lines[0].replace(b"rc", b"rb"), *lines[1:]]),
        {1: JOURNAL},
    ),
    "a line of the journal lost": (relined(lambda lines: lines[1:]), {1: JOURNAL}),
    "two lines of the journal swapped": (relined(lambda lines: [lines[1], lines[0], *lines[2:]]), {1: JOURNAL}),
    "a line of the journal twice": (relined(lambda lines: [lines[0], *lines]), {1: JOURNAL}),
    "the end of the journal lost": (
        relined(lambda lines: lines[:2]),
        {2: NOT_CARRIED_OUT, 3: NOT_CARRIED_OUT, 4: NOT_CARRIED_OUT},
    ),
    "a fact of the machine": (change_the_kernel, {}),
    "the text of the program": (substitute("source/*.zexp", "000", "111"), {}),
}


def why_not(run: Path) -> dict[int, str]:
    """Return the reason for each trial that does not count."""
    account = Account(Folder(run), judge)
    items = [item for item in Folder(run).read_plan().items() if isinstance(item, Trial)]
    reasons = {item.number: account.verdict(item)[1] for item in items}
    return {number: why for number, why in reasons.items() if why}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_trials_do_not_count(zlang: Zlang, change: str) -> None:
    made, expected = CHANGES[change]
    run = zlang.folder()
    assert why_not(run) == {}
    made(run)
    reasons = why_not(run)
    assert reasons.keys() == expected.keys()
    assert all(why.startswith(expected[number]) for number, why in reasons.items())


def test_a_changed_fact_is_no_fact_of_the_results(zlang: Zlang) -> None:
    run = zlang.folder()
    change_the_kernel(run)
    assert "the fact `kernel` was changed after it was recorded" in zlang("status", run.name).out
    (zlang.at / "results.duckdb").unlink()
    zlang("ingest")
    assert zlang.rows("select value from facts where name = 'kernel'") == []
    assert zlang.rows("select count(*) as n from facts where name = 'os'") == [{"n": 1}]
    assert zlang.rows("select count(*) as n from problems where problem like '%kernel%'") == [{"n": 1}]


def test_trials_measured_again_after_losing_the_journal_count(zlang: Zlang) -> None:
    run = zlang.folder()
    (run / "journal.jsonl").unlink()
    assert set(why_not(run).values()) == {NOT_CARRIED_OUT}
    assert "4 of 4 trials count" in zlang("resume").out
    assert why_not(run) == {}


def test_an_attempt_that_the_journal_lost_is_believed_to_be_the_last(zlang: Zlang) -> None:
    run = zlang.folder()
    place = run / trial(run, 1).place
    shutil.copytree(place / "a1", place / "a2")
    assert why_not(run) == {1: LOST}


@pytest.mark.parametrize("name", ["plan.jsonl", "directory", "seal"])
def test_nothing_is_carried_out_of_a_folder_whose_seal_is_broken(zlang: Zlang, name: str) -> None:
    path = zlang.folder() / name
    path.write_bytes(path.read_bytes().replace(b"e", b"f", 1))
    for command in ("resume", "clean"):
        assert "no command of the run" in zlang(command, code=1).err
    assert "are not used" in zlang("run", "program.zexp").err


def test_a_folder_of_another_user_is_read_and_not_carried_out(zlang: Zlang) -> None:
    other = Zlang(zlang.at, {"XDG_STATE_HOME": str(zlang.at / "other")})
    (zlang.at / "results.duckdb").unlink()
    assert "4 of them count" in other("ingest").out
    for command in ("resume", "clean"):
        assert "was sealed by another user or on another machine" in other(command, code=1).err
    assert "4 of 4 trials count" in other("resume", "--trust").out
    assert "nothing left to remove" in other("clean").out


MADE = ("{inode} 1\n{other}", "", "\0", "1 1\n{at}\n{at}")


@pytest.mark.parametrize("made", MADE)
def test_a_directory_other_than_the_created_one_is_never_removed(tmp_path: Path, made: str) -> None:
    """The file `made` is not sealed: whatever it contains, only the directory with the run's name is removed."""
    zlang = Zlang(tmp_path)
    process = zlang.start("run", zlang.program(PROGRAM.replace("echo", "touch running; sleep 60; echo")))
    while not (running := list(tmp_path.glob("zlang-*/running"))):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    at, other = running[0].parent, tmp_path / "other"
    other.mkdir()
    (other / "precious").write_text("theirs")
    (file,) = zlang.folder().glob("setups/*/a1/made")
    before = file.read_text()
    file.write_text(made.format(other=other, at=at, inode=other.stat().st_ino))
    ended = zlang("clean", code=1)
    assert (other / "precious").read_text() == "theirs"
    assert (at / "running").exists()
    assert re.search("is not the directory that this run made|Directory not empty|has a newline", ended.out + ended.err)
    file.write_text(before)
    zlang("clean")
    assert not at.exists()


@pytest.mark.parametrize("name", ["setups", "setups/*", "trials", "facts"])
def test_nothing_is_written_through_a_link_in_the_folder(tmp_path: Path, name: str) -> None:
    zlang = Zlang(tmp_path)
    zlang.run(PROGRAM)
    run = zlang.folder()
    journal = run / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b'"begin"' in line)
    if name == "facts":
        lines[:at] = [line for line in lines[:at] if b'"facts"' not in line]
    journal.write_bytes(b"".join(lines[:at]))
    (place,) = run.glob(name)
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    before = sorted((tmp_path / "elsewhere").rglob("*"))
    refused = zlang("resume", code=1)
    assert "is a link, or within one, and links are not followed" in refused.err
    assert sorted((tmp_path / "elsewhere").rglob("*")) == before


def test_the_name_of_a_folder_steers_no_terminal(zlang: Zlang) -> None:
    (run,) = zlang.at.glob("runs/*")
    run.rename(run.with_name("x\x1b[2Jy"))
    for words in (["status"], ["status", "x\x1b[2Jy"]):
        ended = zlang(*words)
        assert "x\\x1b[2Jy" in ended.out + ended.err
        assert "\x1b" not in ended.out + ended.err
