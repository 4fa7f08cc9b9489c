"""From a checked experiment to its plan.

In: an `Experiment`, a seed, and what identifies the program. Out: `Schedule` (which trial is when) and `Plan` (what is
done). Rule: the same input and seed give the same plan, byte for byte; items are made as they are asked for.
Raises ProgramError where a point cannot be carried out.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property

from zlang.check import digests, hosts, naming, values
from zlang.check.instances import Frame, treatment_site
from zlang.check.program import (
    Experiment,
    FactorDef,
    Instance,
    Kind,
    KindAction,
    Program,
    Symbol,
)
from zlang.check.questions import Expectation, Plot, Table
from zlang.check.rendering import shell_text
from zlang.check.traits import TRAITS
from zlang.diagnostics import Code, ProgramError
from zlang.lint.trial import Thing
from zlang.plan import footprint, identity
from zlang.plan.difference import TrialKey
from zlang.plan.order import Order
from zlang.plan.plan import COUNTED, Action, Device, Factor, Finding, Guarded, Header, Plan, Scalar, Setup, Step, Trial
from zlang.plan.schedule import KEPT, Schedule, Slot, resources_of, treated
from zlang.plan.setups import Setups, drawn_frame, guards, hold, leaves_changed, may_write, rehearsal_frame, steps_of
from zlang.space import faults, points

_AS_IS = "as_is"
"""What is said of caches that nothing was done about, or that were not verified."""


_COLD = "cold"


_SHOWN_LEVELS = 1000


_PLOTS_LOOKED_AT = 64


_NOTHING: tuple[tuple[Setup, ...], tuple[Step, ...]] = (), ()


_GUARDS = ("guard", "guard-again", "hold")


_OWN_STEPS = ("flush", "warm", "verify", "property", "property-held", "hold")
"""The verbs of what a resource does in a trial by itself."""


_KEPT_NATURES = tuple(name for name, trait in TRAITS.items() if trait.is_kept)


def plan(program: Program, schedule: Schedule, settings: Mapping[str, str], findings: tuple[Finding, ...] = ()) -> Plan:
    """The plan of an experiment. `settings` are what `--set` and `--profile` said, for the plan's hash."""
    builder = Builder(program, schedule.experiment, schedule)
    return Plan(replace(builder.header(settings), findings=findings), builder.items)


def trial_keys(schedule: Schedule) -> Iterator[TrialKey]:
    """The trials in order, without their commands."""
    identities = Identities(schedule)
    for slot in schedule.slots():
        identity = identities.of(trial_config(schedule.experiment, slot.point))
        yield TrialKey(identity, slot.replicate, slot.number, schedule.factors(slot.point))


def trial_keys_by_values(schedule: Schedule) -> Iterator[TrialKey]:
    """The same, told apart by the values that they reach: several times as fast.

    Between programs that declare the same kinds these tell what identities tell.
    """
    for slot in schedule.slots():
        key = trial_config(schedule.experiment, slot.point).key
        yield TrialKey(key, slot.replicate, slot.number, schedule.factors(slot.point))


def twins(schedule: Schedule) -> tuple[int, int] | None:
    """The numbers of the first two trials that are one measurement, if there are any: one identity, one replicate.

    In one program the values that a point reaches decide its commands, so these need not be made, unless a name is
    that of two kinds, of which commands tell whether they do the same.
    """
    experiment = schedule.experiment
    kinds = {thing.kind for thing, _ in hosts.used_by(experiment)}
    identities = Identities(schedule) if len({kind.name for kind in kinds}) < len(kinds) else None
    seen: dict[tuple[str, int], int] = {}
    for slot in schedule.slots():
        config = trial_config(experiment, slot.point)
        own = identities.of(config) if identities else config.key
        first = seen.setdefault((own, slot.replicate), slot.number)
        if first != slot.number:
            return first, slot.number
    return None


def trials(program: Program, schedule: Schedule, identities: Container[str]) -> Iterator[Trial]:
    """The trials in order that have one of these identities; the commands of the others are not made."""
    builder = Builder(program, schedule.experiment, schedule)
    for slot in schedule.slots():
        if builder.identities.of(trial_config(schedule.experiment, slot.point)) in identities:
            yield builder.trial(slot)[0]


def setups_by_branch(program: Program, schedule: Schedule) -> Iterator[Setup]:
    """Setups of every branch of every choice, as far as they are reached from the first point by one choice."""
    builder = Builder(program, schedule.experiment, schedule)
    experiment = schedule.experiment
    axes = [axis for expr in (experiment.on, experiment.with_, experiment.before) if expr for axis in expr.axes]
    for point in hosts.each_choice(experiment, axes):
        with suppress(ProgramError):  # said at the point itself, if it is one
            yield from builder.prepared(trial_config(experiment, point))[0]


@dataclass(frozen=True, slots=True)
class TrialConfig:
    """What a point measures, on what, with which settings, under which protocol and collectors.

    `key` is the hash of the values that it reaches: in one program they decide all that is done.
    """

    workload: Instance
    on: Instance | None
    with_: tuple[Instance, ...]
    before: Instance | None
    protocol: Instance
    collectors: tuple[Instance, ...]
    key: str

    @property
    def things(self) -> naming.TrialThings:
        """All that the trial is of."""
        before = (self.before,) if self.before else ()
        return naming.TrialThings(self.on, self.with_, (*before, self.workload, self.protocol, *self.collectors))


def trial_config(experiment: Experiment, point: Mapping[str, int]) -> TrialConfig:
    """Work out what is measured at a point, and how. Raises ProgramError where an assertion does not hold."""
    for finding in points.violated(experiment, point):
        raise ProgramError(finding)
    target, state = treated(experiment, point)
    workload = experiment.run.value(point)
    cache = experiment.cache.value(point)
    collect = experiment.collect.value(point) if experiment.collect else ()
    assert isinstance(workload, Instance)
    assert isinstance(cache, Instance | Symbol)
    protocol = cache if isinstance(cache, Instance) else _called(experiment.protocols[cache.name])
    collectors = [item for item in collect if isinstance(item, Instance)] if isinstance(collect, tuple) else []
    decisive = (instance.digest if instance else "" for instance in (workload, target, state))
    with_ = naming.beside(target, hosts.things_of(experiment.with_.value(point) if experiment.with_ else None))
    watching = (collector.digest for collector in collectors)
    # Without its own word, what is set could be taken for a collector of the same hash.
    meanwhile = ("with", *(instance.digest for instance in with_), _shared((*with_, target))) if with_ else ()
    key = digests.digest(*decisive, protocol.digest, *watching, *meanwhile)
    return TrialConfig(
        workload=workload,
        on=target,
        with_=with_,
        before=state,
        protocol=protocol,
        collectors=tuple(collectors),
        key=key,
    )


def _shared(things: Iterable[Instance | None]) -> str:
    """Which of the things beneath some things are the same ones."""
    keys = [instance.key for thing in things if thing for instance in naming.chain(thing)]
    return " ".join(str(keys.index(key)) for key in keys)


@cache
def _called(protocol: Kind) -> Instance:
    """A protocol that is called by its name."""
    name, digest = protocol.name, digests.template_digest(protocol)
    return Instance(protocol, name, name, {}, None, is_given=False, digest=digest)


class Identities:
    """The identities of an experiment's points, worked out once for all that reach the same values."""

    def __init__(self, schedule: Schedule) -> None:
        self._builder = Builder(None, schedule.experiment, schedule, is_rehearsal=True)
        self._cache: dict[str, str] = {}
        self._neutral: dict[tuple[int, ...], tuple[tuple[Instance | None, ...], identity.Neutral]] = {}
        self._prepared: dict[int, tuple[object, str]] = {}

    def of(self, config: TrialConfig) -> str:
        """The identity of a point. Raises ProgramError where it cannot be carried out."""
        cached = self._cache.get(config.key)
        if cached is None:
            if len(self._cache) >= KEPT:
                self._cache.clear()
            self._builder.require_possible(config)
            renamed, given = self._renamed(config)
            prepared = self._of_prepared(self._builder.prepared(renamed))
            frame = self._builder.frame(renamed, 1, "")
            steps = identity.of_steps(self._builder.steps(renamed, (), frame))
            cached = identity.joined(*identity.values_of(renamed.workload), given, prepared, steps)
            self._cache[config.key] = cached
        return cached

    def _renamed(self, config: TrialConfig) -> tuple[TrialConfig, str]:
        """What a point reaches, with names by position, and the hash of the values of all but the workload."""
        things = (config.on, config.before, config.protocol, *config.with_, *config.collectors)
        place = tuple(map(id, things))
        cached = self._neutral.get(place)
        if cached is None:
            if len(self._neutral) >= KEPT:
                self._neutral.clear()
            # The things are kept as well, so that no other can get their place in memory.
            cached = self._neutral[place] = things, identity.neutral(things)
        on, before, protocol, *more = cached[1].things
        assert protocol is not None, "BUG: a protocol went away"
        there = tuple([item for item in more if item is not None])
        with_, collectors = there[: len(config.with_)], there[len(config.with_) :]
        workload = replace(config.workload, alias="workload")
        return TrialConfig(
            workload=workload,
            on=on,
            with_=with_,
            before=before,
            protocol=protocol,
            collectors=collectors,
            key=config.key,
        ), cached[1].values

    def _of_prepared(self, prepared: tuple[tuple[Setup, ...], tuple[Step, ...]]) -> str:
        """The hash of what many points share, and which the builder hands out as one object."""
        cached = self._prepared.get(id(prepared))
        if cached is None:
            if len(self._prepared) >= KEPT:
                self._prepared.clear()
            setups, steps = prepared
            cached = prepared, digests.digest(identity.of_setups(setups), identity.of_steps(steps))
            self._prepared[id(prepared)] = cached
        return cached[1]


class Builder:
    """Makes the items of a plan."""

    def __init__(
        self, program: Program | None, experiment: Experiment, schedule: Schedule, *, is_rehearsal: bool = False
    ) -> None:
        self.program, self.experiment, self.schedule, self.is_rehearsal = program, experiment, schedule, is_rehearsal
        self.here = schedule.part
        if self.here is None and len(schedule.hosts) == 1:
            self.here = schedule.hosts[0]
        if is_rehearsal:
            self.here = None
        self.setups = Setups(self.draw, self.here)
        used = (host for _, host in hosts.used_by(experiment) if host and self.here in {None, host.label})
        self.platform = hosts.platform_of(next(used, None))
        self.needs: dict[tuple[str, ...], tuple[tuple[Setup, ...], tuple[Step, ...]]] = {}
        self.traits: dict[tuple[str, str], Mapping[str, Scalar]] = {}
        self.devices = naming.devices_of(experiment)

    @cached_property
    def identities(self) -> Identities:
        """The identities of the points, for which everything is rendered once more."""
        return Identities(self.schedule)

    def draw(self, *drawn_for: str) -> str:
        """The hash from which a seed is drawn for something."""
        return identity.SEED if self.is_rehearsal else self.schedule.draw(*drawn_for)

    def header(self, settings: Mapping[str, str]) -> Header:
        """What holds for the whole plan."""
        assert self.program is not None, "BUG: a rehearsal has no header"
        experiment, schedule = self.experiment, self.schedule
        sources = {source.name: source.text for source in self.program.sources}
        kinds = self._kinds()
        assignments = [f"{name}={text}" for name, text in sorted(settings.items())]
        texts = [f"{name}\0{text}" for name, text in sorted(sources.items())]
        ordered = [f"order={schedule.order}"] if schedule.order is not Order.PLANNED else []
        templates = sorted(digests.template_digest(kind) for kind in kinds)
        hashed = digests.digest(experiment.name, str(schedule.seed), *ordered, *assignments, *texts, *templates)
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
            plan=hashed,
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
            expectations=tuple(clause for clause in experiment.clauses if isinstance(clause, Expectation)),
            tables=tuple(clause for clause in experiment.clauses if isinstance(clause, Table)),
            plots=tuple(clause for clause in experiment.clauses if isinstance(clause, Plot)),
            hosts=tuple(name for name in schedule.hosts if name),
            part=schedule.part or "",
            guarded=tuple(self._guarded()) if any(kind.armed for kind in kinds) else (),
            order=schedule.order,
            whole_plot_factors=schedule.whole,
            devices=tuple(self._devices()),
            settings=settings,
            until=experiment.until,
            search=experiment.search,
            metrics=experiment.metrics,
        )

    def _guarded(self) -> Iterator[Guarded]:
        """What is written to and is not the run's own, as far as it is reached from the first point by one choice."""
        guarded: dict[str, Guarded] = {}
        for point in hosts.each_choice(self.experiment, self.experiment.axes):
            with suppress(ProgramError):  # said at the point itself, if it is one
                for thing in self._written(trial_config(self.experiment, point)):
                    steps = guards([thing], self.here)
                    if thing.kind.armed and steps and steps[0].action is Action.GUARD:
                        named = thing.kind.armed.value(Frame(thing))
                        names = named if isinstance(named, tuple) else (named,)
                        guarded[thing.digest] = Guarded(thing.title, tuple(map(values.plain, names)), tuple(steps))
        yield from guarded.values()

    def _devices(self) -> Iterator[Device]:
        """What is beneath everything, as far as it is reached from the first point by one choice."""
        devices: dict[str, Device] = {}
        for point in hosts.each_choice(self.experiment, self.experiment.on.axes if self.experiment.on else ()):
            with suppress(ProgramError):  # said at the point itself, if it is one
                on, _ = treated(self.experiment, point)
                if on is not None and on.kind.role == "resource":
                    under = footprint.device_of(on)
                    offers = under.kind.offers
                    place = offers["dir"].value(Frame(under)) if "dir" in offers else ""
                    device = footprint.device(under, place if isinstance(place, str) else values.show(place))
                    devices.setdefault(device.name, device)
        yield from devices.values()

    def _written(self, config: TrialConfig) -> Iterator[Instance]:
        """The devices that are made upon, treated or written to by what is measured."""
        for instance in config.things.made:
            if not instance.is_given:
                yield from naming.exposed(instance.parent)
        if config.before is not None and config.on is not None:
            at = treatment_site(config.before, config.on)
            if at is not None and may_write(config.before, drawn_frame(config.before, at, config.key)):
                yield from naming.exposed(at)
            yield from self._named_devices(config, (config.before,))
        yield from self._exposed(config, drawn_frame(config.workload, config.on, config.key))

    def _named(self, config: TrialConfig) -> tuple[naming.NamedThing, ...]:
        """What a trial names beside what it stands on. Raises ProgramError where it does not make and guard that."""
        things = config.things
        for finding in naming.findings(self.experiment, things, self.devices):
            raise ProgramError(finding)
        return tuple(naming.named(things, self.devices))

    def _named_devices(self, config: TrialConfig, by: Iterable[Instance]) -> list[Instance]:
        """The devices that some things of a trial name, and on which the run makes nothing: that would hold them."""
        made = [instance for instance in config.things.made if not instance.is_given and instance.kind.has("create")]
        held = {under.key for instance in made for under in naming.exposed(instance.parent)}
        held -= {under.key for instance in made for under in naming.exposed(instance)}
        keys = {instance.key for instance in by}
        every = [item for each in self._named(config) if each.by.key in keys for item in naming.exposed(each.thing)]
        return [instance for instance in every if instance.key not in held]

    def _exposed(self, config: TrialConfig, frame: Frame) -> list[Instance]:
        """The devices that the steps of a trial can write to directly."""
        workers = (config.workload, config.protocol, *config.collectors)
        is_written = any(
            may_write(worker, frame if worker is config.workload else Frame(worker, config.on)) for worker in workers
        )
        devices = [*(naming.exposed(config.on) if is_written else ()), *self._named_devices(config, workers)]
        return list({device.key: device for device in devices}.values())

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
        kinds: dict[str, Kind] = {}
        pending = sorted(names)
        while pending:
            name = pending.pop(0)
            kind = self._kind(name)
            if kind is not None and name not in kinds:
                kinds[name] = kind
                pending += kind.parents
        return list(kinds.values())

    def _away(self) -> set[str]:
        """The kinds of resources that are on other machines only than that which carries the plan out."""
        used = [(thing.kind, host) for thing, host in hosts.used_by(self.experiment) if thing.kind.role == "resource"]
        here = {kind.name for kind, host in used if self.here is None or host is None or host.label == self.here}
        return {kind.name for kind, _ in used} - here

    def _kind(self, name: str) -> Kind | None:
        from zlang.check import library

        shipped = library.load()
        assert self.program is not None, "BUG: a rehearsal has no header"
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
        config = trial_config(self.experiment, slot.point)
        own = self.identities.of(config)
        setups, protocol = self.prepared(config, slot.replicate, own)
        frame = self.frame(config, slot.replicate, own)
        carrier = hosts.carrier(config.workload, config.on)
        writes = leaves_changed(config.workload, frame)
        by_workload = (
            named_thing.thing for named_thing in self._named(config) if named_thing.by.key == config.workload.key
        )
        changed = [
            *([config.on] if config.on else []),
            *(instance for instance in by_workload if not instance.is_given),
        ]
        invalidates = tuple(dict.fromkeys(instance.key for instance in changed)) if writes else ()
        if slot.ends_block:
            invalidates = tuple(
                dict.fromkeys((*invalidates, *(item.key for item in setups if item.signature not in self._lasting)))
            )
        trial = Trial(
            number=slot.number,
            identity=own,
            replicate=slot.replicate,
            block=slot.block,
            factors=self.schedule.factors(slot.point),
            cache=config.protocol.kind.name,
            cache_state=_state(config.protocol.kind),
            setups=tuple(setup.signature for setup in setups),
            invalidates=invalidates,
            steps=self.steps(config, protocol, frame),
            host=carrier.label if carrier else "",
            whole_plot=slot.whole_plot,
            traits=self._traits(config),
            footprint=footprint.of_workload(config.workload, config.on, frame, writes=writes),
            fetch=footprint.of_reads(config.workload, config.on) if config.on and _is_cold(config) else None,
        )
        self._require_guards(config, setups, trial)
        return trial, setups

    def require_possible(self, config: TrialConfig) -> None:
        """Raise ProgramError where a workload or a collector cannot be carried out at a point."""
        self._join(config.workload, config.on)
        carrier = hosts.carrier(config.workload, config.on)
        for thing in (config.workload, *config.collectors):
            _must_have(thing, carrier)
        for collector in config.collectors:
            self._join(collector, config.on)

    def steps(self, config: TrialConfig, protocol: tuple[Step, ...], frame: Frame) -> tuple[Step, ...]:
        """What a trial does, around the steps of its cache protocol."""
        exposed = self._exposed(config, frame)
        held = hold(exposed, (config.workload, config.protocol, *config.collectors), self.here)
        # A protocol may rehearse the workload, so what is written to is guarded before that, too.
        again = guards(exposed, self.here, "guard-again") if protocol and not held else []
        count_before = self._counts(config, "before", Action.PREPARE)
        count_after = self._counts(config, "after", Action.TIDY)
        # What looks at the target may read of it, so that the caches are treated after that.
        before = (replace(step, reader=None) for step in self._looks(config, "before", Action.PREPARE))
        after = self._looks(config, "after", Action.TIDY)
        action = hosts.action_of(config.workload, "prepare", at=frame.target)
        prepare = self._steps(action, Action.PREPARE, "prepare", frame) if action else []
        guarded = (*(held.before if held else guards(exposed, self.here)), *prepare, *before, *protocol, *again)
        measured = (*count_before, *self._watch(config), *self._measure(frame), *count_after)
        return (*guarded, *measured, *(held.after if held else ()), *after)

    def frame(self, config: TrialConfig, replicate: int, own: str) -> Frame:
        """Where the workload's templates are filled in; each replicate draws offsets, or replays the first's."""
        drawn_for = [] if config.workload.replays else [str(replicate)]
        return drawn_frame(config.workload, config.on, self.draw(own, *drawn_for))

    def _require_guards(self, config: TrialConfig, setups: Sequence[Setup], trial: Trial) -> None:
        """Raise ProgramError where a command names a device that nothing guards in the trial.

        A workload that only reads its target is given the places that the target offers, and no others.
        """
        made, on = config.things.made, naming.chain(config.on) if config.on else []
        devices = {item.thing.key: item for item in self.devices}
        devices |= {instance.key: naming.device(instance) for instance in made if instance.kind.armed}
        if not devices:
            return
        making = {setup.key: (*setup.make, *setup.unmake, *_set_by(setup)) for setup in setups}
        every = [(key, step) for key, steps in (*making.items(), ("", trial.steps)) for step in steps]
        guarded = {key for key in devices for _, step in every if _is_step_of(step, key, _GUARDS)}
        names = {name for key in guarded for name in devices[key].names}
        for key, device in devices.items():
            if set(device.names) <= names:
                continue
            has_offers = key not in {instance.key for instance in on}
            for owner, step in every:
                is_own = owner == key or step.action is Action.GUARD or _is_step_of(step, key, _OWN_STEPS)
                if not is_own and naming.mentions(step.command, device, offers=has_offers):
                    hint = f"name it by what it offers, `{{{device.thing.label}.block}}`, so that it is guarded"
                    label = f"the step `{step.name}`"
                    code, span = Code.UNGUARDED, self.experiment.run.span
                    raise ProgramError(code.at(span, device=device.thing.label, hint=hint, label=label))

    @cached_property
    def _lasting(self) -> frozenset[str]:
        """The signatures of the setups that every whole plot needs; of many plots, every one of the first."""
        result: list[frozenset[str]] = []
        for plot in range(min(self.schedule.plots.count, _PLOTS_LOOKED_AT)):
            with suppress(ProgramError):  # said when the plot is planned
                setups, _ = self.prepared(trial_config(self.experiment, self.schedule.plots.at(plot, 0)))
                result.append(frozenset(setup.signature for setup in setups))
        return frozenset.intersection(*result) if result else frozenset()

    def _traits(self, config: TrialConfig) -> Mapping[str, Scalar]:
        """The traits of the workload and of the nearest of what it runs on, as far as results need them."""
        key = (config.workload.digest, config.on.digest if config.on else "")
        traits = self.traits.get(key)
        if traits is None:
            if len(self.traits) >= KEPT:
                self.traits.clear()
            chain = naming.chain(config.on)[::-1] if config.on else ()
            things = [Thing(config.workload, config.on), *map(Thing, chain)]
            traits = self.traits[key] = dict(_kept_traits(things))
        return traits

    def _join(self, workload: Instance, on: Instance | None) -> None:
        lacking = faults.unmet_need(self.experiment, workload, on)
        if lacking is not None:
            raise ProgramError(lacking)

    def _may_change(self, treatment: Instance, on: Instance) -> None:
        """Raise ProgramError where a treatment would change what is not the run's own."""
        at = treatment_site(treatment, on)
        if treatment.kind.role == "treatment" and at is not None and at.is_given:
            assert self.experiment.before is not None, "BUG: a treatment that nobody asked for"
            message = f"`{treatment.kind.name}` would change `{at.label}`, which is `given`"
            hint = "apply it to something that the run creates"
            raise ProgramError(Code.NOT_SHOWN.at(self.experiment.before.span, message=message, hint=hint))

    def prepared(
        self, config: TrialConfig, replicate: int = 1, own: str = ""
    ) -> tuple[tuple[Setup, ...], tuple[Step, ...]]:
        """The setups that a target needs, parents first, and the steps of the cache protocol on them."""
        on, protocol = config.on, config.protocol
        if on is None and not config.with_:
            return _NOTHING
        chains = [naming.chain(item) for item in (*config.with_, on) if item is not None]
        keys = " ".join("/".join(instance.name for instance in chain) for chain in chains)
        chain_digests = "/".join(chain[-1].digest for chain in chains)
        named = self._named(config)
        drawn_for = [config.key, own, str(replicate)] if protocol.kind.draws else []
        drawn_for += [f"{named_thing.by.key} {named_thing.thing.key}" for named_thing in named]
        key = (chain_digests, keys, config.before.digest if config.before else "", protocol.digest, *drawn_for)
        unmet = self.needs.get(key)
        if unmet is not None:
            return unmet
        for finding in hosts.set_twice(self.experiment, config.with_):
            raise ProgramError(finding)
        resources = [resources_of(chain[-1]) for chain in chains]
        every = [instance for chain in resources for instance in chain]
        for instance in every:
            _must_have(instance, hosts.host_of(instance))
        meanwhile = resources[: len(config.with_)]
        setups = [replace(setup, is_ambient=True) for chain in meanwhile for setup in self.setups.of(chain, None)]
        steps: list[Step] = []
        if on is not None:
            if config.before is not None:
                self._join(config.before, on)
                _must_have(config.before, config.before.origin or hosts.host_of(on))
                self._may_change(config.before, on)
            by_treatment = self._named_devices(config, (config.before,)) if config.before else []
            setups += self.setups.of(resources[-1], config.before, by_treatment)
            self._join(protocol, on)
            frame = Frame(protocol, on)
            if protocol.kind.draws:
                frame = rehearsal_frame(protocol, config.workload, on, self.draw(own, str(replicate)))
            by_workload = [named_thing.thing for named_thing in named if named_thing.by.key == config.workload.key]
            beneath = {resource.key: resource for resource in resources[-1]}
            beneath |= {item.key: item for thing in by_workload for item in resources_of(thing)}
            for phase in protocol.kind.phases:
                steps += self._phase(phase, frame, on, tuple(beneath.values()))
        steps += [step for instance in every for step in self._read_back(instance)]
        if len(self.needs) >= KEPT:
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
            subject = Action.VERIFY if verb == Action.VERIFY else Action.FLUSH
            yield from self._steps(own, subject, f"{phase}-{protocol.key}", frame)
            return
        # To look at a file is to read its inode, so what is beneath is looked at first.
        result = []
        for instance in resources if state else reversed(resources):
            action = hosts.action_of(instance, verb, state)
            if action is not None:
                result += self._steps(action, Action(verb), f"{verb}-{instance.key}", Frame(instance))
        if state and not result:
            message = f"nothing beneath `{on.key}` can verify that its cache is {state}"
            raise ProgramError(
                Code.NOT_SHOWN.at(self.experiment.cache.span, message=message, hint=f"say `cache = {_AS_IS}`")
            )
        yield from result

    def _watch(self, config: TrialConfig) -> Iterator[Step]:
        at = config.workload.origin or config.on
        for instance in config.collectors:
            action = hosts.action_of(instance, "watch", at=at)
            if action is not None:
                yield from self._steps(action, Action.COLLECT, instance.key, Frame(instance, at))

    def _looks(self, config: TrialConfig, when: str, verb: Action) -> Iterator[Step]:
        """What collectors look at before the protocol and after the measurement."""
        for instance in config.collectors:
            action = hosts.action_of(instance, "look", at=config.on)
            if action is not None:
                yield from self._steps(action, verb, f"{instance.key}-{when}", Frame(instance, config.on))

    def _counts(self, config: TrialConfig, when: str, verb: Action) -> Iterator[Step]:
        """What counts, around a cold measurement, the bytes that a resource with a cache of its own has read."""
        for instance in naming.chain(config.on) if config.on and _is_cold(config) else ():
            action = hosts.action_of(instance, "look", _COLD)
            if action is not None:
                yield from self._steps(action, verb, f"{COUNTED}{instance.key}-{when}", Frame(instance))

    def _measure(self, frame: Frame) -> list[Step]:
        assert frame.instance is not None, "BUG: a measurement without a workload"
        action = hosts.action_of(frame.instance, "run", at=frame.target)
        assert action is not None, f"BUG: the workload {frame.instance.kind.name} has no run"
        return self._steps(action, Action.MEASURE, "measure", frame)

    def _steps(self, action: KindAction, verb: Action, name: str, frame: Frame) -> list[Step]:
        return steps_of(action, verb, name, frame, self.here)


def _set_by(setup: Setup) -> tuple[Step, ...]:
    return tuple(step for setting in setup.settings for step in setting.steps)


def _is_step_of(step: Step, key: str, verbs: Sequence[str]) -> bool:
    """Whether a step is what a thing of this key does under one of some verbs, as `_numbered` names it."""
    names = [f"{verb}-{key}" for verb in verbs]
    return any(step.name == name or step.name.removeprefix(f"{name}-").isdecimal() for name in names)


def _kept_traits(things: Sequence[Thing]) -> Iterator[tuple[str, Scalar]]:
    """The traits by which results are judged, each of the nearest thing that declares it."""
    for name in _KEPT_NATURES:
        owners = [thing for thing in things if name in thing.instance.kind.traits]
        if not owners:
            continue
        with suppress(ProgramError):  # a trait that has no value at this point is not known
            value = next((value for thing in owners if (value := thing.trait(name)) is not None), None)
            if isinstance(value, Fraction):
                yield name, value.numerator if value.denominator == 1 else float(value)
            elif value is not None:
                yield name, value


def _must_have(thing: Instance, host: Instance | None) -> None:
    """Raise ProgramError where a thing's host lacks something of it."""
    for finding in hosts.lacking(thing, host):
        raise ProgramError(finding)


def _is_cold(config: TrialConfig) -> bool:
    return _state(config.protocol.kind) == _COLD


def _state(protocol: Kind) -> str:
    """What is known of the caches after a protocol."""
    verified = [phase.removeprefix("verify_") for phase in protocol.phases if phase.startswith("verify_")]
    return verified[-1] if verified else _AS_IS


def _levels(factor: FactorDef, column: int) -> tuple[Scalar, ...]:
    if factor.size > _SHOWN_LEVELS:
        return ()
    return tuple(values.cell(factor.level(i)[column]) for i in range(factor.size))
