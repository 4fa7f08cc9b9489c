"""Machine-readable formats of findings: one line each, JSON lines, SARIF 2.1.0, GitHub's workflow commands.

In: all findings of all files, and the errors of unreadable files. Out: text, in pieces. Lines and columns count from
1 and columns are characters (code points), as on the screen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from urllib.parse import quote

from zlang import __version__
from zlang.cli import render
from zlang.diagnostics import Code, Diagnostic, Fix, Lint
from zlang.errors import RunError
from zlang.lint.rules import RULES
from zlang.source import Span

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LINTS = tuple(rule.lint for rule in RULES)
_ORDER = {value.id: i for i, value in enumerate((*Code, *_LINTS))}
_GITHUB = {"note": "notice"}
_PLACEHOLDER = re.compile(r"\{\w+\}")


def short(findings: Sequence[Diagnostic], _unread: Sequence[RunError]) -> Iterator[str]:
    """Lines such as `file:line:column: error[E203]: message`, for editors and grep."""
    for finding in findings:
        line, column = finding.span.source.position(finding.span.start)
        code = finding.code
        where = f"{render.visible(finding.span.source.name)}:{line}:{column}"
        yield f"{where}: {code.severity.value}[{code.id}]: {render.visible(finding.message)}\n"


def json_lines(findings: Sequence[Diagnostic], _unread: Sequence[RunError]) -> Iterator[str]:
    """JSON lines, with one object for each finding."""
    for finding in findings:
        yield json.dumps(render.as_json(finding)) + "\n"


# -- GitHub: https://docs.github.com/actions/reference/workflow-commands-for-github-actions


def github(findings: Sequence[Diagnostic], unread: Sequence[RunError]) -> Iterator[str]:
    """Workflow commands: each finding becomes an annotation at its place."""
    for finding in findings:
        line, column = finding.span.source.position(finding.span.start)
        last, end = finding.span.source.position(max(finding.span.start, finding.span.end))
        places: dict[str, str | int] = {"file": finding.span.source.name, "line": line, "endLine": last, "col": column}
        if line == last:
            places["endColumn"] = end
        severity = finding.code.severity.value
        yield _command(_GITHUB.get(severity, severity), {**places, "title": finding.code.id}, _with_hint(finding))
    for error in unread:
        yield _command("error", {}, f"{error.message}\nhelp: {error.hint}" if error.hint else error.message)


def _command(name: str, properties: dict[str, str | int], message: str) -> str:
    """A command, escaped as the runner's own toolkit does it (actions/toolkit, packages/core/src/command.ts)."""
    text = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name}{' ' if text else ''}{text}::{_data(message)}\n"


def _data(text: str) -> str:
    return render.visible(text, "\r\n").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _with_hint(finding: Diagnostic) -> str:
    return f"{finding.message}\nhelp: {finding.hint}" if finding.hint else finding.message


# -- SARIF: https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/sarif-v2.1.0-os.html


def sarif(findings: Sequence[Diagnostic], unread: Sequence[RunError]) -> Iterator[str]:
    """A SARIF document with one run."""
    driver = {
        "name": "zlang",
        "semanticVersion": __version__,
        "rules": [*(_rule(code) for code in Code), *(_lint(lint) for lint in _LINTS)],
    }
    invocation: dict[str, object] = {"executionSuccessful": not unread}
    if unread:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": _message(error.message)} for error in unread
        ]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": [_result(finding) for finding in findings],
    }
    yield json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: Code) -> dict[str, object]:
    return {
        "id": code.id,
        "name": code.name.title().replace("_", ""),
        "shortDescription": _message(_PLACEHOLDER.sub("…", code.sentence)),
        "help": _message(f"zlang explain {code.id}"),
        "defaultConfiguration": {"level": code.severity.value},
    }


def _lint(lint: Lint) -> dict[str, object]:
    return {
        "id": lint.id,
        "name": lint.name.title().replace("-", ""),
        "shortDescription": _message(lint.name.replace("-", " ")),
        "help": _message(f"zlang explain {lint.id}"),
        "defaultConfiguration": {"level": lint.severity.value},
    }


def _result(finding: Diagnostic) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": finding.code.id,
        "ruleIndex": _ORDER[finding.code.id],
        "level": finding.code.severity.value,
        "message": _message(_with_hint(finding)),
        "locations": [_location(finding.span, finding.label)],
    }
    if finding.notes:
        result["relatedLocations"] = [_location(note.span, note.text) for note in finding.notes]
    if finding.fixes:
        result["fixes"] = [_fix(fix) for fix in finding.fixes]
    return result


def _fix(fix: Fix) -> dict[str, object]:
    """A fix. Its property bag (3.8) says whether it is safe, because SARIF has no field for that."""
    changes: dict[str, list[dict[str, object]]] = {}
    for edit in fix.edits:
        replacement = {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}
        changes.setdefault(edit.span.source.name, []).append(replacement)
    return {
        "description": _message(fix.title),
        "artifactChanges": [
            {"artifactLocation": {"uri": _uri(name)}, "replacements": replacements}
            for name, replacements in changes.items()
        ],
        "properties": {"applicability": fix.applicability},
    }


def _region(span: Span) -> dict[str, object]:
    line, column = span.source.position(span.start)
    last, end = span.source.position(max(span.start, span.end))
    return {"startLine": line, "startColumn": column, "endLine": last, "endColumn": end}


def _location(span: Span, text: str) -> dict[str, object]:
    name = span.source.name
    parts = {"message": _message(text)} if text else {}
    if name.startswith("--"):  # a word of the command line, which is not an artifact
        return {"logicalLocations": [{"fullyQualifiedName": name}], **parts}
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(name)}, "region": _region(span)}, **parts}


def _uri(name: str) -> str:
    """A URI reference, relative if the name is; a colon is encoded, because it would end a scheme."""
    path = PurePath(name)
    return path.as_uri() if path.is_absolute() else quote(str(path))


def _message(text: str) -> dict[str, str]:
    """A plain message, in which literal braces are doubled (3.11.5)."""
    return {"text": text.replace("{", "{{").replace("}", "}}")}


FORMATS = {"short": short, "json": json_lines, "sarif": sarif, "github": github}
"""The forms that are written to standard output; `text` is for people and goes where errors go."""
