"""Logs of single operations or intervals, as workloads write them.

In: the directory of an attempt. Out: its logs, which are staged and become rows of the table `logs`. Rules: readers
know the formats. DuckDB reads the files itself, as fast as it reads CSV. A file that does not match its format is
reported as a problem, and does not keep other files out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from zlang.hints import TYPE_CHECKING
from zlang.readers.registry import LOGS
from zlang.store.staging import Row, Staging
from zlang.store.store import first_line, literal, quoted

if TYPE_CHECKING:
    import duckdb

FILES = "files of logs"
"""The type of the staged column."""
_OF_FILE = {
    "path": "VARCHAR", "tool": "VARCHAR", "fields": "VARCHAR[]", "directions": "VARCHAR[]", "scale": "BIGINT"
}  # fmt: skip


def of_attempt(place: Path, names: Iterable[str]) -> Iterator[Row]:
    """The logs in the directory of an attempt, which has files with these names."""
    for find_logs in LOGS:
        for log in find_logs(place, names):
            yield {"kind": log.kind, "job": log.job, "path": str(log.path), **log.format._asdict()}


def load(connection: duckdb.DuckDBPyConnection, staging: Staging) -> None:
    """Fill the tables of logs."""
    import duckdb

    of_trial = staging.types_of(connection, "log_files")
    del of_trial["file"]
    own = ", ".join(of_trial)
    staged = staging.source(FILES, {**of_trial, **_OF_FILE})
    connection.execute(
        f"CREATE TEMP TABLE logs_at AS SELECT *, hash({own}, parse_filename(path)) AS file FROM {staged}"
    )
    staging.discard(FILES)
    connection.execute(f"INSERT INTO main.log_files SELECT {own}, file FROM logs_at")
    groups = connection.execute("SELECT tool, fields, list(path) FROM logs_at GROUP BY ALL ORDER BY ALL").fetchall()
    for tool, fields, paths in groups:
        try:
            _insert(connection, fields, paths)
        except duckdb.Error:
            for path in paths:
                try:
                    _insert(connection, fields, [path])
                except duckdb.Error as error:
                    problem = f"{Path(path).name} is not a log of {tool}: {first_line(error)}"
                    of = "SELECT run, experiment, trial, replicate, ? FROM logs_at WHERE path = ?"
                    connection.execute(f"INSERT INTO main.problems {of}", [problem, path])
    connection.execute("DROP TABLE logs_at")


def _insert(connection: duckdb.DuckDBPyConnection, fields: Sequence[str], paths: Sequence[str]) -> None:
    types = {f"line {n}": "BIGINT" if field else "VARCHAR" for n, field in enumerate(fields)}
    typed = ", ".join(f"'{name}': '{sql}'" for name, sql in types.items())
    listed = ", ".join(literal(_escaped(path)) for path in paths)
    read = {field: quoted(f"line {n}") for n, field in enumerate(fields) if field}
    read |= {"value": f"{read['value']} * scale", "direction": f"directions[{read['direction']} + 1]"}
    connection.execute(
        f"INSERT INTO main.log_lines (file, {', '.join(map(quoted, read))}) SELECT file, {', '.join(read.values())} "
        f"FROM read_csv([{listed}], auto_detect = false, delim = ',', header = false, columns = {{{typed}}}, "
        "filename = 'path') JOIN logs_at USING (path)"
    )


def _escaped(path: str) -> str:
    """Escape a path so that `read_csv` takes it literally."""
    return re.sub(r"[\[*?]", r"[\g<0>]", path)
