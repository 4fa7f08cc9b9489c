"""Merging of the latencies of several streams, or of several parts of a stream, over all operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from zlang.metrics import PERCENTILES, Metric, statistics_of
from zlang.readers.reading import Histogram, StreamReading, merge, percentiles


def statistics(metric: Metric, streams: Sequence[StreamReading]) -> Iterator[tuple[str, float]]:
    """The statistics of a distribution over all operations; none if a stream has no histogram of it."""
    names = {word: own.name for word, own in statistics_of(metric).items()}
    having = [stream for stream in streams if names["mean"] in stream.metrics]
    histograms = [h.bins for stream in having for h in stream.latency if h.metric == metric.name]
    if not having or len(histograms) != len(having):
        return
    counts = [sum(bins.values()) for bins in histograms]
    means = [stream.metrics[names["mean"]] for stream in having]
    yield names["mean"], sum(mean * n for mean, n in zip(means, counts, strict=True)) / sum(counts)
    yield names["max"], max(stream.metrics[names["max"]] for stream in having)
    result = percentiles(merge(histograms), [share for _, share in PERCENTILES])
    yield from ((names[word], float(value)) for (word, _), value in zip(PERCENTILES, result, strict=True))


def merged(streams: Iterable[StreamReading]) -> tuple[Histogram, ...]:
    """Merge the histograms of all streams, one for each distribution."""
    by_metric: dict[str, list[Mapping[int, int]]] = {}
    for stream in streams:
        for histogram in stream.latency:
            by_metric.setdefault(histogram.metric, []).append(histogram.bins)
    return tuple(Histogram(metric, merge(bins)) for metric, bins in by_metric.items())
