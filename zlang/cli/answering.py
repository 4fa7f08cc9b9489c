"""`zlang expect`, `zlang table` and `zlang plot`: the questions of an experiment; also the output after a run."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from zlang.cli import comparing, render, result_notes, standard_streams, words
from zlang.errors import RunError
from zlang.hints import TYPE_CHECKING
from zlang.pipeline import results

if TYPE_CHECKING:
    from zlang.pipeline.results import Closing
    from zlang.report.drawn import Drawn
    from zlang.report.judging import Judged
    from zlang.report.summary import Summary

FAILED = 4
"""Exit code: an expectation failed."""
INCONCLUSIVE = 5
"""Exit code: no expectation failed, but one is inconclusive."""
_SHOWN = 5
"""The number of failing combinations that are printed."""
_WIDEST = 120
"""Columns of a plot in a wide terminal."""
_MARKS = {"pass": "✓", "fail": "✗", "inconclusive": "?"}


def expect(run: str | None, db: Path, against: str | None, *, as_json: bool) -> int:
    """Judge the expectations of a run again."""
    with results.asking(db):
        judged = results.judge(db, run, against)
        if as_json:
            for item in judged:
                print(json.dumps(_as_json(item)))
        elif judged:
            verdicts(judged)
        else:
            print("the experiment has no `expect`; add one: `expect median(METRIC) > LIMIT`", file=sys.stderr)
        result_notes.warn_of_damage(db, run, *([against] if against else []))
    return exit_code(judged)


def exit_code(judged: list[Judged]) -> int:
    """The exit code: 0 if all expectations pass, 4 if one fails, else 5 if one is inconclusive."""
    result = {str(item.verdict) for item in judged}
    return FAILED if "fail" in result else INCONCLUSIVE if "inconclusive" in result else 0


def verdicts(judged: list[Judged]) -> None:
    """Print each expectation with its verdict, and the combinations in which it fails."""
    from zlang.report import judging

    for item in judged:
        alike = sum(finding.verdict == item.verdict for finding in item.findings)
        shown = f" in {alike:,} of {len(item.findings):,} combinations" if len(item.findings) > 1 else ""
        print(f"{_MARKS[item.verdict]} {item.verdict}{shown}: {render.visible(item.expectation.title)}")
        odd = [finding for finding in item.findings if finding.verdict != "pass"]
        for finding in odd[:_SHOWN]:
            print(f"    {finding.verdict}: {render.visible(judging.sentence(item, finding))}")
        if len(odd) > _SHOWN:
            print(f"    … and in {len(odd) - _SHOWN:,} more: zlang expect --json")
        if item.left_out:
            print(f"    {render.visible(judging.omission(item))}")
        elif not item.findings:
            print("    neither side has a trial")


def _as_json(judged: Judged) -> dict[str, object]:
    expectation = judged.expectation
    return {
        "title": expectation.title,
        "text": expectation.text,
        "verdict": judged.verdict,
        "left_out": judged.left_out,
        "combinations": [
            {
                "levels": {factor.name: level for factor, level in zip(expectation.by, finding.levels, strict=True)},
                "verdict": finding.verdict,
                "why": finding.why,
                "margin": finding.margin,
                "sides": [
                    {
                        "text": side.term.name,
                        "value": side.value,
                        "middle": side.middle,
                        "n": side.n,
                        "tried": side.tried or 0,
                    }
                    for side in finding.sides
                ],
            }
            for finding in judged.findings
        ],
    }


def table(clause: str | None, run: str | None, db: Path, form: str) -> int:
    """Print the tables of a run's experiment, or the default one if it has none; or the table of a clause."""
    words.form_of_rows(form)
    with results.asking(db):
        tables = results.tables(db, run, clause)
        if form == "table":
            _tables(tables, results.caveats_of_intervals(db, run))
        else:
            _formatted(tables, form, is_one=clause is not None)
        result_notes.warn_of_damage(db, run)
    return 0


def _tables(summaries: list[Summary], caveats: list[str]) -> None:
    for i, item in enumerate(summaries):
        print("\n" if i else "", end="")
        result_notes.print_summary(item)
    result_notes.what_does_not_count(summaries[0])
    if any(item.has_intervals for item in summaries):
        print("".join(f"{caveat}\n" for caveat in caveats), end="")


def _formatted(summaries: list[Summary], form: str, *, is_one: bool) -> None:
    """Write tables in a format. All tables of a program are one JSON document, also if it has only one."""
    from zlang.report.formats import FORMATS, as_one_json
    from zlang.report.summary import flat

    standard_streams.use_utf8()
    if form == "json" and not is_one:
        sys.stdout.write(as_one_json([(item.text, *flat(item)) for item in summaries]))
        return
    separator = "" if form == "ndjson" else "\n"
    sys.stdout.write(separator.join(FORMATS[form](*flat(item)) for item in summaries))


def plot(
    clause: str | None, run: str | None, db: Path, out: Path | None, *, heat: bool = False, is_log: bool = False
) -> int:
    """Draw the plots of a run's experiment, or the one of a clause."""
    with results.asking(db):
        drawings = results.plots(db, run, clause, as_fields=heat, is_log=is_log, is_alone=True)
        if not drawings:
            metric, factor = results.example(db, run)
            hint = f"add one: `plot {metric} over {factor}`; or type: zlang plot '{metric} over {factor}'"
            raise RunError("the experiment has no `plot`", hint)
        if out is not None:
            results.write_plots(drawings, out)
        else:
            _plots(drawings)
        result_notes.warn_of_damage(db, run)
    return 0


def _plots(drawings: list[Drawn]) -> None:
    width = min(shutil.get_terminal_size((100, 24)).columns, _WIDEST)
    is_coloured = render.is_coloured(sys.stdout)
    for i, item in enumerate(drawings):
        print("\n" if i else "", end="")
        print(results.draw(item, width, is_coloured=is_coloured), end="")


def close(closing: Closing, failures: int, *, is_whole: bool) -> int:
    """Print the end of a run: its tables, plots, verdicts and findings; return the exit code.

    If only one trial was requested, only its failure matters.
    """
    _tables(closing.tables, closing.caveats)
    if closing.course is not None:
        print()
        result_notes.print_summary(closing.course)
    if closing.sentences:
        print()
        print("\n".join(map(render.visible, closing.sentences)))
    if closing.plots:
        print()
        try:
            _plots(closing.plots)
        except RunError as error:  # the plotting library is not installed, which is not a failure of the run
            print(f"warning: {error.message}; to see this run's plots: {error.hint}", file=sys.stderr)
    if closing.judged:
        print()
        verdicts(closing.judged)
    if closing.findings:
        print()
        comparing.show(closing.findings)
    shown = exit_code(closing.judged)
    is_wrong = failures or (is_whole and closing.invalid) or any(finding.is_denied for finding in closing.findings)
    return shown if shown == FAILED else 1 if is_wrong else shown
