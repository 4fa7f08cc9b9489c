"""The summary of an experiment in a results database: a table of every combination of its factors with its figures.

Rules: a figure comes with its n and, from two values on, with an interval. Combinations without a valid measurement
are listed with n = 0. Invalid trials are counted, with the reasons.
A column has one statistic (`zlang/intervals.py`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from zlang import intervals
from zlang.errors import RunError
from zlang.frozen import frozen
from zlang.metrics import ELAPSED, Metric
from zlang.report import wording
from zlang.store.query import run_query
from zlang.store.store import quoted
from zlang.suggest import did_you_mean

MEDIAN, GEOMETRIC_MEAN = "median", "geomean"
_USUAL = ("read.operations", "write.operations")
"""The meanings of the metrics of a question that names none."""
_BESIDE = frozenset({"processor_time", "skew", "coverage"})
"""The meanings of metrics that say how a trial was measured, and not what."""
_OBSERVATION = "observation"
"""The meaning of a collector's metrics: they are usual only where the load has none."""


@frozen
class TableColumn:
    """A column of the summary: its `type` is a factor's type, "count" for n, or "estimate" for a metric.

    `meaning` says what a factor is whose column has a longer name.
    """

    name: str
    type: str
    unit: str
    meaning: str = ""


@frozen
class Estimate:
    """A statistic of n values, and its 95 % interval if n and the values allow one."""

    n: int
    value: float | None
    low: float | None
    high: float | None
    statistic: str = ""


Cell = str | int | float | bool | Estimate | None


@frozen
class Summary:
    """A table by factor: factors first, then n and the metrics; and the invalid trials, the most common reason first.

    `note` is a caveat about its rows. `text` is the clause that asks for it, without its first word.
    """

    experiment: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    trials: int
    valid: int
    reasons: tuple[tuple[str, int], ...]
    note: str = ""
    text: str = ""

    @property
    def invalid(self) -> int:
        """The number of invalid trials."""
        return self.trials - self.valid

    @property
    def has_intervals(self) -> bool:
        """Whether a figure has an interval."""
        return any(isinstance(cell, Estimate) and cell.low is not None for row in self.rows for cell in row)


def summarise(db: Path, experiment: str | None = None, rows: str | None = None, named: Sequence[str] = ()) -> Summary:
    """Summarise all runs of an experiment, the plan that ran last, or these rows of the experiment.

    It shows the metrics that are `named` if one of them varies, else the usual metrics of the workload.
    """
    name, schema = _experiment(db, experiment)
    catalogue = run_query(
        db, 'SELECT name, role, type, unit, description FROM "columns" WHERE experiment = ? ORDER BY position', [name]
    ).rows
    factors = [TableColumn(str(n), *map(str, described)) for n, role, *described in catalogue if role == "factor"]
    declared_metrics = {str(n): str(unit) for n, role, _, unit, _ in catalogue if role == "metric"}
    declared_metrics[ELAPSED.name] = ELAPSED.unit
    table = rows or ("main.all_trials" if experiment is None else f"{quoted(schema)}.all_trials")
    if factors:
        counts = ", ".join(f"count({quoted(factor.name)})" for factor in factors)
        total, *seen = run_query(db, f"SELECT count(*), {counts} FROM {table}").rows[0]
        factors = [factor for factor, count in zip(factors, seen, strict=True) if count or not total]
    metrics = varying(db, table, named) or _metrics(db, table, list(declared_metrics))
    made = _rows(db, table, [f.name for f in factors], metrics)
    total, valid, why = reasons(db, table)
    columns = [
        *factors,
        count_column(factors),
        *(TableColumn(m, "estimate", declared_metrics[m]) for m in metrics),
    ]
    return Summary(experiment=name, columns=tuple(columns), rows=made, trials=total, valid=valid, reasons=why)


def count_column(factors: Iterable[TableColumn]) -> TableColumn:
    """The column for the number of trials, under a name that no factor has."""
    taken = {factor.name for factor in factors}
    return TableColumn(next(name for name in ("n", "trials", "trials_counted") if name not in taken), "count", "")


def reasons(db: Path, table: str) -> tuple[int, int, tuple[tuple[str, int], ...]]:
    """The number of trials, the number of valid ones, and the reasons for invalid ones, the most common first."""
    total, valid = run_query(db, f"SELECT count(*), count(*) FILTER (valid) FROM {table}").rows[0]
    why = run_query(
        db, f"SELECT why_not, count(*) FROM {table} WHERE NOT valid GROUP BY ALL ORDER BY count(*) DESC, why_not"
    ).rows
    return _count(total), _count(valid), tuple((str(reason), _count(n)) for reason, n in why)


def estimates(samples: Sequence[Sequence[float]]) -> list[Estimate]:
    """The same statistic of each sample: the median if each has six values or more, else the geometric mean."""
    sizes = [len(values) for values in samples if values]
    is_median = bool(sizes) and min(sizes) >= intervals.LEAST_FOR_MEDIAN
    has_logs = not is_median and all(0 < value < math.inf for values in samples for value in values)
    return [_geometric_mean(values) if has_logs else median(values) for values in samples]


def estimate(values: Sequence[float]) -> Estimate:
    """The statistic of one sample."""
    return estimates([values])[0]


def median(values: Sequence[float], *, has_interval: bool = True) -> Estimate:
    """The median, with the two values that bound its interval."""
    if len(values) <= 1:
        return single(values)
    low, high = (intervals.of_median(values) if has_interval else None) or (None, None)
    return Estimate(len(values), statistics.median(values), low, high, MEDIAN)


def single(values: Sequence[float]) -> Estimate:
    """The only value, if there is one, without an interval."""
    return Estimate(len(values), values[0] if values else None, None, None)


def _geometric_mean(values: Sequence[float]) -> Estimate:
    """The geometric mean and its log-t interval."""
    interval = intervals.of_logs(values)
    if interval is None:
        return single(values)
    middle, low, high = (intervals.exp(interval[0] + side * interval[1]) for side in (0, -1, 1))
    if high == math.inf:
        return Estimate(len(values), middle, None, None, GEOMETRIC_MEAN)
    return Estimate(len(values), middle, low, high, GEOMETRIC_MEAN)


def heading(summary: Summary, n: int) -> str:
    """The heading of a column of estimates: their statistic, and whether they have intervals."""
    name = summary.columns[n].name
    estimates = [value for row in summary.rows if isinstance(value := row[n], Estimate)]
    statistic = next((value.statistic for value in estimates if value.statistic), "")
    names_statistic = name.startswith(f"{statistic}(")
    level = "95 %" if any(value.low is not None for value in estimates) else ""
    shown = ", ".join(filter(None, ("" if names_statistic else statistic, level)))
    return name + (f" ({shown})" if shown else "")


def shown(value: Cell, column: TableColumn) -> str:
    """A cell as text for people: an estimate is followed by its interval."""
    if not isinstance(value, Estimate):
        return wording.level(value, column.type)
    if value.value is None:
        return "-"
    text = wording.measured(value.value, column.unit)
    if value.low is None or value.high is None:
        return text
    return f"{text} [{wording.measured(value.low, column.unit)} … {wording.measured(value.high, column.unit)}]"


def flat(summary: Summary) -> tuple[list[str], list[list[object]]]:
    """The summary as plain names and rows: an estimate becomes three numbers, in the unit of its column."""
    names = [
        name
        for column in summary.columns
        for name in (
            (column.name, f"{column.name} low", f"{column.name} high") if column.type == "estimate" else (column.name,)
        )
    ]
    return names, [[part for cell in row for part in _parts(cell)] for row in summary.rows]


def _parts(cell: Cell) -> tuple[object, ...]:
    return (cell.value, cell.low, cell.high) if isinstance(cell, Estimate) else (cell,)


def _experiment(db: Path, wanted: str | None) -> tuple[str, str]:
    """The experiment's name and its schema."""
    rows = run_query(
        db,
        'SELECT experiment, any_value("schema") FROM "columns" LEFT JOIN runs USING (experiment) '
        "GROUP BY experiment ORDER BY max(last_session) DESC NULLS LAST, max(run) DESC",
    ).rows
    candidates = {str(name): str(schema) for name, schema in rows}
    if not candidates:
        raise RunError(f"{db} has no experiments", f"build it from run folders: zlang ingest DIR --db {db}")
    name = next(iter(candidates)) if wanted is None else wanted
    if name not in candidates:
        raise RunError(f"there is no experiment `{name}` in {db}", did_you_mean(name, candidates))
    return name, candidates[name]


def usual_metrics(db: Path, table: str, names: Sequence[str]) -> list[str]:
    """The default metrics of a question that names none: those of the summary, else the time."""
    result = [metric for metric in _metrics(db, table, names) if metric != ELAPSED.name]
    return varying(db, table, result) or ([] if varying(db, table, [ELAPSED.name]) else result) or [ELAPSED.name]


def usual_of_load(metrics: Iterable[Metric]) -> list[str]:
    """The metrics of a load in the order in which a question that names none takes them."""
    of_load = [metric for metric in metrics if metric.means not in {*_BESIDE, _OBSERVATION}]
    return [
        m.name for m in sorted(of_load, key=lambda m: (m.means not in _USUAL, m.name == ELAPSED.name, not m.better))
    ]


def varying(db: Path, table: str, names: Sequence[str]) -> list[str]:
    """The metrics that are not the same in every valid trial."""
    return _metrics_where(db, table, names, "max({0}) > min({0})")


def _metrics_where(db: Path, table: str, names: Sequence[str], test: str) -> list[str]:
    """The metrics for which an aggregate over the valid trials is true."""
    tests = ", ".join(f"coalesce({test.format(quoted(m))}, false)" for m in names)
    seen = run_query(db, f"SELECT {tests} FROM {table} WHERE valid").rows[0] if names else ()
    return [m for m, yes in zip(names, seen, strict=True) if yes]


def _metrics(db: Path, table: str, names: Sequence[str]) -> list[str]:
    """The two usual metrics if they were measured, else the first metric that every trial has, if any, and the time.

    Metrics of the load come first, then metrics that vary, then metrics for which a better direction is declared.
    """
    shown = _metrics_where(db, table, names, "bool_or(abs({0}) > 0)")
    varied = {*varying(db, table, shown)}
    rows = run_query(db, 'SELECT name, better, means FROM "columns"').rows
    means = {str(name): means for name, _, means in rows}
    is_better = {str(name): bool(better) for name, better, _ in rows}
    usual = [m for meaning in _USUAL for m in shown if means.get(m) == meaning]
    own = [m for m in shown if m != ELAPSED.name and means.get(m) not in _BESIDE]
    own.sort(key=lambda m: (means.get(m) == _OBSERVATION, m not in varied, not is_better.get(m)))
    of_every_trial = _metrics_where(db, table, own[:1], "count({0}) = count(*)")
    return sorted(usual or [*of_every_trial, *(m for m in shown if m == ELAPSED.name)], key=lambda m: m not in varied)


def _rows(db: Path, table: str, factors: Sequence[str], metrics: Sequence[str]) -> tuple[tuple[Cell, ...], ...]:
    lists = [f"list({quoted(m)} ORDER BY number) FILTER (valid AND {quoted(m)} IS NOT NULL)" for m in metrics]
    wanted = ", ".join([*map(quoted, factors), "count(*) FILTER (valid)", *lists])
    places = [str(n) for n in range(1, len(factors) + 1)]
    grouping = f"GROUP BY {', '.join(places)} ORDER BY {', '.join(places)}" if places else ""
    answer = run_query(db, f"SELECT {wanted} FROM {table} {grouping}")
    end = len(factors) + 1
    columns = [estimates([_values(row[n]) for row in answer.rows]) for n in range(end, end + len(metrics))]
    return tuple((*cells(row[:end]), *(column[n] for column in columns)) for n, row in enumerate(answer.rows))


def cells(values: Sequence[object]) -> list[Cell]:
    """The cells of a row that are not estimates."""
    return [v if v is None or isinstance(v, (str, int, float)) else str(v) for v in values]


def _values(result: object) -> list[float]:
    return [float(v) for v in result] if isinstance(result, list) else []


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
