"""The context of a place in a text: its block, and whether a name, a field or a value is expected.

In: a text up to the cursor. Out: `Writing`. The text may be incomplete, so the tokens are read, not the tree.
"""

from __future__ import annotations

import re

from zlang.record import Record
from zlang.source import Source
from zlang.syntax import lexer, tables
from zlang.syntax.lexer import Token

_BOUNDARY = {"NEWLINE", "LBRACE", "RBRACE", "EQUAL", "VBAR", "LPAR", "LSQB", "COMMA"}
_WORD = re.compile(r"[\w.-]*\Z")
_CLAUSES = {"WHERE", "TABLE", "PLOT", "EXPECT", "ASSERT", "FIND", "UNTIL"}
_VALUE = {
    "EQUAL",
    "VBAR",
    "COMMA",
    "LSQB",
    "LPAR",
    "COMPARE",
    "AND",
    "OR",
    "NOT",
    "IF",
    "THEN",
    "ELSE",
    "PLUS",
    "MINUS",
}


class Block(Record):
    """An open brace: the words before it, and the fields already in the block."""

    head: tuple[str, ...]
    fields: tuple[str, ...]


class Writing(Record):
    """The word that is being typed, and its surroundings.

    `field` is the field whose value it is, `clause` the clause that it is in, `before` the token before it.
    """

    prefix: str
    block: Block | None
    field: str
    clause: str
    before: str
    line: str


def at(text: str, offset: int) -> Writing | None:
    """The context at an offset; None within a comment."""
    matched = _WORD.search(text, 0, offset)
    prefix = matched.group() if matched else ""
    before_it = offset - len(prefix)
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    lexed = _lexed(text, before_it)
    if any(comment.span.end == before_it and "\n" not in prefix for comment in lexed.comments):
        return None
    return _read(_words(lexed), prefix, line, _fields_after(text, offset))


def tokens_before(text: str, offset: int) -> list[Token]:
    """The tokens of the entry around a place, up to that place."""
    return _words(_lexed(text, offset))


def _lexed(text: str, offset: int) -> lexer.Lexed:
    return lexer.lex(Source("", text[:offset]), tables.load(), _entry_start(text, offset))


def _words(lexed: lexer.Lexed) -> list[Token]:
    tokens = [token for token in lexed.tokens if token.type != lexer.END]
    while tokens and tokens[-1].type == "NEWLINE" and not tokens[-1].text:
        tokens.pop()
    return tokens


def _entry_start(text: str, offset: int) -> int:
    """The start of the entry around a place: the last line that is not indented."""
    line = offset
    while line > 0:
        line = text.rfind("\n", 0, line) + 1
        if text[line : line + 1].isalpha() and line < offset:
            return line
        line -= 1
    return 0


def _fields_after(text: str, offset: int) -> tuple[str, ...]:
    """The fields of the same block below the cursor."""
    end = text.find("}", offset)
    return tuple(re.findall(r"(?m)^\s*([\w-]+)\s*=(?!=)", text[offset : end if end >= 0 else offset]))


def _read(tokens: list[Token], prefix: str, line: str, after: tuple[str, ...]) -> Writing:
    stack: list[tuple[tuple[str, ...], list[str]]] = []
    field, clause, start = "", "", 0
    for index, token in enumerate(tokens):
        match token.type:
            case "LBRACE":
                head = tuple(part.text for part in tokens[start:index])
                stack.append((head, []))
                field = clause = ""
            case "RBRACE":
                if stack:
                    stack.pop()
                field = clause = ""
            case "EQUAL" if index and tokens[index - 1].type != "RPAR":
                field = tokens[index - 1].text
                if stack:
                    stack[-1][1].append(field)
            case "NEWLINE":
                field = clause = ""
            case kind if kind in _CLAUSES:
                clause = token.text
            case "FIELD":
                field = clause = ""
            case _:
                pass
        if token.type in _BOUNDARY:
            start = index + 1
    before = tokens[-1].type if tokens else ""
    field = field if before in _VALUE else ""
    block = Block(stack[-1][0], (*stack[-1][1], *after)) if stack else None
    return Writing(prefix=prefix, block=block, field=field, clause=clause, before=before, line=line)
