"""A cache of answers about run folders and databases: path + answer -> a file beside the key -> the answer.

Rule, as for git's index: an answer is reused only while the kernel describes everything in the folder as it did before
the folder was read: the same entries, each with its device, inode, size, and times of change. Programs cannot set the
time of the last status change (ctime), so anything changed, replaced or copied is read again. So is a folder in which
something changed just before it was read, because file systems have coarse timestamps. An answer is ignored if it is
damaged, not signed with this user's key, or written by other code.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
import time
import zlib
from array import array
from collections.abc import Sequence
from contextlib import chdir, suppress
from itertools import chain
from operator import attrgetter
from pathlib import Path

from zlang import own_code
from zlang.errors import RunError
from zlang.files import read_regular, remove_abandoned_files, replace_file
from zlang.hints import NamedTuple
from zlang.run import seal

_STEP = 2_000_000_000
"""Nanoseconds within which two changes may have the same timestamp: FAT has a resolution of two seconds."""
_LONGEST = 1 << 28
_MAC_DIGITS = 64
_UNUSED = 90 * 24 * 3600
"""Seconds after which an answer is removed: its folder may be gone."""
_READ_BY = ("zlang", "zlang.check", "zlang.plan", "zlang.readers", "zlang.run", "zlang.pipeline")
"""The packages whose code produces an answer."""
_read_stamp = attrgetter("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")


class Snapshot(NamedTuple):
    """The paths of everything in a folder, from its parent, and a hash of the kernel's description of each."""

    paths: list[bytes]
    digest: bytes


def describe(folder: Path) -> Snapshot | None:
    """Describe a folder, or a file, that is about to be read; None if its answer must not be saved.

    That is the case if something changed just now, or if there is a link, whose target may change unnoticed.
    """
    latest = time.time_ns() - _STEP
    parent, name = os.path.split(_real(folder))
    paths = [name]
    stamps = array("q")
    try:
        with chdir(parent):
            for path in paths:  # it grows meanwhile; a directory is described before it is listed
                status = os.lstat(path)
                stamps.extend(_read_stamp(status))
                if stat.S_ISLNK(status.st_mode) or status.st_ctime_ns > latest or status.st_mtime_ns > latest:
                    return None
                if stat.S_ISDIR(status.st_mode):
                    with os.scandir(path) as entries:
                        paths += [entry.path for entry in entries]
    except (OSError, OverflowError):
        return None
    return Snapshot(paths, _digest(stamps))


def load(folder: Path, read_by: Sequence[str] = _READ_BY) -> str | None:
    """The saved answer for a folder, if nothing in the folder, or in the packages that read it, has changed since."""
    try:
        content = read_regular(_file(folder), _LONGEST)
        mac, body = content[:_MAC_DIGITS], content[_MAC_DIGITS:]
        if not hmac.compare_digest(mac, _sign(body)):
            return None
        code, digest, answer, path, *paths = zlib.decompress(body).split(b"\0")
        if code != _code(read_by) or path != _real(folder):
            return None
        with chdir(os.path.split(path)[0]):  # the kernel finds short paths sooner: most of the time is spent here
            stamps = array("q", chain.from_iterable(map(_read_stamp, map(os.lstat, paths))))
    except (OSError, OverflowError, RunError):
        return None
    return answer.decode() if _digest(stamps) == digest else None


def save(folder: Path, snapshot: Snapshot, answer: str, read_by: Sequence[str] = _READ_BY) -> None:
    """Save the answer for a folder that was described before it was read. If saving fails, the folder is read again."""
    fields = [_code(read_by), snapshot.digest, answer.encode(), _real(folder), *snapshot.paths]
    body = zlib.compress(b"\0".join(fields), 1)
    with suppress(OSError, RunError):
        file = _file(folder)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(file, _sign(body) + body, mode=0o600)
        _remove_unused(file.parent)


def _code(read_by: Sequence[str]) -> bytes:
    return own_code.hash_of(read_by).encode()


def _sign(body: bytes) -> bytes:
    return seal.authenticate(seal.load_key(), (b"answer", body)).encode()


def _digest(stamps: array[int]) -> bytes:
    return hashlib.blake2b(stamps, digest_size=32).hexdigest().encode()


def _real(folder: Path) -> bytes:
    return os.fsencode(os.path.realpath(folder))


def _file(folder: Path) -> Path:
    return seal.key_file().with_name("status") / hashlib.blake2b(_real(folder), digest_size=16).hexdigest()


def _remove_unused(directory: Path) -> None:
    remove_abandoned_files(directory)
    for file in directory.iterdir():
        if time.time() - file.lstat().st_mtime > _UNUSED:
            file.unlink(missing_ok=True)
