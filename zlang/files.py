"""Files that survive a crash, and files of others.

Rules: a reader sees the old file or the new one, never half of one, and what is written stays; what lies in a folder
that others may have made is read only if it is a regular file, and no further than it may be long.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_HOLE = 1 << 30
_SPARSE = 1000
"""A file longer than `_HOLE` with less than one byte on the disk for this many in the file is a hole."""
_JUST_NOW = 10.0
"""Seconds in which a file that is to replace another may still be written."""


def replace_file(path: Path, content: bytes | Iterable[bytes], mode: int = 0o644) -> None:
    """Write, at once or piece by piece, beside `path`, wait for the disk, and rename. Raises OSError."""
    import tempfile

    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.writelines([content] if isinstance(content, bytes) else content)
            os.fchmod(out.fileno(), mode)
            out.flush()
            os.fsync(out.fileno())
        Path(temporary).replace(path)
        sync_directory(path.parent)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_output(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write what a user wants in a file: one that is there is replaced, through links. Raises OSError.

    What is no file, such as /dev/stdout, /dev/null or a FIFO, is written to: root would replace it for everybody.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as out:
            out.writelines([content] if isinstance(content, bytes) else content)
        return
    replace_file(path.resolve(), content)


def remove_abandoned_files(directory: Path) -> None:
    """Remove this user's files that were to replace others, and whose writers were killed."""
    for path in directory.glob(".*.????????"):
        with suppress(OSError):
            status = path.lstat()
            is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
            if is_own and time.time() - status.st_mtime > _JUST_NOW:
                path.unlink()


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file for reading that has to be a regular one, no link, and no hole of any length. Raises OSError."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "Is a link, and links are not followed here", str(path)) from error
        raise
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    if status.st_size > max(_HOLE, status.st_blocks * 512 * _SPARSE):
        os.close(file)
        raise OSError(errno.EFBIG, "Almost nothing but a hole", str(path))
    return os.fdopen(file, "rb")


def read_regular(path: str | Path, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes. Raises OSError."""
    with open_regular(path) as file:
        content = file.read(limit + 1) if os.fstat(file.fileno()).st_size <= limit else None
    if content is None or len(content) > limit:
        raise OSError(errno.EFBIG, f"Longer than {limit:,} bytes", str(path))
    return content


@contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """Make a directory to work in, which goes at the end; also those go whose owner was killed. Raises OSError."""
    import shutil

    for path in parent.glob(".zlang-????????"):
        with suppress(OSError):
            _remove_abandoned(path)
    place, handle = _make_held(parent)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)  # what stays goes when the next one is made
        os.close(handle)


def _make_held(parent: Path) -> tuple[Path, int]:
    """Make a scratch directory and lock it; if another process took it for abandoned meanwhile, make another one."""
    import fcntl
    import tempfile

    while True:
        place = Path(tempfile.mkdtemp(prefix=".zlang-", dir=parent))
        with suppress(FileNotFoundError):
            handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            with suppress(OSError):  # some network file systems lock no directories
                fcntl.flock(handle, fcntl.LOCK_EX)
            if place.is_dir():
                return place, handle
            os.close(handle)


def _remove_abandoned(path: Path) -> None:
    """Remove a scratch directory of this user that no process holds."""
    import fcntl
    import shutil

    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(handle).st_uid == os.geteuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(handle)


def make_directory(path: Path) -> None:
    """Make a directory and those above it that are missing, and wait until their names are on the disk."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(exist_ok=True)
    sync_directory(path.parent)


def sync_tree(directory: Path, top: Path, prefix: str = "") -> None:
    """Wait until the files beneath `directory` whose names begin so, and the names from `top` on, are on the disk.

    Raises OSError, also where the directory is gone.
    """
    directory.stat()  # os.walk passes over what is not there
    for at, _, names in os.walk(directory):
        for name in names:
            if name.startswith(prefix):
                _sync_file(os.path.join(at, name))  # noqa: PTH118  (os.walk gives strings)
        sync_directory(Path(at))
    while directory != top:
        directory = directory.parent
        sync_directory(directory)


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk. Raises OSError."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _sync_file(path: str) -> None:
    if not os.path.isfile(path) or os.path.islink(path):  # noqa: PTH113, PTH114  (a FIFO would block us)
        return
    if not os.path.getsize(path):  # noqa: PTH202  (of an empty file only its name can be lost)
        return
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def user_directory(variable: str, default: str) -> Path | None:
    """The directory that `variable` names, else `default` below the home; None for a user without a home.

    A home that is not there stays so: that of a user who is to have none is named `/nonexistent`.
    """
    given = os.environ.get(variable)
    if given:
        return Path(given)
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / default if home.is_dir() else None
