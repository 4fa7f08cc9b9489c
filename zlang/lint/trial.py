"""A trial as rules see it: the traits of the workload and of the things it runs on, never the name of a kind.

A trait is None if the kind does not declare it, or if it cannot be computed at this trial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain

from zlang.check import schedules, streams
from zlang.check.instances import Frame, LazyValues, treatment_site
from zlang.check.program import Experiment, Instance, PartialPoint, Point, Symbol, Value
from zlang.check.streams import Stream
from zlang.hints import TYPE_CHECKING, Any, TypeVar
from zlang.metrics import Metric, distributions_of_streams, in_trials
from zlang.source import Span
from zlang.space import faults, points
from zlang.units import Quantity

if TYPE_CHECKING:
    from zlang.check.questions import Clause, Term

T = TypeVar("T")
_MOST_TIED = 256
"""The number of combinations of tied factors that a rule looks at."""
TraitValue = Fraction | bool | str | None
"""Sizes in bytes, durations in seconds, shares as parts of one."""


class Thing:
    """A declared thing at a trial."""

    def __init__(self, instance: Instance, target: Instance | None = None) -> None:
        self.instance = instance
        self._frame = Frame(instance, target)
        self._values: dict[str, TraitValue] = {}
        self._reads: dict[str, list[tuple[str, frozenset[str]]]] = {}
        self._places: dict[str, Mapping[str, Span]] = {}

    @property
    def name(self) -> str:
        """The name to show to people."""
        return streams.event_name(self.instance)

    @cached_property
    def stack(self) -> tuple[Thing, ...]:
        """The thing and everything below it, down to the machine."""
        result, instance = list[Thing](), self.instance.parent
        while instance is not None:
            result.append(Thing(instance))
            instance = instance.parent
        return Thing(self.instance), *result

    @property
    def schedules(self) -> dict[str, tuple[Span, Fraction]]:
        """The place of each schedule of the workload, and the seconds after which it repeats."""
        places, span = self.instance.places, self.instance.span
        assert span is not None, f"BUG: {self.instance.key} was declared nowhere"
        return {name: (places.get(name, span), lasts) for name, lasts in schedules.durations(self.instance).items()}

    def trait(self, trait: str) -> TraitValue:
        """The value of a trait that the thing's own kind declares."""
        if trait not in self._values:
            self._values[trait] = self._worked_out(trait)
        return self._values[trait]

    def _worked_out(self, trait: str) -> TraitValue:
        traits = self.instance.kind.traits
        if trait not in traits:
            return None
        resolved = traits[trait]
        given = self.instance.values
        if type(given) is not LazyValues:  # `isinstance` with an abstract class takes ten times as long
            return plain(resolved.value(self._frame))
        begin = len(given.reads)
        value = plain(resolved.value(self._frame))
        self._reads[trait] = given.reads[begin:]
        beneath = self._inherits(trait)
        if beneath is None:
            return value
        value = beneath.trait(trait)
        self._reads[trait], self._places[trait] = beneath.reads_of(trait), beneath.places_of(trait)
        return value

    def reads_of(self, trait: str) -> list[tuple[str, frozenset[str]]]:
        """The properties that decide a trait, each with the factors that decide it."""
        return self._reads.get(trait, [])

    def places_of(self, trait: str) -> Mapping[str, Span]:
        """The places of the properties that decide a trait: its own, or those of the thing that it inherits from."""
        return self._places.get(trait, self.instance.places)

    def _inherits(self, trait: str) -> Thing | None:
        """The thing below, if it has the property that decides the trait and this thing does not set the property.

        Only kinds of one module share properties: a dataset and the dataset or volume in it.
        """
        instance, names = self.instance, {name for name, _ in self._reads[trait]}
        parent = instance.parent
        if not names or parent is None or names & instance.places.keys() or parent.kind.module != instance.kind.module:
            return None
        has_same = trait in parent.kind.traits and names <= parent.kind.properties.keys()
        return Thing(parent) if has_same else None

    def is_inherited(self, trait: str) -> bool:
        """Whether a trait has the value of the thing below."""
        self.trait(trait)
        return trait in self._places

    def number(self, trait: str) -> Fraction | None:
        """The value of a trait, if that is a number."""
        value = self.trait(trait)
        return value if isinstance(value, Fraction) else None

    def advice(self, trait: str) -> str:
        """The text that a trait advises to write in a program; empty if the kind names none."""
        value = self.trait(trait)
        return value if isinstance(value, str) else ""

    def is_(self, trait: str) -> bool:
        """Whether a trait is true; an unknown trait is not."""
        return self.trait(trait) is True

    def is_not(self, trait: str) -> bool:
        """Whether a trait is known to be false."""
        return self.trait(trait) is False

    def factors(self, trait: str) -> frozenset[str]:
        """The factors that decide a trait while the thing stays the same."""
        self.trait(trait)
        return frozenset[str]().union(*(factors for _, factors in self._reads.get(trait, ())))

    def word(self, trait: str) -> str:
        """The property that decides a trait, given or not."""
        self.trait(trait)
        return next((name for name, _ in self._reads.get(trait, ())), trait)

    def leaves_open(self, trait: str) -> bool:
        """Whether the kind declares a trait that is unknown here, because the property that decides it is not given."""
        return trait in self.instance.kind.traits and self.trait(trait) is None

    def is_stated(self, trait: str) -> bool:
        """Whether a property that decides a trait was given."""
        self.trait(trait)
        return any(name in self.places_of(trait) for name, _ in self._reads.get(trait, ()))

    def place(self, *traits: str) -> Span:
        """The place of the first of these traits that the program decides; by default the thing itself."""
        for trait in traits:
            for name, _ in self._reads.get(trait, ()):
                if name in self.places_of(trait):
                    return self.places_of(trait)[name]
        assert self.instance.span is not None, f"BUG: {self.instance.key} was declared nowhere"
        return self.instance.span


def formulas(experiment: Experiment) -> Iterator[Term]:
    """The formulas in an experiment's clauses, including the clauses that decide what is measured."""
    return chain.from_iterable(formulas_by_clause(experiment))


def formulas_by_clause(experiment: Experiment) -> Iterator[Iterator[Term]]:
    """The formulas of each clause, `until` and `find` among them."""
    yield from map(terms, experiment.clauses)
    if experiment.until is not None:
        yield _parts([experiment.until.term])
    if experiment.search is not None:
        yield _parts([experiment.search.condition, experiment.search.objective.term])


def terms(clause: Clause) -> Iterator[Term]:
    """The formulas of a clause, each before its parts."""
    from zlang.check.questions import Expectation

    return _parts([clause.term] if isinstance(clause, Expectation) else [measure.term for measure in clause.measures])


def _parts(pending: list[Term]) -> Iterator[Term]:
    while pending:
        term = pending.pop(0)
        yield term
        pending += term.terms


def metrics_of(experiment: Experiment, terms: Iterable[Term]) -> dict[str, Metric]:
    """The declared metrics and distributions that formulas read, by name."""
    names = [name for term in terms for name in _read_by(term)]
    if not names:  # many rules ask, and an experiment of many streams has many metrics
        return {}
    declared = {metric.name: metric for metric in (*experiment.metrics, *in_trials(experiment.metrics))}
    declared |= distributions_of_streams(experiment.metrics)
    return {name: declared[name] for name in names if name in declared}


def _read_by(term: Term) -> tuple[str, ...]:
    if term.op == "metric":
        return (term.name,)
    return term.paths if term.op in {"percentile", "distribution"} else ()


class _FirstOfAll(PartialPoint):
    """The point at which every factor has its first level; its things record which of their traits were read."""

    def __init__(self) -> None:
        super().__init__({}, frozenset())

    def get(self, key: str, _default: object = None) -> int:
        """The level of a factor."""
        return dict.get(self, key, 0)


class _FirstOfSome(PartialPoint):
    """A point at which some factors have their first level, and all others their level at another point."""

    def __init__(self, some: frozenset[str], point: PartialPoint) -> None:
        super().__init__({}, frozenset())
        self._some, self._point = some, point

    def get(self, key: str, _default: object = None) -> int:
        """The level of a factor."""
        return 0 if key in self._some else self._point.get(key)


class TrialView:
    """A trial of an experiment, computed lazily as rules read it; `here` has the known facts of this machine.

    The view is that of one of its streams, whose number is `stream`.
    """

    def __init__(
        self, experiment: Experiment, point: PartialPoint, here: Instance | None = None, stream: int = 0
    ) -> None:
        self.experiment = experiment
        self._point, self._here, self.stream = point, here, stream
        self._of_streams: dict[object, list[Any]] = {}

    def of_stream(self, number: int) -> TrialView:
        """The view of another stream of the same trial, which shares what is computed for all streams."""
        view = TrialView(self.experiment, self._point, self._here, number)
        view._of_streams = self._of_streams
        return view

    def of_streams(self, key: object, compute: Callable[[], Iterable[T]]) -> list[T]:
        """Something of all streams, computed once for the views of a trial."""
        if key not in self._of_streams:
            self._of_streams[key] = list(compute())
        return self._of_streams[key]

    @property
    def prefix(self) -> str:
        """The words before METRIC in a metric of this stream alone: `STREAM.`."""
        return f"{self.streams[self.stream].group}."

    def requested(self, terms: Iterable[Term]) -> dict[str, Metric]:
        """The metrics that formulas read, by name; a metric of this stream alone means what METRIC means."""
        requested = metrics_of(self.experiment, terms)
        if any(name.startswith(self.prefix) for name in requested):
            every = (*self.experiment.metrics, *in_trials(self.experiment.metrics))
            declared = {f"{self.prefix}{metric.name}": metric.means for metric in every}
            requested = {
                name: metric.replace(means=declared.get(name, metric.means)) for name, metric in requested.items()
            }
        return requested

    @cached_property
    def streams(self) -> Sequence[Stream]:
        """All workloads that run at the same time."""
        return self.of_streams("streams", lambda: streams.at(self.experiment, self._point))

    @property
    def repeat(self) -> int:
        """The largest number of measurements of the point."""
        return points.repeat_at(self.experiment, self._point)

    def clause_span(self, name: str) -> Span:
        """The place of a field or a clause of the experiment; by default that of its name."""
        return self.experiment.places.get(name, self.experiment.span)

    @property
    def _workloads(self) -> Sequence[Thing]:
        """The workloads of all streams."""
        return self.of_streams("workloads", lambda: (Thing(each.workload, each.on) for each in self.streams))

    @property
    def others(self) -> tuple[Thing, ...]:
        """The workloads that run at the same time as this stream; none if all are copies of one."""
        if not streams.may_differ(self.experiment):
            return ()
        every = self.streams
        if len({stream.group for stream in every}) == 1:
            return ()
        return tuple(thing for i, thing in enumerate(self._workloads) if i != self.stream)

    @property
    def may_read(self) -> bool:
        """Whether the workload reads, or says only that it does not write, as a command does where there are data."""
        if self.run.trait("reads") is not None:
            return self.run.is_("reads")
        has_data = any(thing.trait("holds") is not None or thing.instance.is_given for thing in self.beneath)
        return self.run.is_not("modifies") and has_data

    @property
    def later_on_target(self) -> tuple[Thing, ...]:
        """The workloads on the same target that are declared after this one, without its copies."""
        if len(self.streams) == 1:
            return ()
        own = self.streams[self.stream]
        later = self.streams[self.stream + 1 :]
        return tuple(
            Thing(stream.workload, stream.on) for stream in later if stream.on == own.on and stream.group != own.group
        )

    @property
    def meanwhile_on_target(self) -> tuple[Thing, ...]:
        """The workloads that are events of the trial, and run on the target of this stream."""
        events = streams.events_at(self.experiment, self._point) if self.experiment.during else ()
        first, own = next(iter(streams.targets(self.streams)), None), self.streams[self.stream].on
        workloads = [(event, event.parent or first) for event in events if event.kind.role == "workload"]
        return tuple(Thing(event, on) for event, on in workloads if on is not None and on == own)

    @property
    def copies_on_target(self) -> int:
        """The number of copies of the workload on the same target, including itself."""
        if len(self.streams) == 1:
            return 1
        own = self.streams[self.stream]
        return sum(stream.group == own.group and stream.on == own.on for stream in self.streams)

    @property
    def views(self) -> tuple[TrialView, ...]:
        """A view of the trial for each of its streams, including copies."""
        views = []
        for number, stream in enumerate(self.streams):
            view = self.of_stream(number)
            view.target = Thing(stream.on) if stream.on else None
            views.append(view)
        return tuple(views)

    @property
    def events(self) -> tuple[tuple[Thing, Fraction], ...]:
        """The events of the trial, each with the seconds after which it begins."""
        events = streams.events_at(self.experiment, self._point) if self.experiment.during else ()
        return tuple((Thing(event), streams.begins(event)) for event in events)

    def redundant_below(self, event: Thing) -> Thing | None:
        """The nearest thing below an event that declares how many of its devices can fail."""
        on = event.instance.parent or next(iter(streams.targets(self.streams)), None)
        site = treatment_site(event.instance, on)
        stack = Thing(site).stack if site is not None else ()
        return next((thing for thing in stack if thing.trait("redundancy") is not None), None)

    @cached_property
    def target(self) -> Thing | None:
        """The target of the trial."""
        if streams.may_differ(self.experiment):
            on = self.streams[self.stream].on
            return Thing(on) if on else None
        value = self.experiment.on.value(self._point) if self.experiment.on else None
        return Thing(value) if isinstance(value, Instance) else None

    @cached_property
    def run(self) -> Thing:
        """The workload."""
        if streams.may_differ(self.experiment):
            return self._workloads[self.stream]
        value = self.experiment.run.value(self._point)
        target = self.target
        assert isinstance(value, Instance), "BUG: a workload that is none"
        return Thing(value, target.instance if target else None)

    @cached_property
    def before(self) -> Thing | None:
        """The treatment of the target."""
        value = self.experiment.before.value(self._point) if self.experiment.before else None
        return Thing(value) if isinstance(value, Instance) else None

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases of the cache protocol."""
        value = self.experiment.cache.value(self._point)
        if isinstance(value, Instance):
            return value.kind.phases
        return self.experiment.protocols[value.name].phases if isinstance(value, Symbol) else ()

    @property
    def is_cold(self) -> bool:
        """Whether the caches are verified to be empty."""
        return "verify_cold" in self.phases

    @cached_property
    def beneath(self) -> tuple[Thing, ...]:
        """The target and everything below it, down to the machine.

        What is built on another of its kind, as a dataset in a dataset, inherits from that; the settings of
        the other do not bear upon its data.
        """
        stack = self.target.stack if self.target is not None else ()
        kinds = [None, *(thing.instance.kind for thing in stack)]
        return tuple(thing for thing, above in zip(stack, kinds, strict=False) if thing.instance.kind is not above)

    @property
    def never_written(self) -> Thing | None:
        """The first of the things beneath that holds data whose blocks were never written."""
        return None if self.before is not None else never_written(self.beneath)

    def having(self, trait: str) -> Thing | None:
        """The nearest of the things beneath that has a value of the trait."""
        return next((thing for thing in self.beneath if thing.trait(trait) is not None), None)

    @property
    def is_direct(self) -> bool:
        """Whether I/O bypasses the caches: the workload requests or the target forces it, and the target allows it."""
        ignoring, forcing = self.having("ignores_direct"), self.having("forces_direct")
        if ignoring is not None and ignoring.is_("ignores_direct"):
            return False
        return self.run.is_("uncached") or (forcing is not None and forcing.is_("forces_direct"))

    @property
    def waits_for_writes(self) -> bool:
        """Whether the target makes every write stable, whatever the workload requests."""
        nearest = self.having("stable")
        return nearest is not None and nearest.is_("stable")

    @property
    def collectors(self) -> tuple[Thing, ...]:
        """The collectors."""
        value = self.experiment.collect.value(self._point) if self.experiment.collect else None
        return tuple(map(Thing, streams.things_of(value)))

    @property
    def first_target(self) -> Thing | None:
        """The target at the point where every factor has its first level."""
        return self.first.target

    @property
    def first(self) -> TrialView:
        """The trial at which every factor has its first level."""
        (view,) = self.of_streams("first", lambda: (TrialView(self.experiment, _FirstOfAll()),))
        return view

    @property
    def on_first_target(self) -> TrialView | None:
        """The same stream of the trial that differs only in that the target's factors have their first level."""
        on = self.experiment.on
        if on is None or not on.reads:
            return None
        view = TrialView(self.experiment, _FirstOfSome(on.reads, self._point), self._here, self.stream)
        return view if len(view.streams) == len(self.streams) else None

    def is_tied_to_target(self, trait: str) -> bool:
        """Whether conditions give a trait of the workload no value here that it has on the first target."""
        on, run = self.experiment.on, self.experiment.run.reads
        if on is None:
            return False
        tying = [
            each.reads for each in points.conditions(self.experiment) if each.reads & on.reads and each.reads & run
        ]
        tied = frozenset[str]().union(*tying)
        targets = [path for path in self.experiment.factors if path in tied & on.reads]
        possible = faults.listed(self.experiment, sorted(tied), _MOST_TIED) if targets else None
        values: dict[tuple[int | None, ...], set[TraitValue]] = {}
        for point, _ in (possible or {}).values():
            view = TrialView(self.experiment, PartialPoint(point, point.keys()), self._here, self.stream)
            if self.stream < len(view.streams):  # a target may have fewer streams than another
                values.setdefault(tuple(point.get(path) for path in targets), set()).add(view.run.trait(trait))
        here = values.get(tuple(self._point.get(path) for path in targets))
        return here is not None and here.isdisjoint(next(iter(values.values())))

    @property
    def machine(self) -> Thing | None:
        """The machine of the target, if something is known of it; without a named host it is this machine."""
        named = next((thing for thing in self.beneath if thing.instance.kind.role == "machine"), None)
        return named or (Thing(self._here) if self._here else None)

    def fact(self, name: str) -> TraitValue:
        """The value of one of the machine's facts."""
        machine = self.machine
        return plain(machine.instance.values.get(name)) if machine else None


def never_written(beneath: Iterable[Thing]) -> Thing | None:
    """The thing that holds the target's data (below a device, if it is one), if its blocks were never written."""
    for thing in beneath:
        if thing.trait("unwritten") is not None:
            return thing if thing.is_("unwritten") else None
        if "block" not in thing.instance.kind.offers:
            return None
    return None


def each(experiment: Experiment, point: PartialPoint, here: Instance | None) -> Iterator[TrialView]:
    """The views of a trial, one for each of its streams."""
    first = TrialView(experiment, point, here)
    yield first
    for number in range(1, len(first.streams) if streams.may_differ(experiment) else 1):
        yield first.of_stream(number)


def plain(value: Value) -> TraitValue:
    """A value in the form in which rules compute with it."""
    if isinstance(value, Quantity):
        return value.amount
    if isinstance(value, Symbol):
        return value.name
    return value if isinstance(value, bool | str) else None


def at(experiment: Experiment, point: Point, decided: frozenset[str]) -> TrialView:
    """The trial at a point of which only the levels of these factors are known."""
    return TrialView(experiment, PartialPoint(point, decided))
