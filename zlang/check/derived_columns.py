"""Columns of answers that follow from factors: a property with the same value in all trials of a level.

In: an expression of a clause, the scope of conditions, the factors of an experiment. Out: a `DerivedColumn`, or a
constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from math import prod

from zlang.check import types, values
from zlang.check.expressions import Context, resolve
from zlang.check.factors import column_type
from zlang.check.measured import MOST_LEVELS
from zlang.check.program import Absent, Expr, FactorDef, FaultPoint, Symbol, Value
from zlang.check.questions import FactorRef, LevelsWithValue
from zlang.check.types import Type, Variant
from zlang.record import Record
from zlang.syntax import tree
from zlang.units import Quantity


class DerivedColumn(Record):
    """A column that follows from factors, and the type that it has in conditions."""

    ref: FactorRef
    type: Type


FindColumn = Callable[[tree.Expr], DerivedColumn | Expr | None]


def finder(context: Context, factors: Mapping[str, FactorDef]) -> FindColumn:
    """Return a function that finds such a column; for an expression with a constant value, it returns that value."""
    silent = context.replace(report=lambda _: None)
    columns: dict[str, DerivedColumn | Expr | None] = {}

    def find(node: tree.Expr) -> DerivedColumn | Expr | None:
        text = str(node) if isinstance(node, tree.Name) else node.span.text
        if text not in columns:
            columns[text] = resolved(text, node)
        return columns[text]

    def resolved(text: str, node: tree.Expr) -> DerivedColumn | Expr | None:
        expr = resolve(silent, node)
        if expr.type.unknown or expr.call is not None:
            return None
        if expr.reads & factors.keys():
            return _column(text, expr, factors)
        return None if isinstance(expr.value(FaultPoint()), Absent) else expr

    return find


def words_of(levels: Iterable[Value]) -> Type:
    """Return the type of a column with these words as its levels."""
    result = types.NOTHING
    for value in levels:
        if isinstance(value, Symbol) and isinstance(value.argument, Quantity):
            sort = types.scalar_name(types.of_quantity(value.argument))
            result = result | Type(words=(Variant(value.name, ("value", sort)),))
        else:
            element = types.UNKNOWN if isinstance(value, tuple) else None
            result = result | Type(words=(Variant(str(values.cell(value))),), element=element)
    return result


def _column(name: str, expr: Expr, factors: Mapping[str, FactorDef]) -> DerivedColumn | None:
    """Return the column that factors decide; None if they have too many combinations to try."""
    read = [factor for path, factor in factors.items() if path in expr.reads]
    if prod(factor.size + 1 for factor in read) > MOST_LEVELS:
        return None
    by_indexes: dict[tuple[int | None, ...], Value] = {}
    for indexes in product(*((None, *range(factor.size)) for factor in read)):
        pairs = list(zip(read, indexes, strict=True))
        by_indexes[indexes] = expr.value(FaultPoint((item.path, index) for item, index in pairs if index is not None))
    read, by_indexes = _deciding(read, by_indexes)
    result = []
    reached: list[Value] = []
    for indexes, value in by_indexes.items():
        pairs = list(zip(read, indexes, strict=True))
        if isinstance(value, Absent):
            continue
        levels = [
            level
            for factor, index in pairs
            for level in ([None] * len(factor.columns) if index is None else map(values.cell, factor.level(index)))
        ]
        reached.append(value)
        result.append(LevelsWithValue(tuple(levels), values.cell(value)))
    if not result:
        return None
    paths = tuple(factor.column_path(i) for factor in read for i in range(len(factor.columns)))
    sort = column_type(expr.type)
    type_ = expr.type if sort in types.SCALARS else expr.type | words_of(reached)
    return DerivedColumn(FactorRef(name, paths, sort, tuple(result)), type_)


def _deciding(
    read: list[FactorDef], values_of: dict[tuple[int | None, ...], Value]
) -> tuple[list[FactorDef], dict[tuple[int | None, ...], Value]]:
    """Leave out factors on which no value depends, such as those in the command of a named workload; keep at least one.

    A factor that has no effect would count as one that an expectation mentions.
    """
    for place in reversed(range(len(read))):
        seen: dict[tuple[int | None, ...], Value] = {}
        cells: dict[tuple[int | None, ...], set[object]] = {}
        for indexes, value in values_of.items():
            others = (*indexes[:place], *indexes[place + 1 :])
            seen[others] = value
            cells.setdefault(others, set()).add(None if isinstance(value, Absent) else values.cell(value))
        if len(read) > 1 and all(len(shown) == 1 for shown in cells.values()):
            read, values_of = [*read[:place], *read[place + 1 :]], seen
    return read, values_of
