"""The difference of two sides of an experiment, judged by the units to which a side was applied.

In: observations, each with its side, its groups (its block, and its setup at each depth), the levels of the other
factors and a logarithm. Out: a `Difference`. Rules: observations that share a group in which only one side occurs are
one unit, and only units are independent. Sides that occur together in a group are compared within it. Combinations of
the other factors have equal weights, and how the difference varies between them is not part of its error.
Sources: Box, Hunter and Hunter, Statistics for Experimenters (blocks, ch. 4; split plots, ch. 9); Welch, Biometrika 34,
1947 (unequal spread). `bench/verdicts.py` measures how often a verdict is false.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from zlang.frozen import frozen, replace
from zlang.report import ratios
from zlang.report.ratios import Ratio
from zlang.report.summary import Cell

MOST = 0.75
"""From this share of observations on that have a counterpart in their group, sides are compared within groups."""
_LEAST_DF = 1.0
"""Degrees of freedom from which on a side has a spread of its own."""
_BLOCK = 0
"""The kind of group that a block is. Every point is in every block, unless trials failed or were not needed."""

_Key = tuple[Hashable, ...]


@frozen
class Observation:
    """One trial on side 0 or 1. A group is None if the trial has none of that kind."""

    side: int
    groups: tuple[Hashable, ...]
    levels: tuple[Cell, ...]
    log: float


@frozen
class Difference:
    """A ratio, and the number of independent `units` of the side with fewer.

    `is_of_setups` says whether the units are setups rather than blocks or single trials.
    """

    ratio: Ratio | None
    units: int
    is_of_setups: bool

    @property
    def is_of_one_setup(self) -> bool:
        """Whether a side was set up only once."""
        return self.is_of_setups and self.units == 1


def difference(observations: Sequence[Observation]) -> Difference:
    """Compare the second side with the first."""
    # Levels of other factors that only one side has carry no information about the difference.
    levels = [{each.levels for each in observations if each.side == side} for side in (0, 1)]
    comparable = [each for each in observations if each.levels in levels[0] & levels[1]]
    chosen = comparable or observations
    kinds = range(len(chosen[0].groups)) if chosen else ()
    mixed = [kind for kind in kinds if _is_paired_within(chosen, kind)]
    linking = [kind for kind in kinds if kind not in mixed]
    units = components([observation.groups for observation in chosen], linking)
    counts = [len({unit for unit, each in zip(units, chosen, strict=True) if each.side == side}) for side in (0, 1)]
    setups = {observation.groups[kind] for kind in linking if kind != _BLOCK for observation in chosen} - {None}
    is_of_setups = bool(setups) and len(set(units)) < len(chosen)
    if not comparable:
        return Difference(None, min(counts), is_of_setups)
    upper = _constant(chosen, units)
    placed = [_Placed(observation, unit, upper) for observation, unit in zip(chosen, units, strict=True)]
    while mixed:
        differences, share = _differences_within(placed, mixed)
        is_repeated = max(map(len, differences.values()), default=0) > 1
        # Only pairs exclude the differences between blocks, even if one side has far fewer trials than the other.
        if (is_repeated and share >= MOST) or (
            mixed == [_BLOCK] and share < MOST and (is_repeated or len(differences) > 1)
        ):
            return Difference(ratios.paired(differences), min(counts), is_of_setups)
        mixed.pop()
    result = _difference_between(placed)
    if result is not None and min(counts) == 1:
        result = replace(result, error=None, df=0)
    return Difference(result, min(counts), is_of_setups)


class _Placed:
    """An observation with its unit, the combination of its unit, and its cell within the unit."""

    __slots__ = ("cell", "combination", "groups", "log", "side", "unit")

    def __init__(self, observation: Observation, unit: int, upper: frozenset[int]) -> None:
        self.side, self.groups, self.log, self.unit = observation.side, observation.groups, observation.log, unit
        self.combination: _Key = tuple(level for i, level in enumerate(observation.levels) if i in upper)
        self.cell: _Key = tuple(level for i, level in enumerate(observation.levels) if i not in upper)


def _is_paired_within(observations: Sequence[Observation], kind: int) -> bool:
    """Whether both sides occur in some group of a kind."""
    sides: dict[Hashable, int] = {}
    return any(
        sides.setdefault(observation.groups[kind], observation.side) != observation.side
        for observation in observations
        if observation.groups[kind] is not None
    )


def components(groups: Sequence[tuple[Hashable, ...]], kinds: Sequence[int]) -> list[int]:
    """Number the connected components: places linked by groups of these kinds, even indirectly, share a number."""
    roots = list(range(len(groups)))

    def root(n: int) -> int:
        while roots[n] != n:
            roots[n] = roots[roots[n]]
            n = roots[n]
        return n

    first: dict[tuple[int, Hashable], int] = {}
    for n, own in enumerate(groups):
        for kind in kinds:
            if own[kind] is not None:
                roots[root(n)] = root(first.setdefault((kind, own[kind]), n))
    return [root(n) for n in range(len(groups))]


def _constant(observations: Sequence[Observation], units: Sequence[int]) -> frozenset[int]:
    """The other factors that are constant within each unit."""
    factors = range(len(observations[0].levels)) if observations else ()
    cells: dict[int, tuple[Cell, ...]] = {}
    varying: set[int] = set()
    for observation, unit in zip(observations, units, strict=True):
        levels = cells.setdefault(unit, observation.levels)
        if levels is not observation.levels:
            varying.update(i for i in factors if levels[i] != observation.levels[i])
    return frozenset(factors) - varying


def _differences_within(placed: Sequence[_Placed], kinds: Sequence[int]) -> tuple[dict[Hashable, list[float]], float]:
    """The differences within groups of these kinds, by combination, and the share of trials with a counterpart."""
    places: dict[tuple[_Key, int], tuple[dict[_Key, list[float]], dict[_Key, list[float]]]] = {}
    # A unit that spans several groups joins them into one.
    together = components(
        [(tuple(observation.groups[kind] for kind in kinds), observation.unit) for observation in placed], (0, 1)
    )
    for observation, place in zip(placed, together, strict=True):
        sides = places.setdefault((observation.combination, place), (defaultdict(list), defaultdict(list)))
        sides[observation.side][observation.cell].append(observation.log)
    result: dict[Hashable, list[float]] = {}
    used = 0
    for (combination, _), (ones, others) in places.items():
        both = [cell for cell in ones if cell in others]
        if both:
            used += sum(len(ones[cell]) + len(others[cell]) for cell in both)
            steps = [ratios.mean(others[cell]) - ratios.mean(ones[cell]) for cell in both]
            result.setdefault(combination, []).append(ratios.mean(steps))
    return result, used / max(len(placed), 1)


def _difference_between(placed: Sequence[_Placed]) -> Ratio | None:
    """The difference of unpaired units."""
    units: dict[int, list[_Placed]] = defaultdict(list)
    for item in placed:
        units[item.unit].append(item)
    if len({frozenset((item.cell) for item in ones) for ones in units.values()}) > 1:
        return _adjusted(list(units.values()))
    sides: tuple[dict[Hashable, list[float]], dict[Hashable, list[float]]] = (defaultdict(list), defaultdict(list))
    for ones in units.values():
        logs: dict[_Key, list[float]] = defaultdict(list)
        for item in ones:
            logs[item.cell].append(item.log)
        sides[ones[0].side][ones[0].combination].append(ratios.mean([ratios.mean(own) for own in logs.values()]))
    if len(sides[0]) > 1 and all(len(logs) == 1 for side in sides for logs in side.values()):
        return ratios.paired({key: [sides[1][key][0] - logs[0]] for key, logs in sides[0].items()})
    return ratios.unpaired(*sides)


def _adjusted(units: Sequence[Sequence[_Placed]]) -> Ratio | None:
    """The difference between the means of units with different cells, adjusted for the effects of these cells."""
    import numpy as np

    combinations = list(dict.fromkeys(ones[0].combination for ones in units))
    cells = list(dict.fromkeys(item.cell for ones in units for item in ones))
    factors = range(len(cells[0]))
    dummies = [(i, level) for i in factors for level in list(dict.fromkeys(cell[i] for cell in cells))[1:]]
    rows = []
    for ones in units:
        own = [float(ones[0].combination == key) for key in combinations]
        shares = [sum(item.cell[i] == level for item in ones) / len(ones) for i, level in dummies]
        rows.append([*own, *(part * ones[0].side for part in own), *shares])
    matrix = np.array(rows)
    logs = np.array([ratios.mean([item.log for item in ones]) for ones in units])
    wanted = np.array([0.0] * len(combinations) + [1 / len(combinations)] * len(combinations) + [0.0] * len(dummies))
    inverse = np.linalg.pinv(matrix.T @ matrix)
    if not np.allclose(wanted @ inverse @ (matrix.T @ matrix), wanted):
        return None
    weights = wanted @ inverse @ matrix.T
    log, n = float(weights @ logs), min(sum(ones[0].side == side for ones in units) for side in (0, 1))
    df = len(units) - int(np.linalg.matrix_rank(matrix))
    if df < 1:
        return Ratio(n, log, None, 0)
    hat = matrix @ inverse @ matrix.T
    squares, free = (logs - hat @ logs) ** 2, 1 - np.diag(hat)
    sides = np.array([ones[0].side for ones in units])
    # Each side has its own spread, unless a side has too few units to estimate it.
    groups = [sides == side for side in (0, 1)]
    if min(float(free[own].sum()) for own in groups) < _LEAST_DF:
        groups = [sides >= 0]
    parts = [
        (float(squares[own].sum() / free[own].sum() * (weights[own] @ weights[own])), float(free[own].sum()))
        for own in groups
    ]
    return Ratio(n, log, *ratios.summed(parts))
