"""Positions in a text as the protocol counts them: lines from 0, and columns in UTF-16 code units.

Source: Language Server Protocol 3.17, "Position". Here each line ends with a newline.
"""

from __future__ import annotations

from bisect import bisect_right

from lsprotocol.types import Position, Range

from zlang.source import Span

_LARGEST_OF_ONE_UNIT = 0xFFFF


class TextLines:
    """The lines of a text in which every line ends with a newline."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        self._starts.extend(index + 1 for index, char in enumerate(text) if char == "\n")
        self._is_simple = text.isascii()

    def position(self, offset: int) -> Position:
        """The position of a character."""
        line = bisect_right(self._starts, offset) - 1
        before = self.text[self._starts[line] : offset]
        return Position(line, len(before) if self._is_simple else units(before))

    def offset(self, position: Position) -> int:
        """The offset of a position, or the nearest one if the position does not exist."""
        if position.line >= len(self._starts):
            return len(self.text)
        start = self._starts[position.line]
        is_last = position.line + 1 == len(self._starts)
        end = len(self.text) if is_last else self._starts[position.line + 1] - 1
        if self._is_simple:
            return min(start + position.character, end)
        column, offset = 0, start
        while offset < end and column < position.character:
            column += 1 + (ord(self.text[offset]) > _LARGEST_OF_ONE_UNIT)
            offset += 1
        return offset

    def range(self, start: int, end: int) -> Range:
        """The range of some characters."""
        return Range(self.position(start), self.position(end))

    def of(self, span: Span) -> Range:
        """The range of a span of this text."""
        return self.range(span.start, span.end)


def units(text: str) -> int:
    """The length of a text in UTF-16 code units."""
    return len(text) + sum(ord(char) > _LARGEST_OF_ONE_UNIT for char in text)
