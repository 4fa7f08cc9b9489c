"""Lists made from lists, and their values by place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from zlang.check import arithmetic, types
from zlang.check.expressions import Context, combine, constant, guarded, note_risk, resolve, unknown
from zlang.check.program import ABSENT, Absent, Expr, Value
from zlang.check.scope import Scope
from zlang.check.typed import resolve_condition
from zlang.check.types import Type
from zlang.check.values import ValueProblem
from zlang.diagnostics import Code
from zlang.source import Span
from zlang.syntax import tree
from zlang.units import Quantity


def resolve_index(context: Context, node: tree.Index) -> Expr:
    """Resolve `many[place]`: the first value has the place 0, the last one -1."""
    many, place = resolve(context, node.many), resolve(context, node.place)
    if many.type.unknown or place.type.unknown:
        return unknown(node.span)
    if many.type.element is None:
        context.report(Code.WRONG_TYPE.at(many.span, name="[…]", expected="used with a list", found=many.type))
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
        assert isinstance(sequence, tuple)
        assert isinstance(number, Quantity)
        return _element_at(sequence, int(number.amount))

    return note_risk(context, combine(context, node.span, many.type.element, value, [many, place]))


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
    inner = context.replace(scope=InnerScope(context.scope, {node.name.text: element.at}))
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
        assert isinstance(result, tuple)
        return arithmetic.bounded_list(tuple(_list_values(result, at)))

    def _list_values(values: tuple[Value, ...], at: Any) -> Iterable[Value]:
        for item in values:
            with element.being(item):
                if condition is None or condition.value(at) is True:
                    yield made.value(at)

    combined = note_risk(context, combine(context, node.span, type_, value, parts))
    if many.is_constant and not combined.reads and not combined.type.unknown:
        result = value({})
        return constant(node.span, type_, result)
    return combined


class Element:
    """The value of a list that is looked at."""

    def __init__(self, type_: Type) -> None:
        self.type = type_
        self.values: list[Value] = []

    def at(self, span: Span) -> Expr:
        """The name that stands for it."""
        return Expr(span, self.type, lambda _: self.values[-1])

    def being(self, value: Value) -> Element:
        """Look at a value."""
        self.values.append(value)
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.values.pop()


class InnerScope:
    """A scope with some names more."""

    def __init__(self, outer: Scope, own: Mapping[str, Callable[[Span], Expr]]) -> None:
        self.outer, self.own = outer, own
        self.kind, self.kind_called, self.kind_names = outer.kind, outer.kind_called, outer.kind_names
        self.kind_hint, self.is_given, self.owners = outer.kind_hint, outer.is_given, outer.owners

    def lookup(self, name: str, span: Span) -> Expr | None:
        """Look a name up."""
        return self.own[name](span) if name in self.own else self.outer.lookup(name, span)

    def names(self) -> Iterable[str]:
        """All names, for suggestions."""
        return [*self.own, *self.outer.names()]
