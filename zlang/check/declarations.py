"""Declared things: their properties by type, their parent by kind, and their members."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from zlang.check import types
from zlang.check.choices import given_label, resolve_zip
from zlang.check.expressions import Context, constant, failed, limit_size, note_risk, resolve, unknown, with_values
from zlang.check.instances import LEFT_OUT, Frame, InstanceBuilder, checked_value, may_be_left_out, with_property
from zlang.check.names import resolve_name
from zlang.check.program import (
    ABSENT,
    COSTS,
    Assertion,
    Expr,
    FaultPoint,
    Instance,
    Kind,
    PartialPoint,
    PropertyDef,
    Reached,
    Value,
    merge_axes,
)
from zlang.check.scope import Path
from zlang.check.typed import one_for_several, resolve_typed
from zlang.check.types import STRING, Type, Variant, is_text
from zlang.check.values import show
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.hints import Any
from zlang.source import Span
from zlang.suggest import Hint, did_you_mean, nearest, with_article
from zlang.syntax import tree
from zlang.syntax.lexer import ENTRY_WORDS

_MEMBER = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
LONGEST_SEARCH = 1000
"""Levels that a search may have: each of them is in the plan, since any may have to be measured."""

_MOST_LISTED = 8
"""The most properties of a kind that a hint lists for an unknown one."""
_MOST_SUGGESTED = 3
_OTHER_WORDS = {
    **dict.fromkeys(
        ("for_each", "foreach", "matrix", "sweep", "with_items", "params"),
        "write the choice where the value is used: `NAME = 4KiB | 8KiB`",
    ),
    **dict.fromkeys(("count", "replicas", "instances"), "write `copies = …`"),
    **dict.fromkeys(
        ("name", "id", "title"),
        "write the name before the braces: `KIND NAME { … }`; that of a thing which is given is `called = …`",
    ),
    **dict.fromkeys(
        ("on", "depends_on", "requires", "after", "parent"), "write what it is on: `KIND NAME on PARENT { … }`"
    ),
    **dict.fromkeys(("description", "comment", "desc"), "write a comment: `# …`"),
    **dict.fromkeys(("repeat", "repeats", "where", "cache", "design"), "write it in the experiment"),
}
"""Properties of things in other languages, with what to write instead."""


def _like(node: tree.Anonymous | tree.Declaration, name: str) -> str:
    """Return the hint for a thing that is used in place of a kind."""
    if isinstance(node, tree.Declaration):
        return f"write `let {node.name.text} = {name} with {{ … }}`"
    return Hint(f"write `{name} with {{ … }}`", name, f"{name} with")


def _kinds_of_role(context: Context, name: str) -> str:
    """Return the hint for a role that is used in place of a kind: the kinds with that role."""
    kinds = [kind for word in context.scope.kind_names() if (kind := context.scope.kind_called(word)) is not None]
    names = [f"`{kind.name}`" for kind in kinds if kind.role == name]
    return f"a line begins with the kind itself: {', '.join(names)}" if names else ""


def _kinds_described_with(context: Context, word: str) -> str:
    """Return the hint for a word that is not a kind but occurs in the descriptions of kinds."""
    kinds = context.scope.kinds_described_with(word)[:_MOST_SUGGESTED]
    return f"perhaps {' or '.join(f'`{kind}`' for kind in kinds)}: see `zlang kinds {kinds[0]}`" if kinds else ""


def resolve_declaration(
    context: Context,
    node: tree.Anonymous | tree.Declaration,
    path: Path,
    *,
    is_given: bool = False,
    label: str = "",
    expected: Type | None = None,
) -> Expr:
    """Resolve a declared thing: its properties by type, its parent by kind."""
    span, kind_name, items = node.span, node.kind, node.items
    kind = context.scope.kind(kind_name)
    if kind is None:
        from zlang.syntax.foreign_words import ENTRIES

        name = str(kind_name)
        variant = expected.variant(name) if expected is not None else None
        hint: str = (
            (f"write `{name}({variant.example})`" if variant and variant.field else "")
            or ENTRIES.get(name)
            or context.scope.kind_hint(name)
            or did_you_mean(name, [*context.scope.kind_names(), *ENTRY_WORDS])
        )
        if context.scope.lookup(name, kind_name.span) is not None:
            hint = _like(node, name)
        hint = hint or _kinds_of_role(context, name) or _kinds_described_with(context, name)
        hint = hint or "`zlang kinds` lists all kinds"
        context.report(Code.UNKNOWN_KIND.at(kind_name.span, name=name, hint=hint))
        return unknown(span)
    if is_given and not kind.has("present"):
        hint = "remove `given`, and the run creates it"
        hint = hint if kind.role == "resource" else "remove `given`"
        context.report(Code.NOT_GIVEN.at(kind_name.span, kind=kind.name, hint=hint))
    words = frozenset(word.text for item in items for word in tree.words(item))
    stands_on = _resolve_parent(context.replace(siblings=words), kind, node.parent, span, path)
    fields = _resolve_fields(context, kind, items, path)
    _refuse_choice_of_facts(context, kind, path[-1], fields)
    if is_given:
        _refuse_choice_of_given(context, kind, stands_on, fields)
    _check_members(context, kind, fields)
    given = {word.text for item in items for word in tree.words(item)} | fields.keys()
    is_foreign = any(_OTHER_WORDS.get(word) or kind.without.get(word) for word in given if word not in kind.properties)
    missing = [] if is_foreign else [name for name in kind.required if name not in given]
    missing = [name for name in missing if not _misspelt(kind, items, name)]
    if missing:
        hint = f"add `{'  '.join(f'{name} = {_example(kind.properties[name].type)}' for name in missing)}`"
        names = "`, `".join(missing)
        context.report(Code.MISSING_PROPERTY.at(kind_name.span, kind=kind.name, name=names, hint=hint))
    own = given_label(context.replace(report=_drop_finding), items) if kind.role != "machine" else None
    called, at = own[0] if own else label or path[-1], kind_name.span
    builder = InstanceBuilder(
        kind=kind, path=path, label=called, fields=fields, parent=stands_on, span=at, is_given=is_given
    )
    return _declared(context, span, builder, items)


def resolve_amend(context: Context, node: tree.Amend, path: Path) -> Expr:
    """Resolve `base with { … }`: a separate thing with all properties of the base, except those given here."""
    resolved = resolve_name(context, node.base, None)
    if resolved.type.unknown:
        return resolved
    base = resolved.value
    if not isinstance(base, InstanceBuilder):
        hint = "write it for one declared thing; a choice between things is `a with { … } | b with { … }`"
        expected = "used with a declared thing"
        context.report(
            Code.WRONG_TYPE.at(node.base.span, name="with", hint=hint, expected=expected, found=resolved.type)
        )
        return unknown(node.span)
    fields = _resolve_fields(context, base.kind, node.items, path)
    _refuse_choice_of_facts(context, base.kind, path[-1], fields)
    given = {**base.fields, **fields}
    own = given_label(context.replace(report=_drop_finding), node.items)
    builder = InstanceBuilder(
        kind=base.kind,
        path=path,
        label=own[0] if own else path[-1],
        fields=given,
        parent=base.parent,
        span=node.base.span,
        is_given=base.is_given,
    )
    return _declared(context, node.span, builder, node.items)


def _declared(context: Context, span: Span, builder: InstanceBuilder, items: tuple[tree.Item, ...]) -> Expr:
    """Return the declared thing with its members."""
    kind, fields, stands_on, reads = builder.kind, builder.fields, builder.parent, builder.reads
    exprs = [*fields.values(), *([stands_on] if stands_on else [])]
    axes = merge_axes(axis for expr in exprs for axis in expr.axes)

    def member(attribute: str, where: Span) -> Expr | None:
        if attribute in fields:
            return _noting_named_place(fields[attribute], where, builder)
        if attribute in kind.properties:
            return _noting_named_place(_default(kind.properties[attribute], where, builder, reads), where, builder)
        if attribute in kind.offers:
            offer = kind.offers[attribute]

            def offered(point: Any) -> Value:
                return offer.value(Frame(builder(point)))

            depth = 1 + max((e.depth for e in exprs), default=0)
            return _noting_named_place(Expr(where, STRING, offered, reads=reads, depth=depth), where, builder)
        return None

    beneath = stands_on.type.kinds | stands_on.type.beneath if stands_on else frozenset[str]()
    beneath |= frozenset[str]().union(*(field.type.beneath for field in fields.values() if field.type.has_things))
    used = frozenset[str]().union(*(part.type.every_kind for part in (*fields.values(), stands_on) if part))
    lost = any(word.text not in fields and word.text != "label" for item in items for word in tree.words(item))
    is_partial = lost or any(expr.type.is_partial for expr in exprs)
    type_ = Type(kinds=frozenset({kind.name}), beneath=beneath, is_partial=is_partial, used=used - beneath)
    made = Expr(span=span, type=type_, value=builder, axes=axes, reads=reads, member=member)
    if kind.asserts:
        for assertion in kind.asserts:
            note_risk(context, made.replace(reads=_risk_of(assertion, builder)))
        if not reads and not is_partial and not (stands_on and stands_on.type.unknown):
            at = FaultPoint()
            builder(at)
            for finding in at.faults:
                context.report(finding)
    return limit_size(context, made, [*exprs, *([stands_on] if stands_on else [])])


def _risk_of(assertion: Assertion, builder: InstanceBuilder) -> frozenset[str]:
    """Return the factors that decide whether an assertion of a kind holds for a thing."""
    risk = frozenset[str]()
    for name in assertion.names:
        if name in builder.fields:
            risk |= builder.fields[name].reads
            continue
        definition = builder.kind.properties.get(name)
        default = definition.default if definition else None
        if name == "on" or name in builder.kind.offers or (default and not default.is_constant):
            return builder.reads
    return risk


def _drop_finding(_finding: Diagnostic) -> None:
    """Ignore a finding that is reported elsewhere."""


def _refuse_choice_of_facts(context: Context, kind: Kind, name: str, fields: Mapping[str, Expr]) -> None:
    """Report machine properties with several levels: the run cannot change a machine between trials."""
    for word, field in fields.items() if kind.role == "machine" else ():
        if not field.axes or kind.properties[word].cost == "manual":
            continue
        levels = [option.span.text for option in field.alternatives if option.is_constant]
        value = [levels[0], levels[-1]] if len(set(levels)) > 1 else ["…", "…"]
        hosts = " and ".join(
            f"`{kind.name} {name}{number} {{ {word} = {item} }}`" for number, item in enumerate(value, start=1)
        )
        hint = f"declare one `{kind.name}` for each: {hosts}; declare what a person changes as a `manual`"
        finding = Code.NOT_CONSTANT.at(field.span, place=f"`{word}`, a fact of a machine,", hint=hint)
        context.report(finding)


def _refuse_choice_of_given(context: Context, kind: Kind, parent: Expr | None, fields: Mapping[str, Expr]) -> None:
    """Report properties of a given thing that have several levels but do not choose which thing it is."""
    naming = frozenset[str]().union(*(offer.reads for offer in kind.offers.values()))
    choosing = [parent] * (parent is not None) + [fields[word] for word in fields if word in naming]
    chosen = {axis.path for expr in choosing if expr is not None for axis in expr.axes}
    for word, field in fields.items():
        if word in naming or kind.properties[word].cost == "none" or all(axis.path in chosen for axis in field.axes):
            continue
        hint = f"declare a `given {kind.name}` for each that exists, or remove `given`, and the run creates it"
        place = f"`{word}` of a thing that is given, which the run does not change,"
        context.report(Code.NOT_CONSTANT.at(field.span, place=place, hint=hint))


def _check_members(context: Context, kind: Kind, fields: Mapping[str, Expr]) -> None:
    """Report machine names that cannot be written in `[hosts.NAME]` or that occur twice."""
    field = fields.get("members") if kind.role == "machine" else None
    if field is None or field.axes or field.type.unknown:
        return
    names = field.value({})
    seen: set[str] = set()
    for name in names if isinstance(names, tuple) else ():
        if isinstance(name, str) and not re.fullmatch(_MEMBER, name):
            hint = "a name has letters, digits, `-` and `_`; write its address in `[hosts.NAME]` of zlang.toml"
            context.report(Code.NOT_ALLOWED.at(field.span, name="members", value=show(name), hint=hint))
        elif isinstance(name, str) and name in seen:
            context.report(Code.DUPLICATE.at(field.span, name=name))
        seen.add(str(name))
    if not seen:
        context.report(Code.NOT_ALLOWED.at(field.span, name="members", value="an empty list"))


def _noting_named_place(member: Expr, where: Span, builder: InstanceBuilder) -> Expr:
    """Return the member; each point records the resource of a text that it reads, because it may be a place."""
    if builder.kind.role != "resource" or not is_text(member.type):
        return member

    def value(point: Any) -> Value:
        if isinstance(point, Reached | FaultPoint) and not isinstance(point, PartialPoint):
            point.named.append((builder(point), where))
        return member.value(point)

    return member.giving(value, reads=member.reads | builder.reads, is_constant=False)


def _default(definition: PropertyDef, where: Span, builder: InstanceBuilder, reads: frozenset[str]) -> Expr:
    """Return the value of a property that was not given."""
    default = definition.default
    if default is None:
        return constant(where, definition.type, ABSENT)
    if default.is_constant:
        return constant(where, definition.type, default.value(None))
    return Expr(where, definition.type, lambda point: default.value(Frame(builder(point))), reads=reads, depth=1)


def _resolve_parent(context: Context, kind: Kind, parent: tree.Expr | None, span: Span, path: Path) -> Expr | None:
    """Resolve the parent of a thing, and check that the thing can be built on it."""
    if parent is None:
        stated = "on" in context.siblings  # it is among the properties, and is reported there
        if kind.parents and "host" not in kind.parents and kind.role == "resource" and not stated:
            places = " or ".join(f"a `{name}`" for name in kind.parents)
            context.report(Code.MISSING_PROPERTY.at(span, kind=kind.name, name="on …", hint=f"declare it on {places}"))
        return None
    is_name = isinstance(parent, tree.Name)
    is_unknown = isinstance(parent, tree.Name) and context.scope.lookup(parent.path[0], parent.span) is None
    expected_kinds = Type(kinds=frozenset(_possible_parents(context, kind))) if is_unknown else None
    resolved = resolve(context, parent, expected_kinds, path=None if is_name else (*path, "on"))
    if resolved.type.unknown:
        return resolved
    kinds = resolved.type.kinds
    is_one_thing = bool(kinds) and Type(kinds=kinds).accepts(resolved.type)
    if not (is_one_thing and all(_can_be_on(context, name, kind) for name in kinds)):
        needed = kind.needs[0] if kind.role == "workload" and kind.needs else ()
        expected = " or ".join(f"a `{p}`" for p in kind.parents or needed)
        place = f"`on` of `{kind.name}`"
        possible = _possible_parents(context, kind)
        hint = "declare it on " + " or ".join(f"a `{name}`" for name in possible) if possible else ""
        if resolved.type.element is not None:
            hint = one_for_several(context, resolved.type.element.kinds) or hint
        if not expected:
            place, expected = f"`{kind.name}`", "declared without `on`"
            hint = "an experiment says what it happens to: `during = NAME`" if kind.role == "event" else ""
        context.report(
            Code.WRONG_ROLE.at(resolved.span, place=place, expected=expected, found=resolved.type, hint=hint)
        )
    return resolved


def _possible_parents(context: Context, kind: Kind) -> list[str]:
    """Return the kinds on which a kind can be declared."""
    available = [item for name in context.scope.kind_names() if (item := context.scope.kind_called(name)) is not None]
    return sorted({item.name for item in available if {item.name, *item.offers} & set(kind.parents)})


def _can_be_on(context: Context, parent: str, kind: Kind) -> bool:
    """Whether a kind may be built on another: it names that kind, or something that the kind offers."""
    offered = context.scope.kind_called(parent)
    if kind.role == "workload":
        return offered is not None and kind.needs is not None and bool(set(offered.offers) & set(kind.needs[0]))
    return parent in kind.parents or (offered is not None and bool(set(offered.offers) & set(kind.parents)))


def _resolve_fields(context: Context, kind: Kind, items: tuple[tree.Item, ...], path: Path) -> dict[str, Expr]:
    """Resolve the given properties, by name."""
    fields: dict[str, Expr] = {}
    places: dict[str, Span] = {}
    context = context.replace(siblings=frozenset(word.text for item in items for word in tree.words(item)), kind=kind)
    for item in items:
        words = tree.words(item)
        for word in words:
            if word.text in places:
                hint = f"measure both as a choice: `{word.text} = … | …`" if isinstance(item, tree.Field) else ""
                finding = Code.DUPLICATE.at(word.span, name=word.text, hint=hint)
                context.report(finding.also(places[word.text], "first defined here"))
        if any(word.text in places for word in words):
            continue
        places |= {word.text: word.span for word in words}
        if isinstance(
            item,
            tree.Where | tree.UntilClause | tree.Find | tree.Assert | tree.Expect | tree.TableClause | tree.PlotClause,
        ):
            clause = f"`{type(item).__name__.removesuffix('Clause').lower()}`"
            hint = f"{clause} belongs to an experiment"
            context.report(Code.UNEXPECTED.at(item.span, expected="`name = value`", found=clause, hint=hint))
        elif isinstance(item, tree.Zip):
            definitions = {w.text: d for w in item.names if (d := _definition(context, kind, w, item.value))}
            names = {name: _given_type(kind, definition, item.value) for name, definition in definitions.items()}
            for name, entry in resolve_zip(context, item, path, names).items():
                if name in names:
                    _note_cost(context, kind, kind.properties[name], entry)
                    fields[name] = _checked(context, kind.properties[name], entry)
        elif item.name.text == "label":
            given_label(context, (item,))
        elif (definition := _definition(context, kind, item.name, item.value)) is not None:
            name = item.name.text
            wanted = _given_type(kind, definition, item.value)
            resolved = _of_role(context, definition, resolve_typed(context, item.value, (*path, name), name, wanted))
            _note_cost(context, kind, definition, resolved)
            fields[name] = _checked(context, definition, resolved, item.value)
    return fields


def _given_type(kind: Kind, definition: PropertyDef, node: tree.Expr) -> Type:
    """Return the type that a program may give to a property, with the word `none` if that omits the property."""
    text = node.span.text
    is_stated = LEFT_OUT.name in text and LEFT_OUT.name in re.findall(r"\w+", text)
    can_be_none = is_stated and kind.role != "machine" and may_be_left_out(kind, definition.name)
    return definition.type | Type(words=(Variant(LEFT_OUT.name),)) if can_be_none else definition.type


def resolve_searched(
    context: Context, made: Expr, kinds: Iterable[Kind], name: tree.Word, levels: tree.Expr, path: Path
) -> Expr:
    """Add a property with searched levels to the things: a factor with the levels of a range."""
    if not isinstance(levels, tree.Range):
        result = f"`{levels.span.text}`"
        hint = "write the levels as a range: `in 1..256`, `in 4KiB..1MiB by *2`"
        context.report(Code.UNEXPECTED.at(levels.span, expected="a range", found=result, hint=hint))
        return unknown(made.span)
    definitions = [_definition(context, kind, name, levels) for kind in kinds]
    definition = next(iter(definitions), None)
    if definition is None or None in definitions or made.type.unknown:
        return unknown(made.span)
    for option in made.alternatives or (made,):
        field = option.member(name.text, name.span) if option.member is not None else None
        if field is not None and field.axes:
            hint = "remove it there, or measure all levels instead of searching"
            context.report(Code.DUPLICATE.at(name.span, name=name.text, hint=hint).also(field.span, "a factor already"))
            return unknown(made.span)
    resolved = resolve_typed(context, levels, path, name.text, definition.type)
    field = _checked(context, definition, resolved)
    if field.type.unknown:
        return unknown(made.span)
    if context.factors[".".join(path)].within is not None:
        hint = "write the longest range: the condition of `find` ends the search"
        context.report(Code.NOT_CONSTANT.at(levels.span, place="the end of a range that is searched", hint=hint))
        return unknown(made.span)
    if field.axes[0].size > LONGEST_SEARCH:
        many, hint = f"{field.axes[0].size:,}", "search fewer levels: `by 16`, or `by *2`"
        context.report(Code.RANGE_TOO_LONG.at(levels.span, limit=f"{LONGEST_SEARCH:,}", count=many, hint=hint))
        return unknown(made.span)

    def value(point: Any) -> Value:
        thing = made.value(point)
        return with_property(thing, name.text, field, point) if isinstance(thing, Instance) else thing

    def member(attribute: str, where: Span) -> Expr | None:
        return field if attribute == name.text else made.member(attribute, where) if made.member else None

    axes, reads = (*made.axes, *field.axes), made.reads | field.reads
    return limit_size(
        context,
        Expr(
            span=made.span,
            type=made.type,
            value=value,
            axes=axes,
            reads=reads,
            member=member,
            alternatives=made.alternatives,
        ),
        [made, field],
    )


def _note_cost(context: Context, kind: Kind, definition: PropertyDef, given: Expr) -> None:
    """Record the cost of changing a factor: the highest cost among the properties whose values depend on it."""
    if kind.role != "resource":
        return
    cost = definition.cost if kind.has("change") or definition.cost in {"none", "manual"} else "create"
    for axis in given.axes:
        factor = context.factors.get(axis.path)
        if factor is not None and (not factor.cost or COSTS.index(cost) > COSTS.index(factor.cost)):
            context.factors[axis.path] = factor.replace(cost=cost)


def _properties_of(kind: Kind) -> str:
    if len(kind.properties) > _MOST_LISTED:
        return f"`zlang kinds {kind.name}` lists its properties"
    return "it has " + (", ".join(f"`{name}`" for name in kind.properties) or "none")


def _left_out(kind: Kind, word: str) -> str:
    """Return the hint for a word that a kind omits; a hint that only names another property replaces the word."""
    reason = kind.without.get(word, "")
    name = reason.removeprefix("write `").removesuffix("`")
    return Hint(reason, word, name) if name in kind.properties else reason


def _as_value(kind: Kind, word: str) -> str:
    """Return the hint for a word that is a property's value or its opposite: `relatime`, `nojournal`."""
    takers = [name for name, definition in kind.properties.items() if definition.type.variant(word) is not None]
    if len(takers) == 1:
        variant = kind.properties[takers[0]].type.variant(word)
        return f"write `{takers[0]} = {word}{f'({variant.example})' if variant and variant.field else ''}`"
    name = word.removeprefix("no").lstrip("_-")
    type_ = kind.properties[name].type if word.startswith("no") and name in kind.properties else types.NOTHING
    return f"write `{name} = off`" if "bool" in type_.scalars or type_.variant("off") is not None else ""


_OF_MANY = {*types.BOOLS, "none", "auto", "default"}
"""Words that say nothing about the property that they belong to."""


def _of_value(kind: Kind, word: str, value: tree.Expr) -> Hint:
    """Return the hint for a property that has another name here, if exactly one property takes the given word."""
    first = value.options[0] if isinstance(value, tree.Choice) else value
    if not isinstance(first, tree.Name) or len(first.path) != 1 or first.path[0] in _OF_MANY:
        return Hint("")
    of = {name: definition.type.variant(first.path[0]) for name, definition in kind.properties.items()}
    takers = [name for name, variant in of.items() if variant is not None and variant.field is None]
    return (
        Hint(f"write `{takers[0]} = {value.span.text}`", word, takers[0], is_safe=False)
        if len(takers) == 1
        else Hint("")
    )


def _nearest_property(kind: Kind, word: str, value: tree.Expr) -> str:
    """Return the hint for a misspelt property, or for one that has another name here, as its value shows."""
    near, taker = did_you_mean(word, kind.properties), _of_value(kind, word, value)
    hint = taker if taker and not set(near.instead) & set(taker.instead) else near
    is_sure = hint.is_safe or word.lower() in hint.instead or (hint is taker and "_" not in word)
    if is_sure or not hint or "extra" not in kind.properties:
        return hint
    passed_on = f' (an option of `{kind.name}` without a property here is `extra = ["{word}=…"]`)'
    return Hint(hint + passed_on, word, *hint.instead, is_safe=False)


def _definition(context: Context, kind: Kind, word: tree.Word, value: tree.Expr) -> PropertyDef | None:
    definition = kind.properties.get(word.text)
    if definition is None:
        hint = (
            _left_out(kind, word.text)
            or _OTHER_WORDS.get(word.text)
            or _as_value(kind, word.text)
            or _nearest_property(kind, word.text, value)
            or _properties_of(kind)
            + (f'; pass on others as `extra = ["{word.text}=…"]`' if "extra" in kind.properties else "")
        )
        context.report(Code.UNKNOWN_PROPERTY.at(word.span, kind=kind.name, name=word.text, hint=hint))
    return definition


def _checked(context: Context, definition: PropertyDef, resolved: Expr, node: tree.Expr | None = None) -> Expr:
    """Return the value with a check of the property's limits: immediate if it is constant, else at each point."""
    if resolved.type.unknown:
        return resolved
    names = [item for name in _names_within(node) if (item := _look_up_name(context, name)) is not None]
    faults: set[tuple[int, int]] = set()
    for option in resolved.alternatives or (resolved,):
        if not option.is_constant:
            continue
        try:
            checked_value(definition, option.value(None), option.span)
        except ProgramError as error:
            finding = with_values(error.diagnostic, {}, [name for name in names if name.is_constant])
            if (option.span.start, option.span.end) not in faults:
                context.report(_as_range(finding, node))
            faults.add((option.span.start, option.span.end))
    if faults:
        return unknown(resolved.span, resolved.axes)
    is_path = "path" in definition.type.scalars
    type_ = definition.type if "version" in definition.type.scalars else resolved.type
    if resolved.is_constant:
        result = resolved.value(None)
        if is_path and isinstance(result, str) and result.startswith("-"):
            result = f"./{result}"
        return Expr(resolved.span, type_, lambda _: result, is_constant=True)
    is_measured = bool(definition.type.scalars & {"size", "duration", "rate"})
    is_limited = definition.allow is not None or definition.type.is_limited or bool(definition.options)
    is_any = not is_limited and definition.unit is None and not is_path and not is_measured
    plain = is_any and type_ == resolved.type
    all_constant = all(option.is_constant for option in resolved.alternatives) if resolved.alternatives else False
    if plain or (all_constant and not is_path and type_ == resolved.type):
        return resolved

    def value(point: Any) -> Value:
        result = resolved.value(point)
        try:
            checked_value(definition, result, resolved.span)
        except ProgramError as error:
            return failed(point, with_values(error.diagnostic, point, names))
        return f"./{result}" if is_path and isinstance(result, str) and result.startswith("-") else result

    note_risk(context, resolved)
    return resolved.giving(value, type=type_)


def _look_up_name(context: Context, name: tree.Name) -> Expr | None:
    """Return the value of a name where it is used; None for a word of an enumeration."""
    resolved = context.scope.lookup(name.path[0], name.span)
    for part in name.path[1:]:
        resolved = resolved.member(part, name.span) if resolved is not None and resolved.member is not None else None
    return resolved and Expr(name.span, resolved.type, resolved.value, is_constant=resolved.is_constant)


def _of_role(context: Context, definition: PropertyDef, resolved: Expr) -> Expr:
    """Return the value, checked so that each declared thing in it has the role that the property requires."""
    names = resolved.type.kinds | (resolved.type.element or types.NOTHING).kinds
    for name in sorted(names) if definition.role and not resolved.type.unknown else ():
        kind = context.scope.kind_called(name)
        if kind is not None and kind.role != definition.role:
            place, actual = f"`{definition.name}`", f"{with_article(f'`{name}`')}, which is {with_article(kind.role)}"
            expected = with_article(definition.role)
            context.report(Code.WRONG_ROLE.at(resolved.span, place=place, expected=expected, found=actual))
            return unknown(resolved.span)
    return resolved


def _as_range(finding: Diagnostic, node: tree.Expr | None) -> Diagnostic:
    """Return the finding about a value; a difference of two numbers may have been meant as a range."""
    if not (isinstance(node, tree.Binary) and node.operator == "-" and isinstance(node.left, tree.Number)):
        return finding
    text = node.span.source.text
    ends = [text[side.span.start : side.span.end] for side in (node.left, node.right)]
    hint = f"write a range as `{'..'.join(ends)}`"
    return Diagnostic(
        code=finding.code,
        span=finding.span,
        message=finding.message,
        label=finding.label,
        hint=hint,
        notes=finding.notes,
    )


def _names_within(node: tree.Expr | None) -> Iterator[tree.Name]:
    """Yield the names that an expression reads."""
    if not isinstance(node, tree.Binary | tree.Call | tree.If):
        return
    stack: list[object] = [node]
    while stack:
        part = stack.pop()
        match part:
            case tree.Name():
                yield part
            case tree.Binary():
                stack += [part.right, part.left]
            case tree.Call():
                stack += reversed(part.arguments)
            case tree.If():
                stack += [part.otherwise, part.then, part.condition]
            case tree.Not():
                stack.append(part.operand)


def _misspelt(kind: Kind, items: tuple[tree.Item, ...], name: str) -> bool:
    """Whether a field that the kind lacks may be a misspelling of this property."""
    given = [item.name.text for item in items if isinstance(item, tree.Field)]
    meant = {_left_out(kind, word) or _as_value(kind, word) for word in given if word not in kind.properties}
    is_meant = f"write `{name}`" in meant or any(hint.startswith(f"write `{name} = ") for hint in meant)
    return is_meant or any(word not in kind.properties and nearest(word, [name]) for word in given)


def _example(type_: Type) -> str:
    for scalar in types.SCALARS:
        if scalar in type_.scalars:
            scalar_type = types.SCALARS[scalar]
            return '"…"' if scalar_type.example.startswith('"') else scalar_type.example
    return type_.words[0].name if type_.words else "…"
