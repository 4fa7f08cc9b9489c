"""The files of a machine's directory, as `fetch.sh` sends them: a stream of bytes -> files that match their hashes.

Rule: a machine cannot name a path outside the directory, and a file that does not match its hash is not kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from zlang.hints import Protocol
from zlang.run import outputs

_BLOCK = 1 << 16
_STALLED = 60.0
"""Seconds without a byte of a file after which its machine is lost. Computing hashes may take longer."""
_MOST_FILES = 100_000
_LONGEST_LINE = 1 << 16
_HASH = re.compile(rb"([0-9a-f]{64})  \./([^\n]+)")
_SIZE = re.compile(rb" *([0-9]{1,18}) \./([^\n]+)")


class Liar(Exception):
    """A machine sent something that our agent never sends."""


class ByteStream(Protocol):
    """The output that a machine sends."""

    async def read(self, size: int, /) -> bytes:
        """Return at most this many bytes; none at the end."""


class Received:
    """The output of a machine, read in blocks: lines cost less so than if each is read from the connection."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._bytes, self._at = b"", 0

    async def readline(self) -> bytes:
        """Return the next line, or the rest before the end. Raises Liar if it is too long."""
        while (end := self._bytes.find(b"\n", self._at)) < 0 and await self._fill():
            if len(self._bytes) > _LONGEST_LINE:
                raise Liar("it sent a line that is too long")
        return self._take(end + 1 if end >= 0 else len(self._bytes))

    async def read(self, size: int) -> bytes:
        """Return at most this many bytes; none at the end."""
        if self._at == len(self._bytes):
            await self._fill()
        return self._take(self._at + size)

    def _take(self, end: int) -> bytes:
        taken = self._bytes[self._at : end]
        self._at += len(taken)
        return taken

    async def _fill(self) -> bool:
        """Add a block; return False at the end."""
        block = await self._stream.read(_BLOCK)
        self._bytes, self._at = self._bytes[self._at :] + block, 0
        return bool(block)


async def until_ready(stream: Received, token: str) -> None:
    """Skip the output of a login shell. Raises IncompleteReadError."""
    while (line := await stream.readline()) != f"ready {token}\n".encode():
        if not line:
            raise asyncio.IncompleteReadError(b"", None)


async def receive(stream: Received, place: Callable[[str], Path], small: dict[str, bytes] | None = None) -> list[int]:
    """Receive the files of a directory, each at the path that `place` returns for its name; return their sizes.

    With `small`, files that can be packed by their sizes go there instead.

    Raises Liar, OSError (a TimeoutError if the stream stalls), IncompleteReadError.
    """
    hashes = await _listing(stream, _HASH)
    sizes = await _listing(stream, _SIZE)
    if list(hashes) != list(sizes):
        raise Liar("sizes and hashes are of different files")
    lengths = [int(size) for size in sizes.values()]
    if small is not None and outputs.is_small(sum(lengths), len(lengths)):
        for name, digest in hashes.items():
            small[name] = b"".join([block async for block in _blocks(stream, int(sizes[name]))])
            _verify(hashlib.sha256(small[name]), name, digest)
    else:
        for name, digest in hashes.items():
            await _receive(stream, place(name), int(sizes[name]), digest)
    if await _listing(stream, _HASH):
        raise Liar("something follows the last file")
    return lengths


async def _listing(stream: Received, form: re.Pattern[bytes]) -> dict[str, str]:
    """The lines up to `--`: the hash or the size of each file, by its name. Raises Liar, IncompleteReadError."""
    result: dict[str, str] = {}
    while True:
        line = await stream.readline()
        if not line.endswith(b"\n"):
            raise asyncio.IncompleteReadError(line, None)
        if line == b"--\n":
            return result
        match = form.fullmatch(line[:-1])
        if match is None:
            if form is _SIZE and b"./" not in line:
                continue  # the total of some files
            raise Liar(f"{_shown(line)} is not the {'size' if form is _SIZE else 'hash'} of a file")
        name = os.fsdecode(match[2])
        if any(part in {"", ".", ".."} for part in name.split("/")) or "\0" in name or len(result) >= _MOST_FILES:
            raise Liar(f"{_shown(match[2])} is not the name of a file that zlang asked for")
        result[name] = match[1].decode("ascii")


def _shown(line: bytes) -> str:
    """The beginning of a line that a machine sent, in quotation marks."""
    return repr(line[:80].decode("utf-8", "backslashreplace"))


async def _receive(stream: Received, path: Path, size: int, digest: str) -> None:
    """Write `size` bytes to a file, which must match a hash. Raises Liar, OSError, IncompleteReadError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    seen = hashlib.sha256()
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o644), "wb") as file:
        async for block in _blocks(stream, size):
            seen.update(block)
            file.write(block)
    try:
        _verify(seen, path.name, digest)
    except Liar:
        os.unlink(path)  # noqa: PTH108 - a second without the others does no harm
        raise


async def _blocks(stream: Received, size: int) -> AsyncIterator[bytes]:
    """The next `size` bytes. Raises TimeoutError, IncompleteReadError."""
    while size:
        async with asyncio.timeout(_STALLED):
            block = await stream.read(min(size, _BLOCK))
        if not block:
            raise asyncio.IncompleteReadError(b"", size)
        size -= len(block)
        yield block


def _verify(seen: hashlib._Hash, name: str, digest: str) -> None:
    if seen.hexdigest() != digest:
        raise Liar(f"{name} is not what its hash says")
