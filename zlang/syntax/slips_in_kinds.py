"""Slips in kinds: types of properties, metrics and commands as other languages write them."""

from __future__ import annotations

import re

from zlang.syntax.stop_place import Correction, StopPlace


def property_type(stop: StopPlace) -> Correction | None:
    """The type of a property as in Python, TypeScript, Protocol Buffers, SQL or Rust."""
    if not _is_in_kind(stop):
        return None
    begin = max((declared.end() for declared in _PROPERTY.finditer(stop.text, 0, stop.token.end)), default=None)
    if begin is None or re.search(r"[{}\n]", stop.text[begin : stop.token.start]):
        return None
    if (listed := _LIST.match(stop.text, begin)) or (listed := _ARRAY.match(stop.text, begin)):
        written = f"[{listed[1]}]"
        return f"write the type of a list as `{written}`", stop.fix(begin, listed.end(), written, is_safe=False)
    if words := _ENUMERATION.match(stop.text, begin):
        written = " | ".join(re.findall(r"[\w-]+", words[1]))
        return f"write its words as `{written}`", stop.fix(begin, words.end(), written, is_safe=False)
    if words := _QUOTED.match(stop.text, begin):
        written = words[0].replace('"', "")
        return f"write words without quotes: `{written}`", stop.fix(begin, words.end(), written, is_safe=False)
    if optional := _OPTIONAL.match(stop.text, begin):
        hint = f"a property may be left out unless it has `required = on`: write `{optional[1]}`"
        return hint, stop.fix(begin, optional.end(), optional[1], is_safe=False)
    if given := _DEFAULT.match(stop.text, begin):
        written = f"{given[1]} {{ default = {given[2]} }}"
        return f"write `{written}`", stop.fix(begin, given.end(), written, is_safe=False)
    return None


def part_of_kind(stop: StopPlace) -> Correction | None:
    """A kind without its role, a command without `sh`, a metric without its type or without its place in the output."""
    token, text = stop.token, stop.text
    line = text[text.rfind("\n", 0, token.start) + 1 : token.start]
    if stop.last == "NAME" and token.text == "{" and _KIND_ALONE.search(line):
        return "write what it is: `kind NAME: workload { … }`, or another role or kind", None
    if token.text == "with" and _KIND_OF_KIND.search(line):
        return "remove `with`: `kind NAME: KIND { … }`", stop.fix(
            token.start, token.end + text[token.end :].startswith(" "), ""
        )
    if not _is_in_kind(stop):
        return None
    if stop.last == "NAME" and (needs := _NEEDS_BEFORE.search(text, 0, token.start)):
        hint = f"give it the name that it has in the commands: `{needs[0].strip()} as at`"
        return hint, stop.fix(needs.end(1), needs.end(1), " as at")
    if token.type == "STRING" and _ACTION_BEFORE.search(line):
        return 'write a command as `sh "…"`', stop.fix(token.start, token.start, "sh ")
    if token.type == "STRING" and (metric := _METRIC_OF_TEXT.search(line)):
        hint = f'say how it is found: `metric {metric[1]}: {metric[2]} = regex "…"`, `json "…"` or `csv "…"`'
        return hint, stop.fix(token.start, token.start, "regex ", is_safe=False)
    if token.text == "(" and _FINDER_BEFORE.search(line):
        hint = 'write where the number is found without parentheses: `regex "…"`'
        return hint, stop.fix(token.start, token.end, " ", is_safe=False)
    if token.type == "STRING" and (reader := _READER_BEFORE.search(line)):
        if reader[1] in {"csv", "json", "regex"}:
            time = _TIME_OF_READER.match(text, token.end)
            source = f"{{ from = {token.text}{f'  {time[1]}' if time else ''} }}"
            return f'say what is measured: `metric NAME: TYPE = {reader[1]} "NAME" {source}`', None
        return f'write it into an action: `run {{ sh "…"  reads {reader[1]} {token.text} }}`', None
    if token.type in {"NAME", "FIELD"} and _METRIC_BEFORE.search(line):
        return f'say what it measures: `metric {token.text}: duration = regex "…" in ms`', None
    return None


def _is_in_kind(stop: StopPlace) -> bool:
    return any(symbol == "KIND" for symbol, _ in stop.read)


_TIME_OF_READER = re.compile(r'[ \t]*\{[^{}]*\b(time[ \t]*=[ \t]*"[^"\n]*")')
_KIND_OF_KIND = re.compile(r"\bkind[ \t]+\w+[ \t]*:[ \t]*\w+[ \t]*\Z")
_PROPERTY = re.compile(r"\bproperty[ \t]+\w+[ \t]*:[ \t]*")
_LIST = re.compile(r"(?i:list|array|vector|set|seq)(?:[ \t]+of[ \t]+|[ \t]*[<(\[][ \t]*)([a-z]+)[ \t]*[>)\]]?")
_ARRAY = re.compile(r"([a-z]+)\[\]")
_ENUMERATION = re.compile(r"(?i:enum|oneof|one_of|choice|literal)[ \t]*[\[({<]([^\])}>\n]*)[\])}>]")
_QUOTED = re.compile(r'"[\w-]+"(?:[ \t]*\|[ \t]*"[\w-]+")*')
_OPTIONAL = re.compile(r"(?:optional|nullable|maybe)[ \t]+([a-z]+)")
_DEFAULT = re.compile(r"([a-z]+)[ \t]*=[ \t]*([^\s{}]+)")
_KIND_ALONE = re.compile(r"^[ \t]*kind[ \t]+\w+[ \t]*\Z")
_NEEDS_BEFORE = re.compile(r"\bneeds[ \t]+(\w+(?:[ \t]*\|[ \t]*\w+)*)\s*\Z")
_ACTION_BEFORE = re.compile(r"[ \t{][a-z]\w*[ \t]*\{[ \t]*\Z")
_METRIC_OF_TEXT = re.compile(r"\bmetric[ \t]+(\w+)[ \t]*:[ \t]*(\w+)[ \t]*=[ \t]*\Z")
_READER_BEFORE = re.compile(r"\breads[ \t]+(\w+)[ \t]+\Z")
_FINDER_BEFORE = re.compile(r"\bmetric\b[^\n{}]*=[ \t]*(?:regex|json|csv|hdr)[ \t]*\Z")
_METRIC_BEFORE = re.compile(r"\bmetric[ \t]+\Z")
