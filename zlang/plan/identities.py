"""The identities of an experiment's trials, each computed once for all points that use the same values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from zlang.cache import Cache, by_object
from zlang.check import digests
from zlang.check.instances import Frame, Levels
from zlang.check.program import Experiment, Instance
from zlang.check.streams import Stream
from zlang.plan import identity
from zlang.plan.schedule import Slot
from zlang.plan.setups import Setups
from zlang.plan.streams import place_of
from zlang.plan.trial_steps import Prepared, TrialSteps
from zlang.record import Record
from zlang.space.trial_config import Shape, Surroundings, TrialConfig, trial_config


def _one_seed(*_drawn_for: str) -> str:
    """The same seed for every draw, so that an identity does not depend on the seed."""
    return identity.SEED


class _NeutralSurroundings(Record):
    """Everything around the workloads of a trial, named by position.

    `targets` are indexed by their key and digest in the program; `values` is the hash of all values.
    """

    targets: Mapping[tuple[str, str], Instance | None]
    things: Surroundings
    values: str


class _SharedShape(Record):
    """The common part of trials of one shape: a renamed one, its frame, and the hashed words.

    Those of properties begin at the place `properties` of the words.
    """

    config: TrialConfig
    frame: Frame
    words: Sequence[str]
    properties: int


class Identities:
    """The identities of an experiment's points, each computed once for all points that use the same values."""

    def __init__(self, experiment: Experiment) -> None:
        self._trial_steps = TrialSteps(experiment, Setups(_one_seed, here=None))
        self._cache = Cache[str, str]()
        self._of_levels = Cache[tuple[Frame, Levels], tuple[str, TrialConfig]](1024)
        self._neutral = Cache[Surroundings, _NeutralSurroundings]()
        self._shapes = Cache[Shape, _SharedShape]()
        self._experiment = experiment
        self._last: tuple[Slot | None, str] = None, ""
        """The last trial in the last history, and the hash of that history."""

    def of(self, config: TrialConfig) -> str:
        """The identity of a point. Raises ProgramError where it cannot be carried out."""
        alike = self._shapes.get(config.shape) if config.shape else None
        if alike is not None:
            return self._of_shape(config, alike)
        cached = self._cache.get(config.key)
        if cached is None:
            cached = self._cache[config.key] = self._of_one(config)
        return cached

    def _of_one(self, config: TrialConfig) -> str:
        steps = self._trial_steps
        steps.require_possible(config)
        renamed, given = self._with_neutral_names(config)
        prepared = _of_prepared(steps.prepared(renamed))
        frames = steps.frames(renamed, "1", "")
        if config.shape and not config.protocol.kind.draws and steps.exposure.names_nothing(renamed):
            before, after = identity.words_around_properties(renamed.workload)
            words = [*before, *identity.words_of_properties(renamed.workload), *after, given, prepared]
            self._shapes[config.shape] = _SharedShape(renamed, frames[0], words, len(before))
        values = [value for stream in renamed.streams for value in _values_of(stream, renamed)]
        return identity.joined(
            *values, given, prepared, identity.of_parts(steps.parts(renamed, (), frames, renamed.levels))
        )

    def _of_shape(self, config: TrialConfig, alike: _SharedShape) -> str:
        """The identity of a trial of which one with the same shape was looked at."""
        key = alike.frame, config.levels
        cached = self._of_levels.get(key)
        if cached is None:
            # Keep the trial too, so that the memory addresses of its values are not reused.
            cached = self._of_levels[key] = self._like(config, alike), config
        return cached[0]

    def _like(self, config: TrialConfig, alike: _SharedShape) -> str:
        first = alike.frame
        frame = config.frame(first.target, first.context, first.name)
        steps = identity.of_parts(self._trial_steps.parts(alike.config, (), (frame,), config.levels))
        words = [*alike.words]
        for place, text in config.texts():
            words[alike.properties + place] = identity.word(text)
        return identity.joined(*words, steps)

    def of_slot(self, slot: Slot, config: TrialConfig | None = None, own: str = "") -> str:
        """The identity of a trial: that of its point (`own`), and the number of passes before it on kept data.

        Raises ProgramError where it cannot be carried out.
        """
        own = own or self.of(config or trial_config(self._experiment, slot.point))
        kept = self._experiment.kept
        return own if kept is None else identity.joined("kept", own, str(slot.point[kept.path]))

    def history(self, slot: Slot) -> str:
        """The hash of the trials whose changes to the data a trial finds, in their order; empty if there are none."""
        if slot.previous is None:
            return ""
        last, history = self._last
        for each in reversed([slot.previous] if last is slot.previous.previous else [*slot.earlier()]):
            history = identity.joined(history if each.previous else "", self.of_slot(each))
        self._last = slot.previous, history
        return history

    def _with_neutral_names(self, config: TrialConfig) -> tuple[TrialConfig, str]:
        """A point with names replaced by positions, and the hash of all values except those of the workload."""
        around = self._neutral.get(config.surroundings)
        if around is None:
            around = self._neutral[config.surroundings] = _neutral_surroundings(config)
        return config.renamed(tuple(_neutral(config.streams, around.targets)), around.things), around.values


@by_object
def _of_prepared(prepared: Prepared) -> str:
    """The hash of setups and cache steps: `TrialSteps` returns one object for many points."""
    setups, steps = prepared
    return digests.digest(identity.of_setups(setups), identity.of_steps(steps))


def _values_of(stream: Stream, config: TrialConfig) -> Iterator[str]:
    """The values of a workload; if there are several streams, also the position of its target."""
    yield from identity.values_of(stream.workload)
    if len(config.streams) > 1:
        targets = [(target.key, target.digest) for target in config.targets]  # an event may be on one of them, too
        yield str(targets.index((stream.on.key, stream.on.digest))) if stream.on else "-"


def _neutral_surroundings(config: TrialConfig) -> _NeutralSurroundings:
    others = config.targets[1:]
    beside = (*config.collectors, *others, *config.during)
    neutral = identity.neutral(
        (next(iter(config.targets), None), config.before, config.protocol, *config.with_, *beside)
    )
    on, before, protocol, *more = neutral.things
    assert protocol is not None, "BUG: a protocol went away"
    there = tuple([item for item in more if item is not None])
    events = len(there) - len(config.during)
    first, second = len(config.with_), len(config.with_) + len(config.collectors)
    keys = [(target.key, target.digest) for target in config.targets]
    targets = dict(zip(keys, (on, *there[second:events]), strict=False))
    around = Surroundings(
        places=tuple([(stream.on, stream.workload.origin) for stream in _neutral(config.streams, targets)]),
        with_=there[:first],
        before=before,
        protocol=protocol,
        collectors=there[first:second],
        during=there[events:],
    )
    return _NeutralSurroundings(targets, around, neutral.values)


def _neutral(streams: Sequence[Stream], targets: Mapping[tuple[str, str], Instance | None]) -> Iterator[Stream]:
    """The streams of a trial, named by position, on renamed targets."""
    for number, stream in enumerate(streams):
        name = "" if len(streams) == 1 else place_of(number)
        workload = stream.workload.replace(alias="workload" if len(streams) == 1 else f"workload{number}")
        on = stream.on and targets[stream.on.key, stream.on.digest]
        yield Stream(name, name, workload, on)
