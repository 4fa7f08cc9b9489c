"""Writes docs/lints from the rules: a page for each, and a list of all.

In: the pages of the rules and of what is excluded, as `zlang explain` shows them. Out:
`docs/lints/ID.md` and `docs/lints/README.md`.

    python tools/generate_lints.py            write them
    python tools/generate_lints.py --check    exit with 1 and a diff if they are not what would be written
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import pitfalls  # noqa: E402 - found only by the line above
from tools.generated import write_or_check_all  # noqa: E402 - found only by the line above
from zlang.cli import explaining  # noqa: E402
from zlang.diagnostics import Lint, Severity  # noqa: E402
from zlang.lint.rules import EXCLUDED, RULES  # noqa: E402
from zlang.lint.rules.excluded import Excluded  # noqa: E402

FOLDER = ROOT / "docs/lints"
GENERATED = "<!-- Generated from zlang/lint/rules by tools/generate_lints.py: do not edit. -->\n"


def pages() -> dict[str, str]:
    """The text of every page by its name."""
    entries: list[Lint | Excluded] = [*(rule.lint for rule in RULES), *EXCLUDED]
    lints = sorted(entries, key=lambda lint: lint.id)
    return {f"{lint.id}.md": "\n".join(_page(lint)) for lint in lints} | {"README.md": "\n".join(_index(lints))}


def _index(lints: list[Lint | Excluded]) -> Iterator[str]:
    yield GENERATED
    yield "# Pitfalls that `zlang check` finds\n"
    yield "`zlang explain NAME` prints the page of a rule. [language.md](../language.md#pitfalls) describes how to"
    yield "suppress a rule where you accept its finding. No program can have a pitfall that is *excluded*: zlang"
    yield "prevents it by an error, in every plan, or in how it computes results. Other rules need results:"
    yield "[findings.md](../findings.md).\n"
    yield "| | name | | |\n|---|---|---|---|"
    for lint in lints:
        yield f"| [{lint.id}]({lint.id}.md) | `{lint.name}` | {_weight(lint)} | {explaining.page(lint).title} |"
    yield ""


def _weight(lint: Lint | Excluded) -> str:
    return lint.severity.value if isinstance(lint, Lint) else "excluded"


def _page(lint: Lint | Excluded) -> Iterator[str]:
    page = explaining.page(lint)
    article = "" if isinstance(lint, Excluded) else "an " if lint.severity is Severity.ERROR else "a "
    yield GENERATED
    yield f"# {lint.id}: {page.title}\n"
    yield f"`{lint.name}`, {article}{_weight(lint)}.\n\n{page.prose}\n"
    if page.planned:
        yield f"```zexp\n{page.right}```\n"
        if page.data:
            yield f"With these results:\n\n```csv\n{page.data}```\n"
        yield f"The output of `{page.command}` contains:\n"
        yield f"```text\n{page.planned}```\n"
        yield from _proof(lint.name)
        return
    yield f"```zexp wrong\n{page.wrong}```\n"
    yield f"`{page.command}` prints:\n"
    yield f"```text\n{explaining.message(page, colour=False).rstrip()}\n```\n"
    yield f"Corrected:\n\n```zexp\n{page.right}```\n"
    yield from _proof(lint.name)


def _proof(name: str) -> Iterator[str]:
    """Links to measurements of the pitfall."""
    shown = [f"[{path.stem}](../pitfalls.md#{pitfalls.anchor(path)})" for path in pitfalls.of(name)]
    if shown:
        yield f"Measured, wrong and right side by side: {', '.join(shown)}.\n"


if __name__ == "__main__":
    sys.exit(write_or_check_all(FOLDER, pages(), sys.argv[1:]))
