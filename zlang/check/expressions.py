"""Code shared by all forms of expression: the context of resolution, constants, and limits.

Rule: this module does not know any particular form. Each module of forms (`texts`, `names`, `operators`, `calls`,
`ranges`, `choices`, `declarations`) has functions `resolve_…(context, node)`, and reaches the others through
`resolve`, whose dispatch is in `resolve.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import prod

from zlang import units
from zlang.check import types, values
from zlang.check.program import (
    ABSENT,
    Absent,
    Assertion,
    Axis,
    Effort,
    Expr,
    FactorDef,
    FaultPoint,
    Instance,
    Kind,
    Reached,
    Value,
    merge_axes,
)
from zlang.check.scope import Path, Scope
from zlang.check.types import Type
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.hints import Any, TypeVar
from zlang.record import Record
from zlang.source import Source, Span
from zlang.suggest import Hint
from zlang.syntax import tree
from zlang.syntax.parse import DEEPEST
from zlang.units import Quantity

T = TypeVar("T")
LONGEST_AMONG_OPTIONS = 10_000
MOST_WORK = 100_000
MOST_STEPS = 200_000
"""Steps that a program may take before it is planned: for its lists, the calls of its functions, and its values."""
_LEAST_REMEMBERED = 4
"""Expressions with less work than this are worked out again wherever a name leads to them."""
_MOST_LEVELS, _EVALUATIONS = 4096, 25
"""An expression is worked out at this many combinations of levels at most; this many evaluations count as one step."""
_SECTOR = 512
_UNITS = {name: scalar.example.lstrip("0123456789") for name, scalar in types.SCALARS.items() if scalar.unit}


class Context(Record):
    """The context of an expression: the names in scope, the collector of findings, and data collected on the way.

    `dispatch` resolves an expression by its form. `factors` are the choices so far, by their paths. `risks` are sets
    of factors that together decide whether something has a value at a point. `table` reads a table of levels. Inside a
    declaration, `property_name` is the property whose value is resolved, `siblings` are all given properties, and
    `kind` is the kind of the thing. An expression that `is_repeated`, for each element of a list, has several values
    at a point. A field that `is_same_everywhere` cannot be a choice.
    """

    scope: Scope
    report: Callable[[Diagnostic], None]
    dispatch: Dispatch
    factors: dict[str, FactorDef]
    risks: set[frozenset[str]]
    table: Table
    effort: Effort
    property_name: str = ""
    siblings: frozenset[str] = frozenset()
    kind: Kind | None = None
    is_repeated: bool = False
    is_same_everywhere: bool = False


class NoneYet(Exception):
    """The value of a list is read before any element has been selected."""


Table = Callable[[str, Span], Source | None]
"""Reads the table of a path, relative to the file of a place; None and a finding where there is none."""
ValueAt = Callable[[Any], Value]
"""The value of an expression at a point or in a frame."""
Dispatch = Callable[[Context, tree.Expr, Type | None, Path | None], Expr]


def resolve(context: Context, node: tree.Expr, expected: Type | None = None, path: Path | None = None) -> Expr:
    """Resolve an expression. A choice in it becomes a factor under `path`; without a path, a choice is an error."""
    return context.dispatch(context, node, expected, path)


def constant(span: Span, type_: Type, value: Value) -> Expr:
    """Return an expression with the same value everywhere."""
    return Expr(span, type_, lambda _: value, is_constant=True)


def unknown(span: Span, axes: tuple[Axis, ...] | None = None) -> Expr:
    """Return a placeholder for an expression that could not be resolved, with its choices if they are known."""
    return Expr(span, Type(unknown=True, is_partial=axes is None), lambda _: ABSENT, axes or ())


def failed(at: Any, finding: Diagnostic) -> Value:
    """Record a finding at a `FaultPoint` and return an absent value; elsewhere raise the finding as a ProgramError."""
    if not isinstance(at, FaultPoint):
        raise ProgramError(finding)
    at.faults.append(finding)
    return ABSENT


def with_values(finding: Diagnostic, at: Any, parts: Iterable[Expr]) -> Diagnostic:
    """Return the finding with the values at a point of the names in some expressions."""
    for part in parts:
        text = part.span.text
        value = part.value(at)
        if text[:1].isalpha() and not isinstance(value, Absent):
            finding = finding.also(part.span, f"this is {values.show(value)}")
    return finding


def violation(assertion: Assertion, at: Any, place: Span) -> Diagnostic | None:
    """Return the finding if the condition of an assertion is false at a point or in a frame; None otherwise."""
    if assertion.condition.value(at) is not False:
        return None
    finding = Code.ASSERTED.at(place, message=assertion.sentence, hint=_within(assertion, at))
    if assertion.span.source == place.source and assertion.span != place:
        finding = finding.also(assertion.span, "this does not hold")
    return with_values(finding, at, assertion.operands)


def _within(assertion: Assertion, at: Any) -> str:
    """Return a hint for an assertion that compares one property: the values that satisfy it."""
    if assertion.bound is None:
        return ""
    hint, expr = assertion.bound
    limit = expr.value(at)
    return hint + values.show(limit) if isinstance(limit, (int, Fraction, Quantity)) else ""


def same_unit(sides: list[Expr]) -> str:
    """Return a hint for values of different units: a bare number may lack one."""
    scalars = [next(iter(side.type.scalars)) if len(side.type.scalars) == 1 else "" for side in sides]
    unit = next((_UNITS[scalar] for scalar in ("rate", "iops", *scalars) if scalar in scalars and scalar in _UNITS), "")
    for side in sides:
        text = side.span.text
        if unit and side.type == types.COUNT and text.isdecimal():
            is_bytes = "size" in scalars and int(text) >= _SECTOR  # so few bytes are never meant
            written = units.show(Quantity(Fraction(text), units.SIZE)) if is_bytes else f"{text}{unit}"
            return Hint(f"give `{text}` a unit: `{written}`", text, written, is_safe=False)
        if side.type == types.SIZE and text[:1].isdigit() and unit in {"MiB/s", "/s"}:
            return f"write a rate as `{text}/s`" if unit == "MiB/s" else "write a number per second as `1000/s`"
    if all(scalar in {"string", "path"} for scalar in scalars):
        return 'insert texts into a text: `"{a}{b}"`'
    if any(side.type.kinds for side in sides) and "string" in scalars:
        return "name the declared thing, without quotes: `where target == NAME`"
    return "use the same unit on both sides"


def guarded(span: Span, parts: Sequence[Expr] = ()) -> Callable[[ValueAt], ValueAt]:
    """Decorate a function of a point: if it fails, report that with the values of the parts."""

    def decorate(compute: ValueAt) -> ValueAt:
        def value(at: Any) -> Value:
            try:
                return compute(at)
            except ZeroDivisionError:
                *_, divisor = parts
                case = " ".join(f"if {divisor.span.text} == 0 then … else {span.text}".split())
                result = Code.DIVISION.at(
                    span, hint="divide by another number" if divisor.is_constant else f"handle that case: `{case}`"
                )
            except values.ValueProblem as problem:
                result = Code.NO_VALUE.at(span, message=str(problem))
            return failed(at, with_values(result, at, parts))

        return value

    return decorate


def note_risk(context: Context, expr: Expr) -> Expr:
    """Record that an expression may have no value at some points, depending on its factors."""
    if expr.reads:
        context.risks.add(expr.reads)
    return expr


def combine(context: Context, span: Span, type_: Type, value: Callable[[Any], Value], parts: list[Expr]) -> Expr:
    """Make an expression from parts; it is evaluated immediately if they are constant."""
    reads = frozenset[str]().union(*(part.reads for part in parts))
    axes = merge_axes(axis for part in parts for axis in part.axes)
    size = _size_of(context, span, parts)
    if size is None:
        return unknown(span)
    depth, work = size
    evaluate = value
    if reads:
        steps = sum(part.work if part.work < _LEAST_REMEMBERED else 1 for part in parts)
        levels = prod(context.factors[path].size for path in reads if path in context.factors)
        if not spend(context, span, steps * min(levels, _MOST_LEVELS) // _EVALUATIONS):
            return unknown(span)
        if work >= _LEAST_REMEMBERED and not context.is_repeated:
            evaluate = _once_at_each_point(value, steps)
    if type_.unknown or not all(part.is_constant for part in parts):
        return Expr(span, type_, evaluate, axes, reads, depth=depth, work=work)
    try:
        result = value({})
    except ProgramError as error:
        context.report(error.diagnostic)
        return unknown(span)
    if isinstance(result, Quantity):
        return constant(span, type_, result)
    return Expr(span, type_, lambda _: result, is_constant=True, depth=depth, work=work)


def _once_at_each_point(compute: Callable[[Any], Value], steps: int) -> Callable[[Any], Value]:
    """Return the function, run only once at each point even if several names lead to it; it costs some steps."""
    last: tuple[Any, Value, Sequence[Diagnostic], Sequence[tuple[Instance, Span]]] = (None, None, (), ())

    def value(at: Any) -> Value:
        nonlocal last
        before, result, faults, named = last
        if before is at:
            if faults:
                at.faults += faults
            if named:
                at.named += named
            return result
        if isinstance(at, FaultPoint):
            at.effort.steps += steps
            places = len(at.faults), len(at.named)
            result = compute(at)
            last = at, result, _distinct(at.faults[places[0] :]), _distinct(at.named[places[1] :])
        elif isinstance(at, Reached):
            place = len(at.named)
            result = compute(at)
            last = at, result, (), _distinct(at.named[place:])
        elif type(at) is dict:
            result = compute(at)
            last = at, result, (), ()
        else:  # the frames of templates may record which properties are read
            return compute(at)
        return result

    return value


def _distinct(noted: list[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(noted))


def limit_size(context: Context, expr: Expr, parts: Iterable[Expr]) -> Expr:
    """Set the depth and work of an expression from its parts; report an expression that exceeds the limits."""
    size = _size_of(context, expr.span, parts)
    return unknown(expr.span) if size is None else expr.replace(depth=size[0], work=size[1])


def _size_of(context: Context, span: Span, parts: Iterable[Expr]) -> tuple[int, int] | None:
    """Return the depth and work of an expression with these parts; report one that exceeds the limits."""
    depth, work = 1, 1
    for part in {id(part.value): part for part in parts}.values():  # an expression with two names is evaluated once
        depth, work = max(depth, part.depth + 1), work + part.work
    if depth > DEEPEST:
        hint = "its names refer to other names too many levels deep"
        context.report(Code.TOO_DEEP.at(span, limit=DEEPEST, hint=hint))
        return None
    if work > MOST_WORK:
        context.report(Code.TOO_MUCH.at(span, limit=f"{MOST_WORK:,}"))
        return None
    return depth, work


def spend(context: Context, span: Span, steps: int) -> bool:
    """Take some steps; report once, and return False, if the program has taken too many."""
    before = context.effort.steps
    context.effort.steps += steps
    if before <= MOST_STEPS < context.effort.steps:
        context.report(Code.TOO_MUCH.at(span, limit=f"{MOST_STEPS:,}"))
    return context.effort.steps <= MOST_STEPS


def dimension_of(expr: Expr) -> units.Dimension | None:
    """Return the dimension of a number; None for other values and for numbers of several dimensions."""
    if expr.type == types.Type(dimension=expr.type.dimension):
        return expr.type.dimension
    numbers = {types.DIMENSION_OF[s] for s in expr.type.scalars if s in types.DIMENSION_OF}
    return next(iter(numbers)) if len(numbers) == 1 and expr.type.scalars <= types.NUMERIC else None
