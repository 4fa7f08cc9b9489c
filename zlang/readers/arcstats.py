"""Activity of the ARC during the measurement, from snapshots of its statistics.

In: the artefact. Each snapshot in it is a line `@ SECONDS` (since 1970, with a fraction), followed by lines `NAME TYPE
VALUE` as in /proc/spl/kstat/zfs/arcstats, or by the output of `sysctl kstat.zfs.misc.arcstats` (FreeBSD) or `kstat -p
zfs:0:arcstats` (illumos).
Out: metrics over the window: the hits of each list and each kind of access, what the L2ARC read and wrote,
`arc_hit_ratio` (percent of all accesses; an access that joined an I/O in flight is not a hit), `arc_data_hit_ratio`
(percent of demand accesses, without prefetches), and the size at the end. Samples of `arc_access_iops`,
`arc_miss_iops`, `arc_hit_ratio` and `arc_size_bytes`.
Rule: a metric that a release does not count (`iohits` up to 2.1) is absent. Without accesses there is no ratio.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from zlang.files import Place
from zlang.plan.plan import Reader, Step
from zlang.readers import series
from zlang.readers.reading import Reading, Sample, Window, text_of

_COUNTERS = {
    **{f"arc_{each}": each for each in ("hits", "iohits", "misses")},
    **{
        f"arc_{which}_{each}": f"{which}_{each}"
        for which in ("demand_data", "demand_metadata", "prefetch_data", "prefetch_metadata")
        for each in ("hits", "iohits", "misses")
    },
    **{f"arc_{which}_hits": f"{which}_hits" for which in ("mru", "mfu", "mru_ghost", "mfu_ghost")},
    **{name: name for name in ("l2_hits", "l2_misses", "l2_read_bytes", "l2_write_bytes")},
}
"""The counters of the ARC and the L2ARC during a measurement, with the names that ZFS has for them."""
_GAUGES = {"arc_size_bytes": "size", "arc_target_bytes": "c", "l2_size_bytes": "l2_size"}
"""Their state at its end."""
_RATIOS = {"arc_hit_ratio": "", "arc_data_hit_ratio": "demand_data_"}
"""Shares of accesses, and how the names of what they are shares of begin."""
_FORMS = (
    re.compile(r"(\w+)\s+\d+\s+(\d+)"),  # the kernel's table on Linux: NAME TYPE VALUE
    re.compile(r"kstat\.zfs\.misc\.arcstats\.(\w+)[:=] ?(\d+)"),  # sysctl of FreeBSD
    re.compile(r"zfs:\d+:arcstats:(\w+)\s+(\d+)"),  # kstat -p of illumos
)
_Snapshot = tuple[float, dict[str, int]]


def read(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """The growth of the counters between the snapshots."""
    text = text_of(directory / reader.artefact)
    if text is None:
        return Reading(problems=(f"{reader.artefact} was not written",))
    snapshots = [(t, counters) for t, lines in series.snapshots(text) if (counters := dict(_counters(lines)))]
    if len(snapshots) < 2:  # noqa: PLR2004 - a difference needs two
        return Reading(problems=(f"{reader.artefact} has fewer than two snapshots",))
    changes = list(series.changes(snapshots, window))
    if not changes:
        return Reading(problems=(f"{reader.artefact} has no snapshots of the measurement",))
    added: dict[str, float] = {}
    for (_, old), (_, new), part in changes:
        for name, amount in _added(old, new).items():
            added[name] = added.get(name, 0.0) + part * amount
    samples = tuple(
        sample for old, new, _ in changes if series.is_within(window, old[0], new[0]) for sample in _samples(old, new)
    )
    return Reading(_metrics(added, changes[-1][1][1]), samples=samples)


def _counters(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    for line in lines:
        for form in _FORMS:
            if match := form.fullmatch(line.strip()):
                yield match[1], int(match[2])


def _metrics(added: Mapping[str, float], last: Mapping[str, int]) -> dict[str, float]:
    result = {metric: added[name] for metric, name in _COUNTERS.items() if name in added}
    result |= {metric: float(last[name]) for metric, name in _GAUGES.items() if name in last}
    for metric, prefix in _RATIOS.items():
        accesses = _accesses(added, prefix)
        if accesses:
            result[metric] = 100 * added.get(f"{prefix}hits", 0) / accesses
    return result


def _samples(old: _Snapshot, new: _Snapshot) -> Iterator[Sample]:
    (before, first), (after, last) = old, new
    added, seconds = _added(first, last), after - before
    if seconds <= 0:
        return
    accesses = _accesses(added, "")
    yield Sample(after, "", "arc_access_iops", accesses / seconds)
    yield Sample(after, "", "arc_miss_iops", added.get("misses", 0) / seconds)
    if accesses:
        yield Sample(after, "", "arc_hit_ratio", 100 * added.get("hits", 0) / accesses)
    if "size" in last:
        yield Sample(after, "", "arc_size_bytes", float(last["size"]))


def _added(old: Mapping[str, int], new: Mapping[str, int]) -> dict[str, int]:
    """The increases of the counters that both snapshots have; a counter that decreased was reset, and is omitted."""
    return {name: value - old[name] for name, value in new.items() if name in old and value >= old[name]}


def _accesses(added: Mapping[str, float], prefix: str) -> float:
    return sum(added.get(f"{prefix}{how}", 0) for how in ("hits", "iohits", "misses"))
