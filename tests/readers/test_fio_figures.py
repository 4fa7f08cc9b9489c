"""Test impossible figures in fio's reports: fio's own oddities are accepted, and altered figures are not."""

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
    "maximum": "--rw=read --bs=4k --size=220k --percentile_list=50:100",
    "untimed": "--rw=randread --bs=4096 --gtod_reduce=1",
    "processor": "--ioengine=cpuio --cpuload=20 --runtime=100ms --time_based=1",
}
SHARES = (0.5, 0.9, 1.1, 2.0, 10.0, -1.0, 0.0)


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize("mode", MODES)
def test_reports_of_fio_are_consistent(mode: str, tmp_path: Path) -> None:
    report = _report(MODES[mode], tmp_path)
    shared = report.get("global options", {})
    assert [problem for job in report["jobs"] for problem in _contradictions(job, shared)] == []


@pytest.mark.parametrize("other", ["write", "trim"])
def test_operations_that_contradict_rw_are_found(other: str, tmp_path: Path) -> None:
    report = _report("--rw=randread --bs=4096", tmp_path)
    assert fio.parse(orjson.dumps(report), {}).metrics
    report["jobs"][0][other]["total_ios"] = 1
    (problem,) = fio.parse(orjson.dumps(report), {}).problems
    assert problem.endswith("1 operations do not match `rw=randread`")


def test_a_job_has_no_more_entries_than_workers(tmp_path: Path) -> None:
    report = _report("--rw=randread --bs=4096", tmp_path)
    for more, entries, is_taken in (
        ({}, 2, False),
        ({"numjobs": "2"}, 2, True),
        ({"numjobs": "2"}, 3, False),
        ({"numjobs": "2", "group_reporting": "1"}, 2, False),
    ):
        job = copy.deepcopy(report["jobs"][0])
        job["job options"] |= more
        problems = fio.parse(orjson.dumps({**report, "jobs": [job] * entries}), {}).problems
        assert (problems == ()) is is_taken, problems


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
    """Return values other than this one, as a person might enter them."""
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


def _contradictions(job: dict[str, Any], shared: dict[str, Any] | None = None) -> list[str]:
    fio_figures.number_bins(job)
    return list(fio_figures.contradictions(job, shared))


def _job(**changes: object) -> dict[str, Any]:
    """Create an entry whose figures agree: 100 reads in 100 ms, of 1 ms or 2 ms each.

    `read__clat_ns__max=1` changes a figure, and None removes it.
    """
    times: dict[str, Any] = {"N": 100, "min": 1_000_000, "max": 1_000_000, "mean": 1_000_000.0, "stddev": 0.0}
    percentile = {"1.000000": 1_003_520, "50.000000": 1_003_520, "99.000000": 1_003_520}
    times |= {"percentile": percentile, "bins": {"1003520": 100}}
    read: dict[str, Any] = {"total_ios": 100, "io_bytes": 409_600, "io_kbytes": 400, "runtime": 100, "iops": 1000.0}
    read |= {"bw_bytes": 4_096_000, "bw": 4000, "short_ios": 0, "drop_ios": 0, "clat_ns": times}
    read["lat_ns"] = {key: times[key] for key in ("N", "min", "max", "mean", "stddev")}
    job: dict[str, Any] = {"jobname": "j", "job options": {"bs": "4k"}, "usr_cpu": 60.0, "sys_cpu": 40.0, "read": read}
    job = copy.deepcopy(job)
    for path, value in changes.items():
        *holders, key = path.split("__")
        holder = job
        for name in holders:
            holder = holder[name]
        holder[key] = value
        if value is None:
            del holder[key]
    return job


def _moved(count: int, per_second: int | None = None) -> dict[str, object]:
    """Return figures for this number of bytes in 100 ms, or for a different rate."""
    rate = 10 * count if per_second is None else per_second
    figures = {"io_bytes": count, "io_kbytes": count >> 10, "bw_bytes": rate, "bw": rate >> 10}
    return {f"read__{name}": value for name, value in figures.items()}


def _times(count: int, low: float, high: float, mean: float, spread: float) -> dict[str, object]:
    return {"read__lat_ns": {"N": count, "min": low, "max": high, "mean": mean, "stddev": spread}}


def _options(**options: str) -> dict[str, object]:
    return {"job options": {"bs": "4k", **options}}


_SPREAD = "read of job j: `lat_ns`: the standard deviation, {}, contradicts {}"
_HALF = _moved(204_800)
_TRIMS = {"total_ios": 100, "io_bytes": 204_800, "io_kbytes": 200, "runtime": 100, "iops": 1000.0}
_TRIMS |= {"bw_bytes": 2_048_000, "bw": 2000}
_COUNTS = ("elapsed", "job_runtime", "usr_cpu", "sys_cpu", "ctx", "majf", "minf")
_THREE = "n = 3 from 1000000 to 3000000 with the mean 2000000.0"
_NOT_COUNTED: dict[str, object] = {"read__short_ios": None, "read__drop_ios": None}
_MORE = {"read__clat_ns__N": 104, "read__clat_ns__bins": {"1003520": 104}}
_NONE = {"N": 0, "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0}
CONTRADICTIONS: list[tuple[dict[str, object], list[str]]] = [
    ({}, []),
    ({"usr_cpu": 65.0}, []),
    ({"usr_cpu": 65.1}, ["`usr_cpu` and `sys_cpu` of job j are 65.1 % and 40.0 %"]),
    ({"usr_cpu": 165.0, **_options(numjobs="2")}, []),
    ({"usr_cpu": 100.0, "job_runtime": 10}, []),
    ({"usr_cpu": 165.1, "job_runtime": 10}, ["`usr_cpu` and `sys_cpu` of job j are 165.1 % and 40.0 %"]),
    (_options(size="396k"), []),
    (_options(size="395k"), ["job j: 409600 bytes do not match 1 passes over 404480 bytes"]),
    (_options(size="4m", io_size="200k"), ["job j: 409600 bytes do not match 1 passes over 204800 bytes"]),
    (_options(size="396k", loops="2"), []),
    (_options(size="40k", loops="2"), ["job j: 409600 bytes do not match 2 passes over 40960 bytes"]),
    (_options(size="200k", numjobs="2"), []),
    (_options(size="200k", verify="md5"), []),
    (_options(size="190k", verify="md5"), ["job j: 409600 bytes do not match 2 passes over 194560 bytes"]),
    (_options(size="4k", time_based="1"), []),
    (_options(size="4k", runtime="1"), []),
    (_options(size="4k", bs="", bsrange="4k-8k"), []),
    (_options(size="0"), []),
    (_options(size="50%"), []),
    (_options(io_limit="200k", size="4m"), ["job j: 409600 bytes do not match 1 passes over 204800 bytes"]),
    (_options(size="4k", loops="many"), []),
    (_options(size="30k", loops="3", verify="md5", numjobs="2"), []),
    (_options(size="30k", loops="3", verify="md5"), ["job j: 409600 bytes do not match 6 passes over 30720 bytes"]),
    ({"write": _job()["read"], **_options(size="796k")}, []),
    ({"write": _job()["read"], **_options(size="795k")}, [
        "job j: 819200 bytes do not match 1 passes over 814080 bytes"
    ]),
    ({"read__clat_ns__percentile": {}}, []),
    ({"usr_cpu": -1.0}, ["`usr_cpu` of job j is -1.0"]),
    ({"usr_cpu": True}, ["`usr_cpu` of job j is True"]),
    ({"read__runtime": 1 << 63}, [f"`read.runtime` of job j is {1 << 63}"]),
    ({"read__clat_ns__N": 100.0}, ["`read.clat_ns.N` of job j is 100.0"]),
    ({"read__clat_ns__bins": {"1003520": -1}}, ["`read.clat_ns.1003520` of job j is -1"]),
    ({"read__clat_ns__bins": ""}, ["`read.clat_ns.bins` of job j is "]),
    ({"read__clat_ns__percentile": ""}, ["`read.clat_ns.percentile` of job j is "]),
    ({"read__io_kbytes": 401}, ["read of job j: 401 KiB do not match 409600 bytes"]),
    ({"read__bw": 4001}, []),
    ({"read__bw": 4002}, ["read of job j: 4002 KiB/s do not match 4096000 bytes/s"]),
    ({"read__iops": 1000.0005}, []),
    ({"read__iops": 1000.01}, ["read of job j: 1000.01 IOPS in 100 ms do not match 100 operations"]),
    ({"read__bw_bytes": 4_096_005}, []),
    ({"read__bw_bytes": 4_096_006}, ["read of job j: 4096006 bytes/s in 100 ms do not match 409600 bytes"]),
    ({"read__short_ios": 100}, []),
    ({"read__drop_ios": 101}, ["read of job j: `drop_ios` is 101 of 100 operations"]),
    (_options(bs="8k"), ["read of job j: 409600 bytes do not match 100 operations of 8192 bytes"]),
    (_options(bs="2k"), ["read of job j: 409600 bytes do not match 100 operations of 2048 bytes"]),
    (_options(bs="4k,8k"), []),
    (_options(bs="8k,4k"), ["read of job j: 409600 bytes do not match 100 operations of 8192 bytes"]),
    (_options(bs="8k", bssplit="4k/50"), []),
    (_options(bs="4Ki"), []),
    ({"job options": {"blocksize": "8k"}}, ["read of job j: 409600 bytes do not match 100 operations of 8192 bytes"]),
    ({**_HALF, **_options(numjobs="50")}, []),
    ({**_HALF, **_options(numjobs="40")}, ["read of job j: 204800 bytes do not match 100 operations of 4096 bytes"]),
    ({**_MORE, **_options(numjobs="2", iodepth="2", ramp_time="1s")}, []),
    ({**_MORE, **_options(numjobs="3", ramp_time="1s")}, [
        "read of job j: `clat_ns`: 104 operations were timed, but only 100 were done"
    ]),
    (
        {"read__lat_ns__mean": 900_000.0, "read__lat_ns__min": 900_000, "read__lat_ns__max": 900_000},
        [
            f"read of job j: the {key} of `lat_ns`, {value}, is below that of `clat_ns`, {whole}"
            for key, value, whole in (("min", 900_000, 10**6), ("mean", 900_000.0, 1e6), ("max", 900_000, 10**6))
        ],
    ),
    *((dict[str, object]({name: -1}), [f"`{name}` of job j is -1"]) for name in _COUNTS),
    ({"read__clat_ns__percentile": {"1.0": -1}}, ["`read.clat_ns.1.0` of job j is -1"]),
    ({"sync": {"lat_ns": {"N": 1, "min": 7, "max": 7, "mean": 7.0, "stddev": 90.0}}}, [
        "sync of job j: the standard deviation, 90.0, contradicts n = 1 from 7 to 7 with the mean 7.0"
    ]),
    ({**_moved(400_000, 4_000_005), **_options(bs="4000")}, []),
    ({**_moved(100_000_000, 1_000_001_002), **_options(bs="1000000")}, [
        "read of job j: 1000001002 bytes/s in 100 ms do not match 100000000 bytes"
    ]),
    ({"read__short_ios": 101}, ["read of job j: `short_ios` is 101 of 100 operations"]),
    (_NOT_COUNTED, []),
    ({"read__short_ios": 50, **_HALF}, []),
    ({**_NOT_COUNTED, **_moved(400_000)}, ["read of job j: 400000 bytes do not match 100 operations of 4096 bytes"]),
    (_moved(401_408), []),
    ({"trim": _TRIMS}, []),
    ({"read": None, "write": _job()["read"], **_options(bs="8k,4k")}, []),
    ({"read": None, "write": _job()["read"], **_options(bs="8k,")}, [
        "write of job j: 409600 bytes do not match 100 operations of 8192 bytes"
    ]),
    (_options(iodepth="many"), []),
    (_options(numjobs="many"), []),
    ({"read__lat_ns": {**_NONE, "bins": {"5": 1}}}, [
        "read of job j: `lat_ns`: a maximum of 0 ns, but no operation was timed"
    ]),
    (_times(100, 999_989, 1_000_000, 999_999.9, 1.0), []),
    (_times(100, 999_988, 1_000_000, 999_999.9, 1.0), [
        "read of job j: the min of `lat_ns`, 999988, is below that of `clat_ns`, 1000000"
    ]),
    ({**_times(99, 10**6, 2 * 10**6, 1.1e6, 301_511.3), **_options(io_submit_mode="offload")}, []),
    (_times(99, 10**6, 2 * 10**6, 1_030_309.1, 171_447.0), []),
    (_times(99, 10**6, 2 * 10**6, 1_030_314.1, 171_447.0), [
        "read of job j: `lat_ns`: 99 operations of 1030314.1 ns each do not fit into 100 ms with 1 at a time"
    ]),
    *((_times(3, 10**6, 3 * 10**6, 2e6, spread), []) for spread in (999_969.0, 1e6, 1_224_782.8)),
    *(
        (_times(3, 10**6, 3 * 10**6, 2e6, spread), [_SPREAD.format(spread, _THREE)])
        for spread in (999_900.0, 1_300_000.0)
    ),
    ({"read__clat_ns__N": 101, "read__clat_ns__bins": {"1003520": 101}}, [
        "read of job j: `clat_ns`: 101 operations were timed, but only 100 were done"
    ]),
    ({"read__clat_ns__bins": {"1003520": 99}}, ["read of job j: `clat_ns`: its bins hold 99 operations, not 100"]),
    ({"read__clat_ns__percentile": {"1.0": 1_003_520, "2.0": 1_003_519}}, [
        "read of job j: `clat_ns`: its percentiles are not in ascending order",
        "read of job j: `clat_ns`: its percentile 2 is 1003519, but its bins give 1003520",
    ]),
    ({"read__lat_ns__stddev": 12.0}, [
        _SPREAD.format("12.0", "n = 100 from 1000000 to 1000000 with the mean 1000000.0")
    ]),
    ({"read__lat_ns__max": 2_000_000}, [
        _SPREAD.format("0.0", "n = 100 from 1000000 to 2000000 with the mean 1000000.0")
    ]),
    ({"read__lat_ns": _NONE}, []),
    ({"read__lat_ns": {"N": 0, "min": 0, "max": 7, "mean": 0.0, "stddev": 0.0}}, [
        "read of job j: `lat_ns`: a maximum of 7 ns, but no operation was timed"
    ]),
    ({"read__lat_ns": {"N": 1, "min": 98 * 10**6, "max": 98 * 10**6, "mean": 98e6, "stddev": 0.0}}, []),
    ({"read__lat_ns": {"N": 1, "min": 98 * 10**6, "max": 98 * 10**6, "mean": 98e6, "stddev": 9e4}}, [
        _SPREAD.format("90000.0", "n = 1 from 98000000 to 98000000 with the mean 98000000.0")
    ]),
    ({"read__lat_ns": {"N": 99, "min": 10**6, "max": 2 * 10**6, "mean": 1.1e6, "stddev": 301_511.3}}, [
        "read of job j: `lat_ns`: 99 operations of 1100000.0 ns each do not fit into 100 ms with 1 at a time"
    ]),
    ({"read__lat_ns": {"N": 99, "min": 10**6, "max": 2 * 10**6, "mean": 1.03e6, "stddev": 171_447.0}}, []),
    (
        {
            "read__lat_ns": {"N": 99, "min": 10**6, "max": 2 * 10**6, "mean": 1.1e6, "stddev": 301_511.3},
            **_options(iodepth="2"),
        },
        [],
    ),
    (
        {
            "read__lat_ns": {"N": 99, "min": 10**6, "max": 9 * 10**6, "mean": 1.1e6, "stddev": 810_000.0},
            **_options(ramp_time="1s"),
        },
        [],
    ),
    ({"read__total_ios": 0, "read__iops": 0.0, "read__clat_ns": _NONE, "read__lat_ns": _NONE}, [
        "read of job j: 409600 bytes were moved, but there were no operations"
    ]),
    ({"read__total_ios": 0, "read__iops": 0.0, "read__clat_ns": _NONE, "read__lat_ns": _NONE, **_NOT_COUNTED}, [
        "read of job j: 409600 bytes were moved, but there were no operations"
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "sentences"), CONTRADICTIONS)
def test_messages_about_inconsistent_figures(changes: dict[str, object], sentences: list[str]) -> None:
    assert _contradictions(_job(**changes)) == sentences


def test_group_reporting_sums_the_bytes_of_all_jobs() -> None:
    assert _contradictions(_job(**_options(size="4k")), {"group_reporting": "1"}) == []


OWN = {"read": "read", "randread": "read", "write": "write", "randwrite": "write"}


@pytest.mark.parametrize("other", ["read", "write", "trim"])
@pytest.mark.parametrize("pattern", OWN)
@pytest.mark.parametrize("option", ["rw={}", "readwrite={}", "rw={}:8"])
def test_a_job_of_one_direction_does_nothing_in_another(option: str, pattern: str, other: str) -> None:
    name, _, value = option.format(pattern).partition("=")
    job = _job(**{"job options": {name: value}, "read": {}, other: {**_TRIMS, "total_ios": 1}})
    unwanted = [each for each in _contradictions(job) if "do not match `rw" in each]
    expected = f"{other} of job j: 1 operations do not match `rw={pattern}`"
    assert unwanted == ([] if other == OWN[pattern] else [expected])
    job["job options"]["verify"] = "md5"
    assert not [each for each in _contradictions(job) if "do not match `rw" in each]


def test_a_job_of_both_directions_does_both() -> None:
    for options in ({"rw": "randrw"}, {}):
        job = _job(**{"job options": options, "write": _job()["read"], "trim": _TRIMS})
        assert _contradictions(job) == []


@pytest.mark.parametrize(("workers", "entries", "is_taken"), [(None, 1, True), (None, 2, False), ("2", 2, True)])
def test_entries_of_a_job_are_counted_by_its_workers(workers: str | None, entries: int, *, is_taken: bool) -> None:
    shared = {"numjobs": workers} if workers else None
    for job in (_job(), _job(**{"job options": None})):
        sentences = [] if is_taken else [f"there are {entries} entries of job j, which has 1"]
        assert list(fio_figures.doubled([job] * entries, shared)) == sentences


LATENCIES: list[tuple[dict[str, object], str]] = [
    ({"min": 1_000_030}, "the mean, 1000000.0, is not between 1000030 and 1000000"),
    ({"max": 999_950}, "the mean, 1000000.0, is not between 1000000 and 999950"),
    ({"percentile": {"1.0": 900_000, "99.0": 1_003_520}}, "its percentiles, 900000 to 1003520, are not between 10"),
    ({"percentile": {"1.0": 1_003_520, "99.0": 1_100_000}}, "its percentiles, 1003520 to 1100000, are not between"),
    ({"bins": {"1003520": 99, "900000": 1}}, "its bins, 900000 to 1003520, are not between 1000000 and 1000000"),
    ({"bins": {"1003520": 99, "1100000": 1}}, "its bins, 1003520 to 1100000, are not between 1000000 and 1000000"),
    ({"bins": {"1100000": 100}}, "the mean, 1000000.0, does not match its bins, 1100000"),
    ({"bins": {"900000": 100}}, "the mean, 1000000.0, does not match its bins, 900000"),
    ({"bins": {"1040000": 100}}, "the mean, 1000000.0, does not match its bins, 1040000"),
    ({"min": 0, "max": 3, "mean": 1.0, "bins": {"3": 100}}, "the mean, 1.0, does not match its bins, 3"),
    ({"mean": 1_000_012.0}, "the mean, 1000012.0, is not between 1000000 and 1000000"),
    ({"percentile": {"1.0": 984_373}}, "its percentiles, 984373 to 984373, are not between"),
    ({"percentile": {"1.0": 1_015_627}}, "its percentiles, 1015627 to 1015627, are not between"),
    ({"percentile": {"1.0": 1_003_520, "50.0": 1_003_520, "99.0": 1_100_000}}, "its percentiles, 1003520 to 1100000,"),
    ({"percentile": {"100.0": 1_003_519}}, "its percentile 100 is 1003519, but its bins give 1003520"),
    ({"bins": {"1003520": 99, "984373": 1}}, "its bins, 984373 to 1003520, are not between 1000000 and 1000000"),
    ({"bins": {"1003520": 99, "1015627": 1}}, "its bins, 1003520 to 1015627, are not between 1000000 and 1000000"),
]
_TWO_BINS: dict[str, object] = {"max": 1_010_000, "mean": 1_006_760.0, "bins": {"1003520": 50, "1010000": 50}}
AGREEING: list[tuple[dict[str, object], str]] = [
    ({"min": 0, "max": 2, "mean": 1.0, "bins": {"2": 100}}, "the mean, 1.0, does not match its bins"),
    ({"mean": 10**6 * (1 + 1e-5) + 1}, "the mean, "),
    ({"percentile": {"1.0": 984_374}}, "its percentiles, "),
    ({"percentile": {"1.0": 1_015_626}}, "its percentiles, "),
    ({"percentile": {"100.0": 1_003_520}}, "its percentile 100 "),
    ({"bins": {"1003520": 99, "984374": 1}}, "its bins, "),
    ({"bins": {"1003520": 99, "1015626": 1}}, "its bins, "),
    ({**_TWO_BINS, "percentile": {"50.0": 1_003_520}}, "its percentile 50 "),
    ({**_TWO_BINS, "percentile": {"100.0": 1_010_000}}, "its percentile 100 "),
    ({**_TWO_BINS, "percentile": {"50.0": 1_010_000}}, "its percentile 50 "),
]
"""Latencies at the edge of what fio rounds."""


@pytest.mark.parametrize(("changes", "beginning"), LATENCIES)
def test_messages_about_inconsistent_latencies(changes: dict[str, object], beginning: str) -> None:
    job = _job()
    job["read"]["clat_ns"] |= changes
    job["read"]["lat_ns"] = {"N": 0, "max": 0}
    sentences = _contradictions(job)
    assert any(sentence.startswith(f"read of job j: `clat_ns`: {beginning}") for sentence in sentences), sentences


@pytest.mark.parametrize(("changes", "absent_message"), AGREEING)
def test_consistent_latencies_have_no_message(changes: dict[str, object], absent_message: str) -> None:
    job = _job()
    job["read"]["clat_ns"] |= changes
    assert not [each for each in _contradictions(job) if each.startswith(f"read of job j: `clat_ns`: {absent_message}")]


def test_options_of_all_jobs_hold_for_a_job_without_its_own() -> None:
    (sentence,) = _contradictions(_job(**{"job options": None}), {"bs": "8k"})
    assert sentence == "read of job j: 409600 bytes do not match 100 operations of 8192 bytes"
