"""Text to tree after an edit: only the entries around the edit are parsed again.

In: the result of parsing an earlier text without errors, and the current text. Out: the same as from `parse.program`.
Rule: the part that is parsed again ends before an entry that the edit did not touch. If parsing continues with that
entry, without an error at it or in the words before it, the rest of the text has the same tree as before.
"""

from __future__ import annotations

from zlang.hints import Any
from zlang.record import Record
from zlang.source import Source, Span
from zlang.syntax import lexer, parse, tables, tree
from zlang.syntax.parse import Driver, Parsed
from zlang.units import Dimension, Quantity


def program(before: Parsed, source: Source) -> Parsed:
    """Parse a text that is similar to an earlier one without errors."""
    old, text = before.tree.source.text, source.text
    entries = before.tree.entries
    # A text without an error has fewer words than characters: with so few of these, it cannot be too long.
    if before.findings or not entries or len(text) > parse.MOST_WORDS:
        return parse.program(source)
    same, same_at_end = _common(old, text)
    by = len(text) - len(old)
    # The entry just before the edit is parsed again, because a line may continue in the next one.
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
    """Return the number of equal characters at the beginning, and at the end without those."""
    most = min(len(old), len(new))
    same = _longest(most, lambda count: old[:count] == new[:count])
    return same, _longest(most - same, lambda count: old[len(old) - count :] == new[len(new) - count :])


def _longest(most: int, holds: Any) -> int:
    """Return the largest number up to `most` that satisfies a condition that all smaller ones satisfy."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if holds(middle) else (least, middle - 1)
    return least


def _part(source: Source, begin: int, end: int) -> Parsed | None:
    """Parse a part of a text; None if it contains words that cannot be read."""
    lexed = lexer.lex(source, tables.load(), begin, end)
    if lexed.findings or not lexed.is_closed:
        return None
    driver = Driver(source, [])
    entries = tuple(driver.run(lexed.tokens, "file") or ())
    findings = sorted(driver.findings, key=lambda finding: finding.span.start)
    return Parsed(tree.Tree(source, entries, tuple(lexed.comments)), tuple(findings), frozenset(driver.broken))


def _reaches(again: Parsed, start: int) -> bool:
    """Whether an unchanged entry was parsed differently."""
    return again.tree.entries[-1].span.start != start or any(finding.span.end >= start for finding in again.findings)


def _joined(before: Parsed, again: Parsed, first: int, after: int, by: int) -> Parsed:
    """Return the entries before number `first`, those that were parsed again, and those from number `after` on."""
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
    """Return the same node in another text."""
    if type(node) is Span:
        return Span(source, node.start + by, node.end + by)
    if type(node) is tuple:
        return tuple([_moved(item, source, by) for item in node])
    if not isinstance(node, Record) or type(node) in {Quantity, Dimension}:
        return node
    return type(node)(*[_moved(getattr(node, name), source, by) for name in type(node).record_fields])  # type: ignore[attr-defined]
