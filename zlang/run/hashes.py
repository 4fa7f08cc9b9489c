"""Hashes of the content of a run folder, which a shell script can compute as well: files -> `sha256-…` or `cksum-…`.

Rule: the hash of a directory is that of the sorted lines that `find . -type f -exec sha256sum {} +` (or `cksum`) prints
in it. Files whose path contains a backslash or a newline are skipped, because these tools write them in different ways.
So are files of more than 256 MiB; no reader reads such a file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from zlang.files import Packed, Place, open_regular
from zlang.readers.reading import LONGEST
from zlang.run.journal import cksum

SHA256, CKSUM = "sha256", "cksum"
_BLOCK = 1 << 20
_MOST_READ = 1 << 20
"""Bytes of a directory that are kept in memory for the readers of its files."""
_ODD = frozenset("\\\n\r")
_OF_NOTHING = hashlib.sha256().hexdigest().encode()


def of_file(path: Path, method: str = SHA256) -> str:
    """Hash a file. Raises OSError."""
    with open_regular(path) as file:
        if method == CKSUM:
            return f"{CKSUM}-{cksum(file.read())}"
        digest = hashlib.sha256()
        while block := file.read(_BLOCK):
            digest.update(block)
    return f"{SHA256}-{digest.hexdigest()}"


def of_directory(directory: Place, method: str = SHA256) -> str:
    """Hash the names and the contents of the regular files in and under a directory. Raises OSError."""
    return read_directory(directory, method)[0]


def read_directory(directory: Place | str, method: str = SHA256) -> tuple[str, Place]:
    """The same hash, and the files: in memory if all are plain and together small, so that they are read once."""
    if isinstance(directory, Packed):
        lines = [_line(content, f"./{name}".encode(), method) for name, content in directory.files.items()]
        return _of_lines(lines, method), directory
    contents = _Contents()
    digest = _of_lines(_lines(os.fspath(directory), ".", method, contents), method)
    return digest, Packed(contents.files) if contents.has_all else Path(directory)


def is_of_file(path: Path, digest: str) -> bool:
    """Whether a file has this hash; False if it cannot be read."""
    try:
        return of_file(path, method_of(digest)) == digest
    except OSError:
        return False


class _Contents:
    """The files of a directory that were read; it does not have all if one is large, or is not a regular file."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.has_all = True
        self._room = _MOST_READ

    def has_room(self, length: int) -> bool:
        """Whether a file of this length is to be kept."""
        self._room -= length
        self.has_all &= self._room >= 0
        return self.has_all


def method_of(digest: str) -> str:
    """The method with which a hash was computed."""
    return digest.partition("-")[0]


def _of_lines(lines: Iterable[bytes], method: str) -> str:
    whole = b"".join(sorted(lines))
    return f"{CKSUM}-{cksum(whole)}" if method == CKSUM else f"{SHA256}-{hashlib.sha256(whole).hexdigest()}"


def _lines(directory: str, name: str, method: str, contents: _Contents) -> list[bytes]:
    """The lines of the files in and under a directory; the paths in them begin with `name`."""
    lines = []
    with os.scandir(directory) as entries:
        for entry in entries:
            own = entry.name
            is_plain = _ODD.isdisjoint(own)
            if is_plain and entry.is_file(follow_symlinks=False):
                length = entry.stat(follow_symlinks=False).st_size
                if contents.has_room(length):
                    # An empty file need not be opened.
                    content = contents.files[own] = _content(entry.path, length) if length else b""
                    lines.append(_line(content, os.fsencode(f"{name}/{own}"), method))
                elif length <= LONGEST:
                    lines.append(_line_of_blocks(_blocks(entry.path), os.fsencode(f"{name}/{own}"), method))
                continue
            contents.has_all = False
            if is_plain and entry.is_dir(follow_symlinks=False):
                lines += _lines(entry.path, f"{name}/{own}", method, contents)
    return lines


def _line(content: bytes, name: bytes, method: str) -> bytes:
    if method == CKSUM:
        return b"%d %d %b\n" % (cksum(content), len(content), name)
    return b"%b  %b\n" % (hashlib.sha256(content).hexdigest().encode() if content else _OF_NOTHING, name)


def _line_of_blocks(blocks: Iterable[bytes], name: bytes, method: str) -> bytes:
    if method == CKSUM:
        return _line(b"".join(blocks), name, method)
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return b"%b  %b\n" % (digest.hexdigest().encode(), name)


def _content(path: str, length: int) -> bytes:
    """Read a file that had this length a moment ago."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        content = os.read(file, length + 1)
        while len(content) > length and (block := os.read(file, _BLOCK)):
            content += block
        return content
    finally:
        os.close(file)


def _blocks(path: str) -> Iterator[bytes]:
    """Read a file in blocks."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        while block := os.read(file, _BLOCK):
            yield block
    finally:
        os.close(file)
