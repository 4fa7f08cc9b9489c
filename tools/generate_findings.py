"""Writes docs/findings.md from the rules of results.

In: the pages of `zlang/report/findings`, as `zlang explain` shows them. Out: the document, with each finding as zlang
prints it about the page's data.

    python tools/generate_findings.py            write it
    python tools/generate_findings.py --check    exit with 1 and a diff if it is not what would be written
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import write_or_check  # noqa: E402 - found only by the line above
from zlang.cli import explaining  # noqa: E402
from zlang.diagnostics import Lint  # noqa: E402

DOCUMENT = ROOT / "docs/findings.md"
INTRODUCTION = """\
<!-- Generated from zlang/report/findings by tools/generate_findings.py: do not edit. -->

# Findings about results

zlang checks results for these problems after each run. `zlang run` prints the findings last, `zlang findings [RUN]`
prints them again, and the table `findings` of the database has them. `zlang compare` and `zlang effects` check the
metric that they are about. `zlang explain NAME` shows one of these pages.

In the examples, each line is a point. A cell with several values has one value per trial, in the order of
measurement. The column `place` gives the position of each trial in the run. Without it, the points take turns.

| | name | | |
|---|---|---|---|
"""


def document() -> str:
    """The whole document."""
    lints = explaining.after_a_run()
    rows = [
        f"| [{entry.id}](#{entry.id.lower()}) | `{entry.name}` | {entry.severity.value} | {_title(entry)} |\n"
        for entry in lints
    ]
    return INTRODUCTION + "".join(rows) + "\n" + "\n".join(line for lint in lints for line in _page(lint))


def _title(lint: Lint) -> str:
    return explaining.page_of_data(lint).title


def _page(lint: Lint) -> Iterator[str]:
    page = explaining.page_of_data(lint)
    yield f'<a id="{lint.id.lower()}"></a>\n'
    yield f"## {lint.id}: {page.title}\n"
    yield f"`{lint.name}`, {'an' if lint.severity.value[0] == 'e' else 'a'} {lint.severity.value}.\n\n{page.prose}\n"
    yield f"```text\n{page.observed}```\n"
    yield "`zlang findings` prints:\n"
    yield f"```text\n{explaining.message_of_data(page, colour=False)}\n```\n"
    yield f"No finding in these data:\n\n```text\n{page.clean}```\n"


if __name__ == "__main__":
    sys.exit(write_or_check(DOCUMENT, document(), sys.argv[1:]))
