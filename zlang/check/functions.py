"""The pure functions of the language, in one dict: name to how many arguments, the type, the value."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from zlang import units
from zlang.check.program import ABSENT, Absent, Value
from zlang.check.types import COUNT, Type
from zlang.check.values import ValueProblem, show
from zlang.record import Record
from zlang.units import Quantity


class Function(Record):
    """At least `least` and at most `most` arguments; what it returns for arguments of these types."""

    least: int
    most: int
    takes: str
    returns: Callable[[list[Type]], Type]
    call: Callable[[tuple[Value, ...]], Value]


def _quantities(values: tuple[Value, ...]) -> list[Quantity]:
    for value in values:
        if not isinstance(value, Quantity):
            raise ValueProblem(f"{show(value)} is no number")
    return [value for value in values if isinstance(value, Quantity)]


def _spread(values: tuple[Value, ...]) -> tuple[Value, ...]:
    return values[0] if len(values) == 1 and isinstance(values[0], tuple) else values


def _pick(best: Callable[..., Quantity]) -> Callable[[tuple[Value, ...]], Value]:
    def call(values: tuple[Value, ...]) -> Value:
        numbers = _quantities(_spread(values))
        if not numbers:
            raise ValueProblem("an empty list has no such value")
        return best(numbers, key=lambda q: q.amount)

    return call


def _sum(values: tuple[Value, ...]) -> Value:
    numbers = _quantities(_spread(values))
    dimension = numbers[0].dimension if numbers else units.NUMBER
    return Quantity(sum((q.amount for q in numbers), Fraction(0)), dimension)


def _rounding(how: Callable[[Fraction], int]) -> Callable[[tuple[Value, ...]], Value]:
    def call(values: tuple[Value, ...]) -> Value:
        (number,) = _quantities(values)
        return Quantity(Fraction(how(number.amount)), number.dimension)

    return call


def _log2(values: tuple[Value, ...]) -> Value:
    (number,) = _quantities(values)
    if number.amount <= 0:
        raise ValueProblem(f"{show(number)} has no logarithm")
    return Quantity(Fraction(math.log2(number.amount)).limit_denominator(10**9))


def _len(values: tuple[Value, ...]) -> Value:
    (value,) = values
    if not isinstance(value, str | tuple):
        raise ValueProblem(f"{show(value)} has no length")
    return Quantity(Fraction(len(value)))


def _same(types: list[Type]) -> Type:
    return (types[0].element or types[0]) if types else COUNT


def _whole(types: list[Type]) -> Type:
    return COUNT if types[0].scalars <= {"count", "number"} and types[0].scalars else _same(types)


_MANY = 1000
FUNCTIONS: dict[str, Function] = {
    "min": Function(1, _MANY, "numbers", _same, _pick(min)),
    "max": Function(1, _MANY, "numbers", _same, _pick(max)),
    "sum": Function(1, _MANY, "numbers", _same, _sum),
    "round": Function(1, 1, "a number", _whole, _rounding(round)),
    "floor": Function(1, 1, "a number", _whole, _rounding(math.floor)),
    "ceil": Function(1, 1, "a number", _whole, _rounding(math.ceil)),
    "log2": Function(1, 1, "a number", lambda _: Type(frozenset({"number"})), _log2),
    "len": Function(1, 1, "a text or a list", lambda _: COUNT, _len),
}

AGGREGATES = ("count", "max", "mean", "median", "min", "stddev")
"""Of several trials, in the clauses of an experiment; percentiles such as `p99` are too."""


def call(function: Function, values: tuple[Value, ...]) -> Value:
    """The function's value; absent where an argument is."""
    return ABSENT if any(isinstance(value, Absent) for value in values) else function.call(values)
