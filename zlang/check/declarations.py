"""Declared things: their properties by type, their parent by kind, and what their members are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from zlang.check import types
from zlang.check.choices import Choices
from zlang.check.expressions import constant, failed, unknown, with_values
from zlang.check.instances import Frame, InstanceBuilder, checked_value, given_too
from zlang.check.names import EXAMPLES
from zlang.check.program import ABSENT, COSTS, Expr, FactorDef, Instance, Kind, PropertyDef, Value
from zlang.check.scope import Path
from zlang.check.types import STRING, Type
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.source import Span
from zlang.suggest import did_you_mean, nearest
from zlang.syntax import tree
from zlang.syntax.lexer import ENTRY_WORDS

LONGEST_SEARCH = 1000
"""Levels that a search may have: each of them is in the plan, since any may have to be measured."""


class Declarations(Choices):
    """What a declaration makes."""

    def _make(self, node: tree.Make, path: Path) -> Expr:
        return self.declare(node.span, node.kind, node.parent, node.items, path, path[-1], is_given=False)

    def declare(
        self,
        span: Span,
        kind_name: tree.Name,
        parent: tree.Expr | None,
        items: tuple[tree.Item, ...],
        path: Path,
        label: str,
        *,
        is_given: bool,
    ) -> Expr:
        """A declared thing: its properties by type, its parent by kind."""
        kind = self.scope.kind(kind_name)
        if kind is None:
            name = str(kind_name)
            hint: str = self.scope.kind_hint(name) or did_you_mean(name, [*self.scope.kind_names(), *ENTRY_WORDS])
            if self.scope.lookup(name, kind_name.span) is not None:
                hint = f"`{name}` is declared, and is as it is: what differs is a choice in it, or declared by itself"
            self.report(Code.UNKNOWN_KIND.at(kind_name.span, name=name, hint=hint))
            return unknown(span)
        if is_given and not kind.has("present"):
            hint = "leave `given` away, and it is made by the run"
            hint = hint if kind.role == "resource" else "leave `given` away"
            self.report(Code.NOT_GIVEN.at(kind_name.span, kind=kind.name, hint=hint))
        stands_on = self._parent(kind, parent, span, path)
        fields = self._fields(kind, items, path)
        given = {word.text for item in items for word in tree.words(item)} | fields.keys()
        missing = [name for name in kind.required if name not in given and not _misspelt(kind, items, name)]
        if missing:
            hint = f"add `{'  '.join(f'{name} = {_example(kind.properties[name].type)}' for name in missing)}`"
            names = "`, `".join(missing)
            self.report(Code.MISSING_PROPERTY.at(kind_name.span, kind=kind.name, name=names, hint=hint))
        exprs = [*fields.values(), *([stands_on] if stands_on else [])]
        axes = tuple(axis for expr in exprs for axis in expr.axes)
        builder = InstanceBuilder(kind, path, label, fields, stands_on, kind_name.span, is_given=is_given)
        reads = builder.reads

        def member(what: str, where: Span) -> Expr | None:
            if what in fields:
                return fields[what]
            if what in kind.properties:
                return self._default(kind.properties[what], where, builder, reads)
            if what in kind.offers:
                offer = kind.offers[what]

                def offered(point: Any) -> Value:
                    return offer.value(Frame(builder(point)))

                return Expr(where, STRING, offered, reads=reads, depth=1 + max((e.depth for e in exprs), default=0))
            return None

        beneath = stands_on.type.kinds | stands_on.type.beneath if stands_on else frozenset[str]()
        lost = any(word.text not in fields and word.text != "label" for item in items for word in tree.words(item))
        is_partial = lost or any(expr.type.is_partial for expr in exprs)
        type_ = Type(kinds=frozenset({kind.name}), beneath=beneath, is_partial=is_partial)
        made = Expr(span, type_, builder, axes, reads, member)
        return self._sized(made, [*exprs, *([stands_on] if stands_on else [])])

    def _default(self, definition: PropertyDef, where: Span, builder: InstanceBuilder, reads: frozenset[str]) -> Expr:
        """A property that was not given."""
        default = definition.default
        if default is None:
            return constant(where, definition.type, ABSENT)
        if default.is_constant:
            return constant(where, definition.type, default.value(None))
        return Expr(where, definition.type, lambda point: default.value(Frame(builder(point))), reads=reads, depth=1)

    def _parent(self, kind: Kind, parent: tree.Expr | None, span: Span, path: Path) -> Expr | None:
        if parent is None:
            if kind.parents and "host" not in kind.parents and kind.role == "resource":
                expected = " or ".join(f"a `{p}`" for p in kind.parents)
                self.report(
                    Code.MISSING_PROPERTY.at(span, kind=kind.name, name="on …", hint=f"it stands on {expected}")
                )
            return None
        resolved = self.single(parent) if isinstance(parent, tree.Name) else self.resolve(parent, (*path, "on"))
        if resolved.type.unknown:
            return resolved
        if not resolved.type.kinds or not all(self._carries(name, kind) for name in resolved.type.kinds):
            expected = " or ".join(f"a `{p}`" for p in kind.parents) or "nothing"
            place = f"what `{kind.name}` stands on"
            hint = "an experiment says what it runs on: `on = …`" if kind.role == "workload" else self._offering(kind)
            self.report(
                Code.WRONG_ROLE.at(resolved.span, place=place, expected=expected, found=resolved.type, hint=hint)
            )
        return resolved

    def _offering(self, kind: Kind) -> str:
        """What a kind can stand on."""
        known = [one for name in self.scope.kind_names() if (one := self.scope.kind_called(name)) is not None]
        names = [one.name for one in known if set(one.offers) & set(kind.parents)]
        return "it stands on " + " or ".join(f"a `{name}`" for name in sorted(set(names))) if names else ""

    def _carries(self, parent: str, kind: Kind) -> bool:
        """Whether a kind may stand on another: it is named, or it offers what is named."""
        offered = self.scope.kind_called(parent)
        return parent in kind.parents or (offered is not None and bool(set(offered.offers) & set(kind.parents)))

    def _fields(self, kind: Kind, items: tuple[tree.Item, ...], path: Path) -> dict[str, Expr]:
        fields: dict[str, Expr] = {}
        places: dict[str, Span] = {}
        outer, self.siblings = self.siblings, frozenset(word.text for item in items for word in tree.words(item))
        for item in items:
            words = tree.words(item)
            for word in words:
                if word.text in places:
                    finding = Code.DUPLICATE.at(word.span, name=word.text)
                    self.report(finding.also(places[word.text], "first defined here"))
            if any(word.text in places for word in words):
                continue
            places |= {word.text: word.span for word in words}
            if isinstance(item, tree.Where | tree.Until | tree.Find | tree.Expect | tree.Table | tree.Plot):
                clause = f"`{type(item).__name__.lower()}`"
                hint = f"{clause} belongs to an experiment"
                self.report(Code.UNEXPECTED.at(item.span, expected="`name = value`", found=clause, hint=hint))
            elif isinstance(item, tree.Zip):
                known = {w.text: d.type for w in item.names if (d := self._definition(kind, w))}
                for name, one in self.zip(item, path, known).items():
                    if name in known:
                        self._note_cost(kind, kind.properties[name], one)
                        fields[name] = self._checked(kind.properties[name], one)
            elif item.name.text == "label":
                self._given_label((item,))
            elif (definition := self._definition(kind, item.name)) is not None:
                name = item.name.text
                resolved = self.typed(item.value, (*path, name), name, definition.type)
                self._note_cost(kind, definition, resolved)
                fields[name] = self._checked(definition, resolved, item.value)
        self.siblings = outer
        return fields

    def searched(self, made: Expr, kinds: Iterable[Kind], name: tree.Word, levels: tree.Expr, path: Path) -> Expr:
        """The same things, each with one property more, or another: a factor of so many levels."""
        if not isinstance(levels, tree.Range):
            found = f"`{levels.span.source.text[levels.span.start : levels.span.end]}`"
            hint = "its levels in order: `in 1..256`, `in 4KiB..1MiB by *2`"
            self.report(Code.UNEXPECTED.at(levels.span, expected="a range", found=found, hint=hint))
            return unknown(made.span)
        definitions = [self._definition(kind, name) for kind in kinds]
        definition = next(iter(definitions), None)
        if definition is None or None in definitions or made.type.unknown:
            return unknown(made.span)
        for leaf in made.leaves or (made,):
            said = leaf.member(name.text, name.span) if leaf.member is not None else None
            if said is not None and said.axes:
                hint = "leave it out there, or measure all its levels instead of searching"
                self.report(Code.DUPLICATE.at(name.span, name=name.text, hint=hint).also(said.span, "a factor already"))
                return unknown(made.span)
        resolved = self.typed(levels, path, name.text, definition.type)
        field = self._checked(definition, resolved)
        if field.type.unknown:
            return unknown(made.span)
        if field.axes[0].size > LONGEST_SEARCH:
            many, hint = f"{field.axes[0].size:,}", "a search through fewer levels: `by 16`, or `by *2`"
            self.report(Code.RANGE_TOO_LONG.at(levels.span, limit=f"{LONGEST_SEARCH:,}", count=many, hint=hint))
            return unknown(made.span)

        def value(point: Any) -> Value:
            thing = made.value(point)
            return given_too(thing, name.text, field, point) if isinstance(thing, Instance) else thing

        def member(what: str, where: Span) -> Expr | None:
            return field if what == name.text else made.member(what, where) if made.member else None

        axes, reads = (*made.axes, *field.axes), made.reads | field.reads
        return self._sized(Expr(made.span, made.type, value, axes, reads, member, made.leaves), [made, field])

    def _note_cost(self, kind: Kind, definition: PropertyDef, given: Expr) -> None:
        """What it takes to go to another level of a factor: as much as the dearest property that it decides."""
        if kind.role != "resource":
            return
        cost = definition.cost if kind.has("change") or definition.cost in {"none", "manual"} else "create"
        for axis in given.axes:
            factor = self.factors.get(axis.path)
            if factor is not None and (not factor.cost or COSTS.index(cost) > COSTS.index(factor.cost)):
                columns = (factor.columns, factor.types, factor.size, factor.level)
                self.factors[axis.path] = FactorDef(factor.path, *columns, factor.span, cost, factor.places)

    def _definition(self, kind: Kind, word: tree.Word) -> PropertyDef | None:
        found = kind.properties.get(word.text)
        if found is None:
            hint = did_you_mean(word.text, kind.properties) or f"`zlang kinds {kind.name}` lists them"
            self.report(Code.UNKNOWN_PROPERTY.at(word.span, kind=kind.name, name=word.text, hint=hint))
        return found

    def _checked(self, definition: PropertyDef, resolved: Expr, node: tree.Expr | None = None) -> Expr:
        """The value, held to what its property allows: now where it is constant, at its point where it is not."""
        if resolved.type.unknown:
            return resolved
        names = [one for name in _names_within(node) if (one := self._looked_up(name)) is not None]
        faults: set[tuple[int, int]] = set()
        for leaf in resolved.leaves or (resolved,):
            if not leaf.is_constant:
                continue
            try:
                checked_value(definition, leaf.value(None), leaf.span)
            except ProgramError as error:
                finding = with_values(error.diagnostic, {}, [name for name in names if name.is_constant])
                if (leaf.span.start, leaf.span.end) not in faults:
                    self.report(_as_range(finding, node))
                faults.add((leaf.span.start, leaf.span.end))
        is_path = "path" in definition.type.scalars
        type_ = definition.type if "version" in definition.type.scalars else resolved.type
        if resolved.is_constant:
            known = resolved.value(None)
            if is_path and isinstance(known, str) and known.startswith("-"):
                known = f"./{known}"
            return Expr(resolved.span, type_, lambda _: known, is_constant=True)
        is_measured = bool(definition.type.scalars & {"size", "duration", "rate"})
        is_limited = definition.allow is not None or definition.type.is_limited
        is_any = not is_limited and definition.unit is None and not is_path and not is_measured
        plain = is_any and type_ == resolved.type
        all_constant = all(leaf.is_constant for leaf in resolved.leaves) if resolved.leaves else False
        if plain or (all_constant and not is_path and type_ == resolved.type):
            return resolved

        def value(point: Any) -> Value:
            known = resolved.value(point)
            try:
                checked_value(definition, known, resolved.span)
            except ProgramError as error:
                return failed(point, with_values(error.diagnostic, point, names))
            return f"./{known}" if is_path and isinstance(known, str) and known.startswith("-") else known

        self._risk(resolved)
        return Expr(
            resolved.span,
            type_,
            value,
            resolved.axes,
            resolved.reads,
            resolved.member,
            resolved.leaves,
            depth=resolved.depth,
            work=resolved.work,
        )

    def _looked_up(self, name: tree.Name) -> Expr | None:
        """What a name stands for, at the place where it is used; None for a word of an enumeration."""
        found = self.scope.lookup(name.path[0], name.span)
        for part in name.path[1:]:
            found = found.member(part, name.span) if found is not None and found.member is not None else None
        return found and Expr(name.span, found.type, found.value, is_constant=found.is_constant)


def _as_range(finding: Diagnostic, node: tree.Expr | None) -> Diagnostic:
    """The finding about a value; a number less a number may have been meant as all from one to the other."""
    if not (isinstance(node, tree.Binary) and node.operator == "-" and isinstance(node.left, tree.Number)):
        return finding
    text = node.span.source.text
    ends = [text[side.span.start : side.span.end] for side in (node.left, node.right)]
    hint = f"from one to the other is written `{'..'.join(ends)}`"
    return Diagnostic(finding.code, finding.span, finding.message, finding.label, hint, finding.notes)


def _names_within(node: tree.Expr | None) -> Iterator[tree.Name]:
    """The names from whose values something is worked out."""
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
    """Whether a field that the kind does not have may have been meant to be this one."""
    given = [item.name.text for item in items if isinstance(item, tree.Field)]
    return any(word not in kind.properties and nearest(word, [name]) for word in given)


def _example(type_: Type) -> str:
    for scalar in types.SCALARS:
        if scalar in type_.scalars:
            return EXAMPLES.get(scalar, '"…"' if scalar in {"path", "version", "command"} else "…")
    return type_.words[0].name if type_.words else "…"
