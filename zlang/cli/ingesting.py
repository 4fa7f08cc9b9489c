"""`zlang ingest`: building the database from run folders, and importing results measured without zlang."""

from __future__ import annotations

import sys
from pathlib import Path

from zlang.cli import checking, render, result_notes, words
from zlang.errors import RunError, UsageError
from zlang.pipeline import outside, plans, programs, results, runs


def ingest(directory: Path, db: Path) -> int:
    """Build the database."""
    done = results.ingest(directory, db)
    unchanged = f" ({done.kept:,} unchanged)" if done.kept else ""
    print(f"{render.visible(str(db))}: {words.counted(done.runs, 'run')}{unchanged}, ", end="")
    print(
        f"{words.counted(done.trials, 'trial')}, {done.valid:,} of them count{'s' if done.valid == 1 else ''}", end=""
    )
    print(f", {words.counted(done.problems, 'problem')} (table `problems`)" if done.problems else "")
    result_notes.note_of_dropped(done.dropped, db, directory)
    result_notes.warn_of_unverified(done.unverified)
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
    words.ordered(order)
    if (run_name is None) == (program is None):
        raise UsageError(
            "add --run RUN or --program FILE: the run or the program to which the results belong", option="--csv"
        )
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
