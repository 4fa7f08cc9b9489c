"""The place where the parser stopped, for the functions that guess what was meant."""

from __future__ import annotations

import re

from zlang.diagnostics import Edit, Fix
from zlang.hints import Any
from zlang.record import Record
from zlang.source import Source, Span
from zlang.syntax import tree
from zlang.syntax.lexer import Token

_THINGS = re.compile(r"\b(?:on|with|before|run|during|collect)[ \t]*=\Z")
Correction = tuple[str, Fix | None]


class StopPlace(Record):
    """The state of the parser when it stopped.

    `read` has the symbols and values read so far, the innermost last. `token` was not accepted; `expected` are the
    terminals that would have been. `end` is the end of the last token read.
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
        """Whether the token directly follows a sign."""
        return self.text.endswith(sign, 0, self.token.start)

    @property
    def is_condition(self) -> bool:
        """Whether the token is in a condition, or directly after one."""
        for symbol, value in reversed(self.read):
            if symbol in {"items", "lines"}:
                return False
            if symbol in {"WHERE", "EXPECT", "IF"} or tree.is_condition(value):
                return True
        return False

    @property
    def is_thing(self) -> bool:
        """Whether the token begins the value of a field of an experiment that names declared things."""
        return _THINGS.search(self.text, 0, self.end) is not None

    def fix(self, start: int, end: int, text: str, *, is_safe: bool = True) -> Fix:
        """Return the fix that replaces a text with another."""
        title = f"write `{text.strip()}`" if text.strip() else f"remove `{self.text[start:end].strip()}`"
        return Fix(title, (Edit(Span(self.source, start, end), text),), is_safe)
