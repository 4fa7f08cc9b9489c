"""Output of `zpool iostat -T u [-H -p] SECONDS`, as samples of each pool.

In: the artefact: an optional line `@ SECONDS` (when it was started), and then reports: a line with the seconds since
1970 and a row for each pool. With -p, values are exact and separated by tabs. Without it (zfs-fuse), there are
headings, and values are rounded to three digits with K, M, G, T (powers of 1024). Args: `interval`.
Out: samples `pool_alloc_bytes`, `pool_free_bytes`, `pool_read_iops`, `pool_write_iops`, `pool_read_bw` and
`pool_write_bw`, whose source is the pool; metrics of the last four, each the mean of all pools together.
Rule: the first report is skipped, because it covers the time since the pool was imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from zlang.files import Place
from zlang.plan.plan import Reader, Step
from zlang.readers import series
from zlang.readers.reading import Reading, Sample, Window, text_of, whole_lines

_RATES = ("pool_read_iops", "pool_write_iops", "pool_read_bw", "pool_write_bw")
"""Metrics that add up all pools."""
_METRICS = ("pool_alloc_bytes", "pool_free_bytes", *_RATES)
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([KMGTPE]?)")


def read(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """Read the samples of every report but the first."""
    text = text_of(directory / reader.artefact)
    if text is None:
        return Reading(problems=(f"{reader.artefact} was not written",))
    wait = series.interval(reader.args)
    samples = tuple(_samples(text, wait))
    means = series.means(_sums(samples, wait), window)
    within = tuple(s for s in samples if series.is_within(window, s.t - wait, s.t))
    return Reading(means, series.lacking(reader.artefact, means), samples=within)


def _sums(samples: Iterable[Sample], wait: float) -> Iterator[series.SeriesRow]:
    """The reads and writes of all pools together."""
    rows: dict[float, dict[str, float]] = {}
    for sample in samples:
        values = rows.setdefault(sample.t, {})
        if sample.metric in _RATES:
            values[sample.metric] = values.get(sample.metric, 0.0) + sample.value
    return (series.SeriesRow(t, wait, values) for t, values in rows.items())


def amount(word: str) -> float | None:
    """A number as ZFS prints it: `1.49G` or in full; None for `-` and what is not a number."""
    match = _NUMBER.fullmatch(word)
    return float(match[1]) * 1024 ** " KMGTPE".index(match[2] or " ") if match else None


def _samples(text: str, wait: float) -> Iterator[Sample]:
    reports, t = -1, 0.0
    start: float | None = None
    for line in whole_lines(text):
        words = line.split("\t") if "\t" in line else line.split()
        if start is None and (begun := series.moment(line)) is not None:
            start = begun
        elif len(words) == 1 and words[0].isdigit():
            reports, stamp = reports + 1, float(words[0])
            t = stamp if start is None else series.within_second(stamp, start + reports * wait)
        elif reports > 0 and len(words) > len(_METRICS):
            values = [amount(word) for word in words[1 : len(_METRICS) + 1]]
            for metric, value in zip(_METRICS, values, strict=True):
                if value is not None:
                    yield Sample(t, words[0], metric, value)
