"""The configuration of a trial: its workload, target, settings and cache protocol, at a point of an experiment.

In: an `Experiment` and a point of its space. Out: `TrialConfig`. Raises ProgramError where the point cannot be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from zlang.check import digests, hosts, naming, streams
from zlang.check.instances import chain
from zlang.check.program import Experiment, Instance, Kind, Symbol
from zlang.check.streams import Stream
from zlang.diagnostics import ProgramError
from zlang.space import points

AS_IS = "as_is"
"""The state of caches that nothing was done about, or that were not verified."""


COLD = "cold"
Surroundings = tuple[
    tuple[tuple[Instance | None, Instance | None], ...],
    tuple[Instance, ...],
    Instance | None,
    Instance,
    tuple[Instance, ...],
    tuple[Instance, ...],
]
"""The places of workloads; then what is set, done before, done about caches, done meanwhile, and collected."""


class TrialConfig:
    """The workload, target, settings, protocol and collectors of a point.

    `key` is the hash of the values that it reaches: in one program they decide all that is done. The `surroundings` are
    all but the workloads themselves; trials that share them share what is made and looked at for them. The `targets`
    are those of all streams and of the workloads that are events, each once, and the `cache_state` is that which the
    protocol verified: `as_is` where it verified none.
    """

    __slots__ = (
        "before",
        "cache_state",
        "collectors",
        "during",
        "key",
        "protocol",
        "streams",
        "surroundings",
        "targets",
        "with_",
    )

    def __init__(
        self,
        *,
        streams: tuple[Stream, ...],
        with_: tuple[Instance, ...],
        before: Instance | None,
        protocol: Instance,
        collectors: tuple[Instance, ...],
        key: str,
        during: tuple[Instance, ...],
    ) -> None:
        self.streams, self.with_, self.before, self.protocol = streams, with_, before, protocol
        self.collectors, self.key, self.during = collectors, key, during
        places = tuple([(stream.on, stream.workload.origin) for stream in streams])
        self.surroundings: Surroundings = (places, with_, before, protocol, collectors, during)
        self.targets = _targets(streams, during)
        self.cache_state = _state_after(protocol.kind)

    def like(self, every: tuple[Stream, ...], key: str) -> TrialConfig:
        """The same of other workloads at the same places."""
        made = object.__new__(TrialConfig)
        made.streams, made.key = every, key
        made.surroundings, made.targets, made.cache_state = self.surroundings, self.targets, self.cache_state
        _, made.with_, made.before, made.protocol, made.collectors, made.during = self.surroundings
        return made

    @property
    def things(self) -> naming.TrialThings:
        """All that the trial is of."""
        own = (self.before,) if self.before else ()
        workloads = [stream.workload for stream in self.streams]
        workers = (*own, *workloads, *self.during, self.protocol, *self.collectors)
        return naming.TrialThings(self.targets, self.with_, workers)

    @property
    def workload(self) -> Instance:
        """The workload of the first stream, which most often is alone."""
        return self.streams[0].workload

    @property
    def on(self) -> Instance | None:
        """The target of the first stream."""
        return self.streams[0].on

    @property
    def is_cold(self) -> bool:
        """Whether the protocol verified that the caches are cold."""
        return self.cache_state == COLD


def trial_config(experiment: Experiment, point: Mapping[str, int]) -> TrialConfig:
    """Work out what is measured at a point, and how. Raises ProgramError where an assertion does not hold."""
    for finding in points.violated(experiment, point):
        raise ProgramError(finding)
    every = streams.at(experiment, point)
    state = treatment(experiment, point)
    cache = experiment.cache.value(point)
    assert isinstance(cache, Instance | Symbol)
    protocol = cache if isinstance(cache, Instance) else _called(experiment.protocols[cache.name])
    collectors = hosts.collectors_at(experiment, point, every)
    first, *others = every
    decisive = [instance.digest if instance else "" for instance in (first.workload, first.on, state)]
    during = hosts.events_at(experiment, point, every)
    targets = (*streams.targets(every), *(event.parent for event in during if event.parent is not None))
    # Without its own word, another stream could be taken for a collector of the same hash.
    for stream in others:
        decisive += ["stream", stream.workload.digest, stream.on.digest if stream.on else ""]
    for event in during:
        decisive += ["event", event.digest]
    if others:
        decisive.append(_shared(stream.on for stream in every))
    with_ = naming.beside(targets, streams.things_of(experiment.with_.value(point) if experiment.with_ else None))
    watching = (collector.digest for collector in collectors)
    # Without its own word, what is set could be taken for a collector of the same hash.
    meanwhile = ("with", *(instance.digest for instance in with_), _shared((*with_, *targets))) if with_ else ()
    key = digests.digest(*decisive, protocol.digest, *watching, *meanwhile)
    return TrialConfig(
        streams=every,
        with_=with_,
        before=state,
        protocol=protocol,
        collectors=collectors,
        key=key,
        during=during,
    )


def _targets(every: tuple[Stream, ...], during: tuple[Instance, ...]) -> tuple[Instance, ...]:
    own = [event.parent for event in during if event.parent is not None]
    if not own:
        return streams.targets(every)
    return tuple({(on.key, on.digest): on for on in (*streams.targets(every), *own)}.values())


def _shared(things: Iterable[Instance | None]) -> str:
    """A text that says which of the things beneath several things are the same."""
    keys = [instance.key for thing in things if thing for instance in chain(thing)]
    return " ".join(str(keys.index(key)) for key in keys)


@cache
def _state_after(protocol: Kind) -> str:
    """The state of the caches that a protocol verified last."""
    verified = [phase for phase in protocol.phases if phase.startswith("verify_")]
    return verified[-1].removeprefix("verify_") if verified else AS_IS


@cache
def _called(protocol: Kind) -> Instance:
    """A protocol that is called by its name."""
    name, digest = protocol.name, digests.template_digest(protocol)
    return Instance(protocol, name, name, {}, None, is_given=False, digest=digest)


def treatment(experiment: Experiment, point: Mapping[str, int]) -> Instance | None:
    """The treatment that `before` applies at a point; None without one."""
    before = experiment.before.value(point) if experiment.before else None
    return before if isinstance(before, Instance) else None
