"""The folder of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from run_fakes import new_folder, plan, trial

from zlang.errors import RunError
from zlang.run import folder


def test_a_name_is_safe_in_every_place(tmp_path: Path) -> None:
    made = folder.create(tmp_path / "r", "Größe: it's $(x)/..", tmp_path)
    assert re.fullmatch(r"gr-e-it-s-x-\d{8}-\d{6}-[0-9a-f]{4}", made.name)
    assert re.fullmatch(r"run-\d{8}-\d{6}-[0-9a-f]{4}", folder.create(tmp_path / "r", "日", tmp_path).name)
    assert made.directory == tmp_path


def test_one_runner_at_a_time(tmp_path: Path) -> None:
    made = new_folder(tmp_path, plan(trial(1)))
    with made.lock(), pytest.raises(RunError, match=r"carried out by process \d+"), made.lock():
        pass
    with made.lock():
        pass


def test_found_by_name_path_or_as_the_latest(tmp_path: Path) -> None:
    made = new_folder(tmp_path, plan(trial(1)))
    runs = tmp_path / "runs"
    assert folder.find(runs) == folder.find(runs, made.name) == folder.find(Path("/none"), str(made.path)) == made
    with pytest.raises(RunError, match="no run `nope`"):
        folder.find(runs, "nope")
    with pytest.raises(RunError, match="no runs in"):
        folder.find(tmp_path / "elsewhere")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"Not a directory|File exists"):
        folder.create(tmp_path / "file", "x", tmp_path)
