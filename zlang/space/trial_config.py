"""The configuration of a trial: its workload, target, settings and cache protocol, at a point of an experiment.

In: an `Experiment` and a point of its space. Out: `TrialConfig`. Raises ProgramError if the point is not possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from zlang.cache import Cache
from zlang.check import digests, hosts, naming, streams
from zlang.check.instances import Frame, InstanceBuilder, Levels, VariedFrame, VariedThing, chain, leaves_changed
from zlang.check.program import (
    Experiment,
    Expr,
    FaultPoint,
    Instance,
    Kind,
    PartialPoint,
    Point,
    Reached,
    Symbol,
    Undecided,
    Value,
)
from zlang.check.streams import Stream
from zlang.diagnostics import ProgramError
from zlang.hints import Literal
from zlang.record import Record
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

    `words` are hashed for its key, after the digest of its first workload.
    """

    __slots__ = ("_key", "_shape", "_streams", "_writes", "surroundings", "words")

    def __init__(self, streams: tuple[Stream, ...], surroundings: Surroundings, words: tuple[str, ...]) -> None:
        self._streams, self.surroundings, self.words = streams, surroundings, words
        self._key = ""
        self._writes: tuple[bool, ...] | None = None
        self._shape: Shape | Literal[False] | None = None

    @property
    def streams(self) -> tuple[Stream, ...]:
        """Return the workloads, each on its target."""
        return self._streams

    @property
    def first(self) -> TrialConfig:
        """Return a trial with the same structure, in which only values of properties may differ."""
        return self

    @property
    def levels(self) -> Levels:
        """Return the levels of a trial with a shape, in which trials of one shape differ."""
        workload = self.workload
        return tuple([id(workload.values[name]) for name in workload.varying if name in workload.values])

    def texts(self) -> Iterable[tuple[int, str]]:
        """Return the texts of properties that may differ from those of the `first` trial, each with its place."""
        return enumerate(self.workload.property_texts)

    def frame(self, on: Instance | None, context: Mapping[str, Value], name: str = "") -> Frame:
        """Return the frame of the templates of the first workload on a target."""
        return Frame(self.workload, on, context, name)

    @property
    def key(self) -> str:
        """Return the hash of the values that the trial uses: in one program, they decide everything that is done."""
        if not self._key:
            self._key = digests.digest(self.workload.digest, *self.words)
        return self._key

    def renamed(self, streams: tuple[Stream, ...], surroundings: Surroundings) -> TrialConfig:
        """Return the same trial with other names."""
        return TrialConfig(streams, surroundings, self.words)

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


class _LikeFirst(TrialConfig):
    """A trial that differs from the `first` only in values of its workload, which is made when it is needed."""

    __slots__ = ("_first", "_varied")

    def __init__(self, first: TrialConfig, varied: VariedThing) -> None:
        super().__init__((), first.surroundings, first.words)
        self._first, self._varied, self._shape = first, varied, first.shape or False

    @property
    def streams(self) -> tuple[Stream, ...]:
        if not self._streams:
            self._streams = (Stream("", "", self._varied.thing, self._first.on),)
        return self._streams

    @property
    def first(self) -> TrialConfig:
        return self._first

    @property
    def levels(self) -> Levels:
        return self._varied.levels

    def texts(self) -> Iterable[tuple[int, str]]:
        return self._varied.texts()

    def frame(self, on: Instance | None, context: Mapping[str, Value], name: str = "") -> Frame:
        return VariedFrame(self._varied, on, context, name)


def trial_config(experiment: Experiment, point: Point) -> TrialConfig:
    """Return what is measured at a point, and how. Raises ProgramError if an assertion does not hold."""
    for finding in points.violated(experiment, point):
        raise ProgramError(finding)
    if isinstance(point, FaultPoint):  # a fault point collects the errors at its levels
        every = streams.at(experiment, point)
        return _config(every, _worked_out(experiment, point, every))
    shared = _SHARED.get(id(experiment))  # an experiment is not hashable
    if shared is None or shared.experiment is not experiment:
        shared = _SHARED[id(experiment)] = _Shared(experiment)
    return shared.like_first(point) or shared.at(point)


def _config(every: tuple[Stream, ...], surroundings: _Around) -> TrialConfig:
    around, before_others, after_others = surroundings
    # Without the distinct word, another stream could be mistaken for a collector with the same hash.
    beside = [
        word
        for stream in every[1:]
        for word in ("stream", stream.workload.digest, stream.on.digest if stream.on else "")
    ]
    return TrialConfig(every, around, (*before_others, *beside, *after_others))


_Around = tuple[Surroundings, tuple[str, ...], tuple[str, ...]]
"""Surroundings, and the words of the key about them: those before and those after the words about other streams."""
_Levels = tuple[int | None, ...]


class _Alike(Record):
    """The trials with one workload, by the `order` of factors that decide all but the values of its properties."""

    builder: InstanceBuilder
    order: tuple[str, ...]
    firsts: Cache[_Levels, TrialConfig]


class _Shared:
    """The common parts of an experiment's trials, by the levels of the factors that decide them."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        fields = (experiment.with_, experiment.before, experiment.cache, experiment.collect, experiment.during)
        self._reads = frozenset[str]().union(*(field.reads for field in fields if field))
        self._order = tuple(sorted(self._reads))
        self._around = Cache[object, _Around]()
        self._choosing: tuple[str, ...] = ()
        """The factors that decide which of the declared workloads is measured."""
        self._alike = Cache[_Levels, _Alike]()

    def at(self, point: Point) -> TrialConfig:
        """Return the trial at a point; its surroundings are made once for all with the same places and levels."""
        every = streams.at(self.experiment, point)
        key = (_places(every), *map(point.get, self._order))
        around = self._around.get(key)
        if around is None:
            around = self._around[key] = _worked_out(self.experiment, point, every)
        config = _config(every, around)
        self._keep_first(point, config)
        return config

    def like_first(self, point: Point) -> TrialConfig | None:
        """Return the trial at a point, made from the first one that differs only in values of its workload, if any."""
        alike = self._alike.get(tuple(map(point.get, self._choosing)))
        first = alike and alike.firsts.get(tuple(map(point.get, alike.order)))
        varied = alike.builder.varied_thing(Reached(point)) if alike and first else None
        return _LikeFirst(first, varied) if first and varied else None

    def _keep_first(self, point: Point, config: TrialConfig) -> None:
        """Keep a trial for those that differ from it only in values of its workload."""
        workload = config.workload
        builder = next(iter(workload.family), None)
        if not isinstance(builder, InstanceBuilder) or not workload.varying or config.shape is None:
            return
        if builder(point) is not workload or builder.varied_thing(Reached(point)) is None:
            return
        alike = self._alike.get(tuple(map(point.get, self._choosing)))
        if alike is None:
            choosing = _choosing(self.experiment.run, point)
            if not choosing <= {*self._choosing}:
                self._choosing = tuple(sorted(choosing.union(self._choosing)))
                self._alike.clear()
            writes = workload.kind.writes
            on = self.experiment.on.reads if self.experiment.on else frozenset[str]()
            reads = self._reads.union(choosing, on, self.experiment.run.reads - builder.reads)
            decisive = writes.reads.intersection(builder.varying_names) if writes is not None else ()
            reads = reads.union(*(builder.fields[name].reads for name in decisive))
            alike = _Alike(builder, tuple(sorted(reads)), Cache[_Levels, TrialConfig](1024))
            self._alike[tuple(map(point.get, self._choosing))] = alike
        alike.firsts[tuple(map(point.get, alike.order))] = config


_SHARED = Cache[int, _Shared](8)
"""The common parts of trials, by experiment."""


def _choosing(run: Expr, point: Point) -> frozenset[str]:
    """Return the factors whose levels decide which declared thing an expression is at a point."""
    decided: set[str] = set()
    while True:
        try:
            run.value(PartialPoint(point, decided))
        except Undecided as undecided:
            decided.add(undecided.path)
        else:
            return frozenset(decided)


def _places(every: tuple[Stream, ...]) -> tuple[tuple[Instance | None, Instance | None], ...]:
    return tuple([(stream.on, stream.workload.origin) for stream in every])


def _worked_out(experiment: Experiment, point: Point, every: tuple[Stream, ...]) -> _Around:
    places = _places(every)
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
