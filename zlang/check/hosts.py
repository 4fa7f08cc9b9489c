"""The hosts of things: their platforms, and the versions of their tools.

In: declared things at a point, and the facts of their hosts. Out: findings about needs that a host does not meet.
Rule: a version that a host does not state is not checked; a host without a stated platform is Linux.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cache
from itertools import islice

from zlang import units
from zlang.cache import Cache, by_object
from zlang.check import library, schedules, streams, values, versions
from zlang.check.factors import FirstLevels, each_level, every_level
from zlang.check.instances import Frame, chain, each_member, moved, places
from zlang.check.program import PLATFORMS, Axis, Experiment, Instance, Kind, KindAction, Point, Symbol, Value
from zlang.check.rendering import shell_text
from zlang.check.streams import MOST_POINTS, Stream
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.errors import suppress
from zlang.source import Span
from zlang.units import Quantity

_KIND = "host"
_CLASS = r"\[[!^]?[^]]*\[:\w+:\][^]]*\]"
"""A set of characters with a class, such as `[[:alpha:]_]`, in a pattern of the shell."""
_PLAIN = r"[\w./:@+=-]+"
"""Words that stand in a text of the language as they are."""
_OPTIONAL = frozenset({"flush", "warm", "change"})
"""Without these a thing can be made and measured: a cache protocol says what it lacks, and a change makes it anew."""
_SEVERAL = 2
_ENOUGH = Fraction(7, 8)
"""The share of the stated memory that a machine reports at least: firmware and the kernel take the rest."""
_lanes = Cache[int, tuple[Experiment, Sequence[frozenset[str]]]](8)
_OF_GIVEN, _OF_MADE = frozenset({"present"}), frozenset({"create", "destroy"})


def host_of(thing: Instance | None) -> Instance | None:
    """Return the machine on which a thing's commands run: the one at the bottom of its parents, if the program says."""
    result = None
    while thing is not None:
        result = thing if thing.kind.role == "machine" else result
        thing = thing.parent
    return result


def carrier(workload: Instance, on: Instance | None) -> Instance | None:
    """Return the machine that carries out a trial: the origin of its load."""
    return workload.origin or host_of(on)


def names(experiment: Experiment) -> tuple[str, ...]:
    """Return the hosts whose trials an experiment may have; the local machine has an empty name."""
    result: dict[str, None] = {}
    axes = [axis for expr in (experiment.on, experiment.run) if expr for axis in expr.axes]
    for point in islice(each_level(axes), MOST_POINTS):
        with suppress(ProgramError):
            result |= dict.fromkeys(names_at(experiment, point))
    return tuple(result)


def names_at(experiment: Experiment, point: Point) -> tuple[str, ...]:
    """Return the hosts that carry out the trials of a point; several streams may have several hosts."""
    return names_of(streams.at(experiment, point))


def names_of(every: Iterable[Stream]) -> tuple[str, ...]:
    """Return the distinct hosts that carry out streams; the local machine has an empty name."""
    carriers = (carrier(stream.workload, stream.on) for stream in every)
    return tuple(dict.fromkeys(host.label if host else "" for host in carriers))


def collectors_at(experiment: Experiment, point: Point, every: Sequence[Stream]) -> tuple[Instance, ...]:
    """Return the collectors of a trial, one for each machine that they observe."""
    return on_each_machine(streams.things_of(experiment.collect.value(point) if experiment.collect else None), every)


def events_at(experiment: Experiment, point: Point, every: Sequence[Stream]) -> tuple[Instance, ...]:
    """Return the events during a trial, one for each machine on which they happen."""
    return on_each_machine(streams.events_at(experiment, point), every)


def on_each_machine(things: Iterable[Instance], every: Sequence[Stream]) -> tuple[Instance, ...]:
    """Return collectors or events, one for each machine on which they observe or happen."""
    return tuple(sent for thing in things for sent in _on_each_machine(thing, every))


def targets_of(thing: Instance, every: Sequence[Stream]) -> tuple[Instance, ...]:
    """Return the targets of a collector or an event; in a trial on several machines, those on its own, if any."""
    targets = streams.targets(every)
    machine = thing.origin.key if thing.origin else ""
    return tuple(on for on in targets if (host := host_of(on)) and host.key == machine) or targets


def target_of(thing: Instance, every: Sequence[Stream]) -> Instance | None:
    """Return the thing that an event is on, or else its first target; the latter also for a collector."""
    return thing.parent or next(iter(targets_of(thing, every)), None)


def _on_each_machine(thing: Instance, every: Sequence[Stream]) -> Iterator[Instance]:
    """Yield a collector or an event for each member of its group, or else for each machine that it applies to."""
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
    """Group, by `key`, the machines that work on the same trials or share something; groups work in parallel."""
    cached = _lanes.get(id(experiment))  # an experiment is not hashable
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
    """Yield the points at which workloads and targets are on different machines, up to a limit."""
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
    """Return the platform of a host."""
    platform = host.values.get("platform") if host else None
    return platform.name if isinstance(platform, Symbol) else PLATFORMS[0]


def action_of(thing: Instance, name: str, state: str = "", at: Instance | None = None) -> KindAction | None:
    """Return the action of a thing for the platform of its own host, or of the host of the thing that it is used on."""
    return thing.kind.action(name, platform_of(thing.origin or host_of(at or thing)), state)


def lacking(thing: Instance, host: Instance | None) -> Iterator[Diagnostic]:
    """Find the needs of a thing that a host lacks: commands for its platform, and versions with its properties."""
    assert thing.span is not None, f"BUG: {thing.key} was declared nowhere"
    if host is not None and host.members:
        message = f"`{thing.label}` needs one machine, and `{host.label}` is a group of machines"
        hint = f"write `first({host.label})` for the first of them; only `on` and `run` take all"
        yield Code.NOT_MEASURABLE.at(thing.span, message=message, hint=hint)
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
            yield finding.also(host.places[since[0]], "stated here") if since[0] in host.places else finding


def rehearsal_findings(experiment: Experiment, every: Sequence[Stream], protocol: Kind | None) -> Iterator[Diagnostic]:
    """Report a cache protocol that rehearses workloads, if one of them would not be rehearsed as it runs."""
    if protocol is None or not protocol.draws:
        return
    if any(schedules.durations(stream.workload) for stream in every):
        message = f"`{protocol.name}` cannot rehearse a workload whose values change while it runs"
        hint = "write `cache = cold` or `cache = hot`"
        yield Code.NOT_MEASURABLE.at(experiment.cache.span, message=message, hint=hint)
    if len(every) < _SEVERAL:
        return
    machines = {machine.key for stream in every if (machine := host_of(stream.on))}
    if len(machines) < len(every) or any(stream.workload.origin for stream in every):
        reason = "streams of this trial share a machine" if len(machines) > 1 else "this trial has several streams"
        message = f"`{protocol.name}` rehearses one workload on each machine, and {reason}"
        hint = "write `cache = cold` or `cache = hot`, and let each workload run unmeasured at first"
        yield Code.NOT_MEASURABLE.at(experiment.cache.span, message=message, hint=hint)


def one_path_findings(every: Sequence[Stream]) -> Iterator[Diagnostic]:
    """Report a workload from one machine on targets of several machines of a group: all have them at the same path."""
    machines: dict[tuple[str, str, Span | None], dict[str, Instance]] = {}
    for stream in every:
        origin, place = stream.workload.origin, host_of(stream.on)
        if origin is not None and place is not None:
            used = machines.setdefault((stream.workload.name, origin.label, place.span), {})
            used[place.label] = stream.workload
    for (_, origin_name, _), used in machines.items():
        if len(used) > 1:
            workload = next(iter(used.values()))
            assert workload.span is not None, "BUG: a workload that was declared nowhere"
            message = f"`{workload.kind.name}` needs a target on one machine, and it is on {', '.join(used)}"
            hint = f"all have it at one path, and `{origin_name}` can have one there: put it on `first(…)` of the group"
            yield Code.NOT_MEASURABLE.at(workload.span, message=message, hint=hint)
            return


def of_one_machine(things: Iterable[Instance], every: Sequence[Stream]) -> Iterator[Diagnostic]:
    """Find workloads that are events on one machine in trials whose streams have several."""
    if len(every) < _SEVERAL:
        return
    machines = {machine.key for stream in every if (machine := host_of(stream.on))}
    for thing in things:
        if len(machines) > 1 and thing.kind.role == "workload" and not thing.origin and not thing.parent:
            assert thing.span is not None, f"BUG: {thing.key} was declared nowhere"
            message = f"`{thing.kind.name}` needs one machine, and a trial has several"
            hint = f"say what it runs on: `{thing.kind.name} NAME on THING {{ … }}`"
            yield Code.NOT_MEASURABLE.at(thing.span, message=message, hint=hint)


@cache
def unsupported(kind: Kind, platform: str) -> tuple[str, ...]:
    """Return the actions that a kind has on other platforms only."""
    names = {(name, state): None for name, state, _ in kind.actions if name not in _OPTIONAL}
    missing = [name for name, state in names if state in {"", "property"} and not kind.action(name, platform, state)]
    return tuple(dict.fromkeys(missing))


@cache
def tools_of(kind: Kind, platform: str) -> tuple[tuple[str, str], ...]:
    """Return the tools that a kind requires on a platform, without those that only other platforms' commands name.

    Of a command that has to succeed, the first word is the tool.
    """
    if not kind.requires or {place for _, _, place in kind.actions} <= {""}:
        return kind.requires
    at_hand = [kind.action(name, platform, state) for name, state, _ in kind.actions]
    here, everywhere = _literals(action for action in at_hand if action), _literals(kind.actions.values())

    def is_needed(tool: str) -> bool:
        return _has_word(here, tool) or not _has_word(everywhere, tool)

    return tuple([(tool, hint) for tool, hint in kind.requires if is_needed(tool.split()[0])])


def _literals(actions: Iterable[KindAction]) -> str:
    return "\n".join([text for action in actions for text in action.literals])


def _has_word(text: str, word: str) -> bool:
    """Whether a text has the word, between other characters than those of words. A list of all words takes longer."""
    place = text.find(word)
    while place >= 0:
        end = place + len(word)
        beside = text[max(0, place - 1) : place] + text[end : end + 1]
        if not any(character.isalnum() or character in "_.-" for character in beside):
            return True
        place = text.find(word, end)
    return False


def probes() -> dict[str, str]:
    """Return the command that prints each fact of a machine, by the fact's name."""
    kind = library.load().kind(_KIND)
    return {
        name: shell_text(definition.probe, Frame(None))
        for name, definition in kind.properties.items()
        if definition.probe
    }


def facts(answers: Mapping[str, str]) -> dict[str, Value]:
    """Convert the output of commands to facts; an output that is not a valid value of its fact is omitted."""
    kind, result = library.load().kind(_KIND), dict[str, Value]()
    for name, text in answers.items():
        type_ = kind.properties[name].type
        if type_.variant(text):
            result[name] = Symbol(text)
        elif "version" in type_.scalars and versions.is_version(text):
            result[name] = text
        elif type_.scalars <= {"size", "count"} and text.isdecimal():
            result[name] = Quantity(Fraction(int(text)), units.SIZE if "size" in type_.scalars else units.NUMBER)
        elif (
            type_.element is not None and (words := text.split()) and all(re.fullmatch(_PLAIN, word) for word in words)
        ):
            result[name] = tuple(words)
    return result


class AskedFacts(Mapping[str, Value]):
    """The facts of a machine, each determined on first use: ten commands take 0.1 s of CPU time."""

    def __init__(self, ask: Callable[[str], str]) -> None:
        self._ask = ask
        self._probes = probes()
        self._facts: dict[str, Value | None] = {}

    def __getitem__(self, name: str) -> Value:
        """Return a fact. Raises KeyError if the machine does not state it."""
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
    """Yield facts of a host that its machine contradicts: fact, stated, found. A stated version may be a prefix.

    An amount of memory is the least that the program needs, and a machine has a little less than was bought: only much
    less contradicts it. Disks have several names, and are not compared.
    """
    for name, value in host.values.items():
        here = values.get(name)
        if here is None or name == "disks" or here == value:
            continue
        if isinstance(value, Quantity) and value.dimension == units.SIZE and isinstance(here, Quantity):
            if here.amount < _ENOUGH * value.amount:
                yield name, value, here
            continue
        if not (isinstance(value, str) and isinstance(here, str) and f"{here}.".startswith(f"{value}.")):
            yield name, value, here


def machine_instance(label: str, facts: Mapping[str, Value]) -> Instance:
    """Return a host that was inspected, not declared."""
    return Instance(library.load().kind(_KIND), label, label, facts, None, is_given=True, digest="")


def set_twice(experiment: Experiment, things: Iterable[Instance]) -> Iterator[Diagnostic]:
    """Find settings that two things of an experiment would both set."""
    setters: dict[str, dict[str, Instance]] = {}
    for thing in things:
        host = host_of(thing)
        instances = setters.setdefault(host.key if host else "", {})
        for place in map(values.text_of, places(thing.kind, Frame(thing))):
            same = (path for path in instances if is_matched(path, place) or is_matched(place, path))
            other = instances.setdefault(place if place in instances else next(same, place), thing)
            if other.key != thing.key and experiment.with_ is not None:
                finding = Code.SET_TWICE.at(experiment.with_.span, what=place, one=other.label, other=thing.label)
                for label in (other, thing):
                    finding = finding.also(label.span, "set here") if label.span else finding
                yield finding


def is_matched(path: str, pattern: str) -> bool:
    """Whether a path matches a pattern of the shell."""
    pattern = re.sub(_CLASS, "?", pattern).replace("[^", "[!")
    parts, patterns = path.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def _compute_used_by(experiment: Experiment) -> Collection[tuple[Instance, Instance | None]]:
    used: dict[tuple[str, ...], tuple[Instance, Instance | None]] = {}
    for point in each_choice(experiment, experiment.axes):
        with suppress(ProgramError):  # reported in planning, if this is a point of the space
            for thing, host in _used_at(experiment, point):
                used.setdefault((thing.key, thing.digest, host.digest if host else ""), (thing, host))
    return used.values()


used_by = by_object(_compute_used_by, most=8)
"""The things that an experiment uses, each with its host, at the points of `each_choice`."""


def machine_findings(experiment: Experiment) -> list[Diagnostic]:
    """Find things that need a single machine, at the points of `each_choice`; each finding occurs once."""
    result: dict[str, Diagnostic] = {}
    for point in each_choice(experiment, experiment.axes) if experiment.during is not None else ():
        with suppress(ProgramError):  # reported in planning, if this is a point of the space
            for thing in streams.events_at(experiment, point):
                for finding in of_one_machine([thing], streams.at(experiment, point)):
                    result[thing.key] = finding
    return list(result.values())


def each_choice(experiment: Experiment, axes: Iterable[Axis]) -> Iterator[FirstLevels]:
    """Yield points of an experiment that differ from the first in one choice of these axes, up to `MOST_POINTS`."""
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
