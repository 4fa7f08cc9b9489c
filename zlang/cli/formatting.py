"""`zlang fmt`: format programs. A file is written only if it has no errors and its text changes."""

from __future__ import annotations

import sys

from zlang.cli import checking, render, words
from zlang.errors import RunError
from zlang.pipeline import programs
from zlang.source import Source

STANDARD = "-"


def fmt(files: list[str], *, check: bool, diff: bool) -> int:
    """Format programs, or with `check` or `diff` only report what would change."""
    worst = 0
    unread: list[RunError] = []
    for file in checking.files_of(files, unread):
        try:
            worst = max(worst, _format_file(file, check=check, diff=diff))
        except RunError as error:
            unread.append(error)
    for problem in unread:
        print(render.run_error(problem, colour=render.is_coloured(sys.stderr)), file=sys.stderr)
    return 1 if unread else worst


def _format_file(file: str, *, check: bool, diff: bool) -> int:
    source = _standard_input() if file == STANDARD else programs.read_exactly(file)
    formatted = programs.format_source(source)
    if formatted.findings:
        checking.report(formatted.findings)
        return 1
    is_other = formatted.text != source.text
    if diff:
        words.write("".join(words.difference(source.name, source.text, formatted.text, "formatted")))
    if check or diff:
        if is_other and check and not diff:
            print(render.visible(source.name))
        return int(is_other and check)
    if file == STANDARD:
        words.write(formatted.text)
    elif is_other:
        programs.rewrite(file, formatted.text)
        print(f"{render.visible(file)}: formatted")
    return 0


def _standard_input() -> Source:
    try:
        return Source("standard input", sys.stdin.buffer.read().decode())
    except UnicodeDecodeError:
        raise RunError("standard input is not UTF-8 text") from None
