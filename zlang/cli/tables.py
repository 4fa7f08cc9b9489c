"""Tables for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from zlang.cli import render

_BETWEEN = 3
"""Characters between two columns."""
_NARROWEST = 20
"""Characters that the last column needs at least, where it is text."""


def draw(columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> None:
    """Print a table with rich, at its full width if the output is not a terminal.

    Only the last column is wrapped; on a terminal too narrow for that, each column gets its own line.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = [[render.visible(cell) for cell in row] for row in rows]
    heads = [render.visible(column) for column in columns]
    last = len(heads) - 1
    widths = [
        max(len(line) for text in column for line in text.split("\n")) for column in zip(heads, *shown, strict=True)
    ]
    if heads and not numeric[last]:
        widths[last] = min(widths[last], _NARROWEST)
    console = Console(width=_columns_of_terminal() if sys.stdout.isatty() else 10_000)
    if sum(widths) + _BETWEEN * last > console.width:
        _print_vertically(heads, shown)
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for n, (head, is_number) in enumerate(zip(heads, numeric, strict=True)):
        is_whole = n < last or is_number
        table.add_column(Text(head), justify="right" if is_number else "left", overflow="fold", no_wrap=is_whole)
    for row in shown:
        table.add_row(*map(Text, row))
    console.print(table)


def _columns_of_terminal() -> int:
    from shutil import get_terminal_size

    return get_terminal_size().columns


def _print_vertically(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    width = max(map(len, heads), default=0)
    for n, row in enumerate(rows, 1):
        print(f"─ {n} ".ljust(width + _BETWEEN, "─"))
        for head, text in zip(heads, row, strict=True):
            print(f"{head:{width}}   {text}".rstrip())
