"""What an experiment asked of its results, answered from the database: expectations judged, tables filled.

Rules: an answer is of one run. An expectation is judged in each combination of the factors that it does not mention:
it fails where it is not so, and cannot be told where a side has no value, or only one where each point was planned more
than once. All together it fails if it fails anywhere, else it cannot be told if it cannot anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from zlang.check import clauses
from zlang.check.answers import Expectation, Measure, Plot, Table, aggregates
from zlang.check.types import DIMENSION_OF
from zlang.diagnostics import ProgramError
from zlang.errors import RunError
from zlang.metrics import ALWAYS, DISTRIBUTIONS, column
from zlang.report import formulas, series, wording
from zlang.report.drawn import Drawn, Form
from zlang.report.formulas import UNITS, Combination, Side, Trials, evaluate
from zlang.report.summary import Cell, Column, Estimate, Summary, cells, estimate, reasons
from zlang.source import Source
from zlang.store.query import run_query
from zlang.store.store import quoted
from zlang.suggest import did_you_mean
from zlang.syntax import parse

T = TypeVar("T")
_FEW = 2
"""Below this many values of a side nothing is said of it, unless only one was planned."""


class Verdict(StrEnum):
    """What came of an expectation."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict in one combination: its levels, the sides of the comparison, and why it cannot be told."""

    levels: tuple[Cell, ...]
    verdict: Verdict
    sides: tuple[Side, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Judged:
    """An expectation with its verdict, all together and in each combination of the levels of `by`."""

    expectation: Expectation
    verdict: Verdict
    findings: tuple[Finding, ...]


def has_runs(db: Path, names: Sequence[str]) -> bool:
    """Whether any of the names is that of a run."""
    known = {str(name) for (name,) in run_query(db, "SELECT run FROM runs").rows}
    return any(Path(name).name in known for name in names)


def trials_of(db: Path, run: str | None) -> Trials:
    """The trials of a run, or of the one that was worked on last. Raises RunError."""
    runs = run_query(
        db,
        "SELECT run, experiment, title, repeat, plan, part FROM runs ORDER BY last_session DESC NULLS LAST, run DESC",
    ).rows
    known = {str(name): (str(experiment), str(title), repeat) for name, experiment, title, repeat, *_ in runs}
    parts = {str(name): (plan, part) for name, *_, plan, part in runs if part is not None}
    if not known:
        raise RunError(f"{db} holds no run", f"zlang ingest DIR --db {db}")
    name = next(iter(known)) if run is None else Path(run).name
    if name not in known:
        raise RunError(f"there is no run `{name}` in {db}", did_you_mean(name, known) or "`zlang status` lists them")
    experiment, title, repeat = known[name]
    catalogue = run_query(
        db, 'SELECT path, name, unit, role, "schema" FROM "columns" WHERE experiment = ?', [experiment]
    ).rows
    factors = {str(path): (str(n), str(unit)) for path, n, unit, role, _ in catalogue if role == "factor"}
    trial = {str(n): (str(n), str(unit)) for _, n, unit, role, _ in catalogue if role == "trial"}
    known_metrics = [(str(path), str(n), str(unit)) for path, n, unit, role, _ in catalogue if role == "metric"]
    # One that has the name of something that every trial has is called otherwise in the database.
    metrics = {name: (n, unit) for path, n, unit in known_metrics for name in (n, column(path))}
    schema = str(catalogue[0][4]) if catalogue else experiment
    times = repeat if isinstance(repeat, int) else 1
    measured = ({**trial, **metrics}, frozenset(metrics), _other_parts(parts, name))
    return Trials(db, name, experiment, title, times, schema, factors, *measured)


def _other_parts(parts: Mapping[str, tuple[object, object]], run: str) -> tuple[str, ...]:
    """The latest run of each other host of the same plan, where a run is that of one host; the latest come first."""
    plan, own = parts.get(run, (None, None))
    latest: dict[object, str] = {}
    for other, (of, part) in parts.items():
        if of == plan and part != own:
            latest.setdefault(part, other)
    return tuple(latest.values())


def asked(trials: Trials, clause: str, kind: type[T]) -> list[T]:
    """The clauses of one kind that the run's experiment has, as they were written."""
    rows = run_query(
        trials.db, "SELECT definition FROM clauses WHERE run = ? AND clause = ? ORDER BY position", [trials.run, clause]
    ).rows
    from pydantic import TypeAdapter

    adapter = TypeAdapter(kind)
    return [adapter.validate_json(str(definition)) for (definition,) in rows]


def judge(trials: Trials) -> list[Judged]:
    """Every expectation of the run's experiment."""
    return [_judged(trials, one) for one in asked(trials, "expect", Expectation)]


def _judged(trials: Trials, expectation: Expectation) -> Judged:
    found = evaluate(trials, [expectation.term], expectation.by, every=False)
    findings = tuple(_finding(trials, one) for one in found)
    verdicts = {finding.verdict for finding in findings}
    if Verdict.FAIL in verdicts:
        return Judged(expectation, Verdict.FAIL, findings)
    return Judged(expectation, Verdict.PASS if verdicts == {Verdict.PASS} else Verdict.CANNOT_TELL, findings)


def _finding(trials: Trials, found: Combination) -> Finding:
    levels = tuple(cells(found.levels))
    why = next((why for side in found.sides if (why := _lacking(side, min(_FEW, trials.repeat)))), "")
    (holds,) = found.results
    if why or not isinstance(holds, bool):
        return Finding(levels, Verdict.CANNOT_TELL, found.sides, why or "it has no value")
    return Finding(levels, Verdict.PASS if holds else Verdict.FAIL, found.sides, "")


def _lacking(side: Side, least: int) -> str:
    """Why nothing can be said of a side."""
    text = side.term.name
    if not side.tried:
        return f"no trial was carried out for {text}"
    if side.term.op == "count" or (side.n >= least and side.value is not None):
        return ""
    return f"{side.n or 'none'} of {side.tried} trial{'s' if side.tried > 1 else ''} has a value for {text}"


def said(judged: Judged, finding: Finding) -> str:
    """One combination in words: its levels, and what was found there."""
    levels = zip(judged.expectation.by, finding.levels, strict=True)
    at = ", ".join(
        f"{factor.name}={wording.level(level, factor.type)}" for factor, level in levels if level is not None
    )
    why = finding.why or ", ".join(f"{side.term.name} = {_number(side)}" for side in finding.sides)
    return f"{at}: {why}" if at else why


def _number(side: Side) -> str:
    if side.value is None:
        return "-"
    times = 100 if side.term.type == "share" else 1
    return f"{wording.measured(side.value * times, UNITS.get(side.term.type, ''))} (n = {side.n})"


def tables(trials: Trials) -> list[Summary]:
    """Every table of the run's experiment; none where it has none."""
    return [_table(trials, table) for table in asked(trials, "table", Table)]


def _table(trials: Trials, table: Table) -> Summary:
    factors = [Column(one.name, one.type, "") for one in table.by]
    told = [Column(one.name, "estimate", UNITS.get(one.type, "")) for one in table.measures]
    found = evaluate(trials, [one.term for one in table.measures], table.by, every=True)
    rows = tuple((*cells(one.levels), one.trials, *_estimates(one, table.measures)) for one in found)
    total, valid, why = reasons(trials.db, trials.rows)
    columns = (*factors, Column("n", "count", ""), *told)
    return Summary(trials.experiment, columns, rows, total, valid, why, _mixed(trials, table))


def _mixed(trials: Trials, table: Table) -> str:
    """What to mind where a row has trials in which a factor exists and others in which it does not, else nothing."""
    named = {path for one in table.by for path in one.paths}
    if all(formulas.is_of_some(part) for measure in table.measures for part in aggregates(measure.term)):
        return ""
    pooled = [name for path, (name, _) in trials.factors.items() if path not in named]
    if not pooled:
        return ""
    having = ", ".join(f"count({quoted(name)}) AS c{i}" for i, name in enumerate(pooled))
    rows = ", ".join(formulas.level(trials, one) for one in table.by)
    some = ", ".join(f"coalesce(bool_or(0 < c{i} AND c{i} < n), false)" for i in range(len(pooled)))
    grouped = f" GROUP BY {rows}" if rows else ""
    counted = f"SELECT count(*) AS n, {having} FROM {trials.rows} WHERE valid{grouped}"
    found = run_query(trials.db, f"SELECT {some} FROM ({counted})").rows[0]
    mixed = " and ".join(f"`{name}`" for name, is_mixed in zip(pooled, found, strict=True) if is_mixed)
    if not mixed:
        return ""
    return f"rows mix trials that have {mixed} with trials that do not: add to `by` what tells them apart"


def plots(trials: Trials) -> list[Drawn]:
    """What every plot of the run's experiment shows."""
    return [one for plot in asked(trials, "plot", Plot) for one in drawn(trials, plot)]


def asked_now(trials: Trials, text: str) -> list[Drawn]:
    """What a plot shows that is asked for now: `read_iops over bs by rw`. Raises ProgramError, RunError."""
    found = [one for one in drawn(trials, _now(trials, "plot", text, Plot)) if one.rows]
    if not found:
        raise RunError("there is nothing to draw", "no trial that counts has a value of it")
    return found


def table_now(trials: Trials, text: str) -> Summary:
    """A table that is asked for now: `read_iops, p99(read_clat) by rw`. Raises ProgramError."""
    return _table(trials, _now(trials, "table", text, Table))


def _now(trials: Trials, word: str, text: str, kind: type[T]) -> T:
    clause, findings = parse.clause(Source(word, f"{word} {text}"))
    found = list(findings)
    made = clauses.resolve(clause, _words(trials), clauses.NoScope(), found.append) if clause is not None else None
    if found:
        raise ProgramError(found[0])
    assert isinstance(made, kind), f"BUG: a {word} without findings is none"
    return made


def fields(plots: Sequence[Drawn]) -> list[Drawn]:
    """The same as fields in colours, which shows two factors at once. Raises RunError."""
    if any(len(one.plot.by) != 1 or one.form not in {Form.LINES, Form.FIELDS} for one in plots):
        raise RunError("a heat map is of two factors", "such as: zlang plot 'read_iops over iodepth by bs' --heat")
    return [replace(one, form=Form.FIELDS) for one in plots]


def _words(trials: Trials) -> clauses.Words:
    """What may be spoken of: the metrics and factors that the experiment has in the database."""
    known = run_query(
        trials.db,
        'SELECT name, path, type FROM "columns" WHERE experiment = ? AND role = ?',
        [trials.experiment, "factor"],
    ).rows
    columns = []
    for name, path, sort in known:
        levels = (
            f"SELECT DISTINCT {quoted(str(name))}::VARCHAR FROM {trials.rows} WHERE {quoted(str(name))} IS NOT NULL"
        )
        words = [] if sort in DIMENSION_OF else [str(level) for (level,) in run_query(trials.db, levels).rows]
        columns.append(clauses.column_of_results(str(name), str(path), str(sort), words))
    kinds = run_query(
        trials.db,
        "SELECT DISTINCT direction || '_' || kind FROM histograms WHERE list_contains(?, run)",
        [[trials.run, *trials.others]],
    ).rows
    histograms = frozenset(str(name) for (name,) in kinds) & frozenset(DISTRIBUTIONS)
    measured = trials.measured | frozenset(ALWAYS)
    return clauses.Words(measured, histograms, tuple(columns), {})


def drawn(trials: Trials, plot: Plot) -> list[Drawn]:
    """What one plot shows; each factor is a plot of its own."""
    if not plot.over.paths:
        return series.drawn(trials, plot)
    columns = (plot.over, *plot.by, *((plot.facet,) if plot.facet else ()))
    found = evaluate(trials, [one.term for one in plot.measures], columns, every=True)
    rows = tuple((*cells(one.levels), *_estimates(one, plot.measures)) for one in found)
    kept = tuple(row for row in rows if row[0] is not None)
    return [Drawn(plot, trials.title or trials.experiment, columns, kept)]


def _estimates(found: Combination, measures: Sequence[Measure]) -> list[Estimate]:
    """Each measure, with an interval where it is the median of single values; shares in percent."""
    made = []
    for measure, result in zip(measures, found.results, strict=True):
        times = 100 if measure.type == "share" else 1
        sides = [side for side in found.sides if side.term in set(aggregates(measure.term))]
        if measure.term.op == "median":
            made.append(estimate([value * times for value in sides[0].values]))
        else:
            value = float(result) * times if isinstance(result, int | float) else None
            made.append(Estimate(min(side.n for side in sides), value, None, None))
    return made
