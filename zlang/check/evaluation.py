"""The value of a formula, computed from its metrics, factors and aggregates."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from zlang.check.questions import Term, is_aggregate
from zlang.hints import Any

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "and": operator.and_, "or": operator.or_,
}  # fmt: skip


def evaluate(term: Term, leaf: Callable[[Term], Any]) -> Any:
    """Return the value of a formula; None if a part has no value or for a division by zero.

    `leaf` returns the value of a metric, a factor or an aggregate, in base units.
    """
    if term.op in {"metric", "factor"} or is_aggregate(term):
        return leaf(term)
    if term.op == "value":
        return term.value
    parts = [evaluate(part, leaf) for part in term.terms]
    if None in parts or not parts or (term.op == "/" and not parts[1]):
        return None
    if term.op == "not":
        return not parts[0]
    if term.op == "in":
        return parts[0] in parts[1:]
    return _OPERATORS[term.op](*parts)
