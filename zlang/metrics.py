"""What readers can measure: the names of their metrics, and the unit that a name stands for.

In: a reader's name and its arguments. Out: names, as they are in clauses of a program and as columns of the database.
Rule: this is the one place: the readers take their names from here, and a test compares what they yield with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

DIRECTIONS = ("read", "write", "trim", "mixed")
"""Of I/O, as fio names them."""
NEEDS = {"read": "reads", "write": "modifies", "trim": "modifies"}
"""What a workload must do, by the names of `check/traits.py`, for there to be I/O of a direction."""
KINDS = ("clat", "lat", "slat")
"""Of latencies, as fio names them: from submission to completion, the whole, until submission."""
PERCENTILES = (("p50", 500), ("p95", 950), ("p99", 990), ("p999", 999))
"""What is taken of each latency in each trial, and how many thousandths lie below it."""
TOTALS = ("device_reads", "device_writes", "device_read_bytes", "device_write_bytes")
"""Of all disks during a measurement."""
LEFT_BY = "fio"
"""The tool whose reports are taken in where it was run without zlang."""
ALWAYS = ("elapsed",)
"""What is known of every trial."""

_RATES = ("iops", "bw", "bytes", "ios", "runtime")
_OF_LATENCY = ("mean", "max", *(name for name, _ in PERCENTILES))
_OF_A_DIRECTION = (*_RATES, *(f"{kind}_{what}" for kind in KINDS for what in _OF_LATENCY))
_FIO = (
    *(f"{direction}_{what}" for direction in DIRECTIONS for what in _OF_A_DIRECTION),
    *("fio_runtime", "usr_cpu", "sys_cpu", "ctx", "majf", "minf"),
)
ARC_COUNTERS = {
    **{f"arc_{each}": each for each in ("hits", "iohits", "misses")},
    **{
        f"arc_{which}_{each}": f"{which}_{each}"
        for which in ("demand_data", "demand_metadata", "prefetch_data", "prefetch_metadata")
        for each in ("hits", "iohits", "misses")
    },
    **{f"arc_{which}_hits": f"{which}_hits" for which in ("mru", "mfu", "mru_ghost", "mfu_ghost")},
    **{name: name for name in ("l2_hits", "l2_misses", "l2_read_bytes", "l2_write_bytes")},
}
"""What is counted of the ARC and the L2ARC during a measurement, and what ZFS calls it."""
ARC_GAUGES = {"arc_size_bytes": "size", "arc_target_bytes": "c", "l2_size_bytes": "l2_size"}
"""What is known of them at its end."""
ARC_RATIOS = {"arc_hit_ratio": "", "arc_data_hit_ratio": "demand_data_"}
"""Shares of accesses, and how the names of what they are shares of begin."""
CAPACITY = {
    **{
        name: f"{name}_bytes"
        for name in (
            *("du", "apparent", "df_used", "df_available"),
            *("compsize_disk", "compsize_uncompressed", "compsize_referenced"),
            *("btrfs_used", "btrfs_allocated", "btrfs_unallocated"),
            *("used", "logicalused", "referenced", "logicalreferenced", "usedbysnapshots", "allocated", "free"),
        )
    },
    **{name: name for name in ("compressratio", "refcompressratio", "dedupratio")},
}
"""What files, datasets and pools take, as tools call it, and its metrics without `before_` and `after_`."""
POOL_RATES = ("pool_read_iops", "pool_write_iops", "pool_read_bw", "pool_write_bw")
"""Of all pools together."""
IOSTAT = {
    "iostat_read_iops": ("r/s", 1), "iostat_write_iops": ("w/s", 1),
    "iostat_discard_iops": ("d/s", 1), "iostat_flush_iops": ("f/s", 1),
    "iostat_read_bw": ("rkB/s", 1024), "iostat_write_bw": ("wkB/s", 1024), "iostat_discard_bw": ("dkB/s", 1024),
    "iostat_read_await": ("r_await", 10**6), "iostat_write_await": ("w_await", 10**6),
    "iostat_queue": ("aqu-sz", 1), "iostat_busy_ratio": ("util", 1),
}  # fmt: skip
"""Of a device: what sysstat calls it, and what that is times for base units."""
MPSTAT = {
    f"mpstat_{word}_cpu": word
    for word in ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle")
}
"""Shares of a processor, and what sysstat calls them."""
MEMINFO = {
    "mem_free_bytes": "MemFree", "mem_available_bytes": "MemAvailable", "mem_cached_bytes": "Cached",
    "mem_buffers_bytes": "Buffers", "mem_dirty_bytes": "Dirty", "mem_writeback_bytes": "Writeback",
    "mem_slab_bytes": "Slab", "mem_slab_reclaimable_bytes": "SReclaimable",
}  # fmt: skip
"""What memory is used for, and what the kernel calls it."""
ONTAP = (
    "ontap_total_iops",
    *("ontap_net_in_bw", "ontap_net_out_bw", "ontap_disk_read_bw", "ontap_disk_write_bw"),
    *("ontap_tape_read_bw", "ontap_tape_write_bw", "ontap_cache_age_s", "ontap_cache_hit_ratio", "ontap_cp_ratio"),
    *("", "ontap_disk_busy_ratio"),
)
"""The columns of ONTAP's sysstat from `Total` on; the empty one is no number (the type of a consistency point)."""
_ONTAP = (
    "ontap_cpu",
    *filter(None, ONTAP),
    *(f"ontap_{protocol}_iops" for protocol in ("nfs", "cifs", "http", "hdfs", "fcp", "iscsi", "other")),
    *(f"ontap_{protocol}_{way}_bw" for protocol in ("fcp", "iscsi") for way in ("in", "out")),
)
_PRESSURE = tuple(f"psi_{of}_{who}_ratio" for of in ("cpu", "io", "irq", "memory") for who in ("some", "full"))
_VMSTAT = (
    *(f"vmstat_{column}" for column in ("r", "b", "swpd", "free", "buff", "cache", "inact", "active")),
    *(f"vmstat_{column}" for column in ("si", "so", "bi", "bo", "in", "cs", "us", "sy", "id", "wa", "st", "gu")),
)
SMART = (
    *("smart_written_bytes", "smart_read_bytes", "smart_powered_s"),
    *("smart_used_ratio", "smart_celsius", "smart_media_errors"),
)
"""What a disk says of itself, without `before_` and `after_`; `used` is the share of its life."""
_SMART = tuple(f"{when}_{name}" for when in ("before", "after") for name in SMART)
_CAPACITY = tuple(f"{when}_{name}" for when in ("before", "after") for name in CAPACITY.values())
OF_READERS: Mapping[str, tuple[str, ...]] = {
    "arcstats": (*ARC_COUNTERS, *ARC_GAUGES, *ARC_RATIOS),
    "capacity": _CAPACITY,
    "diskstats": TOTALS,
    "fio": _FIO,
    "outside": (),
    "iostat": tuple(IOSTAT),
    "meminfo": tuple(MEMINFO),
    "mpstat": tuple(MPSTAT),
    "pressure": _PRESSURE,
    "rounds": ("rounds",),
    "shell": (),
    "smart": _SMART,
    "sysstat_x": _ONTAP,
    "throttling": ("throttles",),
    "vmstat": _VMSTAT,
    "zpool_iostat": POOL_RATES,
}
"""What each reader can yield, beside what its argument `metrics` asks for; some have samples only."""
DISTRIBUTIONS = {f"{direction}_{kind}": (direction, kind) for direction in DIRECTIONS for kind in KINDS}
"""Latencies of single operations, of which fio leaves histograms."""

_UNITS = (
    (r"_iops$|^vmstat_(in|cs)$", "1/s"),
    (r"_bw$|^vmstat_([sb][io])$", "bytes/s"),
    (r"_bytes$|^vmstat_(swpd|free|buff|cache|inact|active)$", "bytes"),
    (r"_[cs]?lat_(mean|max|p\d+)$|_ns$|^iostat_\w+_await$", "ns"),
    (r"_(cpu|ratio)$|^vmstat_(us|sy|id|wa|st|gu)$", "%"),
    (r"_runtime$|_s$|^elapsed$", "s"),
)


def unit(name: str) -> str:
    """The unit of a metric, by what readers call their metrics."""
    return next((unit for pattern, unit in _UNITS if re.search(pattern, name)), "")


def column(name: str) -> str:
    """What a metric is called where a name is one word."""
    return name.replace(".", "_").replace("\0", "") or "unnamed"


def of(reader: str, arguments: Mapping[str, object]) -> Iterator[str]:
    """The names of all metrics that a reader with these arguments can yield."""
    yield from OF_READERS.get(reader, ())
    wanted = arguments.get("metrics")
    for item in wanted if isinstance(wanted, list | tuple) else ():
        yield from words(item) if reader == "outside" else _asked_for(*words(item))


def distributions(reader: str) -> Iterator[str]:
    """The latencies of single operations that a reader leaves histograms of."""
    if reader == "fio":
        yield from DISTRIBUTIONS


def need(reader: str, name: str) -> str:
    """What a workload must do for this reader to yield a metric or a distribution; nothing where it always does."""
    return NEEDS.get(name.partition("_")[0], "") if reader == "fio" else ""


def words(item: object) -> list[str]:
    """What is asked of the `shell` reader: how a metric is found, and what it is called and found by."""
    return [item] if isinstance(item, str) else [str(word) for word in item] if isinstance(item, list | tuple) else []


def _asked_for(how: str = "", said: str = "", *_more: str) -> Iterator[str]:
    if how == "time":
        yield from ("elapsed", "user_s", "sys_s")
    elif "=" in said:
        yield said.partition("=")[0]
