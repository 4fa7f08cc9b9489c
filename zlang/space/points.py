"""The space of an experiment, and the points that its design selects; problems with them are findings."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable

from zlang.check import values
from zlang.check.expressions import violation
from zlang.check.program import Absent, Axis, Experiment, Expr, FactorDef, FaultPoint, Point, Symbol, every_axis
from zlang.check.whole import NotWhole
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.errors import suppress
from zlang.source import Span
from zlang.space import designs, space
from zlang.space.designs import Plots, TooManyCombinations
from zlang.space.space import Condition, Space, TooConnected
from zlang.units import Quantity

LARGEST_SAMPLE = 100_000
MOST_UNEVEN = 100_000
"""So many trials there can be where points are not all measured equally often: their order is gone through."""
_LONGEST_SHOWN = 200
_AT_LEAST_ONCE = "it must be a whole number, at least 1"
_SAYS_WHERE = "where a name may be absent, ask what there is first: `if on is file and … then … else …`"
_STRENGTHS = {"pairwise": 2, "triples": 3}


def of(experiment: Experiment) -> Space:
    """Return the experiment's points. Raises ProgramError if none is left or too many depend on each other."""
    return _built(experiment, experiment.axes)


def without_added(experiment: Experiment) -> Space:
    """Return the points without the factor whose levels the schedule adds: a searched one, or passes over kept data."""
    return _built(experiment, _axes(experiment))


def _axes(experiment: Experiment) -> tuple[Axis, ...]:
    return tuple(axis for axis in experiment.axes if axis.path != experiment.added)


def _built(experiment: Experiment, axes: tuple[Axis, ...]) -> Space:
    for last_experiment, last_axes, last_space in _LAST:
        if last_experiment is experiment and last_axes == axes:
            return last_space
    try:
        built = space.build(axes, conditions(experiment))
    except TooConnected as error:
        span = experiment.wheres[0].span if experiment.wheres else experiment.span
        raise ProgramError(_too_connected(experiment, error, span)) from None
    if built.count == 0:
        span = experiment.wheres[-1].span if experiment.wheres else experiment.span
        hint = "comment out conditions with `#` to see which one removes them" if experiment.wheres else ""
        raise ProgramError(Code.NO_POINTS.at(span, label="this removes the last ones", hint=hint))
    _LAST.append((experiment, axes, built))
    return built


_LAST: deque[tuple[Experiment, tuple[Axis, ...], Space]] = deque(maxlen=1)
"""The last space: to check, lint and plan an experiment asks for it each time, and some take seconds to be listed."""


def _too_connected(experiment: Experiment, error: TooConnected, span: Span) -> Diagnostic:
    names = ", ".join(f"`{name}`" for name in error.paths)
    finding = Code.TOO_CONNECTED.at(span, limit=f"{space.LIMIT:,}", names=names)
    if not error.tried:
        return finding
    count = len(experiment.conditions)
    some = f"the {count} conditions are tried at" if count > 1 else "the condition is tried at"
    return finding.saying(f"{some} too many combinations of these factors: {names}")


def name_of(factor: FactorDef) -> str:
    """Return a factor's name in the results; for fields that vary together, all names."""
    return factor.columns[0] if len(factor.columns) == 1 else f"({', '.join(factor.columns)})"


def shown(factor: FactorDef, index: int) -> str:
    """Return a level as people write it."""
    names = [value if isinstance(value, str) else values.show(value) for value in factor.level(index)]
    name = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return name if len(name) <= _LONGEST_SHOWN else f"{name[: _LONGEST_SHOWN - 1]}…"


def conditions(experiment: Experiment) -> list[Condition]:
    """Return the experiment's conditions; one that cannot be evaluated reports the levels at which it fails."""
    return [Condition(where.reads, _condition_of(experiment, where), where.work) for where in experiment.conditions]


def violated(experiment: Experiment, point: Point) -> list[Diagnostic]:
    """Return the assertions that do not hold at a point."""
    result = [violation(assertion, point, assertion.span) for assertion in experiment.asserts]
    return [finding for finding in result if finding is not None]


def chosen(experiment: Experiment, built: Space, seed: int) -> list[dict[str, int]] | None:
    """Return the points that the experiment's design selects from those without a search; None for all.

    Raises ProgramError if there are too many.
    """
    design = experiment.design.value({})
    assert isinstance(design, Symbol)
    if design.name in _STRENGTHS:
        return _covering(experiment, design.name, seed)
    if isinstance(design.argument, Quantity) and design.argument.amount < built.count:
        size = int(design.argument.amount)
        if size > LARGEST_SAMPLE:
            raise _too_large(experiment, size, "points to draw", LARGEST_SAMPLE, "draw fewer")
        return built.sample(size, seed)
    return None


def _covering(experiment: Experiment, design: str, seed: int) -> list[dict[str, int]] | None:
    """Return points with all combinations of levels of two or three factors; None if there are no more factors."""
    axes, strength = _axes(experiment), _STRENGTHS[design]
    if len({axis.path for axis in every_axis(axes)}) <= strength:
        return None
    for last_experiment, last_design, last_points in _LAST_DESIGN:
        if last_experiment is experiment and last_design == (axes, seed):
            return last_points
    try:
        points = designs.covering(axes, conditions(experiment), strength, seed)
    except TooManyCombinations as error:
        hint = "reduce the levels, or use `design = sample(100)`, which works for any space"
        subject = "combinations of levels to cover"
        raise _too_large(experiment, error.combinations, subject, error.limit, hint) from None
    _LAST_DESIGN.append((experiment, (axes, seed), points))
    return points


_LAST_DESIGN: deque[tuple[Experiment, tuple[tuple[Axis, ...], int], list[dict[str, int]]]] = deque(maxlen=1)
"""The last covering design: to check and to plan an experiment takes the same."""


def repeat_at(experiment: Experiment, point: Point) -> int:
    """Return the maximum number of replicates of a point. Raises ProgramError if that is not a number of at least 1."""
    repeat = experiment.repeat
    if repeat.whole is not None and type(point) is dict:  # other points record which values are read
        with suppress(NotWhole, KeyError):
            if (number := repeat.whole(point)) >= 1:
                return number
    times = repeat.value(point)
    if isinstance(times, Quantity) and times.amount >= 1 and times.amount.denominator == 1:
        return int(times.amount)
    if isinstance(times, Absent):
        finding = Code.NO_VALUE.at(repeat.span, message="`repeat` has no value", hint=_SAYS_WHERE)
    else:
        finding = Code.NOT_ALLOWED.at(repeat.span, name="repeat", value=values.show(times), hint=_AT_LEAST_ONCE)
    raise ProgramError(finding)


def without_repeat(experiment: Experiment, point: FaultPoint) -> list[Diagnostic]:
    """Return the finding that the replicates of a point are unknown; nothing if that was recorded already."""
    before = len(point.faults)
    try:
        repeat_at(experiment, point)
    except ProgramError as error:
        return [error.diagnostic] if len(point.faults) == before else []
    return []


def replicates(experiment: Experiment, built: Space, taken: list[dict[str, int]] | None) -> Counter[int]:
    """Return the number of points of a design for each number of replicates. Raises ProgramError."""
    count = built.count if taken is None else len(taken)
    reads = frozenset(experiment.repeat.reads & experiment.factors.keys())
    result = Counter[int]()
    if not reads:
        return Counter({repeat_at(experiment, {}): count})
    if taken is not None:
        result.update(repeat_at(experiment, point) for point in taken)
    else:
        try:
            for point, some in space.combinations(_axes(experiment), conditions(experiment), reads):
                result[repeat_at(experiment, point)] += some
        except TooConnected as error:
            raise ProgramError(_too_connected(experiment, error, experiment.repeat.span)) from None
    trials = sum(times * some for times, some in result.items())
    if len(result) > 1 and trials > MOST_UNEVEN:
        subject = "trials of points that are not measured equally often"
        words = {"design": "repeat", "count": f"{trials:,}", "what": subject, "limit": f"{MOST_UNEVEN:,}"}
        hint = "measure all points equally often, or fewer points: `design = sample(1000)`"
        raise ProgramError(Code.DESIGN_TOO_LARGE.at(experiment.repeat.span, hint=hint, **words))
    return result


def plots(built: Space, taken: list[dict[str, int]] | None, hard_to_change: Iterable[str]) -> Plots:
    """Return the points that a design selects, by whole plots."""
    return designs.full(built, hard_to_change) if taken is None else designs.partial(hard_to_change, taken)


def _too_large(experiment: Experiment, count: int, subject: str, limit: int, hint: str) -> ProgramError:
    design = experiment.design
    words = {"design": values.show(design.value({})), "count": f"{count:,}", "what": subject, "limit": f"{limit:,}"}
    return ProgramError(Code.DESIGN_TOO_LARGE.at(design.span, hint=hint, **words))


def _condition_of(experiment: Experiment, where: Expr) -> Callable[[Point], object]:
    """Return the condition as a function; if it has no value, its finding names the levels."""

    def holds(point: Point) -> object:
        try:
            return where.value(point)
        except ProgramError as error:
            names = [(experiment.factors[path], point[path]) for path in sorted(where.reads) if path in point]
            at = " and ".join(f"`{name_of(factor)}` is {shown(factor, index)}" for factor, index in names)
            diagnostic = error.diagnostic
            message = f"{diagnostic.message}, where {at}" if at else diagnostic.message
            raise ProgramError(diagnostic.saying(message)) from None

    quick = where.whole
    if quick is None:
        return holds

    def holds_by_index(point: Point) -> object:
        try:
            return quick(point)
        except (NotWhole, KeyError):
            return holds(point)

    return holds_by_index
