"""Read fio's log of a stream in short intervals, which gives its metrics for any part of the measurement.

In: the logs of operations, bytes and histograms of one job, with times since 1970, and what its report says of the
whole. Out: `FioIntervals`. Rules: the logged work adds up exactly to the totals of the report, and the work between two
lines of histograms to their counts. An interval that lies partly outside a window counts in proportion. Metrics that
fio does not log in intervals are known only for the whole.

fio logs rates every 100 ms as integers, and skips intervals without work. On a busy machine it logs late, and a line
is the rate over a longer time than it says. A line of histograms is written by its last operation, so its counts are
exact, but it covers half a second. The last half second is not logged (measured: fio 3.33); it is the remainder of the
report.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, zip_longest

from zlang.files import Place
from zlang.metrics import PERCENTILES
from zlang.readers.fio_figures import DIRECTIONS
from zlang.readers.reading import Histogram, Reading, Sample, Window, merge, percentiles, text_of

RESOLUTION = 0.1
"""Seconds of an interval in the logs of rates."""
_COUNTED = 0.5
"""Seconds of an interval in the logs of histograms, at least."""
STEP = 1.0
"""Seconds between the samples of a stream."""
_KIB = 1024
_LINEAR = 64
"""The bins that hold one nanosecond each; above, each power of two has as many bins (fio's `plat_idx_to_val`)."""
_KIND = "clat"
_LATE = 3
"""The gap, in intervals, after which a line still begins where the last one ended: fio logs late under load."""
_EDGE = 1.5 * RESOLUTION
"""Seconds that may be missing before the first line of a log and after the last."""
_SHORT = 2.0
"""Seconds of a measurement that may have no log of histograms: fio logs none of the last interval."""
_HISTOGRAMS = f"_{_KIND}_hist.log"
_PLACE, _PLACE_IN_HISTOGRAMS, _PLACE_OF_BINS = 2, 1, 3
"""Columns of the direction (in logs of values, in histograms) and of the first bin."""
_SAMPLED = ("iops", "bw", f"{_KIND}_p99")

_Piece = tuple[float, float, float]
"""From when to when, and how much."""
_Work = tuple[float, float, float, float]
"""From when to when, how many operations, and how many bytes."""
_Line = tuple[float, Sequence[int]]
_Log = dict[str, list[list[_Line]]]
"""The lines of each worker, by direction."""


class _Amount:
    """The cumulative amount of work as a function of time."""

    def __init__(self, pieces: Sequence[_Piece]) -> None:
        changes: dict[float, float] = {}
        for begin, end, amount in pieces:
            rate = amount / (end - begin)
            changes[begin] = changes.get(begin, 0.0) + rate
            changes[end] = changes.get(end, 0.0) - rate
        self.times = sorted(changes)
        self.rates = list(accumulate(changes[t] for t in self.times))
        steps = [b - a for a, b in zip(self.times, self.times[1:], strict=False)]
        done = (rate * step for rate, step in zip(self.rates, steps, strict=False))
        self.until = list(accumulate(done, initial=0.0))

    def at(self, t: float) -> float:
        """The amount of work done until `t`."""
        place = bisect_left(self.times, t)
        if place == 0 or not self.times:
            return 0.0
        return self.until[place - 1] + self.rates[place - 1] * (t - self.times[place - 1])

    def within(self, windows: Sequence[Window]) -> float:
        """The amount of work done in these windows."""
        return sum(self.at(end) - self.at(begin) for begin, end in windows)


class FioIntervals:
    """The work of a stream in each interval; `whole` is the period of its measurement."""

    def __init__(
        self,
        whole: Window,
        amounts: Mapping[str, tuple[_Amount, _Amount]],
        bins: Mapping[str, Sequence[tuple[float, float, Mapping[int, int]]]],
    ) -> None:
        self.whole, self.amounts, self.bins = whole, amounts, bins

    def cut(self, windows: Sequence[Window]) -> Reading:
        """The metrics of these windows, which must not overlap."""
        seconds = sum(end - begin for begin, end in windows)
        metrics: dict[str, float] = {}
        latency: list[Histogram] = []
        for direction, (ios, moved) in self.amounts.items():
            operations, bytes_ = ios.within(windows), moved.within(windows)
            metrics[f"{direction}_iops"], metrics[f"{direction}_bw"] = operations / seconds, bytes_ / seconds
            metrics[f"{direction}_ios"], metrics[f"{direction}_bytes"] = operations, bytes_
            metrics[f"{direction}_runtime"] = seconds
            bins = self._bins(direction, windows)
            if bins:
                metrics.update(_latency(direction, bins))
                latency.append(Histogram(f"{direction}_{_KIND}", bins))
        metrics["fio_runtime"] = seconds
        return Reading(metrics, latency=tuple(latency), window=(windows[0][0], windows[-1][1]))

    def samples(self, window: Window, stream: str) -> Iterator[Sample]:
        """The rates and a percentile of each second of a window, at its middle; of the last one from half of it on."""
        begin, last = window
        while last - begin >= STEP / 2:
            end = min(begin + STEP, last)
            metrics = self.cut([(begin, end)]).metrics
            names = [f"{direction}_{name}" for direction in self.amounts for name in _SAMPLED]
            yield from (Sample((begin + end) / 2, "", name, metrics[name], stream) for name in names if name in metrics)
            begin = end

    def _bins(self, direction: str, windows: Sequence[Window]) -> dict[int, int]:
        shares: dict[int, float] = {}
        for begin, end, bins in self.bins.get(direction, ()):
            inside = sum(max(0.0, min(end, b) - max(begin, a)) for a, b in windows)
            if inside > 0:
                part = inside / (end - begin)
                for value, count in bins.items():
                    shares[value] = shares.get(value, 0.0) + part * count
        return {value: count for value, share in shares.items() if (count := round(share))}


def _latency(direction: str, bins: Mapping[int, int]) -> Iterator[tuple[str, float]]:
    prefix = f"{direction}_{_KIND}_"
    yield prefix + "mean", sum(value * count for value, count in bins.items()) / sum(bins.values())
    yield prefix + "max", float(max(bins))
    result = percentiles(bins, [share for _, share in PERCENTILES])
    yield from ((prefix + word, float(value)) for (word, _), value in zip(PERCENTILES, result, strict=True))


def find(directory: Place, name: str, reading: Reading) -> FioIntervals | None:
    """The logs of a stream whose report is `reading`; None if they do not account for all of its work."""
    if reading.window is None:
        return None
    rates = {kind: _by_direction(directory / f"{name}_{kind}.log") for kind in ("iops", "bw")}
    lines = _by_direction(directory / f"{name}{_HISTOGRAMS}")
    whole = _in_time(reading.window, rates["iops"], lines)
    reported = {histogram.metric: histogram.bins for histogram in reading.latency}
    amounts: dict[str, tuple[_Amount, _Amount]] = {}
    bins: dict[str, list[tuple[float, float, Mapping[int, int]]]] = {}
    for direction in DIRECTIONS:
        totals = [reading.metrics.get(f"{direction}_{word}") for word in ("ios", "bytes")]
        ios, moved = totals
        if ios is None or moved is None:
            continue
        logged = (rates["iops"].get(direction), rates["bw"].get(direction))
        if logged[0] is None or logged[1] is None:
            return None
        size = moved / ios if ios else 0.0
        workers = [_logged(*own, size, whole) for own in zip_longest(logged[0], logged[1], fillvalue=())]
        counts = _counts(lines.get(direction, []), len(workers), ios, whole[1])
        pieces = _pieces(workers, counts, (ios, moved), whole)
        amounts[direction] = (
            _Amount([(a, b, operations) for a, b, operations, _ in pieces]),
            _Amount([(a, b, bytes_) for a, b, _, bytes_ in pieces]),
        )
        total = reported.get(f"{direction}_{_KIND}")
        if total is not None and (direction in lines or whole[1] - whole[0] < _SHORT):
            bins[direction] = _histograms(lines.get(direction, []), total, whole)
    return FioIntervals(whole, amounts, bins) if amounts else None


def _in_time(window: Window, rates: _Log, histograms: _Log) -> Window:
    """The window, shifted to match the logs if the report was written long after it.

    fio makes its report up to 0.1 s after the last operation, or later if closing a file takes time. The first line of
    a log is never of less than an interval, so the measurement began at least that long before it.
    """
    firsts = (
        own[0][0] - interval
        for log, interval in ((rates, RESOLUTION), (histograms, _COUNTED))
        for workers in log.values()
        for own in workers
        if own
    )
    late = max(0.0, window[0] - min(firsts, default=window[0]))
    return window[0] - late, window[1] - late


def _by_direction(path: Place) -> _Log:
    """The lines of a log, by direction and worker: a log has the workers of a job one after the other."""
    workers: _Log = {}
    place = _PLACE_IN_HISTOGRAMS if path.name.endswith(_HISTOGRAMS) else _PLACE
    last = 0
    for line in (text_of(path) or "").splitlines():
        try:
            fields = [int(field) for field in line.split(", ")]
            t, direction = fields[0], DIRECTIONS[fields[place]]
        except (ValueError, IndexError):
            return {}
        if t < last:
            for of_direction in workers.values():
                of_direction.append([])
        last = t
        workers.setdefault(direction, [[]])[-1].append((t / 1000, fields))
    return workers


def _logged(lines: Sequence[_Line], lines_of_bytes: Sequence[_Line], mean: float, whole: Window) -> list[_Work]:
    """The work of a worker in each of its logged intervals, in order.

    Operations have the `mean` size if the lines of both logs do not have the same times.
    """
    begin, end = whole
    done: list[_Work] = []
    before = begin
    apart = [abs(t - other) for (t, _), (other, _) in zip_longest(lines, lines_of_bytes, fillvalue=(0.0, ()))]
    is_same = max(apart, default=0.0) < RESOLUTION / 2
    for place, (logged_at, fields) in enumerate(lines):
        t = min(logged_at, end)
        start = before if t - before < _LATE * RESOLUTION else t - RESOLUTION
        if start < t:
            seconds = max(logged_at - start, RESOLUTION)
            ios = fields[1] * seconds
            moved = _KIB * lines_of_bytes[place][1][1] * seconds if is_same else mean * ios
            done.append((start, t, ios, moved))
            before = t
    return done


def _counts(
    histograms: Sequence[Sequence[_Line]], workers: int, total: float, end: float
) -> list[list[tuple[float, int]]]:
    """The operations of each worker between successive lines; empty if they are unknown."""
    counts = [[(min(t, end), sum(fields[_PLACE_OF_BINS:])) for t, fields in lines] for lines in histograms]
    is_known = len(counts) == workers and sum(count for own in counts for _, count in own) <= total
    return counts if is_known else [[] for _ in range(workers)]


def _pieces(
    workers: Sequence[Sequence[_Work]],
    counts: Sequence[Sequence[tuple[float, int]]],
    totals: tuple[float, float],
    whole: Window,
) -> list[_Work]:
    """The work of all intervals, including those that were not logged; it adds up to the totals."""
    begin, end = whole
    ios, moved = totals
    size = moved / ios if ios else 0.0
    counted: list[_Work] = []
    others: list[_Work] = []
    gaps: list[Window] = []
    for own, of_own in zip(workers, counts, strict=True):
        exact, later = _as_counted(own, begin, of_own, size)
        counted += exact
        others += later
        since = of_own[-1][0] if of_own else begin
        first, last = (own[0][0], own[-1][1]) if own else (end, end)
        edges = ((since, min(first, begin + _EDGE)), (max(last, since, end - _EDGE), end)) if own else ()
        gaps += [edge for edge in edges if edge[1] > edge[0]]
    uncounted = ios - sum(work[2] for work in counted)
    logged, unlogged = sum(work[2] for work in others), sum(b - a for a, b in gaps)
    missing = min(max(0.0, uncounted - logged), ios * unlogged / ((end - begin) * max(1, len(workers))))
    others += [(a, b, part, size * part) for a, b in gaps if (part := missing * (b - a) / unlogged)]
    if not logged + missing:
        since = max((own[-1][0] for own in counts if own), default=begin)
        others = [(since if since < end else begin, end, uncounted, size * uncounted)]
    pieces = counted + _scaled(others, uncounted)
    bytes_ = sum(work[3] for work in pieces)
    return [(a, b, part, of_part * moved / bytes_ if bytes_ else size * part) for a, b, part, of_part in pieces]


def _as_counted(
    own: Sequence[_Work], begin: float, counts: Sequence[tuple[float, int]], size: float
) -> tuple[list[_Work], list[_Work]]:
    """The work of a worker up to its last count, matched with the counts, and the work that is logged later.

    A line after a pause may cover a longer time than it says: then the missing operations belong to it. Otherwise they
    belong to the line in progress at that moment.
    """
    later = deque(own)
    result: list[_Work] = []
    last, carried = -1.0, 0
    for end, since_last in counts:
        count, carried = since_last + carried, 0
        if end <= begin:
            carried = count
            continue
        inside: list[_Work] = []
        is_after_pause = False
        while later and later[0][1] <= end:
            is_after_pause |= later[0][0] > last
            last = later[0][1]
            inside.append(later.popleft())
        if later and later[0][0] < end:
            a, b, ios, moved = later.popleft()
            logged = sum(work[2] for work in inside)
            part = min(1.0, max(0.0, count - logged) / ios) if ios else 0.0
            if is_after_pause:
                part = min(part, (end - a) / (b - a) if a <= last else 0.0)
            inside.append((a, end, ios * part, moved * part))
            later.appendleft((end, b, ios * (1 - part), moved * (1 - part)))
            last = max(last, end) if a <= last else last
        result += _scaled(inside, count) or [(begin, end, count, size * count)]
        begin = end
    return result, list(later)


def _scaled(works: Sequence[_Work], total: float) -> list[_Work]:
    """Scale the work so that its operations add up to a total."""
    done = sum(work[2] for work in works)
    return [(a, b, ios * total / done, moved * total / done) for a, b, ios, moved in works] if done else []


def _histograms(
    workers: Sequence[Sequence[_Line]], total: Mapping[int, int], whole: Window
) -> list[tuple[float, float, Mapping[int, int]]]:
    """The histograms of all intervals; the last one is the remainder of the whole."""
    begin, end = whole
    result: list[tuple[float, float, Mapping[int, int]]] = []
    last = begin
    for lines in workers:
        before = begin
        for logged_at, fields in lines:
            bins = {_nanoseconds(i): count for i, count in enumerate(fields[_PLACE_OF_BINS:]) if count}
            t = min(max(logged_at, before + 0.001), end)
            if before < t:
                result.append((before, t, bins))
                before = t
        last = max(last, before)
    remaining = dict(total)
    for value, count in merge(bins for _, _, bins in result).items():
        remaining[value] = max(0, remaining.get(value, 0) - count)
    tail = (last, end) if last < end else whole
    return [*result, (*tail, remaining)]


def _nanoseconds(index: int) -> int:
    """The middle of a bin in ns, which is its name in the report."""
    if index < _LINEAR:
        return index
    power = index // _LINEAR - 1
    width = 1 << power
    return (_LINEAR << power) + int((index % _LINEAR + 0.5) * width)
