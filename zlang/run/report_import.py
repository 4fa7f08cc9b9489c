"""Import reports of a tool that ran without zlang as a run: a directory -> a run folder.

Rules: reports that differ in no factor are replicates, in chronological order. The same reports make the same run, so
they are imported once. The usual rules decide which trials count.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import orjson

from zlang.check import library
from zlang.errors import RunError, reason_of
from zlang.files import scratch
from zlang.plan.plan import Action, Factor, Header, Plan, Step, Trial
from zlang.readers import REPORTS_OF
from zlang.readers import fio_imported as reports
from zlang.run import hashes, seal
from zlang.run.events import Begin, Commit, End, Finish, Recorded, Session, Start
from zlang.run.folder import Folder
from zlang.run.journal import encode

_NO_WORD = re.compile(r"[^a-z0-9]+")


def import_reports(runs: Path, directory: Path) -> tuple[Folder, int]:
    """Import the reports in or under a directory; return the run folder and the number of reports. Raises RunError."""
    if not directory.is_dir():
        raise RunError(f"there is no directory {directory}", "give the directory with the reports")
    digest = hashlib.sha256()
    result = list(reports.reports(directory))
    for report in result:
        digest.update(str(report.path).encode("utf-8", "surrogateescape") + b"\0" + report.data)
    if not result:
        raise RunError(f"there are no reports of {REPORTS_OF} in {directory}", reports.HINT)
    slug = _NO_WORD.sub("_", directory.absolute().name.lower()).strip("_") or REPORTS_OF
    folder = Folder((runs / f"{REPORTS_OF}-{slug[:40].replace('_', '-')}-{digest.hexdigest()[:8]}").absolute())
    if not folder.journal.exists():
        try:
            _write(folder, sorted(result, key=lambda item: item.ended), slug, digest.hexdigest()[:16])
        except OSError as error:
            raise RunError(
                f"cannot write {folder.path}: {reason_of(error)}", "choose another directory with --runs"
            ) from None
    return folder, len(result)


def _write(folder: Folder, report_list: Sequence[reports.Report], experiment: str, plan: str) -> None:
    names = reports.varied(report_list)
    points = [{name: reports.level(name, report.levels.get(name)) for name in names} for report in report_list]
    trials: list[Trial] = []
    seen: dict[str, int] = {}
    for number, (point, report) in enumerate(zip(points, report_list, strict=True), 1):
        identity = hashlib.sha256(orjson.dumps([experiment, point], option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
        replicate = seen[identity] = seen.get(identity, 0) + 1
        step = Step("measure", Action.MEASURE, REPORTS_OF, "measured without zlang", 0, reader=report.reader)
        trials.append(
            Trial(
                number=number,
                identity=identity,
                replicate=replicate,
                block=1,
                factors=point,
                cache="as_is",
                cache_state="as_is",
                setups=(),
                invalidates=(),
                steps=(step,),
            )
        )
    factors = tuple(
        Factor(name, f"{REPORTS_OF}.{name}", reports.type_of(name, [p[name] for p in points]), (), 0) for name in names
    )
    header = Header(
        experiment=experiment, title=f"Reports of {REPORTS_OF}: {experiment}", plan=plan, seed=0, points=len(seen),
        repeat=max(seen.values()), trials=len(trials), factors=factors, sources={}, facts=(), tools={},
        metrics=library.load().readers[REPORTS_OF],
    )  # fmt: skip
    folder.path.parent.mkdir(parents=True, exist_ok=True)
    with scratch(folder.path.parent) as place:
        made = Folder(place / "run")
        made.path.mkdir()
        made.write_plan(Plan(header, lambda: iter(trials)))
        began = report_list[0].ended - report_list[0].seconds
        events: list[Recorded] = [Session(began, folder.name, "", hashes.of_file(made.plan))]
        for trial, report in zip(trials, report_list, strict=True):
            out = f"{trial.place}/a1"
            (made.path / out).mkdir(parents=True)
            (made.path / out / reports.ARTEFACT).write_bytes(report.data)
            began = report.ended - report.seconds
            events.append(Begin(began, trial.identity, trial.replicate, trial.number, out))
            events += [Start(began, "measure", out), End(report.ended, "measure", out, 0)]
            files = hashes.of_directory(made.path / out)
            events.append(Commit(report.ended, trial.identity, trial.replicate, out, files))
        events.append(Finish(report_list[-1].ended))
        sign = seal.signer(folder.name)
        made.journal.write_bytes(b"".join(encode(event, number, sign) for number, event in enumerate(events, 1)))
        with suppress(RunError):  # without a key it is not sealed
            seal.write(made.path, folder.name)
        made.path.rename(folder.path)
