"""What values become: text for a tool, a cell for the store, a canonical form for identities, arithmetic.

Rule: a number leaves zlang only as a bare integer of its base unit (bytes, seconds) or of the unit that its property
declares; a value reaches a shell only through `shell_words`, which quotes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Generic, TypeVar

from zlang import units
from zlang.check.program import ABSENT, Absent, Instance, Joined, Kind, Symbol, Value, Variable
from zlang.units import Quantity

T = TypeVar("T")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_VERSION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})*)(?:[-+~_a-zA-Z][-+~_.a-zA-Z0-9]*)?\Z", re.ASCII)
_SAFE = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


LONGEST_LIST = 10_000


class ValueProblem(Exception):
    """A value that cannot be what it is needed for; the caller knows the place."""


def safe_name(path: tuple[str, ...]) -> str:
    """A name for files, jobs and the journal that no tool reads anything into; different paths have different ones."""
    return ".".join(_UNSAFE.sub(lambda found: f"u{ord(found.group()):x}", part) for part in path)


@lru_cache(maxsize=4096)
def quote(text: str) -> str:
    """One word of any POSIX shell (shlex's rule; `=x` is quoted too, for zsh)."""
    if _SAFE.fullmatch(text) and not text.startswith("="):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"


def plain(value: Value) -> str:
    """The text of a value that a tool is given: integers for numbers, 1 and 0 for on and off."""
    if isinstance(value, str):
        return value
    if isinstance(value, Quantity):
        amount = value.amount * 100 if value.dimension == units.SHARE else value.amount
        if amount.denominator != 1:
            raise ValueProblem(f"{units.show(value)} is no whole number")
        return str(amount.numerator)
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, Symbol):
        return value.name
    if isinstance(value, Instance):
        return value.label
    if isinstance(value, Absent) or value is None:
        raise ValueProblem("it has no value here")
    raise ValueProblem("it is only known when it runs")


def shell_words(value: Value) -> str:
    """The value as quoted words of the shell: one, or several for a list."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, tuple):
        return " ".join([quote(part) if isinstance(part, str) else shell_words(part) for part in value])
    if isinstance(value, Variable):
        return f'"${value.name}"'
    if isinstance(value, Joined):
        return "".join([shell_words(part) for part in value.parts]) or "''"
    return quote(plain(value))


def file_text(value: Value) -> str:
    """The value as it stands in a job file, where variables of the environment are written `${NAME}`."""
    if isinstance(value, Variable):
        return f"${{{value.name}}}"
    if isinstance(value, Joined):
        return "".join(file_text(part) for part in value.parts)
    if isinstance(value, tuple):
        return ",".join(file_text(part) for part in value)
    text = plain(value)
    for character, name in (("\n", "a line end"), ("${", "`${`"), ("\r", "a carriage return")):
        if character in text:
            raise ValueProblem(name)
    return text


def in_unit(value: Value, unit: Quantity | None) -> Value:
    """A quantity as a number of the unit that its property declares."""
    if unit is None or not isinstance(value, Quantity):
        return value
    return Quantity(value.amount / unit.amount)


def cell(value: Value) -> str | int | float | bool | None:
    """The value as the store keeps it: bytes, seconds, per second, percent, words, text."""
    if isinstance(value, Quantity):
        amount = value.amount * 100 if value.dimension == units.SHARE else value.amount
        return amount.numerator if amount.denominator == 1 else float(amount)
    if isinstance(value, Symbol):
        return show(value)
    if isinstance(value, Instance):
        return value.label
    if isinstance(value, tuple | Joined | Variable):
        return show(value)
    return None if isinstance(value, Absent) else value


def argument(value: Value) -> object:
    """The value as a reader's argument: lists, words with what they carry, cells."""
    if isinstance(value, tuple):
        return [argument(item) for item in value]
    if isinstance(value, Symbol):
        return [value.name] if value.argument is None else [value.name, argument(value.argument)]
    return cell(value)


def show(value: Value) -> str:
    """The value as people write it."""
    if isinstance(value, Quantity):
        return units.show(value)
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, Symbol):
        return value.name if value.argument is None else f"{value.name}({show(value.argument)})"
    if isinstance(value, Instance):
        return value.label
    if isinstance(value, Joined):
        return "".join(part if isinstance(part, str) else show(part) for part in value.parts)
    if isinstance(value, Variable):
        return f"${value.name}"
    if isinstance(value, tuple):
        return "[" + ", ".join(show(part) for part in value) + "]"
    return "absent"


def canonical(value: Value) -> str:
    """A text that is the same exactly where the value is."""
    if isinstance(value, Quantity):
        kind = value.dimension
        return f"q{value.amount}:{kind.size}:{kind.time}:{int(kind.share)}"
    if isinstance(value, str):
        return f"s{len(value)}:{value}"
    if isinstance(value, Symbol):
        return f"w{value.name}({canonical(value.argument)})"
    if isinstance(value, Instance):
        return f"i{value.digest}"
    if isinstance(value, tuple | Joined):
        parts = value if isinstance(value, tuple) else value.parts
        return f"l{len(parts)}:" + "".join(canonical(part) for part in parts)
    return f"v{value!r}"


def equal(left: Value, right: Value) -> bool | None:
    """Whether two values are the same; unknown where one is absent."""
    if isinstance(left, Absent) or isinstance(right, Absent):
        return None
    if isinstance(left, Instance) and isinstance(right, Instance):
        return left.key == right.key
    return left == right


def is_version(text: str) -> bool:
    """Whether a text is a version: numbers with dots, and what a release adds after a sign or a letter."""
    return _VERSION.match(text) is not None


def _version(value: Value) -> tuple[int, ...]:
    """The numbers of a version; 2.2 and 2.2.0 are one."""
    found = _VERSION.match(value) if isinstance(value, str) else None
    if found is None:
        raise ValueProblem(f"{show(value)} is no version")
    numbers = [int(number) for number in found.group(1).split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def compare_versions(operator: str, left: Value, right: Value) -> bool | None:
    """Any comparison of versions, number by number; unknown where a side is absent."""
    if isinstance(left, Absent) or isinstance(right, Absent):
        return None
    one, other = _version(left), _version(right)
    return {
        "==": one == other,
        "!=": one != other,
        "<": one < other,
        "<=": one <= other,
        ">": one > other,
        ">=": one >= other,
    }[operator]


def compare(operator: str, left: Value, right: Value) -> bool | None:
    """Any comparison; unknown where a side is absent."""
    if operator in {"==", "!="}:
        same = equal(left, right)
        return same if same is None or operator == "==" else not same
    if isinstance(left, Absent) or isinstance(right, Absent):
        return None
    if isinstance(left, Quantity) and isinstance(right, Quantity):
        return _ORDER[operator](left.amount, right.amount)
    raise ValueProblem(f"{show(left)} and {show(right)} have no order")


_ORDER: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def arithmetic(operator: str, left: Value, right: Value) -> Value:
    """`+ - * / of` on quantities, `+` on lists; absent where a side is. Raises ValueProblem, ZeroDivisionError."""
    if isinstance(left, Absent) or isinstance(right, Absent):
        return ABSENT
    if isinstance(left, tuple) and isinstance(right, tuple) and operator == "+":
        return bounded_list(left + right)
    if not (isinstance(left, Quantity) and isinstance(right, Quantity)):
        raise ValueProblem(f"`{operator}` is for numbers")
    one, other = left.dimension, right.dimension
    # A property that has a unit is a bare number in templates.
    if operator in {"+", "-"} and one != other and units.NUMBER not in {one, other}:
        raise ValueProblem(
            f"`{operator}` is for two of a kind, not for {units.name_of(one)} and {units.name_of(other)}"
        )
    if operator in {"+", "-"}:
        amount = left.amount + right.amount if operator == "+" else left.amount - right.amount
        return Quantity(_bounded(amount), left.dimension)
    dimension = result_dimension(operator, left.dimension, right.dimension)
    if operator == "/":
        if right.amount == 0:
            raise ZeroDivisionError
        return Quantity(_bounded(left.amount / right.amount), dimension)
    return Quantity(_bounded(left.amount * right.amount), dimension)


def bounded_list(items: tuple[Value, ...]) -> tuple[Value, ...]:
    """A list that is not too long. Raises ValueProblem."""
    if len(items) > LONGEST_LIST:
        raise ValueProblem(f"a list may have {LONGEST_LIST:,} values, this one gets {len(items):,}")
    return items


def _bounded(amount: Fraction) -> Fraction:
    if units.is_large(amount):
        raise ValueProblem(f"this number gets more than {units.MOST_BITS} bits long")
    return amount


def result_dimension(operator: str, left: units.Dimension, right: units.Dimension) -> units.Dimension:
    """The dimension of a product, a quotient, or a share of something."""
    sign = -1 if operator == "/" else 1
    share = (left.share and right == units.NUMBER and operator in {"*", "/"}) or (
        right.share and left == units.NUMBER and operator == "*"
    )
    return units.Dimension(left.size + sign * right.size, left.time + sign * right.time, share)


class Memory(Generic[T]):
    """What was made of a value under a name, found again by the value itself: most values are shared by many trials."""

    __slots__ = ("_known", "_make")

    def __init__(self, make: Callable[[str, Value], T]) -> None:
        self._make = make
        self._known: dict[tuple[str, int], tuple[Value, T]] = {}

    def __call__(self, name: str, value: Value) -> T:
        """What was made of the value."""
        key = (name, id(value))
        known = self._known.get(key)
        if known is None or known[0] is not value:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[key] = (value, self._make(name, value))
        return known[1]


_REMEMBERED = 4096


def template_digest(kind: Kind) -> str:
    """The hash of all that a kind does, for identities."""
    return digest(kind.name, kind.said)


def digest(*parts: str) -> str:
    """Sixteen hexadecimal digits that are the same exactly where the parts are."""
    import hashlib

    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
