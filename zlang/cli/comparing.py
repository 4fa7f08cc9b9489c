"""`zlang compare` and `zlang effects`: ratios, shares of variance, findings about the results."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from zlang.cli import asking, render, streams, words
from zlang.pipeline import results

if TYPE_CHECKING:
    from zlang.report.compare import Comparison
    from zlang.report.findings.rule import ResultFinding

FORMATS = ("table", "csv", "json", "markdown")
_TINY = 0.001


def compare(pair: Sequence[str], by: str | None, run: str | None, metric: str | None, db: Path, form: str) -> int:
    """Print ratios with their intervals and verdicts."""
    words.one_of("--format", form, FORMATS)
    if len(pair) not in {0, 2}:
        raise typer.BadParameter("give two levels with --by, or two runs, or nothing", param_hint="[A B]")
    if pair and by is None and run is not None:
        raise typer.BadParameter("two runs are given already", param_hint="--run")
    found, result_findings, others = results.compare(db, tuple(pair), by, run, metric)
    if form != "table":
        _formatted(found, result_findings, form)
        return 0
    print(f"{render.visible(found[0].metric)}, with 95 % intervals")
    _say_others(others)
    rows = [[one.factor, one.second, one.first, *_numbers(one), render.visible(one.verdict)] for one in found]
    asking.draw(("factor", "level", "against", "ratio", "n", "verdict"), rows, [False] * 4 + [True, False])
    if any(one.comparisons > 1 for one in found):
        print(f"simultaneous intervals of {found[0].comparisons} comparisons (Bonferroni)")
    for note in dict.fromkeys(f"{one.factor}: {one.note}" for one in found if one.note):
        print(render.visible(note))
    show(result_findings)
    return 0


def _numbers(one: Comparison) -> list[str]:
    if one.ratio is None:
        return ["-", "0"]
    told = one.ratio.estimate(one.comparisons)
    interval = f" [{told.low:.3f} … {told.high:.3f}]" if told.low is not None and told.high is not None else ""
    return [f"{told.value:.3f}{interval}", str(told.n)]


def _formatted(found: Sequence[Comparison], result_findings: Sequence[ResultFinding], form: str) -> None:
    from zlang.report.formats import FORMATS as WRITERS

    rows = []
    for one in found:
        told = one.ratio.estimate(one.comparisons) if one.ratio else None
        numbers = (told.value, told.low, told.high, told.n) if told else (None, None, None, 0)
        rows.append(
            (one.metric, one.factor, one.second, one.first, *numbers, one.verdict, one.note, _codes(result_findings))
        )
    columns = ("metric", "factor", "level", "against", "ratio", "low", "high", "n", "verdict", "note", "findings")
    streams.use_utf8()
    sys.stdout.write(WRITERS[form](columns, rows))


def _codes(found: Sequence[ResultFinding]) -> str:
    """The codes of findings, each once."""
    return " ".join(dict.fromkeys(one.lint.id for one in found))


def effects(run: str | None, metric: str | None, db: Path, form: str) -> int:
    """Print what the variance comes from."""
    words.one_of("--format", form, FORMATS)
    found, result_findings, others = results.effects(db, run, metric)
    columns = ("metric", "effect", "share %", "df", "p", "over")
    told = [
        (
            e.metric,
            e.name,
            100 * e.share,
            e.df,
            e.p,
            "setups" if e.is_of_setups else "replicates" if e.p is not None else "",
        )
        for e in found
    ]
    if form != "table":
        from zlang.report.formats import FORMATS as WRITERS

        streams.use_utf8()
        sys.stdout.write(WRITERS[form]((*columns, "findings"), [(*row, _codes(result_findings)) for row in told]))
        return 0
    print(f"the variance of {render.visible(found[0].metric)}")
    _say_others(others)
    rows = [[name, f"{share:.1f}", str(df), _chance(p), over] for _, name, share, df, p, over in told]
    asking.draw(columns[1:], rows, [False, True, True, True, False])
    show(result_findings)
    return 0


def _say_others(others: Sequence[str]) -> None:
    if others:
        print(f"to use another metric: --metric {others[0]}")


def _chance(p: float | None) -> str:
    return "-" if p is None else "< 0.001" if p < _TINY else f"{p:.3f}"


def findings(run: str | None, db: Path, *, as_json: bool) -> int:
    """Print the findings about a run; 1 if the project file denies one of their rules."""
    import json

    found = results.findings(db, run)
    for one in found if as_json else ():
        lint = one.lint
        print(json.dumps({"code": lint.id, "rule": lint.name, "severity": lint.severity.value, "message": one.message}))
    if not as_json:
        show(found)
        if not found:
            print("no findings", file=sys.stderr)
    return int(any(one.is_denied for one in found))


def show(found: Sequence[ResultFinding]) -> None:
    """Print findings."""
    for one in found:
        print(render.heading(one.lint, one.message, colour=render.is_coloured(sys.stdout)))
    if found:
        print(f"for an explanation: zlang explain {found[0].lint.id}")
