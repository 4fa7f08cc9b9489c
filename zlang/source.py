"""A program's text and places in it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

TABLE = ".csv"
"""How the name of an imported file ends that is a table of figures, no program."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One text with the name that the user knows it by."""

    name: str
    text: str
    _starts: list[int] = field(default_factory=list, repr=False)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        if not self._starts:
            self._starts.append(0)
            self._starts.extend(i + 1 for i, char in enumerate(self.text) if char == "\n")
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, without its end."""
        lines = self.text.split("\n")
        return lines[number - 1] if number <= len(lines) else ""


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `start` to `end` (exclusive) of a source. Two trees are equal wherever they stand."""

    source: Source = field(compare=False, repr=False)
    start: int = field(compare=False)
    end: int = field(compare=False)

    @property
    def place(self) -> tuple[str, int, int]:
        """Where it stands, for comparing."""
        return self.source.name, self.start, self.end

    @property
    def text(self) -> str:
        """The text that it covers."""
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """From the start of this one to the end of another."""
        return Span(self.source, self.start, other.end)
