"""The streams of a trial: workloads that run on targets at the same time.

In: the workloads and targets of an experiment, at a point. Out: `Stream`s. Rules: `|` is "or", a list is "and", and
`copies` is a list of identical things. A workload with its own target uses that one. A single stream is
the same trial as one without a list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice

from zlang.check import schedules
from zlang.check.factors import each_level
from zlang.check.instances import Frame, each_member, leaves_changed, moved, treatment_site
from zlang.check.program import Axis, Experiment, Expr, Instance, Kind, Point, Value
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.errors import suppress
from zlang.metrics import AFTER, QUIET
from zlang.record import Record
from zlang.source import Span
from zlang.units import Quantity

MOST_POINTS = 1000
"""The number of points that are checked before a program is planned."""
MOST_STREAMS = 1024
"""As many as there can be copies of a thing."""
_MOST_LEVELS = 64
"""The most levels of one factor; the levels of a longer one differ in a number."""


class Stream(Record, is_frequent=True):
    """A workload on a target. Both names are empty for a single stream; `group` is the common name of its copies."""

    name: str
    group: str
    workload: Instance
    on: Instance | None


class _Pair(Record):
    """A stream without its name: its workload and target, and the names of these before they were copied."""

    workload: Instance
    on: Instance | None
    workload_name: str
    target_name: str


def at(experiment: Experiment, point: Point) -> tuple[Stream, ...]:
    """Return the streams of the trial at a point. Raises ProgramError if there is none."""
    streams = of(experiment.run.value(point), experiment.on.value(point) if experiment.on else None)
    if not streams:
        raise ProgramError(nothing_run(experiment))
    return streams


def events_at(experiment: Experiment, point: Point) -> tuple[Instance, ...]:
    """Return the events during a trial."""
    return things_of(experiment.during.value(point) if experiment.during else None)


def event_name(event: Instance) -> str:
    """Return the name of an event: its kind, if it is declared in place and no other event has that name."""
    return event.kind.name if event.label == "during" else event.label


def key_on(thing: Instance, machine: Instance) -> str:
    """Return the key of a collector or an event on one of several machines."""
    return f"{thing.key}.{machine.label}"


def key_in_program(thing: Instance) -> str:
    """Return the key of a collector or an event, which it shares with those on other machines."""
    return thing.key.removesuffix(f".{thing.origin.label}") if thing.origin else thing.key


def begins(event: Instance) -> Fraction:
    """Return the seconds from the start of the workloads to the start of an event."""
    at = event.values.get("at")
    return at.amount if isinstance(at, Quantity) else Fraction(0)


def of(run: Value, on: Value) -> tuple[Stream, ...]:
    """Pair each workload with its own targets, or else with those of the experiment."""
    if isinstance(run, Instance) and run.parent is None and not _has_copies(run) and _is_alone(on):
        return (Stream("", "", run, on if isinstance(on, Instance) else None),)
    _require_few(run, on)
    pairs = list(_pairs(run, on))
    if len(pairs) == 1:
        return (Stream("", "", pairs[0].workload, pairs[0].on),)
    groups = _groups(pairs)
    sizes, numbers = Counter(groups), Counter[str]()
    streams: list[Stream] = []
    for pair, group in zip(pairs, groups, strict=True):
        numbers[group] += 1
        name = f"{group}.{numbers[group]}" if sizes[group] > 1 else group
        streams.append(Stream(name, group, pair.workload, pair.on))
    return tuple(streams)


def things_of(value: Value) -> tuple[Instance, ...]:
    """Return the declared things in a field of an experiment at a point: one, a list of them, or none."""
    return tuple(item for item in (value if isinstance(value, tuple) else (value,)) if isinstance(item, Instance))


def targets(streams: Sequence[Stream]) -> tuple[Instance, ...]:
    """Return the targets of the streams, each once."""
    if len(streams) == 1:
        return (streams[0].on,) if streams[0].on else ()
    return tuple({(on.key, on.digest): on for stream in streams if (on := stream.on)}.values())


def groups(run: Expr, on: Expr | None) -> dict[str, tuple[Kind, ...]]:
    """Return the names that distinguish the streams of a trial, each with the kinds of its workloads.

    There are no names if each trial has a single stream; the name is empty if all streams are copies of one.
    """
    kinds: dict[str, dict[Kind, None]] = {}
    axes = (*run.axes, *(on.axes if on else ()))
    for point in islice(each_level(axes, _MOST_LEVELS), MOST_POINTS):
        with suppress(ProgramError):
            streams = of(run.value(point), on.value(point) if on else None)
            several = len({stream.group for stream in streams}) > 1
            for stream in streams if len(streams) > 1 else ():
                kinds.setdefault(stream.group if several else "", {})[stream.workload.kind] = None
    return {group: tuple(of_group) for group, of_group in kinds.items()}


def called(stream: Stream, groups: Collection[str]) -> str | None:
    """Return the name that a stream, or a group of copies, has in trials with several; it is alone in this one."""
    workload, on = stream.workload.label, stream.on.label if stream.on else ""
    return next((name for name in (workload, on, f"{workload}-{on}") if name and name in groups), None)


def without_target(run: Expr) -> dict[str, str]:
    """Return the kinds of workloads without a parent, each with a name; the experiment has to state their target."""
    kinds: dict[str, str] = {}
    for point in islice(each_level(run.axes), MOST_POINTS):
        with suppress(ProgramError):
            for thing in things_of(run.value(point)):
                if thing.parent is None:
                    kinds.setdefault(thing.kind.name, thing.label)
    return kinds


def have_targets(experiment: Experiment) -> bool:
    """Whether workloads may have targets of their own."""
    return bool(experiment.run.type.beneath or experiment.run.type.element)


def target_axes(experiment: Experiment) -> list[Axis]:
    """Return the choices that decide the target."""
    axes = list(experiment.on.axes) if experiment.on else []
    return axes + (list(experiment.run.axes) if have_targets(experiment) else [])


def changes_given(span: Span, workload: Instance, on: Instance) -> Diagnostic:
    """Return the finding about a workload that may write to something that the run did not create."""
    message = f"`{workload.label}` would change `{on.label}`, which is `given`"
    hint = "let it only read, or let it run on something that the run creates"
    if workload.kind.writes is None:
        message = f"`{workload.kind.name}` may write, and `{on.label}` is `given`"
        hint = f"write `writes = off` in `kind {workload.kind.name}`, if it only reads"
    return Code.CHANGES_GIVEN.at(span, message=message, hint=hint)


def may_differ(experiment: Experiment) -> bool:
    """Whether a trial may have streams that are not copies of one."""
    return bool(
        experiment.run.type.element or experiment.run.type.beneath or (experiment.on and experiment.on.type.element)
    )


def nothing_run(experiment: Experiment) -> Diagnostic:
    """Return the finding about a trial without a stream."""
    hint = "name a workload: `run = NAME`"
    return Code.NOT_ALLOWED.at(experiment.run.span, name="run", value="an empty list", hint=hint)


def findings(experiment: Experiment, streams: Sequence[Stream]) -> Iterator[Diagnostic]:
    """Find problems in what streams do, alone and together, also changes to things that do not belong to the run."""
    for stream in streams:
        yield from schedules.findings(stream.workload, stream.on)
        if stream.on is not None and _may_change_given(stream):
            yield changes_given(experiment.run.span, stream.workload, stream.on)
            return
    seen: dict[tuple[str, ...], Stream] = {}
    for stream in streams if len(streams) > 1 else ():
        on = stream.on
        # A stream that changes data counts as the same under any name.
        own = "" if (writes := _modifies(stream.workload, on)) else stream.group
        key = (own, stream.workload.kind.name, *stream.workload.property_texts, on.key if on else "")
        other = seen.setdefault(key, stream)
        if other is stream:
            continue
        is_same = stream.workload.key == other.workload.key
        if is_same or writes:
            subject = f"on `{on.label}`" if on else "at the same time"
            message = f"`{stream.workload.label}` occurs twice {subject}"
            if writes and other.group == stream.group:
                message = f"two streams of `{stream.group}` write the same data {subject}"
            elif writes:
                message = f"`{other.group}` and `{stream.group}` write the same data {subject}"
            hint = f"give each a target of its own, such as `copies = {len(streams)}` of the target"
            if not writes:
                hint = "write it once, with `copies = 2`"
            yield Code.STREAMS_CLASH.at(experiment.run.span, message=message, hint=hint)
            return


def event_findings(
    experiment: Experiment, events: Iterable[tuple[Instance, Instance | None]], streams: Sequence[Stream]
) -> Iterator[Diagnostic]:
    """Report events with the same name, copies of events, and events that would change things that are not theirs.

    Each event is given with the thing on which it happens.
    """
    names, keys = {QUIET: "", AFTER: ""}, set[str]()
    for event, place in events:
        name = event_name(event)
        if names.setdefault(name, key := key_in_program(event)) != key or event.key in keys:
            assert experiment.during is not None, "BUG: an event that nobody asked for"
            several = f"an event called `{name}`" if name in {QUIET, AFTER} else f"two events called `{name}`"
            hint = f"give it a name of its own: `{event.kind.name} NAME {{ … }}`"
            yield Code.NOT_ALLOWED.at(experiment.during.span, name="during", value=several, hint=hint)
        keys.add(event.key)
        if _has_copies(event):
            assert experiment.during is not None, "BUG: an event that nobody asked for"
            hint = "an event happens once: list several with names of their own"
            value = f"several copies of `{name}`"
            yield Code.NOT_ALLOWED.at(experiment.during.span, name="during", value=value, hint=hint)
        if _writes_too(event, place, streams):
            assert experiment.during is not None, "BUG: an event that nobody asked for"
            message = f"`{name}` writes the same data as a stream and as an event"
            hint = f"give the event a target of its own: `{event.kind.name} NAME on TARGET {{ … }}`"
            yield Code.STREAMS_CLASH.at(experiment.during.span, message=message, hint=hint)
        site = event.parent or treatment_site(event, place)
        if site is not None and site.is_given and event.kind.role == "workload":
            if _may_write(event, site) and experiment.during is not None:
                yield changes_given(experiment.during.span, event, site)
        elif event.kind.role == "event" and event.kind.needs is not None and (given := _given(site)) is not None:
            assert experiment.during is not None, "BUG: an event that nobody asked for"
            message = f"`{event.kind.name}` would act on `{given.label}`, which is `given`"
            hint = "let the run create it: remove `given`"
            yield Code.CHANGES_GIVEN.at(experiment.during.span, message=message, hint=hint)


def _writes_too(event: Instance, on: Instance | None, streams: Sequence[Stream]) -> bool:
    """Whether an event is a workload that is also a stream, under any name, and both write to the same target."""
    own = (event.kind.name, event.property_texts)
    same = [each.on for each in streams if (each.workload.kind.name, each.workload.property_texts) == own]
    return on is not None and _writes(event, on) and any(other is not None and other.key == on.key for other in same)


def _given(thing: Instance | None) -> Instance | None:
    """Return the thing, or the first one beneath it, that is `given`."""
    while thing is not None and thing.kind.role == "resource":
        if thing.is_given:
            return thing
        thing = thing.parent
    return None


def _may_change_given(stream: Stream) -> bool:
    return stream.on is not None and stream.on.is_given and _may_write(stream.workload, stream.on)


def _may_write(workload: Instance, on: Instance) -> bool:
    """Whether a workload writes, or its kind does not say."""
    return leaves_changed(workload, Frame(workload, on)) or workload.kind.writes is None


def _modifies(workload: Instance, on: Instance | None) -> bool:
    """Whether a workload changes data, by its trait or else by its `writes`, which includes possible writes."""
    trait = workload.kind.traits.get("modifies")
    modifies = trait.value(Frame(workload, on)) if trait else None
    return modifies if isinstance(modifies, bool) else _writes(workload, on)


def _writes(workload: Instance, on: Instance | None) -> bool:
    writes = workload.kind.writes
    return writes is not None and writes.value(Frame(workload, on)) is True


def placed_by(experiment: Experiment) -> frozenset[str]:
    """Return the factors that decide the targets of workloads with a target of their own."""
    reads = frozenset[str]()
    for point in islice(each_level(experiment.run.axes), MOST_POINTS):
        with suppress(ProgramError):
            reads = reads.union(*(workload.placed_by for workload in things_of(experiment.run.value(point))))
    return reads


def _is_alone(on: Value) -> bool:
    return not isinstance(on, tuple) and not (isinstance(on, Instance) and _has_copies(on))


def _pairs(run: Value, on: Value) -> Iterator[_Pair]:
    shared = [(copy, target.label) for target in things_of(on) for copy in _copies(target)]
    for workload in things_of(run):
        own = [(copy, workload.parent.label) for copy in _copies(workload.parent)] if workload.parent else shared
        # The stream states the target, so this equals a workload with a target from the experiment.
        bare = workload if workload.parent is None else workload.replace(parent=None)
        for copy in _numbered(bare):
            places: list[tuple[Instance | None, str]] = [*own] if own else [(None, "")]
            for sent, its_places in _sent(copy, places):
                for target, name in its_places:
                    yield _Pair(sent, target, workload.label, name)


def _require_few(run: Value, on: Value) -> None:
    """Raise ProgramError if a trial has too many streams, before they are listed."""
    shared, count = sum(map(_number_of, things_of(on))) or 1, 0
    for workload in things_of(run):
        places = _number_of(workload.parent) if workload.parent else shared
        machines = max(1, len(workload.origin.members)) if workload.origin else 1
        # Each machine of a group has one target if there are equally many, and otherwise all of them.
        count += workload.copies * (places if places == machines else places * machines)
        if count > MOST_STREAMS:
            assert workload.span is not None, "BUG: a workload that was declared nowhere"
            message = f"a trial can have at most {MOST_STREAMS:,} streams, and this one would have more"
            hint = "`copies` of a workload and of what it runs on multiply: give only one of them `copies`"
            raise ProgramError(Code.NOT_MEASURABLE.at(workload.span, message=message, hint=hint))


def _number_of(thing: Instance | None) -> int:
    """Count the copies of a thing that `_copies` lists."""
    return (len(thing.members) or thing.copies) * _number_of(thing.parent) if thing else 1


def _sent(
    workload: Instance, places: Sequence[tuple[Instance | None, str]]
) -> Iterator[tuple[Instance, Sequence[tuple[Instance | None, str]]]]:
    """Yield a workload from each machine of its group of origin, with its targets.

    Each machine has a target of its own if there are as many copies of a target as machines.
    """
    group = workload.origin
    if group is None or not group.members:
        yield workload, places
        return
    is_each = len(places) == len(group.members) and len({name for _, name in places}) == 1
    for number, machine in enumerate(each_member(group)):
        sent = moved(workload, workload.parent, machine)
        end = f".{machine.label}"
        sent = sent.replace(key=f"{sent.key}{end}", label=f"{sent.label}{end}")
        yield sent, places[number : number + 1] if is_each else places


def _groups(pairs: Sequence[_Pair]) -> list[str]:
    """Name streams by their workloads, their targets, or both, as needed to distinguish them."""
    targets_of: dict[str, set[str]] = {}
    for pair in pairs:
        targets_of.setdefault(pair.workload_name, set()).add(pair.target_name)
    groups: list[str] = []
    for pair in pairs:
        if len(targets_of[pair.workload_name]) == 1:
            groups.append(pair.workload_name)
        else:
            groups.append(pair.target_name if len(targets_of) == 1 else f"{pair.workload_name}-{pair.target_name}")
    return groups


def _copies(thing: Instance) -> Iterator[Instance]:
    """Yield the copies of a thing, on each copy of its parent; the first copy keeps its name."""
    if not _has_copies(thing):
        yield thing
        return
    for parent in _copies(thing.parent) if thing.parent else (None,):
        end = parent.key.removeprefix(thing.parent.key) if parent and thing.parent else ""
        for copy in _numbered(moved(thing, parent, thing.origin)):
            yield copy.replace(key=f"{copy.key}{end}", label=f"{copy.label}{end}") if end else copy


def _has_copies(thing: Instance | None) -> bool:
    while thing is not None and thing.copies == 1 and not thing.members:
        if thing.origin is not None and thing.origin.members:
            return True
        thing = thing.parent
    return thing is not None


def _numbered(thing: Instance) -> Iterator[Instance]:
    if thing.members:
        yield from each_member(thing)
        return
    # No name in a program has a number after a full stop.
    for number in range(1, thing.copies + 1):
        end = f".{number}" if number > 1 else ""
        yield (
            thing
            if thing.copies == 1
            else thing.replace(key=f"{thing.key}{end}", label=f"{thing.label}{end}", copies=1)
        )
