"""The names in the templates of a kind, resolved in a frame: properties, things beneath, the workload."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from zlang.check import digests, values
from zlang.check.instances import Frame
from zlang.check.program import (
    ABSENT,
    Expr,
    Instance,
    Symbol,
    Value,
)
from zlang.check.remembered import FRAME
from zlang.check.types import DURATION, STRING, UNKNOWN, Type
from zlang.diagnostics import Code, ProgramError
from zlang.hints import Any
from zlang.source import Span


def given_in(frame: Any) -> Iterable[str]:
    """Return the given properties; if one is being changed, only that one."""
    return (frame.context["key"],) if "key" in frame.context else frame.instance.values


def word_argument(
    type_: Type, value: Callable[[Any], Value], reads: frozenset[str]
) -> Callable[[str, Span], Expr | None]:
    """Return the function that resolves the value carried by a word, by the name that the word's type gives it."""

    def member(attribute: str, where: Span) -> Expr | None:
        owners = [word for word in type_.words if word.field and word.field[0] == attribute]
        if not owners:
            return None
        names, carries_thing = {word.name for word in owners}, owners[0].has_thing

        def argument(frame: Any) -> Value:
            result = value(frame)
            is_its_own = isinstance(result, Symbol) and result.name in names
            carried = result.argument if is_its_own and isinstance(result, Symbol) else None
            carried = ABSENT if carried is None else carried
            return carried if isinstance(carried, Instance) == carries_thing else ABSENT

        def thing(frame: Any) -> Instance | None:
            carried = argument(frame)
            return carried if isinstance(carried, Instance) else None

        if carries_thing:
            return thing_in(where, thing, reads)
        type_of_it = Type(frozenset({owners[0].field[1]})) if owners[0].field else UNKNOWN
        return Expr(where, type_of_it, argument, reads=reads)

    return member


def parent_in(frame: Any) -> Instance | None:
    """Return the parent of the thing."""
    instance: Instance | None = frame.instance.parent
    return instance


def target_in(frame: Any) -> Instance | None:
    """Return the target of a workload."""
    instance: Instance | None = frame.target
    return instance


def of_workload(attribute: str, where: Span) -> Expr | None:
    """Resolve a name below `workload` in a protocol: the workload's commands as one text, or its timeout."""
    types_of = {"run": STRING, "round": STRING, "timeout": DURATION}
    if attribute not in types_of:
        return None
    return Expr(
        where, types_of[attribute], lambda frame: frame.context.get(f"workload.{attribute}", ABSENT), reads=FRAME
    )


def thing_in(span: Span, find: Callable[[Any], Instance | None], reads: frozenset[str]) -> Expr:
    """Return a declared thing that only the frame knows; its members are looked up in the frame."""

    def member(attribute: str, where: Span) -> Expr:
        def value(frame: Any) -> Value:
            instance = find(frame)
            if (
                instance
                and attribute in instance.kind.properties
                and instance.kind.properties[attribute].cost == "none"
            ):
                message = f"`{attribute}` of `{instance.kind.name}` has `cost = none`, so no other kind can use it"
                raise ProgramError(Code.BAD_KIND.at(where, message=message))
            return ABSENT if instance is None else of_thing(attribute, instance)

        return Expr(where, UNKNOWN, value, reads=reads)

    of_thing = digests.Memory(_member)

    def whole(frame: Any) -> Value:
        instance = find(frame)
        return ABSENT if instance is None else instance

    return Expr(span, UNKNOWN, whole, reads=reads, member=member)


def _member(attribute: str, thing: Value) -> Value:
    """Return an offer or a property of a thing; absent if it has neither."""
    assert isinstance(thing, Instance)
    if attribute == "is_given":
        return thing.is_given
    if attribute in thing.kind.offers:
        return thing.kind.offers[attribute].value(Frame(thing))
    if attribute not in thing.kind.properties:
        return ABSENT
    definition = thing.kind.properties[attribute]
    value = thing.values.get(attribute)
    if value is None and definition.default is not None:
        value = definition.default.value(Frame(thing))
    return values.in_unit(ABSENT if value is None else value, definition.unit)
