"""The table that `TZ=UTC LANG=C vmstat -n -t INTERVAL` prints, as samples.

In: the artefact, printed by procps after an optional line `@ SECONDS` (when it was started). Args: `interval`, in
seconds. Out: samples `vmstat_COLUMN`, each at the end of its interval; metrics of the same names, their means.
Rule: the first row is skipped, because it covers the time since the machine was started. procps counts memory, swapping
and blocks in KiB; here they are in bytes, or bytes per second.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from zlang.files import Place
from zlang.plan.plan import Reader, Step
from zlang.readers import series
from zlang.readers.reading import Reading, Window, text_of, whole_lines

_KIB = {"swpd", "free", "buff", "cache", "inact", "active", "si", "so", "bi", "bo"}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_STAMP = 2  # words of a time: the date and the hour


def read(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """Read the samples of every row but the first, and their means."""
    text = text_of(directory / reader.artefact)
    if text is None:
        return Reading(problems=(f"{reader.artefact} was not written",))
    try:
        rows = list(_rows(text, series.interval(reader.args)))
    except ValueError as error:
        return Reading(problems=(f"{reader.artefact}: {error}",))
    return series.reading(reader.artefact, rows, window)


def _rows(text: str, interval: float) -> Iterator[series.SeriesRow]:
    names: list[str] = []
    zone = ""
    start: float | None = None
    rows = 0
    for line in whole_lines(text):
        words = line.split()
        if start is None and (begun := series.moment(line)) is not None:
            start = begun
        elif words[:2] == ["r", "b"]:
            zone, names = words[-1], words[:-1]
        elif names and len(words) == len(names) + _STAMP and _DATE.fullmatch(words[-_STAMP]):
            if rows:
                t = _seconds(" ".join(words[-_STAMP:]), zone)
                near = t if start is None else start + rows * interval
                values = {f"vmstat_{name}": _amount(name, word) for name, word in zip(names, words, strict=False)}
                yield series.SeriesRow(series.within_second(t, near), interval, values)
            rows += 1
        elif names and words and words[0].isdigit() and len(words) == len(names) + 1:
            raise ValueError("its rows have no time (vmstat needs -t)")


def _amount(name: str, word: str) -> float:
    return float(word) * 1024 if name in _KIB else float(word)


def _seconds(stamp: str, zone: str) -> float:
    moment = datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007 - the zone is in the table's head
    if zone in {"UTC", "GMT"}:
        return moment.replace(tzinfo=UTC).timestamp()
    if zone in time.tzname:
        return moment.timestamp()
    raise ValueError(f"its times are in the zone {zone} (run vmstat with TZ=UTC)")
