"""The samples of collectors over time, cut to the window of the measurement.

In: texts of snapshots or reports, and the window. Out: shares of intervals, means, the samples that count.
Rule: if an interval lies partly outside the window, its counts are taken in proportion, as if they were evenly spread;
without a window everything is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from itertools import pairwise

from zlang.hints import NamedTuple, TypeVar
from zlang.readers.reading import Reading, Sample, Window, whole_lines

_DAY = 86_400
_WHOLE = 0.9
"""The share of an interval that must lie in the measurement; collectors start just before it and end just after."""
T = TypeVar("T")


class SeriesRow(NamedTuple):
    """A tool's sample over the `seconds` that ended at `t`."""

    t: float
    seconds: float
    values: Mapping[str, float]


def moment(line: str) -> float | None:
    """The time in a line `@ SECONDS` (since 1970, with a fraction); None for any other line."""
    if not line.startswith("@ "):
        return None
    try:
        t = float(line[2:])
    except ValueError:
        return None
    return t if math.isfinite(t) else None


def snapshots(text: str) -> Iterator[tuple[float, list[str]]]:
    """Each snapshot that has lines: its time, from the line `@ SECONDS` before it, and its lines."""
    t: float | None = None
    lines: list[str] = []
    for line in whole_lines(text):
        if line.startswith("@"):
            if t is not None and lines:
                yield t, lines
            t, lines = moment(line), []
        elif line:
            lines.append(line)
    if t is not None and lines:
        yield t, lines


def share(window: Window | None, before: float, after: float) -> float:
    """The part of an interval that lies in the window, 0 to 1."""
    if window is None:
        return 1.0
    begin, end = window
    if after <= before:
        return 1.0 if begin <= after <= end else 0.0
    return max(0.0, min(after, end) - max(before, begin)) / (after - before)


def changes(
    result: Iterable[tuple[float, T]], window: Window | None
) -> Iterator[tuple[tuple[float, T], tuple[float, T], float]]:
    """Pairs of successive snapshots whose interval overlaps the window, with the share of the interval in it."""
    for old, new in pairwise(result):
        part = share(window, old[0], new[0])
        if part > 0:
            yield old, new, part


def is_within(window: Window | None, before: float, after: float) -> bool:
    """Whether a sample of this interval belongs to the measurement: the interval lies in it except for its edges."""
    return share(window, before, after) >= _WHOLE


def means(rows: Iterable[SeriesRow], window: Window | None) -> dict[str, float]:
    """The mean of each metric over the window."""
    sums: dict[str, float] = {}
    weights: dict[str, float] = {}
    for row in rows:
        weight = row.seconds * share(window, row.t - row.seconds, row.t)
        for metric, value in row.values.items():
            sums[metric] = sums.get(metric, 0.0) + weight * value
            weights[metric] = weights.get(metric, 0.0) + weight
    return {metric: total / weights[metric] for metric, total in sums.items() if weights[metric] > 0}


def reading(artefact: str, rows: Sequence[SeriesRow], window: Window | None) -> Reading:
    """Rows without a source as samples, and their means as metrics of the same names."""
    samples = tuple(
        Sample(row.t, "", metric, value)
        for row in rows
        if is_within(window, row.t - row.seconds, row.t)
        for metric, value in row.values.items()
    )
    result = means(rows, window)
    return Reading(result, lacking(artefact, result), samples=samples)


def lacking(artefact: str, rows: Sized) -> tuple[str, ...]:
    """The problem to report if there are no samples; empty if there are."""
    return () if rows else (f"{artefact} has no sample of the measurement",)


def interval(args: Mapping[str, object]) -> float:
    """The seconds between two reports of a tool."""
    interval_text = args.get("interval")
    return float(interval_text) if isinstance(interval_text, int | float) and interval_text > 0 else 1.0


def within_second(stamp: float, near: float) -> float:
    """The exact time of a report that states only a whole second, and was due about `near`.

    Tools that print every few seconds do so at the fraction of a second at which they started, but do not print it.
    """
    return min(max(near, stamp), stamp + 1.0)


def of_day(stamp: str, near: float) -> float:
    """Convert `HH:MM:SS` (UTC) to seconds since 1970, on the day that brings it nearest to `near`."""
    hours, minutes, seconds = map(int, stamp.split(":"))
    second = hours * 3600 + minutes * 60 + seconds
    return second + _DAY * round((near - second) / _DAY)
