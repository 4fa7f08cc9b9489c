"""Small things that commands say in the same way: levels, counts, command lines."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fractions import Fraction

import typer

from zlang import units
from zlang.check.types import DIMENSION_OF
from zlang.check.values import quote
from zlang.cli.render import visible
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
    return visible(str(value))


def shell(text: str) -> str:
    """A word as it can be typed; what would steer the terminal is spelled as bash, zsh and POSIX of 2024 take it."""
    if text.isprintable():
        return quote(text)
    spelled = (char if char.isprintable() else _octal(char) for char in text.replace("\\", "\\\\").replace("'", "\\'"))
    return "$'" + "".join(spelled) + "'"


def _octal(char: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(char))


def file(name: str) -> str:
    """A file's name as it can be typed, also where it looks like an option."""
    return shell(f"./{name}" if name.startswith("-") else name)


def program(
    name: str, settings: Iterable[str] | None, profile: str | None, experiment: str | None, seed: int | None
) -> str:
    """A program with all that was said about it, as it can be typed again."""
    said = [file(name), *(f"--set {shell(setting)}" for setting in settings or ())]
    said += [f"--profile {shell(profile)}"] if profile is not None else []
    said += [f"--experiment {shell(experiment)}"] if experiment is not None else []
    said += [f"--seed {seed}"] if seed is not None else []
    return " ".join(said)


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
