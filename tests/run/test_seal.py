"""The seal of a run folder: valid for the folder as it was, and for nobody else."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from run_fakes import new_folder, plan, trial

from zlang.errors import RunError
from zlang.run import seal
from zlang.run.folder import Folder


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = new_folder(tmp_path, plan(trial(1)))
    seal.write(made.path, made.name)
    return made


def test_a_folder_is_ones_own_wherever_it_is_moved(folder: Folder) -> None:
    assert seal.why_foreign(folder.path) == ""
    moved = folder.path.rename(folder.path.with_name("elsewhere"))
    assert seal.why_foreign(moved) == ""
    assert seal.sealed_name(moved) == folder.name


def _append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" " if path.exists() else b"")


def _link_plan(at: Path) -> None:
    (at / "plan.jsonl").rename(at / "other")
    (at / "plan.jsonl").symlink_to("other")


def _pipe_plan(at: Path) -> None:
    (at / "plan.jsonl").unlink()
    os.mkfifo(at / "plan.jsonl")


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a changed plan": (lambda at: _append(at / "plan.jsonl"), "was changed"),
    "another directory": (lambda at: (at / "directory").write_text("/"), "was changed"),
    "something armed": (lambda at: (at / "armed").write_text(""), "was changed"),
    "another name": (
        lambda at: (at / "seal").write_bytes((at / "seal").read_bytes().replace(b'"run":"', b'"run":"x')),
        "was changed",
    ),
    "no seal": (lambda at: (at / "seal").unlink(), "no seal"),
    "half a seal": (lambda at: (at / "seal").write_bytes((at / "seal").read_bytes()[:40]), "no seal"),
    "a seal of zeros": (lambda at: (at / "seal").write_bytes(bytes(100)), "no seal"),
    "a seal of numbers": (lambda at: (at / "seal").write_text('{"run":1,"key":2,"seal":3}'), "no seal"),
    "no text": (lambda at: (at / "seal").write_text('{"run":"é","key":"é","seal":"é"}'), "another user"),
    "a link for a plan": (_link_plan, "link"),
    "a pipe for a plan": (_pipe_plan, "regular"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_is_foreign(folder: Folder, change: str) -> None:
    act, why = CHANGES[change]
    act(folder.path)
    assert why in seal.why_foreign(folder.path)


def test_what_another_key_sealed_is_foreign(folder: Folder) -> None:
    seal.key_file().unlink()
    assert "another user" in seal.why_foreign(folder.path)


def test_the_key_is_made_once_and_for_its_owner_only() -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = {one.result() for one in [pool.submit(seal.load_key) for _ in range(40)]}
    assert len(keys) == 1
    assert stat.S_IMODE(seal.key_file().stat().st_mode) == 0o600
    assert list(seal.key_file().parent.iterdir()) == [seal.key_file()]


@pytest.mark.parametrize("spoil", ["chmod", "short", "link", "directory"])
def test_a_key_that_cannot_be_trusted_is_not_used(folder: Folder, spoil: str) -> None:
    key = seal.key_file()
    match spoil:
        case "chmod":
            key.chmod(0o644)
        case "short":
            key.write_bytes(b"x")
        case "link":
            key.rename(key.with_name("other"))
            key.symlink_to("other")
        case _:
            key.unlink()
            key.mkdir()
    with pytest.raises(RunError):
        seal.load_key()
    assert "cannot be verified" in seal.why_foreign(folder.path)


def test_without_a_home_there_is_a_place_by_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("HOME")
    assert seal.key_file().is_absolute()
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert seal.key_file().is_absolute()


def test_parts_cannot_be_moved_into_each_other() -> None:
    key = bytes(32)
    assert seal.authenticate(key, [b"ab", b"c"]) != seal.authenticate(key, [b"a", b"bc"])
    assert seal.authenticate(key, [b"a"]) != seal.authenticate(bytes(31) + b"x", [b"a"])
