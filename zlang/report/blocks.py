"""Tables of a report from plain values, and the queries for them.

Rule: a table shows at most as many rows as a browser can; its data has all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zlang.report import document, wording
from zlang.report.document import Block, Cell, Figure
from zlang.report.formulas import Trials
from zlang.store.query import run_query
from zlang.store.store import literal
from zlang.text import visible

MOST_ROWS = 2000
"""Rows in a table: a browser takes a second for more. The CSV file has all rows."""
_TINY = 0.001
_EXACT = 1e15
"""Larger floats have no digit for each power of ten."""


def bounded(block: Block) -> Block:
    """Return the block with its table cut to a size that a browser can show; a note says so, `data` has all rows."""
    match block:
        case document.DocumentTable() if len(block.data) > MOST_ROWS:
            note = f"The first {MOST_ROWS:,} of {len(block.data):,} rows; `zlang report --format csv` writes them all."
            return replace(block, rows=block.rows[:MOST_ROWS], note=f"{block.note} {note}".strip())
        case Figure():
            table = bounded(block.table)
            assert isinstance(table, document.DocumentTable), "BUG: a bounded table is a table"
            return replace(block, table=table)
        case _:
            return block


def table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[object]], numeric: frozenset[int] = frozenset()
) -> document.DocumentTable:
    """Make a table of data, with numbers rounded to their significant digits."""
    shown = tuple(tuple(Cell(cell_text(value)) for value in row) for row in rows)
    return document.DocumentTable(
        title=title, columns=tuple(heads), rows=shown, names=tuple(heads), data=tuple(map(tuple, rows)), numeric=numeric
    )


def cell_text(value: object) -> str:
    """A value as the text of a cell, with numbers rounded."""
    match value:
        case None:
            return ""
        case float() if 0 < abs(value) < _TINY or abs(value) >= _EXACT:
            return f"{value:.1g}"
        case float():
            return wording.digits(value)
        case int():
            return f"{value:,}"
        case _:
            return visible(str(value), keep="\n")


def query_runs(trials: Trials, question: str, end: str) -> list[tuple[object, ...]]:
    """Run a query about the runs of the trials; `question` ends in WHERE, and `end` follows the condition."""
    runs = ", ".join(map(literal, (trials.run, *trials.others)))
    return list(run_query(trials.db, f"SELECT {question} run IN ({runs}) {end}").rows)
