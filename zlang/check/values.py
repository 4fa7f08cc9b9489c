"""From values to text for people and tools, shell words, and cells of the store.

Rule: a number leaves zlang only as a bare integer of its base unit (bytes, seconds) or of the unit that its property
declares, or as a decimal if it has no unit; a value reaches a shell only through `shell_words`, which quotes it.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from zlang import units
from zlang.check.program import Absent, ChangingValue, HeldValue, Instance, Joined, Symbol, Value, Variable
from zlang.units import Quantity

_UNSAFE, _SAFE = r"[^A-Za-z0-9_-]", r"(?a)[\w@%+=:,./-]+"


class ValueProblem(Exception):
    """A value that does not fit its use; the caller knows the place."""


def safe_name(path: tuple[str, ...]) -> str:
    """Return a name for files, jobs and the journal that no tool interprets; different paths get different names."""
    return ".".join([part if part.isascii() and part.isidentifier() else _spelled(part) for part in path])


def _spelled(part: str) -> str:
    return re.sub(_UNSAFE, lambda result: f"u{ord(result.group()):x}", part)


@lru_cache(maxsize=4096)
def quote(text: str) -> str:
    """Quote one word for any POSIX shell (shlex's rule; `=x` is quoted too, for zsh)."""
    if re.fullmatch(_SAFE, text) and not text.startswith("="):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"


def known_pieces(text: Value) -> list[str]:
    """Return the parts of a text that are known before the run; a single part if the whole text is known."""
    pieces = [""]
    for part in text.parts if isinstance(text, Joined) else (text,):
        if isinstance(part, Variable):
            pieces.append("")
        else:
            pieces[-1] += plain(part)
    return pieces


def plain(value: Value) -> str:
    """Return the text of a value for a tool: a number without a unit if it is exact, 1 and 0 for on and off."""
    if isinstance(value, str):
        return value
    if isinstance(value, Quantity):
        amount = value.amount * 100 if value.dimension.share else value.amount
        if amount.denominator == 1:
            return str(amount.numerator)
        text = f"{float(amount):.9f}".rstrip("0")
        if value.dimension != units.NUMBER or Fraction(text) != amount:
            raise ValueProblem(f"{units.show(value)} is not a whole number")
        return text
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, Symbol):
        return value.name
    if isinstance(value, Instance):
        return value.label
    if isinstance(value, ChangingValue):
        raise ValueProblem("it changes while the workload runs")
    if isinstance(value, Absent) or value is None:
        raise ValueProblem("this value is absent here")
    raise ValueProblem("it is known only at run time")


def shell_words(value: Value) -> str:
    """Return the value as quoted shell words: one, or several for a list."""
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
    """Return the value as written in a job file, with environment variables as `${NAME}`."""
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
    """Convert a quantity to a number in the unit that its property declares."""
    if unit is None or not isinstance(value, Quantity):
        return value
    return Quantity(value.amount / unit.amount)


def cell(value: Value) -> str | int | float | bool | None:
    """Return the value as the store keeps it: bytes, seconds, per second, percent, words, text."""
    if isinstance(value, Quantity):
        amount = value.amount * 100 if value.dimension == units.SHARE else value.amount
        return amount.numerator if amount.denominator == 1 else float(amount)
    if isinstance(value, Symbol):
        return show(value)
    if isinstance(value, Instance):
        return value.label
    if isinstance(value, tuple | Joined | Variable | ChangingValue):
        return show(value)
    return None if isinstance(value, Absent) else value


def argument(value: Value) -> object:
    """Return the value as a reader's argument: lists, words with their values, cells."""
    if isinstance(value, tuple):
        return [argument(item) for item in value]
    if isinstance(value, Symbol):
        return [value.name] if value.argument is None else [value.name, argument(value.argument)]
    return cell(value)


def listed(value: Value) -> tuple[Value, ...]:
    """Return the elements of a list, or any other value as a single element."""
    return value if isinstance(value, tuple) else (value,)


def show(value: Value) -> str:
    """Return the value as people write it."""
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
    if isinstance(value, ChangingValue):
        return "[" + ", ".join(map(_show_period, value.periods)) + "]"
    return "absent"


def text_of(value: Value) -> str:
    """Return a text unchanged, and any other value as people write it."""
    return value if isinstance(value, str) else show(value)


def _show_period(period: HeldValue) -> str:
    end = "" if period.end is None else f" to {show(period.end)}"
    return f"{show(period.value)}{end} for {show(period.duration)}"
