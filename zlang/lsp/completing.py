"""Completions: words of the language, kinds, properties and their values, declared names, metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from lsprotocol.types import (
    CompletionClientCapabilities,
    CompletionItem,
    CompletionItemKind,
    InsertTextFormat,
    MarkupContent,
    MarkupKind,
    TextEdit,
)

from zlang import units
from zlang.check import library
from zlang.check.functions import FUNCTIONS
from zlang.check.kinds import ROLES
from zlang.check.program import Kind
from zlang.check.types import AGGREGATES, DIMENSION_OF, NUMERIC, SCALARS, Type
from zlang.lint.after import AFTER
from zlang.lint.rules import RULES
from zlang.lsp import contexts, hovering, resolving
from zlang.lsp.contexts import Writing
from zlang.lsp.documents import ENDING, Documents, ParsedText
from zlang.lsp.symbols import Definition, Sort, file_of
from zlang.syntax import tree

_ENTRIES = {
    "import": "import ${1:module}",
    "let": "let ${1:name} = $0",
    "param": "param ${1:name}: ${2:size} = $0",
    "profile": "profile ${1:smoke} { $0 }",
    "experiment": 'experiment ${1:name} "${2:question}" {\n  on     = $3\n  run    = $4\n  repeat = 5\n}',
    "given": "given ${1:KIND} ${2:NAME} { $0 }",
    "kind": "kind ${1:name}: ${2:workload} {\n  $0\n}",
    "assert": 'assert "${1:sentence}" $0',
}
_ROLES_OF_FIELDS = {
    "on": "resource",
    "with": "resource",
    "run": "workload",
    "collect": "collector",
    "cache": "protocol",
    "during": "event",
}
_ALLOWANCE = re.compile(r"\s*#\s*allow\s+[\w-]*\Z")
_TREATING = {"treatment", "workload"}


def complete(documents: Documents, text: ParsedText, offset: int) -> list[CompletionItem]:
    """Completions at a place, the likeliest first."""
    line = text.source.text[text.source.text.rfind("\n", 0, offset) + 1 : offset]
    if _ALLOWANCE.match(line):
        rules = (*(rule.lint for rule in RULES), *AFTER.values())
        return [_item(rule.name, CompletionItemKind.EnumMember, detail=rule.id) for rule in rules]
    writing = contexts.at(text.source.text, offset)
    if writing is None:
        return []
    items = {item.label: item for item in _Completer(documents, text, writing, offset).items()}
    return [item for item in items.values() if _fits(item.label, writing.prefix)]


def _fits(label: str, prefix: str) -> bool:
    """Whether the label contains the typed letters in their order, which is how editors match completions."""
    word = prefix.rpartition(".")[2]
    letters = iter(label.lower())
    return word[:1].isdigit() or all(letter in letters for letter in word.lower())


class _Completer:
    def __init__(self, documents: Documents, text: ParsedText, writing: Writing, offset: int) -> None:
        self.documents, self.text, self.writing, self.offset = documents, text, writing, offset
        self.symbols = documents.last_symbols(text.source.name) or text.symbols
        self.library = library.load()
        self.imported = {entry.target for entry in self.symbols.imports() if not entry.is_file}

    def items(self) -> Iterator[CompletionItem]:
        writing = self.writing
        if writing.line.lstrip().startswith("import "):
            yield from self._imports()
        elif writing.before == "COLON" and writing.line.lstrip().startswith(("param ", "property ")):
            yield from (_item(word, CompletionItemKind.TypeParameter) for word in SCALARS)
        elif "." in writing.prefix:
            yield from self._members()
        elif writing.before == "ON" and (not writing.block or writing.field):
            yield from self._declared("resource")
        elif writing.clause:
            yield from self._questions()
        elif writing.field:
            yield from self._values()
        elif writing.block is None or not writing.block.head:
            yield from self._beginnings(writing.line.removesuffix(writing.prefix).split())
        else:
            yield from self._fields(writing.block)

    # -- lines of a file

    def _beginnings(self, words: list[str]) -> Iterator[CompletionItem]:
        """Entries at the beginning of a line, and the names that follow their keywords."""
        if not words:
            yield from self._entries()
        elif words == ["given"]:
            yield from map(self._kind_item, self.library.names())
        elif words[0] == "kind" and words[-1].endswith(":"):
            yield from map(self._kind_item, self.library.names())
            yield from (_item(role, CompletionItemKind.Interface) for role in ROLES)

    def _entries(self) -> Iterator[CompletionItem]:
        for word, snippet in _ENTRIES.items():
            yield _item(word, CompletionItemKind.Keyword, snippet=snippet)
        yield from map(self._kind_item, self.library.names())
        for definition in self.symbols.definitions.values():
            if definition.sort is Sort.KIND:
                yield _item(definition.name, CompletionItemKind.Class)

    def _kind_item(self, name: str) -> CompletionItem:
        """A kind of the library, with the import that it needs."""
        item = _item(name, CompletionItemKind.Class, detail=self.library.role_of(name))
        module = self.library.module_of(name)
        if module != library.PRELUDE and module not in self.imported:
            item.detail, item.sort_text = f"import {module}", f"~{name}"
            item.additional_text_edits = [TextEdit(self.text.lines.range(0, 0), f"import {module}\n")]
        return item

    def _imports(self) -> Iterator[CompletionItem]:
        """Modules and files; the completion of a file also replaces a quote that was already typed."""
        is_quoted = '"' in self.writing.line
        if not is_quoted:
            yield from (_item(module, CompletionItemKind.Module) for module in self.library.modules)
        for file in sorted(Path(self.text.source.name).parent.glob(f"*{ENDING}")):
            if str(file) != self.text.source.name:
                item = _item(f'"./{file.name}"', CompletionItemKind.File)
                if is_quoted:
                    quote = self.offset - len(self.writing.line) + self.writing.line.index('"')
                    item.text_edit = TextEdit(self.text.lines.range(quote, self.offset), item.label)
                yield item

    # -- in blocks

    def _fields(self, block: contexts.Block) -> Iterator[CompletionItem]:
        head = [word for word in block.head if word != "given"]
        if head[0] == "experiment":
            yield from (
                _item(name, CompletionItemKind.Field, doc=doc, snippet=f"{name} = $0")
                for name, doc in hovering.FIELDS.items()
                if name not in block.fields
            )
            yield from (_item(name, CompletionItemKind.Keyword, doc=doc) for name, doc in hovering.CLAUSES.items())
        elif head[0] == "profile":
            params = (item for item in self.symbols.definitions.values() if item.sort is Sort.PARAM)
            yield from (_item(item.name, CompletionItemKind.Variable, snippet=f"{item.name} = $0") for item in params)
        elif kind := self._kind_of_block(head):
            for name, definition in kind.properties.items():
                if name not in block.fields:
                    is_required = name in kind.required
                    item = _item(name, CompletionItemKind.Property, doc=definition.doc, snippet=f"{name} = $0")
                    item.detail = str(definition.type)
                    item.sort_text = f"{'0' if is_required else '1'}{name}"
                    yield item

    def _kind_of_block(self, head: list[str]) -> Kind | None:
        name = (
            self.symbols.kind_of(head[0]) if "with" in head else "".join(head[:3] if head[1:2] == ["."] else head[:1])
        )
        return resolving.kind(self.documents, self.text, name)

    def _values(self) -> Iterator[CompletionItem]:
        block, field = self.writing.block, self.writing.field
        head = [word for word in block.head if word != "given"] if block else []
        if head and head[0] == "experiment":
            yield from self._values_of_experiment(field)
            return
        kind = self._kind_of_block(head) if head else None
        if kind is not None and field in kind.properties:
            yield from self._of_type(kind.properties[field].type, kind.properties[field].doc)
        for definition in self.symbols.definitions.values():
            if definition.sort in {Sort.LET, Sort.PARAM, Sort.FUNCTION} or (not head and definition.sort is Sort.THING):
                yield self._definition_item(definition)
        if not head or self.writing.prefix[:1].isalpha():
            for name in FUNCTIONS:
                item = _item(name, CompletionItemKind.Function, snippet=f"{name}($0)")
                item.sort_text = f"~{name}"
                yield item

    def _of_type(self, type_: Type, doc: str) -> Iterator[CompletionItem]:
        for word in type_.words:
            snippet = f"{word.name}(${{1:{word.example}}})" if word.field else ""
            yield _item(word.name, CompletionItemKind.EnumMember, doc=doc, snippet=snippet)
        if "bool" in type_.scalars:
            yield from (_item(word, CompletionItemKind.EnumMember, doc=doc) for word in ("on", "off"))
        digits = self.writing.prefix.rstrip("KMGTPiBusmnhd%/")
        if digits[:1].isdigit():
            dimensions = {DIMENSION_OF[name] for name in type_.scalars & NUMERIC} - {units.NUMBER}
            for unit in _UNITS:
                if units.parse(f"1{unit}").dimension in dimensions:
                    yield _item(f"{digits}{unit}", CompletionItemKind.Unit)

    def _values_of_experiment(self, field: str) -> Iterator[CompletionItem]:
        role = _ROLES_OF_FIELDS.get(field, "")
        if field == "before":
            yield _item("none", CompletionItemKind.EnumMember)
            treatments = (name for name in self.library.names() if self.library.role_of(name) == "treatment")
            yield from map(self._kind_item, treatments)
            for treating in _TREATING:
                yield from self._declared(treating)
        elif field == "design":
            snippets = {"full": "", "pairwise": "", "triples": "", "sample": "sample(${1:40})"}
            yield from (_item(word, CompletionItemKind.EnumMember, snippet=text) for word, text in snippets.items())
        elif role in {"protocol", "collector", "event"}:
            names = (name for name in self.library.names() if self.library.role_of(name) == role)
            yield from map(self._kind_item, names)
        if role:
            yield from self._declared(role)

    def _declared(self, role: str) -> Iterator[CompletionItem]:
        """The declared things of a role, and the names of choices, whose role the text does not show."""
        for definition in self._known_definitions():
            kind = resolving.kind(self.documents, self.text, definition.kind or self.symbols.kind_of(definition.name))
            if kind is None and definition.sort is Sort.LET:
                item = self._definition_item(definition)
                item.sort_text = f"~{definition.name}"
                yield item
            elif kind is not None and (kind.role == role or (role == "resource" and kind.role == "machine")):
                yield self._definition_item(definition)

    def _known_definitions(self) -> Iterator[Definition]:
        yield from self.symbols.definitions.values()
        for path in self.documents.imported_by(self.text.source.name):
            text = self.documents.text(path)
            yield from text.symbols.definitions.values() if text else ()

    def _definition_item(self, definition: Definition) -> CompletionItem:
        kinds = {Sort.FUNCTION: CompletionItemKind.Function, Sort.PARAM: CompletionItemKind.Constant}
        return _item(definition.name, kinds.get(definition.sort, CompletionItemKind.Variable), detail=definition.kind)

    # -- names within names, and questions

    def _members(self) -> Iterator[CompletionItem]:
        owner = self.writing.prefix.rpartition(".")[0]
        for entry in self.symbols.imports():
            if entry.alias is not None and entry.alias.text == owner:
                yield from self._of_import(entry)
        kind = resolving.kind(self.documents, self.text, self.symbols.kind_of(owner))
        if kind is not None:
            yield from (
                _item(name, CompletionItemKind.Property, doc=definition.doc)
                for name, definition in kind.properties.items()
            )

    def _of_import(self, entry: tree.Import) -> Iterator[CompletionItem]:
        if not entry.is_file:
            names = self.library.modules.get(entry.target, ())
            yield from (_item(name, CompletionItemKind.Class) for name in names)
            return
        imported = self.documents.text(file_of(entry, self.text.source.name))
        for definition in imported.symbols.definitions.values() if imported else ():
            yield self._definition_item(definition)

    def _questions(self) -> Iterator[CompletionItem]:
        analysis = self.documents.last_analysis(self.text.source.name)
        for path in hovering.factors(analysis):
            yield _item(path.rpartition(".")[2], CompletionItemKind.Field, detail=path)
        if self.writing.clause in {"where", "assert"}:
            kinds = {
                thing: resolving.kind(self.documents, self.text, str(node.kind))
                for thing, node in self.symbols.things.items()
            }
            for kind in kinds.values():
                yield from (_item(name, CompletionItemKind.Property) for name in (kind.properties if kind else ()))
            return
        for name, metric in hovering.metrics(analysis).items():
            if "+" not in name:  # a phase of several events: clauses write it as a list
                yield _item(name, CompletionItemKind.Value, doc=metric.doc, detail=metric.type)
        aggregates = (*AGGREGATES, "p50", "p99", "p999")
        yield from (_item(name, CompletionItemKind.Function, snippet=f"{name}($0)") for name in aggregates)


def adapt(items: Iterable[CompletionItem], capabilities: CompletionClientCapabilities | None) -> None:
    """Remove what an editor does not support: Markdown, and snippets with placeholders."""
    options = capabilities.completion_item if capabilities else None
    takes_markdown = MarkupKind.Markdown in ((options and options.documentation_format) or ())
    takes_snippets = bool(options and options.snippet_support)
    for item in items:
        if isinstance(item.documentation, MarkupContent) and not takes_markdown:
            item.documentation = item.documentation.value
        if item.insert_text_format is InsertTextFormat.Snippet and not takes_snippets:
            item.insert_text = item.insert_text_format = None


_UNITS = (*units.UNITS, *(f"{unit}/s" for unit in units.UNITS if unit.endswith(("B", "bit"))))


def _item(
    label: str, kind: CompletionItemKind, *, doc: str = "", detail: str = "", snippet: str = ""
) -> CompletionItem:
    return CompletionItem(
        label=label,
        kind=kind,
        detail=detail or None,
        documentation=MarkupContent(MarkupKind.Markdown, doc) if doc else None,
        insert_text=snippet or None,
        insert_text_format=InsertTextFormat.Snippet if snippet else None,
    )
