"""The figures of one entry of fio's report, compared with each other.

In: an entry with the required fields. Out: sentences about figures that are impossible or inconsistent.
Rule: no genuine fio report is refused. Each equation is fio's own (stat.c), with its rounding.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import itemgetter

from zlang.hints import Any, NamedTuple
from zlang.readers.reading import SortedBins, percentiles

DIRECTIONS = ("read", "write", "trim", "mixed")
"""Directions of I/O, as fio names them."""
_PARTS_OF_JOB = (*DIRECTIONS, "sync")

_Part = Any
_TIMES = ("slat_ns", "clat_ns", "lat_ns")
_RATE = 1e-6
"""By this share a rate may differ from its operations by its runtime: fio prints six decimals."""
_PRINTED = 1e-5
_BIN = 1 / 64
"""fio's bins are as wide as this share of their values, and a percentile is the middle of one."""
_PARTS = Fraction(1, 1 << 40)
_OTHER_SIZES = frozenset(
    {
        "bssplit",
        "bsrange",
        "blocksize_range",
        "bs_unaligned",
        "blocksize_unaligned",
        "unified_rw_reporting",
        "num_range",
    }
    | {"kb_base", "read_iolog", "blockalign", "ba"}
)
"""Options with which a block's size is not that of `bs`."""
_OTHER_DEPTHS = frozenset({"io_submit_mode", "rate_process"})
"""Options with which an operation is timed before it has a place in the queue."""
_BOTH_WAYS = ("verify", "trim", "read_iolog", "unified_rw_reporting", "experimental_verify")
"""Beginnings of options with which a job of one direction does something in another."""
_SAMPLED = ("bw_agg", "bw_min", "bw_max", "bw_mean", "bw_dev", "iops_")
"""Figures that fio samples every half second. They are not used: above 2 TiB/s its `bw_agg` is negative (fio 3.33)."""
_OTHER_AMOUNTS = (
    *("read_iolog", "replay", "steadystate", "ss", "zone", "trim", "fill_", "file_append"),
    *("runtime", "time_based", "timeout"),
)
"""Beginnings of the names of options with which a job may move other amounts than its size; fio does not list a
`time_based` without a value, so a runtime is enough."""
_LISTS = frozenset({"percentile", "bins"})
"""The lists of figures of a latency."""
_OF_JOB = ("elapsed", "job_runtime", "usr_cpu", "sys_cpu", "ctx", "majf", "minf")
_MOST = 1 << 63
_NUMBERS = frozenset({int, float})
_WHOLE_NUMBER = frozenset({int})
_TICK = 2
"""Milliseconds by which a runtime may be shorter than what was timed in it."""
_MOST_CPU = 1.05
"""The share of a processor that one thread can use; fio's clock and the kernel's are not one."""
_CPU_TICK = 10
"""Milliseconds, the coarsest unit in which a kernel counts processor time: 200 % were seen in a job of a few."""
_SIZE = re.compile(r"(\d+)([kmg]?)(?:i?b)?\Z", re.IGNORECASE)


_MOST_KEPT = 4096


class _Wholes(dict[str, int]):
    """The whole numbers of texts; fio has 1856 bins, so all of their names are kept."""

    def __missing__(self, text: str) -> int:
        """Read a number, and keep it while there is room. Raises ValueError, also if there are two texts for it."""
        number = int(text)
        if str(number) != text:
            message = f"`{text}` is not the name of a bin"
            raise ValueError(message)
        if len(self) < _MOST_KEPT:
            self[text] = number
        return number


_whole = _Wholes().__getitem__
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def contradictions(job: _Part, shared: _Part = None) -> Iterator[str]:
    """Impossible figures of one entry; `shared` are the report's options for all jobs."""
    name = job["jobname"]
    impossible = [f"`{path}` of job {name} is {value}" for path, value in _impossible(job)]
    if impossible:
        yield impossible[0]
        return
    options = {**(shared or {}), **job.get("job options", {})}
    queue = _queue(options)
    for direction in DIRECTIONS:
        part = job.get(direction)
        if part:
            problems = (*_rates(part), *_blocks(part, direction, options, queue), *_latencies(part, queue))
            yield from (f"{direction} of job {name}: {problem}" for problem in problems)
    yield from _unwanted(job, options)
    yield from _too_much(job, options, shared or {})
    syncs = job.get("sync", {}).get("lat_ns")
    if syncs and syncs["N"]:
        yield from (f"sync of job {name}: {problem}" for problem in _latency(syncs))
    most_cpu = _MOST_CPU + _CPU_TICK / (job.get("job_runtime") or math.inf)
    if job["usr_cpu"] + job["sys_cpu"] > 100 * most_cpu * queue.threads:
        yield f"`usr_cpu` and `sys_cpu` of job {name} are {job['usr_cpu']} % and {job['sys_cpu']} %"


def doubled(jobs: _Part, shared: _Part = None) -> Iterator[str]:
    """Jobs that have more entries than workers, or than groups of workers."""
    counts = Counter(job["jobname"] for job in jobs)
    for job in {job["jobname"]: job for job in jobs}.values():
        options = {**(shared or {}), **job.get("job options", {})}
        most = 1 if "group_reporting" in options else _threads(options)
        if counts[job["jobname"]] > most:
            yield f"there are {counts[job['jobname']]} entries of job {job['jobname']}, which has {most}"


def _unwanted(job: _Part, options: _Part) -> Iterator[str]:
    """Check that a job that only reads has no writes, and the reverse."""
    pattern = str(options.get("rw", options.get("readwrite", ""))).partition(":")[0]
    own = {"read": "read", "randread": "read", "write": "write", "randwrite": "write"}.get(pattern)
    if own is None or any(name.startswith(_BOTH_WAYS) for name in options):
        return
    for other in {"read", "write", "trim"} - {own}:
        done = job.get(other, {}).get("total_ios", 0)
        if done:
            yield f"{other} of job {job['jobname']}: {done} operations do not match `rw={pattern}`"


def _too_much(job: _Part, options: _Part, shared: _Part) -> Iterator[str]:
    """Check that no worker transfers more than `io_size` or `size`, unless its job is limited by time."""
    limit = next((options[name] for name in ("io_size", "io_limit", "size") if name in options), "")
    match, loops = _SIZE.match(str(limit)), str(options.get("loops", "1"))
    # With one group for all sections of a job file, there is one entry, with the options of one section.
    if match is None or not int(match[1]) or not loops.isdecimal() or "group_reporting" in shared:
        return
    if any(name.startswith(_OTHER_AMOUNTS) for name in options):
        return
    blocks = [_block_size(options, direction) for direction in ("read", "write")]
    if not all(blocks):
        return
    size = int(match[1]) * _UNITS[match[2].lower()]
    passes = int(loops) * _threads(options)
    moved = sum(job.get(direction, {}).get("io_bytes", 0) for direction in ("read", "write"))
    if any("verify" in name for name in options):
        passes *= 2  # written data is read back for verification
    if moved > (size + max(blocks)) * passes:  # the last block may extend beyond the end
        yield f"job {job['jobname']}: {moved} bytes do not match {passes} passes over {size} bytes"


def _impossible(job: _Part) -> Iterator[tuple[str, object]]:
    """Values that are not numbers, negative, or larger than fio can count."""
    if not _are_valid(job):
        yield from _invalid(job)


def _are_valid(job: _Part) -> bool:
    """Whether an entry has only valid values, all tested at once: `_invalid` finds none in it."""
    figures = [job[key] for key in _OF_JOB if key in job]
    for direction in _PARTS_OF_JOB:
        part = job.get(direction)
        if not part:
            continue
        single, latencies = _members(tuple(part))
        figures += single(part)
        for key in latencies:
            item = part[key]
            if not isinstance(item, dict) or type(item.get("N", 0)) is not int:
                return False
            if _LISTS.isdisjoint(item):
                figures += item.values()
                continue
            own = {**item}
            if type(own.get("percentile")) is dict:
                figures += own.pop("percentile").values()
            if type(own.get("bins")) is SortedBins:
                bins = own.pop("bins")
                if not _are_counts(bins):
                    figures += bins.counts
            figures += own.values()
    return not figures or (_NUMBERS.issuperset(map(type, figures)) and min(figures) >= 0 and max(figures) < _MOST)


def _are_counts(bins: SortedBins) -> bool:
    """Whether all counts are valid whole numbers; so many have a sum, which is needed anyway, but no maximum."""
    counts = bins.counts
    return {*map(type, counts)} == _WHOLE_NUMBER and min(counts) >= 0 and bins.total < _MOST


@lru_cache(maxsize=256)
def _members(names: tuple[str, ...]) -> tuple[Callable[[_Part], tuple[object, ...]], list[str]]:
    """A function that gets the single figures of a direction that are checked, and the names of its latencies."""
    latencies = [name for name in names if name.endswith("_ns")]
    single = [name for name in names if name not in latencies and not name.startswith(_SAMPLED)]
    return (itemgetter(*single) if len(single) > 1 else lambda part: tuple(part[name] for name in single)), latencies


def _invalid(job: _Part) -> Iterator[tuple[str, object]]:
    """The invalid values of an entry, with their places."""
    for key in _OF_JOB:
        if key in job and not _is_figure(job[key]):
            yield key, job[key]
    for direction in _PARTS_OF_JOB:
        part = job.get(direction, {})
        yield from ((f"{direction}.{key}", x) for key, x in _wrong(part) if not key.startswith(_SAMPLED))
        for key, value in part.items():
            if isinstance(value, dict):
                for figures in (value, value.get("percentile"), value.get("bins")):
                    yield from ((f"{direction}.{key}.{item}", x) for item, x in _wrong(figures or {}))
                if not isinstance(value.get("N", 0), int):
                    yield f"{direction}.{key}.N", value["N"]


def _wrong(figures: Mapping[str, object]) -> Iterable[tuple[str, object]]:
    """The values that are not valid figures, with their names."""
    return ((name, value) for name, value in figures.items() if _is_wrong(value))


def _is_wrong(value: object) -> bool:
    return not isinstance(value, dict | list | SortedBins) and not _is_figure(value)


def _is_figure(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and 0 <= value < _MOST  # type: ignore[arg-type, operator]


def _rates(part: _Part) -> Iterator[str]:
    """Check that rates are operations and bytes divided by the runtime in milliseconds."""
    runtime, done, moved = part["runtime"], part["total_ios"], part["io_bytes"]
    if part["io_kbytes"] != moved >> 10:
        yield f"{part['io_kbytes']} KiB do not match {moved} bytes"
    if moved and not done:
        yield f"{moved} bytes were moved, but there were no operations"
    if not runtime:
        return
    if not math.isclose(part["iops"], 1000 * done / runtime, rel_tol=_RATE, abs_tol=_RATE):
        yield f"{part['iops']} IOPS in {runtime} ms do not match {done} operations"
    if abs(part["bw_bytes"] - 1000 * moved / runtime) > 1 + 1000 * moved / runtime * _RATE:
        yield f"{part['bw_bytes']} bytes/s in {runtime} ms do not match {moved} bytes"
    if abs(part["bw"] - part["bw_bytes"] / 1024) > 1:
        yield f"{part['bw']} KiB/s do not match {part['bw_bytes']} bytes/s"
    for subject in ("short_ios", "drop_ios"):
        if part.get(subject, 0) > done:
            yield f"`{subject}` is {part[subject]} of {done} operations"


def _blocks(part: _Part, direction: str, options: _Part, queue: _Queue) -> Iterator[str]:
    """Check that bytes are operations times block size, if the report states the size."""
    done, moved = part["total_ios"], part["io_bytes"]
    if not done or not moved:
        return
    size = _block_size(options, direction)
    most, least = size * (done + queue.pending), size * (done - part.get("short_ios", 0))
    # The last block of each pass and of each thread may be cut off.
    if size and not least * 0.99 - size * queue.threads <= moved <= most:
        yield f"{moved} bytes do not match {done} operations of {size} bytes"


def _block_size(options: _Part, direction: str) -> int:
    """The size of a direction's blocks; 0 if the report does not state a single one."""
    if direction == "trim" or not _OTHER_SIZES.isdisjoint(options):
        return 0
    words = str(options.get("bs", options.get("blocksize", ""))).split(",")
    word = words[min(DIRECTIONS.index(direction), len(words) - 1)] or words[0]
    match = _SIZE.match(word)
    return int(match[1]) * _UNITS[match[2].lower()] if match else 0


class _Queue(NamedTuple):
    """The `threads` of a job, and the operations that can be in flight (`places`).

    `pending` of these can be timed but not counted, where a ramp time ended. If operations are timed before they have a
    place, nothing `is_limited`.
    """

    threads: int
    places: int
    pending: int
    is_limited: bool


def _queue(options: _Part) -> _Queue:
    threads, depth = _threads(options), str(options.get("iodepth", "1"))
    places = threads * (int(depth) if depth.isdecimal() else _MOST)
    pending = places if "ramp_time" in options else 0
    return _Queue(threads, places, pending, _OTHER_DEPTHS.isdisjoint(options))


def _threads(options: _Part) -> int:
    text = str(options.get("numjobs", "1"))
    return int(text) if text.isdecimal() else _MOST


def _latencies(part: _Part, queue: _Queue) -> Iterator[str]:
    """Check that means lie between minimum and maximum, percentiles increase, and bins hold all timed operations."""
    for key in _TIMES:
        item = part.get(key)
        if item and item["N"]:
            for problem in (*_latency(item), *_waiting(item, part["runtime"], queue)):
                yield f"`{key}`: {problem}"
            if item["N"] > part["total_ios"] + queue.pending:
                yield f"`{key}`: {item['N']} operations were timed, but only {part['total_ios']} were done"
        elif item and (item["max"] or item.get("bins")):
            yield f"`{key}`: a maximum of {item['max']} ns, but no operation was timed"
    whole, remaining = part.get("lat_ns"), part.get("clat_ns")
    if whole and remaining and whole["N"] == remaining["N"]:
        for key in ("min", "mean", "max"):
            if whole[key] < remaining[key] * (1 - _PRINTED) - 1:
                yield f"the {key} of `lat_ns`, {whole[key]}, is below that of `clat_ns`, {remaining[key]}"


def _waiting(part: _Part, runtime: int, queue: _Queue) -> Iterator[str]:
    """Check by Little's law that no more operations are in flight than the queues have places."""
    places = max(1, queue.places)
    most = places * (runtime + _TICK) * 1_000_000 + queue.pending * part["max"]
    if queue.is_limited and runtime and part["N"] * part["mean"] > most * (1 + _PRINTED):
        yield f"{part['N']} operations of {part['mean']} ns each do not fit into {runtime} ms with {places} at a time"


def _latency(part: _Part) -> Iterator[str]:
    yield from _spread(part)
    low, mean, high = part["min"], part["mean"], part["max"]
    if not low - _PRINTED <= mean + low * _PRINTED or not mean <= high * (1 + _PRINTED) + 1:
        yield f"the mean, {mean}, is not between {low} and {high}"
    shares, listed = _percentiles(part)
    if listed != sorted(listed):
        yield "its percentiles are not in ascending order"
    if listed and not (low * (1 - _BIN) - 1 <= listed[0] and listed[-1] <= high * (1 + _BIN) + 1):
        yield f"its percentiles, {listed[0]} to {listed[-1]}, are not between {low} and {high}"
    if bins := _without_empty(part.get("bins")):
        yield from _bins(part, bins)
        if not _are_of_bins(shares, listed, bins):
            limits = iter(percentiles(bins, [limit for share in shares for limit in _bounds(share)]))
            for share, value, least, most in zip(shares, listed, limits, limits, strict=True):
                if not least <= value <= most:
                    yield f"its percentile {share:g} is {value}, but its bins give {least}"


def _percentiles(part: _Part) -> tuple[Sequence[float], list[float]]:
    """The percentiles that a report lists: percents in ascending order, and the latency of each."""
    listed = part.get("percentile", {})
    shares, is_ascending = _shares(tuple(listed))
    if is_ascending:
        return shares, [*listed.values()]
    pairs = sorted(zip(shares, listed.values(), strict=True))
    return [share for share, _ in pairs], [value for _, value in pairs]


@lru_cache(maxsize=256)
def _shares(names: tuple[str, ...]) -> tuple[tuple[float, ...], bool]:
    """The numbers of the names of percentiles, and whether they ascend; most reports have the same names."""
    shares = tuple(map(float, names))
    return shares, all(earlier < later for earlier, later in pairwise(shares))


def _without_empty(bins: SortedBins | None) -> SortedBins | None:
    """The bins with operations."""
    if not bins or all(bins.counts):
        return bins
    return SortedBins.of({value: count for value, count in bins.items() if count})


def _bins(part: _Part, bins: SortedBins) -> Iterator[str]:
    """Check that bins hold all operations, and match their mean, minimum and maximum."""
    low, mean, high = part["min"], part["mean"], part["max"]
    held = bins.total
    if held != part["N"]:
        yield f"its bins hold {held} operations, not {part['N']}"
    centre = bins.time / held
    if not math.isclose(mean, centre, rel_tol=2 * _BIN, abs_tol=1):
        yield f"the mean, {mean}, does not match its bins, {centre:.0f}"
    if not (low * (1 - _BIN) - 1 <= bins.ns[0] and bins.ns[-1] <= high * (1 + _BIN) + 1):
        yield f"its bins, {bins.ns[0]} to {bins.ns[-1]}, are not between {low} and {high}"


def _are_of_bins(shares: Sequence[float], values: Sequence[float], bins: SortedBins) -> bool:
    """Whether percentiles match the bins in floating-point arithmetic, that is, lie within their `_bounds`."""
    below = [*accumulate(bins.counts)]
    last, percent = len(below) - 1, bins.total / 100
    ranks: list[float] = [percent * share for share in shares]
    if type(below[-1]) is int:  # then all are, and whole numbers are compared in half the time
        ranks = [math.ceil(rank) if rank < math.inf else rank for rank in ranks]
    # 100 % of 55 operations are 55.00000000000001, which no bin is below: then it is the last one.
    return values == [bins.ns[bisect_left(below, rank, 0, last)] for rank in ranks]


def number_bins(job: _Part) -> None:
    """Convert the names of an entry's bins to numbers."""
    for direction in _PARTS_OF_JOB:
        for part in job.get(direction, {}).values():
            if type(part) is dict and part.get("bins"):
                part["bins"] = bins_of(part["bins"])


def bins_of(counts: Mapping[str, int]) -> SortedBins:
    """The bins of a histogram with numeric keys; fio writes them in ascending order."""
    operations = [*counts.values()]
    ns = [*map(_whole, counts)]
    return SortedBins(ns, operations) if ns == sorted(ns) else SortedBins.of(dict(zip(ns, operations, strict=True)))


@lru_cache(maxsize=1024)
def _bounds(share: float) -> tuple[Fraction, Fraction]:
    """The bounds, in thousandths, of a percentile that fio computes in floating point."""
    exact = Fraction(share) * 10
    return min(Fraction(1000), exact * (1 - _PARTS)), min(Fraction(1000), exact * (1 + _PARTS))


def _spread(part: _Part) -> Iterator[str]:
    """Check that the variance lies between that of the two extremes alone and that of only extreme values."""
    count, low, mean, high = part["N"], part["min"], part["mean"], part["max"]
    variance, some = part["stddev"] ** 2, 1 + high * _PRINTED
    if count == 1:
        least = most = 0.0
    else:
        least = (max(0, high - mean - some) ** 2 + max(0, mean - low - some) ** 2) / (count - 1)
        most = (mean - low + some) * (high - mean + some) * count / (count - 1)
    if not least * (1 - _PRINTED) <= variance <= most * (1 + _PRINTED) + some:
        spread = f"n = {count} from {low} to {high} with the mean {mean}"
        yield f"the standard deviation, {part['stddev']}, contradicts {spread}"
