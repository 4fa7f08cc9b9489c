"""The scopes in which an expression looks up names: a file, an experiment, or the templates of a kind."""

from __future__ import annotations

from collections.abc import Iterable

from zlang.check.program import Expr, Kind
from zlang.hints import Protocol
from zlang.source import Span
from zlang.syntax import tree

Path = tuple[str, ...]


class Scope(Protocol):
    """A scope in which an expression looks up names."""

    def lookup(self, name: str, span: Span) -> Expr | None:
        """Return the meaning of a name; None if it has none."""

    def names(self) -> Iterable[str]:
        """Return all names, for suggestions."""

    def kind(self, name: tree.Name) -> Kind | None:
        """Return the kind of that name."""

    def kind_called(self, name: str) -> Kind | None:
        """Return the kind with the name that types use, whatever name it was imported under."""

    def kind_names(self) -> Iterable[str]:
        """Return the names of all kinds, for suggestions."""

    def owners(self, name: str) -> list[str]:
        """Return the things of the experiment that have a property of that name."""

    def kind_hint(self, name: str) -> str:
        """Return a hint about an unknown kind."""

    def place_in_group(self, name: str) -> str:
        """Return the machine of that name in a group of hosts, as `GROUP[PLACE]`; empty if no group has it."""

    def is_metric(self, name: str) -> bool:
        """Whether a reader of the library has a metric of that name."""

    def kinds_described_with(self, word: str) -> list[str]:
        """Return the kinds of the library that need a tool of that name or have the word in their description."""

    def is_given(self, name: str, span: Span) -> Expr | None:
        """Return whether a property was given, which is the value of `has(property)` in the templates of a kind."""


class NoScope:
    """A scope that has only the names of the results."""

    def lookup(self, _name: str, _span: Span) -> Expr | None:
        """Return nothing."""
        return None

    def names(self) -> Iterable[str]:
        """Return nothing."""
        return ()

    def kind(self, _name: tree.Name) -> Kind | None:
        """Return nothing."""
        return None

    def kind_called(self, _name: str) -> Kind | None:
        """Return nothing."""
        return None

    def kind_names(self) -> Iterable[str]:
        """Return nothing."""
        return ()

    def owners(self, _name: str) -> list[str]:
        """Return nothing: a factor is called by its own name."""
        return []

    def kind_hint(self, _name: str) -> str:
        """Return nothing."""
        return ""

    def place_in_group(self, _name: str) -> str:
        """Return nothing."""
        return ""

    def is_metric(self, _name: str) -> bool:
        """Return False."""
        return False

    def kinds_described_with(self, _word: str) -> list[str]:
        """Return nothing."""
        return []

    def is_given(self, _name: str, _span: Span) -> Expr | None:
        """Return None: there are no properties."""
        return None
