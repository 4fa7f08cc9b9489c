"""Rules about the load: inconsistent rates and latencies, a generator or a limit in the way.

Rule: traits of the workload (`zlang/check/traits.py`) say what it was to do, whatever its kind and whether or not they
are factors. A trial with an unknown trait is not reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from zlang.check.types import NANOSECONDS, parts_of
from zlang.report import wording
from zlang.report.findings.rule import OF_MACHINE, OF_TIME, MeasuredTrial, ResultRules, Results, in_trials

RULES = ResultRules()
_NS = parts_of(NANOSECONDS)
_TOO_DEEP = 1.15
_TOO_SHALLOW = 0.5
_BUSY = 90.0
"""Percent of a processor."""
_PRESSED = 50.0
"""Percent of the time in which a task waits for a processor."""
_HIDDEN = 10.0
"""The factor by which the tail is longer for a load at a fixed rate."""
_APART = 0.025
"""Seconds between the first and the last start of machines: half of what counts."""
_ROOM = 1.05
"""Limits are declared in round numbers."""
_FROM_DEVICES = 0.5
_ENOUGH_BYTES = 64 * 1024**2
"""Below this the metadata that devices move count for as much as the data."""


@RULES.add("littles-law")
def more_in_flight_than_requested(results: Results) -> Iterator[str]:
    """IOPS times latency exceeds the queue depth.

    IOPS times the mean latency is the number of operations in flight (Little, Operations Research 9, 1961). It cannot
    exceed the number of workers times the depth of each. If it does, the rates and latencies are not of the same
    operations: they are of another time or direction, they were added twice, or one of them is wrong. All eight rows
    of a published table give 127 to 136 for 128 writers, so the law holds where a table is right. This rule tolerates
    15 %.

    ```csv found
    workers,depth,read_iops,read_lat_mean
    4,32,20000 20100 19900,9100000
    ```

    ```csv
    workers,depth,read_iops,read_lat_mean
    4,32,20000 20100 19900,6350000
    ```
    """
    requested = [(trial, *depths) for trial in results.trials if (depths := _depths(trial))]
    result = [pair for pair in requested if pair[1] > _TOO_DEEP * pair[2]]
    if result:
        worst, flight, wanted = max(result, key=lambda pair: pair[1] / pair[2])
        text = in_trials([trial for trial, *_ in result], worst, [trial for trial, *_ in requested])
        yield f"IOPS × latency gives {flight:.3g} operations in flight, but the queue depth is {wanted:.0f}, {text}"


@RULES.add("depth-not-reached")
def depth_was_not_reached(results: Results) -> Iterator[str]:
    """The queue depth was not reached.

    IOPS times the mean latency is the number of operations in flight (Little, Operations Research 9, 1961). If it is
    less than half of the queue depth, the load could not keep its queues full: the engine waits for each operation,
    or the generator lacks CPU time. The results are then not of the depth that the table shows. Paced loads and loads
    of depth 1 are not checked.

    This rule does not find fio's libaio through the page cache: fio counts the time in which it waits to submit, and
    reports 32 of 32 (measured). `buffered-async-is-sync` finds that.

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
    requested = [(trial, *depths) for trial in results.trials if (depths := _depths(trial)) and not _is_paced(trial)]
    result = [pair for pair in requested if pair[2] > 1 and pair[1] < _TOO_SHALLOW * pair[2]]
    if result:
        worst, flight, wanted = min(result, key=lambda pair: pair[1] / pair[2])
        text = in_trials([trial for trial, *_ in result], worst, [trial for trial, *_ in requested])
        yield f"IOPS × latency gives only {flight:.3g} operations in flight of a queue depth of {wanted:.0f}, {text}"


def _depths(trial: MeasuredTrial) -> tuple[float, float] | None:
    """The number of operations in flight, and the queue depth of all workers."""
    depth, workers = trial.traits.get("depth"), trial.traits.get("workers")
    if depth is None or workers is None:
        return None
    flight = math.fsum(rate * took / _NS for rate, took, _ in trial.pairs("operations", "latency.mean"))
    return (flight, depth * workers) if flight > 0 else None


def _is_paced(trial: MeasuredTrial) -> bool:
    return bool(trial.traits.get("paced"))


@RULES.add("coordinated-omission")
def slow_operations_hide_others(results: Results) -> Iterator[str]:
    """While an operation is slow, no other is measured.

    A load that waits for its answers submits nothing while an operation is slow. A stall of one second is then a
    single slow operation among thousands of fast ones, and no percentile shows it. A load at a fixed rate would have
    met the stall with every operation of that second ("coordinated omission", Tene, How NOT to measure latency,
    2013).

    zlang computes from the histogram how large the effect is. If 1 % of the time was spent in operations slower than
    some latency, a load at a fixed rate would see at least that latency as its p99. zlang reports it if it is more
    than ten times the measured p99. Paced loads are not affected.

    ```csv found
    paced,read_iops,read_clat_p99,read_clat_p99_of_time
    0,9000 9100 8950,410000,870000000
    ```

    ```csv
    paced,read_iops,read_clat_p99,read_clat_p99_of_time
    0,9000 9100 8950,410000,690000
    ```
    """
    requested = [
        (trial, *tails) for trial in results.trials if "paced" in trial.traits and (tails := _tail_latencies(trial))
    ]
    result = [pair for pair in requested if pair[2] > _HIDDEN * pair[1] and not _is_paced(pair[0])]
    if result:
        worst, seen, lived, direction = max(result, key=lambda item: item[2] / item[1])
        shown = in_trials([trial for trial, *_ in result], worst, [trial for trial, *_ in requested])
        yield (
            f"p99 of {direction}s is {wording.measured(seen, 'ns')}, but at a fixed rate it would be "
            f"{wording.measured(lived, 'ns')} or more, {shown}"
        )


def _tail_latencies(trial: MeasuredTrial) -> tuple[float, float, str] | None:
    """p99 of operations and of time, in ns, of the direction in which they differ most, and that direction."""
    latencies = [item for item in trial.pairs("completion.p99", "completion.p99" + OF_TIME) if item[0] > 0]
    return max(latencies, key=lambda item: item[1] / item[0], default=None)


@RULES.add("generator-limited")
def generator_is_the_limit(results: Results) -> Iterator[str]:
    """The load generator was the bottleneck.

    A worker that computes for nine tenths of its time cannot submit more operations. Neither can many workers that
    together take nine tenths of all processors of their machine. A machine on which something waits for a processor
    half of the time has no processor time left. The result is then the speed of the generator, and a faster device
    would not change it. A published study mistook the CPU cost of reading unwritten blocks for the speed of a file
    system. Use more workers or more machines to see whether the target can do more.

    If several machines generate the load, the rule is about the busiest of them.

    ```csv found
    workers,read_iops,usr_cpu,sys_cpu
    1,610000 605000 612000,21.4,76.9
    ```

    ```csv
    workers,read_iops,usr_cpu,sys_cpu
    1,90000 90400 89700,6.1,14.8
    ```
    """
    if busy := _worst(results, "processor", _BUSY):
        share, text = busy
        yield f"each worker of the load used {share:.0f} % of a processor, {text}: the generator is the bottleneck"
    elif busy := _worst(results, f"processor{OF_MACHINE}", _BUSY):
        share, text = busy
        yield f"the load used {share:.0f} % of all processors of a machine, {text}: the generator is the bottleneck"
    elif pressed := _worst(results, "pressure", _PRESSED):
        share, text = pressed
        yield f"tasks waited for a processor for {share:.0f} % of the time, {text}"


def _worst(results: Results, metric: str, limit: float) -> tuple[float, str] | None:
    """The largest value of a metric above a limit, and in which trials there are such values."""
    every = _trials_with(results, metric)
    above = [trial for trial in every if trial.metrics[metric] > limit]
    if not above:
        return None
    worst = max(above, key=lambda trial: trial.metrics[metric])
    return worst.metrics[metric], in_trials(above, worst, every)


def _trials_with(results: Results, *metrics: str) -> list[MeasuredTrial]:
    return [trial for trial in results.trials if trial.metrics.keys() >= {*metrics}]


@RULES.add("start-skew")
def machines_start_at_different_times(results: Results) -> Iterator[str]:
    """The machines of a group began at different times.

    Until the last machine has begun, the others have the storage to themselves. A trial counts if its machines began
    within 50 ms, or 1 % of the window if that is more. This rule reports trials above 25 ms. Usually a machine is busy
    then, or the network delays some messages more than others. Look at `start_skew` of the trials, and at the file
    `clocks` of each, which says how exactly the clocks are known.

    ```csv found
    clients,read_iops,start_skew
    8,410000 405000 412000,0.038
    ```

    ```csv
    clients,read_iops,start_skew
    8,410000 405000 412000,0.004
    ```
    """
    if apart := _worst(results, "skew", _APART):
        seconds, text = apart
        yield f"the machines began {wording.measured(seconds, 's')} apart, {text}"


@RULES.add("roofline")
def more_than_there_can_be(results: Results) -> Iterator[str]:
    """The result exceeds what the link or the disks can do, so it came from a cache.

    Impossible results have been published: 802 MB/s over two links of 4 Gbit/s, 51,680 random reads per second from six
    disks, and 3 Gbit/s on a link of 1 Gbit/s.

    zlang finds this in two ways. A `host` can declare its limits: `link` is the bandwidth of the way to its data, and
    `seeks` is how many random operations per second its disks can do. And a collector of device statistics
    (`diskstats`) shows how much of the data came from the devices. If that is less than half, and the cache is not
    hot on purpose, the rest came from a cache. This is a warning and not an error, because compression has the same
    effect.

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
    yield from _above_trait(results, "link", "throughput", "rate", "the link carries")
    yield from _above_trait(results, "seeks", "operations", "iops", "the disks do")
    readers = [
        (trial, trial.metrics["read.device"], trial.metrics["read.bytes"])
        for trial in _trials_with(results, "read.device", "read.bytes")
        if trial.cache_state != "hot"
        and "transfer" not in trial.traits
        and trial.metrics["read.bytes"] >= _ENOUGH_BYTES
    ]
    result = [item for item in readers if item[1] < _FROM_DEVICES * item[2]]
    if result:
        worst, from_devices, read = min(result, key=lambda item: item[1] / item[2])
        text = in_trials([trial for trial, *_ in result], worst, [trial for trial, *_ in readers])
        yield (
            f"the workload read {wording.measured(read, 'bytes')}, but the devices only "
            f"{wording.measured(from_devices, 'bytes')}, {text}: the rest came from a cache, or was compressed"
        )


def _above_trait(results: Results, trait: str, means: str, type_: str, words: str) -> Iterator[str]:
    limited = [
        (trial, math.fsum(trial.each(means)), limit)
        for trial in results.trials
        if (limit := trial.traits.get(trait)) and (trait != "seeks" or trial.traits.get("random"))
    ]
    result = [item for item in limited if item[1] > _ROOM * item[2]]
    if result:
        worst, measured, limit = max(result, key=lambda item: item[1] / item[2])
        text = in_trials([trial for trial, *_ in result], worst, [trial for trial, *_ in limited])
        shown = [wording.measured_in_words(value, type_) for value in (measured, limit)]
        yield f"the result is {shown[0]}, but {words} at most {shown[1]}, {text}: data came from a cache"
