"""Versions: numbers with dots, compared number by number."""

from __future__ import annotations

import re

from zlang.check.program import Absent, Value
from zlang.check.values import ValueProblem, show

_VERSION = r"(?a)([0-9]{1,9}(?:\.[0-9]{1,9})*)(?:[-+~_a-zA-Z][-+~_.a-zA-Z0-9]*)?\Z"


def is_version(text: str) -> bool:
    """Whether a text is a version: numbers with dots, and a release's suffix after a sign or a letter."""
    return re.match(_VERSION, text) is not None


def _version(value: Value) -> tuple[int, ...]:
    """Return the numbers of a version; 2.2 and 2.2.0 are equal."""
    result = re.match(_VERSION, value) if isinstance(value, str) else None
    if result is None:
        raise ValueProblem(f"{show(value)} is not a version")
    numbers = [int(number) for number in result.group(1).split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def compare_versions(operator: str, left: Value, right: Value) -> bool | None:
    """Compare two versions number by number; None (unknown) if one is absent."""
    if isinstance(left, Absent) or isinstance(right, Absent):
        return None
    item, other = _version(left), _version(right)
    return {
        "==": item == other,
        "!=": item != other,
        "<": item < other,
        "<=": item <= other,
        ">": item > other,
        ">=": item >= other,
    }[operator]
