"""The space of an experiment and what its design takes of it, with what is wrong with them as findings."""

from __future__ import annotations

from collections.abc import Iterable

from zlang.check import values
from zlang.check.program import Experiment, Symbol
from zlang.diagnostics import Code, ProgramError
from zlang.space import designs, space
from zlang.space.designs import Plots, TooManyCombinations
from zlang.space.space import Condition, Space, TooConnected
from zlang.units import Quantity

LARGEST_SAMPLE = 100_000
_STRENGTHS = {"pairwise": 2, "triples": 3}


def of(experiment: Experiment) -> Space:
    """The experiment's points. Raises ProgramError where none is left or too many depend on each other."""
    try:
        built = space.build(experiment.axes, _conditions(experiment))
    except TooConnected as error:
        names = ", ".join(f"`{name}`" for name in error.paths)
        span = experiment.wheres[0].span if experiment.wheres else experiment.span
        raise ProgramError(Code.TOO_CONNECTED.at(span, limit=f"{space.LIMIT:,}", names=names)) from None
    if built.count == 0:
        span = experiment.wheres[-1].span if experiment.wheres else experiment.span
        raise ProgramError(Code.NO_POINTS.at(span, label="this leaves none"))
    return built


def _conditions(experiment: Experiment) -> list[Condition]:
    return [Condition(where.reads, where.value) for where in experiment.wheres]


def measured(experiment: Experiment, built: Space, dear: Iterable[str], seed: int) -> Plots:
    """The points that the experiment's design takes. Raises ProgramError where they are too many to be chosen."""
    design = experiment.design.value({})
    assert isinstance(design, Symbol)
    if design.name in _STRENGTHS:
        try:
            rows = designs.covering(experiment.axes, _conditions(experiment), _STRENGTHS[design.name], seed)
        except TooManyCombinations as error:
            hint = "give factors fewer levels; `design = sample(100)` takes 100 points of any space"
            what, limit = "combinations of levels to cover", designs.MOST_COMBINATIONS
            raise _too_large(experiment, error.combinations, what, limit, hint) from None
        return designs.partial(built, dear, rows)
    if isinstance(design.argument, Quantity) and design.argument.amount < built.count:
        size = int(design.argument.amount)
        if size > LARGEST_SAMPLE:
            raise _too_large(experiment, size, "points to draw", LARGEST_SAMPLE, "draw fewer")
        return designs.partial(built, dear, built.sample(size, seed))
    return designs.full(built, dear)


def _too_large(experiment: Experiment, count: int, what: str, limit: int, hint: str) -> ProgramError:
    design = experiment.design
    words = {"design": values.show(design.value({})), "count": f"{count:,}", "what": what, "limit": f"{limit:,}"}
    return ProgramError(Code.DESIGN_TOO_LARGE.at(design.span, hint=hint, **words))
