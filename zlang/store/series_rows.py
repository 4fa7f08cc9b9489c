"""The rows of histograms and time series, which need nothing but a trial and its verdict.

In: a trial and its verdict. Out: rows as JSON lines. Rule: they can be made in any process, and in any order.
"""

from __future__ import annotations

from collections.abc import Sequence

from zlang.plan.plan import Trial
from zlang.readers.reading import Histogram, Judgement, Phase, SortedBins, tail
from zlang.store.staging import Row, StagedLines, number

_SERIES = 10_000


def add(lines: StagedLines, own: Row, trial: Trial, verdict: Judgement) -> None:
    """Add the rows of a trial, each with the columns `own` and a list of bins or of samples."""
    for histogram in verdict.latency:
        lines.add("histograms", {**own, "valid": verdict.valid, **_binned(histogram)})
    for stream in verdict.streams:
        each = {**own, "valid": verdict.valid, "stream": stream.name or None, "host": stream.host or trial.host or None}
        for histogram in stream.latency:
            lines.add("stream_histograms", {**each, **_binned(histogram)})
    _add_samples(lines, {**own, "began": verdict.window[0] if verdict.window else None}, verdict)


def _add_samples(lines: StagedLines, own: Row, verdict: Judgement) -> None:
    series: dict[tuple[str, str, str, str, str], tuple[list[float], list[float | str]]] = {}
    hosts = {stream.name: stream.host for stream in verdict.streams if stream.name}
    for s in verdict.samples:
        key = s.source, s.metric, s.stream, s.host or hosts.get(s.stream, ""), _phase(verdict.phases, s.t)
        times, values = series.setdefault(key, ([], []))
        times.append(s.t)
        values.append(number(s.value))
    for (source, metric, stream, host, phase), (times, values) in series.items():
        of = {"source": source, "metric": metric, "stream": stream or None, "host": host or None}
        of["phase"] = phase or None
        for n in range(0, len(times), _SERIES):
            part = {"t": times[n : n + _SERIES], "value": values[n : n + _SERIES]}
            lines.add("samples", {**own, **of, **part})


def _phase(phases: Sequence[Phase], t: float) -> str:
    """The phase at a moment; empty if there was no event, or outside the measurement."""
    return next((phase.name for phase in phases if phase.begin < t <= phase.end), "")


def _binned(histogram: Histogram) -> Row:
    bins = SortedBins.of(histogram.bins)
    return {
        "metric": histogram.metric,
        "total": bins.total,
        "ns": bins.ns,
        "counts": bins.counts,
        "tail": tail(bins) if bins else None,
    }
