"""Metrics extracted from the output of any command.

In: the artefact (the step's standard output). Args: `found`, the metrics that a kind declares, each with its name and
type, how and where it is found, the unit in which the tool prints it, and its file or stream; `metrics`, a list of
`["time"]`, `["regex", "NAME: TYPE in UNIT=PATTERN"]` and `["json", "NAME: TYPE in UNIT=PATH"]`.
Out: each of these metrics. `time` gives `elapsed` (by the journal). If the command left a `times.txt` from the shell's
`times`, it also gives `user_s` and `sys_s` of its children. All are in seconds.
Rule: a requested metric that is missing or not a finite number is a problem, because the command did not measure it.

- The last match of a pattern in the output counts: its first group, or the whole match without groups. A second group
  is the unit. `^` and `$` match at each line.
- A path such as `a.b[0]["c.d"]` leads into the first JSON document that fills whole lines.
- The last row of a CSV column counts. If `found` also names the column of a time, each row is a sample for the time
  since the previous row, and the metric is the mean over the measurement. Times are in seconds since 1970 or since the
  command began.
- A text may contain its own unit, such as `18.5 ms`.
- A distribution is found in an HdrHistogram log by the tag of its intervals.
- How several streams combine a metric may stand behind its time, which may be empty.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from zlang.check.measured import words
from zlang.check.metric_declarations import (
    DISTRIBUTION,
    column_of_time,
    in_stored_unit,
    nanoseconds,
    parse,
    size_of,
    stored_unit,
)
from zlang.check.types import SCALARS, can_measure
from zlang.files import Place
from zlang.frozen import replace
from zlang.hints import NamedTuple
from zlang.metrics import Metric
from zlang.plan.plan import Reader, Step
from zlang.readers import hdr, series
from zlang.readers.reading import Histogram, Reading, Sample, Window, reason_unread, text_of
from zlang.readers.series import SeriesRow

_TIME = re.compile(r"(\d+)m(\d+(?:[.,]\d+)?)s\s+(\d+)m(\d+(?:[.,]\d+)?)s")
_DOCUMENT = re.compile(r"^[ \t]*(?=[{\[])", re.MULTILINE)
_LINE_END = re.compile(r"[ \t\r]*(?:\n|\Z)")
_VALUE = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\W\d][\w/]*|%|/s)?")
_LEAST_DATE = 100_000_000.0
"""Seconds since 1970 that a time has at least which is no time since the command began: 1973, or three years."""
_SPELLED = {"nsec": "ns", "usec": "us", "\N{MICRO SIGN}s": "us", "\N{GREEK SMALL LETTER MU}s": "us"}
_SPELLED |= {"msec": "ms", "sec": "s", "secs": "s", "seconds": "s", "bytes": "B", "bytes/s": "B/s"}
"""Spellings of units by tools, where zlang spells them otherwise."""
_PART = re.compile(r"\[(\d+)\]|\[\"([^\"]*)\"\]|\.?([^.\[\]]+)")


class _MissingError(Exception):
    """The error for a missing number, with the reason as a sentence."""


def read(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:
    """Read the requested metrics, or the reasons why they are missing."""
    if not (directory / reader.artefact).is_file():
        return Reading(problems=(f"{reader.artefact} was not written",))
    texts: dict[str, str | None] = {}

    def text_at(place: str) -> str:
        if place not in texts:
            texts[place] = text_of(directory / place)
        text = texts[place]
        if text is None:
            raise _MissingError(f"{place} {reason_unread(directory / place)}")
        return text

    metrics: dict[str, float] = {}
    problems: list[str] = []
    samples: list[Sample] = []
    latency: list[Histogram] = []
    for item in _items(reader.args.get("metrics")):
        try:
            if words(item) == ["time"]:
                metrics.update(_times(directory, step, window))
                continue
            declared, _, where = words(item)[-1].partition("=")
            metric, unit = parse(declared, {})
            wanted = _RequestedMetric(metric, words(item)[0], where, unit)
            metrics[metric.name] = _find(wanted, text_at(reader.artefact))
        except (_MissingError, ValueError) as problem:
            problems.append(str(problem))
    for item in _items(reader.args.get("found")):
        name, type_, how, where, unit, source, *optional = words(item)
        time = next(iter(optional), "")
        place = _place(source, step, reader.artefact)
        try:
            text = text_at(place)
        except _MissingError as problem:
            problems.append(f"{name}: {problem}")
            continue
        stored = stored_unit(type_, unit)
        try:
            if how == DISTRIBUTION:
                own = _distribution(Metric(name, type_, stored, is_distribution=True), text, where, unit)
            else:
                wanted = _RequestedMetric(Metric(name, type_, stored), how, where, unit or stored)
                own = _series(wanted, text, place, time, window) if time else Reading({name: _find(wanted, text)})
        except _MissingError as problem:
            own = Reading(problems=(str(problem),))
        metrics.update(own.metrics)
        problems += own.problems
        latency += own.latency
        samples += own.samples
    return Reading(metrics, tuple(problems), tuple(latency), tuple(samples))


def with_wrappers(reading: Reading, directory: Place, reader: Reader, step: Step, window: Window | None) -> Reading:
    """Add the metrics of the commands that wrapped the workload to its reading."""
    if "under" not in reader.args or reading.problems:
        return reading
    of_wrappers = read(directory, replace(reader, args={"found": reader.args["under"]}), step, window)
    return replace(
        reading,
        metrics={**of_wrappers.metrics, **reading.metrics},
        problems=of_wrappers.problems,
        latency=(*reading.latency, *of_wrappers.latency),
        samples=(*reading.samples, *of_wrappers.samples),
    )


class _RequestedMetric(NamedTuple):
    """A metric to find: how and where, and the unit of a number without one."""

    metric: Metric
    how: str
    where: str
    unit: str


def _items(text: object) -> Sequence[object]:
    return text if isinstance(text, list | tuple) else ()


def _place(source: str, step: Step, artefact: str) -> str:
    """The file that holds a metric, in the directory of the attempt."""
    return {"stdout": artefact, "stderr": f"{step.name}.err"}.get(source, source.removeprefix("./"))


def _find(wanted: _RequestedMetric, text: str) -> float:
    metric, how, where, unit = wanted
    match how:
        case "regex":
            return _number(metric, *_by_pattern(text, metric.name, where), unit)
        case "json":
            return _number(metric, _by_path(text, metric.name, where), "", unit)
        case "csv":
            return _number(metric, _by_column(text, metric.name, where), "", unit)
        case _:
            raise _MissingError(f"`{how}` is not a way to find a metric")


def _distribution(metric: Metric, text: str, tag: str, unit: str) -> Reading:
    try:
        bins = hdr.read(text, tag, nanoseconds(unit))
    except ValueError as problem:
        raise _MissingError(f"{metric.name}: {problem}") from None
    return Reading(dict(hdr.statistics(metric, bins)), latency=(Histogram(metric.name, bins.counts),))


def _series(wanted: _RequestedMetric, text: str, place: str, time: str, window: Window | None) -> Reading:
    reading = series.reading(place, _rows(text, wanted, time, window), window)
    return replace(reading, problems=tuple(f"{wanted.metric.name}: {problem}" for problem in reading.problems))


def _times(directory: Place, step: Step, window: Window | None) -> Iterator[tuple[str, float]]:
    if window is None:
        raise _MissingError(f"the journal does not say when {step.name} began and ended")
    yield "elapsed", window[1] - window[0]
    text = text_of(directory / "times.txt")
    if text is None:
        return
    # POSIX: the first line is the shell's own time, the second that of its children.
    matches = _TIME.findall(text)
    if len(matches) < 2:  # noqa: PLR2004
        raise _MissingError("times.txt is not what `times` prints")
    user_m, user_s, sys_m, sys_s = (float(word.replace(",", ".")) for word in matches[1])
    yield "user_s", 60 * user_m + user_s
    yield "sys_s", 60 * sys_m + sys_s


def _by_pattern(text: str, name: str, pattern: str) -> tuple[object, str]:
    """The number that a pattern finds, and the unit printed beside it."""
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise _MissingError(f"{name}: `{pattern}` is not a regular expression ({error})") from None
    last = None
    for last in compiled.finditer(text):  # noqa: B007 - only the last match is wanted
        pass
    if last is None:
        raise _MissingError(f"{name}: nothing in the output matches `{pattern}`")
    first, second = (*last.groups(), None, None)[:2]
    return (first if compiled.groups else last.group()), second or ""


def _by_path(text: str, name: str, path: str) -> object:
    value = _first_document(text, name)
    place = 0
    while place < len(path):
        part = _PART.match(path, place)
        if part is None:
            raise _MissingError(f"{name}: `{path}` is not a path")
        place = part.end()
        index, quoted, key = part.groups()
        try:
            if index is not None:
                value = value[int(index)] if isinstance(value, list) else None
            else:
                value = value[key if quoted is None else quoted] if isinstance(value, dict) else None
        except (KeyError, IndexError):
            value = None
        if value is None:
            raise _MissingError(f"{name}: there is no `{path[:place]}` in the output's JSON")
    return value


def _first_document(text: str, name: str) -> object:
    decoder = json.JSONDecoder()
    for start in _DOCUMENT.finditer(text):
        try:
            value, end = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            continue
        if _LINE_END.match(text, end):
            result: object = value
            return result
    raise _MissingError(f"{name}: there is no JSON in the output")


def _by_column(text: str, name: str, column: str) -> str:
    *_, (last,) = _cells(text, name, [column])
    return last


def _cells(text: str, name: str, columns: Sequence[str]) -> list[list[str]]:
    """The cells of some CSV columns in each row that has all of them."""
    rows = list(csv.reader(text.splitlines()))
    heads = [head.strip() for head in rows[0]] if rows else []
    for column in columns:
        if column not in heads:
            raise _MissingError(f"{name}: there is no column `{column}`; the columns are {', '.join(heads) or 'empty'}")
    places = [heads.index(column) for column in columns]
    cells = [[row[place] for place in places] for row in rows[1:] if len(row) > max(places)]
    if not cells:
        raise _MissingError(f"{name}: the column `{columns[0]}` has no rows")
    return cells


def _rows(text: str, wanted: _RequestedMetric, time: str, window: Window | None) -> list[SeriesRow]:
    """The rows of a series, each for the time since the previous row, or since the command began for the first."""
    metric, _, column, unit = wanted
    time_column, size = column_of_time(time)
    stamps = Metric("the time", "number")
    rows = [
        (float(size) * _number(stamps, stamp, "", ""), _number(metric, value, "", unit))
        for value, stamp in _cells(text, metric.name, [column, time_column])
    ]
    if window is None:
        raise _MissingError(f"{metric.name}: the journal does not say when the command began")
    begin = window[0]
    late = 0.0 if rows[0][0] > _LEAST_DATE else begin
    times = [begin, *(late + t for t, _ in rows)]
    if any(after < before for before, after in pairwise(times[1:])):
        raise _MissingError(f"{metric.name}: the times in `{time_column}` go back")
    seconds = [max(0.0, after - before) for before, after in pairwise(times)]
    return [
        SeriesRow(t, took, {metric.name: value}) for t, took, (_, value) in zip(times[1:], seconds, rows, strict=True)
    ]


def _number(metric: Metric, value: object, printed: str, unit: str) -> float:
    """The match as a finite number, in the unit of the results."""
    shown = str(value).strip()[:60]
    if isinstance(value, int | float | str) and not isinstance(value, bool) and "_" not in shown:
        matched = _VALUE.fullmatch(shown)
        if matched is not None:
            number, own = matched[1], _SPELLED.get(matched[2] or printed, matched[2] or printed)
            if own and size_of(own, metric.type) is None:
                raise _MissingError(f"{metric.name}: `{own}` is not a unit of {SCALARS[metric.type].phrase}")
            result = in_stored_unit(number, own or unit, metric)
            if can_measure(metric.type, result):
                return result
            if math.isfinite(result):
                raise _MissingError(f"{metric.name}: {SCALARS[metric.type].phrase} cannot be `{shown}`")
    raise _MissingError(f"{metric.name}: `{shown}` is not a number")
