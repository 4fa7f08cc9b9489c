"""Text to tree.

In: a `Source`. Out: a `Tree` and all findings. An error does not stop the parser: it drops the unreadable part
and continues at the next line of the innermost open block (panic mode, as in the yacc family).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from zlang.diagnostics import MOST, Code, Diagnostic, Edit, Fix
from zlang.hints import Any
from zlang.record import Record
from zlang.source import Source, Span
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import lexer, tables, tree
from zlang.syntax.build import BUILDERS
from zlang.syntax.lexer import END, Token

LONGEST = 1 << 20
MOST_WORDS = 200_000
DEEPEST = 100
SOFT = {"PROPERTY", "OFFERS", "NEEDS", "REQUIRES", "SH", "READS", "ASK", "OF", "BY", "IN", "AS"}
SOFT |= {
    "EXPECT",
    "TABLE",
    "PLOT",
    "OVER",
    "FACET",
    "LOG",
    "FIND",
    "UNTIL",
    "READER",
    "METRIC",
    "DISTRIBUTION",
    "ASSERT",
}
SOFT |= {"DISTRIBUTION", "WITH", "FOR", "DEFAULT", "WITHOUT"}
"""Words that are names wherever they cannot be what they are in the grammar: `fio reads { … }`."""
_LISTS = {"lines", "items", "kind_items", "commands", "metrics"}
_COLLECTING = {"append", "first", "nothing", "one", "pair"}
_FLAT = {"type_add", "type_more", "path_more"}


_YAML = r"[ \t]*(?:-[ \t]+)?\w[\w .-]*:(?!\S)"
"""A line of a block of YAML, such as `key: value` or `- key: value`."""
_YAML_ITEM = r"[ \t]*-[ \t]"


class Parsed(Record):
    """A tree, the errors in its text, and the names whose entries could not be read."""

    tree: tree.Tree
    findings: tuple[Diagnostic, ...]
    broken: frozenset[str] = frozenset()


def program(source: Source) -> Parsed:
    """Parse a whole program."""
    if len(source.text) > LONGEST:
        finding = Code.TOO_LONG.at(Span(source, 0, 0), limit=f"{LONGEST:,}", length=f"{len(source.text):,}")
        return Parsed(tree.Tree(source, (), ()), (finding,))
    lexed = lexer.lex(source, tables.load())
    if (too_long := too_many_words(source, lexed)) is not None:
        return Parsed(tree.Tree(source, (), ()), (too_long,))
    driver = Driver(source, list(lexed.findings))
    entries = tuple(driver.run(lexed.tokens, "file") or ())
    findings = sorted(driver.findings, key=lambda finding: finding.span.start)
    reported = tuple(_without_consequences(source, findings))
    return Parsed(tree.Tree(source, entries, tuple(lexed.comments)), reported, frozenset(driver.broken))


def _without_consequences(source: Source, findings: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield findings without their consequences: foreign syntax in a line that is not read, a block of YAML."""
    unread = block = -2
    for finding in findings:
        line = source.text.count("\n", 0, finding.span.start)
        if finding.code is Code.BAD_CHARACTER and line == unread:
            continue
        if finding.code is Code.UNEXPECTED:
            unread = line
            start = source.text.rfind("\n", 0, finding.span.start) + 1
            is_item = block == line - 1 and re.compile(_YAML_ITEM).match(source.text, start)
            if is_item or re.compile(_YAML).match(source.text, start):
                is_continued, block = block in {line - 1, line}, line
                if is_continued:
                    continue
        yield finding


def too_many_words(source: Source, lexed: lexer.Lexed) -> Diagnostic | None:
    """Return the finding about a program that would take too long to read."""
    if len(lexed.tokens) <= MOST_WORDS:
        return None
    length, limit = f"{len(lexed.tokens):,}", f"{MOST_WORDS:,}"
    finding = Code.TOO_LONG.at(Span(source, 0, 0), limit=limit, length=length, hint="write a range, or import a table")
    return finding.saying(f"the program has {length} words and signs; the limit is {limit}")


def expression(
    source: Source, start: int = 0, end: int | None = None
) -> tuple[tree.Expr | None, tuple[Diagnostic, ...]]:
    """Parse one expression from `--set` or from a cell of a table."""
    driver = Driver(source, [])
    return driver.parse_inside(start, len(source.text) if end is None else end), tuple(driver.findings)


def clause(source: Source) -> tuple[tree.Clause | None, tuple[Diagnostic, ...]]:
    """Parse one `table` or `plot` from the command `zlang table` or `zlang plot`."""
    driver = Driver(source, [])
    return driver.parse_inside(0, len(source.text), "item"), tuple(driver.findings)


class _Part:
    """A symbol on the automaton's stack, with its value and its place."""

    __slots__ = ("end", "height", "start", "state", "symbol", "value")

    def __init__(self, state: int, symbol: str, value: Any, place: tuple[int, int], height: int) -> None:
        self.state, self.symbol, self.value, self.height = state, symbol, value, height
        self.start, self.end = place


class Driver:
    """The LALR automaton over the saved tables."""

    def __init__(self, source: Source, findings: list[Diagnostic]) -> None:
        self.source = source
        self.findings = findings
        self.broken: set[str] = set()
        self.tables = tables.load()
        self.quiet_until = 0
        self.excused: set[int] = set()

    def report(self, finding: Diagnostic) -> None:
        """Collect a finding; a line with an unreadable character or text gets only one."""
        first = self.source.text.rfind("\n", 0, finding.span.start) + 1
        codes = {Code.BAD_CHARACTER, Code.UNCLOSED_TEXT, Code.BAD_INTERPOLATION}
        unread = (f for f in self.findings if f.code in codes)
        if not any(first <= f.span.start <= finding.span.start for f in unread):
            self.findings.append(finding)

    def parse_inside(self, start: int, end: int, subject: str = "expr") -> Any:
        """Parse an expression, or another start symbol, between two offsets."""
        lexed = lexer.lex(self.source, self.tables, start, end)
        self.findings.extend(lexed.findings)
        tokens = [token for token in lexed.tokens if token.type != "NEWLINE"]
        return self.run(tokens, subject)

    def parse_value_in_text(self, start: int, end: int) -> tree.Expr | None:
        """Parse the expression between braces in a text; shell braces that cannot be read give one finding."""
        before = len(self.findings)
        value: tree.Expr | None = self.parse_inside(start, end)
        inside = self.findings[before:]
        if inside and (value is None or any(finding.code is Code.BAD_CHARACTER for finding in inside)):
            first = min(inside, key=lambda finding: finding.span.start)
            if not first.hint or self.source.text[start : start + 1].isspace():
                hint = "in a text, `{…}` inserts a value; write `{{` and `}}` for braces"
                self.findings[before:] = [first.replace(hint=hint, fixes=())]
        return value

    def run(self, tokens: list[Token], start: str) -> Any:
        """Return the value of the start symbol, or None if an expression could not be read."""
        end_state = self.tables.ends[start]
        stack = [_Part(self.tables.starts[start], "", None, (0, 0), 0)]
        actions = self.tables.actions
        position = 0
        while True:
            token = tokens[position]
            action = actions[stack[-1].state].get(token.type)
            if action is None and token.type in SOFT:
                token.type = "NAME"
                action = actions[stack[-1].state].get(token.type)
            if stack[-1].state == end_state and token.type == END:
                return stack[-1].value
            if action is None and stack[-1].symbol in {"NEWLINE", "RBRACE"}:
                action = next(iter(actions[stack[-1].state].values()))  # the item that this token ends is complete
            if action is None:
                self._report(stack, token)
                recovered = self._recover(stack, tokens, position) if self._continues(start) else None
                if recovered is None:
                    return stack[1].value if len(stack) > 1 and stack[1].symbol == "lines" else None
                position = recovered
            elif action >= 0:
                stack.append(_Part(action, token.type, token, (token.start, token.end), 0))
                position += 1
            elif not self._reduce(stack, -1 - action, token):
                recovered = self._recover(stack, tokens, position) if self._continues(start) else None
                if recovered is None:
                    return stack[1].value if len(stack) > 1 and stack[1].symbol == "lines" else None
                position = recovered

    def _continues(self, start: str) -> bool:
        return start == "file" and len(self.findings) <= MOST

    def _reduce(self, stack: list[_Part], number: int, following: Token) -> bool:
        origin, length, kept, builder = self.tables.rules[number]
        if length == 1 and not builder:  # most reductions: one symbol becomes another
            top = stack[-1]
            top.state, top.symbol = self.tables.gotos[stack[-2].state][origin], origin
            return True
        parts = stack[len(stack) - length :] if length else []
        begin, end = (parts[0].start, parts[-1].end) if parts else (following.start, following.start)
        height = max((part.height for part in parts), default=0)
        span = Span(self.source, begin, end)
        if builder in _COLLECTING:
            value = BUILDERS[builder](self, span, *[parts[i].value for i in kept])
        else:
            given = [parts[i].value for i in kept]
            value = BUILDERS[builder](self, span, *[tuple(v) if type(v) is list else v for v in given])
            height += builder not in _FLAT
        if height > DEEPEST:
            self.report(Code.TOO_DEEP.at(span, limit=DEEPEST, hint="use `let` to name parts of it"))
            return False
        if length:
            del stack[-length:]
        goto = self.tables.gotos[stack[-1].state][origin]
        stack.append(_Part(goto, origin, value, (begin, end), height))
        return True

    def _report(self, stack: list[_Part], token: Token) -> None:
        from zlang.syntax import slips

        here = Span(self.source, token.start, max(token.end, token.start + (token.type != END)))
        if token.start < self.quiet_until:
            return
        expected = self._expected(stack)
        read = tuple((part.symbol, part.value) for part in stack)
        slip = slips.meant(self.source, read, stack[-1].end, token, expected)
        unclosed = self._unclosed(stack, token) if slip is None else None
        if unclosed is not None:
            texts = [f.span.start for f in self.findings if f.code is Code.UNCLOSED_TEXT]
            if any(unclosed.span.start < start for start in texts) or unclosed.span.start in self.excused:
                return  # its closing sign may be in that text, or belongs where another token was found
            if not self.source.text[here.start :].strip():
                end = len(self.source.text.rstrip())  # where people look, rather than at the empty lines after it
                here = Span(self.source, end, end)
            self.report(unclosed.also(here, "it should be closed here"))
            return
        headless = self._headless(stack, token)
        if headless is not None:
            fix = Fix("add a `{`", (Edit(headless, " {"),), is_safe=True)
            finding = Code.UNEXPECTED.at(headless, expected="`{`", found="the end of the line")
            self.report(finding.mended_by(fix))
            return
        if self._is_at_edge(token):
            self.excused.update(part.start for part in stack if part.symbol == "LBRACE")
        hint = self._hint(stack, token, expected)
        finding = Code.UNEXPECTED.at(here, expected=expected, found=self._describe_token(token), hint=hint)
        finding = finding.mended_by(*finding.fixes, *self._fixes(token, expected))
        if slip is not None:
            finding = Code.UNEXPECTED.at(here, expected=expected, found=self._describe_token(token), hint=slip[0])
            finding = finding.mended_by(slip[1]) if slip[1] is not None else finding
        self.report(finding)

    def _unclosed(self, stack: list[_Part], token: Token) -> Diagnostic | None:
        """Return the bracket to blame if a block reaches the end of the file or a token that can only begin a line."""
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
            fix = Fix(f"add a `{closing}`", (self._closing_edit(last, stack[-1], token, closing),), is_safe=False)
            hint = f"add a `{closing}`"
            return Code.UNCLOSED.at(span, opening=opening, label="opened here", hint=hint).mended_by(fix)
        return None

    def _closing_edit(self, opened: _Part, last: _Part, token: Token, sign: str) -> Edit:
        """Return the edit that closes a bracket: after the last token read, or on its own line for a block's brace."""
        text = self.source.text
        end = max(opened.start + 1, opened.start + len(text[opened.start : last.end].rstrip()))
        if sign != "}" or ("\n" not in text[opened.start : end] and "#" not in text[opened.start : end]):
            return Edit(Span(self.source, end, end), f" {sign}" if sign == "}" else sign)
        place = Span(self.source, token.start, token.start)
        return Edit(place, "}\n" if token.type != END or text.endswith("\n") else "\n}\n")

    def _headless(self, stack: list[_Part], token: Token) -> Span | None:
        """Return the end of the declaration without a `{`, where a field has no declaration around it."""
        if token.type != "FIELD" or stack[-1].symbol != "lines" or not stack[-1].value:
            return None
        declared = stack[-1].value[-1]
        end = declared.span.end
        between = self.source.text[end : token.start]
        is_bare = isinstance(declared, tree.Declaration) and self.source.text[end - 1] != "}"
        return Span(self.source, end, end) if is_bare and re.fullmatch(_ONE_LINE_END, between) else None

    def _is_at_edge(self, token: Token) -> bool:
        """Whether a token is the first or the last of its line, where braces are written."""
        text = self.source.text
        first, end = text.rfind("\n", 0, token.start) + 1, text.find("\n", token.end)
        remaining = text[token.end : end if end >= 0 else len(text)].lstrip()
        return not text[first : token.start].strip() or not remaining or remaining.startswith("#")

    def _expected(self, stack: list[_Part]) -> str:
        states = [part.state for part in stack]
        possible = {terminal for terminal in self.tables.actions[states[-1]] if self._accepts(states, terminal)}
        if {"NUMBER", "STRING"} <= possible:
            return "a value"
        if {"NAME", "STRING"} <= possible:
            return "a name or a text"
        if "FIELD" in possible and "RBRACE" in possible and "PROPERTY" not in possible:
            return "`name = value` or `}`"
        if "PROPERTY" in possible:
            return "a property, an action or `}`"
        if "EXPERIMENT" in possible:
            return "a declaration"
        for terminal, words in _SINGLE.items():
            if terminal in possible:
                return words
        if any(part.symbol == "PARAM" for part in stack):
            return "`=` and a value"  # after a type; the lexer reads the sign together with its name
        return "the end of the line"

    def _describe_token(self, token: Token) -> str:
        if token.type == END and token.end < len(self.source.text):
            return "`}`"
        if token.type == END or (token.type == "NEWLINE" and not token.text):
            is_typed = self.source.name.startswith("--") or self.source.name in lexer.CLAUSES
            return "nothing" if is_typed else "the end of the file"
        if token.type == "NEWLINE":
            return "the end of the line"
        return f"`{token.text}`" if token.type != "STRING" else "a text"

    def _accepts(self, states: list[int], terminal: str) -> bool:
        """Whether a terminal is allowed here: an LALR table's reductions alone allow too much."""
        above: list[int] = []
        top = len(states)
        while True:
            action = self.tables.actions[above[-1] if above else states[top - 1]].get(terminal)
            if action is None or action >= 0:
                return action is not None
            origin, length, *_ = self.tables.rules[-1 - action]
            kept = max(0, len(above) - length)
            top -= max(0, length - len(above))
            del above[kept:]
            goto = self.tables.gotos[above[-1] if above else states[top - 1]].get(origin)
            if goto is None:
                return False
            above.append(goto)

    def _hint(self, stack: list[_Part], token: Token, expected: str) -> str:
        last = stack[-1]
        share = re.search(_SHARE_END, self.source.text[max(0, token.start - 40) : token.start])
        if share is not None and token.type == "NAME":
            of = f"write a share of something as `{share.group(1)} of {token.text}`"
            return f"{of}, or a field as `{token.text} = …`" if expected.startswith("`name") else of
        if last.symbol == "LET" and token.type == "NAME":
            return f"write `let {token.text} = …`; only a `param` has a type"
        if token.type == "FIELD" and token.text in lexer.ENTRY_WORDS:
            return f"`{token.text}` is a keyword; a name follows it"
        if token.type == "FIELD" and last.symbol in {"NAME", "path", "lines", ""}:
            return self._misspelt_word(stack) or self._how_to_define(last, token)
        if token.type == "COLON" and last.symbol == "NAME" and stack[-2].symbol == "path":
            return self._misspelt_word(stack)
        if token.type == "LBRACE" and last.symbol == "path":
            return f"add a name: `{last.value} NAME {{ … }}`"
        if expected == "a declaration":
            words = ", ".join(f"`{word}`" for word in lexer.ENTRY_WORDS)
            return did_you_mean(token.text, lexer.ENTRY_WORDS) or f"a line begins with a kind, or with {words}"
        if token.type == "COMMA" and expected.startswith("`name"):
            return "separate fields by spaces, or put each on its own line"
        if token.text == "=" and expected != "a value":
            return "use `==` to compare; a field is `name = value`"
        if token.type in {"NAME", "STRING"} and last.symbol in {"path", "NAME"}:
            return self._misspelt_word(stack)
        if token.type == "NAME" and expected.startswith("`name"):
            is_alone = re.compile(_STANDS_ALONE).match(self.source.text, token.end) is not None
            other = f", or `NAME = {token.text}`" if is_alone else ""
            return f"write a field as `{token.text} = {'on' if is_alone else '…'}`{other}"
        return (
            _as_keyword(token, self.source.text) if expected == "a value" and token.type == token.text.upper() else ""
        )

    def _how_to_define(self, last: _Part, token: Token) -> str:
        kind = re.compile(_KIND_AFTER_EQUAL_SIGN).match(self.source.text, token.end)
        if kind is not None and last.symbol != "lines":
            return f"a declaration is a kind, a name, and its fields: write `{kind[1]} {token.text} {{ … }}`"
        return f"to define a name, write `let {token.text} = …`"

    def _misspelt_word(self, stack: list[_Part]) -> Hint:
        """Return the keyword that may have been meant by the first word of the entry."""
        last = max((i for i, part in enumerate(stack) if part.symbol == "lines"), default=0)
        begun = stack[last + 1 : last + 2]
        word = self.source.text[begun[0].start : begun[0].end] if begun else ""
        hint = Hint("") if word in lexer.ENTRY_WORDS else did_you_mean(word, lexer.misspelt(word))
        self.broken |= {"import"} & set(hint.instead)
        return hint

    def _fixes(self, token: Token, expected: str) -> Iterator[Fix]:
        """Yield the fix of a wrong sign between a name and its value, or between fields."""
        if not expected.startswith("`name"):
            return
        if token.type == "COMMA":
            yield Fix("remove the comma", (Edit(Span(self.source, token.start, token.end), ""),), is_safe=True)
        sign = re.compile(_NO_EQUAL_SIGN).match(self.source.text, token.end) if token.type == "NAME" else None
        if sign:
            yield Fix(f"write `{token.text} = …`", (Edit(Span(self.source, *sign.span()), " = "),), is_safe=True)

    def _recover(self, stack: list[_Part], tokens: list[Token], position: int) -> int | None:
        """Drop the broken item; return the position of the token at which parsing continues, or None at the end."""
        token = tokens[position]
        at_entry = token.depth > 0 and self._begins_entry(token)
        self._note_broken_names(stack, tokens, position)
        while len(stack) > 1 and (stack[-1].symbol not in _LISTS or (at_entry and stack[-1].symbol != "lines")):
            stack.pop()
        if at_entry:
            open_before = token.depth
            for later in tokens[position:]:
                later.depth = max(0, later.depth - open_before)
            return position if len(stack) > 1 else None
        depth = sum(1 for part in stack if part.symbol == "LBRACE")
        while tokens[position].type != END:
            token = tokens[position]
            if token.depth <= depth and token.type == "NEWLINE":
                return self._past_orphans(tokens, position, depth) if len(stack) > 1 else None
            if token.depth <= depth and token.type == "RBRACE" and depth > 0:
                line_end = self.source.text.find("\n", token.start)
                settled = tokens[min(position + _SETTLING, len(tokens) - 1)].start
                self.quiet_until = min(settled, line_end) if line_end >= 0 else settled
                return position
            position += 1
            if token.depth > 0 and self._begins_entry(tokens[position]):
                return self._recover(stack, tokens, position)
        return None

    def _note_broken_names(self, stack: list[_Part], tokens: list[Token], position: int) -> None:
        """Record names that a broken entry may have bound: those before its first `=` or `{`, and its properties."""
        lines = max(i for i, part in enumerate(stack) if part.symbol == "lines" or i == 0)
        start = stack[lines + 1].start if len(stack) > lines + 1 else tokens[position].start
        while position > 0 and tokens[position - 1].start >= start:
            position -= 1
        names: set[str] = set()
        for token in tokens[position:]:
            if token.type in {"NEWLINE", END} or (names and token.type in {"EQUAL", "LBRACE"}):
                break
            if token.type in {"NAME", "FIELD", "IMPORT"}:
                names.add(token.text)
        self.broken |= names
        is_declaration = not any(part.symbol == "LBRACE" for part in stack[:lines])
        while is_declaration and tokens[position].type != END and not self._begins_entry(tokens[position + 1]):
            if tokens[position].type in {"NAME", "FIELD"} and tokens[position + 1].type == "EQUAL":
                self.broken.add(tokens[position].text)
            position += 1

    def _past_orphans(self, tokens: list[Token], position: int, depth: int) -> int:
        """Return the line end after the fields, and their `}`, that a broken head leaves behind at the top level."""
        while depth == 0:
            following = position
            while tokens[following].type == "NEWLINE":
                following += 1
            begins = tokens[following]
            is_orphan = begins.type in {"FIELD", "WHERE", "ZIP_OPEN", "RBRACE"} or begins.text in lexer.CLAUSES
            if begins.depth > 0 or not is_orphan:
                break
            position = following + 1
            while tokens[position].type != END and (tokens[position].type != "NEWLINE" or tokens[position].depth > 0):
                position += 1
            if begins.type == "RBRACE":
                break
        return position

    def _begins_entry(self, token: Token) -> bool:
        starts = token.type in {"LET", "PARAM", "PROFILE", "IMPORT", "GIVEN", "EXPERIMENT", "KIND", "NAME"}
        return starts and (token.start == 0 or self.source.text[token.start - 1] == "\n")


def _as_keyword(token: Token, text: str) -> str:
    """Return the hint for a keyword in place of a value; empty for a sign."""
    if token.text in lexer.ENTRY_WORDS and re.compile(_BEGINS_SOMETHING).match(text, token.end):
        return f"`{token.text}` begins a line: write `{token.text} NAME …` without `let`"
    return f"`{token.text}` is a keyword, which cannot be a name" if token.text.isalpha() else ""


_BEGINS_SOMETHING = r"[ \t]+[A-Za-z_{]"
_SETTLING = 3
"""The number of tokens to read after a recovery within a line before an error there is reported (as in yacc)."""
_SHARE_END = r"([0-9][0-9_.]*%)[ \t]+$"
_STANDS_ALONE = r"[ \t]*(?:[\n}#]|[A-Za-z_][\w-]*[ \t]*=|\Z)"
_ONE_LINE_END = r"[ \t]*(?:#[^\n]*)?\n[ \t]*"
_NO_EQUAL_SIGN = r"""[ \t]*(?::|==|(?=["0-9]))[ \t]*(?=[^\s=])(?![^\n{}]*=)|[ \t]*==[ \t]*(?=[^\s=])"""
"""Signs that people write between a name and its value instead of `=`."""
_KIND_AFTER_EQUAL_SIGN = r"[ \t]*=[ \t]*([A-Za-z_][\w.-]*)[ \t]*\{"
"""`= KIND {`, as other languages declare a thing."""
_SINGLE = {
    "OVER": "`over` and a factor",
    "RPAR": "`)`",
    "RSQB": "`]`",
    "LBRACE": "`{`",
    "COLON": "`:`",
    "EQUAL": "`=`",
    "THEN": "`then`",
    "ELSE": "`else`",
    "STRING": "a text",
    "NAME": "a name",
    "LOG": "`facet` or `log`",
    "FIELD": "`name = value`",
    "NEWLINE": "the end of the line",
    "AS": "`as` and a name",
    "FOR": "`for`",
}
