"""The questions of a run's experiment: its clauses as written, and the metrics that they ask about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from zlang.check.questions import (
    AnyExpectation,
    Expectation,
    ExpectedRatio,
    Plot,
    Search,
    Table,
    Term,
    Until,
    distribution_of,
    mentioned,
)
from zlang.hints import TYPE_CHECKING, Any, TypeVar
from zlang.metrics import ELAPSED, PERCENTILES, statistic
from zlang.report.formulas import Trials
from zlang.report.summary import usual_metrics, varying
from zlang.store.query import run_query

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
_OF_DISTRIBUTION = "p99"
"""The percentile of each trial that stands for a distribution whose plot the experiment asks for."""


def stored_clauses(trials: Trials, clause: str, kind: type[T]) -> list[T]:
    """The clauses of one kind in the run's experiment, as written."""
    rows = run_query(
        trials.db, "SELECT definition FROM clauses WHERE run = ? AND clause = ? ORDER BY position", [trials.run, clause]
    ).rows
    if not rows:
        return []
    adapter: TypeAdapter[T] = _adapter(kind)  # type: ignore[arg-type]  # a class can be hashed
    return [adapter.validate_json(str(definition)) for (definition,) in rows]


def stored_expectations(trials: Trials) -> list[ExpectedRatio | Expectation]:
    """The expectations of the run's experiment, as written."""
    kind: Any = AnyExpectation  # mypy accepts classes here, but not unions of them
    return stored_clauses(trials, "expect", kind)


@cache
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def primary(trials: Trials) -> list[str]:
    """The default metric of a question that names none, then the other candidates, by their columns.

    It is the first metric that an `expect`, a `table`, a `plot`, a `find` or an `until` names, else the usual metric of
    the workload. A metric that is the same in every trial is not a candidate.
    """
    metrics = _measured(trials)
    usual = usual_metrics(trials.db, trials.rows, list(dict.fromkeys(metrics.values())))
    return list(dict.fromkeys([*varying(trials.db, trials.rows, named(trials)), *usual]))


def named(trials: Trials) -> list[str]:
    """The columns of the measured metrics that the clauses name, those of `expect` first."""
    metrics = _measured(trials)
    return list(dict.fromkeys(metrics[name] for name in _named(trials) if name in metrics))


def _measured(trials: Trials) -> dict[str, str]:
    """The columns of the metrics that were measured, by their names in clauses."""
    names = {*trials.measured, ELAPSED.name}
    return {name: metric for name, (metric, _) in trials.metrics.items() if name in names}


def _named(trials: Trials) -> Iterator[str]:
    """The names of the metrics in the clauses, in order."""
    return metrics_named(
        stored_clauses(trials, "expect", Expectation),
        stored_clauses(trials, "table", Table),
        stored_clauses(trials, "plot", Plot),
        stored_clauses(trials, "find", Search),
        stored_clauses(trials, "until", Until),
    )


def metrics_named(
    expectations: Iterable[Expectation | ExpectedRatio],
    tables: Iterable[Table],
    plots: Iterable[Plot],
    searches: Iterable[Search],
    untils: Iterable[Until],
) -> Iterator[str]:
    """The names of the metrics in clauses, in order; percentiles and distributions stand for percentiles of trials."""
    for expectation in expectations:
        yield from metrics_of(expectation.term)
    for measures in (*(table.measures for table in tables), *(plot.measures for plot in plots)):
        for measure in measures:
            yield from metrics_of(measure.term)
    for search in searches:
        yield from metrics_of(search.objective.term)
        yield from metrics_of(search.condition)
    for until in untils:
        yield from metrics_of(until.term)


def named_factors(trials: Trials) -> list[str]:
    """The columns of the factors that the clauses name, starting with those that an `expect` compares."""
    names = [trials.factors[path][0] for path in _named_paths(trials) if path in trials.factors]
    return list(dict.fromkeys(names))


def _named_paths(trials: Trials) -> Iterator[str]:
    expectations = stored_expectations(trials)
    for expectation in expectations:
        yield from mentioned(expectation.term)
    for search in stored_clauses(trials, "find", Search):
        yield search.path
    tables, plots = stored_clauses(trials, "table", Table), stored_clauses(trials, "plot", Plot)
    axes = [(plot.over, *plot.by, *([plot.facet] if plot.facet else [])) for plot in plots]
    for refs in (*(table.by for table in tables), *axes, *(expectation.by for expectation in expectations)):
        for ref in refs:
            yield from ref.paths


def metrics_of(term: Term) -> Iterator[str]:
    """The metrics in a formula, including the per-trial metrics that correspond to percentiles and distributions."""
    if term.op == "metric":
        yield term.name
    if term.op == "distribution":
        yield statistic(distribution_of(term), _OF_DISTRIBUTION)
    if term.op == "percentile":
        wanted = round(1000 * float(term.value or 0))
        nearest = min(PERCENTILES, key=lambda pair: abs(pair[1] - wanted))[0]
        yield statistic(distribution_of(term), nearest)
    for part in term.terms:
        yield from metrics_of(part)
