"""What the metrics of readers are, in a few words: a name in, a description for the catalogue of columns out."""

from __future__ import annotations

import re

from zlang import metrics

_WHEN = {"before": "before the caches were treated", "after": "after the measurement"}
_WHO = {"some": "some tasks", "full": "all tasks"}
_LATENCIES = {"clat": "from submission to completion", "lat": "in all", "slat": "until submission"}
_FROM_OTHERS = {
    **{name: f"`{theirs}` of arcstats" for name, theirs in {**metrics.ARC_COUNTERS, **metrics.ARC_GAUGES}.items()},
    **{
        name: f"hits of all {theirs or 'ARC '}accesses".replace("_", " ") for name, theirs in metrics.ARC_RATIOS.items()
    },
    **{name: f"`{theirs}` of iostat, mean" for name, (theirs, _) in metrics.IOSTAT.items()},
    **{name: f"`{theirs}` of mpstat, mean" for name, theirs in metrics.MPSTAT.items()},
    **{name: f"`{theirs}` of /proc/meminfo, mean" for name, theirs in metrics.MEMINFO.items()},
    **{name: f"`{name.removeprefix('vmstat_')}` of vmstat, mean" for name in metrics.OF_READERS["vmstat"]},
    **dict.fromkeys(metrics.POOL_RATES, "of all ZFS pools together, mean"),
    **dict.fromkeys(metrics.TOTALS, "of all whole disks together, by the kernel's count"),
    **dict.fromkeys(metrics.OF_READERS["sysstat_x"], "of a filer, by its `sysstat -x`, mean"),
    **{
        name: f"share of the time in which {_WHO[name.split('_')[2]]} waited for {name.split('_')[1]}"
        for name in metrics.OF_READERS["pressure"]
    },
    **{
        f"{when}_{name}": f"{theirs}, {said}"
        for when, said in _WHEN.items()
        for name, theirs in {
            **{name: f"`{theirs}` of what is measured" for theirs, name in metrics.CAPACITY.items()},
            **{name: f"`{name.removeprefix('smart_')}` by SMART" for name in metrics.SMART},
        }.items()
    },
    "fio_runtime": "the longest of its directions",
    "usr_cpu": "in user mode, of a processor",
    "sys_cpu": "in the kernel, of a processor",
    "ctx": "context switches",
    "majf": "page faults that read from a disk",
    "minf": "page faults that did not",
    "rounds": "rehearsals until the workload was steady",
    "throttles": "times that processors were held back",
}
_OF_FIO = (
    (re.compile(r"(?P<way>read|write|trim|mixed)_iops"), "{way} operations a second"),
    (re.compile(r"(?P<way>read|write|trim|mixed)_bw"), "bytes a second, {way}"),
    (re.compile(r"(?P<way>read|write|trim|mixed)_bytes"), "bytes, {way}"),
    (re.compile(r"(?P<way>read|write|trim|mixed)_ios"), "operations, {way}"),
    (re.compile(r"(?P<way>read|write|trim|mixed)_runtime"), "how long there was {way} I/O"),
    (
        re.compile(r"(?P<way>read|write|trim|mixed)_(?P<kind>[cs]?lat)_(?P<what>mean|max)"),
        "{way} latency {kind}, {what}",
    ),
    (
        re.compile(r"(?P<way>read|write|trim|mixed)_(?P<kind>[cs]?lat)_p(?P<what>\d+)"),
        "{way} latency {kind}, percentile {what}",
    ),
)


def metric(name: str) -> str:
    """What a metric of a reader is, in a few words; nothing of one that a program names itself."""
    for pattern, said in _OF_FIO:
        if found := pattern.fullmatch(name):
            parts = found.groupdict()
            kind, what = _LATENCIES.get(parts.get("kind", ""), ""), parts.get("what", "")
            return said.format(way=parts["way"], kind=kind, what="99.9" if what == "999" else what)
    return _FROM_OTHERS.get(name, "")
