"""Tree to program: imports, names, types, kinds, experiments.

In: a source, what `--set` and `--profile` say, and a function that reads another file. Out: a `Program` and all
findings.
Nothing here touches a file itself.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from zlang.check import hosts, library, types
from zlang.check.declarations import resolve_declaration
from zlang.check.experiments import Experiments
from zlang.check.expressions import Context, limit_size, resolve, unknown
from zlang.check.functions import FUNCTIONS
from zlang.check.kind_declarations import Declared, declared_in, extended
from zlang.check.kinds import ROLES, kind_of
from zlang.check.lists import InnerScope
from zlang.check.program import PLATFORMS, Absent, Experiment, Expr, FactorDef, Kind, Program
from zlang.check.resolve import new_context
from zlang.check.typed import resolve_typed
from zlang.check.types import NOTHING, Type, Variant
from zlang.diagnostics import MOST, Code, Diagnostic, Fix, Severity
from zlang.metrics import Metric
from zlang.record import Record
from zlang.source import TABLE, Source, Span
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import parse, tree
from zlang.syntax.parse import DEEPEST

MOST_CALLS = 5_000
"""Calls of the program's own functions, also of each other: each is worked out by itself."""
MOST_PENDING = 40
"""How many names may be followed to what they use before the first of them is known."""
Read = Callable[[str], str]


class Checked(Record):
    """A program and what is wrong with it; it may be planned only if nothing is an error."""

    program: Program
    findings: tuple[Diagnostic, ...]

    @property
    def is_sound(self) -> bool:
        """Whether no finding is an error."""
        return all(finding.code.severity is not Severity.ERROR for finding in self.findings)


class Overrides(Record):
    """What the command line says: values of params by name, and a profile."""

    values: Mapping[str, str] = MappingProxyType({})
    profile: str | None = None


def program(source: Source, read: Read, overrides: Overrides | None = None) -> Checked:
    """Check a whole program. `read` gives the text of an imported file and raises OSError."""
    return _Checker(source, read, overrides or Overrides()).run()


@dataclass(slots=True)
class _Module:
    """A file: its entries by name, its kinds, and the modules it imports under a name."""

    written: tree.Tree
    prefix: tuple[str, ...]
    entries: dict[str, tree.Let | tree.FunctionDef | tree.Param | tree.Declaration] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    kind_nodes: dict[str, tuple[tree.KindDef, Declared]] = field(default_factory=dict)
    settings: dict[str, tuple[tree.Expr, ModuleScope | None]] = field(default_factory=dict)
    libraries: dict[str, str] = field(default_factory=dict)
    merged: list[_Module] = field(default_factory=list)
    named: dict[str, _Module] = field(default_factory=dict)
    resolved: dict[str, Expr] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)
    broken: frozenset[str] = frozenset()
    is_broken: bool = False
    lacks_import: bool = False
    lacks_kinds: bool = False


class _Enough(Exception):
    """There are more findings than anyone reads at once."""


class _Checker:
    def __init__(self, source: Source, read: Read, overrides: Overrides) -> None:
        self.source, self.read, self.overrides = source, read, overrides
        self.findings: list[Diagnostic] = []
        self.sources: list[Source] = []
        self.modules: dict[str, _Module] = {}
        self.factors: dict[str, FactorDef] = {}
        self.risks: set[frozenset[str]] = set()
        self.settings: dict[str, tree.Expr] = {}
        self.calling: list[tree.FunctionDef] = []
        self.calls = 0
        self.library = library.load()

    def run(self) -> Checked:
        """Check everything; stop early where there is enough to say, or where names go too deep to be followed."""
        self.root = _Module(tree.Tree(self.source, (), ()), ())
        self.experiments: dict[str, Experiment] = {}
        try:
            self._check()
        except _Enough:
            pass
        except RecursionError:
            self.findings.append(self._too_deep(Span(self.source, 0, 0)))
        params = tuple(name for name, entry in self.root.entries.items() if isinstance(entry, tree.Param))
        trees = tuple(module.written for module in self.modules.values())
        checked = Program(self.source, tuple(self.sources), self.experiments, self.root.kinds, params, trees=trees)
        return Checked(checked, self._in_order())

    def _in_order(self) -> tuple[Diagnostic, ...]:
        unique = {(f.code, f.span.source.name, f.span.start, f.message): f for f in self.findings}
        order = {source.name: i for i, source in enumerate(self.sources)}
        findings = _folded(sorted(unique.values(), key=lambda f: (order.get(f.span.source.name, -1), f.span.start)))
        if len(findings) > MOST:
            findings[MOST:] = [Code.TOO_MANY.at(findings[MOST].span, limit=MOST)]
        return tuple(findings)

    def _too_deep(self, span: Span) -> Diagnostic:
        hint = "declare names before you use them, and name parts of long expressions"
        return Code.TOO_DEEP.at(span, limit=DEEPEST, hint=hint)

    def follow(self, span: Span) -> bool:
        """Whether another name may be followed; there is one finding where names use each other without end."""
        if sum(len(module.pending) for module in self.modules.values()) < MOST_PENDING:
            return True
        if not any(finding.code is Code.TOO_DEEP for finding in self.findings):
            self.report(self._too_deep(span))
        return False

    def _check(self) -> None:
        root = self.root = self._module(self.source, (), ())
        scope = ModuleScope(self, root)
        self._settings(root)
        for name in root.entries:
            scope.lookup(name, root.entries[name].span)
        for module in list(self.modules.values()):
            inner = ModuleScope(self, module)
            for name in module.entries:
                inner.lookup(name, module.entries[name].span)
        experiments = Experiments(self)
        places: dict[str, Span] = {}
        for entry in root.written.entries:
            if isinstance(entry, tree.ExperimentDef):
                if entry.name.text in places:
                    finding = Code.DUPLICATE.at(entry.name.span, name=entry.name.text)
                    self.report(finding.also(places[entry.name.text], "first defined here"))
                places[entry.name.text] = entry.name.span
                checked = experiments.check(self._amended(entry, root), scope)
                if checked is not None:
                    self.experiments[entry.name.text] = checked
        if not any(finding.code.severity is Severity.ERROR for finding in self.findings):
            for experiment in self.experiments.values():
                self._hosts(experiment)
            self._unused_choices(root)

    def _amended(self, entry: tree.ExperimentDef, root: _Module) -> tree.ExperimentDef:
        """The experiment with what it takes from the one that it amends: fields of its own take their place."""
        declared = {
            element.name.text: element for element in root.written.entries if isinstance(element, tree.ExperimentDef)
        }
        items, title, chain = list(entry.items), entry.title, [entry.name.text]
        while entry.base is not None:
            name = str(entry.base)
            if name in chain:
                self.report(Code.CIRCLE.at(entry.base.span, name=name))
                break
            if name not in declared:
                hint = did_you_mean(name, declared) or _listed("experiments", declared)
                self.report(Code.UNKNOWN_NAME.at(entry.base.span, name=name, hint=hint))
                break
            chain.append(name)
            entry = declared[name]
            used_words = {word.text for item in items for word in tree.words(item)}
            finds = any(isinstance(item, tree.Find) for item in items)
            kept = [item for item in entry.items if not used_words & {word.text for word in tree.words(item)}]
            items += [item for item in kept if not (finds and isinstance(item, tree.Find))]
            title = title or entry.title
        first = next(
            element
            for element in root.written.entries
            if isinstance(element, tree.ExperimentDef) and element.name.text == chain[0]
        )
        return tree.ExperimentDef(first.span, first.name, title, tuple(items))

    def _unused_choices(self, root: _Module) -> None:
        """Choices that have a name, of which no experiment measures the levels."""
        used = {path.partition(".")[0] for experiment in self.experiments.values() for path in experiment.factors}
        unused = {path.partition(".")[0] for path in self.factors} - used if self.experiments else ()
        for name, entry in root.entries.items():
            if name in unused and not isinstance(entry, tree.Declaration):
                hint = f"use `{name}` where its value belongs, or remove the line"
                self.report(Code.UNUSED_CHOICE.at(entry.name.span, name=name, hint=hint))

    def _hosts(self, experiment: Experiment) -> None:
        """What is used must be there on its host. To look costs time where things have many forms."""
        every = (experiment.on, experiment.with_, experiment.before, experiment.run, experiment.collect)
        reached = [expr.type | (expr.type.element or NOTHING) for expr in every if expr]
        result = [self.kind_by_name(name) for type_ in reached for name in sorted(type_.kinds | type_.beneath)]
        if any(kind and (kind.role == "machine" or hosts.unsupported(kind, PLATFORMS[0])) for kind in result):
            for thing, host in hosts.used_by(experiment):
                for finding in hosts.lacking(thing, host):
                    self.report(finding)

    def report(self, finding: Diagnostic) -> None:
        """Collect a finding, unless it only follows from what could not be read or imported."""
        if not self._follows(finding):
            self.findings.append(finding)
        if len(self.findings) > 2 * MOST:
            raise _Enough

    def _follows(self, finding: Diagnostic) -> bool:
        module = self.modules.get(finding.span.source.name)
        unknown = {Code.UNKNOWN_NAME, Code.UNKNOWN_KIND, Code.UNKNOWN_PARAM}
        lacking = {Code.MISSING_PROPERTY, Code.KIND_LACKS, Code.UNUSED_IN_KIND}
        if module is None or finding.code not in {*unknown, *lacking}:
            return False
        if finding.code in lacking:
            return module.is_broken
        word = finding.span.text.split(".")[0]
        lacks_kinds = module.lacks_kinds and finding.code is Code.UNKNOWN_KIND
        return module.lacks_import or lacks_kinds or word in module.broken

    # -- modules

    def _module(self, source: Source, prefix: tuple[str, ...], chain: tuple[str, ...], key: str = "") -> _Module:
        parsed = parse.program(source)
        self.findings += parsed.findings
        if all(source.name != value.name for value in self.sources):
            self.sources.append(source)
        imported = {entry.target for entry in parsed.tree.entries if isinstance(entry, tree.Import)}
        lacks_import = "import" in parsed.broken or bool(parsed.broken & self.library.modules.keys() - imported)
        module = _Module(
            parsed.tree, prefix, broken=parsed.broken, is_broken=bool(parsed.findings), lacks_import=lacks_import
        )
        self.modules[key or source.name] = module
        places: dict[str, Span] = {}
        for entry in parsed.tree.entries:
            if isinstance(entry, tree.Declaration) and self._is_import(entry, module):
                module.lacks_import = True
            elif isinstance(entry, tree.Let | tree.FunctionDef | tree.Param | tree.Declaration | tree.KindDef):
                name = entry.name
                if name.text in places:
                    finding = Code.DUPLICATE.at(name.span, name=name.text)
                    self.report(finding.also(places[name.text], "first defined here"))
                    continue
                places[name.text] = name.span
                if not isinstance(entry, tree.KindDef):
                    module.entries[name.text] = entry
            elif isinstance(entry, tree.ReaderDecl):
                message = 'readers belong to the library: a kind of your own declares `metric NAME: TYPE = regex "…"`'
                self.report(Code.BAD_KIND.at(entry.name.span, message=message))
            elif isinstance(entry, tree.Import):
                self._import(entry, module, (*chain, source.name))
        for entry in parsed.tree.entries:
            if isinstance(entry, tree.KindDef) and entry.name.text not in module.kinds:
                self._kind(entry, module)
        for declared, place in places.items():
            kind = self._library_kind(module, declared)
            if kind is not None and declared not in module.kinds:
                hint = f"`import {kind.module} as …` gives the library's kinds a prefix, or choose another name"
                self.report(Code.DUPLICATE.at(place, name=declared, label="this is also the name of a kind", hint=hint))
        return module

    def _kind(self, entry: tree.KindDef, module: _Module) -> None:
        """Take a kind that a file declares, or one that is another with some items changed."""
        name, role = entry.name.text, entry.role.text
        node, declared = entry, None
        if role not in ROLES and (base := self._kind_node(module, role)) is not None:
            node, declared = extended(entry, *base, self.report)
        made = kind_of(node, module.written.source.name, self.readers, self.report, declared)
        base_kind = self.find_kind(module, (role,)) if declared else None
        is_own = (
            base_kind is None or base_kind.is_own or not all(isinstance(item, tree.Default) for item in entry.items)
        )
        made = module.kinds[name] = replace(made, is_own=is_own)
        module.kind_nodes[name] = node, declared or declared_in(entry, lambda _: None)
        own = made.properties if declared is None else [item.name.text for item in _own(entry)]
        _ = [made.properties[item] for item in own if item in made.properties]  # each is checked when it is asked for
        dict(made.traits)

    def _kind_node(self, module: _Module, name: str) -> tuple[tree.KindDef, Declared] | None:
        """The declaration of a kind that another extends; it stands before it, or in another file."""
        for item in (module, *module.merged):
            if name in item.kind_nodes:
                return item.kind_nodes[name]
        if self._library_kind(module, name) is None:
            return None
        return self.library.node(name), self.library.declared(name)

    def _is_import(self, entry: tree.Declaration, module: _Module) -> bool:
        """Report a declaration that is meant to take a module of the library, `use fio`; whether it is one."""
        is_bare = entry.parent is None and not entry.items and entry.name.text in self.library.modules
        if not is_bare or self.find_kind(module, entry.kind.path) is not None:
            return False
        word, meant = str(entry.kind), f"import {entry.name.text}"
        instead = Hint(f"did you mean `{meant}`?", word, "import")
        self.report(Code.UNKNOWN_KIND.at(entry.kind.span, name=word, hint=instead))
        return True

    def _import(self, node: tree.Import, module: _Module, chain: tuple[str, ...]) -> None:
        if not node.is_file:
            if node.target not in self.library.modules:
                hint = did_you_mean(node.target, self.library.modules) or "it has " + ", ".join(self.library.modules)
                self.report(Code.UNKNOWN_LIBRARY.at(node.span, name=node.target, hint=hint))
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
            self.report(Code.IMPORT_CIRCLE.at(node.span, target=target, circle=circle))
            return
        result = self.modules.get(path)
        if result is None or settings:
            try:
                text = self.read(path)
            except (OSError, ValueError) as error:
                why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "it is not a file name"
                why = (error.strerror or "it cannot be read").lower() if isinstance(error, OSError) else why
                is_module = node.target in self.library.modules
                hint = Hint(
                    f"write a module of the library without quotes: `import {node.target}`", target, node.target
                )
                hint = hint if is_module else did_you_mean(target.strip('"'), self.library.modules)
                self.report(Code.MISSING_IMPORT.at(node.span, target=target, why=why, hint=hint))
                module.lacks_import = True
                return
            if path.endswith(TABLE):
                self._table(node, Source(path, text))
                return
            alias = node.alias.text if node.alias else ""
            key = f"{path} as {alias}" if settings else path
            result = self._module(Source(path, text), (alias,) if alias else (), chain, key)
            result.settings = settings
        if node.alias:
            module.named[node.alias.text] = result
        else:
            module.merged.append(result)

    def _given_params(self, node: tree.Import, module: _Module) -> dict[str, tuple[tree.Expr, ModuleScope | None]]:
        """The params that an import gives; their values use the names of the importing file."""
        settings: dict[str, tuple[tree.Expr, ModuleScope | None]] = {}
        for item in node.items:
            if isinstance(item, tree.Field):
                settings[item.name.text] = item.value, ModuleScope(self, module)
            else:
                self.report(Code.UNEXPECTED.at(item.span, expected="`param = value`", found="something else"))
        alias = node.alias.text if node.alias else ""
        is_root = module is next(iter(self.modules.values()), module)
        for name, text in self.overrides.values.items():
            if is_root and alias and name.startswith(f"{alias}."):
                value, findings = parse.expression(Source(f"--set {name}", text))
                self.findings += findings
                settings |= {name.removeprefix(f"{alias}."): (value, None)} if value is not None else {}
        return settings

    def _table(self, node: tree.Import, source: Source) -> None:
        """Take a table of figures: its text goes with the plan, and from there into the database."""
        if node.alias:
            why, hint = "a table is named after its file", f'import "{node.target}"'
            self.report(Code.MISSING_IMPORT.at(node.span, target=f'"{node.target}"', why=why, hint=hint))
        elif all(source.name != value.name for value in self.sources):
            self.sources.append(source)

    def _library_kind(self, module: _Module, name: str) -> Kind | None:
        home = self.library.module_of(name)
        if home and (home == library.PRELUDE or module.libraries.get(home) == ""):
            return self.library.kind(name)
        return None

    def find_kind(self, module: _Module, path: tuple[str, ...]) -> Kind | None:
        """A kind by its name, qualified or not."""
        if len(path) == 1:
            return module.kinds.get(path[0]) or self._library_kind(module, path[0]) or _merged(module, path[0])
        if path[0] in module.named:
            named = module.named[path[0]]
            if len(path) > 2:  # noqa: PLR2004 - a name of a file that it imports under a name
                return self.find_kind(named, path[1:])
            return named.kinds.get(path[1]) or _merged(named, path[1])
        home = next((target for target, alias in module.libraries.items() if alias == path[0]), None)
        if home is not None and path[1] in self.library.modules[home]:
            return self.library.kind(path[1])
        return None

    # -- params

    def _settings(self, root: _Module) -> None:
        params = {name: entry for name, entry in root.entries.items() if isinstance(entry, tree.Param)}
        for merged in root.merged:
            params |= {name: entry for name, entry in merged.entries.items() if isinstance(entry, tree.Param)}
        profiles = {e.name.text: e for e in root.written.entries if isinstance(e, tree.Profile)}
        for profile in profiles.values():
            for item in profile.items:
                if not isinstance(item, tree.Field):
                    self.report(Code.UNEXPECTED.at(item.span, expected="`param = value`", found="something else"))
                elif item.name.text not in params:
                    hint = did_you_mean(item.name.text, params) or _listed("params", params)
                    self.report(Code.UNKNOWN_PARAM.at(item.name.span, name=item.name.text, hint=hint))
                elif profile.name.text == self.overrides.profile:
                    self.settings[item.name.text] = item.value
        chosen = self.overrides.profile
        if chosen is not None and chosen not in profiles:
            words = Source("--profile", chosen)
            hint = did_you_mean(chosen, profiles) or _listed("profiles", profiles)
            self.report(Code.UNKNOWN_PROFILE.at(Span(words, 0, len(chosen)), name=chosen, hint=hint))
        self._known_settings()
        self._overrides(root, params)

    def _overrides(self, root: _Module, params: Mapping[str, tree.Param]) -> None:
        """Take the values of params that the command line gives."""
        own = {name: text for name, text in self.overrides.values.items() if name.partition(".")[0] not in root.named}
        for name, text in own.items():
            words = Source("--set", f"{name}={text}")
            if name not in params:
                hint = did_you_mean(name, params) or _listed("params", params)
                self.report(Code.UNKNOWN_PARAM.at(Span(words, 0, len(name)), name=name, hint=hint))
                continue
            value, findings = parse.expression(Source(f"--set {name}", text))
            self.findings += findings
            if value is not None:
                self.settings[name] = value

    def _known_settings(self) -> None:
        """Report what an import gives to a file that has no such param."""
        for module in self.modules.values():
            candidates = [name for name, entry in module.entries.items() if isinstance(entry, tree.Param)]
            for name, (given, _) in module.settings.items():
                if name not in candidates:
                    hint = did_you_mean(name, candidates) or _listed("params", candidates)
                    self.report(Code.UNKNOWN_PARAM.at(given.span, name=name, hint=hint))

    def armed_things(self) -> tuple[Expr, ...]:
        """All that is declared in any file and is written to only if it is armed."""
        declared = [expr for module in self.modules.values() for expr in module.resolved.values()]
        return tuple(expr for expr in declared if any(self._is_armed(name) for name in _kinds_of(expr)))

    def _is_armed(self, name: str) -> bool:
        kind = self.kind_by_name(name)
        return kind is not None and kind.armed is not None

    @property
    def readers(self) -> Mapping[str, tuple[Metric, ...]]:
        """What each reader of the library can measure."""
        return self.library.readers

    def kind_by_name(self, name: str) -> Kind | None:
        """The kind of a name as types know it."""
        for module in self.modules.values():
            if name in module.kinds:
                return module.kinds[name]
        return self.library.kind(name) if self.library.module_of(name) else None


def _kinds_of(expr: Expr) -> frozenset[str]:
    """The kinds of what an expression may be, and of all beneath."""
    each = (expr.type, expr.type.element or NOTHING)
    return frozenset().union(*(type_.kinds | type_.beneath for type_ in each))


def _merged(module: _Module, name: str) -> Kind | None:
    """A kind of the files that a file imports without a name."""
    return next((item.kinds[name] for item in module.merged if name in item.kinds), None)


def _folded(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The findings, a name that is not there only once: at its first place, with the others beside it."""
    folded: dict[object, Diagnostic] = {}
    for number, finding in enumerate(findings):
        is_name = finding.code in _OF_NAMES
        key = (finding.code, finding.span.source.name, finding.message) if is_name else number
        first = folded.get(key)
        if first is None:
            folded[key] = finding
            continue
        fixes = []
        for fix, other in zip(first.fixes, finding.fixes, strict=False):
            edits = {edit.span.place: edit for edit in (*fix.edits, *other.edits)}
            fixes.append(Fix(fix.title, tuple(edits.values()), fix.is_safe))
        shown = first.also(finding.span, "and here") if len(first.notes) < _SHOWN_PLACES else first
        folded[key] = shown.mended_by(*fixes)
    return list(folded.values())


_SHOWN_PLACES = 3
_OF_NAMES = {Code.UNKNOWN_NAME, Code.UNKNOWN_KIND, Code.NO_FACTOR, Code.NEVER_MEASURED}


class ModuleScope:
    """The names of a file and of what it imports."""

    def __init__(self, checker: _Checker, module: _Module) -> None:
        self.checker, self.module = checker, module

    def lookup(self, name: str, span: Span) -> Expr | None:
        """What the name stands for."""
        module = self.module
        if name in module.resolved:
            return module.resolved[name]
        if name in module.pending:
            if name not in self._circles():
                first = module.entries[name]
                circle = [*module.pending[module.pending.index(name) :], name]
                hint = " → ".join(f"`{item}`" for item in circle) if len(circle) > 2 else ""  # noqa: PLR2004
                finding = Code.CIRCLE.at(span, name=name, hint=hint)
                self.checker.report(finding.also(first.name.span, "defined here"))
            return unknown(span)
        entry = module.entries.get(name)
        if entry is not None:
            if not self.checker.follow(span):
                return unknown(span)
            module.pending.append(name)
            resolved = self._resolve(entry)
            module.resolved[name] = _partial(resolved) if self.is_broken(name) else resolved
            module.pending.remove(name)
            return module.resolved[name]
        if name in module.named:
            inner = ModuleScope(self.checker, module.named[name])
            return Expr(span, types.UNKNOWN, lambda _: Absent(), member=inner.in_module)
        for merged in module.merged:
            if name in merged.entries:
                return ModuleScope(self.checker, merged).lookup(name, span)
        return None

    def is_broken(self, name: str) -> bool:
        """Whether something of that entry could not be read."""
        return name in self.module.broken

    def assertions(self) -> Iterator[tree.Assert]:
        """What the file asserts."""
        return (entry for entry in self.module.written.entries if isinstance(entry, tree.Assert))

    def in_module(self, name: str, span: Span) -> Expr:
        """What a name stands for where another file speaks of this one."""
        resolved = self.lookup(name, span)
        if resolved is not None:
            return resolved
        hint = did_you_mean(name, self.names())
        subject = f"`{'.'.join(self.module.prefix)}`"
        self.checker.report(Code.UNKNOWN_FIELD.at(span, subject=subject, name=name, hint=hint))
        return unknown(span)

    def _circles(self) -> set[str]:
        return {word for f in self.checker.findings if f.code is Code.CIRCLE for word in self.module.pending}

    def _resolve(self, entry: tree.Let | tree.FunctionDef | tree.Param | tree.Declaration) -> Expr:
        context = new_context(self, self.checker.report, self.checker.factors, self.checker.risks)
        path = (*self.module.prefix, entry.name.text)
        if isinstance(entry, tree.Let):
            return resolve(context, entry.value, path=path)
        if isinstance(entry, tree.FunctionDef):
            return self._function(entry)
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
        """The value of a param, and where its names are looked up if not here."""
        if entry.name.text in self.module.settings:
            return self.module.settings[entry.name.text]
        named = None if self.module.prefix else self.checker.settings.get(entry.name.text)
        return named or entry.value, None

    def _function(self, entry: tree.FunctionDef) -> Expr:
        """A function: its value is worked out anew, with the arguments in place of the parameters, for each call."""
        names = [word.text for word in entry.parameters]
        if entry.name.text in FUNCTIONS or entry.name.text in types.AGGREGATES:
            label = "the language has a function of this name"
            self.checker.report(Code.DUPLICATE.at(entry.name.span, name=entry.name.text, label=label))
        for i, word in enumerate(entry.parameters):
            if word.text in names[:i]:
                self.checker.report(Code.DUPLICATE.at(word.span, name=word.text))

        def call(context: Context, node: tree.Call, arguments: list[Expr]) -> Expr:
            if len(arguments) != len(names):
                result = f"{len(arguments)} arguments" if len(arguments) != 1 else "one argument"
                expected = f"`({', '.join(names)})`"
                finding = Code.WRONG_ARGUMENTS.at(node.span, name=str(node.function), expected=expected, found=result)
                self.checker.report(finding.also(entry.name.span, "defined here"))
                return unknown(node.span)
            return self._inlined(context, entry, node.span, dict(zip(names, arguments, strict=True)))

        self._inlined(
            new_context(self, self.checker.report, self.checker.factors, self.checker.risks),
            entry,
            entry.span,
            {name: Expr(entry.span, types.UNKNOWN, lambda _: Absent()) for name in names},
        )
        return Expr(entry.span, types.UNKNOWN, lambda _: Absent(), call=call)

    def _inlined(self, context: Context, entry: tree.FunctionDef, span: Span, values: Mapping[str, Expr]) -> Expr:
        checker = self.checker
        if entry in checker.calling:
            finding = Code.CIRCLE.at(span, name=entry.name.text, hint="a function cannot call itself")
            checker.report(finding.also(entry.name.span, "defined here"))
            return unknown(span)
        checker.calls += 1
        if checker.calls > MOST_CALLS:
            checker.report(Code.TOO_MUCH.at(span, limit=f"{MOST_CALLS:,}"))
            return unknown(span)
        given = {name: partial(_placed, value) for name, value in values.items()}
        checker.calling.append(entry)
        made = resolve(context.replace(scope=InnerScope(self, given)), entry.value)
        checker.calling.pop()
        return limit_size(context, made.replace(span=span, alternatives=()), [made, *values.values()])

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
                self.checker.report(Code.UNKNOWN_NAME.at(atom.span, name=atom.name, hint=hint))
                return types.UNKNOWN
            else:
                whole = whole | Type(words=(Variant(atom.name),))
        return whole

    def names(self) -> Iterable[str]:
        """All names, for suggestions."""
        merged = [name for module in self.module.merged for name in module.entries]
        return [*self.module.entries, *self.module.named, *merged]

    def kind(self, name: tree.Name) -> Kind | None:
        """The kind of that name."""
        return self.checker.find_kind(self.module, name.path)

    def kind_called(self, name: str) -> Kind | None:
        """The kind of a name as types know it."""
        return self.checker.kind_by_name(name)

    def kind_names(self) -> Iterable[str]:
        """All kinds, for suggestions."""
        imported = [library.PRELUDE, *(t for t, alias in self.module.libraries.items() if not alias)]
        shipped = [kind for module in imported for kind in self.checker.library.modules.get(module, ())]
        return [*self.module.kinds, *shipped, *(kind for m in self.module.merged for kind in m.kinds)]

    def kinds_of(self, role: str) -> Iterator[Kind]:
        """The kinds of a role that are in scope without a prefix."""
        shipped = self.checker.library
        for name in self.kind_names():
            if not shipped.module_of(name) or shipped.role_of(name) == role:
                kind = self.checker.find_kind(self.module, (name,))
                if kind is not None and kind.role == role:
                    yield kind

    def owners(self, name: str) -> list[str]:
        """The one declaration that gives a property of that name a value."""
        declared = [entry for entry in self.module.entries.values() if isinstance(entry, tree.Declaration)]
        owners = [e.name.text for e in declared if any(w.text == name for item in e.items for w in tree.words(item))]
        return owners if len(owners) == 1 and owners[0] not in self.module.pending else []

    def kind_hint(self, name: str) -> str:
        """What to do about a kind that is not there."""
        home = self.checker.library.module_of(name)
        alias = self.module.libraries.get(home, "")
        if home == library.PRELUDE:
            return f"`{name}` is a kind: write the name of one that is declared"
        if alias:
            return Hint(f"here it is `{alias}.{name}`", name, f"{alias}.{name}")
        return Hint(f"the standard library has it: add `import {home}`", line=f"import {home}") if home else ""

    def is_given(self, _name: str) -> None:
        """Outside of templates nothing asks this."""


_TYPES = {
    word: Hint(f"write `{meant}`", word, meant)
    for words, meant in (
        ("int integer long uint", "count"),
        ("float double real", "number"),
        ("str text", "string"),
        ("boolean", "bool"),
        ("bytes", "size"),
        ("time seconds", "duration"),
        ("percent", "share"),
    )
    for word in words.split()
}
"""What types are called elsewhere."""


def _placed(value: Expr, span: Span) -> Expr:
    """The same expression where a name stands for it."""
    return value.replace(span=span)


def _own(entry: tree.KindDef) -> Iterator[tree.Property | tree.Default]:
    """The properties that a kind declares, or gives another default."""
    for item in entry.items:
        if isinstance(item, tree.Property | tree.Default):
            yield item


def _partial(expr: Expr) -> Expr:
    """The same, of which some choices are not known."""
    return expr.replace(type=expr.type | Type(is_partial=True))


def _listed(noun: str, names: Iterable[str]) -> str:
    text = ", ".join(f"`{name}`" for name in names)
    return f"its {noun} are {text}" if text else f"it declares no {noun}"
