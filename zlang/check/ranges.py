"""Ranges: the number of values between two ends, and the i-th value.

The ends are numbers, or texts that differ in one number (`"disk1".."disk12"`) or one letter (`"sdb".."sdf"`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from zlang import units
from zlang.check import types
from zlang.check.expressions import LONGEST_AMONG_OPTIONS, Context, constant, resolve, same_unit, spend
from zlang.check.program import Expr, Value
from zlang.check.types import STRING, Type
from zlang.diagnostics import Code
from zlang.syntax import tree
from zlang.units import Quantity

LONGEST_RANGE = 1_000_000
Levels = tuple[int, Callable[[int], Value], Type]
"""The number of values in a range, a function for the i-th value, and their type."""
_LONGEST_NUMBER = 18
_NUMBERS = r"([0-9]+)"


def resolve_range_levels(context: Context, node: tree.Range) -> list[Expr]:
    """Resolve a range that is an option among others, to its levels."""
    levels = resolve_levels(context, node)
    if levels is None:
        return []
    count, at, type_ = levels
    if count > LONGEST_AMONG_OPTIONS:
        hint = "a range that stands alone may be longer"
        limit = f"{LONGEST_AMONG_OPTIONS:,}"
        context.report(Code.RANGE_TOO_LONG.at(node.span, limit=limit, count=f"{count:,}", hint=hint))
        return []
    if not spend(context, node.span, count):
        return []
    return [constant(node.span, type_, at(i)) for i in range(count)]


def resolve_levels(context: Context, node: tree.Range) -> Levels | None:
    """Return the levels of a range; report a range without levels, and return None."""
    ends = resolve_ends(context, node)
    for end in ends or ():
        if not end.is_constant:
            hint = "give the range a name of its own: `let n = 1..x`"
            context.report(Code.NOT_CONSTANT.at(end.span, place="the end of a range among other values", hint=hint))
            return None
    return levels_between(context, node, ends) if ends else None


def resolve_ends(context: Context, node: tree.Range) -> list[Expr] | None:
    """Resolve the ends of a range, and its step if it has one; None, after a report, if they are not known."""
    if node.high is None:
        context.report(Code.UNEXPECTED.at(node.span, expected="the end of the range", found="nothing after `..`"))
        return None
    ends = [resolve(context, end) for end in (node.low, node.high) + ((node.step,) if node.step else ())]
    return None if any(end.type.unknown for end in ends) else ends


def levels_between(context: Context, node: tree.Range, ends: list[Expr]) -> Levels | None:
    """Return the levels between constant ends; report if there are none, and return None."""
    if ends[0].type == ends[1].type == STRING and not node.times:
        return _levels_of_texts(context, node, *ends)
    return _levels_of_numbers(context, node, ends)


def _levels_of_numbers(context: Context, node: tree.Range, ends: list[Expr]) -> Levels | None:
    for end in ends:
        if not end.type.scalars <= types.NUMERIC or not end.type.scalars:
            context.report(Code.WRONG_TYPE.at(end.span, name="..", expected="used with numbers", found=end.type))
            return None
    low, high, *steps = (end.value({}) for end in ends)
    assert isinstance(low, Quantity)
    assert isinstance(high, Quantity)
    step = steps[0] if steps else Quantity(Fraction(1, 100) if low.dimension.share else Fraction(1), low.dimension)
    assert isinstance(step, Quantity)
    if low.dimension != high.dimension or (not node.times and step.dimension != low.dimension):
        other = ends[1] if low.dimension != high.dimension else ends[2]
        unit = units.name_of(low.dimension)
        shown = {"left": unit, "right": str(other.type)}
        hint = same_unit([ends[0], other])
        context.report(Code.MIXED_UNITS.at(other.span, verb="make a range of", hint=hint, **shown))
        return None
    if not steps and low.dimension not in (units.NUMBER, units.SHARE):
        hint = f"add a step: `{units.show(low)}..{units.show(high)} by *2`"
        found_type = ends[0].type
        context.report(
            Code.WRONG_TYPE.at(node.span, name="..", expected="used with counts", found=found_type, hint=hint)
        )
        return None
    if node.times:
        return _levels_of_powers(context, node, low, high, step)
    count = 0 if step.amount <= 0 else int((high.amount - low.amount) // step.amount) + 1
    if count < 1:
        context.report(Code.EMPTY_RANGE.at(node.span, hint=_why_empty(low, high, units.show(step))))
        return None
    if count > LONGEST_RANGE:
        context.report(Code.RANGE_TOO_LONG.at(node.span, limit=f"{LONGEST_RANGE:,}", count=f"{count:,}"))
        return None
    base, width, dimension = low.amount, step.amount, low.dimension
    quantities: dict[int, Quantity] = {}

    def at(i: int) -> Quantity:
        if i not in quantities:
            if len(quantities) >= 4096:  # noqa: PLR2004 - long ranges are not kept whole
                quantities.clear()
            quantities[i] = Quantity(base + i * width, dimension)
        return quantities[i]

    whole = all(q.is_whole for q in (low, step))
    type_ = ends[0].type if whole or dimension != units.NUMBER else types.of_dimension(dimension)
    return count, at, type_


def _levels_of_texts(
    context: Context, node: tree.Range, low: Expr, high: Expr, step: Expr | None = None
) -> Levels | None:
    first, last = low.value({}), high.value({})
    assert isinstance(first, str)
    assert isinstance(last, str)
    width = step.value({}) if step else Quantity(Fraction(1))
    if step is not None and step.type != types.COUNT:
        context.report(Code.WRONG_TYPE.at(step.span, name="by", expected="a whole number here", found=step.type))
        return None
    assert isinstance(width, Quantity)
    between = text_range(first, last)
    if between is None:
        hint = 'write, for example, `"sdb".."sdf"` or `"disk1".."disk12"`'
        expected = "used with texts that differ in one letter or one number"
        context.report(Code.WRONG_TYPE.at(node.span, name="..", expected=expected, found="other texts", hint=hint))
        return None
    start, stop, made = between
    numbers = range(start, stop + 1, int(width.amount)) if width.amount >= 1 else range(0)
    if not numbers:
        context.report(
            Code.EMPTY_RANGE.at(node.span, hint=f'write the smaller one first: it goes from "{first}" to "{last}"')
        )
        return None
    if stop - start >= LONGEST_RANGE:
        count = f"{len(numbers):,}"
        context.report(Code.RANGE_TOO_LONG.at(node.span, limit=f"{LONGEST_RANGE:,}", count=count))
        return None
    return len(numbers), lambda i: made(numbers[i]), STRING


def _why_empty(low: Quantity, high: Quantity, step: str) -> str:
    if low.amount > high.amount:
        return f"write the smaller value first: it goes from {units.show(low)} to {units.show(high)} by {step}"
    return f"its values never grow: it begins at {units.show(low)} and goes by {step}"


def _levels_of_powers(
    context: Context, node: tree.Range, low: Quantity, high: Quantity, step: Quantity
) -> Levels | None:
    amounts: list[Fraction] = []
    amount = low.amount
    if amount > 0 and step.amount > 1:
        while amount <= high.amount and not units.is_large(amount):
            amounts.append(amount)
            amount *= step.amount
    if amounts and amount <= high.amount:
        message = f"values of this range exceed {units.MOST_BITS} bits"
        context.report(Code.BAD_NUMBER.at(node.span, message=message))
        return None
    if not amounts:
        context.report(Code.EMPTY_RANGE.at(node.span, hint=_why_empty(low, high, f"*{units.show(step)}")))
        return None
    whole = all(a.denominator == 1 for a in amounts)
    type_ = types.of_quantity(low) if whole else types.of_dimension(low.dimension)
    levels = [Quantity(amount, low.dimension) for amount in amounts]
    return len(levels), levels.__getitem__, type_


def text_range(low: str, high: str) -> tuple[int, int, Callable[[int], str]] | None:
    """Return the first and last number of a range of texts, and the function that gives a number's text; None if none.

    A number with leading zeros keeps its width.
    """
    item, other = re.split(_NUMBERS, low), re.split(_NUMBERS, high)  # the odd positions hold numbers
    differing = [i for i, (a, b) in enumerate(zip(item, other, strict=False)) if a != b]
    if len(item) != len(other) or len(differing) != 1:
        return None
    place = differing[0]
    before, after = "".join(item[:place]), "".join(item[place + 1 :])
    first, last = item[place], other[place]
    if place % 2:
        width = len(first) if "0" in (first[0], last[0]) else 0
        if max(len(first), len(last)) > _LONGEST_NUMBER or any(f"{int(end):0{width}}" != end for end in (first, last)):
            return None
        return int(first), int(last), lambda i: f"{before}{i:0{width}}{after}"
    letters = [i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b]
    if len(first) != len(last) or len(letters) != 1:
        return None
    at = letters[0]
    before, after = before + first[:at], first[at + 1 :] + after
    first, last = first[at], last[at]
    if not (first.isascii() and last.isascii() and (first + last).isalpha() and first.islower() == last.islower()):
        return None
    return ord(first), ord(last), lambda i: f"{before}{chr(i)}{after}"
