"""Test fio's reader: real reports, and every known way in which fio exits 0 without having measured."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import reader_samples as samples
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.readers import fio
from zlang.readers.reading import merge, percentiles

BINS = st.dictionaries(st.integers(1, 10**10), st.integers(1, 10**6), min_size=1, max_size=30)
needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


# --- what counts


def test_one_job_has_the_printed_figures(tmp_path: Path) -> None:
    reading = samples.fio(tmp_path, "single", jobs=1, runtime=1)
    job = samples.report("single")["jobs"][0]
    assert reading.problems == ()
    for name in ("read", "write"):
        part, clat = job[name], job[name]["clat_ns"]
        figures = {k.removeprefix(f"{name}_"): v for k, v in reading.metrics.items() if k.startswith(f"{name}_")}
        assert figures == {
            "iops": part["iops"],
            "bw": part["bw_bytes"],
            "bytes": part["io_bytes"],
            "ios": part["total_ios"],
            "runtime": part["runtime"] / 1000,
            "clat_mean": clat["mean"],
            "clat_max": clat["max"],
            "clat_p50": clat["percentile"]["50.000000"],
            "clat_p95": clat["percentile"]["95.000000"],
            "clat_p99": clat["percentile"]["99.000000"],
            "clat_p999": clat["percentile"]["99.900000"],
            "lat_mean": part["lat_ns"]["mean"],
            "lat_max": part["lat_ns"]["max"],
        }
    others = {k: v for k, v in reading.metrics.items() if not k.startswith(("read_", "write_"))}
    assert others == {"fio_runtime": 1.001} | {k: job[k] for k in ("usr_cpu", "sys_cpu", "ctx", "majf", "minf")}
    assert [h.metric for h in reading.latency] == ["read_clat", "write_clat"]
    assert sum(reading.latency[0].bins.values()) == job["read"]["total_ios"]


def test_a_direction_without_io_has_no_metrics(tmp_path: Path) -> None:
    reading = samples.fio(tmp_path, "odirect")
    assert "read_iops" in reading.metrics
    assert not [name for name in reading.metrics if name.startswith(("write", "trim"))]


def test_an_asynchronous_engine_has_submission_latencies(tmp_path: Path) -> None:
    assert samples.fio(tmp_path, "zvol").metrics["read_slat_mean"] == 267907.530596


def test_jobs_are_added_up_and_percentiles_are_those_of_all_operations(tmp_path: Path) -> None:
    reading = samples.fio(tmp_path, "four_jobs", jobs=4)
    jobs = samples.report("four_jobs")["jobs"]
    assert reading.metrics["read_iops"] == pytest.approx(sum(job["read"]["iops"] for job in jobs))
    assert reading.metrics["read_bytes"] == 4 * 4194304
    every = sorted(
        int(ns) for job in jobs for ns, count in job["read"]["clat_ns"]["bins"].items() for _ in range(count)
    )
    assert reading.metrics["read_clat_p99"] == every[-(-len(every) * 99 // 100) - 1]
    assert reading.metrics["read_clat_max"] == max(job["read"]["clat_ns"]["max"] for job in jobs)
    means = [job["read"]["clat_ns"]["mean"] for job in jobs]
    assert min(means) < reading.metrics["read_clat_mean"] < max(means)
    assert sum(reading.latency[0].bins.values()) == len(every)


def test_two_different_jobs(tmp_path: Path) -> None:
    reading = samples.fio(tmp_path, "two", jobs=2, runtime=1)
    jobs = samples.report("two")["jobs"]
    assert reading.metrics["read_iops"] == jobs[0]["read"]["iops"]
    assert reading.metrics["write_clat_p99"] == jobs[1]["write"]["clat_ns"]["percentile"]["99.000000"]


def test_without_bins_several_jobs_have_no_percentiles() -> None:
    report = samples.report("four_jobs")
    for job in report["jobs"]:
        del job["read"]["clat_ns"]["bins"]
    reading = fio.parse(json.dumps(report).encode(), {})
    assert reading.problems == ()
    assert not [name for name in reading.metrics if "_p" in name]
    assert reading.latency == ()


@pytest.mark.parametrize("name", ["single", "zvol", "two", "odirect", "four_jobs"])
def test_fios_own_percentiles_are_those_of_its_bins(name: str) -> None:
    for job in samples.report(name)["jobs"]:
        for direction in ("read", "write"):
            clat = job[direction]["clat_ns"]
            if "bins" in clat:
                bins = {int(ns): count for ns, count in clat["bins"].items()}
                shares = [round(float(key) * 10) for key in clat["percentile"] if float(key) <= 99.9]
                shown = [value for key, value in clat["percentile"].items() if float(key) <= 99.9]
                assert percentiles(bins, shares) == shown


def test_unified_reporting_is_a_separate_direction(tmp_path: Path) -> None:
    reading = samples.fio(tmp_path, "unified", jobs=1)
    assert reading.metrics["mixed_ios"] == 1024
    assert "read_iops" not in reading.metrics


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("note_first", {"jobs": 1, "size": 4194304}),
        ("steadystate_attained", {"runtime": 20}),
        ("stonewall", {"concurrent": True}),
        ("single", {"runtime_ns": 1_000_000_000}),
        ("single", {"runtime": 1.05}),
    ],
)
def test_reports_that_are_measurements(tmp_path: Path, name: str, args: dict[str, Any]) -> None:
    assert samples.fio(tmp_path, name, **args).problems == ()


# --- what does not


@pytest.mark.parametrize(
    ("name", "args", "problem"),
    [
        ("bad_option", {}, "fio.json was not written: unrecognized option '--foo=1'"),
        (
            "no_directory",
            {},
            "fio.json was not written: /nonexistent is not a directory; failed parsing directory=/nonexistent",
        ),
        ("mounted", {}, "job a did no I/O: /dev/loop0 appears mounted, and 'allow_mounted_write' isn't set. Aborting."),
        ("nosize", {}, "Invalid argument (job a: error 22): a: you need to specify size="),
        ("disk_full", {}, "No space left on device (job mixed: error 28): io_u error on file /srv/small/x"),
        ("nospace", {}, "No space left on device (job nospace: error 28): io_u error on file /tm/nospace.0.0"),
        ("group_worker_killed", {"runtime": 3, "jobs": 1}, "it was stopped: pid=7185, got signal=9"),
        ("worker_killed", {}, "fio.json continues after its end: fio: file hash not empty on exit"),
        ("sigterm", {"runtime": 30}, "job a ran for 1.448 s, not 30 s"),
        ("sigterm", {}, "it was stopped: terminating on signal 15"),
        ("single", {"runtime": 1.1}, "job rr ran for 1.001 s, not 1.1 s"),
        ("single", {"jobs": 4}, "its report has 1 jobs, not 4"),
        ("single", {"size": 10**10}, "job rr moved 146411520 bytes, not 10000000000"),
        ("cpuio", {}, "none of its jobs did I/O"),
        ("stonewall", {}, "its jobs are in several groups, which may have run one after another"),
        ("steadystate_missed", {"runtime": 3}, "did not attain its steady state (iops:0.010000%, found 1.528173%)"),
    ],
)
def test_reports_that_are_not_measurements(tmp_path: Path, name: str, args: dict[str, Any], problem: str) -> None:
    reading = samples.fio(tmp_path, name, **args)
    assert problem in "\n".join(reading.problems)
    assert (reading.metrics, reading.latency) == ({}, ())


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "fio.json is empty"),
        (b"\n \n", "fio.json is empty"),
        (b"fio: engine nope not loadable\n", "fio.json contains no JSON: engine nope not loadable"),
        (b'{"jobs": []}', "its report has no jobs"),
        (b"{}", "fio.json is not a fio report (KeyError: 'jobs')"),
        (b'{"jobs": [{"error": NaN}]}', "fio.json is incomplete or damaged (unexpected character"),
        (b'{"jobs": 7}', "fio.json is not a fio report (TypeError"),
        (b'{"jobs": [{"jobname": "a", "error": "x"}]}', "fio.json is not a fio report (TypeError"),
    ],
)
def test_files_that_are_not_reports(tmp_path: Path, data: bytes, problem: str) -> None:
    (tmp_path / "fio.json").write_bytes(data)
    assert samples.read(tmp_path, "fio", "fio.json").problems[0].startswith(problem)


@pytest.mark.parametrize(("seed", "is_taken"), [("7", True), ("8", False), (None, True)])
def test_the_report_of_another_trial_is_refused(tmp_path: Path, seed: str | None, *, is_taken: bool) -> None:
    report = samples.report("single")
    report["jobs"][0].setdefault("job options", {}).update({"randseed": seed} if seed else {})
    (tmp_path / "fio.json").write_text(json.dumps(report))
    step = replace(samples.step("measure", "fio", "fio.json"), command="fio --name=rr --randseed=7 --rw=randread")
    assert step.reader is not None
    reading = fio.read(tmp_path, step.reader, step)
    refused = ("job rr has the seed 8, not 7: the report is of another trial",)
    assert reading.problems == (() if is_taken else refused)


def _changed(**changes: object) -> tuple[str, ...]:
    report = samples.report("single")
    report["jobs"][0]["read"].update({k: v for k, v in changes.items() if k in report["jobs"][0]["read"]})
    report["jobs"][0].update({k: v for k, v in changes.items() if k not in report["jobs"][0]["read"]})
    return fio.parse(json.dumps(report).encode(), {"jobs": 1}).problems


def test_lost_short_and_failed_operations() -> None:
    assert _changed(short_ios=100) == ()
    assert _changed(short_ios=1000) == ("1000 of 17858 I/Os of job rr moved less than a block",)
    assert _changed(drop_ios=1) == ("1 I/Os of job rr were dropped",)
    assert _changed(total_err=3, first_error=5) == ("3 I/Os failed and were skipped (job rr: error 5)",)
    assert _changed(runtime=0) == ("job rr has no runtime: its worker did not end normally",)


def test_an_error_is_found_in_the_report_of_a_fio_that_failed() -> None:
    report = samples.report("single")
    assert fio.find_error(json.dumps(report).encode(), "exited with 1") == ""
    (job,) = report["jobs"]
    job["error"] = 28
    data = b"fio: a note\n" + json.dumps(report, indent=1).encode()
    assert fio.find_error(data, "exited with 1") == f"No space left on device (job {job['jobname']}: error 28)"
    assert fio.find_error(data, "io_u error on file data: No space left on device: write offset=0") == ""
    job["error"], job["job options"]["ioengine"] = -1, "libaio"
    assert (
        fio.find_error(json.dumps(report).encode(), "") == f"Operation not permitted (job {job['jobname']}: error -1)"
    )


@pytest.mark.parametrize(
    "data", [b"", b"fio: bad option", b"{", b"[]", b'{"jobs": [{}]}', b'{"jobs": [{"error": "x"}]}']
)
def test_other_text_has_no_error_of_fio(data: bytes) -> None:
    assert fio.find_error(data, "") == ""


def test_many_failed_jobs_are_not_all_listed() -> None:
    report = samples.report("four_jobs")
    report["jobs"] *= 3
    for job in report["jobs"]:
        job["error"] = 5
    problems = fio.parse(json.dumps(report).encode(), {"jobs": 12}).problems
    assert problems == ("Input/output error (job a: error 5)",) * 3 + ("and 9 more like these",)


# --- properties


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(["single", "note_first", "four_jobs"]))
def test_a_torn_report_never_counts(data: st.DataObject, name: str) -> None:
    whole = (samples.DATA / f"{name}.json").read_bytes().rstrip()
    reading = fio.parse(whole[: data.draw(st.integers(0, len(whole) - 1))], {})
    assert reading.problems
    assert not reading.metrics


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 3), st.integers().filter(bool) | st.text(min_size=1) | st.lists(st.integers(), min_size=1))
def test_an_error_in_any_job_never_counts(which: int, error: object) -> None:
    report = samples.report("four_jobs")
    report["jobs"][which]["error"] = error
    reading = fio.parse(json.dumps(report).encode(), {"jobs": 4})
    assert reading.problems
    assert not reading.metrics


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_report_never_raises(data: st.DataObject) -> None:
    damaged = bytearray((samples.DATA / "single.json").read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=8)):
        damaged[place] = data.draw(st.integers(0, 255))
    fio.parse(bytes(damaged), {"jobs": 1, "runtime": 1})


@given(st.lists(BINS, min_size=1, max_size=5), st.lists(st.integers(1, 1000), min_size=1, max_size=5).map(sorted))
def test_merged_percentiles_equal_brute_force(histograms: list[dict[int, int]], shares: list[int]) -> None:
    merged = merge(histograms)
    assert sum(merged.values()) == sum(sum(bins.values()) for bins in histograms)
    ordered = sorted((value, count) for bins in histograms for value, count in bins.items())
    ends = list(accumulate(count for _, count in ordered))
    brute = [next(v for (v, _), end in zip(ordered, ends, strict=True) if end * 1000 >= s * ends[-1]) for s in shares]
    assert percentiles(merged, shares) == brute


# --- fio itself


def _run(directory: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    with (directory / "measure.err").open("wb") as err, (directory / "measure.out").open("wb") as out:
        command = ["fio", *options, "--output-format=json+", "--output=fio.json"]
        return subprocess.run(command, cwd=directory, stdout=out, stderr=err, check=False, timeout=60)


@needs_fio
def test_a_real_run_counts(tmp_path: Path) -> None:
    job = ("--rw=randrw", "--bs=4096", "--size=1048576", "--ioengine=psync", "--runtime=1", "--time_based")
    assert _run(tmp_path, "--name=a b", *job, "--numjobs=2").returncode == 0
    reading = samples.read(tmp_path, "fio", "fio.json", jobs=2, runtime=1)
    assert reading.problems == ()
    assert reading.metrics["fio_runtime"] == pytest.approx(1, abs=0.05)
    assert 0 < reading.metrics["read_clat_p50"] <= reading.metrics["read_clat_p999"]
    assert {h.metric.partition("_")[0] for h in reading.latency} == {"read", "write"}


@needs_fio
def test_syncs_of_a_real_run_are_a_separate_distribution(tmp_path: Path) -> None:
    assert _run(tmp_path, "--name=a", "--rw=write", "--size=65536", "--bs=4096", "--fdatasync=1").returncode == 0
    reading = samples.read(tmp_path, "fio", "fio.json", jobs=1)
    assert reading.problems == ()
    (syncs,) = [histogram for histogram in reading.latency if histogram.metric == "sync_lat"]
    syncs_of_fio = json.loads((tmp_path / "fio.json").read_bytes())["jobs"][0]["sync"]
    assert sum(syncs.bins.values()) == syncs_of_fio["lat_ns"]["N"] >= 15
    assert reading.metrics["sync_lat_mean"] == syncs_of_fio["lat_ns"]["mean"]
    assert reading.metrics["sync_lat_max"] == syncs_of_fio["lat_ns"]["max"]
    assert reading.metrics["sync_lat_p50"] <= reading.metrics["sync_lat_p99"] <= reading.metrics["sync_lat_max"] * 1.02


@needs_fio
@pytest.mark.parametrize("sync", ["fsync=1", "fdatasync=1", "sync_file_range=write:1"])
def test_syncs_of_a_real_run_are_not_short_operations(tmp_path: Path, sync: str) -> None:
    job = ("--name=a", "--rw=randrw", "--size=262144", "--bs=4096", "--ioengine=psync", f"--{sync}")
    assert _run(tmp_path, *job).returncode == 0
    assert samples.read(tmp_path, "fio", "fio.json", jobs=1).problems == ()


@needs_fio
def test_a_real_write_to_a_full_device(tmp_path: Path) -> None:
    _run(tmp_path, "--name=w", "--filename=/dev/full", "--rw=write", "--bs=4096", "--size=4096", "--ioengine=sync")
    problem = samples.read(tmp_path, "fio", "fio.json", jobs=1).problems[0]
    assert problem.startswith("No space left on device (job w: error 28)")


def _has_read(number: int) -> bool:
    """Check that a process is measuring: fio waits forever for a worker that is killed before."""
    read = re.search(r"rchar: (\d+)", Path(f"/proc/{number}/io").read_text())
    return read is not None and int(read[1]) > 1 << 20


@needs_fio
def test_a_real_worker_is_killed(tmp_path: Path) -> None:
    job = ("--name=a", "--rw=randread", "--bs=4096", "--size=1048576", "--runtime=2", "--time_based", "--numjobs=2")
    command = ["fio", *job, "--group_reporting", "--output-format=json+", "--output=fio.json"]
    with (tmp_path / "measure.err").open("wb") as err:
        started = subprocess.Popen(command, cwd=tmp_path, stderr=err, stdout=subprocess.DEVNULL)
        children = Path(f"/proc/{started.pid}/task/{started.pid}/children")
        while not (workers := [int(child) for child in children.read_text().split() if _has_read(int(child))]):
            assert started.poll() is None
            time.sleep(0.02)
        os.kill(workers[0], signal.SIGKILL)
        assert started.wait(60) == 0, "fio says that all is well"
    assert "got signal=9" in " ".join(samples.read(tmp_path, "fio", "fio.json", jobs=1, runtime=2).problems)
