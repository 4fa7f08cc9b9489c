"""Test writing files that survive a crash, and handling files that belong to others."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from zlang import files


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the paths that were synced."""
    paths: list[str] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        paths.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        real(handle)

    monkeypatch.setattr("os.fsync", fsync)
    return paths


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def test_a_file_is_replaced_whole_and_waited_for(tmp_path: Path, synced: list[str]) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    before = descriptors()
    files.replace_file(path, iter([b"ne", b"w"]), 0o600)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o600)
    assert list(tmp_path.iterdir()) == [path]
    (temporary, directory) = synced
    assert Path(temporary).parent == tmp_path
    assert Path(temporary).name.startswith(".zlang-new-")
    assert directory == str(tmp_path)
    umask = os.umask(0o027)
    files.replace_file(path, b"new", 0o644)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    files.replace_file(path, b"newer")
    os.umask(umask)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"newer", 0o640)
    assert descriptors() == before


def test_a_file_that_cannot_be_replaced_stays(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        files.replace_file(path, broken())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_output_has_the_permissions_that_the_umask_leaves(tmp_path: Path) -> None:
    umask = os.umask(0o077)
    files.write_output(tmp_path / "new", b"x")
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600


def test_an_existing_output_keeps_its_owner_and_attributes(tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_bytes(b"old")
    path.chmod(0o640)
    os.setxattr(path, "user.note", b"mine")
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
    before = path.stat()
    (tmp_path / "link").symlink_to(path)
    files.write_output(tmp_path / "link", [b"ne", b"w"])
    after = path.stat()
    assert path.read_bytes() == b"new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert os.getxattr(path, "user.note") == b"mine"
    assert after.st_ino != before.st_ino, "it was replaced at once"


def test_an_output_with_several_names_is_written_in_place(tmp_path: Path) -> None:
    path, other = tmp_path / "report", tmp_path / "other"
    path.write_bytes(b"the old content")
    other.hardlink_to(path)
    files.write_output(path, b"new")
    assert other.read_bytes() == b"new"


def test_a_failed_write_keeps_the_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError):
        files.write_output(path, (b"x" * (1 // each) for each in (1, 0)))
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]


def test_only_temporary_files_of_killed_writers_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [".env.template", "file.abcdefgh", *(f".zlang-new-{number * 8}" for number in "123")]
    for name in (".zlang-new-abcdef01", *kept[:3]):
        (tmp_path / name).write_bytes(b"x")
        age(tmp_path / name, 11)
    age(tmp_path / kept[2], 5)
    (tmp_path / kept[3]).symlink_to("nowhere")
    (tmp_path / kept[4]).mkdir()
    for name in kept[3:]:
        os.utime(tmp_path / name, (1, 1), follow_symlinks=False)
    files.remove_abandoned_files(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
    age(tmp_path / kept[2], 11)
    user = os.geteuid() + 1
    monkeypatch.setattr("os.geteuid", lambda: user)
    files.remove_abandoned_files(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)


def _link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def _fifo(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "number", "message"),
    [
        (_link, errno.ELOOP, "Is a link, and links are not followed here"),
        (_fifo, errno.EINVAL, "Not a regular file"),
        (Path.mkdir, errno.EINVAL, "Not a regular file"),
        (lambda _path: None, errno.ENOENT, "No such file or directory"),
    ],
)
def test_only_regular_files_are_read(tmp_path: Path, make: Callable[[Path], object], number: int, message: str) -> None:
    path = tmp_path / "file"
    make(path)
    before = descriptors()
    with pytest.raises(OSError, match=message) as refused:
        files.read_regular(path, 10)
    assert (refused.value.errno, refused.value.strerror, refused.value.filename) == (
        number,
        message,
        str(path),
    )
    assert descriptors() == before


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 1000)
    assert files.read_regular(path, 1000) == b"x" * 1000
    with pytest.raises(OSError, match="Longer than 999 bytes") as refused:
        files.read_regular(path, 999)
    assert (refused.value.errno, refused.value.filename) == (errno.EFBIG, str(path))
    path.write_bytes(b"x" * 1001)
    with pytest.raises(OSError, match="Longer than 1,000 bytes"):
        files.read_regular(path, 1000)
    with files.open_regular(path) as file:
        assert not os.get_inheritable(file.fileno())


def test_a_place_to_work_goes_at_the_end(tmp_path: Path) -> None:
    before = descriptors()
    with files.scratch(tmp_path) as place:
        assert place.parent == tmp_path
        assert place.name.startswith(".zlang-scratch-")
        (place / "file").write_bytes(b"x")
        with files.scratch(tmp_path) as other:
            assert other != place
            assert place.is_dir(), "it is held"
        assert not other.exists()
    assert list(tmp_path.iterdir()) == []
    assert descriptors() == before


@pytest.mark.parametrize(("is_own", "is_left"), [(True, False), (False, True)])
def test_a_place_to_work_whose_owner_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_own: bool, is_left: bool
) -> None:
    place = tmp_path / ".zlang-scratch-abcdefgh"
    place.mkdir()
    (place / "file").write_bytes(b"x")
    if not is_own:
        user = os.geteuid() + 1
        monkeypatch.setattr("os.geteuid", lambda: user)
    before = descriptors()
    with files.scratch(tmp_path):
        assert place.exists() is is_left
    assert descriptors() == before


def test_a_directory_of_a_user_is_not_taken_for_a_place_to_work(tmp_path: Path) -> None:
    settings = tmp_path / ".zlang-settings"
    settings.mkdir()
    with files.scratch(tmp_path):
        assert settings.exists()


def test_a_working_directory_removed_by_another_process_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    make = tempfile.mkdtemp

    def robbed(**options: object) -> str:
        made.append(make(**options))  # type: ignore[call-overload]
        if len(made) == 1:
            Path(made[0]).rmdir()
        return made[-1]

    monkeypatch.setattr("tempfile.mkdtemp", robbed)
    before = descriptors()
    with files.scratch(tmp_path) as place:
        assert place == Path(made[1])
    monkeypatch.setattr("fcntl.flock", lambda *_: Path(made[-1]).rmdir() if len(made) == 3 else None)
    with files.scratch(tmp_path) as place:
        assert place == Path(made[3])
    assert descriptors() == before


def test_a_link_in_the_place_of_a_place_to_work_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_bytes(b"x")
    (tmp_path / ".zlang-scratch-abcdefgh").symlink_to(precious)
    with files.scratch(tmp_path):
        assert (precious / "file").exists()


def test_directories_are_made_and_waited_for(tmp_path: Path, synced: list[str]) -> None:
    files.make_directory(tmp_path / "a/b/c")
    assert (tmp_path / "a/b/c").is_dir()
    assert synced == [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a/b")]
    files.make_directory(tmp_path / "a/b")
    assert len(synced) == 3


def test_a_tree_is_waited_for_up_to_its_top(tmp_path: Path, synced: list[str]) -> None:
    inner = tmp_path / "a/b"
    inner.mkdir(parents=True)
    for name in ("one.out", "two.out"):
        (inner / name).write_bytes(b"x")
    (inner / "one.err").touch()  # only its name can be lost
    _fifo(inner / "one.fifo")
    (inner / "one.link").symlink_to("/etc/hostname")
    files.sync_tree(inner, tmp_path, "one.")
    assert sorted(synced) == sorted(map(str, [inner / "one.out", inner, inner.parent, tmp_path]))
    synced.clear()
    files.sync_tree(tmp_path, tmp_path)
    names = [tmp_path, tmp_path / "a", inner, inner / "one.out", inner / "two.out"]
    assert sorted(synced) == sorted(map(str, names))
    with pytest.raises(FileNotFoundError):
        files.sync_tree(tmp_path / "gone", tmp_path / "gone")


def test_a_users_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_TEST", raising=False)
    assert files.user_directory("XDG_TEST", "below") == tmp_path / "below"
    monkeypatch.setenv("XDG_TEST", "/given")
    assert files.user_directory("XDG_TEST", "below") == Path("/given")
    monkeypatch.setenv("XDG_TEST", "")
    assert files.user_directory("XDG_TEST", "below") == tmp_path / "below"

    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", homeless)
    assert files.user_directory("XDG_TEST", "below") is None


def test_a_missing_home_directory_is_not_created(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_TEST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nonexistent"))
    assert files.user_directory("XDG_TEST", "below") is None


def test_a_hole_is_not_read_but_a_file_with_some_holes_is(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 4096)
    os.truncate(path, 1 << 30)
    files.open_regular(path).close()
    os.truncate(path, (1 << 30) + 1)
    before = descriptors()
    with pytest.raises(OSError, match="Almost nothing but a hole") as refused:
        files.open_regular(path)
    shown = refused.value.errno, refused.value.strerror, refused.value.filename
    assert shown == (errno.EFBIG, "Almost nothing but a hole", str(path))
    assert descriptors() == before
    path.write_bytes(b"x" * (2 << 20))
    with path.open("rb") as file:
        os.fsync(file.fileno())
    longest = path.stat().st_blocks * 512 * 1000
    os.truncate(path, longest)
    files.open_regular(path).close()
    os.truncate(path, longest + 1)
    with pytest.raises(OSError, match="Almost nothing but a hole"):
        files.open_regular(path)


def test_a_failure_after_replacing_a_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(files, "sync_directory", fail)
    with pytest.raises(OSError, match="Input/output error"):
        files.replace_file(tmp_path / "file", b"content")


def test_devices_and_pipes_are_written_to_and_not_replaced(tmp_path: Path) -> None:
    """Otherwise `--out /dev/null`, as root, would replace a device that all programs need."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        files.write_output(fifo, b"text")
        assert os.read(reader, 9) == b"text"
    finally:
        os.close(reader)
    assert fifo.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["fifo"]


def test_a_file_that_a_user_names_is_replaced_through_links(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    for text in (b"first", b"second"):
        files.write_output(tmp_path / "link", text)
        assert (tmp_path / "file").read_bytes() == text
        assert (tmp_path / "link").is_symlink()
