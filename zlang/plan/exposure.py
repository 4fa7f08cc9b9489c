"""The devices that a trial can write to, and the check that every command that names one runs behind a guard.

In: the things of a trial, and its steps. Out: devices, and their guards. Raises ProgramError where a command names a
device without a guard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from zlang.cache import Cache
from zlang.check import hosts, naming, values
from zlang.check.instances import Frame, chain, treatment_site
from zlang.check.program import Experiment, Instance
from zlang.diagnostics import Code, ProgramError
from zlang.errors import suppress
from zlang.plan.plan import Action, Guarded, Here, Setup, Step
from zlang.plan.setups import drawn_frame, guards, may_write
from zlang.space import points
from zlang.space.trial_config import Surroundings, TrialConfig, trial_config

_MOST_POINTS = 5000
_GUARDS = ("guard", "guard-again", "hold")


_OWN_STEPS = ("flush", "warm", "verify", "property", "property-held", "hold")
"""The verbs of a resource's own steps in a trial."""


class Exposure:
    """The devices of an experiment that its trials write to or name."""

    def __init__(self, experiment: Experiment, here: Here) -> None:
        self._experiment, self._here = experiment, here
        self._devices = naming.devices_of(experiment)
        self._quiet = Cache[Surroundings, bool]()
        self._last: tuple[TrialConfig, tuple[naming.NamedThing, ...]] | None = None

    def named(self, config: TrialConfig) -> tuple[naming.NamedThing, ...]:
        """The things that a trial names other than those below it. Raises ProgramError if it does not guard them."""
        if self._last is None or self._last[0] is not config:
            if self.names_nothing(config):
                self._last = config, ()
                return ()
            named = tuple(naming.named(config.things, self._devices))
            for finding in naming.findings(self._experiment, config.things, named):
                raise ProgramError(finding)
            self._last = config, named
        return self._last[1]

    def names_nothing(self, config: TrialConfig) -> bool:
        """Whether nothing in a trial names another thing; trials with the same surroundings share most of the answer.

        Raises ProgramError where something cannot be made for a trial.
        """
        is_quiet = self._quiet.get(config.surroundings)
        if is_quiet is None:
            for finding in naming.findings_of_made(self._experiment, config.things):
                raise ProgramError(finding)
            others = (*config.things.made, *naming.with_wrappers(config.things.workers))
            has_devices = bool(self._devices) or any(thing.kind.armed for thing in config.things.made)
            is_quiet = not has_devices and not any(thing.named for thing in others)
            self._quiet[config.surroundings] = is_quiet
        return is_quiet and not any(
            stream.workload.named or any(wrapper.named for wrapper in stream.workload.under)
            for stream in config.streams
        )

    def named_devices(self, config: TrialConfig, by: Iterable[Instance]) -> list[Instance]:
        """The devices that these things name, except those on which the run makes something: that would hold them."""
        keys = {instance.key for instance in by}
        every = [item for each in self.named(config) if each.by.key in keys for item in naming.exposed(each.thing)]
        if not every:
            return []
        made = [instance for instance in config.things.made if not instance.is_given and instance.kind.has("create")]
        held = {under.key for instance in made for under in naming.exposed_beneath(instance)}
        held -= {under.key for instance in made for under in naming.exposed(instance)}
        return [instance for instance in every if instance.key not in held]

    def written(self, config: TrialConfig) -> Iterator[Instance]:
        """The devices on which something is made, or that a treatment or the measurement writes to."""
        for instance in config.things.made:
            if not instance.is_given:
                yield from naming.exposed_beneath(instance)
        for target in config.targets if config.before is not None else ():
            assert config.before is not None
            at = treatment_site(config.before, target)
            if at is not None and may_write(config.before, drawn_frame(config.before, at, config.key)):
                yield from naming.exposed(at)
            yield from self.named_devices(config, naming.with_wrappers([config.before]))
        frames = [drawn_frame(stream.workload, stream.on, config.key) for stream in config.streams]
        yield from self.exposed(config, frames)

    def exposed(self, config: TrialConfig, frames: Sequence[Frame]) -> list[Instance]:
        """The devices that the steps of a trial can write to directly; `frames` are those of its streams."""
        if not (config.during or self.named(config) or any(naming.exposed(stream.on) for stream in config.streams)):
            return []
        placed = [event for event in config.during if event.parent is not None]
        others = (config.protocol, *config.collectors, *(event for event in config.during if event.parent is None))
        workers = (*(stream.workload for stream in config.streams), *others, *placed)
        devices: list[Instance] = []
        for event in placed:
            if may_write(event, drawn_frame(event, event.parent, config.key)):
                devices += naming.exposed(event.parent)
        for stream, frame in zip(config.streams, frames, strict=True):
            beneath = naming.exposed(stream.on)
            if beneath and (
                may_write(stream.workload, frame)
                or any(may_write(worker, Frame(worker, stream.on)) for worker in others)
            ):
                devices += beneath
        devices += self.named_devices(config, naming.with_wrappers(workers))
        return list({device.key: device for device in devices}.values())

    def require_guards(self, config: TrialConfig, setups: Sequence[Setup], parts: Iterable[Sequence[Step]]) -> None:
        """Raise ProgramError where a command names a device that the steps of a trial do not guard.

        A workload that only reads its target may use the places that the target offers, and no others.
        """
        if self._quiet.get(config.surroundings):  # there are no devices
            return
        made = config.things.made
        devices = {item.thing.key: item for item in self._devices}
        devices |= {instance.key: naming.device(instance) for instance in made if instance.kind.armed}
        if not devices:
            return
        self._require_armed(config)
        quiet = {instance.key for instance in made if naming.writes_no_data(instance)}
        on = [thing for target in config.targets for thing in chain(target)]
        making = {setup.key: (*setup.make, *setup.unmake, *_set_by(setup)) for setup in setups}
        every = [(key, step) for key, some in (*making.items(), *(("", part) for part in parts)) for step in some]
        guarded = {key for key in devices for _, step in every if _is_step_of(step, key, _GUARDS)}
        names = {name for key in guarded for name in devices[key].names}
        for key, device in devices.items():
            if set(device.names) <= names:
                continue
            has_offers = key not in {instance.key for instance in on}
            for owner, step in every:
                is_own = owner == key or owner in quiet or _is_step_of(step, key, _OWN_STEPS)
                if not is_own and naming.mentions(step.command, device, offers=has_offers):
                    hint = f"give the kind a property for the path, and set it to `{device.thing.label}.block`"
                    label = f"the step `{step.name}`"
                    code, span = Code.UNGUARDED, self._experiment.run.span
                    raise ProgramError(code.at(span, device=device.thing.label, hint=hint, label=label))

    def require_unnamed(self, commands: Iterable[str]) -> None:
        """Raise ProgramError where a command that runs before any guard names a device."""
        for device in self._devices:
            if any(naming.mentions(command, device) for command in commands):
                label = "before all trials: what is required, or a fact"
                raise ProgramError(Code.UNGUARDED.at(self._experiment.run.span, device=device.thing.label, label=label))

    def _require_armed(self, config: TrialConfig) -> None:
        """Raise ProgramError where a trial writes to a device that the plan does not list as one to be armed."""
        for thing in self.written(config):
            guarded = self._guarded(thing)
            if guarded is not None and not set(guarded.names) <= self._armed_names:
                hint = "write each device as a declaration of its own, so that the plan can ask for permission"
                label = "it is written to"
                code, span = Code.UNGUARDED, self._experiment.run.span
                raise ProgramError(code.at(span, device=thing.label, hint=hint, label=label))

    @cached_property
    def _armed_names(self) -> frozenset[str]:
        return frozenset(name for guarded in self.guarded() for name in guarded.names)

    def _guarded(self, thing: Instance) -> Guarded | None:
        """The guard of a thing that the run did not create; None for any other thing.

        A guard that a person carries out on another machine is ignored here.
        """
        steps = guards([thing], self._here)
        if not (thing.kind.armed and steps):
            return None
        named = thing.kind.armed.value(Frame(thing))
        names = named if isinstance(named, tuple) else (named,)
        looks = tuple(step for step in steps if step.action is Action.GUARD)
        return Guarded(thing.title, tuple(map(values.plain, names)), looks)

    def guarded(self) -> Iterator[Guarded]:
        """The devices that are written to and that the run did not make.

        If there are more than `_MOST_POINTS` points, only those that differ from the first in one choice are examined.
        If anything writes in one of them, all devices beneath their targets are assumed to be written to.
        """
        space = points.without_added(self._experiment)
        is_each = space.count <= _MOST_POINTS
        axes = self._experiment.axes
        visited = map(space.__getitem__, range(space.count)) if is_each else hosts.each_choice(self._experiment, axes)
        written: dict[str, Instance] = {}
        exposed: dict[str, Instance] = {}
        writes = False
        for point in visited:
            with suppress(ProgramError):  # reported at the point itself, if it is one
                config = trial_config(self._experiment, point)
                written |= {thing.digest: thing for thing in self.written(config)}
                exposed |= {thing.digest: thing for target in config.targets for thing in naming.exposed(target)}
                writes = writes or any(may_write(worker, Frame(worker, on)) for worker, on in _at_work(config))
        every = (written if is_each or not writes else written | exposed).values()
        yield from filter(None, map(self._guarded, every))


def _at_work(config: TrialConfig) -> Iterator[tuple[Instance, Instance | None]]:
    """Everything that may write during a trial, each with its target."""
    for stream in config.streams:
        others = (config.before, config.protocol, *config.collectors, *config.during)
        yield from ((worker, stream.on) for worker in (stream.workload, *others) if worker is not None)


def _set_by(setup: Setup) -> tuple[Step, ...]:
    return tuple(step for setting in setup.settings for step in setting.steps)


def _is_step_of(step: Step, key: str, verbs: Sequence[str]) -> bool:
    """Whether a step belongs to one of these verbs of the thing with this key, by the name that `setups` gives it."""
    names = [f"{verb}-{key}" for verb in verbs]
    return any(step.name == name or step.name.removeprefix(f"{name}-").isdecimal() for name in names)
