"""Slips in declarations: their first line, name, parent and fields."""

from __future__ import annotations

import re

from zlang.syntax.foreign_words import ENTRIES
from zlang.syntax.lexer import ENTRY_WORDS, misspelt
from zlang.syntax.stop_place import Correction, StopPlace


def parameter(stop: StopPlace) -> Correction | None:
    """A parameter without its type or its default, a function without parentheses, an import without quotes."""
    token, text = stop.token, stop.text
    begin = text.rfind("\n", 0, token.start - (token.text == "\n")) + 1
    if without := _PARAM_OF_VALUE.match(text, begin):
        return f"write `param {without[1]} = {without[3]}`", stop.fix(*without.span(2), " = ")
    if text.startswith("param", begin) and stop.last != "LBRACE" and "EQUAL" not in [symbol for symbol, _ in stop.read]:
        return "write `param NAME: TYPE = VALUE`", None
    if token.text == ":" and (typed := _TYPED.match(text, begin)):
        return f"parameters have no types: `let {typed[1]}({typed[2]}) = …`", None
    if function := _FUNCTION.match(text, begin):
        return f"write a function as `let {function[1]}({function[2] or function[3]}) = …`", None
    if token.text == ")" and (empty := _NO_PARAMETERS.match(text, begin)):
        hint = f"a function has parameters: write a value as `let {empty[1]} = …`"
        return hint, stop.fix(*empty.span(2), "", is_safe=False)
    if token.text in {"with", "(", "{"} and (named := _IMPORTED_AS.match(text, begin)):
        if not named[1].startswith('"'):
            return "remove the values: a module of the library has no params", None
        return 'write the values in braces: `import "./lab.zexp" as NAME { PARAM = VALUE }`', None
    if token.text in {"extends", "from", "like", "inherits"} and stop.expected == "`:`":
        return "write `kind NAME: KIND { … }`", stop.fix(stop.end, token.end, ":")
    if token.type == "FIELD" and stop.last == "WITH":
        return "write the properties in braces: `NAME with { PROPERTY = VALUE }`", None
    if imported := _IMPORTED.match(text, begin):
        written = f'"{imported[1] if imported[1].startswith(".") else f"./{imported[1]}"}"'
        return f"write the file as a text: `import {written}`", stop.fix(*imported.span(1), written, is_safe=False)
    return None


def function_kind_or_import(stop: StopPlace) -> Correction | None:
    """A default of a parameter, a kind in the syntax of a class, or an import of a part of a module."""
    token, text = stop.token, stop.text
    begin = text.rfind("\n", 0, token.start) + 1
    if defaulted := _DEFAULTED.match(text, begin):
        return f"parameters have no defaults: `let {defaulted[1]}({defaulted[2]}) = …`", None
    if token.type == "FIELD" and stop.expected == "a name" and (thing := _PROPERTY_OF_THING.match(text, begin)):
        return f"write `let NAME = {thing[1]} with {{ {token.text} = … }}`", None
    if token.text == "." and stop.expected == "`{`" and (kind := _KIND_OF_ALIAS.match(text, begin)):
        return f"import its module without `as`, and write `kind {kind[1]}: {kind[2]} {{ … }}`", None
    if token.text == "(" and (kind := _KIND_OF.match(text, begin)):
        written = f"kind {kind[1]}: {kind[2]}"
        return f"write `{written} {{ … }}`", stop.fix(*kind.span(), written, is_safe=False)
    if token.type == "FIELD" and _PROPERTY_BEFORE.search(text, 0, token.start):
        return f"write `default {token.text} = …`, or a new property as `property NAME: TYPE`", None
    if token.text == "." and (module := _IMPORTED_PART.match(text, begin)):
        hint = f"write `import {module[1]}`: all kinds of the module are then known"
        return hint, stop.fix(token.start, module.end(), "", is_safe=False)
    if stop.last == "AS" and token.type in {"NEWLINE", "$END"}:
        return f"add the name by which it is known here: `{text[begin : stop.end].strip()} NAME`", None
    if token.text == "(" and _IMPORTED_FILE.search(text, begin, token.start):
        return 'write the values in braces: `import "./lab.zexp" as NAME { PARAM = VALUE }`', None
    if token.text == "from" and (source := _IMPORTED_FROM.match(text, begin)):
        return f'write the file alone: `import "./{source[1]}.zexp"`', None
    return None


def given(stop: StopPlace) -> Correction | None:
    """A thing without its name, or a given thing without its kind or its braces."""
    if not any(symbol == "GIVEN" for symbol, _ in stop.read):
        kind = _WORD_BEFORE.search(stop.text, 0, stop.end)
        is_unnamed = stop.expected == "a name" and stop.token.text == "on" and stop.last in {"path", "NAME"}
        if kind is None or not is_unnamed or kind[0] in ENTRIES:
            return None
        return f"add a name: `{kind[0]} NAME on PARENT {{ … }}`", None
    if stop.expected == "a name" and stop.token.text in {"on", "{"}:
        return "the kind comes before the name: `given KIND NAME on PARENT { … }`", None
    if stop.expected == "`{`" and stop.token.type == "STRING":
        return f"put its properties in braces: `given KIND NAME {{ PROPERTY = {stop.token.text} }}`", None
    return None


def joined_fields(stop: StopPlace) -> Correction | None:
    """Fields that are joined by a colon: `ioengine=libaio:iodepth=32`."""
    token = stop.token
    if token.type != "COLON" or not stop.expected.startswith("`name") or not _FIELD_AFTER.match(stop.text, token.end):
        return None
    return "separate fields by spaces", stop.fix(token.start, token.end, "  ", is_safe=False)


def made(stop: StopPlace) -> Correction | None:
    """A thing without braces, with a path-like name, or with a value after a colon."""
    text, token = stop.text, stop.token
    if stop.expected.startswith("`name") and token.type == "STRING" and _NAMED.match(text, token.end):
        name = token.text.strip('"')
        return f"write names without quotes: `{name} = …`", stop.fix(token.start, token.end, name, is_safe=False)
    if stop.expected.startswith("`name") and token.type == "STRING" and stop.last == "LBRACE":
        return f"write which property it is: `NAME = {token.text}`", None
    if stop.expected == "`{`" and token.text == "/":
        return "names have no `/`; nest with `on`: `KIND NAME on PARENT { … }`", None
    if stop.expected == "`{`" and token.type in {"VBAR", "NEWLINE", "COMMA", "RSQB", "$END"}:
        symbols = [symbol for symbol, _ in stop.read]
        if "GIVEN" in symbols:
            return "add braces that say which one is given: `given KIND NAME { called = … }`", None
        placed = _PLACED.search(text, 0, stop.end) if "ON" in symbols and "EQUAL" in symbols else None
        if placed and (kind := re.search(rf"^[ \t]*([\w.]+)[ \t]+{placed[1]}[ \t]*\{{", text, re.MULTILINE)):
            return f"in the declaration of `{placed[1]}`, write what it runs on: `{kind[1]} {placed[0]} {{ … }}`", None
        if "ON" in symbols and "EQUAL" in symbols:
            return "an anonymous declaration needs braces", stop.fix(stop.end, stop.end, " {}")
        if "ON" in symbols and token.type == "VBAR":
            return "put a choice of parents in parentheses: `KIND NAME on (a | b) { … }`", None
    argument = _ARGUMENT.match(text, token.start) if token.type == "COLON" and stop.end == token.start else None
    if argument is not None and stop.expected.startswith("`name"):
        before = _WORD_BEFORE.search(text, 0, token.start)
        word = before[0] if before else ""
        written = _COLONS.search(text, 0, token.start)
        sizes = _SIZES_BEFORE.search(text, 0, token.start)
        whole = _WITH_COLONS.match(text, written.start()) if written is not None else None
        if whole is not None and _CLOCK.fullmatch(whole[0]):
            hours, minutes, seconds = map(int, whole[0].split(":"))
            duration = f"{(hours * 60 + minutes) * 60 + seconds}s"
            return f"write a duration with its unit: `{duration}`", stop.fix(*whole.span(), duration, is_safe=False)
        if whole is not None and whole[0] != f"{word}:{argument[1]}":
            as_text = f'"{whole[0]}"'
            fix = stop.fix(*whole.span(), as_text, is_safe=False)
            if sizes is None or whole[0] != f"{sizes[0]}:{argument[1]}":
                return f"write a text as `{as_text}`", fix
            range_ = stop.fix(token.start, token.end, "..", is_safe=False)
            return f"write a range as `{sizes[0]}..{argument[1]}`, and a text as `{as_text}`", range_
        with_value = f"write a word with a value as `{word}({argument[1]})`"
        return f'{with_value}, a text as `"{word}:{argument[1]}"`, and another property on its own', None
    return None


def several_devices(stop: StopPlace) -> Correction | None:
    """A list of things after `on`, with or without a keyword of ZFS."""
    if stop.token.text in {"[", "("} and (before := _ON_BEFORE.search(stop.text, 0, stop.token.start)):
        if before[1] in {"first", "last"}:
            return f"put it in parentheses: `on ({before[1]}(…))`", None
        hint = "declare several devices as one thing, whose properties are lists: `zlang kinds` lists them"
        if before[1] and stop.token.text == "[":
            return f"{hint}; put a machine of a group of hosts in parentheses: `on ({before[1]}[0])`", None
        if before[1]:
            return f"{hint}; the layout is a property of what is on it", None
        return f"{hint}; several machines are a group: see `zlang kinds host`", None
    return None


def like_another(stop: StopPlace) -> Correction | None:
    """An experiment based on another, a profile with a colon, an import with values and without a name."""
    token, text = stop.token, stop.text
    line = text[text.rfind("\n", 0, token.start) + 1 : token.start]
    begin = (line.split() or [""])[0]
    if begin == "experiment" and stop.expected == "`{`" and token.text in {"extends", "from", "like", "inherits", "of"}:
        hint = "write `experiment NAME = BASE with { … }`"
        base = _EXPERIMENT_LIKE.match(text, token.end)
        return hint, stop.fix(token.start, base.end(), f"= {base[1]} with", is_safe=False) if base else None
    if token.text == "{" and _EXPERIMENT_OF.search(line):
        return "write `experiment NAME = BASE with { … }`", stop.fix(token.start, token.start, "with ", is_safe=False)
    if token.text == "with" and _EXPERIMENT_BEFORE.search(line) and (base := _EXPERIMENT_LIKE.match(text, token.end)):
        hint = "write `experiment NAME = BASE with { … }`"
        return hint, stop.fix(token.start, base.end(), f"= {base[1]} with", is_safe=False)
    if token.text in {"include", "extends", "inherits", "inherit", "like"} and _FIRST_IN_EXPERIMENT.search(line):
        return "write `experiment NAME = BASE with { … }`", None
    if begin == "profile" and token.text == ":" and stop.expected == "`{`":
        return "put what it sets in braces: `profile NAME { PARAM = VALUE }`", None
    if begin == "import" and token.text == "{" and line.rstrip().endswith('"'):
        return 'add the name by which it is known here: `import "./lab.zexp" as NAME { PARAM = VALUE }`', None
    return None


def foreign(stop: StopPlace) -> Correction | None:
    """A word of another language for a construct that zlang writes differently."""
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
    if is_top and begin in ENTRIES and stop.source.name != begin:
        return ENTRIES[begin], None
    if "LBRACE" not in symbols and (headed := head(stop, len(line))) is not None:
        return headed
    is_kind = stop.last in {"path", "NAME"} and not misspelt(begin)
    if stop.expected == "a name" and token.type == "STRING" and is_kind:
        name = token.text.strip('"')
        if not _NAME.fullmatch(name):
            return "a name is one word of letters, digits and `_`; write the text in a property", None
        return f"write the name without quotes: `{name}`", stop.fix(token.start, token.end, name)
    if is_top and stop.expected == "`{`" and token.text == ":" and not misspelt(begin):
        return "put its properties in braces: `KIND NAME { PROPERTY = VALUE }`", None
    if is_top and stop.expected == "`{`" and len(line) > 1 and not misspelt(begin):
        return "a line declares something, it is not a command: `KIND NAME on PARENT { PROPERTY = VALUE }`", None
    if "EXPERIMENT" in symbols and stop.expected == "`{`" and token.type == "NAME":
        before = _WORD_BEFORE.search(text, 0, stop.end)
        name = f"{before[0] if before else ''}_{token.text}"
        return f"a name is one word: `{name}`", stop.fix(stop.end, token.start, "_", is_safe=False)
    if is_top and token.text == "[" and not line:
        return ENTRIES["[global]"], None
    return None


def head(stop: StopPlace, words: int) -> Correction | None:
    """A superfluous or missing sign or word between the kind of a declaration and its braces.

    `words` is the number of words before it in its line.
    """
    token, text = stop.token, stop.text
    begin = text.rfind("\n", 0, token.start) + 1
    if assigned := _ASSIGNED.match(text, begin):
        return "remove the `=`: `KIND NAME { … }`", stop.fix(assigned.end(1), assigned.end() - 1, " ", is_safe=False)
    is_headed = stop.expected == "`{`" and words > 1
    if is_headed and token.text in {"in", "at", "under", "of"}:
        return "write `on`: `KIND NAME on PARENT { … }`", stop.fix(token.start, token.end, "on", is_safe=False)
    is_in_value = stop.last in {"COLON", "DOT", "IS", "NOT"}
    is_name = (stop.expected == "a name" and not is_in_value) or stop.last in {"LET", "PARAM"}
    if is_name and token.type == "NUMBER":
        return "a name begins with a letter", None
    if misspelt((text[begin:].split() or [""])[0]):
        return None
    if like := _LIKE.match(text, begin):
        with_base = f"`let {like[1]} = {like[3]} with {{ … }}`"
        if like[2] in {"=", ":"}:
            return f"write `{like[3]} {like[1]} {{ … }}` if `{like[3]}` is a kind, and else {with_base}", None
        return f"write {with_base}", stop.fix(*like.span(), f"let {like[1]} = {like[3]} with {{", is_safe=False)
    is_value = is_headed and (token.type == "STRING" or (token.type == "FIELD" and stop.last != "NAME"))
    if is_value or _VALUE_OF_THING.match(text, begin):
        return "put its properties in braces: `KIND NAME { PROPERTY = VALUE }`", None
    if is_headed and token.type == "COMMA":
        return "write a declaration for each name", None
    if is_headed and token.text == ".":
        return "a name is one word, without `.`: `KIND NAME on PARENT { … }`", None
    if (words or token.text == "(") and (alike := _CHOICE_OF_KINDS.match(text, begin)):
        kinds = " | ".join(f"{kind.strip()} on {alike[3]} {{}}" for kind in alike[1].split("|"))
        return f"write a choice of things as `let {alike[2]} = {kinds}`", None
    return None


def comment(stop: StopPlace) -> Correction | None:
    """A comment in the syntax of C, SQL, TeX or Lisp."""
    token, text = stop.token, stop.text
    begun = _COMMENT.match(text, text.rfind("\n", 0, token.start) + 1)
    if begun is None or not begun.start(1) <= token.start < begun.end(1):
        return None
    divided = "; divide with `floor(a / b)`" if begun[1] == "//" else ""
    return f"begin a comment with `#`{divided}", None


def other_languages_form(stop: StopPlace) -> Correction | None:
    """A duration in two words, a YAML list, a section of an INI file, a condition before its sentence."""
    token, text = stop.token, stop.text
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
    if token.text == "(" and stop.expected == "`{`" and any(symbol == "EXPERIMENT" for symbol, _ in stop.read):
        return "write fields in braces: `experiment NAME { on = …  run = … }`", None
    if token.text == "(" and stop.expected == "`{`" and _NAMED_ARGUMENT.match(text, token.end):
        return "write properties in braces: `KIND NAME { PROPERTY = VALUE }`", None
    if stop.expected == "a text" and stop.last == "ASSERT":
        return 'the sentence comes first: `assert "SENTENCE" CONDITION`', None
    if stop.expected == "`{`" and token.text == ":" and any(symbol == "EXPERIMENT" for symbol, _ in stop.read):
        return "put its fields in braces: `experiment NAME { FIELD = VALUE … }`", None
    is_sentence = token.type == "STRING" and not token.text.strip('"').isidentifier()
    if stop.expected == "a name" and stop.last in {"path", "NAME"} and is_sentence and " " in token.text:
        return "a line is `KIND NAME { … }`; a sentence is a title, or follows `expect` in an experiment", None
    return None


_PROPERTY_OF_THING = re.compile(r"[ \t]*(\w+)\.(?=\w+[ \t]*=(?!=))")
_DEFAULTED = re.compile(r"[ \t]*let[ \t]+(\w+)\([ \t]*(\w+)[ \t]*=(?!=)")
_KIND_OF_ALIAS = re.compile(r"[ \t]*kind[ \t]+(\w+)[ \t]*:[ \t]*\w+\.(\w+)")
_KIND_OF = re.compile(r"[ \t]*kind[ \t]+(\w+)[ \t]*\([ \t]*(\w+)[ \t]*\)")
_PROPERTY_BEFORE = re.compile(r"\bproperty[ \t]+\Z")
_IMPORTED_PART = re.compile(r"[ \t]*import[ \t]+([a-z]\w*)\.[\w.*]+")
_IMPORTED_FILE = re.compile(r"[ \t]*import[ \t]+\"[^\"\n]*\"(?:[ \t]+as[ \t]+\w+)?[ \t]*\Z")
_IMPORTED_FROM = re.compile(r"[ \t]*import[ \t]+(?:\w+|\{[^{}\n]*\})[ \t]+from[ \t]+\"(?:\./)?([\w-]+)(?:\.zexp)?\"")
_EXPERIMENT_BEFORE = re.compile(r"\bexperiment[ \t]+\w+[ \t]*\Z")
_FIRST_IN_EXPERIMENT = re.compile(r"\bexperiment[ \t]+\w+[ \t]*\{[ \t]*\Z|^[ \t]*\Z")
_EXPERIMENT_LIKE = re.compile(r"[ \t]+([A-Za-z_]\w*)")
_EXPERIMENT_OF = re.compile(r"\bexperiment[ \t]+\w+[ \t]*=[ \t]*\w+[ \t]*\Z")
_DASHES = re.compile(r"(?:[ \t]*-[ \t]+[^\s{}=:]+[ \t]*(?:\n|\Z))+")
_DASH = re.compile(r"^[ \t]*-")
_DOTS = re.compile(r"\.{1,2}(?:/[\w./-]*)?(?=[\s}])")
_SECTION = re.compile(r"\[([A-Za-z_][\w-]*)\]")
_ASSIGNED = re.compile(r"[ \t]*[a-z_][\w.]*[ \t]+[A-Za-z_][\w-]*([ \t]*)=[ \t]*\{")
_LIKE = re.compile(
    r"[ \t]*[a-z_][\w.]*[ \t]+([A-Za-z_][\w-]*)[ \t]*(=|:|(?<=\s)(?:extends|inherits|from|like)\b)"
    r"[ \t]*([A-Za-z_][\w-]*)[ \t]*\{"
)
"""A kind, a name, and another thing that it is like."""
_VALUE_OF_THING = re.compile(r"[ \t]*[a-z_][\w.]*[ \t]+[A-Za-z_][\w-]*[ \t]*=[ \t]*\"")
_FIELD_AFTER = re.compile(r"[A-Za-z_]\w*[ \t]*=(?!=)")
_SIZES_BEFORE = re.compile(r"(?<![\w.])\d[\w.]*\Z")
_NAMED = re.compile(r"[ \t]*[=:]")
_ON_BEFORE = re.compile(r"^[ \t]*\w+[ \t]+\w+[ \t]+on[ \t]+([A-Za-z]\w*)?\Z", re.MULTILINE)
_ARGUMENT = re.compile(r":([\w.]+%?)")
_WORD_BEFORE = re.compile(r"[A-Za-z_][\w-]*\Z")
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_PARAM_OF_VALUE = re.compile(r"[ \t]*param[ \t]+([A-Za-z_]\w*)([ \t]*:[ \t]*)(\d\w*)[ \t]*(?:\n|\Z)")
_TYPED = re.compile(r"[ \t]*let[ \t]+([A-Za-z_]\w*)\(([\w, ]*)")
_FUNCTION = re.compile(
    r"[ \t]*let[ \t]+([A-Za-z_]\w*)[ \t]*"
    r"(?:(?<=[ \t])([A-Za-z_]\w*)[ \t]*=(?!=)|=[ \t]*\(?([A-Za-z_][\w, ]*?)\)?[ \t]*[=-]>)"
)
"""A function as in ML, or with an arrow."""
_NO_PARAMETERS = re.compile(r"[ \t]*let[ \t]+([A-Za-z_]\w*)[ \t]*(\([ \t]*\))[ \t]*=")
_IMPORTED_AS = re.compile(r'[ \t]*import[ \t]+("[^"\n]*"(?=[ \t]+as\b)|\w+)(?:[ \t]+as[ \t]+\w+)?[ \t]*(?:with\b|[({])')
"""An import with values, up to their first bracket or `with`."""
_IMPORTED = re.compile(r"[ \t]*import[ \t]+([\w./-]+\.zexp)\b")
_CHOICE_OF_KINDS = re.compile(
    r"[ \t]*\(?[ \t]*([a-z_]\w*(?:[ \t]*\|[ \t]*[a-z_]\w*)+)[ \t]*\)?"
    r"[ \t]+([A-Za-z_][\w-]*)[ \t]+on[ \t]+([A-Za-z_][\w-]*)"
)
_PLACED = re.compile(r"([A-Za-z_]\w*)[ \t]+on[ \t]+[A-Za-z_]\w*\Z")
_COLONS = re.compile(r"(?<![\w./:%])[\w./%]*\Z")
_COMMENT = re.compile(r"(?:[^\n\"]*?[ \t])??(//|/\*|--|(?:^|(?<=\n))%)(?=[ \t]+[A-Za-z])")
_CLOCK = re.compile(r"\d\d?:\d\d:\d\d")
_WITH_COLONS = re.compile(r"[\w./:%]+")
_NAMED_ARGUMENT = re.compile(r'\s*(?:"|[A-Za-z_]\w*\s*=(?!=))')
"""An argument with its name, or a text."""
