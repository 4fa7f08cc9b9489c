"""Exact numbers with dimensions: sizes, durations, rates, shares and counts.

Rule: an ambiguous unit is never guessed; `4mb` and `4KB` are rejected with both of their meanings.
Sources: IEC 80000-13 for the binary prefixes; fio's own suffixes are inverted (`4KiB` is 4000 bytes to `--size`) and
ZFS reads `K`, `KB` and `KiB` all as 1024, which is why only bare integers leave zlang.
"""

from __future__ import annotations

import re
from fractions import Fraction

from zlang.record import Record
from zlang.suggest import Hint, did_you_mean


class Dimension(Record):
    """A dimension as exponents of bytes and seconds; a share is a number written in percent."""

    size: int = 0
    time: int = 0
    share: bool = False

    def times(self, other: Dimension, sign: int, *, share: bool) -> Dimension:
        """The dimension of a product, or with the sign -1 of a quotient."""
        return Dimension(self.size + sign * other.size, self.time + sign * other.time, share)

    @property
    def key(self) -> str:
        """A text for digests, different for each dimension. Identities depend on it."""
        return f"{self.size}:{self.time}:{int(self.share)}"


NUMBER = Dimension()
SHARE = Dimension(share=True)
SIZE = Dimension(size=1)
DURATION = Dimension(time=1)
RATE = Dimension(size=1, time=-1)
FREQUENCY = Dimension(time=-1)
UNREADABLE = Dimension(size=99)
"""The dimension of a number that could not be read: no further finding is reported for it."""

NAMES = {
    NUMBER: "a number",
    SHARE: "a share",
    SIZE: "a size",
    DURATION: "a duration",
    RATE: "a rate",
    FREQUENCY: "a number per second",
}
BASE_UNITS = {SIZE: "bytes", RATE: "bytes per second", DURATION: "seconds", FREQUENCY: "operations per second"}
"""The base units of dimensions that have units of their own, for messages."""


def name_of(dimension: Dimension) -> str:
    """The name of a dimension in messages."""
    if dimension in NAMES:
        return NAMES[dimension]
    powers = {"bytes": dimension.size, "seconds": dimension.time}
    return "a number in " + " * ".join(f"{unit}^{n}" if n != 1 else unit for unit, n in powers.items() if n)


class Quantity(Record):
    """An exact amount in bytes, seconds, bytes per second, per second, hundredths of a share's unit, or of nothing."""

    amount: Fraction
    dimension: Dimension = NUMBER

    @property
    def is_whole(self) -> bool:
        """Whether the amount is an integer number of its base unit."""
        return self.amount.denominator == 1

    def __str__(self) -> str:
        return show(self)


_BINARY = {p: 1024 ** (i + 1) for i, p in enumerate("KMGTPE")}
_DECIMAL = {p: 1000 ** (i + 1) for i, p in enumerate("KMGTPE")}
_TIMES = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "m": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}
_DURATION_UNITS = tuple(unit for unit in _TIMES if unit != "m")
"""As they are shown, from the smallest: without the second name of a minute."""
_SIZES: dict[str, int] = {"B": 1}
for _p, _n in _BINARY.items():
    _SIZES[_p] = _SIZES[f"{_p}iB"] = _n
_SIZES["k"] = 1024
_SIZES["kiB"] = 1024
for _p, _n in _DECIMAL.items():
    _SIZES[f"{_p}B"] = _n
    _SIZES[f"{_p}bit"] = _n // 8
_SIZES["kB"] = 1000
UNITS = (*(u for u in _SIZES if u.endswith(("iB", "bit")) or u == "B"), *_TIMES, "%", "/s")

_DIGITS_READ = 5
MOST_BITS = 1000
"""Numbers are exact up to this size, above and below the line: some 300 digits."""
_NUMBER = re.compile(r"(-?[0-9][0-9_]*(?:\.[0-9]+)?)(.*)")
_AMBIGUOUS = {"KB", "kB", "MB", "GB", "TB", "PB", "EB"}


class UnitError(ValueError):
    """The error for a number with an unknown or ambiguous unit: a sentence, and what to write instead."""

    def __init__(self, message: str, hint: Hint | str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def parse(text: str) -> Quantity:
    """Parse a literal such as `4KiB`, `200MiB/s`, `90s`, `70%` or `16`.

    Raises UnitError for an unknown unit and for an ambiguous one (`4mb`, `4KB`).
    """
    matched = _NUMBER.fullmatch(text)
    if matched is None:
        raise UnitError(f"`{text}` is not a number", "write digits, then a unit")
    digits, unit = matched.groups()
    if len(digits) > MOST_BITS // 4:
        raise UnitError(f"a number may have {MOST_BITS // 4} digits, this one has {len(digits):,}", "")
    number = Fraction(digits.replace("_", ""))
    if unit == "":
        return Quantity(number)
    if unit == "%":
        return Quantity(number / 100, SHARE)
    if unit == "/s":
        return Quantity(number, FREQUENCY)
    per_second = unit.endswith("/s")
    name = unit.removesuffix("/s")
    if not per_second and name in _TIMES:
        return Quantity(number * _TIMES[name], DURATION)
    if name in _SIZES and not (name in _AMBIGUOUS and name.upper() == "KB"):
        if name in _AMBIGUOUS and not _is_vendor_size(name):
            raise _ambiguous(digits, name, per_second=per_second)
        return Quantity(number * _SIZES[name], RATE if per_second else SIZE)
    if name.upper().removesuffix("B").removesuffix("I") in _BINARY and len(name) > 1:
        raise _ambiguous(digits, name, per_second=per_second)
    if name and name.upper() in _BINARY:
        return Quantity(number * _BINARY[name.upper()], RATE if per_second else SIZE)
    raise UnitError(f"there is no unit `{unit}`", _nearest_unit(unit))


def _nearest_unit(unit: str) -> Hint | str:
    if unit.lower() in {"x", "times"}:
        return "write the number alone"
    spelled = {"sec": "s", "secs": "s", "second": "s", "seconds": "s", "minute": "min", "minutes": "min", "mins": "min"}
    spelled |= {"hour": "h", "hours": "h", "hr": "h", "day": "d", "days": "d", "bytes": "B", "byte": "B", "b": "B"}
    if unit.lower() in spelled:
        return Hint(f"did you mean `{spelled[unit.lower()]}`?", unit, spelled[unit.lower()])
    names = f"sizes are in B KiB MiB GiB TiB PiB, durations in {' '.join(_DURATION_UNITS)}, and `%`, `/s`"
    rates = tuple(f"{size}/s" for size in UNITS if size in _SIZES)
    return did_you_mean(unit, (*rates, "/s") if unit.endswith("/s") else UNITS) or names


def is_large(amount: Fraction) -> bool:
    """Whether a number is too large for zlang."""
    return amount.numerator.bit_length() > MOST_BITS or amount.denominator.bit_length() > MOST_BITS


def _is_vendor_size(name: str) -> bool:
    """Whether a unit is one by which disks are sold, such as `500MB`: always decimal, whereas `KB` is used for both."""
    return name in {"MB", "GB", "TB", "PB", "EB"}


def _ambiguous(digits: str, name: str, *, per_second: bool) -> UnitError:
    prefix = name[0].upper()
    tail = "/s" if per_second else ""
    binary = f"`{digits}{prefix}iB{tail}` ({_commas(digits, _BINARY[prefix])} bytes)"
    exact = Fraction(digits.replace("_", "")) * _DECIMAL[prefix]
    decimal = f"{exact.numerator if exact.denominator == 1 else float(exact)}B{tail}"
    if prefix != "K":
        decimal = f"{digits}{prefix}B{tail}"
    written = f"{digits}{name}{tail}"
    readings = f"write {binary} or `{decimal}` ({_commas(digits, _DECIMAL[prefix])} bytes)"
    ways, alternatives = "two", [f"{digits}{prefix}iB{tail}", decimal]
    if per_second and name.endswith("b"):
        ways, alternatives = "three", [*alternatives, f"{digits}{prefix}bit{tail}"]
        readings += f", or in bits `{alternatives[-1]}`"
    return UnitError(f"`{written}` can be read in {ways} ways", Hint(readings, written, *alternatives))


def _commas(digits: str, factor: int) -> str:
    exact = Fraction(digits.replace("_", "")) * factor
    return f"{exact.numerator:,}" if exact.denominator == 1 else f"{float(exact):,}"


def show(quantity: Quantity) -> str:
    """Return a quantity exactly, in the largest unit that leaves an integer."""
    amount, dimension = quantity.amount, quantity.dimension
    if dimension == SHARE:
        return f"{_decimal_text(amount * 100)}%"
    if dimension == FREQUENCY:
        return f"{_decimal_text(amount)}/s"
    if dimension in (SIZE, RATE):
        tail = "/s" if dimension == RATE else ""
        for prefix in "EPTGMK":
            if amount and amount % _BINARY[prefix] == 0:
                return f"{_decimal_text(amount / _BINARY[prefix])}{prefix}iB{tail}"
        return f"{_decimal_text(amount)}B{tail}"
    if dimension == DURATION and amount == 0:
        return "0s"
    if dimension == DURATION:
        for unit in reversed(_DURATION_UNITS):
            if (amount / _TIMES[unit]).denominator == 1 and (abs(amount) >= _TIMES[unit] or unit == "ns"):
                return f"{_decimal_text(amount / _TIMES[unit])}{unit}"
        return f"{_decimal_text(amount)}s"
    return _decimal_text(amount)


def show_rounded(quantity: Quantity) -> str:
    """Return a quantity exactly if it has up to five digits; a size or rate with more is rounded, such as `23.5GiB`."""
    exact, amount = show(quantity), float(quantity.amount)
    if quantity.dimension not in (SIZE, RATE) or sum(character.isdigit() for character in exact) <= _DIGITS_READ:
        return exact
    prefix = next((prefix for prefix in "EPTGMK" if amount >= _BINARY[prefix]), "K")
    number = amount / _BINARY[prefix]
    tail = "/s" if quantity.dimension == RATE else ""
    return f"{number:.{0 if number >= 100 else 1}f}{prefix}iB{tail}"  # noqa: PLR2004 - three digits


def _decimal_text(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else repr(float(number))
