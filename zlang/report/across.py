"""Comparisons of a figure between two runs, in each combination of the factors that an expectation names.

In: two runs and an `ExpectedRatio`. Out: a `ComparedCombination` for each combination that both runs have. Rule: runs
are compared by `compare.compare_runs`, as `zlang compare` does.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from zlang.check.questions import ExpectedRatio, FactorRef, Term
from zlang.errors import RunError
from zlang.intervals import exp
from zlang.report import design, formulas, margins
from zlang.report.compare import compare_runs, not_positive
from zlang.report.design import Design, Row
from zlang.report.formulas import Side, Trials
from zlang.report.ratios import Ratio
from zlang.report.summary import Cell, TableColumn
from zlang.store.query import run_query


@dataclass(frozen=True, slots=True)
class ComparedCombination:
    """The levels of a combination, its two sides, and the ratio of the first to the second, or `why` there is none."""

    levels: tuple[Cell, ...]
    sides: tuple[Side, ...]
    ratio: Ratio | None
    why: str


def compared(trials: Trials, other: Trials, expected: ExpectedRatio) -> list[ComparedCombination]:
    """Compare a figure of a run with that of another run, in each combination that both have."""
    ones = _rows(trials, expected.term, expected.matched)
    others = _rows(other, expected.other, expected.matched)
    places = range(len(expected.by))  # the first of the matching ones
    combinations: dict[tuple[Cell, ...], None] = {}
    for left in dict.fromkeys(tuple(row.levels[i] for i in places) for row in ones):
        for right in dict.fromkeys(tuple(row.levels[i] for i in places) for row in others):
            if _match(left, right):
                combinations[tuple(b if a is None else a for a, b in zip(left, right, strict=True))] = None
    result = []
    for levels in combinations:
        sides = tuple([row for row in rows if _match(row.levels, levels)] for rows in (ones, others))
        shown = tuple(_side(*pair) for pair in zip((expected.term, expected.other), sides, strict=True))
        ratio, why = _ratio((other.run, trials.run), (sides[1], sides[0]))
        result.append(ComparedCombination(levels, shown, ratio, why))
    return result


def _rows(trials: Trials, term: Term, by: Sequence[FactorRef]) -> list[Row]:
    """The valid trials that have the figure, with the levels of these factors."""
    levels = [formulas.level(trials, item) for item in by]
    joined = margins.percentile_join(trials, term, 0) if term.op == "percentile" else ""
    own = f"trial, coalesce(measured_in, run), replicate, position, block, coalesce(host, ''), {design.SETUPS}"
    value = f"{formulas.of_trial(trials, term, 0)}::DOUBLE"
    chosen = ", ".join([own, f"{value} AS figure", *levels])
    source = f"{design.source(trials)}{joined}"
    query = f"SELECT {chosen} FROM {source} WHERE valid AND isfinite(figure) ORDER BY 2, position"
    return [design.row_of(row) for row in run_query(trials.db, query).rows]


def _match(levels: Sequence[Cell], others: Sequence[Cell]) -> bool:
    """Whether two combinations agree in every level that both name; an absent factor agrees with any level."""
    return all(a is None or b is None or a == b for a, b in zip(levels, others, strict=False))


def _side(term: Term, rows: Sequence[Row]) -> Side:
    values = tuple(exp(row.log) for row in rows)
    if not values:
        return Side(term, None, 0, 0, ())
    middle = margins.mean_over_combinations([(row.levels, row.log) for row in rows])
    return Side(
        term=term,
        value=statistics.median(values),
        n=len(values),
        tried=len(values),
        values=values,
        middle=None if middle is None else exp(middle),
        statistic="geomean",
    )


def _ratio(runs: tuple[str, str], sides: Sequence[Sequence[Row]]) -> tuple[Ratio | None, str]:
    """The ratio of the second run to the first, or why there is none."""
    both = [
        i for i in range(len(sides[0][0].levels)) if all(row.levels[i] is not None for side in sides for row in side)
    ]
    if why := not_positive(sides, runs):
        return None, why.removeprefix("inconclusive: ")
    item, other = (_design(rows, both) for rows in sides)
    try:
        comparison = compare_runs(runs, item, other)
    except RunError as error:
        return None, f"{error.message}; {error.hint}" if error.hint else error.message
    if comparison.ratio is None or comparison.ratio.error is None:
        return None, comparison.verdict.removeprefix("inconclusive: ")
    return comparison.ratio, ""


def _design(rows: Sequence[Row], places: Sequence[int]) -> Design:
    """The design of these trials over the factors at these places; the figure has the same name in both runs."""
    factors = tuple(TableColumn(str(place), "word", "") for place in places) or (TableColumn("all", "word", ""),)
    kept = tuple(replace(row, levels=tuple(row.levels[i] for i in places) or ("",)) for row in rows)
    return Design(metric="figure", unit="", factors=factors, levels=(), rows=kept)
