"""The declaration of a kind: its properties by name, its fields, and the parts inherited from an extended kind."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType

from zlang.diagnostics import Code, Diagnostic
from zlang.hints import TypeGuard
from zlang.record import Record
from zlang.suggest import did_you_mean
from zlang.syntax import tree

Report = Callable[[Diagnostic], None]

COMMANDS = {
    **dict.fromkeys(("command", "commands", "script", "exec", "cmd"), "run"),
    **{name: name for name in ("run", "watch", "look", "apply", "wrap", "create", "destroy")},
}
"""Words that are not fields of a kind but mean an action, and its name."""
PASSING_ON = "extra"
"""The property of a kind that passes on options of the tool."""


class Declared(Record):
    """The properties of a declaration by name, the required ones, and the tool that their versions refer to.

    `scheduled` are those that have other values in a part of a schedule. For a kind of the library, `draws` (by a seed)
    is known: the kind was checked when the package was built. Its `traits` without a type are not among its items.
    """

    nodes: Mapping[str, tree.Property]
    required: tuple[str, ...]
    scheduled: tuple[str, ...]
    tool: str = ""
    draws: bool | None = None
    traits: Mapping[str, tree.Trait] = MappingProxyType({})


def declared_in(node: tree.KindDef, report: Report) -> Declared:
    """Return the properties that a declaration contains."""
    nodes: dict[str, tree.Property] = {}
    for item in node.items:
        if isinstance(item, tree.Property):
            if item.name.text in nodes:
                finding = Code.DUPLICATE.at(item.name.span, name=item.name.text)
                report(finding.also(nodes[item.name.text].name.span, "first defined here"))
            nodes[item.name.text] = item
    required = tuple(name for name, property_ in nodes.items() if _is_set(property_, "required"))
    return Declared(nodes, required, _scheduled(nodes.items()))


def extended(
    node: tree.KindDef, base: tree.KindDef, declared: Declared, report: Report
) -> tuple[tree.KindDef, Declared]:
    """Return a kind that extends another: each item replaces the base's item of the same name."""
    own = declared_in(node, report)
    properties = dict(own.nodes)
    for item in node.items:
        if isinstance(item, tree.Default):
            value = declared.nodes.get(item.name.text)
            if value is None:
                hint: str = did_you_mean(item.name.text, declared.nodes)
                if not hint and PASSING_ON in declared.nodes:
                    hint = f'write `default {PASSING_ON} = ["NAME=VALUE"]` for options of the tool'
                report(Code.UNKNOWN_PROPERTY.at(item.name.span, kind=base.name.text, name=item.name.text, hint=hint))
                continue
            kept = tuple(
                attribute for attribute in value.attributes if not _is_attribute(attribute, "default", "required")
            )
            default = tree.Field(item.span, tree.Word(item.name.span, "default"), item.value)
            properties[item.name.text] = tree.Property(value.span, value.name, value.type, (*kept, default))
    # What an action reads stands before it, so its replacement must stand there too.
    own_items: dict[object, list[tree.KindItem]] = {}
    for item in node.items:
        if not isinstance(item, tree.Default):
            own_items.setdefault(_key(item), []).append(item)
    items = [
        each for item in base.items if not isinstance(item, tree.Property) for each in own_items.pop(_key(item), [item])
    ]
    items += chain.from_iterable(own_items.values())
    merged = tree.KindDef(node.span, node.name, base.role, node.parents or base.parents, tuple(items))
    required = (*(name for name in declared.required if name not in properties), *own.required)
    nodes: Mapping[str, tree.Property] = ChainMap(properties, declared.nodes)  # type: ignore[arg-type]
    scheduled = (*(name for name in declared.scheduled if name not in properties), *_scheduled(properties.items()))
    return merged, Declared(nodes, required, scheduled, declared.tool or base.name.text)


def _scheduled(properties: Iterable[tuple[str, tree.Property]]) -> tuple[str, ...]:
    """Return the properties that have the attribute `scheduled`."""
    return tuple(name for name, node in properties if any(_is_attribute(item, "scheduled") for item in node.attributes))


def _is_attribute(item: tree.Item, *names: str) -> bool:
    return isinstance(item, tree.Field) and item.name.text in names


def _key(item: tree.KindItem) -> object:
    """Return a key; if two items share it, the later one replaces the other."""
    if isinstance(item, tree.Needs | tree.Requires | tree.Assert | tree.Without):
        return tree.Needs if isinstance(item, tree.Needs) else item.span
    selectors = tuple(word.text for word in item.selectors) if isinstance(item, tree.ActionDef) else ()
    return type(item), item.name.text, selectors


def left_out(node: tree.KindDef) -> Iterator[tuple[str, str]]:
    """Yield the options of its tool that a kind omits, each with what to write instead."""
    for item in node.items:
        if isinstance(item, tree.Without):
            yield from ((name.strip(), item.reason) for name in item.names.split(","))


def is_field(item: object, name: str) -> TypeGuard[tree.Field]:
    """Whether an item is the field of that name."""
    return isinstance(item, tree.Field) and item.name.text == name


def _is_set(node: tree.Property, attribute: str) -> bool:
    for item in node.attributes:
        if isinstance(item, tree.Field) and item.name.text == attribute:
            return is_on(item)
    return False


def is_on(item: tree.Field) -> bool:
    """Whether a field is set to `on`."""
    return isinstance(item.value, tree.Name) and str(item.value) in {"on", "yes", "true"}


def names_in(node: tree.KindDef, field: str) -> tuple[str, ...]:
    """Return the names in a field of a kind: the lists that its properties add to, or the steps of a protocol."""
    for item in node.items:
        if isinstance(item, tree.Field) and item.name.text == field and isinstance(item.value, tree.ListOf):
            return tuple(str(name) for name in item.value.items if isinstance(name, tree.Name))
    return ()
