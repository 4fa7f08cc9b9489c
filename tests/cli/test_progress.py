"""The lines below the bar of a run on a terminal."""

from __future__ import annotations

import pytest

from zlang.cli import progress


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (80, ["last: xfs randread 4KiB 16: median read_iops 16,606 (n = 2)"]),
        (50, ["last: xfs randread 4KiB 16:", "  median read_iops 16,606 (n = 2)"]),
        (20, ["last: xfs randread", "  4KiB 16:", "  median read_iops 16,606 (n = 2)"]),
    ],
)
def test_a_median_stays_on_one_line(columns: int, lines: list[str]) -> None:
    assert (
        progress.folded("last: xfs randread 4KiB 16:", "median read_iops 16,606 (n = 2)", columns).split("\n") == lines
    )
