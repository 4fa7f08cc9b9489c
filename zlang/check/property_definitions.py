"""From the declaration of a property to its definition: type, default, limits, cost, and additions to lists."""

from __future__ import annotations

from collections.abc import Mapping

from zlang.check import versions
from zlang.check.expressions import resolve
from zlang.check.instances import checked_value
from zlang.check.kind_declarations import is_on
from zlang.check.kind_scope import KindScope
from zlang.check.program import COSTS, Expr, PropertyDef
from zlang.check.property_types import resolve_allowed, type_of
from zlang.check.texts import resolve_parts, resolve_plain_text, resolve_template
from zlang.check.typed import resolve_typed
from zlang.diagnostics import Code, ProgramError
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import tree
from zlang.units import UNITS, Quantity

ATTRIBUTES = (
    *("default", "allow", "unit", "cost", "since", "doc", "required", "only", "probe", "ask", "one_line"),
    *("scheduled", "names_options"),
)


_INSTEAD = {
    **dict.fromkeys(
        ("min", "max", "minimum", "maximum", "range", "limit", "limits", "between", "validate"),
        "write the limits as `allow = 1..64`, `allow = 1..` or `allow = ..64`",
    ),
    **dict.fromkeys(("values", "choices", "one_of"), "write the words as the type: `property NAME: a | b`"),
    **dict.fromkeys(("optional", "nullable"), "remove it: a property may be left out unless it has `required = on`"),
    "type": "write the type after the name: `property NAME: TYPE`",
}
"""The attributes of properties in other languages."""


def define(scope: KindScope, tool: str, node: tree.Property) -> PropertyDef:
    """Return the definition of a property; `tool` is the tool whose versions its `since` refers to."""
    context = scope.context
    attributes = {item.name.text: item for item in node.attributes if isinstance(item, tree.Field)}
    candidates = (*ATTRIBUTES, *scope.lists, *scope.own_forms)
    for name, item in attributes.items():
        if name not in candidates:
            meant = _INSTEAD.get(name) or _instead_of_options(scope, item) or did_you_mean(name, candidates)
            hint = meant or "a property has " + ", ".join(candidates)
            scope.context.report(Code.UNKNOWN_PROPERTY.at(item.name.span, kind="property", name=name, hint=hint))
    type_ = type_of(context, node.type)
    default = attributes.get("default")
    allow = attributes.get("allow")
    only = attributes.get("only")
    cost = _word(scope, attributes.get("cost"), "create", COSTS)
    definition = PropertyDef(
        name=node.name.text,
        type=type_,
        span=node.span,
        default=resolve_typed(scope.context, default.value, (node.name.text,), node.name.text, type_)
        if default
        else None,
        allow=resolve_allowed(context, allow.value) if allow else None,
        allow_text=allow.value.span.text if allow else "",
        unit=_unit(scope, attributes["unit"].value) if "unit" in attributes else None,
        cost=cost,
        since=_since(scope, tool, attributes["since"].value) if "since" in attributes else None,
        doc=resolve_plain_text(scope.context, attributes["doc"].value, "doc") if "doc" in attributes else "",
        only=only.value.span.text if only else "",
        lists=_added(scope, attributes),
        probe=_probe(scope, attributes["probe"].value) if "probe" in attributes else None,
        ask=_ask(scope, node, cost, attributes.get("ask")),
        scheduled=_scheduled(scope, attributes.get("scheduled")),
        is_line="one_line" in attributes and is_on(attributes["one_line"]),
        options=scope.options_of_tool() if "names_options" in attributes and is_on(attributes["names_options"]) else {},
    )
    if definition.default is not None and definition.default.is_constant:
        try:
            checked_value(definition, definition.default.value(None), definition.default.span)
        except ProgramError as error:
            scope.context.report(error.diagnostic)
    return definition


def _unit(scope: KindScope, node: tree.Expr) -> Quantity | None:
    """Return the amount that the tool counts as one; report anything but a number with a unit."""
    if isinstance(node, tree.Number):
        amount = resolve(scope.context, node).value(None)
        return amount if isinstance(amount, Quantity) else None  # what is not a number has been reported
    text = node.span.text.strip('"')
    name = text if text in UNITS else "ms"
    hint = Hint(f"write `unit = 1{name}`", node.span.text, f"1{name}", is_safe=False)
    scope.context.report(Code.NOT_ALLOWED.at(node.span, name="unit", value=f"`{text}`", hint=hint))
    return None


def _instead_of_options(scope: KindScope, item: tree.Field) -> Hint:
    """Return the hint for options of the tool in a kind that adds words to a list of another name."""
    name, lists = item.name.text, scope.lists
    if name not in {"option", "options", "flags", "args"} or not lists:
        return Hint("")
    written = ", ".join(f"`{each} = {item.value.span.text}`" for each in lists)
    return Hint(f"write {written}", name, lists[0] if len(lists) == 1 else "", is_safe=False)


def _ask(scope: KindScope, node: tree.Property, cost: str, item: tree.Field | None) -> tuple[str | Expr, ...] | None:
    """Return the instruction of a `manual` property; report any other property that has one."""
    if (cost == "manual") != (item is not None and isinstance(item.value, tree.Text)):
        message = 'a property has `ask = "…"` if, and only if, its cost is `manual`'
        scope.context.report(Code.BAD_KIND.at(item.span if item else node.name.span, message=message))
    scope.may_name_itself = True
    requested = resolve_parts(scope.context, item.value) if item and isinstance(item.value, tree.Text) else None
    scope.may_name_itself = False
    return requested


def _since(scope: KindScope, tool: str, node: tree.Expr) -> tuple[str, str] | None:
    """Return the version in which a property appeared: `kernel 6.1`, or `3.9` of the kind's tool."""
    fact, _, version = resolve_plain_text(scope.context, node, "since").rpartition(" ")
    if not versions.is_version(version):
        message = "`since` must be a version, such as `3.9`, or a fact of a host with a version, such as `kernel 6.1`"
        scope.context.report(Code.BAD_KIND.at(node.span, message=message))
        return None
    return fact or tool, version


def _probe(scope: KindScope, node: tree.Expr) -> tuple[str | Expr, ...]:
    if isinstance(node, tree.Text):
        return resolve_template(scope.context, node)
    scope.context.report(Code.BAD_KIND.at(node.span, message="`probe` must be a command in quotes"))
    return ()


def _scheduled(scope: KindScope, item: tree.Field | None) -> Expr | None:
    """Resolve the value of a property in one part of a schedule."""
    scope.may_name_itself = True
    resolved = resolve(scope.context, item.value) if item else None
    scope.may_name_itself = False
    return resolved


def _added(scope: KindScope, attributes: Mapping[str, tree.Field]) -> tuple[tuple[str, Expr], ...]:
    """Return the additions of a property to the lists of its kind."""
    scope.may_name_itself = True
    given = [name for name in (*scope.lists, *scope.own_forms) if name in attributes]
    added = tuple([(name, resolve(scope.context, attributes[name].value)) for name in given])
    scope.may_name_itself = False
    return added


def _word(scope: KindScope, item: tree.Field | None, default: str, names: tuple[str, ...]) -> str:
    if item is None:
        return default
    if not isinstance(item.value, tree.Name) or str(item.value) not in names:
        hint = "it is " + ", ".join(f"`{word}`" for word in names)
        scope.context.report(Code.NOT_ALLOWED.at(item.value.span, name=item.name.text, value="this", hint=hint))
        return default
    return str(item.value)
