"""Joining of the consecutive parts of a stream whose load changed while it ran.

In: the `Reading` of each part, in order. Out: one of the whole. Rules: amounts add up; rates and shares are means over
the whole time, weighted by the time of each part; percentiles are those of the merged histograms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zlang.frozen import replace
from zlang.metrics import Metric
from zlang.readers.merging import merged, statistics
from zlang.readers.reading import Intervals, Reading, Sample, StreamReading, Window

_MEANS = frozenset({"iops", "rate", "share"})
_AMOUNTS = frozenset({"size", "count", "duration"})


class _OneAfterTheOther:
    """The logs of all parts over time, joined one after the other."""

    def __init__(self, parts: Sequence[tuple[Window, Intervals]], declared: Sequence[Metric]) -> None:
        self._parts, self._declared = parts, declared

    def cut(self, windows: Sequence[Window]) -> Reading:
        """The metrics of these windows, in which there may be pauses."""
        readings: list[tuple[float, Reading]] = []
        for own, intervals in self._parts:
            inside = [span for window in windows if (span := _shared(window, own)) is not None]
            if inside:
                readings.append((_seconds(inside), intervals.cut(inside)))
        return _combined(readings, _seconds(windows), self._declared)

    def samples(self, window: Window, stream: str) -> Iterator[Sample]:
        """The rates of each second of a window."""
        for own, intervals in self._parts:
            span = _shared(window, own)
            if span is not None:
                yield from intervals.samples(span, stream)


def joined(parts: Sequence[Reading], lasts: float, declared: Sequence[Metric]) -> Reading:
    """Join the readings of parts into that of the whole, which `lasts` this many seconds; or return their problems.

    It may end with a pause, in which nothing is carried out.
    """
    problems = tuple(dict.fromkeys(problem for part in parts for problem in part.problems))
    windows = [part.window for part in parts if part.window is not None]
    if problems or len(windows) < len(parts):
        return Reading(problems=problems or ("it is not known when a part of the schedule was measured",))
    begin = windows[0][0]
    whole = begin, max(begin + lasts, *(end for _, end in windows))
    logged = [(own, part.intervals) for own, part in zip(windows, parts, strict=True) if part.intervals is not None]
    measured = [(own[1] - own[0], part) for own, part in zip(windows, parts, strict=True)]
    read = [part.read for part in parts if part.read is not None]
    return replace(
        _combined(measured, whole[1] - whole[0], declared),
        window=whole,
        against=tuple(text for part in parts for text in part.against),
        read=sum(read) if len(read) == len(parts) else None,
        fetched=parts[0].fetched,
        intervals=_OneAfterTheOther(logged, declared) if len(logged) == len(parts) else None,
    )


def _combined(parts: Sequence[tuple[float, Reading]], seconds: float, declared: Sequence[Metric]) -> Reading:
    """The metrics of parts, weighted by the seconds for which each was measured."""
    streams = [StreamReading("", "", reading.metrics, reading.latency) for _, reading in parts]
    metrics: dict[str, float] = {}
    for metric in dict.fromkeys(declared):
        measured = [(part[0], part[1].metrics[metric.name]) for part in parts if metric.name in part[1].metrics]
        if metric.is_distribution:
            metrics.update(statistics(metric, streams))
        elif measured and metric.type in _MEANS:
            metrics[metric.name] = sum(lasted * value for lasted, value in measured) / seconds
        elif measured and metric.type in _AMOUNTS:
            metrics[metric.name] = sum(value for _, value in measured)
    return Reading(metrics, latency=merged(streams))


def _shared(window: Window, own: Window) -> Window | None:
    begin, end = max(window[0], own[0]), min(window[1], own[1])
    return (begin, end) if begin < end else None


def _seconds(windows: Sequence[Window]) -> float:
    return sum(end - begin for begin, end in windows)
