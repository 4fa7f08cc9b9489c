"""The declared things that a trial names, and whether the trial makes and guards them.

In: the things of a trial at a point. Out: findings, and the things that are named but that nothing is built on. A thing
is named by its offers, by a text that it was given, or by its literal path. Rule: a thing that a trial names is part of
the trial, and anything that names a device may write to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from zlang.check import hosts, streams, values
from zlang.check.factors import FirstLevels
from zlang.check.instances import Frame, chain, leaves_changed, places
from zlang.check.program import Absent, Axis, ChangingValue, Experiment, Instance, Joined, Symbol, Value, Variable
from zlang.check.values import known_pieces
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.errors import suppress
from zlang.record import Record
from zlang.source import Span
from zlang.units import Quantity

_SIGNS_OF_THE_SHELL = r"\\\n|[\"'\\{}]"
_BESIDE_THE_POINT = r"/(?:\.?/)+"
_PATTERN = r"(?<![^\s;|&<>()=])/[^\s;|&<>()=]*[*?\[][^\s;|&<>()=]*"
_RELATIVE_PATTERN = r"(?<![^\s;|&<>(=])(?!/)[^\s;|&<>()=]*[*?\[][^\s;|&<>()=]*"
_LABELS = r"(?:\bin\b|;;)[^();&]*\)"
_ENDS = r"(?![\w.]|-(?!part\d))"
_UP_AGAIN = r"/[^/\s]+/\.\.(?=/)"


class NamedThing(Record):
    """A thing that another names, and the place of the reference."""

    by: Instance
    thing: Instance
    span: Span | None


class GuardedThing(Record):
    """A device that must be armed: its own names, and the places that it offers."""

    thing: Instance
    names: tuple[str, ...]
    offers: tuple[str, ...]


class TrialThings(Record):
    """The things of a trial: the targets, the settings during the trial, and the things that work on these."""

    targets: tuple[Instance, ...]
    with_: tuple[Instance, ...]
    workers: tuple[Instance, ...]

    @property
    def made(self) -> tuple[Instance, ...]:
        """Return everything that is made or set for the trial, including the parents of each thing."""
        return _with_beneath((*self.with_, *self.targets))


@lru_cache(maxsize=1024)
def _with_beneath(tops: tuple[Instance, ...]) -> tuple[Instance, ...]:
    """Return some things with their parents, each once."""
    return tuple({(instance.key, instance.digest): instance for top in tops for instance in chain(top)}.values())


def beside(targets: Iterable[Instance], with_: Iterable[Instance]) -> tuple[Instance, ...]:
    """Return the things of `with` that are not beneath a target."""
    beneath = [thing for target in targets for thing in chain(target)]
    return tuple(item for item in with_ if not _is_one_of_them(item, beneath))


@lru_cache(maxsize=1024)
def exposed(thing: Instance | None) -> tuple[Instance, ...]:
    """Return the devices that any user of this thing can write to directly."""
    if thing is None:
        return ()
    own = (thing,) if thing.kind.armed else ()
    if thing.kind.has("create") and not _passes_place_on(thing):
        return own  # its creation is guarded, and covers what is beneath
    return *own, *exposed_beneath(thing)


def exposed_beneath(thing: Instance) -> Iterator[Instance]:
    """Yield the devices that can be written to directly when this thing is created."""
    for under in thing.beneath:
        yield from exposed(under)


def _passes_place_on(thing: Instance) -> bool:
    """Whether a thing offers the place of a device beneath it, or a place below that one."""
    armed = [device(instance) for instance in chain(thing)[:-1] if instance.kind.armed]
    if not armed:
        return False
    # The name of a part of a device starts with the device's name: `…/device-part1`.
    own = f"-{thing.name}"
    offers = "\n".join(f"{offer[: -len(own)]}-" if offer.endswith(own) else offer for offer in _offered_texts(thing))
    return any(mentions(offers, guarded) for guarded in armed)


def named(trial: TrialThings, declared: Sequence[GuardedThing]) -> Iterator[NamedThing]:
    """Yield the things that those of a trial name, other than their own parents; each once."""
    made = trial.made
    devices = {(named_thing.thing.key, named_thing.thing.digest): named_thing for named_thing in declared}
    devices |= {(instance.key, instance.digest): device(instance) for instance in made if instance.kind.armed}
    seen: set[tuple[str, str, str]] = set()
    for by in (*made, *with_wrappers(trial.workers)):
        result = [NamedThing(by, thing, span) for thing, span in by.named]
        for name, value in by.values.items() if devices and by.kind.role != "machine" else ():
            text = written(value)
            some = [item for item in devices.values() if item.thing.key != by.key and mentions(text, item)]
            # If a device is declared more than once, use the declaration that the trial makes.
            some.sort(key=lambda item: _is_one_of_them(item.thing, made))
            things = {item.names: item.thing for item in some}
            result += [NamedThing(by, thing, by.places.get(name)) for thing in things.values()]
        for named_thing in result:
            key = (by.key, named_thing.thing.key, named_thing.thing.digest)
            if key not in seen:
                seen.add(key)
                yield named_thing


def with_wrappers(workers: Iterable[Instance]) -> tuple[Instance, ...]:
    """Return the things that run in a trial, each followed by the wrappers that start it."""
    return tuple(thing for worker in workers for thing in (worker, *worker.under))


def findings_of_made(experiment: Experiment, trial: TrialThings) -> Iterator[Diagnostic]:
    """Report things that cannot be made as stated: on armed devices, in given things, or with kept data."""
    is_treated = any(worker.kind.role == "treatment" for worker in trial.workers)
    if experiment.kept is not None and not is_treated:
        for top in (*trial.targets, *trial.with_):
            if (below := _never_written_anew(top)) is not None:
                message = f"the data on `{below.label}` would not be fresh in pass 1: nothing writes them again"
                hint = "add a treatment of the device (`before = …`), which each history begins with, or measure a file"
                yield Code.NOT_MEASURABLE.at(experiment.kept.span, message=message, hint=hint)
                break
    for instance in trial.made:
        below = next((under for under in chain(instance)[:-1] if under.kind.armed), None)
        if instance.is_given and below is not None and instance.span is not None:
            hint = f"remove `given`, and the run creates it; or remove `on {below.label}`"
            yield Code.GIVEN_ON_DEVICE.at(instance.span, name=instance.label, device=below.label, hint=hint)
        under = instance.parent
        if under is not None and under.is_given and not instance.is_given and _may_be_taken(instance, under):
            message = (
                f"`{instance.label}` would be made in `{under.label}`, which is `given`, where its name may be taken"
            )
            hint = "make it in a directory that belongs to the run: `dir NAME { path = … }`"
            yield Code.NOT_MEASURABLE.at(instance.span or experiment.run.span, message=message, hint=hint)


def _never_written_anew(top: Instance) -> Instance | None:
    """Return the device beneath a thing whose content stays when the thing is made again: no file system is between."""
    below = None
    for thing in chain(top):
        if thing.kind.armed:
            below = thing
        elif "dir" in thing.kind.offers:
            below = None
    return below


def findings(experiment: Experiment, trial: TrialThings, every: Iterable[NamedThing]) -> Iterator[Diagnostic]:
    """Find things that a trial names but neither makes nor guards; `every` are those that it names."""
    made = trial.made
    for worker in trial.workers:
        yield from _lost_paths(worker)
    for each in every:
        is_setting = writes_no_data(each.by)
        is_resource = each.by.kind.role == "resource"
        if is_setting and not any("$RUN" in written(value) for value in each.by.values.values()):
            is_resource = False  # it names no place that the run makes
        span = each.span or each.by.span or experiment.run.span
        if is_resource and not _is_one_of_them(each.thing, chain(each.by)):
            parents = " or ".join(f"a `{parent}`" for parent in each.by.kind.parents) or "nothing"
            hint = f"a resource can name only what it is built on, here {parents}: `on {each.thing.label}`"
            if is_setting:
                hint = f"name it by its link, `{each.thing.label}.id`: `{each.by.label}` is set before it is made"
            if each.by.kind.armed and each.thing.kind.armed:
                hint = "they are the same device, or one is a partition of the other: use one declaration of it"
            yield Code.NOT_BENEATH.at(span, name=each.by.label, other=each.thing.label, hint=hint)
        elif not _is_one_of_them(each.thing, made):
            others = [other.label for other in trial.with_]
            hint = f"add `with = {_list([*others, each.thing.label])}` to the experiment"
            yield Code.NOT_TAKEN.at(span, name=each.thing.label, hint=hint)
        elif each.thing.is_given and leaves_changed(each.by, Frame(each.by)):
            yield streams.changes_given(span, each.by, each.thing)


def _lost_paths(worker: Instance) -> Iterator[Diagnostic]:
    """Find relative paths in things that run in the directory of their target."""
    trait = worker.kind.traits.get("runs_in_target")
    if trait is None or trait.value(Frame(worker)) is not True:
        return
    for thing, span in worker.named:
        place = next((under for under in chain(thing) if under.kind.is_place), None)
        member = span.text.rpartition(".")[2]
        offer = thing.kind.offers.get(member)
        path = known_pieces(offer.value(Frame(thing)) if offer is not None else thing.values.get(member, ""))[0]
        made_in = [known_pieces(each)[0] for each in places(place.kind, Frame(place))] if place is not None else []
        if any(not way.startswith("/") and (path.startswith(way) or way.startswith(f"{path}/")) for way in made_in):
            hint = f"name a file there without a path, or give `{place.label if place else ''}` an absolute path"
            yield Code.LOST_PATH.at(span, path=span.text, name=worker.label, hint=hint)


def writes_no_data(thing: Instance) -> bool:
    """Whether a thing of the library only sets something, even if it names a device."""
    trait = thing.kind.traits.get("writes_no_data")
    return trait is not None and not thing.kind.is_own and trait.value(Frame(thing)) is True


def _may_be_taken(thing: Instance, under: Instance) -> bool:
    """Whether a place that a thing makes in its parent lacks the name of the run."""
    places = [f"{place}/" for place in _offered_texts(under) if place]
    own = [(text, place) for text in _offered_texts(thing) for place in places if text.startswith(place)]
    return thing.kind.has("create") and any("$RUN" not in text.removeprefix(place) for text, place in own)


def named_by_node(experiment: Experiment, nodes: Sequence[GuardedThing]) -> Iterator[NamedThing]:
    """Yield the texts that name a device other than by its declaration, at the points of `hosts.each_choice`."""
    for point in hosts.each_choice(experiment, experiment.axes) if nodes else ():
        with suppress(ProgramError):  # reported where the points are tried
            trial = _trial_at(experiment, point)
            for by in (*trial.made, *with_wrappers(trial.workers)):
                texts = [written(value) for value in by.values.values()] if by.kind.role != "machine" else []
                for text in (*texts, by.kind.template_source) if by.kind.is_own else texts:
                    some = (node.thing for node in nodes if node.thing.key != by.key and mentions(text, node))
                    yield from (NamedThing(by, thing, by.span) for thing in some)


def found_at(experiment: Experiment) -> Iterator[Diagnostic]:
    """Find things that trials name but neither make nor guard, at the points of `hosts.each_choice`."""
    declared = devices_of(experiment)
    for point in hosts.each_choice(experiment, experiment.axes):
        try:
            trial = _trial_at(experiment, point)
            yield from findings_of_made(experiment, trial)
            yield from findings(experiment, trial, named(trial, declared))
        except ProgramError:
            continue  # reported where the points are tried


def _trial_at(experiment: Experiment, point: FirstLevels) -> TrialThings:
    with_, *workers = (
        streams.things_of(expr.value(point) if expr else None)
        for expr in (experiment.with_, experiment.before, experiment.during, experiment.cache, experiment.collect)
    )
    every = streams.at(experiment, point)
    targets = streams.targets(every)
    running = tuple(stream.workload for stream in every)
    return TrialThings(targets, beside(targets, with_), (*running, *(item for some in workers for item in some)))


def devices_of(experiment: Experiment) -> tuple[GuardedThing, ...]:
    """Return the devices that are declared beside an experiment, in all their possible forms."""
    guarded_things: dict[tuple[str, str], GuardedThing] = {}
    for expr in experiment.armed:
        for point in islice(_choices(expr.axes, {}), streams.MOST_POINTS):
            for thing in streams.things_of(expr.value(point)):
                guarded_things |= {
                    (instance.key, instance.digest): device(instance)
                    for instance in chain(thing)
                    if instance.kind.armed
                }
    return tuple(guarded_things.values())


def _choices(axes: Iterable[Axis], chosen: dict[str, int]) -> Iterator[FirstLevels]:
    yield FirstLevels(chosen)
    for axis in axes:
        for level in range(axis.size):
            yield from _choices(axis.branches[level] if axis.branches else (), {**chosen, axis.path: level})


def device(thing: Instance) -> GuardedThing:
    """Return the names and places of a thing that is written to only if it is armed."""
    assert thing.kind.armed is not None, f"BUG: {thing.key} is armed by nothing"
    frame = Frame(thing)
    value = thing.kind.armed.value(frame)
    names = tuple(plain_path(written(item)) for item in (value if isinstance(value, tuple) else (value,)))
    return GuardedThing(thing, names, tuple(map(plain_path, _offered_texts(thing))))


def _offered_texts(thing: Instance) -> list[str]:
    """Return the places that a thing offers, as text."""
    return list(map(written, places(thing.kind, Frame(thing))))


def mentions(text: str, guarded_thing: GuardedThing, *, offers: bool = True) -> bool:
    """Whether a text names a device, by the device's own names or, on request, by the places that it offers."""
    return bool(text) and any(
        _mentions(text, path) for path in (*guarded_thing.names, *(guarded_thing.offers if offers else ()))
    )


@lru_cache(maxsize=4096)
def _mentions(text: str, path: str) -> bool:
    plain = plain_path(text)
    directory, _, name = path.rpartition("/")
    # A partition's name counts, because writing to it writes to the device; `disk-1` is not `disk`.
    partition = (r"(?:p\d+)?" if path[-1].isdigit() else r"\d*") if directory == "/dev" else ""
    if name and re.search(rf"{re.escape(path)}{partition}{_ENDS}", plain):
        return True
    # A name made of letters only is also an ordinary word: it counts only where the directory stands alone.
    alone = "(?!/[\\w.])" if name.isalpha() else ""
    is_entered = re.search(rf"(?<![\w.-]){re.escape(directory)}/?(?![^\s;&|()<>])", plain)
    is_near = is_entered or (directory.count("/") > 1 and re.search(rf"{re.escape(directory)}(?![\w.-]){alone}", plain))
    if is_near and name and re.search(rf"(?<![\w./-])(?:\.\.?/)*{re.escape(name)}{partition}{_ENDS}", plain):
        return True
    if any(hosts.is_matched(path, pattern) for pattern in re.findall(_PATTERN, plain)):
        return True
    below = "|".join(re.escape("/".join(path.split("/")[count:])) for count in range(1, path.count("/")))
    if below and re.search(rf"(?<![\w./-])(?:(?:\.\.?|\$\w+)/)*(?:{below}){_ENDS}", plain):
        return True  # relative to a directory above its own
    if not is_near or not re.search(rf"{re.escape(directory)}/?(?=[\s;&|)]|$)", plain):
        return False
    patterns = re.findall(_RELATIVE_PATTERN, re.sub(_LABELS, "", plain) if "esac" in plain else plain)
    return any(hosts.is_matched(name, pattern) for pattern in patterns)


def plain_path(text: str) -> str:
    """Return a text with its paths normalized, without quotes and detours."""
    text = re.sub(_BESIDE_THE_POINT, "/", re.sub(_SIGNS_OF_THE_SHELL, "", text))
    while (shorter := re.sub(_UP_AGAIN, "", text)) != text:
        text = shorter
    return text


def written(value: Value) -> str:
    """Return all texts of a value, one per line; shell variables as `$NAME`."""
    match value:
        case Variable():
            return f"${value.name}"
        case Joined():
            return "".join(written(part) for part in value.parts)
        case tuple():
            return "\n".join(written(part) for part in value)
        case Symbol():
            return written(value.argument)
        case None | Absent() | Instance() | bool() | ChangingValue():
            return ""
        case Quantity(is_whole=False):  # such as 100us, which a property writes in its own unit
            return ""
    return values.plain(value)


def _is_one_of_them(thing: Instance, others: Iterable[Instance]) -> bool:
    return any((other.key, other.digest) == (thing.key, thing.digest) for other in others)


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"
