"""Apply the fixes of findings that are unambiguous.

In: a program and its settings. Out: the fixed texts of the program and of the files that it imports. Rule: only safe
fixes are applied, and after each round the program is checked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from zlang.check.check import Overrides
from zlang.diagnostics import Diagnostic, Edit, Fix
from zlang.pipeline import plans, programs
from zlang.source import Source

ROUNDS = 20
"""The most rounds of fixes: each may reveal problems that were hidden before."""


@dataclass(slots=True)
class FixedTexts:
    """The changed texts, by file, before and after, and the changes in each."""

    before: dict[str, str] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)
    done: dict[str, list[str]] = field(default_factory=dict)


def apply_safe_fixes(source: Source, overrides: Overrides) -> FixedTexts:
    """Apply the safe fixes of a program, and those that become possible after them."""
    result = FixedTexts()
    for _ in range(ROUNDS):
        text = result.after.get(source.name, source.text)
        findings, _ = plans.all_findings(programs.check(Source(source.name, text), overrides, result.after))
        chosen = list(safe(findings))
        if not chosen:
            break
        sources = {edit.span.source.name: edit.span.source.text for fix in chosen for edit in fix.edits}
        for name, old in sources.items():
            own = [fix for fix in chosen if fix.edits[0].span.source.name == name]
            result.before.setdefault(name, old)
            result.after[name] = applied(old, [edit for fix in own for edit in fix.edits])
            result.done.setdefault(name, []).extend(fix.title for fix in own)
    return result


def safe(findings: Iterable[Diagnostic]) -> Iterator[Fix]:
    """The safe fixes, except those that overlap with another."""
    taken: list[tuple[str, int, int]] = []
    for finding in findings:
        for fix in finding.fixes:
            places = [edit.span.place for edit in fix.edits]
            if fix.is_safe and not any(_overlap(place, other) for place in places for other in taken):
                taken += places
                yield fix


def _overlap(pair: tuple[str, int, int], other: tuple[str, int, int]) -> bool:
    return pair[0] == other[0] and pair[1] <= other[2] and other[1] <= pair[2]


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits that do not overlap."""
    for edit in sorted(edits, key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text
