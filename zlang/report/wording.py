"""Values as people write them: levels of factors exactly, what was measured in three digits, texts that are safe."""

from __future__ import annotations

from fractions import Fraction

from zlang import units
from zlang.check.types import DIMENSION_OF
from zlang.units import Quantity

_SIZES = [(1024.0**n, f"{prefix}iB") for n, prefix in ((4, "T"), (3, "G"), (2, "M"), (1, "K"))]
_STEPS = {
    "bytes": [*_SIZES, (1.0, "B")],
    "bytes/s": [*((size, f"{name}/s") for size, name in _SIZES), (1.0, "B/s")],
    "s": [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")],
    "ns": [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")],
}


def level(value: object, type_: str) -> str:
    """A stored level of a factor: `4KiB`, not 4096."""
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


def visible(text: str, keep: str = "") -> str:
    """The text without control characters (but those to `keep`): they steer terminals, and no picture holds them."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape").decode() for char in text
    )


def measured(value: float, unit: str) -> str:
    """Something measured in a unit of the database: `1.25 ms`."""
    size, name = step(value, unit)
    shown = _digits(value / size)
    return shown + name if name == "%" else f"{shown} {name}".rstrip() if unit in _STEPS else shown


def step(value: float, unit: str) -> tuple[float, str]:
    """The unit that suits a value, and how much of the database's unit it is."""
    steps = _STEPS.get(unit)
    if steps is None:
        return 1.0, unit
    return next((step for step in steps if abs(value) >= step[0]), steps[-1])


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004
