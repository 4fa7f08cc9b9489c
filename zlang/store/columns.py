"""The columns of an experiment's wide table: factors, what every trial has, and metrics.

In: factors and metrics in the order in which runs bring them. Out: one list of columns with distinct names. Rules:
names are distinct regardless of case, as DuckDB compares them. Columns that every trial has keep their names first,
then metrics, then factors, which fall back to their full path. A type is only ever widened, so every value fits. Words
whose levels are all declared sort in that order (an ENUM of DuckDB, which compares with texts as a text does).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from zlang import metrics
from zlang.check.types import SCALARS
from zlang.metrics import Metric
from zlang.plan.plan import Factor, Scalar
from zlang.store.store import literal

_LARGEST = 2**63


class Role(StrEnum):
    """The purpose of a column."""

    FACTOR = "factor"
    TRIAL = "trial"
    METRIC = "metric"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a wide table; `code` is its key in the staging file."""

    name: str
    role: Role
    code: str
    sql: str
    type: str
    unit: str
    description: str
    path: str
    better: str = ""
    means: str = ""
    needs: str = ""
    distribution: str = ""


# The columns that every trial has: name, SQL type, unit and meaning.
TRIAL_COLUMNS: tuple[tuple[str, str, str, str], ...] = (
    ("run", "VARCHAR", "", "name of the run"),
    ("trial", "VARCHAR", "", "identity of the point: a hash of everything that the trial carries out"),
    ("replicate", "BIGINT", "", "number of the replicate of its point"),
    ("number", "BIGINT", "", "number of the trial in the plan"),
    ("position", "BIGINT", "", "position in the order in which trials were carried out"),
    ("host", "VARCHAR", "", "machine that carried out the trial, if the program names one"),
    ("block", "BIGINT", "", "number of its block, a round that measures each point once"),
    ("whole_plot", "BIGINT", "", "number of its whole plot, trials with the same levels of all hard-to-change factors"),
    ("cache", "VARCHAR", "", "cache protocol of the trial"),
    ("cache_state", "VARCHAR", "", "state of the caches that was verified"),
    ("cache_evidence", "VARCHAR", "", "evidence for the state of the caches"),
    ("outside", "BOOLEAN", "", "whether its results were measured without zlang, and imported"),
    ("valid", "BOOLEAN", "", "whether the trial counts"),
    ("why_not", "VARCHAR", "", "why the trial does not count"),
    ("started", "TIMESTAMP", "UTC", "when the trial began"),
    ("elapsed", "DOUBLE", "s", "how long the measurement took"),
)

_WORD = "VARCHAR"


@dataclass(slots=True)
class _Open:
    """A column whose type can still change while runs are read."""

    code: str
    name: str
    path: str
    type: str
    sql: str
    levels: tuple[str, ...] | None

    @property
    def final(self) -> str:
        """The SQL type once all runs are read."""
        return f"ENUM({', '.join(map(literal, self.levels))})" if self.sql == _WORD and self.levels else self.sql


class Columns:
    """Collects the columns of one experiment and assigns the codes under which values are staged."""

    def __init__(self) -> None:
        self._factors: dict[str, _Open] = {}
        self._metrics: dict[str, tuple[str, Metric]] = {}

    def factor(self, run_factor: RunFactor) -> _Open:
        """Add a factor; a later run's name for it wins, and its type is widened to hold the values of both runs."""
        factor_column = self._factors.get(run_factor.path)
        if factor_column is None:
            factor_column = _Open(
                code=f"f{len(self._factors)}",
                name=run_factor.name,
                path=run_factor.path,
                type=run_factor.type,
                sql=run_factor.sql,
                levels=run_factor.levels,
            )
            self._factors[run_factor.path] = factor_column
            return factor_column
        factor_column.name = run_factor.name
        factor_column.levels = merged(factor_column.levels, run_factor.levels)
        factor_column.sql = widened(factor_column.sql, run_factor.sql)
        if factor_column.type != run_factor.type:
            factor_column.type, factor_column.levels = "mixed", None
        return factor_column

    def metric(self, metric: Metric) -> str:
        """The code of a metric; a run that declares the metric defines it."""
        code, known_metric = self._metrics.get(metric.name, (f"m{len(self._metrics)}", metric))
        self._metrics[metric.name] = code, metric if metric.doc or metric.unit else known_metric
        return code

    def of_run(self, factors: Iterable[Factor], declared: Iterable[Metric]) -> OfRun:
        """Make the staging of one run's factors and metrics."""
        return OfRun(self, factors, declared)

    def merge(self, run_columns: RunColumns) -> None:
        """Add the columns of a run that is not read again."""
        for factor in run_columns.factors:
            self.factor(factor)
        for metric in run_columns.metrics:
            self.metric(metric)

    def listed(self) -> list[Column]:
        """All columns, factors first, with distinct names."""
        taken = {name for name, *_ in TRIAL_COLUMNS}
        measured = [self._metric(taken, code, metric) for code, metric in self._metrics.values()]
        factors = [self._factor(taken, factor) for factor in self._factors.values()]
        fixed = [
            Column(name=n, role=Role.TRIAL, code=n, sql=sql, type="", unit=unit, description=text, path="")
            for n, sql, unit, text in TRIAL_COLUMNS
        ]
        return [*factors, *fixed, *measured]

    def _metric(self, taken: set[str], code: str, metric: Metric) -> Column:
        plain = metrics.column(metric.name)
        name = _unused_name(taken, plain, f"measured_{plain}")
        return Column(
            name=name,
            role=Role.METRIC,
            code=code,
            sql="DOUBLE",
            type=metric.type,
            unit=metric.unit,
            description=metric.doc,
            path=metric.name,
            better=metric.better,
            means=metric.means,
            needs=metric.needs,
            distribution=metric.distribution,
        )

    def _factor(self, taken: set[str], column: _Open) -> Column:
        path, plain = metrics.column(column.path), metrics.column(column.name)
        name = _unused_name(taken, plain, path, f"factor_{path}")
        unit = SCALARS[column.type].unit if column.type in SCALARS else ""
        meaning = next((f" ({text})" for trial_column, *_, text in TRIAL_COLUMNS if trial_column == plain), "")
        other_name = f"the factor `{column.name}`; the column `{plain}` is another one{meaning}"
        return Column(
            name=name,
            role=Role.FACTOR,
            code=column.code,
            sql=column.final,
            type=column.type,
            unit=unit,
            description="" if name == plain else other_name,
            path=column.path,
        )


@dataclass(frozen=True, slots=True)
class RunFactor:
    """A factor in one run: `sql` is the narrowest type of its values.

    `levels` are words in the order of the program; None if there are levels that are not words.
    """

    path: str
    name: str
    type: str
    sql: str
    levels: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class RunColumns:
    """The factors and metrics of one run."""

    factors: tuple[RunFactor, ...]
    metrics: tuple[Metric, ...]


class OfRun:
    """Stages the levels and metrics of one run, and collects the columns that they need."""

    def __init__(self, columns: Columns, factors: Iterable[Factor], declared: Iterable[Metric]) -> None:
        self._columns = columns
        self._by_key: dict[str, _Open] = {}
        self._factors: dict[str, RunFactor] = {}
        self._declared = {metric.name: metric for metric in metrics.in_trials(declared)}
        self._metrics: dict[str, tuple[str, Metric]] = {}
        self._codes: dict[tuple[str, ...], list[str]] = {}
        for factor in factors:
            self._by_key[factor.path] = self._by_key[factor.name] = self._factor(factor)

    def _factor(self, factor: Factor) -> _Open:
        sql = SCALARS[factor.type].sql if factor.type in SCALARS else _WORD
        run_factor = RunFactor(factor.path, factor.name, factor.type, sql, words(factor.levels))
        self._factors[factor.path] = run_factor
        return self._columns.factor(run_factor)

    def metric(self, name: str) -> str:
        """The code of a metric; an undeclared metric is a number without a unit."""
        if name not in self._metrics:
            metric = self._declared.get(name, Metric(name, "number"))
            self._metrics[name] = self._columns.metric(metric), metric
        return self._metrics[name][0]

    def codes(self, names: tuple[str, ...]) -> list[str]:
        """The codes of all metrics of a trial; most trials have the same metrics."""
        if names not in self._codes:
            self._codes = {names: [*map(self.metric, names)]}
        return self._codes[names]

    def has_meaning(self, name: str) -> bool:
        """Whether a metric is declared with a meaning, by which rules about results recognise it."""
        return name in self._declared and bool(self._declared[name].means)

    def staged(self, levels: Mapping[str, Scalar]) -> Iterator[tuple[str, Scalar]]:
        """The code and value of each level; a column is widened if the value needs it."""
        for key, value in levels.items():
            cached = self._by_key.get(key)
            if cached is None:
                cached = self._by_key[key] = self._factor(Factor(key, key, "", (), 0))
            if value is None:
                continue
            needed = _sql_of(value)
            merged = self._factors[cached.path]
            if needed != merged.sql:
                self._factors[cached.path] = merged = replace(merged, sql=widened(merged.sql, needed))
            if needed != cached.sql:
                cached.sql = widened(cached.sql, needed)
            if merged.levels is not None and value not in merged.levels:
                self._factors[cached.path] = replace(merged, levels=None)
                cached.levels = None
            # The JSON writer does not take integers beyond 64 bits.
            yield cached.code, float(value) if needed == "DOUBLE" and isinstance(value, int) else value

    @property
    def collected(self) -> RunColumns:
        """The columns of the run so far."""
        return RunColumns(tuple(self._factors.values()), tuple(metric for _, metric in self._metrics.values()))


def words(levels: Sequence[Scalar]) -> tuple[str, ...] | None:
    """The levels, if all are words that can form an SQL ENUM type; else None."""
    names = [level for level in levels if level is not None]
    plain = dict.fromkeys(level for level in names if isinstance(level, str) and "\0" not in level)
    return tuple(plain) if names and all(level in plain for level in names) else None


def merged(before: tuple[str, ...] | None, now: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The levels of two runs in the order of the later; a level that only the earlier has stays after its predecessor.

    None if a run has values that are not words.
    """
    if before is None or now is None:
        return None
    order = list(now)
    place = 0
    for level in before:
        if level in now:
            place = order.index(level) + 1
        else:
            order.insert(place, level)
            place += 1
    return tuple(order)


def widened(item: str, other: str) -> str:
    """The narrowest of the four types of a factor that holds the values of both."""
    if item == other:
        return item
    return "DOUBLE" if {item, other} == {"BIGINT", "DOUBLE"} else _WORD


def _sql_of(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, int):
        return "BIGINT" if -_LARGEST <= value < _LARGEST else "DOUBLE"
    return "DOUBLE" if isinstance(value, float) else _WORD


def _unused_name(taken: set[str], *candidates: str) -> str:
    """Take the first candidate that no other column has, or else the last one with a number."""
    last = candidates[-1]
    numbered = (f"{last}_{n}" for n in range(2, len(taken) + 3))
    name = next(c for c in (*candidates, *numbered) if c.lower() not in taken)
    taken.add(name.lower())
    return name
