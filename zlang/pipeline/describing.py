"""The description of a kind from its declaration: for the screen, for JSON, for docs/kinds.

In: a kind of the library. Out: `Described`, plain texts only. Templates are shown as they are declared: `{…}` is filled
in, and quoted, when a plan is made.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from zlang.check import library
from zlang.check.program import Expr, Kind, PropertyDef
from zlang.check.types import Type
from zlang.check.values import show
from zlang.errors import RunError
from zlang.metrics import Metric
from zlang.record import Record
from zlang.source import Span
from zlang.suggest import did_you_mean
from zlang.syntax import tree

_MOST_NAMED = 4


class DescribedProperty(Record):
    """A property; unstated attributes are empty. `adds` are its options, `used_by` the actions that use it.

    `cost` is the cost of a change, if the kind is a resource; `place` is the file and line of the declaration.
    """

    name: str
    type: str
    is_required: bool
    default: str
    allow: str
    unit: str
    since: str
    only: str
    cost: str
    ask: str
    adds: tuple[str, ...]
    used_by: tuple[str, ...]
    doc: str
    place: str


class Described(Record):
    """A kind: its description, what it is built on, offers, needs and requires, properties, and its actions as text.

    `phases` are the phases of a protocol, in order.
    """

    name: str
    role: str
    module: str
    doc: str
    on: tuple[str, ...]
    offers: tuple[str, ...]
    needs: tuple[str, ...]
    requires: tuple[tuple[str, str], ...]
    phases: tuple[str, ...]
    properties: tuple[DescribedProperty, ...]
    actions: tuple[str, ...]
    metrics: tuple[Metric, ...]
    place: str


def find(name: str) -> Described:
    """The kind with that name; for `KIND.PROPERTY`, with that property only. Raises RunError."""
    shipped = library.load()
    kind_name, _, property_name = name.partition(".")
    if not shipped.module_of(kind_name):
        raise RunError(f"unknown kind `{kind_name}`", _hint(kind_name))
    kind = shipped.kind(kind_name)
    if not property_name:
        return describe(kind)
    if property_name not in kind.properties:
        hint = did_you_mean(property_name, kind.properties) or f"`zlang kinds {kind_name}` lists its properties"
        raise RunError(f"`{kind_name}` has no property `{property_name}`", hint)
    return describe(kind, property_name)


def _hint(word: str) -> str:
    return where(word) or did_you_mean(word, library.load().names()) or "`zlang kinds` lists all kinds"


def where(word: str) -> str:
    """A hint if a word names a module, or a property of some kinds."""
    shipped = library.load()
    if members := [name for name in shipped.names() if shipped.module_of(name) == word]:
        return f"it is a module: `import {word}` has {', '.join(f'`{name}`' for name in members)}"
    having = [name for name in shipped.names() if word in shipped.kind(name).properties]
    named = ", ".join(f"`zlang kinds {name}.{word}`" for name in having[:_MOST_NAMED])
    return f"it is a property: {named}" + (" …" if len(having) > _MOST_NAMED else "") if having else ""


def describe(kind: Kind, only: str = "") -> Described:
    """Describe a kind; or one property of it, without the kind's commands."""
    node = library.load().node(kind.name)
    properties = [describe_property(kind, kind.properties[name]) for name in ([only] if only else kind.properties)]
    actions = [item for item in node.items if isinstance(item, tree.ActionDef) and not only]
    return Described(
        name=kind.name,
        role=kind.role,
        module=kind.module,
        doc=kind.doc,
        on=kind.parents,
        offers=tuple(kind.offers),
        needs=kind.needs[0] if kind.needs else (),
        requires=kind.requires,
        phases=kind.phases,
        properties=tuple(properties),
        actions=tuple(textwrap.dedent("  " + action.span.text) for action in actions),
        metrics=() if only else tuple(_metrics(kind)),
        place=properties[0].place if only else _place(node.span),
    )


def _metrics(kind: Kind) -> dict[Metric, None]:
    readers = [reader for action in kind.actions.values() for reader in action.readers]
    return {metric: None for reader in readers for metric in reader.metrics}


def describe_property(kind: Kind, definition: PropertyDef) -> DescribedProperty:
    """Describe one property of a kind."""
    return DescribedProperty(
        name=definition.name,
        type=_type(definition.type),
        is_required=definition.name in kind.required,
        default=_default(definition.default),
        allow=definition.allow_text,
        unit=show(definition.unit) if definition.unit else "",
        since=" ".join(definition.since or ()),
        only=definition.only,
        cost=_cost(kind, definition),
        ask=_template(definition.ask or ()),
        adds=tuple(_adds(kind, definition)),
        used_by=tuple(_used_by(kind, definition)),
        doc=definition.doc,
        place=_place(definition.span),
    )


def _type(type_: Type) -> str:
    """The type in words, with all its allowed words."""
    words = " | ".join(
        f"`{w.name}({' '.join([f'{w.field[0]}: {w.field[1]}', w.allow_text]).strip()})`" if w.field else f"`{w.name}`"
        for w in type_.words
    )
    remaining = Type(type_.scalars, (), type_.kinds, type_.element)
    others = "" if remaining == Type() else str(remaining)
    return " or ".join(part for part in (others, words) if part)


def _default(default: Expr | None) -> str:
    """The default's value; a default that depends on other properties is shown as declared."""
    if default is None:
        return ""
    return show(default.value(None)) if default.is_constant else " ".join(default.span.text.split())


def _cost(kind: Kind, definition: PropertyDef) -> str:
    if kind.role != "resource":
        return ""
    return definition.cost if definition.cost in {"none", "manual"} or kind.has("change") else "create"


def _adds(kind: Kind, definition: PropertyDef) -> Iterator[str]:
    """The form of a property in a command: its additions to lists, or the kind's form of an option."""
    for name, expr in definition.lists:
        yield f"{name}: {' '.join(expr.span.text.split())}"
    form = kind.forms.get("option")
    if form and not definition.lists:
        yield f"option: {_template(form).replace('{key}', definition.name)}"
    if definition.probe:
        yield f"probe: {_template(definition.probe)}"


def _used_by(kind: Kind, definition: PropertyDef) -> Iterator[str]:
    """The actions that use a property, and the offers that name it."""
    names = [definition.name, *(name for name, _ in definition.lists)]
    names += ["options"] if "option" in kind.forms and not definition.lists else []
    asks = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, names))})(?![\w-])")
    for offer, expr in kind.offers.items():
        if asks.search(expr.span.text):
            yield f"offers {offer}"
    for action in kind.actions.values():
        texts = [part for command in action.commands for part in (*command.text, *(command.expect or ()))]
        if any(isinstance(part, Expr) and asks.search(part.span.text) for part in texts):
            yield " ".join(word for word in (action.name, action.state, action.platform) if word)


def _template(parts: tuple[str | Expr, ...]) -> str:
    return "".join(part if isinstance(part, str) else f"{{{part.span.text}}}" for part in parts)


def _place(span: Span) -> str:
    line, _ = span.source.position(span.start)
    return f"{span.source.name}:{line}"


def facts(described_property: DescribedProperty) -> list[str]:
    """The attributes of a property, each in a few words."""
    result = [
        "required" if described_property.is_required else "",
        f"default {described_property.default}" if described_property.default else "",
        f"allowed {described_property.allow}" if described_property.allow else "",
        f"in units of {described_property.unit}" if described_property.unit else "",
        f"since {described_property.since}" if described_property.since else "",
        f"only if {described_property.only}" if described_property.only else "",
        f"cost of change: {described_property.cost}" if described_property.cost else "",
    ]
    return [fact for fact in result if fact]


def screen(kind: Described) -> Iterator[str]:
    """The lines that describe a kind."""
    yield f"{kind.name}: {kind.role}" + (f" on {' | '.join(kind.on)}" if kind.on else "") + f"  ({kind.place})"
    yield textwrap.fill(kind.doc, 100, initial_indent="  ", subsequent_indent="  ")
    if kind.module != library.PRELUDE:
        yield f"  import {kind.module}"
    if kind.needs:
        yield f"  needs: {' or '.join(kind.needs)}"
    if kind.offers:
        yield f"  offers: {', '.join(kind.offers)}"
    if kind.phases:
        yield f"  phases: {', '.join(kind.phases)}, in this order"
    if kind.properties:
        yield "\nproperties:"
    for definition in kind.properties:
        text = "; ".join(facts(definition))
        yield f"  {definition.name}: {definition.type}" + (f"  ({text})" if text else "")
        manual = f"manual step: {definition.ask}" if definition.ask else ""
        used = f"used by: {', '.join(definition.used_by)}" if definition.used_by and not kind.actions else ""
        for line in (definition.doc, manual, *definition.adds, used):
            if line:
                yield textwrap.fill(line, 100, initial_indent="      ", subsequent_indent="      ")
    if kind.actions:
        yield "\ncommands:"
    for action in kind.actions:
        yield textwrap.indent(action, "  ")
    for tool, hint in kind.requires:
        yield f"  requires {tool} ({hint})"
    for metric in kind.metrics:
        yield f"  {'distribution' if metric.is_distribution else 'metric'} {metric.name}: {metric.type} ({metric.doc})"


def as_data(kind: Described) -> dict[str, object]:
    """The kind for JSON; unstated values are null."""
    return {
        "kind": kind.name,
        "role": kind.role,
        "module": kind.module,
        "doc": kind.doc,
        "place": kind.place,
        "on": list(kind.on),
        "offers": list(kind.offers),
        "needs": list(kind.needs),
        "metrics": [
            {"name": metric.name, "type": metric.type, "distribution": metric.is_distribution, "doc": metric.doc}
            for metric in kind.metrics
        ],
        "requires": [{"tool": tool, "how": hint} for tool, hint in kind.requires],
        "phases": list(kind.phases),
        "properties": [
            {
                "name": definition.name,
                "type": definition.type,
                "required": definition.is_required,
                "default": definition.default or None,
                "allow": definition.allow or None,
                "unit": definition.unit or None,
                "since": definition.since or None,
                "only": definition.only or None,
                "cost": definition.cost or None,
                "ask": definition.ask or None,
                "adds": list(definition.adds),
                "used_by": list(definition.used_by),
                "doc": definition.doc,
                "place": definition.place,
            }
            for definition in kind.properties
        ],
        "actions": list(kind.actions),
    }
