"""Check that a range of texts begins and ends at its bounds and contains no text twice."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zlang.check.ranges import text_range


@example("10", "00")
@example("a00", "a1")
@example("08", "112")
@given(st.text("a0b19-", max_size=5), st.text("a0b19-", max_size=5))
def test_a_range_of_texts_has_its_ends(low: str, high: str) -> None:
    ends = text_range(low, high)
    if ends is None:
        return
    start, stop, made = ends
    assert (made(start), made(stop)) == (low, high)
    numbers = range(start, min(stop, start + 100) + 1)
    assert len({made(i) for i in numbers}) == len(numbers)


@pytest.mark.parametrize(
    ("low", "high", "second"),
    [
        ("sdb", "sdf", "sdc"),
        ("disk1", "disk12", "disk2"),
        ("disk08", "disk12", "disk09"),
        ("nvme0n1", "nvme3n1", "nvme1n1"),
        ("node1-eth0", "node4-eth0", "node2-eth0"),
        ("disk1", "diska", None),
        ("sda", "sdaa", None),
        ("a1", "b2", None),
        ("disk1", "disk08", None),
        ("sdä", "sdö", None),
    ],
)
def test_text_ranges(low: str, high: str, second: str | None) -> None:
    ends = text_range(low, high)
    assert (ends[2](ends[0] + 1) if ends else None) == second
