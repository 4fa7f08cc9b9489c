"""Experiments: the checks between their fields, the factors that they use, and their clauses.

In: a declaration, the scope of its file, and a collector of findings. Out: an `Experiment`, or None if nothing can be
planned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from zlang import metrics
from zlang.check import extent, streams
from zlang.check.declarations import resolve_searched
from zlang.check.experiment_fields import field_type, has_foreign_field, read_fields
from zlang.check.experiment_scope import ConditionScope, ExperimentScope
from zlang.check.expressions import Context, constant, resolve
from zlang.check.measured import measured
from zlang.check.module_scope import ModuleScope
from zlang.check.program import Assertion, Axis, Experiment, Expr, FactorDef, Kept, Kind, Symbol
from zlang.check.program_names import ProgramNames
from zlang.check.reserved import OF_TRIALS, RESERVED
from zlang.check.scope import Scope
from zlang.check.typed import resolve_condition, resolve_typed
from zlang.check.types import NOTHING
from zlang.diagnostics import Code
from zlang.hints import TYPE_CHECKING
from zlang.metrics import Metric
from zlang.source import Span
from zlang.suggest import quoted_list, with_article
from zlang.syntax import tree

if TYPE_CHECKING:
    from zlang.check.questions import Clause, Search, Until
    from zlang.check.vocabulary import Vocabulary

_CHOOSING = ("on", "with", "before", "run", "during", "collect", "cache")
"""The fields whose choices are factors, in the order of their columns."""
_DEFAULTS = (("cache", "as_is"), ("design", "full"))
"""Defaults of fields: nothing is done about caches, and all points are measured."""
_IN_CONDITIONS = {"cache": "as_is", **dict.fromkeys(("before", "during", "with"), "none")}
"""The values in conditions of fields that an experiment does not have."""
_NO_LOAD = "nothing"
"""The workload of an experiment that only looks at its target."""
_CLAUSES = (tree.Expect, tree.TableClause, tree.PlotClause)
_WHERE = r"[ \t]+where\b"
_ASKING = (*_CLAUSES, tree.UntilClause, tree.Find)


class Experiments:
    """Checks the experiments of a program one by one."""

    def __init__(
        self,
        names: ProgramNames,
        declared: Mapping[str, tree.ExperimentDef] = MappingProxyType({}),
        amended: Callable[[tree.ExperimentDef], tree.ExperimentDef | None] = lambda node: node,
    ) -> None:
        self._names, self._modules, self._declared, self._amended = names, names.modules, declared, amended
        self._vocabularies: dict[str, tuple[Vocabulary, Scope] | None] = {}

    def check(self, node: tree.ExperimentDef, module_scope: ModuleScope) -> Experiment | None:
        """Check an experiment and report its problems; None if too much is missing."""
        context = self._names.context(module_scope)
        protocols = {kind.name: kind for kind in module_scope.kinds_of("protocol")}
        fields, repeated = read_fields(self._names, node, context, protocols)
        given_repeat = fields.pop("repeat", None)
        if "run" not in fields and not self._add_no_load(node, context, fields):
            return None
        where_context = self._names.context(self._condition_scope(node, fields, module_scope, protocols))
        wheres = self._wheres(node, where_context, ExperimentScope(module_scope, fields))
        asserts = self._asserts(node, where_context, module_scope)
        self._join(node, fields, wheres, module_scope)
        find = self._search(node, context, fields)
        cache, design = self._with_defaults(node, context, fields, protocols)
        extent.check_design(self._names, design)
        axes, kept = self._axes(node, fields)
        factors = self._named(axes)
        least, repeat = extent.replicates(self._names, node, where_context, repeated, given_repeat, factors)
        scope = ExperimentScope(module_scope, fields)
        yields = measured(scope.fields, self._modules.kind_by_name, self._modules.readers, self._names.report)
        words = self._words(node, scope, where_context, wheres, factors, yields)
        clauses = self._clauses(node, scope, words) if words else []
        until = repeated if isinstance(repeated, tree.UntilClause) else None
        stopping, search = self._stopping(until, least, find, scope, words, factors) if words else (None, None)
        places = {word.text: item.span for item in node.items for word in tree.words(item)}
        return Experiment(
            name=node.name.text,
            title=node.title,
            span=node.name.span,
            on=fields.get("on"),
            with_=fields.get("with"),
            before=fields.get("before"),
            run=fields["run"],
            during=fields.get("during"),
            cache=cache,
            protocols=protocols,
            collect=fields.get("collect"),
            repeat=repeat,
            design=design,
            budget=extent.budget(self._names, fields.get("budget")),
            wheres=tuple(wheres),
            factors=factors,
            axes=axes,
            clauses=tuple(clause for clause, _ in clauses),
            risks=tuple(sorted((risk for risk in self._names.risks if risk <= factors.keys()), key=sorted)),
            places=places | {clause.text: place for clause, place in clauses},
            until=stopping,
            search=search,
            armed=self._modules.armed_things(),
            metrics=tuple(dict.fromkeys(metric for _, metric in yields)),
            asserts=asserts,
            kept=kept,
        )

    def _condition_scope(
        self,
        node: tree.ExperimentDef,
        fields: Mapping[str, Expr],
        module_scope: ModuleScope,
        protocols: Mapping[str, Kind],
    ) -> ConditionScope:
        """Return the scope of `where` and `assert`, in which fields that are left out have their defaults."""
        defaults = {
            name: constant(node.name.span, field_type(name, protocols), Symbol(word))
            for name, word in _IN_CONDITIONS.items()
        }
        return ConditionScope(module_scope, fields, self._names.factors, defaults)

    def _axes(self, node: tree.ExperimentDef, fields: Mapping[str, Expr]) -> tuple[tuple[Axis, ...], Kept | None]:
        """Return the axes of the space, and how the data are kept between the passes over it, which are an axis too."""
        axes = tuple(axis for name in _CHOOSING if name in fields for axis in fields[name].axes)
        kept = extent.kept(self._names, node, fields.get("layout"))
        if kept is None:
            return axes, None
        passes, self._names.factors[kept.path] = extent.passes(kept)
        return (*axes, passes), kept

    def _wheres(self, node: tree.ExperimentDef, context: Context, scope: ExperimentScope) -> list[Expr]:
        """Return the conditions that restrict the points; report a condition that is the same at all points."""
        wheres = [resolve_condition(context, item.condition) for item in self._wheres_apart(node)]
        for where in wheres:
            if where.is_constant and where.value({}) is not False and not self._is_partial(node, scope):
                self._names.report(Code.UNUSED_WHERE.at(where.span))
        return wheres

    def _wheres_apart(self, node: tree.ExperimentDef) -> Iterator[tree.Where]:
        """Yield each `where`; report one on the line of a table, plot or expectation, because it is not part of that.

        Items from another experiment stand elsewhere.
        """
        for before, item in pairwise([None, *node.items]):
            if not isinstance(item, tree.Where):
                continue
            if not isinstance(before, _CLAUSES) or not _is_before_where(before):
                yield item
                continue
            hint = "write `median(METRIC where …)`; a `where` on a line of its own chooses what is measured"
            dropping = "`where`, which would drop points of the experiment"
            finding = Code.UNEXPECTED.at(item.span, expected="the end of the line", found=dropping, hint=hint)
            self._names.report(finding)

    def _with_defaults(
        self, node: tree.ExperimentDef, context: Context, fields: Mapping[str, Expr], protocols: Mapping[str, Kind]
    ) -> list[Expr]:
        """Return the fields that have a default in every experiment."""
        return [
            fields.get(name)
            or resolve_typed(context, tree.Name(node.name.span, (usual,)), (), name, field_type(name, protocols))
            for name, usual in _DEFAULTS
        ]

    def _add_no_load(self, node: tree.ExperimentDef, context: Context, fields: dict[str, Expr]) -> bool:
        """Add the workload of an experiment that only collects; otherwise report the missing workload."""
        if has_foreign_field(node, "run"):
            return False
        if "collect" not in fields:
            hint = "add the workload: `run = …`"
            self._names.report(Code.MISSING_PROPERTY.at(node.name.span, kind="experiment", name="run", hint=hint))
            return False
        no_load = tree.Anonymous(node.name.span, tree.Name(node.name.span, (_NO_LOAD,)), None, ())
        fields["run"] = resolve_typed(context, no_load, (node.name.text, "run"), "run", field_type("run", {}))
        return True

    def _asserts(self, node: tree.ExperimentDef, context: Context, scope: ModuleScope) -> tuple[Assertion, ...]:
        """Return the conditions that must hold at each point: those of the experiment and those of its files."""
        assertions: list[Assertion] = []
        for item in (*scope.assertions(), *(item for item in node.items if isinstance(item, tree.Assert))):
            condition = resolve_condition(context, item.condition)
            self._names.risks.add(condition.reads)
            operands = () if condition.type.unknown else _operands(context, item.condition)
            assertions.append(Assertion(condition, item.title, item.condition.span, operands=operands))
        return tuple(assertions)

    def _is_partial(self, node: tree.ExperimentDef, scope: ExperimentScope) -> bool:
        """Whether the experiment may have choices that could not be read or that have misspelt names."""
        names = {*scope.fields, "repeat"}
        lost = any(word.text not in names for item in node.items for word in tree.words(item))
        lost = lost or ("on" not in scope.fields and scope.outer.is_broken(node.name.text))
        return lost or any(field.type.is_partial for field in scope.fields.values())

    def _clauses(
        self, node: tree.ExperimentDef, scope: ExperimentScope, words: Vocabulary
    ) -> list[tuple[Clause, Span]]:
        """Return the experiment's questions about its results, each with its place."""
        from zlang.check import clauses

        written = [item for item in node.items if isinstance(item, _CLAUSES) and not _is_before_where(item)]
        made = [(clauses.resolve_clause(clause, words, scope, self._names.report), clause.span) for clause in written]
        return [(clause, place) for clause, place in made if clause is not None]

    def _words(
        self,
        node: tree.ExperimentDef,
        scope: ExperimentScope,
        where_context: Context,
        wheres: Sequence[Expr],
        factors: Mapping[str, FactorDef],
        yields: Iterable[tuple[str, Metric]],
    ) -> Vocabulary | None:
        """Return the vocabulary of the clauses; None if there are none."""
        if not any(isinstance(item, _ASKING) for item in node.items):
            return None
        from zlang.check import vocabulary

        is_partial = self._is_partial(node, scope)
        words = vocabulary.vocabulary_of(
            scope.fields, factors, scope, yields, is_partial=is_partial, conditions=where_context, wheres=wheres
        )
        names, own = list(self._declared), node.name.text
        place = names.index(own) if own in names else 0
        others = vocabulary.OtherExperiments(
            own=own,
            before=tuple(names[:place]),
            after=tuple(names[place + 1 :]),
            words=lambda name: (words, scope) if name == own else self._words_of(name, scope.outer),
        )
        complete = words.replace(others=others) if names else words
        self._vocabularies[own] = complete, scope
        return complete

    def _words_of(self, name: str, module_scope: ModuleScope) -> tuple[Vocabulary, Scope] | None:
        """Return another experiment's vocabulary and the scope of its clauses; its own check reports problems."""
        if name not in self._vocabularies:
            node = self._amended(self._declared[name])
            if node is None:
                return None
            kept = [item for item in node.items if not isinstance(item, _CLAUSES)]
            alone = Experiments(self._names.silent())
            alone.check(node.replace(items=(*kept, tree.TableClause(node.span, (), ()))), module_scope)
            self._vocabularies[name] = alone._vocabularies.get(name)
        return self._vocabularies[name]

    def _search(
        self, node: tree.ExperimentDef, context: Context, fields: dict[str, Expr]
    ) -> tuple[tree.Find, str] | None:
        """Return an experiment's search and the path of its factor, which is added to the workload."""
        finds = [item for item in node.items if isinstance(item, tree.Find)]
        for item in finds[1:]:
            self._names.report(Code.DUPLICATE.at(item.span, name="find").also(finds[0].span, "first defined here"))
        if not finds:
            return None
        (find, *_), run = finds, fields["run"]
        name = tree.Word(find.name.span, find.name.path[-1])
        if len(find.name.path) > 1:
            hint = f"write `{name.text}`: `find` sets it for every workload that is run"
            expected, result = "a property of the workload, without a path", f"`{find.name}`"
            self._names.report(Code.UNEXPECTED.at(find.name.span, expected=expected, found=result, hint=hint))
            return None
        if run.type.element is not None:
            hint = "search in an experiment whose `run` has no list"
            finding = Code.UNEXPECTED.at(
                find.name.span, expected="one workload", found="a list of workloads", hint=hint
            )
            self._names.report(finding.also(run.span, "these run at the same time"))
            return None
        text = run.span.text
        for where in (item.condition for item in node.items if isinstance(item, tree.Where)):
            for part in tree.parts(where):
                if isinstance(part, tree.Name) and part.path in {(name.text,), ("run", name.text), (text, name.text)}:
                    hint = "the range in `find` gives its levels"
                    expected, result = "another factor", f"`{part}`, which is searched"
                    self._names.report(Code.UNEXPECTED.at(part.span, expected=expected, found=result, hint=hint))
                    return None
        kinds = [kind for kind_name in sorted(run.type.kinds) if (kind := self._modules.kind_by_name(kind_name))]
        path = (node.name.text, "find", name.text)
        fields["run"] = resolve_searched(context, run, kinds, name, find.values, path)
        return None if fields["run"].type.unknown else (find, ".".join(path))

    def _stopping(
        self,
        until: tree.UntilClause | None,
        least: int,
        find: tuple[tree.Find, str] | None,
        scope: ExperimentScope,
        words: Vocabulary,
        factors: Mapping[str, FactorDef],
    ) -> tuple[Until | None, Search | None]:
        """Resolve the clause that decides during the run whether more trials are needed."""
        from zlang.check import clauses

        given = (words, scope, self._names.report)
        return (
            clauses.resolve_until(until, least, *given) if until else None,
            clauses.resolve_search(find[0], factors[find[1]], 0 if until or least == 1 else least, *given)
            if find
            else None,
        )

    def _join(
        self, node: tree.ExperimentDef, fields: Mapping[str, Expr], wheres: list[Expr], scope: ModuleScope
    ) -> None:
        """Report needs of the workload and the collectors that their targets do not offer."""
        on = fields.get("on")
        if on is not None and on.type.unknown:
            return
        for name in ("run", "collect"):
            if name in fields and not fields[name].type.unknown:
                self._join_one(node, fields[name], on, wheres, scope)

    def _join_one(
        self, node: tree.ExperimentDef, run: Expr, on: Expr | None, wheres: list[Expr], scope: ModuleScope
    ) -> None:
        names = run.type.kinds | (run.type.element or NOTHING).kinds
        own = run.type.beneath | (run.type.element or NOTHING).beneath
        named = streams.without_target(run) if own else {}
        for workload_name in sorted(named.keys() & names if own else names):
            workload = self._modules.kind_by_name(workload_name)
            if workload is None or workload.needs is None:
                continue
            needs = " or ".join(with_article(f"`{need}`") for need in workload.needs[0])
            if on is None and has_foreign_field(node, "on"):
                return
            if on is None:
                hint = f"`{named.get(workload_name, workload_name)}` needs {needs}: add `on = …`"
                self._names.report(Code.MISSING_PROPERTY.at(node.name.span, kind="experiment", name="on", hint=hint))
                return
            for target_name in sorted(on.type.kinds | (on.type.element or NOTHING).kinds):
                target = self._modules.kind_by_name(target_name)
                if target is not None and not set(workload.needs[0]) & set(target.offers):
                    if wheres:
                        self._names.risks.add(run.reads | on.reads)
                        continue
                    offers = f"only {quoted_list(target.offers)}" if target.offers else "nothing"
                    words = {"needs": needs, "target": f"`{target_name}`", "offers": offers}
                    hint = _kinds_between(workload, target, on, scope)
                    finding = Code.NOTHING_OFFERED.at(run.span, workload=workload_name, hint=hint, **words)
                    self._names.report(finding.also(on.span, "this is what it runs on"))

    def _named(self, axes: tuple[Axis, ...]) -> dict[str, FactorDef]:
        """Return the factors of the axes; each column has the shortest path that is unique."""
        reached: dict[str, FactorDef] = {}

        seen: set[int] = set()

        def walk(some: Iterable[Axis]) -> None:
            for axis in some:
                if id(axis) not in seen:
                    seen.add(id(axis))
                    reached.setdefault(axis.path, self._names.factors[axis.path])
                    for branch in axis.branches or ():
                        walk(branch)

        walk(axes)
        columns = [column for factor in reached.values() for column in factor.columns]
        named: dict[str, FactorDef] = {}
        for path, factor in reached.items():
            short = tuple(shortest(column, columns) for column in factor.columns)
            is_named = "." not in path
            for name in short:
                if name.lower() in RESERVED and "unknown" not in factor.types:
                    other_name = "rename it" if is_named else "give the choice a name: `let target = …`"
                    hint = f'quote it in queries (`"{name}"`), or {other_name}'
                    self._names.report(Code.SQL_WORD.at(factor.span, name=name, hint=hint))
                if name.lower() in OF_TRIALS:
                    full = metrics.column(path)
                    other = f"factor_{full}" if full in OF_TRIALS else full
                    other_name = "rename it" if is_named else "give the choice a name of its own with `let`"
                    hint = f"in queries write `{other}`, or {other_name}"
                    self._names.report(Code.TRIAL_COLUMN.at(factor.span, name=name, hint=hint))
            named[path] = factor.replace(columns=short)
        return named


def _operands(context: Context, condition: tree.Expr) -> tuple[Expr, ...]:
    """Return the values of the names in a condition, each name once; words such as `random` have none."""
    silent = context.replace(report=lambda _: None)
    names: dict[tuple[str, ...], tree.Name] = {}
    for part in tree.parts(condition):
        if isinstance(part, tree.Name):
            names.setdefault(part.path, part)
    resolved = [resolve(silent, name) for name in names.values()]
    return tuple(expr for expr in resolved if expr.type.scalars or expr.type.words)


def _kinds_between(workload: Kind, target: Kind, on: Expr, scope: ModuleScope) -> str:
    """List the kinds that can be built on a target and offer what a workload needs."""
    needs = set(workload.needs[0]) if workload.needs else set[str]()
    text = on.span.text
    for kind in scope.kinds_of("resource"):
        if needs & set(kind.offers) and set(kind.parents) & {target.name, *target.offers} and text.isidentifier():
            return f"declare one on it: `{kind.name} NAME on {text} {{ … }}`"
    return ""


def _is_before_where(clause: tree.Expect | tree.TableClause | tree.PlotClause) -> bool:
    """Whether a result clause is followed by a `where` on its line: this is ambiguous and has been reported."""
    return re.compile(_WHERE).match(clause.span.source.text, clause.span.end) is not None


def shortest(path: str, paths: Iterable[str]) -> str:
    """Return the shortest suffix of a dotted path that is unique among the paths."""
    parts = path.split(".")
    others = [other.split(".") for other in paths if other != path]
    for length in range(1, len(parts)):
        end = parts[-length:]
        if all(other[-length:] != end for other in others):
            return ".".join(end)
    return path
