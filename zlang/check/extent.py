"""The extent of an experiment: replicates of each point, the design, the passes over kept data, and the budget.

In: the values of `repeat`, `design`, `layout` and `budget`. Out: numbers. Rule: a problem is reported where the value
is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from zlang.check.expressions import Context
from zlang.check.program import Axis, Expr, FactorDef, Kept, Symbol
from zlang.check.program_names import ProgramNames
from zlang.check.scope import Path
from zlang.check.typed import resolve_typed
from zlang.check.types import COUNT
from zlang.check.values import show
from zlang.diagnostics import Code
from zlang.syntax import tree
from zlang.units import Quantity

_LEAST = 2
"""The fewest replicates that have an interval, and the fewest passes of which the data are kept from one to another."""
MOST_PASSES = 1000


def replicates(
    names: ProgramNames,
    experiment: tree.ExperimentDef,
    context: Context,
    item: tree.Field | tree.UntilClause | None,
    given: Expr | None,
    factors: Mapping[str, FactorDef],
) -> tuple[int, Expr]:
    """Return the minimum and maximum replicates of each point; the minimum is 1 unless results decide the number.

    `given` is the number of replicates if a factor varies it.
    """
    once = Expr(experiment.name.span, COUNT, lambda _: Quantity(Fraction(1)), is_constant=True)
    path = (experiment.name.text, "repeat")
    if given is not None or item is None:
        names.risks.add(given.reads if given is not None else frozenset())
        return 1, given or once
    node, is_until = item.value, isinstance(item, tree.UntilClause)
    is_decided = is_until or any(isinstance(each, tree.Find) for each in experiment.items)
    if isinstance(node, tree.Range) and is_decided and node.high is not None and node.step is None:
        low, high = (_times(names, context, end, path, _LEAST) for end in (node.low, node.high))
        if low is None or high is None:
            return 1, once
        least, most = (int(_amount(end)) for end in (low, high))
        if most < least:
            names.report(
                Code.EMPTY_RANGE.at(node.span, hint=f"write the smaller one first: it goes from {least} to {most}")
            )
        return least, high
    if is_until or isinstance(node, tree.Range):
        hint = "write the least and the most replicates: `repeat = 3..20 until ci(METRIC) < 5%`"
        expected, result = "a range with `until`", f"`{node.span.text}`"
        names.report(Code.UNEXPECTED.at(node.span, expected=expected, found=result, hint=hint))
        return 1, once
    times = _times(names, context, node, path, 1, factors)
    return 1, times or once


def _times(
    names: ProgramNames,
    context: Context,
    node: tree.Expr,
    path: Path,
    least: int,
    factors: Mapping[str, FactorDef] | None = None,
) -> Expr | None:
    """Return a number of replicates, which factors may decide; None if it is not valid."""
    expr = resolve_typed(context.replace(is_same_everywhere=True), node, path, "repeat", COUNT)
    if expr.type.unknown:
        return None
    searched = ".".join((path[0], "find", ""))
    if any(name.startswith(searched) for name in expr.reads):
        hint = "let another factor decide how often a point is measured"
        expected, result = "another factor", "the one that `find` searches"
        names.report(Code.UNEXPECTED.at(expr.span, expected=expected, found=result, hint=hint))
        return None
    # A name that no point reaches, such as one in the branch of an `if` that is never taken, is absent at all of them.
    if not expr.is_constant and factors is not None and {axis.path for axis in expr.axes} <= factors.keys():
        names.risks.add(frozenset(expr.reads & factors.keys()))
        return expr
    if not expr.is_constant:
        hint = "write one number: `repeat = 3`"
        if factors is not None:
            hint += ", or let a factor decide: `repeat = if cache == cold then 5 else 3`"
        names.report(Code.NOT_CONSTANT.at(expr.span, place="`repeat`", hint=hint))
        return None
    if not isinstance(expr.value({}), Quantity):
        hint = "no trial uses what it names"
        names.report(Code.NO_VALUE.at(expr.span, message="`repeat` has no value", hint=hint))
        return None
    if _amount(expr) < least:
        hint = f"it must be at least {least}" + (
            ", because one replicate says nothing about the next" if least > 1 else ""
        )
        if isinstance(node, tree.Binary) and node.operator == "-":
            hint = f"write `{node.left.span.text}..{node.right.span.text} until ci(METRIC) < 5%`"
        names.report(Code.NOT_ALLOWED.at(expr.span, name="repeat", value=show(expr.value({})), hint=hint))
        return None
    return expr


def check_design(names: ProgramNames, expr: Expr) -> None:
    """Report a design that differs between points or that draws no points."""
    if expr.type.unknown:
        return
    if not _is_one(
        names, expr, "design", "choose one; two experiments can share declarations and have different designs"
    ):
        return
    design = expr.value({})
    assert isinstance(design, Symbol)
    if isinstance(design.argument, Quantity) and design.argument.amount < 1:
        hint = "draw at least 1 point, such as `sample(20)`"
        names.report(Code.NOT_ALLOWED.at(expr.span, name="design", value=f"`{show(design)}`", hint=hint))


def kept(names: ProgramNames, experiment: tree.ExperimentDef, expr: Expr | None) -> Kept | None:
    """Return how many passes over the points are made on the same data; None if data are written again."""
    if expr is None or expr.type.unknown:
        return None
    if not _is_one(
        names, expr, "layout", "choose one; two experiments can share declarations and have different layouts"
    ):
        return None
    layout = expr.value({})
    assert isinstance(layout, Symbol)
    if not isinstance(layout.argument, Quantity):
        return None
    if not _LEAST <= layout.argument.amount <= MOST_PASSES:
        hint = f"keep the data for {_LEAST} to {MOST_PASSES:,} passes over the points, such as `keep(20)`"
        names.report(Code.NOT_ALLOWED.at(expr.span, name="layout", value=f"`{show(layout)}`", hint=hint))
        return None
    for item in experiment.items:
        if isinstance(item, tree.Find | tree.UntilClause):
            word = "find" if isinstance(item, tree.Find) else "until"
            message = f"`{word}` skips trials, but with kept data each trial needs what the trials before it leave"
            hint = f"remove `{word}`, or remove `layout`: then data are written again before each trial"
            finding = Code.NOT_MEASURABLE.at(item.span, message=message, hint=hint)
            names.report(finding.also(expr.span, "the data are kept here"))
            return None
    from zlang.check.questions import path_of_pass

    return Kept(path_of_pass(experiment.name.text), int(layout.argument.amount), expr.span)


def passes(layout: Kept) -> tuple[Axis, FactorDef]:
    """Return the factor `pass`, which numbers the passes over the points on the same data."""

    def level(number: int) -> tuple[Quantity]:
        return (Quantity(Fraction(number + 1)),)

    factor = FactorDef(
        path=layout.path,
        columns=(layout.path,),
        types=("count",),
        size=layout.passes,
        level=level,
        span=layout.span,
        cost="none",
    )
    return Axis(layout.path, layout.passes), factor


def budget(names: ProgramNames, expr: Expr | None) -> Fraction | None:
    """Return the maximum estimated duration of the run, in seconds."""
    if expr is None or expr.type.unknown:
        return None
    if not _is_one(names, expr, "budget", "write one duration: `budget = 8h`"):
        return None
    seconds = expr.value({})
    assert isinstance(seconds, Quantity)
    if seconds.amount <= 0:
        names.report(Code.NOT_ALLOWED.at(expr.span, name="budget", value=show(seconds)))
    return seconds.amount


def _is_one(names: ProgramNames, expr: Expr, field: str, hint: str) -> bool:
    """Whether a field has the same value at all points; report it otherwise."""
    if not expr.is_constant:
        names.report(Code.NOT_CONSTANT.at(expr.span, place=f"`{field}`", hint=hint))
    return expr.is_constant


def _amount(number: Expr) -> Fraction:
    """Return a number that is the same everywhere."""
    value = number.value({})
    assert isinstance(value, Quantity)
    return value.amount
