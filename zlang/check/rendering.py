"""Rendering of the templates of kinds and commands with their values, as texts and as shell words.

In: the parts of a template, and a point or a frame. Out: text. Rule: nothing is resolved here; a value in a
command is quoted. Planning calls this module, but none of the modules that resolve.
"""

from __future__ import annotations

import re

from zlang.cache import by_object
from zlang.check import values
from zlang.check.instances import Frame
from zlang.check.program import ABSENT, Absent, Expr, Joined, PropertyDef, Value, Variable
from zlang.diagnostics import Code, ProgramError
from zlang.hints import Any
from zlang.units import Quantity

LONGEST_TEXT = 1 << 20


def joined(parts: list[Value]) -> Value:
    """Join parts into a text; some can be shell variables."""
    if any(isinstance(part, Absent) for part in parts):
        return ABSENT
    flat: list[Value] = []
    for part in parts:
        flat += part.parts if isinstance(part, Joined) else [part]
    if any(isinstance(part, Variable | tuple) for part in flat):
        return Joined(tuple(part if isinstance(part, str | Variable) else values.plain(part) for part in flat))
    return "".join(values.plain(part) for part in flat)


def is_outside_name(part: str, text: Value) -> bool:
    """Whether a part can occur only in the known pieces of a text: the rest is the run's name, `[a-z0-9-]+`."""
    variables = text.parts if isinstance(text, Joined) else (text,)
    is_named = all(part.name == "RUN" for part in variables if isinstance(part, Variable))
    return is_named and not re.search(r"[a-z0-9-]", part)


def check_length(length: int) -> None:
    """Raise ValueProblem for a text that would be too long."""
    if length > LONGEST_TEXT:
        raise values.ValueProblem(f"this text exceeds {LONGEST_TEXT:,} characters")


def shell_text(parts: tuple[str | Expr, ...], at: Any) -> str:
    """Return a command with its values filled in, each quoted."""
    return "".join([part if isinstance(part, str) else shell_value(part, part.value(at)) for part in parts])


def shell_value(part: Expr, value: Value) -> str:
    """Return the value of a part of a command as quoted words."""
    try:
        return values.plain(value) if isinstance(value, Quantity) else _words(value)  # a number needs no quotes
    except values.ValueProblem as problem:
        raise ProgramError(Code.NO_VALUE.at(part.span, message=str(problem))) from None


_words = by_object(values.shell_words)
"""The words of a value, which many points of an experiment share."""


def option_word(form: tuple[str | Expr, ...], definition: PropertyDef, given: Value) -> Value:
    """Fill in a kind's form of an option for a given property."""
    value = values.in_unit(given, definition.unit)
    frame = Frame(None, None, {"key": definition.name, "value": value})
    return joined([part if isinstance(part, str) else part.value(frame) for part in form])
