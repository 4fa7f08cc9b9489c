"""The names that an experiment may use: those of its file and fields, and in conditions properties of the trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from zlang.check.expressions import unknown
from zlang.check.module_scope import ModuleScope
from zlang.check.program import Expr, FactorDef, Kind
from zlang.check.program_names import MOST_PENDING
from zlang.hints import TYPE_CHECKING
from zlang.source import Span
from zlang.syntax import tree

if TYPE_CHECKING:
    from zlang.check.presence import Presence


class ExperimentScope:
    """The names of a file, and the experiment's own fields."""

    def __init__(self, outer: ModuleScope, fields: Mapping[str, Expr]) -> None:
        self.outer, self.fields = outer, fields

    def lookup(self, name: str, span: Span) -> Expr | None:
        """Return the meaning of a name; None if it has none."""
        return self.fields.get(name) or self.outer.lookup(name, span)

    def names(self) -> Iterable[str]:
        """Return all names, for suggestions."""
        return [*self.fields, *self.outer.names()]

    def kind(self, name: tree.Name) -> Kind | None:
        """Return the kind of that name."""
        return self.outer.kind(name)

    def kind_called(self, name: str) -> Kind | None:
        """Return the kind with the name that types use."""
        return self.outer.kind_called(name)

    def kind_names(self) -> Iterable[str]:
        """Return the names of all kinds, for suggestions."""
        return self.outer.kind_names()

    def owners(self, name: str) -> list[str]:
        """Return the workloads and targets of the experiment that have a property of that name."""
        for word in ("run", "on"):
            expr = self.fields.get(word)
            if expr is not None and expr.type.kinds and expr.member and expr.member(name, expr.span) is not None:
                text = expr.span.text
                return [text if text.replace("_", "").isalnum() else word]
        return []

    def kind_hint(self, name: str) -> str:
        """Return a hint about an unknown kind."""
        return self.outer.kind_hint(name)

    def place_in_group(self, name: str) -> str:
        """Return the machine of that name in a group of hosts."""
        return self.outer.place_in_group(name)

    def is_metric(self, name: str) -> bool:
        """Whether a reader of the library has a metric of that name."""
        return self.outer.is_metric(name)

    def kinds_described_with(self, word: str) -> list[str]:
        """Return the kinds of the library that need a tool of that name or have the word in their description."""
        return self.outer.kinds_described_with(word)

    def is_given(self, _name: str, _span: Span) -> None:
        """Return None: only templates use this."""


class ConditionScope(ExperimentScope):
    """The names of a condition on points; things that a trial does not use have no properties in it.

    `defaults` are the values of fields that the experiment does not have; names of the file take precedence.
    """

    def __init__(
        self,
        outer: ModuleScope,
        fields: Mapping[str, Expr],
        factors: Mapping[str, FactorDef],
        defaults: Mapping[str, Expr] = MappingProxyType({}),
    ) -> None:
        super().__init__(outer, fields)
        self.defaults = defaults
        self.presence = cache(lambda: _presence(fields.values(), factors))
        self._guarded: dict[str, Expr | None] = {}
        self._depth = 0

    def lookup(self, name: str, span: Span) -> Expr | None:
        """Return the meaning of a name; None if it has none."""
        resolved = super().lookup(name, span)
        if name in self.fields:
            return resolved
        if resolved is None and name in self.defaults:
            return self.defaults[name]
        if any(field.type.unknown for field in self.fields.values()):
            return resolved or self._member(name, span) or unknown(span)
        if resolved is None:
            return self._property(name, span)
        from zlang.check.presence import guard

        return guard(self._let(name, resolved) or resolved, self.presence)

    def _let(self, name: str, resolved: Expr) -> Expr | None:
        """Return the value of a `let` in this scope; None if it is a thing, or no property of a thing goes into it."""
        if resolved.type.unknown or resolved.type.kinds or self._depth > MOST_PENDING:
            return None
        if name not in self._guarded:
            self._depth += 1
            self._guarded[name] = self.outer.resolve_in(self, name)
            self._depth -= 1
        return self._guarded[name]

    def _property(self, name: str, span: Span) -> Expr | None:
        """Return that property of what a trial uses, or its default if it is not given."""
        if self.presence().owners(name):
            return self.presence().property(name, span)
        return self._member(name, span)

    def _member(self, name: str, span: Span) -> Expr | None:
        """Return the property if exactly one of the workload and the target has it."""
        fields = [field for word in ("run", "on") if (field := self.fields.get(word)) and field.type.kinds]
        members = [got for field in fields if field.member and (got := field.member(name, span))]
        return members[0] if len(members) == 1 else None

    def owners(self, name: str) -> list[str]:
        """Return the things of a trial that have a property of that name."""
        things = self.presence().owners(name)
        named = [thing for thing in things if thing in set(self.outer.names())]
        return named + (super().owners(name) if len(named) < len(things) or not things else [])


def _presence(fields: Iterable[Expr], factors: Mapping[str, FactorDef]) -> Presence:
    from zlang.check.presence import Presence

    return Presence(fields, factors)
