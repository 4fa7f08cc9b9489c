"""Questions about the results of an experiment, as plain data: from its clauses through the plan to the database.

Rule: nothing but names of metrics, paths of factors and numbers in base units (bytes, seconds, per second, parts of
one), so that a question means the same wherever its answer is looked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from zlang.check.types import AGGREGATES
from zlang.frozen import frozen


@frozen
class Term:
    """A formula over the columns of trials. What its parts mean depends on `op`.

    `value`: the `value`. `metric`: the column called `name`. `factor`: the first of the factors `paths` that exists.
    `median` and the other aggregates: of `terms[0]` over the trials for which `terms[1]`, if it is there, is true;
    `name` is how it was written, `type` what it is. `percentile`: the smallest latency below which the share `value` of
    all operations lies, by the histograms of the `distribution_of` it, of the trials for which `terms[0]`, if it is
    there, is true. `phase`: `terms[0]` in the phase `name`. `in`: whether the first of `terms` is one of the others.
    Else: the operator of that name.
    """

    op: str
    terms: tuple[Term, ...] = ()
    name: str = ""
    value: str | int | float | bool | None = None
    paths: tuple[str, ...] = ()
    type: str = ""


def distribution_of(term: Term) -> str:
    """The distribution whose histograms a percentile or a plot reads; older plans name it in two parts."""
    return "_".join(part for part in term.paths if part)


@frozen
class LevelsWithValue:
    """A level of each of the `paths`, None where that factor does not exist, and the value that goes with them."""

    levels: tuple[str | int | float | bool | None, ...]
    value: str | int | float | bool | None


@frozen
class FactorRef:
    """A factor that answers are sorted by: as it was written, its paths, and the type of its column.

    What is no factor, but follows from the levels of some, has its `values` by the levels of all of these.
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
    """An expected result, in each combination of the factors `by`, which it does not mention, or overall."""

    title: str
    text: str
    term: Term
    by: tuple[FactorRef, ...]


@frozen
class ExpectedRatio(Expectation):
    """An expected ratio: `term`, an aggregate of this experiment, is `op` than `limit` times the `other` one.

    That is of the latest run of another `experiment`, or of the run before (`PREVIOUS`). The factors `matched`, which
    begin with those of `by`, are the ones that neither mentions.
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
    """Measures over a factor, a line for each level of others, a picture for each level of one more.

    Over one of `AXES`, which has no paths: `factors` is each factor in turn, `position` the place of each trial in the
    order; over `latency` a measure is a distribution (a `Term` whose `op` is that), over `second` what was sampled.
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
    """A condition that ends the replicates of a point: there are `least` of them, and the middle of `term` is precise.

    It is precise if its 95 % interval reaches no further from it than the share `within`. `text` is the clause as
    written.
    """

    text: str
    least: int
    term: Term
    within: float


@frozen
class Search:
    """A factor whose levels are searched for the place at which `condition` ceases to hold.

    It is searched at each combination of the others. Of the levels that were measured and at which it holds that one
    is the answer where `objective` is largest (smallest, unless it `maximises`). `text` is as it was written.
    If there is a `least`, a level is measured so often, and again until its interval decides the condition.
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


def aggregates(term: Term) -> Iterator[Term]:
    """The aggregates in a formula."""
    if is_aggregate(term):
        yield term
    else:
        for part in term.terms:
            yield from aggregates(part)


def is_aggregate(term: Term) -> bool:
    """Whether it is of several trials."""
    return term.op == "percentile" or term.op in AGGREGATES


def mentioned(term: Term) -> tuple[str, ...]:
    """The paths of the factors in a formula, in the order in which they are written."""
    own = term.paths if term.op == "factor" else ()
    return tuple(dict.fromkeys([*own, *(path for part in term.terms for path in mentioned(part))]))


def metrics_of(term: Term) -> frozenset[str]:
    """The names of the metrics in a formula."""
    own = frozenset([term.name]) if term.op == "metric" else frozenset[str]()
    return own.union(*(metrics_of(part) for part in term.terms))
