"""The hosts of things: their platform, and the versions of their tools.

In: declared things at a point, and the facts of their host. Out: findings about what that host lacks.
Rule: a version that a host does not state is not checked; a host that does not state its platform is Linux.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache
from itertools import islice

from zlang import units
from zlang.cache import Cache
from zlang.check import library, streams, values, versions
from zlang.check.factors import FirstLevels, each_level, every_level
from zlang.check.instances import Frame, chain, each_member, moved, places
from zlang.check.program import PLATFORMS, Axis, Experiment, Instance, Kind, KindAction, Point, Symbol, Value
from zlang.check.rendering import shell_text
from zlang.check.streams import MOST_POINTS, Stream
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.units import Quantity

_KIND = "host"
_PLAIN = re.compile(r"[\w./:@+=-]+")
"""Words that stand in a text of the language as they are."""
_OPTIONAL = frozenset({"flush", "warm", "change"})
"""Without these a thing can be made and measured: a cache protocol says what it lacks, and a change makes it anew."""
_SEVERAL = 2
_lanes = Cache[int, tuple[Experiment, Sequence[frozenset[str]]]](8)
_OF_GIVEN, _OF_MADE = frozenset({"present"}), frozenset({"create", "destroy"})


def host_of(thing: Instance | None) -> Instance | None:
    """The machine on which commands for a thing are run: what is beneath all else, where the program says."""
    result = None
    while thing is not None:
        result = thing if thing.kind.role == "machine" else result
        thing = thing.parent
    return result


def carrier(workload: Instance, on: Instance | None) -> Instance | None:
    """The machine that carries out a trial: that from which the load comes."""
    return workload.origin or host_of(on)


def names(experiment: Experiment) -> tuple[str, ...]:
    """The hosts whose trials an experiment may have; one of no name is the machine at hand."""
    result: dict[str, None] = {}
    axes = [axis for expr in (experiment.on, experiment.run) if expr for axis in expr.axes]
    for point in islice(each_level(axes), MOST_POINTS):
        with suppress(ProgramError):
            result |= dict.fromkeys(names_at(experiment, point))
    return tuple(result)


def names_at(experiment: Experiment, point: Point) -> tuple[str, ...]:
    """The names of the hosts that carry out the trials of a point: of several streams there may be several."""
    return names_of(streams.at(experiment, point))


def names_of(every: Iterable[Stream]) -> tuple[str, ...]:
    """The names of the hosts that carry out streams, each once; one of no name is the machine at hand."""
    carriers = (carrier(stream.workload, stream.on) for stream in every)
    return tuple(dict.fromkeys(host.label if host else "" for host in carriers))


def collectors_at(experiment: Experiment, point: Point, every: Sequence[Stream]) -> tuple[Instance, ...]:
    """The collectors of a trial, one on each machine that they observe where there are several."""
    collectors = streams.things_of(experiment.collect.value(point) if experiment.collect else None)
    return tuple(sent for collector in collectors for sent in _on_each_machine(collector, every))


def events_at(experiment: Experiment, point: Point, every: Sequence[Stream]) -> tuple[Instance, ...]:
    """The events during a trial, one on each machine where they happen."""
    events = streams.events_at(experiment, point)
    return tuple(sent for event in events for sent in _on_each_machine(event, every))


def _on_each_machine(thing: Instance, every: Sequence[Stream]) -> Iterator[Instance]:
    """A collector or an event from each member of its group, or else from each machine that it is for."""
    machines: list[Instance] = []
    if thing.origin is not None:
        machines = list(each_member(thing.origin)) if thing.origin.members else []
    elif thing.kind.role != "workload" and thing.parent is None:
        is_of_load = thing.kind.needs is None or any(name == "watch" for name, _, _ in thing.kind.actions)
        places = [carrier(stream.workload, stream.on) if is_of_load else host_of(stream.on) for stream in every]
        machines = list({machine.key: machine for machine in places if machine}.values())
        if len(machines) == 1:
            is_elsewhere = thing.kind.role == "event" and machines != [host_of(every[0].on)]
            thing, machines = (moved(thing, None, machines[0]) if is_elsewhere else thing), []
    if not machines:
        yield thing
    for machine in machines:
        sent = moved(thing, thing.parent, machine)
        yield sent.replace(key=streams.key_on(thing, machine))


def lanes(experiment: Experiment) -> Sequence[frozenset[str]]:
    """The machines that work for the same trials, or share something, by `key`: those of two lanes work at once."""
    cached = _lanes.get(id(experiment))  # an experiment has no hash
    if cached is None or cached[0] is not experiment:
        cached = _lanes[id(experiment)] = experiment, _lanes_of(experiment)
    return cached[1]


def _lanes_of(experiment: Experiment) -> list[frozenset[str]]:
    result: list[frozenset[str]] = []
    for point in _placing_points(experiment):
        with suppress(ProgramError):
            used = [
                (carrier(stream.workload, stream.on), host_of(stream.on)) for stream in streams.at(experiment, point)
            ]
            machines = [host for pair in used for host in pair if host]
            shared = {f" {text}" for host in machines if isinstance(text := host.values.get("shares"), str)}
            together = {host.key for host in machines} | shared
            joined = [lane for lane in result if lane & together]
            result = [lane for lane in result if lane not in joined] + [frozenset(together.union(*joined))]
    return result


def _placing_points(experiment: Experiment) -> Iterable[FirstLevels]:
    """The points at which workloads and targets are on different machines, up to a limit."""
    axes = [axis for expr in (experiment.on, experiment.run) if expr for axis in expr.axes]
    reads = frozenset[str]().union(*(condition.reads for condition in experiment.conditions))
    tied = [axis for axis in experiment.axes if axis.path in reads or any(axis.path == own.path for own in axes)]
    every = list(islice(every_level(tied), MOST_POINTS + 1))
    if len(every) > MOST_POINTS:
        return islice(each_level(axes), MOST_POINTS)
    return [point for point in every if _is_in_space(experiment, point)]


def _is_in_space(experiment: Experiment, point: FirstLevels) -> bool:
    with suppress(ProgramError):
        return all(where.value(point) is not False for where in experiment.conditions)
    return False


def platform_of(host: Instance | None) -> str:
    """The platform of a host."""
    platform = host.values.get("platform") if host else None
    return platform.name if isinstance(platform, Symbol) else PLATFORMS[0]


def action_of(thing: Instance, name: str, state: str = "", at: Instance | None = None) -> KindAction | None:
    """The action of a thing on the platform of its own host, or of that of what it is used on."""
    return thing.kind.action(name, platform_of(thing.origin or host_of(at or thing)), state)


def lacking(thing: Instance, host: Instance | None) -> Iterator[Diagnostic]:
    """Findings about what a host lacks for a thing: commands for its platform, versions that know its properties."""
    assert thing.span is not None, f"BUG: {thing.key} was declared nowhere"
    if host is not None and host.members:
        message = f"`{thing.label}` needs one machine, and `{host.label}` is a group of {len(host.members)}"
        hint = f"write `first({host.label})` for the first of them; only `on` and `run` take all"
        yield Code.NOT_SHOWN.at(thing.span, message=message, hint=hint)
        return
    platform = platform_of(host)
    unused = _OF_MADE if thing.is_given else _OF_GIVEN
    for action in (action for action in unsupported(thing.kind, platform) if action not in unused):
        having = sorted({place for name, _, place in thing.kind.actions if name == action})
        finding = Code.NO_PLATFORM.at(
            thing.span,
            kind=thing.kind.name,
            action=action,
            platform=platform,
            hint="it has one for " + ", ".join(having),
        )
        yield finding.also(host.span, "it is on this host") if host and host.span else finding
    for name in thing.values if host else ():
        since = thing.kind.properties[name].since
        has = host.values.get(since[0]) if host and since else None
        if host and since and isinstance(has, str) and versions.compare_versions("<", has, since[1]):
            words = {"name": name, "tool": since[0], "since": since[1], "host": f"`{host.label}`", "has": has}
            finding = Code.TOO_OLD.at(thing.places[name], **words)
            yield finding.also(host.places[since[0]], "said here") if since[0] in host.places else finding


def of_one_machine(things: Iterable[Instance], every: Sequence[Stream]) -> Iterator[Diagnostic]:
    """Findings about workloads that are events on one machine, where the streams of a trial have several."""
    if len(every) < _SEVERAL:
        return
    machines = {machine.key for stream in every if (machine := host_of(stream.on))}
    for thing in things:
        if len(machines) > 1 and thing.kind.role == "workload" and not thing.origin and not thing.parent:
            assert thing.span is not None, f"BUG: {thing.key} was declared nowhere"
            message = f"`{thing.kind.name}` needs one machine, and a trial has several"
            hint = f"say what it runs on: `{thing.kind.name} NAME on THING {{ … }}`"
            yield Code.NOT_SHOWN.at(thing.span, message=message, hint=hint)


@cache
def unsupported(kind: Kind, platform: str) -> tuple[str, ...]:
    """The actions that a kind has on other platforms only."""
    names = {(name, state): None for name, state, _ in kind.actions if name not in _OPTIONAL}
    missing = [name for name, state in names if state in {"", "property"} and not kind.action(name, platform, state)]
    return tuple(dict.fromkeys(missing))


def tools_of(kind: Kind, platform: str) -> Iterator[tuple[str, str]]:
    """The tools that a kind requires on a platform, without those that only its commands for other platforms name."""
    if {place for _, _, place in kind.actions} <= {""}:
        yield from kind.requires
        return
    at_hand = [kind.action(name, platform, state) for name, state, _ in kind.actions]
    here = _words(action for action in at_hand if action)
    elsewhere = _words(kind.actions.values()) - here
    yield from ((tool, hint) for tool, hint in kind.requires if tool not in elsewhere)


def _words(actions: Iterable[KindAction]) -> set[str]:
    return {word for action in actions for text in action.literals for word in re.findall(r"[\w.-]+", text)}


def probes() -> dict[str, str]:
    """The command that prints a fact of a machine, by the fact's name."""
    kind = library.load().kind(_KIND)
    return {
        name: shell_text(definition.probe, Frame(None))
        for name, definition in kind.properties.items()
        if definition.probe
    }


def facts(answers: Mapping[str, str]) -> dict[str, Value]:
    """The output of commands as values of facts; an output that is not a value of its fact is left out."""
    kind, result = library.load().kind(_KIND), dict[str, Value]()
    for name, text in answers.items():
        type_ = kind.properties[name].type
        if type_.variant(text):
            result[name] = Symbol(text)
        elif "version" in type_.scalars and versions.is_version(text):
            result[name] = text
        elif type_.scalars <= {"size", "count"} and text.isdecimal():
            result[name] = Quantity(Fraction(int(text)), units.SIZE if "size" in type_.scalars else units.NUMBER)
        elif type_.element is not None and (words := text.split()) and all(_PLAIN.fullmatch(word) for word in words):
            result[name] = tuple(words)
    return result


class AskedFacts(Mapping[str, Value]):
    """The facts of a machine, each determined when it is first read: ten commands take a tenth of a second of CPU."""

    def __init__(self, ask: Callable[[str], str]) -> None:
        self._ask = ask
        self._probes = probes()
        self._facts: dict[str, Value | None] = {}

    def __getitem__(self, name: str) -> Value:
        """Ask for a fact. Raises KeyError where the machine does not say it."""
        if name not in self._facts:
            self._facts[name] = facts({name: self._ask(self._probes[name])}).get(name)
        value = self._facts[name]
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._probes if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def contradicted(host: Instance, values: Mapping[str, Value]) -> Iterator[tuple[str, Value, Value]]:
    """Facts of a host that its machine contradicts: fact, stated, found. A version may be stated in part.

    Of memory a machine has less than was bought, and disks have several names: these are not compared.
    """
    for name, value in host.values.items():
        here = values.get(name)
        if here is None or name in {"ram", "disks"} or here == value:
            continue
        if not (isinstance(value, str) and isinstance(here, str) and f"{here}.".startswith(f"{value}.")):
            yield name, value, here


def machine_instance(label: str, facts: Mapping[str, Value]) -> Instance:
    """A host that was not declared but looked at."""
    return Instance(library.load().kind(_KIND), label, label, facts, None, is_given=True, digest="")


def set_twice(experiment: Experiment, things: Iterable[Instance]) -> Iterator[Diagnostic]:
    """Findings about settings that two things of an experiment would both set."""
    instances: dict[tuple[str, str], Instance] = {}
    for thing in things:
        host = host_of(thing)
        for place in map(values.text_of, places(thing.kind, Frame(thing))):
            other = instances.setdefault((host.key if host else "", place), thing)
            if other is not thing and experiment.with_ is not None:
                finding = Code.SET_TWICE.at(experiment.with_.span, what=place, one=other.label, other=thing.label)
                for label in (other, thing):
                    finding = finding.also(label.span, "set here") if label.span else finding
                yield finding


def used_by(experiment: Experiment) -> Iterator[tuple[Instance, Instance | None]]:
    """Each thing that an experiment uses, with its host, at the points of `each_choice`."""
    seen: set[tuple[str, ...]] = set()
    for point in each_choice(experiment, experiment.axes):
        with suppress(ProgramError):  # said when it is planned, if this is a point of the space
            for thing, host in _used_at(experiment, point):
                pair = (thing.key, thing.digest, host.digest if host else "")
                if pair not in seen:
                    seen.add(pair)
                    yield thing, host


def machine_findings(experiment: Experiment) -> list[Diagnostic]:
    """Findings about what needs one machine, at the points of `each_choice`, each once."""
    result: dict[str, Diagnostic] = {}
    for point in each_choice(experiment, experiment.axes) if experiment.during is not None else ():
        with suppress(ProgramError):  # said when it is planned, if this is a point of the space
            for thing in streams.events_at(experiment, point):
                for finding in of_one_machine([thing], streams.at(experiment, point)):
                    result[thing.key] = finding
    return list(result.values())


def each_choice(experiment: Experiment, axes: Iterable[Axis]) -> Iterator[FirstLevels]:
    """Points of an experiment that differ from the first in one choice of these axes, up to `MOST_POINTS`."""
    return (point for point in islice(each_level(axes), MOST_POINTS) if _is_in_space(experiment, point))


def _used_at(experiment: Experiment, point: FirstLevels) -> Iterator[tuple[Instance, Instance | None]]:
    every = streams.at(experiment, point)
    machines = {machine.key if machine else "": machine for machine in (host_of(stream.on) for stream in every)}
    host = next(iter(machines.values()), None)
    for target in streams.targets(every):
        yield from ((thing, host_of(target)) for thing in chain(target) if thing.kind.role != "machine")
    origin = every[0].workload.origin if every else None
    for thing in streams.things_of(experiment.before.value(point) if experiment.before else None):
        yield from ((thing, thing.origin or machine) for machine in machines.values())
    for stream in every:
        for thing in (stream.workload, *stream.workload.under):
            yield thing, stream.workload.origin or host_of(stream.on)
    for thing in events_at(experiment, point, every):
        for each in (thing, *thing.under):
            yield each, thing.origin or host_of(thing.parent) or host
    for thing in collectors_at(experiment, point, every):
        yield thing, thing.origin or origin or host
    for thing in streams.things_of(experiment.with_.value(point) if experiment.with_ else None):
        yield thing, host_of(thing)
