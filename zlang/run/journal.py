"""The journal of a run: events -> lines on the disk, and lines -> events.

A line is a JSON object. Its first member `n` is its number, from 1; its last member `crc` is the number that cksum(1)
prints for the bytes before `,"crc":`. A line that zlang writes has `mac` before it, a keyed hash of the bytes before
`,"mac":` and the run's name; a script has no key. Rules: a line is on the disk before `Writer.write` returns, or with
the next one where that is enough; a line that is torn, altered or out of order is never trusted; a writer begins on a
fresh line, whatever its predecessor left. A line torn by a crash is followed by one with the same number, so nothing is
missing. Where a number is missing or occurs twice, `Lines` yields a `Gap`. The lines of older journals have no numbers:
a broken line there was torn by a crash only if a session follows it.
"""

from __future__ import annotations

import hmac
import os
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields
from functools import cache, lru_cache
from operator import attrgetter
from pathlib import Path
from sys import intern
from types import TracebackType

import orjson

from zlang.errors import RunError, reason_of
from zlang.files import open_regular, sync_directory
from zlang.hints import Self
from zlang.run.events import FORMER_NAMES, RECORDED, Recorded, Session

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
_CRC = b',"crc":'
_MAC_LENGTH = len(b',"mac":""') + 32
_NAMES = {kind: name for name, kind in RECORDED.items()}
_FIELDS = {
    name: tuple((member.name, None if member.default is MISSING else (member.default,)) for member in fields(kind))
    for name, kind in RECORDED.items()
}
"""The fields of each event; those that can be absent with their default."""
_VALUES = {name: attrgetter(*(member for member, _ in form)) for name, form in _FIELDS.items()}
_CLOCKS = {"t", "up", "apart"}
_SECONDS = frozenset({"ahead", "took"})
_NUMBERS = {"replicate", "number", "rc", "block", "whole_plot", "packed"}
_FREE = {"key"}
"""Members that may hold any text."""
_WORD = re.compile(r"[A-Za-z0-9._/-]*")
_PLACE = re.compile(r"(?!/)[A-Za-z0-9._/-]*")
LATEST = 253_402_300_800
"""Seconds to the year 10000: a clock beyond it is not trusted."""
_MOST = 1 << 53
_LONGEST_LINE = 1 << 20

Sign = Callable[[bytes], str]
"""Makes the `mac` of a line of one run, 32 hexadecimal digits (`seal.signer`)."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Lines of the journal that are missing, not trusted, or out of place: numbers `first` to `last`."""

    first: int
    last: int

    def __len__(self) -> int:
        """Count them."""
        return max(1, self.last - self.first + 1)

    def __str__(self) -> str:
        """Name the missing lines."""
        if self.last < self.first:
            return f"line {self.last} of the journal is duplicated or in the wrong place"
        if self.first == self.last:
            return f"line {self.first} of the journal is missing or broken"
        return f"lines {self.first:,} to {self.last:,} of the journal are missing or broken"


def cksum(data: bytes) -> int:
    """Return the number that POSIX cksum prints: the CRC-32 with reversed bits, of the data and its length."""
    length = len(data)
    tail = length.to_bytes((length.bit_length() + 7) // 8, "little")
    crc = zlib.crc32((data + tail).translate(_REVERSED), 0xFFFFFFFF)
    return int.from_bytes(crc.to_bytes(4, "little").translate(_REVERSED), "big")


def encode(event: Recorded, number: int | None = None, sign: Sign | None = None) -> bytes:
    """Return the line of an event, with its newline; without a number, as in older journals."""
    name = _NAMES[type(event)]
    members: dict[str, object] = {} if number is None else {"n": number}
    members["t"] = round(event.t, 3)
    if event.up is not None:
        members["up"] = round(event.up, 3)
    if event.apart:
        members["apart"] = round(event.apart, 3)
    members["event"] = name
    for (member, default), value in zip(_FIELDS[name], _VALUES[name](event), strict=True):
        if member not in _CLOCKS and (default is None or value != default[0]):
            members[member] = value
    body = orjson.dumps(members)[:-1]
    if sign is not None:
        body += b',"mac":"%b"' % sign(body).encode()
    return b'%b,"crc":%d}\n' % (body, cksum(body))


def decode(line: bytes) -> tuple[int | None, Recorded] | None:
    """Parse one line and its number; None if it is incomplete, altered or of an unknown kind."""
    body, mark, tail = line.strip().rpartition(_CRC)
    if not mark or not tail.endswith(b"}") or not tail[:-1].isdigit() or int(tail[:-1]) != cksum(body):
        return None
    try:
        members = orjson.loads(body + b"}")
        event = _reader_of(members["event"])(members)
        return (_checked_number(members["n"]) if "n" in members else None), event
    except (ValueError, TypeError, KeyError):
        return None


def is_signed(line: bytes, sign: Sign) -> bool:
    """Whether a line ends with a valid `mac`; later members would override those that it covers."""
    body = line.rpartition(_CRC)[0]
    signed, mac = body[:-_MAC_LENGTH], body[-_MAC_LENGTH:]
    return hmac.compare_digest(mac, b',"mac":"%b"' % sign(signed).encode())


@lru_cache(maxsize=1024)
def _is_word(value: object) -> bool:
    return type(value) is str and _WORD.fullmatch(value) is not None


@lru_cache(maxsize=1024)
def _is_place(value: object) -> bool:
    """Whether a value is a path within the run folder; a journal that was tampered with cannot point elsewhere."""
    return type(value) is str and _PLACE.fullmatch(value) is not None and ".." not in value.split("/")


def _check_of(member: str) -> str:
    """A Python expression that tells whether a member has an allowed value; numbers are checked without a call."""
    if member in _CLOCKS or member in _SECONDS:
        return f"type({member}) in numbers and -{LATEST} < {member} < {LATEST}"
    if member in _NUMBERS:
        return f"type({member}) is int and -{_MOST} < {member} < {_MOST}"
    if member in _FREE:
        return f"type({member}) is str"
    return f"is_place({member})" if member == "out" else f"is_word({member})"


@cache
def _reader_of(name: str) -> Callable[[dict[str, object]], Recorded]:
    """A function that makes an event of its members; made when a journal first has such a line. Raises KeyError.

    It raises ValueError if a member has a wrong value. It names each field, which takes half the time of a loop.
    """
    name = FORMER_NAMES.get(name, name)
    kind = RECORDED[name]
    names: dict[str, object] = {"new": object.__new__, "kind": kind, "intern": intern, "absent": object()}
    names |= {"numbers": frozenset({int, float}), "is_place": _is_place, "is_word": _is_word}
    lines = ["def read(members):", " event = new(kind)"]
    for member, default in _FIELDS[name]:
        names[f"set_{member}"] = getattr(kind, member).__set__
        lines += [f" {member} = members.get({member!r}, absent)", f" if not ({_check_of(member)}): raise ValueError"]
        if default is not None:
            names[f"default_{member}"] = default[0]
            lines.insert(-1, f" if {member} is absent: {member} = default_{member}")
            lines[-1] = lines[-1].replace(" if", " elif")
        # Lines repeat names and places; a long run would keep many copies of them.
        is_text = member not in _CLOCKS | _SECONDS | _NUMBERS
        lines.append(f" set_{member}(event, {f'intern({member})' if is_text else member})")
    exec("\n".join([*lines, " return event"]), names)  # noqa: S102 - a text of names of fields
    return names["read"]  # type: ignore[return-value]


def _checked_number(value: object) -> int:
    if type(value) is not int or not 0 < value < _MOST:
        raise TypeError("n")
    return value


class Lines:
    """The events of a journal, in order, with a gap where lines are missing.

    After an iteration `torn` is the number of lines that a crash tore, and `number` that of the last line. If `sign` is
    given, `unsigned` has the numbers of the trusted lines that it did not sign.
    """

    def __init__(self, path: Path, sign: Sign | None = None) -> None:
        self._path = path
        self._place = 0
        self._sign = sign
        self.torn = 0
        self.number = 0
        self.unsigned: list[int] = []

    def __iter__(self) -> Iterator[Recorded | Gap]:
        """Read from the start; a journal that does not exist yet is empty."""
        self.torn = self.number = 0
        self.unsigned = []
        bad, is_numbered, line = 0, False, b"\n"
        for line in self._lines():
            result = decode(line) if len(line) < _LONGEST_LINE else None
            if result is None or (result[0] is None and is_numbered):
                bad += line != b"\n"
                continue
            number, event = result
            expected = self.number + 1
            if number is None and bad and not isinstance(event, Session):
                number = expected + bad
            if number is not None and number < expected:
                yield Gap(expected, number)
                continue
            if number is not None and number > expected:
                yield Gap(expected, number - 1)
            else:
                self.torn += bad
            bad, is_numbered, self.number = 0, is_numbered or result[0] is not None, number or expected
            if self._sign is not None and not is_signed(line, self._sign):
                self.unsigned.append(self.number)
            yield event
        if bad and line.endswith(b"\n"):  # a crash leaves a line without a newline
            expected, self.number = self.number + 1, self.number + bad
            yield Gap(expected, self.number)
        else:
            self.torn += bad

    def _lines(self) -> Iterator[bytes]:
        """Read line by line; of an overlong line only the beginning."""
        yield from self._lines_from(0)

    def _lines_from(self, place: int) -> Iterator[bytes]:
        """Read the lines from a byte offset, and keep the offset after the last complete line in `_place`."""
        self._place = place
        try:
            with open_regular(self._path) as file:
                file.seek(place)
                while line := file.readline(_LONGEST_LINE):
                    place += len(line)
                    remaining = line
                    while len(remaining) == _LONGEST_LINE and not remaining.endswith(b"\n"):
                        remaining = file.readline(_LONGEST_LINE)
                        place += len(remaining)
                    if remaining.endswith(b"\n"):
                        self._place = place
                    yield line
        except FileNotFoundError:
            return
        except OSError as error:
            raise RunError(f"cannot read the journal {self._path}: {reason_of(error)}") from error


class Tail(Lines):
    """The events of a journal that another process is writing.

    At the current end of the journal `wait` is called; as long as it returns True, reading continues from there.
    """

    def __init__(self, path: Path, wait: Callable[[], bool]) -> None:
        super().__init__(path)
        self._wait = wait

    def _lines(self) -> Iterator[bytes]:
        self._place = 0
        is_going_on = True
        while is_going_on:
            begin = self._place
            for line in self._lines_from(begin):
                if self._place > begin:  # else the line is not complete yet
                    begin = self._place
                    yield line
            is_going_on = self._wait()


class Writer:
    """Appends events to a journal whose last line has a given number, and signs them if there is a key."""

    def __init__(self, path: Path, last: int = 0, sign: Sign | None = None) -> None:
        self._path = path
        self._sign = sign
        self._number = last
        self._has_unsynced_lines = False
        """Whether lines may not be on the disk."""
        try:
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            end = os.lseek(self._file, 0, os.SEEK_END)
            self._is_fresh = end == 0 or os.pread(self._file, 1, end - 1) == b"\n"
            if end == 0:
                sync_directory(path.parent)
        except OSError as error:
            raise _journal_error("open", path, error) from error

    def write(self, *events: Recorded, is_awaited: bool = True) -> None:
        """Append events, and wait until they and all earlier ones are on the disk. Raises RunError if they may not be.

        Events without a wait survive the death of the process, and a loss of power only after the next wait. The end of
        the writer's block waits, too.
        """
        lines = b"".join(encode(event, number, self._sign) for number, event in enumerate(events, self._number + 1))
        remaining = lines if self._is_fresh else b"\n" + lines
        self._is_fresh = False
        try:
            while remaining:
                remaining = remaining[os.write(self._file, remaining) :]
        except OSError as error:
            raise _journal_error("write", self._path, error) from error
        self._number += len(events)
        self._is_fresh = self._has_unsynced_lines = True
        if is_awaited:
            self.wait()

    def wait(self) -> None:
        """Wait until all events are on the disk. Raises RunError if they may not be."""
        try:
            if self._has_unsynced_lines:
                os.fsync(self._file)
        except OSError as error:
            self._is_fresh = False
            raise _journal_error("write", self._path, error) from error
        self._has_unsynced_lines = False

    def __enter__(self) -> Self:
        """Return the writer, which is closed at the end of the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Wait for the disk, unless an error ends the block, and close the file."""
        try:
            self.wait()
        except RunError:
            if error is None:
                raise
        finally:
            os.close(self._file)


def _journal_error(verb: str, path: Path, error: OSError) -> RunError:
    return RunError(
        f"cannot {verb} the journal {path}: {reason_of(error)}",
        "the results so far are safe; free some space or repair the disk, then type `zlang resume`",
    )
