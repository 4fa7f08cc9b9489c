"""Test products and quotients whose dimension has no type in the language."""

from __future__ import annotations

from fractions import Fraction

import pytest

from zlang import units
from zlang.check import check
from zlang.check.types import DIMENSION_OF, SCALARS
from zlang.source import Source
from zlang.suggest import Hint

PROGRAM = """
import fio
let area = 4KiB * 1MiB
let either = if 1 == 1 then area else 3KiB
let scaled(n) = n * 1MiB
dir here {{ path = "." }}
file data on here {{ size = {size} }}
fio reads {{ rw = read }}
experiment e {{ on = data  run = reads }}
"""


def messages(size: str) -> list[str]:
    checked = check.program(Source("program.zexp", PROGRAM.format(size=size)), lambda _: "")
    return [finding.message for finding in checked.findings]


@pytest.mark.parametrize("size", ["4KiB * 1MiB", "area", "scaled(4KiB)", "max(area, area)", "4KiB | area", "either"])
def test_a_number_of_another_dimension_is_no_size(size: str) -> None:
    (message,) = messages(size)
    assert message.startswith("`size` must be a size such as `4KiB`, not ")
    assert message.endswith("a number in bytes^2")


@pytest.mark.parametrize(
    "size", ["area / 4KiB", "4KiB * 1MiB / 1KiB", "scaled(3)", "max(area, area) / 1KiB", "50% of area / 2B"]
)
def test_intermediate_results_may_have_any_dimension(size: str) -> None:
    assert messages(size) == []


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("area + 4KiB", "cannot add a number in bytes^2 and a size"),
        ("if area > 4KiB then 4KiB else 8KiB", "cannot compare a number in bytes^2 and a size"),
        ("4KiB * 1s * 1s * 1s + 1s", "cannot add a number in bytes * seconds^3 and a duration"),
    ],
)
def test_unlike_dimensions_are_neither_added_nor_compared(size: str, message: str) -> None:
    assert messages(size) == [message]


@pytest.mark.parametrize("scalar", DIMENSION_OF)
def test_a_number_of_each_dimension_is_read_and_shown(scalar: str) -> None:
    dimension = DIMENSION_OF[scalar]
    quantity = units.parse(SCALARS[scalar].example)
    assert quantity.dimension == dimension, "`parse` in zlang/units.py reads its unit"
    assert units.parse(units.show(quantity)) == quantity, "`show` in zlang/units.py writes it"
    assert dimension in units.NAMES


def test_dimensions_differ_in_identities_and_in_products() -> None:
    """Both must take every exponent into account."""
    dimensions = set(DIMENSION_OF.values())
    assert len({dimension.key for dimension in dimensions}) == len(dimensions), "`key` in `Dimension`"
    for dimension in dimensions - {units.SHARE}:
        for other in dimensions - {units.SHARE}:
            product = dimension.times(other, 1, share=False)
            assert product.times(other, -1, share=False) == dimension, "`times` in `Dimension`"


@pytest.mark.parametrize(
    ("text", "number", "dimension"),
    [
        ("10Gbit/s", 1_250_000_000, units.RATE),
        ("1.5Gbit/s", 187_500_000, units.RATE),
        ("100Mbit/s", 12_500_000, units.RATE),
        ("1Kbit", 125, units.SIZE),
    ],
)
def test_eight_bits_are_a_byte(text: str, number: int, dimension: units.Dimension) -> None:
    assert units.parse(text) == units.Quantity(Fraction(number), dimension)


@pytest.mark.parametrize(
    ("text", "instead"),
    [("10gbit/s", ("Gbit/s",)), ("10Gbits/s", ("Gbit/s",)), ("10Gb/s", ("10GiB/s", "10GB/s", "10Gbit/s"))],
)
def test_ambiguous_units_get_a_hint_about_bits(text: str, instead: tuple[str, ...]) -> None:
    with pytest.raises(units.UnitError) as caught:
        units.parse(text)
    assert isinstance(caught.value.hint, Hint)
    assert caught.value.hint.instead == instead
