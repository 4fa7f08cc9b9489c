"""Text to tokens.

In: a source, or a part of it. Out: tokens with their places, comments beside them, findings.
Rule: a newline is a token only where it may end an entry (see the head of zexp.lark), so that the grammar can ignore
layout; every character belongs to a token, a comment, white space or a finding.
"""

from __future__ import annotations

import re

from zlang.diagnostics import MOST, Code, Diagnostic
from zlang.record import Record
from zlang.source import BYTE_ORDER_MARK, Source, Span
from zlang.suggest import Hint, nearest
from zlang.syntax.tables import Tables
from zlang.syntax.tree import Comment

END = "$END"
ENTRY_WORDS = ("let", "param", "profile", "import", "given", "experiment", "kind", "reader", "assert")
CLAUSES = ("where", "expect", "table", "plot", "find")
SAME_EVERYWHERE = ("repeat", "design", "layout", "budget")
"""The fields of an experiment that cannot be a choice."""
_MOST_LETTERS = 2
"""So many letters a misspelt word has more or less: `file` is not a typo for `profile`."""


def misspelt(word: str) -> list[str]:
    """Return the words at the beginning of an entry that this may be meant to be."""
    return [entry for entry in nearest(word, ENTRY_WORDS) if abs(len(entry) - len(word)) <= _MOST_LETTERS]


class Token:
    """A terminal's name, its text and place, and the number of open braces before it."""

    __slots__ = ("depth", "end", "start", "text", "type")

    def __init__(self, type_: str, text: str, start: int, end: int, depth: int = 0) -> None:
        self.type, self.text, self.start, self.end, self.depth = type_, text, start, end, depth


_TURNS = "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
"""Bidirectional control characters (Unicode, UAX 9)."""


class Lexed(Record):
    """The tokens, followed by END. It `is_closed` if every bracket in it is closed."""

    tokens: list[Token]
    comments: list[Comment]
    findings: list[Diagnostic]
    is_closed: bool = True


_PAIRS = {")": "(", "]": "[", "}": "{"}
_GOES_ON_AFTER = {"VBAR", "EQUAL", "COMMA"}


def lex(source: Source, tables: Tables, start: int = 0, end: int | None = None) -> Lexed:
    """Return all tokens from `start` to `end`."""
    return _Lexer(source, tables, start, len(source.text) if end is None else end).run()


class _Lexer:
    def __init__(self, source: Source, tables: Tables, start: int, end: int) -> None:
        self.source, self.tables, self.position, self.limit = source, tables, start, end
        if start == 0 and source.text.startswith(BYTE_ORDER_MARK):
            self.position = 1
        self.following: tuple[int, str | None] = (-1, None)
        self.tokens: list[Token] = []
        self.comments: list[Comment] = []
        self.findings: list[Diagnostic] = []
        self.open: list[str] = []
        self.depth = 0

    def run(self) -> Lexed:
        text, match_next = self.source.text, self.tables.scanner.match
        keywords, literals = self.tables.keywords, self.tables.literals
        while self.position < self.limit:
            match = match_next(text, self.position, self.limit)
            if match is None:
                self._stray_character()
                continue
            kind, begin, self.position = match.lastgroup or "", self.position, match.end()
            if kind == "BLANK":
                continue
            word = match.group()
            if kind == "NAME":
                self._add(keywords.get(word, "NAME"), word, begin)
            elif kind == "MARK":
                self._bracket(word)
                self._add(literals[word], word, begin)
                self.depth += (word == "{") - (word == "}" and self.depth > 0)
            elif kind == "NEWLINE":
                self._newline(begin)
            elif kind == "COMMENT":
                self.comments.append(Comment(Span(self.source, begin, self.position), word))
            else:
                if kind == "ZIP_OPEN":
                    self.open.append("(")
                self._add(kind, word, begin)
        if self.limit == len(text):
            self._add("NEWLINE", "", self.limit)
        self._add(END, "", self.limit)
        self._report_bidirectional()
        return Lexed(self.tokens, self.comments, self.findings, not self.open)

    def _add(self, kind: str, text: str, start: int) -> None:
        self.tokens.append(Token(kind, text, start, self.position, self.depth))

    def _bracket(self, mark: str) -> None:
        if mark in "([{":
            self.open.append(mark)
        elif mark in _PAIRS:
            # A closing brace also closes forgotten parentheses: the parser has reported these at the end of their line.
            while mark == "}" and self.open and self.open[-1] != "{":
                self.open.pop()
            if self.open and self.open[-1] == _PAIRS[mark]:
                self.open.pop()

    def _newline(self, begin: int) -> None:
        following = self._next_on_following_line()
        if following == "VBAR":
            return
        if self.tokens and self.tokens[-1].type in _GOES_ON_AFTER:
            if following not in {"FIELD", "ENTRY", "RBRACE"}:
                return
        if self.open and self.open[-1] != "{":
            if following not in {"FIELD", "ENTRY", "RBRACE"}:
                return
            while self.open and self.open[-1] != "{":
                self.open.pop()
        self._add("NEWLINE", "\n", begin)

    def _next_on_following_line(self) -> str | None:
        """Return the kind of the first token on the next non-empty line, or ENTRY for a word that begins an entry."""
        if self.following[0] < self.position:
            self.following = self._look_ahead(self.position)
        return self.following[1]

    def _look_ahead(self, position: int) -> tuple[int, str | None]:
        """Return the start and the type of the next token that is not layout."""
        while position < self.limit:
            match = self.tables.scanner.match(self.source.text, position, self.limit)
            if match is None:
                return position, None
            if match.lastgroup not in {"BLANK", "COMMENT", "NEWLINE"}:
                word = match.group()
                if match.lastgroup == "MARK":
                    return position, self.tables.literals[word]
                return position, "ENTRY" if word in ENTRY_WORDS else match.lastgroup
            position = match.end()
        return position, None

    def _stray_character(self) -> None:
        text, begin = self.source.text, self.position
        if text[begin] == '"':
            end = text.find("\n", begin, self.limit)
            self.position = end if end >= 0 else self.limit
            self._report(
                Code.UNCLOSED_TEXT.at(
                    Span(self.source, begin, self.position),
                    label="the text begins here",
                    hint='close it with `"` on the same line, or use `"""` for several lines',
                )
            )
            self._add("STRING", '""', begin)
            return
        if text[begin] == "'" and (ends := re.compile(_SINGLE_QUOTED).match(text, begin, self.limit)):
            self.position = ends.end()
            quoted = Span(self.source, begin, self.position)
            inner = ends.group()[1:-1]
            is_plain = not set(inner) & set('"\\{}')
            hint = Hint(_INSTEAD["'"], ends.group(), f'"{inner}"') if is_plain else _INSTEAD["'"]
            is_number = re.fullmatch(_WITH_UNIT, inner) is not None
            if is_number:
                hint = Hint(f"write numbers without quotes: `{inner}`", ends.group(), inner)
            self._report(Code.BAD_CHARACTER.at(quoted, character="'", hint=hint))
            self._add("NUMBER" if is_number else "STRING", inner if is_number else '""', begin)
            return
        self.position = begin + 1
        while self.position < self.limit and text[self.position] == text[begin]:
            self.position += 1
        letter = "names begin with a letter from a to z" if text[begin].isalpha() else "remove it"
        letter = (
            "a number has digits and at most one unit, such as `90s` or `1000000`" if text[begin].isdigit() else letter
        )
        hint = _INSTEAD.get(text[begin], letter)
        span = Span(self.source, begin, self.position)
        if re.compile(_ANCHOR).match(text, begin):
            hint = "write `let NAME = BASE with { … }` for something that is like another"
        elif text[begin] == "&" and re.compile(_SEVERAL).search(text, 0, begin):
            hint = "write several as a list, `[a, b]`: they run at the same time"
        elif text[begin] == ";" and re.compile(_ENTRY_AFTER).match(text, self.position):
            hint = Hint("put each declaration on a line of its own", text[begin : self.position], "\n")
        elif text[begin] in _WRITTEN and not text.startswith("=", self.position):
            hint = Hint(hint, text[begin : self.position], _WRITTEN[text[begin]])
        self._report(Code.BAD_CHARACTER.at(span, character=text[begin], hint=hint))

    def _report_bidirectional(self) -> None:
        """Report characters that change the text direction, also in comments and texts: code must run as it reads."""
        if self.source.text.isascii():
            return
        for result in re.compile(_TURNS).finditer(self.source.text, 0, self.limit):
            if len(self.findings) > MOST:
                return
            span = Span(self.source, result.start(), result.end())
            hint = "remove it: it changes the order in which the line is displayed"
            self.findings.append(Code.BAD_CHARACTER.at(span, character=f"U+{ord(result.group()):04X}", hint=hint))

    def _report(self, finding: Diagnostic) -> None:
        """Report a finding, at most one for each line: after the first, the rest of a line is a guess."""
        last = self.findings[-1].span.end if self.findings else -1
        if last >= 0 and "\n" not in self.source.text[last : finding.span.start]:
            return
        if len(self.findings) <= MOST:
            self.findings.append(finding)


_ANCHOR = r"&[A-Za-z_]\w*"
"""An anchor of YAML."""
_SEVERAL = r"\b(?:run|on|during|collect|with)[ \t]*=(?:(?!\b(?:where|expect|assert)\b)[^=\n{}])*\Z"
"""A field that can be a list."""
_ENTRY_AFTER = rf"[ \t]*(?:{'|'.join(ENTRY_WORDS)})\b"
_SINGLE_QUOTED = r"'[^'\n]*'"
_WITH_UNIT = r"\d[\d_]*(?:\.\d+)?(?:[A-Za-z]+(?:/s)?|/s|%)"
_WRITTEN = {";": "", "!": "not ", "&": "and"}
_INSTEAD = {
    ";": "separate fields by spaces, or put each on its own line",
    "'": 'write texts in `"`',
    "!": "write `not`, or `!=` between two values",
    "&": "write `and`",
    "^": "there is no power operator; multiply instead",
    "?": "write `if … then … else …`",
    "$": "write names without `$`; in a text write `{{` for a brace",
    "`": 'write texts in `"`',
}
