"""The space of an experiment, with what is wrong with it as findings."""

from __future__ import annotations

from zlang.check.program import Experiment
from zlang.diagnostics import Code, ProgramError
from zlang.space import space
from zlang.space.space import Condition, Space, TooConnected


def of(experiment: Experiment) -> Space:
    """The experiment's points. Raises ProgramError where none is left or too many depend on each other."""
    conditions = [Condition(where.reads, where.value) for where in experiment.wheres]
    try:
        built = space.build(experiment.axes, conditions)
    except TooConnected as error:
        names = ", ".join(f"`{name}`" for name in error.paths)
        span = experiment.wheres[0].span if experiment.wheres else experiment.span
        raise ProgramError(Code.TOO_CONNECTED.at(span, limit=f"{space.LIMIT:,}", names=names)) from None
    if built.count == 0:
        span = experiment.wheres[-1].span if experiment.wheres else experiment.span
        raise ProgramError(Code.NO_POINTS.at(span, label="this leaves none"))
    return built
