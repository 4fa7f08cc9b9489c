"""The devices that a trial can write to, and whether every command that names one runs behind a guard.

In: what a trial does, as instances and as steps. Out: devices, and their guards. Raises ProgramError where a command
names a device that nothing guards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from zlang.check import hosts, naming, values
from zlang.check.instances import Frame, treatment_site
from zlang.check.program import Experiment, Instance
from zlang.diagnostics import Code, ProgramError
from zlang.plan.plan import Action, Guarded, Here, Setup, Step, Trial
from zlang.plan.setups import drawn_frame, guards, may_write
from zlang.plan.trial_config import TrialConfig, trial_config

_GUARDS = ("guard", "guard-again", "hold")


_OWN_STEPS = ("flush", "warm", "verify", "property", "property-held", "hold")
"""The verbs of what a resource does in a trial by itself."""


class Exposure:
    """The devices of an experiment that its trials write to or name."""

    def __init__(self, experiment: Experiment, here: Here) -> None:
        self._experiment, self._here = experiment, here
        self._devices = naming.devices_of(experiment)

    def named(self, config: TrialConfig) -> tuple[naming.NamedThing, ...]:
        """The things that a trial names beside those below it. Raises ProgramError if it does not guard them."""
        things = config.things
        for finding in naming.findings(self._experiment, things, self._devices):
            raise ProgramError(finding)
        return tuple(naming.named(things, self._devices))

    def named_devices(self, config: TrialConfig, by: Iterable[Instance]) -> list[Instance]:
        """The devices that some things of a trial name, and on which the run makes nothing: that would hold them."""
        made = [instance for instance in config.things.made if not instance.is_given and instance.kind.has("create")]
        held = {under.key for instance in made for under in naming.exposed(instance.parent)}
        held -= {under.key for instance in made for under in naming.exposed(instance)}
        keys = {instance.key for instance in by}
        every = [item for each in self.named(config) if each.by.key in keys for item in naming.exposed(each.thing)]
        return [instance for instance in every if instance.key not in held]

    def written(self, config: TrialConfig) -> Iterator[Instance]:
        """The devices that are made upon, treated or written to by what is measured."""
        for instance in config.things.made:
            if not instance.is_given:
                yield from naming.exposed(instance.parent)
        for target in config.targets if config.before is not None else ():
            assert config.before is not None
            at = treatment_site(config.before, target)
            if at is not None and may_write(config.before, drawn_frame(config.before, at, config.key)):
                yield from naming.exposed(at)
            yield from self.named_devices(config, (config.before,))
        frames = [drawn_frame(stream.workload, stream.on, config.key) for stream in config.streams]
        yield from self.exposed(config, frames)

    def exposed(self, config: TrialConfig, frames: Sequence[Frame]) -> list[Instance]:
        """The devices that the steps of a trial can write to directly; `frames` are those of its streams."""
        others = (config.protocol, *config.collectors, *config.during)
        workers = (*(stream.workload for stream in config.streams), *others)
        devices: list[Instance] = []
        for stream, frame in zip(config.streams, frames, strict=True):
            by_others = any(may_write(worker, Frame(worker, stream.on)) for worker in others)
            if by_others or may_write(stream.workload, frame):
                devices += naming.exposed(stream.on)
        devices += self.named_devices(config, workers)
        return list({device.key: device for device in devices}.values())

    def require_guards(self, config: TrialConfig, setups: Sequence[Setup], trial: Trial) -> None:
        """Raise ProgramError where a command names a device that nothing guards in the trial.

        A workload that only reads its target is given the places that the target offers, and no others.
        """
        made, on = config.things.made, [thing for target in config.targets for thing in naming.chain(target)]
        devices = {item.thing.key: item for item in self._devices}
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
                    code, span = Code.UNGUARDED, self._experiment.run.span
                    raise ProgramError(code.at(span, device=device.thing.label, hint=hint, label=label))

    def guarded(self) -> Iterator[Guarded]:
        """The devices that are written to and are not the run's own, reached from the first point by one choice."""
        guarded: dict[str, Guarded] = {}
        for point in hosts.each_choice(self._experiment, self._experiment.axes):
            with suppress(ProgramError):  # said at the point itself, if it is one
                for thing in self.written(trial_config(self._experiment, point)):
                    steps = guards([thing], self._here)
                    if thing.kind.armed and steps and steps[0].action is Action.GUARD:
                        named = thing.kind.armed.value(Frame(thing))
                        names = named if isinstance(named, tuple) else (named,)
                        guarded[thing.digest] = Guarded(thing.title, tuple(map(values.plain, names)), tuple(steps))
        yield from guarded.values()


def _set_by(setup: Setup) -> tuple[Step, ...]:
    return tuple(step for setting in setup.settings for step in setting.steps)


def _is_step_of(step: Step, key: str, verbs: Sequence[str]) -> bool:
    """Whether a step is what a thing of this key does under one of some verbs, as `setups` names it."""
    names = [f"{verb}-{key}" for verb in verbs]
    return any(step.name == name or step.name.removeprefix(f"{name}-").isdecimal() for name in names)
