"""Slips that people make who come from other languages: what was probably meant, and what mends it.

In: where the parser stopped. Out: a sentence that says what to type, and a fix if there is one. Rule: a slip is a
function in `SLIPS`; the first that knows what was meant says so.
"""

from __future__ import annotations

import re
from typing import Any

from zlang.diagnostics import Edit, Fix
from zlang.record import Record
from zlang.source import Source, Span
from zlang.suggest import nearest
from zlang.syntax import tree
from zlang.syntax.lexer import CLAUSES, ENTRY_WORDS, Token
from zlang.units import UNITS

Meant = tuple[str, Fix | None]


class StopPlace(Record):
    """Where the parser stopped: the symbols and values that it had read, innermost last, the token, what was expected.

    `end` is where that ends which it read last.
    """

    source: Source
    read: tuple[tuple[str, Any], ...]
    end: int
    token: Token
    expected: str

    @property
    def text(self) -> str:
        """The whole program."""
        return self.source.text

    @property
    def last(self) -> str:
        """The symbol that was read last."""
        return self.read[-1][0]

    def follows(self, sign: str) -> bool:
        """Whether the token stands directly behind a sign."""
        return self.text.endswith(sign, 0, self.token.start)

    @property
    def is_condition(self) -> bool:
        """Whether it is in a condition, or behind one."""
        for symbol, value in reversed(self.read):
            if symbol in {"items", "lines"}:
                return False
            if symbol in {"WHERE", "EXPECT", "IF"} or tree.is_condition(value):
                return True
        return False

    def fix(self, start: int, end: int, text: str, *, is_safe: bool = True) -> Fix:
        """The fix that replaces a text by another."""
        title = f"write `{text.strip()}`" if text.strip() else f"remove `{self.text[start:end].strip()}`"
        return Fix(title, (Edit(Span(self.source, start, end), text),), is_safe)


def meant(stop: StopPlace) -> Meant | None:
    """The form of zlang that was probably meant."""
    return next((result for slip in SLIPS if (result := slip(stop)) is not None), None)


def comparison(stop: StopPlace) -> Meant | None:
    """One `=`, or another sign of another language, between what is compared."""
    text, token = stop.text, stop.token
    if token.type == "FIELD" and stop.last in {"LPAR", "COMMA"} and _CALLED.search(text, 0, stop.end):
        return "write properties in braces: `KIND { NAME = VALUE }`", None
    if token.type == "FIELD" and _begins_operand(stop):
        sign = text.index("=", token.end)
        written = _TURNED.get(text[sign : sign + 2], "==")
        return f"use `{written}` to compare", stop.fix(sign, sign + 1 + (written != "=="), written)
    if token.text == "=" and (stop.follows("==") or stop.follows("!=")):
        return "use `==` or `!=` to compare", stop.fix(token.start, token.end, "")
    if token.text == "=" and stop.is_condition and stop.expected != "a value":
        written = _TURNED.get(text[token.start : token.start + 2], "==")
        return f"use `{written}` to compare", stop.fix(token.start, token.end + (written != "=="), written)
    if token.text == ">" and stop.follows("=") and stop.last == "EQUAL":
        return "write a field as `NAME = VALUE`", stop.fix(token.start, token.end, "")
    if token.text == ">" and stop.follows("<"):
        return 'write "not equal" as `!=`', stop.fix(token.start - 1, token.end, "!=")
    return None


def _begins_operand(stop: StopPlace) -> bool:
    """Whether a name stands where something is compared, and not where a field begins."""
    if stop.last == "LPAR":
        return "\n" not in stop.text[stop.end : stop.token.start]
    is_titled = stop.last == "STRING" and stop.read[-2][0] == "EXPECT"
    return is_titled or stop.last in {"WHERE", "EXPECT", "IF", "AND", "OR", "NOT"} or stop.text[stop.end - 1] == "."


def choice(stop: StopPlace) -> Meant | None:
    """A `|` too many, or something else between the values of a choice."""
    text, token = stop.text, stop.token
    if token.type == "VBAR" and stop.follows("|"):
        if stop.is_condition:
            return "write `or`", stop.fix(token.start - 1, token.end, "or")
        return "write a choice with one `|`", stop.fix(token.start, token.end, "")
    if token.type == "VBAR" and stop.last == "VBAR":
        return "add a value between the two, or remove one", stop.fix(token.start, token.end, "", is_safe=False)
    if token.type == "VBAR" and stop.last == "EQUAL":
        return "a choice does not begin with `|`", stop.fix(token.start, token.end, "")
    if stop.last == "VBAR" and token.type in {"NEWLINE", "RBRACE", "RPAR", "RSQB", "FIELD", "$END"}:
        hint = "add a value after the `|`, or remove it"
        return hint, stop.fix(stop.end - 1, stop.end, "", is_safe=False)
    if (
        token.type == "LBRACE"
        and stop.expected == "a value"
        and any(symbol == "EXPECT" for symbol, _ in stop.read[-2:])
    ):
        return "write the condition without braces", None
    if token.type == "LBRACE" and stop.expected == "a value":
        return "write a choice as `4KiB | 8KiB`, and a list as `[4KiB, 8KiB]`", None
    if token.type == "COMMA" and (field := _LIST_FIELD.search(text, 0, token.start)):
        return f"write several as a list: `{field[1]} = [a, b]`", None
    if token.type == "COMMA" and stop.expected.startswith("`name") and not _BEFORE_FIELD.match(text, token.end):
        listed = _LISTED.match(text, len(text[: token.start].rstrip()))
        if listed is not None:
            fix = stop.fix(*listed.span(), re.sub(r"\s*,", " |", listed[0]), is_safe=False)
            return "write a choice with `|`", fix
    return None


def number(stop: StopPlace) -> Meant | None:
    """A number, a range or a path that is written as elsewhere."""
    text, token = stop.text, stop.token
    units = {*UNITS, "KB", "MB", "GB", "TB"}
    if token.type == "NAME" and (before := _NUMBER_BEFORE.search(text, 0, token.start)) and token.text in units:
        written = before[1] + (f"{token.text[0]}iB" if token.text == "KB" else token.text)
        return f"write a number and its unit as one word: `{written}`", stop.fix(before.start(), token.end, written)
    if token.text == "*" and stop.follows("(") and stop.expected == "a value":
        return "write what is counted in place of `*`", None
    if token.text in {"=", "."} and stop.follows("..") and stop.expected == "a value":
        return "a range has both ends: `4KiB..64KiB`", stop.fix(token.start, token.end, "")
    if token.text in {"*", "/"} and stop.follows(token.text) and stop.expected == "a value":
        return {"*": "there is no power operator; multiply instead", "/": "use `floor(a / b)`"}[token.text], None
    if token.text == "/" and stop.expected == "a value":
        match = _PATH.match(text, token.start)
        assert match is not None
        return f'write a path as a text: `"{match[0]}"`', stop.fix(*match.span(), f'"{match[0]}"', is_safe=False)
    return None


def made(stop: StopPlace) -> Meant | None:
    """A thing without braces, with a name as paths have them, or with a value behind a colon."""
    text, token = stop.text, stop.token
    if stop.expected.startswith("`name") and token.type == "STRING" and _NAMED.match(text, token.end):
        name = token.text.strip('"')
        return f"write names without quotes: `{name} = …`", stop.fix(token.start, token.end, name, is_safe=False)
    if stop.expected == "`{`" and token.text == "/":
        return "names have no `/`; nest with `on`: `KIND NAME on PARENT { … }`", None
    if stop.expected == "`{`" and token.type in {"VBAR", "NEWLINE", "COMMA", "RSQB", "$END"}:
        symbols = [symbol for symbol, _ in stop.read]
        if "GIVEN" in symbols:
            return "add braces that say which one is given: `given KIND NAME { called = … }`", None
        if "ON" in symbols and "EQUAL" in symbols:
            return "an anonymous declaration needs braces", stop.fix(stop.end, stop.end, " {}")
        if "ON" in symbols and token.type == "VBAR":
            return "put a choice of parents in parentheses: `KIND NAME on (a | b) { … }`", None
    argument = _ARGUMENT.match(text, token.start) if token.type == "COLON" and stop.end == token.start else None
    if argument is not None and stop.expected.startswith("`name"):
        before = _WORD_BEFORE.search(text, 0, token.start)
        word = before[0] if before else ""
        sizes = _SIZES_BEFORE.search(text, 0, token.start)
        if sizes is not None:
            return f"write a range as `{sizes[0]}..{argument[1]}`", stop.fix(
                token.start, token.end, "..", is_safe=False
            )
        return f'write a word with a value as `{word}({argument[1]})`, and a text as `"{word}:{argument[1]}"`', None
    return None


def clause(stop: StopPlace) -> Meant | None:
    """Slips in a `plot` or `table`: what it is over, and percentiles."""
    token = stop.token
    if token.text == "by" and stop.expected.startswith("`over`"):
        hint = "`over` comes before `by`: `plot METRIC over FACTOR by FACTOR`"
        return hint, stop.fix(token.start, token.end, "over", is_safe=False)
    if stop.expected.startswith("`over`") and token.type in {"RBRACE", "NEWLINE", "$END"}:
        return "add the factor: `plot METRIC over FACTOR`", None
    if token.text == "over" and any(symbol == "TABLE" for symbol, _ in stop.read):
        return "a table has `by` before its factors, not `over`", stop.fix(token.start, token.end, "by")
    if token.text == "by" and stop.last == "COMMA":
        return "remove the comma before `by`", stop.fix(stop.end - 1, stop.end, "")
    percentile = _PERCENTILE_BEFORE.search(stop.text, 0, token.start) if token.type == "NUMBER" else None
    if token.type == "NUMBER" and (prefix := _P_BEFORE.search(stop.text, 0, token.start)) and token.text.isdecimal():
        written = f"{prefix[1]}{token.text}"
        return f"write the percentile without a point: `{written}`", stop.fix(prefix.start(), token.end, written)
    if percentile is not None and token.text.isdecimal():
        hint = f"any percentile is computed from the histogram: `p{percentile[2]}{token.text}({percentile[1]})`"
        return hint, stop.fix(percentile.start(), token.end, f"p{percentile[2]}{token.text}({percentile[1]})")
    return None


def sign(stop: StopPlace) -> Meant | None:
    """A sign of YAML, Python or C at a field, a name or a value."""
    token, text = stop.token, stop.text
    is_field = stop.expected.startswith("`name")
    if is_field and token.text == "-" and _KEY_OR_FIELD.match(text, token.end):
        return "remove the `-`: properties are no list", stop.fix(token.start, token.end, "")
    if is_field and token.text == "<" and text.startswith("<", token.end):
        return "write `let NAME = BASE with { … }` for something that is like another", None
    if is_field and token.type == "NAME" and (changed := _CHANGED.match(text, token.end)):
        hint = f"a field has one value: write `{token.text} = …`"
        return hint, stop.fix(token.end, changed.end(), " =", is_safe=False)
    if is_field and token.type == "NAME" and token.text not in CLAUSES and _BLOCK.match(text, token.end):
        return "there are no blocks within a block: put its fields into the block around it", None
    if token.text in {"AND", "OR", "NOT", "IN", "IS"} and stop.is_condition:
        return f"write `{token.text.lower()}`", stop.fix(token.start, token.end, token.text.lower())
    if stop.last == "LET" and token.type == "NAME" and _SEVERAL.match(text, token.end):
        return "write `let (a, b) = (1, 2)`, or a `let` for each", None
    if token.text == ":" and stop.expected == "`]`":
        return "a list has no slices: write `first(LIST, n)`, or `[x for x in LIST if …]`", None
    if token.text == "." and stop.follows("..") and text.startswith(")", token.end):
        return "write the list alone: `max(LIST)`", stop.fix(token.start - 2, token.end, "")
    return None


def schedule(stop: StopPlace) -> Meant | None:
    """A schedule without its brackets, without a comma, or with a part that does not say how long it lasts."""
    token, text = stop.token, stop.text
    if token.text == "for" and (alone := _ALONE_BEFORE.search(text, 0, token.start)):
        return f"a value that changes is a list of its parts: `[{alone[1]} for 30s, …]`", None
    part = text[text.rfind("[", 0, token.start) + 1 : token.start]
    if not _PERIOD.search(f"{part}{token.text}") or "]" in part or "\n" in part:
        return None
    if token.type == "NUMBER":
        return "put a comma between the parts of a schedule", stop.fix(stop.end, stop.end, ",")
    if token.text in {"]", ",", "for"}:
        return "each part of a schedule says how long it lasts: `[500/s for 30s, 500/s to 1000/s for 30s]`", None
    return None


def clause_word(stop: StopPlace) -> Meant | None:
    """A word in an experiment that is neither a clause nor a field, or a field without its sign."""
    token, text = stop.token, stop.text
    if not stop.expected.startswith("`name") or not any(symbol == "EXPERIMENT" for symbol, _ in stop.read):
        return None
    if token.text in _FIELDS and _VALUE.match(text, token.end):
        return f"write a field as `{token.text} = …`", stop.fix(token.end, token.end, " =")
    if token.text in _FIELDS and text.startswith(":", token.end):
        return f"write a field as `{token.text} = …`", stop.fix(token.end, token.end + 1, " =")
    if token.text in {"facet", "log"} and _PLOT.search(text, 0, token.start):
        return f"put a comma before `{token.text}`", stop.fix(stop.end, stop.end, ",")
    if token.type == "NAME" and text[: stop.end].endswith(" distinct"):
        return "a table has each level once: remove `distinct`", None
    if token.text == "as" and _MEASURES.search(text, 0, token.start):
        return "a column has the name of its measure: remove `as …`", None
    if token.type == "NAME" and _MEASURES.search(text, 0, token.start):
        return "separate measures by commas, and put `by` or `over` before factors", None
    if token.text == "on" and text.startswith(":", token.end):
        return "write a field as `on = …`", stop.fix(token.end, token.end + 1, " =")
    if token.type == "NAME" and _VALUE.match(text, token.end) and (near := nearest(token.text, _FIELDS)):
        return f"write a field as `{near[0]} = …`", stop.fix(token.start, token.end, f"{near[0]} =", is_safe=False)
    if token.type == "NAME" and (near := nearest(token.text, CLAUSES)):
        return f"did you mean `{near[0]}`?", stop.fix(token.start, token.end, near[0])
    if token.text == "if":
        with_value = "choose a value instead: `NAME = if CONDITION then A else B`"
        is_block = ":" in text[token.end : text.find("\n", token.end)]
        fix = stop.fix(token.start, token.end, "where")
        return (with_value, None) if is_block else ("use `where` to choose points", fix)
    return None


def turned_if(stop: StopPlace) -> Meant | None:
    """A value before its condition."""
    turned = _TURNED_IF.match(stop.text, stop.text.rfind("=", 0, stop.token.start)) if stop.token.text == "if" else None
    if turned is None:
        return None
    written = f"if {turned['condition']} then {turned['value']} else {turned['other']}"
    fix = stop.fix(turned.start("value"), turned.end("other"), written, is_safe=False)
    return "write `if CONDITION then A else B`", fix


def word(stop: StopPlace) -> Meant | None:
    """A word of another language, or one that is misspelt, where a clause, a name or a parent stands."""
    token, expected = stop.token, stop.expected
    if token.text in _LOOPS and expected.startswith("`name") and token.type == "NAME":
        return (
            "there are no loops: `NAME = 4KiB | 8KiB` measures both, combined with the levels of all other factors",
            None,
        )
    if token.text in {"elif", "elsif", "elseif"} and expected == "`else`":
        return "write `else if`", stop.fix(token.start, token.end, "else if")
    if expected == "a declaration" and token.text == "-" and _KEY.match(stop.text, token.end):
        return "there are no lists of declarations: write each as `KIND NAME { PROPERTY = VALUE }`", None
    if expected == "a declaration" and token.text in {"/", "-", "*"}:
        return "begin a comment with `#`", None
    if token.type == "STRING" and stop.last == "EXPERIMENT":
        return 'the name comes first: `experiment NAME "title" { … }`', None
    if token.text == "on" and expected == "the end of the line":
        return "`on` comes before the braces: `KIND NAME on PARENT { … }`", None
    if token.text == "on" and expected == "`{`":
        return "write it inside the braces: `{ on = … }`", None
    if token.type == "STRING" and stop.last == "ON":
        return "declare it, `dir here { path = … }`, and write `on here`", None
    return None


def search(stop: StopPlace) -> Meant | None:
    """A `find` without one of its parts."""
    within = [symbol for symbol, _ in stop.read]
    within = within[max((i for i, symbol in enumerate(within) if symbol == "items"), default=0) :]
    if "FIND" not in within:
        return None
    if "WHERE" in within and stop.expected == "a name":
        return "add the goal at the end: `maximising METRIC`, or `minimising …`", None
    if "WHERE" not in within and "IN" in within:
        return "add the condition after the levels: `where median(METRIC) < VALUE maximising METRIC`", None
    return None


def several_devices(stop: StopPlace) -> Meant | None:
    """A list of things, or a word of ZFS with them, behind `on`."""
    if stop.token.text in {"[", "("} and (before := _ON_BEFORE.search(stop.text, 0, stop.token.start)):
        hint = "declare several devices as one thing, whose properties are lists: see `zlang kinds disk`"
        return f"{hint}; the layout is a property of what stands on it" if before[1] else hint, None
    return None


def foreign(stop: StopPlace) -> Meant | None:
    """A word with which other languages say what zlang says in another form."""
    token, text = stop.token, stop.text
    symbols = [symbol for symbol, _ in stop.read]
    line = text[text.rfind("\n", 0, token.start) + 1 : token.start].split()
    begin = (line or [token.text])[0].lower()
    if stop.expected == "a name" and token.text == ":" and begin == "experiment":
        return "write `experiment NAME { FIELD = VALUE … }`", None
    if stop.expected == "a name" and token.text == ":" and len(line) == 1 and begin not in ENTRY_WORDS:
        return "write `let NAME = VALUE`, or `KIND NAME { PROPERTY = VALUE }`", None
    if stop.expected == "a name" and token.text == "-" and text.startswith("-", token.end):
        return "write options as properties: `KIND NAME { OPTION = VALUE }`", None
    is_top = "LBRACE" not in symbols and "EQUAL" not in symbols
    if is_top and begin in ENTRIES:
        return ENTRIES[begin], None
    is_kind = stop.last in {"path", "NAME"} and not nearest(begin, ENTRY_WORDS)
    if stop.expected == "a name" and token.type == "STRING" and is_kind:
        name = token.text.strip('"')
        return f"write the name without quotes: `{name}`", stop.fix(
            token.start, token.end, name, is_safe=name.isidentifier()
        )
    if is_top and stop.expected == "`{`" and token.text == ":" and not nearest(begin, ENTRY_WORDS):
        return "put its properties in braces: `KIND NAME { PROPERTY = VALUE }`", None
    if is_top and stop.expected == "`{`" and len(line) > 1 and not nearest(begin, ENTRY_WORDS):
        return "a line declares something, it is not a command: `KIND NAME on PARENT { PROPERTY = VALUE }`", None
    if "EXPERIMENT" in symbols and stop.expected == "`{`" and token.type == "NAME":
        before = _WORD_BEFORE.search(text, 0, stop.end)
        name = f"{before[0] if before else ''}_{token.text}"
        return f"a name is one word: `{name}`", stop.fix(stop.end, token.start, "_", is_safe=False)
    if stop.expected.startswith("`name") and "LBRACE" in symbols:
        words = EXPERIMENT_WORDS if "EXPERIMENT" in symbols else FIELD_WORDS
        if token.text in words:
            return words[token.text], None
        within = "EXPERIMENT" in symbols and line[-2:-1] == ["="] and token.text not in {*_FIELDS, *CLAUSES}
        if within and token.type == "NAME" and _ALONE.match(text, token.end):
            return f"write a choice with `|`: `{line[-1]} | {token.text}`", stop.fix(
                stop.end, token.start, " | ", is_safe=False
            )
    if is_top and token.text == "[" and not line:
        return ENTRIES["[global]"], None
    return None


def as_elsewhere(stop: StopPlace) -> Meant | None:
    """A duration in two words, a list of YAML, a section of an INI file, a condition before its sentence."""
    token, text = stop.token, stop.text
    if token.text in _TIME_WORDS and (before := _NUMBER_BEFORE.search(text, 0, token.start)):
        written = before[1] + _TIME_WORDS[token.text]
        return f"write a number and its unit as one word: `{written}`", stop.fix(before.start(), token.end, written)
    if token.text == "-" and stop.expected == "a value" and (listed := _DASHES.match(text, token.start)):
        written = " | ".join(_DASH.sub("", line).strip() for line in listed[0].strip().splitlines())
        end = token.start + len(listed[0].rstrip())
        return f"write a choice with `|`: `{written}`", stop.fix(token.start, end, written, is_safe=False)
    section = _SECTION.match(text, token.start) if stop.expected == "a declaration" else None
    if section is not None and section[1] != "global":
        return f"a section is a declaration in braces: `KIND {section[1]} {{ NAME = VALUE … }}`", None
    if token.text == "." and stop.expected == "a value" and (path := _DOTS.match(text, token.start)):
        return f'write a path as a text: `"{path[0]}"`', stop.fix(*path.span(), f'"{path[0]}"', is_safe=False)
    if token.text == "{" and stop.last == "EXPERIMENT":
        return "add a name: `experiment NAME { … }`", stop.fix(token.start, token.start, "first ", is_safe=False)
    if token.text == "-" and stop.expected.startswith("`name") and text.startswith("-", token.end):
        return "write an option without dashes: `OPTION = VALUE`", None
    if token.text == "(" and stop.expected == "`{`" and _NAMED_ARGUMENT.match(text, token.end):
        return "write properties in braces: `KIND NAME { PROPERTY = VALUE }`", None
    if stop.expected == "a text" and stop.last == "ASSERT":
        return 'the sentence comes first: `assert "SENTENCE" CONDITION`', None
    if stop.expected == "`{`" and token.text == ":" and any(symbol == "EXPERIMENT" for symbol, _ in stop.read):
        return "put its fields in braces: `experiment NAME { FIELD = VALUE … }`", None
    is_sentence = token.type == "STRING" and not token.text.strip('"').isidentifier()
    if stop.expected == "a name" and stop.last in {"path", "NAME"} and is_sentence and " " in token.text:
        return "a line is `KIND NAME { … }`; a sentence is a title, or stands behind `expect` in an experiment", None
    return None


def bare_word(stop: StopPlace) -> Meant | None:
    """Words in an experiment without a sign between them, or one alone."""
    token, text = stop.token, stop.text
    is_in_experiment = stop.expected.startswith("`name") and any(symbol == "EXPERIMENT" for symbol, _ in stop.read)
    if not is_in_experiment or token.type != "NAME":
        return None
    if own := _PROPERTY.match(text, token.end):
        path = f"{token.text}.{own[1]}"
        with_value = f"`{token.text} with {{ {own[1]} = … }}`"
        return f"to choose points, write `where {path} == …`; to change it, run {with_value}", None
    if pair := _TWO_WORDS.match(text, token.end):
        return f"a choice stands where the value belongs: `{pair[1]} = … | …` in the thing that has `{pair[1]}`", None
    if _ALONE.match(text, token.end):
        return f"write which field it is: `on = {token.text}`, or `run = {token.text}`", None
    return None


def foreign_value(stop: StopPlace) -> Meant | None:
    """A value, or what follows one, as other languages write it."""
    token, text = stop.token, stop.text
    symbols = [symbol for symbol, _ in stop.read]
    if stop.expected == "the end of the line":
        if token.text in ENTRY_WORDS or (token.type == "NAME" and _ENTRY.match(text, token.end)):
            return "put each declaration on a line of its own", stop.fix(stop.end, token.start, "\n", is_safe=False)
        if text[: stop.end].endswith(" lambda"):
            return "write a function as `let NAME(x) = …`", None
    if stop.last in {"IS", "NOT"} and "IS" in symbols[-2:] and token.type in {"NUMBER", "STRING"}:
        begin_of_is = text.rindex("is", 0, token.start)
        sign = "!=" if stop.last == "NOT" else "=="
        return f"use `{sign}` to compare values", stop.fix(begin_of_is, token.start, f"{sign} ")
    if token.text in {"vs", "versus", "against"} and stop.expected.startswith("`over`"):
        return "write `over`: `plot METRIC over FACTOR`", stop.fix(token.start, token.end, "over")
    if token.text == "for" and stop.expected == "`)`":
        return "write a list as `[VALUE for NAME in LIST]`, in brackets", None
    if "EXPERIMENT" in symbols and "ON" in symbols and stop.expected == "`{`" and token.type in {"RBRACE", "NEWLINE"}:
        return "write two fields: `run = …  on = …`", None
    if token.text in VALUE_WORDS and stop.expected == "the end of the line":
        return VALUE_WORDS[token.text], None
    if token.type == "STRING" and stop.end == token.start and text[token.start - 1 : token.start] in {"f", "r", "b"}:
        hint = 'a text needs no letter before it: `"{x}"` inserts a value'
        return hint, stop.fix(token.start - 1, token.start, "")
    return None


SLIPS = (
    as_elsewhere,
    turned_if,
    search,
    schedule,
    comparison,
    sign,
    choice,
    number,
    made,
    clause,
    several_devices,
    foreign,
    foreign_value,
    clause_word,
    bare_word,
    word,
)
ENTRIES = {
    "for": "there are no loops: `NAME = 4KiB | 8KiB` measures both",
    "while": "there are no loops: `NAME = 4KiB | 8KiB` measures both",
    "lambda": "write a function as `let NAME(x) = …`",
    "class": "write a kind as `kind NAME: ROLE { … }`",
    "type": "write a kind as `kind NAME: ROLE { … }`",
    "struct": "write a kind as `kind NAME: ROLE { … }`",
    "if": "choose a value instead: `NAME = if CONDITION then A else B`",
    "def": "write a function as `let NAME(x) = …`",
    "function": "write a function as `let NAME(x) = …`",
    "fn": "write a function as `let NAME(x) = …`",
    "from": "write `import MODULE`: all kinds of the module are then known",
    "include": 'write `import "./lab.zexp"`',
    "require": 'write `import "./lab.zexp"`',
    "source": 'write `import "./lab.zexp"`',
    "import": "write one module a line: `import MODULE`",
    "terraform": "remove it: a program does not state its own version",
    **dict.fromkeys(
        ("insert", "create", "update", "delete", "drop"), "results are only read: ask them with `zlang sql`"
    ),
    "print": "`zlang plan` shows values; remove it",
    "variable": "write `param NAME = VALUE`, which `--set NAME=…` changes",
    "variables": "write `param NAME = VALUE`, which `--set NAME=…` changes",
    "locals": "write `let NAME = VALUE`",
    "resource": "write the kind and the name without quotes: `KIND NAME { … }`",
    "module": 'write `import "./lab.zexp" as NAME { PARAM = VALUE }`',
    "provider": "write `import MODULE`",
    "output": "write `table …` in the experiment",
    "run": "`zlang run FILE` runs experiments: remove the line",
    **dict.fromkeys(CLAUSES, "it belongs into an experiment: `experiment NAME { … }`"),
    "select": "ask results with `zlang sql`, or write `table median(METRIC) by FACTOR` in the experiment",
    "[global]": "write `let base = …`, or `let other = base with { … }` to share options",
}
"""Words that begin a line in other languages, with what to write instead."""
EXPERIMENT_WORDS = {
    "group": "write `table median(METRIC) by FACTOR`",
    "order": "tables are in the order of the levels; `zlang sql` can sort",
    "limit": "write `design = sample(100)` to measure fewer points",
    "select": "write `table median(METRIC) by FACTOR`",
    **dict.fromkeys(("desc", "asc"), "tables are in the order of the levels; `zlang sql` can sort"),
    **dict.fromkeys(("measure", "metrics", "report", "show", "print", "record"), "write `table METRIC, … by FACTOR`"),
    "compare": "`zlang compare --by FACTOR` compares levels after a run; to state what you expect, write `expect …`",
    "join": "a trial has all columns already: remove it",
    "times": "write the number alone",
    "not": "write `where not (CONDITION)`",
    "having": "write `expect CONDITION`; for a factor, `where CONDITION`",
    "filter": "write `where CONDITION`",
    "only": "write `where CONDITION`",
    "when": "write `where CONDITION`",
    "unless": "write `where not (CONDITION)`",
    "exclude": "write `where not (CONDITION)`",
    "except": "write `where not (CONDITION)`",
    "skip": "write `where not (CONDITION)`",
    "between": "write `where LOW <= x <= HIGH`",
    "like": 'write `where starts_with(x, "…")`, or `"part" in x`',
    "vs": "write `plot METRIC over FACTOR`",
    "against": "write `plot METRIC over FACTOR`",
    "for": "there are no loops: `NAME = 4KiB | 8KiB` measures both, combined with the levels of all other factors",
}
"""Words of queries and other languages in an experiment, and what to write instead."""
_RANGE = "write a range as `4KiB..64KiB by *2`"
FIELD_WORDS = {
    **dict.fromkeys(("step", "to", "until", "through"), _RANGE),
    "if": "write `if CONDITION then A else B`",
    "metric": "a kind declares its metrics: `kind NAME: workload { … metric … }`",
}
"""The same among the properties of a declared thing."""
_TIMES = "write a number and its unit as one word: `5s`, `5min`, `2h`"
VALUE_WORDS = {
    **dict.fromkeys(("seconds", "second", "sec", "secs", "minutes", "minute", "hours", "hour", "days", "day"), _TIMES),
    "if": "write `if CONDITION then A else B`",
    ".": 'functions stand before their values: `len(x)`; texts are joined as `"{a}{b}"`',
    ",": "write one value, a choice `a | b`, or a list `[a, b]`",
}
"""Words behind a value."""
_TIME_WORDS = {
    **dict.fromkeys(("seconds", "second", "sec", "secs"), "s"),
    **dict.fromkeys(("minutes", "minute", "mins"), "min"),
    **dict.fromkeys(("hours", "hour", "hrs"), "h"),
    **dict.fromkeys(("days", "day"), "d"),
    **dict.fromkeys(("milliseconds", "millisecond"), "ms"),
}
_DASHES = re.compile(r"(?:[ \t]*-[ \t]+[^\s{}=:]+[ \t]*(?:\n|\Z))+")
_DASH = re.compile(r"^[ \t]*-")
_TWO_WORDS = re.compile(r"[ \t]+([A-Za-z_]\w*)[ \t]+(?:over|in|from|across|with|to|as|between)\b")
_DOTS = re.compile(r"\.{1,2}(?:/[\w./-]*)?(?=[\s}])")
_NAMED_ARGUMENT = re.compile(r"\s*[A-Za-z_]\w*\s*=(?!=)")
_PROPERTY = re.compile(r"\.([A-Za-z_]\w*)[ \t]*=(?!=)")
_SECTION = re.compile(r"\[([A-Za-z_][\w-]*)\]")
_ALONE = re.compile(r"[ \t]*(?:[\n}#]|\Z|[A-Za-z_][\w-]*[ \t]*=)")
_ENTRY = re.compile(r"[ \t]+[A-Za-z_][\w-]*[ \t]*(?:\{|on\b)")
_FIELDS = {"with", "before", "run", "during", "cache", "repeat", "design", "collect", "budget"}
_SIZES_BEFORE = re.compile(r"(?<![\w.])\d[\w.]*\Z")
_NAMED = re.compile(r"[ \t]*[=:]")
_KEY_OR_FIELD = re.compile(r"[ \t]*[A-Za-z_][\w-]*[ \t]*[=:]")
_CHANGED = re.compile(r"[ \t]*[-+*/|]=(?!=)")
_BLOCK = re.compile(r"[ \t]*\{")
_SEVERAL = re.compile(r"[ \t]*,")
_ON_BEFORE = re.compile(r"^[ \t]*\w+[ \t]+\w+[ \t]+on[ \t]+([A-Za-z]\w*)?\Z", re.MULTILINE)
_CALLED = re.compile(r"=[ \t]*[A-Za-z_][\w-]*\((?:[^()\n]*,)?\Z")
_KEY = re.compile(r"[ \t]+[\w-]+:")
_VALUE = re.compile(r"[ \t]+[\w\[]")
_LIST_FIELD = re.compile(r"\b(collect|with|during)[ \t]*=[^=\n|]*\Z")
_MEASURES = re.compile(r"\btable[ \t]+[^\n\"]*[\w)][ \t]+\Z")
_ALONE_BEFORE = re.compile(r"=[ \t]*(\d[\w./%]*)[ \t]+\Z")
_PERIOD = re.compile(r"^[^\[]*[\w)%][ \t]+(?:for|to)\b(?!.*\bin\b)")
_PLOT = re.compile(r"\bplot[ \t]+[^\n]+\Z")
_LOOPS = {"for", "foreach", "while", "loop", "repeat"}
_ARGUMENT = re.compile(r":([\w.]+%?)")
_WORD_BEFORE = re.compile(r"[A-Za-z_][\w-]*\Z")
_P_BEFORE = re.compile(r"(?<![\w.])(p\d\d)\.\Z")
_PERCENTILE_BEFORE = re.compile(r"(\w+)_p(\d\d)\.\Z")
_TURNED_IF = re.compile(r"=[ ]*(?P<value>[^\s|]+) if (?P<condition>[^\n{}]+?) else (?P<other>[^\s|{}]+)")
"""A value before its condition, as Python has it."""
_TURNED = {"=>": ">=", "=<": "<="}
_BEFORE_FIELD = re.compile(r"\s*(?:\(|\}|where\b|[A-Za-z_][\w-]*\s*(?:=(?!=)|:))")
_LISTED = re.compile(r"(?:\s*,\s*[\w.%/-]+)+")
_NUMBER_BEFORE = re.compile(r"(?<![\w.])(\d[\d_.]*)[ \t]+\Z")
_PATH = re.compile(r"/[\w./~+@%-]*")
