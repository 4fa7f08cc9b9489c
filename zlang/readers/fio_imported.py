"""Reports that fio wrote without zlang, with the settings in each.

Rule: an option of the jobs, or a directory in the path of a report, is a factor if it differs between reports.
Directories named after values of an option (those of bench_fio, by mode and block size) are not factors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from zlang.files import read_regular
from zlang.plan.plan import Reader, Scalar
from zlang.readers.reading import LONGEST

ARTEFACT = "fio.json"
HINT = "fio writes them with --output-format=json+"
_SIZES = {"bs", "blocksize", "size", "filesize", "io_size"}
_COUNTS = {"iodepth", "numjobs", "rwmixread", "rwmixwrite", "fsync", "fdatasync"}
_NO_FACTORS = {"name", "description", "filename", "directory", "output", "write_bw_log", "write_lat_log"}
_SIZE = re.compile(r"(\d+)([kmgtp]?)(?:i?b)?", re.IGNORECASE)
_DIRECTORY = re.compile(r"directory_\d+")
_COUNTED = re.compile(r"[-_.]?(?:rep|run|iter)?[-_.]?\d+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Report:
    """One report: its path, its distinctive settings, the time when it was made, and its number of entries."""

    path: Path
    data: bytes
    levels: Mapping[str, str]
    ended: float
    seconds: float
    jobs: int

    @property
    def reader(self) -> Reader:
        """The name of its reader."""
        return Reader("fio", ARTEFACT, {"jobs": self.jobs})


def reports(directory: Path) -> Iterator[Report]:
    """Every report in or below a directory, by path; other files are skipped."""
    for place, names, files in os.walk(directory):
        names.sort()
        for name in sorted(files):
            path = Path(place) / name
            try:
                data = read_regular(path, LONGEST)
                report = orjson.loads(data[max(data.find(b"{"), 0) :])
            except (OSError, orjson.JSONDecodeError):
                continue
            if isinstance(report, dict) and "fio version" in report and isinstance(report.get("jobs"), list):
                yield _read_report(path.relative_to(directory), data, report, path)


def _read_report(path: Path, data: bytes, report: Mapping[str, object], file: Path) -> Report:
    listed = report["jobs"]
    jobs = [job for job in listed if isinstance(job, dict)] if isinstance(listed, list) else []
    levels = {name: value for name, value in _options(report.get("global options")) if name not in _NO_FACTORS}
    if jobs:
        levels.update((k, v) for k, v in _options(jobs[0].get("job options")) if k not in _NO_FACTORS)
    for n, part in enumerate(path.parts[:-1], 1):
        name, equals, level = part.partition("=")
        levels[name if equals else f"directory_{n}"] = level if equals else part
    levels["file"] = _COUNTED.sub("", path.name.removesuffix(path.suffix))
    made = report.get("timestamp_ms")
    ended = made / 1000 if isinstance(made, int) else file.stat().st_mtime
    ran = [job.get("job_runtime") for job in jobs]
    return Report(
        path=path,
        data=data,
        levels=levels,
        ended=ended,
        seconds=max((r for r in ran if isinstance(r, int)), default=0) / 1000,
        jobs=len(jobs),
    )


def _options(text: object) -> Iterator[tuple[str, str]]:
    for name, value in text.items() if isinstance(text, dict) else ():
        yield str(name), str(value)


def varied(reports: Sequence[Report]) -> list[str]:
    """The parts that differ: options and directories, and the file name if these do not identify a report."""
    names = list(dict.fromkeys(name for report in reports for name in report.levels if name != "file"))
    columns = {name: tuple(report.levels.get(name) for report in reports) for name in names}
    options = {column for name, column in columns.items() if not _DIRECTORY.fullmatch(name)}
    varied = [
        name
        for name, column in columns.items()
        if len(set(column)) > 1 and not (_DIRECTORY.fullmatch(name) and column in options)
    ]
    points = {tuple(report.levels.get(name) for name in varied) for report in reports}
    with_file = {tuple(report.levels.get(name) for name in (*varied, "file")) for report in reports}
    return [*varied, "file"] if len(with_file) > len(points) else varied


def level(name: str, text: str | None) -> Scalar:
    """The value of an option, with sizes in bytes."""
    if text is None:
        return None
    sized = _SIZE.fullmatch(text)
    if name in _SIZES and sized is not None:
        # fio's units are powers of 1024 unless `kb_base` says otherwise.
        return int(sized[1]) << 10 * ("kmgtp".index(sized[2].lower()) + 1 if sized[2] else 0)
    return int(text) if name in _COUNTS and text.isdecimal() else text


def type_of(name: str, levels: Sequence[Scalar]) -> str:
    """The type of the factor with these levels."""
    if not all(isinstance(level, int) for level in levels if level is not None):
        return "string"
    return "size" if name in _SIZES else "count"
