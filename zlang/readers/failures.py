"""Reasons for a failed measurement, from the tool's own report.

In: the steps of a trial, and the directory of its attempt. Out: a sentence, or nothing.
Rule: the message already has the tool's output; only errors that it wrote elsewhere are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from zlang.files import Place, read_regular
from zlang.plan.plan import Reader, Step
from zlang.readers import fio, streams
from zlang.readers.reading import LONGEST


def explain(steps: Iterable[Step], out: Place, message: str) -> str:
    """The first error in a report, unless the tool's message has it; empty if no report has one."""
    for path in (path for step in steps if step.reader for path in _reports(step.reader, out)):
        try:
            data = read_regular(path, LONGEST)
        except OSError:
            continue
        if error := fio.find_error(data, message):
            return error
    return ""


def _reports(reader: Reader, out: Place) -> Iterator[Place]:
    """The paths of fio's reports: that of the only stream, or those of all."""
    if reader.name == "fio":
        yield out / reader.artefact
    parts = reader.args.get(streams.NAME)
    for part in parts if isinstance(parts, list | tuple) else ():
        if isinstance(part, Mapping) and part["reader"] == "fio":
            yield out / str(part["directory"]) / str(part["artefact"])
