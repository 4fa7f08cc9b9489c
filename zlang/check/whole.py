"""Values as whole numbers: conditions are tried at up to a million combinations, and fractions take four times as long.

Rule: `Expr.whole` returns the amount of the quantity, or the truth value, that `Expr.value` returns. If that is
absent, or not a whole number within the limits, it raises NotWhole or KeyError, and the caller uses `Expr.value`.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Sequence

from zlang import units
from zlang.cache import Cache
from zlang.check.program import Expr, Value, Whole
from zlang.hints import Any
from zlang.units import Quantity

_LIMIT = 1 << units.MOST_BITS
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operators.eq,
    "!=": operators.ne,
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {"+": operators.add, "-": operators.sub, "*": operators.mul}


class NotWhole(Exception):
    """A value is not a whole number, or exceeds the limits."""


def of_levels(name: str, at: Callable[[int], Value]) -> Whole:
    """Return the levels of a factor."""
    amounts = Cache[int, int]()

    def whole(point: Any) -> int:
        index: int = point[name]
        if index not in amounts:
            amounts[index] = _amount(at(index))
        return amounts[index]

    return whole


def of_choice(name: str, options: Sequence[Expr]) -> Whole:
    """Return the option that a factor chooses."""
    wholes: list[Whole] = []

    def whole(point: Any) -> int:
        if not wholes:
            wholes.extend(_of(option) or _none for option in options)
        level: int = point[name]
        return wholes[level](point)

    return whole


def of_comparison(operator: str, left: Expr, right: Expr) -> Whole | None:
    """Return a comparison of two values of one dimension."""
    first, second = _of(left), _of(right)
    if first is None or second is None:
        return None
    compare = _COMPARISONS[operator]
    return lambda point: compare(first(point), second(point))


def of_arithmetic(operator: str, left: Expr, right: Expr) -> Whole | None:
    """Return a sum, a difference or a product."""
    first, second = _of(left), _of(right)
    compute = _ARITHMETIC.get(operator)
    if first is None or second is None or compute is None:
        return None

    def whole(point: Any) -> int:
        result = compute(first(point), second(point))
        if -_LIMIT < result < _LIMIT:
            return result
        raise NotWhole

    return whole


def of_if(condition: Expr, then: Expr, otherwise: Expr) -> Whole | None:
    """Return the branch that a condition chooses."""
    holds, first, second = condition.whole, _of(then), _of(otherwise)
    if holds is None or first is None or second is None:
        return None
    return lambda point: first(point) if holds(point) else second(point)


def of_joined(sides: Sequence[Expr], deciding: bool) -> Whole | None:
    """Return `and`, or `or` if True is the deciding value."""
    wholes = [side.whole for side in sides if side.whole is not None]
    if len(wholes) < len(sides):
        return None

    def whole(point: Any) -> bool:
        for each in wholes:
            if each(point) is deciding:
                return deciding
        return not deciding

    return whole


def _of(expr: Expr) -> Whole | None:
    if not expr.is_constant:
        return expr.whole
    try:
        amount = _amount(expr.value({}))
    except NotWhole:
        return None
    return lambda _: amount


def _amount(value: Value) -> int:
    if isinstance(value, Quantity) and value.amount.denominator == 1:
        return value.amount.numerator
    raise NotWhole


def _none(_: Any) -> int:
    raise NotWhole
