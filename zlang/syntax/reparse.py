"""Text to tree after an edit: only the entries around the edit are read again.

In: what an earlier text without errors was parsed to, and the text as it is now. Out: the same as of `parse.program`.
Rule: what is read again ends before an entry that the edit did not touch. If reading goes on with that very entry,
without an error at it or in the words before it, the rest of the text is read as it was.
"""

from __future__ import annotations

from typing import Any

from zlang.record import Record
from zlang.source import Source, Span
from zlang.syntax import lexer, parse, tables, tree
from zlang.syntax.parse import Driver, Parsed
from zlang.units import Dimension, Quantity


def program(before: Parsed, source: Source) -> Parsed:
    """Parse a text that is much like an earlier one, which had no errors."""
    old, text = before.tree.source.text, source.text
    entries = before.tree.entries
    # A text without an error has fewer words than characters: it is not too long where it has so few of these.
    if before.findings or not entries or len(text) > parse.MOST_WORDS:
        return parse.program(source)
    same, same_at_end = _common(old, text)
    by = len(text) - len(old)
    # The entry just before the edit is read again, since a line may go on in the next one.
    first = max(0, sum(entry.span.end < same for entry in entries) - 1)
    begin = entries[first].span.start if first else 0
    later = [
        number
        for number, entry in enumerate(entries)
        if number > first and entry.span.start > len(old) - same_at_end and old[entry.span.start - 1] == "\n"
    ]
    if begin and old[begin - 1] != "\n":
        return parse.program(source)
    if len(later) > 1 and later[1] == later[0] + 1:
        again = _part(source, begin, entries[later[1]].span.start + by)
        if again is not None and again.tree.entries and not _reaches(again, entries[later[0]].span.start + by):
            return _joined(before, again, first, later[1], by)
        return parse.program(source)
    again = _part(source, begin, len(text))
    return parse.program(source) if again is None else _joined(before, again, first, len(entries), by)


def _common(old: str, new: str) -> tuple[int, int]:
    """The number of equal characters at the beginning, and of others at the end."""
    most = min(len(old), len(new))
    same = _longest(most, lambda count: old[:count] == new[:count])
    return same, _longest(most - same, lambda count: old[len(old) - count :] == new[len(new) - count :])


def _longest(most: int, holds: Any) -> int:
    """The largest number up to `most` for which something holds that holds for all smaller ones."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if holds(middle) else (least, middle - 1)
    return least


def _part(source: Source, begin: int, end: int) -> Parsed | None:
    """Read a part of a text; None where there are words in it that cannot be read."""
    lexed = lexer.lex(source, tables.load(), begin, end)
    if lexed.findings or not lexed.is_closed:
        return None
    driver = Driver(source, [])
    entries = tuple(driver.run(lexed.tokens, "file") or ())
    findings = sorted(driver.findings, key=lambda finding: finding.span.start)
    return Parsed(tree.Tree(source, entries, tuple(lexed.comments)), tuple(findings), frozenset(driver.broken))


def _reaches(again: Parsed, start: int) -> bool:
    """Whether an entry without a change was read differently."""
    return again.tree.entries[-1].span.start != start or any(finding.span.end >= start for finding in again.findings)


def _joined(before: Parsed, again: Parsed, first: int, after: int, by: int) -> Parsed:
    """The entries before number `first`, those that were read again, and those from number `after` on."""
    source, entries = again.tree.source, before.tree.entries
    begin = entries[first].span.start if first else 0
    end = entries[after].span.start if after < len(entries) else len(before.tree.source.text) + 1
    comments = before.tree.comments
    return Parsed(
        tree.Tree(
            source,
            (
                *(_moved(entry, source, 0) for entry in entries[:first]),
                *again.tree.entries,
                *(_moved(entry, source, by) for entry in entries[after:]),
            ),
            (
                *(_moved(comment, source, 0) for comment in comments if comment.span.start < begin),
                *again.tree.comments,
                *(_moved(comment, source, by) for comment in comments if comment.span.start >= end),
            ),
        ),
        again.findings,
        again.broken,
    )


def _moved(node: Any, source: Source, by: int) -> Any:
    """The same node in another text."""
    if type(node) is Span:
        return Span(source, node.start + by, node.end + by)
    if type(node) is tuple:
        return tuple([_moved(item, source, by) for item in node])
    if not isinstance(node, Record) or type(node) in {Quantity, Dimension}:
        return node
    return type(node)(*[_moved(getattr(node, name), source, by) for name in type(node).record_fields])  # type: ignore[attr-defined]
