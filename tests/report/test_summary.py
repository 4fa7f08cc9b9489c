"""Test the summary of an experiment: medians, intervals, and trials that did not count."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_folders import RunBuilder, factor

from zlang.errors import RunError
from zlang.report.summary import Estimate, TableColumn, count_column, estimate, heading, summarise
from zlang.store.ingest import ingest

T_975_2 = 4.302652729911275  # of Student's t, two degrees of freedom: Fisher & Yates


pytestmark = pytest.mark.usefixtures("judged_by_print")


@pytest.fixture
def run(tmp_path: Path) -> RunBuilder:
    return RunBuilder(tmp_path / "runs" / "r")


def test_a_table_by_factor(run: RunBuilder, tmp_path: Path, db: Path) -> None:
    for replicate, value in enumerate((100, 110, 130), 1):
        run.measured("p0", replicate, {"bs": 131072, "iodepth": 1}, f'{{"metrics": {{"read_iops": {value}}}}}')
    run.measured("p1", 1, {"bs": 4096, "iodepth": 1}, '{"metrics": {"read_iops": 50, "write_iops": 0}}')
    run.measured("p1", 2, {"bs": 4096, "iodepth": 1}, '{"metrics": {"read_iops": 9}}', resident="5")
    run.failed("p2", 1, {"bs": 8192, "iodepth": 1}, "no space")
    run.failed("p2", 2, {"bs": 8192, "iodepth": 1}, "no space")
    run.done()
    ingest(tmp_path / "runs", db)
    summary = summarise(db)
    assert [(c.name, c.type, c.unit) for c in summary.columns] == [
        ("bs", "size", "bytes"),
        ("iodepth", "count", ""),
        ("n", "count", ""),
        ("read_iops", "estimate", "1/s"),
    ]
    assert [row[:3] for row in summary.rows] == [(4096, 1, 1), (8192, 1, 0), (131072, 1, 3)]
    assert summary.rows[0][3] == Estimate(1, 50.0, None, None)
    assert summary.rows[1][3] == Estimate(0, None, None, None)
    logs = [math.log(v) for v in (100, 110, 130)]
    half = T_975_2 * statistics.stdev(logs) / math.sqrt(3)
    cell = summary.rows[2][3]
    assert isinstance(cell, Estimate)
    assert (cell.n, cell.statistic) == (3, "geomean")
    assert cell.value == pytest.approx(statistics.geometric_mean((100, 110, 130)))
    assert cell.low == pytest.approx(math.exp(statistics.fmean(logs) - half))
    assert cell.high == pytest.approx(math.exp(statistics.fmean(logs) + half))
    assert (summary.experiment, summary.trials, summary.valid, summary.invalid) == ("quickstart", 7, 4, 3)
    assert summary.reasons == (("measure: no space", 2), ("cache not cold: 5 bytes resident", 1))


@pytest.mark.parametrize(
    ("metrics", "chosen"),
    [
        ('{"read_iops": 1, "write_iops": 2, "other": 3}', ["read_iops", "write_iops"]),
        ('{"write_iops": 2, "read_iops": 0}', ["write_iops"]),
        ('{"throughput": 7, "other": 3}', ["throughput", "elapsed"]),
        ('{"user_s": 7, "sys_s": 3}', ["elapsed"]),
        ("{}", ["elapsed"]),
    ],
)
def test_the_metrics_that_are_shown(run: RunBuilder, tmp_path: Path, db: Path, metrics: str, chosen: list[str]) -> None:
    run.measured("p0", 1, {"bs": 1, "iodepth": 1}, f'{{"metrics": {metrics}}}').done()
    ingest(tmp_path / "runs", db)
    assert [c.name for c in summarise(db).columns if c.type == "estimate"] == chosen


def test_a_run_of_which_nothing_counts(run: RunBuilder, tmp_path: Path, db: Path) -> None:
    run.failed("p0", 1, {"bs": 131072, "iodepth": 1}, "no space")
    run.done()
    ingest(tmp_path / "runs", db)
    assert summarise(db).rows == ((131072, 1, 0),)


def test_hostile_names_and_no_factors(tmp_path: Path, db: Path) -> None:
    RunBuilder(tmp_path / "runs" / "a", experiment="main", factors=(factor('or"der', "word"),)).measured(
        "p0", 1, {'or"der': "x"}, '{"metrics": {"a\\"b": 2}}'
    ).done()
    RunBuilder(tmp_path / "runs" / "b", experiment="none", factors=(), began=1.8e9).measured("p0", 1, {}, "{}").done()
    RunBuilder(tmp_path / "runs" / "c", experiment="empty", began=1.9e9).done()
    ingest(tmp_path / "runs", db)
    assert [c.name for c in summarise(db, "main").columns] == ['or"der', "n", 'a"b', "elapsed"]
    assert summarise(db, "none").rows == ((1, Estimate(1, 0.5, None, None)),)
    assert (summarise(db).experiment, summarise(db).rows) == ("empty", ())
    with pytest.raises(RunError, match="no experiment `mian`") as caught:
        summarise(db, "mian")
    assert "`main`" in caught.value.hint


@given(st.lists(st.floats(1e-3, 1e9), min_size=2, max_size=9))
def test_an_interval_holds_its_statistic(values: list[float]) -> None:
    interval = estimate(values)
    assert interval.value == pytest.approx(
        (statistics.median if len(values) > 5 else statistics.geometric_mean)(values)
    )
    if interval.value is not None and interval.low is not None and interval.high is not None:
        assert interval.low <= interval.value * (1 + 1e-9)
        assert interval.high >= interval.value * (1 - 1e-9)


@pytest.mark.parametrize(("n", "rank"), [(6, 1), (8, 1), (9, 2), (20, 6), (50, 18)])
def test_the_interval_of_a_median_is_that_of_the_tables(n: int, rank: int) -> None:
    """The ranks are those of table A3 in Conover, Practical Nonparametric Statistics (binomial, p = 0.5, at 95 %)."""
    interval = estimate([float(value) for value in range(1, n + 1)])
    assert (interval.low, interval.high, interval.statistic) == (rank, n + 1 - rank, "median")


@pytest.mark.parametrize("values", [[0.0, 1.0], [-1.0, 2.0], [math.inf, 1.0], [1e-300, 1e300]])
def test_values_that_have_no_interval(values: list[float]) -> None:
    assert estimate(values).low is None


def test_headings_name_the_statistic(run: RunBuilder, tmp_path: Path, db: Path) -> None:
    for replicate, value in enumerate((0, 1, 2), 1):
        run.measured("p", replicate, {"bs": 1, "iodepth": 1}, f'{{"metrics": {{"speed": {value}}}}}')
    run.done()
    ingest(tmp_path / "runs", db)
    summary = summarise(db)
    assert [heading(summary, n) for n in range(len(summary.columns))][-2] == "speed (median)"
    columns = [replace(column, name=f"median({column.name})") for column in summary.columns]
    named = replace(summary, columns=tuple(columns))
    assert [heading(named, n) for n in range(len(named.columns))][-2] == "median(speed)"


def test_equal_values_have_an_interval_without_width() -> None:
    interval = estimate([5.0, 5.0, 5.0])
    assert interval.low == pytest.approx(5.0)
    assert interval.high == pytest.approx(5.0)


def test_a_run_of_which_nothing_could_be_measured(tmp_path: Path, db: Path) -> None:
    run = RunBuilder(tmp_path / "runs" / "failed", factors=())
    run.failed("a", 1, {}, "no")
    run.done()
    ingest(tmp_path / "runs", db)
    assert summarise(db).rows == ((0,),)


def test_the_number_of_trials_has_a_name_that_no_factor_has() -> None:
    n, trials = (TableColumn(name, "count", "") for name in ("n", "trials"))
    assert [count_column(factors).name for factors in ([], [n], [n, trials])] == ["n", "trials", "trials_counted"]
