"""Queries and results, for `zlang sql` and its interactive prompt: `@name`, units of columns, tables.

In: the typed text, and a `Result`. Out: SQL with its parameters; a table for people.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from zlang.check.types import NANOSECONDS, SCALARS
from zlang.cli import tables, words
from zlang.frozen import frozen
from zlang.hints import TYPE_CHECKING
from zlang.pipeline import results
from zlang.report import wording

if TYPE_CHECKING:
    from zlang.store.query import NamedColumn, Result

_KEEPS_UNIT = (
    "median|avg|mean|min|max|sum|any_value|first|last|mode|stddev|stddev_samp|stddev_pop|mad|"
    "quantile_cont|quantile_disc|arg_min|arg_max|latency_percentile"
)
_AGGREGATE = re.compile(rf"\b(?:{_KEEPS_UNIT})\(")
_CALL = re.compile(r"\w\(")
_NAME = re.compile(r'(?:\w+\.)?"?(?P<name>[^",.*/]+)"?(?:, .*)?')
_OF_TABLES = {"ns": NANOSECONDS, "second": SCALARS["duration"].unit}
"""The units of columns of tables that all experiments share."""
_UNIT = re.compile(r"^--\s*unit\s+(\w+)\s*=\s*(\S+)\s*$", re.MULTILINE)
_OF_VALUES = ("value", "median", "mean", "least", "greatest")


@frozen
class QueryOptions:
    """The format and destination of the result, and the permissions of the query."""

    form: str
    out: Path | None
    partition: tuple[str, ...]
    raw: bool
    write: bool
    unsafe: bool


def read_query(db: Path, source: str | None, given: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """Read a query (SQL, `-` or `@name`): its text, and the values of its parameters, `given` or default."""
    from zlang.store.saved import value

    text = sys.stdin.read() if source == "-" else source or ""
    if not text.startswith("@"):
        return text, dict(given)
    saved = results.saved_query(text[1:].strip())
    own = {name: value(default) if default else None for name, default in saved.params.items() if name not in given}
    if "metric" in own and own["metric"] is None:
        own["metric"], _ = results.example(db)
    return saved.sql, {**own, **given}


def list_saved() -> int:
    """Print the saved queries."""
    rows = [
        [
            f"@{saved_query.name}",
            saved_query.about,
            ", ".join(f"{k}={v}" if v else k for k, v in saved_query.params.items()),
            saved_query.place,
        ]
        for saved_query in results.saved_queries()
    ]
    tables.draw(("query", "description", "--param", "from"), rows, [False] * 4)
    return 0


@frozen
class Meaning:
    """The meaning of numbers: levels of a factor of this type, or values measured in this unit."""

    type: str
    unit: str

    def show(self, value: float) -> str:
        """Format a number for people."""
        return wording.level(value, self.type) if self.type else wording.measured(value, self.unit)


def meanings(columns: Iterable[NamedColumn], given: Mapping[str, object], text: str = "") -> dict[str, Meaning]:
    """The meaning of each column's numbers; columns with the same name have the same meaning.

    A query that takes a `$metric` has its values in `value`, as the table `metrics` calls them, or in what the saved
    queries make of that. A query says the unit of a column of its own in a comment: `-- unit io_lat_p99 = ns`.
    """
    result: dict[str, Meaning] = {}
    clashing: set[str] = set()
    for column in columns:
        meant = Meaning(column.type if column.role == "factor" else "", column.unit)
        if column.unit and result.setdefault(column.name, meant) != meant:
            clashing.add(column.name)
    of_metric = result.get(str(given.get("metric", "")), Meaning("", ""))
    result.update(dict.fromkeys(_OF_VALUES, of_metric))
    result.update({name: Meaning("", unit) for name, unit in _OF_TABLES.items()})
    result.update({name: Meaning("", unit) for name, unit in _UNIT.findall(text)})
    return {name: meant for name, meant in result.items() if name not in clashing}


def _meaning_of(column: str, meanings: Mapping[str, Meaning]) -> Meaning | None:
    """The meaning of a column's numbers, from its name or from the columns that it aggregates or adds up."""
    text = _AGGREGATE.sub("(", column.partition(" FILTER (")[0])
    if _CALL.search(text):
        return None
    names = [_NAME.fullmatch(part) for part in re.split(r" [+-] ", text.replace("(", "").replace(")", ""))]
    result = {meanings.get(name["name"]) if name else None for name in names}
    return result.pop() if len(result) == 1 else None


def print_table(result: Result, meanings: Mapping[str, Meaning]) -> None:
    """Print a result for people, with units if they are known from `meanings`."""
    from zlang.report.formats import cell

    ways = [_meaning_of(column, meanings) if meanings else None for column in result.columns]
    rows = [[_short(v, cell(v), way) for v, way in zip(row, ways, strict=True)] for row in result.rows]
    numeric = [all(isinstance(row[i], int | float | None) for row in result.rows) for i in range(len(result.columns))]
    tables.draw(result.columns, rows, numeric)
    print(words.counted(len(rows), "row"), file=sys.stderr)


def _short(value: object, text: str, way: Meaning | None) -> str:
    if way is not None and isinstance(value, int | float) and not isinstance(value, bool):
        return way.show(value)
    if not isinstance(value, float):
        return text
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:.1f}".removesuffix(".0")  # noqa: PLR2004
