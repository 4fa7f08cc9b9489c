"""Values as text for people: exact levels of factors, measured values in three digits, safe texts."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, lru_cache

from zlang import units
from zlang.check.types import DIMENSION_OF, SCALARS, parts_of, scalar_of
from zlang.text import visible
from zlang.units import BASE_UNITS, Quantity

SET_UP_AGAIN = "`zlang run --order blocked --again` sets everything up again for each replicate"


@lru_cache(maxsize=4096, typed=True)
def level(value: object, type_: str) -> str:
    """Format a stored level of a factor: `4KiB`, not 4096."""
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


def measured(value: float, unit: str) -> str:
    """Format a value measured in a unit of the database: `1.25 ms`."""
    size, name = step(value, unit)
    shown = digits(value / size)
    return shown + name if name == "%" else f"{shown} {name}".rstrip() if _ladder(unit) else shown


def measured_in_words(value: float, type_: str) -> str:
    """Format a measured value, with words if the unit of the database is only `1/s`: `200 operations per second`."""
    scalar = SCALARS[type_]
    shown = measured(value, scalar.unit)
    return shown if scalar.ladder or scalar.dimension not in BASE_UNITS else f"{shown} {BASE_UNITS[scalar.dimension]}"


def step(value: float, unit: str) -> tuple[float, str]:
    """The unit that suits a value, and its size in the unit of the database."""
    steps = _ladder(unit)
    if not steps:
        return 1.0, unit
    if not value:
        return next((step for step in steps if step[0] == 1), steps[-1])
    return next((step for step in steps if abs(value) >= step[0]), steps[-1])


@cache
def _ladder(unit: str) -> tuple[tuple[float, str], ...]:
    """The units shown for a unit of the database, the largest first, each with its size in that unit."""
    steps = SCALARS[scalar_of(unit)].ladder
    return tuple((float(units.parse(f"1{name}").amount * parts_of(unit)), name) for name in steps)


def digits(value: float) -> str:
    """Format a number with three digits, and all digits before the decimal point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004
