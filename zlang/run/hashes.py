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
_ODD = frozenset("\\\n\r")


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
    if isinstance(directory, Packed):
        lines = [_line([text.encode()], f"./{name}".encode(), method) for name, text in directory.files.items()]
    else:
        lines = _lines(os.fspath(directory), ".", method)
    whole = b"".join(sorted(lines))
    return f"{CKSUM}-{cksum(whole)}" if method == CKSUM else f"{SHA256}-{hashlib.sha256(whole).hexdigest()}"


def is_of_file(path: Path, digest: str) -> bool:
    """Whether a file has this hash; False if it cannot be read."""
    try:
        return of_file(path, _method(digest)) == digest
    except OSError:
        return False


def is_of_directory(directory: Place, digest: str) -> bool:
    """Whether the files of a directory have this hash; False if one cannot be read."""
    try:
        return of_directory(directory, _method(digest)) == digest
    except OSError:
        return False


def _method(digest: str) -> str:
    return digest.partition("-")[0]


def _lines(directory: str, name: str, method: str) -> list[bytes]:
    """The lines of the files in and under a directory; the paths in them begin with `name`."""
    lines = []
    with os.scandir(directory) as entries:
        for entry in entries:
            path, own = f"{directory}/{entry.name}", f"{name}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                lines += _lines(path, own, method)
            elif entry.is_file(follow_symlinks=False) and _ODD.isdisjoint(own):
                length = entry.stat(follow_symlinks=False).st_size
                if length <= LONGEST:
                    blocks = _blocks(path, length) if length else ()  # an empty file need not be opened
                    lines.append(_line(blocks, os.fsencode(own), method))
    return lines


def _line(blocks: Iterable[bytes], name: bytes, method: str) -> bytes:
    if method == CKSUM:
        data = b"".join(blocks)
        return b"%d %d %b\n" % (cksum(data), len(data), name)
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return b"%b  %b\n" % (digest.hexdigest().encode(), name)


def _blocks(path: str, length: int) -> Iterator[bytes]:
    """Read a file of about this length in blocks."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        while block := os.read(file, min(length, _BLOCK)):
            yield block
    finally:
        os.close(file)
