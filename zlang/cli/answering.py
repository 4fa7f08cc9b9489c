"""`zlang expect`, `zlang table` and `zlang plot`: what an experiment asked of its results, and the end of a run."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from zlang import pipeline
from zlang.cli import asking, comparing, render, words
from zlang.errors import RunError
from zlang.report import wording

if TYPE_CHECKING:
    from zlang.report.answers import Drawn, Finding, Judged
    from zlang.report.formulas import Side
    from zlang.report.summary import Cell, Summary

FAILED = 4
"""Exit code: an expectation failed."""
UNTOLD = 5
"""Exit code: none failed, but of one it cannot be told."""
_SHOWN = 5
"""How many combinations are printed in which something is not so."""
_WIDEST = 120
"""Columns of a plot in a wide terminal."""
_MARKS = {"pass": "✓", "fail": "✗", "cannot tell": "?"}


def expect(run: str | None, db: Path, *, as_json: bool) -> int:
    """Judge the expectations of a run again."""
    judged = pipeline.judge(db, run)
    if as_json:
        import json

        for one in judged:
            print(json.dumps(_as_json(one)))
    elif judged:
        verdicts(judged)
    else:
        print("the experiment expects nothing: add `expect` to it", file=sys.stderr)
    return exit_code(judged)


def exit_code(judged: list[Judged]) -> int:
    """0 where all is as expected, 4 where something is not, 5 where that cannot be told."""
    found = {str(one.verdict) for one in judged}
    return FAILED if "fail" in found else UNTOLD if "cannot tell" in found else 0


def verdicts(judged: list[Judged]) -> None:
    """Print each expectation with its verdict, and where it is not so."""
    for one in judged:
        alike = sum(finding.verdict == one.verdict for finding in one.findings)
        told = f" in {alike:,} of {len(one.findings):,} combinations" if len(one.findings) > 1 else ""
        print(f"{_MARKS[one.verdict]} {one.verdict}{told}: {render.visible(one.expectation.title)}")
        odd = [finding for finding in one.findings if finding.verdict != "pass"]
        for finding in odd[:_SHOWN]:
            print(f"    {finding.verdict}: {render.visible(_said(one, finding))}")
        if len(odd) > _SHOWN:
            print(f"    … and in {len(odd) - _SHOWN:,} more: zlang expect --json")
        if not one.findings:
            print("    no trial was carried out for either side")


def _said(judged: Judged, finding: Finding) -> str:
    levels = zip(judged.expectation.by, finding.levels, strict=True)
    at = ", ".join(
        f"{factor.name}={wording.level(level, factor.type)}" for factor, level in levels if level is not None
    )
    why = finding.why or ", ".join(f"{side.term.name} = {_number(side)}" for side in finding.sides)
    return f"{at}: {why}" if at else why


def _number(side: Side) -> str:
    from zlang.report.formulas import UNITS

    if side.value is None:
        return "-"
    times = 100 if side.term.type == "share" else 1
    return f"{wording.measured(side.value * times, UNITS.get(side.term.type, ''))} (n = {side.n})"


def _as_json(judged: Judged) -> dict[str, object]:
    expectation = judged.expectation
    return {
        "title": expectation.title,
        "text": expectation.text,
        "verdict": judged.verdict,
        "combinations": [
            {
                "levels": {factor.name: level for factor, level in zip(expectation.by, one.levels, strict=True)},
                "verdict": one.verdict,
                "why": one.why,
                "sides": [
                    {"text": side.term.name, "value": side.value, "n": side.n, "tried": side.tried or 0}
                    for side in one.sides
                ],
            }
            for one in judged.findings
        ],
    }


def table(run: str | None, db: Path, form: str) -> int:
    """Print the tables of a run's experiment."""
    words.one_of("--format", form, ("table", "csv", "json", "markdown"))
    found = pipeline.tables(db, run)
    if not found:
        raise RunError("the experiment has no `table`", "add one: `table read_iops by bs`; or ask with `zlang sql`")
    if form == "table":
        _tables(found)
    else:
        for one in found:
            _formatted(one, form)
    return 0


def _tables(found: list[Summary]) -> None:
    for i, one in enumerate(found):
        print("\n" if i else "", end="")
        asking.print_summary(one)
    asking.what_does_not_count(found[0])


def _formatted(found: Summary, form: str) -> None:
    from zlang.report.formats import FORMATS

    names: list[str] = []
    for column in found.columns:
        names += (
            [column.name] if column.type != "estimate" else [column.name, f"{column.name} low", f"{column.name} high"]
        )
    rows = [[part for cell in row for part in _parts(cell)] for row in found.rows]
    sys.stdout.write(FORMATS[form](names, rows))


def _parts(cell: Cell) -> list[object]:
    from zlang.report.summary import Estimate

    return [cell.median, cell.low, cell.high] if isinstance(cell, Estimate) else [cell]


def plot(clause: str | None, run: str | None, db: Path, out: Path | None) -> int:
    """Draw the plots of a run's experiment, or the one asked for."""
    found = pipeline.plots(db, run, clause)
    if not found:
        hint = "add one: `plot read_iops over bs`; or ask: zlang plot 'read_iops over bs'"
        raise RunError("the experiment has no `plot`", hint)
    if out is not None:
        pipeline.write_plots(found, out)
    else:
        _plots(found)
    return 0


def _plots(found: list[Drawn]) -> None:
    width = min(shutil.get_terminal_size((100, 24)).columns, _WIDEST)
    is_coloured = render.is_coloured(sys.stdout)
    for i, one in enumerate(found):
        print("\n" if i else "", end="")
        print(pipeline.draw(one, width, is_coloured=is_coloured), end="")


def finish(run: str, db: Path, failures: int, *, is_whole: bool) -> int:
    """The end of a run: its tables or, without any, the summary; its plots; its verdicts, and the exit code.

    Where only one trial was wanted nothing is judged.
    """
    found = pipeline.tables(db, run)
    if found:
        _tables(found)
    else:
        asking.summary(db)
    drawn = pipeline.plots(db, run)
    if drawn:
        print()
        try:
            _plots(drawn)
        except RunError as error:  # what draws is not installed: that is no failure of the run
            print(render.run_error(error, colour=render.is_coloured(sys.stderr)), file=sys.stderr)
    judged = pipeline.judge(db, run) if is_whole else []
    if judged:
        print()
        verdicts(judged)
    doubts = pipeline.doubts(db, run) if is_whole else []
    if doubts:
        print()
        comparing.show(doubts)
    told = exit_code(judged)
    return told if told == FAILED else 1 if failures else told
