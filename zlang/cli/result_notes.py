"""The table at the end of a run, and notes about problems of the results behind an answer."""

from __future__ import annotations

import sys
from pathlib import Path

from zlang.check.reserved import RESERVED
from zlang.cli import render, tables, words
from zlang.hints import TYPE_CHECKING
from zlang.pipeline import results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zlang.report.summary import Summary

_NAMED = 3
"""The number of unverified runs that are named."""


def print_summary(summary: Summary) -> None:
    """Print a table of estimates, each with its interval."""
    from zlang.report.summary import heading, shown

    rows = [[shown(value, column) for value, column in zip(row, summary.columns, strict=True)] for row in summary.rows]
    numeric = [column.type not in {"word", "string"} for column in summary.columns]
    tables.draw(tuple(heading(summary, n) for n in range(len(summary.columns))), rows, numeric)
    if summary.note:
        print(render.visible(summary.note))


def what_does_not_count(summary: Summary) -> None:
    """Print the number of valid trials, and the reasons why others are invalid."""
    print(f"{summary.valid:,} of {summary.trials:,} trials count")
    for reason, count in summary.reasons:
        print(f"  {count:,} {'does' if count == 1 else 'do'} not count: {render.visible(reason)}")


def warn_of_damage(db: Path, *run_names: str | None) -> None:
    """Report problems of the runs behind a result; without a name, of the latest run."""
    _warn(results.damage(db, *run_names))


def note_of_dropped(dropped: int, db: Path, directory: Path) -> None:
    """Report that a database lost runs, because their folders are not in the directory from which it was built."""
    if dropped:
        gone = f"{words.counted(dropped, 'run')} that {'is' if dropped == 1 else 'are'} not in {directory}"
        print(f"note: {render.visible(f'{db} no longer has {gone}')}", file=sys.stderr)


def warn_of_unverified(runs: Sequence[tuple[str, str]]) -> None:
    """Name a few of the runs whose results cannot be verified, and the number of the others."""
    _warn(runs[:_NAMED])
    if len(runs) > _NAMED:
        where = "zlang sql \"select run, problem from problems where problem like '%cannot be verified%'\""
        print(f"warning: and {len(runs) - _NAMED:,} more: {where}", file=sys.stderr)


def _warn(problems: Sequence[tuple[str, str]]) -> None:
    for run_name, problem in problems:
        print(f"warning: {render.visible(run_name)}: {render.visible(problem)}", file=sys.stderr)


def example_query(summary: Summary) -> str:
    """An example query for this experiment's factors and its first metric."""
    metric = next((column.name for column in summary.columns if column.type == "estimate"), "elapsed")
    names = [column.name for column in summary.columns]
    metrics = sum(column.type == "estimate" for column in summary.columns)
    factors = names[: len(names) - metrics - 1]  # n stands between the factors and the metrics
    plain = {name for name in factors if name.isidentifier() and name.lower() not in RESERVED}
    listed = "".join(f"{name}, " if name in plain else f'"{name}", ' for name in factors)
    return f"zlang sql {words.shell(f'select {listed}median({metric}) from trials group by all order by all')}"
