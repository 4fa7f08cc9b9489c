"""Answers to an experiment's questions from the database: expectations judged, tables filled.

Rules: an answer is of one run. An expectation is judged in each combination of the factors that it does not mention:
it passes where the 95 % interval of its margin excludes the limit, fails where that excludes it the other way, and is
else inconclusive, as where a side has no value or was not repeated. All together it fails if it fails anywhere (the
intervals are simultaneous for that), passes if it passes everywhere, and is else inconclusive.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from zlang.check import clauses, evaluation, library
from zlang.check.questions import (
    OF_PHASES,
    PREVIOUS,
    Expectation,
    ExpectedRatio,
    FactorRef,
    Measure,
    Plot,
    Table,
    Term,
    aggregates,
    mentioned,
    metrics_of,
)
from zlang.check.scope import NoScope
from zlang.check.types import DIMENSION_OF, NANOSECONDS, scalar_of
from zlang.check.vocabulary import Vocabulary, column_of_results
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.errors import RunError
from zlang.intervals import exp
from zlang.metrics import ELAPSED, Metric, column, distribution, in_trials
from zlang.report import across, formulas, margins, series, wording
from zlang.report.clauses import primary, stored_clauses, stored_expectations
from zlang.report.drawn import EMPTY, Drawn, Form
from zlang.report.formulas import UNITS, Combination, Side, Trials, evaluate
from zlang.report.margins import Margin, TrialTerms
from zlang.report.summary import (
    GEOMETRIC_MEAN,
    Cell,
    Estimate,
    Summary,
    TableColumn,
    cells,
    estimates,
    median,
    reasons,
    single,
)
from zlang.source import Source
from zlang.store.query import run_query
from zlang.store.store import quoted
from zlang.suggest import did_you_mean
from zlang.syntax import parse

T = TypeVar("T")
_FEW = 2
"""A side with fewer values has no verdict, unless only one was planned."""
_ADVISED = 3
"""Replicates that an interval needs to be of any use."""


class Verdict(StrEnum):
    """The outcome of an expectation."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class JudgedCombination:
    """The verdict in one combination: its levels, the sides of the comparison, why it is inconclusive, and its margin.

    The `margin` is how far the sides are apart, with its 95 % interval, in words.
    """

    levels: tuple[Cell, ...]
    verdict: Verdict
    sides: tuple[Side, ...]
    why: str
    margin: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """An expectation with its verdict, all together and in each combination of the levels of `by`.

    The combinations that are `left_out` cannot have what it is about: a workload that only writes reads nothing.
    """

    expectation: Expectation
    verdict: Verdict
    findings: tuple[JudgedCombination, ...]
    left_out: int = 0


def example(trials: Trials) -> tuple[str, str]:
    """A metric and a factor of a run, to show in a hint."""
    return primary(trials)[0], next((name for name, _ in trials.factors.values()), "FACTOR")


def invalid(trials: Trials) -> int:
    """How many trials of a run were carried out and do not count."""
    ((count,),) = run_query(trials.db, "SELECT invalid FROM runs WHERE run = ?", [trials.run]).rows
    return count if isinstance(count, int) else 0


def damage(trials: Trials) -> list[tuple[str, str]]:
    """What is wrong with a run as a whole, and with the other parts of its plan: run and sentence."""
    sql = "SELECT run, problem FROM problems WHERE trial IS NULL AND list_contains(?, run) ORDER BY ALL"
    rows = run_query(trials.db, sql, [[trials.run, *trials.others]]).rows
    return [(str(run), str(problem)) for run, problem in rows]


def has_runs(db: Path, names: Sequence[str]) -> bool:
    """Whether any of the names is that of a run."""
    known_names = {str(name) for (name,) in run_query(db, "SELECT run FROM runs").rows}
    return any(Path(name).name in known_names for name in names)


def trials_of(db: Path, run: str | None) -> Trials:
    """The trials of a run, or of the one that was worked on last. Raises RunError."""
    runs = run_query(
        db,
        "SELECT run, experiment, title, repeat, plan, part FROM runs ORDER BY last_session DESC NULLS LAST, run DESC",
    ).rows
    candidates = {str(name): (str(experiment), str(title), repeat) for name, experiment, title, repeat, *_ in runs}
    parts = {str(name): (plan, part) for name, *_, plan, part in runs if part is not None}
    if not candidates:
        raise RunError(f"{db} holds no run", f"zlang ingest DIR --db {db}")
    name = next(iter(candidates)) if run is None else Path(run).name
    if name not in candidates:
        raise RunError(
            f"there is no run `{name}` in {db}", did_you_mean(name, candidates) or "`zlang status` lists the runs"
        )
    experiment, title, repeat = candidates[name]
    catalogue = run_query(
        db, 'SELECT path, name, unit, role, "schema" FROM "columns" WHERE experiment = ?', [experiment]
    ).rows
    factors = {str(path): (str(n), str(unit)) for path, n, unit, role, _ in catalogue if role == "factor"}
    trial = {str(n): (str(n), str(unit)) for _, n, unit, role, _ in catalogue if role == "trial"}
    known_metrics = [(str(path), str(n), str(unit)) for path, n, unit, role, _ in catalogue if role == "metric"]
    # One that has the name of something that every trial has is called otherwise in the database.
    metrics = {name: (n, unit) for path, n, unit in known_metrics for name in (n, path, column(path))}
    schema = str(catalogue[0][4]) if catalogue else experiment
    times = repeat if isinstance(repeat, int) else 1
    return Trials(
        db=db,
        run=name,
        experiment=experiment,
        title=title,
        repeat=times,
        schema=schema,
        factors=factors,
        metrics={**trial, **metrics},
        measured=frozenset(metrics),
        others=_runs_of_other_parts(parts, name),
    )


def _runs_of_other_parts(parts: Mapping[str, tuple[object, object]], run: str) -> tuple[str, ...]:
    """The latest run of each other part of the same plan, where a run is that of one part; the latest come first.

    A part is a host, or one of several shares: `3/16`.
    """
    plan, own = parts.get(run, (None, None))
    latest: dict[object, str] = {}
    for other, (of, part) in parts.items():
        if of == plan and part != own and str(part).partition("/")[2] == str(own).partition("/")[2]:
            latest.setdefault(part, other)
    return tuple(latest.values())


def judge(trials: Trials, against: str | None = None) -> list[Judged]:
    """Every expectation of the run's experiment; what is compared with a run is compared with `against`, if it can be.

    Raises RunError.
    """
    compared = trials_of(trials.db, against) if against is not None else None
    return [
        _judged_ratio(trials, item, compared) if isinstance(item, ExpectedRatio) else _judged(trials, item)
        for item in stored_expectations(trials)
    ]


def _judged_ratio(trials: Trials, expected: ExpectedRatio, against: Trials | None) -> Judged:
    """An expectation that compares runs: with the given one if it is of that experiment, else with the latest."""
    is_previous = expected.experiment == PREVIOUS
    experiment = trials.experiment if is_previous else expected.experiment
    if against is None or against.experiment != experiment or against.run == trials.run:
        against = _latest_of(trials, experiment, is_earlier=is_previous)
    if against is None:
        why = f"there is no {'earlier ' if is_previous else ''}run of `{experiment}`"
    else:
        combinations = across.compared(trials, against, expected)
        findings = tuple(_judged_combination(expected, each, len(combinations), against.run) for each in combinations)
        if findings:
            return Judged(expected, _verdict_of(findings), findings)
        why = f"it has no combination in common with {against.run}"
    nothing = JudgedCombination((None,) * len(expected.by), Verdict.INCONCLUSIVE, (), why)
    return Judged(expected, Verdict.INCONCLUSIVE, (nothing,))


def _latest_of(trials: Trials, experiment: str, *, is_earlier: bool) -> Trials | None:
    """The latest run of an experiment, other than this one; with `is_earlier` of those before it."""
    query = "SELECT run FROM runs WHERE experiment = ? ORDER BY last_session DESC NULLS LAST, run DESC"
    names = [str(name) for (name,) in run_query(trials.db, query, [experiment]).rows]
    if is_earlier and trials.run in names:
        names = names[names.index(trials.run) + 1 :]
    own = {trials.run, *trials.others}
    return next((trials_of(trials.db, name) for name in names if name not in own), None)


def _judged_combination(
    expected: ExpectedRatio, compared: across.ComparedCombination, combinations: int, run: str
) -> JudgedCombination:
    ratio = compared.ratio
    if ratio is None:
        why = f"against {run}: {compared.why}"
        return JudgedCombination(compared.levels, Verdict.INCONCLUSIVE, compared.sides, why)
    margin = Margin(is_ratio=True, value=ratio.log - math.log(expected.limit), error=ratio.error, df=ratio.df)
    verdict = _verdict_on_margin(expected.op, margin, combinations)
    text = f"{replace(margin, value=ratio.log).named('ratio of geometric means =')} against {run}"
    return JudgedCombination(compared.levels, verdict, compared.sides, "", text)


def _verdict_on_margin(op: str, margin: Margin, combinations: int) -> Verdict:
    """All combinations have to pass, so that each may be tested by itself; one that fails is enough to fail."""
    if _holds(op, margin.interval()) is True:
        return Verdict.PASS
    return Verdict.FAIL if _holds(op, margin.interval(combinations)) is False else Verdict.INCONCLUSIVE


def _verdict_of(findings: Sequence[JudgedCombination]) -> Verdict:
    """The verdict on all combinations together."""
    verdicts = {finding.verdict for finding in findings}
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL
    return Verdict.PASS if verdicts == {Verdict.PASS} else Verdict.INCONCLUSIVE


def _judged(trials: Trials, expectation: Expectation) -> Judged:
    every = evaluate(trials, [expectation.term], expectation.by, every=False)
    places = _places_without_value(trials, expectation)
    combinations = [item for item in every if not _is_without_value(tuple(cells(item.levels)), places)]
    terms = list(dict.fromkeys(aggregates(expectation.term)))
    has_margins = any(term.op in margins.INFERRED for term in terms)
    samples = margins.samples(trials, terms, expectation.by) if has_margins else []
    spoken_of = {*mentioned(expectation.term), *(path for factor_ref in expectation.by for path in factor_ref.paths)}
    matched = [i for i, path in enumerate(trials.factors) if path not in spoken_of]
    judge = Judge(expectation.term, terms, matched, len(combinations), min(_FEW, trials.repeat))
    findings = tuple(judge.finding(item, samples) for item in combinations)
    return Judged(expectation, _verdict_of(findings), findings, len(every) - len(combinations))


def _places_without_value(trials: Trials, expectation: Expectation) -> list[tuple[Sequence[Cell], bool]]:
    """The levels of trials, and whether none there can have what an expectation is about: what only writes, reads."""
    terms = list(aggregates(expectation.term))
    exact = [name for term in terms for part in term.terms for name in metrics_of(part)]
    begins = [f"{distribution(*term.paths)}_" for term in terms if term.op == "percentile"]
    conditions = ["list_contains(?, name)", "list_contains(?, path)", *["starts_with(name, ?)"] * len(begins)]
    catalogue = (
        f"SELECT DISTINCT needs FROM \"columns\" WHERE experiment = ? AND needs <> '' AND ({' OR '.join(conditions)})"
    )
    needs = [
        str(trait) for (trait,) in run_query(trials.db, catalogue, [trials.experiment, exact, exact, *begins]).rows
    ]
    if not needs:
        return []
    levels = "".join(f"{formulas.level(trials, item)}, " for item in expectation.by)
    lacks = "EXISTS (FROM main.traits n WHERE n.run = t.run AND n.trial = t.trial AND n.value = 0 AND {})"
    lacking = lacks.format("list_contains(?, n.trait)")
    rows = run_query(trials.db, f"SELECT {levels}bool_and({lacking}) FROM {trials.rows} t GROUP BY ALL", [needs]).rows
    return [(cells(own), bool(is_without)) for *own, is_without in rows]


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges one expectation in each of so many combinations."""

    term: Term
    aggregates: Sequence[Term]
    matched: Sequence[int]
    combinations: int
    least: int

    def finding(self, combination: Combination, samples: Sequence[TrialTerms]) -> JudgedCombination:
        """The verdict in one combination."""
        levels = tuple(cells(combination.levels))
        why = next((why for side in combination.sides if (why := _reason_for_no_verdict(side, self.least))), "")
        (holds,) = combination.results
        if why or not isinstance(holds, bool):
            return JudgedCombination(levels, Verdict.INCONCLUSIVE, combination.sides, why or "it has no value")
        own = [
            sample
            for sample in samples
            if all(_matches_level(*pair) for pair in zip(sample.clause_levels, levels, strict=True))
        ]
        values_by_term = {side.term: side.value for side in combination.sides}
        margins: list[Margin] = []
        verdict = self._verdict(self.term, own, values_by_term, margins)
        text = ", ".join(str(item) for item in margins if not math.isnan(item.value))
        why = next((item.why for item in margins if item.why), text) if verdict is Verdict.INCONCLUSIVE else ""
        return JudgedCombination(levels, verdict, combination.sides, why, text)

    def _verdict(
        self, term: Term, own: Sequence[TrialTerms], by_term: Mapping[Term, float | None], shown: list[Margin]
    ) -> Verdict:
        """The verdict on a condition, of these trials; `told` gets the margins that it rests on."""
        if term.op in {"and", "or"}:
            decisive = Verdict.FAIL if term.op == "and" else Verdict.PASS
            parts = [self._verdict(part, own, by_term, shown) for part in term.terms]
            alike = parts[0] if len(set(parts)) == 1 else Verdict.INCONCLUSIVE
            return decisive if decisive in parts else alike
        if term.op == "not":
            return _OPPOSITE[self._verdict(term.terms[0], own, by_term, shown)]
        if term.op not in margins.COMPARISONS or not any(
            aggregate.op in margins.INFERRED for aggregate in aggregates(term)
        ):
            holds = evaluation.evaluate(term, by_term.get)
            return Verdict.INCONCLUSIVE if holds is None else Verdict.PASS if holds else Verdict.FAIL
        margin = margins.margin(term, self.aggregates, own, by_term.get, self.matched)
        if margin is None:
            return Verdict.INCONCLUSIVE
        shown.append(margin)
        return _verdict_on_margin(term.op, margin, self.combinations)


_OPPOSITE = {
    Verdict.PASS: Verdict.FAIL,
    Verdict.FAIL: Verdict.PASS,
    Verdict.INCONCLUSIVE: Verdict.INCONCLUSIVE,
}


def _holds(op: str, interval: tuple[float, float]) -> bool | None:
    """Whether a comparison holds everywhere in an interval about its limit (0), nowhere, or neither."""
    low, high = interval
    match op:
        case ">" | "<=":
            holds = True if low > 0 else False if high <= 0 else None
            return holds if op == ">" or holds is None else not holds
        case ">=" | "<":
            holds = True if low >= 0 else False if high < 0 else None
            return holds if op == ">=" or holds is None else not holds
        case _:
            is_equal = True if low == high == 0 else False if low > 0 or high < 0 else None
            return is_equal if op == "==" or is_equal is None else not is_equal


def _is_without_value(levels: Sequence[Cell], places: Sequence[tuple[Sequence[Cell], bool]]) -> bool:
    """Whether no trial of a combination can have a value."""
    own = [is_so for place, is_so in places if all(_matches_level(*pair) for pair in zip(place, levels, strict=True))]
    return bool(own) and all(own)


def _matches_level(cell: Cell, level: Cell) -> bool:
    """Whether a trial belongs to a combination: a factor that does not exist matches any of its levels."""
    return cell is None or level is None or cell == level


def _reason_for_no_verdict(side: Side, least: int) -> str:
    """Why nothing can be said of a side."""
    text = side.term.name
    if not side.tried:
        return f"no trial was carried out for {text}"
    if side.term.op == "count" or (side.n >= least and side.value is not None):
        return ""
    if side.n == side.tried:
        return f"{side.n} trial{'s' if side.n > 1 else ''} of {text} cannot be judged: `repeat = {_ADVISED}`"
    return f"{side.n or 'none'} of {side.tried} trial{'s' if side.tried > 1 else ''} has a value for {text}"


def sentence(judged: Judged, finding: JudgedCombination) -> str:
    """One combination in words: its levels, and what was found there."""
    at = levels_in_words(judged, finding)
    sides = ", ".join(f"{side.term.name} = {_number(side)}" for side in finding.sides)
    why = ", ".join(part for part in ((sides, finding.margin) if finding.margin else (finding.why or sides,)) if part)
    if finding.margin and finding.why not in finding.margin:
        why = f"{why}: {finding.why}"
    return f"{at}: {why}" if at else why


def omission(judged: Judged) -> str:
    """What is said of the combinations that an expectation leaves out; nothing where it leaves none out."""
    count, names = (
        judged.left_out,
        " and ".join(dict.fromkeys(term.name for term in aggregates(judged.expectation.term))),
    )
    if not count:
        return ""
    return f"left out: {count:,} combination{'s' if count > 1 else ''} that cannot have {names}"


def levels_in_words(judged: Judged, finding: JudgedCombination) -> str:
    """The levels of a combination: `bs=4KiB, iodepth=8`."""
    levels = zip(judged.expectation.by, finding.levels, strict=True)
    return ", ".join(
        f"{factor.name}={wording.level(level, factor.type)}" for factor, level in levels if level is not None
    )


def _number(side: Side) -> str:
    if side.value is None:
        return "-"
    times = 100 if side.term.type == "share" else 1
    return f"{wording.measured(side.value * times, UNITS.get(side.term.type, ''))} (n = {side.n})"


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
        columns = (*factors, TableColumn("n", "count", ""), *measured)
        rows = tuple((*levels, max(n, default=0), *own) for (levels, _, own), n in zip(answered, counts, strict=True))
    else:  # each figure is of another number of values
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
        note="; ".join(
            filter(
                None,
                (
                    _mixed_rows_caveat(trials, table),
                    _lacking_caveat(trials, table.measures, table.by),
                    _unmeasured_caveat(measures, answered),
                ),
            )
        ),
    )


def _unmeasured_caveat(measures: Sequence[Measure], answered: Sequence[_Answer]) -> str:
    """A caveat if trials count and none has a value, such as a percentile that the tool was not asked for."""
    if not any(trials for _, trials, _ in answered):
        return ""
    empty = [measure.name for n, measure in enumerate(measures) if not any(own[n].n for _, _, own in answered)]
    return f"no trial has a value for {' or '.join(f'`{name}`' for name in empty)}" if empty else ""


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
    """A caveat if rows pool different levels of a factor, because a combination was not measured or does not count.

    A factor that only some trials have is not one that rows could have alike.
    """
    names = _pooled(trials, measures, by)
    if not names or not by or OF_PHASES in by:
        return ""
    levels = ", ".join(formulas.level(trials, item) for item in by)
    lacking = []
    for name in names:
        grouped = f"SELECT {levels}, {quoted(name)} AS pooled FROM {trials.rows} WHERE valid GROUP BY ALL"
        pooled: dict[tuple[object, ...], set[object]] = {}
        for *row, level in run_query(trials.db, grouped).rows:
            pooled.setdefault(tuple(row), set()).add(level)
        every = set.union(*pooled.values())
        if None not in every and any(own != every for own in pooled.values()):
            lacking.append(f"`{name}`")
    if not lacking:
        return ""
    return f"not all rows have every level of {' and '.join(lacking)}, so rows also differ by these"


def plots(trials: Trials) -> list[Drawn]:
    """The data of every plot of the run's experiment."""
    return [item for plot in stored_clauses(trials, "plot", Plot) for item in drawn(trials, plot)]


def asked_now(trials: Trials, text: str) -> list[Drawn]:
    """The data of a plot of the command line: `read_iops over bs by rw`. Raises ProgramError, RunError."""
    result = [item for item in drawn(trials, _resolve_asked(trials, "plot", text, Plot)) if item.has_values]
    if not result:
        raise RunError("there is nothing to draw", EMPTY)
    return result


def table_now(trials: Trials, text: str) -> Summary:
    """A table that is asked for now: `read_iops, p99(read_clat) by rw`. Raises ProgramError."""
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
    """The metric of the library that a name stands for, where the results have none of that name."""
    name = finding.span.text
    declared = (of_trial for metrics in library.load().readers.values() for of_trial in (*metrics, *in_trials(metrics)))
    return name if finding.code is Code.UNKNOWN_NAME and any(metric.name == name for metric in declared) else ""


def with_log_axis(plots: Sequence[Drawn]) -> list[Drawn]:
    """The same with use a logarithmic axis for the measures. Raises RunError."""
    if any(plot.form not in {Form.LINES, Form.POINTS} for plot in plots):
        raise RunError("only lines, bars and points have a logarithmic axis", "leave out --log")
    return [replace(plot, plot=replace(plot.plot, is_log=True), ends=None) for plot in plots]


def fields(plots: Sequence[Drawn]) -> list[Drawn]:
    """The same as fields in colours, which shows two factors at once. Raises RunError."""
    if any(len(plot.plot.by) != 1 or plot.form not in {Form.LINES, Form.FIELDS} for plot in plots):
        raise RunError("a heat map needs two factors", "for example: zlang plot 'METRIC over FACTOR by FACTOR' --heat")
    return [replace(plot, form=Form.FIELDS) for plot in plots]


def _words(trials: Trials) -> Vocabulary:
    """The names that a question may use: the metrics and factors that the experiment has in the database."""
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
        "SELECT DISTINCT direction, kind FROM histograms WHERE list_contains(?, run)",
        [[trials.run, *trials.others]],
    ).rows
    names = [distribution(str(of), str(time)) for of, time in kept]
    distributions = {name: Metric(name, "duration", NANOSECONDS, is_distribution=True) for name in sorted(names)}
    units = {name: trials.metrics[name][1] for name in sorted(trials.measured)}
    measured = {name: Metric(name, scalar_of(unit), unit) for name, unit in units.items()}
    return Vocabulary(measured | {ELAPSED.name: ELAPSED}, distributions, tuple(columns), {})


def drawn(trials: Trials, plot: Plot) -> list[Drawn]:
    """The data of one plot; each factor is a plot of its own."""
    columns = (plot.over, *plot.by, *((plot.facet,) if plot.facet else ()))
    pooled = _pooled(trials, plot.measures, columns)
    note = f"pooled over {', '.join(f'`{name}`' for name in pooled)}" if pooled else ""
    caveat = _lacking_caveat(trials, plot.measures, columns) if plot.over.paths else ""
    if not plot.over.paths:
        is_pooled = plot.over.name in {"latency", "second"}
        return [replace(item, note=note) if is_pooled else item for item in series.drawn(trials, plot)]
    measures, answered = _answered(trials, plot.measures, columns)
    kept = tuple((*levels, *own) for levels, _, own in answered if levels[0] is not None)
    note = "; ".join(filter(None, (note, caveat.replace("rows", "points"))))
    return [Drawn(replace(plot, measures=measures), trials.title or trials.experiment, columns, kept, note=note)]


_Answer = tuple[tuple[Cell, ...], int, tuple[Estimate, ...]]
"""Levels, how many trials there are, and an estimate for each measure."""


def _answered(
    trials: Trials, measures: Sequence[Measure], by: Sequence[FactorRef]
) -> tuple[tuple[Measure, ...], list[_Answer]]:
    """The measures, and what they come to at each combination of levels, and in each phase if `by` has them."""
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
    """The factors with several levels that a table or plot does not name."""
    named = {path for factor in columns for path in factor.paths}
    named.update(path for measure in measures for path in mentioned(measure.term))
    names = [name for path, (name, _) in trials.factors.items() if path not in named]
    counts = ", ".join(f"count(DISTINCT {quoted(name)}) > 1" for name in names)
    varied = run_query(trials.db, f"SELECT {counts} FROM {trials.rows} WHERE valid").rows[0] if names else ()
    return [name for name, has_several in zip(names, varied, strict=True) if has_several]


def _estimates(
    trials: Trials, combinations: Sequence[Combination], measures: Sequence[Measure], by: Sequence[FactorRef]
) -> list[tuple[Estimate, ...]]:
    """Each measure in each combination; shares are in percent."""
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
    """The middle of each row's values: of one combination as in a summary, of several the mean over all of them.

    Who names the median gets it, with an interval where it has one, as do values without a geometric mean (zeros).
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
    """A measure that has no interval."""
    sides = [side for side in combination.sides if side.term in set(aggregates(measure.term))]
    value = float(result) if isinstance(result, int | float) else None
    return Estimate(min(side.n for side in sides), value, None, None)


def _times(estimate: Estimate, times: float) -> Estimate:
    value, low, high = (
        None if item is None else item * times for item in (estimate.value, estimate.low, estimate.high)
    )
    return replace(estimate, value=value, low=low, high=high)
