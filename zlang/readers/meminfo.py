"""Snapshots of /proc/meminfo, as samples and means.

In: the artefact, in which each snapshot is a line `@ SECONDS` (since 1970, with a fraction) and then lines
`NAME: NUMBER kB`. Out: samples `mem_NAME_bytes` and metrics of the same names, their means, for those of
`_METRICS`.
"""

from __future__ import annotations

import re
from itertools import pairwise

from zlang.files import Place
from zlang.plan.plan import Reader, Step
from zlang.readers import series
from zlang.readers.reading import Reading, Window, text_of

_METRICS = {
    "mem_free_bytes": "MemFree", "mem_available_bytes": "MemAvailable", "mem_cached_bytes": "Cached",
    "mem_buffers_bytes": "Buffers", "mem_dirty_bytes": "Dirty", "mem_writeback_bytes": "Writeback",
    "mem_slab_bytes": "Slab", "mem_slab_reclaimable_bytes": "SReclaimable",
}  # fmt: skip
"""The uses of memory, with the names that the kernel has for them."""

_LINE = re.compile(r"(\w+):\s+(\d+) kB")


def read(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """Read the snapshots, each of which represents the time since the previous one."""
    text = text_of(directory / reader.artefact)
    if text is None:
        return Reading(problems=(f"{reader.artefact} was not written",))
    result = [(t, {name: kib * 1024.0 for name, kib in _amounts(lines).items()}) for t, lines in series.snapshots(text)]
    rows = [series.SeriesRow(after, after - before, values) for (before, _), (after, values) in pairwise(result)]
    return series.reading(reader.artefact, rows, window)


def _amounts(lines: list[str]) -> dict[str, int]:
    amounts = {line[1]: int(line[2]) for line in map(_LINE.fullmatch, lines) if line}
    return {name: amounts[word] for name, word in _METRICS.items() if word in amounts}
