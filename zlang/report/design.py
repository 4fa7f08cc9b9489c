"""The trials of a run as a designed experiment: logarithms of one metric with levels, blocks and run order.

In: a database and a metric. Out: `Design`. Rules: it holds only valid trials with a value, and keeps values without a
logarithm apart; a column is a factor only if it has two levels or more; a trial knows its setups, so that levels that
need a setup are compared over setups, not over trials.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path

from zlang.errors import RunError
from zlang.frozen import frozen
from zlang.report.clauses import primary
from zlang.report.formulas import Trials
from zlang.report.summary import Cell, TableColumn, cells
from zlang.store.query import run_query
from zlang.store.store import quoted
from zlang.suggest import did_you_mean_part

SETUPS = "coalesce(makings, CASE WHEN measured_in NOT IN (SELECT run FROM main.runs) THEN [whole_plot] END)"
"""In SQL, the numbers of what a trial stood on; of a run that the database does not have, its whole plot."""
_TRIAL_SETUPS = (
    "SELECT run AS of_run, trial AS of_trial, replicate AS of_replicate, list(making ORDER BY depth) AS makings "
    "FROM main.trial_setups GROUP BY ALL"
)

_OF_SETUPS = "intervals do not include differences between setups: trials of a point share a setup"
_BACK_TO_BACK = (
    "intervals are too narrow if successive trials are correlated: trials of a point followed each other directly"
)
_MOSTLY = 0.75
"""From this share on, trials of a point that follow each other directly are the rule."""


@frozen
class Row:
    """One trial: `log` is the natural logarithm of its value (-inf if it is not positive), `levels` its factor levels.

    `setups` are the numbers of the setups that it ran on, from the bottom upwards.
    """

    trial: str
    run: str
    replicate: int
    position: int
    block: int
    host: str
    levels: tuple[Cell, ...]
    log: float
    setups: tuple[int, ...] = ()


@frozen
class Design:
    """The trials of one run or two with one metric; those whose value has no logarithm are `not_positive`.

    `metric` is its name in clauses. `levels` has those of each factor: numbers ascending, words in the order of the
    program. `others` are the other candidate metrics if none was named. `better` is `higher`, `lower` or, if not
    declared, empty.
    """

    metric: str
    unit: str
    factors: tuple[TableColumn, ...]
    levels: tuple[tuple[Cell, ...], ...]
    rows: tuple[Row, ...]
    others: tuple[str, ...] = ()
    not_positive: tuple[Row, ...] = ()
    better: str = ""

    @property
    def counting(self) -> tuple[Row, ...]:
        """All valid trials, including those whose value is not positive."""
        return (*self.rows, *self.not_positive)


def read(trials: Trials, metric: str | None = None) -> Design:
    """Read the design of a run. Raises RunError if there is no such metric, or no value of it."""
    measured = {*trials.measured, "elapsed"}
    units = {column: shown for column, shown in trials.metrics.items() if column in measured}
    name, *others = [metric] if metric else primary(trials)
    if name not in units:
        hint = did_you_mean_part(name, sorted(units)) or "`zlang sql @columns` lists the metrics"
        raise RunError(f"there is no metric `{name}`", hint)
    column, unit = units[name]
    catalogue = run_query(
        trials.db,
        'SELECT name, type, unit FROM "columns" WHERE experiment = ? AND role = ? ORDER BY position',
        [trials.experiment, "factor"],
    ).rows
    factors = [TableColumn(str(n), str(type_), str(unit)) for n, type_, unit in catalogue]
    chosen = "".join(f", {quoted(factor.name)}" for factor in factors)
    value = f"{quoted(column)}::DOUBLE"
    own = f"trial, coalesce(measured_in, run), replicate, position, block, coalesce(host, ''), {SETUPS}"
    counted = f"WHERE valid AND isfinite({value})"
    answer = run_query(trials.db, f"SELECT {own}, {value}{chosen} FROM {source(trials)} {counted} ORDER BY 2, position")
    ordered = _levels(trials.db, [factor.name for factor in factors], f"FROM {trials.rows} {counted}")
    varied = [i for i, levels in enumerate(ordered) if len(levels) > 1]
    kept = [row_of(shown, varied) for shown in answer.rows]
    levels = tuple(ordered[i] for i in varied)
    return Design(
        metric=_in_clauses(trials, column),
        unit=unit,
        factors=tuple(factors[i] for i in varied),
        levels=levels,
        rows=tuple(row for row in kept if row.log > -math.inf),
        others=tuple(_in_clauses(trials, units[each][0]) if each in units else each for each in others),
        not_positive=tuple(row for row in kept if row.log == -math.inf),
        better=_better(trials, column),
    )


def _in_clauses(trials: Trials, column: str) -> str:
    """The name of a metric in clauses: that of a stream's metric has a dot, which its column has not."""
    return next((name for name, (own, _) in trials.metrics.items() if own == column and "." in name), column)


def _better(trials: Trials, column: str) -> str:
    """The direction in which a metric is better, as declared; empty if it is not."""
    query = 'SELECT any_value(better) FROM "columns" WHERE experiment = ? AND role = ? AND name = ?'
    return str(run_query(trials.db, query, [trials.experiment, "metric", column]).rows[0][0] or "")


def without_factors(design: Design, hint: str) -> RunError:
    """The error if there is nothing to compare: no trial counts, or all trials with the metric have the same levels."""
    if not design.counting:
        return RunError(f"no trial that counts has a value of `{design.metric}`", "`zlang status` says why")
    if design.others:
        hint += f"; to use another metric: --metric {design.others[0]}"
    return RunError(f"no factor has two levels in the trials with `{design.metric}`", hint)


def source(trials: Trials) -> str:
    """The SQL source of trials; a reused trial belongs to the blocks and setups of the run that measured it."""
    return (
        f"{trials.rows} t LEFT JOIN main.reused USING (run, trial, replicate) LEFT JOIN ({_TRIAL_SETUPS}) s "
        "ON of_run = coalesce(measured_in, run) AND of_trial = trial AND of_replicate = replicate"
    )


def caveats_of_intervals(trials: Trials) -> list[str]:
    """The sentences about what the intervals of tables do not include: differences of setups, correlation."""
    own = f"trial, coalesce(measured_in, run) AS origin, measured_in IS NULL AS is_own, position, {SETUPS}[-1] AS setup"
    steps = (
        "SELECT setup = lag(setup) OVER own AS is_shared, is_own AND position = 1 + lag(position) OVER own AS follows "
        f"FROM (SELECT {own} FROM {source(trials)} WHERE valid) "
        "WINDOW own AS (PARTITION BY trial, origin ORDER BY position)"
    )
    chances = f"SELECT coalesce(bool_or(is_shared), false), coalesce(avg(follows::INTEGER), 0) FROM ({steps})"
    is_shared, share = run_query(trials.db, chances).rows[0]
    caveats = {_OF_SETUPS: is_shared, _BACK_TO_BACK: float(str(share)) >= _MOSTLY}
    return [caveat for caveat, applies in caveats.items() if applies]


def _levels(db: Path, factors: Sequence[str], rows: str) -> list[tuple[Cell, ...]]:
    """The levels that occur of each factor, in order."""
    columns = [quoted(name) for name in factors]
    lists = ", ".join(f"list(DISTINCT {column} ORDER BY {column}) FILTER ({column} IS NOT NULL)" for column in columns)
    result = run_query(db, f"SELECT {lists} {rows}").rows[0] if columns else ()
    return [tuple(cells(levels)) if isinstance(levels, list) else () for levels in result]


def row_of(result: Sequence[object], varied: Sequence[int] | None = None) -> Row:
    """Convert a selected row into a trial: its identity, its setups, its value, its levels of the `varied` factors."""
    trial, run, replicate, position, block, host, setups, value, *levels = result
    number = value if isinstance(value, float) else float(str(value))
    chosen = levels if varied is None else [levels[i] for i in varied]
    return Row(
        trial=str(trial),
        run=str(run),
        replicate=_count(replicate),
        position=_count(position),
        block=_count(block),
        host=str(host),
        levels=tuple(cells(chosen)),
        log=math.log(number) if number > 0 else -math.inf,
        setups=tuple(map(int, setups)) if isinstance(setups, list) else (),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def groups(rows: Sequence[Row]) -> list[tuple[Hashable, ...]]:
    """For each trial, its block and its setup at each depth; None where it has none.

    Blocks in which a point occurs twice are ignored: in a fully random order all trials are in one block.
    """
    points = [(row.run, row.block, row.trial) for row in rows]
    repeated = {run for (run, _, _), count in Counter(points).items() if count > 1}
    depth = max((len(row.setups) for row in rows), default=0)
    return [
        (
            None if row.run in repeated else (row.run, row.block),
            *((row.run, making) for making in row.setups),
            *([None] * (depth - len(row.setups))),
        )
        for row in rows
    ]
