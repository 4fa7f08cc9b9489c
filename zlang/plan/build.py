"""Build the plan of a checked experiment.

In: an `Experiment`, a seed, and what identifies the program. Out: a `Plan`. Rule: the same input and seed give the same
plan, byte for byte; items are built lazily. Raises ProgramError where a point cannot be carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain as chain_of

from zlang.cache import Cache
from zlang.check import digests, hosts, remembered, streams
from zlang.check.instances import Frame, Levels, chain, leaves_changed
from zlang.check.program import Experiment, Instance, Kind, Program
from zlang.check.remembered import Family, Member
from zlang.check.traits import TRAITS
from zlang.diagnostics import Diagnostic, ProgramError
from zlang.errors import suppress
from zlang.frozen import frozen, replace
from zlang.hints import NamedTuple, TypeVar
from zlang.lint.trial import Thing, never_written
from zlang.plan import footprint, header
from zlang.plan.identities import Identities
from zlang.plan.plan import ALONE, Fetch, Finding, Footprint, Plan, Scalar, Setup, Step, Trial
from zlang.plan.schedule import Schedule, Slot
from zlang.plan.trial_steps import Parts, TrialSteps
from zlang.space.trial_config import Shape, Surroundings, TrialConfig, trial_config

_PLOTS_LOOKED_AT = 64
_MANY = 1000
_POINTS_TRIED = 100
_STREAMS_TRIED = 10_000
"""The most streams whose commands `unplanned` builds: those of 10,000 take about a second."""
T = TypeVar("T")


_KEPT_TRAITS = tuple(name for name, trait in TRAITS.items() if trait.is_kept)


def plan(
    program: Program,
    kinds: Sequence[Kind],
    builder: Builder,
    settings: Mapping[str, str],
    findings: tuple[Finding, ...] = (),
) -> Plan:
    """The plan of an experiment and its kinds. `settings` are the values of `--set` and `--profile`, for its hash."""
    schedule, exposure = builder.schedule, builder.trial_steps.exposure
    return Plan(replace(header.header(program, kinds, schedule, settings, exposure), findings=findings), builder.items)


def trials(schedule: Schedule, identities: Container[str]) -> Iterator[Trial]:
    """The trials with one of these identities, in order; the commands of the other trials are not built."""
    builder = Builder(schedule)
    for slot in schedule.slots():
        if builder.identities.of_slot(slot) in identities:
            yield builder.trial(slot)[0]


def setups_by_branch(builder: Builder) -> Iterator[Setup]:
    """The setups of every branch of every choice that is one choice away from the first point."""
    experiment = builder.schedule.experiment
    others = [axis for expr in (experiment.with_, experiment.before) if expr for axis in expr.axes]
    axes = [*streams.target_axes(experiment), *others]
    for point in hosts.each_choice(experiment, axes):
        with suppress(ProgramError):  # reported at the point itself, if it is one
            yield from builder.trial_steps.prepared(trial_config(experiment, point))[0]


def unplanned(experiment: Experiment, kinds: Sequence[Kind]) -> Iterator[Diagnostic]:
    """Find points whose commands cannot be built or are not guarded; `kinds` are those of the experiment.

    It tries drawn points and those that differ from the first in one choice; fewer if their trials have many streams.
    """
    builder, streams_left = Builder(Schedule(experiment, 1)), _STREAMS_TRIED
    try:
        header.needs(experiment, kinds, builder.schedule.here)
    except ProgramError as error:
        yield error.diagnostic
    added = {experiment.added: 0} if experiment.added is not None else {}
    drawn = ({**point, **added} for point in builder.schedule.space.sample(_POINTS_TRIED, 1))
    points = chain_of(drawn, hosts.each_choice(experiment, experiment.axes))
    for point in points:
        if streams_left <= 0:
            return
        try:
            config = trial_config(experiment, point)
            streams_left -= len(config.streams)
            setups, protocol = builder.trial_steps.prepared(config)
            frames = builder.trial_steps.frames(config, "1", "")
            parts = builder.trial_steps.parts(config, protocol, frames, config.levels)
            builder.trial_steps.exposure.require_guards(config, setups, parts)
        except ProgramError as error:
            yield error.diagnostic


class Commands(NamedTuple):
    """The commands of a trial: the setups that it needs, parents first, and its steps.

    It `invalidates` the resources with these keys, as `Trial` says.
    """

    slot: Slot
    host: str
    setups: tuple[Setup, ...]
    parts: Parts
    invalidates: tuple[str, ...]


class Builder:
    """Builds the items of a plan.

    Builders made `like` this one, for other orders and shares of the same experiment, reuse its cached results.
    """

    def __init__(self, schedule: Schedule, like: Builder | None = None) -> None:
        self.schedule, self._experiment = schedule, schedule.experiment
        same = like if like is not None and like.schedule.here == schedule.here else None
        self.trial_steps: TrialSteps = same.trial_steps if same else TrialSteps(schedule.experiment, schedule.setups)
        self.identities: Identities = like.identities if like else Identities(schedule.experiment)
        self.judges: Cache[object, Member[_Judgement]] = same.judges if same else Cache()
        self.trials_of_points: Cache[tuple[str, Surroundings, bool], Trial] = same.trials_of_points if same else Cache()
        self._configs = Cache[tuple[tuple[str, int], ...], TrialConfig]()
        self._alike = Cache[Shape, _Alike]()

    def items(self) -> Iterator[Setup | Trial]:
        """The trials in order, each setup before the first that needs it."""
        sent: set[str] = set()
        for slot in self._slots():
            trial, setups = self.trial(slot)
            for setup in setups:
                if setup.signature not in sent:
                    sent.add(setup.signature)
                    yield setup
            yield trial

    def commands(self) -> Iterator[Commands]:
        """The commands of the trials in order."""
        for slot in self._slots():
            config = trial_config(self._experiment, slot.point)
            alike, _, parts = self._work(slot, config, self.identities.of(config))
            yield Commands(slot, alike.host, alike.setups, parts, self._invalidated(slot, config, alike.setups))

    def _slots(self) -> Iterator[Slot]:
        if self.schedule.trials >= _MANY:
            digests.expect_many()
        return self.schedule.slots()

    def _work(self, slot: Slot, config: TrialConfig, own: str) -> tuple[_Alike, tuple[Frame, ...], Parts]:
        """Return the common part of trials like it, the frames of its workloads, and its steps."""
        alike, frames = self._shared(config, slot, own), self.trial_steps.frames(config, slot.draw, own)
        parts = self.trial_steps.parts(config, alike.protocol, frames, config.levels)
        self.trial_steps.exposure.require_guards(config, alike.setups, parts)
        return alike, frames, parts

    def trial(self, slot: Slot, *, is_identified: bool = True) -> tuple[Trial, tuple[Setup, ...]]:
        """The trial of a slot, and the setups that it needs, parents first.

        Unless it `is_identified`, its identity is empty, and its seeds are those of no trial.
        """
        config = trial_config(self._experiment, slot.point)
        if not is_identified:
            self.trial_steps.require_possible(config)
        own = self.identities.of(config) if is_identified else ""
        alike, frames, parts = self._work(slot, config, own)
        judged = self._judged(config, frames)
        work, fetch = _footprints(config, judged)
        trial = Trial(
            number=slot.number,
            identity=self.identities.of_slot(slot, config, own) if is_identified else "",
            replicate=slot.replicate,
            block=slot.block,
            factors=self.schedule.factors(slot.point),
            cache=config.protocol.kind.name,
            cache_state=config.cache_state,
            setups=alike.signatures,
            invalidates=self._invalidated(slot, config, alike.setups),
            steps=tuple(chain_of(*parts)),
            host=alike.host,
            whole_plot=slot.whole_plot,
            traits=self._traits(config, judged),
            footprint=work,
            fetch=fetch,
            follows=slot.follows,
            history=self.identities.history(slot) if is_identified else "",
            keeps=self._kept(slot, config),
        )
        return trial, alike.setups

    def _shared(self, config: TrialConfig, slot: Slot, own: str) -> _Alike:
        """The part of a trial around its workloads, built once for all trials of one shape."""
        alike = self._alike.get(config.shape) if config.shape else None
        if alike is None:
            setups, protocol = self.trial_steps.prepared(config, slot.draw, own)
            signatures = tuple([setup.signature for setup in setups])
            changed = tuple(dict.fromkeys(self._changed_at(config)))
            alike = _Alike(setups, signatures, protocol, changed, "+".join(hosts.names_of(config.streams)))
            if config.shape and not config.protocol.kind.draws and self.trial_steps.exposure.names_nothing(config):
                self._alike[config.shape] = alike
        return alike

    def like(self, slot: Slot, config: TrialConfig | None = None, *, is_identified: bool = True) -> Trial:
        """The trial of another slot with the same point: it takes the same steps, with other seeds."""
        config = config or trial_config(self._experiment, slot.point)
        place = config.key, config.surroundings, is_identified
        cached = self.trials_of_points.get(place)
        if cached is None:
            cached = self.trials_of_points[place] = self.trial(slot, is_identified=is_identified)[0]
        return cached

    def state(self, slot: Slot) -> tuple[TrialConfig, tuple[Setup, ...], tuple[str, ...]]:
        """The configuration of a trial, the setups it needs (parents first), and the keys of those it leaves stale."""
        levels = tuple(slot.point.items())
        config = self._configs.get(levels)
        if config is None:  # replicates of a point share what is measured
            config = self._configs[levels] = trial_config(self._experiment, slot.point)
        setups, _ = self.trial_steps.prepared(config, slot.draw)
        return config, setups, self._invalidated(slot, config, setups)

    def _kept(self, slot: Slot, config: TrialConfig) -> tuple[str, ...]:
        """The keys of the resources that the next trial finds as this trial leaves them."""
        return self._changed(config) if slot.is_kept else ()

    def _invalidated(self, slot: Slot, config: TrialConfig, setups: Sequence[Setup]) -> tuple[str, ...]:
        if slot.previous is None and not slot.ends_block:
            return () if slot.is_kept else self._changed(config)
        changed = [] if slot.is_kept else [*self.changed_by_all(slot, config)]
        if slot.ends_block:
            own = [item.key for item in setups if item.signature not in self._lasting_setups]
            changed += [*own, *self._keys_of_block]  # setups that this trial does not need end with the block, too
        return tuple(dict.fromkeys(changed))

    def changed_by_all(self, slot: Slot, config: TrialConfig) -> Iterator[str]:
        """The keys of the resources that a trial and the earlier ones on the same data change."""
        yield from self._changed(config)
        for each in slot.earlier():
            yield from self._changed(trial_config(self._experiment, each.point))

    def _changed(self, config: TrialConfig) -> tuple[str, ...]:
        """The keys of the resources that a trial changes, each once."""
        alike = self._alike.get(config.shape) if config.shape else None
        return alike.changed if alike else tuple(dict.fromkeys(self._changed_at(config)))

    def _changed_at(self, config: TrialConfig) -> list[str]:
        writing = [stream for stream, is_writer in zip(config.streams, config.writes, strict=True) if is_writer]
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
        return [self.trial_steps.key_of(thing) for thing in changed]

    @cached_property
    def _lasting_setups(self) -> frozenset[str]:
        """The signatures of setups that all examined whole plots need and that are the same when made again."""
        needed = [
            frozenset(setup.signature for setup in setups if not setup.is_a_unit) for setups in self._setups_by_plot
        ]
        return frozenset.intersection(*needed) if needed else frozenset()

    @cached_property
    def _keys_of_block(self) -> tuple[str, ...]:
        """The keys of the setups that are removed at the end of a block."""
        every = (setup for setups in self._setups_by_plot for setup in setups)
        return tuple(dict.fromkeys(setup.key for setup in every if setup.signature not in self._lasting_setups))

    @cached_property
    def _setups_by_plot(self) -> tuple[tuple[Setup, ...], ...]:
        """The setups of each whole plot; if there are many, only of the first ones."""
        result = []
        for plot in range(min(self.schedule.plots.count, _PLOTS_LOOKED_AT)):
            with suppress(ProgramError):  # reported when the plot is planned
                setups, _ = self.trial_steps.prepared(trial_config(self._experiment, self.schedule.plots.at(plot, 0)))
                result.append(setups)
        return tuple(result)

    def _traits(self, config: TrialConfig, judged: Sequence[_Judgement]) -> Mapping[str, Scalar]:
        """The traits that results need, each from the workload or the nearest thing below it that has the trait."""
        first, *others = [each.traits for each in judged]
        # A trait on which the streams disagree is unknown for the trial.
        if not others and not self._groups:
            return first
        agreed = {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}
        are_copies = len({stream.group for stream in config.streams}) == 1
        alone = streams.called(config.streams[0], self._groups) if are_copies else None
        return {**agreed, ALONE: alone} if alone else agreed

    @cached_property
    def _groups(self) -> Collection[str]:
        """The group names of streams in trials that have several."""
        return streams.groups(self._experiment.run, self._experiment.on)

    def _judged(self, config: TrialConfig, frames: Sequence[Frame]) -> list[_Judgement]:
        """Facts about the workload of each stream."""
        result = []
        levels = config.levels if config.shape else ()
        for stream, frame in zip(config.first.streams, frames, strict=True):
            key = config.shape or (stream.workload.kind, stream.on)
            judge = self.judges.get(key)
            if judge is None:
                family = Family(frame, stream.workload.varying) if config.shape else None
                judge = self.judges[key] = _judge(stream.workload.kind, stream.on, family)
            result.append(judge(frame, levels))
        return result


@frozen
class _Alike:
    """The common part of trials of one shape: setups, signatures, steps of the cache protocol, changed keys, host."""

    setups: tuple[Setup, ...]
    signatures: tuple[str, ...]
    protocol: tuple[Step, ...]
    changed: tuple[str, ...]
    host: str


@frozen
class _Judgement:
    """Facts about a workload on a target: its traits, its footprint, and what it reads from devices."""

    traits: Mapping[str, Scalar]
    written: Footprint
    fetched: Fetch | None
    was_written: bool


def _footprints(config: TrialConfig, judged: Sequence[_Judgement]) -> tuple[Footprint, Fetch | None]:
    """The footprint of a measurement, and the data that it must read from devices."""
    written = footprint.of_streams(each.written for each in judged)
    if not config.is_cold:
        return written, None
    is_laid = config.before is not None
    return written, footprint.of_reads_together(
        [each.fetched if each.was_written or is_laid else None for each in judged]
    )


def _judge(kind: Kind, on: Instance | None, family: Family | None) -> Member[_Judgement]:
    """A function that judges workloads of a kind on a target; what frames share is computed once, as in a family."""
    below = [Thing(thing) for thing in reversed(chain(on))] if on else []
    target = footprint.target_traits(on) if on else None

    def traits(frame: Frame) -> Mapping[str, Scalar]:
        return dict(_kept_traits([Thing(_workload(frame), on), *below]))

    def written(frame: Frame) -> Footprint:
        workload = _workload(frame)
        return footprint.of_workload(workload, target, frame, writes=leaves_changed(workload, frame))

    def fetched(frame: Frame) -> Fetch | None:
        return footprint.of_reads(_workload(frame), target, frame) if target else None

    def shared(compute: Callable[[Frame], T], names: Iterable[str]) -> Member[T]:
        every = [kind.traits[name] for name in names if name in kind.traits]
        reads = frozenset[str]().union(*(trait.reads for trait in (*every, *([kind.writes] if kind.writes else []))))
        return family.once(compute, reads) if family else remembered.of_any(compute, reads)

    own = shared(traits, (*_KEPT_TRAITS, *kind.own_traits))
    amounts, reads = shared(written, footprint.OF_WORKLOADS), shared(fetched, footprint.OF_READS)
    was_written = _was_written(below)

    def judge(frame: Frame, levels: Levels) -> _Judgement:
        return _Judgement(own(frame, levels), amounts(frame, levels), reads(frame, levels), was_written)

    return judge


def _was_written(target: Sequence[Thing]) -> bool:
    """Whether reads of a target reach a device; blocks that were never written are not stored on one."""
    with suppress(ProgramError):  # a trait that has no value at this point is unknown
        return never_written(target) is None
    return True


def _workload(frame: Frame) -> Instance:
    assert frame.instance is not None, "BUG: a measurement without a workload"
    return frame.instance


def _kept_traits(things: Sequence[Thing]) -> Iterator[tuple[str, Scalar]]:
    """The traits by which results are judged and those that kinds add, each from the nearest thing that declares it."""
    for name, places in _owners(tuple(thing.instance.kind for thing in things)):
        with suppress(ProgramError):  # a trait that has no value at this point is unknown
            value = next((value for place in places if (value := things[place].trait(name)) is not None), None)
            if isinstance(value, Fraction):
                yield name, value.numerator if value.denominator == 1 else float(value)
            elif value is not None:
                yield name, value


@lru_cache
def _owners(kinds: tuple[Kind, ...]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The traits to record for things of these kinds, each with the positions of the kinds that declare it."""
    own = [name for kind in kinds for name in kind.own_traits]
    declared = (
        (name, tuple(i for i, kind in enumerate(kinds) if name in kind.traits)) for name in (*_KEPT_TRAITS, *own)
    )
    return tuple((name, places) for name, places in dict(declared).items() if places)
