"""Numbers as fio reads them in a job file: `4k`, `0x1000`, `(2 * 4k)`, `1m` of a time.

Source: `str_to_decimal` in fio's parse.c, and exp/expression-parser.y for what stands in parentheses.
Rule: the result is None for text that fio would refuse or read only in part.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fractions import Fraction

Factor = Callable[[str], int | None]
"""The factors by which units multiply a number."""

_PREFIXES = "kmgtp"
_SIZE = re.compile(r"([kmgtp])(i?b)?", re.IGNORECASE)
_SECOND = 10**6
_TIMES = {"us": 1, "usec": 1, "ms": 1000, "msec": 1000, "s": _SECOND}
_TIMES |= {"m": 60 * _SECOND, "h": 3600 * _SECOND, "d": 86400 * _SECOND}
_PLAIN = re.compile(r"([+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+))([A-Za-z]*)")
_TOKEN = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?|[A-Za-z]+|[-+*/%^()]|\S")
_TIGHTNESS = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "^": 3}
_OPERATORS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: Fraction(left // right) if left.denominator == right.denominator == 1 else left / right,
    "%": operator.mod,
}
_LONGEST = 100
_LARGEST_EXPONENT = 64


def size(words: str) -> Fraction | None:
    """Parse a size in bytes. In fio `k` and `kb` mean 1,024, and `kib` means 1,000."""
    return _value(words, _of_size, 1)


def microseconds(words: str, bare: Fraction) -> Fraction | None:
    """Parse a time in microseconds; a number without a unit counts units of `bare` microseconds."""
    return _value(words, _of_time, bare)


def arithmetic(words: str) -> Fraction | None:
    """The value of a sum or product, with or without parentheses around it; None if it is neither."""
    try:
        return _Expression(words, _of_size).value()
    except (ValueError, ZeroDivisionError):
        return None


def _value(words: str, factor: Factor, bare: Fraction | int) -> Fraction | None:
    if words.startswith("("):
        expression = _Expression(words, factor)
        try:
            amount = expression.value()
        except (ValueError, ZeroDivisionError):
            return None
        return amount if expression.has_unit else amount * bare
    matched = _PLAIN.fullmatch(words)
    if matched is None:
        return None
    unit = factor(matched[2]) if matched[2] else bare
    return None if unit is None else _integer(matched[1]) * Fraction(unit)


def _integer(digits: str) -> int:
    return int(digits, 16 if "x" in digits.lower() else 10)


def _of_size(unit: str) -> int | None:
    matched = _SIZE.fullmatch(unit)
    if matched is None:
        return None
    base: int = 1000 if (matched[2] or "").lower() == "ib" else 1024
    exponent = _PREFIXES.index(matched[1].lower()) + 1
    return int(base**exponent)


def _of_time(unit: str) -> int | None:
    return _TIMES.get(unit.lower())


class _Expression:
    """A sum of products with units: `(4k * (2 + 1))`. `value` raises ValueError where it is none."""

    def __init__(self, text: str, factor: Factor) -> None:
        self.factor = factor
        self.has_unit = False
        self.pending = _TOKEN.findall(text) if len(text) <= _LONGEST else []
        self.pending.reverse()

    def value(self) -> Fraction:
        result = self._operation(0)
        if self.pending:
            raise ValueError(self.pending)
        return result

    def _operation(self, least: int) -> Fraction:
        left = self._operand()
        while self.pending and _TIGHTNESS.get(self.pending[-1], 0) > least:
            sign = self.pending.pop()
            right = self._operation(_TIGHTNESS[sign])
            left = self._power(left, right) if sign == "^" else _OPERATORS[sign](left, right)
        return left

    def _power(self, base: Fraction, exponent: Fraction) -> Fraction:
        if exponent.denominator != 1 or abs(exponent) > _LARGEST_EXPONENT:
            raise ValueError(exponent)
        return base**exponent.numerator

    def _operand(self) -> Fraction:
        word = self.pending.pop() if self.pending else ""
        if word == "-":
            return -self._operand()
        if word == "(":
            result = self._operation(0)
            if not self.pending or self.pending.pop() != ")":
                raise ValueError(word)
        else:
            result = Fraction(_integer(word)) if "x" in word.lower() else Fraction(word)
        while self.pending and self.pending[-1].isalpha():
            unit = self.factor(self.pending.pop())
            if unit is None:
                raise ValueError(word)
            result, self.has_unit = result * unit, True
        return result
