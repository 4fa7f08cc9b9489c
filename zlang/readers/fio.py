"""fio's JSON report, as metrics and histograms, or as the reasons why nothing was measured.

In: the artefact (`json` or `json+`) and the step's own output. Args: `jobs`, the number of entries that the report must
have; `runtime` (seconds) or `runtime_ns`, how long each job had to run; where neither is there `size`, the bytes that
each job had to move; `concurrent`, that jobs of several groups ran at the same time; `stream`, the only job that is
read, of several that were begun together; `logs`, the directory of its logs; `counted`, a file in which there may be
copies of /proc/PID/io from before fio and from after it. Out: a `Reading` with a direction's metrics only where that
direction did I/O.
Rule: a report is valid only if it has everything that was requested (`fio_problems`).

Several jobs are one load: their rates are added up, and percentiles are taken from the merged bins of `json+`.
Percentiles are never averaged; if there are several jobs without bins, there are no percentiles.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from itertools import chain, islice

import orjson

from zlang.errors import reason_of
from zlang.files import Place, read_regular
from zlang.frozen import replace
from zlang.hints import Any
from zlang.metrics import PERCENTILES
from zlang.plan.plan import Reader, Step
from zlang.readers import fio_figures, fio_intervals, fio_problems
from zlang.readers.fio_figures import DIRECTIONS
from zlang.readers.reading import LONGEST, OF_THE_MACHINE, Histogram, Reading, Window, merge, percentiles, text_of

KINDS = ("clat", "lat", "slat")
"""fio's names of latencies: from submission to completion, in total, and until submission."""
_Part = Any  # an object of the report: fio_problems.problems checks its fields before the metrics are read
_FIO_KEYS = {"p50": "50.000000", "p95": "95.000000", "p99": "99.000000", "p999": "99.900000"}
_RATES = {"iops": "iops", "bw": "bw_bytes", "bytes": "io_bytes", "ios": "total_ios"}
"""Metrics of a direction, and fio's names of what they are the sums of."""
_STARTS = re.compile(rb"^\{[ \t]*\r?$", re.MULTILINE)
_WAITED = re.compile(r"delay=([\d.]+);")
_SEED = re.compile(r"--randseed=(\d+)")
_READ_BYTES = re.compile(r"^read_bytes: (\d+)$", re.MULTILINE)


def read(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """Read the metrics that fio measured, or the reason why there are none."""
    try:
        data = read_regular(directory / reader.artefact, LONGEST)
    except FileNotFoundError:
        data = None
    except OSError as error:
        if error.errno in OF_THE_MACHINE:
            raise
        return fio_problems.failed(
            [f"{reader.artefact} cannot be read: {reason_of(error)}"], _messages(directory, step, reader.artefact)
        )
    messages = _messages(directory, step, reader.artefact)
    if not data or data.isspace():
        missing = "was not written" if data is None else "is empty"
        return fio_problems.failed([f"{reader.artefact} {missing}"], messages)
    reading = parse(data, reader.args, messages, reader.artefact, frozenset(_SEED.findall(step.command)))
    logs, stream = reader.args.get("logs"), reader.args.get("stream")
    if isinstance(logs, str) and isinstance(stream, str) and not reading.problems:
        intervals = fio_intervals.find(directory / logs, stream, reading)
        reading = replace(reading, window=intervals.whole if intervals else reading.window, intervals=intervals)
    fetched = _fetched(directory, reader.args.get("counted"))
    return reading if fetched is None else replace(reading, fetched=fetched)


def _fetched(directory: Place, name: object) -> float | None:
    """The bytes that, according to the kernel, were read from devices while fio ran."""
    counts = _READ_BYTES.findall(text_of(directory / name) or "") if isinstance(name, str) else []
    return float(counts[-1]) - (float(counts[0]) if len(counts) > 1 else 0.0) if counts else None


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
        return fio_problems.failed([f"{name} contains no JSON"], text + data.decode("utf-8", "replace"))
    if start:
        text += data[:start].decode("utf-8", "replace")
    try:
        report = orjson.loads(data[start:] if start else data)
    except orjson.JSONDecodeError as error:
        return fio_problems.failed([_describe_broken_json(data[start:].decode("utf-8", "replace"), name, error)], text)
    try:
        every = report["jobs"]
        jobs = [job for job in every if job["jobname"] == args["stream"]] if "stream" in args else every
        for job in jobs:
            _subtract_syncs(job, report.get("global options") or {})
        problems = list(fio_problems.problems(jobs, args, text))
        if not problems:
            for job in jobs:
                fio_figures.number_bins(job)
            shared = report.get("global options")
            is_alone = not {"jobs", "stream"} & args.keys()
            contradicting = chain(
                fio_problems.of_another_trial(jobs, seeds),
                fio_figures.doubled(jobs, shared) if is_alone else (),
                *(fio_figures.contradictions(job, shared) for job in jobs),
            )
            problems = list(islice(contradicting, fio_problems.MOST_SHOWN))
        if problems:
            return fio_problems.failed(problems, text)
        reading = _reading(jobs, report.get("timestamp_ms"))
        return reading if jobs is every else replace(reading, window=_window(jobs, every, report.get("timestamp_ms")))
    # A report is a tree of some 500 values from another program; a wrong structure is reported in one place, here.
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        return fio_problems.failed([f"{name} is not a fio report ({type(error).__name__}: {error})"], text)


def find_error(data: bytes, message: str) -> str:
    """The error of a job in the report of a fio that failed, unless fio's `message` has it; empty if there is none."""
    try:
        jobs = orjson.loads(data[_start(data) or 0 :])["jobs"]
        failed = next((job for job in jobs if job["error"]), None)
        if failed is None or os.strerror(abs(failed["error"])) in message:
            return ""
        return fio_problems.error_of(failed) + fio_problems.advice_on_engine(failed)
    except (KeyError, TypeError, ValueError, AttributeError):  # not a report
        return ""


def _start(data: bytes) -> int | None:
    match = _STARTS.search(data)
    return match.start() if match else None


def _describe_broken_json(text: str, name: str, error: orjson.JSONDecodeError) -> str:
    try:
        after = text[json.JSONDecoder().raw_decode(text)[1] :].strip()
    except (ValueError, RecursionError):
        after = ""
    # Python also reads numbers that are not JSON, such as NaN.
    return (
        f"{name} continues after its end: {fio_problems.short(after)}"
        if after
        else f"{name} is incomplete or damaged ({error})"
    )


def _messages(directory: Place, step: Step, artefact: str) -> str:
    """The standard error and output of the step; usually both are empty."""
    text = ""
    for suffix in ("err", "out"):
        name = f"{step.name}.{suffix}"
        if name != artefact:
            text += text_of(directory / name) or ""
    return text if not text or text.endswith("\n") else text + "\n"


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


def _window(jobs: list[_Part], every: list[_Part], written: object) -> Window | None:
    """The period in which jobs that fio started together were measured; the report is written when the longest ends."""
    if not isinstance(written, int):
        return None
    began = written / 1000 - max(_before(job) + _longest(job) for job in every)
    begin = began + max(_before(job) for job in jobs)
    return begin, begin + max(_longest(job) for job in jobs)


def _before(job: _Part) -> float:
    """The seconds before a job was measured: its delay, also by its initial command, and its ramp time."""
    options = job.get("job options", {})
    waited = _WAITED.match(options.get("exec_prerun", ""))
    return float(waited[1] if waited else options.get("startdelay", 0)) + float(options.get("ramp_time", 0))


def _longest(job: _Part) -> float:
    return max((job[direction]["runtime"] for direction in DIRECTIONS if direction in job), default=0) / 1000


def _reading(jobs: list[_Part], written: object) -> Reading:
    """Combine jobs; `written` is when fio made its report, in ms, right after the last job (6 ms before fio ended)."""
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
    window = (end - longest / 1000, end) if end and longest else None
    return Reading(metrics, latency=tuple(latency), window=window, read=metrics.get("read_bytes"))


def _direction(name: str, parts: list[_Part], metrics: dict[str, float], latency: list[Histogram]) -> int:
    """Add the metrics of one direction over all jobs; return its duration in milliseconds."""
    runtime: int = max([part["runtime"] for part in parts])
    for metric, key in zip(_names(name, *_RATES), _RATES.values(), strict=True):
        metrics[metric] = sum([part[key] for part in parts])
    metrics[name + "_runtime"] = runtime / 1000
    for kind in KINDS:
        key = kind + "_ns"
        timed = [part[key] for part in parts if key in part and part[key]["N"]]
        if timed:
            _latency(name, kind, timed, metrics, latency)
    return runtime


@cache
def _names(start: str, *ends: str) -> tuple[str, ...]:
    """The names of metrics, the same objects for each report: they are then passed between processes only once."""
    return tuple([f"{start}_{end}" for end in ends])


def _latency(name: str, kind: str, timed: list[_Part], metrics: dict[str, float], latency: list[Histogram]) -> None:
    (distribution,) = _names(name, kind)
    mean, highest = _names(distribution, "mean", "max")
    only = timed[0] if len(timed) == 1 else None
    metrics[mean] = only["mean"] if only else sum(o["mean"] * o["N"] for o in timed) / sum(item["N"] for item in timed)
    metrics[highest] = max([item["max"] for item in timed])
    all_bins = [item["bins"] for item in timed if item.get("bins")]
    bins = all_bins[0] if len(all_bins) == 1 else merge(all_bins)
    listed = only.get("percentile") if only else None
    if listed and all(map(listed.__contains__, _FIO_KEYS.values())):
        metrics.update(zip(_names(distribution, *_FIO_KEYS), map(listed.__getitem__, _FIO_KEYS.values()), strict=True))
    elif bins and len(all_bins) == len(timed):
        result = percentiles(bins, [share for _, share in PERCENTILES])
        metrics.update(zip(_names(distribution, *[short for short, _ in PERCENTILES]), result, strict=True))
    if bins and len(all_bins) == len(timed):
        latency.append(Histogram(distribution, bins))


def _processor(jobs: list[_Part], metrics: dict[str, float]) -> None:
    """Add processor shares, weighted by the running time of each job, as fio's group_reporting does."""
    weights = [job["job_runtime"] for job in jobs]
    weight = sum(weights)
    for name in ("usr_cpu", "sys_cpu"):
        if weight:
            metrics[name] = sum([job[name] * w for job, w in zip(jobs, weights, strict=True)]) / weight
    for name in ("ctx", "majf", "minf"):
        metrics[name] = sum([job[name] for job in jobs])
