"""fio's JSON report, as metrics and histograms, or as the reasons why nothing was measured.

In: the artefact (`json` or `json+`) and the step's own output. Args: `jobs`, the number of entries that the report must
have; `runtime` (seconds) or `runtime_ns`, how long each job had to run; where neither is there `size`, the bytes that
each job had to move; `concurrent`, that jobs of several groups ran at the same time; `stream`, the only job that is
read, of several that were begun together; `logs`, the directory of its logs; `counted`, a file in which there may be a
copy of /proc/PID/io. Out: a `Reading` with a direction's metrics only where that direction did I/O.
Rule: fio's exit code and its `error` are not believed. It exits 0 with a well-formed report after a refused device, a
killed worker, a steady state that was not attained; so a report counts only if all of what was asked is in it.

Several jobs are one load: their rates are added up, and percentiles are taken from the merged bins of `json+`.
Percentiles are never averaged; where several jobs left no bins there are none.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson

from zlang.files import read_regular
from zlang.metrics import PERCENTILES
from zlang.plan.plan import Reader, Step
from zlang.readers import fio_figures, fio_intervals
from zlang.readers.fio_figures import DIRECTIONS
from zlang.readers.reading import LONGEST, OF_THE_MACHINE, Histogram, Reading, Window, merge, percentiles, text_of

KINDS = ("clat", "lat", "slat")
"""fio's names of latencies: from submission to completion, in total, and until submission."""

SHARE_MISSING = 0.05
"""A run may fall short by this share: fio itself ends 1 ms late, so only the skew between jobs' starts is forgiven."""

LEAST_MISSING = 0.05
"""Seconds that any run may fall short by: fio's timers and reports count in milliseconds, and start-up takes some."""

SHARE_SHORT = 0.01
"""Above this share of I/Os that moved less than a block, block size and latency no longer belong together."""

_Part = Any  # an object of the report: _problems looks at what it must hold, before the metrics are taken
_FIO_KEYS = {"p50": "50.000000", "p95": "95.000000", "p99": "99.000000", "p999": "99.900000"}
_MOST_SHOWN = 3
_whole = lru_cache(maxsize=4096)(int)  # fio has 1856 bins, so nearly all of their names were seen before
_MOST_TEXT = 300

_FILTERED = {"libaio", "io_uring", "io_uring_cmd"}
"""Engines whose system calls the filters of podman and Docker refuse."""
_REFUSED = {errno.EPERM, errno.ENOSYS}

_STARTS = re.compile(rb"^\{[ \t]*\r?$", re.MULTILINE)
_SEED = re.compile(r"--randseed=(\d+)")
_KILLED = re.compile(r"got signal=\d+|terminating on signal \d+|terminated on signal \d+")
_READ_BYTES = re.compile(r"^read_bytes: (\d+)$", re.MULTILINE)
_BANNER = re.compile(
    r"\S*: \(g=\d+\): |\.\.\.$|fio-\d|: Saving output of |Starting \d+ |note: |Did you mean |[{}\[\]\"]"
)


def read(directory: Path, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """The metrics that fio measured, or the reason why there are none."""
    try:
        data = read_regular(directory / reader.artefact, LONGEST)
    except FileNotFoundError:
        data = None
    except OSError as error:
        if error.errno in OF_THE_MACHINE:
            raise
        return _failed(
            [f"{reader.artefact} cannot be read: {error.strerror}"], _messages(directory, step, reader.artefact)
        )
    messages = _messages(directory, step, reader.artefact)
    if not data or data.isspace():
        missing = "was not written" if data is None else "is empty"
        return _failed([f"{reader.artefact} {missing}"], messages)
    reading = parse(data, reader.args, messages, reader.artefact, frozenset(_SEED.findall(step.command)))
    logs, stream = reader.args.get("logs"), reader.args.get("stream")
    if isinstance(logs, str) and isinstance(stream, str) and not reading.problems:
        reading = replace(reading, intervals=fio_intervals.find(directory / logs, stream, reading))
    read_bytes = reading.metrics.get("read_bytes")
    return replace(reading, read=read_bytes, fetched=_fetched(directory, reader.args.get("counted")))


def _fetched(directory: Path, name: object) -> float | None:
    """The bytes that the kernel counts as read from devices."""
    result = _READ_BYTES.search(text_of(directory / name) or "") if isinstance(name, str) else None
    return None if result is None else float(result[1])


def parse(
    data: bytes,
    args: Mapping[str, object],
    text: str = "",
    name: str = "fio.json",
    seeds: frozenset[str] = frozenset(),
) -> Reading:
    """Read a report; `text` is what fio printed elsewhere, `seeds` are those of its jobs, if they are known."""
    start = 0 if data[:1] == b"{" else _start(data)
    if start is None:
        return _failed([f"{name} holds no JSON"], text + data.decode("utf-8", "replace"))
    if start:
        text += data[:start].decode("utf-8", "replace")
    try:
        report = orjson.loads(data[start:] if start else data)
    except orjson.JSONDecodeError as error:
        return _failed([_describe_broken_json(data[start:].decode("utf-8", "replace"), name, error)], text)
    try:
        every = report["jobs"]
        jobs = [job for job in every if job["jobname"] == args["stream"]] if "stream" in args else every
        for job in jobs:
            _subtract_syncs(job, report.get("global options") or {})
        problems = list(_problems(jobs, args, text))
        if not problems:
            shared = report.get("global options")
            is_alone = not {"jobs", "stream"} & args.keys()
            contradicting = chain(
                _of_another_trial(jobs, seeds),
                fio_figures.doubled(jobs, shared) if is_alone else (),
                *(fio_figures.contradictions(job, shared) for job in jobs),
            )
            problems = list(islice(contradicting, _MOST_SHOWN))
        if problems:
            return _failed(problems, text)
        reading = _reading(jobs, report.get("timestamp_ms"))
        return reading if jobs is every else replace(reading, window=_window(jobs, every, report.get("timestamp_ms")))
    # A report is a tree of some 500 values from another program; one place says that it is not of fio's shape.
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        return _failed([f"{name} is not a fio report ({type(error).__name__}: {error})"], text)


def find_error(data: bytes, message: str) -> str:
    """The error of a job in the report of a fio that failed, unless fio's `message` has it; empty if there is none."""
    try:
        jobs = orjson.loads(data[_start(data) or 0 :])["jobs"]
        failed = next((job for job in jobs if job["error"]), None)
        if failed is None or os.strerror(abs(failed["error"])) in message:
            return ""
        return _error(failed) + _refused_engine(failed)
    except (KeyError, TypeError, ValueError, AttributeError):  # not a report
        return ""


def _error(job: _Part) -> str:
    return f"{os.strerror(abs(job['error']))} (job {job['jobname']}: error {job['error']})"


def _refused_engine(job: _Part) -> str:
    """What to do where the kernel refused the system calls of an engine, about which fio prints nothing."""
    engine = job.get("job options", {}).get("ioengine")
    has_begun = any(job[direction]["total_ios"] for direction in DIRECTIONS if direction in job)
    if engine not in _FILTERED or abs(job["error"]) not in _REFUSED or has_begun:
        return ""
    container = "start a container with `--security-opt seccomp=unconfined`"
    return f": the system calls of `ioengine = {engine}` were refused; {container}, or write `ioengine = psync`"


def _start(data: bytes) -> int | None:
    match = _STARTS.search(data)
    return match.start() if match else None


def _describe_broken_json(text: str, name: str, error: orjson.JSONDecodeError) -> str:
    try:
        after = text[json.JSONDecoder().raw_decode(text)[1] :].strip()
    except (ValueError, RecursionError):
        after = ""
    # Python also reads numbers that are not JSON, such as NaN.
    return f"{name} continues after its end: {_short(after)}" if after else f"{name} is incomplete or damaged ({error})"


# --- what fio said beside its report


def _messages(directory: Path, step: Step, artefact: str) -> str:
    """Standard error and output of the step; most often both are empty."""
    text = ""
    for suffix in ("err", "out"):
        name = f"{step.name}.{suffix}"
        if name != artefact:
            text += text_of(directory / name) or ""
    return text if not text or text.endswith("\n") else text + "\n"


def _failed(problems: list[str], text: str) -> Reading:
    """The problems, and fio's own words after the first one unless they are there already."""
    words = _words(text)
    if words and not any(words[0] in problem for problem in problems):
        problems[0] += ": " + _short("; ".join(words[:_MOST_SHOWN]))
    return Reading(problems=tuple(problems))


def _words(text: str) -> list[str]:
    """The lines that say something, each once: fio writes the same to standard error and to its report."""
    lines = (line.strip().removeprefix("fio: ") for line in text.splitlines())
    return list(dict.fromkeys(line for line in lines if line and not _BANNER.match(line)))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_TEXT else line[: _MOST_TEXT - 1] + "…"


# --- is it a measurement?


def _problems(jobs: _Part, args: Mapping[str, object], text: str) -> Iterator[str]:
    if text:
        # With group_reporting nothing else in the report shows that one of the workers is missing.
        for line in _words(text):
            if _KILLED.search(line):
                yield f"it was stopped: {line}"
    wanted = args.get("jobs")
    if not jobs:
        yield "its report has no jobs"
        return
    if isinstance(wanted, int) and len(jobs) != wanted:
        yield f"its report has {len(jobs)} jobs, not {wanted}"
    result = [problem for job in jobs for problem in _job_problems(job, args)]
    yield from result[:_MOST_SHOWN]
    if len(result) > _MOST_SHOWN:
        yield f"and {len(result) - _MOST_SHOWN} more like these"
    if all(_is_idle(job) for job in jobs):
        yield "none of its jobs did I/O"
    if len(jobs) > 1:
        yield from _waiting(jobs, args)


def _of_another_trial(jobs: list[_Part], seeds: frozenset[str]) -> Iterator[str]:
    """Jobs with a seed that was not given to this fio: each trial has its own."""
    for job in jobs:
        seed = job.get("job options", {}).get("randseed")
        if seeds and seed is not None and seed not in seeds:
            own = " or ".join(sorted(seeds))
            yield f"job {job['jobname']} has the seed {seed}, not {own}: the report is of another trial"


def _job_problems(job: _Part, args: Mapping[str, object]) -> Iterator[str]:
    """The problem of one entry; after an error the rest is only its consequence."""
    name = job["jobname"]
    if job["error"]:
        yield _error(job)
        return
    if job.get("total_err"):
        yield f"{job['total_err']} I/Os failed and were skipped (job {name}: error {job.get('first_error')})"
    parts = [job[direction] for direction in DIRECTIONS if direction in job]
    active = [part for part in parts if part["total_ios"] and part["io_bytes"]]
    if not active:
        if not _is_idle(job):
            yield f"job {name} did no I/O"
        return
    for part in active:
        if not part["runtime"]:
            yield f"job {name} has no runtime: its worker did not end by itself"
            return
        if part.get("drop_ios"):
            yield f"{part['drop_ios']} I/Os of job {name} were dropped"
        if part.get("short_ios", 0) > SHARE_SHORT * part["total_ios"]:
            yield f"{part['short_ios']} of {part['total_ios']} I/Os of job {name} moved less than a block"
    yield from _unfinished(job, active, args)


def _subtract_syncs(job: _Part, shared: _Part) -> None:
    """Take syncs from the short I/Os of an entry.

    Only `fsync` has a place in fio's counts of I/Os. The count of `fdatasync` lands one place beyond their end, on
    short reads, and that of `sync_file_range` on short writes (`total_io_u` in stat.h, fio 3.33).
    """
    syncs, options = job.get("sync", {}), {**shared, **job.get("job options", {})}
    part = job.get("read" if "fdatasync" in options else "write", {})
    misplaced = syncs.get("lat_ns", {}).get("N", 0) - syncs.get("total_ios", 0)
    if misplaced > 0 and "short_ios" in part:
        part["short_ios"] = max(0, part["short_ios"] - misplaced)


def _is_idle(job: _Part) -> bool:
    """A job that only burns processor time is a load, and does no I/O."""
    return bool(job.get("job options", {}).get("ioengine") == "cpuio")


def _unfinished(job: _Part, active: list[_Part], args: Mapping[str, object]) -> Iterator[str]:
    """Whether the job did all that it was asked to; a steady state that was attained ends it early."""
    name = job["jobname"]
    steady = job.get("steadystate")
    if steady:
        if not steady["attained"]:
            yield f"job {name} did not attain its steady state ({steady['ss']}, found {steady.get('criterion')})"
        return
    asked_seconds = _asked_seconds(args)
    size = args.get("size")
    if asked_seconds:
        ran = max(part["runtime"] for part in active) / 1000
        if ran < asked_seconds - max(SHARE_MISSING * asked_seconds, LEAST_MISSING):
            yield f"job {name} ran for {ran:g} s, not {asked_seconds:g} s"
    elif isinstance(size, int | float):
        moved = sum(part["io_bytes"] for part in active)
        if moved < (1 - SHARE_MISSING) * size:
            yield f"job {name} moved {moved} bytes, not {size}"


def _asked_seconds(args: Mapping[str, object]) -> float:
    seconds, nanoseconds = args.get("runtime"), args.get("runtime_ns")
    if isinstance(seconds, int | float):
        return float(seconds)
    return nanoseconds / 1e9 if isinstance(nanoseconds, int | float) else 0.0


def _waiting(jobs: list[_Part], args: Mapping[str, object]) -> Iterator[str]:
    """Groups of jobs that ran one after another (stonewall): the sum of their rates was never there.

    fio 3.33 shows neither start times nor every `stonewall`. A group is started by that or by `new_group`; unless the
    plan says that they are `concurrent`, only runtimes that do not fit one after another into the whole are believed.
    """
    longest: dict[int, int] = {}
    for job in jobs:
        runtime = max(job[direction]["runtime"] for direction in DIRECTIONS if direction in job)
        longest[job["groupid"]] = max(longest.get(job["groupid"], 0), runtime)
    if len(longest) > 1 and not args.get("concurrent") and sum(longest.values()) <= jobs[0]["elapsed"] * 1000:
        yield "its jobs are in several groups, which may have run one after another: their rates cannot be added up"


# --- metrics


def _window(jobs: list[_Part], every: list[_Part], written: object) -> Window | None:
    """When some jobs were measured, of several that fio began together: the longest ended when the report was made."""
    if not isinstance(written, int):
        return None
    began = written / 1000 - max(_before(job) + _longest(job) for job in every)
    begin = began + max(_before(job) for job in jobs)
    return begin, begin + max(_longest(job) for job in jobs)


def _before(job: _Part) -> float:
    """How many seconds a job waited, and ran without being measured."""
    options = job.get("job options", {})
    return sum(float(options[name]) for name in ("startdelay", "ramp_time") if name in options)


def _longest(job: _Part) -> float:
    return max((job[direction]["runtime"] for direction in DIRECTIONS if direction in job), default=0) / 1000


def _reading(jobs: list[_Part], written: object) -> Reading:
    """`written` is when fio made its report, in ms: right after the last job (measured: 6 ms before fio ended)."""
    metrics: dict[str, float] = {}
    latency: list[Histogram] = []
    longest = 0
    for direction in DIRECTIONS:
        parts = [job[direction] for job in jobs if direction in job and job[direction]["io_bytes"]]
        if parts:
            longest = max(longest, _direction(direction, parts, metrics, latency))
    syncs = [job["sync"]["lat_ns"] for job in jobs if job.get("sync", {}).get("lat_ns", {}).get("N")]
    if syncs:
        _latency("sync", "lat", syncs, metrics, latency)
    metrics["fio_runtime"] = longest / 1000
    _processor(jobs, metrics)
    end = written / 1000 if isinstance(written, int) else 0.0
    return Reading(metrics, (), tuple(latency), window=(end - longest / 1000, end) if end and longest else None)


def _direction(name: str, parts: list[_Part], metrics: dict[str, float], latency: list[Histogram]) -> int:
    """Add what was done in one direction by all jobs; returns how long it took, in milliseconds."""
    runtime: int = max(part["runtime"] for part in parts)
    metrics[name + "_iops"] = sum(part["iops"] for part in parts)
    metrics[name + "_bw"] = sum(part["bw_bytes"] for part in parts)
    metrics[name + "_bytes"] = sum(part["io_bytes"] for part in parts)
    metrics[name + "_ios"] = sum(part["total_ios"] for part in parts)
    metrics[name + "_runtime"] = runtime / 1000
    for kind in KINDS:
        key = kind + "_ns"
        timed = [part[key] for part in parts if key in part and part[key]["N"]]
        if timed:
            _latency(name, kind, timed, metrics, latency)
    return runtime


def _latency(name: str, kind: str, timed: list[_Part], metrics: dict[str, float], latency: list[Histogram]) -> None:
    prefix = f"{name}_{kind}_"
    count = sum(item["N"] for item in timed)
    metrics[prefix + "mean"] = timed[0]["mean"] if len(timed) == 1 else sum(o["mean"] * o["N"] for o in timed) / count
    metrics[prefix + "max"] = max(item["max"] for item in timed)
    all_bins = [
        dict(zip(map(_whole, item["bins"]), item["bins"].values(), strict=True)) for item in timed if item.get("bins")
    ]
    bins = all_bins[0] if len(all_bins) == 1 else merge(all_bins)
    listed = timed[0].get("percentile") if len(timed) == 1 else None
    if listed and all(key in listed for key in _FIO_KEYS.values()):
        for short, key in _FIO_KEYS.items():
            metrics[prefix + short] = listed[key]
    elif bins and len(all_bins) == len(timed):
        result = percentiles(bins, [share for _, share in PERCENTILES])
        metrics.update((prefix + short, value) for (short, _), value in zip(PERCENTILES, result, strict=True))
    if bins and len(all_bins) == len(timed):
        latency.append(Histogram(name, kind, bins))


def _processor(jobs: list[_Part], metrics: dict[str, float]) -> None:
    """Shares of a processor are weighted by how long each job ran, as fio's group_reporting does."""
    weights = [job["job_runtime"] for job in jobs]
    weight = sum(weights)
    for name in ("usr_cpu", "sys_cpu"):
        if weight:
            metrics[name] = sum(job[name] * w for job, w in zip(jobs, weights, strict=True)) / weight
    for name in ("ctx", "majf", "minf"):
        metrics[name] = sum(job[name] for job in jobs)
