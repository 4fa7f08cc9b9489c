"""Formulas over the trials of a run, evaluated by the database: terms become SQL, whose rows are the results.

Rules: only valid trials are aggregated; the number of attempted trials is returned too. Everything is in base units. A
factor is NULL where it does not exist; a `where` keeps only rows for which it is true.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zlang.check.questions import FactorRef, LevelsWithValue, Term, aggregates, distribution_of
from zlang.check.types import NANOSECONDS, SCALARS, parts_of
from zlang.frozen import frozen
from zlang.metrics import PERCENTILES, statistic
from zlang.store.query import run_query
from zlang.store.store import literal, quoted

_NAMES = {"mean": "avg", "stddev": "stddev_samp"}
"""Those that have another name in SQL."""
UNITS = {name: scalar.unit for name, scalar in SCALARS.items() if scalar.unit}
"""Base units by type; a share is a part of one here, and shown in percent."""
_OPERATORS = {"==": "=", "!=": "<>"}


@frozen
class Trials:
    """One run's trials in a database, with the names and units of their columns.

    `factors` are by path, `metrics` by name: those that were `measured`, and those that every trial has. `others` are
    the runs of the other hosts of its plan, each with its part of the trials.
    """

    db: Path
    run: str
    experiment: str
    title: str
    repeat: int
    schema: str
    factors: dict[str, tuple[str, str]]
    metrics: dict[str, tuple[str, str]]
    measured: frozenset[str]
    others: tuple[str, ...] = ()

    @property
    def rows(self) -> str:
        """The tables to select from."""
        runs = ", ".join(map(literal, (self.run, *self.others)))
        return f"(SELECT * FROM {quoted(self.schema)}.all_trials WHERE run IN ({runs}))"


@frozen
class Side:
    """An aggregate in one combination: its value, the number of valid trials, and the number of attempted trials.

    `values` are those of the trials, for a median. `tried` is None if there is no such trial. A verdict rests on
    `middle`, the geometric mean or the mean of these trials, as `statistic` says.
    """

    term: Term
    value: float | None
    n: int
    tried: int | None
    values: tuple[float, ...]
    middle: float | None = None
    statistic: str = ""


@frozen
class Combination:
    """A combination of levels: the value of each formula, and the aggregates in it."""

    levels: tuple[object, ...]
    trials: int
    results: tuple[object, ...]
    sides: tuple[Side, ...]


def evaluate(trials: Trials, terms: Sequence[Term], by: Sequence[FactorRef], *, every: bool) -> list[Combination]:
    """Evaluate the formulas in each combination of the levels of `by`.

    With `every`, the result has each combination that was attempted. Else the combinations of one aggregate are matched
    with those of the others, and a factor that does not exist on one side (NULL) matches any level on the other.
    """
    result = list(dict.fromkeys(part for term in terms for part in aggregates(term)))
    keys = [f'"level {i}"' for i in range(len(by))]  # no factor or metric has such a name
    levels = ", ".join(f"{level(trials, item)} AS {key}" for item, key in zip(by, keys, strict=True))
    parts = [f"t AS (SELECT *{', ' + levels if levels else ''} FROM {trials.rows})"]
    for i, aggregate in enumerate(result):
        make = _percentile if aggregate.op == "percentile" else _aggregate
        parts.append(f"a{i} AS ({make(trials, aggregate, keys)})")
    listed = ", ".join(keys)
    grouped = f"SELECT {listed + ', ' if keys else ''}count(*) FILTER (valid) AS trials FROM t"
    parts.append(f"g AS ({grouped}{_group_by_sql(keys)})")
    parts.append(_select_all(len(result), keys) if every else _select_matched(len(result), keys))
    sides = ", ".join(f"v{i}, n{i}, tried{i}, values{i}" for i in range(len(result)))
    results = ", ".join(_sql(trials, term, result) for term in terms)
    order = f" ORDER BY {', '.join(f'{key} NULLS FIRST' for key in keys)}" if keys else ""
    chosen = ", ".join(part for part in (listed, "trials", results, sides) if part)
    answer = run_query(trials.db, f"WITH {', '.join(parts)} SELECT {chosen} FROM j{order}")
    return [_combination(row, len(keys), len(terms), result) for row in answer.rows]


def _combination(row: Sequence[object], keys: int, terms: int, result: Sequence[Term]) -> Combination:
    levels, (trials, *remaining) = row[:keys], row[keys:]
    results, numbers = remaining[:terms], remaining[terms:]
    sides = []
    for i, aggregate in enumerate(result):
        value, n, tried, values = numbers[4 * i : 4 * i + 4]
        listed = tuple(float(v) for v in values) if isinstance(values, list) else ()
        number = float(value) if isinstance(value, int | float) else None
        sides.append(Side(aggregate, number, _as_int(n) or 0, _as_int(tried), listed))
    return Combination(tuple(levels), _as_int(trials) or 0, tuple(results), tuple(sides))


def _as_int(value: object) -> int | None:
    return value if isinstance(value, int) else None


def is_of_some(aggregate: Term) -> bool:
    """Whether an aggregate covers only the trials that meet a condition."""
    return len(aggregate.terms) > (aggregate.op != "percentile")


def _aggregate(trials: Trials, term: Term, keys: Sequence[str]) -> str:
    """The SQL of an aggregate: key columns, the value, the numbers of valid and attempted trials, a median's values."""
    subject = f"({_sql(trials, term.terms[0], ())})"
    counted = f"FILTER (valid AND {subject} IS NOT NULL)"
    value = f"{_NAMES.get(term.op, term.op)}({subject}) {counted}"
    listed = f"list({subject} ORDER BY number) {counted}" if term.op == "median" else "NULL"
    where = _where_sql(trials, term.terms[1:])
    chosen = ", ".join([*keys, f"{value} AS v", f"count(*) {counted} AS n", "count(*) AS tried", f"{listed} AS vs"])
    return f"SELECT {chosen} FROM t{where}{_group_by_sql(keys)}"


def _percentile(trials: Trials, term: Term, keys: Sequence[str]) -> str:
    """The SQL of a percentile, from the summed histograms of all valid trials."""
    own = "".join(f"{key}, " for key in keys)
    value = f"latency_percentile(ns, ios, {100 * float(term.value or 0)!r}) / {parts_of(NANOSECONDS)}"
    return (
        f"WITH c AS (SELECT {own}run, trial, replicate, valid FROM t{_where_sql(trials, term.terms)}), "
        f"h AS (SELECT {own}ns, counts FROM c JOIN {histograms(trials, distribution_of(term))} "
        "USING (run, trial, replicate, valid)), "
        f"b AS (SELECT {own}unnest(ns) AS ns, unnest(counts) AS ios FROM h), "
        f"p AS (SELECT {own}{value} AS v FROM b{_group_by_sql(keys)}), "
        f"m AS (SELECT {own}count(*) AS n FROM h{_group_by_sql(keys)}), "
        f"s AS (SELECT {own}count(*) AS tried FROM c{_group_by_sql(keys)}) "
        f"SELECT {''.join(f's.{key}, ' for key in keys)}v, n, tried, NULL AS vs FROM s "
        f"LEFT JOIN (SELECT p.*, n FROM p JOIN m ON true{_same(keys, 'p', 'm')}) q ON true{_same(keys, 's', 'q')}"
    )


def histograms(trials: Trials, name: str) -> str:
    """The SQL of a table with the histogram of each valid trial of a distribution; `STREAM.NAME` is that of one stream.

    A trial with only that stream has its histogram as that of the whole trial. Those of copies of a stream are joined.
    """
    stream, _, metric = name.rpartition(".")
    chosen = f"valid AND metric = {literal(metric)}"
    whole = f"SELECT run, trial, replicate, valid, ns, counts FROM main.histograms WHERE {chosen}"
    if not stream:
        return f"({whole})"
    there = "SELECT DISTINCT run, trial, replicate"
    group = f'{there}, stream, host FROM main.stream_metrics WHERE "group" = {literal(stream)}'
    same = "h.stream IS NOT DISTINCT FROM g.stream AND h.host IS NOT DISTINCT FROM g.host"
    several = (
        "SELECT run, trial, replicate, valid, flatten(list(ns)) AS ns, flatten(list(counts)) AS counts "
        f"FROM (FROM main.stream_histograms WHERE {chosen}) h JOIN ({group}) g USING (run, trial, replicate) "
        f"WHERE {same} GROUP BY run, trial, replicate, valid"
    )
    (code, _) = trials.metrics.get(statistic(name, PERCENTILES[0][0]), ("", ""))
    if not code:
        return f"({several})"
    alone = f"({there} FROM {trials.rows} WHERE {quoted(code)} IS NOT NULL)"
    others = f"({there} FROM main.stream_metrics)"
    key = "USING (run, trial, replicate)"
    return f"((FROM ({whole}) SEMI JOIN {alone} {key} ANTI JOIN {others} {key}) UNION ALL ({several}))"


def _same(keys: Sequence[str], item: str, other: str) -> str:
    return "".join(f" AND {item}.{key} IS NOT DISTINCT FROM {other}.{key}" for key in keys)


def of_trial(trials: Trials, term: Term, number: int) -> str:
    """The SQL of a trial's value for an aggregate, or NULL; its own percentile is the column `p` and the number."""
    is_percentile = term.op == "percentile"
    value = f"p{number}" if is_percentile else f"({_sql(trials, term.terms[0], ())})"
    conditions = term.terms if is_percentile else term.terms[1:]
    return f"CASE WHEN {_sql(trials, conditions[0], ())} THEN {value} END" if conditions else value


def _where_sql(trials: Trials, conditions: Sequence[Term]) -> str:
    return "".join(f" WHERE {_sql(trials, condition, ())}" for condition in conditions)


def _group_by_sql(keys: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(keys)}" if keys else ""


def _select_all(count: int, keys: Sequence[str]) -> str:
    """The SQL of all combinations, each with its aggregates."""
    joins = [f"LEFT JOIN a{i} ON true{_same(keys, 'g', f'a{i}')}" for i in range(count)]
    own = [*(f"g.{key}" for key in keys), "g.trials", *(_side_columns(f"a{i}", i) for i in range(count))]
    return f"j AS (SELECT {', '.join(own)} FROM g {' '.join(joins)})"


def _select_matched(count: int, keys: Sequence[str]) -> str:
    """The SQL of the combinations of the first aggregate, matched with those of each other aggregate in turn."""
    made = [f"j0 AS (SELECT {', '.join([*keys, _side_columns('a0', 0)])} FROM a0)"]
    for i in range(1, count):
        same = [f"(x.{key} = y.{key} OR x.{key} IS NULL OR y.{key} IS NULL)" for key in keys]
        both = [f"coalesce(x.{key}, y.{key}) AS {key}" for key in keys]
        names = [f"v{n}, n{n}, tried{n}, values{n}" for n in range(i)]
        chosen = ", ".join([*both, *names, _side_columns("y", i)])
        made.append(f"j{i} AS (SELECT {chosen} FROM j{i - 1} x FULL JOIN a{i} y ON {' AND '.join(same) or 'true'})")
    return ", ".join([*made, f"j AS (SELECT *, 0 AS trials FROM j{count - 1})"])


def _side_columns(table: str, i: int) -> str:
    return f"{table}.v AS v{i}, {table}.n AS n{i}, {table}.tried AS tried{i}, {table}.vs AS values{i}"


def level(trials: Trials, factor_ref: FactorRef) -> str:
    """The SQL of a factor's level."""
    if factor_ref.values:
        return _cases(trials, factor_ref)
    names = [quoted(trials.factors[path][0]) for path in factor_ref.paths if path in trials.factors]
    return f"coalesce({', '.join(names)})" if names else "NULL"


def _cases(trials: Trials, column: FactorRef | Term) -> str:
    """The SQL of a column that follows from the levels of factors."""
    columns = [quoted(trials.factors[path][0]) if path in trials.factors else "NULL" for path in column.paths]
    return f"CASE {' '.join(_case(columns, item) for item in column.values)} END"


def _case(columns: Sequence[str], item: LevelsWithValue) -> str:
    pairs = zip(columns, item.levels, strict=True)
    same = " AND ".join(f"{column} IS NOT DISTINCT FROM {_value(level)}" for column, level in pairs)
    return f"WHEN {same} THEN {_value(item.value)}"


def _sql(trials: Trials, term: Term, terms: Sequence[Term]) -> str:
    """The SQL of a formula; aggregates are columns numbered by their place in `terms`."""
    if term in terms:
        return f"v{terms.index(term)}"
    match term.op:
        case "value":
            return _value(term.value)
        case "metric":
            return _column(*trials.metrics.get(term.name, ("", "")))
        case "factor" if term.values:
            return _in_base_units(_cases(trials, term), UNITS.get(term.type, ""))
        case "factor":
            names = [_column(*trials.factors[path]) for path in term.paths if path in trials.factors]
            return f"coalesce({', '.join(names)})" if names else "NULL"
        case "not":
            return f"(NOT {_sql(trials, term.terms[0], terms)})"
        case "in":
            item, *others = (_sql(trials, part, terms) for part in term.terms)
            return f"({item} IN ({', '.join(others)}))"
        case "/":
            left, right = (_sql(trials, part, terms) for part in term.terms)
            return f"({left} / nullif({right}, 0))"
        case operator:
            left, right = (_sql(trials, part, terms) for part in term.terms)
            return f"({left} {_OPERATORS.get(operator, operator)} {right})"


def _column(name: str, unit: str) -> str:
    return _in_base_units(quoted(name), unit) if name else "NULL::DOUBLE"


def _in_base_units(value: str, unit: str) -> str:
    parts = parts_of(unit)
    return value if parts == 1 else f"({value} / {float(parts)!r})"


def _value(value: str | float | bool | None) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return literal(value)
        case int():
            return f"{value}"
        case float():
            return f"{literal(repr(value))}::DOUBLE"
