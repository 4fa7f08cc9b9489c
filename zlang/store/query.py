"""SQL in, columns and rows out.

Rule: a question cannot change anything, whatever it says; what it gets wrong is answered in one sentence with the
nearest names.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from zlang.errors import RunError
from zlang.store import store
from zlang.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import duckdb


@dataclass(frozen=True, slots=True)
class Result:
    """An answer; `types` are DuckDB's names of the columns' types."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


_UNKNOWN_COLUMN = (
    re.compile(r'Referenced column "(?P<name>[^"]*)" not found'),
    re.compile(r'does not have a column named "(?P<name>[^"]*)"'),
)
_UNKNOWN_TABLE = (
    re.compile(r'Referenced table "(?P<name>[^"]*)" not found'),
    re.compile(r'(?:Table|View) with name "?(?P<name>[^"\s]*)"? does not exist'),
)
_UNKNOWN_SCHEMA = (re.compile(r'schema "(?P<name>[^"]*)" does not exist'),)
_UNKNOWN_FUNCTION = re.compile(r"(?:Scalar|Aggregate|Table|Macro)? ?Function with name (?P<name>\S+) does not exist")


def run_query(db: Path, sql: str, parameters: Sequence[object] = ()) -> Result:
    """The answer to one question (of several statements, to the last)."""
    import duckdb

    with store.reading(db) as connection:
        try:
            # DuckDB's stubs do not say that a query without a statement has no answer.
            answer: duckdb.DuckDBPyConnection | None = connection.execute(sql, list(parameters))
            if answer is None:
                raise RunError("there is nothing to ask in an empty query", 'try: zlang sql "from trials"')
            described = answer.description or []
            rows = tuple(answer.fetchall())
        except duckdb.Error as error:
            raise RunError(store.first_line(error), _hint(connection, str(error))) from error
        return Result(_distinct(d[0] for d in described), tuple(str(d[1]) for d in described), rows)


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Names of columns, a repeated one numbered, so that they can be keys."""
    taken: set[str] = set()
    given = []
    for name in names:
        candidates = itertools.chain([name], (f"{name}_{n}" for n in itertools.count(2)))
        given.append(next(c for c in candidates if c not in taken))
        taken.add(given[-1])
    return tuple(given)


def _hint(connection: duckdb.DuckDBPyConnection, message: str) -> str:
    known = ((_UNKNOWN_SCHEMA, _schemas), (_UNKNOWN_TABLE, _tables), (_UNKNOWN_COLUMN, _columns))
    for patterns, names in known:
        for pattern in patterns:
            if found := pattern.search(message):
                return did_you_mean(found["name"].rpartition(".")[2], names(connection))
    if found := _UNKNOWN_FUNCTION.search(message):
        return did_you_mean(found["name"], _listed(connection, "SELECT DISTINCT function_name FROM duckdb_functions()"))
    if "pytz" in message:
        return "times with a time zone cannot be shown: write ::TIMESTAMP behind it"
    if "disabled by configuration" in message or "locked" in message or "read-only" in message:
        return "a query can only read the results"
    return ""


def _schemas(connection: duckdb.DuckDBPyConnection) -> list[str]:
    return _listed(connection, "SELECT DISTINCT table_schema FROM information_schema.tables ORDER BY 1")


def _tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    return _listed(connection, "SELECT DISTINCT table_name FROM information_schema.tables ORDER BY 1")


def _columns(connection: duckdb.DuckDBPyConnection) -> list[str]:
    return _listed(connection, "SELECT DISTINCT column_name FROM information_schema.columns ORDER BY 1")


def _listed(connection: duckdb.DuckDBPyConnection, sql: str) -> list[str]:
    return [str(name) for (name,) in connection.execute(sql).fetchall()]
