"""The clauses `expect`, `table` and `plot`: from the tree to `questions`.

In: a clause, the names that it may use, and a scope for what else it may use. Out: a `questions.Clause`, or None and
findings. Rules: a metric or a factor stands inside an aggregate; a measure without one is the median over the trials
that count. Types and units are checked by the same code as everywhere; what is constant becomes a number here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from zlang.check import questions, types, values
from zlang.check.calls import resolve_call
from zlang.check.expressions import Context, resolve, unknown
from zlang.check.factors import FirstLevels
from zlang.check.functions import FUNCTIONS
from zlang.check.measured import MOST_LEVELS
from zlang.check.names import report_unknown_name, resolve_name, resolve_word
from zlang.check.operators import may_be_word, resolve_binary, resolve_is_a
from zlang.check.program import ABSENT, Expr, FactorDef, Kind, Value
from zlang.check.questions import FactorRef, Measure, Term
from zlang.check.resolve import new_context, resolve_form
from zlang.check.scope import Path, Scope
from zlang.check.traits import TRAITS
from zlang.check.typed import resolve_condition, resolve_typed
from zlang.check.types import NOTHING, Type
from zlang.check.vocabulary import Vocabulary
from zlang.diagnostics import Code, Diagnostic
from zlang.source import Span
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import tree
from zlang.units import Quantity

_PERCENTILE = re.compile(r"p(?!100)(\d\d?)(\d*)")
"""`p50`, `p999` for 99.9 %; `p100` is no 10.0 %, but the largest."""
_SENSES = ("maximising", "minimising")


def resolve_clause(
    clause: tree.Clause, words: Vocabulary, scope: Scope, report: Callable[[Diagnostic], None]
) -> questions.Clause | None:
    """The clause, or None where something is wrong with it."""
    clauses = _Clauses(words, scope, report)
    made = clauses.clause(clause)
    if clauses.is_wrong:
        return None
    _warn_of_never(clause, words, report)
    return made


def _warn_of_never(
    node: tree.Clause | tree.Find | tree.Expr, words: Vocabulary, report: Callable[[Diagnostic], None]
) -> None:
    for part in tree.parts(node):
        if isinstance(part, tree.Name) and str(part) in words.never:
            report(_never(part, words))


def _never(node: tree.Name, words: Vocabulary) -> Diagnostic:
    """The finding about a metric, or a distribution, that no trial has."""
    name, trait = str(node), words.never[str(node)]
    metrics = {**words.metrics, **words.distributions}
    _, _, meaning = metrics[name].means.partition(".")
    others = [
        other
        for other, metric in metrics.items()
        if meaning and metric.means.partition(".")[2] == meaning and other not in words.never
    ]
    hint = Hint(f"did you mean `{others[0]}`?", name, others[0], is_safe=False) if others else ""
    return Code.NEVER_MEASURED.at(node.span, name=name, what=TRAITS[trait].doc.removeprefix("whether "), hint=hint)


def resolve_until(
    node: tree.UntilClause, least: int, words: Vocabulary, scope: Scope, report: Callable[[Diagnostic], None]
) -> questions.Until | None:
    """When a point is measured often enough, or None where something is wrong with that."""
    clauses = _Clauses(words.of_metrics(with_distributions=False), scope, report)
    made = clauses.until(node.condition, least)
    if clauses.is_wrong:
        return None
    _warn_of_never(node.condition, words, report)
    return made


def resolve_search(
    node: tree.Find, factor: FactorDef, words: Vocabulary, scope: Scope, report: Callable[[Diagnostic], None]
) -> questions.Search | None:
    """What is searched, or None where something is wrong with it. Each point is judged by itself: it has no factors."""
    clauses = _Clauses(words.of_metrics(with_distributions=True), scope, report)
    made = clauses.search(node, factor)
    if clauses.is_wrong:
        return None
    _warn_of_never(node, words, report)
    return made


class _Clauses:
    """Types and units are found by resolving an expression, then its formula is made."""

    def __init__(self, words: Vocabulary, scope: Scope, report: Callable[[Diagnostic], None]) -> None:
        self.context = new_context(_Names(words, scope), self.report).replace(dispatch=self._resolve_form)
        self.words, self.tell = words, report
        self.is_wrong = False
        self.inside = ""

    def report(self, finding: Diagnostic) -> None:
        """Report a finding: there is no clause then."""
        self.is_wrong = True
        self.tell(finding)

    def _resolve_form(self, context: Context, node: tree.Expr, expected: Type | None, path: Path | None) -> Expr:
        """Resolve an expression by its form: names and calls have a meaning of their own here."""
        match node:
            case tree.Name():
                return self._name(context, node, expected)
            case tree.Call():
                return self._call(context, node, expected)
            case tree.Binary():
                return resolve_binary(context, node, self.may_be_word)
            case _:
                return resolve_form(context, node, expected, path)

    def clause(self, node: tree.Clause) -> questions.Clause | None:
        """The clause as plain data."""
        text = _written(node)
        if isinstance(node, tree.Expect):
            return self._expectation(node, text)
        over = facet = None
        axis = ""
        if isinstance(node, tree.PlotClause):
            over = self._over(node.over)
            axis = over.name if over and not over.paths else ""
            facet = self._factor(node.facet) if node.facet else None
        measures = [self._on_axis(measure, axis) if axis else self._measure(measure) for measure in node.measures]
        by = [self._factor(name) for name in node.by]
        if self.is_wrong:
            return None
        shown = tuple(measure for measure in measures if measure)
        sorted_by = tuple(factor for factor in by if factor)
        if isinstance(node, tree.TableClause):
            return questions.Table(text, shown, sorted_by)
        return questions.Plot(text, shown, over, sorted_by, facet) if over else None

    def _expectation(self, node: tree.Expect, text: str) -> questions.Expectation | None:
        condition, overall = node.condition, False
        if (
            isinstance(condition, tree.Call)
            and condition.function.path == ("overall",)
            and len(condition.arguments) == 1
        ):
            (condition,), overall = condition.arguments, True
        resolve_condition(self.context, condition)
        self._measured(condition)
        if self.is_wrong:
            return None
        term = self.term(condition)
        mentioned = questions.mentioned(term)
        fixed = {column.axis for column in self.words.columns if column.path in mentioned}
        others = () if overall else (column for column in self.words.columns if column.axis not in fixed)
        by = tuple(FactorRef(column.name, (column.path,), column.sort) for column in others)
        return questions.Expectation(node.title or text.removeprefix("expect "), text, term, by)

    def until(self, node: tree.Expr, least: int) -> questions.Until | None:
        """`ci(METRIC) < SHARE`."""
        match node:
            case tree.Binary(
                operator="<", left=tree.Call(function=function, arguments=(metric,), where=None), right=right
            ) if str(function) == "ci":
                pass
            case _:
                hint = f"write, for example, `until ci({self.words.example()}) < 5%`"
                text = self._quoted(node)
                self.report(Code.UNEXPECTED.at(node.span, expected="`ci(METRIC) < SHARE`", found=text, hint=hint))
                return None
        self.inside = "ci"
        argument = resolve(self.context, metric)
        self.inside = ""
        if not argument.type.unknown and not (argument.type.scalars and argument.type.scalars <= types.NUMERIC):
            wanted, text = "a number of each trial", self._quoted(metric)
            self.report(Code.WRONG_ARGUMENTS.at(metric.span, name="ci", expected=wanted, found=text))
        self._measured(metric)
        within = resolve_typed(self.context, right, (), "until", types.SHARE)
        if self.is_wrong or within.type.unknown:
            return None
        value = within.value({}) if within.is_constant else None
        if not isinstance(value, Quantity) or not 0 < value.amount < 1:
            hint = "write a share of the measured value, such as `5%`"
            self.report(Code.NOT_ALLOWED.at(right.span, name="until", value=self._quoted(right), hint=hint))
            return None
        return questions.Until(_written(node), least, self.term(metric), float(value.amount))

    def search(self, node: tree.Find, factor: FactorDef) -> questions.Search | None:
        """`find NAME in LEVELS where CONDITION maximising MEASURE`."""
        if node.sense.text not in _SENSES:
            hint = (
                did_you_mean(node.sense.text, _SENSES)
                or f"write what makes a level the best, such as `maximising {self.words.example()}`"
            )
            expected, result = " or ".join(f"`{word}`" for word in _SENSES), f"`{node.sense.text}`"
            self.report(Code.UNEXPECTED.at(node.sense.span, expected=expected, found=result, hint=hint))
        resolve_condition(self.context, node.condition)
        self._measured(node.condition)
        own = Measure(_written(node.objective), Term("factor", paths=(factor.path,)), factor.types[0])
        is_own = isinstance(node.objective, tree.Name) and node.objective.path == node.name.path
        objective = own if is_own else self._measure(node.objective)
        if self.is_wrong or objective is None:
            return None
        condition = self.term(node.condition)
        maximises = node.sense.text == _SENSES[0]
        return questions.Search(
            text=_written(node),
            factor=factor.columns[0],
            path=factor.path,
            levels=factor.size,
            condition=condition,
            objective=objective,
            maximises=maximises,
        )

    def _measure(self, node: tree.Expr) -> Measure | None:
        has_aggregate = any(_is_aggregate(part) for part in tree.parts(node))
        if not has_aggregate:
            node = tree.Call(node.span, tree.Name(node.span, ("median",)), (node,))
        resolved = resolve(self.context, node)
        if not resolved.type.unknown and not (resolved.type.scalars and resolved.type.scalars <= types.NUMERIC):
            finding = Code.WRONG_TYPE.at(node.span, name="table", expected="of numbers", found=resolved.type)
            self.report(finding)
        self._measured(node)
        if self.is_wrong:
            return None
        return Measure(_written(node), self.term(node), types.scalar_name(resolved.type))

    def _over(self, node: tree.Name) -> FactorRef | None:
        name = str(node)
        if name in questions.AXES and not self.words.find(node.path):
            return FactorRef(name, (), questions.AXES[name])
        return self._factor(node)

    def _on_axis(self, node: tree.Expr, axis: str) -> Measure | None:
        """What is drawn over something that is no factor."""
        name = str(node) if isinstance(node, tree.Name) else ""
        if name in self.words.distributions and axis in {"latency", "position"}:
            return Measure(name, Term("distribution", name=name, paths=self.words.distributions[name].pair), "share")
        measured = self.words.measured
        if axis == "position" or (isinstance(node, tree.Name) and name not in measured):
            return self._measure(node)
        if name in self.words.metrics and axis != "latency":
            return Measure(name, Term("metric", name=name), self.words.metrics[name].type)
        wanted = self._a_distribution() if axis == "latency" else "one metric by its name"
        self.report(
            Code.WRONG_ARGUMENTS.at(node.span, name=f"over {axis}", expected=wanted, found=f"`{_written(node)}`")
        )
        return None

    def _a_distribution(self) -> str:
        example = next(iter(self.words.distributions), "")
        return f"a distribution such as `{example}`" if example else "a distribution, and none is measured"

    def _measured(self, node: tree.Expr) -> None:
        """Something that a trial yields must be in it."""
        names = [part for part in tree.parts(node) if isinstance(part, tree.Name)]
        if not self.is_wrong and not any(str(n) in self.words.measured for n in names):
            hint = f"use a metric, such as `median({self.words.example()})`"
            self.report(Code.NOTHING_MEASURED.at(node.span, hint=hint))

    def _factor(self, node: tree.Name) -> FactorRef | None:
        instance = self.words.find(node.path)
        if instance:
            return FactorRef(str(node), tuple(column.path for column in instance), instance[0].sort)
        if self.words.is_partial:
            self.is_wrong = True
            return None
        names = [column.name for column in self.words.columns]
        hint = _or(self.words.ambiguous(node.path)) or did_you_mean(str(node), names)
        hint = hint or ("its factors are " + ", ".join(f"`{name}`" for name in names) if names else "it has no factors")
        self.report(Code.NO_FACTOR.at(node.span, name=node, hint=hint))
        return None

    # -- types

    def _name(self, context: Context, node: tree.Name, expected: Type | None) -> Expr:
        name = str(node)
        if (
            expected is not None
            and len(node.path) == 1
            and (word := resolve_word(context, node, name, expected)) is not None
        ):
            return word
        column = self._column(node)
        if column is None:
            if several := self.words.ambiguous(node.path):
                self.report(Code.UNKNOWN_NAME.at(node.span, name=name, hint=_or(several)))
                return unknown(node.span)
            base, _, rank = name.rpartition("_p")
            if rank.isdecimal() and base in self.words.distributions:
                hint = f"any percentile is computed from the histogram: `p{rank}({base})`"
                self.report(Code.UNKNOWN_NAME.at(node.span, name=name, hint=hint))
                return unknown(node.span)
            return resolve_name(context, node, expected, self._report_unknown)
        if name in self.words.distributions and not _PERCENTILE.fullmatch(self.inside):
            wanted = "a metric" if self.inside else "something else"
            hint = f"use a percentile over all operations, such as `p50({name})` or `p99({name})`"
            self.report(
                Code.WRONG_ARGUMENTS.at(
                    node.span, name=self.inside or name, expected=wanted, found=f"the distribution `{name}`", hint=hint
                )
            )
            return unknown(node.span)
        if not self.inside:
            aggregate = "median" if name in self.words.metrics else "count"
            hint = f"`{aggregate}({name})`" if name in self.words.metrics else f"`median(… where {name} == …)`"
            self.report(Code.NEEDS_AGGREGATE.at(node.span, name=name, hint=hint))
            return unknown(node.span)
        return column

    def _report_unknown(self, context: Context, node: tree.Name, name: str, expected: Type | None) -> Expr:
        if not self.words.is_partial and not (expected is not None and expected.unknown):
            return report_unknown_name(context, node, name, expected)
        self.is_wrong = True  # and why has been said
        return unknown(node.span)

    def _column(self, node: tree.Name) -> Expr | None:
        """A metric, a distribution or a factor, with its type."""
        name = str(node)
        if name in self.words.metrics:
            sort = self.words.metrics[name].type
            return Expr(node.span, Type(frozenset({sort})), lambda _: ABSENT)
        if name in self.words.distributions:
            return Expr(node.span, Type(frozenset({"duration"})), lambda _: ABSENT)
        instance = self.words.find(node.path)
        if not instance:
            return None
        type_ = NOTHING
        for column in instance:
            type_ = type_ | column.value.type
        return Expr(node.span, type_, instance[0].value.value)

    def _call(self, context: Context, node: tree.Call, expected: Type | None) -> Expr:
        name = str(node.function)
        if name == "overall":
            hint = '`overall` encloses the whole condition: `expect "…" overall(…)`'
            self.report(Code.UNEXPECTED.at(node.span, expected="a value", found="`overall`", hint=hint))
            return unknown(node.span)
        if not _is_aggregate(node):
            return resolve_call(context, node, expected)
        if self.inside:
            hint = f"it is inside `{self.inside}(…)`"
            self.report(Code.AGGREGATE_HERE.at(node.span, name=name, hint=hint))
            return unknown(node.span)
        self.inside = name
        argument = resolve(self.context, node.arguments[0])
        self.inside = "where"
        if node.where is not None:
            resolve_condition(self.context, node.where)
        self.inside = ""
        if argument.type.unknown:
            return unknown(node.span)
        if _PERCENTILE.fullmatch(name) and str(node.arguments[0]) not in self.words.distributions:
            given = self._quoted(node.arguments[0])
            hint = "a percentile is over single operations; for trials use `median`, `min` or `max`"
            expected_ = self._a_distribution()
            self.report(Code.WRONG_ARGUMENTS.at(node.span, name=name, expected=expected_, found=given, hint=hint))
            return unknown(node.span)
        if not argument.type.scalars or not argument.type.scalars <= types.NUMERIC:
            wanted = "a number of each trial"
            self.report(
                Code.WRONG_ARGUMENTS.at(node.span, name=name, expected=wanted, found=self._quoted(node.arguments[0]))
            )
            return unknown(node.span)
        return Expr(node.span, types.COUNT if name == "count" else argument.type, lambda _: ABSENT)

    def _quoted(self, node: tree.Expr) -> str:
        return f"`{node.span.text}`"

    # -- formulas

    def term(self, node: tree.Expr) -> Term:
        """The formula of an expression with which nothing is wrong."""
        match node:
            case tree.Name() if self._is_column(node):
                return self._term_of_name(node)
            case tree.Call() if _is_aggregate(node):
                return self._term_of_aggregate(node)
            case tree.Binary(operator="in", left=left, right=right):
                listed = resolve(self.context, right, Type(element=self._type_of(left)))
                return Term("in", (self.term(left), *self._values(right, listed)))
            case tree.Binary(operator="==" | "!=" as operator, left=left, right=right) if self._speaks(node):
                if self.may_be_word(left) and not self.may_be_word(right):
                    left, right = right, left
                return Term(operator, (self.term(left), self._like(left, right)))
            case tree.Binary(operator=operator, left=left, right=right) if self._speaks(node):
                return Term("*" if operator == "of" else operator, (self.term(left), self.term(right)))
            case tree.Not(operand=operand):
                return Term("not", (self.term(operand),))
            case tree.IsA(value=tree.Name() as name):
                return self._term_of_is(node, name)
            case _:
                return self._constant(node)

    def _is_column(self, node: tree.Name) -> bool:
        return str(node) in self.words.measured or bool(self.words.find(node.path))

    def may_be_word(self, node: tree.Expr) -> bool:
        """A factor is none."""
        return may_be_word(node) and not (isinstance(node, tree.Name) and self._is_column(node))

    def _speaks(self, node: tree.Expr) -> bool:
        """Whether there is anything in it but what is constant."""
        return any(isinstance(part, tree.Name) and self._is_column(part) for part in tree.parts(node))

    def _type_of(self, node: tree.Expr) -> Type | None:
        column = self._column(node) if isinstance(node, tree.Name) else None
        return column.type if column else None

    def _like(self, other: tree.Expr, node: tree.Expr) -> Term:
        """What something is compared with; a word is one of those that it can be."""
        type_ = self._type_of(other)
        if type_ is not None and isinstance(node, tree.Name) and type_.variant(str(node)) is not None:
            return Term("value", value=str(node))
        return self.term(node) if self._speaks(node) else self._constant(node, type_)

    def _constant(self, node: tree.Expr, expected: Type | None = None) -> Term:
        value = self._fixed(node, resolve(self.context, node, expected))
        return Term("value", value=_plain(value))

    def _values(self, node: tree.Expr, resolved: Expr) -> list[Term]:
        """The elements of a list that is the same in every trial, as numbers and words."""
        value = self._fixed(node, resolved)
        return [Term("value", value=_plain(item)) for item in (value if isinstance(value, tuple) else (value,))]

    def _fixed(self, node: tree.Expr, resolved: Expr) -> Value:
        """What is the same in every trial."""
        if not resolved.is_constant:
            hint = "compare it with a factor or a number"
            self.report(
                Code.NOT_CONSTANT.at(node.span, place="a value that is neither a metric nor a factor", hint=hint)
            )
            return None
        return resolved.value({})

    def _term_of_name(self, node: tree.Name) -> Term:
        name = str(node)
        if name in self.words.metrics:
            return Term("metric", name=name)
        return Term("factor", name=name, paths=tuple(column.path for column in self.words.find(node.path)))

    def _term_of_aggregate(self, node: tree.Call) -> Term:
        name = str(node.function)
        where = (self.term(node.where),) if node.where is not None else ()
        if match := _PERCENTILE.fullmatch(name):
            share = float(f"0.{match[1]:0>2}{match[2]}")
            pair = self.words.distributions[str(node.arguments[0])].pair
            return Term(op="percentile", terms=where, name=_written(node), value=share, paths=pair, type="duration")
        type_ = types.scalar_name(self._call(self.context, node, None).type)
        return Term(name, (self.term(node.arguments[0]), *where), _written(node), type=type_)

    def _term_of_is(self, node: tree.IsA, name: tree.Name) -> Term:
        """One of the levels that are what was asked for."""
        levels: list[Term] = []
        self.inside = "where"
        resolved = resolve_is_a(self.context, node)
        self.inside = ""
        for column in self.words.find(name.path):
            for i in range(min(column.size, MOST_LEVELS)):
                at = FirstLevels({column.axis: i})
                if resolved.value(at) is True:
                    levels.append(Term("value", value=_plain(column.value.value(at))))
        factor = self._term_of_name(name)
        return Term("in", (factor, *levels)) if levels else Term("value", value=False)


class _Names:
    """A scope in which clauses' words are known too."""

    def __init__(self, words: Vocabulary, scope: Scope) -> None:
        self.words, self.scope = words, scope
        self.lookup, self.kind, self.kind_called = scope.lookup, scope.kind, scope.kind_called
        self.kind_names, self.kind_hint, self.is_given = scope.kind_names, scope.kind_hint, scope.is_given
        self.owners = scope.owners

    def names(self) -> Iterable[str]:
        """All names, for suggestions."""
        return [*self.words.names(), *self.scope.names()]


def _written(node: tree.Expr | tree.Clause | tree.Find) -> str:
    """The text of a clause or a part of it on one line, as it is where nobody breaks lines."""
    text = " ".join(node.span.text.split())
    return text.replace("( ", "(").replace(" )", ")")


def _plain(value: Value) -> str | int | float | bool | None:
    """A number in its base unit, anything else as the database has it."""
    if not isinstance(value, Quantity):
        return values.cell(value)
    return value.amount.numerator if value.is_whole else float(value.amount)


def _is_aggregate(node: object) -> bool:
    if not isinstance(node, tree.Call) or len(node.function.path) != 1 or len(node.arguments) != 1:
        return False
    name = node.function.path[0]
    if name in FUNCTIONS and isinstance(node.arguments[0], tree.ListOf):
        return False
    return name in types.AGGREGATES or _PERCENTILE.fullmatch(name) is not None


def _or(names: list[str]) -> str:
    return "which one: " + " or ".join(f"`{name}`" for name in names) + "?" if names else ""


class NoScope:
    """There are no names but those of the results."""

    def lookup(self, _name: str, _span: Span) -> Expr | None:
        """Nothing."""
        return None

    def names(self) -> Iterable[str]:
        """None."""
        return ()

    def kind(self, _name: tree.Name) -> Kind | None:
        """None."""
        return None

    def kind_called(self, _name: str) -> Kind | None:
        """None."""
        return None

    def kind_names(self) -> Iterable[str]:
        """None."""
        return ()

    def owners(self, _name: str) -> list[str]:
        """None: a factor is called by its own name."""
        return []

    def kind_hint(self, _name: str) -> str:
        """Nothing."""
        return ""

    def is_given(self, _name: str) -> None:
        """Nothing is."""
