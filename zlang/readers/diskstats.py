"""I/O of devices during the measurement, from snapshots of /proc/diskstats.

In: the artefact. Each snapshot in it is a line `@ SECONDS` (since 1970, with a fraction), followed by the kernel's
table (Documentation/admin-guide/iostats.rst).
Out: for each interval between two snapshots and each device with any I/O, samples of `read_iops`, `write_iops`,
`read_bw`, `write_bw` (a sector of the table is always 512 bytes), `read_await`, `write_await` (ns, if there was I/O),
`in_flight`, `queue` (the mean number in flight) and `util` (percent of the time). Over the window, the metrics
`device_reads`, `device_writes`, `device_read_bytes` and `device_write_bytes`.
Rule: the metrics count each byte once, so they add up whole disks only. A name decides what is a whole disk. Devices on
top of others or of memory are not: loop, ram, zram, dm-, md, zd, bcache, drbd, and neither are optical and floppy
devices. A partition has the name of another device in the table and a number (`sda1`), or p and a number (`nvme0n1p1`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from zlang.files import Place
from zlang.hints import NamedTuple
from zlang.plan.plan import Reader, Step
from zlang.readers import series
from zlang.readers.reading import Reading, Sample, Window, text_of

TOTALS = ("device_reads", "device_writes", "device_read_bytes", "device_write_bytes")
"""Metrics that add up all disks during a measurement."""

SECTOR = 512
_NOT_A_DISK = re.compile(r"(loop|ram|zram|dm-|md\d|md_|zd\d|bcache|drbd|sr\d|fd\d|nvme\d+c\d+n)")
_FIELDS = 14
_WRAP = 2**32  # the kernel prints milliseconds as 32 bits


class _Counters(NamedTuple):
    reads: int
    sectors_read: int
    ms_reading: int
    writes: int
    sectors_written: int
    ms_writing: int
    in_flight: int
    ms_busy: int
    ms_weighted: int


_COLUMNS = (3, 5, 6, 7, 9, 10, 11, 12, 13)


def read(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """Read the rates between snapshots, and the sums over whole disks."""
    text = text_of(directory / reader.artefact)
    if text is None:
        return Reading(problems=(f"{reader.artefact} was not written",))
    snapshots = [(t, dict(_counters(lines))) for t, lines in series.snapshots(text)]
    if len(snapshots) < 2:  # noqa: PLR2004 - a rate needs two
        return Reading(problems=(f"{reader.artefact} has fewer than two snapshots",))
    samples: list[Sample] = []
    totals = [0.0, 0.0, 0.0, 0.0]
    disks = whole_disks({name for _, devices in snapshots for name in devices})
    for (before, old), (after, new), part in series.changes(snapshots, window):
        for name, now in new.items():
            change = _change(old[name], now) if name in old else None
            if change is None or not any(now):
                continue
            if after > before and series.is_within(window, before, after):
                samples.extend(_rates(name, after, after - before, change))
            if name in disks:
                amounts = (change.reads, change.writes, change.sectors_read * SECTOR, change.sectors_written * SECTOR)
                totals = [total + part * amount for total, amount in zip(totals, amounts, strict=True)]
    metrics = dict(zip(TOTALS, totals, strict=True)) if disks else {}
    return Reading(metrics, samples=tuple(samples))


def whole_disks(names: set[str]) -> set[str]:
    """The devices of a table that are whole disks."""
    return {name for name in names if not _NOT_A_DISK.match(name) and not _is_partition(name, names)}


def _is_partition(name: str, names: set[str]) -> bool:
    base = name.rstrip("0123456789")
    if base == name:
        return False
    return base in names or (base.endswith("p") and base[:-1] in names and base[-2:-1].isdigit())


def _counters(lines: Iterable[str]) -> Iterator[tuple[str, _Counters]]:
    for line in lines:
        words = line.split()
        with suppress(ValueError):
            if len(words) >= _FIELDS:
                yield words[2], _Counters._make(int(words[column]) for column in _COLUMNS)


def _change(old: _Counters, new: _Counters) -> _Counters | None:
    """The increase of the counters, or None if another device took the name and counts from 0 again."""
    if new.reads < old.reads or new.writes < old.writes:
        return None
    return _Counters(
        reads=new.reads - old.reads,
        sectors_read=new.sectors_read - old.sectors_read,
        ms_reading=(new.ms_reading - old.ms_reading) % _WRAP,
        writes=new.writes - old.writes,
        sectors_written=new.sectors_written - old.sectors_written,
        ms_writing=(new.ms_writing - old.ms_writing) % _WRAP,
        in_flight=new.in_flight,
        ms_busy=(new.ms_busy - old.ms_busy) % _WRAP,
        ms_weighted=(new.ms_weighted - old.ms_weighted) % _WRAP,
    )


def _rates(name: str, t: float, seconds: float, change: _Counters) -> Iterator[Sample]:
    yield Sample(t, name, "read_iops", change.reads / seconds)
    yield Sample(t, name, "write_iops", change.writes / seconds)
    yield Sample(t, name, "read_bw", change.sectors_read * SECTOR / seconds)
    yield Sample(t, name, "write_bw", change.sectors_written * SECTOR / seconds)
    if change.reads:
        yield Sample(t, name, "read_await", change.ms_reading / change.reads * 1e6)
    if change.writes:
        yield Sample(t, name, "write_await", change.ms_writing / change.writes * 1e6)
    yield Sample(t, name, "in_flight", float(change.in_flight))
    yield Sample(t, name, "queue", change.ms_weighted / 1000 / seconds)
    yield Sample(t, name, "util", min(100.0, change.ms_busy / 10 / seconds))
