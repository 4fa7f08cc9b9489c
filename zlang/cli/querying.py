"""`zlang sql`: one query from the command line, or an interactive prompt (`repl`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from zlang.cli import query_results, render, result_notes, standard_streams, words
from zlang.cli.query_results import QueryOptions
from zlang.errors import RunError, UsageError, reason_of, unwritable
from zlang.files import write_output
from zlang.hints import TYPE_CHECKING
from zlang.pipeline import results

if TYPE_CHECKING:
    from zlang.store.query import Result


def sql(query: str | None, file: Path | None, params: Sequence[str], db: Path, query_options: QueryOptions) -> int:
    """Run one query; without one, on a terminal, start the interactive prompt."""
    words.form_of_rows(query_options.form, "parquet")
    if query_options.partition and query_options.form != "parquet":
        raise UsageError("only Parquet output can be partitioned: add --format parquet", option="--partition")
    if query is not None and file is not None:
        raise UsageError("the query is given both as an argument and with --file", option="--file")
    if query == "@":
        return query_results.list_saved()
    if query is None and file is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("give a query, or `-` for standard input", option="QUERY")
        from zlang.cli import repl

        return repl.converse(db, query_options)
    text, given = query_results.read_query(db, query if file is None else _text(file), dict(map(_param, params)))
    if query_options.form == "parquet":
        return _parquet(db, text, given, query_options)
    with results.session(db, write=query_options.write, unsafe=query_options.unsafe) as session:
        unverified_runs = session.unverified_runs()
        result = session.ask(text, given, results.MOST_SHOWN)
        if query_options.form == "table" and query_options.out is None:
            query_results.print_table(
                result, {} if query_options.raw else query_results.meanings(session.columns_with_units(), given, text)
            )
        else:
            _write(result, query_options)
    result_notes.warn_of_unverified(unverified_runs)
    return 0


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        raise RunError(f"{file} is not UTF-8 text") from None
    except OSError as error:
        raise RunError(f"cannot read {file}: {reason_of(error)}") from None


def _param(assignment: str) -> tuple[str, object]:
    from zlang.store.saved import value

    name, equals, text = assignment.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"`{assignment}` is not NAME=VALUE", option="--param")
    return name, value(text)


def _parquet(db: Path, text: str, given: Mapping[str, object], query_options: QueryOptions) -> int:
    if query_options.out is None:
        raise UsageError("parquet needs a file: add --out FILE", option="--format")
    count = results.write_parquet(db, text, given, query_options.out, query_options.partition)
    print(f"{render.visible(str(query_options.out))}: {count:,} rows", file=sys.stderr)
    with results.session(db, write=False, unsafe=False) as session:
        result_notes.warn_of_unverified(session.unverified_runs())
    return 0


def _write(result: Result, query_options: QueryOptions) -> None:
    from zlang.report.formats import FORMATS

    text = FORMATS["csv" if query_options.form == "table" else query_options.form](result.columns, result.rows)
    if query_options.out is None:
        standard_streams.use_utf8()
        sys.stdout.write(text)
        return
    try:
        write_output(query_options.out, text.encode())
    except OSError as error:
        raise unwritable(query_options.out, error) from None
