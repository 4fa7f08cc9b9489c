"""The points of a space that a design measures: all, a sample, or a few that cover every combination of levels.

Laws, tested against brute force: a covering design has every combination of levels of `strength` factors that occurs in
the space; absence counts as a level. A sample contains all points of a smaller sample with the same seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod

from zlang.check.program import Axis, every_axis, merge_axes
from zlang.diagnostics import ProgramError
from zlang.hints import Any
from zlang.record import Record
from zlang.space.space import Condition, Space

MOST_COMBINATIONS = 10_000
"""The number of combinations of levels that a design can always cover; where points are few, it can cover more."""
_MOST_WORK = 5_000_000
"""Combinations times points times rules: about 5 s."""
_GREEDY, _TRIES = 5_000, 20
"""The combinations, times rules, for which the best point is sought each time, and the most designs that are tried."""
MOST_LOOKED_AT = 100_000
_ABSENT = -1


class TooManyCombinations(Exception):
    """The factors have too many combinations of levels to cover."""

    def __init__(self, combinations: int, limit: int) -> None:
        super().__init__(str(combinations))
        self.combinations, self.limit = combinations, limit


class Plots(Record):
    """The measured points in whole plots: the number of plots, the size of each, and its points."""

    count: int
    points: int
    size: Callable[[int], int]
    at: Callable[[int, int], dict[str, int]]


def full(space: Space, hard_to_change: Iterable[str]) -> Plots:
    """Return all points; the factors of `hard_to_change` are constant within a whole plot.

    If other factors depend on these, and there are too many combinations to group, each combination is a whole plot.
    """
    hard_to_change = frozenset(hard_to_change)
    plots, points = space.split(hard_to_change)
    groups: Sequence[Sequence[int]] | None = None
    if any(part.paths - hard_to_change for part in plots.parts) and plots.count <= MOST_LOOKED_AT:
        groups = _plots_of(plots, hard_to_change)
    last: tuple[int, dict[str, int]] = (-1, {})

    def at(plot: int, point: int) -> dict[str, int]:
        nonlocal last
        if groups is not None:
            which, point = divmod(point, points.count)
            plot = groups[plot][which]
        if plot != last[0]:
            last = (plot, plots[plot])
        result = last[1].copy()
        points.put(point, result)
        return result

    if groups is None:
        return Plots(plots.count, space.count, lambda _: points.count, at)
    return Plots(len(groups), space.count, lambda plot: len(groups[plot]) * points.count, at)


def partial(hard_to_change: Iterable[str], chosen: Sequence[dict[str, int]]) -> Plots:
    """Return some points of a space; the factors of `hard_to_change` are constant within a whole plot."""
    plots = [[chosen[i] for i in group] for group in _plots_of(chosen, frozenset(hard_to_change))]
    return Plots(len(plots), len(chosen), lambda plot: len(plots[plot]), lambda plot, point: plots[plot][point])


def _plots_of(points: Iterable[dict[str, int]], hard_to_change: frozenset[str]) -> list[list[int]]:
    """Group the indices of points that have the same levels of `hard_to_change`."""
    groups: dict[tuple[int | None, ...], list[int]] = {}
    paths = sorted(hard_to_change)
    for number, point in enumerate(points):
        groups.setdefault(tuple(map(point.get, paths)), []).append(number)
    return list(groups.values())


def covering(axes: Iterable[Axis], conditions: Iterable[Condition], strength: int, seed: int) -> list[dict[str, int]]:
    """Return points of a non-empty space with every combination of `strength` levels. Raises TooManyCombinations."""
    from covertable import Controller, criteria

    model = _Model(tuple(axes))
    strength = min(strength, len(model.paths))
    combinations = _combinations([len(levels) for levels in model.levels], strength)
    rules = [*model.existence(), *(model.rule(condition) for condition in conditions)]
    rules = [rule for rule in rules if rule["requires"]]
    least = prod(sorted(map(len, model.levels))[-strength:] if strength else ())
    limit = max(MOST_COMBINATIONS, _MOST_WORK // (least * (1 + len(rules))))
    if combinations > limit:
        raise TooManyCombinations(combinations, limit)
    if not strength:
        return [{}]
    work = combinations * (1 + len(rules))
    # Searching for the best row each time takes 45 s for 4,386 combinations under 12 rules and saves one row in ten.
    criterion = criteria.greedy if work <= _GREEDY else criteria.simple
    tries = _GREEDY // work if work <= _GREEDY else _MOST_WORK // 10 // (work * least)
    tables = []
    for number in range(max(1, min(_TRIES, tries))):
        salt = f"{seed}:{number}" if number else str(seed)
        made = Controller(model.levels, strength=strength, constraints=rules, criterion=criterion, salt=salt).make()
        tables.append(dict.fromkeys(map(tuple, made)))
    return [model.point(row) for row in min(tables, key=len)]


def _combinations(sizes: Iterable[int], strength: int) -> int:
    """Return the number of ways to choose `strength` of the factors and a level of each."""
    ways = [1] + [0] * strength
    for size in sizes:
        for i in range(strength, 0, -1):
            ways[i] += ways[i - 1] * size
    return ways[strength]


_Way = tuple[tuple[str, int], ...]
"""Levels of factors under which another factor exists."""


class _Model:
    """A space as a table: a column for each factor, which may be absent, and rules that connect columns."""

    def __init__(self, axes: tuple[Axis, ...]) -> None:
        axes = merge_axes(axes)
        top = {axis.path for axis in axes}
        result: dict[str, Axis] = {}
        shapes: dict[str, list[object]] = {}
        for axis in every_axis(axes):
            result.setdefault(axis.path, axis)
            shape = shapes.setdefault(axis.path, [])
            if axis.branches not in shape:
                shape.append(axis.branches)
        ways: dict[str, dict[_Way, None]] = {}
        pending: list[tuple[Axis, _Way]] = [(axis, ()) for axis in axes]
        seen: set[tuple[int, _Way]] = set()
        while pending:
            axis, above = pending.pop()
            if (id(axis), above) in seen:
                continue
            seen.add((id(axis), above))
            # The factors under a level may depend on the place only if this factor has several forms.
            before = above if len(shapes[axis.path]) > 1 else ()
            for level, branch in enumerate(axis.branches or ()):
                way = (*before, (axis.path, level))
                for inner in branch:
                    ways.setdefault(inner.path, {})[way] = None
                    pending.append((inner, way))
        self.paths = list(result)
        self.column = {path: i for i, path in enumerate(self.paths)}
        self.ways = {path: tuple(reached) for path, reached in ways.items() if path not in top}
        self.levels = [[*range(axis.size), *([_ABSENT] if path in self.ways else [])] for path, axis in result.items()]

    def point(self, row: Sequence[int]) -> dict[str, int]:
        """Return a row as a point."""
        return {path: level for path, level in zip(self.paths, row, strict=True) if level != _ABSENT}

    def existence(self) -> Iterable[dict[str, Any]]:
        """Yield the rules that a factor exists if and only if one of its branches is taken."""
        for path, reached in self.ways.items():
            column, ways = self.column[path], [[(self.column[axis], level) for axis, level in way] for way in reached]

            def holds(row: Mapping[int, int], column: int = column, ways: list[list[tuple[int, int]]] = ways) -> bool:
                return (row[column] != _ABSENT) == any(all(row[axis] == level for axis, level in way) for way in ways)

            requires = {column, *(axis for way in ways for axis, _ in way)}
            yield {"operator": "fn", "requires": sorted(requires), "evaluate": holds}

    def rule(self, condition: Condition) -> dict[str, Any]:
        """Return a condition as a rule over the columns that it reads."""
        reads = [self.column[path] for path in sorted(condition.reads & self.column.keys())]

        def holds(row: Mapping[int, int]) -> bool:
            chosen = {self.paths[column]: row[column] for column in reads if row[column] != _ABSENT}
            try:
                return condition.holds(chosen) is not False
            except ProgramError:  # earlier conditions exclude the point, or the space would not have been built
                return False

        return {"operator": "fn", "requires": reads, "evaluate": holds}
