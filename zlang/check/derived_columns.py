"""Columns of answers that follow from factors: a property with the same value in all trials of a level.

In: a name in a clause, the scope of conditions, the factors of an experiment. Out: a `FactorRef` with its values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from math import prod

from zlang.check import values
from zlang.check.expressions import Context, resolve
from zlang.check.factors import column_type
from zlang.check.measured import MOST_LEVELS
from zlang.check.program import Absent, Expr, FactorDef, FaultPoint
from zlang.check.questions import FactorRef, LevelsWithValue
from zlang.syntax import tree

FindColumn = Callable[[tree.Name], FactorRef | Expr | None]


def finder(context: Context, factors: Mapping[str, FactorDef]) -> FindColumn:
    """Return a function that finds such a column by name; for a name with a constant value, it returns that value."""
    silent = context.replace(report=lambda _: None)

    def find(name: tree.Name) -> FactorRef | Expr | None:
        expr = resolve(silent, name)
        if expr.type.unknown or expr.call is not None:
            return None
        if expr.reads & factors.keys():
            return _column(str(name), expr, factors)
        return None if isinstance(expr.value(FaultPoint()), Absent) else expr

    return find


def _column(name: str, expr: Expr, factors: Mapping[str, FactorDef]) -> FactorRef | None:
    """Return the column that factors decide; None if they have too many combinations to try."""
    read = [factor for path, factor in factors.items() if path in expr.reads]
    if prod(factor.size + 1 for factor in read) > MOST_LEVELS:
        return None
    result = []
    for indexes in product(*((None, *range(factor.size)) for factor in read)):
        pairs = list(zip(read, indexes, strict=True))
        value = expr.value(FaultPoint((factor.path, index) for factor, index in pairs if index is not None))
        if isinstance(value, Absent):
            continue
        levels = [
            level
            for factor, index in pairs
            for level in ([None] * len(factor.columns) if index is None else map(values.cell, factor.level(index)))
        ]
        result.append(LevelsWithValue(tuple(levels), values.cell(value)))
    paths = tuple(factor.column_path(i) for factor in read for i in range(len(factor.columns)))
    return FactorRef(name, paths, column_type(expr.type), tuple(result)) if result else None
