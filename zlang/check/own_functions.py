"""The functions that a program defines; each call evaluates the body."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from zlang.check import types
from zlang.check.expressions import Context, limit_size, resolve, spend, unknown
from zlang.check.functions import FUNCTIONS
from zlang.check.lists import InnerScope
from zlang.check.program import Absent, Expr
from zlang.check.program_names import ProgramNames
from zlang.check.scope import Scope
from zlang.diagnostics import Code, Diagnostic
from zlang.source import Span
from zlang.syntax import tree

_STEPS = 40
"""The cost of a call, also of one function by another; each call is evaluated separately."""


def resolve_function(names: ProgramNames, scope: Scope, entry: tree.FunctionDef) -> Expr:
    """Resolve a function; each call evaluates the body with the arguments in place of the parameters."""
    parameters = [word.text for word in entry.parameters]
    if entry.name.text in FUNCTIONS or entry.name.text in types.AGGREGATES:
        label = "the language has a function of this name"
        names.report(Code.DUPLICATE.at(entry.name.span, name=entry.name.text, label=label))
    for i, word in enumerate(entry.parameters):
        if word.text in parameters[:i]:
            names.report(Code.DUPLICATE.at(word.span, name=word.text))

    reported: set[tuple[object, str]] = set()

    def call(context: Context, node: tree.Call, arguments: list[Expr]) -> Expr:
        if len(arguments) != len(parameters):
            result = f"{len(arguments)} arguments" if len(arguments) != 1 else "one argument"
            expected = f"`({', '.join(parameters)})`"
            given = [argument.span.text for argument in node.arguments]
            hint = f"write `{node.function}({', '.join([*given[: len(parameters)], *parameters[len(given) :]])})`"
            finding = Code.WRONG_ARGUMENTS.at(
                node.span, name=str(node.function), expected=expected, found=result, hint=hint
            )
            names.report(finding.also(entry.name.span, "defined here"))
            return unknown(node.span)
        values = dict(zip(parameters, arguments, strict=True))

        def report(finding: Diagnostic) -> None:
            if (finding.span.place, finding.message) not in reported:
                context.report(_moved_to_call(finding, entry, node))

        return _call_function(names, context.replace(report=report), scope, entry, node.span, values)

    def report_in_body(finding: Diagnostic) -> None:
        reported.add((finding.span.place, finding.message))
        names.report(finding)

    _call_function(
        names,
        names.context(scope).replace(report=report_in_body),
        scope,
        entry,
        entry.span,
        {name: Expr(entry.span, types.UNKNOWN, lambda _: Absent()) for name in parameters},
    )
    return Expr(entry.span, types.UNKNOWN, lambda _: Absent(), call=call)


def _moved_to_call(finding: Diagnostic, entry: tree.FunctionDef, node: tree.Call) -> Diagnostic:
    """Return a finding about the body of a function at the argument that causes it, or at the call if several may."""
    if not _is_within(finding.span, entry.span):
        return finding
    given = zip(entry.parameters, node.arguments, strict=True)
    parts = [part for part in tree.parts(entry.value) if isinstance(part, tree.Name)]
    named = {part.path[0] for part in parts if _is_within(part.span, finding.span)}
    causes = [argument.span for word, argument in given if word.text in named]
    place = causes[0] if len(causes) == 1 else node.span
    return finding.replace(span=place, fixes=()).also(finding.span, "in this function")


def _is_within(span: Span, whole: Span) -> bool:
    return span.source is whole.source and whole.start <= span.start and span.end <= whole.end


def _call_function(
    names: ProgramNames,
    context: Context,
    scope: Scope,
    entry: tree.FunctionDef,
    span: Span,
    values: Mapping[str, Expr],
) -> Expr:
    if entry in names.calling:
        finding = Code.CIRCLE.at(span, name=entry.name.text, hint="a function cannot call itself")
        names.report(finding.also(entry.name.span, "defined here"))
        return unknown(span)
    if not spend(context, span, _STEPS):
        return unknown(span)
    given = {name: partial(_moved_to, value) for name, value in values.items()}
    names.calling.append(entry)
    made = resolve(context.replace(scope=InnerScope(scope, given)), entry.value)
    names.calling.pop()
    return limit_size(context, made.replace(span=span, alternatives=()), [made, *values.values()])


def _moved_to(value: Expr, span: Span) -> Expr:
    """Return the same expression at the place of the name that refers to it."""
    return value.replace(span=span)
