"""Results measured by another tool or a person: a CSV file is matched with a plan to give each trial its metrics.

Rules: a column is a factor, `replicate` or a metric that the workload names. Nothing is guessed, so a column or a row
that the plan does not have is refused. A trial without a row, or a metric with an empty cell, was not measured. A cell
is a number in the unit of its column, or a value with its own unit.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from zlang import metrics, units
from zlang.check.metric_declarations import in_stored_unit, name_of, parse
from zlang.check.types import DIMENSION_OF, SCALARS, can_measure, parts_of
from zlang.errors import RunError
from zlang.files import Place
from zlang.metrics import Metric
from zlang.plan.plan import Factor, Header, Reader, Scalar, Step, Trial
from zlang.readers.reading import Reading, Window, text_of
from zlang.source import BYTE_ORDER_MARK
from zlang.suggest import did_you_mean

NAME = "outside"
_REPLICATE = "replicate"
_LISTED = 12
"""As many levels are listed in a hint."""
_WORDS = {"on": True, "yes": True, "true": True, "off": False, "no": False, "false": False}


def read(directory: Place, reader: Reader, _step: Step, _window: Window | None = None) -> Reading:
    """Read the metrics that were imported for a trial."""
    text = text_of(directory / reader.artefact)
    if text is None:
        return Reading(problems=("its results are not imported: zlang ingest DIR --csv FILE --run RUN",))
    data = json.loads(text)
    wanted = imported_metric_names(reader)
    return Reading({name: float(data[name]) for name in wanted if name in data})


def imported_metric_names(reader: Reader) -> list[str]:
    """The names of the metrics that must be imported."""
    wanted = reader.args.get("metrics")
    return [name_of(str(item)) for item in wanted] if isinstance(wanted, list | tuple) else []


def _declared(reader: Reader, header: Header) -> dict[str, tuple[Metric, str]]:
    """The metrics that must be imported, and the unit of their numbers without a unit."""
    declared_metrics = {metric.name: metric for metric in metrics.in_trials(header.metrics)}
    wanted = reader.args.get("metrics")
    result = [parse(str(item), declared_metrics) for item in wanted] if isinstance(wanted, list | tuple) else []
    return {metric.name: (metric, unit) for metric, unit in result}


def reader_of(trial: Trial) -> Reader | None:
    """The reader of a trial that is measured without zlang; None for other trials."""
    return next((step.reader for step in trial.steps if step.reader and step.reader.name == NAME), None)


def match(text: str, name: str, header: Header, trials: Sequence[Trial]) -> dict[str, dict[str, float]]:
    """Match rows with trials: the metrics of each trial that has a row, by the place of the trial. Raises RunError."""
    table = _Table(text, name)
    wanted = list(
        dict.fromkeys(item for trial in trials if (r := reader_of(trial)) for item in imported_metric_names(r))
    )
    factors = _known_columns(table, header, wanted)
    _require_columns(table, header, factors, wanted, trials)
    free = _by_point(factors, trials)
    result: dict[str, dict[str, float]] = {}
    for row in table.rows:
        trial = _trial_of(row, factors, free)
        reader = reader_of(trial)
        declared = _declared(reader, header) if reader else {}
        values = {name: row.metric(*item) for name, item in declared.items() if row.cells[name].strip()}
        if values:
            result[trial.place] = values
    return result


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the file: cells by column."""

    place: str
    cells: Mapping[str, str]

    def metric(self, metric: Metric, unit: str) -> float:
        """The value in the unit of the results; `unit` is the unit of a number without one."""
        cell, place = self.cells[metric.name], f"{self.place}, column `{metric.name}`"
        dimension = DIMENSION_OF[metric.type] if metric.unit else None
        number = _number(cell, place, metric.unit, dimension, parts_of(metric.unit))
        value = in_stored_unit(cell.strip(), unit, metric) if _is_number(cell) else number
        if not can_measure(metric.type, value):
            raise RunError(f"{place}: {SCALARS[metric.type].phrase} cannot be `{cell.strip()}`")
        return value

    def level(self, column: str, factor: Factor) -> Scalar:
        """The level of a factor."""
        cell = self.cells[column].strip()
        if cell in {"", "-"}:
            return None
        if factor.type == "bool" and cell.lower() in _WORDS:
            return _WORDS[cell.lower()]
        if factor.type in DIMENSION_OF:
            dimension, parts = DIMENSION_OF[factor.type], SCALARS[factor.type].parts
            return _number(cell, f"{self.place}, column `{column}`", factor.type, dimension, parts)
        return cell


class _Table:
    """The file: its columns and rows."""

    def __init__(self, text: str, name: str) -> None:
        lines = csv.reader(io.StringIO(text.removeprefix(BYTE_ORDER_MARK)), strict=True)
        try:
            filled = [(lines.line_num, row) for row in lines if any(cell.strip() for cell in row)]
        except csv.Error as error:
            raise RunError(f"{name}, line {lines.line_num}: {error}") from None
        if not filled:
            raise RunError(f"{name} is empty", "its first line names the columns: factors and metrics")
        self.name, self.columns = name, [cell.strip() for cell in filled[0][1]]
        twice = [column for n, column in enumerate(self.columns) if column in self.columns[:n]]
        if twice:
            raise RunError(f"{name} has the column `{twice[0]}` twice")
        self.rows: list[_Row] = []
        for number, row in filled[1:]:
            if len(row) != len(self.columns):
                message = f"{name}, line {number}, has {len(row)} cells, and there are {len(self.columns)} columns"
                raise RunError(message, 'a cell with a comma in it is written in quotes: "97,845"')
            self.rows.append(_Row(f"{name}, line {number}", dict(zip(self.columns, row, strict=True))))


def _known_columns(table: _Table, header: Header, wanted: Sequence[str]) -> dict[str, Factor]:
    """The columns that are factors; raises RunError if any other column is unknown."""
    by_name = {key: factor for factor in header.factors for key in (metrics.column(factor.name), factor.name)}
    for column in table.columns:
        if column not in by_name and column not in wanted and column != _REPLICATE:
            every = [*(factor.name for factor in header.factors), _REPLICATE, *wanted]
            hint = did_you_mean(column, every) or "there can be " + ", ".join(every)
            raise RunError(
                f"{table.name} has a column `{column}`, which is neither a factor nor a metric of the plan", hint
            )
    return {column: by_name[column] for column in table.columns if column in by_name}


def _require_columns(
    table: _Table, header: Header, factors: Mapping[str, Factor], wanted: Sequence[str], trials: Sequence[Trial]
) -> None:
    given = {factor.name for factor in factors.values()}
    varying = [f.name for f in header.factors if len({trial.factors.get(f.name) for trial in trials}) > 1]
    missing = [name for name in varying if name not in given] + [name for name in wanted if name not in table.columns]
    if missing:
        message = f"{table.name} has no column `{missing[0]}`"
        raise RunError(message, "its columns are " + ", ".join(table.columns))


_Point = tuple[Scalar, ...]


def _by_point(factors: Mapping[str, Factor], trials: Iterable[Trial]) -> dict[_Point, list[Trial]]:
    """The trials of each point that have no row yet, by replicate."""
    result: dict[_Point, list[Trial]] = {}
    for trial in sorted(trials, key=lambda item: item.replicate):
        key = tuple(trial.factors.get(factor.name) for factor in factors.values())
        result.setdefault(key, []).append(trial)
    return result


def _nearest(factors: Mapping[str, Factor], key: _Point, free: Iterable[_Point]) -> str:
    """A hint for a row that matches no trial: the levels of the first factor whose value no trial has."""
    for n, (column, level) in enumerate(zip(factors, key, strict=True)):
        words = list(dict.fromkeys(word for point in free if isinstance(word := point[n], str)))
        if isinstance(level, str) and level not in words and len(words) <= _LISTED:
            return f"the levels of `{column}` are {', '.join(words)}"
    return "`zlang plan FILE --trials` lists the trials"


def _trial_of(row: _Row, factors: Mapping[str, Factor], free: Mapping[_Point, list[Trial]]) -> Trial:
    """Take the trial of a row out of those without a row."""
    key = tuple(row.level(column, factor) for column, factor in factors.items())
    text = ", ".join(f"{column} = {row.cells[column]}" for column in factors)
    if key not in free:
        raise RunError(f"{row.place}: the plan has no trial with {text}", _nearest(factors, key, free))
    waiting = free[key]
    if _REPLICATE in row.cells:
        wanted = row.cells[_REPLICATE].strip()
        waiting = [trial for trial in waiting if str(trial.replicate) == wanted]
        text = f"{text}, replicate {wanted}".removeprefix(", ")
    if not waiting:
        raise RunError(f"{row.place}: there are more rows than trials with {text or 'this point'}")
    trial = waiting[0]
    free[key].remove(trial)
    return trial


def _number(cell: str, place: str, unit: str, dimension: units.Dimension | None, times: int) -> float:
    if _is_number(cell):
        number = float(cell)
        if not math.isfinite(number):
            raise RunError(f"{place}: `{cell.strip()}` is not a number that can be measured")
        return number
    try:
        quantity = units.parse(cell.strip())
    except units.UnitError as error:
        raise RunError(f"{place}: `{cell.strip()}`: {error}", str(error.hint)) from None
    if dimension is None or quantity.dimension != dimension:
        expected = f"is in {unit}" if unit else "has no unit"
        hint = "" if unit else 'give the metric its type and unit, such as `metrics = ["latency: duration in ns"]`'
        raise RunError(f"{place}: `{cell.strip()}` is {units.name_of(quantity.dimension)}, and this {expected}", hint)
    return float(quantity.amount * Fraction(times))


def _is_number(cell: str) -> bool:
    """Whether a cell is a number without a unit."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
