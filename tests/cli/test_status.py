"""Check that `status` reads a run once, and again only after something in its folder has changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from run_folders import RunBuilder, factor

from zlang.cli.app import guarded
from zlang.pipeline import status
from zlang.run import hashes, outputs, status_cache
from zlang.run.events import Commit, Session

WORDS = (["status"], ["status", "lab"], ["status", "--json"], ["status", "lab", "--json"])
CHANGED = "trial 1, replicate 1: its output was changed after the measurement"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunBuilder:
    """Create an unfinished run of two trials, one of which failed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(status_cache, "_STEP", 0)
    builder = RunBuilder(tmp_path / "runs" / "lab", factors=(factor("bs", "size"),), finished=False)
    builder.measured("p", 1, {"bs": 4096}, "5\n")
    commit = builder.events[-1]
    assert isinstance(commit, Commit)
    builder.events[-1] = replace(commit, files=hashes.of_directory(builder.path / commit.out))
    builder.failed("q", 1, {"bs": 8192}, "no such device")
    builder.done()
    time.sleep(0.02)  # longer than a step of the kernel's clock
    return builder


def answers(capsys: pytest.CaptureFixture[str]) -> list[str]:
    for words in WORDS:
        assert guarded(words) == 0
    return capsys.readouterr().out.splitlines()


def test_a_run_is_read_once(
    run: RunBuilder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(run.path.rglob("*"))
    first = answers(capsys)
    assert any("trial 2, replicate 1: measure: no such device" in line for line in first)
    monkeypatch.setattr(status, "_read", None)
    assert answers(capsys) == first
    assert sorted(run.path.rglob("*")) == before


def test_a_changed_output_is_reported_until_it_is_restored(run: RunBuilder, capsys: pytest.CaptureFixture[str]) -> None:
    first = answers(capsys)
    file = run.path / "trials/p/1/a1/measure.out"
    times = file.stat().st_mtime_ns
    for text, is_changed in (("6\n", True), ("6\n", True), ("5\n", False)):
        file.write_text(text, "utf-8")
        os.utime(file, ns=(times, times))
        time.sleep(0.02)
        for _ in range(2):
            assert any(CHANGED in line for line in answers(capsys)) is is_changed
    assert answers(capsys) == first


def test_trials_that_are_added_are_counted(run: RunBuilder, capsys: pytest.CaptureFixture[str]) -> None:
    assert any("2 of 2 trials" in line for line in answers(capsys))
    run.events.append(Session(run.tick(), "lab", "boot"))
    run.measured("q", 1, {"bs": 8192}, '{"metrics": {"read_iops": 7.0}}', attempt="a2")
    run.finished = True
    run.done()
    time.sleep(0.02)
    for _ in range(2):
        shown = answers(capsys)
        assert "lab  2 of 2 trials  finished" in shown, shown


def test_two_concurrent_calls_give_the_same_answer(run: RunBuilder, tmp_path: Path) -> None:
    time.sleep(2.1)  # these processes do not save an answer for a folder that changed just now
    command = [sys.executable, "-m", "zlang.cli.app", "status", "lab"]
    for _ in range(2):
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        shown = {process.communicate()[0] for process in both}
        assert len(shown) == 1, shown
    assert len([*(tmp_path / "state/zlang/status").iterdir()]) == 1


def test_a_run_that_cannot_be_read_does_not_hide_the_others(
    run: RunBuilder, capsys: pytest.CaptureFixture[str]
) -> None:
    other = run.path.with_name("other")
    shutil.copytree(run.path, other)
    (other / "journal.jsonl").unlink()
    (other / "journal.jsonl").mkdir()
    assert guarded(["status"]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("lab  ")
    assert f"cannot read the journal {other}/journal.jsonl: not a regular file" in printed.err


@pytest.mark.parametrize("is_packed", [False, True])
def test_the_output_of_a_trial_is_printed_wherever_it_is(
    run: RunBuilder, capsys: pytest.CaptureFixture[str], *, is_packed: bool
) -> None:
    (at,) = (n for n, event in enumerate(run.events) if isinstance(event, Commit))
    commit = run.events[at]
    assert isinstance(commit, Commit)
    (run.path / commit.out / "ring").write_text("\a\n")
    if is_packed:
        files = outputs.small_files(run.path / commit.out)
        assert files is not None
        with closing(outputs.Packer(run.path)) as packer:
            commit = replace(commit, packed=packer.append(commit.out, files))
        outputs.remove(run.path / commit.out, files)
    run.events[at] = replace(commit, files="")
    run.done()
    assert guarded(["status", "lab", "--trial", "1"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "trial 1, replicate 1, counts"
    assert printed[-2:] == [f"==> {run.path / commit.out / 'ring'} <==", "\\x07"]
    assert guarded(["status", "--trial", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"]["ring"] == "\a\n"


def test_output_that_is_not_there_is_explained(run: RunBuilder, capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(["status", "lab", "--trial", "2"]) == 0
    assert capsys.readouterr().out.startswith("trial 2, replicate 1, does not count: measure: no such device\n")
    for words, why in (
        (["status", "lab", "--trial", "9"], "the plan has no trial number 9"),
        (["status", "lab", "--trial", "1", "--follow"], "omit --follow: it shows all trials"),
    ):
        assert guarded(words) != 0
        assert why in capsys.readouterr().err
