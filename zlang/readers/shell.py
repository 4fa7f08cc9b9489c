"""Numbers out of the output of any command.

In: the artefact (the step's standard output). Args: `metrics`, a list of `["time"]`, `["regex", "NAME=PATTERN"]` and
`["json", "NAME=PATH"]`. Out: one metric each; `time` gives `elapsed` (by the journal) and, where the command left a
`times.txt` from the shell's `times`, `user_s` and `sys_s` of its children, all in seconds.
Rule: what was asked for and is not there, or is no finite number, is a problem: the command did not measure it.

A pattern's last match in the output counts, its first group or else the whole of it; `^` and `$` are those of a line.
A path is `a.b[0]["c.d"]` in the first JSON document that fills whole lines.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

from zlang.metrics import words
from zlang.plan.plan import Reader, Step
from zlang.readers.reading import Reading, Window, text_of

_TIME = re.compile(r"(\d+)m(\d+(?:[.,]\d+)?)s\s+(\d+)m(\d+(?:[.,]\d+)?)s")
_DOCUMENT = re.compile(r"^[ \t]*(?=[{\[])", re.MULTILINE)
_REST = re.compile(r"[ \t\r]*(?:\n|\Z)")
_PART = re.compile(r"\[(\d+)\]|\[\"([^\"]*)\"\]|\.?([^.\[\]]+)")


class _MissingError(Exception):
    """The sentence that says why there is no such number."""


def read(directory: Path, reader: Reader, step: Step, window: Window | None = None) -> Reading:
    """The metrics that were asked for, or why they are not there."""
    wanted = reader.args.get("metrics")
    text = text_of(directory / reader.artefact)
    if text is None:
        return Reading(problems=(f"{reader.artefact} was not written",))
    metrics: dict[str, float] = {}
    problems: list[str] = []
    for item in wanted if isinstance(wanted, list | tuple) else ():
        try:
            match words(item):
                case ["time"]:
                    metrics.update(_times(directory, step, window))
                case ["regex", said] if "=" in said:
                    name, _, pattern = said.partition("=")
                    metrics[name] = _by_pattern(text, name, pattern)
                case ["json", said] if "=" in said:
                    name, _, path = said.partition("=")
                    metrics[name] = _by_path(text, name, path)
                case other:
                    problems.append(f"`{' '.join(other)}` is no way to find a metric")
        except _MissingError as problem:
            problems.append(str(problem))
    return Reading(metrics, tuple(problems))


def _times(directory: Path, step: Step, window: Window | None) -> Iterator[tuple[str, float]]:
    if window is None:
        raise _MissingError(f"the journal does not say when {step.name} began and ended")
    yield "elapsed", window[1] - window[0]
    text = text_of(directory / "times.txt")
    if text is None:
        return
    # POSIX: the first line is the shell's own time, the second that of its children.
    found = _TIME.findall(text)
    if len(found) < 2:  # noqa: PLR2004
        raise _MissingError("times.txt is not what `times` prints")
    user_m, user_s, sys_m, sys_s = (float(word.replace(",", ".")) for word in found[1])
    yield "user_s", 60 * user_m + user_s
    yield "sys_s", 60 * sys_m + sys_s


def _by_pattern(text: str, name: str, pattern: str) -> float:
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise _MissingError(f"{name}: `{pattern}` is no regular expression ({error})") from None
    last = None
    for last in compiled.finditer(text):  # noqa: B007 - only the last match is wanted
        pass
    if last is None:
        raise _MissingError(f"{name}: nothing in the output matches `{pattern}`")
    return _number(name, last.group(1) if compiled.groups else last.group())


def _by_path(text: str, name: str, path: str) -> float:
    value = _first_document(text, name)
    place = 0
    while place < len(path):
        part = _PART.match(path, place)
        if part is None:
            raise _MissingError(f"{name}: `{path}` is no path")
        place = part.end()
        index, quoted, key = part.groups()
        try:
            if index is not None:
                value = value[int(index)] if isinstance(value, list) else None
            else:
                value = value[key if quoted is None else quoted] if isinstance(value, dict) else None
        except (KeyError, IndexError):
            value = None
        if value is None:
            raise _MissingError(f"{name}: there is no `{path[:place]}` in the output's JSON")
    return _number(name, value)


def _first_document(text: str, name: str) -> object:
    decoder = json.JSONDecoder()
    for start in _DOCUMENT.finditer(text):
        try:
            value, end = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            continue
        if _REST.match(text, end):
            found: object = value
            return found
    raise _MissingError(f"{name}: there is no JSON in the output")


def _number(name: str, value: object) -> float:
    shown = str(value)[:60]
    if isinstance(value, int | float | str) and not isinstance(value, bool) and "_" not in shown:
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
        if math.isfinite(number):
            return number
    raise _MissingError(f"{name}: `{shown}` is not a number")
