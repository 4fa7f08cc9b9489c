"""Arithmetic and comparisons of values, within the limits of numbers and lists."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import ge, gt, le, lt

from zlang import units
from zlang.check.program import ABSENT, Absent, Instance, Value
from zlang.check.values import ValueProblem, show
from zlang.units import Quantity

LONGEST_LIST = 10_000


def equal(left: Value, right: Value) -> bool | None:
    """Whether two values are equal; None (unknown) if one is absent. A text equals the thing with that label."""
    if isinstance(left, Absent) or isinstance(right, Absent):
        return None
    if isinstance(left, Instance) and isinstance(right, Instance):
        return left.key == right.key
    if isinstance(left, Instance) and isinstance(right, str):
        return left.label == right
    if isinstance(right, Instance) and isinstance(left, str):
        return right.label == left
    return left == right


def compare(operator: str, left: Value, right: Value) -> bool | None:
    """Compare two values; None (unknown) if one is absent."""
    if operator in {"==", "!="}:
        same = equal(left, right)
        return same if same is None or operator == "==" else not same
    if isinstance(left, Absent) or isinstance(right, Absent):
        return None
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        item, other = left.amount, right.amount  # four times as fast as fractions
        return _ORDER[operator](item.numerator * other.denominator, other.numerator * item.denominator)
    raise ValueProblem(f"{show(left)} and {show(right)} cannot be ordered")


_ORDER: dict[str, Callable[[int, int], bool]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}


def arithmetic(operator: str, left: Value, right: Value) -> Value:
    """Apply `+ - * / % of` to quantities, `+` to lists; absent if a side is. Raises ValueProblem, ZeroDivisionError."""
    if isinstance(left, Absent) or isinstance(right, Absent):
        return ABSENT
    if isinstance(left, tuple) and isinstance(right, tuple) and operator == "+":
        return bounded_list(left + right)
    if not (isinstance(left, Quantity) and isinstance(right, Quantity)):
        raise ValueProblem(f"`{operator}` is for numbers")
    item, other = left.dimension, right.dimension
    # In templates, a property with a unit is a bare number.
    if operator in {"+", "-", "%"} and item != other and units.NUMBER not in {item, other}:
        raise ValueProblem(
            f"`{operator}` needs two values of the same type, not {units.name_of(item)} and {units.name_of(other)}"
        )
    if operator == "%":
        return Quantity(left.amount % right.amount, left.dimension)
    if operator in {"+", "-"}:
        amount = left.amount + right.amount if operator == "+" else left.amount - right.amount
        return Quantity(_bounded(amount), left.dimension)
    dimension = result_dimension(operator, left.dimension, right.dimension)
    if operator == "/":
        if right.amount == 0:
            raise ZeroDivisionError
        return Quantity(_bounded(left.amount / right.amount), dimension)
    return Quantity(_bounded(left.amount * right.amount), dimension)


def bounded_list(items: tuple[Value, ...]) -> Value:
    """Return the items as a list; absent if an item is. Raises ValueProblem if the list is too long."""
    if any(isinstance(item, Absent) for item in items):
        return ABSENT
    if len(items) > LONGEST_LIST:
        raise ValueProblem(f"the list has {len(items):,} values; the limit is {LONGEST_LIST:,}")
    return items


def _bounded(amount: Fraction) -> Fraction:
    if units.is_large(amount):
        raise ValueProblem(f"this number exceeds {units.MOST_BITS} bits")
    return amount


def result_dimension(operator: str, left: units.Dimension, right: units.Dimension) -> units.Dimension:
    """Return the dimension of a product, a quotient or a share."""
    sign = -1 if operator == "/" else 1
    share = (left.share and right == units.NUMBER and operator in {"*", "/"}) or (
        right.share and left == units.NUMBER and operator == "*"
    )
    return left.times(right, sign, share=share)
