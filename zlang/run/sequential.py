"""Decide from earlier results whether a trial has to be measured: `repeat … until` and `find`.

In: the trials of a plan in order, with the results of those that were carried out. Out: for each skipped trial the
reason; at the end why each point has its number of replicates, and the course of each search. Rule: only earlier trials
decide, so a resumed run makes the same decisions as an uninterrupted one.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import partial
from itertools import product

from zlang import intervals, metrics
from zlang.check import types
from zlang.check.evaluation import evaluate
from zlang.check.questions import INFERRED, Search, Term, Until, aggregates, distribution_of
from zlang.plan.plan import Header, Plan, Scalar, Trial
from zlang.readers.reading import merge, percentiles
from zlang.run.events import TrialVerdict
from zlang.space import bisection

LEAST_LOOKED_AT = 5
"""The fewest values with which a point can be precise."""
Number = str | int | float | bool | None
Window = tuple[float, float] | None
_OF_SEVERAL: Mapping[str, Callable[[list[float]], float]] = {
    "count": len, "max": max, "mean": statistics.fmean, "median": statistics.median, "min": min,
    "stddev": statistics.stdev,
}  # fmt: skip


class Why(StrEnum):
    """The reason why a trial is skipped, or a point not measured again, as written in the journal."""

    PRECISE = "precise"
    """The point's interval is as narrow as requested."""
    DECIDED = "decided"
    """The interval at a level of the search decides whether the condition holds there."""
    BOUND = "bound"
    """It has as many replicates as the program allows."""
    PASSED_BY = "passed-by"
    """The search did not reach this level."""
    UNDECIDED = "undecided"
    """The search ended early: at a level without valid trials it is unknown whether the condition holds."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A point that is not measured any more: its number of valid trials, why, and its relative half-width."""

    trial: str
    n: int
    why: Why
    reach: float | None


@dataclass(frozen=True, slots=True)
class SearchStep:
    """A point that a search examined, at one of its steps, and the result there.

    `is_best` marks the answer: the best of the levels at which the condition holds.
    """

    search: int
    step: int
    trial: str
    holds: bool | None
    objective: float | None
    is_best: bool


@dataclass(slots=True)
class _Level:
    """The results at a level of a search: for each aggregate, the values or the bins of the trials that count."""

    trial: str
    level: Scalar
    values: dict[Term, list[float]] = field(default_factory=dict)
    bins: dict[Term, dict[int, int]] = field(default_factory=dict)
    computed: dict[Term, Number] = field(default_factory=dict)


class Sequential:
    """Decides from the results of each point so far which trials are skipped."""

    def __init__(self, header: Header) -> None:
        self._until, self._search = header.until, header.search
        self._most = header.repeat
        self._parts = {
            name: types.parts_of(metric.unit)
            for metric in metrics.in_trials(header.metrics)
            for name in (metric.name, metrics.column(metric.name))
        }
        self._tried: dict[str, int] = {}
        self._values: dict[str, list[float]] = {}
        self._searches: dict[tuple[Scalar, ...], dict[int, _Level]] = {}
        self._level: dict[Scalar, int] = {}
        self._round: dict[int, int] = {}
        if self._search is not None:
            factor = next(item for item in header.factors if item.path == self._search.path)
            self._level = {level: i for i, level in enumerate(factor.levels)}
            rounds = bisection.rounds(self._search.levels)
            self._round = {level: number for number, levels in enumerate(rounds) for level in levels}
            shown = (self._search.condition, self._search.objective.term)
            self._aggregates = list(dict.fromkeys(part for term in shown for part in aggregates(term)))

    def learn(self, trial: Trial, verdict: TrialVerdict | None, window: Window) -> None:
        """Add the result of a trial and its time span; without a verdict it failed."""
        self._tried[trial.identity] = self._tried.get(trial.identity, 0) + 1
        level = self._place(trial, self._search) if self._search else None
        if verdict is None or not verdict.valid:
            return
        values = _Values(verdict, window, self._parts)
        if self._until is not None:
            value = _of_trial(self._until.term, values)
            if isinstance(value, int | float):
                self._values.setdefault(trial.identity, []).append(float(value))
        if level is not None:
            level.computed.clear()
            for term in self._aggregates:
                _add_trial(level, term, values)

    def skips(self, trial: Trial) -> Why | None:
        """The reason why a trial is skipped; None if it has to be measured."""
        if self._search is not None:
            why = self._passed(trial, self._search)
            if why is not None:
                return why
            if self._is_decided(trial, self._search):
                return Why.DECIDED
        return Why.PRECISE if self._until is not None and self._is_precise(trial.identity, self._until) else None

    def _is_precise(self, point: str, until: Until) -> bool:
        is_due = self._tried.get(point, 0) >= until.least
        return is_due and is_precise_enough(self._values.get(point, []), until.within)

    def _relative_half_width(self, point: str) -> float | None:
        """The half-width of the point's interval as a share of its midpoint."""
        interval = intervals.of_logs(self._values.get(point, ()))
        return None if interval is None else intervals.exp(interval[1]) - 1

    def stops(self) -> Iterator[Stopped]:
        """The reason why each point has its number of replicates; points that need another one are left out."""
        until, requested = self._until, {search.trial for search in self.searches()}
        for point, tried in self._tried.items() if until is not None else ():
            is_precise = until is not None and self._is_precise(point, until)
            is_asked = self._search is None or point in requested
            if is_asked and (is_precise or tried >= self._most):
                why = Why.PRECISE if is_precise else Why.BOUND
                yield Stopped(point, len(self._values.get(point, ())), why, self._relative_half_width(point))

    # Searches

    def _place(self, trial: Trial, search: Search) -> _Level:
        result = self._searches.setdefault(self._key(trial, search), {})
        level = trial.factors[search.factor]
        return result.setdefault(self._level[level], _Level(trial.identity, level))

    def _key(self, trial: Trial, search: Search) -> tuple[Scalar, ...]:
        return tuple(level for name, level in trial.factors.items() if name != search.factor)

    def _passed(self, trial: Trial, search: Search) -> Why | None:
        result = self._searches.get(self._key(trial, search), {})
        wanted, last = self._level[trial.factors[search.factor]], 0
        for last in self._steps_of_search(result, search):
            if last == wanted:
                return None
        is_open = self._round[last] < self._round[wanted] and self._holds(result, search, last) is None
        return Why.UNDECIDED if is_open else Why.PASSED_BY

    def _is_decided(self, trial: Trial, search: Search) -> bool:
        """Whether the condition is decided at the trial's level for every value in the intervals of the aggregates."""
        due = intervals.looks(search.least, self._most) if search.least else ()
        if self._tried.get(trial.identity) not in due:
            return False
        level = self._place(trial, search)
        ends = {term: _ends(level, term, len(due)) for term in dict.fromkeys(aggregates(search.condition))}
        corners = [dict(zip(ends, corner, strict=True)) for corner in product(*ends.values())]
        answers = {evaluate(search.condition, partial(_at_corner, corner, level)) for corner in corners}
        return len(answers) == 1 and None not in answers

    def _steps_of_search(self, levels: Mapping[int, _Level], search: Search) -> Iterator[int]:
        return bisection.course(search.levels, lambda level: self._holds(levels, search, level))

    def _holds(self, levels: Mapping[int, _Level], search: Search, level: int) -> bool | None:
        holds = _of_level(search.condition, levels[level]) if level in levels else None
        return holds if isinstance(holds, bool) else None

    def searches(self) -> Iterator[SearchStep]:
        """The course of each search so far."""
        search = self._search
        if search is None:
            return
        for number, result in enumerate(self._searches.values(), 1):
            whole = list(self._steps_of_search(result, search))
            course = [level for level in whole if level in result]
            shown = {level: self._holds(result, search, level) for level in course}
            objectives = {level: _of_level(search.objective.term, result[level]) for level in course}
            numbers = {
                level: float(objective) for level, objective in objectives.items() if isinstance(objective, int | float)
            }
            is_decided = len(course) == len(whole) and None not in shown.values()
            best = _best_level({level: item for level, item in numbers.items() if shown[level] and is_decided}, search)
            for step, level in enumerate(course, 1):
                yield SearchStep(
                    search=number,
                    step=step,
                    trial=result[level].trial,
                    holds=shown[level],
                    objective=numbers.get(level),
                    is_best=level == best,
                )


def is_precise_enough(values: Sequence[float], within: float) -> bool:
    """Whether the interval of values is narrow enough, with and without the last value: one look may be lucky."""
    if len(values) < LEAST_LOOKED_AT:
        return len(values) > 1 and len(set(values)) == 1  # values without any variation need no further measurement
    reaches = [intervals.assured_reach(some) for some in (values, values[:-1])]
    return all(reach is not None and reach < within for reach in reaches)


def of(header: Header) -> Sequential | None:
    """The rules by which a plan skips trials; None if it measures all of them."""
    return Sequential(header) if header.until or header.search else None


def is_settled(plan: Plan, windows: Mapping[str, tuple[TrialVerdict, Window]]) -> bool:
    """Whether the results so far, by the trials' places, are all that the plan needs."""
    state = of(plan.header)
    if state is None:
        return len(windows) == plan.header.trials
    for trial in plan.items():
        if not isinstance(trial, Trial):
            continue
        if trial.place in windows:
            state.learn(trial, *windows[trial.place])
        elif state.skips(trial) is None:
            return False
    return True


def _best_level(by_level: Mapping[int, float], search: Search) -> int | None:
    """The level with the best objective; of several, the lowest."""
    if not by_level:
        return None
    sign = -1 if search.maximises else 1
    return min(sorted(by_level), key=lambda level: sign * by_level[level])


# -- formulas


@dataclass(frozen=True, slots=True)
class _Values:
    """The metrics and the time of a trial, and for each metric the number of its units in one base unit."""

    verdict: TrialVerdict
    window: Window
    parts: Mapping[str, int]

    def metric(self, name: str) -> Number:
        """The metric in the language's base unit; None if it was not measured."""
        measured = self.verdict.metrics
        if name == metrics.ELAPSED.name and name not in measured:
            ran = self.verdict.ran or self.window  # with a common start, the slowest machine decides
            return ran[1] - ran[0] if ran else None
        value = next(
            (value for own_name, value in measured.items() if name in {own_name, metrics.column(own_name)}), None
        )
        return None if value is None else value / self.parts.get(name, 1)


def _add_trial(level: _Level, term: Term, trial: _Values) -> None:
    """Add a trial to one aggregate, unless its `where` excludes the trial."""
    is_percentile = term.op == "percentile"
    conditions = term.terms if is_percentile else term.terms[1:]
    if any(_of_trial(condition, trial) is not True for condition in conditions):
        return
    if is_percentile:
        name = distribution_of(term)
        wanted = [latency.bins for latency in trial.verdict.latency if latency.metric == name]
        level.bins[term] = merge([level.bins.get(term, {}), *wanted])
    value = _percentile(merge(wanted), term) if is_percentile else _of_trial(term.terms[0], trial)
    if isinstance(value, int | float):
        level.values.setdefault(term, []).append(float(value))


def _of_level(term: Term, level: _Level) -> Number:
    """The value of a formula over all trials at a level."""
    value: Number = evaluate(term, lambda part: _part_of_level(part, level))
    return value


def _part_of_level(term: Term, level: _Level) -> Number:
    """A factor, which is the one that is searched, or an aggregate over the trials at the level."""
    if term.op == "factor":
        return level.level
    if term not in level.computed:
        level.computed[term] = _aggregate(term, level)
    return level.computed[term]


def _aggregate(term: Term, level: _Level) -> Number:
    if term.op == "percentile":
        return _percentile(level.bins.get(term, {}), term)
    values = level.values.get(term, [])
    if term.op == "count":
        return len(values)
    return _OF_SEVERAL[term.op](values) if len(values) > (term.op == "stddev") else None


def _percentile(bins: Mapping[int, int], term: Term) -> float | None:
    share = Fraction(str(term.value)) * 1000
    return percentiles(bins, [share])[0] / types.parts_of(types.NANOSECONDS) if bins else None


def _ends(level: _Level, term: Term, looks: int) -> tuple[Number, ...]:
    """The ends of an aggregate's interval over the trials at a level; just its value if it has no interval."""
    if term.op not in INFERRED:
        return (_part_of_level(term, level),)
    values = level.values.get(term, [])
    logs = intervals.of_logs(values, looks) if term.op != "mean" else None
    if logs is not None:
        return intervals.exp(logs[0] - logs[1]), intervals.exp(logs[0] + logs[1])
    interval = intervals.of_mean(values, looks)
    return (None,) if interval is None else (interval[0] - interval[1], interval[0] + interval[1])


def _at_corner(corner: Mapping[Term, Number], level: _Level, term: Term) -> Number:
    """The value of an aggregate at a corner of the intervals, or of the factor that is searched."""
    return corner.get(term, level.level)


def _of_trial(term: Term, trial: _Values) -> Number:
    """The value of a formula over one trial."""
    value: Number = evaluate(term, lambda part: trial.metric(part.name))
    return value
