"""The journal of a run: events -> lines on the disk, and lines -> events and what stands.

A line is a JSON object whose last member is `crc`: the number that cksum(1) prints for the bytes before `,"crc":`.
Rules: a line is on the disk before `Writer.write` returns; a line that is torn or altered is never believed; a writer
begins on a fresh line, whatever the one before it left.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from zlang.errors import RunError
from zlang.files import sync_directory
from zlang.run.events import (
    RECORDED,
    Altered,
    Begin,
    Commit,
    End,
    Fail,
    Finish,
    Interrupt,
    Made,
    Recorded,
    Session,
    Spare,
    Start,
    Unmade,
)

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
_CRC = b',"crc":'
_NAMES = {kind: name for name, kind in RECORDED.items()}
_FIELDS = {name: tuple(member.name for member in fields(kind)) for name, kind in RECORDED.items()}
_NUMBERS = {"replicate", "number", "rc", "block", "whole_plot"}


def cksum(data: bytes) -> int:
    """Give the number that cksum of POSIX prints: CRC-32 with its bits the other way round, of data and its length."""
    length = len(data)
    tail = length.to_bytes((length.bit_length() + 7) // 8, "little")
    crc = zlib.crc32((data + tail).translate(_REVERSED), 0xFFFFFFFF)
    return int.from_bytes(crc.to_bytes(4, "little").translate(_REVERSED), "big")


def encode(event: Recorded) -> bytes:
    """Give the line of an event, with its newline."""
    name = _NAMES[type(event)]
    members: dict[str, object] = {"t": round(event.t, 3), "event": name}
    members.update((member, getattr(event, member)) for member in _FIELDS[name] if member != "t")
    body = orjson.dumps(members)[:-1]
    return b'%b,"crc":%d}\n' % (body, cksum(body))


def decode(line: bytes) -> Recorded | None:
    """Read one line back; None if it is torn, altered or of no known kind."""
    body, mark, tail = line.strip().rpartition(_CRC)
    if not mark or not tail.endswith(b"}") or not tail[:-1].isdigit() or int(tail[:-1]) != cksum(body):
        return None
    try:
        members = orjson.loads(body + b"}")
        name = members["event"]
        kind: Callable[..., Recorded] = RECORDED[name]
        return kind(*(_checked(member, members[member]) for member in _FIELDS[name]))
    except (ValueError, TypeError, KeyError):
        return None


def _checked(member: str, value: object) -> object:
    if member == "t":
        expected: type | tuple[type, ...] = (int, float)
    else:
        expected = int if member in _NUMBERS else str
    if not isinstance(value, expected):
        raise TypeError(member)
    return value


class Lines:
    """The events of a journal, in order; after an iteration `bad` is the number of lines that were not believed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.bad = 0

    def __iter__(self) -> Iterator[Recorded]:
        """Read from the beginning; a journal that does not exist yet is empty."""
        self.bad = 0
        try:
            with self._path.open("rb") as file:
                for line in file:
                    if event := decode(line):
                        yield event
                    elif line != b"\n":
                        self.bad += 1
        except FileNotFoundError:
            return
        except OSError as error:
            raise _cannot("read", self._path, error) from error


@dataclass(slots=True)
class Standing:
    """What the events so far amount to. Trials are known by their place, `trials/IDENTITY/REPLICATE`."""

    committed: dict[str, str] = field(default_factory=dict)
    """Place -> directory of the attempt that was carried out."""
    failed: dict[str, Fail] = field(default_factory=dict)
    spared: dict[str, Spare] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    """Signature -> directory of each setup whose making was started and that was not unmade, in order of making."""
    made: set[str] = field(default_factory=set)
    """Signatures of the setups that could be made at least once."""
    attempts: dict[str, int] = field(default_factory=dict)
    """Signature -> number of its latest attempt."""
    facts: set[str] = field(default_factory=set)
    """Names of the fact steps that ended well."""
    sessions: int = 0
    last: Recorded | None = None
    under_way: Begin | None = None
    waits_for: tuple[str, str] | None = None
    """The step, and the place of its attempts, of what somebody was asked for when the run stopped."""
    unended: dict[tuple[str, str], None] = field(default_factory=dict)
    """The commands that are under way."""
    bad: int = 0

    @property
    def done(self) -> int:
        """How many trials are done, or need not be."""
        return len(self.committed) + len(self.failed) + len(self.spared)

    @property
    def is_finished(self) -> bool:
        """Whether all trials are done and everything was torn down."""
        return isinstance(self.last, Finish)

    def apply(self, event: Recorded) -> None:
        """Take one more event into account."""
        self.last = event
        self._follow(event)
        match event:
            case Session():
                self.sessions += 1
                self.under_way = None
            case Begin():
                self.under_way = event
            case Start(out=out) if out.startswith("setups/"):
                self._touch(out)
            case End(step=step, out="facts", rc=0):
                self.facts.add(step)
            case Made(signature=signature):
                self.made.add(signature)
                self.left.setdefault(signature, "")
            case Altered(was=was, signature=signature):
                self.left = {signature if name == was else name: out for name, out in self.left.items()}
            case Unmade(signature=signature):
                self.left.pop(signature, None)
            case Spare():
                self.spared[_place(event)] = event
            case Commit(out=out):
                place = _place(event)
                self.failed.pop(place, None)
                self.spared.pop(place, None)
                self.committed[place] = out
                self.under_way = None
            case Fail():
                place = _place(event)
                self.committed.pop(place, None)
                self.spared.pop(place, None)
                self.failed[place] = event
                self.under_way = None
            case _:
                pass

    def _follow(self, event: Recorded) -> None:
        """A run that tidied up and has a command that never ended waited for somebody."""
        match event:
            case Session():
                self.unended.clear()
                self.waits_for = None
            case Start(step=step, out=out):
                self.unended[step, out] = None
            case End(step=step, out=out):
                self.unended.pop((step, out), None)
            case Interrupt():
                step, out = next(reversed(self.unended), ("", ""))
                self.waits_for = (step, out.rpartition("/")[0]) if step else None
            case _:
                pass

    def _touch(self, out: str) -> None:
        _, signature, attempt = f"{out}//".split("/")[:3]
        number = attempt.removeprefix("a")
        self.left.setdefault(signature, out)
        self.attempts[signature] = max(self.attempts.get(signature, 0), int(number) if number.isdigit() else 0)


def standing(path: Path) -> Standing:
    """Read a journal to its end."""
    lines = Lines(path)
    result = Standing()
    for event in lines:
        result.apply(event)
    result.bad = lines.bad
    return result


def _place(event: Commit | Fail | Spare) -> str:
    return f"trials/{event.trial}/{event.replicate}"


class Writer:
    """Appends events to a journal."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            end = os.lseek(self._file, 0, os.SEEK_END)
            self._is_fresh = end == 0 or os.pread(self._file, 1, end - 1) == b"\n"
            if end == 0:
                sync_directory(path.parent)
        except OSError as error:
            raise _cannot("open", path, error) from error

    def write(self, *events: Recorded) -> None:
        """Append events and wait until they are on the disk; a RunError says that they may not be there."""
        lines = b"".join(map(encode, events))
        rest = lines if self._is_fresh else b"\n" + lines
        self._is_fresh = False
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError as error:
            raise _cannot("write", self._path, error) from error
        self._is_fresh = True

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def __enter__(self) -> Self:
        """Be closed at the end of the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close."""
        self.close()


def _cannot(verb: str, path: Path, error: OSError) -> RunError:
    return RunError(
        f"cannot {verb} the journal {path}: {error.strerror}",
        "what the journal holds is safe; free some space or mend the disk, then `zlang resume`",
    )
