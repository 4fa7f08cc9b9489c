"""Writes the table of traits in docs/language.md.

In: `zlang/check/traits.py`. Out: the page.

    python tools/generate_traits.py            write it
    python tools/generate_traits.py --check    exit with 1 and a diff if it is not what would be written
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import write_or_check  # noqa: E402 - found only by the line above
from zlang.check.traits import TRAITS  # noqa: E402

DOCUMENT = ROOT / "docs/language.md"
TABLE = re.compile(r"(?<=\| trait \| is \| says \|\n\|---\|---\|---\|\n)(\|.*\n)*")


def document() -> str:
    """The page with a row for each trait."""
    rows = [f"| `{name}` | {next(iter(trait.type.scalars))} | {trait.doc} |\n" for name, trait in TRAITS.items()]
    return TABLE.sub(lambda _: "".join(rows), DOCUMENT.read_text("utf-8"))


if __name__ == "__main__":
    sys.exit(write_or_check(DOCUMENT, document(), sys.argv[1:]))
