"""The formatter of programs.

In: a `Source`. Out: its formatted text, or the findings that prevent formatting.
Rule: the tokens and their order do not change, except that a bare `4k` becomes `4KiB` and a `yes`
becomes `on`; a line ends only where the lexer drops the line end or where an entry or a field ends. So the tree and the
comments keep their meaning, and formatting is idempotent: each decision depends only on the tokens, and on line ends
that the same decision writes again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from zlang.diagnostics import Diagnostic
from zlang.record import Record
from zlang.source import Source
from zlang.syntax import lexer, parse, tables
from zlang.syntax.lexer import END, Lexed, Token

WIDTH = 100
STEP = 2
DEEPEST = 150
"""Brackets in brackets; a text with more is left as it is."""
_FAR = 60
"""A bracket that opens right of this column has its lines at the left, not beneath it."""

_DOTDOT = "__ANON_0"
_OPENING = frozenset({"LBRACE", "LPAR", "LSQB", "ZIP_OPEN"})
_CLOSING = frozenset({"RBRACE", "RPAR", "RSQB"})
_GLUED_BEFORE = frozenset({"RPAR", "RSQB", "COMMA", "DOT", "COLON", _DOTDOT, "OPEN_END"})
_GLUED_AFTER = frozenset({"LPAR", "LSQB", "ZIP_OPEN", "DOT", _DOTDOT})
_GLUED = frozenset(
    {("NAME", "LPAR"), ("FUNCTION", "LPAR"), ("NAME", "LSQB"), ("RSQB", "LSQB"), ("RPAR", "LSQB"), ("LBRACE", "RBRACE")}
)
_BEGINS = frozenset(
    {
        "ZIP_OPEN",
        "WHERE",
        "FIND",
        "EXPECT",
        "ASSERT",
        "TABLE",
        "PLOT",
        "SH",
        "READS",
        "ASK",
        "PROPERTY",
        "OFFERS",
        "TRAIT",
        "DEFAULT",
        "WITHOUT",
        "NEEDS",
        "REQUIRES",
        "METRIC",
        "DISTRIBUTION",
    }
)
_OPERAND_ENDS = frozenset({"NAME", "NUMBER", "STRING", "RPAR", "RSQB", "RBRACE"})
_LOOSEST_FIRST = (
    *({word} for word in ("COMMA", "WHERE", "VBAR")),
    {"THEN", "ELSE"},
    *({word} for word in ("OR", "AND", "COMPARE")),
    *({"PLUS", "MINUS"}, {"TIMES", "DIVIDE", "MODULO"}),
)
_ONLY_BARS = frozenset({"VBAR"})
_BEFORE_VALUES = frozenset({"EQUAL", "VBAR", "COMPARE", "IF", "THEN", "ELSE", "AND", "OR", "NOT"})
_AFTER_NAMES = frozenset({"DOT", "LPAR", "LBRACE", "LSQB", "ON", "WITH"})
_SWITCHES = {"yes": "on", "true": "on", "no": "off", "false": "off"}
_BARE_SIZE = re.compile(r"(-?[0-9_.]+)([kKmMgGtTpPeE])(iB)?(/s)?")


class Formatted(Record):
    """The formatted text and the findings; with findings, the text is the original."""

    text: str
    findings: tuple[Diagnostic, ...]


def program(source: Source) -> Formatted:
    """Format a whole program."""
    if len(source.text) > parse.LONGEST:
        return Formatted(source.text, parse.program(source).findings)
    if "\r" in source.text or source.text.startswith("\ufeff"):
        return program(Source(source.name, plain(source.text)))
    lexed = lexer.lex(source, tables.load())
    if (finding := parse.too_many_words(source, lexed)) is not None:
        return Formatted(source.text, (finding,))
    driver = parse.Driver(source, list(lexed.findings))
    driver.run(lexed.tokens, "file")  # also classifies words that can be names: `fio reads { … }`
    if driver.findings:
        return Formatted(source.text, tuple(sorted(driver.findings, key=lambda finding: finding.span.start)))
    tokens = _Reader(source.text, lexed).run()
    return Formatted(source.text if tokens.deepest > DEEPEST else _Writer(tokens).program(), ())


def plain(text: str) -> str:
    """Return the text without a byte order mark, its lines ended by newlines, as it is when a program is read."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def number(text: str) -> str:
    """Return the literal with its unit spelled out: `4k` becomes `4KiB`. `5m` means minutes."""
    match = _BARE_SIZE.fullmatch(text)
    if match is None:
        return text
    digits, prefix, _, tail = match.groups("")
    return text if text.endswith("m") else f"{digits}{prefix.upper()}iB{tail}"


def _switches(tokens: Sequence[Token]) -> dict[str, str]:
    """Return the spelling of each word for `on` and `off`; none if a file may give the words another meaning."""
    kinds = [token.type for token in tokens]
    is_alone = "KIND" not in kinds and ("IMPORT", "STRING") not in pairwise(kinds)
    is_type = False
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_type = before.type == "COLON" or (is_type and before.type != "FIELD")
        is_value = token.type == "NAME" and before.type in _BEFORE_VALUES and after.type not in _AFTER_NAMES
        if token.text in _SWITCHES and (is_type or not is_value):
            return {}
    return _SWITCHES if is_alone else {}


# -- tokens and the gaps between them


@dataclass(slots=True)
class _Tokens:
    """Parallel lists with an element for each token except line ends."""

    text: str
    kinds: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    """The words with the blank before them, on one line."""
    widths: list[int] = field(default_factory=lambda: [0])
    """The total width of the pieces before this one."""
    partners: list[int] = field(default_factory=list)
    """For an opening bracket the place of the closing one, else 0."""
    begins: list[bool] = field(default_factory=list)
    """Whether an entry, a field or a command begins here."""
    above: dict[int, list[str]] = field(default_factory=dict)
    """Comments on lines of their own before a token; an empty one is a blank line."""
    beside: dict[int, str] = field(default_factory=dict)
    """The comment that ends the line of a token."""
    cuts: list[int] = field(default_factory=list)
    """Tokens before which a line must end, in order: for a comment, or in a block of several lines."""
    deepest: int = 0

    def is_cut(self, begin: int, end: int) -> bool:
        """Whether a line must end between two of the tokens from `begin` to `end`, exclusive."""
        return self.first_cut(begin, end) < end

    def first_cut(self, begin: int, end: int) -> int:
        """Return the first token after `begin` that must begin a line, or `end`."""
        place = bisect_right(self.cuts, begin)
        return self.cuts[place] if place < len(self.cuts) and self.cuts[place] < end else end

    def width(self, begin: int, end: int) -> int:
        """Return the width of the tokens on one line."""
        return len(self.words[begin]) + self.widths[end] - self.widths[begin + 1] if begin < end else 0

    def flat(self, begin: int, end: int) -> str:
        """Return the tokens joined into one line."""
        return self.words[begin] + "".join(self.pieces[begin + 1 : end])

    def is_on_lines(self, begin: int, end: int) -> bool:
        """Whether the tokens were written on several lines."""
        return self.text.find("\n", self.starts[begin], self.ends[end - 1]) >= 0

    def top(self, begin: int, end: int) -> Iterable[int]:
        """Yield the tokens outside nested brackets; for a bracket, only its opening."""
        i, partners = begin, self.partners
        while i < end:
            yield i
            i = (partners[i] or i) + 1


class _Reader:
    """Reads tokens with the comments at their places. `last` and `before` are the kinds of the two preceding tokens.

    `entries` holds the first token of the unfinished entry or field at each depth.
    """

    def __init__(self, text: str, lexed: Lexed) -> None:
        self.text = text
        self.lexed = lexed
        self.made = _Tokens(text)
        self.opened: list[int] = []
        self.last, self.before = "NEWLINE", ""
        self.last_end = 0
        self.comments = iter(lexed.comments)
        self.comment = next(self.comments, None)
        self.is_kind = self.in_kind = False
        self.entries: dict[int, str] = {}
        self.switches = _switches(lexed.tokens)

    def run(self) -> _Tokens:
        """Return all tokens."""
        made = self.made
        for token in self.lexed.tokens:
            kind, start = token.type, token.start
            if kind == "NEWLINE":
                self.last, self.before = kind, self.last
                continue
            begins = self._is_start_of_entry(kind)
            if begins:
                self.entries[len(self.opened)] = kind
            if self.comment is not None and self.comment.span.start < start:
                self._comments_above(start)
            if begins and self.text.count("\n", self.last_end, start) > 1:
                made.above.setdefault(len(made.kinds), []).append("")
            if kind == END:
                break
            if begins and not self.opened:
                self.is_kind = self.in_kind = kind == "KIND"
            if kind in _OPENING or kind in _CLOSING:
                self._bracket(kind, start)
            word = number(token.text) if kind == "NUMBER" else token.text
            if kind == "NAME" and self.last in _BEFORE_VALUES:
                word = self.switches.get(word, word)
            piece = self._gap(kind, begins=begins) + word
            made.kinds.append(kind)
            made.words.append(word)
            made.starts.append(start)
            made.ends.append(token.end)
            made.pieces.append(piece)
            made.partners.append(0)
            made.begins.append(begins)
            made.widths.append(made.widths[-1] + (len(piece) if kind != "STRING" else _first_line(piece)))
            self.last, self.before, self.last_end = kind, self.last, token.end
        made.cuts.sort()
        return made

    def _is_start_of_entry(self, kind: str) -> bool:
        """Whether an entry, a field or a command begins with this token."""
        if self.last in {"NEWLINE", "LBRACE"}:
            return True
        if not self.opened:
            return False
        if kind == "FIELD":
            return self.last not in {"OFFERS", "TRAIT", "DEFAULT", "EXPERIMENT", "COLON"}
        if kind == "NAME" and self.in_kind and len(self.opened) == 1:
            # Two operands are never adjacent, but the words of an action such as `verify cold linux` are.
            is_operand = self.last in _OPERAND_ENDS or (self.last == "ON" and self.before not in _OPERAND_ENDS)
            is_operand = is_operand and (self.before, self.last) != ("ASSERT", "STRING")
            return is_operand and not (
                self.last == "NAME" and any(self.made.begins[-2 if self.before == "NAME" else -1 :])
            )
        is_condition = kind == "WHERE" and self.entries.get(len(self.opened)) == "FIND"
        return kind in _BEGINS and not is_condition and self.made.kinds[self.opened[-1]] == "LBRACE"

    def _comments_above(self, start: int) -> None:
        """Read the comments before the token at `start`."""
        made, place = self.made, len(self.made.kinds)
        above: list[str] = []
        while self.comment is not None and self.comment.span.start < start:
            text, span = self.comment.text.rstrip(), self.comment.span
            lines = self.text.count("\n", self.last_end, span.start)
            if lines or not place:
                above += ["", text] if lines > 1 else [text]
            else:
                made.beside[place - 1] = text
                made.cuts.append(place)
            self.last_end = span.end
            self.comment = next(self.comments, None)
        if above:
            made.above[place] = above
            made.cuts.append(place)

    def _bracket(self, kind: str, start: int) -> None:
        made = self.made
        if kind in _OPENING:
            self.opened.append(len(made.kinds))
            made.deepest = max(made.deepest, len(self.opened))
            return
        opener = self.opened.pop()
        made.partners[opener] = len(made.kinds)
        if kind == "RBRACE" and self.text.find("\n", made.starts[opener], start) >= 0:
            made.cuts.append(opener + 1)

    def _gap(self, kind: str, *, begins: bool) -> str:
        """Return the white space before a token that stays on the line of the previous one."""
        if begins and self.last != "LBRACE":
            return "  "
        is_glued = kind in _GLUED_BEFORE or self.last in _GLUED_AFTER or (self.last, kind) in _GLUED
        is_factor = self.last == "TIMES" and self.before == "BY"
        before = self.made.kinds[-2:] if kind == "DIVIDE" else self.made.kinds[-3:-1] if self.last == "DIVIDE" else []
        is_unit = before == ["IN", "NAME"]
        return "" if is_glued or is_factor or is_unit else " "


def _first_line(text: str) -> int:
    end = text.find("\n")
    return end if end >= 0 else len(text)


# -- the lines


class _Writer:
    """Writes lines from tokens. `line` is the current line, `note` the comment that will end it."""

    def __init__(self, tokens: _Tokens) -> None:
        self.tokens = tokens
        self.lines: list[str] = []
        self.notes: dict[int, str] = {}
        self.line = ""
        self.note = ""

    def program(self) -> str:
        """Return the whole text."""
        tokens = self.tokens
        end = len(tokens.kinds)
        self.items(0, end, 0)
        self._comments(tokens.above.get(end, []), 0, is_first=not end, is_last=True)
        self._align_notes()
        return "\n".join([*self.lines, ""])

    def items(self, begin: int, end: int, indent: int) -> None:
        """Write each entry or field on its own lines, with the `=` of adjacent ones aligned."""
        tokens = self.tokens
        run: list[tuple[int, int, int]] = []
        like = ""
        for first, after in self._split(begin, end):
            equal = self._equal(first, after)
            if run and (not equal or tokens.kinds[first] != like or first in tokens.above):
                self._aligned(run, indent, is_first=run[0][0] == begin)
                run = []
            if equal:
                run.append((first, equal, after))
                like = tokens.kinds[first]
            else:
                self._comments(tokens.above.get(first, []), indent, is_first=first == begin)
                self._item(first, after, indent)
        if run:
            self._aligned(run, indent, is_first=run[0][0] == begin)

    def _split(self, begin: int, end: int) -> Iterable[tuple[int, int]]:
        first, begins = begin, self.tokens.begins
        for i in self.tokens.top(begin, end):
            if begins[i] and i > first:
                yield first, i
                first = i
        if first < end:
            yield first, end

    def _equal(self, first: int, after: int) -> int:
        """Return the position of a field's `=`; 0 if there is none, or if a comment precedes it."""
        tokens = self.tokens
        kind = tokens.kinds[first]
        if kind == "FIELD":
            return first + 1
        if kind not in {"LET", "PARAM", "OFFERS", "TRAIT", "DEFAULT", "ZIP_OPEN"}:
            return 0
        equal = next(i for i in tokens.top(first, after) if tokens.kinds[i] == "EQUAL")
        return 0 if tokens.is_cut(first, equal + 1) else equal

    def _aligned(self, run: list[tuple[int, int, int]], indent: int, *, is_first: bool) -> None:
        tokens = self.tokens
        self._comments(tokens.above.get(run[0][0], []), indent, is_first=is_first)
        bar = indent + max(tokens.width(first, equal) for first, equal, _ in run) + 1
        for first, equal, after in run:
            head = (" " * indent + tokens.flat(first, equal)).ljust(bar) + "="
            if (
                bar + 2 + tokens.width(equal + 1, after) <= WIDTH
                and not tokens.is_cut(equal, after)
                and not tokens.is_on_lines(equal, after)
            ):
                self._end(f"{head} {tokens.flat(equal + 1, after)}", tokens.beside.get(after - 1, ""))
                continue
            self.line, self.note = head, tokens.beside.get(equal, "")
            self._value(equal + 1, after, indent, bar)
            self._end(self.line, self.note)

    def _item(self, first: int, after: int, indent: int) -> None:
        """Write an item that is not a field: an import, a declaration, a property or a command."""
        tokens = self.tokens
        if indent + tokens.width(first, after) <= WIDTH and not tokens.is_cut(first, after):
            self._end(" " * indent + tokens.flat(first, after), tokens.beside.get(after - 1, ""))
            return
        self.line, self.note = " " * indent, ""
        if tokens.kinds[first] in {"EXPECT", "ASSERT"} and tokens.kinds[after - 1] == "RPAR":
            self._condition(first, after, indent)
        else:
            self._run(first, after, indent, indent + 2 * STEP, _ONLY_BARS)
        self._end(self.line, self.note)

    def _condition(self, first: int, after: int, indent: int) -> None:
        """Write a condition in parentheses on lines of its own, like a block."""
        tokens = self.tokens
        opening = tokens.partners.index(after - 1, first, after)
        self._run(first, opening, indent, indent + 2 * STEP, frozenset())
        if self.note:
            self._newline(indent + 2 * STEP)
        self.line += tokens.pieces[opening] if self.line.strip() else tokens.words[opening]
        self.note = tokens.beside.get(opening, "")
        self._newline(indent + STEP)
        here = {tokens.kinds[i] for i in tokens.top(opening + 1, after - 1)}
        breaks = next((kinds for kinds in _LOOSEST_FIRST if kinds & here), set())
        self._run(opening + 1, after - 1, indent + STEP, indent + STEP, frozenset(breaks))
        if tokens.above.get(after - 1):
            self._newline(indent + STEP)
            self._comments_within(tokens.above[after - 1], indent + STEP)
            self.line = ""
        else:
            self._newline(indent)
        self.line = " " * indent + ")"
        self.note = tokens.beside.get(after - 1, "")

    # -- values

    def _value(self, begin: int, end: int, base: int, bar: int) -> None:
        """Write a value after a `=` in the column `bar`: a choice that does not fit has its `|` under the `=`."""
        tokens = self.tokens
        bars = [i for i in tokens.top(begin, end) if tokens.kinds[i] == "VBAR"]
        if not bars:
            self._run(begin, end, base, bar + 2, frozenset())
            return
        cut = tokens.is_cut(begin - 1, end)
        fits = not cut and bar + 2 + tokens.width(begin, end) <= WIDTH
        if cut or self._is_stacked(bars) or (not fits and "LBRACE" in tokens.kinds[begin:end]):
            for first, after in zip([begin, *bars], [*bars, end], strict=True):
                if first in bars:
                    self._newline(bar)
                self._run(first, after, bar + 2, bar + 4, frozenset())
        else:
            self._run(begin, end, bar + 2, bar, _ONLY_BARS)

    def _is_stacked(self, bars: list[int]) -> bool:
        """Whether each `|` was written at the beginning or the end of a line."""
        text, starts, ends = self.tokens.text, self.tokens.starts, self.tokens.ends
        return all(text.find("\n", ends[bar - 1], starts[bar + 1]) >= 0 for bar in bars)

    def _run(self, begin: int, end: int, base: int, wrap: int, breaks: frozenset[str], reserve: int = 0) -> None:
        """Write consecutive tokens; where the next ones do not fit, begin a line in the column `wrap`.

        A line may end before a token of `breaks`; at a comma, it ends after that. `base` is the indentation of blocks,
        `reserve` the width of the text that still follows on the last line.
        """
        tokens = self.tokens
        kinds, partners = tokens.kinds, tokens.partners
        spots = [i for i in tokens.top(begin + 1, end) if (kinds[i] if kinds[i] != "COMMA" else "") in breaks]
        if "COMMA" in breaks:
            spots = [i + 1 for i in tokens.top(begin, end) if kinds[i] == "COMMA"]
        spots.append(end)
        next_spot = 0
        i = begin
        while i < end:
            if self.note:
                self._newline(wrap)
            if i in tokens.above and not tokens.begins[i]:
                self._comments_within(tokens.above[i], wrap)
            if i == spots[next_spot]:
                next_spot += 1
                if not self._fits(i, spots[next_spot], reserve if spots[next_spot] == end else 0):
                    self._newline(wrap)
            word = tokens.words[i]
            if self.line and not self.line.isspace():
                self.line += tokens.pieces[i][: -len(word)]
            closing = partners[i]
            if not closing:
                self.line += word
                self.note = tokens.beside.get(i, "")
                i += 1
                continue
            tail = self._width_after(closing + 1, spots[next_spot])
            remaining = tail + (reserve if closing + 1 == end else 0)
            if not tokens.is_cut(i, closing + 1) and self._column() + tokens.width(i, closing + 1) + remaining <= WIDTH:
                self.line += tokens.flat(i, closing + 1)
            elif kinds[i] == "LBRACE":
                self._block(i, closing, base)
            else:
                self._bracket(i, closing, base, remaining)
            self.note = tokens.beside.get(closing, "")
            i = closing + 1

    def _fits(self, begin: int, end: int, reserve: int) -> bool:
        tokens = self.tokens
        cut = tokens.first_cut(begin, end)
        column = self._column() + len(tokens.pieces[begin]) - len(tokens.words[begin])
        if column + tokens.width(begin, cut) + (reserve if cut == end else 0) <= WIDTH:
            return True
        # A block that does not fit gets its own lines, and only its brace stays on this one.
        brace = next((i for i in tokens.top(begin, cut) if tokens.kinds[i] == "LBRACE"), None)
        return brace is not None and column + tokens.width(begin, brace + 1) <= WIDTH

    def _width_after(self, begin: int, end: int) -> int:
        """Return the width of the text that must be on the line of a closing bracket, up to the next opening one."""
        tokens = self.tokens
        i = begin
        while i < end and not tokens.partners[i]:
            i += 1
        return tokens.widths[min(i + 1, end)] - tokens.widths[begin]

    def _block(self, opening: int, closing: int, base: int) -> None:
        tokens = self.tokens
        self.line += "{"
        self._end(self.line, tokens.beside.get(opening, ""))
        self.items(opening + 1, closing, base + STEP)
        self._comments(tokens.above.get(closing, []), base + STEP, is_first=closing == opening + 1, is_last=True)
        self.line, self.note = " " * base + "}", ""

    def _bracket(self, opening: int, closing: int, base: int, remaining: int) -> None:
        tokens = self.tokens
        self.line += tokens.words[opening]
        self.note = tokens.beside.get(opening, "")
        here = {tokens.kinds[i] for i in tokens.top(opening + 1, closing)}
        breaks = next((kinds for kinds in _LOOSEST_FIRST if kinds & here), set())
        wrap = self._column() if self._column() <= _FAR else base + 2 * STEP
        self._run(opening + 1, closing, wrap, wrap, frozenset(breaks), remaining + 1)
        if self.note:
            self._newline(wrap)
        self._comments_within(tokens.above.get(closing, ()), wrap)
        self.line += tokens.words[closing]

    # -- lines and comments

    def _column(self) -> int:
        return len(self.line) - self.line.rfind("\n") - 1

    def _newline(self, indent: int) -> None:
        self._end(self.line.rstrip(" "), self.note)
        self.line, self.note = " " * indent, ""

    def _end(self, line: str, note: str) -> None:
        if note:
            self.notes[len(self.lines)] = note
        self.lines.append(line)

    def _comments(self, comments: list[str], indent: int, *, is_first: bool, is_last: bool = False) -> None:
        """Write comments on their own lines, without blank lines at the edges of their block."""
        while is_first and comments and not comments[0]:
            comments = comments[1:]
        while is_last and comments and not comments[-1]:
            comments = comments[:-1]
        self.lines += [" " * indent + comment if comment else "" for comment in comments]

    def _comments_within(self, comments: Iterable[str], indent: int) -> None:
        """Write comments on their own lines between the tokens of a value."""
        for comment in filter(None, comments):
            if self.line and not self.line.isspace():
                self._newline(indent)
            self.line = " " * indent + comment
            self._newline(indent)

    def _align_notes(self) -> None:
        """Align the comments that end successive lines."""
        run: list[int] = []
        for at in [*self.notes, -1]:
            if run and (at != run[-1] + 1 or "\n" in self.lines[at]):
                column = max(_last_line(self.lines[i]) for i in run) + STEP
                for i in run:
                    blank = " " * (column - _last_line(self.lines[i]))
                    self.lines[i] = f"{self.lines[i]}{blank}{self.notes[i]}"
                run = []
            run.append(at)


def _last_line(text: str) -> int:
    return len(text) - text.rfind("\n") - 1
