"""`zlang sql`: one question from the command line, or a conversation (`repl`)."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from zlang import metrics, pipeline
from zlang.cli import asking, render, words
from zlang.errors import RunError
from zlang.files import replace_file
from zlang.report import wording

if TYPE_CHECKING:
    from zlang.store.query import Named, Result

FORMATS = ("table", "csv", "json", "ndjson", "markdown", "latex", "parquet")
_KEEPS_UNIT = (
    "median|avg|mean|min|max|sum|any_value|first|last|mode|stddev|stddev_samp|stddev_pop|mad|"
    "quantile_cont|quantile_disc|arg_min|arg_max|latency_percentile"
)
_AGGREGATE = re.compile(rf"\b(?:{_KEEPS_UNIT})\(")
_CALL = re.compile(r"\w\(")
_NAME = re.compile(r'(?:\w+\.)?"?(?P<name>[^",.*/]+)"?(?:, .*)?')
_OF_VALUES = ("value", "median", "mean", "least", "greatest")
_BETWEEN = 3
"""Columns of the terminal between those of a table."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How one is asked, and how the answer is wanted."""

    form: str
    out: Path | None
    partition: tuple[str, ...]
    raw: bool
    write: bool
    unsafe: bool


def sql(query: str | None, file: Path | None, params: Sequence[str], db: Path, asked: Asked) -> int:
    """Answer one question; without one, on a terminal, answer many."""
    words.one_of("--format", asked.form, FORMATS)
    if query is not None and file is not None:
        raise typer.BadParameter("the query is given twice, also in a file", param_hint="--file")
    if query == "@":
        return list_saved()
    if query is None and file is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise typer.BadParameter("say what to ask, or `-` for standard input", param_hint="QUERY")
        from zlang.cli import repl

        return repl.converse(db, asked)
    text, given = question(query if file is None else _text(file))
    given.update(dict(map(_param, params)))
    if asked.form == "parquet":
        return _parquet(db, text, given, asked)
    with pipeline.session(db, write=asked.write, unsafe=asked.unsafe) as session:
        result = session.ask(text, given)
        if asked.form == "table" and asked.out is None:
            print_table(result, {} if asked.raw else meanings(session.columns(), given))
        else:
            _write(result, asked)
    return 0


def question(said: str | None) -> tuple[str, dict[str, object]]:
    """What is asked, and the values of parameters that it brings along: SQL, `-` or `@name`."""
    from zlang.store.saved import value

    text = sys.stdin.read() if said == "-" else said or ""
    if not text.startswith("@"):
        return text, {}
    saved = pipeline.saved_query(text[1:].strip())
    return saved.sql, {name: value(default) for name, default in saved.params.items()}


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"cannot read {file}: {getattr(error, 'strerror', None) or 'it is no UTF-8 text'}") from None


def _param(said: str) -> tuple[str, object]:
    from zlang.store.saved import value

    name, equals, text = said.partition("=")
    if not equals or not name.isidentifier():
        raise typer.BadParameter(f"`{said}` is not NAME=VALUE", param_hint="--param")
    return name, value(text)


def list_saved() -> int:
    """Print the saved queries."""
    rows = [
        [f"@{one.name}", one.about, ", ".join(f"{k}={v}" for k, v in one.params.items()), one.place]
        for one in pipeline.saved_queries()
    ]
    asking.draw(("query", "answers", "--param", "of"), rows, [False] * 4)
    return 0


def _parquet(db: Path, text: str, given: Mapping[str, object], asked: Asked) -> int:
    if asked.out is None:
        raise typer.BadParameter("parquet is written to a file: name it with --out", param_hint="--format")
    count = pipeline.write_parquet(db, text, given, asked.out, asked.partition)
    print(f"{render.visible(str(asked.out))}: {count:,} rows", file=sys.stderr)
    return 0


def _write(result: Result, asked: Asked) -> None:
    from zlang.report.formats import FORMATS as WRITERS

    text = WRITERS["csv" if asked.form == "table" else asked.form](result.columns, result.rows)
    if asked.out is None:
        sys.stdout.write(text)
        return
    try:
        replace_file(asked.out, text.encode())
    except OSError as error:
        raise RunError(f"cannot write {asked.out}: {error.strerror}", "name another with --out") from None


@dataclass(frozen=True, slots=True)
class Meaning:
    """What numbers are: levels of a factor of this type, or measured in this unit."""

    type: str
    unit: str

    def show(self, value: float) -> str:
        """A number as people write it."""
        return wording.level(value, self.type) if self.type else wording.measured(value, self.unit)


def meanings(columns: Iterable[Named], given: Mapping[str, object]) -> dict[str, Meaning]:
    """What the numbers of each column are, where columns of one name are the same.

    A query that takes a `$metric` has its values in `value`, as the table `metrics` calls them, or in what the saved
    queries make of that.
    """
    found: dict[str, Meaning] = {}
    clashing: set[str] = set()
    for one in columns:
        meant = Meaning(one.type if one.role == "factor" else "", one.unit)
        if one.unit and found.setdefault(one.name, meant) != meant:
            clashing.add(one.name)
    found.update(dict.fromkeys(_OF_VALUES, Meaning("", metrics.unit(str(given.get("metric", ""))))))
    return {name: meant for name, meant in found.items() if name not in clashing}


def _meaning_of(column: str, known: Mapping[str, Meaning]) -> Meaning | None:
    """What the numbers of a column of an answer are: by what it is called, or what it aggregates and adds up."""
    text = _AGGREGATE.sub("(", column.partition(" FILTER (")[0])
    if _CALL.search(text):
        return None
    names = [_NAME.fullmatch(part) for part in re.split(r" [+-] ", text.replace("(", "").replace(")", ""))]
    found = {known.get(name["name"]) or _called(name["name"]) if name else None for name in names}
    return found.pop() if len(found) == 1 else None


def _called(name: str) -> Meaning | None:
    """What is meant by a name that only the query knows; a share of its own may be of one, not of a hundred."""
    unit = metrics.unit(f"_{name}")
    return Meaning("", unit) if unit not in {"", "%"} else None


def print_table(result: Result, known: Mapping[str, Meaning]) -> None:
    """An answer for people: numbers with their units where these are `known`."""
    from zlang.report.formats import cell

    ways = [_meaning_of(column, known) if known else None for column in result.columns]
    rows = [[_short(v, cell(v), way) for v, way in zip(row, ways, strict=True)] for row in result.rows]
    numeric = [all(isinstance(row[i], int | float | None) for row in result.rows) for i in range(len(result.columns))]
    widths = [max(map(len, column)) for column in zip(result.columns, *rows, strict=True)]
    if sys.stdout.isatty() and sum(widths) + _BETWEEN * len(widths) > shutil.get_terminal_size().columns:
        _one_below_the_other(result.columns, rows)
    else:
        asking.draw(result.columns, rows, numeric)
    print(f"{len(rows):,} row{'' if len(rows) == 1 else 's'}", file=sys.stderr)


def _one_below_the_other(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows that are wider than the terminal, a line for each column."""
    width = max(map(len, columns))
    for n, row in enumerate(rows, 1):
        print(f"─ {n} ".ljust(width + _BETWEEN, "─"))
        for column, text in zip(columns, row, strict=True):
            print(f"{render.visible(column):{width}}   {render.visible(text)}".rstrip())


def _short(value: object, text: str, way: Meaning | None) -> str:
    if way is not None and isinstance(value, int | float) and not isinstance(value, bool):
        return way.show(value)
    if not isinstance(value, float):
        return text
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:.1f}".removesuffix(".0")  # noqa: PLR2004
