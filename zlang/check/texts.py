"""Texts and shell commands: inserted values are filled in at a point, and quoted in commands."""

from __future__ import annotations

import re
from itertools import pairwise

from zlang.check.expressions import Context, combine, constant, failed, guarded, note_risk, resolve, unknown
from zlang.check.program import Expr, Symbol, Value
from zlang.check.rendering import check_length, joined, shell_text
from zlang.check.types import STRING, Type
from zlang.diagnostics import Code, ProgramError
from zlang.hints import Any
from zlang.syntax import tree


def resolve_text(context: Context, node: tree.Text, expected: Type | None = None) -> Expr:
    """Resolve a text with its inserted values; the text may be an expected label that is not a word."""
    if all(isinstance(part, str) for part in node.parts):
        text = "".join(part for part in node.parts if isinstance(part, str))
        label = expected.variant(text) if expected is not None and not text.replace("_", "").isalnum() else None
        if label is not None:
            return constant(node.span, Type(words=(label,)), Symbol(text))
        return constant(node.span, STRING, text)
    _report_dollars(context, node, "remove the `$`, if the value is all that you want")
    parts = [part if isinstance(part, str) else resolve(context, part) for part in node.parts]
    inner = [part for part in parts if isinstance(part, Expr)]
    if any(part.type.is_partial for part in inner):  # the error has been reported already
        return unknown(node.span)

    @guarded(node.span, inner)
    def value(at: Any) -> Value:
        return _bounded(joined([part if isinstance(part, str) else part.value(at) for part in parts]))

    return note_risk(context, combine(context, node.span, STRING, value, inner))


def resolve_command(context: Context, node: tree.Text) -> Expr:
    """Resolve a text that is shell code: inserted values are quoted."""
    parts = resolve_template(context, node)
    inner = [part for part in parts if isinstance(part, Expr)]

    def value(at: Any) -> Value:
        try:
            return shell_text(parts, at)
        except ProgramError as error:
            return failed(at, error.diagnostic)

    return note_risk(context, combine(context, node.span, Type(frozenset({"command"})), value, inner))


def resolve_template(context: Context, node: tree.Text) -> tuple[str | Expr, ...]:
    """Return the parts of a command; report a value inside shell quotes."""
    _report_dollars(context, node, "remove the `$`; a variable of the shell is written `${{{{{name}}}}}`")
    for before, part in pairwise(node.parts):
        variable = re.search(_VARIABLE, before) if isinstance(before, str) and not isinstance(part, str) else None
        if variable is not None and not isinstance(part, str):
            value, name = part.span.text, variable[1]
            message = f"the value of `{value}` would become a part of the name of the variable `${name}`"
            hint = f"write `${{{{{name}}}}}{{{value}}}`"
            context.report(Code.STRAY_DOLLAR.at(part.span, name=value, hint=hint).saying(message))
    parts: list[str | Expr] = []
    quotes = ""
    for part in node.parts:
        if isinstance(part, str):
            quotes = _quotes_after(part, quotes)
            parts.append(part)
            continue
        if quotes:
            message = "zlang quotes each value, so a value must not be inside shell quotes"
            context.report(Code.BAD_KIND.at(part.span, message=message, hint="remove the quotes"))
        parts.append(resolve(context, part))
    return tuple(parts)


def resolve_parts(context: Context, node: tree.Text) -> tuple[str | Expr, ...]:
    """Return the parts of a text that no shell reads."""
    return tuple(part if isinstance(part, str) else resolve(context, part) for part in node.parts)


def resolve_plain_text(context: Context, node: tree.Expr, name: str) -> str:
    """Return the text of a field that may not contain values."""
    resolved = resolve(context, node)
    value = resolved.value(None) if resolved.is_constant else None
    if not isinstance(value, str):
        context.report(Code.WRONG_TYPE.at(node.span, name=name, expected="a plain text", found=resolved.type))
        return ""
    return value


def _report_dollars(context: Context, node: tree.Text, hint: str) -> None:
    """Warn of a `$` before an inserted value, which is the syntax of other languages."""
    for before, part in pairwise(node.parts):
        if isinstance(before, str) and before.endswith("$") and not isinstance(part, str):
            name = part.span.text
            context.report(Code.STRAY_DOLLAR.at(part.span, name=name, hint=hint.format(name=name)))


def _bounded(text: Value) -> Value:
    if isinstance(text, str):
        check_length(len(text))
    return text


def _quotes_after(text: str, quotes: str) -> str:
    """Return the shell quotes that are still open after a piece of a command."""
    for mark in re.findall(_QUOTES, text):
        if quotes == "'":  # where a backslash is a character like any other
            quotes = "" if mark.endswith("'") else "'"
        elif mark == quotes:
            quotes = ""
        elif not quotes and len(mark) == 1:
            quotes = mark
    return quotes


_QUOTES = r"\\[\s\S]|['\"]"
"""A quote of the shell, or a character after a backslash."""
_VARIABLE = r"\$([A-Za-z_]\w*)\Z"
"""A variable of the shell, up to an inserted value."""
