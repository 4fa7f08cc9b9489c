"""The tables and plots of an experiment, filled from the database: those of its program, and those of a command.

Rule: a figure comes from one run, and a caveat says where rows or points differ by more than the factors they name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zlang.check import clauses, library
from zlang.check.questions import (
    OF_PHASES,
    FactorRef,
    Measure,
    Plot,
    Table,
    aggregates,
    mentioned,
)
from zlang.check.questions import (
    metrics_of as metrics_in,
)
from zlang.check.scope import NoScope
from zlang.check.types import DIMENSION_OF, NANOSECONDS, scalar_of
from zlang.check.vocabulary import Vocabulary, column_of_results
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.errors import RunError
from zlang.hints import TypeVar
from zlang.intervals import exp
from zlang.metrics import ELAPSED, PERCENTILES, Metric, distributions_of_streams, in_trials
from zlang.report import formulas, margins, series
from zlang.report.clauses import metrics_of, stored_clauses
from zlang.report.drawn import EMPTY, Drawn, Form
from zlang.report.formulas import UNITS, Combination, Trials, evaluate
from zlang.report.margins import TrialTerms
from zlang.report.summary import (
    GEOMETRIC_MEAN,
    Cell,
    Estimate,
    Summary,
    TableColumn,
    cells,
    count_column,
    estimates,
    median,
    reasons,
    single,
)
from zlang.source import Source
from zlang.store.query import run_query
from zlang.store.store import quoted
from zlang.syntax import parse

T = TypeVar("T")


def tables(trials: Trials) -> list[Summary]:
    """Every table of the run's experiment; none where it has none."""
    return [_table(trials, table) for table in stored_clauses(trials, "table", Table)]


def _table(trials: Trials, table: Table) -> Summary:
    factors = [TableColumn(item.name, item.type, "") for item in table.by]
    measures, answered = _answered(trials, table.measures, table.by)
    measured = [TableColumn(measure.name, "estimate", UNITS.get(measure.type, "")) for measure in measures]
    counts = [{estimate.n for estimate in own if estimate.n} for _, _, own in answered]
    rows: tuple[tuple[Cell | Estimate, ...], ...]
    if all(len(row) <= 1 for row in counts):
        columns = (*factors, count_column(factors), *measured)
        rows = tuple((*levels, max(n, default=0), *own) for (levels, _, own), n in zip(answered, counts, strict=True))
    else:  # each figure has its own number of values
        pairs = [(TableColumn(f"n({column.name})", "count", ""), column) for column in measured]
        columns = (*factors, *(column for pair in pairs for column in pair))
        rows = tuple((*levels, *(cell for each in own for cell in (each.n, each))) for levels, _, own in answered)
    total, valid, why = reasons(trials.db, trials.rows)
    return Summary(
        experiment=trials.experiment,
        columns=columns,
        rows=rows,
        trials=total,
        valid=valid,
        reasons=why,
        text=table.text.removeprefix("table "),
        note="; ".join(
            filter(
                None,
                (
                    _mixed_rows_caveat(trials, table),
                    _lacking_caveat(trials, table.measures, table.by),
                    _unmeasured_caveat(trials, measures, answered),
                ),
            )
        ),
    )


def _unmeasured_caveat(trials: Trials, measures: Sequence[Measure], answered: Sequence[_Answer]) -> str:
    """A caveat if there are valid trials but none has a value, such as a percentile that the tool did not report."""
    if not any(own_trials for _, own_trials, _ in answered):
        return ""
    empty = [measure for n, measure in enumerate(measures) if not any(own[n].n for _, _, own in answered)]
    of_streams = _of_streams(trials) if empty else frozenset()
    apart = [f"`{measure.name}`" for measure in empty if metrics_in(measure.term) & of_streams]
    unknown = [f"`{measure.name}`" for measure in empty if not metrics_in(measure.term) & of_streams]
    caveats = [f"no trial has a value for {' or '.join(unknown)}"] if unknown else []
    verb = "do" if len(apart) > 1 else "does"
    caveats += [f"{' and '.join(apart)} {verb} not add up, so only streams have values: {_OF_STREAMS}"] if apart else []
    return "; ".join(caveats)


_OF_STREAMS = "zlang sql 'select host, stream, metric, value from metrics where stream is not null'"


def _of_streams(trials: Trials) -> frozenset[str]:
    """The metrics that have values for single streams."""
    runs = [trials.run, *trials.others]
    wanted = "SELECT DISTINCT metric FROM stream_metrics WHERE valid AND list_contains(?, run)"
    return frozenset(str(name) for (name,) in run_query(trials.db, wanted, [runs]).rows)


def _mixed_rows_caveat(trials: Trials, table: Table) -> str:
    """A caveat if a row mixes trials in which a factor exists with others in which it does not."""
    named = {path for factor_ref in table.by for path in factor_ref.paths}
    if all(formulas.is_of_some(part) for measure in table.measures for part in aggregates(measure.term)):
        return ""
    pooled = [name for path, (name, _) in trials.factors.items() if path not in named]
    if not pooled:
        return ""
    having = ", ".join(f"count({quoted(name)}) AS c{i}" for i, name in enumerate(pooled))
    rows = ", ".join(formulas.level(trials, item) for item in table.by)
    some = ", ".join(f"coalesce(bool_or(0 < c{i} AND c{i} < n), false)" for i in range(len(pooled)))
    grouped = f" GROUP BY {rows}" if rows else ""
    counted = f"SELECT count(*) AS n, {having} FROM {trials.rows} WHERE valid{grouped}"
    result = run_query(trials.db, f"SELECT {some} FROM ({counted})").rows[0]
    mixed = " and ".join(f"`{name}`" for name, is_mixed in zip(pooled, result, strict=True) if is_mixed)
    if not mixed:
        return ""
    return f"rows mix trials that have {mixed} with trials that do not: add the factor that separates them to `by`"


def _lacking_caveat(trials: Trials, measures: Sequence[Measure], by: Sequence[FactorRef]) -> str:
    """A caveat if rows pool different levels of a factor because some combination has no valid measurement.

    Factors that only some trials have are ignored: rows cannot be balanced over them.
    """
    names = _pooled(trials, measures, by)
    if not names or not by or OF_PHASES in by:
        return ""
    levels = ", ".join(formulas.level(trials, item) for item in by)
    lacking = []
    for name in names:
        wanted = f"SELECT {levels}, {quoted(name)} AS pooled"
        grouped = f"{wanted} FROM {trials.rows} WHERE {_has_value(trials, measures)} GROUP BY ALL"
        pooled: dict[tuple[object, ...], set[object]] = {}
        for *row, level in run_query(trials.db, grouped).rows:
            pooled.setdefault(tuple(row), set()).add(level)
        every = set.union(*pooled.values())
        if None not in every and any(own != every for own in pooled.values()):
            lacking.append(f"`{name}`")
    if not lacking:
        return ""
    return f"the rows also differ in {' and '.join(lacking)}, because not all rows have all levels"


def plots(trials: Trials) -> list[Drawn]:
    """The data of every plot of the run's experiment."""
    return [item for plot in stored_clauses(trials, "plot", Plot) for item in drawn(trials, plot)]


def new_plots(trials: Trials, text: str) -> list[Drawn]:
    """The data of a plot requested on the command line: `METRIC over bs by rw`. Raises ProgramError, RunError."""
    result = [item for item in drawn(trials, _resolve_asked(trials, "plot", text, Plot)) if item.has_values]
    if not result:
        raise RunError("there is nothing to draw", EMPTY)
    return result


def table_now(trials: Trials, text: str) -> Summary:
    """The table requested on the command line: `METRIC, p99(LATENCY) by rw`. Raises ProgramError."""
    return _table(trials, _resolve_asked(trials, "table", text, Table))


def _resolve_asked(trials: Trials, word: str, text: str, kind: type[T]) -> T:
    clause, findings = parse.clause(Source(word, f"{word} {text}"))
    result = list(findings)
    words, scope = _words(trials), NoScope()
    made = clauses.resolve_clause(clause, words, scope, result.append) if clause is not None else None
    if result:
        unmeasured = _unmeasured_metric(result[0])
        if unmeasured:
            hint = f"`zlang explain {unmeasured}` says what measures it"
            raise RunError(f"no trial of `{trials.experiment}` has a value of `{unmeasured}`", hint)
        raise ProgramError(result[0])
    assert isinstance(made, kind), f"BUG: a {word} without findings is none"
    return made


def _unmeasured_metric(finding: Diagnostic) -> str:
    """The name of the library's metric that a finding is about, if the results have no metric of that name."""
    name = finding.span.text
    declared = (of_trial for metrics in library.load().readers.values() for of_trial in (*metrics, *in_trials(metrics)))
    return name if finding.code is Code.UNKNOWN_NAME and any(metric.name == name for metric in declared) else ""


def with_log_axis(plots: Sequence[Drawn]) -> list[Drawn]:
    """Return the plots with a logarithmic axis for the measures. Raises RunError."""
    if any(plot.form not in {Form.LINES, Form.POINTS} for plot in plots):
        raise RunError("only lines, bars and points have a logarithmic axis", "omit --log")
    return [replace(plot, plot=replace(plot.plot, is_log=True), ends=None) for plot in plots]


def with_caveats(plots: Sequence[Drawn], caveats: Sequence[str]) -> list[Drawn]:
    """Return the plots with these caveats about intervals in the notes of those that draw any."""
    below = "; ".join(caveats)
    return [
        replace(plot, note="; ".join(filter(None, (plot.note, below)))) if plot.has_intervals else plot
        for plot in plots
    ]


def fields(plots: Sequence[Drawn]) -> list[Drawn]:
    """Return the plots as heat maps, which show two factors at once. Raises RunError."""
    if any(len(plot.plot.by) != 1 or plot.form not in {Form.LINES, Form.FIELDS} for plot in plots):
        raise RunError("a heat map needs two factors", "for example: zlang plot 'METRIC over FACTOR by FACTOR' --heat")
    return [replace(plot, form=Form.FIELDS) for plot in plots]


def _words(trials: Trials) -> Vocabulary:
    """The names that a question can use: the metrics and factors of the experiment in the database."""
    rows = run_query(
        trials.db,
        'SELECT name, path, type FROM "columns" WHERE experiment = ? AND role = ?',
        [trials.experiment, "factor"],
    ).rows
    columns = []
    for name, path, sort in rows:
        levels = (
            f"SELECT DISTINCT {quoted(str(name))}::VARCHAR FROM {trials.rows} WHERE {quoted(str(name))} IS NOT NULL"
        )
        words = [] if sort in DIMENSION_OF else [str(level) for (level,) in run_query(trials.db, levels).rows]
        columns.append(column_of_results(str(name), str(path), str(sort), words))
    kept = run_query(
        trials.db,
        "SELECT DISTINCT metric FROM histograms WHERE list_contains(?, run)",
        [[trials.run, *trials.others]],
    ).rows
    of_streams = run_query(
        trials.db,
        'SELECT path, distribution FROM "columns" WHERE experiment = ? AND distribution IN '
        "(SELECT DISTINCT metric FROM histograms WHERE list_contains(?, run))",
        [trials.experiment, [trials.run, *trials.others]],
    ).rows
    declared = (Metric(str(path), "duration", distribution=str(name)) for path, name in of_streams)
    names = sorted([*(str(name) for (name,) in kept), *distributions_of_streams(declared)])
    distributions = {name: Metric(name, "duration", NANOSECONDS, is_distribution=True) for name in names}
    units = {name: trials.metrics[name][1] for name in sorted(trials.measured)}
    measured = {name: Metric(name, scalar_of(unit), unit) for name, unit in units.items()}
    return Vocabulary(measured | {ELAPSED.name: ELAPSED}, distributions, tuple(columns), {})


def drawn(trials: Trials, plot: Plot) -> list[Drawn]:
    """The data of a plot; a plot over `factors` gives one for each factor."""
    columns = (plot.over, *plot.by, *((plot.facet,) if plot.facet else ()))
    pooled = _pooled(trials, plot.measures, columns)
    note = f"pooled over {', '.join(f'`{name}`' for name in pooled)}" if pooled else ""
    caveat = _lacking_caveat(trials, plot.measures, columns) if plot.over.paths else ""
    if not plot.over.paths:
        of_all = note if plot.over.name in {"latency", "second"} else ""
        of_each = series.drawn(trials, plot)
        return [replace(item, note="; ".join(filter(None, (of_all, item.note)))) for item in of_each]
    measures, answered = _answered(trials, plot.measures, columns)
    kept = tuple((*levels, *own) for levels, _, own in answered if levels[0] is not None)
    left_out = f"trials without `{plot.over.name}` are not in it" if len(kept) < len(answered) else ""
    note = "; ".join(filter(None, (note, left_out, caveat.replace("rows", "points"))))
    return [Drawn(replace(plot, measures=measures), trials.title or trials.experiment, columns, kept, note=note)]


_Answer = tuple[tuple[Cell, ...], int, tuple[Estimate, ...]]
"""Levels, how many trials there are, and an estimate for each measure."""


def _answered(
    trials: Trials, measures: Sequence[Measure], by: Sequence[FactorRef]
) -> tuple[tuple[Measure, ...], list[_Answer]]:
    """The measures, and their values in each combination of levels, and in each phase if `by` has phases."""
    if OF_PHASES not in by:
        combinations = evaluate(trials, [measure.term for measure in measures], by, every=True)
        values = _estimates(trials, combinations, measures, by)
        return tuple(measures), [
            (tuple(cells(combination.levels)), combination.trials, own)
            for combination, own in zip(combinations, values, strict=True)
        ]
    place = by.index(OF_PHASES)
    own_measures: tuple[Measure, ...] = ()
    answers: list[_Answer] = []
    for phase in dict.fromkeys(measure.term.name for measure in measures):
        own = [replace(each, term=each.term.terms[0]) for each in measures if each.term.name == phase]
        own_measures, of_phase = _answered(trials, own, [*by[:place], *by[place + 1 :]])
        answers += (
            ((*levels[:place], phase, *levels[place:]), count, estimates)
            for levels, count, estimates in of_phase
            if any(each.value is not None for each in estimates)
        )
    above: dict[tuple[Cell, ...], int] = {}
    for levels, *_ in answers:
        above.setdefault(levels[:place], len(above))
    return own_measures, sorted(answers, key=lambda answer: above[answer[0][:place]])


def _pooled(trials: Trials, measures: Sequence[Measure], columns: Sequence[FactorRef]) -> list[str]:
    """The factors with several levels over which a table or plot pools because it does not name them."""
    named = {path for factor in columns for path in factor.paths}
    named.update(path for measure in measures for path in mentioned(measure.term))
    names = [name for path, (name, _) in trials.factors.items() if path not in named]
    counts = ", ".join(f"count(DISTINCT {quoted(name)}) > 1" for name in names)
    counted = f"FROM {trials.rows} WHERE {_has_value(trials, measures)}"
    varied = run_query(trials.db, f"SELECT {counts} {counted}").rows[0] if names else ()
    return [name for name, has_several in zip(names, varied, strict=True) if has_several]


def _has_value(trials: Trials, measures: Sequence[Measure]) -> str:
    """The SQL condition that a trial is valid and has a value of one of the measures, if columns show that."""
    terms = [measure.term for measure in measures]
    curves = {f"{term.name}_{PERCENTILES[0][0]}" for term in terms if term.op == "distribution"}
    names = curves.union(*map(metrics_of, terms))
    if not names <= {*trials.metrics}:
        return "valid"
    there = " OR ".join(f"{quoted(trials.metrics[name][0])} IS NOT NULL" for name in sorted(names))
    return f"valid AND ({there})" if there else "valid"


def _estimates(
    trials: Trials, combinations: Sequence[Combination], measures: Sequence[Measure], by: Sequence[FactorRef]
) -> list[tuple[Estimate, ...]]:
    """Estimate each measure in each combination; shares are in percent."""
    terms = list(dict.fromkeys(measure.term for measure in measures if measure.term.op == "median"))
    samples: dict[tuple[Cell, ...], list[TrialTerms]] = {}
    for sample in margins.samples(trials, terms, by) if terms else ():
        samples.setdefault(sample.clause_levels, []).append(sample)
    columns = []
    for place, measure in enumerate(measures):
        times = 100 if measure.type == "share" else 1
        if measure.term.op == "median":
            own = [samples.get(tuple(cells(combination.levels)), []) for combination in combinations]
            middles = _row_estimates(own, terms.index(measure.term), is_named=measure.name.startswith("median("))
        else:
            middles = [_value(item, item.results[place], measure) for item in combinations]
        columns.append([_times(item, times) for item in middles])
    return [tuple(column[n] for column in columns) for n in range(len(combinations))]


def _row_estimates(rows: Sequence[Sequence[TrialTerms]], term: int, *, is_named: bool) -> list[Estimate]:
    """Estimate the centre of each row's values: for one combination as in a summary, for several the mean over them.

    A measure that names the median gets it, with an interval if there is one; so do values without a geometric mean
    (zeros).
    """
    kept = [[sample for sample in row if sample.values[term] is not None] for row in rows]
    values = [[value for sample in row if (value := sample.values[term]) is not None] for row in kept]
    is_pooled = any(len({combination.levels for combination in row}) > 1 for row in kept)
    if is_named or (is_pooled and any(value <= 0 for own in values for value in own)):
        return [median(own, has_interval=not is_pooled) for own in values]
    if not is_pooled:
        return estimates(values)
    made = []
    for row, own in zip(kept, values, strict=True):
        margin = margins.geometric_mean(row, term)
        if margin is None or len(own) == 1:
            made.append(single(own))
        elif margin.error is None:
            made.append(Estimate(len(own), exp(margin.value), None, None, GEOMETRIC_MEAN))
        else:
            low, high = map(exp, margin.interval())
            made.append(Estimate(len(own), exp(margin.value), low, high, GEOMETRIC_MEAN))
    return made


def _value(combination: Combination, result: object, measure: Measure) -> Estimate:
    """The value of a measure in a combination, without an interval."""
    sides = [side for side in combination.sides if side.term in set(aggregates(measure.term))]
    value = float(result) if isinstance(result, int | float) else None
    return Estimate(min(side.n for side in sides), value, None, None)


def _times(estimate: Estimate, times: float) -> Estimate:
    value, low, high = (
        None if item is None else item * times for item in (estimate.value, estimate.low, estimate.high)
    )
    return replace(estimate, value=value, low=low, high=high)
