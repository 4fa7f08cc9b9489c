"""Operators: logic in three values, comparisons, arithmetic with units, `is`, `in` and `if`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zlang import units
from zlang.check import types, values
from zlang.check.expressions import Expressions, constant, same_unit, unknown
from zlang.check.program import ABSENT, Absent, Expr, Instance, Symbol, Value
from zlang.check.types import Type
from zlang.diagnostics import Code
from zlang.source import Span
from zlang.suggest import did_you_mean
from zlang.syntax import tree
from zlang.units import Quantity

TEXT = Type(frozenset({"path"}))
"""A path, or any text."""


class Operators(Expressions):
    """What is worked out from one, two or three expressions."""

    def _binary(self, node: tree.Binary) -> Expr:
        if node.operator in {"and", "or"}:
            sides = [self.condition(node.left), self.condition(node.right)]
            combine = _both if node.operator == "and" else _either
            left, right = sides
            return self._combined(node.span, types.BOOL, lambda at: combine(left, right, at), sides)
        if node.operator == "in":
            return self._contains(node)
        if node.operator in {"==", "!=", "<", "<=", ">", ">="}:
            return self._comparison(node)
        return self._arithmetic(node)

    def _contains(self, node: tree.Binary) -> Expr:
        left = self.single(node.left)
        right = self.single(node.right, Type(element=left.type))

        last: tuple[Value, Value, Value] = (None, None, None)

        def value(at: Any) -> Value:
            nonlocal last
            one, many = left.value(at), right.value(at)
            if one is not last[0] or many is not last[1]:  # most trials share both
                last = (one, many, _is_in(one, many))
            return last[2]

        both_texts = all(side.type.scalars and TEXT.accepts(side.type) for side in (left, right))
        if right.type.element is None and not right.type.unknown and not both_texts:
            hint = '`"a" in name` asks for a part of a text' if TEXT.accepts(right.type) else ""
            expected = "followed by a list"
            self.report(Code.WRONG_TYPE.at(right.span, name="in", expected=expected, found=right.type, hint=hint))
        return self._combined(node.span, types.BOOL, value, [left, right])

    def _comparison(self, node: tree.Binary) -> Expr:
        if self.may_be_word(node.left) and not self.may_be_word(node.right):
            right = self.single(node.right)
            left = self.single(node.left, right.type)
        else:
            left = self.single(node.left)
            right = self.single(node.right, left.type)
        span, operator = node.span, node.operator
        if left.type.unknown or right.type.unknown:
            return self._combined(span, types.BOOL, self._comparing(span, operator, left, right), [left, right])
        if "version" in left.type.scalars | right.type.scalars and all(_VERSION.accepts(e.type) for e in (left, right)):

            def compared(at: Any) -> Value:
                return self._guard(span, at, lambda: values.compare_versions(operator, left.value(at), right.value(at)))

            return self._combined(span, types.BOOL, compared, [left, right])
        one, other = self._dimension(left), self._dimension(right)
        if one is not None and other is not None and one != other:
            shown = {"left": units.name_of(one), "right": units.name_of(other)}
            self.report(Code.MIXED_UNITS.at(span, verb="compare", hint=same_unit([left, right]), **shown))
        elif operator not in {"==", "!="} and (one is None or other is None):
            odd = left if one is None else right
            self.report(Code.WRONG_TYPE.at(odd.span, name=operator, expected="for numbers", found=odd.type))
            return unknown(span)
        elif (one is None or other is None) and not (left.type.accepts(right.type) or right.type.accepts(left.type)):
            hint = same_unit([left, right])
            self.report(Code.MIXED_UNITS.at(span, verb="compare", left=left.type, right=right.type, hint=hint))
        return self._combined(span, types.BOOL, self._comparing(span, operator, left, right), [left, right])

    def may_be_word(self, node: tree.Expr) -> bool:
        """Whether it may be one of the words that the other side of a comparison can be."""
        return isinstance(node, tree.Name) and len(node.path) == 1

    def _comparing(self, span: Span, operator: str, left: Expr, right: Expr) -> Callable[[Any], Value]:
        return lambda at: self._guard(span, at, lambda: values.compare(operator, left.value(at), right.value(at)))

    def _arithmetic(self, node: tree.Binary) -> Expr:
        left, right = self.single(node.left), self.single(node.right)
        operator = node.operator
        if left.type.unknown or right.type.unknown:
            if left.type.is_partial or right.type.is_partial:  # something is wrong with it, and was said
                return unknown(node.span)
            # In a kind's templates the type of what another thing has is known at a point only.
            return self._computed(node.span, types.UNKNOWN, operator, left, right)
        if operator == "+" and left.type.element is not None and right.type.element is not None:
            return self._computed(node.span, left.type | right.type, operator, left, right)
        one, other = self._dimension(left), self._dimension(right)
        if operator == "of" and one != units.SHARE:
            self.report(Code.WRONG_TYPE.at(left.span, name="of", expected="for shares such as `50%`", found=left.type))
            return unknown(node.span)
        verb = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "of": "take a share of"}[operator]
        if one is None or other is None or (operator in {"+", "-"} and one != other):
            shown = [units.name_of(d) if d else str(e.type) for d, e in ((one, left), (other, right))]
            hint = same_unit([left, right]) if operator in {"+", "-"} else "only numbers can be"
            self.report(Code.MIXED_UNITS.at(node.span, verb=verb, left=shown[0], right=shown[1], hint=hint))
            return unknown(node.span)
        dimension = one if operator in {"+", "-"} else values.result_dimension(operator, one, other)
        both_counts = left.type == types.COUNT and right.type == types.COUNT and operator != "/"
        type_ = types.COUNT if both_counts else types.of_dimension(dimension)

        last: tuple[Value, Value, Value] = (None, None, None)

        def computed(at: Any) -> Value:
            nonlocal last
            first, second = left.value(at), right.value(at)
            if first is not last[0] or second is not last[1]:  # most trials share both
                last = (first, second, values.arithmetic(operator, first, second))
            return last[2]

        def value(at: Any) -> Value:
            return self._guard(node.span, at, lambda: computed(at), (left, right))

        combined = self._risk(self._combined(node.span, type_, value, [left, right]))
        if combined.is_constant and not combined.type.unknown:
            known = combined.value({})
            return constant(node.span, types.of_quantity(known), known) if isinstance(known, Quantity) else combined
        return combined

    def _computed(self, span: Span, type_: Type, operator: str, left: Expr, right: Expr) -> Expr:
        def computed(at: Any) -> Value:
            return values.arithmetic(operator, left.value(at), right.value(at))

        def value(at: Any) -> Value:
            return self._guard(span, at, lambda: computed(at), (left, right))

        return self._risk(self._combined(span, type_, value, [left, right]))

    def _not(self, node: tree.Not) -> Expr:
        operand = self.condition(node.operand)

        def value(at: Any) -> Value:
            known = operand.value(at)
            return None if known is None or isinstance(known, Absent) else not known

        return self._combined(node.span, types.BOOL, value, [operand])

    def _is_a(self, node: tree.IsA) -> Expr:
        subject = self.single(node.value)
        name = str(node.what)
        declared = self.scope.kind(node.what) is not None or self.scope.lookup(node.what.path[0], node.what.span)
        if not declared and subject.type.variant(name) is None and not subject.type.unknown:
            known = [*self.scope.kind_names(), *self.scope.names(), *(word.name for word in subject.type.words)]
            hint = did_you_mean(name, known) or self.scope.kind_hint(name)
            self.report(Code.UNKNOWN_NAME.at(node.what.span, name=name, hint=hint))
        kind = self.scope.kind(node.what)

        def value(at: Any) -> Value:
            known = subject.value(at)
            if isinstance(known, Instance):
                return known.label == name or (kind is not None and known.kind.name == kind.name)
            if isinstance(known, Symbol):
                return known.name == name
            return None if isinstance(known, Absent) else False

        return self._combined(node.span, types.BOOL, value, [subject])

    def _if(self, node: tree.If, expected: Type | None) -> Expr:
        condition = self.condition(node.condition)
        sides = [self.single(node.then, expected), self.single(node.otherwise, expected)]

        def value(at: Any) -> Value:
            known = condition.value(at)
            if known is None or isinstance(known, Absent):
                return ABSENT
            return sides[0 if known else 1].value(at)

        type_ = sides[0].type | sides[1].type
        if type_.kinds and condition.is_constant and isinstance(known := condition.value({}), bool):
            type_ = sides[0 if known else 1].type  # what is never reached needs no tools
        return self._risk(self._combined(node.span, type_, value, [condition, *sides]))


_VERSION = Type(frozenset({"version"}))


def _is_in(one: Value, many: Value) -> Value:
    """Whether a list has a value, or a text another; unknown where one of them is absent."""
    if isinstance(one, Absent) or isinstance(many, Absent):
        return None
    if isinstance(many, str):
        return isinstance(one, str) and one in many
    return isinstance(many, tuple) and any(values.equal(one, other) for other in many)


def _both(left: Expr, right: Expr, at: Any) -> Value:
    """Whether both hold; where the left one is false, the right one need not have a value."""
    first = left.value(at)
    if first is False:
        return False
    second = right.value(at)
    return False if second is False else True if first is True and second is True else None


def _either(left: Expr, right: Expr, at: Any) -> Value:
    """Whether one holds; where the left one is true, the right one need not have a value."""
    first = left.value(at)
    if first is True:
        return True
    second = right.value(at)
    return True if second is True else False if first is False and second is False else None
