"""Questions about the results of an experiment, as plain data: from its clauses through the plan to the database.

Rule: a question contains only names of metrics, paths of factors and numbers in base units (bytes, seconds, per second,
fractions of one), so that it has the same meaning wherever it is answered.
"""

from __future__ import annotations

from collections.abc import Iterator

from zlang.check.types import AGGREGATES
from zlang.frozen import frozen


@frozen
class LevelsWithValue:
    """A level of each of the `paths`, None where that factor does not exist, and the value at these levels."""

    levels: tuple[str | int | float | bool | None, ...]
    value: str | int | float | bool | None


@frozen
class Term:
    """A formula over the columns of trials. The meaning of its parts depends on `op`.

    `value`: the `value`. `metric`: the column `name`. `factor`: the first of the factors `paths` that exists,
    or, if it has `values`, the value at their levels (in the unit of its `type`).
    `median` and the other aggregates: over `terms[0]` of the trials for which `terms[1]`, if present, is true;
    `name` is its text, `type` its type. `percentile`: the smallest latency below which the share `value` of
    all operations lies, from the histograms of `distribution_of` it, for the trials for which `terms[0]`, if
    present, is true. `phase`: `terms[0]` in the phase `name`. `in`: whether the first of `terms` is one of the others.
    Otherwise: the operator of that name.
    """

    op: str
    terms: tuple[Term, ...] = ()
    name: str = ""
    value: str | int | float | bool | None = None
    paths: tuple[str, ...] = ()
    type: str = ""
    values: tuple[LevelsWithValue, ...] = ()


def distribution_of(term: Term) -> str:
    """Return the distribution whose histograms a percentile or a plot reads; older plans split its name in two."""
    return "_".join(part for part in term.paths if part)


@frozen
class FactorRef:
    """A factor by which answers are sorted: its text, its paths, and the type of its column.

    A column that is not a factor, but follows from factors, has its `values` for their levels.
    """

    name: str
    paths: tuple[str, ...]
    type: str
    values: tuple[LevelsWithValue, ...] = ()


OF_PHASES = FactorRef("phase", ("phase",), "word")
"""The name to sort by `phase` as if it were a factor: each measure belongs to one phase."""


@frozen
class Measure:
    """A measure over several trials: its text, its formula, and the type of its value."""

    name: str
    term: Term
    type: str


@frozen
class Expectation:
    """An expected result, overall or for each combination of the factors `by`, which it does not mention."""

    title: str
    text: str
    term: Term
    by: tuple[FactorRef, ...]


@frozen
class ExpectedRatio(Expectation):
    """An expected ratio: `op` compares `term`, an aggregate of this experiment, with `limit` times the `other` one.

    The other aggregate belongs to the latest run of `experiment`, or to the run before (`PREVIOUS`). Neither aggregate
    mentions the factors `matched`, which begin with those of `by`.
    """

    experiment: str
    other: Term
    op: str
    limit: float
    matched: tuple[FactorRef, ...]


AnyExpectation = ExpectedRatio | Expectation
"""The more specific one comes first, so that it is recognised by its fields."""

PREVIOUS = "previous"
"""In a clause: the run of the same experiment before this one."""


@frozen
class Table:
    """Measures by factors."""

    text: str
    measures: tuple[Measure, ...]
    by: tuple[FactorRef, ...]


AXES = {"factors": "word", "latency": "duration", "position": "count", "second": "duration"}
"""Axes of a plot that are not factors, with their types; a factor of the same name has precedence."""


@frozen
class Plot:
    """Measures over a factor, with a line for each level of others, and a picture for each level of one more.

    Without paths, the axis is one of `AXES`: `factors` is each factor in turn, `position` each trial's place in the run
    order; over `latency` a measure is a distribution (a `Term` with that `op`), over `second` a sampled series.
    If `is_log`, the axis of the measures is logarithmic.
    """

    text: str
    measures: tuple[Measure, ...]
    over: FactorRef
    by: tuple[FactorRef, ...]
    facet: FactorRef | None
    is_log: bool = False


@frozen
class Until:
    """A condition that ends the replicates of a point: at least `least` of them, and a precise estimate of `term`.

    It is precise if its 95 % interval extends no further from the estimate than the share `within`.
    `text` is the clause as written.
    """

    text: str
    least: int
    term: Term
    within: float


@frozen
class Search:
    """A factor whose levels are searched for the boundary at which `condition` ceases to hold.

    The search is separate for each combination of the other factors. Among the measured levels at which it holds, the
    answer has the largest `objective` (the smallest, unless it `maximises`). `text` is as written.
    With a `least`, a level is measured that often, and then again until its interval decides the condition.
    """

    text: str
    factor: str
    path: str
    levels: int
    condition: Term
    objective: Measure
    maximises: bool
    least: int = 0


Clause = Expectation | Table | Plot
INFERRED = frozenset({"median", "mean", "percentile"})
"""The aggregates whose interval follows from how trials differ."""


def path_of_pass(experiment: str) -> str:
    """Return the path of the factor that numbers the passes over kept data."""
    return f"{experiment}.layout.pass"


def aggregates(term: Term) -> Iterator[Term]:
    """Yield the aggregates in a formula."""
    if is_aggregate(term):
        yield term
    else:
        for part in term.terms:
            yield from aggregates(part)


def is_aggregate(term: Term) -> bool:
    """Whether the formula aggregates several trials."""
    return term.op == "percentile" or term.op in AGGREGATES


def mentioned(term: Term) -> tuple[str, ...]:
    """Return the paths of the factors in a formula, in order of appearance."""
    own = term.paths if term.op == "factor" else ()
    return tuple(dict.fromkeys([*own, *(path for part in term.terms for path in mentioned(part))]))


def metrics_of(term: Term) -> frozenset[str]:
    """Return the names of the metrics in a formula."""
    own = frozenset([term.name]) if term.op == "metric" else frozenset[str]()
    return own.union(*(metrics_of(part) for part in term.terms))
