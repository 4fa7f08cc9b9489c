"""Tables for a terminal. rich draws such tables too, but its import takes as long as a query (bench/README.md)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from zlang.cli import render

_BETWEEN = 3
"""Characters between two columns."""
_NARROWEST = 20
"""Characters that the last column needs at least, where it is text."""


def draw(columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> None:
    """Print a table, at its full width if the output is not a terminal.

    Only the last column is wrapped; on a terminal too narrow for that, each column gets its own line.
    """
    heads = [render.visible(column) for column in columns]
    shown = [[render.visible(cell) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(heads, *shown, strict=True)]
    if sys.stdout.isatty() and heads:
        *others, last = widths
        space = _columns_of_terminal() - sum(others) - _BETWEEN * len(others)
        if space < (last if numeric[-1] else min(last, _NARROWEST)):
            _print_vertically(heads, shown)
            return
        widths[-1] = min(last, space)
    for line in _lines(heads, widths, numeric):
        print(render.bold(line, colour=render.is_coloured(sys.stdout)))
    print("─" * (sum(widths) + _BETWEEN * (len(widths) - 1)))
    for row in shown:
        print(*_lines(row, widths, numeric), sep="\n")


def _lines(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> Iterator[str]:
    """The lines of a row: several, if its last cell is wider than its column."""
    if not row:
        return
    *others, last = row
    for n, part in enumerate(_wrapped(last, widths[-1])):
        cells = zip((*(others if n == 0 else [""] * len(others)), part), widths, numeric, strict=True)
        yield (" " * _BETWEEN).join([_padded(cell, width, is_number=is_number) for cell, width, is_number in cells])


def _wrapped(text: str, width: int) -> list[str]:
    if _width(text) <= width:
        return [text]
    from textwrap import wrap

    return wrap(text, width if _width(text) == len(text) else width // 2, break_on_hyphens=False)


def _padded(text: str, width: int, *, is_number: bool) -> str:
    blanks = " " * (width - _width(text))
    return blanks + text if is_number else text + blanks


def _width(text: str) -> int:
    """The columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _columns_of_terminal() -> int:
    from shutil import get_terminal_size

    return get_terminal_size().columns


def _print_vertically(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    width = max(map(len, heads), default=0)
    for n, row in enumerate(rows, 1):
        print(f"─ {n} ".ljust(width + _BETWEEN, "─"))
        for head, text in zip(heads, row, strict=True):
            print(f"{head:{width}}   {text}".rstrip())
