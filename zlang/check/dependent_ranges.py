"""Ranges whose ends depend on factors: `iodepth = 1..(64 / numjobs) by *2`.

In: a range, and its ends with the factors that decide them. Out: a factor with the levels of all these ranges, and
the condition that the level of a point lies within the range at that point.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from zlang.check import types
from zlang.check.expressions import LONGEST_AMONG_OPTIONS, Context, constant, unknown
from zlang.check.factors import column_type
from zlang.check.operators import MOST_BRANCHES
from zlang.check.program import ABSENT, Axis, Expr, FactorDef, PartialPoint, Undecided, Value, merge_axes
from zlang.check.ranges import Levels, levels_between
from zlang.check.scope import Path
from zlang.check.types import NOTHING
from zlang.check.values import show
from zlang.diagnostics import Code, Diagnostic
from zlang.hints import Any
from zlang.syntax import tree
from zlang.units import Quantity

MOST_LEVELS = 1_000_000
"""Levels of all ranges together."""
_Ends = tuple[Fraction, ...]


def resolve_dependent_range(context: Context, node: tree.Range, ends: list[Expr], path: Path) -> Expr:
    """Resolve a range whose ends differ between points."""
    name = ".".join(path)
    text = next((end for end in ends if not types.is_number(end.type)), None)
    if text is not None:
        hint = "write the longest range, and remove points with `where`"
        context.report(Code.NOT_CONSTANT.at(text.span, place="the end of a range of texts", hint=hint))
        return unknown(node.span)
    reads = frozenset[str]().union(*(end.reads for end in ends))
    every = _every_range(context, node, ends, reads)
    if every is None:
        return unknown(node.span)
    between, type_ = every
    levels = sorted(frozenset[Quantity]().union(*between.values()), key=lambda quantity: quantity.amount)
    if not levels:
        context.report(Code.EMPTY_RANGE.at(node.span, hint="its ends have no value in any trial"))
        return unknown(node.span)
    if len(levels) > LONGEST_AMONG_OPTIONS:
        limit, count = f"{LONGEST_AMONG_OPTIONS:,}", f"{len(levels):,}"
        context.report(Code.RANGE_TOO_LONG.at(node.span, limit=limit, count=count))
        return unknown(node.span)

    def value(point: Any) -> Value:
        index = point.get(name)
        return ABSENT if index is None else levels[index]

    def is_within(point: Any) -> Value:
        index, here = point.get(name), _amounts(ends, point)
        return None if index is None or here not in between else levels[index] in between[here]

    axes = merge_axes((Axis(name, len(levels)), *(axis for end in ends for axis in end.axes)))
    within = Expr(node.span, types.BOOL, is_within, axes, reads | {name})
    context.factors[name] = FactorDef(
        path=name,
        columns=(name,),
        types=(column_type(type_),),
        size=len(levels),
        level=lambda i: (levels[i],),
        span=node.span,
        within=within,
    )
    alternatives = (constant(node.span, type_, levels[0]), constant(node.span, type_, levels[-1]))
    return Expr(span=node.span, type=type_, value=value, axes=axes, reads=reads | {name}, alternatives=alternatives)


def _every_range(
    context: Context, node: tree.Range, ends: list[Expr], reads: frozenset[str]
) -> tuple[dict[_Ends, frozenset[Quantity]], types.Type] | None:
    """Return the levels and their type for each combination of ends; report a range without levels, and return None."""
    between: dict[_Ends, frozenset[Quantity]] = {}
    type_, total = NOTHING, 0
    for tried, chosen in enumerate(_combinations(context, ends, {})):
        here = _amounts(ends, PartialPoint(chosen, chosen.keys()))
        if tried >= MOST_BRANCHES or total > MOST_LEVELS:
            names = ", ".join(f"`{name}`" for name in sorted(reads))
            context.report(Code.TOO_CONNECTED.at(node.span, limit=f"{MOST_BRANCHES:,}", names=names))
            return None
        if here is None or here in between:
            continue
        levels = _levels_at(context, node, ends, chosen)
        if levels is None:
            return None
        count, at, own = levels
        total, type_ = total + count, type_ | own
        between[here] = frozenset(level for i in range(count) if isinstance(level := at(i), Quantity))
    return between, type_


def _levels_at(context: Context, node: tree.Range, ends: list[Expr], chosen: dict[str, int]) -> Levels | None:
    """Return the levels of the range at these factor levels; if there are none, report the factor levels."""
    at = PartialPoint(chosen, chosen.keys())
    fixed = [constant(end.span, _type_of(end, end.value(at)), end.value(at)) for end in ends]
    findings: list[Diagnostic] = []
    levels = levels_between(context.replace(report=findings.append), node, fixed)
    if levels is not None and levels[0] > LONGEST_AMONG_OPTIONS:
        limit, count = f"{LONGEST_AMONG_OPTIONS:,}", f"{levels[0]:,}"
        findings.append(Code.RANGE_TOO_LONG.at(node.span, limit=limit, count=count))
    if not findings:
        return levels
    shown = [
        f"`{', '.join(factor.columns)}` is {', '.join(show(value) for value in factor.level(level))}"
        for path, level in chosen.items()
        if (factor := context.factors.get(path)) is not None
    ]
    for finding in findings:
        hint = finding.hint or "keep it in order with `max(1, …)`"
        context.report(finding.replace(hint=hint).saying(f"{finding.message}, where {' and '.join(shown)}"))
    return None


def _combinations(context: Context, ends: list[Expr], chosen: dict[str, int]) -> Iterator[dict[str, int]]:
    """Yield the combinations of levels of the factors that decide the ends, as far as they occur."""
    at = PartialPoint(chosen, chosen.keys())
    within = [condition for path in chosen if (condition := context.factors[path].within) is not None]
    try:
        if any(condition.value(at) is False for condition in within):
            return
        _amounts(ends, at)
    except Undecided as undecided:
        for level in range(context.factors[undecided.path].size):
            yield from _combinations(context, ends, {**chosen, undecided.path: level})
    else:
        yield chosen


def _amounts(ends: list[Expr], point: Any) -> _Ends | None:
    """Return the ends at a point; None if one of them is absent."""
    values = [end.value(point) for end in ends]
    amounts = tuple([value.amount for value in values if isinstance(value, Quantity)])
    return amounts if len(amounts) == len(values) else None


def _type_of(end: Expr, value: Value) -> types.Type:
    return types.of_quantity(value) if isinstance(value, Quantity) else end.type
