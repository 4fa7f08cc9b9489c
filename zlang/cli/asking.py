"""`zlang ingest`, and the table that a run ends with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from zlang.check.reserved import RESERVED
from zlang.cli import render, tables, words
from zlang.errors import RunError
from zlang.pipeline import outside, plans, programs, results, runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zlang.report.summary import Summary

_NAMED = 3
"""How many runs that cannot be verified are named."""


def ingest(directory: Path, db: Path) -> int:
    """Build the database."""
    done = results.ingest(directory, db)
    unchanged = f" ({done.kept:,} unchanged)" if done.kept else ""
    print(f"{render.visible(str(db))}: {words.counted(done.runs, 'run')}{unchanged}, ", end="")
    print(
        f"{words.counted(done.trials, 'trial')}, {done.valid:,} of them count{'s' if done.valid == 1 else ''}", end=""
    )
    print(f", {words.counted(done.problems, 'problem')} (table `problems`)" if done.problems else "")
    note_of_dropped(done.dropped, db, directory)
    warn_of_unverified(done.unverified)
    return 0


def import_csv(
    runs_dir: Path,
    file: str,
    run_name: str | None,
    program: str | None,
    settings: list[str] | None,
    profile: str | None,
    experiment: str | None,
    seed: int | None,
    order: str | None,
) -> None:
    """Import results of another tool from a CSV file, for a run or for a program that was run without zlang."""
    from zlang.cli import checking

    words.ordered(order)
    if (run_name is None) == (program is None):
        raise typer.BadParameter("say what the results belong to: add --run RUN or --program FILE", param_hint="--csv")
    if program is None:
        folder = runs.find(runs_dir, run_name)
    else:
        overrides = checking.overrides(settings, profile)
        checked = checking.sound(program, overrides)
        chosen = programs.choose(checked, experiment)
        seed = plans.DEFAULT_SEED if seed is None else seed
        planned = plans.plan(checked, chosen, seed, overrides, order=order)
        folder = outside.begin_outside(planned, runs_dir)
    try:
        imported = outside.import_csv(folder, file)
    except RunError:
        if program is not None:
            runs.discard(folder)
        raise
    print(f"{render.visible(file)}: {imported.count:,} trials, in {render.visible(folder.name)}")
    for note in imported.notes:
        print(f"note: {render.visible(note)}", file=sys.stderr)


def import_reports(runs_dir: Path, directory: Path) -> None:
    """Create a run from reports that a tool wrote without zlang."""
    folder, count = outside.import_reports(runs_dir, directory)
    print(f"{render.visible(str(directory))}: {count:,} reports, in {render.visible(folder.name)}")


def print_summary(summary: Summary) -> None:
    """A table of estimates: a median has its interval behind it."""
    from zlang.report.summary import heading, shown

    rows = [[shown(value, column) for value, column in zip(row, summary.columns, strict=True)] for row in summary.rows]
    numeric = [column.type not in {"word", "string"} for column in summary.columns]
    tables.draw(tuple(heading(summary, n) for n in range(len(summary.columns))), rows, numeric)
    if summary.note:
        print(render.visible(summary.note))


def what_does_not_count(summary: Summary) -> None:
    """Print how many trials count, and why the others do not."""
    print(f"{summary.valid:,} of {summary.trials:,} trials count")
    for reason, count in summary.reasons:
        print(f"  {count:,} {'does' if count == 1 else 'do'} not count: {render.visible(reason)}")


def warn_of_damage(db: Path, *run_names: str | None) -> None:
    """Say what is wrong with the runs that an answer is about; without a name with that worked on last."""
    _warn(results.damage(db, *run_names))


def note_of_dropped(dropped: int, db: Path, directory: Path) -> None:
    """Say that a database lost runs because their folders are not in the directory from which it was built."""
    if dropped:
        gone = f"{words.counted(dropped, 'run')} that {'is' if dropped == 1 else 'are'} not in {directory}"
        print(f"note: {render.visible(f'{db} no longer has {gone}')}", file=sys.stderr)


def warn_of_unverified(runs: Sequence[tuple[str, str]]) -> None:
    """Name the runs whose results cannot be verified: a few, and the number of the others."""
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
