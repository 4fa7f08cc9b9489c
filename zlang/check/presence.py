"""The presence of declared things in a trial: a condition about a thing outside the trial is unknown.

In: the fields of an experiment, and a name. Out: the name, whose properties are absent where the thing is absent.
Rule: a condition depends only on the factors that decide which things are present.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from zlang.check.expressions import constant
from zlang.check.instances import InstanceBuilder, LazyValues, explored
from zlang.check.program import ABSENT, Expr, FactorDef, Instance, PartialPoint, Symbol, Value
from zlang.check.types import NOTHING, Type
from zlang.hints import Any
from zlang.source import Span

MOST_POINTS = 10_000
"""Combinations of factors at which things are looked for; beyond that each thing counts as part of every trial."""


class Presence:
    """The keys of the things that an experiment uses, by the levels of the factors that decide it."""

    def __init__(self, fields: Iterable[Expr], factors: Mapping[str, FactorDef]) -> None:
        fields = tuple(fields)

        def look(point: PartialPoint) -> tuple[dict[str, int], dict[str, Instance]]:
            return dict(point), {thing.key: thing for field in fields for thing in _things(field.value(point))}

        self.answers, self.reads, self.is_whole = explored(factors, MOST_POINTS, look)

    def always(self, key: str) -> bool:
        """Whether the thing is part of every trial."""
        return not self.is_whole or all(key in things for _, things in self.answers)

    def never(self, key: str) -> bool:
        """Whether no trial uses the thing."""
        return not any(key in things for _, things in self.answers)

    def at(self, point: Any) -> Mapping[str, Instance]:
        """Return the things that are part of the trial at a point, by key."""
        for decided, things in self.answers:
            if all(point.get(path) == level for path, level in decided.items()):
                return things
        return {}

    def owners(self, name: str) -> list[str]:
        """Return the names of the things for which a property of that name is given."""
        given = (thing.label for _, things in self.answers for thing in things.values() if name in thing.places)
        return list(dict.fromkeys(given))

    def property(self, name: str, span: Span) -> Expr | None:
        """Return that property of what a trial uses; None if no trial has it, or if one has it twice."""
        by_key: dict[str, Expr] = {}
        for _, things in self.answers:
            given = {thing.key: thing.values for thing in things.values() if name in thing.places}
            fields = {key: values.field(name) for key, values in given.items() if isinstance(values, LazyValues)}
            if len({id(field) for field in fields.values()}) > 1:
                return None
            by_key |= fields
        if not by_key or not self.is_whole:
            return None
        field, *others = by_key.values()
        if not others and self.always(next(iter(by_key))):
            return field.replace(span=span, alternatives=())

        def value(point: Any) -> Value:
            own = next((field for key, field in by_key.items() if key in self.at(point)), None)
            return own.value(point) if own else ABSENT

        type_ = NOTHING
        for owner_field in by_key.values():
            type_ = type_ | owner_field.type
        return Expr(span, type_, value, reads=self.reads.union(*(owner_field.reads for owner_field in by_key.values())))


def _things(value: Value) -> Iterator[Instance]:
    """Yield the things in a value, their parents and origins, and the things in their properties."""
    if isinstance(value, tuple):
        for item in value:
            yield from _things(item)
    if isinstance(value, Symbol):
        yield from _things(value.argument)
    if not isinstance(value, Instance):
        return
    yield value
    yield from _things(value.parent)
    yield from _things(value.origin)
    yield from _things(value.under)
    for name, definition in value.kind.properties.items():
        if _holds_things(definition.type):
            yield from _things(value.values.get(name))


def _holds_things(type_: Type) -> bool:
    return bool(type_.has_things or type_.kinds or (type_.element or NOTHING).kinds)


def guard(expr: Expr, find_presence: Callable[[], Presence]) -> Expr:
    """Return the expression with properties that are absent wherever the declared thing is not part of the trial."""
    thing, inner = expr.value, expr.member
    if inner is None:
        return expr
    if isinstance(thing, InstanceBuilder):
        presence = find_presence()
        return expr if presence.always(thing.key) else expr.replace(member=_while_present(inner, thing.key, presence))
    if expr.type.kinds:
        return expr  # a choice between things, which is absent by itself

    def member(name: str, where: Span) -> Expr | None:
        got = inner(name, where)
        return got and guard(got, find_presence)

    return expr.replace(member=member)


def _while_present(
    inner: Callable[[str, Span], Expr | None], key: str, presence: Presence
) -> Callable[[str, Span], Expr | None]:
    def member(name: str, where: Span) -> Expr | None:
        got = inner(name, where)
        if got is None:
            return None
        if presence.never(key):
            return constant(where, got.type, ABSENT)

        def value(point: Any) -> Value:
            return got.value(point) if key in presence.at(point) else ABSENT

        deeper = got.member and _while_present(got.member, key, presence)
        reads = got.reads | presence.reads
        return got.giving(value, reads=reads, member=deeper, alternatives=(), is_constant=False)

    return member
