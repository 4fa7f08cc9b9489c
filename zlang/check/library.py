"""The standard library: `stdlib/*.zexp`, read in pieces.

When the package is built (in a checkout: when a file changes), the whole library is parsed, and the items of all kinds
are stored packed beside the texts. A program then pays only for reading and unpacking the items that it uses, not for
fio's hundreds of options.

The file begins with the length of its index. The index has the place of each part: `(length, offset)`, counted from
the end of the index.
"""

from __future__ import annotations

import marshal
import os
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

from zlang.check.kind_declarations import Declared, declared_in, extended
from zlang.check.kinds import kind_of
from zlang.check.lazy import LazyMapping
from zlang.check.metric_declarations import metric_of
from zlang.check.program import Kind
from zlang.diagnostics import Code, Diagnostic
from zlang.errors import RunError
from zlang.hints import Any, TypeGuard
from zlang.metrics import Metric
from zlang.record import Record
from zlang.source import Source, Span
from zlang.syntax import parse, tables, tree
from zlang.units import Dimension, Quantity

PRELUDE = "core"
"""The module whose kinds need no import."""
_HERE = Path(__file__).parent
SAVED = _HERE / "library.bin"
_INSTALLED = _HERE.parent / "stdlib"
"""The place of the sources in a wheel, whose files do not change."""
SOURCES = next((path for path in (_INSTALLED, _HERE.parents[1] / "stdlib") if path.is_dir()), _HERE)


_COMMENT, _LATER_COMMENT = (rf"(?m){start}[ \t]*#.*\n" for start in ("^", r"(?<=\n)"))
"""A line of a command that is a comment."""
_NUMBER = 4
"""Bytes of the length of the index."""
_Place = tuple[int, int]
_Plain = Any
"""A value of a tree as what `marshal` knows: a tuple whose first is the name of its class, and lists for tuples."""


class _Entry(Record):
    """An entry of a module: the places of a kind and of its name, properties, traits without a type, other items."""

    module: str
    whole: _Place
    name: _Place
    role: str
    parents: tuple[str, ...]
    required: tuple[str, ...]
    scheduled: tuple[str, ...]
    draws: bool
    properties: dict[str, bytes]
    traits: dict[str, bytes]
    items: bytes


class Library:
    """Modules by name, the names of the kinds in each, and the kinds themselves, read on demand."""

    def __init__(
        self,
        modules: dict[str, tuple[str, ...]],
        sources: Mapping[str, Source],
        entries: Mapping[str, _Entry],
        readers: Mapping[str, tuple[Metric, ...]],
    ) -> None:
        self.modules, self.sources, self.entries, self.readers = modules, sources, entries, readers
        self.loaded: dict[str, Kind] = {}

    def names(self) -> Iterable[str]:
        """Return the names of all kinds."""
        return self.entries

    def module_of(self, kind: str) -> str:
        """Return the module of a kind, or an empty text."""
        return self.entries[kind].module if kind in self.entries else ""

    def role_of(self, kind: str) -> str:
        """Return the role of a kind of the library."""
        return self.entries[kind].role

    def node(self, name: str) -> tree.KindDef:
        """Return the declaration of a kind, without its properties."""
        node = self._node(name)
        return node.replace(items=(*node.items, *self.declared(name).traits.values()))

    def _node(self, name: str) -> tree.KindDef:
        entry = self.entries[name]
        source = self.sources[entry.module]
        at = Span(source, *entry.name)
        items = _unpacked(entry.items, source)
        parents = tuple(tree.Word(at, parent) for parent in entry.parents)
        return tree.KindDef(Span(source, *entry.whole), tree.Word(at, name), tree.Word(at, entry.role), parents, items)

    def declared(self, name: str) -> Declared:
        """Return the properties and traits in the declaration of a kind."""
        entry = self.entries[name]
        source = self.sources[entry.module]
        nodes: LazyMapping[tree.Property] = LazyMapping(entry.properties, lambda packed: _unpacked(packed, source))
        traits: LazyMapping[tree.Trait] = LazyMapping(entry.traits, lambda packed: _unpacked(packed, source))
        return Declared(nodes, entry.required, entry.scheduled, draws=entry.draws, traits=traits)

    def kind(self, name: str) -> Kind:
        """Return the kind of that name."""
        if name not in self.loaded:
            module = self.module_of(name)
            self.loaded[name] = kind_of(self._node(name), module, self.readers, _fail_on_finding, self.declared(name))
        return self.loaded[name]

    def described_with(self, word: str) -> list[str]:
        """Return the kinds with a tool of that name or the word in their description, the earliest occurrence first."""
        pattern = re.compile(rf"\b{re.escape(word.removesuffix('s'))}s?\b", re.IGNORECASE)
        places: dict[str, int] = {}
        for name in self.entries:
            kind = self.kind(name)
            if any(tool == word for tool, _ in kind.requires):
                places[name] = -1
            elif where := pattern.search(kind.doc):
                places[name] = where.start()
        return sorted(places, key=lambda name: places[name])


def _metrics(packed: bytes) -> tuple[Metric, ...]:
    return tuple([Metric(*item) for item in marshal.loads(packed)])  # noqa: S302 - a part of a file of the package


def _fail_on_finding(finding: Diagnostic) -> None:
    """Fail on an error in the library."""
    line, _ = finding.span.source.position(finding.span.start)
    error = RunError(f"{finding.span.source.name}:{line}: {finding.message}", str(finding.hint))
    error.add_note(str(finding.hint))  # the tools that write the pages show it as a traceback
    raise error


@cache
def load() -> Library:
    """Return the library; its index is built first if necessary."""
    try:
        saved = _Saved(partial(os.pread, os.open(SAVED, os.O_RDONLY | os.O_CLOEXEC)))
    except (OSError, ValueError, EOFError, TypeError):
        saved = None
    if saved is None or (SOURCES != _INSTALLED and (saved.fields != _fields() or dict(saved.texts) != _texts())):
        content = save(must=False)
        saved = _Saved(lambda length, offset: content[offset : offset + length])
    sources = LazyMapping({name: name for name in saved.texts}, lambda name: _source(name, saved.texts[name]))
    return Library(saved.modules, sources, LazyMapping(saved.entries, _entry), LazyMapping(saved.readers, _metrics))


class _Saved:
    """The stored library; `read(length, offset)` returns bytes of it."""

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        length = int.from_bytes(read(_NUMBER, 0), "big")
        index = marshal.loads(read(length, _NUMBER))  # noqa: S302 - a file of the package, as .pyc are
        self.fields, self.modules, texts, entries, readers = index
        start = _NUMBER + length
        self.texts, self.entries, self.readers = (
            LazyMapping[bytes](places, lambda place: read(place[0], start + place[1]))
            for places in (texts, entries, readers)
        )


def _source(module: str, text: bytes) -> Source:
    return Source(f"stdlib/{module}.zexp", text.decode())


def _entry(packed: bytes) -> _Entry:
    return _Entry(*marshal.loads(packed))  # noqa: S302 - a part of a file of the package


def _texts() -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in sorted(SOURCES.glob("*.zexp"))}


def save(*, must: bool = True) -> bytes:
    """Parse the whole library and index it; store both, unless the package directory is read-only."""
    from zlang.files import replace_file

    texts = _texts()
    modules: dict[str, tuple[str, ...]] = {}
    entries: dict[str, bytes] = {}
    trees = {module: _parsed(module, text.decode()) for module, text in texts.items()}
    declared = {
        reader.name.text: _declared_metrics(reader)
        for parsed in trees.values()
        for reader in parsed.entries
        if isinstance(reader, tree.ReaderDecl)
    }
    readers = {
        name: tables.marshalled([tuple(item.as_dict().values()) for item in some]) for name, some in declared.items()
    }
    for module, parsed in trees.items():
        kinds = _kinds_with_properties(parsed)
        modules[module] = tuple(kind.name.text for kind, _ in kinds)
        for written, properties in kinds:
            kind = written.replace(items=tuple([_without_comments(item) for item in written.items]))
            if kind.name.text in entries:
                _fail_on_finding(Code.DUPLICATE.at(kind.name.span, name=kind.name.text))
            entry = (
                module,
                _place(kind.span),
                _place(kind.name.span),
                kind.role.text,
                tuple(parent.text for parent in kind.parents),
                properties.required,
                properties.scheduled,
                _checked(kind, module, declared, properties).draws,
                {name: _packed(node) for name, node in properties.nodes.items()},
                {item.name.text: _packed(item) for item in kind.items if _is_plain_trait(item)},
                _packed(tuple(i for i in kind.items if not isinstance(i, tree.Property) and not _is_plain_trait(i))),
            )
            entries[kind.name.text] = tables.marshalled(entry)
    parts: list[bytes] = []
    places = [_put_together(parts, each) for each in (texts, entries, readers)]
    index = tables.marshalled((_fields(), modules, *places))
    made = b"".join([len(index).to_bytes(_NUMBER, "big"), index, *parts])
    try:
        replace_file(SAVED, made, 0o644)
    except OSError:
        if must:
            raise
    return made


def _put_together(parts: list[bytes], named: Mapping[str, bytes]) -> dict[str, _Place]:
    """Add the named parts to the others, and return the length and the offset of each."""
    places, end = {}, sum(map(len, parts))
    for name, part in named.items():
        places[name] = len(part), end
        end += len(part)
    parts += named.values()
    return places


def _parsed(module: str, text: str) -> tree.Tree:
    parsed = parse.program(Source(f"stdlib/{module}.zexp", text))
    for finding in parsed.findings:
        _fail_on_finding(finding)
    return parsed.tree


def _declared_metrics(reader: tree.ReaderDecl) -> tuple[Metric, ...]:
    return tuple([item for node in reader.metrics if (item := metric_of(node, _fail_on_finding)) is not None])


def _kinds_with_properties(parsed: tree.Tree) -> list[tuple[tree.KindDef, Declared]]:
    """Return the kinds of a module; one can extend another that stands before it."""
    kinds: list[tuple[tree.KindDef, Declared]] = []
    for node in parsed.entries:
        if isinstance(node, tree.KindDef):
            base = next((kind for kind in kinds if kind[0].name.text == node.role.text), None)
            kinds.append(
                extended(node, *base, _fail_on_finding) if base else (node, declared_in(node, _fail_on_finding))
            )
    return kinds


def _checked(node: tree.KindDef, module: str, readers: Mapping[str, tuple[Metric, ...]], declared: Declared) -> Kind:
    """Return the whole kind, with all of its parts resolved."""
    kind = kind_of(node, module, readers, _fail_on_finding, declared)
    dict(kind.properties)
    dict(kind.traits)
    return kind


def _without_comments(item: tree.KindItem) -> tree.KindItem:
    """Return an action without the lines of its commands that are shell comments: they are for readers of the library.

    So the words of a comment are in no identity. Commands of a user's own kinds are carried out as they are written.
    """
    if not isinstance(item, tree.ActionDef):
        return item
    commands = [
        each.replace(text=each.text.replace(parts=_without_comment_lines(each.text.parts)))
        if isinstance(each, tree.Sh) and not each.is_asked
        else each
        for each in item.commands
    ]
    return item.replace(commands=tuple(commands))


def _without_comment_lines(parts: tuple[str | tree.Expr, ...]) -> tuple[str | tree.Expr, ...]:
    """Return a text without lines that begin with `#`; a part after a value begins within a line."""
    return tuple(
        [
            re.sub(_COMMENT if i == 0 else _LATER_COMMENT, "", part) if isinstance(part, str) else part
            for i, part in enumerate(parts)
        ]
    )


def _is_plain_trait(item: tree.KindItem) -> TypeGuard[tree.Trait]:
    return isinstance(item, tree.Trait) and item.type is None


def _place(span: Span) -> _Place:
    return span.start, span.end


_CLASSES: dict[str, Any] = {
    item.__name__: item for item in (*vars(tree).values(), Dimension, Quantity, Fraction) if isinstance(item, type)
}
_NODES = {
    name: (item, *item.record_setters[:1], item.record_setters[1:])
    for name, item in _CLASSES.items()
    if next(iter(getattr(item, "record_fields", ())), "") == "span"
}
"""The classes whose first field is a place, which is packed as two numbers, and how their fields are set."""


def _fields() -> dict[str, tuple[str, ...]]:
    """Return the fields of all packed classes: data that was packed with other fields cannot be unpacked."""
    classes: dict[str, Any] = {**_CLASSES, "Metric": Metric, "_Entry": _Entry}
    return {name: item.record_fields for name, item in classes.items() if issubclass(item, Record)}


def _packed(value: object) -> bytes:
    return tables.marshalled(_packable(value))


def _unpacked(packed: bytes, source: Source) -> Any:
    return _build_record(marshal.loads(packed), source)  # noqa: S302 - a part of a file of the package


def _packable(value: object) -> _Plain:
    match value:
        case Span():
            return ("Span", value.start, value.end)
        case Fraction():
            return ("Fraction", value.numerator, value.denominator)
        case Record():
            name = type(value).__name__
            first, *others = [_packable(item) for item in value.as_dict().values()]
            return (name, *first[1:], *others) if name in _NODES else (name, first, *others)
        case tuple():
            return [_packable(item) for item in value]
        case _:
            return value


def _build_record(plain: _Plain, source: Source) -> Any:
    """Build a packed value; a value that is neither a tuple nor a list stands for itself."""
    if type(plain) is list:
        return tuple([_build_record(item, source) if type(item) in _PACKED else item for item in plain])
    name = plain[0]
    if name == "Span":
        return Span(source, plain[1], plain[2])
    if name not in _NODES:
        return _CLASSES[name](*[_build_record(part, source) if type(part) in _PACKED else part for part in plain[1:]])
    node, set_span, setters = _NODES[name]
    made = object.__new__(node)  # a call of the class takes half as long again
    set_span(made, Span(source, plain[1], plain[2]))
    for set_field, part in zip(setters, plain[3:]):  # noqa: B905 - as in `Record`
        set_field(made, _build_record(part, source) if type(part) in _PACKED else part)
    return made


_PACKED = {tuple, list}
