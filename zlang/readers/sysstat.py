"""Output of `iostat -o JSON -x -d -t` and `mpstat -o JSON` of sysstat, as samples and means.

In: the artefact: a line `@ SECONDS` (since 1970, with a fraction: when the tool was started), and the document, whose
reports have times in whole seconds of UTC. Args: `interval`, in seconds.
Out: from iostat, samples `iostat_…` of each device, and metrics of the same names: rates of all whole disks together
(of all devices, if there are no whole disks), waiting times weighted by the I/O that waited, and the utilization of the
busiest device. From mpstat, samples `mpstat_…_cpu` of each processor and of all together (source `all`), and metrics of
the same names for all together.
Rule: if a signal ended the tool, the document has no end, and every complete report counts (measured with 12.6.1: it
writes each report at once; SIGTERM leaves the brackets open, SIGINT closes them).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from zlang.files import Place
from zlang.hints import Any
from zlang.plan.plan import Reader, Step
from zlang.readers import series
from zlang.readers.diskstats import whole_disks
from zlang.readers.reading import Reading, Sample, Window, text_of

_IOSTAT = {
    "iostat_read_iops": ("r/s", 1), "iostat_write_iops": ("w/s", 1),
    "iostat_discard_iops": ("d/s", 1), "iostat_flush_iops": ("f/s", 1),
    "iostat_read_bw": ("rkB/s", 1024), "iostat_write_bw": ("wkB/s", 1024), "iostat_discard_bw": ("dkB/s", 1024),
    "iostat_read_await": ("r_await", 10**6), "iostat_write_await": ("w_await", 10**6),
    "iostat_queue": ("aqu-sz", 1), "iostat_busy_ratio": ("util", 1),
}  # fmt: skip
"""For each metric of a device: sysstat's name, and the factor that converts it to base units."""
_MPSTAT = {
    f"mpstat_{word}_cpu": word
    for word in ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle")
}
"""Shares of a processor, and what sysstat calls them."""
_REPORT = re.compile(r"\{(?=\s*\"timestamp\")")
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")
_AWAITED = {"iostat_read_await": "iostat_read_iops", "iostat_write_await": "iostat_write_iops"}
_Report = Any  # an object of the document: _read checks its content
_Named = Callable[[Mapping[str, Any]], tuple[str, dict[str, float]]]


def read_iostat(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """Read the samples of every device, and the metrics of all disks together."""
    return _read(directory, reader, window, "disk", _device)


def read_mpstat(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """Read the samples of every processor, and their means."""
    return _read(directory, reader, window, "cpu-load", _processor)


def _read(directory: Place, reader: Reader, window: Window | None, part: str, named: _Named) -> Reading:
    text = text_of(directory / reader.artefact)
    if text is None:
        return Reading(problems=(f"{reader.artefact} was not written",))
    start = series.moment(text.partition("\n")[0])
    if start is None:
        return Reading(problems=(f"{reader.artefact} does not begin with `@ SECONDS`",))
    seconds = series.interval(reader.args)
    samples: list[Sample] = []
    rows: list[series.SeriesRow] = []
    try:
        for t, report in _reports(text, start, seconds):
            parts = dict(named(entry) for entry in report[part])
            if series.is_within(window, t - seconds, t):
                samples += (
                    Sample(t, source, name, value) for source, of in parts.items() for name, value in of.items()
                )
            rows.append(series.SeriesRow(t, seconds, parts["all"] if "all" in parts else _sum_of_devices(parts)))
    # A document of another program: a wrong structure is reported in one place, here.
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return Reading(problems=(f"{reader.artefact} is not in sysstat's format ({type(error).__name__}: {error})",))
    means = series.means(rows, window)
    return Reading(means, series.lacking(reader.artefact, means), samples=tuple(samples))


def _reports(text: str, start: float, seconds: float) -> Iterator[tuple[float, _Report]]:
    decoder = json.JSONDecoder()
    for number, place in enumerate(_REPORT.finditer(text), 1):
        try:
            report, _ = decoder.raw_decode(text, place.start())
        except (ValueError, RecursionError):
            return
        near = start + number * seconds
        clock = _CLOCK.search(report["timestamp"])
        if clock is None:
            raise ValueError(f"`{report['timestamp']}` is not a time")
        yield series.within_second(series.of_day(clock[0], near), near), report


def _device(entry: Mapping[str, Any]) -> tuple[str, dict[str, float]]:
    figures = {name: float(entry[column]) * factor for name, (column, factor) in _IOSTAT.items() if column in entry}
    # Without I/O there is no waiting time: sysstat prints 0.
    return entry["disk_device"], {
        name: v for name, v in figures.items() if name not in _AWAITED or figures[_AWAITED[name]]
    }


def _processor(entry: Mapping[str, Any]) -> tuple[str, dict[str, float]]:
    return str(entry["cpu"]), {name: float(entry[word]) for name, word in _MPSTAT.items() if word in entry}


def _sum_of_devices(devices: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    disks = whole_disks(set(devices)) or set(devices)
    of = [values for name, values in devices.items() if name in disks]
    result: dict[str, float] = {}
    for name in _IOSTAT:
        having = [values for values in of if name in values]
        if name in _AWAITED and having:
            weights = [values[_AWAITED[name]] for values in having]
            result[name] = sum(v[name] * w for v, w in zip(having, weights, strict=True)) / sum(weights)
        elif having:
            result[name] = _over_devices(name, (values[name] for values in having))
    return result


def _over_devices(name: str, values: Iterable[float]) -> float:
    return max(values) if name == "iostat_busy_ratio" else sum(values)
