"""The reasons why a run stopped: the steps of its searches, and the points that reached the requested precision.

In: a run's trials. Out: a table of the levels that a search measured, and sentences; empty if the experiment has
neither `until` nor `find`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from zlang import intervals
from zlang.check.questions import FactorRef, Search, Term, Until, aggregates
from zlang.report import judging, margins, wording
from zlang.report.clauses import stored_clauses
from zlang.report.formulas import UNITS, Trials, evaluate
from zlang.report.summary import Cell, Estimate, Summary, TableColumn, cells, count_column
from zlang.run.sequential import Why
from zlang.store.query import run_query
from zlang.store.store import literal, quoted

_HOLDS = {True: "holds", False: "does not hold", None: "inconclusive"}
_NONE = "the condition does not hold at any level"
_NAMED = 5
_ADVISED = 20
"""Replicates that are enough for the levels near the one that is searched, unless these vary much."""
_Point = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class _Step:
    """A point that a search measured: its number of valid trials, and the result there."""

    point: _Point
    holds: bool | None
    objective: float | None
    is_best: bool
    n: int
    sides: Sequence[float | None]


def course(trials: Trials) -> Summary | None:
    """The levels that a search measured, in order, for each combination of the other factors, and what decided."""
    for search in stored_clauses(trials, "find", Search):
        kinds, steps = _kinds(trials), [step for steps in _searches(trials, search) for step in steps]
        there = {name for step in steps for name, level in step.point.items() if level is not None}
        factors = [*(name for name in kinds if name in there - {search.factor}), search.factor]
        is_own = search.objective.term.op == "factor"  # it already has its own column
        shown = [] if is_own else [(search.objective.name, search.objective.type)]
        shown += [(side.name, side.type) for side in _sides(search)]
        own = [TableColumn(name, kinds[name], "") for name in factors]
        columns = (
            *own,
            count_column(own),
            *(TableColumn(name, "estimate", UNITS.get(kind, "")) for name, kind in shown),
            *(TableColumn(name, "word", "") for name in ("condition", "")),
        )
        rows = []
        for step in steps:
            scaled = (
                None if value is None else value * (100 if kind == "share" else 1)
                for value, (_, kind) in zip((*([] if is_own else [step.objective]), *step.sides), shown, strict=True)
            )
            figures = (Estimate(step.n, value, None, None) for value in scaled)
            ending = (_HOLDS[step.holds], "best" if step.is_best else "")
            rows.append((*(step.point.get(name) for name in factors), step.n, *figures, *ending))
        return Summary(experiment=trials.experiment, columns=columns, rows=tuple(rows), trials=0, valid=0, reasons=())
    return None


def sentences(trials: Trials) -> Iterator[str]:
    """The outcomes of the searches and of `until` in words."""
    for search in stored_clauses(trials, "find", Search):
        yield search.text
        kinds, every = _kinds(trials), _measured_points(trials, search)
        for steps in _searches(trials, search):
            others = {name: level for name, level in steps[0].point.items() if name != search.factor}
            same = {point[search.factor]: holds for point, holds, _ in every if others.items() <= point.items()}
            where = _point_in_words(others, kinds)
            answer = _answer(steps, search, kinds[search.factor]) + _contradiction(same)
            answer += _range(trials, search, steps, kinds[search.factor])
            yield f"  {where}: {answer}" if where else f"  {answer}"
    for until in stored_clauses(trials, "until", Until):
        yield from _precision(trials, until)


def _sides(search: Search) -> list[Term]:
    """The values that the condition compares, and the objective."""
    return [
        aggregate for aggregate in dict.fromkeys(aggregates(search.condition)) if aggregate != search.objective.term
    ]


def _searches(trials: Trials, search: Search) -> list[list[_Step]]:
    """The steps of each search, in the order of the levels of the other factors."""
    levels, every = _levels(trials), _measured_points(trials, search)
    sides = {tuple(point.values()): result for point, _, result in every}
    rows = run_query(
        trials.db,
        "SELECT run || ' ' || search, s.trial, holds, objective, best, count(t.trial) FILTER (t.valid) "
        f"FROM searches s LEFT JOIN {trials.rows} t USING (run, trial) WHERE run IN ({_runs(trials)}) "
        "GROUP BY run, search, step, s.trial, holds, objective, best ORDER BY run, search, step",
    ).rows
    result: list[list[_Step]] = []
    for _, of_one in groupby(rows, key=lambda row: row[0]):
        steps = []
        for _, trial, holds, objective, best, n in of_one:
            point = levels.get(str(trial), {})
            side = sides.get(tuple(point.values()), [None] * len(_sides(search)))
            reached = float(objective) if isinstance(objective, int | float) else None
            count = n if isinstance(n, int) else 0
            steps.append(
                _Step(
                    point=point,
                    holds=holds if isinstance(holds, bool) else None,
                    objective=reached,
                    is_best=bool(best),
                    n=count,
                    sides=side,
                )
            )
        result.append(steps)

    def others(point: _Point) -> tuple[Cell, ...]:
        return tuple(level for name, level in point.items() if name != search.factor)

    places = {point: place for place, point in enumerate(dict.fromkeys(map(others, levels.values())))}
    return sorted(result, key=lambda steps: places.get(others(steps[0].point), 0))


def _measured_points(trials: Trials, search: Search) -> list[tuple[_Point, bool | None, Sequence[float | None]]]:
    """For each point that was measured, by this run or reused: whether the condition holds, and its sides."""
    by = [FactorRef(name, (path,), "") for path, (name, _) in trials.factors.items()]
    result: list[tuple[_Point, bool | None, Sequence[float | None]]] = []
    for combination in evaluate(trials, [search.condition, *_sides(search)], by, every=True):
        holds, *sides = combination.results
        point = dict(zip((factor.name for factor in by), cells(combination.levels), strict=True))
        shown = [float(value) if isinstance(value, int | float) else None for value in sides]
        result.append((point, holds if isinstance(holds, bool) else None, shown))
    return result


def _answer(steps: Sequence[_Step], search: Search, kind: str) -> str:
    """The level that a search found, and the two levels between which the condition changes."""

    def level(step: _Step) -> str:
        return wording.level(step.point.get(search.factor), kind)

    unknown = next((step for step in steps if step.holds is None), None)
    if unknown is not None:
        why = "what the condition refers to was not measured" if unknown.n else "no trial counts"
        return f"not decided: at {search.factor}={level(unknown)} {why}"
    best = next((step for step in steps if step.is_best), None)
    answers = {step.holds for step in steps}
    if best is None and any(step.holds and step.objective is not None for step in steps):
        return "not decided: the run has not come to the end of the search"
    if best is None or best.objective is None:
        return f"{search.objective.name} has no value where the condition holds" if True in answers else _NONE
    figure = best.objective * (100 if search.objective.type == "share" else 1)
    measured = wording.measured(figure, UNITS.get(search.objective.type, ""))
    own = "" if search.objective.term.op == "factor" else f", {search.objective.name} = {measured}"
    if answers == {True}:
        return f"{search.factor}={level(best)}{own}; the condition holds at both ends: try a wider range"
    holding, other = (next(step for step in reversed(steps) if step.holds is holds) for holds in (True, False))
    return f"{search.factor}={level(best)}{own}; the condition holds at {level(holding)} and not at {level(other)}"


def _range(trials: Trials, search: Search, steps: Sequence[_Step], kind: str) -> str:
    """The levels between which the condition changes, according to the intervals of the measurements."""
    levels = [level for step in steps if isinstance(level := step.point.get(search.factor), int | float)]
    if len(levels) < len(steps) or {step.holds for step in steps} != {True, False}:
        return ""
    terms = list(dict.fromkeys(aggregates(search.condition)))
    by = [FactorRef(name, (path,), "") for path, (name, _) in trials.factors.items()]
    samples = margins.samples(trials, terms, by)
    result = {
        tuple(cells(combination.levels)): combination
        for combination in evaluate(trials, [search.condition], by, every=True)
    }
    least = search.least or max(2, trials.repeat)
    narrow = "; more replicates would narrow this"
    if not stored_clauses(trials, "until", Until):
        narrow = f"; to narrow this, write `repeat = {least}..{max(_ADVISED, 2 * trials.repeat)}`"
    # All levels of a search are measured on the same setup, so the range holds for this setup only.
    looks = len(intervals.looks(least, trials.repeat))
    judge = judging.Judge(search.condition, terms, (), 1, 1, is_within_setups=True, looks=looks)
    verdicts = {}
    for step, level in zip(steps, levels, strict=True):
        place = tuple(step.point.values())
        if place in result:
            verdicts[level] = judge.finding(
                result[place], [sample for sample in samples if sample.clause_levels == place]
            ).verdict
    holds_below = min(zip(levels, steps, strict=True), key=lambda each: each[0])[1].holds is True
    low, high = knee(verdicts, holds_below=holds_below)
    ends = [None if end is None else wording.level(end, kind) for end in (low, high)]
    match ends:
        case [None, None]:
            return f"; too few trials to say between which levels it changes with 95 % confidence{narrow}"
        case [_, None]:
            return f"; with 95 % confidence it changes above {ends[0]}{narrow}"
        case [None, _]:
            return f"; with 95 % confidence it changes below {ends[1]}{narrow}"
        case _:
            is_wide = any(low < level < high for level in verdicts) if low is not None and high is not None else False
            more = narrow if is_wide else ""
            return f"; with 95 % confidence it changes between {ends[0]} and {ends[1]}{more}"


def knee(verdicts: Mapping[float, judging.Verdict], *, holds_below: bool) -> tuple[float | None, float | None]:
    """The nearest levels around the change of a condition at which its intervals are conclusive; None if there is none.

    `holds_below` says whether the condition holds at the lowest level.
    """
    below, above = judging.Verdict.PASS, judging.Verdict.FAIL
    if not holds_below:
        below, above = above, below
    low = max((level for level, verdict in verdicts.items() if verdict is below), default=None)
    high = min((level for level, verdict in verdicts.items() if verdict is above), default=None)
    return (low, high) if low is None or high is None else (min(low, high), max(low, high))


def _contradiction(same: Mapping[Cell, bool | None]) -> str:
    """The reason to doubt the answer if the condition changes more than once among all measured levels."""
    tried = sorted(level for level, holds in same.items() if holds is not None and isinstance(level, int | float))
    changes = sum(same[item] != same[other] for item, other in pairwise(tried))
    return f"; among the measured levels it changes {changes} times: noise, or no knee" if changes > 1 else ""


def _precision(trials: Trials, until: Until) -> Iterator[str]:
    """The number of points that are precise enough, and the points that are not."""
    rows = run_query(
        trials.db,
        f"SELECT trial, why, n, reach FROM stops WHERE run IN ({_runs(trials)}) ORDER BY reach DESC NULLS FIRST, trial",
    ).rows
    precise = sorted(n for _, why, n, _ in rows if why == Why.PRECISE and isinstance(n, int))
    times = dict.fromkeys((precise[0], precise[-1])) if precise else ()
    some = f", after {' to '.join(map(str, times))} trials" if precise else ""
    yield f"until {until.text}: {len(precise):,} of {len(rows):,} points are that precise{some}"
    levels, kinds = _levels(trials), _kinds(trials)
    others = [row for row in rows if row[1] != Why.PRECISE]
    for trial, _, n, reach in others[:_NAMED]:
        where = _point_in_words(levels.get(str(trial), {}), kinds)
        within = f"{100 * reach:.2g} %" if isinstance(reach, float) else "not known"
        # A narrow interval is not enough if a plausible larger spread would make it wide.
        luck = ", which may be chance" if isinstance(reach, float) and reach <= until.within else ""
        yield f"  not precise: {where or 'the only point'}, {within} after {n} trials that count{luck}"
    if len(others) > _NAMED:
        yield f"  and {len(others) - _NAMED:,} more: `select * from stops join trials using (run, trial)`"


def _runs(trials: Trials) -> str:
    return ", ".join(map(literal, (trials.run, *trials.others)))


def _kinds(trials: Trials) -> dict[str, str]:
    """The types of the factors, by their names."""
    wanted = """SELECT name, type FROM "columns" WHERE experiment = ? AND role = 'factor' ORDER BY position"""
    return {str(name): str(kind) for name, kind in run_query(trials.db, wanted, [trials.experiment]).rows}


def _levels(trials: Trials) -> dict[str, _Point]:
    """The levels of each point, by its hash; words are in the order of their declaration."""
    names = [name for name, _ in trials.factors.values()]
    listed = ", ".join([*map(quoted, names), "trial"])
    rows = run_query(trials.db, f"SELECT DISTINCT {listed} FROM {trials.rows} ORDER BY {listed}").rows
    return {str(trial): dict(zip(names, cells(row), strict=True)) for *row, trial in rows}


def _point_in_words(point: _Point, kinds: Mapping[str, str]) -> str:
    """The levels of a point in words."""
    names = ((name, level) for name, level in point.items() if level is not None)
    return ", ".join(f"{name}={wording.level(level, kinds[name])}" for name, level in names)
