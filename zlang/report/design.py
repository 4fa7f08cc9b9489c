"""The trials of a run as an experiment: logarithms of one metric with their levels, blocks and places in the order.

In: a database and a metric. Out: `Design`. Rules: only trials that count and have a positive value are in it; a factor
is one only where it has two levels; a whole-plot factor has one level in each block, so that its levels are compared
over plots, not over trials.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from zlang.errors import RunError
from zlang.report.formulas import Trials
from zlang.report.summary import Cell, Column, cells, usual_metrics
from zlang.store.query import run_query
from zlang.store.store import quoted
from zlang.suggest import did_you_mean_column


@dataclass(frozen=True, slots=True)
class Row:
    """One trial: `log` is the natural logarithm of its value, `levels` are those of the design's factors."""

    trial: str
    run: str
    replicate: int
    position: int
    block: int
    host: str
    levels: tuple[Cell, ...]
    log: float


@dataclass(frozen=True, slots=True)
class Design:
    """The trials of a run, or of two, by one metric. `whole` are the indices of its whole-plot factors.

    `levels` are those of each factor: numbers ascending, words as the program has them. `others` are the metrics that
    might have been meant as well, where none was named.
    """

    metric: str
    unit: str
    factors: tuple[Column, ...]
    levels: tuple[tuple[Cell, ...], ...]
    rows: tuple[Row, ...]
    whole: frozenset[int] = field(default=frozenset())
    others: tuple[str, ...] = ()


def read(trials: Trials, metric: str | None = None) -> Design:
    """The design of a run. Raises RunError where there is no such metric, or nothing was measured by it."""
    measured = {*trials.measured, "elapsed"}
    units = {known: told for known, told in trials.metrics.items() if known in measured}
    known = [column for column, _ in units.values()]
    name, *others = [metric] if metric else usual_metrics(trials.db, trials.rows, known)
    if name not in units:
        hint = did_you_mean_column(name, sorted(units)) or "ask: zlang sql @columns"
        raise RunError(f"there is no metric `{name}`", hint)
    column, unit = units[name]
    catalogue = run_query(
        trials.db,
        'SELECT name, type, unit FROM "columns" WHERE experiment = ? AND role = ? ORDER BY position',
        [trials.experiment, "factor"],
    ).rows
    factors = [Column(str(n), str(type_), str(unit)) for n, type_, unit in catalogue]
    chosen = "".join(f", {quoted(one.name)}" for one in factors)
    value = f"{quoted(column)}::DOUBLE"
    # A trial that was taken over belongs to the blocks of the run that measured it.
    source = f"{trials.rows} LEFT JOIN main.reused USING (run, trial, replicate)"
    counted = f"FROM {source} WHERE valid AND {value} > 0 AND isfinite({value})"
    answer = run_query(
        trials.db,
        f"SELECT trial, coalesce(measured_in, run), replicate, position, block, coalesce(host, ''), {value}{chosen} "
        f"{counted} ORDER BY 2, position",
    )
    rows = [_row(row) for row in answer.rows]
    ordered = _levels(trials.db, [one.name for one in factors], counted)
    varied = [i for i, levels in enumerate(ordered) if len(levels) > 1]
    kept = tuple(_with(row, tuple(row.levels[i] for i in varied)) for row in rows)
    levels = tuple(ordered[i] for i in varied)
    return Design(name, unit, tuple(factors[i] for i in varied), levels, kept, whole_plots(kept), tuple(others))


def _levels(db: Path, factors: Sequence[str], rows: str) -> list[tuple[Cell, ...]]:
    """The levels of each factor that trials have, in order."""
    columns = [quoted(name) for name in factors]
    lists = ", ".join(f"list(DISTINCT {one} ORDER BY {one}) FILTER ({one} IS NOT NULL)" for one in columns)
    found = run_query(db, f"SELECT {lists} {rows}").rows[0] if columns else ()
    return [tuple(cells(levels)) if isinstance(levels, list) else () for levels in found]


def _row(found: tuple[object, ...]) -> Row:
    trial, run, replicate, position, block, host, value, *levels = found
    counts = [int(str(n)) if n is not None else 0 for n in (replicate, position, block)]
    log = math.log(float(str(value)))
    return Row(str(trial), str(run), counts[0], counts[1], counts[2], str(host), tuple(cells(levels)), log)


def _with(row: Row, levels: tuple[Cell, ...]) -> Row:
    return Row(row.trial, row.run, row.replicate, row.position, row.block, row.host, levels, row.log)


def whole_plots(rows: Iterable[Row]) -> frozenset[int]:
    """The factors that have one level in each block."""
    blocks: dict[tuple[str, int], list[set[Cell]]] = {}
    count = 0
    for row in rows:
        count = len(row.levels)
        seen = blocks.setdefault((row.run, row.block), [set() for _ in range(count)])
        for levels, level in zip(seen, row.levels, strict=True):
            levels.add(level)
    return frozenset(i for i in range(count) if all(len(seen[i]) == 1 for seen in blocks.values()))
