"""From a checked experiment to its plan.

In: an `Experiment`, a seed, and what identifies the program. Out: `Plan`. Rule: the same input and seed give the same
plan, byte for byte; items are made as they are asked for. Raises ProgramError where a point cannot be carried out.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache

from zlang.cache import Cache
from zlang.check import hosts, streams
from zlang.check.instances import Frame, chain
from zlang.check.program import Instance, Kind, Program
from zlang.check.traits import TRAITS
from zlang.diagnostics import ProgramError
from zlang.lint.trial import Thing
from zlang.plan import footprint, header
from zlang.plan.footprint import TargetTraits
from zlang.plan.identities import Identities
from zlang.plan.plan import ALONE, Fetch, Finding, Footprint, Plan, Scalar, Setup, Trial
from zlang.plan.schedule import Schedule, Slot
from zlang.plan.setups import leaves_changed
from zlang.plan.trial_steps import TrialSteps
from zlang.space.trial_config import TrialConfig, trial_config

_PLOTS_LOOKED_AT = 64


_KEPT_TRAITS = tuple(name for name, trait in TRAITS.items() if trait.is_kept)


def plan(program: Program, schedule: Schedule, settings: Mapping[str, str], findings: tuple[Finding, ...] = ()) -> Plan:
    """The plan of an experiment. `settings` are what `--set` and `--profile` said, for the plan's hash."""
    return Plan(replace(header.header(program, schedule, settings), findings=findings), Builder(schedule).items)


def trials(schedule: Schedule, identities: Container[str]) -> Iterator[Trial]:
    """The trials in order that have one of these identities; the commands of the others are not made."""
    builder = Builder(schedule)
    for slot in schedule.slots():
        if builder.identities.of(trial_config(schedule.experiment, slot.point)) in identities:
            yield builder.trial(slot)[0]


def setups_by_branch(schedule: Schedule) -> Iterator[Setup]:
    """Setups of every branch of every choice, as far as they are reached from the first point by one choice."""
    builder = Builder(schedule)
    experiment = schedule.experiment
    others = [axis for expr in (experiment.with_, experiment.before) if expr for axis in expr.axes]
    axes = [*streams.target_axes(experiment), *others]
    for point in hosts.each_choice(experiment, axes):
        with suppress(ProgramError):  # said at the point itself, if it is one
            yield from builder.trial_steps.prepared(trial_config(experiment, point))[0]


class Builder:
    """Makes the items of a plan."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule, self._experiment = schedule, schedule.experiment
        self.trial_steps = TrialSteps(schedule.experiment, schedule.here, schedule.draw)
        self._cached_traits = Cache[tuple[str, str], Mapping[str, Scalar]]()
        self._cached_targets = Cache[tuple[str, str], TargetTraits]()

    @cached_property
    def identities(self) -> Identities:
        """The identities of the points, for which everything is rendered once more."""
        return Identities(self._experiment)

    def items(self) -> Iterator[Setup | Trial]:
        """The trials in order, each setup before the first that needs it."""
        sent: set[str] = set()
        for slot in self._schedule.slots():
            trial, setups = self.trial(slot)
            for setup in setups:
                if setup.signature not in sent:
                    sent.add(setup.signature)
                    yield setup
            yield trial

    def trial(self, slot: Slot) -> tuple[Trial, tuple[Setup, ...]]:
        """A trial, and the setups that it needs, parents first."""
        steps, config = self.trial_steps, trial_config(self._experiment, slot.point)
        own = self.identities.of(config)
        setups, protocol = steps.prepared(config, slot.replicate, own)
        frames = steps.frames(config, slot.replicate, own)
        writes = _writes(config, frames)
        work, fetch = self._footprints(config, frames, writes)
        trial = Trial(
            number=slot.number,
            identity=own,
            replicate=slot.replicate,
            block=slot.block,
            factors=self._schedule.factors(slot.point),
            cache=config.protocol.kind.name,
            cache_state=config.cache_state,
            setups=tuple(setup.signature for setup in setups),
            invalidates=self._invalidated(slot, config, writes, setups),
            steps=steps.steps(config, protocol, frames),
            host="+".join(hosts.names_of(config.streams)),
            whole_plot=slot.whole_plot,
            traits=self._traits(config),
            footprint=work,
            fetch=fetch,
        )
        steps.exposure.require_guards(config, setups, trial)
        return trial, setups

    def state(self, slot: Slot) -> tuple[TrialConfig, tuple[Setup, ...], tuple[str, ...]]:
        """What a trial is of, the setups that it needs, parents first, and the keys of those that it leaves stale."""
        config = trial_config(self._experiment, slot.point)
        setups, _ = self.trial_steps.prepared(config, slot.replicate)
        writes = _writes(config, self.trial_steps.frames(config, slot.replicate, ""))
        return config, setups, self._invalidated(slot, config, writes, setups)

    def _invalidated(
        self, slot: Slot, config: TrialConfig, writes: Sequence[bool], setups: Sequence[Setup]
    ) -> tuple[str, ...]:
        changed = self._changed(config, writes)
        if slot.ends_block:
            changed += [item.key for item in setups if item.signature not in self._lasting_setups]
        return tuple(dict.fromkeys(changed))

    def _changed(self, config: TrialConfig, writes: Sequence[bool]) -> list[str]:
        """The keys of what a trial leaves changed; `writes` says of which streams the workload does."""
        writing = [stream for stream, is_writer in zip(config.streams, writes, strict=True) if is_writer]
        writers = {stream.workload.key for stream in writing}
        changed = [stream.on for stream in writing if stream.on]
        events = self.trial_steps.event_frames(config)
        changed += [
            event.target
            for event in events
            if event.instance and event.target and leaves_changed(event.instance, event)
        ]
        named = self.trial_steps.exposure.named(config)
        changed += [each.thing for each in named if each.by.key in writers and not each.thing.is_given]
        return [thing.key for thing in changed]

    def _footprints(
        self, config: TrialConfig, frames: Sequence[Frame], writes: Sequence[bool]
    ) -> tuple[Footprint, Fetch | None]:
        """The footprint of a measurement, and the data that it must fetch."""
        workloads = [stream.workload for stream in config.streams]
        targets = [self._target_traits(stream.on) if stream.on else None for stream in config.streams]
        written = footprint.of_streams(
            footprint.of_workload(workload, on, frame, writes=is_writer)
            for workload, on, frame, is_writer in zip(workloads, targets, frames, writes, strict=True)
        )
        if not config.is_cold:
            return written, None
        read = [
            footprint.of_reads(workload, on, frame) if on else None
            for workload, on, frame in zip(workloads, targets, frames, strict=True)
        ]
        return written, footprint.of_reads_together(read)

    @cached_property
    def _lasting_setups(self) -> frozenset[str]:
        """The signatures of the setups that every whole plot needs; of many plots, every one of the first."""
        result: list[frozenset[str]] = []
        for plot in range(min(self._schedule.plots.count, _PLOTS_LOOKED_AT)):
            with suppress(ProgramError):  # said when the plot is planned
                setups, _ = self.trial_steps.prepared(trial_config(self._experiment, self._schedule.plots.at(plot, 0)))
                result.append(frozenset(setup.signature for setup in setups))
        return frozenset.intersection(*result) if result else frozenset()

    def _traits(self, config: TrialConfig) -> Mapping[str, Scalar]:
        """The traits of the workload and of the nearest of what it runs on, as far as results need them."""
        first, *others = [self._traits_of(stream.workload, stream.on) for stream in config.streams]
        # What streams do not agree on is not known of the trial.
        if not others and not self._groups:
            return first
        agreed = {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}
        alone = None if others else streams.called(config.streams[0], self._groups)
        return {**agreed, ALONE: alone} if alone else agreed

    @cached_property
    def _groups(self) -> Collection[str]:
        """The names of streams in trials that have several."""
        return streams.groups(self._experiment.run, self._experiment.on)

    def _traits_of(self, workload: Instance, on: Instance | None) -> Mapping[str, Scalar]:
        key = (workload.digest, on.digest if on else "")
        traits = self._cached_traits.get(key)
        if traits is None:
            below = chain(on)[::-1] if on else ()
            traits = self._cached_traits[key] = dict(_kept_traits([Thing(workload, on), *map(Thing, below)]))
        return traits

    def _target_traits(self, on: Instance) -> TargetTraits:
        key = (on.key, on.digest)
        traits = self._cached_targets.get(key)
        if traits is None:
            traits = self._cached_targets[key] = footprint.target_traits(on)
        return traits


def _writes(config: TrialConfig, frames: Sequence[Frame]) -> list[bool]:
    """Of which streams the workload leaves its target changed."""
    return [leaves_changed(stream.workload, frame) for stream, frame in zip(config.streams, frames, strict=True)]


def _kept_traits(things: Sequence[Thing]) -> Iterator[tuple[str, Scalar]]:
    """The traits by which results are judged, and kinds' own ones, each of the nearest thing that declares it."""
    for name, places in _owners(tuple(thing.instance.kind for thing in things)):
        with suppress(ProgramError):  # a trait that has no value at this point is not known
            value = next((value for place in places if (value := things[place].trait(name)) is not None), None)
            if isinstance(value, Fraction):
                yield name, value.numerator if value.denominator == 1 else float(value)
            elif value is not None:
                yield name, value


@lru_cache
def _owners(kinds: tuple[Kind, ...]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The traits that are kept of things of these kinds, each with the places of the kinds that declare it."""
    own = [name for kind in kinds for name in kind.own_traits]
    declared = (
        (name, tuple(i for i, kind in enumerate(kinds) if name in kind.traits)) for name in (*_KEPT_TRAITS, *own)
    )
    return tuple((name, places) for name, places in dict(declared).items() if places)
