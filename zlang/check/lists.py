"""Lists built from lists, access to list elements, and values that change with time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod

from zlang.check import arithmetic, types
from zlang.check.expressions import Context, NoneYet, combine, constant, guarded, note_risk, resolve, spend, unknown
from zlang.check.factors import each_level
from zlang.check.instances import member_at
from zlang.check.program import ABSENT, Absent, ChangingValue, Expr, HeldValue, Instance, Value
from zlang.check.scope import Path, Scope
from zlang.check.typed import resolve_condition, resolve_typed
from zlang.check.types import DURATION, NOTHING, STRING, Type, is_group, is_number
from zlang.check.values import ValueProblem, listed
from zlang.diagnostics import Code, ProgramError
from zlang.errors import suppress
from zlang.hints import Any
from zlang.source import Span
from zlang.suggest import Hint
from zlang.syntax import tree
from zlang.units import Quantity


def resolve_index(context: Context, node: tree.Index) -> Expr:
    """Resolve `many[place]`, an element of a list or a machine of a group: 0 is the first, -1 the last."""
    many, place = resolve(context, node.many), resolve(context, node.place)
    if many.type.unknown or place.type.unknown:
        return unknown(node.span)
    element = many.type if is_group(many.type) else many.type.element
    if element is None:
        wanted = f"{many.span.text}.{place.value({})}" if place.is_constant and place.type == STRING else ""
        if isinstance(node.place, tree.Name) and many.member is not None and many.member(str(node.place), node.span):
            wanted = f"{many.span.text}.{node.place}"
        hint: str = Hint(f"write `{wanted}`", node.span.text, wanted, is_safe=False) if wanted else ""
        if not hint and tree.is_condition(node.place):
            hint = f"write a condition as `median({many.span.text} where {node.place.span.text})`"
        wrong = Code.WRONG_TYPE.at(many.span, name="[…]", expected="used with a list", found=many.type, hint=hint)
        context.report(wrong)
        return unknown(node.span)
    if place.type != types.COUNT:
        hint = "places are counted from 0; the last value is `[-1]`"
        wrong = Code.WRONG_TYPE.at(place.span, name="[…]", expected="a whole number", found=place.type, hint=hint)
        context.report(wrong)
        return unknown(node.span)

    @guarded(node.span, [place])
    def value(at: Any) -> Value:
        sequence, number = many.value(at), place.value(at)
        if isinstance(sequence, Absent) or isinstance(number, Absent):
            return ABSENT
        assert isinstance(number, Quantity)
        at_place = int(number.amount)
        if isinstance(sequence, Instance):
            return member_at(sequence, at_place)
        return _element_at(listed(sequence), at_place)

    return note_risk(context, combine(context, node.span, element, value, [many, place]))


def _element_at(many: tuple[Value, ...], place: int) -> Value:
    if not -len(many) <= place < len(many):
        raise ValueProblem(f"index {place} is out of range: the list has {len(many)} values")
    return many[place]


def resolve_list_from(context: Context, node: tree.ListFrom) -> Expr:
    """Resolve `[value for name in many if condition]`."""
    source = node.many if not isinstance(node.many, tree.Range) else tree.ListOf(node.many.span, (node.many,))
    many = resolve(context, source)
    if many.type.unknown:
        return unknown(node.span)
    if many.type.element is None:
        context.report(Code.WRONG_TYPE.at(many.span, name="for … in", expected="followed by a list", found=many.type))
        return unknown(node.span)
    element = Element(many.type.element)
    inner = context.replace(scope=InnerScope(context.scope, {node.name.text: element.at}), is_repeated=True)
    made = resolve(inner, node.value)
    condition = resolve_condition(inner, node.condition) if node.condition is not None else None
    parts = [many, made, *([condition] if condition is not None else [])]
    if any(part.type.unknown for part in parts):
        return unknown(node.span)
    type_ = Type(element=made.type, is_partial=made.type.is_partial)

    @guarded(node.span)
    def value(at: Any) -> Value:
        result = many.value(at)
        if isinstance(result, Absent):
            return ABSENT
        return arithmetic.bounded_list(tuple(_list_values(listed(result), at)))

    def _list_values(values: tuple[Value, ...], at: Any) -> Iterable[Value]:
        for item in values:
            with element.being(item):
                is_kept = condition.value(at) if condition is not None else True
                if is_kept is not False:  # unknown, if it reads a name that the point does not reach
                    yield made.value(at) if is_kept else ABSENT

    combined = note_risk(context, combine(context, node.span, type_, value, parts))
    if combined.type.unknown:
        return combined
    work = combined.work + _most_values(many) * sum(part.work for part in parts[1:])
    levels = prod(context.factors[path].size for path in combined.reads if path in context.factors)
    if not spend(context, node.span, work * levels):
        return unknown(node.span)
    with suppress(NoneYet):  # if it reads an element of an enclosing list
        if many.is_constant and not combined.reads:
            return constant(node.span, type_, value({}))
    return combined.replace(work=work) if context.is_repeated else combined


def _most_values(many: Expr) -> int:
    """Return the maximum length of a list, if that is known without a point."""
    lengths = [1]
    for point in each_level(many.axes) if many.axes or many.is_constant else ():
        with suppress(ProgramError, NoneYet):
            lengths.append(len(listed(many.value(point))))
    return max(lengths)


def resolve_schedule(context: Context, node: tree.ScheduleOf, expected: Type | None, path: Path | None) -> Expr:
    """Resolve `[VALUE for DURATION, …]`; with a path, a value may be a choice."""
    wanted = expected.schedule if expected else None
    rows: list[tuple[Expr, Expr | None, Expr]] = []
    type_ = NOTHING
    for number, period in enumerate(node.periods, 1):
        place = (*path, str(number)) if path is not None else None
        if isinstance(period.value, tree.Range) and period.value.high is not None:
            hint = f"write `{period.value.low.span.text} to {period.value.high.span.text}`"
            wrong = Code.UNEXPECTED.at(
                period.value.span, expected="one value, or two with `to`", found="`..`", hint=hint
            )
            context.report(wrong)
            return unknown(node.span)
        value = _resolve_value(context, period.value, wanted, place)
        if value.type.unknown:
            return unknown(node.span)  # what follows is probably wrong in the same way
        end = _resolve_value(context, period.end, wanted, (*place, "to") if place else None) if period.end else None
        duration = resolve_typed(context, period.duration, place or ("for",), "for", DURATION)
        if duration.type.unknown or (end is not None and end.type.unknown):
            return unknown(node.span)
        rows.append((value, end, duration))
        type_ = type_ | value.type | (end.type if end else NOTHING)
    parts = [expr for row in rows for expr in row if expr is not None]
    if not is_number(type_):
        context.report(Code.WRONG_TYPE.at(node.span, name="[… for …]", expected="a list of numbers", found=type_))
        return unknown(node.span)

    @guarded(node.span)
    def value_at(at: Any) -> Value:
        periods = []
        for row in rows:
            values = [expr.value(at) if expr else None for expr in row]
            if any(isinstance(value, Absent) for value in values):
                return ABSENT
            periods.append(HeldValue(*values))
        if not all(isinstance(period.duration, Quantity) and period.duration.amount > 0 for period in periods):
            raise ValueProblem("each part of a schedule lasts longer than 0s")
        if any(isinstance(value, Quantity) and value.amount < 0 for p in periods for value in (p.value, p.end)):
            raise ValueProblem("the values of a schedule are 0 or more")
        return ChangingValue(tuple(periods))

    made = Type(schedule=type_, is_partial=type_.is_partial)
    return note_risk(context, combine(context, node.span, made, value_at, parts))


def _resolve_value(context: Context, node: tree.Expr, wanted: Type | None, path: Path | None) -> Expr:
    if wanted is None or path is None:
        return resolve(context, node, wanted, path)
    return resolve_typed(context, node, path, context.property_name, wanted)


class Element:
    """The current element of a list."""

    def __init__(self, type_: Type) -> None:
        self.type = type_
        self.values: list[Value] = []

    def at(self, span: Span) -> Expr:
        """Return the name that stands for the element. Raises NoneYet if there is no current element."""

        def value(_: Any) -> Value:
            if not self.values:
                raise NoneYet
            return self.values[-1]

        return Expr(span, self.type, value)

    def being(self, value: Value) -> Element:
        """Make a value the current element."""
        self.values.append(value)
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.values.pop()


class InnerScope:
    """A scope with some additional names."""

    def __init__(self, outer: Scope, own: Mapping[str, Callable[[Span], Expr]]) -> None:
        self.outer, self.own = outer, own
        self.kind, self.kind_called, self.kind_names = outer.kind, outer.kind_called, outer.kind_names
        self.kind_hint, self.is_given, self.owners = outer.kind_hint, outer.is_given, outer.owners
        self.is_metric, self.place_in_group = outer.is_metric, outer.place_in_group

    def lookup(self, name: str, span: Span) -> Expr | None:
        """Return the meaning of a name; None if it has none."""
        return self.own[name](span) if name in self.own else self.outer.lookup(name, span)

    def names(self) -> Iterable[str]:
        """Return all names, for suggestions."""
        return [*self.own, *self.outer.names()]
