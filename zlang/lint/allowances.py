"""`# allow NAME: reason`: comments that allow findings which are intended.

At the end of a line a comment applies to that line; on its own line, to the declaration or the line below it; at the
head of a file, before an empty line, to the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from zlang.check.program import Program
from zlang.diagnostics import Code, Diagnostic, Lint
from zlang.lint.after import AFTER
from zlang.lint.levels import LINTS
from zlang.lint.rules import EXCLUDED, RULES
from zlang.record import Record
from zlang.source import Span
from zlang.suggest import did_you_mean
from zlang.syntax import tree

_OF_MACHINES = {rule.lint for rule in RULES if rule.of_machine}
_EXCLUDED = {word for item in EXCLUDED for word in (item.id, item.name)}
_FORM = r"#\s*allow\s+(?P<name>[\w-]+)\s*(?::\s*(?P<reason>.*?))?\s*(?:#.*)?$"


class Allowance(Record):
    """An allowed rule, the reason, the place that names it, and the place to which it applies."""

    name: str
    reason: str
    code_span: Span
    holds: Span


def of(program: Program) -> Iterator[Allowance]:
    """The allowances of a program and of its imports."""
    for file in program.trees:
        entries = {entry.span.start: entry for entry in file.entries}
        below: dict[int, int] = {}
        for comment in file.comments:
            form = re.match(_FORM, comment.text.rstrip()) if "allow" in comment.text else None
            if form:
                begin = comment.span.start
                named = Span(file.source, begin + form.start("name"), begin + form.end("name"))
                yield Allowance(
                    form["name"], form["reason"] or "", named, _span_of_allowance(file, comment.span, entries, below)
                )


def apply(
    program: Program, findings: Sequence[Diagnostic]
) -> tuple[list[Diagnostic], list[tuple[Diagnostic, str]], list[Diagnostic]]:
    """Split findings into those not allowed and those allowed, with reasons; add findings about the allowances."""
    kept = list(findings)
    allowed: list[tuple[Diagnostic, str]] = []
    wrong: list[Diagnostic] = []
    for allowance in of(program):
        lint = LINTS.get(allowance.name)
        if lint is None:
            hint = did_you_mean(allowance.name, LINTS) or "`zlang explain` lists the rules"
            if allowance.name in _EXCLUDED:
                hint = f"no program can have it: `zlang explain {allowance.name}`"
            wrong.append(Code.UNKNOWN_RULE.at(allowance.code_span, name=allowance.name, hint=hint))
            continue
        if not allowance.reason:
            hint = f"say why: `# allow {allowance.name}: …`"
            wrong.append(Code.NO_REASON.at(allowance.code_span, name=allowance.name, hint=hint))
        if lint.name in AFTER:
            if allowance.reason:
                allowed.append((in_results(lint, allowance.code_span), allowance.reason))
            continue
        remaining = [
            finding for finding in kept if finding.code != lint or not _is_inside(finding.span, allowance.holds)
        ]
        if len(remaining) == len(kept) and allowance.reason and lint not in _OF_MACHINES:
            wrong.append(Code.UNUSED_ALLOWANCE.at(allowance.code_span, name=allowance.name))
        allowed += [(item, allowance.reason) for item in kept if all(item is not other for other in remaining)]
        kept = remaining
    return kept, allowed, wrong


def in_results(lint: Lint, span: Span) -> Diagnostic:
    """A placeholder for a rule about results, which can be allowed, denied or warned of before there are any."""
    return lint.at(span, "it is looked for in the results")


def _is_inside(span: Span, whole: Span) -> bool:
    return span.source is whole.source and whole.start <= span.start and span.end <= whole.end


def _span_of_allowance(
    file: tree.Tree, comment: Span, entries: Mapping[int, tree.Entry], below_comments: dict[int, int]
) -> Span:
    """The part of the program to which an allowance applies; `entries` are indexed by their places.

    `below_comments` has the places of lines below other comments.
    """
    text = file.source.text
    line = text.rfind("\n", 0, comment.start) + 1
    end_of_line = text.find("\n", comment.end)
    end_of_line = len(text) if end_of_line < 0 else end_of_line
    if text[line : comment.start].strip():
        return Span(file.source, line, end_of_line)
    below = _below_comments(text, end_of_line + 1, below_comments)
    first = file.entries[0].span.start if file.entries else len(text)
    end = text.find("\n", below)
    line_below = text[below : len(text) if end < 0 else end]
    if below < first and not line_below.strip():
        return Span(file.source, 0, len(text))
    entry = entries.get(below + len(line_below) - len(line_below.lstrip(" \t")))
    return entry.span if entry is not None else Span(file.source, below, below + len(line_below))


def _below_comments(text: str, line: int, below_comments: dict[int, int]) -> int:
    """Return the first line from a line on that does not begin with a comment."""
    lines = []
    while text.startswith("#", line) and line not in below_comments:
        lines.append(line)
        line = text.find("\n", line) + 1 or len(text)
    line = below_comments.get(line, line)
    below_comments.update(dict.fromkeys(lines, line))
    return line
