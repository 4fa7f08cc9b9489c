"""Small outputs of trials in one file of the run folder: the files of an attempt -> a line of `outputs.jsonl` -> files.

The directories of a trial and a file in them take up four blocks of a disk, even if the file has a few bytes. So in
plans of many trials, the files of an attempt are packed if all of them are small texts; the commit has the offset of
their line. Rule: a line is on the disk before `Packer.append` returns, and before the files are removed. Other files
stay where the tools wrote them, and so do those of trials that do not count or are measured again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import orjson

from zlang.files import Packed, open_regular, read_regular, sync_directory
from zlang.readers.registry import LOG_NAMES

FILE = "outputs.jsonl"
FEWEST_TRIALS = 1000
"""The trials of the smallest plan whose outputs are packed; those of fewer take 16 MiB at most, and stay files."""
_MOST_BYTES = 4096
"""The length of all files of an attempt; larger ones would not save much of the space that they take."""
_MOST_FILES = 64
_LONGEST_LINE = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9._+,=@%-]+")
_OUT = re.compile(rb'\{"out":"(trials/[A-Za-z0-9._/-]{1,200})"')


def is_small(size: int, count: int) -> bool:
    """Whether so many files of this size together can be packed."""
    return size <= _MOST_BYTES and count <= _MOST_FILES


def small_files(directory: Path) -> dict[str, bytes] | None:
    """The contents of all files in a directory; None if they cannot be packed. Raises OSError."""
    files: dict[str, bytes] = {}
    size = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            is_plain = entry.is_file(follow_symlinks=False)
            length = entry.stat(follow_symlinks=False).st_size if is_plain else _MOST_BYTES
            size += length
            if not is_plain or not is_small(size, len(files) + 1):
                return None
            files[entry.name] = read_regular(entry.path, length) if length else b""
    return files if are_texts(files) else None


def are_texts(files: Mapping[str, bytes]) -> bool:
    """Whether small files can be packed: texts in the directory itself, but no logs, which DuckDB reads from files."""
    is_log = any(may_be_log(name) for may_be_log in LOG_NAMES for name in files)
    return not is_log and all(map(_NAME.fullmatch, files)) and all(map(_is_text, files.values()))


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def write(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a directory, which is made if there is none. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)


def remove(directory: Path, files: Mapping[str, bytes]) -> None:
    """Remove files that were packed, and the directories above them that are empty then, up to that of all trials."""
    place = str(directory)
    with suppress(OSError):  # another trial of the same point, or a file that was written late
        for name in files:
            os.unlink(f"{place}/{name}")  # noqa: PTH108 - runs for every trial
        for _ in range(3):
            os.rmdir(place)  # noqa: PTH106 - as above
            place = place.rpartition("/")[0]


def read(folder: Path, at: int, out: str) -> Packed:
    """The files of an attempt from the line at an offset. Raises OSError, ValueError."""
    with open_regular(folder / FILE) as file:
        file.seek(at)
        line = orjson.loads(file.readline(_LONGEST_LINE))
    files = line.get("files") if isinstance(line, dict) and line.get("out") == out else None
    if not isinstance(files, dict) or not all(map(_is_named_text, files.items())):
        raise ValueError(f"{FILE} does not have the output of {out} there")
    return Packed({name: text.encode() for name, text in files.items()})


def _is_named_text(item: tuple[str, object]) -> bool:
    name, text = item
    return _NAME.fullmatch(name) is not None and isinstance(text, str)


def packed_in(folder: Path) -> frozenset[str]:
    """The directories of the attempts whose output was packed."""
    outs = set()
    with suppress(OSError), open_regular(folder / FILE) as file:
        while line := file.readline(_LONGEST_LINE):
            if out := _OUT.match(line):
                outs.add(out[1].decode("ascii"))
    return frozenset(outs)


class Packer:
    """Appends the files of attempts. It opens the file when there is something to append."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = -1
        self._has_unsynced_lines = False

    def append(self, out: str, files: Mapping[str, bytes], *, is_awaited: bool = True) -> int:
        """Append the files of an attempt, wait for the disk, and return the offset of their line. Raises OSError."""
        texts = {name: content.decode() for name, content in files.items()}
        line = b'{"out":%b,"files":%b}\n' % (orjson.dumps(out), orjson.dumps(texts))
        if self._file < 0:
            self._open()
        at = os.lseek(self._file, 0, os.SEEK_END)
        try:
            while line:
                line = line[os.write(self._file, line) :]
            self._has_unsynced_lines = True
            if is_awaited:
                self.wait()
        except OSError:
            self.close()  # the next line begins after the torn one
            raise
        return at

    def wait(self) -> None:
        """Wait until everything is on the disk. Raises OSError."""
        if self._has_unsynced_lines:
            os.fsync(self._file)
            self._has_unsynced_lines = False

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file, self._has_unsynced_lines = -1, False

    def _open(self) -> None:
        """Open the file, and begin on a fresh line if a crash has torn the last one."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        self._file = os.open(self._folder / FILE, flags, 0o666)
        end = os.lseek(self._file, 0, os.SEEK_END)
        if end and os.pread(self._file, 1, end - 1) != b"\n":
            os.write(self._file, b"\n")
        sync_directory(self._folder)
