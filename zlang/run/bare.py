"""Reports that fio left behind without zlang, as a run: a directory of JSON in, a run folder out.

Rules: an option of the jobs, or a directory on the way to a report, is a factor where it differs; reports that differ
in no factor are replicates, in the order of their time. The same reports make the same run, so they come in once. What
counts is judged as always.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from zlang.errors import RunError
from zlang.plan.plan import Action, Factor, Header, Plan, Reader, Scalar, Step, Trial
from zlang.run.events import Begin, Commit, End, Finish, Recorded, Session, Start
from zlang.run.folder import Folder
from zlang.run.journal import encode

ARTEFACT = "fio.json"
_SIZES = {"bs", "blocksize", "size", "filesize", "io_size"}
_COUNTS = {"iodepth", "numjobs", "rwmixread", "rwmixwrite", "fsync", "fdatasync"}
_NO_FACTORS = {"name", "description", "filename", "directory", "output", "write_bw_log", "write_lat_log"}
_SIZE = re.compile(r"(\d+)([kmgtp]?)(?:i?b)?", re.IGNORECASE)
_COUNTED = re.compile(r"[-_.]?(?:rep|run|iter)?[-_.]?\d+$", re.IGNORECASE)
_NO_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class _Report:
    """One report: what tells it from the others, when it was made, how many entries it has."""

    data: bytes
    levels: Mapping[str, str]
    ended: float
    seconds: float
    jobs: int


def bring_in(runs: Path, directory: Path) -> tuple[Folder, int]:
    """The run made of the reports in or under a directory, and how many there are. Raises RunError."""
    if not directory.is_dir():
        raise RunError(f"there is no directory {directory}", "name the one that holds fio's JSON")
    digest = hashlib.sha256()
    found = []
    for path, data, report in _reports(directory):
        digest.update(str(path).encode("utf-8", "surrogateescape") + b"\0" + data)
        found.append(_told(path, data, report, directory / path))
    if not found:
        raise RunError(f"there are no reports of fio in {directory}", "they are made by fio --output-format=json+")
    slug = _NO_WORD.sub("_", directory.absolute().name.lower()).strip("_") or "fio"
    folder = Folder((runs / f"fio-{slug[:40].replace('_', '-')}-{digest.hexdigest()[:8]}").absolute())
    if not folder.journal.exists():
        try:
            _write(folder, sorted(found, key=lambda one: one.ended), slug, digest.hexdigest()[:16])
        except OSError as error:
            raise RunError(f"cannot write {folder.path}: {error.strerror}", "name another with --runs") from None
    return folder, len(found)


def _reports(directory: Path) -> Iterator[tuple[Path, bytes, Mapping[str, object]]]:
    for place, names, files in os.walk(directory):
        names.sort()
        for name in sorted(files):
            path = Path(place) / name
            try:
                data = path.read_bytes()
                report = orjson.loads(data[max(data.find(b"{"), 0) :])
            except (OSError, orjson.JSONDecodeError):
                continue
            if isinstance(report, dict) and "fio version" in report and isinstance(report.get("jobs"), list):
                yield path.relative_to(directory), data, report


def _told(path: Path, data: bytes, report: Mapping[str, object], file: Path) -> _Report:
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
    return _Report(data, levels, ended, max((r for r in ran if isinstance(r, int)), default=0) / 1000, len(jobs))


def _options(said: object) -> Iterator[tuple[str, str]]:
    for name, value in said.items() if isinstance(said, dict) else ():
        yield str(name), str(value)


def _varied(reports: Sequence[_Report]) -> list[str]:
    """What differs: options and directories, and the file's name where it says more than they do."""
    names = list(dict.fromkeys(name for report in reports for name in report.levels if name != "file"))
    varied = [name for name in names if len({report.levels.get(name) for report in reports}) > 1]
    points = {tuple(report.levels.get(name) for name in varied) for report in reports}
    with_file = {tuple(report.levels.get(name) for name in (*varied, "file")) for report in reports}
    return [*varied, "file"] if len(with_file) > len(points) else varied


def _level(name: str, text: str | None) -> Scalar:
    if text is None:
        return None
    sized = _SIZE.fullmatch(text)
    if name in _SIZES and sized is not None:
        # fio counts in 1024 unless `kb_base` says otherwise.
        return int(sized[1]) << 10 * ("kmgtp".index(sized[2].lower()) + 1 if sized[2] else 0)
    return int(text) if name in _COUNTS and text.isdecimal() else text


def _type(name: str, levels: Sequence[Scalar]) -> str:
    if not all(isinstance(level, int) for level in levels if level is not None):
        return "string"
    return "size" if name in _SIZES else "count"


def _write(folder: Folder, reports: Sequence[_Report], experiment: str, plan: str) -> None:
    names = _varied(reports)
    points = [{name: _level(name, report.levels.get(name)) for name in names} for report in reports]
    trials: list[Trial] = []
    seen: dict[str, int] = {}
    for number, (point, report) in enumerate(zip(points, reports, strict=True), 1):
        identity = hashlib.sha256(orjson.dumps([experiment, point], option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
        replicate = seen[identity] = seen.get(identity, 0) + 1
        reader = Reader("fio", ARTEFACT, {"jobs": report.jobs})
        step = Step("measure", Action.MEASURE, "fio", "it was measured without zlang", 0, reader=reader)
        trials.append(Trial(number, identity, replicate, 1, point, "as_is", "as_is", (), (), (step,)))
    factors = tuple(Factor(name, f"fio.{name}", _type(name, [p[name] for p in points]), (), 0) for name in names)
    header = Header(
        experiment=experiment, title=f"Reports of fio: {experiment}", plan=plan, seed=0, points=len(seen),
        repeat=max(seen.values()), trials=len(trials), factors=factors, sources={}, facts=(), tools={},
    )  # fmt: skip
    folder.path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fio-", dir=folder.path.parent) as scratch:
        made = Folder(Path(scratch) / "run")
        made.path.mkdir()
        events: list[Recorded] = [Session(reports[0].ended - reports[0].seconds, folder.name, "")]
        for trial, report in zip(trials, reports, strict=True):
            out = f"{trial.place}/a1"
            (made.path / out).mkdir(parents=True)
            (made.path / out / ARTEFACT).write_bytes(report.data)
            began = report.ended - report.seconds
            events.append(Begin(began, trial.identity, trial.replicate, trial.number, out))
            events += [Start(began, "measure", out), End(report.ended, "measure", out, 0)]
            events.append(Commit(report.ended, trial.identity, trial.replicate, out))
        events.append(Finish(reports[-1].ended))
        made.write_plan(Plan(header, lambda: iter(trials)))
        made.journal.write_bytes(b"".join(map(encode, events)))
        made.path.rename(folder.path)
