"""The table that `TZ=UTC LANG=C vmstat -n -t INTERVAL` prints, as samples.

In: the artefact, from procps. Out: samples `vmstat_<column>` at the time printed in the row, which ends the interval.
Rule: the first row tells of the time since the machine was started and is left out. procps counts memory, swapping and
blocks in KiB; here they are bytes (per second).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from zlang.plan.plan import Reader, Step
from zlang.readers.reading import Reading, Sample, Window, text_of, whole_lines

_KIB = {"swpd", "free", "buff", "cache", "inact", "active", "si", "so", "bi", "bo"}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_STAMP = 2  # words of a time: the date and the hour


def read(directory: Path, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """The samples of every row but the first."""
    text = text_of(directory / reader.artefact)
    if text is None:
        return Reading(problems=(f"{reader.artefact} was not written",))
    try:
        samples = tuple(_samples(text))
    except ValueError as error:
        return Reading(problems=(f"{reader.artefact}: {error}",))
    return Reading(samples=samples, problems=() if samples else (f"{reader.artefact} has no sample",))


def _samples(text: str) -> Iterator[Sample]:
    names: list[str] = []
    zone = ""
    rows = 0
    for line in whole_lines(text):
        words = line.split()
        if words[:2] == ["r", "b"]:
            zone, names = words[-1], words[:-1]
        elif names and len(words) == len(names) + _STAMP and _DATE.fullmatch(words[-_STAMP]):
            rows += 1
            if rows > 1:
                yield from _row(names, words, _seconds(" ".join(words[-_STAMP:]), zone))
        elif names and words and words[0].isdigit() and len(words) == len(names) + 1:
            raise ValueError("its rows have no time (vmstat needs -t)")


def _row(names: list[str], words: list[str], t: float) -> Iterator[Sample]:
    for name, word in zip(names, words, strict=False):
        yield Sample(t, "", f"vmstat_{name}", float(word) * 1024 if name in _KIB else float(word))


def _seconds(stamp: str, zone: str) -> float:
    moment = datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007 - the zone is in the table's head
    if zone in {"UTC", "GMT"}:
        return moment.replace(tzinfo=UTC).timestamp()
    if zone in time.tzname:
        return moment.timestamp()
    raise ValueError(f"its times are in the zone {zone} (run vmstat with TZ=UTC)")
