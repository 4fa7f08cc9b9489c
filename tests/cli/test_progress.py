"""Test the lines below the progress bar of a run on a terminal."""

from __future__ import annotations

import pytest

from zlang.cli import progress, words
from zlang.metrics import ELAPSED, Metric
from zlang.report import summary


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
        words.folded("last: xfs randread 4KiB 16: ", ["median read_iops 16,606 (n = 2)"], columns).split("\n") == lines
    )


@pytest.mark.parametrize(
    ("lanes", "lines", "shown"),
    [
        (["san1: 4KiB", "san2: 8KiB"], 3, ["san1: 4KiB | san2: 8KiB"]),
        (["san1: 4KiB random", "san2: 8KiB"], 3, ["san1: 4KiB random", "san2: 8KiB"]),
        (["a: 128KiB", "b: 128KiB", "c: 128KiB"], 2, ["a: 128KiB", "b: 128KiB", "and 1 more"]),
        (["/srv/database/of-customers compressed 4KiB"], 3, ["/srv/database/of-customers", "  compressed 4KiB"]),
    ],
)
def test_lanes_that_one_line_does_not_hold_have_a_line_each(lanes: list[str], lines: int, shown: list[str]) -> None:
    assert progress.in_lines(lanes, 26, lines).split("\n") == shown


def test_a_program_without_clauses_shows_the_metric_that_its_table_will_show() -> None:
    metrics = [
        Metric("usr_cpu", "share", means="processor_time"),
        Metric("made", "count"),
        Metric("speed", "iops", better="higher"),
        Metric("queue", "number", better="lower", means="observation"),
    ]
    assert summary.usual_of_load([ELAPSED, *metrics]) == ["speed", "made", "elapsed"]
    assert summary.usual_of_load([*metrics, Metric("io", "iops", means="read.operations")])[0] == "io"
