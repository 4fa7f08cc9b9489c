"""Margins: by how much the comparison in an expectation holds, with an interval.

In: a run's trials, a comparison, a combination of levels. Out: a `Margin`. Rules: medians and percentiles are judged
by the geometric mean of trials, means by the mean. Two sides are compared as in `strata`; one side is compared with a
limit over setups, or over blocks. Combinations of the other factors have equal weights. Statistics without a
distribution over trials (`count`, `max`, `min`, `stddev`) are used as they are. `bench/expectations.py` measures how
often a verdict is wrong.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

from zlang.check.evaluation import evaluate
from zlang.check.questions import INFERRED, FactorRef, Term, aggregates, distribution_of
from zlang.check.types import NANOSECONDS, parts_of
from zlang.frozen import frozen
from zlang.intervals import LEVEL, exp, student
from zlang.report import design, formulas, ratios, strata, wording
from zlang.report.formulas import Trials
from zlang.report.strata import Observation
from zlang.report.summary import Cell, cells
from zlang.store.query import run_query
from zlang.store.store import quoted

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
_STEP = 1e-6
_SEEN = 0.005
"""A difference that is seen in three digits."""
_ROUNDING = 1e-12
"""The error that logarithms and sums of equal values leave."""
Leaf = Callable[[Term], object]
_Part = tuple[Hashable, Hashable]
"""A combination of all factors, and the aggregates that its trials are of."""
_NOT_REPEATED = "nothing was repeated"
_SET_UP_ONCE = f"set up only once; {wording.SET_UP_AGAIN}"


@frozen
class Margin:
    """The ratio of the left side to the right, or their difference if one is not positive; 0 on its scale is the limit.

    Without an error, `why` says why there is none. `subject` names the sides, and `middle` the statistic by which they
    are compared; `middles` has its value for each aggregate.
    """

    is_ratio: bool
    value: float
    error: float | None
    df: float
    why: str = ""
    subject: str = ""
    middle: str = ""
    middles: tuple[tuple[Term, float, str], ...] = ()

    def interval(self, comparisons: int = 1) -> tuple[float, float]:
        """The 95 % interval, simultaneous over this many comparisons (Bonferroni)."""
        if self.error is None:
            return -math.inf, math.inf
        if self.error < _ROUNDING:
            return (0.0, 0.0) if abs(self.value) < _ROUNDING else (self.value, self.value)
        half = self.error * student(self.df, 1 - (1 - LEVEL) / 2 / comparisons)
        return self.value - half, self.value + half

    def __str__(self) -> str:
        return f"{self.named(f'{self.subject} =')} (by {self.middle})"

    def named(self, subject: str) -> str:
        """The margin in words: its subject, value and interval."""
        low, high = self.interval()
        shown = [wording.digits(exp(end) if self.is_ratio else end) for end in (self.value, low, high)]
        return f"{subject} {shown[0]}" + (f" [{shown[1]} … {shown[2]}]" if self.error is not None else "")


@frozen
class TrialTerms:
    """A trial: its levels of the expectation's factors and of all factors, its groups, its value for each aggregate."""

    clause_levels: tuple[Cell, ...]
    levels: tuple[Cell, ...]
    groups: tuple[Hashable, ...]
    values: tuple[float | None, ...]


def samples(trials: Trials, terms: Sequence[Term], by: Sequence[FactorRef]) -> list[TrialTerms]:
    """Every valid trial, with its value in each aggregate."""
    factors = [quoted(name) for name, _ in trials.factors.values()]
    levels = [formulas.level(trials, item) for item in by]
    values = [formulas.of_trial(trials, term, n) for n, term in enumerate(terms)]
    percentiles = "".join(percentile_join(trials, term, n) for n, term in enumerate(terms) if term.op == "percentile")
    own = "trial, coalesce(measured_in, run), replicate, position, block, '', " + design.SETUPS
    chosen = ", ".join([own, *levels, *factors, *values])
    source = f"{design.source(trials)}{percentiles}"
    rows = run_query(trials.db, f"SELECT {chosen} FROM {source} WHERE valid ORDER BY 2, position").rows
    placed = design.groups([design.row_of((*row[:7], 1.0)) for row in rows])
    ends = (7, 7 + len(levels), 7 + len(levels) + len(factors))
    return [
        TrialTerms(
            tuple(cells(row[ends[0] : ends[1]])),
            tuple(cells(row[ends[1] : ends[2]])),
            groups,
            tuple(float(value) if isinstance(value, int | float) else None for value in row[ends[2] :]),
        )
        for row, groups in zip(rows, placed, strict=True)
    ]


def percentile_join(trials: Trials, term: Term, number: int) -> str:
    """The SQL join that gives each trial its own percentile."""
    percent = repr(100 * float(term.value or 0))
    return (
        f" LEFT JOIN (SELECT run AS p{number}_run, trial AS p{number}_trial, replicate AS p{number}_replicate, "
        f"latency_percentile(bin, ios, {percent}) / {parts_of(NANOSECONDS)} AS p{number} "
        f"FROM (SELECT run, trial, replicate, unnest(ns) AS bin, unnest(counts) AS ios "
        f"FROM {formulas.histograms(trials, distribution_of(term))}) GROUP BY ALL) "
        f"ON p{number}_run = t.run AND p{number}_trial = t.trial AND p{number}_replicate = t.replicate"
    )


def margin(
    comparison: Term,
    terms: Sequence[Term],
    own: Sequence[TrialTerms],
    leaf_of: Leaf,
    matched: Sequence[int],
    *,
    is_within_setups: bool = False,
) -> Margin | None:
    """The margin of a comparison over these samples; `matched` are the factors by which the sides are matched.

    A comparison with a limit that `is_within_setups` is about these setups only, even a single one. None if a side has
    no value.
    """
    used = [n for n, term in enumerate(terms) if term.op in INFERRED and term in set(aggregates(comparison))]
    scales = {
        n: _Scale(terms[n].op != "mean" and all(v > 0 for sample in own if (v := sample.values[n]) is not None))
        for n in used
    }
    added = [
        _Added(sample, {n: scales[n].of(value) for n in used if (value := sample.values[n]) is not None})
        for sample in own
    ]
    middles: dict[int, float] = {}
    for n in used:
        middle = mean_over_combinations(
            [(entry.sample.levels, entry.values[n]) for entry in added if n in entry.values]
        )
        if middle is None:
            return None
        middles[n] = middle
    sides = _Sides(comparison, terms, scales, leaf_of)
    is_ratio = all(isinstance(side, int | float) and 0 < side < math.inf for side in sides.at(middles))
    value, slopes = sides.distance(middles, is_ratio=is_ratio), sides.slopes(middles, is_ratio=is_ratio)
    if value is None or slopes is None:
        return None
    made = Margin(
        is_ratio=is_ratio,
        value=value,
        error=None,
        df=0,
        subject=_subject(comparison, "/" if is_ratio else "-"),
        middle="geometric means" if all(scale.is_log for scale in scales.values()) else "means",
        middles=tuple((terms[n], scales[n].back(place), scales[n].name) for n, place in middles.items()),
    )
    pair = _pair(slopes, added)
    if pair is None:
        return _of_several(made, slopes, added, is_within_setups=is_within_setups)
    first, second = pair
    without = replace(made, value=value - slopes[second] * (middles[second] - middles[first]))
    return _of_pair(without, value, pair, slopes[second], added, matched)


@frozen
class _Sides:
    """The two sides of a comparison as functions of the aggregates' places on their scales."""

    comparison: Term
    terms: Sequence[Term]
    scales: Mapping[int, _Scale]
    leaf_of: Leaf

    def at(self, places: Mapping[int, float]) -> list[object]:
        """The values of both sides at these places."""

        def leaf(term: Term) -> object:
            n = self.terms.index(term)
            return self.scales[n].back(places[n]) if n in places else self.leaf_of(term)

        return [evaluate(part, leaf) for part in self.comparison.terms]

    def distance(self, places: Mapping[int, float], *, is_ratio: bool) -> float | None:
        """The distance of the left side from the right: the logarithm of their ratio, or their difference."""
        left, right = self.at(places)
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            return None
        return math.log(left / right) if is_ratio and left > 0 and right > 0 else float(left - right)

    def slopes(self, places: Mapping[int, float], *, is_ratio: bool) -> dict[int, float] | None:
        """The derivative of the distance with respect to the place of each aggregate."""
        slopes = {}
        for n, place in places.items():
            step = _STEP * max(1.0, abs(place))
            above, below = (self.distance({**places, n: place + way * step}, is_ratio=is_ratio) for way in (1, -1))
            if above is None or below is None:
                return None
            slopes[n] = (above - below) / (2 * step)
        return slopes


_WHERE = " where "


def _subject(comparison: Term, operator: str) -> str:
    """Name both sides: by the levels in which they differ if all else is equal, else as they were written."""
    every = list(dict.fromkeys(aggregates(comparison)))
    conditions = {term: term.name.partition(_WHERE)[2].removesuffix(")") for term in every}
    measures = {term.name.partition(_WHERE)[0] for term in every}
    is_of_levels = len(every) > 1 == len(measures) and all(conditions.values())
    names = {term: _label(conditions[term]) if is_of_levels else term.name for term in every}
    is_plain = all(part.op in {"value", "+", "-"} or part in names for part in comparison.terms)
    left, right = (_side(part, names, every[0].type if is_plain else "number") for part in comparison.terms)
    return f"{left} {operator} {right}"


_LEVEL = re.compile(r" (?:==|is(?! not)) ")


def _label(condition: str) -> str:
    """A condition in short form: `store=ext4`; in parentheses if it has several parts."""
    text = _LEVEL.sub("=", condition)
    return f"({text})" if " " in text else text


def _side(term: Term, names: Mapping[Term, str], type_: str) -> str:
    """A side of a comparison, in parentheses if it is a calculation or a rate."""
    if term in names:
        return names[term]
    if term.op == "value":
        # Shares in the database are percentages.
        is_share = type_ == "share" and isinstance(term.value, int | float)
        text = wording.level(100 * float(str(term.value)) if is_share else term.value, type_)
        return f"({text})" if "/" in text else text
    own = [_side(part, names, type_ if term.op in {"+", "-"} else "number") for part in term.terms]
    return f"({f' {term.op} '.join(own)})"


def geometric_mean(own: Sequence[TrialTerms], aggregate: int) -> Margin | None:
    """The logarithm of the geometric mean over all combinations of the factors; the values must be positive."""
    added = [
        _Added(sample, {aggregate: math.log(value)})
        for sample in own
        if (value := sample.values[aggregate]) is not None
    ]
    middle = mean_over_combinations([(entry.sample.levels, entry.values[aggregate]) for entry in added])
    return (
        None
        if middle is None
        else _of_several(
            Margin(is_ratio=True, value=middle, error=None, df=0), {aggregate: 1.0}, added, is_within_setups=True
        )
    )


@frozen
class _Scale:
    """The scale on which values of an aggregate are averaged: logarithms, or the values themselves."""

    is_log: bool

    @property
    def name(self) -> str:
        """The name of the statistic in tables."""
        return "geomean" if self.is_log else "mean"

    def of(self, value: float) -> float:
        return math.log(value) if self.is_log else value

    def back(self, value: float) -> float:
        return exp(value) if self.is_log else value


@frozen
class _Added:
    """A sample, and what it contributes to each of its aggregates, on their scales."""

    sample: TrialTerms
    values: Mapping[int, float]


def mean_over_combinations(values: Sequence[tuple[Hashable, float]]) -> float | None:
    """The mean over combinations, with equal weights."""
    by: dict[Hashable, list[float]] = defaultdict(list)
    for levels, value in values:
        by[levels].append(value)
    return ratios.mean([ratios.mean(ones) for ones in by.values()]) if by else None


def _pair(slopes: Mapping[int, float], added: Sequence[_Added]) -> tuple[int, int] | None:
    """The two aggregates of a comparison, if they cover different trials and have equal weights."""
    if len(slopes) != 2:  # noqa: PLR2004 - a pair
        return None
    (item, a), (other, b) = slopes.items()
    is_apart = not any(item in each.values and other in each.values for each in added)
    return (item, other) if is_apart and a and math.isclose(a, -b, rel_tol=1e-3) else None


_Parts = Mapping[_Part, Sequence[tuple[TrialTerms, float]]]
"""Trials, and what each adds to the comparison."""


def _of_pair(
    without: Margin,
    all_trials: float,
    pair: tuple[int, int],
    slope: float,
    added: Sequence[_Added],
    matched: Sequence[int],
) -> Margin:
    """The margin of two sides: their difference times the slope, plus `without`.

    The margin of `all_trials` differs from it if a side has combinations, or trials of a setup, that the other lacks.
    """
    observed = [
        Observation(pair.index(n), entry.sample.groups, tuple(entry.sample.levels[i] for i in matched), entry.values[n])
        for entry in added
        for n in entry.values
    ]
    difference = strata.difference(observed)
    if difference.ratio is None:
        return replace(without, value=math.nan, why="its sides have no combination in common")
    margin = replace(without, value=without.value + slope * difference.ratio.log)
    if abs(margin.value - all_trials) > _SEEN:
        margin = replace(margin, middle=f"{margin.middle} of what both sides have")
    if difference.ratio.error is None:
        return replace(margin, why=_SET_UP_ONCE if difference.is_of_setups else _NOT_REPEATED)
    return replace(margin, error=abs(slope) * difference.ratio.error, df=difference.ratio.df)


def _of_several(
    margin: Margin, slopes: Mapping[int, float], added: Sequence[_Added], *, is_within_setups: bool = False
) -> Margin:
    """The margin of aggregates of any trials, with each trial's contributions to all of them added up.

    If something was set up only once, the error is unknown, unless the margin `is_within_setups`, that is, about them.
    """
    levels: dict[int, set[Hashable]] = {n: set() for n in slopes}
    for item in added:
        for n in item.values:
            levels[n].add(item.sample.levels)
    parts: dict[_Part, list[tuple[TrialTerms, float]]] = defaultdict(list)
    for item in added:
        if item.values:
            sum_ = math.fsum(slopes[n] * value / len(levels[n]) for n, value in item.values.items())
            parts[item.sample.levels, tuple(item.values)].append((item.sample, sum_))
    kinds = range(len(added[0].sample.groups))
    if _is_set_up_once(parts, kinds):
        if not is_within_setups:
            return replace(margin, why=_SET_UP_ONCE)
        kinds = range(1)
    error = _error_over_units(parts, kinds)
    return replace(margin, why=_NOT_REPEATED) if error is None else replace(margin, error=error[0], df=error[1])


def _is_set_up_once(parts: _Parts, kinds: Sequence[int]) -> bool:
    """Whether a part has several trials that all ran on the same setup."""
    placed = [(key, sample.groups) for key, ones in parts.items() for sample, _ in ones]
    units: dict[_Part, set[int]] = defaultdict(set)
    for (key, _), unit in zip(placed, strata.components([own for _, own in placed], kinds), strict=True):
        units[key].add(unit)
    is_set_up = any(group is not None for _, own in placed for group in own[1:])
    return is_set_up and any(len(units[key]) == 1 < len(ones) for key, ones in parts.items())


def _error_over_units(parts: _Parts, kinds: Sequence[int]) -> tuple[float, float] | None:
    """The standard error of the sum of the means of all parts, and its degrees of freedom.

    Trials that share a group of these kinds are one unit, and units are independent. The variance over units is the one
    that is unbiased for few units (CR2; Bell and McCaffrey, Survey Methodology 28, 2002); parts that share no unit
    have their own variances (Welch). A part of one trial is assumed to vary as the others do.
    """
    repeated = {key: ones for key, ones in parts.items() if len(ones) > 1}
    placed = [(key, sample.groups, value) for key, ones in repeated.items() for sample, value in ones]
    if not placed:
        return None
    means = {key: ratios.mean([value for _, value in ones]) for key, ones in repeated.items()}
    units = strata.components([own for _, own, _ in placed], kinds)
    linked = strata.components([(key, unit) for (key, *_), unit in zip(placed, units, strict=True)], (0, 1))
    residuals: dict[int, dict[int, dict[_Part, list[float]]]] = defaultdict(lambda: defaultdict(dict))
    for (key, _, value), unit, place in zip(placed, units, linked, strict=True):
        residuals[place][unit].setdefault(key, []).append(value - means[key])
    variances = [_of_linked(own, {key: len(ones) for key, ones in repeated.items()}) for own in residuals.values()]
    if None in variances:
        return None
    estimated = [item for item in variances if item is not None]
    df = len(placed) - len(repeated)
    pooled = math.fsum((value - means[key]) ** 2 for key, _, value in placed) / df
    estimated += [(pooled, df)] * (len(parts) - len(repeated))
    return ratios.summed(estimated)


def _of_linked(
    units: Mapping[int, Mapping[_Part, Sequence[float]]], counts: Mapping[_Part, int]
) -> tuple[float, float] | None:
    """The variance of the sum of the means of parts that share units, and its degrees of freedom."""
    import numpy as np

    keys = list(dict.fromkeys(key for own in units.values() for key in own))
    totals = np.array([counts[key] for key in keys], dtype=float)
    trials = np.array([[len(own.get(key, ())) for key in keys] for own in units.values()], dtype=float)
    sums = np.array([[math.fsum(own.get(key, ())) for key in keys] for own in units.values()])
    if (trials == totals).any():
        return None
    weights = 1 / (totals * np.sqrt(1 - trials / totals))
    spread = -(weights * trials / totals) @ (weights * trials).T + np.diag((weights**2 * trials).sum(axis=1))
    return float((((weights * sums).sum(axis=1)) ** 2).sum()), float(np.trace(spread) ** 2 / (spread**2).sum())
