"""A file of a program, as it was read."""

from __future__ import annotations

from dataclasses import dataclass, field

from zlang.check.kind_declarations import Declared
from zlang.check.program import Expr, Kind
from zlang.syntax import tree

Named = tree.Let | tree.LetColumn | tree.FunctionDef | tree.Param | tree.Declaration
"""What a name of a file stands for."""


@dataclass(slots=True)
class Module:
    """A file: its entries by name, its kinds, and the files that it imports, `merged` or `named`.

    `settings` are the values that an import gives to its params, each with the file in which its names are looked up.
    """

    written: tree.Tree
    prefix: tuple[str, ...]
    entries: dict[str, Named] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    kind_nodes: dict[str, tuple[tree.KindDef, Declared]] = field(default_factory=dict)
    settings: dict[str, tuple[tree.Expr, Module | None]] = field(default_factory=dict)
    libraries: dict[str, str] = field(default_factory=dict)
    merged: list[Module] = field(default_factory=list)
    named: dict[str, Module] = field(default_factory=dict)
    resolved: dict[str, Expr] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)
    broken: frozenset[str] = frozenset()
    is_broken: bool = False
    lacks_import: bool = False
    lacks_kinds: bool = False


def merged_kind(module: Module, name: str) -> Kind | None:
    """A kind of the files that a file imports without a name."""
    return next((item.kinds[name] for item in module.merged if name in item.kinds), None)
