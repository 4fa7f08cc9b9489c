"""Check that `status` reads a run once, and again only after something in its folder has changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from run_folders import RunBuilder, factor

from zlang.cli.app import guarded
from zlang.pipeline import status
from zlang.run import hashes, status_cache
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
