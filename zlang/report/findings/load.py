"""What is doubtful about the load: figures that do not belong together, a generator or a limit that is in the way.

Rule: what was asked for is known from the traits of the workload (`zlang/check/traits.py`), whatever kind it is of and
whether or not it is a factor; a trial of which something is not known is not spoken of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from zlang.report import wording
from zlang.report.findings.rule import OF_TIME, MeasuredTrial, ResultRules, Results, in_trials

RULES = ResultRules()
_NS = 1e9
_TOO_DEEP = 1.15
_TOO_SHALLOW = 0.5
_BUSY = 90.0
"""Percent of a processor."""
_PRESSED = 50.0
"""Percent of the time in which something waits for a processor."""
_HIDDEN = 10.0
"""How many times longer the tail is for who asks at a rate."""
_ROOM = 1.05
"""A limit is told in round numbers."""
_FROM_DEVICES = 0.5
_ENOUGH_BYTES = 64 * 1024**2
"""Below this the metadata that devices move count for as much as the data."""


@RULES.add("littles-law")
def more_in_flight_than_asked(results: Results) -> Iterator[str]:
    """IOPS times latency is more than was asked for.

    IOPS times the mean latency is how many operations are in flight (Little, Operations Research 9, 1961), and that
    cannot be more than the workers times the depth of each. Where it is, rates and latencies are not of the same
    operations: of another time, another direction, added up twice, or one of them is wrong. All eight rows of a table
    that was published give 127 to 136 for 128 writers, so the law holds where a table is right. The list of
    pitfalls allows 15 %.

    ```csv found
    workers,depth,read_iops,read_lat_mean
    4,32,20000 20100 19900,9100000
    ```

    ```csv
    workers,depth,read_iops,read_lat_mean
    4,32,20000 20100 19900,6350000
    ```
    """
    asked = [(trial, *depths) for trial in results.trials if (depths := _depths(trial))]
    found = [one for one in asked if one[1] > _TOO_DEEP * one[2]]
    if found:
        worst, flight, wanted = max(found, key=lambda one: one[1] / one[2])
        told = in_trials([trial for trial, *_ in found], worst, [trial for trial, *_ in asked])
        yield f"IOPS × latency says that {flight:.3g} were in flight, where {wanted:.0f} were asked for, {told}"


@RULES.add("depth-not-reached")
def depth_was_not_reached(results: Results) -> Iterator[str]:
    """The queue depth was not reached.

    IOPS times the mean latency is how many operations are in flight (Little, Operations Research 9, 1961). Less than
    half of what was asked for means that the load could not keep its queues full: an engine that waits for each
    operation, a generator that is short of CPU. Then the depth in the table is not what was measured. A load that is
    paced asks for no depth, and one of depth 1 has none to reach. (fio's libaio through the page cache is not found so:
    it counts the time in which it waits to submit, and says 32 of 32, measured. `buffered-async-is-sync` finds that.)

    ```csv found
    ioengine,depth,workers,read_iops,read_lat_mean
    psync,32,1,11000 11100 10900,89000
    io_uring,32,1,90000 90400 89700,350000
    ```

    ```csv
    ioengine,depth,workers,read_iops,read_lat_mean
    psync,1,1,11000 11100 10900,89000
    io_uring,32,1,90000 90400 89700,350000
    ```
    """
    asked = [(trial, *depths) for trial in results.trials if (depths := _depths(trial)) and not _is_paced(trial)]
    found = [one for one in asked if one[2] > 1 and one[1] < _TOO_SHALLOW * one[2]]
    if found:
        worst, flight, wanted = min(found, key=lambda one: one[1] / one[2])
        told = in_trials([trial for trial, *_ in found], worst, [trial for trial, *_ in asked])
        yield f"IOPS × latency says that {flight:.3g} were in flight of {wanted:.0f} that were asked for, {told}"


def _depths(trial: MeasuredTrial) -> tuple[float, float] | None:
    """How many operations were in flight, and how many were asked for at a time."""
    depth, workers = trial.traits.get("depth"), trial.traits.get("workers")
    each = [rate * took / _NS for rate, took in trial.pairs("operations", "latency.mean")]
    if depth is None or workers is None or not math.fsum(each) > 0:
        return None
    return math.fsum(each), depth * workers


def _is_paced(trial: MeasuredTrial) -> bool:
    return bool(trial.traits.get("paced"))


@RULES.add("coordinated-omission")
def slow_operations_hide_others(results: Results) -> Iterator[str]:
    """Slow operations keep those from being asked that would have been slow as well.

    A load that waits for its answers asks for nothing while one is slow, so that a second in which nothing works is one
    operation of a second among thousands of fast ones, and no percentile shows it. Who asks at a rate would have met it
    in every operation of that second ("coordinated omission", Tene, How NOT to measure latency, 2013). The histogram
    tells how often: its time, not its operations, is counted, and what 99 % of the time is below is what 99 % of
    requests at a rate find at least. It is found where that is ten times p99. A load that is paced does not have it.

    ```csv found
    paced,read_iops,read_clat_p99,read_clat_p99_of_time
    0,9000 9100 8950,410000,870000000
    ```

    ```csv
    paced,read_iops,read_clat_p99,read_clat_p99_of_time
    0,9000 9100 8950,410000,690000
    ```
    """
    asked = [(trial, *tails) for trial in results.trials if (tails := _tails(trial)) and "paced" in trial.traits]
    found = [one for one in asked if one[2] > _HIDDEN * one[1] and not _is_paced(one[0])]
    if found:
        worst, said, lived = max(found, key=lambda one: one[2] / one[1])
        told = in_trials([trial for trial, *_ in found], worst, [trial for trial, *_ in asked])
        yield (
            f"p99 is {wording.measured(said, 'ns')}, but 1 % of the time was spent in operations of "
            f"{wording.measured(lived, 'ns')} or more, {told}: a fixed-rate load would see that as its p99"
        )


def _tails(trial: MeasuredTrial) -> tuple[float, float] | None:
    """p99 of operations and of time, in ns, of the direction in which they differ most."""
    known = [one for one in trial.pairs("completion.p99", "completion.p99" + OF_TIME) if one[0] > 0]
    return max(known, key=lambda one: one[1] / one[0], default=None)


@RULES.add("generator-limited")
def generator_is_the_limit(results: Results) -> Iterator[str]:
    """What makes the load has no processor left, so it is what was measured.

    A worker that computes for nine tenths of its time has nothing left with which to ask for more, and a machine on
    which half of the time something waits for a processor has nothing left for anybody. What comes out is how fast the
    generator is, and a better device would not show. A published study took for the speed of a file system what
    reading unwritten blocks cost the CPU. More workers, or more machines, tell whether the target can do more.

    ```csv found
    workers,read_iops,usr_cpu,sys_cpu
    1,610000 605000 612000,21.4,76.9
    ```

    ```csv
    workers,read_iops,usr_cpu,sys_cpu
    1,90000 90400 89700,6.1,14.8
    ```
    """
    busy = [(trial, trial.metrics["processor"]) for trial in _with(results, "processor")]
    found = [one for one in busy if one[1] > _BUSY]
    if found:
        worst, share = max(found, key=lambda one: one[1])
        told = in_trials([trial for trial, _ in found], worst, [trial for trial, _ in busy])
        yield f"the load took {share:.0f} % of a processor for each of its workers, {told}: it is the limit"
        return
    pressed = [(trial, trial.metrics["pressure"]) for trial in _with(results, "pressure")]
    waited = [one for one in pressed if one[1] > _PRESSED]
    if waited:
        worst, share = max(waited, key=lambda one: one[1])
        told = in_trials([trial for trial, _ in waited], worst, [trial for trial, _ in pressed])
        yield f"for {share:.0f} % of the time something waited for a processor, {told}"


def _with(results: Results, *metrics: str) -> list[MeasuredTrial]:
    return [trial for trial in results.trials if all(name in trial.metrics for name in metrics)]


@RULES.add("roofline")
def more_than_there_can_be(results: Results) -> Iterator[str]:
    """More than the link or the disks can do, so it came out of a cache.

    802 MB/s over two links of 4 Gbit/s, 51,680 random reads a second from six disks, 3 Gbit/s on a link of 1: all were
    published, and all are impossible. zlang finds it in two ways. A `host` can say what it cannot exceed (`link`, what
    the way to its data carries, and `seeks`, how many random operations its disks do in a second). And where a
    collector saw the devices (`diskstats`) it is known how much of what was read they gave; where it is less than
    half, and the cache is not hot on purpose, the rest was not read from them. It is a warning and no error, because
    compression can do the same.

    ```csv found
    link,read_iops,read_bw
    1000000000,197000 196800 197100,807000000
    1000000000,307000 306800 307100,1257000000
    ```

    ```csv
    link,read_iops,read_bw
    1000000000,197000 196800 197100,807000000
    1000000000,207000 206800 207100,848000000
    ```
    """
    yield from _beyond(results, "link", "throughput", "bytes/s", "the link carries")
    yield from _beyond(results, "seeks", "operations", "1/s", "the disks can do")
    seen = [
        (trial, trial.metrics["read.device"], trial.metrics["read.bytes"])
        for trial in _with(results, "read.device", "read.bytes")
        if trial.cache_state != "hot"
        and "transfer" not in trial.traits
        and trial.metrics["read.bytes"] >= _ENOUGH_BYTES
    ]
    found = [one for one in seen if one[1] < _FROM_DEVICES * one[2]]
    if found:
        worst, gave, read = min(found, key=lambda one: one[1] / one[2])
        told = in_trials([trial for trial, *_ in found], worst, [trial for trial, *_ in seen])
        yield (
            f"of {wording.measured(read, 'bytes')} that were read the devices gave {wording.measured(gave, 'bytes')}, "
            f"{told}: the rest came out of a cache, or was compressed away"
        )


def _beyond(results: Results, trait: str, means: str, unit: str, words: str) -> Iterator[str]:
    known = [
        (trial, math.fsum(trial.each(means)), limit)
        for trial in results.trials
        if (limit := trial.traits.get(trait)) and (trait != "seeks" or trial.traits.get("random"))
    ]
    found = [one for one in known if one[1] > _ROOM * one[2]]
    if found:
        worst, did, limit = max(found, key=lambda one: one[1] / one[2])
        told = in_trials([trial for trial, *_ in found], worst, [trial for trial, *_ in known])
        shown = [wording.measured(value, unit) + (" a second" if unit == "1/s" else "") for value in (did, limit)]
        yield f"{shown[0]} where {words} {shown[1]}, {told}: it came out of a cache"
