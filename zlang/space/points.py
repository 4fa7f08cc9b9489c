"""The space of an experiment and what its design takes of it, with what is wrong with them as findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from zlang.check import values
from zlang.check.expressions import violation
from zlang.check.program import Axis, Experiment, Expr, FactorDef, Point, Symbol
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.space import designs, space
from zlang.space.designs import Plots, TooManyCombinations
from zlang.space.space import Condition, Space, TooConnected
from zlang.units import Quantity

LARGEST_SAMPLE = 100_000
_STRENGTHS = {"pairwise": 2, "triples": 3}


def of(experiment: Experiment) -> Space:
    """The experiment's points. Raises ProgramError where none is left or too many depend on each other."""
    return _built(experiment, experiment.axes)


def without_search(experiment: Experiment) -> Space:
    """The points at which a factor is searched, if there is a search."""
    return _built(experiment, _axes(experiment))


def _axes(experiment: Experiment) -> tuple[Axis, ...]:
    search = experiment.search
    return tuple(axis for axis in experiment.axes if search is None or axis.path != search.path)


def _built(experiment: Experiment, axes: tuple[Axis, ...]) -> Space:
    try:
        built = space.build(axes, conditions(experiment))
    except TooConnected as error:
        names = ", ".join(f"`{name}`" for name in error.paths)
        span = experiment.wheres[0].span if experiment.wheres else experiment.span
        finding = Code.TOO_CONNECTED.at(span, limit=f"{space.LIMIT:,}", names=names)
        if error.tried:
            some = f"the {len(experiment.conditions)} conditions are tried at"
            finding = finding.saying(f"{some} too many combinations of these factors: {names}")
        raise ProgramError(finding) from None
    if built.count == 0:
        span = experiment.wheres[-1].span if experiment.wheres else experiment.span
        hint = "comment out conditions with `#` to see which one removes them" if experiment.wheres else ""
        raise ProgramError(Code.NO_POINTS.at(span, label="this removes the last ones", hint=hint))
    return built


def name_of(factor: FactorDef) -> str:
    """A factor's name, as it is in the results; of fields that vary together, all names."""
    return factor.columns[0] if len(factor.columns) == 1 else f"({', '.join(factor.columns)})"


def shown(factor: FactorDef, index: int) -> str:
    """A level as people write it."""
    names = [value if isinstance(value, str) else values.show(value) for value in factor.level(index)]
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def conditions(experiment: Experiment) -> list[Condition]:
    """Its conditions; one that cannot be worked out says at which levels."""
    return [Condition(where.reads, _condition_of(experiment, where), where.work) for where in experiment.conditions]


def violated(experiment: Experiment, point: Point) -> list[Diagnostic]:
    """The assertions that do not hold at a point."""
    result = [violation(assertion, point, assertion.span) for assertion in experiment.asserts]
    return [finding for finding in result if finding is not None]


def chosen(experiment: Experiment, built: Space, seed: int) -> list[dict[str, int]] | None:
    """The points that the experiment's design takes of those without a search, None for all.

    Raises ProgramError where they are too many.
    """
    design = experiment.design.value({})
    assert isinstance(design, Symbol)
    if design.name in _STRENGTHS:
        try:
            return designs.covering(_axes(experiment), conditions(experiment), _STRENGTHS[design.name], seed)
        except TooManyCombinations as error:
            hint = "reduce the levels, or use `design = sample(100)`, which works for any space"
            subject, limit = "combinations of levels to cover", designs.MOST_COMBINATIONS
            raise _too_large(experiment, error.combinations, subject, limit, hint) from None
    if isinstance(design.argument, Quantity) and design.argument.amount < built.count:
        size = int(design.argument.amount)
        if size > LARGEST_SAMPLE:
            raise _too_large(experiment, size, "points to draw", LARGEST_SAMPLE, "draw fewer")
        return built.sample(size, seed)
    return None


def plots(built: Space, taken: list[dict[str, int]] | None, hard_to_change: Iterable[str]) -> Plots:
    """The points that a design takes, by whole plots."""
    return designs.full(built, hard_to_change) if taken is None else designs.partial(hard_to_change, taken)


def _too_large(experiment: Experiment, count: int, subject: str, limit: int, hint: str) -> ProgramError:
    design = experiment.design
    words = {"design": values.show(design.value({})), "count": f"{count:,}", "what": subject, "limit": f"{limit:,}"}
    return ProgramError(Code.DESIGN_TOO_LARGE.at(design.span, hint=hint, **words))


def _condition_of(experiment: Experiment, where: Expr) -> Callable[[Point], object]:
    """The condition; where it has no value, the finding names the levels."""

    def holds(point: Point) -> object:
        try:
            return where.value(point)
        except ProgramError as error:
            names = [(experiment.factors[path], point[path]) for path in sorted(where.reads) if path in point]
            at = " and ".join(f"`{name_of(factor)}` is {shown(factor, index)}" for factor, index in names)
            diagnostic = error.diagnostic
            message = f"{diagnostic.message}, where {at}" if at else diagnostic.message
            raise ProgramError(diagnostic.saying(message)) from None

    return holds
