"""A program's text and places in it."""

from __future__ import annotations

from bisect import bisect_right

from zlang.record import Record

TABLE = ".csv"
"""The suffix of an imported file that is a table of figures, not a program."""
BYTE_ORDER_MARK = "\ufeff"
"""The sign with which some programs begin a file of text."""


class Source:
    """A program's text, with the name by which the user knows it."""

    __slots__ = ("_starts", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        self._starts: list[int] = []

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both counted from 1."""
        if not self._starts:
            self._starts.append(0)
            self._starts.extend(i + 1 for i, char in enumerate(self.text) if char == "\n")
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, without its end."""
        lines = self.text.split("\n")
        return lines[number - 1] if number <= len(lines) else ""


class Span(Record, is_frequent=True):
    """The characters `start` to `end` (exclusive) of a source. All spans are equal, so trees compare without places."""

    source: Source
    start: int
    end: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span)

    def __hash__(self) -> int:
        return hash(Span)

    def __repr__(self) -> str:
        return f"Span(start={self.start}, end={self.end})"

    @property
    def place(self) -> tuple[str, int, int]:
        """The place as a tuple, for comparing."""
        return self.source.name, self.start, self.end

    @property
    def text(self) -> str:
        """The text that the span covers."""
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of another."""
        return Span(self.source, self.start, other.end)
