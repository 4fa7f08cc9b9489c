"""Text literals: from a token to its parts, with escapes, values in braces, and the indentation of multi-line texts."""

from __future__ import annotations

import re
from itertools import count

from zlang.diagnostics import Code, Diagnostic
from zlang.hints import Protocol
from zlang.source import Source, Span
from zlang.suggest import Hint
from zlang.syntax import tree
from zlang.syntax.lexer import Token


class Parsing(Protocol):
    """The interface of the parser for the functions that build nodes."""

    source: Source

    def report(self, finding: Diagnostic) -> None:
        """Collect a finding."""

    def parse_value_in_text(self, start: int, end: int) -> tree.Expr | None:
        """Parse the expression between two offsets."""


def word_of(driver: Parsing, token: Token) -> tree.Word:
    """Return a word with its place."""
    return tree.Word(Span(driver.source, token.start, token.end), token.text)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "0": "\0"}


def plain_text(driver: Parsing, token: Token) -> str:
    """Return a text that may not contain expressions."""
    text = text_of(driver, token)
    for part in text.parts:
        if not isinstance(part, str):
            driver.report(
                Code.UNEXPECTED.at(part.span, expected="plain text", found="an expression", hint="write `{{` for a `{`")
            )
    return "".join(part for part in text.parts if isinstance(part, str))


_LITERAL = r"\{\{|\}\}|[{}]|\\[\s\S]|[^{}\\]+|\\"
_SPECIAL = frozenset("{}\\")
_GOES_ON = r"[^\n]*\"[^\n]*\}|[^\n]*\}[^\n]*\""
"""The rest of a line after a text that ended at a quotation mark within its braces."""


def text_of(driver: Parsing, token: Token) -> tree.Text:
    """Return a text literal with escapes decoded and `{…}` parsed. A text in triple quotes keeps backslashes."""
    verbatim = token.text.startswith('"""')
    quote = 3 if verbatim else 1
    position, end = token.start + quote, max(token.start + quote, token.end - quote)
    parts: list[str | tree.Expr] = []
    whole = driver.source.text[position:end]
    if _SPECIAL.isdisjoint(whole):
        parts, position = [whole] if whole else [], end
    while position < end:
        piece = re.compile(_LITERAL).match(driver.source.text, position, end)
        assert piece is not None, "BUG: a text has a character that no piece matches"
        text, start, position = piece.group(), position, piece.end()
        closing = _closing_brace(driver.source.text, start, end) if text == "{" else None
        if text in {"{{", "}}"}:
            parts.append(text[0])
        elif closing is not None:
            inner = driver.parse_value_in_text(start + 1, closing)
            position = closing + 1
            if inner is not None:
                parts.append(inner)
        elif text in {"{", "}"}:
            span = Span(driver.source, start, position)
            hint = Hint(f"write `{text}{text}` for a literal `{text}`", text, text * 2, is_safe=False)
            if text == "{" and not verbatim and re.compile(_GOES_ON).match(driver.source.text, token.end):
                hint = Hint('put a text whose `{…}` contains `"` between `"""` and `"""`; a literal brace is `{{`')
            driver.report(Code.BAD_INTERPOLATION.at(span, brace=text, hint=hint))
        elif text.startswith("\\") and not verbatim:
            parts.append(_escape(driver, piece))
        else:
            parts.append(text)
    merged = tuple(_merge(parts))
    if verbatim:
        merged = _dedent(merged)
    return tree.Text(Span(driver.source, token.start, token.end), merged)


def _closing_brace(text: str, start: int, end: int) -> int | None:
    """Return the offset of the brace that closes the one at `start`."""
    depth = 0
    for i in range(start, end):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i
    return None


def _escape(driver: Parsing, piece: re.Match[str]) -> str:
    letter = piece.group()[1:]
    if letter not in _ESCAPES:
        span = Span(driver.source, piece.start(), piece.end())
        text = ", ".join(f"`\\{letter}`" for letter in _ESCAPES)
        driver.report(Code.BAD_CHARACTER.at(span, character=piece.group(), hint=f"the escapes are {text}"))
    return _ESCAPES.get(letter, letter)


def _merge(parts: list[str | tree.Expr]) -> list[str | tree.Expr]:
    merged: list[str | tree.Expr] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    return merged


_PRIVATE = 0xE000
"""From here on are characters that mean nothing; one that a text lacks stands in it for an expression."""


def _dedent(parts: tuple[str | tree.Expr, ...]) -> tuple[str | tree.Expr, ...]:
    """Remove the common indentation of a multi-line text, and the line ends next to its quotes."""
    written = "".join(part for part in parts if isinstance(part, str))
    mark = next(chr(code) for code in count(_PRIVATE) if chr(code) not in written)
    from textwrap import dedent

    lines = dedent("".join(part if isinstance(part, str) else mark for part in parts)).strip("\n").rstrip(" ")
    plain = iter(part for part in parts if not isinstance(part, str))
    result: list[str | tree.Expr] = []
    for i, piece in enumerate(lines.split(mark)):
        if i:
            result.append(next(plain))
        if piece:
            result.append(piece)
    return tuple(result)
