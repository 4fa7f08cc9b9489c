"""The work of a trial: the setups that it needs, and its steps around those of the cache protocol.

In: a `TrialConfig`. Out: `Setup`s and `Step`s; what many trials share is built once. Raises ProgramError where a point
cannot be carried out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from zlang.cache import Cache
from zlang.check import hosts, naming, streams
from zlang.check.instances import Frame, Levels, chain, treatment_site
from zlang.check.program import Experiment, Instance, KindAction
from zlang.check.remembered import Family
from zlang.diagnostics import Code, ProgramError
from zlang.frozen import replace
from zlang.plan.action_steps import ActionSteps, steps_of
from zlang.plan.exposure import Exposure
from zlang.plan.plan import COUNTED, EACH, Action, Setup, Step
from zlang.plan.schedule import resources_of
from zlang.plan.setups import Setups, drawn_context, drawn_frame, guards, hold, rehearsal_frame
from zlang.plan.streams import measure, place_of
from zlang.record import Record
from zlang.space import faults
from zlang.space.trial_config import COLD, Shape, Surroundings, TrialConfig

Parts = tuple[Sequence[Step], ...]
"""The steps of a trial in parts: many trials share those that are tuples."""
Prepared = tuple[tuple[Setup, ...], tuple[Step, ...]]
"""Setups, parents first, and the steps of a cache protocol on them."""


class _StepsAround(Record):
    """The steps around those of a workload: observations before cache treatment, and steps around the measurement."""

    looks: tuple[Step, ...]
    before: tuple[Step, ...]
    after: tuple[Step, ...]
    looks_after: tuple[Step, ...]


class _Course(Record):
    """The steps of a trial around those of its workloads: guards, and the steps before and after the measurement."""

    guards: tuple[Step, ...]
    before: tuple[Step, ...]
    after: tuple[Step, ...]


class _Work(Record):
    """The steps of a workload alone, in the frames of a family: what prepares it, and what measures."""

    prepare: ActionSteps | None
    measure: ActionSteps


class TrialSteps:
    """The setups and the steps of an experiment's trials.

    The machine that carries them out is that of the `setups`, and their seeds are drawn as for these.
    """

    def __init__(self, experiment: Experiment, setups: Setups) -> None:
        self._experiment, self._setups = experiment, setups
        self._here, self._draw = setups.here, setups.draw
        self._prepared = Cache[tuple[str, ...], Prepared]()
        self._prepared_in = Cache[tuple[Surroundings, tuple[str, ...]], Prepared]()
        self._around = Cache[Surroundings, _StepsAround]()
        self._shared = Cache[tuple[Shape, bool], tuple[_Course, _Work]]()
        self._works = Cache[Shape | None, _Work]()
        self._possible = Cache[Shape, bool]()
        self.exposure = Exposure(experiment, setups.here)

    def require_possible(self, config: TrialConfig) -> None:
        """Raise ProgramError if a workload or a collector cannot be carried out at a point."""
        shape = config.shape
        if shape is None:
            self._require_each_possible(config)
        elif shape not in self._possible:
            self._require_each_possible(config)
            self._possible[shape] = True

    def _require_each_possible(self, config: TrialConfig) -> None:
        for finding in streams.findings(self._experiment, config.streams):
            raise ProgramError(finding)
        for stream in config.streams:
            self._join(stream.workload, stream.on)
            for thing in (stream.workload, *stream.workload.under):
                _require_on_host(thing, hosts.carrier(stream.workload, stream.on))
        happening = [(event, hosts.target_of(event, config.streams)) for event in config.during]
        for finding in streams.event_findings(self._experiment, happening, config.streams):
            raise ProgramError(finding)
        for event, target in happening:
            self._join(event, target)
            for thing in (event, *event.under):
                _require_on_host(thing, event.origin or hosts.host_of(event.parent or config.on))
        for finding in hosts.of_one_machine(config.during, config.streams):
            raise ProgramError(finding)
        carrier = hosts.carrier(config.workload, config.on)
        for collector in config.collectors:
            _require_on_host(collector, collector.origin or carrier)
            for target in streams.targets(config.streams) or (None,):
                self._join(collector, target)

    def parts(self, config: TrialConfig, protocol: tuple[Step, ...], frames: Sequence[Frame], levels: Levels) -> Parts:
        """The steps of a trial, around those of its cache protocol; `frames` are those of its streams.

        The `levels` are those of the first frame.
        """
        shape = config.shape
        shared = self._shared.get((shape, bool(protocol))) if shape else None
        if shared is None:
            events = () if shape else self.event_frames(config)  # a trial with a shape has no events
            course = self._course(config, protocol, frames, events)
            if not shape and (len(frames) > 1 or events or config.workload.scheduled):
                each = [step for number, frame in enumerate(frames) for step in self._prepare(number, frame, frames)]
                measured = measure(self._experiment, config.streams, frames, events, self._here)
                return course.guards, each, course.before, measured, course.after
            shared = course, self._work(config, frames[0])
            if shape and not config.protocol.kind.draws and self.exposure.names_nothing(config):
                self._shared[shape, bool(protocol)] = shared
        course, work = shared
        (frame,) = frames
        prepare = work.prepare.at(frame, levels) if work.prepare else ()
        return course.guards, prepare, course.before, work.measure.at(frame, levels), course.after

    def _work(self, config: TrialConfig, frame: Frame) -> _Work:
        """The steps of a trial's only workload, for all trials with the same structure."""
        work = self._works.get(config.shape)
        if work is None:
            workload = config.workload
            family = Family(frame, workload.varying)
            prepare, run = (hosts.action_of(workload, name, at=frame.target) for name in ("prepare", "run"))
            assert run is not None, f"BUG: the workload {workload.kind.name} has no run"
            work = _Work(
                ActionSteps(prepare, Action.PREPARE, "prepare", family, self._here) if prepare else None,
                ActionSteps(run, Action.MEASURE, "measure", family, self._here),
            )
            if config.shape:
                self._works[config.shape] = work
        return work

    def _course(
        self, config: TrialConfig, protocol: tuple[Step, ...], frames: Sequence[Frame], events: Sequence[Frame]
    ) -> _Course:
        """The steps around those of the workloads, kept for all trials with the same structure."""
        exposed = self.exposure.exposed(config, frames)
        workloads = [stream.workload for stream in config.streams]
        users = (*workloads, config.protocol, *config.collectors, *config.during)
        held = hold(exposed, users, self._here) if exposed else None
        # A protocol may rehearse the workload, so devices to be written to are guarded before that, too.
        again = guards(exposed, self._here, "guard-again") if protocol and not held else []
        around = self._steps_around(config)
        ended = self._ended(events) if events else ()
        return _Course(
            held.before if held else tuple(guards(exposed, self._here)),
            # Looking at the target may read from it, so the caches are treated after that.
            (*around.looks, *protocol, *again, *around.before),
            (*around.after, *ended, *(held.after if held else ()), *around.looks_after),
        )

    def _steps_around(self, config: TrialConfig) -> _StepsAround:
        """The steps of collectors and of counted caches, which trials with the same surroundings share."""
        cached = self._around.get(config.surroundings)
        if cached is None:
            looks = [replace(step, reader=None) for step in self._look_steps(config, "before", Action.PREPARE)]
            counts = self._count_steps(config, "before", Action.PREPARE)
            cached = self._around[config.surroundings] = _StepsAround(
                looks=tuple(looks),
                before=(*self._watch_steps(config), *counts),
                after=tuple(self._count_steps(config, "after", Action.TIDY)),
                looks_after=tuple(self._look_steps(config, "after", Action.TIDY)),
            )
        return cached

    def event_frames(self, config: TrialConfig) -> tuple[Frame, ...]:
        """The frames that fill in the templates of events."""
        if not config.during:
            return ()
        frames = []
        for event in config.during:
            site = event.parent or treatment_site(event, hosts.target_of(event, config.streams))
            frames.append(drawn_frame(event.replace(parent=None), site, self._draw(config.key, event.digest)))
        return tuple(frames)

    def _ended(self, events: Sequence[Frame]) -> Iterator[Step]:
        """The steps that verify that each event happened, and end it, even if the measurement failed."""
        for frame in events:
            assert frame.instance is not None, "BUG: an event without a kind"
            for name, state, verb, word in (
                ("verify", "", Action.VERIFY, "property-during"),
                ("stop", "", Action.TIDY, "stop"),
            ):
                action = hosts.action_of(frame.instance, name, state, at=frame.target)
                yield from self._steps(action, verb, f"{word}-{frame.instance.key}", frame) if action else ()

    def frames(self, config: TrialConfig, draw: str, own: str) -> tuple[Frame, ...]:
        """The frame of each workload's templates; each replicate draws new offsets, or replays those of the first.

        `own` is the identity of the point, and `draw` says which of its trials it is.
        """
        first, *others = config.first.streams
        drawn_for = (own,) if first.workload.replays else (own, draw)
        if not others:
            return (config.frame(first.on, drawn_context(self._draw(*drawn_for))),)
        frames = []
        for number, stream in enumerate(config.streams):
            drawn_for = (own,) if stream.workload.replays else (own, draw)
            frames.append(drawn_frame(stream.workload, stream.on, self._draw(*drawn_for, place_of(number))))
        return tuple(frames)

    def key_of(self, thing: Instance) -> str:
        """The key of the setup of a thing."""
        return self._setups.key_of(thing)

    def prepared(self, config: TrialConfig, draw: str = "1", own: str = "") -> Prepared:
        """The setups that a target needs, parents first, and the steps of the cache protocol on them."""
        on, protocol, targets = config.on, config.protocol, config.targets
        if not targets and not config.with_:
            return (), ()
        named = self.exposure.named(config)
        drawn_for = [config.key, own, draw] if protocol.kind.draws else []
        drawn_for += [f"{named_thing.by.key} {named_thing.thing.key}" for named_thing in named]
        place = config.surroundings, tuple(drawn_for)
        cached = self._prepared_in.get(place)
        if cached is not None:
            return cached
        chains = [chain(item) for item in (*config.with_, *targets)]
        keys = " ".join("/".join(instance.name for instance in chain) for chain in chains)
        chain_digests = "/".join(chain[-1].digest for chain in chains)
        key = (chain_digests, keys, config.before.digest if config.before else "", protocol.digest, *drawn_for)
        cached = self._prepared.get(key)
        if cached is not None:
            self._prepared_in[place] = cached
            return cached
        for finding in hosts.set_twice(self._experiment, config.with_):
            raise ProgramError(finding)
        resources = [resources_of(chain[-1]) for chain in chains]
        every = [instance for chain in resources for instance in chain]
        if len(targets) > 1:
            every = list({(instance.key, instance.digest): instance for instance in every}.values())
        for instance in every:
            _require_on_host(instance, hosts.host_of(instance))
        meanwhile = resources[: len(config.with_)]
        setups = [replace(setup, is_ambient=True) for chain in meanwhile for setup in self._setups.of(chain, None)]
        steps: list[Step] = []
        setups += self._setups_of_targets(config)
        if on is not None:
            for finding in hosts.rehearsal_findings(self._experiment, config.streams, protocol.kind):
                raise ProgramError(finding)
            frames = self._rehearsals(config, draw, own) if protocol.kind.draws else [Frame(protocol, on)]
            workloads = {stream.workload.key for stream in config.streams}
            by_workload = [named_thing.thing for named_thing in named if named_thing.by.key in workloads]
            beneath = {resource.key: resource for target in targets for resource in resources_of(target)}
            beneath |= {item.key: item for thing in by_workload for item in resources_of(thing)}
            for phase in protocol.kind.phases:
                steps += self._phase(phase, frames, on, tuple(beneath.values()))
        steps += [step for instance in every for step in self._read_back(instance)]
        cached = self._prepared[key] = self._prepared_in[place] = tuple(setups), tuple(steps)
        return cached

    def _setups_of_targets(self, config: TrialConfig) -> Iterable[Setup]:
        """The setups of all targets, each once. Raises ProgramError if two targets cannot exist together."""
        treatment = config.before
        by_treatment = self.exposure.named_devices(config, naming.with_wrappers((treatment,))) if treatment else []
        setups: dict[str, Setup] = {}
        for finding in faults.in_two_states(self._experiment, treatment, config.targets):
            raise ProgramError(finding)
        for target in config.targets:
            if treatment is not None:
                self._join(treatment, target)
                _require_on_host(treatment, treatment.origin or hosts.host_of(target))
                changed = faults.changed_given(self._experiment, treatment, target)
                if changed is not None:
                    raise ProgramError(changed)
            for setup in self._setups.of(resources_of(target), treatment, by_treatment):
                setups.setdefault(setup.signature, setup)
            self._join(config.protocol, target)
        return setups.values()

    def _join(self, workload: Instance, on: Instance | None) -> None:
        lacking = faults.unmet_need(self._experiment, workload, on)
        if lacking is not None:
            raise ProgramError(lacking)

    def _read_back(self, thing: Instance) -> Sequence[Step]:
        """The steps that compare the properties in force with the requested ones."""
        action = hosts.action_of(thing, "verify", "property")
        return self._steps(action, Action.VERIFY, f"property-{thing.key}", Frame(thing)) if action else ()

    def _rehearsals(self, config: TrialConfig, draw: str, own: str) -> list[Frame]:
        """The frames of a protocol that rehearses the workload: one for each stream, which has its own machine."""
        several = len(config.streams) > 1
        frames = []
        for number, stream in enumerate(config.streams):
            assert stream.on is not None, "BUG: a rehearsal without a target"
            protocol = config.protocol.replace(origin=hosts.carrier(stream.workload, stream.on))
            drawn = self._draw(own, draw, *([place_of(number)] if several else []))
            frame = rehearsal_frame(protocol, stream.workload, stream.on, drawn)
            frames.append(Frame(protocol, stream.on, frame.context, f"{frame.name}.{number + 1}" if several else ""))
        return frames

    def _phase(
        self, phase: str, frames: Sequence[Frame], on: Instance, resources: Sequence[Instance]
    ) -> Iterator[Step]:
        """The steps of a protocol's phase: an action of its own in each frame, or that of each resource."""
        protocol = frames[0].instance
        assert protocol is not None, "BUG: a phase without a protocol"
        verb, _, state = phase.partition("_")
        own = hosts.action_of(protocol, phase, at=on)
        if own is not None:
            subject = Action.VERIFY if verb == Action.VERIFY else Action.FLUSH
            for each in frames:
                machine = each.instance.origin if each.instance and len(frames) > 1 else None
                name = f"{phase}-{protocol.key}" + (f".{machine.label}" if machine else "")
                steps = self._steps(own, subject, name, each)
                yield from _read_on_each_machine(steps, protocol.key) if machine else steps
            return
        # Looking at a file reads its inode, so the resources beneath it are looked at first.
        result = []
        for instance in resources if state else reversed(resources):
            action = hosts.action_of(instance, verb, state)
            if action is not None:
                result += self._steps(action, Action(verb), f"{verb}-{instance.key}", Frame(instance))
        if state and not result:
            raise ProgramError(faults.unverifiable(self._experiment, on, state))
        yield from result

    def _watch_steps(self, config: TrialConfig) -> Iterator[Step]:
        for instance in config.collectors:
            at = config.workload.origin or config.on
            if instance.origin is not None:
                at = hosts.target_of(instance, config.streams)
            action = hosts.action_of(instance, "watch", at=at)
            if action is not None:
                steps = self._steps(action, Action.COLLECT, instance.key, Frame(instance, at))
                _require_reached(instance, steps)
                yield from _numbered(steps, instance, config)

    def _look_steps(self, config: TrialConfig, when: str, verb: Action) -> Iterator[Step]:
        """The observations of collectors, before the protocol and after the measurement."""
        for instance in config.collectors:
            targets = hosts.targets_of(instance, config.streams) if instance.kind.needs else ()
            looks = [self._look(instance, target, when, verb) for target in targets or (config.on,)]
            steps = [_one_after_the_other(steps) for steps in zip(*looks, strict=True)]
            yield from _numbered(steps, instance, config)

    def _look(self, collector: Instance, target: Instance | None, when: str, verb: Action) -> Sequence[Step]:
        action = hosts.action_of(collector, "look", at=target)
        return self._steps(action, verb, f"{collector.key}-{when}", Frame(collector, target)) if action else ()

    def _count_steps(self, config: TrialConfig, when: str, verb: Action) -> Iterator[Step]:
        """The steps that count the bytes read by resources with a cache, before or after a cold measurement."""
        beneath = {thing.key: thing for target in config.targets for thing in chain(target)}
        for instance in beneath.values() if config.is_cold else ():
            action = hosts.action_of(instance, "look", COLD)
            if action is not None:
                yield from self._steps(action, verb, f"{COUNTED}{instance.key}-{when}", Frame(instance))

    def _prepare(self, number: int, frame: Frame, frames: Sequence[Frame]) -> Sequence[Step]:
        """The commands that prepare a workload before it is measured."""
        assert frame.instance is not None, "BUG: a measurement without a workload"
        action = hosts.action_of(frame.instance, "prepare", at=frame.target)
        name = "prepare" if len(frames) == 1 else f"prepare-{place_of(number)}"
        return self._steps(action, Action.PREPARE, name, frame) if action else ()

    def _steps(self, action: KindAction, verb: Action, name: str, frame: Frame) -> list[Step]:
        return steps_of(action, verb, name, frame, self._here)


def _require_reached(collector: Instance, steps: Iterable[Step]) -> None:
    """Raise ProgramError if a person would have to observe another machine: they could not end that in time."""
    if collector.origin is not None and any(step.action is Action.ASK for step in steps):
        assert collector.span is not None, f"BUG: {collector.key} was declared nowhere"
        host = collector.origin.label
        message = f"`{collector.label}` observes `{host}`, which this run does not reach"
        hint = f"write [hosts.{host}] in zlang.toml, or add --reach {host}=USER@ADDRESS"
        raise ProgramError(Code.NOT_MEASURABLE.at(collector.span, message=message, hint=hint))


def _numbered(steps: Iterable[Step], collector: Instance, config: TrialConfig) -> Iterator[Step]:
    """The steps of a collector; if several machines have it, their readers know the machine's number in the trial."""
    keys = [streams.key_in_program(each) for each in config.collectors]
    key = streams.key_in_program(collector)
    number = list(dict.fromkeys(keys)).index(key) if key != collector.key else None
    yield from steps if number is None else _read_on_each_machine(steps, number)


def _read_on_each_machine(steps: Iterable[Step], thing: object) -> Iterator[Step]:
    """The steps of a thing that several machines have, whose readers know which thing it is."""
    for step in steps:
        reader = step.reader
        yield replace(step, reader=replace(reader, args={**reader.args, EACH: thing}) if reader else None)


def _one_after_the_other(steps: Sequence[Step]) -> Step:
    """One step that does the work of several in order, each in a shell of its own."""
    first, *others = steps
    if not others:
        return first
    commands = " &&\n".join(f"(\n{command}\n)" for command in dict.fromkeys(step.command for step in steps))
    return replace(first, command=commands, timeout=sum(step.timeout for step in steps))


def _require_on_host(thing: Instance, host: Instance | None) -> None:
    """Raise ProgramError if a thing's host lacks something that the thing requires."""
    for finding in hosts.lacking(thing, host):
        raise ProgramError(finding)
