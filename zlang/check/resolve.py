"""From written expressions to resolved ones: names, types, units and choices.

In: an expression of the tree and a context. Out: always an `Expr`; errors are reported, except those that only follow
from another one. Rule: the same code resolves a program's expressions (evaluated at a point) and those in the
templates of kinds (evaluated in a frame); only the scope differs.
"""

from __future__ import annotations

from collections.abc import Callable

from zlang import units
from zlang.check import types
from zlang.check.calls import resolve_call
from zlang.check.choices import resolve_choice, resolve_list, resolve_range
from zlang.check.declarations import resolve_amend, resolve_declaration
from zlang.check.expressions import Context, Table, constant, unknown
from zlang.check.lists import resolve_index, resolve_list_from, resolve_schedule
from zlang.check.names import resolve_name
from zlang.check.operators import resolve_binary, resolve_if, resolve_is_a, resolve_not
from zlang.check.program import Effort, Expr, FactorDef
from zlang.check.scope import Path, Scope
from zlang.check.texts import resolve_text
from zlang.check.types import Type
from zlang.diagnostics import Code, Diagnostic
from zlang.syntax import tree


def new_context(
    scope: Scope,
    report: Callable[[Diagnostic], None],
    factors: dict[str, FactorDef] | None = None,
    risks: set[frozenset[str]] | None = None,
    table: Table = lambda _path, _span: None,
    effort: Effort | None = None,
) -> Context:
    """Return a context that can resolve all forms of expression."""
    known_factors = {} if factors is None else factors
    return Context(
        scope=scope,
        report=report,
        dispatch=resolve_form,
        factors=known_factors,
        risks=set() if risks is None else risks,
        table=table,
        effort=effort or Effort(),
    )


def resolve_form(context: Context, node: tree.Expr, expected: Type | None, path: Path | None) -> Expr:
    """Resolve an expression by its form."""
    match node:
        case tree.Number() | tree.Text() | tree.TableCell():
            return _resolve_literal(context, node, expected)
        case tree.Name():
            return resolve_name(context, node, expected)
        case tree.Call():
            return resolve_call(context, node, expected)
        case tree.Binary():
            return resolve_binary(context, node)
        case tree.Not():
            return resolve_not(context, node)
        case tree.IsA():
            return resolve_is_a(context, node)
        case tree.If():
            return resolve_if(context, node, expected)
        case tree.ListOf() | tree.ListFrom() | tree.Index() | tree.ScheduleOf():
            return _resolve_lists(context, node, expected, path)
        case tree.Tuple():
            listed = f"[{', '.join(item.span.text for item in node.items)}]"
            hint = f"write a list as `{listed}`; fields that vary together are `(a, b) = (1, 2) | (3, 4)`"
            texts = [item.span.text for item in node.items if isinstance(item, tree.Text)]
            if len(texts) == 1 and any(tree.is_condition(item) for item in node.items):
                hint = f"the sentence comes first, without parentheses: `expect {texts[0]} CONDITION`"
            result = "several values in parentheses"
            context.report(Code.UNEXPECTED.at(node.span, expected="one value", found=result, hint=hint))
            return unknown(node.span)
        case tree.Choice() | tree.Range() | tree.Anonymous() | tree.Amend():
            if path is not None:
                return _resolve_factors(context, node, expected, path)
            finding = Code.CHOICE_HERE.at(node.span, hint="give it a name first: `let x = …`, then use `x` here")
            is_thing = isinstance(node, tree.Anonymous | tree.Amend)
            context.report(finding.saying("a thing inside an expression needs a name") if is_thing else finding)
            return unknown(node.span)


def _resolve_literal(context: Context, node: tree.Number | tree.Text | tree.TableCell, expected: Type | None) -> Expr:
    match node:
        case tree.Number():
            if node.quantity.dimension == units.UNREADABLE:
                return unknown(node.span, ())  # the error has been reported already
            return constant(node.span, types.of_quantity(node.quantity), node.quantity)
        case tree.Text():
            return resolve_text(context, node, expected)
        case tree.TableCell():
            from zlang.check.rows import resolve_cell

            return resolve_cell(context, node, expected)


def _resolve_lists(
    context: Context,
    node: tree.ListOf | tree.ListFrom | tree.Index | tree.ScheduleOf,
    expected: Type | None,
    path: Path | None,
) -> Expr:
    match node:
        case tree.ListOf():
            return resolve_list(context, node, expected, path)
        case tree.ListFrom():
            return resolve_list_from(context, node)
        case tree.Index():
            return resolve_index(context, node)
        case tree.ScheduleOf():
            return resolve_schedule(context, node, expected, path)


def _resolve_factors(
    context: Context, node: tree.Choice | tree.Range | tree.Anonymous | tree.Amend, expected: Type | None, path: Path
) -> Expr:
    match node:
        case tree.Choice():
            return resolve_choice(context, node, expected, path)
        case tree.Range():
            return resolve_range(context, node, path)
        case tree.Anonymous():
            return resolve_declaration(context, node, path, expected=expected)
        case tree.Amend():
            return resolve_amend(context, node, path)
