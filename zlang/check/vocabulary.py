"""The vocabulary of clauses: metrics and factors of an experiment, or of a run in a database.

In: an experiment's fields, factors and metrics, or the columns of a database. Out: a `Vocabulary`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from zlang import metrics
from zlang.check import streams, types
from zlang.check.derived_columns import DerivedColumn, FindColumn, finder, words_of
from zlang.check.expressions import Context
from zlang.check.instances import Frame, explored
from zlang.check.measured import MOST_LEVELS, without_samples
from zlang.check.program import ABSENT, Expr, FactorDef, Instance, PartialPoint, Symbol
from zlang.check.questions import FactorRef
from zlang.check.scope import Scope
from zlang.check.types import Type, Variant
from zlang.metrics import Metric
from zlang.record import Record
from zlang.source import Source, Span
from zlang.syntax import tree

_STREAMS = "streams"
"""The reader of a trial that has several."""


class FactorColumn(Record):
    """A factor's column: its name, its path, its type, and its value at a point of `axis`."""

    name: str
    path: str
    sort: str
    axis: str
    size: int
    value: Expr


class OtherExperiments(Record):
    """The experiments of a program that the clauses of one of them (`own`) may name: those `before` it.

    `words` returns the vocabulary of one, and the scope of its clauses; None if it cannot be checked.
    """

    own: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    words: Callable[[str], tuple[Vocabulary, Scope] | None]


class Vocabulary(Record):
    """The names that a clause can use: metrics, latencies with histograms, and factors.

    `fields` are the experiment's own, for `run.bs`. If it `is_partial`, some names could not be read.
    `never` are the metrics and histograms that no trial has, with the reason. `derive` finds columns
    that follow from factors. An `expect` can also name the `others` of the program.
    """

    metrics: Mapping[str, Metric]
    distributions: Mapping[str, Metric]
    columns: tuple[FactorColumn, ...]
    fields: Mapping[str, Expr]
    is_partial: bool = False
    never: Mapping[str, str] = MappingProxyType({})
    without_samples: Mapping[str, str] = MappingProxyType({})
    derive: FindColumn | None = None
    others: OtherExperiments | None = None

    def names(self) -> list[str]:
        """Return all names."""
        return [*sorted(self.measured), *(column.name for column in self.columns)]

    @property
    def measured(self) -> AbstractSet[str]:
        """Return the names of metrics and distributions."""
        return self.metrics.keys() | self.distributions.keys()

    def example(self) -> str:
        """Return a metric to show in a hint, or a placeholder for one."""
        return next(iter(self.metrics), "METRIC")

    def of_metrics(self, *, with_distributions: bool) -> Vocabulary:
        """Return the same vocabulary without factors, for conditions that judge each point alone."""
        return self.replace(
            distributions=self.distributions if with_distributions else {}, columns=(), fields={}, derive=None
        )

    def find(self, path: tuple[str, ...]) -> tuple[FactorColumn, ...]:
        """Return the columns that a name means: several if it is the same property of several workloads."""
        name = ".".join(path)
        exact = tuple(column for column in self.columns if name in {column.name, metrics.column(column.name)})
        if exact:
            return exact
        ends = tuple(column for column in self.columns if f".{column.path}".endswith(f".{name}"))
        if len(ends) == 1:
            return ends
        return self._of_field(path)

    def derived(self, node: tree.Expr) -> DerivedColumn | Expr | None:
        """Return the column that an expression has because it follows from factors, or its constant value."""
        return self.derive(node) if self.derive is not None else None

    def column(self, node: tree.Name) -> FactorRef | None:
        """Return the factor that a name means, or the column that follows from factors."""
        instance, derived = self.find(node.path), self.derived(node)
        ref = derived.ref if isinstance(derived, DerivedColumn) else None
        if not instance:
            return ref
        factor = FactorRef(str(node), tuple(column.path for column in instance), instance[0].sort)
        return ref if ref is not None and _fills_gaps(ref, factor) else factor

    def ambiguous(self, path: tuple[str, ...]) -> list[str]:
        """Return the longer names that end with this one."""
        name = ".".join(path)
        return [column.name for column in self.columns if f".{column.path}".endswith(f".{name}")]

    def _of_field(self, path: tuple[str, ...]) -> tuple[FactorColumn, ...]:
        """Return the columns of `run.bs`: one for each workload with the property, if it is a factor in all of them."""
        field = self.fields.get(path[0])
        factor_columns: list[FactorColumn] = []
        for option in (field.alternatives or (field,)) if field is not None else ():
            part: Expr | None = option
            for word in path[1:]:
                part = part.member(word, option.span) if part is not None and part.member is not None else None
            if part is None:
                continue
            mine = [c for c in self.columns if c.axis in part.reads and c.path.rpartition(".")[2] == path[-1]]
            if len(mine) != 1:
                return ()
            factor_columns += (column for column in mine if column not in factor_columns)
        return tuple(factor_columns)


def _fills_gaps(derived: FactorRef, factor: FactorRef) -> bool:
    """Whether a derived column also has values where no factor of that name exists."""
    places = [derived.paths.index(path) for path in factor.paths if path in derived.paths]
    return len(places) == len(factor.paths) and any(
        all(item.levels[place] is None for place in places) for item in derived.values
    )


def vocabulary_of(
    fields: Mapping[str, Expr],
    factors: Mapping[str, FactorDef],
    scope: Scope,
    measured: Iterable[tuple[str, Metric]],
    *,
    is_partial: bool,
    conditions: Context,
    wheres: Sequence[Expr],
) -> Vocabulary:
    """Return the vocabulary of an experiment: its metrics, its factors, and the names in its `conditions`.

    Metrics that no trial under the `wheres` can have are marked as such.
    """
    every = tuple(measured)
    result: dict[str, Metric] = {}
    distributions: dict[str, Metric] = {}
    needs: dict[str, tuple[str, str]] = {}
    for reader, metric in every:
        # The metrics of one of several streams have the stream's name as a prefix.
        is_path = reader == _STREAMS
        own = {item.name if is_path else metrics.column(item.name): item for item in metrics.in_trials([metric])}
        result |= own
        if metric.is_distribution:
            distributions[metric.name] = metric
        elif is_path:
            distributions |= metrics.distributions_of_streams([metric])
        needs |= {} if is_path else dict.fromkeys([*own, metric.name], (reader, metric.needs))
    result.setdefault(metrics.ELAPSED.name, metrics.ELAPSED)
    requested = set() if is_partial else set(needs.values())
    done = {need: _may_measure(fields["run"], factors, wheres, *need) for need in requested if need[1]}
    never = {unmet: need[1] for unmet, need in needs.items() if not done.get(need, True)}
    columns = tuple(
        _column_of(factor, i, fields, scope) for factor in factors.values() for i in range(len(factor.columns))
    )
    return Vocabulary(
        metrics=result,
        distributions=distributions,
        columns=columns,
        fields=fields,
        is_partial=is_partial,
        never=never,
        without_samples=without_samples(fields, every, scope.kind_called),
        derive=finder(conditions, factors),
    )


def _may_measure(run: Expr, factors: Mapping[str, FactorDef], wheres: Sequence[Expr], reader: str, trait: str) -> bool:
    """Whether a workload with this reader may have the trait; a workload that does not state it may."""

    def read_and_measured(point: PartialPoint) -> tuple[bool, bool]:
        workloads = streams.things_of(run.value(point))
        reading = [workload for workload in workloads if reader in _readers_of(workload)]
        may = not workloads or any(_may_do(workload, trait) for workload in reading or workloads)
        is_possible = may and all(where.value(point) is not False for where in wheres)
        return bool(reading) or not workloads, is_possible

    answers, _, is_all = explored(factors, MOST_LEVELS, read_and_measured)
    is_of_collector = not any(is_read for is_read, _ in answers)
    return any(may and (is_read or is_of_collector) for is_read, may in answers) or not is_all


def _readers_of(workload: Instance) -> set[str]:
    return {item.reader for action in workload.kind.actions.values() for item in action.readers}


def _may_do(workload: Instance, trait: str) -> bool:
    value = workload.kind.traits.get(trait)
    return value is None or value.value(Frame(workload)) is not False


def _column_of(factor: FactorDef, i: int, fields: Mapping[str, Expr], scope: Scope) -> FactorColumn:
    path = factor.column_path(i)
    field = _named(factor, fields, scope) if len(factor.columns) == 1 else None
    levels = [factor.level(k)[i] for k in range(min(factor.size, MOST_LEVELS))]
    type_ = Type(frozenset({factor.types[i]})) if factor.types[i] in types.SCALARS else words_of(levels)
    type_ = types.UNKNOWN if factor.types[i] == "unknown" else type_
    if field is not None:
        value = Expr(factor.span, type_ | field.type, field.value)
    else:
        value = Expr(factor.span, type_, lambda point: factor.level(point.get(factor.path))[i])
    return FactorColumn(
        name=factor.columns[i], path=path, sort=factor.types[i], axis=factor.path, size=factor.size, value=value
    )


def _named(factor: FactorDef, fields: Mapping[str, Expr], scope: Scope) -> Expr | None:
    """Return the choice itself, if it has a name: it knows the kinds of its levels."""
    owner, _, last = factor.path.rpartition(".")
    named = fields.get(last) if owner and "." not in owner else scope.lookup(last, factor.span) if not owner else None
    return named if named is not None and [axis.path for axis in named.axes] == [factor.path] else None


def column_of_results(name: str, path: str, sort: str, levels: Sequence[str]) -> FactorColumn:
    """Return a factor's column in a database; a column of words has all words that occur."""
    element = types.UNKNOWN if any(level.startswith("[") for level in levels) else None
    words = Type(words=tuple(map(Variant, levels)), element=element)
    type_ = Type(frozenset({sort})) if sort in types.SCALARS else words
    span = Span(Source(path, ""), 0, 0)
    value = Expr(span, type_, lambda point: Symbol(levels[point.get(path)]) if levels else ABSENT)
    return FactorColumn(name=name, path=path, sort=sort, axis=path, size=len(levels), value=value)
