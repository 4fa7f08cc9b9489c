"""Building a results database from run folders.

Rules: journals and raw artefacts are the source of truth, so the same folders give the same rows in any order. The
database replaces the old one only when it is complete. Nothing is dropped silently: invalid trials are in it, with
their reasons. A damaged run does not keep the others out; an unchanged run is not read again.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from zlang.errors import RunError, reason_of
from zlang.files import copy_attributes, scratch
from zlang.hints import TYPE_CHECKING, Protocol
from zlang.metrics import Metric
from zlang.run import seal
from zlang.run.journal import Lines
from zlang.run.unverified import UNVERIFIED
from zlang.store import incremental, joining, load, query, store
from zlang.store.experiment import StoredExperiment
from zlang.store.folders import FolderSource, run_folders
from zlang.store.run_rows import AFTER, Progress, RunRows, stage_problem
from zlang.store.staging import Row, Staging
from zlang.store.store import literal, literals

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

_UNTOUCHED = "the run folders have not changed; choose another file with --db"


@dataclass(slots=True)
class Ingested:
    """The content of the database in numbers; `kept` runs were not read again, `dropped` ones are no longer in it.

    `unverified` are the runs whose results cannot be verified, each with its sentence.
    """

    runs: int = 0
    kept: int = 0
    dropped: int = 0
    trials: int = 0
    valid: int = 0
    problems: int = 0
    unverified: list[tuple[str, str]] = field(default_factory=list)


class Look(Protocol):
    """Finds reasons for doubt in a database once all trials are in it. If `code` changes, runs are read again."""

    code: tuple[str, ...]
    """The packages that do it."""

    def __call__(self, db: Path, runs: Sequence[str]) -> Iterable[Row]:
        """Return rows of the table `findings` about these runs."""


@contextmanager
def building(db: Path) -> Iterator[None]:
    """Hold the lock for building databases in the directory of `db`."""
    place = db.absolute().parent
    try:
        directory = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise RunError(f"cannot build {db}: {reason_of(error)}", _UNTOUCHED) from error
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def ingest(runs: Path, db: Path, progress: Progress | None = None, look: Look | None = None) -> Ingested:
    """Build the database from every run folder in or below `runs`, and replace the existing one.

    The findings of `look` about the runs that were read are stored in it.
    """
    import duckdb

    store.check_replaceable(db)
    sources, copies = run_folders(runs)
    if not sources:
        raise RunError(
            f"there are no runs in the directory {runs}",
            "a run folder has a file journal.jsonl; create one: zlang run FILE",
        )
    target = Path(os.path.realpath(db)) if db.exists() else db.absolute()
    try:
        with scratch(_directory_without_wildcards(target.parent)) as place:
            built = place / "database"
            ingested = _build(sources, copies, built, target, progress, look)
            # A log left behind by a crashed writer would be replayed over the new database.
            target.with_name(target.name + ".wal").unlink(missing_ok=True)
            _replace_database(built, target)
    except duckdb.Error as error:
        raise RunError(f"cannot build {db}: {store.first_line(error)}", _UNTOUCHED) from error
    except OSError as error:
        raise RunError(f"cannot build {db}: {reason_of(error)}", _UNTOUCHED) from error
    return ingested


def _directory_without_wildcards(directory: Path) -> Path:
    """A directory for the new database whose path has no `?`, `*` or `[`, which DuckDB takes for wildcards."""
    return Path(tempfile.gettempdir()) if set("?*[") & set(str(directory)) else directory


def _replace_database(built: Path, target: Path) -> None:
    """Replace the database atomically, even from another file system, with the attributes of the existing one."""
    with suppress(OSError), built.open("rb") as new:
        # The kernel may refuse to open another user's file with O_CREAT in a directory such as /tmp.
        old = os.open(target, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            copy_attributes(old, new.fileno())
        finally:
            os.close(old)
    if built.parent.parent == target.parent:
        built.replace(target)
        return
    with scratch(target.parent) as near:
        shutil.copyfile(built, near / built.name).replace(target)


def _build(
    sources: Sequence[FolderSource],
    copies: Sequence[FolderSource],
    built: Path,
    target: Path,
    progress: Progress | None,
    look: Look | None,
) -> Ingested:
    ingested = Ingested()
    experiments: dict[str, StoredExperiment] = {}
    copied = {copy.run for copy in copies}
    code = f"{incremental.code(look.code if look else ())} {seal.key_name()}"
    marks = {source.run: incremental.mark(source, code) for source in sources if source.run not in copied}
    unchanged_runs, ingested.dropped = incremental.unchanged(target, marks, {source.run for source in sources})
    with Staging(built.parent) as staging:
        for copy in copies:
            stage_problem(staging, copy.run, None, f"{copy.folder.name} is a copy of the same run and was left out")
        for source in sources:
            if source.run in unchanged_runs:
                _count_unchanged(source.run, unchanged_runs[source.run], experiments, ingested)
            else:
                _stage_run(source, built.parent, marks.get(source.run), experiments, staging, ingested, progress)
        connection = store.create(built, built.parent / "spill")
        try:
            before = incremental.Before(connection, target, list(unchanged_runs))
            load.everything(connection, staging, list(experiments.values()), target.stem, before)
            ((ingested.problems,),) = connection.execute("SELECT count(*) FROM main.problems").fetchall()
            ingested.unverified = connection.execute(query.UNVERIFIED_RUNS).fetchall()
            read = {source.run for source in sources} - unchanged_runs.keys()
            searched = _forget_findings(connection, read) if look is not None else []
        finally:
            connection.close()
        if look is not None:
            _add_findings(built, list(look(built, searched)))
    return ingested


def _forget_findings(connection: duckdb.DuckDBPyConnection, read: set[str]) -> list[str]:
    """Delete the findings about the runs that were read and about other runs of their plans; return all these runs."""
    plans = f"SELECT plan FROM main.runs WHERE list_contains({literals(sorted(read))}, run)"
    rows = connection.execute(f"SELECT run FROM main.runs WHERE plan IN ({plans}) ORDER BY run")
    runs = [str(run) for (run,) in rows.fetchall()]
    connection.execute(
        f"DELETE FROM main.findings WHERE stage = {literal(AFTER)} AND list_contains({literals(runs)}, run)"
    )
    return runs


def _add_findings(built: Path, rows: Sequence[Row]) -> None:
    """Store the findings."""
    if not rows:
        return
    with store.filling(built) as connection, Staging(built.parent) as staging:
        for row in rows:
            staging.add("findings", {"stage": AFTER, **row})
        staging.load(connection, "findings")


def _count_unchanged(
    run: str, unchanged_run: incremental.UnchangedRun, experiments: dict[str, StoredExperiment], ingested: Ingested
) -> None:
    """Count a run that is not read again, and add its columns."""
    experiment = _experiment(experiments, unchanged_run.experiment)
    experiment.columns.merge(unchanged_run.columns)
    experiment.newest = max(experiment.newest, (unchanged_run.last_session, run))
    ingested.runs += 1
    ingested.kept += 1
    ingested.trials += unchanged_run.trials
    ingested.valid += unchanged_run.valid


def _experiment(experiments: dict[str, StoredExperiment], name: str) -> StoredExperiment:
    return experiments.setdefault(name, StoredExperiment(name, f"trials {len(experiments)}"))


def _stage_run(
    source: FolderSource,
    scratch_directory: Path,
    mark: str | None,
    experiments: dict[str, StoredExperiment],
    staging: Staging,
    ingested: Ingested,
    progress: Progress | None,
) -> None:
    """Stage one run; a run whose plan or journal cannot be read is reported and skipped.

    Parts that several machines carried out are first joined in a directory within `scratch_directory`.
    """
    try:
        plan = source.folder.read_plan()
        if joining.is_part(plan.header):
            parts = {folder.read_plan().header.part: folder for folder in (source.folder, *source.others)}
            for problem in joining.problems(parts, plan.header):
                stage_problem(staging, source.run, plan.header.experiment, problem)
            joined = joining.join(parts, plan, Path(tempfile.mkdtemp(dir=scratch_directory)))
            source, plan = replace(source, folder=joined), joined.read_plan()
    except (RunError, OSError) as error:
        stage_problem(staging, source.run, None, f"the plan of {source.folder.name} cannot be read: {error}")
        return
    try:
        any(True for _ in Lines(source.folder.journal))
    except RunError as error:
        stage_problem(staging, source.run, plan.header.experiment, str(error))
        return
    run = RunRows(source, plan.header, _experiment(experiments, plan.header.experiment), staging)
    run.stage(plan.items(), progress)
    if not source.others and run.account.doubt:
        stage_problem(staging, source.run, plan.header.experiment, f"{UNVERIFIED}: {run.account.doubt}")
    ingested.runs += 1
    ingested.trials += run.done
    ingested.valid += run.valid
    if mark is not None and run.is_read:
        row = {
            **run.named,
            "mark": mark,
            "run_columns": orjson.dumps(run.columns.collected, default=Metric.as_dict).decode(),
        }
        staging.add("sources", row)
