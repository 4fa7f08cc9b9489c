"""Why a run measured no more: the course of its searches, and which points are known as well as was asked for.

In: a run's trials. Out: a table of what a search looked at, sentences. Nothing where the experiment has neither `until`
nor `find`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zlang.check.answers import Search, Until
from zlang.report import wording
from zlang.report.answers import asked
from zlang.report.formulas import UNITS, Trials
from zlang.report.summary import Cell, Column, Estimate, Summary, cells
from zlang.run.sequential import Why
from zlang.store.query import run_query
from zlang.store.store import literal, quoted

_HOLDS = {True: "holds", False: "does not hold", None: "cannot tell"}
_NAMED = 5


def course(trials: Trials) -> Summary | None:
    """The levels that a search looked at, in their order, by the levels of the other factors."""
    for search in asked(trials, "find", Search):
        levels = _levels(trials)
        kinds = _kinds(trials)
        factors = [*(name for name in kinds if name != search.factor), search.factor]
        columns = [Column(name, kinds[name], "") for name in factors]
        objective = search.objective
        unit = UNITS.get(objective.type, "")
        heads = (Column("n", "count", ""), Column(objective.name, "estimate", unit), Column("condition", "word", ""))
        rows = tuple(_row(one, levels, factors, objective.type) for one in _looked(trials, search, levels))
        return Summary(trials.experiment, (*columns, *heads, Column("", "word", "")), rows, 0, 0, ())
    return None


def sentences(trials: Trials) -> Iterator[str]:
    """What came of it, in words."""
    for search in asked(trials, "find", Search):
        yield search.text
        yield from _answers(trials, search)
    for until in asked(trials, "until", Until):
        yield from _precision(trials, until)


def _kinds(trials: Trials) -> dict[str, str]:
    """The types of the factors, by their names."""
    wanted = """SELECT name, type FROM "columns" WHERE experiment = ? AND role = 'factor' ORDER BY position"""
    return {str(name): str(kind) for name, kind in run_query(trials.db, wanted, [trials.experiment]).rows}


def _where(point: Mapping[str, Cell], kinds: Mapping[str, str], but: str = "") -> str:
    """The levels of a point in words."""
    known = ((name, level) for name, level in point.items() if name != but and level is not None)
    return ", ".join(f"{name}={wording.level(level, kinds[name])}" for name, level in known)


def _runs(trials: Trials) -> str:
    return ", ".join(map(literal, (trials.run, *trials.others)))


def _looked(trials: Trials, search: Search, levels: Mapping[str, Mapping[str, Cell]]) -> list[tuple[object, ...]]:
    """Search, trial, whether the condition holds, the objective, whether it is the best, and of how many trials.

    By the levels of the other factors, then in the order of the search.
    """
    rows = run_query(
        trials.db,
        "SELECT run || ' ' || search, s.trial, holds, objective, best, count(t.trial) FILTER (t.valid) "
        f"FROM searches s LEFT JOIN {trials.rows} t USING (run, trial) WHERE run IN ({_runs(trials)}) "
        "GROUP BY run, search, step, s.trial, holds, objective, best ORDER BY run, search, step",
    ).rows

    def point(row: tuple[object, ...]) -> list[tuple[bool, Any]]:
        known = levels.get(str(row[1]), {})
        return [(level is not None, level) for name, level in known.items() if name != search.factor]

    return sorted(rows, key=point)


def _levels(trials: Trials) -> dict[str, dict[str, Cell]]:
    """The levels of each point, by the hash that it is known by."""
    names = [name for name, _ in trials.factors.values()]
    rows = run_query(trials.db, f"SELECT DISTINCT trial, {', '.join(map(quoted, names))} FROM {trials.rows}").rows
    return {str(trial): dict(zip(names, cells(row), strict=True)) for trial, *row in rows}


def _row(
    one: tuple[object, ...], levels: Mapping[str, Mapping[str, Cell]], factors: list[str], type_: str
) -> tuple[Cell, ...]:
    _, trial, holds, objective, best, n = one
    known = levels.get(str(trial), {})
    times = 100 if type_ == "share" else 1
    count = n if isinstance(n, int) else 0
    value = Estimate(count, float(objective) * times if isinstance(objective, int | float) else None, None, None)
    return (
        *(known.get(name) for name in factors),
        count,
        value,
        _HOLDS[holds if isinstance(holds, bool) else None],
        "best" if best else "",
    )


def _answers(trials: Trials, search: Search) -> Iterator[str]:
    """Of each search which level it found."""
    levels, kinds = _levels(trials), _kinds(trials)
    found: dict[str, list[tuple[object, ...]]] = {}
    for one in _looked(trials, search, levels):
        found.setdefault(str(one[0]), []).append(one)
    for ones in found.values():
        where = _where(levels.get(str(ones[0][1]), {}), kinds, search.factor)
        said = {one[2] for one in ones}
        best = next((str(one[1]) for one in ones if one[4]), None)
        if None in said:
            text = "not decided: at a level where no trial counts it is not known whether the condition holds"
        elif best is None:
            text = "the condition holds at none of the levels"
        else:
            level = wording.level(levels.get(best, {}).get(search.factor), kinds.get(search.factor, ""))
            text = f"{search.factor}={level}"
            if said == {True}:
                text += ", where the condition holds at both ends: more may be found in a wider range"
        yield f"  {where}: {text}" if where else f"  {text}"


def _precision(trials: Trials, until: Until) -> Iterator[str]:
    """How many points are known well enough, and which are not."""
    rows = run_query(
        trials.db,
        f"SELECT trial, why, n, reach FROM stops WHERE run IN ({_runs(trials)}) ORDER BY reach DESC NULLS FIRST, trial",
    ).rows
    precise = [n for _, why, n, _ in rows if why == Why.PRECISE and isinstance(n, int)]
    some = f", after {min(precise)} to {max(precise)} trials" if precise else ""
    yield f"until {until.text}: {len(precise):,} of {len(rows):,} points are known so well{some}"
    levels, kinds = _levels(trials), _kinds(trials)
    others = [row for row in rows if row[1] != Why.PRECISE]
    for trial, _, n, reach in others[:_NAMED]:
        where = _where(levels.get(str(trial), {}), kinds)
        within = f"{100 * reach:.3g} %" if isinstance(reach, float) else "not known"
        yield f"  not {where or 'the only point'}: {within} after {n} trials that count"
    if len(others) > _NAMED:
        yield f"  and {len(others) - _NAMED:,} more: `select * from stops`"
