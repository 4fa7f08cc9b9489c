"""`zlang fmt`: programs into the one style. Nothing is written where nothing changes, nor where something is wrong."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator

from zlang import pipeline
from zlang.cli import checking, render
from zlang.errors import RunError
from zlang.source import Source

STANDARD = "-"


def fmt(files: list[str], *, check: bool, diff: bool) -> int:
    """Format some programs, or with `check` or `diff` only say what would change."""
    worst = 0
    for file in files:
        try:
            worst = max(worst, _one(file, check=check, diff=diff))
        except RunError as error:
            print(render.run_error(error, colour=render.is_coloured(sys.stderr)), file=sys.stderr)
            worst = 1
    return worst


def _one(file: str, *, check: bool, diff: bool) -> int:
    source = _standard_input() if file == STANDARD else pipeline.read_exactly(file)
    formatted = pipeline.format_source(source)
    if formatted.findings:
        checking.report(formatted.findings)
        return 1
    is_other = formatted.text != source.text
    if diff:
        _write("".join(_difference(source, formatted.text)))
    if check or diff:
        if is_other and check and not diff:
            print(render.visible(source.name))
        return int(is_other and check)
    if file == STANDARD:
        _write(formatted.text)
    elif is_other:
        pipeline.rewrite(file, formatted.text)
        print(f"{render.visible(file)}: formatted")
    return 0


def _standard_input() -> Source:
    try:
        return Source("standard input", sys.stdin.buffer.read().decode())
    except UnicodeDecodeError:
        raise RunError("standard input is no UTF-8 text") from None


def _difference(source: Source, text: str) -> Iterator[str]:
    """What changes, as patch(1) takes it."""
    old, new = (_lines(one) for one in (source.text, text))
    for line in difflib.unified_diff(old, new, source.name, f"{source.name} (formatted)"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    *ended, rest = text.split("\n")
    return [f"{line}\n" for line in ended] + ([rest] if rest else [])


def _write(text: str) -> None:
    """Bytes, so that standard output has the text's newlines whatever the locale says."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()
