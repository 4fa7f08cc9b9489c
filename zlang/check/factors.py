"""Factors: the options that a point chooses from, their levels, and their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from zlang.check import whole
from zlang.check.expressions import Context, limit_size, unknown
from zlang.check.program import ABSENT, Axis, Expr, FactorDef, FaultPoint, Instance, Value, axis_of
from zlang.check.scope import Path
from zlang.check.types import NOTHING, Type
from zlang.diagnostics import Code
from zlang.hints import Any
from zlang.source import Span

DEEPEST_CHOICE = 50


def pick(context: Context, span: Span, path: Path, options: list[Expr], expected: Type | None = None) -> Expr:
    """Make a factor, which has one of the options at each point."""
    name = ".".join(path)
    branches = tuple(option.axes for option in options)
    axis = axis_of(name, branches)
    if axis.depth > DEEPEST_CHOICE:
        context.report(Code.TOO_DEEP.at(span, limit=DEEPEST_CHOICE, hint="choices are nested here"))
        return unknown(span)
    made = one_of(context, span, axis, options)
    type_ = made.type
    context.factors[name] = FactorDef(
        path=name,
        columns=(name,),
        types=(column_type(type_) if expected is None or expected.accepts(type_) else "unknown",),
        size=len(options),
        level=lambda i: (level(options[i]),),
        span=span,
        places=tuple(option.span for option in options),
    )

    return limit_size(context, made, options)


def one_of(context: Context, span: Span, axis: Axis, options: Sequence[Expr]) -> Expr:
    """Return the option that the level of an axis chooses at each point."""
    name = axis.path
    chosen = tuple(option.value for option in options)
    type_ = NOTHING
    for option in options:
        type_ = type_ | option.type

    def value(point: Any) -> Value:
        index = point.get(name)
        return ABSENT if index is None else chosen[index](point)

    def member(attribute: str, where: Span) -> Expr | None:
        result = [option.member(attribute, where) if option.member else None for option in options]
        if all(item is None for item in result):
            return None
        got = NOTHING
        for member_expr in result:
            got = got | member_expr.type if member_expr else got

        def of_chosen(point: Any) -> Value:
            index = point.get(name)
            selected = None if index is None else result[index]
            return ABSENT if selected is None else selected.value(point)

        reads = frozenset({name}).union(*(expr.reads for expr in result if expr))
        axes = (axis_of(name, tuple([item.axes if item else () for item in result])),)
        return limit_size(context, Expr(where, got, of_chosen, axes, reads), [item for item in result if item])

    reads = frozenset({name}).union(*(option.reads for option in options))
    alternatives = tuple(alternative for option in options for alternative in (option.alternatives or (option,)))
    return Expr(
        span=span,
        type=type_,
        value=value,
        axes=(axis,),
        reads=reads,
        member=member,
        alternatives=alternatives,
        whole=whole.of_choice(name, options),
    )


def level(option: Expr) -> Value:
    """Return a factor's level for display: its value if it is constant, else its label."""
    if option.is_constant:
        return option.value({})
    if option.type.kinds and option.member is not None:
        return option.value(FirstLevels()) if not option.axes else _label_of(option)
    return option.span.text


def _label_of(option: Expr) -> str:
    value = option.value(FirstLevels())
    return value.label if isinstance(value, Instance) else "option"


class FirstLevels(FaultPoint):
    """A point at which every other factor has its first level: this is enough to find the name of a thing."""

    def get(self, key: str, _default: Any = None) -> Any:
        """Return the level of a factor."""
        return super().get(key, 0)


def each_level(
    axes: Iterable[Axis], most: int | None = None, above: Mapping[str, int] = MappingProxyType({})
) -> Iterator[FirstLevels]:
    """Yield the first point, and the points that differ from it in one factor.

    At most `most` levels of each factor are tried; the factors in its branches are counted separately.
    """
    yield FirstLevels(above)
    for axis in axes:
        for level in range(axis.size if most is None else min(axis.size, most)):
            yield from each_level(axis.branches[level] if axis.branches else (), most, {**above, axis.path: level})


def every_level(axes: Sequence[Axis], above: Mapping[str, int] = MappingProxyType({})) -> Iterator[FirstLevels]:
    """Yield each combination of the levels of these factors, with the first level of all others."""
    if not axes:
        yield FirstLevels(above)
        return
    axis, *others = axes
    for level in range(axis.size):
        yield from every_level((*(axis.branches[level] if axis.branches else ()), *others), {**above, axis.path: level})


def column_type(type_: Type) -> str:
    """Return the type of a factor's column."""
    if type_.unknown:
        return "unknown"
    if len(type_.scalars) == 1 and not type_.words and not type_.kinds and type_ != Type(frozenset({"version"})):
        return next(iter(type_.scalars))
    if type_.scalars == {"count", "number"}:
        return "number"
    return "string" if type_.scalars else "word"
