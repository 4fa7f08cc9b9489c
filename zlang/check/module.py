"""A file of a program, as read."""

from __future__ import annotations

from zlang.check.kind_declarations import Declared
from zlang.check.program import Expr, Kind
from zlang.syntax import tree

Named = tree.Let | tree.LetColumn | tree.FunctionDef | tree.Param | tree.Declaration
"""The meanings that a name of a file can have."""


class Module:
    """A file: its entries by name, its kinds, and the files that it imports, `merged` or `named`.

    `settings` are the values that an import gives to its params, each with the file in which its names are resolved.
    """

    def __init__(self, written: tree.Tree, prefix: tuple[str, ...], broken: frozenset[str] = frozenset()) -> None:
        self.written, self.prefix, self.broken = written, prefix, broken
        self.entries: dict[str, Named] = {}
        self.kinds: dict[str, Kind] = {}
        self.kind_nodes: dict[str, tuple[tree.KindDef, Declared]] = {}
        self.settings: dict[str, tuple[tree.Expr, Module | None]] = {}
        self.libraries: dict[str, str] = {}
        self.merged: list[Module] = []
        self.named: dict[str, Module] = {}
        self.resolved: dict[str, Expr] = {}
        self.pending: list[str] = []
        self.is_broken = self.lacks_import = self.lacks_kinds = False


def merged_kind(module: Module, name: str) -> Kind | None:
    """Return a kind from the files that a file imports without a name."""
    return next((item.kinds[name] for item in module.merged if name in item.kinds), None)
