"""Declared things at a point: filling in their kinds' templates, and the permitted values of their properties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from zlang import units
from zlang.cache import Cache
from zlang.check import digests, values, versions
from zlang.check.expressions import failed, violation
from zlang.check.program import (
    ABSENT,
    Absent,
    Assertion,
    Effort,
    Expr,
    FactorDef,
    FaultPoint,
    Instance,
    Kind,
    PartialPoint,
    PropertyDef,
    Reached,
    Symbol,
    Undecided,
    Value,
)
from zlang.check.scope import Path
from zlang.check.types import Type
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.hints import Any, TypeVar
from zlang.record import Record
from zlang.source import Span
from zlang.units import Quantity

Answer = TypeVar("Answer")
Levels = tuple[int, ...]
"""The values of the properties in which things of a family differ, by their memory addresses."""
LEFT_OUT = Symbol("none")
"""Given to a property that need not have a value, it is as if the property were not given."""
_WHOLE = "write a whole number; `round(…)` makes one of a computed value"
_WHOLE_SIZE = f"{_WHOLE}, `ceil(… / 1MiB) * 1MiB` whole MiB"


class Frame:
    """The frame in which a kind's templates are filled in: a declared thing, its target, and the planner's values.

    A `name` replaces that of the thing.
    """

    __slots__ = ("_name", "context", "instance", "target")

    def __init__(
        self,
        instance: Instance | None,
        target: Instance | None = None,
        context: Mapping[str, Value] | None = None,
        name: str = "",
    ) -> None:
        self.instance = instance
        self.target = target
        self.context = context or {}
        self._name = name

    @property
    def name(self) -> str:
        """The name of the thing in commands."""
        return self._name or (self.instance.name if self.instance else "")


class VariedFrame(Frame):
    """The frame of a thing that is made only if something reads more than its levels."""

    __slots__ = ("_varied",)

    def __init__(
        self, varied: VariedThing, target: Instance | None, context: Mapping[str, Value], name: str = ""
    ) -> None:
        self._varied, self.target, self.context, self._name = varied, target, context, name

    def __getattr__(self, name: str) -> Instance:
        """Return the thing; Python asks for it once, when it is first read."""
        if name != "instance":
            raise AttributeError(name)
        self.instance = self._varied.thing
        return self.instance


def treatment_site(treatment: Instance, on: Instance | None) -> Instance | None:
    """Return the thing that offers what a treatment needs; things above it are made after the treatment.

    It is the target or something beneath it: the topmost thing with the offer or, if that passes on the offer of its
    parent, the parent. None if nothing has the offer. A workload is carried out on the target. An event happens where a
    treatment would be applied.
    """
    if treatment.kind.needs is None or treatment.kind.role not in {"treatment", "event"}:
        return on
    needed = treatment.kind.needs[0]
    while on is not None and not set(needed) & set(on.kind.offers):
        on = on.parent
    if on is None:
        return None
    need = next(name for name in needed if name in on.kind.offers)
    offered = on.kind.offers[need].value(Frame(on))
    while (below := on.parent) and need in below.kind.offers and below.kind.offers[need].value(Frame(below)) == offered:
        on = below
    return on


def leaves_changed(thing: Instance, frame: Frame) -> bool:
    """Whether a treatment or a workload writes to the thing that it is carried out on."""
    writes = thing.kind.writes
    is_changing = thing.kind.role == "treatment" or (thing.kind.role == "event" and writes is None)
    return is_changing or (writes is not None and writes.value(frame) is not False)


class LazyValues(Mapping[str, Value]):
    """The properties of a thing at a point, each computed on demand.

    `asked` are the names in order of use, and the factors that decide each.
    """

    def __init__(
        self, fields: Mapping[str, Expr], point: PartialPoint, optional: AbstractSet[str] = frozenset()
    ) -> None:
        self._fields, self._point, self._optional = fields, point, optional
        self.reads: list[tuple[str, frozenset[str]]] = []

    def __getitem__(self, name: str) -> Value:
        field = self._fields.get(name)
        self.reads.append((name, field.reads if field else frozenset()))
        value = field.value(self._point) if field else None
        if value is None or isinstance(value, Absent) or (name in self._optional and value == LEFT_OUT):
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._fields if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def field(self, name: str) -> Expr:
        """Return a given property, as an expression over all points."""
        return self._fields[name]

    def with_property(self, name: str, field: Expr) -> LazyValues:
        """Return a copy with one more property."""
        return LazyValues({**self._fields, name: field}, self._point, self._optional)


def explored(
    factors: Mapping[str, FactorDef],
    most: int,
    ask: Callable[[PartialPoint], Answer],
    points: dict[frozenset[tuple[str, int]], PartialPoint] | None = None,
    effort: Effort | None = None,
) -> tuple[list[Answer], frozenset[str], bool]:
    """Return the answers at all levels of the factors that a question reads, these factors, and whether all were tried.

    Questions about the same factors can share their `points`, so that each thing is computed once, and their
    `effort`.
    """
    points = {} if points is None else points
    effort = effort or Effort()
    answers: list[Answer] = []
    reads: set[str] = set()
    pending: list[dict[str, int]] = [{}]
    requested = 0
    while pending and requested < most and effort.steps <= MOST_STEPS:
        decided = pending.pop()
        requested += 1
        try:
            key = frozenset(decided.items())
            point = points.get(key) or points.setdefault(key, PartialPoint(decided, decided.keys(), effort))
            answers.append(ask(point))
        except Undecided as undecided:
            reads.add(undecided.path)
            factor = factors.get(undecided.path)
            pending += [{**decided, undecided.path: level} for level in range(factor.size if factor else 1)]
        except ProgramError:
            continue  # reported when the points are tried
    return answers, frozenset(reads), not pending


_Named = tuple[tuple[Instance, Span], ...]
_Given = tuple[Value, str, _Named]
"""The value that a property has at a point, the text of that value in digests, and the things that it names."""
_AllGiven = tuple[dict[str, Value], dict[str, str], _Named]
"""The same of all properties: values by name, texts by name, and the things that are named."""


MOST_STEPS = 2_000_000
"""The steps to find problems that only some points of an experiment have: about 2 s."""
_STEPS = 20
"""The cost of making a thing at a point, besides its values: about 20 us."""


class _Field:
    """A property value of a declared thing, computed once for each combination of the levels that decide it."""

    __slots__ = ("_cache", "_expr", "_is_optional", "_name", "_only", "_order", "varies")

    def __init__(self, name: str, expr: Expr, *, is_optional: bool) -> None:
        self._name, self._expr, self._order, self._is_optional = name, expr, tuple(sorted(expr.reads)), is_optional
        self.varies = bool(self._order)
        self._only = self._order[0] if len(self._order) == 1 else None
        self._cache = Cache[object, _Given]()

    def at(self, point: Reached) -> _Given:
        """Return the value at a point of the space."""
        levels = tuple(map(point.get, self._order)) if self._only is None else point.get(self._only)
        cached = self._cache.get(levels)
        if cached is None:
            cached = self._cache[levels] = self.tried(point)
        return cached

    def tried(self, point: Reached | FaultPoint) -> _Given:
        """Return the value at a point that may not be possible."""
        before = len(point.named)
        value = self._expr.value(point)
        if self._is_optional and isinstance(value, Symbol) and value == LEFT_OUT:
            value = ABSENT
        return value, _property_text(self._name, value), tuple(point.named[before:])


_MORE_THAN_VALUES = frozenset({"seed", "from", "under", "copies", "members"})
"""Properties that decide more of a thing than one of its values."""


class InstanceBuilder:
    """Makes the declared thing at a point; points with the same values for everything that it reads share one."""

    __slots__ = (
        "cache",
        "constant",
        "decisive",
        "fields",
        "first",
        "given",
        "has_parts",
        "is_copied",
        "is_given",
        "is_unknown",
        "is_wrapped",
        "key",
        "kind",
        "label",
        "optional",
        "order",
        "parent",
        "places",
        "reads",
        "scheduled",
        "sound",
        "span",
        "varying",
        "varying_names",
    )

    def __init__(
        self,
        kind: Kind,
        path: Path,
        label: str,
        fields: Mapping[str, Expr],
        parent: Expr | None,
        span: Span,
        *,
        is_given: bool,
    ) -> None:
        self.span, self.places = span, {name: field.span for name, field in fields.items()}
        self.kind, self.fields, self.parent, self.is_given = kind, fields, parent, is_given
        self.key, self.label = values.safe_name(path), label
        self.reads = frozenset[str]().union(*(expr.reads for expr in (*fields.values(), *([parent] if parent else []))))
        self.order = tuple(sorted(self.reads))
        self.cache = Cache[tuple[int | None, ...], Instance](1024)  # enough for the things that trials share
        self.optional = frozenset(name for name in fields if may_be_left_out(kind, name))
        self.given = [(name, _Field(name, expr, is_optional=name in self.optional)) for name, expr in fields.items()]
        self.varying = [(name, field) for name, field in self.given if field.varies]
        self.varying_names = tuple([name for name, _ in self.varying])
        self.constant: _AllGiven | None = None
        self.decisive = _decisive(kind, fields)
        self.is_copied = kind.is_copied and "copies" in fields
        self.has_parts = any(kind.properties[name].type.has_things for name in fields if name in kind.properties)
        self.scheduled = tuple([name for name, field in fields.items() if field.type.schedule])
        self.is_wrapped = "under" in fields and bool(kind.properties["under"].role)
        self.is_unknown = any(field.type.unknown for field in fields.values())
        self.first: _First | None = None
        self.sound = Cache[tuple[int | None, ...], Instance](1024)

    def __call__(self, point: Any) -> Instance:
        """Return the declared thing at a point."""
        if isinstance(point, FaultPoint):
            if id(self) not in point.made:
                point.effort.steps += _STEPS + len(self.given)
                made = self._partial(point) if isinstance(point, PartialPoint) else self._tried(point)
                point.made[id(self)] = made
            return point.made[id(self)]
        key = tuple(map(point.get, self.order))
        cached = self.cache.get(key)
        if cached is None:
            reached = Reached(point)
            varied = self.varied_thing(reached)
            cached = varied.thing if varied else self._build(reached)
            self.cache[key] = cached
        return cached

    def _tried(self, point: FaultPoint) -> Instance:
        """Return the declared thing at a point; one without faults is made once for each combination of its levels."""
        levels = tuple(map(point.get, self.order))
        made = self.sound.get(levels)
        if made is None:
            recorded = len(point.faults), len(point.named)
            made = self._build(point)
            # A thing with factors may use another that was made at this point before, with a fault.
            if recorded == (len(point.faults), len(point.named)) and (not levels or recorded == (0, 0)):
                self.sound[levels] = made
        return made

    def _partial(self, point: PartialPoint) -> Instance:
        """Return the declared thing with the properties needed so far, without a digest."""
        parent = self.parent.value(point) if self.parent else None
        on = parent if isinstance(parent, Instance) else None
        replays = self.kind.draws and "seed" in self.fields and self.fields["seed"].value(point) == Symbol("replay")
        given = LazyValues(self.fields, point, self.optional)
        origin = given.get("from")
        under = _wrappers(given.get("under")) if self.is_wrapped else ()
        copies = given.get("copies") if self.is_copied else None
        members = given.get("members") if self.kind.role == "machine" else None
        return Instance(
            kind=self.kind,
            key=self.key,
            label=self.label,
            values=given,
            parent=on,
            is_given=self.is_given,
            digest="",
            span=self.span,
            places=self.places,
            replays=replays,
            origin=origin if isinstance(origin, Instance) else None,
            copies=_number_of(copies),
            under=under,
            members=_texts_of(members),
            scheduled=self.scheduled,
        )

    def _all_given(self, point: Reached | FaultPoint) -> _AllGiven:
        """Return all values given at a point. Those that depend on no factor are evaluated once."""
        if isinstance(point, FaultPoint):
            return _gathered({}, {}, (), [(name, field.tried(point)) for name, field in self.given])
        if self.constant is None:
            # Each name gets its place first, even if its value comes later.
            names: dict[str, Value] = dict.fromkeys([name for name, _ in self.given])
            given = [(name, field.at(point)) for name, field in self.given if not field.varies]
            self.constant = _gathered(names, {}, (), given)
        values, texts, named = self.constant
        return _gathered(values.copy(), texts.copy(), named, [(name, field.at(point)) for name, field in self.varying])

    def _build(self, point: Reached | FaultPoint) -> Instance:
        faults = point.faults if isinstance(point, FaultPoint) else ()
        before = len(faults)
        given, texts, named = self._all_given(point)
        is_faulty = len(faults) > before or self.is_unknown
        replays = self.kind.draws and given.pop("seed", None) == Symbol("replay")
        origin = given.pop("from") if isinstance(given.get("from"), Instance) else None
        assert origin is None or isinstance(origin, Instance)
        under = _wrappers(given.pop("under", None)) if self.is_wrapped else ()
        copies = _number_of(given.pop("copies", None)) if self.is_copied else 1
        members = _texts_of(given.pop("members", None)) if self.kind.role == "machine" else ()
        parent = self.parent.value(point) if self.parent else None
        on = parent if isinstance(parent, Instance) else None
        property_texts = tuple([texts[name] for name in self.decisive if name in given])
        names = (self.label, *members) if self.kind.role == "machine" else ()
        more = _more_in_digest(names, origin, under, replays=replays, copies=copies)
        made = Instance(
            kind=self.kind,
            key=self.key,
            label=self.label,
            values=given,
            parent=on,
            is_given=self.is_given,
            digest=_digest_of(self.kind, on, property_texts, more),
            span=self.span,
            places=self.places,
            replays=replays,
            origin=origin,
            named=named,
            property_texts=property_texts,
            copies=copies,
            placed_by=self.parent.reads if self.parent else frozenset(),
            under=under,
            members=members,
            parts=tuple(part for value in given.values() for part in _things_in(value)) if self.has_parts else (),
            scheduled=self.scheduled,
            family=(self,),
            varying=self.varying_names,
        )
        if self.parent or "from" in self.fields or made.parts:
            for finding in (*self._missing_places(point), *self._problems_of_parts(made)):
                failed(point, finding)
        for finding in () if is_faulty else self._broken_assertions(made, self.kind.asserts):
            failed(point, finding)
        if isinstance(point, Reached) and not is_faulty:
            self._keep_first(made, more)
        return made

    def _keep_first(self, made: Instance, more: Sequence[str]) -> None:
        """Keep the first thing made, if things at other points differ from it only in values of properties."""
        decides_more = not _MORE_THAN_VALUES.isdisjoint(self.varying_names)
        is_alike = not (self.has_parts or decides_more or made.named or (self.parent and self.parent.reads))
        if self.first is None and is_alike and all(name in made.values for name in self.varying_names):
            decisive = [name for name in self.decisive if name in made.values]
            places = [decisive.index(name) if name in decisive else None for name in self.varying_names]
            varied = [(name, field, place) for (name, field), place in zip(self.varying, places, strict=True)]
            checks = [self._check(each) for each in self.kind.asserts if self._may_vary(each.condition)]
            self.first = _First(made, tuple(varied), tuple(more), tuple(checks))

    def _may_vary(self, condition: Expr) -> bool:
        """Whether a condition reads a varying property, or anything else than properties."""
        properties = self.kind.properties
        return any(name in self.varying_names or name not in properties for name in condition.reads)

    def _check(self, assertion: Assertion) -> Callable[[VariedThing], None]:
        """Return the function that raises ProgramError if an assertion does not hold for a thing."""
        properties, reads = self.kind.properties, assertion.condition.reads
        places = [place for place, name in enumerate(self.varying_names) if name in reads]
        is_of_values = all(name in properties for name in reads)
        held = Cache[Levels, VariedThing]()

        def check(varied: VariedThing) -> None:
            levels = tuple([varied.levels[place] for place in places])
            if not (is_of_values and levels in held):
                for finding in self._broken_assertions(varied.thing, [assertion]):
                    raise ProgramError(finding)
                held[levels] = varied  # keeps its values, so that their memory addresses are not reused

        return check

    def varied_thing(self, point: Reached) -> VariedThing | None:
        """Return the thing at another point than the first; None if it differs in more than values."""
        first = self.first
        if first is None:
            return None
        given = [field.at(point) for _, field, _ in first.varied]
        for value, _, named in given:
            if named or isinstance(value, Absent):
                return None
        result = VariedThing(first, given)
        for check in first.checks:
            check(result)
        return result

    def _missing_places(self, point: Reached | FaultPoint) -> Iterator[Diagnostic]:
        """Report a thing whose place depends on a fact without a value; it would end up on the local machine."""
        if isinstance(point, FaultPoint) and point.faults:  # these findings already say why
            return
        for place in (self.parent, self.fields.get("from")):
            is_place = place is not None and (place is self.parent or place.type.kinds == {"host"})
            if place is not None and is_place and isinstance(place.value(point), Absent):
                message = f"the place of `{self.label}` depends on something that has no value"
                hint = "give each fact of a host a value on which this depends"
                yield Code.NO_VALUE.at(place.span, message=message, hint=hint)

    def _problems_of_parts(self, made: Instance) -> Iterator[Diagnostic]:
        """Report things in the properties of a resource that cannot be beneath it."""
        for part in {part.key: part for part in made.parts}.values():
            message = ""
            if _machine_of(part) != _machine_of(made):
                message = f"`{made.label}` uses `{part.label}`, which is on another machine"
            elif [under.key for under in made.beneath].count(part.key) > 1:
                message = f"`{made.label}` uses `{part.label}` twice"
            if message:
                holders = (self.places[name] for name, value in made.values.items() if part in _things_in(value))
                yield Code.NOT_MEASURABLE.at(next(holders, self.span), message=message)

    def _broken_assertions(self, made: Instance, assertions: Iterable[Assertion]) -> Iterator[Diagnostic]:
        """Report the assertions of the thing's kind that do not hold."""
        frame = Frame(made)
        for assertion in assertions:
            try:
                if assertion.condition.value(frame) is not False:
                    continue
                finding = violation(assertion, frame, self._place_of(assertion))
            except ProgramError as error:  # the kind does not know these names, and the program can write another value
                finding = error.diagnostic.replace(span=self._place_of(assertion), label="", notes=())
            if finding is not None:
                yield finding

    def _place_of(self, assertion: Assertion) -> Span:
        return next((self.places[name] for name in assertion.names if name in self.places), self.span)


class _First(Record):
    """The first thing that was made, if things at other points differ from it only in values of properties.

    `varied` are these properties: the name, the field, and the place in the texts of properties. `more` are the other
    words of the digest. The `checks` are of assertions that may hold here, but not there.
    """

    made: Instance
    varied: tuple[tuple[str, _Field, int | None], ...]
    more: tuple[str, ...]
    checks: tuple[Callable[[VariedThing], None], ...]


class VariedThing:
    """A thing that differs from the first one of its declaration only in values of properties; made when it is needed.

    Its `levels` are the varying values, by their memory addresses.
    """

    __slots__ = ("_first", "_given", "_thing", "levels")

    def __init__(self, first: _First, given: Sequence[_Given]) -> None:
        self._first, self._given = first, given
        self._thing: Instance | None = None
        self.levels: Levels = tuple([id(value) for value, _, _ in given])

    def texts(self) -> Iterator[tuple[int, str]]:
        """Yield the texts of the varying properties that decide what is measured, each with its place."""
        for (_, _, place), (_, text, _) in zip(self._first.varied, self._given, strict=True):
            if place is not None:
                yield place, text

    @property
    def thing(self) -> Instance:
        """The thing itself."""
        if self._thing is None:
            made = self._first.made
            given = {**made.values}
            for (name, _, _), (value, _, _) in zip(self._first.varied, self._given, strict=True):
                given[name] = value
            texts = [*made.property_texts]
            for place, text in self.texts():
                texts[place] = text
            digest = _digest_of(made.kind, made.parent, texts, self._first.more)
            self._thing = made.replace(values=given, digest=digest, property_texts=tuple(texts))
        return self._thing


def _gathered(
    values: dict[str, Value], texts: dict[str, str], named: _Named, given: Iterable[tuple[str, _Given]]
) -> _AllGiven:
    """Add the values of some properties to those of others; an absent value counts as not given."""
    for name, (value, text, named_by) in given:
        if isinstance(value, Absent):
            values.pop(name, None)
        else:
            values[name], texts[name] = value, text
        if named_by:
            named += named_by
    return values, texts, named


def may_be_left_out(kind: Kind, name: str) -> bool:
    """Whether `none` omits the property: it has no default, and no word `none` of its own."""
    definition = kind.properties.get(name)
    is_optional = definition is not None and definition.default is None and name not in kind.required
    return is_optional and definition is not None and definition.type.variant(LEFT_OUT.name) is None


@lru_cache(maxsize=4096)
def chain(thing: Instance) -> tuple[Instance, ...]:
    """Return the things below a thing, the lowest first and each once, followed by the thing."""
    below = {(each.key, each.digest): each for part in thing.beneath for each in chain(part)}
    return *below.values(), thing


def carried_by(thing: Instance, resources: Sequence[Instance]) -> Instance | None:
    """Return the first of these resources that is built on a thing."""
    return next((each for each in resources if thing.key in {under.key for under in each.beneath}), None)


def places(kind: Kind, frame: Frame) -> list[Value]:
    """Return the names that a thing of a kind offers in its frame, except commands and numbers."""
    offered = [offer.value(frame) for offer in kind.offers.values() if "command" not in offer.type.scalars]
    return [value for value in offered if not isinstance(value, Quantity)]


def with_parts(thing: Instance, change: Callable[[Instance], Instance]) -> Instance:
    """Return the thing with each thing in its values on which it stands replaced."""
    if not thing.parts:
        return thing

    def changed(value: Value) -> Value:
        if isinstance(value, Symbol) and isinstance(value.argument, Instance):
            return Symbol(value.name, change(value.argument))
        return value

    given = {name: changed(value) for name, value in thing.values.items()}
    return thing.replace(values=given, parts=tuple(map(change, thing.parts)))


def _machine_of(thing: Instance) -> str:
    """Return the name of the machine at the bottom of a thing."""
    while thing.parent is not None:
        thing = thing.parent
    return thing.label if thing.kind.role == "machine" else ""


def _things_in(value: Value) -> Iterator[Instance]:
    """Yield the thing that a word carries."""
    if isinstance(value, Symbol) and isinstance(value.argument, Instance):
        yield value.argument


def _digest(thing: Instance) -> str:
    """Return the hash of a thing."""
    names = (thing.label, *thing.members) if thing.kind.role == "machine" else ()
    more = _more_in_digest(names, thing.origin, thing.under, replays=thing.replays, copies=thing.copies)
    return _digest_of(thing.kind, thing.parent, thing.property_texts, more)


def _digest_of(kind: Kind, parent: Instance | None, property_texts: Iterable[str], more: Iterable[str]) -> str:
    on = parent.digest if parent else ""
    return digests.digest(digests.template_digest(kind), on, "\n".join(property_texts), *more)


def _more_in_digest(
    names: Iterable[str], origin: Instance | None, under: Iterable[Instance], *, replays: bool, copies: int
) -> list[str]:
    """List what distinguishes a thing from others besides its values; the `names` are those of machines."""
    more = [f"from {origin.digest}"] if origin else []
    # A measurement on one machine differs from the same on another, whatever is known about them.
    more += names
    more += ["replay"] if replays else []
    more += [f"copies {copies}"] if copies > 1 else []
    more += [f"under {wrapper.digest}" for wrapper in under]
    return more


def first_members(group: Instance, count: int) -> Instance:
    """Return the first machines of a group. Raises ValueProblem."""
    if not 1 <= count <= len(group.members):
        if not group.members:
            raise values.ValueProblem(f"`{group.label}` is one machine, not a group")
        raise values.ValueProblem(f"`{group.label}` has {len(group.members)} members, so it has no first {count}")
    shortened = group.replace(members=group.members[:count])
    return shortened.replace(digest=_digest(shortened))


def member_at(group: Instance, place: int) -> Instance:
    """Return the machine of a group by place; the last one has the place -1. Raises ValueProblem."""
    machines = list(each_member(group))
    if not group.members:
        raise values.ValueProblem(f"`{group.label}` is one machine, not a group")
    if not -len(machines) <= place < len(machines):
        raise values.ValueProblem(f"index {place} is out of range: `{group.label}` has {len(machines)} members")
    return machines[place]


def each_member(machine: Instance) -> Iterator[Instance]:
    """Yield the machines of a group; a machine that is not a group yields itself."""
    for name in machine.members:
        member = machine.replace(key=f"{machine.key}.{name}", label=name, members=())
        yield member.replace(digest=_digest(member))
    if not machine.members:
        yield machine


def moved(thing: Instance, parent: Instance | None, origin: Instance | None) -> Instance:
    """Return the thing on another parent, or from another machine."""
    if parent is thing.parent and origin is thing.origin:
        return thing
    result = thing.replace(parent=parent, origin=origin)
    unlike = (parent and parent.digest) != (thing.parent and thing.parent.digest) or origin is not thing.origin
    return result.replace(digest=_digest(result)) if unlike else result


def _number_of(copies: Value) -> int:
    """Return the number of copies of a thing."""
    return int(copies.amount) if isinstance(copies, Quantity) else 1


def _wrappers(value: Value) -> tuple[Instance, ...]:
    """Return the wrappers that start a workload."""
    return tuple(item for item in (value if isinstance(value, tuple) else (value,)) if isinstance(item, Instance))


def _texts_of(members: Value) -> tuple[str, ...]:
    """Return the names of machines."""
    return tuple(name for name in members if isinstance(name, str)) if isinstance(members, tuple) else ()


def _decisive(kind: Kind, given: Iterable[str]) -> list[str]:
    """Return the names of the properties that decide what is measured, in order."""
    return [name for name in sorted(given) if name in kind.properties and kind.properties[name].cost != "none"]


def _property_text(name: str, value: Value) -> str:
    return f"{name}={digests.canonical(value)}"


def with_property(thing: Instance, name: str, field: Expr, point: Any) -> Instance:
    """Return the thing at the point with one property added or replaced, as if its declaration had it."""
    places = {**thing.places, name: field.span}
    if isinstance(thing.values, LazyValues):
        return thing.replace(values=thing.values.with_property(name, field), places=places)
    value = field.value(point)
    if isinstance(value, Absent):
        return thing
    given = {**thing.values, name: value}
    texts = [_property_text(item, given[item]) for item in _decisive(thing.kind, given)]
    changed = thing.replace(
        values=given,
        places=places,
        property_texts=tuple(texts),
        family=(*thing.family, field.value),
        varying=tuple(dict.fromkeys((*thing.varying, name))),
    )
    return changed.replace(digest=_digest(changed))


def checked_value(definition: PropertyDef, value: Value, span: Span) -> None:
    """Raise ProgramError if a property cannot have this value."""
    if isinstance(value, Absent):
        return
    if definition.unit is not None and isinstance(value, Quantity):
        unit = definition.unit
        if (value.amount / unit.amount).denominator != 1:
            raise ProgramError(
                Code.NOT_WHOLE.at(
                    span, name=definition.name, value=units.show(value), unit=f"`{units.show(unit)}`", hint=_WHOLE
                )
            )
    elif isinstance(value, Quantity) and value.dimension in units.BASE_UNITS:
        if not value.is_whole:
            hint = _WHOLE_SIZE if value.dimension == units.SIZE else _WHOLE
            unit_name = units.BASE_UNITS[value.dimension]
            raise ProgramError(
                Code.NOT_WHOLE.at(span, name=definition.name, value=units.show(value), unit=unit_name, hint=hint)
            )
    if definition.allow is not None and isinstance(value, Quantity):
        limits = definition.allow.value(None)
        assert isinstance(limits, tuple)
        _require_within(definition.name, value, limits, definition.allow_text, span)
    _words_within(definition.type, value, span)
    texts = value if isinstance(value, tuple) else (value,)
    if definition.is_line and not all(map(_is_line, texts)):
        hint = "it is one line, and not empty"
        raise ProgramError(Code.NOT_ALLOWED.at(span, name=definition.name, value=values.show(value), hint=hint))
    for text in texts if definition.options else ():
        _require_permitted(definition, text, span)
    if isinstance(value, str) and "version" in definition.type.scalars and not versions.is_version(value):
        hint = 'write a version as `"2.1.11"`'
        raise ProgramError(Code.NOT_ALLOWED.at(span, name=definition.name, value=values.show(value), hint=hint))
    _paths_named(definition.name, definition.type, value, span)
    if isinstance(value, str) and "\0" in value:
        raise ProgramError(Code.NOT_ALLOWED.at(span, name=definition.name, value="a text with a NUL character"))


def _require_permitted(definition: PropertyDef, text: Value, span: Span) -> None:
    """Raise ProgramError if a text, `NAME` or `NAME=VALUE`, names an option that the kind leaves out.

    The beginning of a name is refused too: getopt_long(3) takes it for the option.
    """
    first, *others = values.known_pieces(text)
    named, sign = first.partition("=")[0].strip(), "=" in first
    whole = next((name for name in definition.options if name.startswith(named)), named)
    reason = definition.options.get(first) or definition.options.get(named)
    if reason is None and whole != named:
        reason = f"write an option in full: `{named}` may be read as `{whole}`"
    if others and not sign:
        reason = "write the name of an option as text"
    if reason:
        raise ProgramError(Code.NOT_ALLOWED.at(span, name=definition.name, value=values.show(text), hint=reason))


def _is_line(value: Value) -> bool:
    """Whether a text is one line and not empty; True for other values."""
    return not isinstance(value, str) or (bool(value.strip()) and value.splitlines(keepends=True) == [value.rstrip()])


def _paths_named(name: str, type_: Type, value: Value, span: Span) -> None:
    """Raise ProgramError for a path with a newline, or an empty path, which would start at the root if extended."""
    if isinstance(value, tuple) and type_.element is not None:
        for item in value:
            _paths_named(name, type_.element, item, span)
    if isinstance(value, str) and "path" in type_.scalars and not value.strip():
        hint = 'write `"."` for the directory from which the run is started'
        raise ProgramError(Code.NOT_ALLOWED.at(span, name=name, value="an empty path", hint=hint))
    if isinstance(value, str) and "path" in type_.scalars and "\n" in value:
        hint = "tools list paths one per line: choose a path without a newline"
        raise ProgramError(Code.NOT_ALLOWED.at(span, name=name, value="a path with a newline", hint=hint))


def _words_within(type_: Type, value: Value, span: Span) -> None:
    """Raise ProgramError if a word, or one in a list, carries a value that it does not allow."""
    if isinstance(value, tuple) and type_.element is not None:
        for item in value:
            _words_within(type_.element, item, span)
    if isinstance(value, Symbol) and isinstance(value.argument, Quantity):
        for variant in type_.variants(value.name):
            if variant.allow is not None:
                _require_within(variant.name, value.argument, variant.allow, variant.allow_text, span)


def _is_multiple(low: Value, value: Quantity, factor: Quantity) -> bool:
    """Whether a number is the minimum, multiplied by the factor any number of times."""
    assert isinstance(low, Quantity)
    amount = low.amount
    while amount < value.amount:
        amount *= factor.amount
    return amount == value.amount


_LARGEST_POWER = 64


def _require_within(name: str, value: Quantity, limits: tuple[Value, ...], text: str, span: Span) -> None:
    low, high, *factors = limits
    below = isinstance(low, Quantity) and value.amount < low.amount
    above = isinstance(high, Quantity) and value.amount > high.amount
    between = any(isinstance(f, Quantity) and not _is_multiple(low, value, f) for f in factors) and not (below or above)
    if below or above or between:
        hint = f"it can be {text}"
        power = value.amount.numerator.bit_length() - 1
        if above and value.amount == 1 << power and _is_within(power, low, high):
            hint = f"{hint}; it is a power of two: for {units.show(value)} write `{power}`"
        raise ProgramError(Code.NOT_ALLOWED.at(span, name=name, value=units.show(value), hint=hint))


def _is_within(number: int, low: Value, high: Value) -> bool:
    """Whether a bare number is within limits."""
    ends = [end.amount for end in (low, high) if isinstance(end, Quantity)]
    return len(ends) == 2 and ends[0] <= number <= ends[1] <= _LARGEST_POWER  # noqa: PLR2004 - both ends
