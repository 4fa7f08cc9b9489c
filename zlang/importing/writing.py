"""Writing of programs: unused names, literals, comments, and formatting.

In: the content of another tool's file, as an importer understood it. Out: formatted text.
Rule: text from elsewhere is put only in comments and quotes, where it cannot be read as code.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from zlang import text, units
from zlang.check import library, types
from zlang.check.instances import checked_value
from zlang.check.program import PropertyDef, Symbol, Value
from zlang.diagnostics import Code, ProgramError
from zlang.errors import RunError
from zlang.source import Source, Span
from zlang.syntax import format as formatting
from zlang.syntax import parse

_NOWHERE = Span(Source("", ""), 0, 0)
_SHORT = 80
_NOT_IN_NAMES = re.compile(r"\W+", re.ASCII)
_ALLOWANCE = re.compile(r"#*\s*allow\b")


def comment(words: str) -> list[str]:
    """A text as comment lines; a text that looks like an allowance is quoted."""
    lines = [text.visible(line).rstrip() for line in words.splitlines()]
    return [f'# "{line}"' if _ALLOWANCE.match(line) else f"# {line}".rstrip() for line in lines]


def quoted(words: str) -> str:
    """A text as a quoted literal of the language."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "{": "{{", "}": "}}"}
    return '"' + "".join(escapes.get(char, char) for char in words) + '"'


def literal(value: Value) -> str:
    """A value as a literal of the language."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Symbol):
        return value.name
    if isinstance(value, units.Quantity):
        return units.show(value)
    assert isinstance(value, str)
    return quoted(value)


def takes(definition: PropertyDef, value: Value) -> bool:
    """Whether a property can have this value."""
    try:
        checked_value(definition, value, _NOWHERE)
        return isinstance(value, bool | Symbol) or _is_exact(value)
    except (ProgramError, units.UnitError):
        return False


def _is_exact(value: Value) -> bool:
    """Whether the literal of a value reads back as the same value, which that of a third of a second does not."""
    return not isinstance(value, units.Quantity) or units.parse(units.show(value)).amount == value.amount


class FreeNames:
    """Allocates names for declarations: each is used once, and none is a word of the language or the library."""

    def __init__(self, reserved: Collection[str] = ()) -> None:
        self._used = {*library.load().names(), *library.load().modules, *types.SCALARS, *types.BOOLS, *reserved}

    def free(self, wanted: str, instead: str) -> str:
        """An unused name as close as possible to the wanted one, or based on `instead` if no part of it can be used."""
        stem = _NOT_IN_NAMES.sub("_", wanted).strip("_").lower() or instead
        stem = f"{instead}_{stem}" if stem[0].isdigit() else stem
        is_free = _is_name(stem) and stem not in self._used
        stem = stem if is_free or stem == instead else f"{stem}_{instead}"
        number, name = 1, stem
        while name in self._used:
            number += 1
            name = f"{stem}_{number}"
        self._used.add(name)
        return name


def _is_name(word: str) -> bool:
    return not parse.program(Source("", f"let {word} = 1\nlet choice = {word} | {word}\n")).findings


def program(lines: Iterable[str]) -> str:
    """Format the lines of a program. Raises RunError."""
    formatted = formatting.program(Source("import", "\n".join([*lines, ""])))
    for finding in formatted.findings:
        if finding.code is Code.TOO_LONG:
            raise RunError(finding.message, "import a part of the file")
    assert not formatted.findings, f"BUG: the import is not a program: {formatted.findings[0].message}"
    return formatted.text


def block(head: str, lines: tuple[str, ...]) -> list[str]:
    """A declaration, on one line if that is short."""
    whole = f"{head} {'  '.join(lines)} }}"
    is_short = len(whole) <= _SHORT and not any(line.startswith("#") for line in lines)
    return [whole, ""] if is_short else [head, *lines, "}", ""]
