"""Names and calls in clauses: metrics, distributions and factors, which are used inside aggregates.

The code that checks types and units is the same as for other expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from zlang.check import types
from zlang.check.calls import resolve_call
from zlang.check.derived_columns import DerivedColumn
from zlang.check.expressions import Context, resolve, unknown
from zlang.check.functions import FUNCTIONS
from zlang.check.names import report_unknown_name, resolve_name, resolve_word
from zlang.check.operators import may_be_word, resolve_binary
from zlang.check.program import ABSENT, Expr
from zlang.check.questions import PREVIOUS
from zlang.check.resolve import new_context, resolve_form
from zlang.check.scope import Path, Scope
from zlang.check.typed import resolve_condition
from zlang.check.types import NOTHING, Type
from zlang.check.vocabulary import Vocabulary
from zlang.diagnostics import Code, Diagnostic
from zlang.metrics import PHASE
from zlang.suggest import nearest
from zlang.syntax import tree

PERCENTILE = re.compile(r"p(?!100)(\d\d?)(\d*)")
"""`p50`, `p999` for 99.9 %; `p100` is no 10.0 %, but the largest."""

_QUANTITIES = {
    **dict.fromkeys(("latency", "latencies", "lat", "delay"), "duration"),
    **dict.fromkeys(("bandwidth", "throughput", "bw", "speed"), "rate"),
    "iops": "iops",
}
"""General words for what is measured, and the type of a metric that each means."""
_MOST_NAMED = 3
_RANK_BEFORE = r"p(\d+)[_.](.+)"


_FEW_METRICS = 3
"""The number of metrics that a hint names."""


class ClauseExpressions:
    """Resolves the expressions of clauses; `is_wrong` after the first finding.

    If `is_of_ratio`, an aggregate may belong to another experiment.
    """

    def __init__(self, words: Vocabulary, scope: Scope, report: Callable[[Diagnostic], None]) -> None:
        self.context = new_context(_Names(words, scope), self.report).replace(dispatch=self._resolve_form)
        self.words, self.tell = words, report
        self.is_wrong = False
        self.inside = ""
        self.is_of_ratio = False

    def report(self, finding: Diagnostic) -> None:
        """Report a finding; the clause is then dropped."""
        self.is_wrong = True
        self.tell(finding)

    def _resolve_form(self, context: Context, node: tree.Expr, expected: Type | None, path: Path | None) -> Expr:
        """Resolve an expression by its form; names and calls have their own meaning in clauses."""
        match node:
            case tree.Name():
                return self._name(context, node, expected)
            case tree.Call():
                return self.call(context, node, expected)
            case tree.Binary():
                return resolve_binary(context, node, self.may_be_word)
            case _:
                return resolve_form(context, node, expected, path)

    def _report_distribution(self, node: tree.Name) -> None:
        """Report a distribution where a number is needed."""
        shown = f"the distribution `{node}`"
        hint = f"use a percentile over all operations, such as `p50({node})` or `p99({node})`"
        if self.inside:
            problem = Code.WRONG_ARGUMENTS.at(node.span, name=self.inside, expected="a metric", found=shown, hint=hint)
        else:
            problem = Code.UNEXPECTED.at(node.span, expected="a number", found=shown, hint=hint)
        self.report(problem)

    def _name(self, context: Context, node: tree.Name, expected: Type | None) -> Expr:
        name = str(node)
        if (
            expected is not None
            and len(node.path) == 1
            and (word := resolve_word(context, node, name, expected)) is not None
        ):
            return word
        column = self.column(node)
        if column is None:
            constant = self.words.derived(node)
            return constant if isinstance(constant, Expr) else self._name_without_column(context, node, expected)
        if name in self.words.distributions and not PERCENTILE.fullmatch(self.inside):
            self._report_distribution(node)
            return unknown(node.span)
        if not self.inside:
            is_metric = name in self.words.metrics
            hint = f"write `median({name})`" if is_metric else f"write `median(METRIC where {name} == …)`"
            self.report(Code.NEEDS_AGGREGATE.at(node.span, name=name, hint=hint))
            return unknown(node.span)
        return column

    def _name_without_column(self, context: Context, node: tree.Name, expected: Type | None) -> Expr:
        """Resolve a name of the program, or report a name that clauses do not have."""
        name = str(node)
        if self.other_experiment(node) is not None:
            self._report_misplaced(node)
            return unknown(node.span)
        if name == PHASE and self.words.metrics:
            hint = "compare it for equality: `median(METRIC where phase == quiet)`, or sort by it: `by phase`"
            self.report(Code.UNKNOWN_NAME.at(node.span, name=name, hint=hint))
            return unknown(node.span)
        if several := self.words.ambiguous(node.path):
            self.report(Code.UNKNOWN_NAME.at(node.span, name=name, hint=which_of(several)))
            return unknown(node.span)
        base, _, rank = name.replace(".p", "_p").rpartition("_p")
        if begun := re.fullmatch(_RANK_BEFORE, name):
            rank, base = begun.groups()
        if rank.isdecimal() and base in self.words.distributions:
            hint = f"any percentile is computed from the histogram: `p{rank}({base})`"
            self.report(Code.UNKNOWN_NAME.at(node.span, name=name, hint=hint))
            return unknown(node.span)
        if len(node.path) > 1 and self.words.is_partial:
            self.is_wrong = True  # the cause has been reported already
            return unknown(node.span)
        if len(node.path) > 1 and node.path[-1] in self.words.measured:
            self.report(Code.UNKNOWN_NAME.at(node.span, name=name, hint=self._hint_of_streams(node)))
            return unknown(node.span)
        if meant := self._of_member(context, node) or self._of_stream(context, node):
            self.report(Code.UNKNOWN_NAME.at(node.span, name=name, hint=which_of(meant)))
            return unknown(node.span)
        return resolve_name(context, node, expected, self._report_unknown)

    def other_experiment(self, node: tree.Expr) -> str | None:
        """Return the experiment that a name refers to, such as `cold_one` in `cold_one.METRIC`."""
        others = self.words.others
        if others is None or not isinstance(node, tree.Name) or len(node.path) == 1 or self.is_column(node):
            return None
        first = node.path[0]
        is_one = first in {PREVIOUS, others.own, *others.before, *others.after}
        return first if is_one and first not in self.words.fields else None

    def is_of_other(self, node: object) -> bool:
        """Whether this is an aggregate of another experiment's metric."""
        return (
            isinstance(node, tree.Call) and is_aggregate(node) and self.other_experiment(node.arguments[0]) is not None
        )

    def _report_misplaced(self, node: tree.Name) -> None:
        """Report another experiment's metric in a place that does not allow one."""
        name = str(node)
        metric = ".".join(node.path[1:])
        if not self.inside:
            self.report(Code.NEEDS_AGGREGATE.at(node.span, name=name, hint=f"write `median({name})`"))
            return
        hint = f"compare two figures: `expect median({metric}) > 2 * median({name})`"
        expected = "a metric or a factor of this experiment"
        self.report(Code.UNEXPECTED.at(node.span, expected=expected, found=f"`{name}`", hint=hint))

    def of_other(self, node: tree.Call) -> tuple[str, ClauseExpressions, tree.Call] | None:
        """Return the other experiment of an aggregate, the resolver of its clauses, and the aggregate within it.

        None, after a report, if it cannot be resolved.
        """
        argument = node.arguments[0]
        name = self.other_experiment(argument)
        assert name is not None and isinstance(argument, tree.Name) and self.words.others is not None  # noqa: PT018
        others = self.words.others
        if name in others.after:
            hint = f"experiments run in order: declare `{name}` above `{others.own}`"
            self.report(Code.UNEXPECTED.at(node.span, expected="an earlier experiment", found=f"`{name}`", hint=hint))
            return None
        own = others.words(others.own if name == PREVIOUS else name)
        if own is None:
            self.is_wrong = True  # the cause has been reported already
            return None
        inner = argument.replace(path=argument.path[1:])
        return name, ClauseExpressions(*own, self.report), node.replace(arguments=(inner,))

    def _hint_of_streams(self, node: tree.Name) -> str:
        """Return a hint with the names of a metric in single streams or in another experiment."""
        metric = node.path[-1]
        end = f".{metric}_p99" if metric in self.words.distributions and not self._is_percentile else f".{metric}"
        own = [name for name in self._measured_here if name.endswith(end) and not name.startswith(f"{PHASE}.")]
        others = self.words.others
        near = nearest(node.path[0], [PREVIOUS, *others.before]) if others is not None else []
        if near:
            return f"did you mean `{near[0]}.{metric}`?"
        return (
            which_of(nearest(str(node), own) or own)
            or f"write `{metric}`: only workloads that run beside others have metrics of their own"
        )

    def _report_unknown(self, context: Context, node: tree.Name, name: str, expected: Type | None) -> Expr:
        if not self.words.is_partial and not (expected is not None and expected.unknown):
            if meant := self._of_quantity(name):
                self.report(Code.UNKNOWN_NAME.at(node.span, name=name, hint=which_of(meant)))
                return unknown(node.span)
            if len(node.path) == 1 and context.scope.is_metric(name):
                hint = "no workload of this experiment measures it; " + self._candidates()
                self.report(Code.UNKNOWN_NAME.at(node.span, name=name, hint=hint))
                return unknown(node.span)
            return report_unknown_name(context, node, name, expected, self._candidates())
        self.is_wrong = True  # the cause has been reported already
        return unknown(node.span)

    def _candidates(self) -> str:
        """List the factors of the experiment and some of its metrics."""
        factors = ", ".join(f"`{column.name}`" for column in self.words.columns)
        metrics = ", ".join(f"`{name}`" for name in list(self.words.metrics)[:_FEW_METRICS])
        others = " and others" if len(self.words.metrics) > _FEW_METRICS else ""
        parts = [
            f"the factors are {factors}" if factors else "",
            f"metrics are {metrics}{others}" if metrics else "",
        ]
        return "; ".join(filter(None, parts))

    def _of_member(self, context: Context, node: tree.Name) -> list[str]:
        """Return the metrics that `WORKLOAD.WORD` may mean: for `oltp.iops`, those of the stream `oltp`."""
        if len(node.path) != 2:  # noqa: PLR2004 - the workload and the word
            return []
        thing = context.scope.lookup(node.path[0], node.span)
        if thing is None or thing.member is None or thing.member(node.path[1], node.span) is not None:
            return []
        return self._of_quantity(node.path[1], f"{node.path[0]}.") or self._of_quantity(node.path[1])

    @property
    def _is_percentile(self) -> bool:
        return PERCENTILE.fullmatch(self.inside) is not None

    @property
    def _measured_here(self) -> Iterable[str]:
        """The names that this place can have: distributions in a percentile, else metrics."""
        return self.words.distributions if self._is_percentile else self.words.metrics

    def _of_stream(self, context: Context, node: tree.Name) -> list[str]:
        """Return the metrics of a stream that have nearly this name."""
        begin = f"{node.path[0]}."
        own = [name for name in self._measured_here if name.startswith(begin)]
        thing = context.scope.lookup(node.path[0], node.span)
        if len(node.path) == 1 or not own or (thing and thing.member and thing.member(node.path[1], node.span)):
            return []
        ending = [name for name in own if name.endswith(f"_{node.path[-1]}")]
        return ending[:_MOST_NAMED] or nearest(str(node), own)

    def _of_quantity(self, name: str, begin: str = "") -> list[str]:
        """Return the metrics that a general word may mean: for `read_bandwidth`, the rates of reads."""
        *others, quantity = name.lower().split("_")
        sort = _QUANTITIES.get(quantity, "")
        measured = self.words.distributions if sort == "duration" else self.words.metrics
        fitting = [
            item
            for item, metric in measured.items()
            if metric.type == sort and item not in self.words.never and item.startswith(begin)
        ]
        chosen = [item for item in fitting if item.split("_")[0] in others] or fitting
        if sort == "duration" and not PERCENTILE.fullmatch(self.inside):
            rank = next((word for word in others if PERCENTILE.fullmatch(word)), "")
            chosen = [f"{rank}({item})" if rank else f"{item}_mean" for item in chosen]
        return chosen[:_MOST_NAMED]

    def column(self, node: tree.Name) -> Expr | None:
        """Return a metric, a distribution or a factor with its type."""
        name = str(node)
        if name in self.words.metrics:
            sort = self.words.metrics[name].type
            return Expr(node.span, Type(frozenset({sort})), lambda _: ABSENT)
        if name in self.words.distributions:
            return Expr(node.span, Type(frozenset({"duration"})), lambda _: ABSENT)
        instance = self.words.find(node.path)
        derived = self.words.derived(node)
        if isinstance(derived, DerivedColumn) and (self.words.column(node) or derived.ref).values:
            return Expr(node.span, derived.type, lambda _: ABSENT)
        if not instance:
            return None
        type_ = NOTHING
        for column in instance:
            type_ = type_ | column.value.type
        return Expr(node.span, type_, instance[0].value.value)

    def call(self, context: Context, node: tree.Call, expected: Type | None) -> Expr:
        """Resolve a call: an aggregate, or any other function."""
        name = str(node.function)
        if name == "overall":
            hint = '`overall` encloses the whole condition: `expect "…" overall(…)`'
            self.report(Code.UNEXPECTED.at(node.span, expected="a value", found="`overall`", hint=hint))
            return unknown(node.span)
        if not node.arguments and (name in types.AGGREGATES or PERCENTILE.fullmatch(name)):
            usable = self.words.distributions if PERCENTILE.fullmatch(name) else self.words.metrics
            hint = f"write a metric in the parentheses, such as `{name}({next(iter(usable), 'METRIC')})`"
            self.report(Code.WRONG_ARGUMENTS.at(node.span, name=name, expected="a metric", found="nothing", hint=hint))
            return unknown(node.span)
        if not is_aggregate(node):
            return resolve_call(context, node, expected)
        if self.is_of_ratio and not self.inside and self.is_of_other(node):
            other = self.of_other(node)
            return other[1].call(other[1].context, other[2], expected) if other is not None else unknown(node.span)
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
        if PERCENTILE.fullmatch(name) and str(node.arguments[0]) not in self.words.distributions:
            given = quoted(node.arguments[0])
            hint = "a percentile is over single operations; for trials use `median`, `min` or `max`"
            expected_ = self.a_distribution(node.arguments[0])
            self.report(Code.WRONG_ARGUMENTS.at(node.span, name=name, expected=expected_, found=given, hint=hint))
            return unknown(node.span)
        if not types.is_number(argument.type):
            wanted = "a number of each trial"
            self.report(Code.WRONG_ARGUMENTS.at(node.span, name=name, expected=wanted, found=quoted(node.arguments[0])))
            return unknown(node.span)
        return Expr(node.span, types.COUNT if name == "count" else argument.type, lambda _: ABSENT)

    def is_column(self, node: tree.Name) -> bool:
        """Whether a name refers to a metric, a distribution or a factor."""
        return str(node) in self.words.measured or self.words.column(node) is not None

    def may_be_word(self, node: tree.Expr) -> bool:
        """Whether this may be a word of an enumeration; the name of a factor is not."""
        return may_be_word(node) and not (isinstance(node, tree.Name) and self.is_column(node))

    def a_distribution(self, instead: tree.Expr | None = None) -> str:
        """Return an example of a distribution, for a hint; if possible one of the stream that is named `instead`."""
        begin = f"{instead.path[0]}." if isinstance(instead, tree.Name) else ""
        distributions = self.words.distributions
        example = next((name for name in distributions if name.startswith(begin)), next(iter(distributions), ""))
        return f"a distribution such as `{example}`" if example else "a distribution, and none is measured"


class _Names:
    """A scope that also contains the words of clauses."""

    def __init__(self, words: Vocabulary, scope: Scope) -> None:
        self.words, self.scope = words, scope
        self.lookup, self.kind, self.kind_called = scope.lookup, scope.kind, scope.kind_called
        self.kind_names, self.kind_hint, self.is_given = scope.kind_names, scope.kind_hint, scope.is_given
        self.owners, self.kinds_described_with = scope.owners, scope.kinds_described_with
        self.is_metric, self.place_in_group = scope.is_metric, scope.place_in_group

    def names(self) -> Iterable[str]:
        """Return all names, for suggestions."""
        return [*self.words.names(), *self.scope.names()]


def quoted(node: tree.Expr) -> str:
    """Quote an expression as it is written, for a message."""
    return f"`{node.span.text}`"


def one_line(node: tree.Expr | tree.Clause | tree.Find) -> str:
    """Return the text of a clause, or a part of it, joined into one line."""
    text = " ".join(node.span.text.split())
    return text.replace("( ", "(").replace(" )", ")")


def is_aggregate(node: object) -> bool:
    """Whether this is a call such as `median(…)` or `p99(…)`, which aggregates one value per trial."""
    if not isinstance(node, tree.Call) or len(node.function.path) != 1 or len(node.arguments) != 1:
        return False
    name = node.function.path[0]
    if name in FUNCTIONS and isinstance(node.arguments[0], tree.ListOf):
        return False
    return name in types.AGGREGATES or PERCENTILE.fullmatch(name) is not None


def which_of(names: list[str]) -> str:
    """Return the question 'which of these is meant?' as a hint."""
    if len(names) == 1:
        return f"did you mean `{names[0]}`?"
    return "which one: " + " or ".join(f"`{name}`" for name in names) + "?" if names else ""
