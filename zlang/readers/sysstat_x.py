"""Output of `sysstat -x SECONDS` of a NetApp filer, as samples and means.

In: the artefact: a line `@ SECONDS` (since 1970, with a fraction: when it was started), then headers of two lines, and
rows. Args: `interval`, in seconds.
Out: samples and metrics `ontap_…`: those of `_COLUMNS`, and `ontap_NAME_iops`, `ontap_NAME_in_bw` and
`ontap_NAME_out_bw` of the protocols that the header names.
Rule: a row has no time, so it is one interval after the previous row. Columns that the header does not name are
skipped, because releases differ in what follows `Disk util`. The age of the cache is in minutes, unless it is written
as `35s`. A kB is a KiB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from zlang.files import Place
from zlang.plan.plan import Reader, Step
from zlang.readers import series
from zlang.readers.reading import Reading, Window, text_of, whole_lines

_COLUMNS = (
    "ontap_total_iops",
    *("ontap_net_in_bw", "ontap_net_out_bw", "ontap_disk_read_bw", "ontap_disk_write_bw"),
    *("ontap_tape_read_bw", "ontap_tape_write_bw", "ontap_cache_age_s", "ontap_cache_hit_ratio", "ontap_cp_ratio"),
    *("", "ontap_disk_busy_ratio"),
)
"""The columns of ONTAP's sysstat from `Total` on; the empty one is not a number (the type of a consistency point)."""

_ROW = re.compile(r"\s*\d+%\s")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(s|%)?")
_WITH_RATE = re.compile(r"(\S+)\s+kB/s")
_IN_MINUTES = "ontap_cache_age_s"


def read(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """Read the samples of every row, and their means."""
    text = text_of(directory / reader.artefact)
    if text is None:
        return Reading(problems=(f"{reader.artefact} was not written",))
    start = series.moment(text.partition("\n")[0])
    if start is None:
        return Reading(problems=(f"{reader.artefact} does not begin with `@ SECONDS`",))
    seconds = series.interval(reader.args)
    rows = [series.SeriesRow(start + n * seconds, seconds, values) for n, values in enumerate(_rows(text), 1)]
    return series.reading(reader.artefact, rows, window)


def _rows(text: str) -> Iterator[dict[str, float]]:
    columns: list[str] = []
    for line in whole_lines(text):
        if line.lstrip().startswith("CPU"):
            columns = _columns(line)
        elif columns and _ROW.match(line):
            yield dict(_values(columns, line.split()))


def _columns(head: str) -> list[str]:
    """The metrics of a row, by the first line of its head."""
    front, _, remaining = head.partition("Total")
    _, _, end = remaining.rpartition("Disk")
    rated = _WITH_RATE.findall(end)
    counted = _WITH_RATE.sub("", end).split()
    return [
        "ontap_cpu",
        *(f"ontap_{name.lower()}_iops" for name in front.split()[1:]),
        *_COLUMNS,
        *(f"ontap_{name.lower()}_iops" for name in counted),
        *(f"ontap_{name.lower()}_{way}_bw" for name in rated for way in ("in", "out")),
    ]


def _values(columns: Sequence[str], words: Sequence[str]) -> Iterator[tuple[str, float]]:
    for name, word in zip(columns, words, strict=False):
        match = _NUMBER.fullmatch(word)
        if match and name:
            factor = 1024 if name.endswith("_bw") else 60 if name == _IN_MINUTES and match[2] != "s" else 1
            yield name, float(match[1]) * factor
