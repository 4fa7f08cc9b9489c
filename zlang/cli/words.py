"""Small things that commands say in the same way: levels, counts, command lines."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import typer

from zlang import units
from zlang.check.types import DIMENSION_OF
from zlang.check.values import quote
from zlang.suggest import did_you_mean
from zlang.units import Quantity


def level(value: object, type_: str) -> str:
    """A stored value as people write it: `4KiB`, not 4096."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float) and type_ in DIMENSION_OF:
        amount = Fraction(value).limit_denominator(10**9)
        if type_ == "share":
            amount /= 100
        return units.show(Quantity(amount, DIMENSION_OF[type_]))
    return str(value)


def shell(text: str) -> str:
    """A file's name as it can be typed."""
    return quote(text)


def one_of(option: str, given: str, known: Iterable[str]) -> None:
    """End with a usage error where a word is not one of those known."""
    listed = list(known)
    if given not in listed:
        hint = did_you_mean(given, listed) or "it is " + ", ".join(listed)
        raise typer.BadParameter(f"`{given}`: {hint}", param_hint=option)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 100:  # noqa: PLR2004 - two digits are enough
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
