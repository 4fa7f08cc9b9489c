"""The file of a results database: creating it, opening it for reading, recognising it.

Rule: nothing here writes to a database that is in place, and a file that zlang did not make is never replaced. It works
the same on DuckDB 1.5 and 2; their differences are handled here.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from zlang.errors import RunError, reason_of
from zlang.files import scratch
from zlang.frozen import frozen
from zlang.hints import TYPE_CHECKING
from zlang.text import as_unicode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import duckdb

VERSION = "9"
"""The format of the tables in schema.sql. It changes if a query would work with only one of two versions."""

ALIAS = "zlang_results"
"""The database's catalog name while we have it open; not the file's, which could be that of an experiment."""

_FACTORS = "SET VARIABLE factors = (SELECT coalesce(list(name ORDER BY position), []) FROM main.factors)"
"""`COLUMNS` takes no subquery, but a variable."""

_MOST_SPILLED = 16 << 30
"""Bytes of temporary files, where much more is free."""

_MAGIC = (8, b"DUCK")  # https://duckdb.org/docs/stable/internals/storage: magic bytes after the checksum of the header


def quoted(name: str) -> str:
    """Quote an identifier for SQL."""
    return '"' + name.replace('"', '""').replace("\0", "") + '"'


def literal(text: str) -> str:
    """Quote a string for SQL. For a parameter, DuckDB loads pandas, if it is installed, which takes a second."""
    return "'" + text.replace("'", "''") + "'"


def literals(texts: Iterable[str]) -> str:
    """Quote strings as a list for SQL."""
    return f"[{', '.join(map(literal, texts))}]"


def timestamp(seconds: str) -> str:
    """Convert seconds since 1970 to an SQL TIMESTAMP."""
    return f"make_timestamp(round({seconds} * 1e6)::BIGINT)"


def create(path: Path, spill: Path) -> duckdb.DuckDBPyConnection:
    """Create a database with the tables of schema.sql, for the caller to fill."""
    connection = _connection(path, spill)
    # Files in 2.0's own format cannot be opened by 1.5. After a crash nobody needs this file, so it has no log.
    options = "STORAGE_VERSION 'v1.5.0', RECOVERY_MODE no_wal_writes"
    connection.execute(f"ATTACH {literal(str(path))} AS {ALIAS} ({options})")
    connection.execute(f"USE {ALIAS}")
    connection.execute(Path(__file__).with_name("schema.sql").read_text("utf-8"))
    connection.execute(f"INSERT INTO about VALUES ('format', {literal(VERSION)})")
    return connection


@frozen
class Access:
    """The permissions of statements: `write` to the database, leave it (`unsafe`), or only write below a directory."""

    write: bool = False
    unsafe: bool = False
    directory: Path | None = None


LOCKED = Access()


@contextmanager
def reading(path: Path, access: Access = LOCKED) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the database read-only and locked, so that no statement can access a file, the network or a setting.

    The variable `factors` lists the names of all factors: `columns(getvariable('factors'))`.
    """
    with ExitStack() as stack:
        spill = None
        with suppress(OSError):  # if nothing can be written, queries have to fit into memory
            spill = stack.enter_context(scratch(path.absolute().parent))
        connection = stack.enter_context(closing(_opened(path, spill, write=access.write)))
        version = format_of(connection)
        if version != VERSION:
            raise _foreign_file_error(path) if version is None else _other_version(path, version)
        connection.execute(_FACTORS)
        if not access.unsafe:
            if access.directory is not None:
                connection.execute(f"SET allowed_directories = [{literal(f'{access.directory.absolute()}/')}]")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
        yield connection


@contextmanager
def filling(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database that is being built, to fill it further."""
    with closing(_opened(path, path.with_name("spill"), write=True)) as connection:
        yield connection


def check_replaceable(path: Path) -> None:
    """Refuse to replace a file that zlang did not make. Raises RunError."""
    if path.exists() and not path.is_file():
        raise RunError(f"{path} is not a file", "choose another file with --db FILE")
    if not path.exists() or path.stat().st_size == 0:
        log = path.with_name(f"{path.name}.wal")
        if log.exists():
            raise RunError(f"{log} belongs to a database that does not exist", "move it away, or use another --db FILE")
        return
    if not _is_duckdb(path):
        raise RunError(f"{path} is not a database, so it is not replaced", "choose another file with --db FILE")
    with closing(_opened(path, None)) as connection:
        if format_of(connection) is None:
            raise RunError(f"{path} is not a results database of zlang, so it is not replaced", "use another --db FILE")


def format_of(connection: duckdb.DuckDBPyConnection) -> str | None:
    """The version of zlang's tables in an open database; None if it has none."""
    import duckdb

    try:
        row = connection.execute(f"SELECT value FROM {ALIAS}.main.about WHERE key = 'format'").fetchone()
    except duckdb.Error:
        return None
    return str(row[0]) if row else None


def first_line(error: BaseException) -> str:
    """The first line of DuckDB's message."""
    return next(iter(str(error).splitlines()), type(error).__name__).strip()


def _opened(path: Path, spill: Path | None, *, write: bool = False) -> duckdb.DuckDBPyConnection:
    import duckdb

    if not path.is_file():
        raise RunError(
            f"there is no results database {path}",
            f"`zlang run FILE` creates one; `zlang ingest DIR --db {path}` creates it from run folders",
        )
    if not _is_duckdb(path):
        raise _foreign_file_error(path)
    connection = _connection(path, spill)
    try:
        mode = "READ_WRITE" if write else "READ_ONLY"
        connection.execute(f"ATTACH {literal(str(path.absolute()))} AS {ALIAS} ({mode}, TYPE duckdb)")
        connection.execute(f"USE {ALIAS}")
    except duckdb.Error as error:
        connection.close()
        hint = f"remove it and build it again: zlang ingest DIR --db {path}"
        if "lock" in str(error).lower():
            hint = "another program has it open: close it there"
        raise RunError(f"{path} cannot be opened: {first_line(error)}", hint) from error
    return connection


def _connection(path: Path, spill: Path | None) -> duckdb.DuckDBPyConnection:
    import duckdb

    place = str(path.parent.absolute())
    if str(path.absolute()) != as_unicode(str(path.absolute())):
        raise RunError(f"{as_unicode(place)} is not a path in UTF-8, and DuckDB takes no other", "choose one with --db")
    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
            # Queries may write to it, so it is a separate directory.
            "temp_directory": str(spill or ""),
            "max_temp_directory_size": f"{_most_spilled(path.parent)}B",
        },
    )
    row = connection.execute("SELECT 1 FROM duckdb_optimizers() WHERE name = 'partial_aggregate_pushdown'").fetchone()
    if row:
        # In 2.0.0 it makes grouping a long (tidy) table ten times slower.
        connection.execute("SET disabled_optimizers = 'partial_aggregate_pushdown'")
    return connection


def _most_spilled(directory: Path) -> int:
    """The bytes that a query may spill to disk: half of the free space, so that a concurrent run can continue."""
    try:
        return min(_MOST_SPILLED, shutil.disk_usage(directory).free // 2)
    except OSError:
        return _MOST_SPILLED


def _is_duckdb(path: Path) -> bool:
    offset, magic = _MAGIC
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(len(magic)) == magic
    except OSError as error:
        raise RunError(f"{path} cannot be read: {reason_of(error)}") from error


def _foreign_file_error(path: Path) -> RunError:
    return RunError(f"{path} is not a results database of zlang", f"build one: zlang ingest DIR --db {path}")


def _other_version(path: Path, result: str) -> RunError:
    return RunError(
        f"{path} was built by another version of zlang (format {result}; this one reads {VERSION})",
        f"build it again: zlang ingest DIR --db {path}",
    )
