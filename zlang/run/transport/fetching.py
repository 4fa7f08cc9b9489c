"""The files of a machine's directory, as `fetch.sh` sends them: a stream of bytes -> files that match their hashes.

Rule: a machine cannot name a path outside the directory, and a file that does not match its hash is not kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from zlang.hints import Protocol

_BLOCK = 1 << 16
_STALLED = 60.0
"""Seconds without a byte of a file after which its machine is lost. Computing hashes may take longer."""
_MOST_FILES = 100_000
_HASH = re.compile(rb"([0-9a-f]{64})  \./([^\n]+)")
_SIZE = re.compile(rb" *([0-9]{1,18}) \./([^\n]+)")


class Liar(Exception):
    """A machine sent something that our agent never sends."""


class ByteStream(Protocol):
    """The output that a machine sends."""

    async def readline(self) -> bytes:
        """Return the next line, or the rest before the end."""

    async def read(self, size: int, /) -> bytes:
        """Return at most this many bytes; none at the end."""


async def until_ready(stream: ByteStream, token: str) -> None:
    """Skip the output of a login shell. Raises IncompleteReadError."""
    while (line := await stream.readline()) != f"ready {token}\n".encode():
        if not line:
            raise asyncio.IncompleteReadError(b"", None)


async def receive(stream: ByteStream, place: Callable[[str], Path]) -> list[int]:
    """Receive the files of a directory, each at the path that `place` returns for its name; return their sizes.

    Raises Liar, OSError (a TimeoutError if the stream stalls), IncompleteReadError.
    """
    hashes = await _listing(stream, _HASH)
    sizes = await _listing(stream, _SIZE)
    if list(hashes) != list(sizes):
        raise Liar("sizes and hashes are of different files")
    for name, digest in hashes.items():
        await _receive(stream, place(name), int(sizes[name]), digest)
    if await _listing(stream, _HASH):
        raise Liar("something follows the last file")
    return [int(size) for size in sizes.values()]


async def _listing(stream: ByteStream, form: re.Pattern[bytes]) -> dict[str, str]:
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


async def _receive(stream: ByteStream, path: Path, size: int, digest: str) -> None:
    """Write `size` bytes to a file, which must match a hash. Raises Liar, OSError, IncompleteReadError."""
    loop = asyncio.get_running_loop()
    path.parent.mkdir(parents=True, exist_ok=True)
    seen = hashlib.sha256()
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o644), "wb") as file:
        async with asyncio.timeout(_STALLED) as limit:
            while size:
                block = await stream.read(min(size, _BLOCK))
                if not block:
                    raise asyncio.IncompleteReadError(b"", size)
                limit.reschedule(loop.time() + _STALLED)
                size -= len(block)
                seen.update(block)
                file.write(block)
    if seen.hexdigest() != digest:
        os.unlink(path)  # noqa: PTH108 - a second without the others does no harm
        raise Liar(f"{path.name} is not what its hash says")
