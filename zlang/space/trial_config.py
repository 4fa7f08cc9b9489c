"""The configuration of a trial: its workload, target, settings and cache protocol, at a point of an experiment.

In: an `Experiment` and a point of its space. Out: `TrialConfig`. Raises ProgramError if the point is not possible.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from zlang.cache import Cache
from zlang.check import digests, hosts, naming, streams
from zlang.check.instances import Frame, chain, leaves_changed
from zlang.check.program import Experiment, FaultPoint, Instance, Kind, Point, Symbol
from zlang.check.streams import Stream
from zlang.diagnostics import ProgramError
from zlang.hints import Literal
from zlang.space import points

AS_IS = "as_is"
"""The state of caches that nothing was done about, or that were not verified."""


COLD = "cold"


class Surroundings:
    """Everything in a trial except the workloads themselves. Trials with the same surroundings share most steps.

    `places` are the targets and origins of the workloads. The `targets` are those of all streams and of workloads
    that are events, each once. The `cache_state` is the one that the protocol verified, or `as_is` if it verified none.
    """

    __slots__ = ("before", "cache_state", "collectors", "during", "places", "protocol", "targets", "with_")

    def __init__(
        self,
        *,
        places: tuple[tuple[Instance | None, Instance | None], ...],
        with_: tuple[Instance, ...],
        before: Instance | None,
        protocol: Instance,
        collectors: tuple[Instance, ...],
        during: tuple[Instance, ...],
    ) -> None:
        self.places, self.with_, self.before, self.protocol = places, with_, before, protocol
        self.collectors, self.during = collectors, during
        own = [event.parent for event in during if event.parent is not None]
        on = [target for target, _ in places if target is not None]
        self.targets = tuple({(target.key, target.digest): target for target in (*on, *own)}.values())
        self.cache_state = _state_after(protocol.kind)


class Shape:
    """Everything in a trial but the values of its workload's varying properties, and its seed.

    Trials that agree in that share one object.
    """

    __slots__ = ()


_SHAPES = Cache[tuple[object, ...], Shape]()
"""By the surroundings, and of the one workload: its family, what it is on and runs under, its seed, the names of the
given properties, and whether it writes, if that varies."""


class TrialConfig:
    """The workloads of a point, and their surroundings.

    `words` are hashed for its key.
    """

    __slots__ = ("_key", "_shape", "_words", "_writes", "streams", "surroundings")

    def __init__(self, streams: tuple[Stream, ...], surroundings: Surroundings, words: tuple[str, ...]) -> None:
        self.streams, self.surroundings, self._words = streams, surroundings, words
        self._key = ""
        self._writes: tuple[bool, ...] | None = None
        self._shape: Shape | Literal[False] | None = None

    @property
    def key(self) -> str:
        """Return the hash of the values that the trial uses: in one program, they decide everything that is done."""
        if not self._key:
            self._key = digests.digest(*self._words)
        return self._key

    def renamed(self, streams: tuple[Stream, ...], surroundings: Surroundings) -> TrialConfig:
        """Return the same trial with other names."""
        return TrialConfig(streams, surroundings, self._words)

    @property
    def writes(self) -> tuple[bool, ...]:
        """Return whether the workload of each stream changes the target."""
        if self._writes is None:
            frames = ((stream.workload, Frame(stream.workload, stream.on)) for stream in self.streams)
            self._writes = tuple([leaves_changed(workload, frame) for workload, frame in frames])
        return self._writes

    @property
    def shape(self) -> Shape | None:
        """Return what trials share; None if they are not compared.

        That is so for several workloads, events, a schedule, or a workload that names things.
        """
        if self._shape is None:
            self._shape = self._compute_shape() or False
        return self._shape or None

    def _compute_shape(self) -> Shape | None:
        workload, around = self.streams[0].workload, self.surroundings
        if len(self.streams) > 1 or around.during or workload.scheduled or workload.named or not workload.family:
            return None
        if any(wrapper.named for wrapper in workload.under):
            return None
        place = workload.parent, workload.under, workload.replays
        key: tuple[object, ...] = around, workload.family, *place, tuple(workload.values)
        writes = workload.kind.writes
        if writes is not None and not writes.reads.isdisjoint(workload.varying):
            key = *key, self.writes
        shape = _SHAPES.get(key)
        if shape is None:
            shape = _SHAPES[key] = Shape()
        return shape

    @property
    def things(self) -> naming.TrialThings:
        """Return all things in the trial."""
        around = self.surroundings
        own = (around.before,) if around.before else ()
        workloads = [stream.workload for stream in self.streams]
        workers = (*own, *workloads, *around.during, around.protocol, *around.collectors)
        return naming.TrialThings(around.targets, around.with_, workers)

    @property
    def workload(self) -> Instance:
        """The workload of the first stream, which is usually the only one."""
        return self.streams[0].workload

    @property
    def on(self) -> Instance | None:
        """The target of the first stream."""
        return self.streams[0].on

    @property
    def with_(self) -> tuple[Instance, ...]:
        """The things that are set on the machine for the trial."""
        return self.surroundings.with_

    @property
    def before(self) -> Instance | None:
        """The treatment of the targets."""
        return self.surroundings.before

    @property
    def protocol(self) -> Instance:
        """The cache protocol."""
        return self.surroundings.protocol

    @property
    def collectors(self) -> tuple[Instance, ...]:
        """The collectors."""
        return self.surroundings.collectors

    @property
    def during(self) -> tuple[Instance, ...]:
        """The events during the measurement."""
        return self.surroundings.during

    @property
    def targets(self) -> tuple[Instance, ...]:
        """The targets of streams and events, each once."""
        return self.surroundings.targets

    @property
    def cache_state(self) -> str:
        """The state of the caches that the protocol verified."""
        return self.surroundings.cache_state

    @property
    def is_cold(self) -> bool:
        """Whether the protocol verified that the caches are cold."""
        return self.cache_state == COLD


def trial_config(experiment: Experiment, point: Point) -> TrialConfig:
    """Return what is measured at a point, and how. Raises ProgramError if an assertion does not hold."""
    for finding in points.violated(experiment, point):
        raise ProgramError(finding)
    every = streams.at(experiment, point)
    around, before_others, after_others = _around(experiment, point, every)
    first, *others = every
    # Without the distinct word, another stream could be mistaken for a collector with the same hash.
    beside = [
        word for stream in others for word in ("stream", stream.workload.digest, stream.on.digest if stream.on else "")
    ]
    return TrialConfig(every, around, (first.workload.digest, *before_others, *beside, *after_others))


_Around = tuple[Surroundings, tuple[str, ...], tuple[str, ...]]
"""Surroundings, and the words of the key about them: those before and those after the words about other streams."""
_AROUND = Cache[int, tuple[Experiment, tuple[str, ...], Cache[object, _Around]]](8)
"""For each experiment, the factors that decide its surroundings, and the surroundings by places and levels."""


def _around(experiment: Experiment, point: Point, every: tuple[Stream, ...]) -> _Around:
    """Return the surroundings of streams at a point, made once for all points with the same places and levels."""
    places = tuple([(stream.on, stream.workload.origin) for stream in every])
    if isinstance(point, FaultPoint):  # a fault point collects the errors at its levels
        return _worked_out(experiment, point, every, places)
    cached = _AROUND.get(id(experiment))  # an experiment is not hashable
    if cached is None or cached[0] is not experiment:
        fields = (experiment.with_, experiment.before, experiment.cache, experiment.collect, experiment.during)
        order = tuple(sorted(frozenset[str]().union(*(field.reads for field in fields if field))))
        cached = _AROUND[id(experiment)] = experiment, order, Cache[object, _Around]()
    _, order, by_levels = cached
    key = (places, *map(point.get, order))
    around = by_levels.get(key)
    if around is None:
        around = by_levels[key] = _worked_out(experiment, point, every, places)
    return around


def _worked_out(
    experiment: Experiment,
    point: Point,
    every: tuple[Stream, ...],
    places: tuple[tuple[Instance | None, Instance | None], ...],
) -> _Around:
    state = treatment(experiment, point)
    cache = experiment.cache.value(point)
    assert isinstance(cache, Instance | Symbol)
    protocol = cache if isinstance(cache, Instance) else _called(experiment.protocols[cache.name])
    collectors = hosts.collectors_at(experiment, point, every)
    during = hosts.events_at(experiment, point, every)
    targets = (*streams.targets(every), *(event.parent for event in during if event.parent is not None))
    with_ = naming.beside(targets, streams.things_of(experiment.with_.value(point) if experiment.with_ else None))
    on, _ = places[0]
    before_others = tuple([instance.digest if instance else "" for instance in (on, state)])
    after_others = [word for event in during for word in ("event", event.digest)]
    if len(every) > 1:
        after_others.append(_shared(stream.on for stream in every))
    after_others += [protocol.digest, *(collector.digest for collector in collectors)]
    if with_:  # without the distinct word, a setting could be mistaken for a collector with the same hash
        after_others += ["with", *(instance.digest for instance in with_), _shared((*with_, *targets))]
    around = Surroundings(
        places=places, with_=with_, before=state, protocol=protocol, collectors=collectors, during=during
    )
    return around, before_others, tuple(after_others)


def _shared(things: Iterable[Instance | None]) -> str:
    """Return a text that identifies which things beneath several others are the same."""
    keys = [instance.key for thing in things if thing for instance in chain(thing)]
    return " ".join(str(keys.index(key)) for key in keys)


@cache
def _state_after(protocol: Kind) -> str:
    """Return the cache state that a protocol verified last."""
    verified = [phase for phase in protocol.phases if phase.startswith("verify_")]
    return verified[-1].removeprefix("verify_") if verified else AS_IS


@cache
def _called(protocol: Kind) -> Instance:
    """Return a protocol that is given by its name."""
    name, digest = protocol.name, digests.template_digest(protocol)
    return Instance(protocol, name, name, {}, None, is_given=False, digest=digest)


def treatment(experiment: Experiment, point: Point) -> Instance | None:
    """Return the treatment that `before` applies at a point; None without one."""
    before = experiment.before.value(point) if experiment.before else None
    return before if isinstance(before, Instance) else None
