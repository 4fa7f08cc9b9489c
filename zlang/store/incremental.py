"""The runs in an existing database that need not be read again.

In: the database that will be replaced, and the run folders. Out: the unchanged runs, and SQL that copies their rows.
Rule: a run is kept only if its journal and what its seal covers are unchanged, and were read by the same readers into
the same tables, for a user with the same key. Otherwise it is read again, so the result is the same as if everything
had been read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from zlang import own_code
from zlang.errors import RunError
from zlang.hints import TYPE_CHECKING, Any
from zlang.metrics import Metric
from zlang.run import seal
from zlang.store import store
from zlang.store.columns import Column, Role, RunColumns, RunFactor
from zlang.store.folders import FolderSource
from zlang.store.store import literal, quoted

if TYPE_CHECKING:
    import duckdb

BEFORE = "zlang_before"
"""The catalog name of the database that is replaced."""

_DERIVED = ("all_metrics", "columns")
"""Tables that are made again from the others."""


@dataclass(frozen=True, slots=True)
class UnchangedRun:
    """A run that is not read again: its columns and counts."""

    experiment: str
    columns: RunColumns
    last_session: float
    trials: int
    valid: int


def mark(source: FolderSource, code: str) -> str:
    """A fingerprint that changes with a run's journal, seal and sealed files, and with the code that reads them."""
    shown = []
    folders = (source.folder, *source.others)
    for path in (path for each in folders for path in (each.journal, *(each.path / name for name in seal.FILES))):
        try:
            status = path.stat()
        except OSError:
            shown.append("-")
        else:
            shown.append(f"{status.st_size}:{status.st_mtime_ns}")
    return f"{code} {' '.join(shown)}"


def code(more: Sequence[str] = ()) -> str:
    """A hash of the code that turns run folders into rows, including the packages `more`, and of the tables."""
    return own_code.hash_of(("zlang.readers", "zlang.run", "zlang.store", *more))


def unchanged(db: Path, marks: Mapping[str, str], present: Collection[str]) -> tuple[dict[str, UnchangedRun], int]:
    """The runs in a database whose fingerprint is unchanged, and the number of its runs that are not `present`.

    Without a readable database, both are empty.
    """
    import duckdb

    if not db.is_file() or not db.stat().st_size:
        return {}, 0
    try:
        with store.reading(db) as connection:
            rows = connection.execute(
                "SELECT r.run, s.mark, s.experiment, s.run_columns, coalesce(epoch(r.last_session), 0), r.done, "
                "r.valid FROM runs r LEFT JOIN sources s USING (run)"
            ).fetchall()
    except (duckdb.Error, RunError):
        return {}, 0
    result = {}
    for run, row, experiment, text, last, done, valid in rows:
        if row is not None and marks.get(run) == row:
            data = orjson.loads(text)
            columns = RunColumns(
                tuple(map(_factor, data["factors"])), tuple(Metric(**item) for item in data["metrics"])
            )
            result[str(run)] = UnchangedRun(experiment, columns, float(last), done, valid)
    return result, sum(run not in present for run, *_ in rows)


def _factor(shown: dict[str, Any]) -> RunFactor:
    levels = shown.pop("levels")
    return RunFactor(**shown, levels=None if levels is None else tuple(levels))


class Before:
    """The database that will be replaced, open beside the one that is being built."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, db: Path, runs: Sequence[str]) -> None:
        self._connection = connection
        self._of_runs = f"WHERE run IN ({', '.join(map(literal, runs))})" if runs else ""
        if runs:
            connection.execute(f"ATTACH {literal(str(db.absolute()))} AS {BEFORE} (READ_ONLY, TYPE duckdb)")

    def take_main(self) -> None:
        """Copy the rows of the kept runs from the tables that all experiments share."""
        if not self._of_runs:
            return
        tables = self._connection.execute(
            "SELECT table_name FROM duckdb_columns() SEMI JOIN duckdb_tables() USING (table_oid, database_name) "
            f"WHERE database_name = {literal(BEFORE)} AND schema_name = 'main' AND column_name = 'run' ORDER BY 1"
        ).fetchall()
        for (table,) in tables:
            if table not in _DERIVED:
                old = f"{BEFORE}.main.{quoted(table)}"
                self._connection.execute(
                    f"INSERT INTO main.{quoted(table)} BY NAME SELECT * FROM {old} {self._of_runs}"
                )

        lines = f"SELECT * FROM {BEFORE}.main.log_lines SEMI JOIN main.log_files USING (file)"
        self._connection.execute(f"INSERT INTO main.log_lines {lines}")

    def take_wide(self, experiment: str, columns: Sequence[Column], table: str) -> None:
        """Copy an experiment's trials; a column is identified by its factor or metric, as its name may have changed."""
        if not self._of_runs:
            return
        rows = self._connection.execute(
            f'SELECT role, path, name, "schema" FROM {BEFORE}.main."columns" WHERE experiment = {literal(experiment)}'
        ).fetchall()
        if not rows:
            return
        names = {(role, name if role == Role.TRIAL else path): name for role, path, name, _ in rows}
        chosen = [names.get((c.role, c.name if c.role is Role.TRIAL else c.path)) for c in columns]
        select = ", ".join(
            f"{quoted(old) if old is not None else 'NULL'}::{c.sql}" for old, c in zip(chosen, columns, strict=True)
        )
        old_table = f"{BEFORE}.{quoted(rows[0][3])}.all_trials"
        self._connection.execute(f"INSERT INTO {table} SELECT {select} FROM {old_table} {self._of_runs}")
