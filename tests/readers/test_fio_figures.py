"""Figures of fio's reports that cannot be: what fio wrote is taken, and what somebody changed is not."""

from __future__ import annotations

import copy
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from zlang.readers import fio, fio_figures

MODES = {
    "random": "--rw=randrw --bs=4096",
    "threads": "--rw=randrw --bs=4096 --numjobs=3 --thread=1",
    "grouped": "--rw=randrw --bs=4096 --numjobs=3 --thread=1 --group_reporting=1",
    "verified": "--rw=randwrite --bs=4096 --verify=crc32c",
    "syncs": "--rw=randwrite --bs=4096 --fsync=4",
    "split": "--rw=randrw --bssplit=4k/50:8k/50",
    "range": "--rw=randread --bsrange=4k-64k",
    "two": "--rw=randrw --bs=4096,16384",
    "odd": "--rw=read --bs=12345",
    "rated": "--rw=randread --bs=4096 --rate_iops=2000",
    "ramped": "--rw=randrw --bs=4096 --ioengine=libaio --iodepth=32 --ramp_time=100ms --time_based=1 --runtime=200ms",
    "thinking": "--rw=randread --bs=4096 --thinktime=1000",
    "strided": "--rw=randread --bs=4096 --zonemode=strided --zonesize=64k --zonerange=128k --io_size=1M",
    "mixed": "--rw=randrw --bs=4096 --unified_rw_reporting=mixed",
    "deep": "--rw=randrw --bs=4096 --direct=0 --ioengine=libaio --iodepth=64 --numjobs=2 --group_reporting=1",
    "read back": "--rw=randrw --bs=4096 --ioengine=libaio --iodepth=16 --verify=md5 --verify_async=2 --loops=2",
    "trimmed": "--rw=randwrite --bs=4096 --ioengine=null --iodepth=8 --fsync=16 --end_fsync=1",
    "late": "--rw=randread --bs=4096 --startdelay=50ms --thinktime=500 --thinktime_blocks=4 --rwmixread=70",
    "one": "--rw=read --bs=2M",
    "untimed": "--rw=randread --bs=4096 --gtod_reduce=1",
    "processor": "--ioengine=cpuio --cpuload=20 --runtime=100ms --time_based=1",
}
SHARES = (0.5, 0.9, 1.1, 2.0, 10.0, -1.0, 0.0)


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize("mode", MODES)
def test_what_fio_reports_agrees_with_itself(mode: str, tmp_path: Path) -> None:
    report = _report(MODES[mode], tmp_path)
    shared = report.get("global options", {})
    assert [problem for job in report["jobs"] for problem in fio_figures.contradictions(job, shared)] == []


@pytest.mark.parametrize(
    ("key", "value"), [("iops", -1), ("iops", 0), ("iops", 1e26), ("iops", 1e-320), ("io_bytes", -1), ("runtime", 1)]
)
def test_a_figure_that_cannot_be_is_refused_by_its_name(key: str, value: float) -> None:
    report = _sample()
    report["jobs"][0]["read"][key] = value
    reading = fio.parse(orjson.dumps(report), {})
    assert reading.problems
    assert not reading.metrics


@pytest.mark.parametrize("value", [-1, 1e26, 1e-320, float("nan")])
def test_a_count_of_syncs_that_cannot_be_is_refused(value: float) -> None:
    report = _sample()
    report["jobs"][0]["sync"]["lat_ns"]["N"] = value
    reading = fio.parse(orjson.dumps(report).replace(b"null", b"NaN"), {})
    assert reading.problems
    assert not reading.metrics


def test_every_percentile_is_that_of_the_bins() -> None:
    sample = _sample()
    for share, value in sample["jobs"][0]["read"]["clat_ns"]["percentile"].items():
        for other in (value // 2, value * 2):
            report = copy.deepcopy(sample)
            report["jobs"][0]["read"]["clat_ns"]["percentile"][share] = other
            assert fio.parse(orjson.dumps(report), {}).problems


NOT_COMPARED = {"timestamp_ms", "sys_cpu", "usr_cpu", "ctx", "minf", "majf", "job_runtime"}
"""Figures of which the report has no other account; the window of the trial bounds the first one."""
SELDOM_FOUND: dict[tuple[object, ...], int] = {("slat_ns", "N"): 1, ("lat_ns", "max"): 1, ("lat_ns", "mean"): 2}
"""How often one changed figure is taken by direction, where fio has no percentiles: docs/reliability.md."""


def test_a_changed_figure_is_refused_or_not_taken() -> None:
    sample = _sample()
    expected = fio.parse(orjson.dumps(sample), {})
    assert not expected.problems
    taken: Counter[tuple[object, ...]] = Counter()
    for path, value in _figures(sample):
        for changed in _others(value):
            report = copy.deepcopy(sample)
            holder = report
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = changed
            reading = fio.parse(orjson.dumps(report), {})
            if not reading.problems and reading != expected:
                taken[path[-2:]] += path[-1] not in NOT_COMPARED
    del taken["lat_ns", "N"]  # of a sync that nobody asked for
    assert {path: count for path, count in taken.items() if count > SELDOM_FOUND.get(path, 0)} == {}


def _figures(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], float]]:
    if isinstance(part, dict | list):
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            yield from _figures(value, (*path, key))
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield path, part


def _others(value: float) -> list[float]:
    """Other values than this one, as somebody might write."""
    others = [value * share for share in SHARES] if value else [1]
    return [other for other in (map(int, others) if isinstance(value, int) else others) if other != value]


def _sample() -> Any:
    for path in sorted((Path(__file__).parent / "data").rglob("*.json")):
        data = path.read_bytes()
        if b'"clat_ns"' not in data or data[:1] != b"{":
            continue
        report = orjson.loads(data)
        first = report["jobs"][0]
        times = first["read"].get("clat_ns", {})
        if {"bins", "percentile"} <= times.keys() and len(times["bins"]) > 2 and not fio.parse(data, {}).problems:
            report["jobs"] = [first]
            return report
    raise AssertionError("there is no report to change")


def _report(options: str, folder: Path) -> Any:
    made = folder / "report.json"
    words = ["fio", "--name=j", f"--filename={folder}/f", "--size=2M", *options.split()]
    subprocess.run(
        [*words, "--output-format=json+", f"--output={made}"], cwd=folder, check=True, capture_output=True, timeout=60
    )
    return orjson.loads(made.read_bytes())
