"""Crash-safe writing of files, and safe reading of files that other users may have made.

Rules: a reader sees the old file or the new one, never a part of it, and what is written survives a crash. A file in
a folder that others may have made is read only if it is a regular file, and only up to a limit.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path

from zlang.errors import suppress
from zlang.hints import BinaryIO

_HOLE = 1 << 30
_SPARSE = 1000
"""A file longer than `_HOLE` with less than one byte on the disk for this many in the file is a hole."""
_NEW = ".zlang-new-"
"""The start of the names of files that are to replace others. Old ones are removed, so no user may have such a name."""
_SCRATCH = ".zlang-scratch-"
"""The start of the names of directories to work in, which are removed, too, if no process holds them."""
_BLOCK = 4096
"""Bytes that are read at least."""
_JUST_NOW = 10.0
"""Seconds in which a file that is to replace another may still be written."""


def replace_file(
    path: Path, content: bytes | Iterable[bytes], mode: int | None = None, like: int | None = None
) -> None:
    """Write a file beside `path`, wait until it is on the disk, and rename it to `path`. Raises OSError.

    `content` may come in pieces. The file has the permissions of a new file, or `mode`, or the owner and all attributes
    of the open file `like`.
    """
    temporary = path.with_name(f"{_NEW}{os.urandom(4).hex()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if mode is None else mode)
    try:
        with os.fdopen(handle, "wb") as out:
            if mode is not None:
                os.fchmod(handle, mode)  # whatever the umask is
            if like is not None:
                copy_attributes(like, handle)
            out.writelines([content] if isinstance(content, bytes) else content)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
        sync_directory(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def copy_attributes(source: int, target: int) -> None:
    """Give an open file the owner, the permissions and the extended attributes of another. Raises OSError."""
    status, new = os.fstat(source), os.fstat(target)
    if (status.st_uid, status.st_gid) != (new.st_uid, new.st_gid):
        os.fchown(target, status.st_uid, status.st_gid)
    os.fchmod(target, stat.S_IMODE(status.st_mode))
    for name in os.listxattr(source):
        os.setxattr(target, name, os.getxattr(source, name))


def write_output(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write the output of a command to a file, as the shell's `>` would: through links, but not to a read-only file.

    An existing file is replaced atomically, and keeps its owner and attributes. It is written in place if it has other
    names (hard links) or cannot keep its attributes, or is not a regular file (/dev/stdout, /dev/null, a FIFO). Raises
    OSError.
    """
    if not path.exists() and not path.is_symlink():
        replace_file(path, content)
        return
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY, 0o666)
    with os.fdopen(handle, "wb") as out:
        place = _place_to_replace(handle)
        if place is not None:
            replace_file(place, content, like=handle)
            return
        if stat.S_ISREG(os.fstat(handle).st_mode):
            os.ftruncate(handle, 0)
        out.writelines([content] if isinstance(content, bytes) else content)


def _place_to_replace(handle: int) -> Path | None:
    """Return the only name of an open file, if its replacement can have its owner and attributes; else None."""
    import tempfile

    place, status = Path(os.readlink(f"/proc/self/fd/{handle}")), os.fstat(handle)  # noqa: PTH115 - no str of a Path
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        return None
    try:
        if not os.path.samestat(place.lstat(), status):
            return None
        with tempfile.TemporaryFile(dir=place.parent) as trial:
            copy_attributes(handle, trial.fileno())
    except OSError:
        return None
    return place


def is_temporary(path: Path) -> bool:
    """Whether a file is a temporary one that will replace another file. Raises OSError."""
    return re.fullmatch(f"{re.escape(_NEW)}[0-9a-f]{{8}}", path.name) is not None and stat.S_ISREG(path.lstat().st_mode)


def remove_abandoned_files(directory: Path) -> None:
    """Remove this user's temporary files whose writers were killed before they could replace a file."""
    for path in directory.glob(f"{_NEW}*"):
        with suppress(OSError):
            status = path.lstat()
            if is_temporary(path) and status.st_uid == os.geteuid() and time.time() - status.st_mtime > _JUST_NOW:
                path.unlink()


class Packed:
    """A directory whose files are in memory, or a file in it: what readers use of a `Path`.

    They were packed into another file, or have just been read.
    """

    __slots__ = ("files", "name")

    def __init__(self, files: Mapping[str, bytes], name: str = "") -> None:
        self.files, self.name = files, name

    def __truediv__(self, name: str) -> Place:
        """Return the file with a name in the directory; an absolute path leads out of it, as for a `Path`."""
        return Path(name) if name.startswith("/") else Packed(self.files, name)

    def is_file(self) -> bool:
        """Whether there is a file with this name."""
        return self.name in self.files

    def read(self) -> bytes:
        """Return the content of the file. Raises OSError."""
        if self.name not in self.files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.name)
        return self.files[self.name]


Place = Path | Packed
"""A directory with the output of tools, or a file in it."""


def open_regular(path: str | Place) -> BinaryIO:
    """Open a regular file for reading; refuse links and sparse files. Raises OSError."""
    if isinstance(path, Packed):
        return BytesIO(path.read())
    return os.fdopen(_open_regular(path)[0], "rb")


def read_regular(path: str | Place, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes. Raises OSError."""
    if isinstance(path, Packed):
        return path.read()
    file, length = _open_regular(path)
    content = b""
    try:
        if length <= limit:
            while len(content) <= limit and (part := os.read(file, max(length, _BLOCK))):
                content += part
    finally:
        os.close(file)
    if max(length, len(content)) > limit:
        raise OSError(errno.EFBIG, f"Longer than {limit:,} bytes", str(path))
    return content


def _open_regular(path: str | Path) -> tuple[int, int]:
    """Open a regular file and return its descriptor and its length in bytes."""
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
    return file, status.st_size


class scratch:  # noqa: N801 - used as a function
    """Makes a scratch directory and removes it at the end, as well as those whose owner was killed. Raises OSError."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent

    def __enter__(self) -> Path:
        for path in self._parent.glob(f"{_SCRATCH}????????"):
            with suppress(OSError):
                _remove_abandoned(path)
        self._place, self._handle = _make_held(self._parent)
        return self._place

    def __exit__(self, *_error: object) -> None:
        import shutil

        shutil.rmtree(self._place, ignore_errors=True)  # what remains is removed when the next one is made
        os.close(self._handle)


def _make_held(parent: Path) -> tuple[Path, int]:
    """Make a scratch directory and lock it; if another process has meanwhile removed it as abandoned, make another."""
    import fcntl
    import tempfile

    while True:
        place = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=parent))
        with suppress(FileNotFoundError):
            handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            with suppress(OSError):  # some network file systems cannot lock directories
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
    """Make a directory and its missing parents, and wait until their names are on the disk."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(exist_ok=True)
    sync_directory(path.parent)


def sync_tree(directory: Path, top: Path, prefix: str = "") -> None:
    """Wait until the files below `directory` that begin with `prefix`, and the names from `top` down, are on the disk.

    Raises OSError, also if the directory does not exist.
    """
    directory.stat()  # os.walk ignores a missing directory
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
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode) or not status.st_size:  # a FIFO would block us
        return  # an empty file can lose nothing but its name
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def user_directory(variable: str, default: str) -> Path | None:
    """Return the directory that `variable` names, else `default` in the home directory; None for a user without a home.

    A missing home directory is not created: a user who should have none is given the home `/nonexistent`.
    """
    given = os.environ.get(variable)
    if given:
        return Path(given)
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return home / default if home.is_dir() else None
