"""What all expressions have in common: they are worked out at once where they are the same everywhere, within limits.

Rule: this knows no form of expression. Each module of forms (`texts`, `names`, `operators`, `ranges`, `choices`,
`declarations`) adds those it is named for, and `resolve` joins them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from zlang import units
from zlang.check import types, values
from zlang.check.program import ABSENT, Absent, Axis, Expr, FactorDef, Probe, Value
from zlang.check.scope import Path, Scope
from zlang.check.types import Type
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.source import Span
from zlang.syntax import tree
from zlang.syntax.parse import DEEPEST
from zlang.units import Quantity

MOST_WORK = 100_000
_UNITS = {"size": "KiB", "duration": "s", "rate": "MiB/s", "iops": "/s", "share": "%"}


def constant(span: Span, type_: Type, value: Value) -> Expr:
    """An expression that is the same everywhere."""
    return Expr(span, type_, lambda _: value, is_constant=True)


def unknown(span: Span, axes: tuple[Axis, ...] | None = None) -> Expr:
    """Stands for what could not be resolved, with the choices in it, if these are known."""
    return Expr(span, Type(unknown=True, is_partial=axes is None), lambda _: ABSENT, axes or ())


def failed(at: Any, finding: Diagnostic) -> Value:
    """What cannot be worked out: at a probe it is noted, elsewhere raised as a ProgramError."""
    if not isinstance(at, Probe):
        raise ProgramError(finding)
    at.faults.append(finding)
    return ABSENT


def with_values(finding: Diagnostic, at: Any, parts: Iterable[Expr]) -> Diagnostic:
    """The finding with the values that the names among some expressions have there."""
    for part in parts:
        text = part.span.source.text[part.span.start : part.span.end]
        known = part.value(at)
        if text[:1].isalpha() and not isinstance(known, Absent):
            finding = finding.also(part.span, f"this is {values.show(known)}")
    return finding


def same_unit(sides: list[Expr]) -> str:
    """What to type where two things have different units: a bare number may lack one."""
    scalars = [next(iter(side.type.scalars)) if len(side.type.scalars) == 1 else "" for side in sides]
    unit = next((_UNITS[scalar] for scalar in ("rate", "iops", *scalars) if scalar in scalars and scalar in _UNITS), "")
    for side in sides:
        text = side.span.source.text[side.span.start : side.span.end]
        if unit and side.type == types.COUNT and text.isdecimal():
            return f"give `{text}` a unit: `{text}{unit}`"
        if side.type == types.SIZE and text[:1].isdigit() and unit in {"MiB/s", "/s"}:
            return f"a rate is written `{text}/s`" if unit == "MiB/s" else "a number per second is written `1000/s`"
    if all(scalar in {"string", "path"} for scalar in scalars):
        return 'texts are put into one another: `"{a}{b}"`'
    return "both must be of one unit"


class Expressions(ABC):
    """Resolves the expressions of one scope; collects findings and the factors it meets.

    `risks` are the factors, together, that decide whether something can be worked out at a point. While the properties
    of a thing are resolved `given_to` is the one whose value it is, `siblings` are all that are given.
    """

    def __init__(
        self,
        scope: Scope,
        report: Callable[[Diagnostic], None],
        factors: dict[str, FactorDef] | None = None,
        risks: set[frozenset[str]] | None = None,
    ) -> None:
        self.scope = scope
        self.report = report
        self.factors = {} if factors is None else factors
        self.risks = set() if risks is None else risks
        self.given_to = ""
        self.siblings: frozenset[str] = frozenset()

    @abstractmethod
    def resolve(self, node: tree.Expr, path: Path, expected: Type | None = None) -> Expr:
        """The expression; a choice in it is a factor under `path`."""

    @abstractmethod
    def typed(self, node: tree.Expr, path: Path, name: str, expected: Type) -> Expr:
        """The expression, which must be of a type; `name` is what it is given to."""

    @abstractmethod
    def single(self, node: tree.Expr, expected: Type | None = None) -> Expr:
        """An expression that is no choice itself."""

    @abstractmethod
    def condition(self, node: tree.Expr) -> Expr:
        """An expression that must be true or false."""

    def _guard(self, span: Span, at: Any, work: Callable[[], Value], parts: Iterable[Expr] = ()) -> Value:
        """What is worked out from parts; what is wrong at a place of the space is said with their values."""
        try:
            return work()
        except ZeroDivisionError:
            found = Code.DIVISION.at(span, hint="say what holds then: `if n == 0 then … else … / n`")
        except values.ValueProblem as problem:
            found = Code.NOT_SHOWN.at(span, message=str(problem))
        return failed(at, with_values(found, at, parts))

    def _risk(self, expr: Expr) -> Expr:
        """Note that it may be impossible to work an expression out, at points that these factors decide."""
        if expr.reads:
            self.risks.add(expr.reads)
        return expr

    def _combined(self, span: Span, type_: Type, value: Callable[[Any], Value], parts: list[Expr]) -> Expr:
        """What is worked out from parts: at once where they are the same everywhere."""
        reads = frozenset[str]().union(*(part.reads for part in parts))
        axes = tuple({axis.path: axis for part in parts for axis in part.axes}.values())
        made = self._sized(Expr(span, type_, value, axes, reads), parts)
        if made.type.unknown or not all(part.is_constant for part in parts):
            return made
        try:
            known = value({})
        except ProgramError as error:
            self.report(error.diagnostic)
            return unknown(span)
        if isinstance(known, Quantity):
            return constant(span, type_, known)
        return Expr(span, type_, lambda _: known, is_constant=True, depth=made.depth, work=made.work)

    def _sized(self, expr: Expr, parts: Iterable[Expr]) -> Expr:
        """The expression with what it takes to work it out; a finding where that is too much."""
        depth, work = 1, 1
        for part in parts:
            depth, work = max(depth, part.depth + 1), work + part.work
        if depth > DEEPEST:
            hint = "it uses names that use names that use names …"
            self.report(Code.TOO_DEEP.at(expr.span, limit=DEEPEST, hint=hint))
            return unknown(expr.span)
        if work > MOST_WORK:
            self.report(Code.TOO_MUCH.at(expr.span, limit=f"{MOST_WORK:,}"))
            return unknown(expr.span)
        given = (expr.span, expr.type, expr.value, expr.axes, expr.reads, expr.member, expr.leaves, expr.is_constant)
        return Expr(*given, depth, work)

    def _dimension(self, expr: Expr) -> units.Dimension | None:
        numbers = {types.DIMENSION_OF[s] for s in expr.type.scalars if s in types.DIMENSION_OF}
        return next(iter(numbers)) if len(numbers) == 1 and expr.type.scalars <= types.NUMERIC else None
