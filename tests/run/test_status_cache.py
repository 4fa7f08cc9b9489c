"""Check that a cached answer about a run folder is used only if nothing in the folder has changed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from zlang.run import seal, status_cache

FILE = "trials/0a/1/a1/measure.out"
ANSWER = '{"done": 1}'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a folder whose answer was saved."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(status_cache, "_STEP", 0)
    path = tmp_path / "run"
    for name, text in (("plan.jsonl", "{}\n"), ("journal.jsonl", "{}\n"), (FILE, "4096\n")):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text, "utf-8")
    time.sleep(0.02)  # longer than a step of the kernel's clock
    save(path)
    assert status_cache.load(path) == ANSWER
    return path


def save(path: Path) -> None:
    snapshot = status_cache.describe(path)
    assert snapshot is not None
    status_cache.save(path, snapshot, ANSWER)


def saved_file(folder: Path) -> Path:
    (file,) = (folder.parent / "state" / "zlang" / "status").iterdir()
    return file


def put_back(path: Path, status: os.stat_result) -> None:
    """Restore the times of a path, as `touch -r` does."""
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def alter(folder: Path) -> None:
    before = (folder / FILE).stat()
    (folder / FILE).write_text("8192\n", "utf-8")
    put_back(folder / FILE, before)


def truncate(folder: Path) -> None:
    os.truncate(folder / FILE, 0)


def replace_by_rename(folder: Path) -> None:
    file, place = folder / FILE, (folder / FILE).parent.stat()
    before = file.stat()
    (folder.parent / "other").write_text("8192\n", "utf-8")
    (folder.parent / "other").rename(file)
    put_back(file, before)
    put_back(file.parent, place)


def replace_by_copy(folder: Path) -> None:
    shutil.copytree(folder, folder.parent / "copy", copy_function=shutil.copy2)
    shutil.rmtree(folder)
    (folder.parent / "copy").rename(folder)


def replace_directory_by_link(folder: Path) -> None:
    place = folder / "trials" / "0a"
    place.rename(folder.parent / "0a")
    place.symlink_to(folder.parent / "0a")


CHANGES: list[Callable[[Path], object]] = [
    alter,
    truncate,
    replace_by_rename,
    replace_by_copy,
    replace_directory_by_link,
    lambda folder: (folder / FILE).unlink(),
    lambda folder: (folder / FILE).chmod(0),
    lambda folder: (folder / FILE).with_name("more.out").touch(),
    lambda folder: (folder / "trials/0a/1/a2").mkdir(),
    lambda folder: (folder / "trials/0a/1/a1").rename(folder / "trials/0a/1/a2"),
    lambda folder: (folder / "journal.jsonl").write_text("{}\n{}\n", "utf-8"),
    lambda folder: (folder / "slurm").touch(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_folder_is_read_again(folder: Path, change: Callable[[Path], object]) -> None:
    change(folder)
    assert status_cache.load(folder) is None


def test_a_copy_of_a_folder_is_read(folder: Path) -> None:
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy, copy_function=shutil.copy2)
    assert status_cache.load(copy) is None
    save(copy)
    first, second = (folder.parent / "state/zlang/status").iterdir()
    for old, new in ((first, "x"), (second, first.name), (first.with_name("x"), second.name)):
        old.rename(old.with_name(new))
    assert status_cache.load(folder) is None
    assert status_cache.load(copy) is None


def test_a_folder_that_changed_just_now_is_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_cache, "_STEP", 10**10)
    assert status_cache.describe(folder) is None


def test_a_folder_that_will_change_in_the_future_is_read_again(folder: Path) -> None:
    os.utime(folder / FILE, (time.time() + 100, time.time() + 100))
    assert status_cache.describe(folder) is None


def test_a_folder_with_a_link_is_read_again(folder: Path) -> None:
    (folder / "link").symlink_to(folder.parent)
    assert status_cache.describe(folder) is None


def test_a_damaged_answer_is_ignored(folder: Path) -> None:
    content = saved_file(folder).read_bytes()
    for at in range(0, len(content), 7):
        saved_file(folder).write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert status_cache.load(folder) is None
        saved_file(folder).write_bytes(content[:at])
        assert status_cache.load(folder) is None
    saved_file(folder).write_bytes(content)
    assert status_cache.load(folder) == ANSWER


def test_an_answer_of_another_key_is_ignored(folder: Path) -> None:
    seal.key_file().unlink()
    assert status_cache.load(folder) is None


def test_an_answer_of_other_code_is_ignored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zlang.own_code.hash_of", lambda _: "other")
    assert status_cache.load(folder) is None


def test_without_a_place_for_answers_nothing_is_saved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = status_cache.describe(folder)
    assert snapshot is not None
    shutil.rmtree(folder.parent / "state")
    (folder.parent / "state").write_text("no directory", "utf-8")
    status_cache.save(folder, snapshot, ANSWER)
    assert status_cache.load(folder) is None
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    status_cache.save(folder, snapshot, ANSWER)
    assert status_cache.load(folder) is None


def test_unused_answers_are_removed(folder: Path) -> None:
    old = saved_file(folder).with_name("old")
    old.touch()
    os.utime(old, (0, 0))
    save(folder)
    assert not old.exists()
    assert status_cache.load(folder) == ANSWER
