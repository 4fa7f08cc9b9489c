"""The standard library: `stdlib/*.zexp`, parsed when the package is built.

In an editable install the parsed form is made again when a file is newer than it. Each kind is kept by itself, so that a
program pays for those it uses.
"""

from __future__ import annotations

import marshal
import pickle
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from zlang.check.kinds import kind_of
from zlang.check.program import Kind
from zlang.diagnostics import Diagnostic
from zlang.files import replace_file
from zlang.source import Source
from zlang.syntax import parse, tree

PRELUDE = "core"
"""The module whose kinds need no import."""
_HERE = Path(__file__).parent
SAVED = _HERE / "library.bin"
SOURCES = next((p for p in (_HERE.parent / "stdlib", _HERE.parents[1] / "stdlib") if p.is_dir()), _HERE)


@dataclass(slots=True)
class Library:
    """Modules by name, the names of the kinds in each, and the kinds themselves as they are asked for."""

    modules: dict[str, tuple[str, ...]]
    stored: dict[str, bytes]
    known: dict[str, Kind] = field(default_factory=dict)

    def module_of(self, kind: str) -> str:
        """The module that a kind is in, or nothing."""
        return next((module for module, kinds in self.modules.items() if kind in kinds), "")

    def node(self, name: str) -> tree.KindDef:
        """The declaration of a kind."""
        node: tree.KindDef = pickle.loads(self.stored[name])  # noqa: S301 - a file of the package, as its .pyc files are
        return node

    def kind(self, name: str) -> Kind:
        """The kind of that name."""
        if name not in self.known:
            self.known[name] = kind_of(self.node(name), self.module_of(name), _sound)
        return self.known[name]


def _sound(finding: Diagnostic) -> None:
    line, _ = finding.span.source.position(finding.span.start)
    raise AssertionError(f"BUG: {finding.span.source.name}:{line}: {finding.message}")


@cache
def load() -> Library:
    """The library, parsed first if need be."""
    if not SAVED.exists() or any(path.stat().st_mtime > SAVED.stat().st_mtime for path in SOURCES.glob("*.zexp")):
        save()
    modules, stored = marshal.loads(SAVED.read_bytes())  # noqa: S302 - a file of the package, as its .pyc files are
    return Library(modules, stored)


def save() -> None:
    """Parse the library and keep it."""
    modules: dict[str, tuple[str, ...]] = {}
    stored: dict[str, bytes] = {}
    for path in sorted(SOURCES.glob("*.zexp")):
        parsed = parse.program(Source(f"stdlib/{path.name}", path.read_text("utf-8")))
        for finding in parsed.findings:
            _sound(finding)
        kinds = [entry for entry in parsed.tree.entries if isinstance(entry, tree.KindDef)]
        modules[path.stem] = tuple(kind.name.text for kind in kinds)
        for kind in kinds:
            stored[kind.name.text] = pickle.dumps(kind, protocol=pickle.HIGHEST_PROTOCOL)
    replace_file(SAVED, marshal.dumps((modules, stored)))
