"""Slips in values, conditions and choices: comparisons, numbers, ranges, braces."""

from __future__ import annotations

import re

from zlang.syntax.foreign_words import UNIT_WORDS, VALUE_WORDS
from zlang.syntax.lexer import CLAUSES, ENTRY_WORDS, SAME_EVERYWHERE
from zlang.syntax.stop_place import Correction, StopPlace
from zlang.units import UNITS


def comparison(stop: StopPlace) -> Correction | None:
    """A single `=`, or a sign of another language, between compared values."""
    text, token = stop.text, stop.token
    if token.type == "FIELD" and stop.last in {"LPAR", "COMMA"} and (called := _CALLED.search(text, 0, stop.end)):
        if re.search(rf"^[ \t]*let[ \t]+{called[1]}\(", text, re.MULTILINE):
            return f"arguments have no names: `{called[1]}(VALUE, …)`", None
        return "write properties in braces: `KIND { NAME = VALUE }`; a word takes its value alone: `WORD(VALUE)`", None
    if token.type == "FIELD" and _begins_operand(stop):
        sign = text.index("=", token.end)
        written = _TURNED.get(text[sign : sign + 2], "==")
        return f"use `{written}` to compare", stop.fix(sign, sign + 1 + (written != "=="), written)
    if token.text == "=" and (stop.follows("==") or stop.follows("!=")):
        return "use `==` or `!=` to compare", stop.fix(token.start, token.end, "")
    if token.text == "=" and stop.is_condition and stop.expected != "a value":
        written = _TURNED.get(text[token.start : token.start + 2], "==")
        return f"use `{written}` to compare", stop.fix(token.start, token.end + (written != "=="), written)
    if token.text == "=" and stop.expected == "a value" and stop.text[token.start - 1] in "+-*/%":
        return "a name has one value: write `let NAME = A + B`", None
    if token.type == "FIELD" and stop.last == "EQUAL" and stop.expected == "a value":
        begin = "let " if any(symbol == "LET" for symbol, _ in stop.read[-4:]) else ""
        return f"write `{begin}{token.text} = …` on a line of its own", None
    if token.text == ">" and stop.follows("=") and stop.last == "EQUAL":
        return "write a field as `NAME = VALUE`", stop.fix(token.start, token.end, "")
    if token.text == ">" and stop.follows("<"):
        return 'write "not equal" as `!=`', stop.fix(token.start - 1, token.end, "!=")
    return None


def _begins_operand(stop: StopPlace) -> bool:
    """Whether a name begins an operand of a comparison rather than a field."""
    if stop.last == "LPAR":
        return "\n" not in stop.text[stop.end : stop.token.start]
    is_titled = stop.last == "STRING" and stop.read[-2][0] == "EXPECT"
    return is_titled or stop.last in {"WHERE", "EXPECT", "IF", "AND", "OR", "NOT"} or stop.text[stop.end - 1] == "."


def choice(stop: StopPlace) -> Correction | None:
    """A superfluous `|`, or another sign between the values of a choice."""
    token = stop.token
    if token.type == "VBAR" and stop.follows("|"):
        if stop.is_condition:
            return "write `or`", stop.fix(token.start - 1, token.end, "or")
        return "write a choice with one `|`", stop.fix(token.start, token.end, "")
    if token.type == "VBAR" and stop.last == "VBAR":
        return "add a value between the two, or remove one", stop.fix(token.start, token.end, "", is_safe=False)
    if token.type == "VBAR" and stop.last == "EQUAL":
        return "a choice does not begin with `|`", stop.fix(token.start, token.end, "")
    options = _IN_OPTIONS.match(stop.text, token.end) if stop.expected.startswith("`name") else None
    if options is not None and not any(symbol == "EXPERIMENT" for symbol, _ in stop.read):
        written = f"{token.text} = {' | '.join(option.strip() for option in options[1].split(','))}"
        return f"write a choice: `{written}`", stop.fix(token.start, options.end(), written, is_safe=False)
    if stop.last == "VBAR" and token.type in {"NEWLINE", "RBRACE", "RPAR", "RSQB", "FIELD", "$END"}:
        hint = "add a value after the `|`, or remove it"
        return hint, stop.fix(stop.end - 1, stop.end, "", is_safe=False)
    return _commas(stop)


def _commas(stop: StopPlace) -> Correction | None:
    """Commas between conditions, or between the values of a choice or a list."""
    text, token = stop.text, stop.token
    if token.type == "COMMA" and stop.is_condition and (listed := _IN_LIST.search(text, 0, token.start)):
        end = _LISTED.match(text, len(text[: token.start].rstrip()))
        if end is not None:
            written = f"[{listed[1]}{end[0]}]"
            return f"write a list as `{written}`", stop.fix(listed.start(1), end.end(), written)
    if token.text == "[" and (doubled := _IS_IN.search(text, 0, token.start)):
        return "write `in`", stop.fix(*doubled.span(1), "in")
    if token.type == "COMMA" and stop.is_condition and stop.expected.startswith("`name"):
        return "join conditions by `and`", stop.fix(token.start, token.end, " and")
    if token.type == "COMMA" and (field := _LIST_FIELD.search(text, 0, token.start)):
        return f"write several as a list: `{field[1]} = [a, b]`", None
    if token.type == "COMMA" and stop.expected.startswith("`name") and not _BEFORE_FIELD.match(text, token.end):
        listed = _LISTED.match(text, len(text[: token.start].rstrip()))
        if listed is not None and (field := _FIELD_WITH_ONE.search(text, 0, token.start)):
            hint = f"it is the same in every trial: write one, such as `{field[1]}`"
            return hint, stop.fix(*listed.span(), "", is_safe=False)
        if listed is not None:
            fix = stop.fix(*listed.span(), re.sub(r"\s*,", " |", listed[0]), is_safe=False)
            return "write a choice with `|`", fix
    return None


def braces(stop: StopPlace) -> Correction | None:
    """A value in braces, or a thing without its kind."""
    text, token = stop.text, stop.token
    if token.type != "LBRACE" or stop.expected != "a value":
        return None
    if any(symbol == "EXPECT" for symbol, _ in stop.read[-2:]):
        return "write the condition without braces", None
    if base := _BASE_BEFORE.search(text, 0, token.start):
        fix = stop.fix(base.start(), token.start, f"{base[1]} with ", is_safe=False)
        return f"write `{base[1]} with {{ … }}`", fix
    if inserted := _INSERTED.match(text, token.start):
        return f"write the name alone: `{inserted[1]}`", stop.fix(*inserted.span(), inserted[1], is_safe=False)
    if stop.last == "EQUAL" and (options := _EXTRA_BEFORE.search(text, 0, token.start)):
        return f'write options as a list of texts: `{options[1]} = ["NAME=VALUE"]`', None
    if stop.last == "EQUAL" and _FIELD_IN.match(text, token.end):
        return "write the kind before the braces: `KIND { PROPERTY = VALUE }`", None
    if base := _BASE_SPREAD.match(text, token.end):
        return f"write `{base[1]} with {{ … }}`", None
    if base := _BASE_WITHIN.match(text, token.end):
        return f"the name comes before the braces: `{base[1]} with {{ … }}`", None
    return "write a choice as `4KiB | 8KiB`, and a list as `[4KiB, 8KiB]`", None


def reference(stop: StopPlace) -> Correction | None:
    """A reference of YAML, or a method of a value."""
    token, text = stop.token, stop.text
    if token.text == "*" and stop.last == "EQUAL" and (alias := _ALIAS.match(text, token.start)):
        return f"write the name alone: `{alias[1]}`", stop.fix(token.start, token.end, "", is_safe=False)
    if stop.expected == "a value" and (share := _SHARE_BEFORE.search(text, 0, stop.end)):
        written = f"{share[1]}%"
        return f"write `{written}` as one word", stop.fix(*share.span(), written)
    if token.text == "." and (version := _VERSION.search(text, text.rfind(" ", 0, token.start) + 1)):
        written = f'"{version[0]}"'
        return f"write a version as a text: `{written}`", stop.fix(*version.span(), written, is_safe=False)
    value = _VALUE_BEFORE.search(text, 0, token.start) if token.text == "." else None
    if value is not None and (method := _METHOD_AFTER.match(text, token.start)):
        return f"write a function before its value: `{method[1]}({value[0]})`", None
    return None


def place(stop: StopPlace) -> Correction | None:
    """A path where an experiment names a declared thing."""
    path = _PLACE.match(stop.text, stop.token.start) if stop.is_thing else None
    if path is None:
        return None
    declared = "" if path[0].startswith("/dev/") else f', such as `dir NAME {{ path = "{path[0]}" }}`'
    return f"declare it{declared}, and write its name", None


def number(stop: StopPlace) -> Correction | None:
    """A number, a range or a path in the syntax of another language."""
    text, token = stop.text, stop.token
    before = _NUMBER_BEFORE.search(text, 0, token.start) if token.type == "NAME" else None
    unit = UNIT_WORDS.get(token.text, token.text)
    if before is not None and unit in {*UNITS, "MB", "GB", "TB", "/s"}:
        per_second = "/s" if unit != "/s" and text.startswith("/s", token.end) else ""
        written, after = f"{before[1]}{unit}{per_second}", token.end + len(per_second)
        return f"write a number and its unit as one word: `{written}`", stop.fix(before.start(), after, written)
    is_after_word = stop.expected.startswith("`name") and stop.last == "NAME" and token.type == "NUMBER"
    if is_after_word and (word := _WORD_OF_VALUE.search(text, 0, token.start)):
        written = f"{word[1]}({token.text})"
        return f"write a word with a value as `{written}`", stop.fix(word.start(1), token.end, written, is_safe=False)
    if token.text == "*" and stop.follows("(") and stop.expected == "a value":
        return "write what is counted in place of `*`", None
    if stop.expected == "the end of the line" and (ends := _TWO_ENDS.search(text, 0, token.end)):
        end = _END_OF_RANGE.match(text, ends.end())
        if end is not None:
            written = f"{ends[1]}..{end[1]}"
            return f"write a range as `{written}`", stop.fix(ends.start(), end.end(), written, is_safe=False)
    if token.type in {"NUMBER", "NAME"} and stop.expected == "`]`":
        return "separate the items of a list by commas", stop.fix(stop.end, stop.end, ",")
    if token.type in {"RSQB", "COMMA"} and [symbol for symbol, _ in stop.read[-3:]] == ["LSQB", "expr", "NAME"]:
        begin = stop.read[-1][1].start
        return "separate the items of a list by commas", stop.fix(begin - 1, begin, ", ")
    if token.text == "+" and stop.expected == "a value" and text[token.end :].lstrip(" ")[:1].isdigit():
        hint = (
            "write the step after `by` without a sign"
            if stop.last == "BY"
            else "write a positive number without a sign"
        )
        return hint, stop.fix(token.start, token.end, "")
    if token.text == "<" and stop.follows("<") and stop.expected == "a value":
        return "there is no shift operator; multiply instead", None
    if token.text in {"=", "."} and stop.follows("..") and stop.expected == "a value":
        return "write a range with two dots, as in `4KiB..64KiB`", stop.fix(token.start, token.end, "")
    if token.text in {"*", "/"} and stop.follows(token.text) and stop.expected == "a value":
        return {"*": "there is no power operator; multiply instead", "/": "use `floor(a / b)`"}[token.text], None
    if token.text == "/" and stop.expected == "a value":
        match = _PATH.match(text, token.start)
        assert match is not None
        return f'write a path as a text: `"{match[0]}"`', stop.fix(*match.span(), f'"{match[0]}"', is_safe=False)
    return None


def call(stop: StopPlace) -> Correction | None:
    """A call without parentheses."""
    if stop.token.type in {"STRING", "NUMBER"} and stop.last == "NAME" and stop.read[-2][0] in _BEFORE_VALUE:
        called = re.split(r"[^\w.]", stop.text[: stop.end])[-1]
        written = f"{called}({stop.token.text})"
        fix = stop.fix(stop.end - len(called), stop.token.end, written, is_safe=False)
        return f"write a call as `{written}`", fix
    return None


def operation(stop: StopPlace) -> Correction | None:
    """A remainder without spaces, or a value of a list after a dot."""
    token, text = stop.token, stop.text
    if token.text == "of" and (share := _SHARE_OF.search(text, 0, token.start)):
        written = f"{share[1]} *"
        return f"write `{written} …`: `of` follows a number", stop.fix(share.start(1), token.end, written)
    if token.type != "NUMBER":
        return None
    if stop.expected == "`)`" and (first := _FIRST_OF_SEVERAL.search(text, 0, token.start)):
        written = f"{first[1]} | {token.text}"
        return f"write a choice as `{written}`", stop.fix(first.start(), token.end, f"({written}", is_safe=False)
    if stop.follows("%") and (sides := _REMAINDER.search(text, 0, token.end)):
        written = f"{sides[1]} % {sides[2]}"
        return f"write spaces around the sign: `{written}`", stop.fix(*sides.span(), written)
    if stop.last == "DOT" and (item := _DOT_AFTER.search(text, 0, token.start)):
        written = f"{item[1]}[{token.text}]"
        return f"write `{written}`", stop.fix(item.start(), token.end, written, is_safe=False)
    return None


def schedule(stop: StopPlace) -> Correction | None:
    """A schedule without its brackets, without a comma, or with a part that has no duration."""
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


def sign(stop: StopPlace) -> Correction | None:
    """A sign of YAML, Python or C at a field, a name or a value."""
    token, text = stop.token, stop.text
    is_field = stop.expected.startswith("`name")
    if is_field and token.text == "{" and stop.follows("{"):
        return "write one `{`, and one `}` at the end", None
    if is_field and token.text == "-" and _KEY_OR_FIELD.match(text, token.end):
        return "remove the `-`: properties are not a list", stop.fix(token.start, token.end, "")
    if is_field and token.text == "<" and text.startswith("<", token.end):
        return "write `let NAME = BASE with { … }` for something that is like another", None
    if is_field and token.type == "NAME" and (changed := _CHANGED.match(text, token.end)):
        hint = f"a field has one value: write `{token.text} = …`"
        return hint, stop.fix(token.end, changed.end(), " =", is_safe=False)
    if is_field and token.text.endswith("extra") and _BLOCK.match(text, token.end):
        return f'write options as a list of texts: `{token.text} = ["NAME=VALUE"]`', None
    if is_field and (commands := _COMMANDS.match(text, token.start)):
        action = commands[1] or "run"
        return f"commands are part of a kind: `kind NAME: workload {{ … {action} {{ … }} }}`", None
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


def named_in_place(stop: StopPlace) -> Correction | None:
    """A thing with a name, declared where it is used: `during = hog busy { … }`."""
    line = stop.text.rfind("\n", 0, stop.token.start) + 1
    for match in _NAMED_IN_PLACE.finditer(stop.text, line):
        if match["name"] not in CLAUSES and match.start("name") <= stop.token.start < match.end():
            written = f"{match['kind']} {match['name']} {{ … }}"
            return f"declare `{written}` on a line of its own, and write `{match['name']}` here", None
    return None


def turned_if(stop: StopPlace) -> Correction | None:
    """A value that precedes its condition."""
    turned = _TURNED_IF.match(stop.text, stop.text.rfind("=", 0, stop.token.start)) if stop.token.text == "if" else None
    if turned is None:
        return None
    written = f"if {turned['condition']} then {turned['value']} else {turned['other']}"
    fix = stop.fix(turned.start("value"), turned.end("other"), written, is_safe=False)
    return "write `if CONDITION then A else B`", fix


def copied(stop: StopPlace) -> Correction | None:
    """A thing based on another, or a list built from another, in the syntax of other languages."""
    token, text = stop.token, stop.text
    if token.type == "FIELD" and (amended := _METHOD_WITH.search(text, 0, token.start)):
        return f"write `{amended[1]} with {{ … }}`", None
    if stop.expected == "the end of the line" and (base := _COPY_OF.search(text, 0, token.end)):
        written = f"{token.text} with"
        return f"write `{written} {{ … }}`", stop.fix(base.start(1), token.end, written, is_safe=False)
    if token.text == "with" and text[: stop.end].endswith("}"):
        return "give the thing a name: `let NAME = KIND { … }`, and write `NAME with { … }`", None
    if token.text == "for" and _LIST_OF_LIST.search(text, 0, token.start):
        return "a list has one `for`; two names that are choices give all combinations", None
    if stop.expected == "`for`":
        return "write a list as `[VALUE for NAME in LIST]`", None
    if stop.expected == "the end of the line" and text[: stop.end].endswith("= for"):
        return "write a list as `[VALUE for NAME in LIST]`", None
    return None


def within_brackets(stop: StopPlace) -> Correction | None:
    """A condition, a value or an `if` in brackets, in the syntax of other languages."""
    token, text = stop.token, stop.text
    if token.text in {"if", "when"} and stop.expected == "`)`" and _METRIC_BEFORE.search(text, 0, token.start):
        return "write the condition after `where`", stop.fix(token.start, token.end, "where", is_safe=False)
    if token.text == "where" and stop.expected == "`]`" and _LIST_OF.search(text, 0, token.start):
        return "write `if`", stop.fix(token.start, token.end, "if")
    if stop.expected == "`]`" and _FOR_FIRST.search(text, 0, token.start):
        return "write a list as `[VALUE for NAME in LIST if CONDITION]`", None
    if stop.expected == "`else`" and token.type in {"NEWLINE", "RBRACE", "$END"}:
        return "an `if` has both sides: `if CONDITION then A else B`", None
    if token.type == "LBRACE" and stop.last == "VBAR":
        return "a choice is between whole values: `A | A with { … }`", None
    if token.type == "LBRACE" and _SWITCH.search(text, 0, token.start):
        return "write `if CONDITION then A else B`", None
    if token.type == "LBRACE" and stop.last == "EQUAL" and (function := _HEAD_OF_FUNCTION.search(text, 0, token.start)):
        return f"write the formula without braces: `{function[1]} = …`", None
    return None


def foreign_value(stop: StopPlace) -> Correction | None:
    """A value, or the text after one, in the syntax of another language."""
    token, text = stop.token, stop.text
    symbols = [symbol for symbol, _ in stop.read]
    if stop.expected == "the end of the line":
        if token.text in ENTRY_WORDS or (token.type == "NAME" and _ENTRY.match(text, token.end)):
            return "put each declaration on a line of its own", stop.fix(stop.end, token.start, "\n", is_safe=False)
        if text[: stop.end].endswith(" lambda"):
            return "write a function as `let NAME(x) = …`", None
    if token.text == "." and _ITEM.search(text, 0, token.start):
        return "write the name of the thing itself, `NAME.PROPERTY`: a value of a list has no properties", None
    if "IF" in symbols[-4:] and stop.expected in {"`then`", "`{`"}:
        return "write `if CONDITION then A else B`", None
    if token.text == "[" and stop.expected == "the end of the line" and stop.follows("]"):
        return "give the list a name: `let xs = [1, 2]`, and write `xs[0]`", None
    if stop.last in {"IS", "NOT"} and "IS" in symbols[-2:] and token.type in {"NUMBER", "STRING", "LSQB", "LPAR"}:
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


_METRIC_BEFORE = re.compile(r"\b[a-z]\w*\([ \t]*[\w.]+[ \t]*\Z")
_LIST_OF = re.compile(r"\[[^\[\]\n]*[ \t]for[ \t]+\w+[ \t]+in[ \t]")
_FOR_FIRST = re.compile(r"\[[ \t]*for[ \t]+[\w, ]+[ \t]in[ \t][^\n]*\Z")
_SWITCH = re.compile(r"=[ \t]*(?:switch|match|case)[ \t]+[^{}\n]*\Z")
_HEAD_OF_FUNCTION = re.compile(r"\b(let[ \t]+\w+\([\w, \t]*\))[ \t]*=[ \t]*\Z")
_COPY_OF = re.compile(r"=[ \t]*((?:copy|new|extend|like)[ \t]+[A-Za-z_]\w*)\Z")
_DOT_AFTER = re.compile(r"([A-Za-z_](?:\w*[A-Za-z_])?)\.\Z")
_SHARE_OF = re.compile(r"(?:=|\()[ \t]*([A-Za-z_][\w.]*|\([^()\n]*\)|[a-z]\w*\([^()\n]*\))[ \t]+\Z")
"""A share that is not a number before `of`: a name, a sum in parentheses, or what a function returns."""
_FIRST_OF_SEVERAL = re.compile(r"\([ \t]*(\d[\w./%]*)[ \t]+\Z")
_REMAINDER = re.compile(r"(?<![\w.])(\d[\w.]*)%(\d[\w.]*)\Z")
_LIST_OF_LIST = re.compile(r"\[[^\[\]\n]*[ \t]for[ \t][^\[\]\n]*[ \t]in[ \t][^\[\]\n]*\Z")
_EXTRA_BEFORE = re.compile(r"\b(\w*extra)[ \t]*=[ \t]*\Z")
_ITEM = re.compile(r"\w\[[^\[\]\n]*\]\Z")
_ENTRY = re.compile(r"[ \t]+[A-Za-z_][\w-]*[ \t]*(?:\{|on\b)")
_KEY_OR_FIELD = re.compile(r"[ \t]*[A-Za-z_][\w-]*[ \t]*[=:]")
_CHANGED = re.compile(r"[ \t]*[-+*/|]=(?!=)")
_COMMANDS = re.compile(r"([a-z]+)[ \t]*\{\s*(?:sh|reads|ask)\b|reads[ \t]+[a-z]+[ \t]+\"")
_BLOCK = re.compile(r"[ \t]*\{")
_NAMED_IN_PLACE = re.compile(
    r"(?:\b(?:on|run|during|before|with|collect)[ \t]*=|[|,\[])[ \t]*"
    r"(?P<kind>[a-z]\w*) (?P<name>[A-Za-z_]\w*)[ \t]*(?:\{|on\b)"
)
_SEVERAL = re.compile(r"[ \t]*,")
_METHOD_WITH = re.compile(r"\b([A-Za-z_]\w*)\.(?:with|copy|extend|replace|merge)\([ \t]*\Z")
_CALLED = re.compile(r"=[ \t]*([A-Za-z_][\w-]*)\((?:[^()\n]*,)?\Z")
_PLACE = re.compile(r"(?:\.{1,2}|~)?/[\w./-]*|\.{1,2}(?=[\s}])")
_IN_OPTIONS = re.compile(r"[ \t]+in[ \t]*[\[(]([^\[\](){}\n|]*)[\])]")
"""The values of a property as a condition would list them."""
_BEFORE_VALUE = {"EQUAL", "LPAR", "LSQB", "COMMA", "VBAR", "PLUS", "MINUS", "TIMES", "DIVIDE", "COMPARE", "AND", "OR"}
_BEFORE_VALUE |= {"NOT", "IF", "THEN", "ELSE", "WHERE"}
_LIST_FIELD = re.compile(r"\b(collect|with|during)[ \t]*=[^=\n|]*\Z")
_ALONE_BEFORE = re.compile(r"=[ \t]*(\d[\w./%]*)[ \t]+\Z")
_PERIOD = re.compile(r"^[^\[]*[\w)%][ \t]+(?:for|to)\b(?!.*\bin\b)")
_TURNED_IF = re.compile(r"=[ ]*(?P<value>[^\s|]+) if (?P<condition>[^\n{}]+?) else (?P<other>[^\s|{}]+)")
"""A value before its condition, as Python has it."""
_TURNED = {"=>": ">=", "=<": "<="}
_FIELD_WITH_ONE = re.compile(rf"\b((?:{'|'.join(SAME_EVERYWHERE)})[ \t]*=[^=\n|{{}}]*?)[ \t]*\Z")
_BEFORE_FIELD = re.compile(r"\s*(?:\(|\}|where\b|[A-Za-z_][\w-]*\s*(?:=(?!=)|:))")
_IN_LIST = re.compile(r"\bin[ \t]+([\w.%/-]+)[ \t]*\Z")
_IS_IN = re.compile(r"\b(is[ \t]+in)[ \t]*\Z")
_LISTED = re.compile(r"(?:\s*,\s*(?:[\w.%/-]+|\"[^\"\n]*\"))+")
_INSERTED = re.compile(r"\{[ \t]*([A-Za-z_]\w*)[ \t]*\}")
_FIELD_IN = re.compile(r"\s*[A-Za-z_][\w.]*[ \t]*=(?!=)")
_TWO_ENDS = re.compile(r"(?<![\w.])(\d[\w.]*)[ \t]*(?:to\b|:)[ \t]*\Z")
_END_OF_RANGE = re.compile(r"[ \t]*(\d\w*)")
_BASE_BEFORE = re.compile(r"([A-Za-z_]\w*)[ \t]*[+&][ \t]*\Z")
"""A name, and the sign with which other languages add properties to it."""
_BASE_SPREAD = re.compile(r"[ \t]*(?:\.\.\.|\*\*)[ \t]*([A-Za-z_]\w*)")
_BASE_WITHIN = re.compile(r"[ \t]*([A-Za-z_]\w*)[ \t]+with\b")
_WORD_OF_VALUE = re.compile(r"=[ \t]*([A-Za-z_]\w*)[ \t]+\Z")
_NUMBER_BEFORE = re.compile(r"(?<![\w.])(\d[\d_.]*)[ \t]+\Z")
_ALIAS = re.compile(r"\*([A-Za-z_]\w*)")
"""A reference of YAML."""
_SHARE_BEFORE = re.compile(r"(?<![\w.])(\d[\d.]*)[ \t]+%\Z")
_VERSION = re.compile(r"\d+\.\d+(?:\.\w+)+")
_METHOD_AFTER = re.compile(r"\.([a-z]\w*)\([ \t]*\)")
_VALUE_BEFORE = re.compile(r"(?:\"[^\"\n]*\"|[A-Za-z_][\w.]*|\[[^\[\]\n]*\])\Z")
_PATH = re.compile(r"/[\w./~+@%-]*")
