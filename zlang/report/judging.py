"""Verdicts on the expectations of an experiment, from the database.

Rules: a verdict is about one run. An expectation is judged in each combination of the factors that it does not mention.
It passes if the 95 % interval of its margin lies on the expected side of the limit, and fails if the interval lies on
the other side. Otherwise it is inconclusive, as it is if a side has no value or was not replicated, or if the figures
shown say the opposite. Overall it fails if it fails anywhere (for this the intervals are simultaneous), passes if it
passes everywhere, and is otherwise inconclusive.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from zlang.check import evaluation
from zlang.check.questions import (
    INFERRED,
    PREVIOUS,
    Expectation,
    ExpectedRatio,
    Term,
    aggregates,
    distribution_of,
    mentioned,
    metrics_of,
)
from zlang.report import across, formulas, known_runs, margins, wording
from zlang.report.clauses import stored_expectations
from zlang.report.formulas import UNITS, Combination, Side, Trials, evaluate
from zlang.report.margins import Leaf, Margin, TrialTerms
from zlang.report.summary import (
    Cell,
    cells,
)
from zlang.store.query import run_query

_FEW = 2
"""A side with fewer values has no verdict, unless only one was planned."""
_ADVISED = 3
"""Replicates that an interval needs to be of any use."""
_CONTRADICTED = "the figures of all trials together say the opposite"


class Verdict(StrEnum):
    """The outcome of an expectation."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class JudgedCombination:
    """The verdict in one combination: its levels, the sides of the comparison, why it is inconclusive, and its margin.

    The `margin` says in words how far the sides are apart, with its 95 % interval.
    """

    levels: tuple[Cell, ...]
    verdict: Verdict
    sides: tuple[Side, ...]
    why: str
    margin: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """An expectation with its overall verdict, and the verdict in each combination of the levels of `by`.

    The combinations that are `left_out` cannot have the metric: a workload that only writes has no read latency.
    """

    expectation: Expectation
    verdict: Verdict
    findings: tuple[JudgedCombination, ...]
    left_out: int = 0


def judge(trials: Trials, against: str | None = None) -> list[Judged]:
    """Judge every expectation of the run's experiment; one that compares runs uses `against` if it can.

    Raises RunError.
    """
    compared = known_runs.trials_of(trials.db, against) if against is not None else None
    return [
        _judged_ratio(trials, item, compared) if isinstance(item, ExpectedRatio) else _judged(trials, item)
        for item in stored_expectations(trials)
    ]


def _judged_ratio(trials: Trials, expected: ExpectedRatio, against: Trials | None) -> Judged:
    """Judge an expectation that compares runs: with the given run if it is of that experiment, else with the latest."""
    is_previous = expected.experiment == PREVIOUS
    experiment = trials.experiment if is_previous else expected.experiment
    if against is None or against.experiment != experiment or against.run == trials.run:
        against = _latest_of(trials, experiment, is_earlier=is_previous)
    if against is None:
        why = f"there is no {'earlier ' if is_previous else ''}run of `{experiment}`"
    else:
        combinations = across.compared(trials, against, expected)
        findings = tuple(_judged_combination(expected, each, len(combinations), against.run) for each in combinations)
        if findings:
            return Judged(expected, _verdict_of(findings), findings)
        why = f"it has no combination in common with {against.run}"
    nothing = JudgedCombination((None,) * len(expected.by), Verdict.INCONCLUSIVE, (), why)
    return Judged(expected, Verdict.INCONCLUSIVE, (nothing,))


def _latest_of(trials: Trials, experiment: str, *, is_earlier: bool) -> Trials | None:
    """The latest other run of an experiment; with `is_earlier`, the latest before this one."""
    query = "SELECT run FROM runs WHERE experiment = ? ORDER BY last_session DESC NULLS LAST, run DESC"
    names = [str(name) for (name,) in run_query(trials.db, query, [experiment]).rows]
    if is_earlier and trials.run in names:
        names = names[names.index(trials.run) + 1 :]
    own = {trials.run, *trials.others}
    return next((known_runs.trials_of(trials.db, name) for name in names if name not in own), None)


def _judged_combination(
    expected: ExpectedRatio, compared: across.ComparedCombination, combinations: int, run: str
) -> JudgedCombination:
    ratio = compared.ratio
    if ratio is None:
        why = f"against {run}: {compared.why}"
        return JudgedCombination(compared.levels, Verdict.INCONCLUSIVE, compared.sides, why)
    margin = Margin(is_ratio=True, value=ratio.log - math.log(expected.limit), error=ratio.error, df=ratio.df)
    verdict, why = _verdict_on_margin(expected.op, margin, combinations), ""
    sides = compared.sides
    left, right = (side.value or 0.0 for side in sides)
    shown = (Term("value", value=left), Term("value", value=expected.limit * right))
    if _is_contradicted(Term(expected.op, shown), lambda _: None, verdict):
        verdict, why = Verdict.INCONCLUSIVE, _CONTRADICTED
        sides = tuple(replace(side, middle=None) for side in sides)
    text = f"{replace(margin, value=ratio.log).named('ratio of geometric means =')} against {run}"
    return JudgedCombination(compared.levels, verdict, sides, why, text)


def _verdict_on_margin(op: str, margin: Margin, combinations: int, looks: int = 1) -> Verdict:
    """Judge a margin. A pass needs all combinations, so each is tested by itself; for a failure one is enough."""
    if _holds(op, margin.interval(looks)) is True:
        return Verdict.PASS
    return Verdict.FAIL if _holds(op, margin.interval(looks * combinations)) is False else Verdict.INCONCLUSIVE


def _verdict_of(findings: Sequence[JudgedCombination]) -> Verdict:
    """The overall verdict on all combinations."""
    verdicts = {finding.verdict for finding in findings}
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL
    return Verdict.PASS if verdicts == {Verdict.PASS} else Verdict.INCONCLUSIVE


def _judged(trials: Trials, expectation: Expectation) -> Judged:
    every = evaluate(trials, [expectation.term], expectation.by, every=False)
    places = _places_without_value(trials, expectation)
    combinations = [item for item in every if not _is_without_value(tuple(cells(item.levels)), places)]
    terms = list(dict.fromkeys(aggregates(expectation.term)))
    has_margins = any(term.op in INFERRED for term in terms)
    samples = margins.samples(trials, terms, expectation.by) if has_margins else []
    named_paths = {*mentioned(expectation.term), *(path for factor_ref in expectation.by for path in factor_ref.paths)}
    matched = [i for i, path in enumerate(trials.factors) if path not in named_paths]
    judge = Judge(expectation.term, terms, matched, len(combinations), min(_FEW, trials.repeat))
    findings = tuple(judge.finding(item, samples) for item in combinations)
    return Judged(expectation, _verdict_of(findings), findings, len(every) - len(combinations))


def _places_without_value(trials: Trials, expectation: Expectation) -> list[tuple[Sequence[Cell], bool]]:
    """Combinations of levels; each is true if no trial of it can have the metric, as writers have no reads."""
    terms = list(aggregates(expectation.term))
    exact = [name for term in terms for part in term.terms for name in metrics_of(part)]
    distributions = [distribution_of(term) for term in terms if term.op == "percentile"]
    catalogue = (
        "SELECT DISTINCT needs FROM \"columns\" WHERE experiment = ? AND needs <> '' "
        "AND (list_contains(?, name) OR list_contains(?, path) OR list_contains(?, distribution))"
    )
    parameters = [trials.experiment, exact, exact, distributions]
    needs = [str(trait) for (trait,) in run_query(trials.db, catalogue, parameters).rows]
    if not needs:
        return []
    levels = "".join(f"{formulas.level(trials, item)}, " for item in expectation.by)
    lacks = "EXISTS (FROM main.traits n WHERE n.run = t.run AND n.trial = t.trial AND n.value = 0 AND {})"
    lacking = lacks.format("list_contains(?, n.trait)")
    rows = run_query(trials.db, f"SELECT {levels}bool_and({lacking}) FROM {trials.rows} t GROUP BY ALL", [needs]).rows
    return [(cells(own), bool(is_without)) for *own, is_without in rows]


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges one expectation in each combination.

    If it `is_within_setups`, verdicts hold for the setups that were made, even for a single one. They are simultaneous
    over this many interim `looks` at growing data.
    """

    term: Term
    aggregates: Sequence[Term]
    matched: Sequence[int]
    combinations: int
    least: int
    is_within_setups: bool = False
    looks: int = 1

    def finding(self, combination: Combination, samples: Sequence[TrialTerms]) -> JudgedCombination:
        """The verdict in one combination."""
        levels = tuple(cells(combination.levels))
        why = next((why for side in combination.sides if (why := _reason_for_no_verdict(side, self.least))), "")
        (holds,) = combination.results
        if why or not isinstance(holds, bool):
            return JudgedCombination(levels, Verdict.INCONCLUSIVE, combination.sides, why or "it has no value")
        own = [
            sample
            for sample in samples
            if all(_matches_level(*pair) for pair in zip(sample.clause_levels, levels, strict=True))
        ]
        values_by_term = {side.term: side.value for side in combination.sides}
        margins: list[Margin] = []
        verdict = self._verdict(self.term, own, values_by_term, margins)
        text = ", ".join(str(item) for item in margins if not math.isnan(item.value))
        sides = tuple(_with_middle(side, margins) for side in combination.sides)
        why = next((item.why for item in margins if item.why), text) if verdict is Verdict.INCONCLUSIVE else ""
        return JudgedCombination(levels, verdict, sides, why, text)

    def _verdict(
        self, term: Term, own: Sequence[TrialTerms], by_term: Mapping[Term, float | None], shown: list[Margin]
    ) -> Verdict:
        """The verdict of these trials on a condition; the margins that it rests on are appended to `shown`."""
        if term.op in {"and", "or"}:
            decisive = Verdict.FAIL if term.op == "and" else Verdict.PASS
            parts = [self._verdict(part, own, by_term, shown) for part in term.terms]
            alike = parts[0] if len(set(parts)) == 1 else Verdict.INCONCLUSIVE
            return decisive if decisive in parts else alike
        if term.op == "not":
            return _OPPOSITE[self._verdict(term.terms[0], own, by_term, shown)]
        if term.op not in margins.COMPARISONS or not any(aggregate.op in INFERRED for aggregate in aggregates(term)):
            holds = evaluation.evaluate(term, by_term.get)
            return Verdict.INCONCLUSIVE if holds is None else Verdict.PASS if holds else Verdict.FAIL
        margin = margins.margin(
            term, self.aggregates, own, by_term.get, self.matched, is_within_setups=self.is_within_setups
        )
        if margin is None:
            return Verdict.INCONCLUSIVE
        verdict = _verdict_on_margin(term.op, margin, self.combinations, self.looks)
        if _is_contradicted(term, by_term.get, verdict):
            verdict, margin = Verdict.INCONCLUSIVE, replace(margin, why=_CONTRADICTED)
        shown.append(margin)
        return verdict


_OPPOSITE = {
    Verdict.PASS: Verdict.FAIL,
    Verdict.FAIL: Verdict.PASS,
    Verdict.INCONCLUSIVE: Verdict.INCONCLUSIVE,
}


def _is_contradicted(comparison: Term, leaf: Leaf, verdict: Verdict) -> bool:
    """Whether the figures shown contradict a verdict on geometric means."""
    if verdict is Verdict.INCONCLUSIVE:
        return False
    left, right = (evaluation.evaluate(part, leaf) for part in comparison.terms)
    if isinstance(left, int | float) and isinstance(right, int | float) and math.isclose(left, right):
        return False
    return evaluation.evaluate(comparison, leaf) is not (verdict is Verdict.PASS)


def _holds(op: str, interval: tuple[float, float]) -> bool | None:
    """Whether a comparison with the limit 0 holds everywhere in an interval; None if it holds in a part of it."""
    low, high = interval
    match op:
        case ">" | "<=":
            holds = True if low > 0 else False if high <= 0 else None
            return holds if op == ">" or holds is None else not holds
        case ">=" | "<":
            holds = True if low >= 0 else False if high < 0 else None
            return holds if op == ">=" or holds is None else not holds
        case _:
            is_equal = True if low == high == 0 else False if low > 0 or high < 0 else None
            return is_equal if op == "==" or is_equal is None else not is_equal


def _is_without_value(levels: Sequence[Cell], places: Sequence[tuple[Sequence[Cell], bool]]) -> bool:
    """Whether no trial of a combination can have a value of the metric."""
    own = [is_so for place, is_so in places if all(_matches_level(*pair) for pair in zip(place, levels, strict=True))]
    return bool(own) and all(own)


def _matches_level(cell: Cell, level: Cell) -> bool:
    """Whether a trial belongs to a combination: a factor that does not exist matches any of its levels."""
    return cell is None or level is None or cell == level


def _reason_for_no_verdict(side: Side, least: int) -> str:
    """The reason why there is no verdict on a side."""
    text = side.term.name
    if not side.tried:
        return f"no trial was carried out for {text}"
    if side.term.op == "count" or (side.n >= least and side.value is not None):
        return ""
    if side.n == side.tried:
        return f"{side.n} trial{'s' if side.n > 1 else ''} of {text} cannot be judged: `repeat = {_ADVISED}`"
    return f"{side.n or 'none'} of {side.tried} trial{'s' if side.tried > 1 else ''} has a value for {text}"


def sentence(judged: Judged, finding: JudgedCombination) -> str:
    """One combination in words: its levels, and its figures."""
    levels, figures = levels_in_words(judged, finding), figures_in_words(finding)
    return f"{levels}: {figures}" if levels else figures


def figures_in_words(finding: JudgedCombination) -> str:
    """The figures of a combination in words: its sides, their distance, and why there is no verdict."""
    sides = sides_in_words(finding)
    parts = (sides, finding.margin) if finding.margin else (finding.why or sides,)
    figures = ", ".join(filter(None, parts))
    is_explained = not finding.margin or finding.why in finding.margin
    return figures if is_explained else f"{figures}: {finding.why}"


def sides_in_words(finding: JudgedCombination) -> str:
    """The sides of a comparison in words: `max(speed) = 110 (n = 3)`."""
    return ", ".join(f"{_named(side)} = {_number(side)}" for side in finding.sides)


def omission(judged: Judged) -> str:
    """A sentence about the combinations that an expectation leaves out; empty if it leaves none out."""
    count, names = (
        judged.left_out,
        " and ".join(dict.fromkeys(term.name for term in aggregates(judged.expectation.term))),
    )
    if not count:
        return ""
    return f"left out: {count:,} combination{'s' if count > 1 else ''} that cannot have {names}"


def levels_in_words(judged: Judged, finding: JudgedCombination) -> str:
    """The levels of a combination in words: `bs=4KiB, iodepth=8`."""
    levels = zip(judged.expectation.by, finding.levels, strict=True)
    return ", ".join(
        f"{factor.name}={wording.level(level, factor.type)}" for factor, level in levels if level is not None
    )


def _with_middle(side: Side, margins: Sequence[Margin]) -> Side:
    """A side with the statistic on which a verdict rests, unless the figure of all trials contradicts it."""
    for margin in margins:
        for term, middle, statistic in margin.middles:
            if term == side.term and margin.why != _CONTRADICTED:
                return replace(side, middle=middle, statistic=statistic)
    return side


def _named(side: Side) -> str:
    """The name of a side's statistic as shown: the one on which the verdict rests, if there is one."""
    name = side.term.name
    if side.middle is None or side.term.op == "mean":
        return name
    return f"{side.statistic}{name.removeprefix('median')}" if side.term.op == "median" else f"{side.statistic}({name})"


def _number(side: Side) -> str:
    value = side.value if side.middle is None else side.middle
    if value is None:
        return "-"
    times = 100 if side.term.type == "share" else 1
    return f"{wording.measured(value * times, UNITS.get(side.term.type, ''))} (n = {side.n})"
