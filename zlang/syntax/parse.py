"""Text to tree.

In: a `Source`. Out: a `Tree` and all findings of one run. An error does not stop the parse: what could not be read is
left out, and reading goes on at the next line of the innermost block that is open (panic mode, as in the yacc family).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zlang.diagnostics import Code, Diagnostic
from zlang.record import Record
from zlang.source import Source, Span
from zlang.suggest import did_you_mean
from zlang.syntax import lexer, tables, tree
from zlang.syntax.build import BUILDERS
from zlang.syntax.lexer import END, Token

LONGEST = 1 << 20
DEEPEST = 100
_SOFT = {"PROPERTY", "OFFERS", "NEEDS", "REQUIRES", "SH", "READS", "OF", "BY", "IN", "AS"}
"""Words that are names wherever they cannot be what they are in the grammar: `fio reads { … }`."""
_LISTS = {"lines", "items", "kind_items", "commands"}


class Parsed(Record):
    """A tree and what was wrong with its text."""

    tree: tree.Tree
    findings: tuple[Diagnostic, ...]


def program(source: Source) -> Parsed:
    """Parse a whole program."""
    if len(source.text) > LONGEST:
        finding = Code.TOO_LONG.at(Span(source, 0, 0), limit=f"{LONGEST:,}", length=f"{len(source.text):,}")
        return Parsed(tree.Tree(source, (), ()), (finding,))
    lexed = lexer.lex(source, tables.load())
    driver = Driver(source, list(lexed.findings))
    entries = driver.run(lexed.tokens, "file")
    comments = tuple(lexed.comments)
    return Parsed(tree.Tree(source, entries or (), comments), tuple(sorted(driver.findings, key=lambda f: f.span.start)))


def expression(source: Source) -> tuple[tree.Expr | None, tuple[Diagnostic, ...]]:
    """Parse one expression, as `--set` takes it."""
    driver = Driver(source, [])
    return driver.parse_inside(0, len(source.text)), tuple(driver.findings)


def kind_item(source: Source, start: int, end: int) -> tree.KindItem:
    """Parse one item of a kind that is known to be sound: the standard library is read piece by piece."""
    driver = Driver(source, [])
    lexed = lexer.lex(source, driver.tables, start, end)
    item: tree.KindItem = driver.run(lexed.tokens, "kind_item")
    assert not driver.findings, f"BUG: {source.name}: {driver.findings[0].message}"
    return item


@dataclass(slots=True)
class _Part:
    state: int
    symbol: str
    value: Any
    start: int
    end: int
    height: int


class Driver:
    """The LALR automaton over the saved tables."""

    def __init__(self, source: Source, findings: list[Diagnostic]) -> None:
        self.source = source
        self.findings = findings
        self.tables = tables.load()

    def report(self, finding: Diagnostic) -> None:
        """Collect a finding."""
        self.findings.append(finding)

    def parse_inside(self, start: int, end: int) -> tree.Expr | None:
        """Parse the expression between two offsets."""
        lexed = lexer.lex(self.source, self.tables, start, end)
        self.findings.extend(lexed.findings)
        tokens = [token for token in lexed.tokens if token.type != "NEWLINE"]
        result: tree.Expr | None = self.run(tokens, "expr")
        return result

    def run(self, tokens: list[Token], start: str) -> Any:
        """The value of the start symbol, or None where an expression could not be read."""
        end_state = self.tables.ends[start]
        stack = [_Part(self.tables.starts[start], "", None, 0, 0, 0)]
        actions = self.tables.actions
        position = 0
        while True:
            token = tokens[position]
            action = actions[stack[-1].state].get(token.type)
            if action is None and token.type in _SOFT:
                token.type = "NAME"
                action = actions[stack[-1].state].get(token.type)
            if stack[-1].state == end_state and token.type == END:
                return stack[-1].value
            if action is None:
                self._report(stack, token)
                recovered = None if start != "file" else self._recover(stack, tokens, position)
                if recovered is None:
                    return stack[1].value if len(stack) > 1 and stack[1].symbol == "lines" else None
                position = recovered
            elif action >= 0:
                stack.append(_Part(action, token.type, token, token.start, token.end, 0))
                position += 1
            elif not self._reduce(stack, -1 - action, token):
                return None

    def _reduce(self, stack: list[_Part], number: int, following: Token) -> bool:
        origin, length, kept, builder = self.tables.rules[number]
        parts = stack[len(stack) - length :] if length else []
        begin, end = (parts[0].start, parts[-1].end) if parts else (following.start, following.start)
        height = max((part.height for part in parts), default=0)
        if length == 1 and not builder:
            value = parts[0].value
        else:
            span = Span(self.source, begin, end)
            value = BUILDERS[builder](self, span, *[parts[i].value for i in kept])
            if builder not in {"append", "first", "nothing", "one"}:
                height += 1
            if height > DEEPEST:
                self.report(Code.TOO_DEEP.at(span, limit=DEEPEST, hint="give parts of it names with `let`"))
                return False
        if length:
            del stack[-length:]
        goto = self.tables.gotos[stack[-1].state][origin]
        stack.append(_Part(goto, origin, value, begin, end, height))
        return True

    def _report(self, stack: list[_Part], token: Token) -> None:
        here = Span(self.source, token.start, max(token.end, token.start + (token.type != END)))
        unclosed = self._unclosed(stack, token)
        if unclosed is not None:
            self.report(unclosed.also(here, "here it should have been closed"))
            return
        expected = self._expected(stack)
        self.report(
            Code.UNEXPECTED.at(here, expected=expected, found=_found(token), hint=self._hint(stack, token, expected))
        )

    def _unclosed(self, stack: list[_Part], token: Token) -> Diagnostic | None:
        """The bracket that is to blame where a block runs into the end, or into what can only begin a line."""
        opened = [p for p in stack if p.symbol in {"LBRACE", "LPAR", "LSQB", "ZIP_OPEN"}]
        if not opened:
            return None
        last = opened[-1]
        line_start = token.start == 0 or self.source.text[token.start - 1] == "\n"
        starts_entry = token.type in {"LET", "PARAM", "PROFILE", "IMPORT", "GIVEN", "EXPERIMENT", "KIND"}
        ends_block = token.type in {"NEWLINE", "RBRACE", "FIELD"} and last.symbol != "LBRACE"
        if token.type == END or ends_block or (line_start and (starts_entry or token.type == "NAME")):
            span = Span(self.source, last.start, last.start + 1)
            closing = {"{": "}", "(": ")", "[": "]"}[self.source.text[last.start]]
            opening = self.source.text[last.start]
            return Code.UNCLOSED.at(span, opening=opening, label="opened here", hint=f"add a `{closing}`")
        return None

    def _expected(self, stack: list[_Part]) -> str:
        possible = set(self.tables.actions[stack[-1].state])
        if {"NUMBER", "STRING"} <= possible:
            return "a value"
        if "FIELD" in possible and "RBRACE" in possible and "PROPERTY" not in possible:
            return "`name = value` or `}`"
        if "PROPERTY" in possible:
            return "a property, an action or `}`"
        if "EXPERIMENT" in possible:
            return "a declaration"
        for terminal, words in _SINGLE.items():
            if terminal in possible:
                return words
        return "the end of this line" if "NEWLINE" in possible else "something else"

    def _hint(self, stack: list[_Part], token: Token, expected: str) -> str:
        if expected == "a declaration":
            words = ("let", "param", "profile", "import", "given", "experiment", "kind")
            return did_you_mean(token.text, words) or "a line begins with a kind, or with " + ", ".join(
                f"`{w}`" for w in words
            )
        if token.type == "COLON" and stack[-1].symbol == "NAME":
            return f"a field is written `{stack[-1].value.text} = …`"
        if token.text == "=" and expected != "a value":
            return "compare with `==`; a field is `name = value`"
        if token.type == "FIELD" and stack[-1].symbol == "NAME":
            return f"a `let` binds a value: `let {token.text} = …`"
        if token.type == "NAME" and expected.startswith("`name"):
            return f"a field is written `{token.text} = …`"
        if token.text in {"&", "&&"}:
            return "write `and`"
        return ""

    def _recover(self, stack: list[_Part], tokens: list[Token], position: int) -> int | None:
        """Drop the broken item; the position of the token at which reading goes on, None at the end."""
        token = tokens[position]
        at_entry = token.depth > 0 and self._begins_entry(token)
        while len(stack) > 1 and (stack[-1].symbol not in _LISTS or (at_entry and stack[-1].symbol != "lines")):
            stack.pop()
        if at_entry:
            for later in tokens[position:]:
                later.depth = max(0, later.depth - token.depth)
            return position if len(stack) > 1 else None
        depth = sum(1 for part in stack if part.symbol == "LBRACE")
        while tokens[position].type != END:
            token = tokens[position]
            if token.depth <= depth and token.type == "NEWLINE":
                return position if len(stack) > 1 else None
            if token.depth <= depth and token.type == "RBRACE" and depth > 0:
                return position
            position += 1
            if token.depth > 0 and self._begins_entry(tokens[position]):
                return self._recover(stack, tokens, position)
        return None

    def _begins_entry(self, token: Token) -> bool:
        starts = token.type in {"LET", "PARAM", "PROFILE", "IMPORT", "GIVEN", "EXPERIMENT", "KIND", "NAME"}
        return starts and (token.start == 0 or self.source.text[token.start - 1] == "\n")


_SINGLE = {
    "RPAR": "`)`",
    "RSQB": "`]`",
    "LBRACE": "`{`",
    "COLON": "`:`",
    "EQUAL": "`=`",
    "THEN": "`then`",
    "ELSE": "`else`",
    "STRING": "a text",
    "NAME": "a name",
    "FIELD": "`name = value`",
    "NEWLINE": "the end of the line",
}


def _found(token: Token) -> str:
    if token.type == END or (token.type == "NEWLINE" and not token.text):
        return "the end of the file"
    if token.type == "NEWLINE":
        return "the end of the line"
    return f"`{token.text}`" if token.type != "STRING" else "a text"
