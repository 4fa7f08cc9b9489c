"""Texts, and commands of the shell: what is put into them is filled in at a point, and quoted where it is code."""

from __future__ import annotations

from typing import Any

from zlang.check import values
from zlang.check.expressions import Expressions, constant, failed
from zlang.check.program import ABSENT, Absent, Expr, Joined, Value, Variable
from zlang.check.types import STRING, Type
from zlang.diagnostics import Code, ProgramError
from zlang.syntax import tree

LONGEST_TEXT = 1 << 20


class Texts(Expressions):
    """Texts and commands."""

    def _text(self, node: tree.Text) -> Expr:
        if all(isinstance(part, str) for part in node.parts):
            return constant(node.span, STRING, "".join(part for part in node.parts if isinstance(part, str)))
        parts = [part if isinstance(part, str) else self.single(part) for part in node.parts]
        inner = [part for part in parts if isinstance(part, Expr)]

        def value(at: Any) -> Value:
            known = [part if isinstance(part, str) else part.value(at) for part in parts]
            return self._guard(node.span, at, lambda: _bounded(joined(known)), inner)

        return self._risk(self._combined(node.span, STRING, value, inner))

    def _command(self, node: tree.Text) -> Expr:
        """A text that is code of the shell: what is put into it is quoted."""
        parts = self.template(node)
        inner = [part for part in parts if isinstance(part, Expr)]

        def value(at: Any) -> Value:
            try:
                return shell_text(parts, at)
            except ProgramError as error:
                return failed(at, error.diagnostic)

        return self._risk(self._combined(node.span, Type(frozenset({"command"})), value, inner))

    def template(self, node: tree.Text) -> tuple[str | Expr, ...]:
        """The parts of a command, checked that no value stands inside quotes of the shell."""
        parts: list[str | Expr] = []
        quotes = ""
        for part in node.parts:
            if isinstance(part, str):
                quotes = _quotes_after(part, quotes)
                parts.append(part)
                continue
            if quotes:
                message = "a value is quoted by zlang and must not stand inside quotes of the shell"
                self.report(Code.BAD_KIND.at(part.span, message=message, hint="take the quotes away"))
            parts.append(self.single(part))
        return tuple(parts)


def joined(parts: list[Value]) -> Value:
    """A text from parts, of which some may be shell variables."""
    if any(isinstance(part, Absent) for part in parts):
        return ABSENT
    flat: list[Value] = []
    for part in parts:
        flat += part.parts if isinstance(part, Joined) else [part]
    if any(isinstance(part, Variable | tuple) for part in flat):
        return Joined(tuple(part if isinstance(part, str | Variable) else values.plain(part) for part in flat))
    return "".join(values.plain(part) for part in flat)


def _bounded(text: Value) -> Value:
    if isinstance(text, str):
        check_length(len(text))
    return text


def check_length(length: int) -> None:
    """Raise ValueProblem where a text would be too long."""
    if length > LONGEST_TEXT:
        raise values.ValueProblem(f"this text gets longer than {LONGEST_TEXT:,} characters")


def shell_text(parts: tuple[str | Expr, ...], at: Any) -> str:
    """A command with its values filled in, each quoted."""
    pieces = []
    for part in parts:
        if isinstance(part, str):
            pieces.append(part)
            continue
        try:
            pieces.append(values.shell_words(part.value(at)))
        except values.ValueProblem as problem:
            raise ProgramError(Code.NOT_SHOWN.at(part.span, message=str(problem))) from None
    return "".join(pieces)


def _quotes_after(text: str, quotes: str) -> str:
    """Which quotes of the shell are open after a piece of a command."""
    i = 0
    while i < len(text):
        char = text[i]
        if char == "\\" and quotes != "'":
            i += 1
        elif quotes:
            quotes = "" if char == quotes else quotes
        elif char in "'\"":
            quotes = char
        i += 1
    return quotes
