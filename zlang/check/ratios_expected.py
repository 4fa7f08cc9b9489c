"""An `expect` that compares an aggregate of its experiment with one of another, or of the run before.

In: its condition, `median(METRIC) > 2 * median(cold_one.METRIC)`. Out: a `questions.ExpectedRatio`. Rule: it is
one comparison of two aggregates over trials, each with a constant factor, and is therefore about their ratio.
"""

from __future__ import annotations

from zlang.check import questions
from zlang.check.clause_expressions import ClauseExpressions, is_aggregate, one_line
from zlang.check.questions import ExpectedRatio, FactorRef, Term
from zlang.check.terms import term
from zlang.check.typed import resolve_condition
from zlang.check.vocabulary import FactorColumn, Vocabulary
from zlang.diagnostics import Code
from zlang.frozen import replace
from zlang.syntax import tree

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_FORM = "write one comparison of two: `expect median(METRIC) > 2 * median(EXPERIMENT.METRIC)`"


def resolve(
    expressions: ClauseExpressions, node: tree.Expect, condition: tree.Expr, *, is_overall: bool
) -> ExpectedRatio | None:
    """Return the expected ratio; None if something is wrong with the condition."""
    expressions.is_of_ratio = True
    resolve_condition(expressions.context, condition)
    if expressions.is_wrong:
        return None
    sides = _sides(expressions, condition)
    if sides is None or not isinstance(condition, tree.Binary):
        _report(expressions, condition, "one comparison with another experiment", _FORM)
        return None
    (scale, own), (other_scale, foreign) = sides
    operator = condition.operator
    if expressions.is_of_other(own):
        scale, own, other_scale, foreign = other_scale, foreign, scale, own
        operator = _MIRRORED[operator]
    other = expressions.of_other(foreign)
    assert other is not None, "BUG: a figure that was resolved before"
    experiment, of_other, there = other
    here, beyond = term(expressions, own), term(of_other, there)
    for part, place in ((here, own), (beyond, foreign)):
        if part.op not in {"median", "percentile"}:
            hint = "runs are compared by medians and percentiles, such as `median(METRIC)` or `p99(LATENCY)`"
            _report(expressions, place, "a median or a percentile", hint)
            return None
    assert expressions.words.others is not None, "BUG: another experiment without a program"
    names = (
        expressions.words.others.own,
        expressions.words.others.own if experiment == questions.PREVIOUS else experiment,
    )
    matched = _matched((expressions.words, of_other.words), (here, beyond), names)
    text = one_line(node)
    return ExpectedRatio(
        title=node.title or text.removeprefix("expect "),
        text=text,
        term=here,
        by=() if is_overall else matched,
        experiment=experiment,
        other=beyond,
        op=operator,
        limit=other_scale / scale,
        matched=matched,
    )


def _report(expressions: ClauseExpressions, node: tree.Expr, expected: str, hint: str) -> None:
    expressions.report(Code.UNEXPECTED.at(node.span, expected=expected, found=f"`{one_line(node)}`", hint=hint))


def _sides(
    expressions: ClauseExpressions, condition: tree.Expr
) -> tuple[tuple[float, tree.Call], tuple[float, tree.Call]] | None:
    """Return the aggregates of a comparison, one of which is of another experiment, each with its factor."""
    if not isinstance(condition, tree.Binary) or condition.operator not in _MIRRORED:
        return None
    left, right = (_scaled(expressions, side) for side in (condition.left, condition.right))
    if left is None or right is None or expressions.is_of_other(left[1]) == expressions.is_of_other(right[1]):
        return None
    return left, right


def _scaled(expressions: ClauseExpressions, node: tree.Expr) -> tuple[float, tree.Call] | None:
    """Return a positive factor and an aggregate: `2 * median(METRIC)`, `50% of median(METRIC)`."""
    match node:
        case tree.Call() if is_aggregate(node):
            return 1.0, node
        case tree.Binary(operator="*" | "of", left=left, right=right):
            if _has_aggregate(left):
                left, right = right, left
            inner = None if _has_aggregate(left) else _scaled(expressions, right)
            factor = _constant(expressions, left) if inner else 0.0
        case tree.Binary(operator="/", left=left, right=right):
            inner = None if _has_aggregate(right) else _scaled(expressions, left)
            divisor = _constant(expressions, right) if inner else 0.0
            factor = 1 / divisor if divisor else 0.0
        case _:
            return None
    return (factor * inner[0], inner[1]) if inner and factor > 0 else None


def _has_aggregate(node: tree.Expr) -> bool:
    return any(is_aggregate(part) for part in tree.parts(node))


def _constant(expressions: ClauseExpressions, node: tree.Expr) -> float:
    """Return a number that is the same in every trial; 0 if the expression is not one."""
    value = term(expressions, node).value
    return float(value) if isinstance(value, int | float) else 0.0


def _matched(
    words: tuple[Vocabulary, Vocabulary], terms: tuple[Term, Term], experiments: tuple[str, str]
) -> tuple[FactorRef, ...]:
    """Return the factors of both experiments that neither aggregate mentions; equal keys count as one factor."""
    factors: dict[tuple[str, str], FactorRef] = {}
    excluded = set()
    for own, of, experiment in zip(words, terms, experiments, strict=True):
        mentioned = questions.mentioned(of)
        fixed = {column.axis for column in own.columns if column.path in mentioned}
        for column in own.columns:
            key = (_key(column, experiment), column.sort)
            factor = factors.get(key) or FactorRef(column.name, (), column.sort)
            factors[key] = replace(factor, paths=tuple(dict.fromkeys((*factor.paths, column.path))))
            if column.axis in fixed:
                excluded.add(key)
    return tuple(factor for key, factor in factors.items() if key not in excluded)


def _key(column: FactorColumn, experiment: str) -> str:
    """Return the key of a factor, the same in every experiment: `.cache` for the `cache` of each."""
    return column.path.removeprefix(experiment) if column.path.startswith(f"{experiment}.") else column.path
