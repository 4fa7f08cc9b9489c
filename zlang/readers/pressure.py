"""Snapshots of /proc/pressure, as the share of time in which tasks waited.

In: the artefact, in which each snapshot is a line `@ SECONDS` (since 1970, with a fraction) and then lines
`…/RESOURCE:some avg10=… total=MICROSECONDS`, as `grep -H . /proc/pressure/*` prints them. Out: samples and metrics
`psi_RESOURCE_some_ratio` (some of the tasks waited) and `psi_RESOURCE_full_ratio` (all did), in percent of the time.
Rule: they are computed from differences of the totals, because the kernel's averages also cover time before the
measurement.
"""

from __future__ import annotations

import re

from zlang.files import Place
from zlang.plan.plan import Reader, Step
from zlang.readers import series
from zlang.readers.reading import Reading, Window, text_of

_LINE = re.compile(r"(?:.*/)?(cpu|io|irq|memory):(some|full) .*total=(\d+)")


def read(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """Read the shares between snapshots, and over the window."""
    text = text_of(directory / reader.artefact)
    if text is None:
        return Reading(problems=(f"{reader.artefact} was not written",))
    rows = [
        series.SeriesRow(after, after - before, shares)
        for (before, old), (after, new), _ in series.changes(_totals(text), window)
        if after > before
        and (shares := {name: (new[name] - old[name]) / (after - before) / 1e4 for name in new if name in old})
    ]
    return series.reading(reader.artefact, rows, window)


def _totals(text: str) -> list[tuple[float, dict[str, int]]]:
    return [
        (t, {f"psi_{match[1]}_{match[2]}_ratio": int(match[3]) for line in lines if (match := _LINE.fullmatch(line))})
        for t, lines in series.snapshots(text)
    ]
