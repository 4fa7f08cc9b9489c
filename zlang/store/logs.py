"""The logs that fio writes of single operations or intervals (`--write_lat_log="$OUT/fio"` and so on).

In: the directory of an attempt. Out: its logs, which are staged, and in the end rows of the table `logs`. Rules: DuckDB
reads the files itself, so that they come in as fast as it reads CSV; a file that is no log of fio's is a problem, and
keeps nothing else out. https://fio.readthedocs.io/en/latest/fio_doc.html#log-file-formats
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zlang.files import open_regular
from zlang.readers import REPORTS_OF
from zlang.store.staging import Row, Staging
from zlang.store.store import first_line, literal, quoted

if TYPE_CHECKING:
    import duckdb

FILES = "files of logs"
"""What they are staged as."""
_NAME = re.compile(r".*_(?P<kind>lat|clat|slat|bw|iops)(?:\.(?P<job>\d+))?\.log")
_COLUMNS = {
    "run": "VARCHAR", "experiment": "VARCHAR", "trial": "VARCHAR", "replicate": "BIGINT",
    "kind": "VARCHAR", "job": "BIGINT", "path": "VARCHAR", "fields": "BIGINT",
}  # fmt: skip
_FIELDS = ("ms", "value", "direction", "block")
"""Of every line; before 3.36 a priority is behind them, and `log_offset` puts the offset between."""
_WITH_OFFSET = 6


def found(place: Path) -> Iterator[Row]:
    """The logs in the directory of an attempt that are not empty."""
    try:
        names = sorted(entry.name for entry in os.scandir(place) if entry.name.endswith(".log"))
    except OSError:
        return
    for name in names:
        known = _NAME.fullmatch(name)
        if known is None:
            continue
        try:
            with open_regular(place / name) as file:
                fields = file.readline(200).count(b",") + 1
        except OSError:
            continue
        if fields >= len(_FIELDS):
            yield {"kind": known["kind"], "job": int(known["job"] or 1), "path": str(place / name), "fields": fields}


def load(connection: duckdb.DuckDBPyConnection, staging: Staging) -> None:
    """Fill the tables of logs."""
    import duckdb

    own = ", ".join(name for name in _COLUMNS if name not in {"path", "fields"})
    told = f"SELECT *, hash({own}, parse_filename(path)) AS file FROM {staging.source(FILES, _COLUMNS)}"
    connection.execute(f"CREATE TEMP TABLE logs_at AS {told}")
    staging.discard(FILES)
    connection.execute(f"INSERT INTO main.log_files SELECT {own}, file FROM logs_at")
    groups = connection.execute("SELECT fields, list(path) FROM logs_at GROUP BY fields ORDER BY fields").fetchall()
    for fields, paths in groups:
        try:
            _insert(connection, fields, paths)
        except duckdb.Error:
            for path in paths:
                try:
                    _insert(connection, fields, [path])
                except duckdb.Error as error:
                    problem = f"{Path(path).name} is no log of {REPORTS_OF}'s: {first_line(error)}"
                    of = "SELECT run, experiment, trial, replicate, ? FROM logs_at WHERE path = ?"
                    connection.execute(f"INSERT INTO main.problems {of}", [problem, path])
    connection.execute("DROP TABLE logs_at")


def _insert(connection: duckdb.DuckDBPyConnection, fields: int, paths: Sequence[str]) -> None:
    known = (*_FIELDS, "offset") if fields >= _WITH_OFFSET else _FIELDS
    types = {**dict.fromkeys(known, "BIGINT"), **{f"field {n}": "VARCHAR" for n in range(len(known), fields)}}
    typed = ", ".join(f"'{name}': '{sql}'" for name, sql in types.items())
    listed = ", ".join(literal(_escaped(path)) for path in paths)
    chosen = ", ".join(map(quoted, known))
    connection.execute(
        f"INSERT INTO main.log_lines (file, {chosen}) SELECT file, {chosen} "
        f"FROM read_csv([{listed}], auto_detect = false, delim = ',', header = false, columns = {{{typed}}}, "
        "filename = 'path') JOIN logs_at USING (path)"
    )


def _escaped(path: str) -> str:
    """A path that `read_csv` takes for itself, whatever is in it."""
    return re.sub(r"[\[*?]", r"[\g<0>]", path)
