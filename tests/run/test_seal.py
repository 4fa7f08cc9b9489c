"""Check that the seal of a run folder is valid only for the unchanged folder and the user who made it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import orjson
import pytest
from run_fakes import new_folder, plan, trial

from zlang.errors import RunError
from zlang.pipeline import runs
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
    assert seal.reason_not_own(folder.path) == ""
    moved = folder.path.rename(folder.path.with_name("elsewhere"))
    assert seal.reason_not_own(moved) == ""
    assert seal.sealed_name(moved) == folder.name


def _append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" " if path.exists() else b"")


def _link_plan(at: Path) -> None:
    (at / "plan.jsonl").rename(at / "other")
    (at / "plan.jsonl").symlink_to("other")


def _pipe_plan(at: Path) -> None:
    (at / "plan.jsonl").unlink()
    os.mkfifo(at / "plan.jsonl")


CHANGED = "its plan.jsonl, directory, armed, machines or findings.json was changed after it was sealed"
NO_SEAL = "it has no seal, or a damaged one"
OTHERS = "it was sealed by another user or on another machine"
CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a changed plan": (lambda at: _append(at / "plan.jsonl"), CHANGED),
    "another directory": (lambda at: (at / "directory").write_text("/"), CHANGED),
    "something armed": (lambda at: (at / "armed").write_text(""), CHANGED),
    "another machine": (lambda at: (at / "machines").write_text("[]"), CHANGED),
    "other findings": (lambda at: (at / "findings.json").write_text("[]"), CHANGED),
    "an empty file that was not there": (lambda at: (at / "armed").write_bytes(b""), CHANGED),
    "another name": (
        lambda at: (at / "seal").write_bytes((at / "seal").read_bytes().replace(b'"run":"', b'"run":"x')),
        CHANGED,
    ),
    "no seal": (lambda at: (at / "seal").unlink(), NO_SEAL),
    "half a seal": (lambda at: (at / "seal").write_bytes((at / "seal").read_bytes()[:40]), NO_SEAL),
    "a seal of zeros": (lambda at: (at / "seal").write_bytes(bytes(100)), NO_SEAL),
    "a seal of numbers": (lambda at: (at / "seal").write_text('{"run":1,"key":2,"seal":3}'), NO_SEAL),
    "no text": (lambda at: (at / "seal").write_text('{"run":"é","key":"é","seal":"é"}'), OTHERS),
    "a link for a plan": (_link_plan, "its seal cannot be verified: is a link, and links are not followed here"),
    "a pipe for a plan": (_pipe_plan, "its seal cannot be verified: not a regular file"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_folder_is_foreign(folder: Folder, change: str) -> None:
    act, why = CHANGES[change]
    act(folder.path)
    assert seal.reason_not_own(folder.path) == why


def test_a_folder_sealed_by_another_key_is_foreign(folder: Folder) -> None:
    seal.key_file().unlink()
    assert seal.reason_not_own(folder.path) == OTHERS


def test_the_key_is_made_once_and_for_its_owner_only() -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = {future.result() for future in [pool.submit(seal.load_key) for _ in range(40)]}
    assert len(keys) == 1
    assert stat.S_IMODE(seal.key_file().stat().st_mode) == 0o600
    assert list(seal.key_file().parent.iterdir()) == [seal.key_file()]
    assert seal.key_file().stat().st_size == 32
    assert stat.S_IMODE(seal.key_file().parent.stat().st_mode) == 0o700


AUTHENTICATED = "bea6e50ab3f24adea68debc47da22bde52e64a256068a042d3f0256d10219200"
NAMED = "a75ef076fcb61816"
SEALED = "99254a99900341dee6106fd879028a1db12a72065b818c096d546854b609e979"
SEALED_WITH_MACHINES = "b918ba81f9c539eb524a72134a78ddfaf97b3fc980f4fff90ad0bf97b2574090"
DELETE = "delete it; folders that it sealed then need --trust: rm {}"
ELSEWHERE = "set XDG_STATE_HOME to a directory that you can write in"
SPOILT = {
    "chmod": ("the key {} can be read by others, or belongs to another user", DELETE),
    "short": ("the key {} is damaged: it has to have 32 bytes", DELETE),
    "long": ("the key {} is damaged: it has to have 32 bytes", DELETE),
    "link": ("cannot use the key {}: is a link, and links are not followed here", ELSEWHERE),
    "directory": ("cannot use the key {}: not a regular file", ELSEWHERE),
}


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_key_that_cannot_be_trusted_is_not_used(folder: Folder, spoil: str) -> None:
    key = seal.key_file()
    match spoil:
        case "chmod":
            key.chmod(0o644)
        case "short":
            key.write_bytes(b"x")
        case "long":
            key.write_bytes(bytes(33))
        case "link":
            key.rename(key.with_name("other"))
            key.symlink_to("other")
        case _:
            key.unlink()
            key.mkdir()
    with pytest.raises(RunError) as refused:
        seal.load_key()
    message, hint = SPOILT[spoil]
    assert (refused.value.message, refused.value.hint) == (message.format(key), hint.format(key))
    assert "cannot be verified" in seal.reason_not_own(folder.path)


def test_the_key_lies_in_the_state_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert seal.key_file() == tmp_path / "state/zlang/key"
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", value)
        assert seal.key_file() == tmp_path / ".local/state/zlang/key"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert seal.key_file() == tmp_path / ".local/state/zlang/key"


@pytest.mark.parametrize("home", [None, "relative", "another user's"])
def test_without_a_home_of_ones_own_the_place_is_that_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda _user: SimpleNamespace(pw_dir="/home/of/the/system"))
    match home:
        case None:
            monkeypatch.delenv("HOME")
        case "relative":
            monkeypatch.chdir(tmp_path)
            (tmp_path / "relative").mkdir()
            monkeypatch.setenv("HOME", home)
        case _:
            monkeypatch.setenv("HOME", str(tmp_path))
            user = os.geteuid() + 1
            monkeypatch.setattr("os.geteuid", lambda: user)
    assert seal.key_file() == Path("/home/of/the/system/.local/state/zlang/key")


def test_a_missing_home_directory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_user: int) -> None:
        raise KeyError

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(RunError) as refused:
        seal.load_key()
    assert (refused.value.message, refused.value.hint) == (
        "there is no home directory for the key",
        ELSEWHERE,
    )


def test_a_folder_that_cannot_be_sealed(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(RunError) as refused:
        seal.write(folder.path, folder.name)
    assert refused.value.message == f"cannot seal {folder.path}: no space left on device"


def test_seals_stay_compatible(folder: Folder) -> None:
    """Sealed folders must remain valid for their owner, so these values never change."""
    assert seal.authenticate(bytes(32), [b"ab", b"c"]) == AUTHENTICATED
    seal.key_file().write_bytes(bytes(32))
    sealed = folder.path.with_name("sealed")
    sealed.mkdir()
    (sealed / "plan.jsonl").write_bytes(b"plan")
    (sealed / "directory").write_bytes(b"/x")
    seal.write(sealed, "run")
    content = orjson.loads((sealed / "seal").read_bytes())
    assert (content["key"], content["seal"]) == (NAMED, SEALED)
    (sealed / "machines").write_bytes(b"[]")
    seal.write(sealed, "run")
    assert orjson.loads((sealed / "seal").read_bytes())["seal"] == SEALED_WITH_MACHINES


def test_a_key_is_written_in_its_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is renamed without a copy, which a separate disk for temporary files would need."""
    monkeypatch.setattr("tempfile.tempdir", "/nonexistent")
    assert len(seal.load_key()) == 32


def test_parts_cannot_be_moved_into_each_other() -> None:
    key = bytes(32)
    assert seal.authenticate(key, [b"ab", b"c"]) != seal.authenticate(key, [b"a", b"bc"])
    assert seal.authenticate(key, [b"a"]) != seal.authenticate(bytes(31) + b"x", [b"a"])


SIGNED = "282e05afbb78f3ac76538f0c505ee554"


def test_the_sealing_user_can_verify_journal_lines(folder: Folder) -> None:
    sign, verify, other = seal.signer(folder.name), seal.verifier(folder.path), seal.signer("another run")
    assert sign is not None
    assert verify is not None
    assert other is not None
    assert verify(b"line") == sign(b"line")
    assert len({sign(b"line"), sign(b"line "), other(b"line")}) == 3


def test_signatures_stay_compatible() -> None:
    """Signed journals must remain valid for their owner, so this value never changes."""
    seal.load_key()
    seal.key_file().write_bytes(bytes(32))
    sign = seal.signer("run")
    assert sign is not None
    assert sign(b"line") == SIGNED


def _replace_key() -> None:
    seal.key_file().unlink()
    seal.load_key()


@pytest.mark.parametrize(
    "change",
    [
        lambda at: (at / "seal").unlink(),
        lambda _at: _replace_key(),
        lambda _at: seal.key_file().unlink(),
        lambda _at: seal.key_file().chmod(0o644),
    ],
    ids=["no seal", "another key", "no key", "a key that others can read"],
)
def test_journal_lines_of_others_cannot_be_verified(folder: Folder, change: Callable[[Path], object]) -> None:
    change(folder.path)
    assert seal.verifier(folder.path) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a directory away")
def test_a_folder_of_another_user_is_read_and_not_executed(tmp_path: Path, folder: Folder) -> None:
    """Its owner could have created it, with links in it, from a folder that this user sealed."""
    copied = tmp_path / "copied"
    shutil.copytree(folder.path, copied)
    assert seal.why_not_executed(copied) == ""
    os.chown(copied, 1234, 1234)
    assert seal.reason_not_own(copied) == ""
    assert seal.why_not_executed(copied) == "another user owned it when it was sealed"
    with pytest.raises(RunError, match="no command of the run"):
        runs.require_own(Folder(copied), trust=False)
    runs.require_own(Folder(copied), trust=True)
    assert seal.why_not_executed(copied) == ""
