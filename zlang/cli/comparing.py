"""`zlang compare` and `zlang effects`: ratios, shares of variance, findings about the results."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from zlang.cli import render, result_notes, standard_streams, tables, words
from zlang.errors import UsageError
from zlang.hints import TYPE_CHECKING
from zlang.pipeline import results

if TYPE_CHECKING:
    from zlang.report.compare import Comparison
    from zlang.report.findings.rule import ResultFinding


def compare(pair: Sequence[str], by: str | None, run: str | None, metric: str | None, db: Path, form: str) -> int:
    """Print ratios with their intervals and verdicts."""
    words.form_of_rows(form)
    if len(pair) not in {0, 2}:
        message = "give two levels, two runs, or nothing; `--by FACTOR` and `--metric METRIC` choose what is compared"
        raise UsageError(message, option="[A B]")
    if pair and by is None and run is not None:
        raise UsageError("two runs are compared; to compare levels of this run, add --by FACTOR", option="--run")
    with results.asking(db):
        result, result_findings, others = results.compare(db, tuple(pair), by, run, metric)
        result_notes.warn_of_damage(db, *results.compared_runs(db, tuple(pair), by, run))
    if form != "table":
        _formatted(result, result_findings, form)
        return 0
    print(f"{render.visible(result[0].metric)}, with 95 % intervals")
    _print_other_factors(others)
    rows = [
        [judged.factor, judged.second, judged.first, *_numbers(judged), render.visible(judged.verdict)]
        for judged in result
    ]
    tables.draw(("factor", "level", "baseline", "ratio", "n", "verdict"), rows, [False] * 4 + [True, False])
    if any(comparison.comparisons > 1 for comparison in result):
        print(f"simultaneous intervals of {result[0].comparisons} comparisons (Bonferroni)")
    noted: dict[str, dict[str, None]] = {}
    for item in result:
        noted.setdefault(item.note, {})[item.factor] = None
    for note, factors in noted.items():
        if note:
            print(render.visible(f"{', '.join(factors)}: {note}"))
    show(result_findings)
    return 0


def _numbers(comparison: Comparison) -> list[str]:
    if comparison.ratio is None:
        return ["-", "0"]
    from zlang.report.compare import end

    estimate = comparison.ratio.estimate(comparison.comparisons)
    low, high = estimate.low, estimate.high
    interval = f" [{end(low)} … {end(high)}]" if low is not None and high is not None else ""
    return [f"{estimate.value:.3f}{interval}", str(estimate.n)]


def _formatted(comparisons: Sequence[Comparison], result_findings: Sequence[ResultFinding], form: str) -> None:
    from zlang.report.formats import FORMATS

    rows = []
    for comparison in comparisons:
        shown = comparison.ratio.estimate(comparison.comparisons) if comparison.ratio else None
        numbers = (shown.value, shown.low, shown.high, shown.n) if shown else (None, None, None, 0)
        rows.append(
            (
                comparison.metric,
                comparison.factor,
                comparison.second,
                comparison.first,
                *numbers,
                comparison.verdict,
                comparison.note,
                _codes(result_findings),
            )
        )
    columns = ("metric", "factor", "level", "baseline", "ratio", "low", "high", "n", "verdict", "note", "findings")
    standard_streams.use_utf8()
    sys.stdout.write(FORMATS[form](columns, rows))


def _codes(result_findings: Sequence[ResultFinding]) -> str:
    """The distinct codes of findings."""
    return " ".join(dict.fromkeys(finding.lint.id for finding in result_findings))


def effects(run: str | None, metric: str | None, db: Path, form: str) -> int:
    """Print the sources of variance."""
    words.form_of_rows(form)
    with results.asking(db):
        result, notes, result_findings, others = results.effects(db, run, metric)
        result_notes.warn_of_damage(db, run)
    columns = ("metric", "effect", "share %", "df", "p", "tested against")
    shown = [
        (
            e.metric,
            e.name,
            100 * e.share,
            e.df,
            e.p,
            e.tested_against,
        )
        for e in result
    ]
    if form != "table":
        from zlang.report.formats import FORMATS

        standard_streams.use_utf8()
        sys.stdout.write(FORMATS[form]((*columns, "findings"), [(*row, _codes(result_findings)) for row in shown]))
        return 0
    from zlang.report.effects import percent

    print(f"sources of the variance of {render.visible(result[0].metric)}")
    _print_other_factors(others)
    rows = [[e.name, percent(e.share), str(e.df), _chance(e.p), e.tested_against] for e in result]
    tables.draw(columns[1:], rows, [False, True, True, True, False])
    for note in notes:
        print(render.visible(note))
    show(result_findings)
    return 0


def _print_other_factors(others: Sequence[str]) -> None:
    if others:
        print(f"to use another metric: --metric {others[0]}")


def _chance(p: float | None) -> str:
    from zlang.report.effects import chance

    return "-" if p is None else chance(p)


def findings(run: str | None, db: Path, *, as_json: bool) -> int:
    """Print the findings about a run; 1 if the project file denies one of their rules."""
    with results.asking(db):
        result = results.findings(db, run)
        result_notes.warn_of_damage(db, run)
    for finding in result if as_json else ():
        lint = finding.lint
        print(
            json.dumps(
                {"code": lint.id, "rule": lint.name, "severity": lint.severity.value, "message": finding.message}
            )
        )
    if not as_json:
        show(result)
        if not result:
            print("no findings", file=sys.stderr)
    return int(any(item.is_denied for item in result))


def show(result_findings: Sequence[ResultFinding]) -> None:
    """Print findings."""
    for finding in result_findings:
        print(render.heading(finding.lint, finding.message, colour=render.is_coloured(sys.stdout)))
    if result_findings:
        code, *others = dict.fromkeys(finding.lint.id for finding in result_findings)
        print(f"for an explanation: zlang explain {code}" + (f" (or {', '.join(others)})" if others else ""))
