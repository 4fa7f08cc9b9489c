"""Writes docs/errors.md from the pages that `zlang explain` shows.

In: `zlang/explanations/*.md`. Out: the document, with each message as zlang prints it about the page's wrong program.

    python tools/generate_errors.py            write it
    python tools/generate_errors.py --check    exit with 1 and a diff if it is not what would be written
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import write_or_check  # noqa: E402 - found only by the line above
from zlang.cli import explaining  # noqa: E402
from zlang.diagnostics import Code  # noqa: E402

DOCUMENT = ROOT / "docs/errors.md"
CHAPTERS = {
    "E1": "The text",
    "E2": "Names",
    "E3": "Values and spaces",
    "E4": "Kinds and plans",
    "W5": "Warnings",
}
INTRODUCTION = """\
<!-- Generated from zlang/explanations by tools/generate_errors.py: do not edit. -->

# Errors and warnings

`zlang explain CODE` shows one of these pages. A program with an error (E) cannot be planned; one with a
warning (W) can. The codes are the same in every output format: `zlang check --format text|short|json|sarif|github`.
"""


def document() -> str:
    """The whole document."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    codes = sorted(Code, key=lambda code: code.id)
    yield INTRODUCTION
    yield "".join(f"- [{code.id}](#{code.id.lower()}) {explaining.page(code).title}\n" for code in codes)
    chapter = ""
    for code in codes:
        if code.id[:2] != chapter:
            chapter = code.id[:2]
            yield f"## {CHAPTERS[chapter]}\n"
        yield from _page(explaining.page(code))


def _page(page: explaining.Page) -> Iterator[str]:
    yield f"### {page.code.id}\n\n**{page.title}.**\n\n{page.prose}\n"
    yield f"```zexp wrong\n{page.wrong}{explaining.repeated(page)}```\n"
    yield f"`{page.command}` prints:\n"
    yield f"```text\n{explaining.message(page, colour=False).rstrip()}\n```\n"
    yield f"Corrected:\n\n```zexp\n{page.right}```\n"


if __name__ == "__main__":
    sys.exit(write_or_check(DOCUMENT, document(), sys.argv[1:]))
