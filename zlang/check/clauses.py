"""The clauses `expect`, `table` and `plot`: from the tree to `questions`.

In: a clause, its vocabulary, and a scope for all other names. Out: a `questions.Clause`, or None and
findings. Rule: a measure without an aggregate is the median over the valid trials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from zlang.check import phases, questions, ratios_expected, types
from zlang.check.clause_expressions import ClauseExpressions, is_aggregate, one_line, quoted, which_of
from zlang.check.derived_columns import DerivedColumn
from zlang.check.expressions import resolve
from zlang.check.factors import FirstLevels
from zlang.check.measured import MOST_LEVELS
from zlang.check.program import Expr, FactorDef
from zlang.check.questions import FactorRef, Measure, Term
from zlang.check.scope import Scope
from zlang.check.terms import term
from zlang.check.traits import TRAITS
from zlang.check.typed import resolve_condition, resolve_typed
from zlang.check.values import cell, show
from zlang.check.vocabulary import Vocabulary
from zlang.diagnostics import Code, Diagnostic
from zlang.frozen import replace
from zlang.hints import TypeVar
from zlang.metrics import PHASE
from zlang.record import Record
from zlang.source import Span
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import tree
from zlang.units import Quantity

_SENSES = ("maximising", "minimising")


def resolve_clause(
    clause: tree.Clause, words: Vocabulary, scope: Scope, report: Callable[[Diagnostic], None]
) -> questions.Clause | None:
    """Resolve a clause; None if something is wrong with it."""
    clauses = _Clauses(words, scope, report)
    of_phases = phases.resolved(_without_own_name(clause, clauses.expressions), words, clauses.expressions.report)
    made = None if clauses.expressions.is_wrong else clauses.clause(of_phases)
    if clauses.expressions.is_wrong:
        return None
    _warn_of_absent_metrics(clause, words, report)
    _warn_of_absent_levels(clause, clauses.expressions, report)
    if isinstance(clause, tree.PlotClause) and isinstance(made, questions.Plot) and made.over.name == "second":
        for measure in clause.measures if not made.over.paths else ():
            if hint := words.without_samples.get(str(measure)):
                report(Code.NO_SAMPLES.at(measure.span, name=measure, hint=hint))
    return made


_SAME_AXIS = {
    "latency": ("latencies", "distribution", "cdf", "histogram"),
    "position": ("trial", "trials", "number", "run", "sequence", "order", "index"),
    "second": ("time", "t", "timestamp", "elapsed", "secs", "seconds", "runtime", "duration"),
}
"""The axes of plots, and other words for them."""
_Node = TypeVar("_Node", bound=Record)


def _without_own_name(node: _Node, expressions: ClauseExpressions) -> _Node:
    """Return the node with `METRIC` in place of `NAME.METRIC` in the experiment `NAME`."""
    changed: dict[str, object] = {}
    for name in type(node).record_fields:  # type: ignore[attr-defined]
        value = getattr(node, name)
        items = value if isinstance(value, tuple) else (value,)
        made = tuple(
            _without_own_name(item, expressions) if isinstance(item, Record) and not isinstance(item, Span) else item
            for item in items
        )
        if any(before is not after for before, after in zip(items, made, strict=True)):
            changed[name] = made if isinstance(value, tuple) else made[0]
    own = expressions.words.others.own if expressions.words.others else ""
    if isinstance(node, tree.Name) and expressions.other_experiment(node) == own != "":
        return node.replace(path=node.path[1:])
    return node.replace(**changed) if changed else node


def _warn_of_absent_metrics(
    node: tree.Clause | tree.Find | tree.Expr, words: Vocabulary, report: Callable[[Diagnostic], None]
) -> None:
    for part in tree.parts(node):
        if isinstance(part, tree.Name) and str(part) in words.never:
            report(_absent_metric(part, words))


def _warn_of_absent_levels(
    clause: tree.Clause, expressions: ClauseExpressions, report: Callable[[Diagnostic], None]
) -> None:
    """Report conditions of aggregates that compare a factor with a number or a text that it has in no trial."""
    for call in tree.parts(clause):
        if not isinstance(call, tree.Call) or call.where is None or expressions.is_of_other(call):
            continue
        for node in tree.parts(call.where):
            if not isinstance(node, tree.Binary) or node.operator not in {"==", "!="}:
                continue
            left, right = node.left, node.right
            if not isinstance(left, tree.Name) or isinstance(right, tree.Name):  # a word is compared with known words
                continue
            levels, column = _levels(left, expressions.words), expressions.column(left)
            other = resolve(expressions.context, right, column.type).value({}) if levels and column else None
            if isinstance(other, Quantity | str) and cell(other) not in levels:
                hint = f"no trial has this value of `{left}`; `zlang plan` shows its levels"
                report(Code.UNUSED_WHERE.at(node.span, hint=hint))


def _levels(node: tree.Name, words: Vocabulary) -> set[object]:
    """Return the levels of a factor in all trials, as the store keeps them; none if they are too many or unknown."""
    if isinstance(derived := words.derived(node), DerivedColumn):
        return {each.value for each in derived.ref.values}
    points = [(column.value, {column.axis: level}) for column in words.find(node.path) for level in range(column.size)]
    return {cell(value.value(FirstLevels(levels))) for value, levels in points} if len(points) <= MOST_LEVELS else set()


def _absent_metric(node: tree.Name, words: Vocabulary) -> Diagnostic:
    """Report a metric or a distribution that no trial has."""
    name, trait = str(node), words.never[str(node)]
    metrics = {**words.metrics, **words.distributions}
    _, _, meaning = metrics[name].means.partition(".")
    others = [
        other
        for other, metric in metrics.items()
        if meaning and metric.means.partition(".")[2] == meaning and other not in words.never
    ]
    hint = Hint(f"did you mean `{others[0]}`?", name, others[0], is_safe=False) if others else ""
    does = TRAITS[trait].doc.removeprefix("whether it ") if trait in TRAITS else f"has the trait `{trait}`"
    return Code.NEVER_MEASURED.at(node.span, name=name, what=does, hint=hint)


def resolve_until(
    node: tree.UntilClause, least: int, words: Vocabulary, scope: Scope, report: Callable[[Diagnostic], None]
) -> questions.Until | None:
    """Resolve the condition that ends the replicates of a point; None if something is wrong with it."""
    clauses = _Clauses(words.of_metrics(with_distributions=False), scope, report)
    made = clauses.until(node.condition, least)
    if clauses.expressions.is_wrong:
        return None
    _warn_of_absent_metrics(node.condition, words, report)
    return made


def resolve_search(
    node: tree.Find,
    factor: FactorDef,
    least: int,
    words: Vocabulary,
    scope: Scope,
    report: Callable[[Diagnostic], None],
) -> questions.Search | None:
    """Resolve a search; None if something is wrong with it. Each point is judged alone, without factors."""
    clauses = _Clauses(words.of_metrics(with_distributions=True), scope, report)
    made = clauses.search(node, factor, least)
    if clauses.expressions.is_wrong:
        return None
    _warn_of_absent_metrics(node, words, report)
    return made


class _Clauses:
    """Checks the types and units of a clause's expressions and builds their formulas."""

    def __init__(self, words: Vocabulary, scope: Scope, report: Callable[[Diagnostic], None]) -> None:
        self.words = words
        self.expressions = ClauseExpressions(words, scope, report)

    def clause(self, node: tree.Clause) -> questions.Clause | None:
        """Resolve a clause to plain data."""
        text = one_line(node)
        if isinstance(node, tree.Expect):
            return self._expectation(node, text)
        if isinstance(node, tree.PlotClause):
            return self._plot(node, text)
        measures = self._measures(node, node.by)
        by = [self._factor(name) for name in node.by]
        if self.expressions.is_wrong:
            return None
        return questions.Table(text, tuple(filter(None, measures)), tuple(filter(None, by)))

    def _plot(self, node: tree.PlotClause, text: str) -> questions.Plot | None:
        over = self._axis(node.over)
        axis = over.name if over and not over.paths else ""
        sorted_by = (*node.by, *((node.facet,) if node.facet else ()))
        if over is None:  # a distribution has a meaning only over some axes
            measures = [self._measure(each) for each in node.measures if str(each) not in self.words.distributions]
        elif axis:
            measures = [self._measure_on_axis(each, axis) for each in node.measures]
            self._refuse_phases(sorted_by, axis)
        else:
            measures = self._measures(node, (node.over, *sorted_by))
        facet = self._factor(node.facet) if node.facet else None
        by = [self._factor(name) for name in node.by]
        has_curves = axis in {"latency", "second"} or any(item and item.term.op == "distribution" for item in measures)
        if node.is_log and has_curves:
            expected = "lines, bars or points"
            self.expressions.report(
                Code.WRONG_ARGUMENTS.at(node.span, name="log", expected=expected, found="curves or histograms")
            )
        if self.expressions.is_wrong or over is None:
            return None
        shown, lines = tuple(filter(None, measures)), tuple(filter(None, by))
        return questions.Plot(text=text, measures=shown, over=over, by=lines, facet=facet, is_log=node.is_log)

    def _refuse_phases(self, sorted_by: Iterable[tree.Name], axis: str) -> None:
        """Report a plot over an axis for which phases have no results."""
        for name in sorted_by:
            if phases.is_phase(name, self.words) and phases.phases_of(self.words):
                hint = "it shows when each phase begins" if axis == "second" else "sort a plot over a factor by phases"
                self.expressions.report(
                    Code.UNEXPECTED.at(name.span, expected=f"a factor in a plot over `{axis}`", found=PHASE, hint=hint)
                )

    def _measures(
        self, node: tree.TableClause | tree.PlotClause, sorted_by: Iterable[tree.Name]
    ) -> list[Measure | None]:
        """Resolve the measures, one for each phase if they are sorted by phase."""
        is_of_phases = any(phases.is_phase(name, self.words) for name in sorted_by)
        if not is_of_phases or not phases.phases_of(self.words):
            return [self._measure(measure) for measure in node.measures]
        of_phases = phases.split(node.measures, self.words, self.expressions.report)
        measures = [(self._measure(each), phase) for each, phase in of_phases]
        return [each and replace(each, term=Term(PHASE, (each.term,), phase)) for each, phase in measures]

    def _expectation(self, node: tree.Expect, text: str) -> questions.Expectation | None:
        condition, overall = node.condition, False
        if (
            isinstance(condition, tree.Call)
            and condition.function.path == ("overall",)
            and len(condition.arguments) == 1
        ):
            (condition,), overall = condition.arguments, True
        if any(self.expressions.is_of_other(part) for part in tree.parts(condition)):
            return ratios_expected.resolve(self.expressions, node, condition, is_overall=overall)
        resolve_condition(self.expressions.context, condition)
        self._require_metric(condition)
        if self.expressions.is_wrong:
            return None
        formula = term(self.expressions, condition)
        mentioned = questions.mentioned(formula)
        fixed = {column.axis for column in self.words.columns if column.path in mentioned}
        fixed |= self._chosen_events(formula)
        others = () if overall else (column for column in self.words.columns if column.axis not in fixed)
        by = tuple(FactorRef(column.name, (column.path,), column.sort) for column in others)
        return questions.Expectation(node.title or text.removeprefix("expect "), text, formula, by)

    def _chosen_events(self, formula: Term) -> set[str]:
        """Return the path of the choice of events if a formula is about a phase: not all its levels have the phase."""
        during = self.words.fields.get("during")
        is_of_phase = any(name.startswith(f"{PHASE}.") for name in questions.metrics_of(formula))
        return {during.axes[0].path} if is_of_phase and during is not None and during.alternatives else set()

    def until(self, node: tree.Expr, least: int) -> questions.Until | None:
        """Resolve `ci(METRIC) < SHARE`."""
        match node:
            case tree.Binary(
                operator="<", left=tree.Call(function=function, arguments=(metric,), where=None), right=right
            ) if str(function) == "ci":
                pass
            case _:
                hint = f"write, for example, `until ci({self.words.example()}) < 5%`"
                text = quoted(node)
                self.expressions.report(
                    Code.UNEXPECTED.at(node.span, expected="`ci(METRIC) < SHARE`", found=text, hint=hint)
                )
                return None
        self.expressions.inside = "ci"
        argument = resolve(self.expressions.context, metric)
        self.expressions.inside = ""
        if not argument.type.unknown and not types.is_number(argument.type):
            wanted, text = "a number of each trial", quoted(metric)
            self.expressions.report(Code.WRONG_ARGUMENTS.at(metric.span, name="ci", expected=wanted, found=text))
        self._require_metric(metric)
        within = resolve_typed(self.expressions.context, right, (), "until", types.SHARE)
        if self.expressions.is_wrong or within.type.unknown:
            return None
        value = within.value({}) if within.is_constant else None
        if not isinstance(value, Quantity) or not 0 < value.amount < 1:
            hint = "write a share of the measured value, such as `5%`"
            self.expressions.report(Code.NOT_ALLOWED.at(right.span, name="until", value=quoted(right), hint=hint))
            return None
        return questions.Until(one_line(node), least, term(self.expressions, metric), float(value.amount))

    def search(self, node: tree.Find, factor: FactorDef, least: int) -> questions.Search | None:
        """Resolve `find NAME in LEVELS where CONDITION maximising MEASURE`."""
        if node.sense.text not in _SENSES:
            hint = (
                did_you_mean(node.sense.text, _SENSES)
                or f"write what makes a level the best, such as `maximising {self.words.example()}`"
            )
            expected, result = " or ".join(f"`{word}`" for word in _SENSES), f"`{node.sense.text}`"
            self.expressions.report(Code.UNEXPECTED.at(node.sense.span, expected=expected, found=result, hint=hint))
        resolve_condition(self.expressions.context, node.condition)
        self._require_metric(node.condition)
        own = Measure(one_line(node.objective), Term("factor", paths=(factor.path,)), factor.types[0])
        is_own = isinstance(node.objective, tree.Name) and node.objective.path == node.name.path
        objective = own if is_own else self._measure(node.objective)
        if self.expressions.is_wrong or objective is None:
            return None
        condition = term(self.expressions, node.condition)
        maximises = node.sense.text == _SENSES[0]
        return questions.Search(
            text=one_line(node),
            factor=factor.columns[0],
            path=factor.path,
            levels=factor.size,
            condition=condition,
            objective=objective,
            maximises=maximises,
            least=least,
        )

    def _measure(self, node: tree.Expr) -> Measure | None:
        if isinstance(node, tree.Tuple | tree.ListOf):
            hint = (
                f"separate measures by commas, without brackets: `{', '.join(one_line(item) for item in node.items)}`"
            )
            self.expressions.report(
                Code.UNEXPECTED.at(node.span, expected="a measure", found="several in brackets", hint=hint)
            )
            return None
        has_aggregate = any(is_aggregate(part) for part in tree.parts(node))
        if not has_aggregate:
            node = tree.Call(node.span, tree.Name(node.span, ("median",)), (node,))
        resolved = resolve(self.expressions.context, node)
        if not resolved.type.unknown and not types.is_number(resolved.type):
            finding = Code.WRONG_TYPE.at(node.span, name="table", expected="of numbers", found=resolved.type)
            self.expressions.report(finding)
        self._require_metric(node)
        if self.expressions.is_wrong:
            return None
        return Measure(one_line(node), term(self.expressions, node), types.scalar_name(resolved.type))

    def _axis(self, node: tree.Name) -> FactorRef | None:
        name = str(node)
        if name in questions.AXES and not self.words.find(node.path):
            return FactorRef(name, (), questions.AXES[name])
        return self._factor(node, questions.AXES)

    def _measure_on_axis(self, node: tree.Expr, axis: str) -> Measure | None:
        """Resolve a measure of a plot over one of `questions.AXES`."""
        name = str(node) if isinstance(node, tree.Name) else ""
        if name in self.words.distributions and axis in {"latency", "position"}:
            return Measure(name, Term("distribution", name=name, paths=(name,)), "share")
        measured = self.words.measured
        if axis == "position" or (isinstance(node, tree.Name) and name not in measured):
            return self._measure(node)
        if name in self.words.metrics and axis != "latency":
            return Measure(name, Term("metric", name=name), self.words.metrics[name].type)
        wanted = self.expressions.a_distribution() if axis == "latency" else "one metric by its name"
        self.expressions.report(
            Code.WRONG_ARGUMENTS.at(node.span, name=f"over {axis}", expected=wanted, found=f"`{one_line(node)}`")
        )
        return None

    def _require_metric(self, node: tree.Expr) -> None:
        """Report an expression that reads no metric."""
        names = [part for part in tree.parts(node) if isinstance(part, tree.Name)]
        if not self.expressions.is_wrong and not any(str(n) in self.words.measured for n in names):
            hint = f"use a metric, such as `median({self.words.example()})`"
            if factor := next((n for n in names if self.words.find(n.path)), None):
                hint += f"; a factor comes after the metrics: `{self.words.example()} by {factor}`"
            self.expressions.report(Code.NOTHING_MEASURED.at(node.span, hint=hint))

    def _factor(self, node: tree.Name, other_words: Iterable[str] = ()) -> FactorRef | None:
        column = self.words.column(node)
        if column is not None and not column.values:
            return column
        if phases.is_phase(node, self.words) and phases.phases_of(self.words):
            return questions.OF_PHASES
        if self.words.is_partial:
            self.expressions.is_wrong = True
            return None
        if column is not None:
            return column
        derived = self.words.derived(node)
        if isinstance(derived, Expr) and not self.words.ambiguous(node.path):
            hint = f"it is {show(derived.value({}))} in every trial: leave it out"
            self.expressions.report(Code.NO_FACTOR.at(node.span, name=node, hint=hint))
            return None
        names = [column.name for column in self.words.columns]
        hint = phases.NONE if phases.is_phase(node, self.words) else which_of(self.words.ambiguous(node.path))
        hint = hint or did_you_mean(str(node), [*names, *other_words])
        hint = hint or next(
            (f"write `over {axis}`" for axis in other_words if str(node) in _SAME_AXIS.get(axis, ())), ""
        )
        if not hint and str(node) in self.words.metrics:
            hint = "it is a metric: metrics come first, then `by` or `over` and the factors"
        hint = hint or ("its factors are " + ", ".join(f"`{name}`" for name in names) if names else "it has no factors")
        self.expressions.report(Code.NO_FACTOR.at(node.span, name=node, hint=hint))
        return None
