"""The files of a program: reads them with their imports, and finds kinds by their names."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from zlang.check import library
from zlang.check.findings import Findings
from zlang.check.kind_declarations import Declared, declared_in, extended
from zlang.check.kinds import ROLES, kind_of
from zlang.check.module import Module, merged_kind
from zlang.check.program import Expr, Kind
from zlang.check.types import NOTHING
from zlang.diagnostics import Code
from zlang.errors import reason_of
from zlang.metrics import Metric
from zlang.source import TABLE, Source, Span
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import parse, tree
from zlang.syntax.parse import Parsed

Read = Callable[[str], str]
MOST_FILES = 1_000
"""The most files of a program; one that is imported with values for its params counts each time."""


class Modules:
    """The files that were read. `values` are those of `--set`; `read` returns the text of a file and raises OSError."""

    def __init__(self, read: Read, values: Mapping[str, str], parsed: Callable[[Source], Parsed]) -> None:
        self._read, self._values, self._parsed = read, values, parsed
        self.sources: list[Source] = []
        self.files: dict[str, Module] = {}
        self.findings = Findings(self.files)
        self.library = library.load()
        self._files_read = 0

    def load(self, source: Source, prefix: tuple[str, ...], chain: tuple[str, ...], key: str = "") -> Module:
        """Read a file and all its imports."""
        parsed = self._parsed(source)
        source = parsed.tree.source
        first_of_file = len(self.findings.items)
        self.findings.items += parsed.findings
        if all(source.name != value.name for value in self.sources):
            self.sources.append(source)
        imported = {entry.target for entry in parsed.tree.entries if isinstance(entry, tree.Import)}
        lacks_import = "import" in parsed.broken or bool(parsed.broken & self.library.modules.keys() - imported)
        module = Module(parsed.tree, prefix, parsed.broken)
        module.is_broken, module.lacks_import = bool(parsed.findings), lacks_import
        self.files[key or source.name] = module
        places = self._declare(module, (*chain, source.name))
        for entry in parsed.tree.entries:
            if isinstance(entry, tree.KindDef) and entry.name.text not in module.kinds:
                self._kind(entry, module)
        for number in range(first_of_file, first_of_file + len(parsed.findings)):
            from zlang.check.words_apart import with_meant_word

            self.findings.items[number] = with_meant_word(self.findings.items[number], self._declared_kinds(module))
        for declared, place in (*places.items(), *_merged_kinds(module)):
            kind = self._library_kind(module, declared)
            if kind is not None:
                self._report_kind_of_library(kind, place)
        return module

    def _declare(self, module: Module, chain: tuple[str, ...]) -> dict[str, Span]:
        """Record what a file declares, and read its imports; return the place of each name."""
        places: dict[str, Span] = {}
        for entry in module.written.entries:
            if isinstance(entry, tree.Declaration) and self._is_import(entry, module):
                module.lacks_import = True
            elif isinstance(entry, tree.LetZip):
                for word in entry.names:
                    if self._is_new(word, places):
                        module.entries[word.text] = tree.LetColumn(word.span, word, entry)
            elif isinstance(entry, tree.Declaration) and self._is_command(entry, places):
                pass
            elif isinstance(entry, tree.Let | tree.FunctionDef | tree.Param | tree.Declaration | tree.KindDef):
                if self._is_new(entry.name, places) and not isinstance(entry, tree.KindDef):
                    module.entries[entry.name.text] = entry
            elif isinstance(entry, tree.ReaderDecl):
                message = 'readers belong to the library: a kind of your own declares `metric NAME: TYPE = regex "…"`'
                self.findings.report(Code.BAD_KIND.at(entry.name.span, message=message))
            elif isinstance(entry, tree.Import) and (entry.alias is None or self._is_new(entry.alias, places)):
                self._import(entry, module, chain)
            elif isinstance(entry, tree.Import):
                module.lacks_import = True
        self._report_merged_twice(module, places)
        return places

    def _report_merged_twice(self, module: Module, places: Mapping[str, Span]) -> None:
        """Report names that several files have, of those that are in scope without a prefix."""
        every = dict(places)
        for name, place in _merged_names(module):
            first = every.setdefault(name, place)
            if first.place != place.place:
                later, earlier = (first, place) if name in places else (place, first)
                hint = 'give the file a name: `import "FILE" as NAME`'
                self.findings.report(Code.DUPLICATE.at(later, name=name, hint=hint).also(earlier, "first defined here"))

    def _is_command(self, entry: tree.Declaration, places: Mapping[str, Span]) -> bool:
        """Whether an entry is a command about a thing, such as `run reads`; it is then reported."""
        from zlang.syntax.foreign_words import ENTRIES

        word = str(entry.kind)
        if word not in ENTRIES or entry.name.text not in places or word in places:
            return False
        self.findings.report(Code.UNKNOWN_KIND.at(entry.kind.span, name=word, hint=ENTRIES[word]))
        return True

    def _is_new(self, name: tree.Word, places: dict[str, Span]) -> bool:
        """Whether a name is new; record its place, or report that it was defined before."""
        first = places.setdefault(name.text, name.span)
        if first is not name.span:
            self.findings.report(Code.DUPLICATE.at(name.span, name=name.text).also(first, "first defined here"))
        return first is name.span

    def _kind(self, entry: tree.KindDef, module: Module) -> None:
        """Add a kind that a file declares, or that extends another with some items changed."""
        name, role = entry.name.text, entry.role.text
        node, declared = entry, None
        self._report_kind_twice(entry)
        if role not in ROLES:
            base = self._kind_node(module, role)
            if base is None:
                self._report_unknown_base(entry.role, module)
                return
            node, declared = extended(entry, *base, self.findings.report)
        made = kind_of(node, module.written.source.name, self.readers, self.findings.report, declared)
        base_kind = self.find_kind(module, (role,)) if declared else None
        is_own = (
            base_kind is None or base_kind.is_own or not all(isinstance(item, tree.Default) for item in entry.items)
        )
        made = module.kinds[name] = made.replace(is_own=is_own)
        module.kind_nodes[name] = node, declared or declared_in(entry, lambda _: None)
        own = made.properties if declared is None else [item.name.text for item in _own_properties(entry)]
        _ = [made.properties[item] for item in own if item in made.properties]  # each is checked on demand
        dict(made.traits)

    def _report_kind_twice(self, entry: tree.KindDef) -> None:
        """Report a kind if another file, whatever the name of its import, declares one of the same name."""
        for other in self.files.values():
            first = other.kind_nodes.get(entry.name.text)
            if first is not None and first[0].name.span.place != entry.name.span.place:
                hint = "give one of them another name: kinds are distinguished by their names alone"
                finding = Code.DUPLICATE.at(entry.name.span, name=entry.name.text, hint=hint)
                self.findings.report(finding.also(first[0].name.span, "first defined here"))
                return

    def _report_kind_of_library(self, kind: Kind, place: Span) -> None:
        """Report a name that a kind of the library has where it needs no prefix."""
        hint = "choose another name"
        if kind.module != library.PRELUDE:
            hint = f"`import {kind.module} as …` gives the library's kinds a prefix, or {hint}"
        finding = Code.DUPLICATE.at(place, name=kind.name, label="this is also the name of a kind", hint=hint)
        self.findings.report(finding)

    def _report_unknown_base(self, base: tree.Word, module: Module) -> None:
        """Report a word that is neither a role nor a kind; what a kind of it has is unknown."""
        home = self.library.module_of(base.text)
        imported = Hint(f"the standard library has it: add `import {home}`", line=f"import {home}") if home else ""
        kinds = [*module.kind_nodes, *(name for name in self.library.names() if self._library_kind(module, name))]
        here = {each.name.text: each for each in module.written.entries if isinstance(each, tree.KindDef)}
        is_below = base.text in here and here[base.text].role is not base
        above = f"declare `{base.text}` above the kind that extends it" if is_below else ""
        hint = imported or above or did_you_mean(base.text, [*ROLES, *kinds]) or "the roles are " + ", ".join(ROLES)
        self.findings.report(Code.UNKNOWN_NAME.at(base.span, name=base.text, hint=hint))
        module.lacks_kinds = True

    def _declared_kinds(self, module: Module) -> Iterator[tuple[tree.KindDef, Declared]]:
        """Yield the declarations of all kinds that a file can use without a prefix."""
        for item in (module, *module.merged):
            yield from item.kind_nodes.values()
        for name in self.library.names():
            home = self.library.module_of(name)
            if home == library.PRELUDE or module.libraries.get(home) == "":
                yield self.library.node(name), self.library.declared(name)

    def check_offers(self) -> None:
        """Report names after `on` and `needs` that no kind has or offers; any file may use what another declares."""
        own = [kind for module in self.files.values() for kind in module.kinds.values()]
        offers = {name for kind in own for name in (kind.name, *kind.offers)}
        for module in self.files.values():
            for entry in (item for item in module.written.entries if isinstance(item, tree.KindDef)):
                needed = [word for item in entry.items if isinstance(item, tree.Needs) for word in item.offers]
                for word in (*entry.parents, *needed):
                    if word.text not in offers and not self.library.module_of(word.text.rpartition(".")[2]):
                        self._check_offer(word, offers)

    def _check_offer(self, word: tree.Word, offers: AbstractSet[str]) -> None:
        """Report a name that no kind of the library offers."""
        offered: dict[str, None] = {}
        for name in self.library.names():
            offered.update(dict.fromkeys(self.library.kind(name).offers))
            if word.text in offered:
                return
        near = did_you_mean(word.text, [*offers, *offered])
        hint = near or f'what a kind offers is declared in it: `offers {word.text} = "…"`'
        self.findings.report(Code.UNKNOWN_NAME.at(word.span, name=word.text, hint=hint))

    def _kind_node(self, module: Module, name: str) -> tuple[tree.KindDef, Declared] | None:
        """Return the declaration of a kind that another extends; it stands earlier in the file, or in another file."""
        for item in (module, *module.merged):
            if name in item.kind_nodes:
                return item.kind_nodes[name]
        if self._library_kind(module, name) is None:
            return None
        return self.library.node(name), self.library.declared(name)

    def _is_import(self, entry: tree.Declaration, module: Module) -> bool:
        """Whether a declaration is meant as an import of a library module, `use fio`; it is then reported."""
        is_bare = entry.parent is None and not entry.items and entry.name.text in self.library.modules
        if not is_bare or self.find_kind(module, entry.kind.path) is not None:
            return False
        word, meant = str(entry.kind), f"import {entry.name.text}"
        instead = Hint(f"did you mean `{meant}`?", word, "import")
        self.findings.report(Code.UNKNOWN_KIND.at(entry.kind.span, name=word, hint=instead))
        return True

    def _import(self, node: tree.Import, module: Module, chain: tuple[str, ...]) -> None:
        if not node.is_file:
            if node.target not in self.library.modules:
                near = did_you_mean(node.target, self.library.modules)
                hint = near or "its modules are " + ", ".join(self.library.modules)
                self.findings.report(Code.UNKNOWN_LIBRARY.at(node.span, name=node.target, hint=hint))
                module.lacks_kinds = True
                return
            module.libraries[node.target] = node.alias.text if node.alias else ""
            return
        settings = self._given_params(node, module)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(chain[-1]), node.target))
        target = f'"{node.target}"'
        if path in chain:
            circle = " → ".join([*chain[chain.index(path) :], path])
            module.lacks_import = True
            self.findings.report(Code.IMPORT_CIRCLE.at(node.span, target=target, circle=circle))
            return
        result = self.files.get(path)
        if result is None or settings:
            if not self._may_read_another(node):
                module.lacks_import = True
                return
            text = self._text(path, node.target, node.span)
            if text is None:
                module.lacks_import = True
                return
            if path.endswith(TABLE):
                self._table(node, Source(path, text))
                return
            prefix = (*module.prefix, node.alias.text) if node.alias else module.prefix
            key = f"{path} as {'.'.join(prefix)}" if settings else path
            result = self.load(Source(path, text), prefix, chain, key)
            result.settings = settings
        if node.alias:
            module.named[node.alias.text] = result
        else:
            module.merged.append(result)

    def _may_read_another(self, node: tree.Import) -> bool:
        """Whether the program may have one more file; the first import that may not be read is reported."""
        self._files_read += 1
        if self._files_read == MOST_FILES:
            hint = "an import with values for params reads the file once more: import it in fewer places"
            finding = Code.TOO_LONG.at(node.span, length="", limit="", hint=hint)
            self.findings.report(finding.saying(f"the program has more than {MOST_FILES:,} files"))
        return self._files_read < MOST_FILES

    def _text(self, path: str, target: str, span: Span) -> str | None:
        """Return the text of another file; None and a finding if there is none."""
        try:
            return self._read(path)
        except (OSError, ValueError) as error:
            why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "it is not a file name"
            why = reason_of(error) if isinstance(error, OSError) else why
        modules = self.library.modules
        hint: str = Hint(f"write a module of the library without quotes: `import {target}`", f'"{target}"', target)
        if target not in modules:
            whole = f'"./{target}.zexp"'
            ended = Hint(f"a program has an ending: `import {whole}`", f'"{target}"', whole, is_safe=False)
            hint = did_you_mean(target, modules) or (ended if "." not in target else "")
        self.findings.report(Code.MISSING_IMPORT.at(span, target=f'"{target}"', why=why, hint=hint))
        return None

    def table(self, target: str, span: Span) -> Source | None:
        """Return a table by its path, relative to the file that names it; its text is stored with the plan."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(span.source.name), target))
        source = next((source for source in self.sources if source.name == path), None)
        if source is None and (text := self._text(path, target, span)) is not None:
            source = Source(path, text)
            self.sources.append(source)
        return source

    def _given_params(self, node: tree.Import, module: Module) -> dict[str, tuple[tree.Expr, Module | None]]:
        """Return the params that an import gives; their values use the names of the importing file."""
        settings: dict[str, tuple[tree.Expr, Module | None]] = {}
        for item in node.items:
            if isinstance(item, tree.Field):
                settings[item.name.text] = item.value, module
            else:
                self.findings.report(
                    Code.UNEXPECTED.at(item.span, expected="`param = value`", found=f"`{item.span.text.split()[0]}`")
                )
        alias = node.alias.text if node.alias else ""
        is_root = module is next(iter(self.files.values()), module)
        for name, text in self._values.items():
            if is_root and alias and name.startswith(f"{alias}."):
                value, findings = parse.expression(Source(f"--set {name}", text))
                self.findings.items += findings
                settings |= {name.removeprefix(f"{alias}."): (value, None)} if value is not None else {}
        return settings

    def _table(self, node: tree.Import, source: Source) -> None:
        """Add a table of data: its text is stored with the plan, and later in the database."""
        if node.alias:
            why, hint = "a table is named after its file", f'import "{node.target}"'
            self.findings.report(Code.MISSING_IMPORT.at(node.span, target=f'"{node.target}"', why=why, hint=hint))
        elif all(source.name != value.name for value in self.sources):
            self.sources.append(source)

    def _library_kind(self, module: Module, name: str) -> Kind | None:
        home = self.library.module_of(name)
        if home and (home == library.PRELUDE or module.libraries.get(home) == ""):
            return self.library.kind(name)
        return None

    def find_kind(self, module: Module, path: tuple[str, ...]) -> Kind | None:
        """Find a kind by its name, qualified or not."""
        if len(path) == 1:
            return module.kinds.get(path[0]) or self._library_kind(module, path[0]) or merged_kind(module, path[0])
        if path[0] in module.named:
            named = module.named[path[0]]
            if len(path) > 2:  # noqa: PLR2004 - a name of a file that it imports under a name
                return self.find_kind(named, path[1:])
            return named.kinds.get(path[1]) or merged_kind(named, path[1])
        home = next((target for target, alias in module.libraries.items() if alias == path[0]), None)
        if home is not None and path[1] in self.library.modules[home]:
            return self.library.kind(path[1])
        return None

    def armed_things(self) -> tuple[Expr, ...]:
        """Return all things declared in any file that are written to only if they are armed."""
        files = self.files.values()
        declared = [file.resolved[name] for file in files for name in file.entries if name in file.resolved]
        return tuple(expr for expr in declared if self.is_armed(expr))

    def is_armed(self, expr: Expr) -> bool:
        """Whether a declared thing is written to only if it is armed."""
        kinds = map(self.kind_by_name, _kinds_of(expr))
        return any(kind is not None and kind.armed is not None for kind in kinds)

    @property
    def readers(self) -> Mapping[str, tuple[Metric, ...]]:
        """Return the metrics of each reader of the library."""
        return self.library.readers

    def kind_by_name(self, name: str) -> Kind | None:
        """Return the kind with the name that types use."""
        for module in self.files.values():
            if name in module.kinds:
                return module.kinds[name]
        return self.library.kind(name) if self.library.module_of(name) else None


def _merged_names(module: Module) -> Iterator[tuple[str, Span]]:
    """Yield the names that imported files bring into scope without a prefix, with their places."""
    for merged in module.merged:
        yield from ((name, entry.name.span) for name, entry in merged.entries.items())
        yield from _merged_names(merged)


def _merged_kinds(module: Module) -> Iterator[tuple[str, Span]]:
    """Yield the kinds that imported files bring into scope without a prefix, with their places."""
    for merged in module.merged:
        yield from ((name, node.name.span) for name, (node, _) in merged.kind_nodes.items())
        yield from _merged_kinds(merged)


def _kinds_of(expr: Expr) -> frozenset[str]:
    """Return the kinds that an expression may have, including those beneath it."""
    each = (expr.type, expr.type.element or NOTHING)
    return frozenset().union(*(type_.kinds | type_.beneath for type_ in each))


def _own_properties(entry: tree.KindDef) -> Iterator[tree.Property | tree.Default]:
    """Yield the properties that a kind declares or gives another default."""
    for item in entry.items:
        if isinstance(item, tree.Property | tree.Default):
            yield item
