"""The names that a text declares and uses, collected from its tree alone.

In: a tree. Out: definitions, uses of names, and the fields of each declaration. A name within another, `lab.data`, is
a use for each of its parts.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from enum import Enum

from zlang.record import Record
from zlang.source import TABLE, Span
from zlang.syntax import tree


class Sort(Enum):
    """The categories of definitions."""

    LET = "let"
    FUNCTION = "function"
    PARAM = "param"
    PROFILE = "profile"
    THING = "declaration"
    EXPERIMENT = "experiment"
    KIND = "kind"
    IMPORT = "import"
    LOCAL = "parameter"


class Definition(Record):
    """A name where it is defined; `whole` is all of the entry, and `kind` the kind of a declared thing."""

    name: str
    span: Span
    whole: Span
    sort: Sort
    kind: str = ""
    title: str = ""


class NameUse(Record):
    """A part of a name where it is used: `path[index]`. `local` is its definition within the same entry."""

    span: Span
    path: tuple[str, ...]
    index: int
    is_kind: bool
    local: Definition | None


class FieldUse(Record):
    """The use of a field's name: of a kind, of an experiment (`experiment`) or of a profile (`profile`).

    Params of an imported file are set like fields: their owner is the target of the import.
    """

    span: Span
    owner: str
    name: str
    value: Span


EXPERIMENT = "experiment"
PROFILE = "profile"


class Symbols:
    """The names of one text."""

    def __init__(self, of: tree.Tree) -> None:
        self.tree = of
        self.definitions: dict[str, Definition] = {}
        self.profiles: dict[str, Definition] = {}
        self.experiments: dict[str, Definition] = {}
        self.uses: list[NameUse] = []
        self.fields: list[FieldUse] = []
        self._starts: set[int] = set()
        self.things: dict[str, tree.Declaration] = {}
        for entry in of.entries:
            self._define(entry)
        for entry in of.entries:
            self._walk(entry, {}, "")

    def every(self) -> Iterator[Definition]:
        """All definitions of the file, in no particular order."""
        yield from self.definitions.values()
        yield from self.profiles.values()
        yield from self.experiments.values()

    def at(self, offset: int) -> Definition | NameUse | FieldUse | None:
        """The name at a place."""
        for definition in self.every():
            if definition.span.start <= offset <= definition.span.end:
                return definition
        uses: tuple[NameUse | FieldUse, ...] = (*self.uses, *self.fields)
        return next((use for use in uses if use.span.start <= offset <= use.span.end), None)

    def imports(self) -> Iterator[tree.Import]:
        """The imports of the file."""
        yield from (entry for entry in self.tree.entries if isinstance(entry, tree.Import))

    def _define(self, entry: tree.Entry) -> None:
        match entry:
            case tree.Let():
                self._add(entry.name, entry, Sort.LET)
            case tree.LetZip():
                for word in entry.names:
                    self._add(word, entry, Sort.LET)
            case tree.FunctionDef():
                self._add(entry.name, entry, Sort.FUNCTION)
            case tree.Param():
                self._add(entry.name, entry, Sort.PARAM)
            case tree.Declaration():
                self._add(entry.name, entry, Sort.THING, str(entry.kind))
                self.things.setdefault(entry.name.text, entry)
            case tree.KindDef():
                self._add(entry.name, entry, Sort.KIND)
            case tree.Import() if entry.alias:
                self._add(entry.alias, entry, Sort.IMPORT)
            case tree.Profile():
                definition = Definition(entry.name.text, entry.name.span, entry.span, Sort.PROFILE)
                self.profiles.setdefault(entry.name.text, definition)
            case tree.ExperimentDef():
                name, title = entry.name, entry.title
                definition = Definition(name.text, name.span, entry.span, Sort.EXPERIMENT, title=title)
                self.experiments.setdefault(name.text, definition)
            case _:
                pass

    def _add(self, name: tree.Word, entry: tree.Entry, sort: Sort, kind: str = "") -> None:
        self.definitions.setdefault(name.text, Definition(name.text, name.span, entry.span, sort, kind))

    def _walk(self, node: object, local: dict[str, Definition], owner: str) -> None:
        """Collect all names in a node; `local` are those from its enclosing scopes, `owner` owns its fields."""
        match node:
            case Span() | tree.KindDef():
                pass  # names in a kind belong to its templates
            case tree.Name():
                self._use(node, local)
            case tree.IsA():
                self._walk(node.value, local, "")
                self._use(node.kind, local, is_kind=str(node.kind) not in self.definitions)
            case tree.Field():
                if owner:
                    self.fields.append(FieldUse(node.name.span, owner, node.name.text, node.value.span))
                self._walk(node.value, local, "")
            case tree.FunctionDef() | tree.ListFrom():
                self._walk_scope(node, local)
            case (
                tree.Declaration()
                | tree.Anonymous()
                | tree.Amend()
                | tree.ExperimentDef()
                | tree.Profile()
                | tree.Import()
            ):
                self._walk_block(node, local)
            case Record():
                for name in type(node).record_fields:  # type: ignore[attr-defined]
                    inner = getattr(node, name)
                    for item in inner if isinstance(inner, tuple) else (inner,):
                        self._walk(item, local, owner)
            case _:
                pass

    def _walk_scope(self, node: tree.FunctionDef | tree.ListFrom, local: dict[str, Definition]) -> None:
        """Collect the names in a node that has its own scope."""
        if isinstance(node, tree.FunctionDef):
            self._walk(node.value, local | {word.text: self._local(word) for word in node.parameters}, "")
            return
        self._walk(node.many, local, "")
        inner = local | {node.name.text: self._local(node.name)}
        self._walk(node.value, inner, "")
        self._walk(node.condition, inner, "")

    def _walk_block(
        self,
        node: tree.Declaration | tree.Anonymous | tree.Amend | tree.ExperimentDef | tree.Profile | tree.Import,
        local: dict[str, Definition],
    ) -> None:
        """Collect the names in a block with fields."""
        owner = PROFILE
        match node:
            case tree.Declaration() | tree.Anonymous():
                self._use(node.kind, {}, is_kind=True)
                self._walk(node.parent, local, "")
                owner = str(node.kind)
            case tree.Amend():
                self._use(node.base, local)
                owner = self.kind_of(str(node.base))
            case tree.ExperimentDef():
                if node.base is not None:
                    self._use(node.base, {})
                owner = EXPERIMENT
            case tree.Import():
                owner = node.target
            case _:
                pass
        for item in node.items:
            self._walk(item, local, owner)

    def _local(self, word: tree.Word) -> Definition:
        definition = Definition(word.text, word.span, word.span, Sort.LOCAL)
        self.uses.append(NameUse(word.span, (word.text,), 0, is_kind=False, local=definition))
        return definition

    def _use(self, name: tree.Name, local: dict[str, Definition], *, is_kind: bool = False) -> None:
        start = name.span.start
        if start in self._starts:  # the name that a condition compares with several values
            return
        self._starts.add(start)
        for index, part in enumerate(name.path):
            start = name.span.source.text.find(part, start, name.span.end)
            if start < 0:
                return
            span = Span(name.span.source, start, start + len(part))
            self.uses.append(NameUse(span, name.path, index, is_kind, local.get(part) if index == 0 else None))
            start += len(part)

    def kind_of(self, name: str) -> str:
        """The kind of a declared thing, also if it is `like` another; empty if the text does not show it."""
        seen: set[str] = set()
        while name in self.definitions and name not in seen:
            seen.add(name)
            if name in self.things:
                return str(self.things[name].kind)
            value = next((e.value for e in self.tree.entries if isinstance(e, tree.Let) and e.name.text == name), None)
            if isinstance(value, tree.Anonymous):
                return str(value.kind)
            name = (
                str(value.base) if isinstance(value, tree.Amend) else str(value) if isinstance(value, tree.Name) else ""
            )
        return ""


def imported_files(of: tree.Tree, path: str) -> Iterator[str]:
    """The programs that a file of this path imports."""
    for entry in of.entries:
        if isinstance(entry, tree.Import) and entry.is_file and not entry.target.endswith(TABLE):
            yield file_of(entry, path)


def file_of(entry: tree.Import, path: str) -> str:
    """The path of an imported file."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), entry.target))
