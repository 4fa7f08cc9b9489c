"""A results database in, one table of an experiment out: every combination of its factors with its figures.

Rules: a figure comes with its n and, from two values on, with an interval; combinations of which no measurement counts
are there with n = 0; what does not count is counted, with the reasons.
The interval is Student's t on the logarithms (`zlang/intervals.py`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zlang import intervals
from zlang.errors import RunError
from zlang.report import wording
from zlang.store.query import run_query
from zlang.store.store import quoted
from zlang.suggest import did_you_mean

_PREFERRED = ("read_iops", "write_iops")
_OF_THE_PROCESS = ("elapsed", "user_s", "sys_s")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the summary: `type` is a factor's type, "count" for n, or "estimate" for a metric."""

    name: str
    type: str
    unit: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """Median of n values, and where the middle lies with 95 % confidence, if n and the values allow to say so."""

    n: int
    median: float | None
    low: float | None
    high: float | None


Cell = str | int | float | bool | Estimate | None


@dataclass(frozen=True, slots=True)
class Summary:
    """A table by factor, factors first, then n and the metrics; and what did not count, commonest reason first.

    `note` is what to mind about its rows.
    """

    experiment: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    trials: int
    valid: int
    reasons: tuple[tuple[str, int], ...]
    note: str = ""

    @property
    def invalid(self) -> int:
        """How many trials do not count."""
        return self.trials - self.valid


def summarise(db: Path, experiment: str | None = None, rows: str | None = None) -> Summary:
    """The summary of all runs of an experiment, or of the plan that ran last; or of these rows of the experiment."""
    name, schema = _experiment(db, experiment)
    catalogue = run_query(
        db, 'SELECT name, role, type, unit FROM "columns" WHERE experiment = ? ORDER BY position', [name]
    ).rows
    factors = [Column(str(n), str(type_), str(unit)) for n, role, type_, unit in catalogue if role == "factor"]
    known = {str(n): str(unit) for n, role, _, unit in catalogue if role == "metric"}
    known["elapsed"] = "s"
    table = rows or ("main.all_trials" if experiment is None else f"{quoted(schema)}.all_trials")
    if factors:
        counts = ", ".join(f"count({quoted(factor.name)})" for factor in factors)
        total, *seen = run_query(db, f"SELECT count(*), {counts} FROM {table}").rows[0]
        factors = [factor for factor, count in zip(factors, seen, strict=True) if count or not total]
    metrics = _metrics(db, table, list(known))
    made = _rows(db, table, [f.name for f in factors], metrics)
    total, valid, why = reasons(db, table)
    columns = [*factors, Column("n", "count", ""), *(Column(m, "estimate", known[m]) for m in metrics)]
    return Summary(name, tuple(columns), made, total, valid, why)


def reasons(db: Path, table: str) -> tuple[int, int, tuple[tuple[str, int], ...]]:
    """How many trials there are, how many of them count, and why the others do not, commonest reason first."""
    total, valid = run_query(db, f"SELECT count(*), count(*) FILTER (valid) FROM {table}").rows[0]
    why = run_query(
        db, f"SELECT why_not, count(*) FROM {table} WHERE NOT valid GROUP BY ALL ORDER BY count(*) DESC, why_not"
    ).rows
    return _count(total), _count(valid), tuple((str(reason), _count(n)) for reason, n in why)


def estimate(values: Sequence[float]) -> Estimate:
    """The median of some values and its 95 % log-t interval."""
    n = len(values)
    if n == 0:
        return Estimate(0, None, None, None)
    median = statistics.median(values)
    found = intervals.of_logs(values)
    if found is None:
        return Estimate(n, median, None, None)
    low, high = (intervals.exp(found[0] + side * found[1]) for side in (-1, 1))
    return Estimate(n, median, low, high) if high < math.inf else Estimate(n, median, None, None)


def heading(found: Summary, n: int) -> str:
    """What a column is called above estimates."""
    values = [row[n] for row in found.rows]
    has_interval = any(isinstance(value, Estimate) and value.low is not None for value in values)
    return found.columns[n].name + (" (median, 95 %)" if has_interval else "")


def shown(value: Cell, column: Column) -> str:
    """A cell as people write it: a median has its interval behind it."""
    if not isinstance(value, Estimate):
        return wording.level(value, column.type)
    if value.median is None:
        return "-"
    said = wording.measured(value.median, column.unit)
    if value.low is None or value.high is None:
        return said
    return f"{said} [{wording.measured(value.low, column.unit)} … {wording.measured(value.high, column.unit)}]"


def flat(found: Summary) -> tuple[list[str], list[list[object]]]:
    """The same as plain names and rows: an estimate is three numbers, in the unit of its column."""
    names = [
        name
        for column in found.columns
        for name in (
            (column.name, f"{column.name} low", f"{column.name} high") if column.type == "estimate" else (column.name,)
        )
    ]
    return names, [[part for cell in row for part in _parts(cell)] for row in found.rows]


def _parts(cell: Cell) -> tuple[object, ...]:
    return (cell.median, cell.low, cell.high) if isinstance(cell, Estimate) else (cell,)


def _experiment(db: Path, wanted: str | None) -> tuple[str, str]:
    """The experiment's name and its schema."""
    rows = run_query(
        db,
        'SELECT experiment, any_value("schema") FROM "columns" LEFT JOIN runs USING (experiment) '
        "GROUP BY experiment ORDER BY max(last_session) DESC NULLS LAST, max(run) DESC",
    ).rows
    known = {str(name): str(schema) for name, schema in rows}
    if not known:
        raise RunError(f"{db} holds no experiment", f"zlang ingest DIR --db {db}")
    name = next(iter(known)) if wanted is None else wanted
    if name not in known:
        raise RunError(f"there is no experiment `{name}` in {db}", did_you_mean(name, known))
    return name, known[name]


def usual_metrics(db: Path, table: str, known: Sequence[str]) -> list[str]:
    """The metrics of those known that a question may mean that names none: what the summary shows, else the time."""
    return [metric for metric in _metrics(db, table, known) if metric not in _OF_THE_PROCESS] or ["elapsed"]


def _metrics(db: Path, table: str, known: Sequence[str]) -> list[str]:
    """The usual two where something was measured by them, else the first that the workload told, and the time."""
    tests = ", ".join(f"coalesce(bool_or(abs({quoted(m)}) > 0), false)" for m in known)
    seen = run_query(db, f"SELECT {tests} FROM {table} WHERE valid").rows[0]
    told = [m for m, yes in zip(known, seen, strict=True) if yes]
    usual = [m for m in _PREFERRED if m in told]
    own = [m for m in told if m not in _OF_THE_PROCESS]
    return usual or [*own[:1], *(m for m in told if m == "elapsed")]


def _rows(db: Path, table: str, factors: Sequence[str], metrics: Sequence[str]) -> tuple[tuple[Cell, ...], ...]:
    lists = [f"list({quoted(m)} ORDER BY number) FILTER (valid AND {quoted(m)} IS NOT NULL)" for m in metrics]
    wanted = ", ".join([*map(quoted, factors), "count(*) FILTER (valid)", *lists])
    places = [str(n) for n in range(1, len(factors) + 1)]
    grouping = f"GROUP BY {', '.join(places)} ORDER BY {', '.join(places)}" if places else ""
    answer = run_query(db, f"SELECT {wanted} FROM {table} {grouping}")
    end = len(factors) + 1
    return tuple((*cells(row[:end]), *(estimate(_values(v)) for v in row[end:])) for row in answer.rows)


def cells(values: Sequence[object]) -> list[Cell]:
    """What of a row of the database is no estimate."""
    return [v if v is None or isinstance(v, (str, int, float)) else str(v) for v in values]


def _values(found: object) -> list[float]:
    return [float(v) for v in found] if isinstance(found, list) else []


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
