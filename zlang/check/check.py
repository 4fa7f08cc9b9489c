"""Tree to program: imports, names, types, kinds, experiments.

In: a source, the values of `--set` and `--profile`, and a function that reads other files. Out: a `Program` and all
findings. This module does not access files itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType

from zlang.check import hosts
from zlang.check.afresh import AFRESH, Afresh, SubjectResult
from zlang.check.experiments import Experiments
from zlang.check.findings import TooManyFindings
from zlang.check.module import Module
from zlang.check.module_scope import ModuleScope
from zlang.check.modules import Modules, Read
from zlang.check.program import PLATFORMS, Experiment, Instance, Program
from zlang.check.program_names import ProgramNames, too_deep
from zlang.check.settings import listed, settings_of
from zlang.check.types import NOTHING
from zlang.diagnostics import Code, Diagnostic, Severity
from zlang.record import Record
from zlang.source import Source, Span
from zlang.suggest import did_you_mean
from zlang.syntax import tree

MOST_EXPERIMENTS = 200
"""The largest number of experiments in a program; `plan` takes about 10 ms for each."""


class Checked(Record):
    """A program with its findings; it can be planned only if none is an error."""

    program: Program
    findings: tuple[Diagnostic, ...]

    @property
    def is_sound(self) -> bool:
        """Whether no finding is an error."""
        return all(finding.code.severity is not Severity.ERROR for finding in self.findings)


class Overrides(Record):
    """The overrides of the command line: the values of params by name, and a profile."""

    values: Mapping[str, str] = MappingProxyType({})
    profile: str | None = None


def program(source: Source, read: Read, overrides: Overrides | None = None, work: Afresh = AFRESH) -> Checked:
    """Check a whole program. `read` returns the text of an imported file and raises OSError.

    `work` may hold entries from an earlier check without overrides. In that case this raises UnsureError.
    """
    return _Checker(source, read, overrides or Overrides(), work).run()


class _Checker:
    """Reads the files of a program, then resolves its names, then its experiments."""

    def __init__(self, source: Source, read: Read, overrides: Overrides, work: Afresh) -> None:
        self.source, self.overrides, self.work = source, overrides, work
        self.modules = Modules(read, overrides.values, work.parsed)
        self.root = Module(tree.Tree(source, (), ()), ())
        self.experiments: dict[str, Experiment] = {}

    def run(self) -> Checked:
        """Check everything; stop early once there are enough findings, or where names are nested too deeply."""
        try:
            self._check()
        except TooManyFindings:
            pass
        except RecursionError:
            self.modules.findings.items.append(too_deep(Span(self.source, 0, 0)))
        self.work.end(self.modules.findings)
        params = tuple(name for name, entry in self.root.entries.items() if isinstance(entry, tree.Param))
        trees = tuple(module.written for module in self.modules.files.values())
        checked = Program(
            self.source, tuple(self.modules.sources), self.experiments, self.root.kinds, params, trees=trees
        )
        return Checked(checked, self.modules.findings.in_order(self.modules.sources))

    def _check(self) -> None:
        root = self.root = self.modules.load(self.source, (), ())
        settings = settings_of(self.modules, root, self.overrides.values, self.overrides.profile)
        names = ProgramNames(self.modules, settings)
        scope = ModuleScope(names, root)
        self.work.begin(names, root)
        for name in root.entries:
            self.work.entry(name, lambda name: scope.lookup(name, root.entries[name].span))
        self.modules.check_offers()
        for module in [file for file in self.modules.files.values() if file is not root]:
            inner = ModuleScope(names, module)
            for name in module.entries:
                inner.lookup(name, module.entries[name].span)
        silently = partial(self._amended, root=root, report=lambda _: None)
        experiments = Experiments(names, _experiments_in(root), silently)
        places: dict[str, Span] = {}
        declared = [entry for entry in root.written.entries if isinstance(entry, tree.ExperimentDef)]
        for entry in declared[:MOST_EXPERIMENTS]:
            if entry.name.text in places:
                finding = Code.DUPLICATE.at(entry.name.span, name=entry.name.text)
                self.modules.findings.report(finding.also(places[entry.name.text], "first defined here"))
            places[entry.name.text] = entry.name.span
            checked = self.work.experiment(entry, partial(self._experiment, experiments, entry, scope))
            if checked is not None:
                self.experiments[entry.name.text] = checked
        if len(declared) > MOST_EXPERIMENTS:
            finding = Code.TOO_LONG.at(
                declared[MOST_EXPERIMENTS].name.span,
                length=f"{len(declared):,}",
                limit=f"{MOST_EXPERIMENTS}",
                hint="write what differs as a choice, or put some experiments into another program",
            )
            message = f"the program has {len(declared):,} experiments; the limit is {MOST_EXPERIMENTS}"
            self.modules.findings.report(finding.saying(message))
        if not any(finding.code.severity is Severity.ERROR for finding in self.modules.findings.items):
            for experiment in self.experiments.values():
                for finding in self.work.findings(experiment, "hosts", partial(self._hosts, experiment))[0]:
                    self.modules.findings.report(finding)
            if self.experiments:
                self._report_unused(self.work.paths | names.factors.keys())

    def _experiment(self, experiments: Experiments, entry: tree.ExperimentDef, scope: ModuleScope) -> Experiment | None:
        amended = self._amended(entry, scope.module, self.modules.findings.report)
        return experiments.check(amended, scope) if amended is not None else None

    def _amended(
        self, entry: tree.ExperimentDef, root: Module, report: Callable[[Diagnostic], None]
    ) -> tree.ExperimentDef | None:
        """Return the experiment with the fields of the one that it amends; its own fields take precedence.

        None if there is no such experiment: what is missing is then unknown.
        """
        declared = _experiments_in(root)
        items, title, chain = list(entry.items), entry.title, [entry.name.text]
        while entry.base is not None:
            name = str(entry.base)
            if name in chain:
                report(Code.CIRCLE.at(entry.base.span, name=name))
                break
            if name not in declared:
                others = [each for each in declared if each not in chain]
                imported = "experiments of an imported file have no names here: declare it" if "." in name else ""
                instead = listed("experiment", others) if others else f"declare it: `experiment {name} {{ … }}`"
                hint = imported or did_you_mean(name, others) or instead
                report(Code.UNKNOWN_NAME.at(entry.base.span, name=name, hint=hint))
                return None
            chain.append(name)
            entry = declared[name]
            used_words = {word.text for item in items for word in tree.words(item)}
            finds = any(isinstance(item, tree.Find) for item in items)
            kept = [item for item in entry.items if not used_words & {word.text for word in tree.words(item)}]
            items += [item for item in kept if not (finds and isinstance(item, tree.Find))]
            title = title or entry.title
        first = declared[chain[0]]
        return tree.ExperimentDef(first.span, first.name, title, tuple(items))

    def _report_unused(self, paths: Iterable[str]) -> None:
        """Report named choices whose levels no experiment measures, and params that nothing names."""
        used = {path.partition(".")[0] for experiment in self.experiments.values() for path in experiment.factors}
        unused = {path.partition(".")[0] for path in paths} - used
        params = _unnamed_params(self.root)
        for name, entry in self.root.entries.items():
            root = "+".join(word.text for word in entry.of.names) if isinstance(entry, tree.LetColumn) else name
            declaration = "choice" if root in unused else "param" if name in params else ""
            if declaration and not isinstance(entry, tree.Declaration):
                hint = f"use `{name}` where its value belongs, or remove the line"
                self.modules.findings.report(
                    Code.UNUSED_VALUE.at(entry.name.span, what=declaration, name=name, hint=hint)
                )

    def _hosts(self, experiment: Experiment) -> SubjectResult:
        """Find the needs of things that their hosts do not meet. This takes time if things have many forms."""
        findings: list[Diagnostic] = []
        every = (experiment.on, experiment.with_, experiment.before, experiment.run, experiment.collect)
        reached = [expr.type | (expr.type.element or NOTHING) for expr in every if expr]
        result = [self.modules.kind_by_name(name) for type_ in reached for name in sorted(type_.kinds | type_.beneath)]
        if any(kind and (kind.role == "machine" or hosts.unsupported(kind, PLATFORMS[0])) for kind in result):
            machines: dict[str, Instance] = {}
            for thing, host in hosts.used_by(experiment):
                findings += hosts.lacking(thing, host)
                if host and host.span and machines.setdefault(host.label, host).key != host.key:
                    findings.append(Code.DUPLICATE.at(host.span, name=host.label))
            findings += {
                (finding.span, finding.message): finding for finding in hosts.machine_findings(experiment)
            }.values()
        return tuple(findings), ""


def _unnamed_params(root: Module) -> set[str]:
    """Return the params of a file that none of its entries names, other than its profiles."""
    result = {name for name, entry in root.entries.items() if isinstance(entry, tree.Param)}
    for entry in root.written.entries if result else ():
        if not isinstance(entry, tree.Profile):
            result -= {part.path[0] for part in tree.parts(entry) if isinstance(part, tree.Name)}
    return result


def _experiments_in(root: Module) -> Mapping[str, tree.ExperimentDef]:
    """Return the experiments of a file by name, in order; if several share a name, the first of them."""
    experiments = [entry for entry in root.written.entries if isinstance(entry, tree.ExperimentDef)]
    result: dict[str, tree.ExperimentDef] = {}
    for entry in experiments:
        result.setdefault(entry.name.text, entry)
    return result
