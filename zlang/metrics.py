"""Metrics as readers or kinds declare them; they pass from the declaration through the plan to the database.

Rule: this module knows no metric by its name. The metrics that a reader can measure are declared in `stdlib/*.zexp`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from zlang.record import Record

PERCENTILES = (("p50", 500), ("p95", 950), ("p99", 990), ("p999", 999))
"""The percentiles of a distribution that each trial has, and how many thousandths lie below them."""
STATISTICS = {"mean": "mean", "max": "max"} | {
    name: f"percentile {thousandths / 10:g}" for name, thousandths in PERCENTILES
}
"""The statistics that each trial has of a distribution, with their descriptions."""


_ANY = next(iter(STATISTICS))

COMBINED: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "mean": lambda values: sum(values) / len(values),
    "max": max,
    "min": min,
}
"""The ways to combine the values of several streams or machines into that of a trial."""
_ADDED = frozenset({"iops", "rate", "size"})
"""The types whose values add up, if a metric does not say how they are combined."""


class Metric(Record):
    """A metric: its `type` in the language, its `unit` in the database; `better` is `higher`, `lower` or empty.

    `needs` is the trait that a workload must have to yield the metric; rules know the metric by its `means`. A
    distribution covers single operations: a trial has its `STATISTICS`, and any percentile of its histogram. Each of
    these names its `distribution`. `combine` is how a trial with several streams combines their values, one of
    `COMBINED`; if it is empty, the type decides.
    """

    name: str
    type: str
    unit: str = ""
    doc: str = ""
    better: str = ""
    needs: str = ""
    means: str = ""
    is_distribution: bool = False
    distribution: str = ""
    combine: str = ""

    @property
    def combined_by(self) -> str:
        """The way to combine the values of several streams; empty if only the streams have values."""
        return self.combine or ("sum" if self.type in _ADDED else "")


ELAPSED = Metric("elapsed", "duration", "s", "how long the measurement took", "lower")
"""The metric that every trial has."""

QUIET, AFTER, PHASE = "quiet", "after", "phase"
"""The phases of a trial before any event and afterwards, and what the names of their metrics begin with."""


def overlap(events: Iterable[str]) -> str:
    """Name the phase in which these events overlap, in whatever order they are listed; one event gives its own name."""
    return "+".join(sorted(events))


def in_trials(declared: Iterable[Metric]) -> Iterator[Metric]:
    """The metrics that trials have; a distribution is replaced by its statistics."""
    for metric in declared:
        if metric.is_distribution:
            yield from statistics_of(metric).values()
        else:
            yield metric


def statistic(distribution: str, word: str) -> str:
    """The name of the metric for one of the `STATISTICS` of a distribution."""
    return f"{distribution}_{word}"


def statistics_of(metric: Metric) -> dict[str, Metric]:
    """The metrics for the statistics of a distribution, by their names in `STATISTICS`."""
    result = {}
    for name, words in STATISTICS.items():
        means = f"{metric.means}.{name}" if metric.means else ""
        own = {"name": statistic(metric.name, name), "doc": f"{metric.doc}, {words}", "means": means}
        result[name] = metric.replace(is_distribution=False, distribution=metric.name, **own)
    return result


def distributions_of_streams(declared: Iterable[Metric]) -> dict[str, Metric]:
    """The distributions of single streams, `STREAM.NAME`, by their names: those of which trials have statistics."""
    result = {}
    for metric in declared:
        end = f".{statistic(metric.distribution, _ANY)}"
        if metric.distribution and metric.name.endswith(end) and not metric.name.startswith(f"{PHASE}."):
            name = metric.name.removesuffix(statistic("", _ANY))
            result[name] = metric.replace(name=name, is_distribution=True, distribution="")
    return result


def column(name: str) -> str:
    """The name of a metric as one word."""
    return name.replace(".", "_").replace("\0", "") or "unnamed"
