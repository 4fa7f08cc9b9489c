"""The names in the templates of a kind, looked up in a frame: properties, what is beneath, the workload."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from zlang.check import digests, values
from zlang.check.instances import Frame
from zlang.check.program import (
    ABSENT,
    Expr,
    Instance,
    Symbol,
    Value,
)
from zlang.check.types import DURATION, STRING, UNKNOWN, Type
from zlang.diagnostics import Code, ProgramError
from zlang.source import Span


def given_in(frame: Any) -> Iterable[str]:
    """The properties that were given; where one is changed, it alone."""
    return (frame.context["key"],) if "key" in frame.context else frame.instance.values


def word_argument(type_: Type, value: Callable[[Any], Value]) -> Callable[[str, Span], Expr | None]:
    """The value that a word of a property carries, by the name that its type gives it."""

    def member(what: str, where: Span) -> Expr | None:
        field = next((word.field for word in type_.words if word.field and word.field[0] == what), None)
        if field is None:
            return None

        def argument(frame: Any) -> Value:
            known = value(frame)
            word = type_.variant(known.name) if isinstance(known, Symbol) else None
            is_its_own = word is not None and word.field is not None and word.field[0] == what
            return known.argument if is_its_own and isinstance(known, Symbol) else ABSENT

        return Expr(where, Type(frozenset({field[1]})), argument)

    return member


def parent_in(frame: Any) -> Instance | None:
    """Find what the thing stands on."""
    found: Instance | None = frame.instance.parent
    return found


def target_in(frame: Any) -> Instance | None:
    """Find what a workload is run on."""
    found: Instance | None = frame.target
    return found


def of_workload(what: str, where: Span) -> Expr | None:
    """What a protocol can ask of the workload that will be measured: its commands, each as one text, and its time."""
    types_of = {"run": STRING, "round": STRING, "timeout": DURATION}
    if what not in types_of:
        return None
    return Expr(where, types_of[what], lambda frame: frame.context.get(f"workload.{what}", ABSENT))


def thing_in(span: Span, find: Callable[[Any], Instance | None]) -> Expr:
    """A declared thing that only the frame knows, whose members are looked up there."""

    def member(what: str, where: Span) -> Expr:
        def value(frame: Any) -> Value:
            found = find(frame)
            if found and what in found.kind.properties and found.kind.properties[what].cost == "none":
                message = f"`{what}` of `{found.kind.name}` has `cost = none`, so no other kind can use it"
                raise ProgramError(Code.BAD_KIND.at(where, message=message))
            return ABSENT if found is None else of_thing(what, found)

        return Expr(where, UNKNOWN, value)

    of_thing = digests.Memory(_member)

    def whole(frame: Any) -> Value:
        found = find(frame)
        return ABSENT if found is None else found

    return Expr(span, UNKNOWN, whole, member=member)


def _member(what: str, thing: Value) -> Value:
    """What a thing offers under a name, or its property; absent where it has neither."""
    assert isinstance(thing, Instance)
    if what in thing.kind.offers:
        return thing.kind.offers[what].value(Frame(thing))
    if what not in thing.kind.properties:
        return ABSENT
    definition = thing.kind.properties[what]
    known = thing.values.get(what)
    if known is None and definition.default is not None:
        known = definition.default.value(Frame(thing))
    return values.in_unit(ABSENT if known is None else known, definition.unit)
