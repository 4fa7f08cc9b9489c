"""Check that the library declares every metric that readers yield, and that each reader named there exists."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import reader_samples as samples

from zlang import metrics
from zlang.check import library
from zlang.check.types import NUMERIC, SCALARS, STORED
from zlang.readers import streams
from zlang.readers.registry import READERS

DECLARED = library.load().readers
SAMPLES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "arcstats": [("arcstats-2.1.txt", {}), ("arcstats-2.3.txt", {})],
    "capacity": [("capacity-after.txt", {"before": "capacity-before.txt"})],
    "diskstats": [("diskstats.txt", {})],
    "fio": [(f"{name}.json", {}) for name in ("percentiles", "trim", "mixed", "single", "unified", "four_jobs")],
    "iostat": [("iostat.json", {})],
    "meminfo": [("meminfo.txt", {})],
    "mpstat": [("mpstat.json", {})],
    "pressure": [("pressure.txt", {})],
    "rounds": [("rounds.txt", {})],
    "shell": [("shell.out", {"metrics": [["time"]], "window": (10.0, 12.5)})],
    "smart": [("smart-after.txt", {"before": "smart-before.txt"})],
    "sysstat_x": [(f"sysstat_x-{name}.txt", {}) for name in ("before", "hdfs", "wide")],
    "throttling": [("throttling-after.txt", {"before": "throttling-before.txt"})],
    "vmstat": [("vmstat.txt", {}), ("vmstat-active.txt", {}), ("vmstat-gu.txt", {})],
    "zpool_iostat": [("zpool_iostat-zfs-fuse.txt", {})],
}
"""Output in `tests/readers/data` that each reader understands: together it has all of the reader's metrics."""
VALUES = samples.DATA / "metrics.txt"


def test_every_reader_is_declared() -> None:
    """The reader for several streams belongs to no tool: it receives the readings of the streams' readers."""
    assert set(DECLARED) == {*READERS, streams.NAME}


@pytest.mark.parametrize("tool", [name for name in READERS if DECLARED[name]])
def test_a_reader_yields_the_metrics_that_it_declares(tool: str) -> None:
    assert tool in SAMPLES, f"record output in tests/readers/data, and name it in SAMPLES as output of `{tool}`"
    declared = {metric.name for metric in metrics.in_trials(DECLARED[tool])}
    distributions = {metric.name for metric in DECLARED[tool] if metric.is_distribution}
    yielded: set[str] = set()
    for artefact, args in SAMPLES[tool]:
        reading = samples.read(samples.DATA, tool, artefact, **args)
        assert reading.problems == ()
        assert {h.metric for h in reading.latency} <= distributions
        yielded |= reading.metrics.keys()
    assert yielded <= declared, f"declare in `reader {tool}` of stdlib/*.zexp: {', '.join(yielded - declared)}"
    assert declared <= yielded, (
        f"no output of `{tool}` in SAMPLES has {', '.join(declared - yielded)}: "
        f"read it in zlang/readers, or add output that has it to tests/readers/data and SAMPLES"
    )


def test_the_values_of_metrics_are_as_blessed() -> None:
    lines = []
    for tool, outputs in SAMPLES.items():
        for artefact, args in outputs:
            values = samples.read(samples.DATA, tool, artefact, **args).metrics
            lines += [f"{artefact} {name} {values[name]:.9g}\n" for name in sorted(values)]
    if os.environ.get("BLESS"):
        VALUES.write_text("".join(lines), "utf-8")
    changed = set(lines) ^ set(VALUES.read_text("utf-8").splitlines(keepends=True))
    assert not changed, (
        f"compare them with the output, then type BLESS=1 .venv/bin/pytest tests/readers/test_metrics.py"
        f"\n{''.join(sorted(changed))}"
    )


def test_a_command_has_the_metrics_that_it_declares(tmp_path: Path) -> None:
    (tmp_path / "out").write_text('n = 5\n{"hits": {"l2.arc": 7}}\nslept 250 ms\n')
    (tmp_path / "times.txt").write_text("0m0.00s 0m0.00s\n0m1.50s 0m0.25s\n")
    declarations: list[Any] = ["time", ["regex", "n=n = (.*)"], ["json", 'l2.hits=hits["l2.arc"]']]
    declarations += [["regex", "slept: duration in ms=slept ([0-9]+)"], ["regex", "too: duration in ns=slept (.*)"]]
    reading = samples.read(tmp_path, "shell", "out", (1.0, 3.0), metrics=declarations)
    assert reading.problems == ()
    times = {"elapsed": 2.0, "user_s": 1.5, "sys_s": 0.25}
    assert dict(reading.metrics) == {**times, "n": 5, "l2.hits": 7, "slept": 0.25, "too": 250e6}
    assert set(times) == {metric.name for metric in DECLARED["shell"]}
    assert metrics.column("l2.hits") == "l2_hits"


def test_every_declared_metric_is_described_and_has_a_unit_of_its_type() -> None:
    every = [metric for declared in DECLARED.values() for metric in metrics.in_trials(declared)]
    assert [metric.name for metric in every if not metric.doc] == []
    assert {metric.type for metric in every} <= NUMERIC
    assert [
        metric.name
        for metric in every
        if metric.unit != SCALARS[metric.type].unit and STORED[metric.unit][0] != metric.type
    ] == []
    (percentile,) = (metric for metric in every if metric.name == "read_clat_p999")
    assert percentile.doc == "read latency from submission to completion, percentile 99.9"
    assert (percentile.unit, percentile.better, percentile.means) == ("ns", "lower", "read.completion.p999")


def test_no_two_readers_declare_a_metric_differently() -> None:
    by_name: dict[str, metrics.Metric] = {}
    for declared in DECLARED.values():
        for metric in metrics.in_trials(declared):
            assert by_name.setdefault(metric.name, metric) == metric


def test_metrics_of_a_kind_are_read_in_the_units_that_the_tool_prints(tmp_path: Path) -> None:
    (tmp_path / "out").write_text('took 18.5 ms\n{"lat": 1500}\n')
    (tmp_path / "x.csv").write_text("a,t\n1,250\n2,500\n")
    declarations = [
        ["took", "duration", "regex", r"took ([0-9.]+) (\w+)", "", "stdout"],
        ["lat", "duration", "json", "lat", "ns", "stdout"],
        ["t", "duration", "csv", "t", "us", "./x.csv"],
    ]
    reading = samples.read(tmp_path, "shell", "out", found=declarations)
    assert reading.problems == ()
    assert dict(reading.metrics) == {"took": 0.0185, "lat": 1500, "t": 0.0005}


SERIES = [
    ["ops", "iops", "csv", "ops", "", "./x.csv", "t in ms"],
    ["lat", "duration", "csv", "lat_us", "us", "./x.csv", "t in ms"],
]


def test_the_rows_of_a_series_are_samples_and_its_metric_is_their_mean_over_time(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    (tmp_path / "x.csv").write_text("t, ops, lat_us\n500, 100, 250\n1000, 200, 250\n3000, 400, 500\n")
    reading = samples.read(tmp_path, "shell", "out", (1000.0, 1003.0), found=SERIES)
    assert reading.problems == ()
    assert dict(reading.metrics) == pytest.approx({"ops": (50 + 100 + 800) / 3, "lat": (250e-6 + 2 * 500e-6) / 3})
    assert [(sample.t, sample.metric, sample.value) for sample in reading.samples] == [
        (1000.5, "ops", 100),
        (1001.0, "ops", 200),
        (1003.0, "ops", 400),
        (1000.5, "lat", 250e-6),
        (1001.0, "lat", 250e-6),
        (1003.0, "lat", 500e-6),
    ]


def test_times_of_a_series_can_be_since_1970(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("t,ops\n1700000001,100\n1700000002,300\n1700000009,900\n")
    declarations = [["ops", "iops", "csv", "ops", "", "stdout", "t"]]
    reading = samples.read(tmp_path, "shell", "out", (1700000000.0, 1700000002.0), found=declarations)
    assert dict(reading.metrics) == {"ops": 200}
    assert [sample.t for sample in reading.samples] == [1700000001, 1700000002]


@pytest.mark.parametrize(
    ("declared", "value", "why"),
    [
        ("size", "-1", "x: a size cannot be `-1`"),
        ("iops", "-1", "x: a number per second cannot be `-1`"),
        ("count", "1e26", "x: a whole number cannot be `1e26`"),
        ("rate", "1e300MiB/s", "x: a rate cannot be `1e300MiB/s`"),
        ("duration in ms", "1e999999999", "x: `1e999999999` is not a number"),
        ("duration in min", "1e308", "x: `1e308` is not a number"),
    ],
)
def test_a_number_that_cannot_be_measured_is_refused(tmp_path: Path, declared: str, value: str, why: str) -> None:
    (tmp_path / "out").write_text(f"x={value}\n")
    reading = samples.read(tmp_path, "shell", "out", metrics=[["regex", f"x: {declared}=x=(.*)"]])
    assert (reading.metrics, reading.problems) == ({}, (why,))


@pytest.mark.parametrize(("declared", "value"), [("duration in ms", "-1"), ("number", "-1e26"), ("share", "-3")])
def test_a_difference_can_be_negative(tmp_path: Path, declared: str, value: str) -> None:
    (tmp_path / "out").write_text(f"x={value}\n")
    reading = samples.read(tmp_path, "shell", "out", metrics=[["regex", f"x: {declared}=x=(.*)"]])
    assert reading.problems == ()
    assert reading.metrics["x"] < 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("t,ops\n", "ops: the column `ops` has no rows"),
        ("s,ops\n1,2\n", "ops: there is no column `t`; the columns are s, ops"),
        ("t,ops\n2,1\n1,1\n", "ops: the times in `t` go back"),
        ("t,ops\nnoon,1\n", "the time: `noon` is not a number"),
        ("t,ops\n1,many\n", "ops: `many` is not a number"),
    ],
)
def test_series_that_cannot_be_read(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "stdout").write_text(text)
    declarations = [["ops", "iops", "csv", "ops", "", "stdout", "t"]]
    reading = samples.read(tmp_path, "shell", "stdout", (10.0, 20.0), found=declarations)
    assert reading.problems == (why,)
