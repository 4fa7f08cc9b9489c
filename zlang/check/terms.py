"""From an expression of a clause to its `Term`: the formula over metrics and factors that the database computes."""

from __future__ import annotations

from zlang.check import types, values
from zlang.check.clause_expressions import PERCENTILE, ClauseExpressions, is_aggregate, one_line
from zlang.check.derived_columns import DerivedColumn
from zlang.check.expressions import resolve
from zlang.check.factors import FirstLevels
from zlang.check.measured import MOST_LEVELS
from zlang.check.names import resolve_name
from zlang.check.operators import resolve_is_a
from zlang.check.program import Expr, Instance, Value
from zlang.check.questions import FactorRef, Term
from zlang.check.types import Type
from zlang.diagnostics import Code
from zlang.syntax import tree
from zlang.units import Quantity


def term(expressions: ClauseExpressions, node: tree.Expr) -> Term:
    """Return the formula of a valid expression."""
    match node:
        case tree.Name() if expressions.is_column(node):
            return _term_of_name(expressions, node)
        case tree.Call() if is_aggregate(node):
            return _term_of_aggregate(expressions, node)
        case tree.Binary(operator="in", left=left, right=right):
            listed = resolve(expressions.context, right, Type(element=_type_of(expressions, left)))
            return Term("in", (term(expressions, left), *_values(expressions, right, listed)))
        case tree.Binary(operator="==" | "!=" as operator, left=left, right=right) if _varies(expressions, node):
            is_word = _is_word_of(expressions, left, right)
            if is_word or (expressions.may_be_word(left) and not expressions.may_be_word(right)):
                left, right = right, left
            return Term(operator, (term(expressions, left), _compared(expressions, left, right)))
        case tree.Binary(operator=operator, left=left, right=right) if _varies(expressions, node):
            return Term("*" if operator == "of" else operator, (term(expressions, left), term(expressions, right)))
        case tree.Not(operand=operand):
            return Term("not", (term(expressions, operand),))
        case tree.IsA(value=tree.Name() as name):
            return _term_of_is(expressions, node, name)
        case _:
            return _constant(expressions, node)


def _varies(expressions: ClauseExpressions, node: tree.Expr) -> bool:
    """Whether an expression may differ between trials: it reads a metric or a factor."""
    return any(isinstance(part, tree.Name) and expressions.is_column(part) for part in tree.parts(node))


def _type_of(expressions: ClauseExpressions, node: tree.Expr) -> Type | None:
    column = expressions.column(node) if isinstance(node, tree.Name) else None
    return column.type if column else None


def _compared(expressions: ClauseExpressions, other: tree.Expr, node: tree.Expr) -> Term:
    """Return the other side of a comparison; a word or a list of workloads becomes a level that `other` can have."""
    type_ = _type_of(expressions, other)
    if type_ is not None and isinstance(node, tree.Name | tree.ListOf):
        if level := _level(type_, node) or _label_of_declared(expressions, type_, node):
            return Term("value", value=level)
    is_word = _is_word_of(expressions, node, other) or not _varies(expressions, node)
    return _constant(expressions, node, type_) if is_word else term(expressions, node)


def _is_word_of(expressions: ClauseExpressions, node: tree.Expr, other: tree.Expr) -> bool:
    """Whether a name means a word that the other side can be, such as `on` beside a switch, and not a column."""
    type_ = _type_of(expressions, other)
    if type_ is None or type_.unknown or not isinstance(node, tree.Name):
        return False
    return type_.variant(str(node)) is not None or ("bool" in type_.scalars and str(node) in types.BOOLS)


def _level(type_: Type, node: tree.Expr) -> str | None:
    """Return the level that a text means; white space does not matter."""
    text = "".join(one_line(node).split())
    return next((word.name for word in type_.words if "".join(word.name.split()) == text), None)


def _label_of_declared(expressions: ClauseExpressions, type_: Type, node: tree.Expr) -> str | None:
    """Return the level of a declared thing with a label."""
    scope = expressions.context.scope
    if not type_.kinds or not isinstance(node, tree.Name) or scope.lookup(node.path[0], node.span) is None:
        return None
    thing = resolve_name(expressions.context, node, None).value(FirstLevels())
    return thing.label if isinstance(thing, Instance) and type_.variant(thing.label) is not None else None


def _constant(expressions: ClauseExpressions, node: tree.Expr, expected: Type | None = None) -> Term:
    value = _constant_value(expressions, node, resolve(expressions.context, node, expected))
    return Term("value", value=_stored(value))


def _values(expressions: ClauseExpressions, node: tree.Expr, resolved: Expr) -> list[Term]:
    """Return the elements of a list that is the same in every trial, as numbers and words."""
    value = _constant_value(expressions, node, resolved)
    return [Term("value", value=_stored(item)) for item in (value if isinstance(value, tuple) else (value,))]


def _constant_value(expressions: ClauseExpressions, node: tree.Expr, resolved: Expr) -> Value:
    """Return the value of an expression that is the same in every trial."""
    if not resolved.is_constant:
        hint = "compare it with a factor or a number"
        expressions.report(
            Code.NOT_CONSTANT.at(node.span, place="a value that is neither a metric nor a factor", hint=hint)
        )
        return None
    return resolved.value({})


def _term_of_name(expressions: ClauseExpressions, node: tree.Name) -> Term:
    name = str(node)
    if name in expressions.words.metrics:
        return Term("metric", name=name)
    ref = expressions.words.column(node)
    assert ref is not None, f"BUG: {name} is not a column"
    return _term_of_column(ref)


def _term_of_column(ref: FactorRef) -> Term:
    return Term("factor", name=ref.name, paths=ref.paths, type=ref.type if ref.values else "", values=ref.values)


def _term_of_aggregate(expressions: ClauseExpressions, node: tree.Call) -> Term:
    name = str(node.function)
    where = (term(expressions, node.where),) if node.where is not None else ()
    if match := PERCENTILE.fullmatch(name):
        share = float(f"0.{match[1]:0>2}{match[2]}")
        paths = (str(node.arguments[0]),)
        return Term(op="percentile", terms=where, name=one_line(node), value=share, paths=paths, type="duration")
    type_ = types.scalar_name(expressions.call(expressions.context, node, None).type)
    return Term(name, (term(expressions, node.arguments[0]), *where), one_line(node), type=type_)


def _term_of_is(expressions: ClauseExpressions, node: tree.IsA, name: tree.Name) -> Term:
    """Return a condition that is true for the levels of a factor that satisfy `is`."""
    levels: list[Term] = []
    columns = expressions.words.find(name.path)
    derived = None if columns else expressions.words.derived(node)
    if isinstance(derived, DerivedColumn):
        return _term_of_column(derived.ref)
    expressions.inside = "where"
    resolved = resolve_is_a(expressions.context, node)
    expressions.inside = ""
    for column in columns:
        for i in range(min(column.size, MOST_LEVELS)):
            at = FirstLevels({column.axis: i})
            if resolved.value(at) is True:
                levels.append(Term("value", value=_stored(column.value.value(at))))
    factor = _term_of_name(expressions, name)
    return Term("in", (factor, *levels)) if levels else Term("value", value=False)


def _stored(value: Value) -> str | int | float | bool | None:
    """Return a number in its base unit, or any other value as the database stores it."""
    if not isinstance(value, Quantity):
        return values.cell(value)
    return value.amount.numerator if value.is_whole else float(value.amount)
