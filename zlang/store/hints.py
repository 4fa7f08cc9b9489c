"""Hints for queries that DuckDB rejects, derived from its messages."""

from __future__ import annotations

import re

from zlang import units
from zlang.hints import TYPE_CHECKING
from zlang.store.saved import value
from zlang.store.store import literal, quoted
from zlang.suggest import did_you_mean, did_you_mean_part
from zlang.units import UnitError

if TYPE_CHECKING:
    import duckdb

ONLY_READS = "a query can only read the results; --write permits changes, and --unsafe permits files and the network"
_COLUMN = re.compile(r'Referenced column "(?P<one>[^"]*)" not found|does not have a column named "(?P<other>[^"]*)"')
_COLUMNS = "SELECT DISTINCT column_name FROM information_schema.columns ORDER BY 1"
_TABLE = re.compile(
    r'Referenced table "(?P<one>[^"]*)" not found|(?:Table|View) with name "?(?P<other>[^"\s]*)"? does not exist'
)
_SCHEMA = re.compile(r'schema "(?P<one>[^"]*)" does not exist')
_FUNCTION = re.compile(r"Function with name (?P<one>\S+) does not exist")
_MISSING = re.compile(r"parameters: (?P<one>.+)")
_PERCENTILE = re.compile(r"p\d+|percentiles?|quantile", re.IGNORECASE)
_WITH_UNIT = re.compile(r"(?<![\w.])\d[\d.]*[A-Za-z%]\w*(?:/s)?")
_MOST_TABLES = 3
_TRUTH = "`on` is true here, and `off` is false"
_SENTENCES = (
    ("to BOOL", _TRUTH),
    ("pytz", "times with a time zone cannot be shown: append ::TIMESTAMP"),
    ("must appear in the GROUP BY clause", "end the query with: group by all"),
    ("disabled by configuration", ONLY_READS),
    ("locked", ONLY_READS),
    ("read-only", ONLY_READS),
)


def hint(connection: duckdb.DuckDBPyConnection, sql: str, message: str) -> str:
    """A hint that says what to type instead; empty if there is none."""
    for part, sentence in _SENTENCES:
        if part in message:
            return sentence
    if "not provided for" in message and (match := _MISSING.search(message)):
        return "give it a value: " + " ".join(f"--param {name}=…" for name in match["one"].split(", "))
    if "excess parameters" in message:
        return "the query has no such $name"
    if message.startswith(("Conversion Error", "Parser Error")) and (text := _quantity(sql)):
        return text
    for pattern, answer in ((_SCHEMA, _schema), (_TABLE, _table), (_COLUMN, _column), (_FUNCTION, _function)):
        if match := pattern.search(message):
            name = next(name for name in match.groups() if name is not None)
            if answer is _column and "." in name and name.replace(".", "_") in _listed(connection, _COLUMNS):
                return f"in SQL it is {quoted(name.replace('.', '_'))}"
            return answer(connection, name.rpartition(".")[2])
    return ""


def _quantity(sql: str) -> str:
    """The number in the database that a value with a unit stands for, if the query contains such a value."""
    for text in _WITH_UNIT.findall(sql):
        try:
            units.parse(text)
        except UnitError:
            continue
        return f"`{text}` is {value(text)} in SQL; or write $x and add --param x={text}"
    return ""


def _schema(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    return did_you_mean(name, _listed(connection, "SELECT DISTINCT table_schema FROM information_schema.tables"))


def _table(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    schemas = _listed(
        connection, "SELECT DISTINCT table_schema FROM information_schema.tables WHERE table_name = 'trials'"
    )
    if name in schemas:
        return f"it is an experiment: {quoted(name) if not name.isidentifier() else name}.trials"
    tables = _listed(connection, "SELECT DISTINCT table_name FROM information_schema.tables ORDER BY 1")
    return did_you_mean(name, tables) or "`show tables` lists the tables; most data is in `trials`"


def _column(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    if name.lower() in {"on", "off"}:
        return _TRUTH
    for factor in _listed(connection, "SELECT name FROM main.factors"):
        column = quoted(factor)
        if connection.execute(f"SELECT 1 FROM all_trials WHERE {column}::VARCHAR = ? LIMIT 1", [name]).fetchone():
            return f"write text in single quotes: {literal(name)}"
    columns = _listed(connection, _COLUMNS)
    if name in columns:
        sql = (
            "SELECT DISTINCT if(table_schema = 'main', '', table_schema || '.') || table_name "
            f"FROM information_schema.columns WHERE column_name = {literal(name)} ORDER BY 1"
        )
        return f"a column of this name is in {', '.join(_listed(connection, sql)[:_MOST_TABLES])}"
    return did_you_mean_part(name, columns) or "`zlang sql @columns` lists the columns of trials"


def _function(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    if _PERCENTILE.fullmatch(name):
        metric = next(iter(_listed(connection, "SELECT name FROM main.columns WHERE role = 'metric'")), "METRIC")
        return f"over operations: latency_percentile(ns, count, 99); over trials: quantile_cont({quoted(metric)}, 0.99)"
    return did_you_mean(name, _listed(connection, "SELECT DISTINCT function_name FROM duckdb_functions()"))


def _listed(connection: duckdb.DuckDBPyConnection, sql: str) -> list[str]:
    return [str(name) for (name,) in connection.execute(sql).fetchall()]
