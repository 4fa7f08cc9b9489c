"""Points that are the same measurement: they differ only in levels that have no effect.

In: an experiment, its space, and the points that its design selects. Out: a finding about the first two. In a large
space some points are tried, each against those that differ from it in one factor; `zlang run` compares all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from zlang.check.program import Experiment, Point, every_axis
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.errors import suppress
from zlang.space import points
from zlang.space.space import Space
from zlang.space.trial_config import trial_config

MOST = 512
"""Points that are all compared with each other."""
_COMPARED = 8
"""Points of a larger space that are compared with those beside them."""
_LEVELS = 32
_GOLDEN = 0.6180339887498949
"""Multiples of it, less their whole parts, are spread evenly, whatever the sizes of factors are."""


def of(experiment: Experiment, built: Space, chosen: Sequence[Point] | None) -> Diagnostic | None:
    """Return the finding about the first two points that are the same measurement."""
    for some in _tried(experiment, built, chosen):
        seen: dict[str, Point] = {}
        for point in some:
            with suppress(ProgramError):  # reported at the point itself
                first = seen.setdefault(trial_config(experiment, point).key, point)
                if first is not point:
                    return _finding(experiment, first, point)
    return None


def _tried(experiment: Experiment, built: Space, chosen: Sequence[Point] | None) -> Iterator[Iterable[Point]]:
    """Yield groups of points; the points of each group are compared with each other."""
    if chosen is not None:
        searched = {experiment.search.path: 0} if experiment.search else {}
        yield [{**point, **searched} for point in chosen[:MOST]]
    elif built.count <= MOST:
        yield [built[n] for n in range(built.count)]
    else:
        places = dict.fromkeys(int(n * _GOLDEN % 1 * built.count) for n in range(MOST))
        drawn = [built[n] for n in places]
        yield drawn
        for point in drawn[:_COMPARED]:
            yield from _beside(experiment, point)


def _beside(experiment: Experiment, point: Point) -> Iterator[list[Point]]:
    """Yield, for each factor without other factors under its levels, the points that differ only in that factor."""
    conditions = points.conditions(experiment)
    for axis in every_axis(experiment.axes):
        if axis.path in point and axis.branches is None:
            levels = range(0, axis.size, -(-axis.size // _LEVELS))
            some = ({**point, axis.path: level} for level in levels)
            yield [other for other in some if all(condition.holds(other) is not False for condition in conditions)]


def _finding(experiment: Experiment, first: Point, second: Point) -> Diagnostic:
    differing = [path for path in experiment.factors if first.get(path) != second.get(path)]
    sides = [
        ", ".join(
            f"`{points.name_of(factor)}` = {points.shown(factor, point[path])}"
            for path in differing
            if path in point and (factor := experiment.factors[path])
        )
        for point in (first, second)
    ]
    hint = "remove a level, or drop points with `where`; `repeat = 2` measures each point twice"
    place, *more = [experiment.factors[path].span for path in differing]
    finding = Code.SAME_MEASUREMENT.at(place, points=" and ".join(filter(None, sides)), hint=hint)
    for place in more:
        finding = finding.also(place, "this differs, too")
    return finding
