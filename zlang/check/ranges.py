"""Ranges: how many values lie between two ends, and the i-th of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from zlang import units
from zlang.check import types
from zlang.check.expressions import Expressions, constant
from zlang.check.program import Expr
from zlang.check.types import Type
from zlang.diagnostics import Code
from zlang.syntax import tree
from zlang.units import Quantity

LONGEST_RANGE = 1_000_000
LONGEST_AMONG_OPTIONS = 10_000


class Ranges(Expressions):
    """What a range stands for."""

    def _range_levels(self, node: tree.Range) -> list[Expr]:
        levels = self._levels(node)
        if levels is None:
            return []
        count, at, type_ = levels
        if count > LONGEST_AMONG_OPTIONS:
            hint = "a range on its own may be longer"
            limit = f"{LONGEST_AMONG_OPTIONS:,}"
            self.report(Code.RANGE_TOO_LONG.at(node.span, limit=limit, count=f"{count:,}", hint=hint))
            return []
        return [constant(node.span, type_, at(i)) for i in range(count)]

    def _levels(self, node: tree.Range) -> tuple[int, Callable[[int], Quantity], Type] | None:
        """How many values a range has, the i-th of them, and their type; None and a finding where it has none."""
        if node.high is None:
            self.report(Code.UNEXPECTED.at(node.span, expected="the end of the range", found="nothing after `..`"))
            return None
        ends = [self.single(end) for end in (node.low, node.high) + ((node.step,) if node.step else ())]
        if any(end.type.unknown for end in ends):
            return None
        for end in ends:
            if not end.is_constant:
                self.report(Code.NOT_CONSTANT.at(end.span, place="the end of a range"))
                return None
            if not end.type.scalars <= types.NUMERIC or not end.type.scalars:
                self.report(Code.WRONG_TYPE.at(end.span, name="..", expected="for numbers", found=end.type))
                return None
        low, high, *steps = (end.value({}) for end in ends)
        assert isinstance(low, Quantity)
        assert isinstance(high, Quantity)
        step = steps[0] if steps else Quantity(Fraction(1, 100) if low.dimension.share else Fraction(1), low.dimension)
        assert isinstance(step, Quantity)
        if low.dimension != high.dimension or (not node.times and step.dimension != low.dimension):
            other = ends[1] if low.dimension != high.dimension else ends[2]
            found = units.name_of(low.dimension)
            self.report(Code.MIXED_UNITS.at(other.span, verb="make a range of", left=found, right=str(other.type)))
            return None
        if not steps and low.dimension not in (units.NUMBER, units.SHARE):
            hint = f"say the step: `{units.show(low)}..{units.show(high)} by *2`"
            found_type = ends[0].type
            self.report(Code.WRONG_TYPE.at(node.span, name="..", expected="for counts", found=found_type, hint=hint))
            return None
        if node.times:
            return self._geometric(node, low, high, step)
        count = 0 if step.amount <= 0 else int((high.amount - low.amount) // step.amount) + 1
        if count < 1:
            hint = f"it goes from {units.show(low)} to {units.show(high)} by {units.show(step)}"
            self.report(Code.EMPTY_RANGE.at(node.span, hint=hint))
            return None
        if count > LONGEST_RANGE:
            self.report(Code.RANGE_TOO_LONG.at(node.span, limit=f"{LONGEST_RANGE:,}", count=f"{count:,}"))
            return None
        base, width, dimension = low.amount, step.amount, low.dimension
        known: dict[int, Quantity] = {}

        def at(i: int) -> Quantity:
            if i not in known:
                if len(known) >= 4096:  # noqa: PLR2004 - long ranges are not kept whole
                    known.clear()
                known[i] = Quantity(base + i * width, dimension)
            return known[i]

        whole = all(q.is_whole for q in (low, step))
        type_ = ends[0].type if whole or dimension != units.NUMBER else types.of_dimension(dimension)
        return count, at, type_

    def _geometric(
        self, node: tree.Range, low: Quantity, high: Quantity, step: Quantity
    ) -> tuple[int, Callable[[int], Quantity], Type] | None:
        amounts: list[Fraction] = []
        amount = low.amount
        if amount > 0 and step.amount > 1:
            while amount <= high.amount and not units.is_large(amount):
                amounts.append(amount)
                amount *= step.amount
        if amounts and amount <= high.amount:
            message = f"the values of this range get more than {units.MOST_BITS} bits long"
            self.report(Code.BAD_NUMBER.at(node.span, message=message))
            return None
        if not amounts:
            hint = f"it goes from {units.show(low)} to {units.show(high)} by *{units.show(step)}"
            self.report(Code.EMPTY_RANGE.at(node.span, hint=hint))
            return None
        whole = all(a.denominator == 1 for a in amounts)
        type_ = types.of_quantity(low) if whole else types.of_dimension(low.dimension)
        levels = [Quantity(amount, low.dimension) for amount in amounts]
        return len(levels), levels.__getitem__, type_
