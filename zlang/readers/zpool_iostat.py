"""What `zpool iostat -T u [-H -p] SECONDS` prints, as samples of each pool.

In: the artefact: a line with the seconds since 1970, then a row for each pool, again and again; with -p exact and
between tabs, without it (zfs-fuse) rounded to three digits with K, M, G, T (of 1024) and headings. Out: samples
`pool_alloc_bytes`, `pool_free_bytes`, `pool_read_iops`, `pool_write_iops`, `pool_read_bw`, `pool_write_bw`, whose
source is the pool.
Rule: the first report tells of the time since the pool was imported and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from zlang.plan.plan import Reader, Step
from zlang.readers.reading import Reading, Sample, Window, text_of, whole_lines

_METRICS = (
    *("pool_alloc_bytes", "pool_free_bytes"),
    *("pool_read_iops", "pool_write_iops", "pool_read_bw", "pool_write_bw"),
)
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([KMGTPE]?)")


def read(directory: Path, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """The samples of every report but the first."""
    text = text_of(directory / reader.artefact)
    if text is None:
        return Reading(problems=(f"{reader.artefact} was not written",))
    samples = tuple(_samples(text))
    return Reading(samples=samples, problems=() if samples else (f"{reader.artefact} has no sample",))


def amount(word: str) -> float | None:
    """A number as ZFS prints it: `1.49G` or in full; None for `-` and what is no number."""
    found = _NUMBER.fullmatch(word)
    return float(found[1]) * 1024 ** " KMGTPE".index(found[2] or " ") if found else None


def _samples(text: str) -> Iterator[Sample]:
    reports, t = 0, 0.0
    for line in whole_lines(text):
        words = line.split("\t") if "\t" in line else line.split()
        if len(words) == 1 and words[0].isdigit():
            reports, t = reports + 1, float(words[0])
        elif reports > 1 and len(words) > len(_METRICS):
            values = [amount(word) for word in words[1 : len(_METRICS) + 1]]
            for metric, value in zip(_METRICS, values, strict=True):
                if value is not None:
                    yield Sample(t, words[0], metric, value)
