"""The types for the reading of one tool's output and for the judgement of a trial's readings.

Readers pass these types to the store: a `Reading` for each step, a `Judgement` for each trial.
Rule: values are in base units (bytes, bytes per second, per second, nanoseconds for latencies, seconds for durations,
percent for shares of a processor or of time), and what was not measured is absent, never 0.
"""

from __future__ import annotations

import errno
from array import array
from bisect import bisect_left
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from operator import mul
from pathlib import Path

from zlang.files import Place, read_regular
from zlang.frozen import field, frozen
from zlang.hints import NamedTuple, Protocol
from zlang.plan.plan import Reader, Step

LONGEST = 1 << 28
"""The most bytes of an artefact that are read; a longer one is a mistake or an attack, not a report."""
OF_THE_MACHINE = frozenset({errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC})
"""Errors that are not about the file: the next attempt to read it may succeed."""

Window = tuple[float, float]
"""Start and end of the measurement in seconds since 1970."""


class SortedBins(Mapping[int, int]):
    """The bins of a histogram: `ns` are nanoseconds (the middles of bins) in ascending order, with a count for each.

    It has two lists, because sums over the hundreds of bins of a report are needed several times.
    """

    __slots__ = ("_time", "_total", "counts", "ns")

    def __init__(self, ns: Sequence[int], counts: Sequence[int]) -> None:
        self.ns, self.counts = ns, counts
        self._time: int | None = None
        self._total: int | None = None

    @classmethod
    def of(cls, bins: Mapping[int, int]) -> SortedBins:
        """Sort other bins."""
        if isinstance(bins, SortedBins):
            return bins
        ns = sorted(bins)
        return cls(ns, [*map(bins.__getitem__, ns)])

    @property
    def total(self) -> int:
        """The number of all operations."""
        if self._total is None:
            self._total = sum(self.counts)
        return self._total

    @property
    def time(self) -> int:
        """The time of all operations together, in nanoseconds."""
        if self._time is None:
            self._time = sum(map(mul, self.ns, self.counts))
        return self._time

    def __getitem__(self, value: int) -> int:
        """Return the count of a bin."""
        place = bisect_left(self.ns, value)
        if self.ns[place : place + 1] != [value]:
            raise KeyError(value)
        return self.counts[place]

    def __iter__(self) -> Iterator[int]:
        """Iterate over the nanoseconds."""
        return iter(self.ns)

    def __len__(self) -> int:
        """Return the number of bins."""
        return len(self.ns)

    def items(self) -> ItemsView[int, int]:
        """Return the pairs of a bin and its count."""
        return dict(zip(self.ns, self.counts, strict=True)).items()

    def __reduce__(self) -> tuple[Callable[..., SortedBins], tuple[object, ...]]:
        """Pickle two blocks of numbers, which takes a third of the time and space."""
        try:
            return _unpacked, (array("q", self.ns).tobytes(), array("q", self.counts).tobytes())
        except (TypeError, OverflowError):  # a count that is not a whole number of 64 bits
            return SortedBins, (self.ns, self.counts)


def _unpacked(ns: bytes, counts: bytes) -> SortedBins:
    return SortedBins(array("q", ns).tolist(), array("q", counts).tolist())


@frozen
class Histogram:
    """The number of operations for each latency, of the distribution `metric` that its reader or kind declares."""

    metric: str
    bins: Mapping[int, int]


class LogFormat(NamedTuple):
    """The format of a tool's log: lines of numbers with commas between them.

    `fields` are some of `ms` (milliseconds since the tool began), `value`, `direction` (a place in `directions`),
    `block` and `offset` (bytes), or empty where a field is not read. A value times `scale` is in ns, bytes/s or 1/s.
    """

    tool: str
    fields: tuple[str, ...]
    directions: tuple[str, ...]
    scale: int


class Log(NamedTuple):
    """A file in which a tool logged each operation or interval, with the `kind` of the log and its job."""

    path: Path
    kind: str
    job: int
    format: LogFormat


class Sample(NamedTuple):
    """One value of a time series: `t` in seconds since 1970, `source` a device or the empty string.

    `stream` is the measured stream; it is empty for samples of the machine. If there are
    several machines, `host` is the one of the sample.
    """

    t: float
    source: str
    metric: str
    value: float
    stream: str = ""
    host: str = ""


class Phase(NamedTuple):
    """A part of the measurement, named after its events; `quiet` is the part before them, `after` any other part."""

    name: str
    begin: float
    end: float


class Intervals(Protocol):
    """The log of a workload over time, from which metrics of a part of that time can be computed."""

    def cut(self, windows: Sequence[Window]) -> Reading:
        """The metrics of these windows, which must not overlap, without those that are known only for the whole."""

    def samples(self, window: Window, stream: str) -> Iterator[Sample]:
        """The rates of each second of a window."""


class StreamReading(NamedTuple):
    """The reading of one of several streams, with its name and the name that it shares with its copies.

    If a trial has several machines, `host` is the one on which the stream ran. A collector's reading has no name.
    """

    name: str
    group: str
    metrics: Mapping[str, float]
    latency: tuple[Histogram, ...]
    host: str = ""


@frozen
class Reading:
    """The reading of one step's artefacts. It counts if there are no `problems`.

    `against` are reasons why the trial does not count, although everything was measured. `window` is the time in which
    the load was measured, without start and ramp, if the tool knows it better than the journal. `read` is the number of
    bytes that the load read, and `fetched` the number of them that came from devices, if the kernel counts them.
    `metrics` are totals of the `streams`. `phases` are the parts of the measurement, `intervals` the tool's log over
    time. On several machines, `ran` is the time from the first start to the last end, without waiting for others.
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    latency: tuple[Histogram, ...] = ()
    samples: tuple[Sample, ...] = ()
    window: Window | None = None
    against: tuple[str, ...] = ()
    read: float | None = None
    fetched: float | None = None
    streams: tuple[StreamReading, ...] = ()
    phases: tuple[Phase, ...] = ()
    intervals: Intervals | None = None
    ran: Window | None = None


@frozen
class Judgement:
    """Whether a trial counts, and what was measured.

    `why_not` is empty if it counts. `notes` are problems outside of the measurement, such as those of collectors.
    `window` is the time of the samples and of the metrics of collectors; `ran` is that of a `Reading`.
    `cache_state` is `cold`, `not cold`, `hot`, `not hot` (or another state that a protocol verifies) or `as_is`.
    """

    valid: bool
    why_not: str
    cache_state: str
    cache_evidence: str
    metrics: Mapping[str, float]
    latency: tuple[Histogram, ...]
    samples: tuple[Sample, ...]
    notes: tuple[str, ...] = ()
    window: Window | None = None
    streams: tuple[StreamReading, ...] = ()
    phases: tuple[Phase, ...] = ()
    ran: Window | None = None


FindLogs = Callable[[Path, Iterable[str]], Iterator[Log]]
"""Finds the logs of one tool in the directory of an attempt, among files with these names."""
Read = Callable[[Place, Reader, Step, Window | None], Reading]
"""A reader: from the directory of an attempt, its own arguments, the step and the time of the measurement."""


def percentiles(bins: Mapping[int, int], per_mille: Sequence[int | Fraction]) -> list[int]:
    """The smallest bins up to which at least these thousandths of all operations lie, as in fio's stat.c.

    `per_mille` are 1000 at most; `bins` holds at least one operation.
    """
    own = SortedBins.of(bins)
    ranks = [-(-own.total * share.numerator // (1000 * share.denominator)) for share in per_mille]
    counts = list(accumulate(own.counts))
    return [own.ns[bisect_left(counts, rank)] for rank in ranks]


def tail(bins: SortedBins) -> int:
    """The least bin above which operations took at most 1 % of the time of all."""
    above = 0
    for value, count in zip(reversed(bins.ns), reversed(bins.counts), strict=True):
        above += value * count
        if 100 * above > bins.time:
            return value
    return bins.ns[0]


def merge(histograms: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """Merge histograms into that of all operations."""
    merged: dict[int, int] = {}
    for bins in histograms:
        for value, count in bins.items():
            merged[value] = merged.get(value, 0) + count
    return merged


def text_of(path: Place) -> str | None:
    """Read a file's text and replace bytes that are not UTF-8; None if there is no such file. Raises OSError."""
    try:
        return read_regular(path, LONGEST).decode("utf-8", "replace")
    except OSError as error:
        if error.errno in OF_THE_MACHINE:
            raise
        return None


def reason_unread(path: Place) -> str:
    """The reason why `text_of` returns nothing."""
    is_long = isinstance(path, Path) and path.is_file() and path.stat().st_size > LONGEST
    return f"is longer than {LONGEST >> 20} MiB, so it is not read" if is_long else "was not written"


def whole_lines(text: str) -> Iterator[str]:
    """The lines that end in a newline: a last line without one may have been cut off in the middle of a number."""
    return (line for line in text[: text.rfind("\n") + 1].split("\n"))
