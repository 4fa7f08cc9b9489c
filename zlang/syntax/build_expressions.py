"""Nodes of expressions from the parts of a grammar rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from zlang import units
from zlang.diagnostics import Code
from zlang.hints import Any
from zlang.source import Span
from zlang.syntax import tree
from zlang.syntax.lexer import Token
from zlang.syntax.literals import Parsing, text_of, word_of


def _choice(_driver: Parsing, span: Span, options: tuple[tree.Expr, ...]) -> tree.Choice:
    return tree.Choice(span, options)


def _conditional(_driver: Parsing, span: Span, condition: tree.Expr, then: tree.Expr, otherwise: tree.Expr) -> tree.If:
    return tree.If(span, condition, then, otherwise)


def _binary(driver: Parsing, span: Span, left: tree.Expr, operator: Token, right: tree.Expr) -> tree.Expr:
    if isinstance(left, tree.Tuple) and operator.text in {"==", "!="}:
        equal = _equal_rows(driver, span, left, [right], f"{_as_written(left)} {operator.text} {_like(left)}")
        return tree.Not(span, equal) if operator.text == "!=" else equal
    return tree.Binary(span, operator.text, left, right)


def _equal_rows(driver: Parsing, span: Span, left: tree.Tuple, rows: Sequence[tree.Expr], form: str) -> tree.Expr:
    """Return a condition that a tuple equals one of several rows: comparisons with `and` and `or`."""
    for row in rows:
        if not isinstance(row, tree.Tuple) or len(row.items) != len(left.items):
            values = len(row.items) if isinstance(row, tree.Tuple) else 1
            hint = f"write `{form}`"
            driver.report(Code.ZIP_WIDTH.at(row.span, names=len(left.items), values=values, hint=hint))
            return _unknown(span, left)
    equal = [
        _joined(span, "and", [tree.Binary(b.span, "==", a, b) for a, b in zip(left.items, row.items, strict=True)])
        for row in rows
        if isinstance(row, tree.Tuple)
    ]
    return _joined(span, "or", equal)


def _joined(span: Span, operator: str, conditions: Sequence[tree.Expr]) -> tree.Expr:
    """Join conditions with an operator, nested no deeper than needed."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    sides = [_joined(span, operator, side) for side in (conditions[:middle], conditions[middle:])]
    return tree.Binary(span, operator, *sides)


def _unknown(span: Span, row: tree.Tuple) -> tree.Binary:
    """Return a placeholder for a condition that could not be read."""
    return tree.Binary(span, "==", row.items[0], row.items[0])


def _as_written(row: tree.Tuple) -> str:
    return f"({', '.join(item.span.text for item in row.items)})"


def _like(row: tree.Tuple) -> str:
    return f"({', '.join('…' for _ in row.items)})"


def _either(_driver: Parsing, span: Span, left: tree.Expr, right: tree.Expr) -> tree.Binary:
    return tree.Binary(span, "or", left, right)


def _both(_driver: Parsing, span: Span, left: tree.Expr, right: tree.Expr) -> tree.Binary:
    return tree.Binary(span, "and", left, right)


def _contains(driver: Parsing, span: Span, left: tree.Expr, right: tree.Expr) -> tree.Expr:
    if not isinstance(left, tree.Tuple):
        return tree.Binary(span, "in", left, right)
    form = f"{_as_written(left)} in [{_like(left)}, {_like(left)}]"
    if not isinstance(right, tree.ListOf) or not right.items:
        expected, written = "a list of values in parentheses", f"`{right.span.text}`"
        driver.report(Code.UNEXPECTED.at(right.span, expected=expected, found=written, hint=f"write `{form}`"))
        return _unknown(span, left)
    return _equal_rows(driver, span, left, right.items, form)


def _contains_not(driver: Parsing, span: Span, left: tree.Expr, _not_in: Token, right: tree.Expr) -> tree.Not:
    return tree.Not(span, _contains(driver, span, left, right))


def _chained(driver: Parsing, span: Span, left: tree.Binary, operator: Token, right: tree.Expr) -> tree.Binary:
    last = left.right if left.operator == "and" else left
    assert isinstance(last, tree.Binary)
    begin = Span(driver.source, last.right.span.start, span.end)
    return tree.Binary(span, "and", left, tree.Binary(begin, operator.text, last.right, right))


def _negation(_driver: Parsing, span: Span, operand: tree.Expr) -> tree.Not:
    return tree.Not(span, operand)


def _is_a(_driver: Parsing, span: Span, value: tree.Expr, name: tree.Name) -> tree.IsA:
    return tree.IsA(span, value, name)


def _is_not_a(_driver: Parsing, span: Span, value: tree.Expr, name: tree.Name) -> tree.Not:
    return tree.Not(span, tree.IsA(span, value, name))


def _range(_driver: Parsing, span: Span, low: tree.Expr, high: tree.Expr) -> tree.Range:
    return tree.Range(span, low, high, None, times=False)


def _range_open(_driver: Parsing, span: Span, low: tree.Expr, _end: Token) -> tree.Range:
    return tree.Range(span, low, None, None, times=False)


def _range_by(_driver: Parsing, span: Span, low: tree.Expr, high: tree.Expr, step: tree.Expr) -> tree.Range:
    return tree.Range(span, low, high, step, times=False)


def _range_times(_driver: Parsing, span: Span, low: tree.Expr, high: tree.Expr, step: tree.Expr) -> tree.Range:
    return tree.Range(span, low, high, step, times=True)


def _share_of(driver: Parsing, span: Span, share: Token, whole: tree.Expr) -> tree.Binary:
    number = _number(driver, Span(driver.source, share.start, share.end), share)
    return tree.Binary(span, "of", number, whole)


def _name(_driver: Parsing, _span: Span, path: tree.Name) -> tree.Name:
    return path


def _make(_driver: Parsing, span: Span, kind: tree.Name, items: tuple[tree.Item, ...]) -> tree.Anonymous:
    return tree.Anonymous(span, kind, None, items)


def _make_on(
    _driver: Parsing, span: Span, kind: tree.Name, parent: tree.Expr, items: tuple[tree.Item, ...]
) -> tree.Anonymous:
    return tree.Anonymous(span, kind, parent, items)


def _amend(_driver: Parsing, span: Span, base: tree.Name, items: tuple[tree.Item, ...]) -> tree.Amend:
    return tree.Amend(span, base, items)


def _index(_driver: Parsing, span: Span, many: tree.Expr, place: tree.Expr) -> tree.Index:
    return tree.Index(span, many, place)


def _list_from(
    driver: Parsing, span: Span, value: tree.Expr, name: Token, many: tree.Expr, condition: tree.Expr | None = None
) -> tree.ListFrom:
    return tree.ListFrom(span, value, word_of(driver, name), many, condition)


def _period(_driver: Parsing, span: Span, value: tree.Expr, duration: tree.Expr) -> tree.Period:
    return tree.Period(span, value, None, None, duration)


def _period_between(
    driver: Parsing, span: Span, value: tree.Expr, word: Token, end: tree.Expr, duration: tree.Expr
) -> tree.Period:
    if word.text != "to":
        hint = "write `to` between two values: `1000/s to 5000/s for 30s`"
        place = Span(driver.source, word.start, word.end)
        driver.report(Code.UNEXPECTED.at(place, expected="`to` or `for`", found=f"`{word.text}`", hint=hint))
    return tree.Period(span, value, word_of(driver, word), end, duration)


def _schedule(_driver: Parsing, span: Span, periods: tuple[tree.Period, ...]) -> tree.ScheduleOf:
    return tree.ScheduleOf(span, periods)


def _call(_driver: Parsing, span: Span, function: tree.Name, arguments: tuple[tree.Expr, ...] = ()) -> tree.Call:
    return tree.Call(span, function, arguments)


def _call_where(_driver: Parsing, span: Span, function: tree.Name, argument: tree.Expr, where: tree.Expr) -> tree.Call:
    return tree.Call(span, function, (argument,), where)


def _path(_driver: Parsing, span: Span, name: Token) -> tree.Name:
    return tree.Name(span, (name.text,))


def _path_on(_driver: Parsing, span: Span, name: Token) -> tree.Name:
    return tree.Name(span, ("on", name.text))


def _path_more(_driver: Parsing, span: Span, path: tree.Name, name: Token) -> tree.Name:
    return tree.Name(span, (*path.path, name.text))


def _number(driver: Parsing, span: Span, token: Token) -> tree.Number:
    try:
        return tree.Number(span, units.parse(token.text))
    except units.UnitError as error:
        driver.report(Code.BAD_NUMBER.at(span, message=error.message, hint=error.hint))
        return tree.Number(span, _UNKNOWN_QUANTITY)


_UNKNOWN_QUANTITY = units.Quantity(Fraction(1), units.UNREADABLE)
"""Stands for a number that was refused: it has its finding already."""


def _string(driver: Parsing, _span: Span, token: Token) -> tree.Text:
    return text_of(driver, token)


def _word_on(_driver: Parsing, span: Span) -> tree.Name:
    return tree.Name(span, ("on",))


def _list_of(_driver: Parsing, span: Span, items: tuple[tree.Expr, ...] = ()) -> tree.ListOf:
    return tree.ListOf(span, items)


def _tuple_of(_driver: Parsing, span: Span, first: tree.Expr, expressions: tuple[tree.Expr, ...]) -> tree.Tuple:
    return tree.Tuple(span, (first, *expressions))


BUILDERS: dict[str, Callable[..., Any]] = {
    "name": _name,
    "contains_not": _contains_not,
    "chained": _chained,
    "is_not_a": _is_not_a,
    "amend": _amend,
    "index": _index,
    "list_from": _list_from,
    "period": _period,
    "period_between": _period_between,
    "schedule": _schedule,
    "choice": _choice,
    "conditional": _conditional,
    "either": _either,
    "both": _both,
    "negation": _negation,
    "binary": _binary,
    "is_a": _is_a,
    "contains": _contains,
    "range": _range,
    "range_open": _range_open,
    "range_by": _range_by,
    "range_times": _range_times,
    "share_of": _share_of,
    "make": _make,
    "make_on": _make_on,
    "call": _call,
    "call_where": _call_where,
    "path": _path,
    "path_on": _path_on,
    "path_more": _path_more,
    "number": _number,
    "string": _string,
    "word_on": _word_on,
    "list_of": _list_of,
    "tuple_of": _tuple_of,
}
