"""`zlang expect`, `zlang table` and `zlang plot`: what an experiment asked of its results, and the end of a run."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from zlang.cli import asking, comparing, render, streams, words
from zlang.errors import RunError
from zlang.pipeline import results

if TYPE_CHECKING:
    from zlang.pipeline.results import Closing
    from zlang.report.answers import Judged
    from zlang.report.drawn import Drawn
    from zlang.report.summary import Summary

FAILED = 4
"""Exit code: an expectation failed."""
INCONCLUSIVE = 5
"""Exit code: none failed, but one is inconclusive."""
_SHOWN = 5
"""How many combinations are printed in which something is not so."""
_WIDEST = 120
"""Columns of a plot in a wide terminal."""
_MARKS = {"pass": "✓", "fail": "✗", "inconclusive": "?"}


def expect(run: str | None, db: Path, *, as_json: bool) -> int:
    """Judge the expectations of a run again."""
    judged = results.judge(db, run)
    if as_json:
        import json

        for one in judged:
            print(json.dumps(_as_json(one)))
    elif judged:
        verdicts(judged)
    else:
        print("the experiment has no `expect`; add one", file=sys.stderr)
    return exit_code(judged)


def exit_code(judged: list[Judged]) -> int:
    """0 where all is as expected, 4 where something is not, 5 where one is inconclusive."""
    found = {str(one.verdict) for one in judged}
    return FAILED if "fail" in found else INCONCLUSIVE if "inconclusive" in found else 0


def verdicts(judged: list[Judged]) -> None:
    """Print each expectation with its verdict, and where it is not so."""
    from zlang.report import answers

    for one in judged:
        alike = sum(finding.verdict == one.verdict for finding in one.findings)
        told = f" in {alike:,} of {len(one.findings):,} combinations" if len(one.findings) > 1 else ""
        print(f"{_MARKS[one.verdict]} {one.verdict}{told}: {render.visible(one.expectation.title)}")
        odd = [finding for finding in one.findings if finding.verdict != "pass"]
        for finding in odd[:_SHOWN]:
            print(f"    {finding.verdict}: {render.visible(answers.said(one, finding))}")
        if len(odd) > _SHOWN:
            print(f"    … and in {len(odd) - _SHOWN:,} more: zlang expect --json")
        if not one.findings:
            print("    neither side has a trial")


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
                "margin": one.margin,
                "sides": [
                    {"text": side.term.name, "value": side.value, "n": side.n, "tried": side.tried or 0}
                    for side in one.sides
                ],
            }
            for one in judged.findings
        ],
    }


def table(clause: str | None, run: str | None, db: Path, form: str) -> int:
    """Print the tables of a run's experiment, or the one asked for."""
    words.one_of("--format", form, ("table", "csv", "json", "markdown"))
    found = results.tables(db, run, clause)
    if not found:
        metric, factor = results.example(db, run)
        hint = f"add one: `table {metric} by {factor}`; or ask: zlang table '{metric} by {factor}'"
        raise RunError("the experiment has no `table`", hint)
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
    from zlang.report.summary import flat

    streams.use_utf8()
    sys.stdout.write(FORMATS[form](*flat(found)))


def plot(clause: str | None, run: str | None, db: Path, out: Path | None, *, heat: bool = False) -> int:
    """Draw the plots of a run's experiment, or the one asked for."""
    found = results.plots(db, run, clause, as_fields=heat)
    if not found:
        metric, factor = results.example(db, run)
        hint = f"add one: `plot {metric} over {factor}`; or ask: zlang plot '{metric} over {factor}'"
        raise RunError("the experiment has no `plot`", hint)
    if out is not None:
        results.write_plots(found, out)
    else:
        _plots(found)
    return 0


def _plots(found: list[Drawn]) -> None:
    width = min(shutil.get_terminal_size((100, 24)).columns, _WIDEST)
    is_coloured = render.is_coloured(sys.stdout)
    for i, one in enumerate(found):
        print("\n" if i else "", end="")
        print(results.draw(one, width, is_coloured=is_coloured), end="")


def close(closing: Closing, failures: int, *, is_whole: bool) -> int:
    """The end of a run: its tables or, without any, the summary; its plots, verdicts and findings; the exit code.

    Where only one trial was wanted, only its failure counts.
    """
    _tables(closing.tables or [closing.summary])
    if closing.course is not None:
        print()
        asking.print_summary(closing.course)
    if closing.sentences:
        print()
        print("\n".join(map(render.visible, closing.sentences)))
    if closing.plots:
        print()
        try:
            _plots(closing.plots)
        except RunError as error:  # what draws is not installed: that is no failure of the run
            print(render.run_error(error, colour=render.is_coloured(sys.stderr)), file=sys.stderr)
    if closing.judged:
        print()
        verdicts(closing.judged)
    if closing.findings:
        print()
        comparing.show(closing.findings)
    told = exit_code(closing.judged)
    is_wrong = failures or (is_whole and closing.invalid) or any(one.is_denied for one in closing.findings)
    return told if told == FAILED else 1 if is_wrong else told
