"""From a checked experiment to its plan.

In: an `Experiment`, a seed, and what identifies the program. Out: `Schedule` (which trial is when) and `Plan` (what is
done). Rule: the same input and seed give the same plan, byte for byte; items are made as they are asked for.
Raises ProgramError where a point cannot be carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, islice
from operator import mul
from typing import TypeVar

from zlang.check import hosts, values
from zlang.check.answers import Expectation, Plot, Table
from zlang.check.instances import Frame, ground
from zlang.check.kinds import option_word
from zlang.check.program import (
    ActionDef,
    Experiment,
    FactorDef,
    Instance,
    Kind,
    Program,
    Symbol,
    Value,
)
from zlang.check.texts import shell_text
from zlang.check.traits import TRAITS
from zlang.diagnostics import Code, ProgramError
from zlang.lint.trial import Thing
from zlang.plan import load
from zlang.plan.difference import Told
from zlang.plan.order import Layout, Order, Place, Rounds, order, sampled, written
from zlang.plan.plan import Action, Device, Factor, Finding, Guarded, Header, Plan, Scalar, Setup, Step, Trial
from zlang.plan.setups import Setups, drawn_frame, filled, guards, leaves_changed, rehearsal_frame, steps_of
from zlang.space import bisection, faults, points
from zlang.space.space import Space

_AS_IS = "as_is"
"""What is said of caches that nothing was done about, or that were not verified."""
_SHOWN_LEVELS = 1000
_LOOKED_AT = 100_000
_KEPT = 4096
_KEPT_NATURES = tuple(name for name, trait in TRAITS.items() if trait.is_kept)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Slot:
    """One trial before its steps are known: its place and its point."""

    number: int
    block: int
    replicate: int
    point: Mapping[str, int]
    whole_plot: int


class Schedule:
    """Which trial is when: what an experiment's design takes of its space, by whole plots."""

    def __init__(
        self,
        experiment: Experiment,
        seed: int,
        part: str | None = None,
        order: Order = Order.PLANNED,
        like: Schedule | None = None,
        rounds: Rounds | None = None,
    ) -> None:
        self.experiment, self.seed, self.part, self.order = experiment, seed, part, order
        self.space: Space = like.space if like else points.without_search(experiment)
        self.search = experiment.search
        self.rounds = rounds or (bisection.rounds(self.search.levels) if self.search else ((0,),))
        decisive = frozenset[str]().union(*(expr.reads for expr in (experiment.on, experiment.before) if expr))
        costs = {path: factor.cost or "create" for path, factor in experiment.factors.items()}
        self.dear = sorted(path for path in decisive if costs.get(path) not in {"none", "live"})
        self.taken: list[dict[str, int]] | None = like.taken if like else points.chosen(experiment, self.space, seed)
        self.plots = points.plots(self.space, self.taken, self.dear if order.has_plots else ())
        self._setups = Setups(seed, part)
        self._cells = [_cells(factor) for factor in experiment.factors.values()]
        self.trials = self.plots.points * sum(map(len, self.rounds)) * experiment.repeat
        self.hosts: tuple[str, ...] = like.hosts if like else self._hosts()
        if like is not None and rounds is None:
            self.trials = like.trials
        elif part is not None:
            self.trials = sum(1 for _ in self.slots())

    def _hosts(self) -> tuple[str, ...]:
        """The hosts that have trials; where these are too many to be looked at, those that could have any."""
        found = hosts.names(self.experiment)
        if len(found) == 1 or self.trials > _LOOKED_AT:
            return found
        there = {hosts.name_at(self.experiment, slot.point) for slot in self._every_slot()}
        return tuple(name for name in found if name in there)

    def slots(self) -> Iterator[Slot]:
        """Every trial of the part that is planned, in order."""
        if self.part is None or self.hosts == (self.part,):
            return self._every_slot()
        return (slot for slot in self._every_slot() if hosts.name_at(self.experiment, slot.point) == self.part)

    def _every_slot(self) -> Iterator[Slot]:
        plot, last = 0, None
        for number, place in enumerate(order(self._layout, self.order), start=1):
            slot = self._slot(number, place, plot)
            whole = place.plot if self.order.has_plots else tuple(map(slot.point.get, self.dear))
            if whole != last:
                plot, last = plot + 1, whole
                slot = replace(slot, whole_plot=plot)
            yield slot

    def slot(self, number: int) -> Slot:
        """The trial of a number; of one far away in an order without plots the whole plot (0) is not counted."""
        if number <= _LOOKED_AT or self.part is not None:
            return next(islice(self.slots(), number - 1, None))
        place = next(order(self._layout, self.order, number - 1))
        counted = 1 + (place.block - 1) // self._layout.passes if self.order is Order.PLANNED else 0 if self.dear else 1
        return self._slot(number, place, counted)

    @property
    def _layout(self) -> Layout:
        keys = self._states if self.plots.count > 2 else None  # noqa: PLR2004 - there is nothing to sort
        return Layout(self.plots.count, self.plots.size, self.experiment.repeat, self.seed, keys, self.rounds)

    def _slot(self, number: int, place: Place, plot: int) -> Slot:
        point = self.plots.at(place.plot, place.point)
        if self.search is not None:
            point = {**point, self.search.path: place.level}
        return Slot(number, place.block, place.replicate, point, plot)

    def sampled(self, count: int) -> Iterator[tuple[float, Slot | None, Slot]]:
        """Trials drawn from the order, each with the one before it, and how many trials it stands for."""
        if self.order is Order.AS_WRITTEN:
            counts = self.space.counts if self.taken is None else ()
            drawn = written(self._layout, tuple(accumulate(reversed(counts[1:]), mul)), count)
        else:
            drawn = sampled(self._layout, self.order, count)
        for weight, before, place in drawn:
            yield weight, self._slot(0, before, 0) if before else None, self._slot(0, place, 0)

    def carried_out(self) -> Schedule:
        """The trials that are carried out, of a search as many as it may need at most."""
        if self.search is None:
            return self
        rounds = [(level,) for level in bisection.longest(self.search.levels)]
        return Schedule(self.experiment, self.seed, self.part, self.order, self, rounds)

    def ordered(self, how: Order) -> Schedule:
        """The same trials in another order."""
        return Schedule(self.experiment, self.seed, self.part, how, self)

    @property
    def whole(self) -> tuple[str, ...]:
        """The names of the factors that are dear to change."""
        dear = [factor for path, factor in self.experiment.factors.items() if path in self.dear]
        return tuple(name for factor in dear for name in factor.columns)

    def _states(self, plot: int) -> tuple[Hashable, ...]:
        """The states in which a plot needs what it stands on, parents first: what is made, then what is rewritten."""
        found: list[Hashable] = []
        with suppress(ProgramError):  # said when the plot is planned
            on, before = _treated(self.experiment, self.plots.at(plot, 0))
            for setup in self._setups.of(_resources(on), before) if on is not None else ():
                rewritten = [one for one in setup.settings if one.rewrites]
                found += [setup.base or setup.signature, tuple(step.command for one in rewritten for step in one.steps)]
        return tuple(found)

    def factors(self, point: Mapping[str, int]) -> dict[str, Scalar]:
        """The columns of a point; a factor that does not exist in it is None."""
        row: dict[str, Scalar] = {}
        for path, columns, cell in self._cells:
            index = point.get(path)
            row.update(zip(columns, (None,) * len(columns) if index is None else cell(index), strict=True))
        return row


def _cells(factor: FactorDef) -> tuple[str, tuple[str, ...], Callable[[int], tuple[Scalar, ...]]]:
    def cell(index: int) -> tuple[Scalar, ...]:
        return tuple(values.cell(value) for value in factor.level(index))

    return factor.path, factor.columns, _remembering(cell)


def _remembering(function: Callable[[int], T]) -> Callable[[int], T]:
    known: dict[int, T] = {}

    def look(key: int) -> T:
        found = known.get(key)
        if found is None:
            if len(known) >= _KEPT:
                known.clear()
            found = known[key] = function(key)
        return found

    return look


def plan(program: Program, schedule: Schedule, settings: Mapping[str, str], findings: tuple[Finding, ...] = ()) -> Plan:
    """The plan of an experiment. `settings` are what `--set` and `--profile` said, for the plan's hash."""
    builder = Builder(program, schedule.experiment, schedule)
    return Plan(replace(builder.header(settings), findings=findings), builder.items)


def told(schedule: Schedule) -> Iterator[Told]:
    """The trials in order, without their commands."""
    for slot in schedule.slots():
        identity = _cast(schedule.experiment, slot.point).identity
        yield Told(identity, slot.replicate, slot.number, schedule.factors(slot.point))


def trials(program: Program, schedule: Schedule, identities: Container[str]) -> Iterator[Trial]:
    """The trials in order that have one of these identities; the commands of the others are not made."""
    builder = Builder(program, schedule.experiment, schedule)
    for slot in schedule.slots():
        if _cast(schedule.experiment, slot.point).identity in identities:
            yield builder.trial(slot)[0]


def makes(program: Program, schedule: Schedule) -> Iterator[Setup]:
    """Setups of every branch of every choice, as far as they are reached from the first point by one choice."""
    builder = Builder(program, schedule.experiment, schedule)
    experiment = schedule.experiment
    axes = [axis for expr in (experiment.on, experiment.with_, experiment.before) if expr for axis in expr.axes]
    for point in hosts.each_choice(experiment, axes):
        with suppress(ProgramError):  # said at the point itself, if it is one
            yield from builder.prepared(_cast(experiment, point))[0]


@dataclass(frozen=True, slots=True)
class _Cast:
    """What a point reaches: what is measured, on what, with what set meanwhile, under which protocol, watched by whom.

    `identity` is the hash of everything that determines the measurement.
    """

    workload: Instance
    on: Instance | None
    with_: tuple[Instance, ...]
    before: Instance | None
    protocol: Instance
    collectors: tuple[Instance, ...]
    identity: str

    def frame(self, seed: int, replicate: int) -> Frame:
        """Where the workload's templates are filled in; each replicate draws offsets, or replays the first's."""
        drawn_for = [] if self.workload.replays else [str(replicate)]
        return drawn_frame(self.workload, self.on, values.digest(str(seed), self.identity, *drawn_for))


def _cast(experiment: Experiment, point: Mapping[str, int]) -> _Cast:
    target, state = _treated(experiment, point)
    workload = experiment.run.value(point)
    cache = experiment.cache.value(point)
    collect = experiment.collect.value(point) if experiment.collect else ()
    assert isinstance(workload, Instance)
    protocol = cache if isinstance(cache, Instance) else _called(experiment, cache)
    collectors = [one for one in collect if isinstance(one, Instance)] if isinstance(collect, tuple) else []
    decisive = (one.digest if one else "" for one in (workload, target, state))
    with_ = hosts.things_of(experiment.with_.value(point) if experiment.with_ else None)
    watching = (one.digest for one in collectors)
    # Without its own word, what is set could be taken for a collector of the same hash.
    meanwhile = ("with", *sorted(one.digest for one in with_)) if with_ else ()
    identity = values.digest(*decisive, protocol.digest, *watching, *meanwhile)[:12]
    return _Cast(workload, target, with_, state, protocol, tuple(collectors), identity)


def _treated(experiment: Experiment, point: Mapping[str, int]) -> tuple[Instance | None, Instance | None]:
    """What is measured, and what puts it into a state."""
    found = (expr.value(point) if expr else None for expr in (experiment.on, experiment.before))
    on, before = (one if isinstance(one, Instance) else None for one in found)
    return on, before


def _called(experiment: Experiment, word: Value) -> Instance:
    """A protocol that is called by its name."""
    assert isinstance(word, Symbol)
    kind = experiment.protocols[word.name]
    return Instance(kind, word.name, word.name, {}, None, is_given=False, digest=values.template_digest(kind))


class Builder:
    """Makes the items of a plan."""

    def __init__(self, program: Program, experiment: Experiment, schedule: Schedule) -> None:
        self.program, self.experiment, self.schedule = program, experiment, schedule
        self.here = schedule.part
        if self.here is None and len(schedule.hosts) == 1:
            self.here = schedule.hosts[0]
        self.setups = Setups(schedule.seed, self.here)
        used = (host for _, host in hosts.used_by(experiment) if host and self.here in {None, host.label})
        self.platform = hosts.platform_of(next(used, None))
        self.needs: dict[tuple[str, ...], tuple[tuple[Setup, ...], tuple[Step, ...]]] = {}
        self.natures: dict[tuple[str, str], Mapping[str, Scalar]] = {}

    def header(self, settings: Mapping[str, str]) -> Header:
        """What holds for the whole plan."""
        experiment, schedule = self.experiment, self.schedule
        sources = {source.name: source.text for source in self.program.sources}
        kinds = self._kinds()
        said = [f"{name}={text}" for name, text in sorted(settings.items())]
        texts = [f"{name}\0{text}" for name, text in sorted(sources.items())]
        ordered = [f"order={schedule.order}"] if schedule.order is not Order.PLANNED else []
        templates = sorted(values.template_digest(kind) for kind in kinds)
        identity = values.digest(experiment.name, str(schedule.seed), *ordered, *said, *texts, *templates)
        factors = tuple(
            Factor(name, factor.column_path(i), factor.types[i], _levels(factor, i), factor.size)
            for factor in experiment.factors.values()
            for i, name in enumerate(factor.columns)
        )
        away = self._away()
        at_hand = [kind for kind in kinds if kind.name not in away]
        tools = {tool: hint for kind in at_hand for tool, hint in hosts.tools_of(kind, self.platform)}
        return Header(
            experiment=experiment.name,
            title=experiment.title,
            plan=identity,
            seed=schedule.seed,
            points=schedule.plots.points,
            repeat=experiment.repeat,
            trials=schedule.trials,
            factors=factors,
            sources=sources,
            facts=tuple(step for kind in at_hand for step in self._facts(kind)),
            tools=tools,
            design=values.show(experiment.design.value({})),
            left_out=schedule.space.count - schedule.plots.points,
            expectations=tuple(one for one in experiment.clauses if isinstance(one, Expectation)),
            tables=tuple(one for one in experiment.clauses if isinstance(one, Table)),
            plots=tuple(one for one in experiment.clauses if isinstance(one, Plot)),
            hosts=tuple(name for name in schedule.hosts if name),
            part=schedule.part or "",
            guarded=tuple(self._guarded()) if any(kind.armed for kind in kinds) else (),
            order=schedule.order,
            whole_plot_factors=schedule.whole,
            devices=tuple(self._devices()),
            settings=settings,
            until=experiment.until,
            search=experiment.search,
        )

    def _guarded(self) -> Iterator[Guarded]:
        """What is written to and is not the run's own, as far as it is reached from the first point by one choice."""
        found: dict[str, Guarded] = {}
        for point in hosts.each_choice(self.experiment, self.experiment.axes):
            with suppress(ProgramError):  # said at the point itself, if it is one
                for thing in self._written(_cast(self.experiment, point)):
                    steps = guards(thing, self.here)
                    if thing.kind.armed and steps and steps[0].action is Action.GUARD:
                        named = thing.kind.armed.value(Frame(thing))
                        names = named if isinstance(named, tuple) else (named,)
                        found[thing.digest] = Guarded(
                            f"{thing.kind.name} {thing.label}", tuple(map(values.plain, names)), tuple(steps)
                        )
        yield from found.values()

    def _devices(self) -> Iterator[Device]:
        """What is beneath everything, as far as it is reached from the first point by one choice."""
        found: dict[str, Device] = {}
        for point in hosts.each_choice(self.experiment, self.experiment.on.axes if self.experiment.on else ()):
            with suppress(ProgramError):  # said at the point itself, if it is one
                on, _ = _treated(self.experiment, point)
                if on is not None and on.kind.role == "resource":
                    under = load.device_of(on)
                    offers = under.kind.offers
                    place = offers["dir"].value(Frame(under)) if "dir" in offers else ""
                    known = load.device(under, place if isinstance(place, str) else values.show(place))
                    found.setdefault(known.name, known)
        yield from found.values()

    def _written(self, cast: _Cast) -> Iterator[Instance]:
        """What is made upon, treated or written to by what is measured."""
        one = cast.on
        while one is not None and one.parent is not None:
            if not one.is_given:
                yield one.parent
            one = one.parent
        treated = ground(cast.before, cast.on) if cast.before else None
        for thing, at in ((cast.before, treated), (cast.workload, cast.on)):
            if thing is not None and at is not None and leaves_changed(thing, drawn_frame(thing, at, cast.identity)):
                yield at

    def _kinds(self) -> list[Kind]:
        """The kinds that the experiment can reach, and the machine's."""
        names: set[str] = {"host"}
        experiment = self.experiment
        every = (
            *(experiment.on, experiment.with_, experiment.before),
            *(experiment.run, experiment.collect, experiment.cache),
        )
        exprs = [expr for expr in every if expr is not None]
        for expr in exprs:
            element = expr.type.element
            names |= expr.type.kinds | expr.type.beneath | (element.kinds if element else frozenset())
        found: dict[str, Kind] = {}
        pending = sorted(names)
        while pending:
            name = pending.pop(0)
            kind = self._kind(name)
            if kind is not None and name not in found:
                found[name] = kind
                pending += kind.parents
        return list(found.values())

    def _away(self) -> set[str]:
        """The kinds of resources that are on other machines only than that which carries the plan out."""
        used = [(thing.kind, host) for thing, host in hosts.used_by(self.experiment) if thing.kind.role == "resource"]
        here = {kind.name for kind, host in used if self.here is None or host is None or host.label == self.here}
        return {kind.name for kind, _ in used} - here

    def _kind(self, name: str) -> Kind | None:
        from zlang.check import library

        shipped = library.load()
        return self.program.kinds.get(name) or (shipped.kind(name) if shipped.module_of(name) else None)

    def _facts(self, kind: Kind) -> Iterator[Step]:
        action = kind.action("fact", self.platform)
        if action is None:
            return
        frame = Frame(Instance(kind, kind.name, kind.name, {}, None, is_given=True, digest=""))
        for command in action.commands:
            name = values.safe_name((command.why or kind.name,))
            yield Step(name, Action.FACT, shell_text(command.text, frame), command.why, 60)

    def items(self) -> Iterator[Setup | Trial]:
        """The trials in order, each setup before the first that needs it."""
        sent: set[str] = set()
        for slot in self.schedule.slots():
            trial, setups = self.trial(slot)
            for setup in setups:
                if setup.signature not in sent:
                    sent.add(setup.signature)
                    yield setup
            yield trial

    def trial(self, slot: Slot) -> tuple[Trial, tuple[Setup, ...]]:
        """A trial, and the setups that it needs, parents first."""
        cast = _cast(self.experiment, slot.point)
        self._join(cast.workload, cast.on)
        carrier = hosts.carrier(cast.workload, cast.on)
        for thing in (cast.workload, *cast.collectors):
            _must_have(thing, carrier)
        for collector in cast.collectors:
            self._join(collector, cast.on)
        setups, protocol = self.prepared(cast, slot.replicate)
        frame = cast.frame(self.schedule.seed, slot.replicate)
        spoils: tuple[str, ...] = ()
        guarded: list[Step] = []
        writes = leaves_changed(cast.workload, frame)
        if cast.on is not None and writes:
            spoils = (cast.on.key,)
            # A protocol may rehearse the workload, so what is written to is guarded before that, too.
            guarded = guards(cast.on, self.here, "guard-again") if protocol else []
            protocol = (*guards(cast.on, self.here), *protocol)
        # What looks at the target may read of it, so that the caches are treated after that.
        before = (replace(step, reader=None) for step in self._looks(cast, "before", Action.PREPARE))
        after = self._looks(cast, "after", Action.TIDY)
        steps = (*before, *protocol, *guarded, *self._watch(cast), *self._measure(frame), *after)
        trial = Trial(
            slot.number,
            cast.identity,
            slot.replicate,
            slot.block,
            self.schedule.factors(slot.point),
            cast.protocol.kind.name,
            _state(cast.protocol.kind),
            tuple(setup.signature for setup in setups),
            spoils,
            steps,
            carrier.label if carrier else "",
            slot.whole_plot,
            self._natures(cast),
            load.of_workload(cast.workload, cast.on, frame, writes=writes),
        )
        return trial, setups

    def _natures(self, cast: _Cast) -> Mapping[str, Scalar]:
        """What the workload says of its nature, and the nearest of what it runs on, as far as results need it."""
        key = (cast.workload.digest, cast.on.digest if cast.on else "")
        known = self.natures.get(key)
        if known is None:
            if len(self.natures) >= _KEPT:
                self.natures.clear()
            chain = _chain(cast.on)[::-1] if cast.on else ()
            things = [Thing(cast.workload, cast.on), *map(Thing, chain)]
            known = self.natures[key] = dict(_kept_natures(things))
        return known

    def _join(self, workload: Instance, on: Instance | None) -> None:
        lacking = faults.unjoined(self.experiment, workload, on)
        if lacking is not None:
            raise ProgramError(lacking)

    def _may_change(self, treatment: Instance, on: Instance) -> None:
        """Raise ProgramError where a treatment would change what is not the run's own."""
        at = ground(treatment, on)
        if treatment.kind.role == "treatment" and at is not None and at.is_given:
            assert self.experiment.before is not None, "BUG: a treatment that nobody asked for"
            message = f"`{treatment.kind.name}` would change `{at.label}`, which is given"
            hint = "treat what the run makes itself"
            raise ProgramError(Code.NOT_SHOWN.at(self.experiment.before.span, message=message, hint=hint))

    def prepared(self, cast: _Cast, replicate: int = 1) -> tuple[tuple[Setup, ...], tuple[Step, ...]]:
        """The setups that a target needs, parents first, and the steps of the cache protocol on them."""
        on, protocol = cast.on, cast.protocol
        if on is None and not cast.with_:
            return (), ()
        chains = [_chain(one) for one in (*cast.with_, on) if one is not None]
        keys = " ".join("/".join(instance.key for instance in chain) for chain in chains)
        digests = "/".join(chain[-1].digest for chain in chains)
        drawn_for = [cast.identity, str(replicate)] if protocol.kind.draws else []
        key = (digests, keys, cast.before.digest if cast.before else "", protocol.digest, *drawn_for)
        known = self.needs.get(key)
        if known is not None:
            return known
        for finding in hosts.set_twice(self.experiment, cast.with_):
            raise ProgramError(finding)
        resources = [_resources(chain[-1]) for chain in chains]
        every = [instance for chain in resources for instance in chain]
        for instance in every:
            _must_have(instance, hosts.host_of(instance))
        meanwhile = resources[: len(cast.with_)]
        setups = [replace(setup, is_ambient=True) for chain in meanwhile for setup in self.setups.of(chain, None)]
        steps: list[Step] = []
        if on is not None:
            if cast.before is not None:
                self._join(cast.before, on)
                _must_have(cast.before, cast.before.origin or hosts.host_of(on))
                self._may_change(cast.before, on)
            setups += self.setups.of(resources[-1], cast.before)
            self._join(protocol, on)
            frame = Frame(protocol, on)
            if protocol.kind.draws:
                drawn = values.digest(str(self.schedule.seed), *drawn_for)
                frame = rehearsal_frame(protocol, cast.workload, on, drawn)
            for phase in protocol.kind.phases:
                steps += self._phase(phase, frame, on, resources[-1])
        steps += [step for instance in every for step in self._read_back(instance)]
        if len(self.needs) >= _KEPT:
            self.needs.clear()
        self.needs[key] = tuple(setups), tuple(steps)
        return self.needs[key]

    def _read_back(self, thing: Instance) -> Sequence[Step]:
        """What compares the properties of a thing that are in force with those that were asked for."""
        action = hosts.action_of(thing, "verify", "property")
        return self._steps(action, Action.VERIFY, f"property-{thing.key}", Frame(thing)) if action else ()

    def _phase(self, phase: str, frame: Frame, on: Instance, resources: Sequence[Instance]) -> Iterator[Step]:
        """What a phase of a protocol does: an action of its own, or what each resource knows to do."""
        protocol = frame.instance
        assert protocol is not None, "BUG: a phase without a protocol"
        verb, _, state = phase.partition("_")
        own = hosts.action_of(protocol, phase, at=on)
        if own is not None:
            what = Action.VERIFY if verb == Action.VERIFY else Action.FLUSH
            yield from self._steps(own, what, f"{phase}-{protocol.key}", frame)
            return
        # To look at a file is to read its inode, so what is beneath is looked at first.
        found = []
        for instance in resources if state else reversed(resources):
            action = hosts.action_of(instance, verb, state)
            if action is not None:
                found += self._steps(action, Action(verb), f"{verb}-{instance.key}", Frame(instance))
        if state and not found:
            message = f"nothing beneath `{on.key}` knows how to verify that its cache is {state}"
            raise ProgramError(
                Code.NOT_SHOWN.at(self.experiment.cache.span, message=message, hint=f"say `cache = {_AS_IS}`")
            )
        yield from found

    def _watch(self, cast: _Cast) -> Iterator[Step]:
        at = cast.workload.origin or cast.on
        for instance in cast.collectors:
            action = hosts.action_of(instance, "watch", at=at)
            if action is not None:
                yield from self._steps(action, Action.COLLECT, instance.key, Frame(instance, at))

    def _looks(self, cast: _Cast, when: str, verb: Action) -> Iterator[Step]:
        """What collectors look at before the protocol and after the measurement."""
        for instance in cast.collectors:
            action = hosts.action_of(instance, "look", at=cast.on)
            if action is not None:
                yield from self._steps(action, verb, f"{instance.key}-{when}", Frame(instance, cast.on))

    def _measure(self, frame: Frame) -> list[Step]:
        assert frame.instance is not None, "BUG: a measurement without a workload"
        action = hosts.action_of(frame.instance, "run", at=frame.target)
        assert action is not None, f"BUG: the workload {frame.instance.kind.name} has no run"
        return self._steps(action, Action.MEASURE, "measure", frame)

    def _steps(self, action: ActionDef, verb: Action, name: str, frame: Frame) -> list[Step]:
        return steps_of(action, verb, name, frame, self.here)


def _chain(thing: Instance) -> list[Instance]:
    """What a thing stands on, the machine first, and itself."""
    return [*(_chain(thing.parent) if thing.parent else []), thing]


def _resources(thing: Instance) -> list[Instance]:
    return [one for one in _chain(thing) if one.kind.role == "resource"]


def _kept_natures(things: Sequence[Thing]) -> Iterator[tuple[str, Scalar]]:
    """What the nearest of some things says of each nature that results are judged by."""
    for name in _KEPT_NATURES:
        said = [thing for thing in things if name in thing.instance.kind.traits]
        if not said:
            continue
        with suppress(ProgramError):  # a nature that has no value at this point is not known
            value = next((value for thing in said if (value := thing.nature(name)) is not None), None)
            if isinstance(value, Fraction):
                yield name, value.numerator if value.denominator == 1 else float(value)
            elif value is not None:
                yield name, value


def _must_have(thing: Instance, host: Instance | None) -> None:
    """Raise ProgramError where a thing's host lacks something of it."""
    for finding in hosts.lacking(thing, host):
        raise ProgramError(finding)


def _state(protocol: Kind) -> str:
    """What is known of the caches after a protocol."""
    verified = [phase.removeprefix("verify_") for phase in protocol.phases if phase.startswith("verify_")]
    return verified[-1] if verified else _AS_IS


def job(slot: Slot, experiment: Experiment, seed: int) -> tuple[str, str] | None:
    """A trial as the job file of its own tool: the file's ending and its text; None where the kind has no such form.

    Raises ProgramError where a value cannot be written in a job file.
    """
    cast = _cast(experiment, slot.point)
    forms = cast.workload.kind.forms
    if "job" not in forms:
        return None
    frame = cast.frame(seed, slot.replicate)
    head = [
        part if isinstance(part, str) else _name_in_file(part.value(frame), experiment)
        for part in forms.get("job_head", ())
    ]
    properties = cast.workload.kind.properties
    line = forms.get("job_line", ())
    words = [option_word(line, properties[name], given) for name, given in cast.workload.values.items()] if line else []
    lines = [_in_file(word, experiment) for word in words]
    return filled(forms["job"], frame), "\n".join(["".join(head), *lines, ""])


def _name_in_file(value: Value, experiment: Experiment) -> str:
    """A name, in which what splits a list or begins a comment cannot be written (measured with fio)."""
    text = _in_file(value, experiment)
    for character in ":;#":
        if character in text:
            span, shown = experiment.run.span, values.show(value)
            raise ProgramError(Code.NOT_IN_JOBFILE.at(span, name=shown, what=f"`{character}`"))
    return text


def _in_file(value: Value, experiment: Experiment) -> str:
    try:
        return values.file_text(value)
    except values.ValueProblem as problem:
        shown = values.show(value)
        raise ProgramError(Code.NOT_IN_JOBFILE.at(experiment.run.span, name=shown, what=str(problem))) from None


def _levels(factor: FactorDef, column: int) -> tuple[Scalar, ...]:
    if factor.size > _SHOWN_LEVELS:
        return ()
    return tuple(values.cell(factor.level(i)[column]) for i in range(factor.size))
