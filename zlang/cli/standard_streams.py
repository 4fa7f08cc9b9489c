"""Standard output and error that never end a command by themselves, even if closed, full, hung up or not Unicode.

Rules: text that cannot be written to standard error is dropped. The first failure of standard output raises
`Unwritable`, so that a long answer ends. In a command that has to clean up (`keep_on`) it is dropped as well, and so
are messages on standard error that nobody reads: a run does not wait for a reader. For people, a character that the
encoding lacks becomes one that looks like it, or its escape; for programs, all output is UTF-8.
"""

from __future__ import annotations

import codecs
import io
import os
import sys

from zlang.errors import suppress
from zlang.hints import TextIO
from zlang.sink import HUNG_UP, Sink

_LIKE = {"…": "...", "–": "-", "—": "-", "×": "x", "✓": "+", "✗": "x", "µ": "u", "→": "->", "≥": ">=", "≤": "<="}
_BOX = range(0x2500, 0x2580)
_BLOCKS = (range(0x2580, 0x2600), range(0x2800, 0x2900))
"""Blocks, shapes and Braille: what plots are drawn with."""
_HANDLER = "zlang"
_PATIENCE = 0.2
"""Seconds for which a run waits once for somebody who does not read its messages."""
_ERROR = 2
"""The descriptor of standard error."""


def prepare(*, keep_on: bool) -> None:
    """Replace standard output and error; with `keep_on` no failure to write is raised."""
    codecs.register_error(_HANDLER, _replaced)
    for number, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        with suppress(OSError):
            os.fstat(number)
            continue
        # Otherwise the next opened file (the journal) would get the descriptor of standard output.
        os.set_inheritable(os.open(os.devnull, mode), True)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = _stream(Sink(1, is_strict=not keep_on), sys.stdout)
    sys.stderr = _stream(Sink(_ERROR, is_strict=False, patience=_PATIENCE if keep_on else None), sys.stderr)


def _stream(sink: Sink, old: TextIO | None) -> io.TextIOWrapper:
    encoding = old.encoding if old is not None else "utf-8"
    is_by_line = sink.fileno() == _ERROR or sink.isatty()
    return io.TextIOWrapper(io.BufferedWriter(sink), encoding, _HANDLER, line_buffering=is_by_line)


def use_utf8() -> None:
    """Write UTF-8 to standard output from now on, whatever the locale, because programs read it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")


def failure() -> OSError | None:
    """The error with which writing to standard output failed; None if there was none, or the reader closed the pipe."""
    sys.stdout.flush()
    sink = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(sink, Sink) and sink.failure is not None and sink.failure.errno not in HUNG_UP:
        return sink.failure
    return None


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the encoding does not have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_similar, error.object[error.start : error.end])), error.end


def _similar(char: str) -> str:
    if char in _LIKE:
        return _LIKE[char]
    if ord(char) in _BOX:
        return "|" if char in "│┃║" else "-" if char in "─━═" else "+"
    if any(ord(char) in block for block in _BLOCKS):
        return "#"
    return char.encode("unicode_escape").decode()
