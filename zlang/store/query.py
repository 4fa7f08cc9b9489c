"""SQL queries on a results database.

Rule: a query cannot change anything, whatever it says; an error in it is reported in one sentence with the nearest
names.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from zlang.errors import RunError, unwritable
from zlang.files import scratch
from zlang.frozen import frozen
from zlang.hints import TYPE_CHECKING
from zlang.run.unverified import UNVERIFIED
from zlang.store import store
from zlang.text import as_unicode

if TYPE_CHECKING:
    import duckdb


Parameters = Sequence[object] | Mapping[str, object]
"""Values of `?`, or by name of `$name`."""


@frozen
class Result:
    """The result of a query; `types` are DuckDB's names for the column types."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


UNVERIFIED_RUNS = (
    "SELECT run, problem FROM main.problems "
    f"WHERE trial IS NULL AND contains(problem, {store.literal(UNVERIFIED)}) ORDER BY ALL"
)
"""The runs whose problems say `UNVERIFIED`, with their sentences. For a parameter, DuckDB would import `uuid`."""
_AGAIN = 0.1
"""Seconds between two requests to end a query: DuckDB ignores a request before the query has begun."""
_ENDS_THE_PROCESS = re.compile(r"\benable_(?:logging|profiling)\b", re.IGNORECASE)
"""Functions that write files: where those are locked, DuckDB 1.5 ends by `abort` instead of refusing them."""


@frozen
class NamedColumn:
    """A column that a query can use: its schema and table, its description, its unit."""

    schema: str
    table: str
    name: str
    role: str
    type: str
    unit: str


class QuerySession:
    """A database that is open for queries."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, access: store.Access = store.LOCKED) -> None:
        self._connection = connection
        self._access = access

    def ask(self, sql: str, parameters: Parameters = (), most: int | None = None) -> Result:
        """Run a query and return its result (of several statements, that of the last); Ctrl-C ends it.

        Raises RunError, also if the result has more than `most` rows.
        """
        import duckdb

        if not self._access.unsafe and (match := _ENDS_THE_PROCESS.search(sql)):
            from zlang.store import hints

            raise RunError(f"{match[0].lower()} writes files", hints.ONLY_READS)
        given = parameters.values() if isinstance(parameters, Mapping) else parameters
        if any(isinstance(text, str) and text != as_unicode(text) for text in (sql, *given)):
            raise RunError("the query or one of its parameters is not UTF-8 text")
        answers: list[Result | Exception | None] = []
        is_answered = threading.Event()

        def ask() -> None:
            try:
                answers.append(self._answer(sql, parameters, most))
            except Exception as error:  # noqa: BLE001 - it is raised where somebody waits for the answer
                answers.append(error)
            finally:
                is_answered.set()

        # If a signal interrupts a query in the thread that waits for it, DuckDB 1.5 can hang at the next query.
        # The thread is not joined: Python 3.11 takes it for ended if a signal arrives during the join.
        try:
            threading.Thread(target=ask, daemon=True).start()
        except RuntimeError as error:
            raise RunError(
                "the query failed: no thread can be started", "raise the limit of processes: ulimit -u"
            ) from error
        is_cancelled = False
        while not is_answered.is_set():
            try:
                is_answered.wait(_AGAIN if is_cancelled else None)
            except KeyboardInterrupt:
                is_cancelled = True
            if is_cancelled:
                self._connection.interrupt()
        if is_cancelled:
            raise KeyboardInterrupt
        answer = answers[0]
        if answer is None:
            raise RunError("the query is empty", 'try: zlang sql "from trials"')
        if isinstance(answer, duckdb.Error):
            from zlang.store import hints

            raise RunError(store.first_line(answer), hints.hint(self._connection, sql, str(answer))) from answer
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _answer(self, sql: str, parameters: Parameters, most: int | None) -> Result | duckdb.Error | None:
        import duckdb

        try:
            # DuckDB's stubs do not say that a query without a statement has no result.
            answer: duckdb.DuckDBPyConnection | None = self._connection.execute(sql, parameters or None)
            if answer is None:
                return None
            described = answer.description or []
            rows = tuple(answer.fetchall() if most is None else answer.fetchmany(most + 1))
        except duckdb.Error as error:
            return error
        except UnicodeDecodeError:  # in a message of DuckDB
            return duckdb.Error("DuckDB refuses this, with a message that is not text")
        if most is not None and len(rows) > most:
            hint = "add a `limit`, or write all of it as Parquet: --format parquet --out FILE"
            raise RunError(f"the answer has more than {most:,} rows", hint)
        return Result(_distinct(d[0] for d in described), tuple(str(d[1]) for d in described), rows)

    def unverified_runs(self) -> list[tuple[str, str]]:
        """The runs whose results cannot be verified, each with its sentence."""
        try:
            rows = self.ask(UNVERIFIED_RUNS).rows
        except RunError:  # the table was dropped with `--write`
            return []
        return [(str(run), str(problem)) for run, problem in rows]

    def columns(self) -> list[NamedColumn]:
        """Every column of every table, with its entry in the catalogue."""
        rows = self.ask(
            "WITH newest AS (SELECT experiment FROM main.runs ORDER BY last_session DESC, run DESC LIMIT 1), "
            'known AS (SELECT "schema" AS place, name, role, type, unit FROM main.columns UNION ALL '
            "SELECT 'main', name, role, type, unit FROM main.columns JOIN newest USING (experiment)) "
            "SELECT i.table_schema, i.table_name, i.column_name, coalesce(k.role, ''), coalesce(k.type, ''), "
            "coalesce(k.unit, '') FROM information_schema.columns i LEFT JOIN known k ON k.place = i.table_schema "
            "AND k.name = i.column_name AND i.table_name IN ('trials', 'all_trials') "
            "WHERE i.table_catalog = current_database() ORDER BY i.table_schema, i.table_name, i.ordinal_position"
        ).rows
        return [NamedColumn(*map(str, row)) for row in rows]

    def columns_with_units(self) -> list[NamedColumn]:
        """The columns of trials that have a unit. `columns` takes 9 ms: DuckDB resolves every view for it."""
        rows = self.ask("SELECT \"schema\", 'trials', name, role, type, unit FROM main.columns WHERE unit <> ''").rows
        return [NamedColumn(*map(str, row)) for row in rows]

    def levels(self, factor: str) -> list[str]:
        """The levels of a factor in `trials`, as SQL literals for comparisons."""
        name = store.quoted(factor)
        rows = self.ask(f"SELECT DISTINCT {name} FROM all_trials WHERE {name} IS NOT NULL ORDER BY 1 LIMIT 100").rows
        return [store.literal(level) if isinstance(level, str) else str(level) for (level,) in rows]


@contextmanager
def session(db: Path, access: store.Access = store.LOCKED) -> Iterator[QuerySession]:
    """Open a database for several queries. Raises RunError."""
    with store.reading(db, access) as connection:
        yield QuerySession(connection, access)


_HELD: dict[Path, QuerySession] = {}


@contextmanager
def held(db: Path) -> Iterator[None]:
    """Keep a database open for many queries in a row, as `run_query` takes 20 ms to open it."""
    if db in _HELD:
        yield
        return
    with session(db) as item:
        _HELD[db] = item
        try:
            yield
        finally:
            del _HELD[db]


def run_query(db: Path, sql: str, parameters: Parameters = ()) -> Result:
    """Run a query and return its result (of several statements, that of the last)."""
    question = (sql, parameters) if isinstance(parameters, Mapping) else _written_out(sql, parameters)
    if db in _HELD:
        return _HELD[db].ask(*question)
    with session(db) as item:
        return item.ask(*question)


def _written_out(sql: str, parameters: Sequence[object]) -> tuple[str, Sequence[object]]:
    """Write the parameters into a query: for bound ones DuckDB loads pandas, if installed, which takes a second."""
    parts = sql.split("?")
    existing = [_literal(value) for value in parameters]
    if len(parts) != len(existing) + 1 or None in existing:
        return sql, parameters
    return "".join(text for pair in zip(parts, [*existing, ""], strict=True) for text in pair if text), ()


def _literal(value: object) -> str | None:
    """A text, a number or a list of these as an SQL literal; None for anything else."""
    match value:
        case str():
            return None if "\0" in value else store.literal(value)
        case bool():
            return None
        case int():
            return str(value)
        case list():
            ones = [_literal(item) for item in value]
            return None if None in ones else f"[{', '.join(filter(None, ones))}]"
        case _:
            return None


def write_parquet(db: Path, sql: str, parameters: Parameters, out: Path, partition: Sequence[str]) -> int:
    """Write a result as a Parquet file, or a directory of files partitioned by columns; return the number of rows.

    Raises RunError, also if `out` already exists.
    """
    if out.exists():
        raise RunError(f"{out} already exists", "remove it, or choose another file with --out")
    try:
        with scratch(out.absolute().parent) as place:
            made = place / "data"
            by = f", PARTITION_BY ({', '.join(map(store.quoted, partition))})" if partition else ""
            with session(db, store.Access(directory=place)) as item:
                query = sql.strip().rstrip(";")
                copy = f"COPY ({query}\n) TO {store.literal(str(made))} (FORMAT parquet{by})"
                written = item.ask(copy, parameters).rows
            made.rename(out)
    except OSError as error:
        raise unwritable(out, error) from None
    count = written[0][0]
    return count if isinstance(count, int) else 0


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Make column names unique by numbering repeated ones, so that they can serve as keys."""
    taken: set[str] = set()
    given = []
    for name in names:
        candidates = itertools.chain([name], (f"{name}_{n}" for n in itertools.count(2)))
        given.append(next(c for c in candidates if c not in taken))
        taken.add(given[-1])
    return tuple(given)
