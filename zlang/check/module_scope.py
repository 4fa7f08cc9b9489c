"""The names of a file and of its imports, each resolved on first use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from zlang.check import library, property_types, types
from zlang.check.choices import resolve_zip
from zlang.check.declarations import resolve_declaration
from zlang.check.expressions import resolve, unknown
from zlang.check.module import Module
from zlang.check.program import Absent, Expr, FaultPoint, Instance, Kind
from zlang.check.program_names import ProgramNames
from zlang.check.scope import Scope
from zlang.check.typed import resolve_typed
from zlang.check.types import NOTHING, Type, Variant
from zlang.diagnostics import Code
from zlang.metrics import in_trials
from zlang.source import Span
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import tree

_NO_TYPE = 'remove the type: it is that of the value, as in `param places = ["/a", "/b"]`'
_TYPES: dict[str, str] = {
    **property_types.FOREIGN,
    **dict.fromkeys(("list", "List", "array", "tuple", "any"), _NO_TYPE),
    "enum": "write its words: `param speed: slow | fast = slow`",
}
"""The names of types in other languages."""


class ModuleScope:
    """The names of a file and of its imports."""

    def __init__(self, names: ProgramNames, module: Module) -> None:
        self._names, self.module = names, module

    def lookup(self, name: str, span: Span) -> Expr | None:
        """Return the meaning of a name; None if it has none."""
        module = self.module
        if name in module.resolved:
            return module.resolved[name]
        if name in module.pending:
            if name not in self._reported_circles():
                first = module.entries[name]
                circle = [*module.pending[module.pending.index(name) :], name]
                hint = " → ".join(f"`{item}`" for item in circle) if len(circle) > 2 else ""  # noqa: PLR2004
                if not hint and isinstance(first, tree.Declaration):
                    hint = "a property cannot use another one of the same thing: give the value a name, `let x = …`"
                finding = Code.CIRCLE.at(span, name=name, hint=hint)
                self._names.report(finding.also(first.name.span, "defined here"))
            return unknown(span)
        entry = module.entries.get(name)
        if entry is not None:
            if not self._names.follow(span):
                return unknown(span)
            module.pending.append(name)
            resolved = {name: self._resolve(entry)} if not isinstance(entry, tree.LetColumn) else self._columns(entry)
            for item, expr in resolved.items():
                module.resolved[item] = _partial(expr) if self.is_broken(item) else expr
            module.pending.remove(name)
            return module.resolved[name]
        if name in module.named:
            inner = ModuleScope(self._names, module.named[name])
            return Expr(span, types.UNKNOWN, lambda _: Absent(), member=inner.in_module)
        for merged in module.merged:
            if name in merged.entries:
                return ModuleScope(self._names, merged).lookup(name, span)
        return None

    def is_broken(self, name: str) -> bool:
        """Whether part of that entry could not be read."""
        return name in self.module.broken

    def resolve_in(self, scope: Scope, name: str) -> Expr | None:
        """Resolve the value of a `let` in another scope; None if no property of a thing goes into the value."""
        entry = _lets_of_things(self.module).get(name)
        if entry is None:
            return None
        return resolve(self._names.silent().context(scope), entry.value, path=(*self.module.prefix, name))

    def assertions(self) -> Iterator[tree.Assert]:
        """Yield the assertions of the file."""
        return (entry for entry in self.module.written.entries if isinstance(entry, tree.Assert))

    def in_module(self, name: str, span: Span) -> Expr:
        """Resolve a name of this file for another file."""
        resolved = self.lookup(name, span)
        if resolved is not None:
            return resolved
        hint = did_you_mean(name, self.names())
        subject = f"`{'.'.join(self.module.prefix)}`"
        self._names.report(Code.UNKNOWN_FIELD.at(span, subject=subject, name=name, hint=hint))
        return unknown(span)

    def _reported_circles(self) -> set[str]:
        return {
            word for f in self._names.modules.findings.items if f.code is Code.CIRCLE for word in self.module.pending
        }

    def _columns(self, entry: tree.LetColumn) -> dict[str, Expr]:
        """Return the names that vary together with a name, including that name."""
        return resolve_zip(self._names.context(self), entry.of, self.module.prefix, {})

    def _resolve(self, entry: tree.Let | tree.FunctionDef | tree.Param | tree.Declaration) -> Expr:
        context = self._names.context(self)
        path = (*self.module.prefix, entry.name.text)
        if isinstance(entry, tree.Let):
            return resolve(context, entry.value, path=path)
        if isinstance(entry, tree.FunctionDef):
            from zlang.check.own_functions import resolve_function

            return resolve_function(self._names, self, entry)
        if isinstance(entry, tree.Declaration):
            return resolve_declaration(context, entry, path, is_given=entry.given, label=".".join(path))
        value, scope = self._setting(entry)
        inner = context.replace(scope=scope) if scope is not None else context
        if entry.type is None:
            expected = resolve(context, entry.value, path=path).type
            kinds_of_number = expected.scalars and not expected.words
            if kinds_of_number:
                return resolve_typed(inner, value, path, entry.name.text, expected)
            return resolve(inner, value, path=path)
        declared = self._param_type(entry.type)
        return resolve_typed(inner, value, path, entry.name.text, declared)

    def _setting(self, entry: tree.Param) -> tuple[tree.Expr, ModuleScope | None]:
        """Return the value of a param, and the scope of the value's names if it is another one."""
        if entry.name.text in self.module.settings:
            value, module = self.module.settings[entry.name.text]
            return value, ModuleScope(self._names, module) if module else None
        named = None if self.module.prefix else self._names.settings.get(entry.name.text)
        return named or entry.value, None

    def _param_type(self, node: tree.TypeExpr) -> Type:
        whole = NOTHING
        for atom in node.atoms:
            if atom.name in types.SCALARS:
                whole = whole | Type(frozenset({atom.name}))
            elif len(node.atoms) == 1:
                hint = (
                    _TYPES.get(atom.name)
                    or did_you_mean(atom.name, types.SCALARS)
                    or "the types are " + ", ".join(types.SCALARS)
                )
                self._names.report(Code.UNKNOWN_NAME.at(atom.span, name=atom.name, hint=hint))
                return types.UNKNOWN
            else:
                whole = whole | Type(words=(Variant(atom.name),))
        return whole

    def names(self) -> Iterable[str]:
        """Return all names, for suggestions."""
        merged = [name for module in self.module.merged for name in module.entries]
        return [*self.module.entries, *self.module.named, *merged]

    def kind(self, name: tree.Name) -> Kind | None:
        """Return the kind of that name."""
        return self._names.modules.find_kind(self.module, name.path)

    def kind_called(self, name: str) -> Kind | None:
        """Return the kind with the name that types use."""
        return self._names.modules.kind_by_name(name)

    def kind_names(self) -> Iterable[str]:
        """Return the names of all kinds, for suggestions."""
        imported = [library.PRELUDE, *(t for t, alias in self.module.libraries.items() if not alias)]
        shipped = [kind for module in imported for kind in self._names.modules.library.modules.get(module, ())]
        return [*self.module.kinds, *shipped, *(kind for m in self.module.merged for kind in m.kinds)]

    def kinds_of(self, role: str) -> Iterator[Kind]:
        """Yield the kinds of a role that are in scope without a prefix."""
        shipped = self._names.modules.library
        for name in self.kind_names():
            if not shipped.module_of(name) or shipped.role_of(name) == role:
                kind = self._names.modules.find_kind(self.module, (name,))
                if kind is not None and kind.role == role:
                    yield kind

    def owners(self, name: str) -> list[str]:
        """Return the declaration that gives a property of that name a value, if there is exactly one."""
        declared = [entry for entry in self.module.entries.values() if isinstance(entry, tree.Declaration)]
        owners = [e.name.text for e in declared if any(w.text == name for item in e.items for w in tree.words(item))]
        return owners if len(owners) == 1 and owners[0] not in self.module.pending else []

    def place_in_group(self, name: str) -> str:
        """Return the machine of that name in a group of hosts, as `GROUP[PLACE]`; empty if no group has it."""
        for entry in self.module.entries.values():
            is_host = isinstance(entry, tree.Declaration) and str(entry.kind) == "host"
            is_host = is_host and entry.name.text not in self.module.pending
            group = self.lookup(entry.name.text, entry.span) if is_host else None
            machine = (
                group.value(FaultPoint()) if group is not None and not group.type.unknown and not group.axes else None
            )
            if isinstance(machine, Instance) and name in machine.members:
                return f"{machine.label}[{machine.members.index(name)}]"
        return ""

    def kind_hint(self, name: str) -> str:
        """Return a hint about an unknown kind."""
        if any(isinstance(each, tree.ExperimentDef) and each.name.text == name for each in self.module.written.entries):
            return f"`{name}` is an experiment: write `experiment NAME = {name} with {{ … }}` for a copy"
        home = self._names.modules.library.module_of(name)
        alias = self.module.libraries.get(home, "")
        if home == library.PRELUDE:
            return f"`{name}` is a kind: write the name of one that is declared"
        if alias:
            return Hint(f"here it is `{alias}.{name}`", name, f"{alias}.{name}")
        return Hint(f"the standard library has it: add `import {home}`", line=f"import {home}") if home else ""

    def is_metric(self, name: str) -> bool:
        """Whether a reader of the library has a metric of that name."""
        readers = self._names.modules.readers.values()
        return any(name == metric.name for metrics in readers for metric in in_trials(metrics))

    def kinds_described_with(self, word: str) -> list[str]:
        """Return the kinds of the library that need a tool of that name or have the word in their description."""
        return self._names.modules.library.described_with(word)

    def is_given(self, _name: str, _span: Span) -> None:
        """Return None: only templates use this."""


def _lets_of_things(module: Module) -> dict[str, tree.Let]:
    """Return the `let` lines without choices whose values use a member of a name, or one of these lines above."""
    lets: dict[str, tree.Let] = {}
    for name, entry in module.entries.items():
        parts = list(tree.parts(entry)) if isinstance(entry, tree.Let) else []
        names = [part.path for part in parts if isinstance(part, tree.Name)]
        is_single = not any(isinstance(part, tree.Choice | tree.Range) for part in parts)
        if isinstance(entry, tree.Let) and is_single and any(len(path) > 1 or path[0] in lets for path in names):
            lets[name] = entry
    return lets


def _partial(expr: Expr) -> Expr:
    """Return the expression, marked as one with unknown choices."""
    return expr.replace(type=expr.type | Type(is_partial=True))
