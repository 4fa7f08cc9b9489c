"""Findings in the form of the protocol, and code actions for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CodeDescription,
    Diagnostic,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    Location,
    Position,
    Range,
    TextEdit,
    WorkspaceEdit,
)

from zlang import diagnostics, documentation
from zlang.diagnostics import Edit, Fix, Lint, Severity
from zlang.lsp.documents import Analysis, Documents, ParsedText, uri_of
from zlang.source import Span
from zlang.syntax import format as formatting

SOURCE = "zlang"
_SEVERITIES = {
    Severity.ERROR: DiagnosticSeverity.Error,
    Severity.WARNING: DiagnosticSeverity.Warning,
    Severity.NOTE: DiagnosticSeverity.Information,
}


def by_file(documents: Documents, analysis: Analysis) -> dict[str, list[Diagnostic]]:
    """The findings of a program, by file."""
    result: dict[str, list[Diagnostic]] = {path: [] for path in analysis.paths}
    for finding in analysis.findings:
        result.setdefault(finding.span.source.name, []).append(shown(documents, finding))
    if analysis.problem is not None:
        message = f"{analysis.problem}\n{analysis.problem.hint}".strip()
        where = analysis.root.lines.range(0, 0)
        result[analysis.root.source.name].append(Diagnostic(where, message, DiagnosticSeverity.Error, source=SOURCE))
    return result


def shown(documents: Documents, finding: diagnostics.Diagnostic) -> Diagnostic:
    """A finding in the form of the protocol."""
    notes = [
        DiagnosticRelatedInformation(Location(uri_of(note.span.source.name), range_of(documents, note.span)), note.text)
        for note in finding.notes
    ]
    text = "\n".join(part for part in (finding.message, finding.label, finding.hint) if part)
    page = documentation.address(documentation.page_of_finding(finding.code.id))
    return Diagnostic(
        range=range_of(documents, finding.span),
        message=text,
        severity=_SEVERITIES[finding.code.severity],
        code=finding.code.name if isinstance(finding.code, Lint) else finding.code.id,
        code_description=CodeDescription(page) if "://" in page else None,
        source=SOURCE,
        related_information=notes or None,
    )


def range_of(documents: Documents, span: Span) -> Range:
    """The range of a span, in any file."""
    text = documents.text(span.source.name)
    if text is None or text.source.text != span.source.text:
        text = ParsedText(span.source.name, span.source.text)
    return text.lines.of(span)


def actions(documents: Documents, text: ParsedText, analysis: Analysis, where: Range) -> list[CodeAction]:
    """The actions for the findings in a range: apply a fix, or allow the finding."""
    start, end = text.lines.offset(where.start), text.lines.offset(where.end)
    result: list[CodeAction] = []
    for finding in analysis.findings:
        if finding.span.source.name == text.source.name and finding.span.start <= end and finding.span.end >= start:
            result += _of_finding(documents, text, finding)
    return result


def _of_finding(documents: Documents, text: ParsedText, finding: diagnostics.Diagnostic) -> Iterator[CodeAction]:
    about = [shown(documents, finding)]
    for fix in finding.fixes:
        yield CodeAction(
            fix.title, CodeActionKind.QuickFix, about, fix.is_safe or None, edit=edit(documents, fix.edits)
        )
    if isinstance(finding.code, Lint):
        allowance = Fix("", (_allowance(text, finding.span, finding.code.name),), is_safe=False)
        title = f"allow {finding.code.name} here"
        yield CodeAction(title, CodeActionKind.QuickFix, about, edit=edit(documents, allowance.edits))


def _allowance(text: ParsedText, span: Span, name: str) -> Edit:
    """The edit that allows a finding by a comment above its declaration."""
    entries = [
        entry.span.start for entry in text.symbols.tree.entries if entry.span.start <= span.start < entry.span.end
    ]
    at = text.source.text.rfind("\n", 0, entries[0] if entries else span.start) + 1
    return Edit(Span(text.source, at, at), f"# allow {name}: say why\n")


def edit(documents: Documents, edits: Iterable[Edit]) -> WorkspaceEdit:
    """Edits of files in the form of the protocol."""
    changes: dict[str, list[TextEdit]] = {}
    for item in edits:
        uri = uri_of(item.span.source.name)
        changes.setdefault(uri, []).append(TextEdit(range_of(documents, item.span), item.text))
    return WorkspaceEdit(changes)


def formatted(text: ParsedText, where: Range | None = None) -> list[TextEdit]:
    """The edits that format a text: one for each group of changed lines, if it is in the range."""
    before, after = text.source.text, formatting.program(text.source).text
    if after == before:
        return []
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    lines = range(where.start.line, where.end.line + 1) if where else range(len(old) + 1)
    return [
        TextEdit(Range(Position(start, 0), Position(end, 0)), "".join(new[new_start:new_end]))
        for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal" and start < lines.stop and max(end, start + 1) > lines.start
    ]


def formatted_entry(text: ParsedText, position: Position) -> list[TextEdit]:
    """The edits that format the entry before a place."""
    offset = text.lines.offset(position)
    entries = [entry.span for entry in text.symbols.tree.entries if entry.span.start < offset <= entry.span.end]
    return formatted(text, text.lines.of(entries[0])) if entries else []
