"""Findings and errors as text for people: the line with carets, the problem, and what to type."""

from __future__ import annotations

import os
import sys

from zlang import __version__, text
from zlang.errors import RunError
from zlang.hints import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from zlang.diagnostics import Code, Diagnostic, Lint
    from zlang.source import Span

_COLOURS = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "note": "\x1b[1;36m",
    "place": "\x1b[34m",
    "bold": "\x1b[1m",
    "help": "\x1b[32m",
}
_WIDEST = 160
visible, is_visible = text.visible, text.is_visible


def is_coloured(stream: TextIO) -> bool:
    """Whether to use colours: only on a terminal, and not if NO_COLOR is set (no-color.org)."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def diagnostic(finding: Diagnostic, *, colour: bool) -> str:
    """A finding with its place, as rustc shows it."""

    def paint(text: str, how: str) -> str:
        return _painted(text, how, colour=colour)

    severity = finding.code.severity.value
    head = heading(finding.code, finding.message, colour=colour)
    shown = [(finding.span, finding.label, "^"), *((note.span, note.text, "-") for note in finding.notes)]
    width = max(len(str(span.source.position(span.start)[0])) for span, _, _ in shown)
    lines = [head]
    above: tuple[str, int, str] | None = None
    for i, (span, label, mark) in enumerate(shown):
        line, column = span.source.position(span.start)
        text, under = _underlined(span, line, column, mark)
        if above != (span.source.name, line, text):
            arrow = "-->" if i == 0 else ":::"
            lines.append(" " * width + paint(f"{arrow} ", "place") + f"{visible(span.source.name)}:{line}:{column}")
            lines += [paint(f"{'':{width}} |", "place")] if i == 0 else []
            lines.append(paint(f"{line:{width}} | ", "place") + text)
        above = span.source.name, line, text
        painted = paint(under + (f" {visible(label)}" if label else ""), severity if i == 0 else "place")
        lines.append(paint(f"{'':{width}} | ", "place") + painted)
    if finding.hint:
        lines.append(" " * width + paint(" = ", "place") + paint("help: ", "help") + visible(finding.hint))
    return "\n".join(lines) + "\n"


def heading(code: Code | Lint, message: str, *, colour: bool) -> str:
    """A finding in one line."""
    severity = code.severity.value
    rule = _name_of_rule(code)
    head = _painted(f"{severity}[{code.id}{f' {rule}' if rule else ''}]", severity, colour=colour)
    return head + _painted(f": {visible(message)}", "bold", colour=colour)


def _name_of_rule(code: Code | Lint) -> str | None:
    from zlang.diagnostics import Lint

    return code.name if isinstance(code, Lint) else None


def _painted(text: str, how: str, *, colour: bool) -> str:
    return f"{_COLOURS[how]}{text}\x1b[0m" if colour else text


def _underlined(span: Span, line: int, column: int, mark: str) -> tuple[str, str]:
    """The line, cut around the place if it is long, and the marks below it."""
    text = span.source.line(line)
    start, length = column - 1, max(1, min(span.end - span.start, len(text) - column + 1))
    cut = max(0, start - _WIDEST // 2) if len(text) > _WIDEST else 0
    text = "".join(char if is_visible(char) else " " for char in text[cut : cut + _WIDEST])
    return text, " " * (start - cut) + mark * max(1, min(length, _WIDEST - (start - cut)))


def as_json(finding: Diagnostic) -> dict[str, object]:
    """A finding for scripts: code, severity, message, place (lines and columns from 1), hint, notes."""
    return {
        "code": finding.code.id,
        "rule": _name_of_rule(finding.code),
        "severity": finding.code.severity.value,
        "message": finding.message,
        **_place(finding.span),
        "label": finding.label,
        "hint": finding.hint,
        "fixes": [
            {
                "title": fix.title,
                "applicability": fix.applicability,
                "edits": [{**_place(edit.span), "text": edit.text} for edit in fix.edits],
            }
            for fix in finding.fixes
        ],
        "notes": [{"message": note.text, **_place(note.span)} for note in finding.notes],
    }


def _place(span: Span) -> dict[str, object]:
    line, column = span.source.position(span.start)
    last, end = span.source.position(max(span.start, span.end))
    return {"file": span.source.name, "line": line, "column": column, "end_line": last, "end_column": end}


def run_error(error: RunError, *, colour: bool) -> str:
    """An error outside the program, and what to do about it."""
    head = f"{_COLOURS['error']}error\x1b[0m: " if colour else "error: "
    return head + visible(error.message) + (f"\n  = help: {visible(error.hint)}" if error.hint else "")


def bug(error: Exception) -> int:
    """Report a bug in zlang: write a log for the bug report, and return exit code 3."""
    import tempfile
    import traceback

    shown = f"zlang {__version__}, Python {sys.version}\n{' '.join(sys.argv)}\n\n"
    shown += "".join(traceback.format_exception(error))
    print(f"error: a bug in zlang: {visible(str(error))}", file=sys.stderr)
    try:
        with tempfile.NamedTemporaryFile(prefix="zlang-bug-", suffix=".log", delete=False) as log:
            log.write(shown.encode("utf-8", "replace"))
    except OSError:  # the log cannot be written
        print("  = help: please report it with this:", visible(shown, keep="\n"), sep="\n", file=sys.stderr)
    else:
        print(f"  = help: please report it with {log.name}", file=sys.stderr)
    return 3
