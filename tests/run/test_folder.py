"""Test the folder of a run."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from run_fakes import new_folder, plan, trial

from zlang.errors import RunError
from zlang.pipeline import runs as runs_of_the_product
from zlang.run import folder, seal


def test_a_name_is_safe_in_every_place(tmp_path: Path) -> None:
    made = folder.create(tmp_path / "r", "Größe: it's $(x)/..", tmp_path)
    assert re.fullmatch(r"gr-e-it-s-x-\d{8}-\d{6}-[0-9a-f]{4}", made.name)
    assert re.fullmatch(r"run-\d{8}-\d{6}-[0-9a-f]{4}", folder.create(tmp_path / "r", "日", tmp_path).name)
    assert made.directory == tmp_path


def test_one_runner_at_a_time(tmp_path: Path) -> None:
    made = new_folder(tmp_path, plan(trial(1)))
    with made.lock(), pytest.raises(RunError, match=r"process \d+ is already running"), made.lock():
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
    with pytest.raises(RunError, match=r"not a directory|file exists"):
        folder.create(tmp_path / "file", "x", tmp_path)


@pytest.mark.parametrize("place", ["runs", "directory"])
def test_a_path_with_a_line_end_is_refused(tmp_path: Path, place: str) -> None:
    places = {"runs": tmp_path / "runs", "directory": tmp_path, place: tmp_path / "a\nb"}
    with pytest.raises(RunError, match=r"'/.*/a\\nb' has a newline in its path"):
        folder.create(places["runs"], "e", places["directory"])
    assert list(tmp_path.iterdir()) == []


def test_a_copy_or_a_renamed_folder_is_the_same_run(tmp_path: Path) -> None:
    made = new_folder(tmp_path, plan(trial(1)))
    seal.write(made.path, made.name)
    copy = folder.Folder(tmp_path / "copy")
    shutil.copytree(made.path, copy.path)
    assert copy.run == made.run == made.name
    with (
        made.lock(),
        pytest.raises(RunError, match=rf"process {os.getpid()} is working on .*, in a copy of this folder"),
        copy.lock(),
    ):
        pass
    with copy.lock():
        pass


@pytest.mark.parametrize("content", [b"", b"\0" * 9, b"/a\0b", b"relative", b"/" + b"x" * 9000])
def test_a_damaged_directory_file_is_reported(tmp_path: Path, content: bytes) -> None:
    made = new_folder(tmp_path, plan(trial(1)))
    (made.path / "directory").write_bytes(content)
    with pytest.raises(RunError, match=r"directory( is damaged|: longer)"):
        _ = made.directory


def test_a_start_that_was_killed_leaves_a_folder_that_is_known(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    whole = new_folder(tmp_path, plan(trial(1)))
    killed = folder.create(runs, "killed", tmp_path)
    (killed.path / ".zlang-new-01234567").write_text("half")
    strange = folder.create(runs, "strange", tmp_path)
    (strange.path / "notes").write_text("mine")
    starting = folder.create(runs, "starting", tmp_path)
    with starting.lock():
        assert folder.unbegun(runs) == [killed]
    assert folder.unbegun(runs) == [killed, starting]
    assert whole.path.parent == runs
    assert runs_of_the_product.remove_unbegun(runs, killed.name) == [killed.name]
    assert not killed.path.exists()
    # Power was lost before the name of `source` reached the disk.
    (starting.path / "source").rmdir()
    (starting.path / "directory").rename(starting.path / ".zlang-new-01234567")
    (runs / "mine-1-2-abcd").mkdir()
    assert runs_of_the_product.remove_unbegun(runs, None) == [starting.name]
    assert (runs / "mine-1-2-abcd").exists()
    assert strange.path.exists()


@pytest.mark.parametrize("name", ["backup-2026-11-src1", "backup-20261127-211440-c07f"])
def test_a_directory_of_a_user_is_not_taken_for_a_start_that_was_killed(tmp_path: Path, name: str) -> None:
    code = tmp_path / name / "source" / "main.c"
    code.parent.mkdir(parents=True)
    code.touch()
    assert folder.unbegun(tmp_path) == []
    assert [*code.parent.parent.iterdir()] == [code.parent], "nothing was written there"


def test_files_that_a_killed_writer_left_go_once_they_are_old(tmp_path: Path) -> None:
    made = folder.create(tmp_path / "runs", "e", tmp_path)
    old, fresh = made.path / ".zlang-new-01234567", made.sources / ".zlang-new-89abcdef"
    kept = made.path / ".env.template"
    for path in (old, fresh, kept):
        path.touch()
    for path in (old, kept):
        os.utime(path, (0, 0))
    with made.lock():
        assert not old.exists()
        assert fresh.exists()
        assert kept.exists()
