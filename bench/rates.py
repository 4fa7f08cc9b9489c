"""The tables of error rates in docs/results.md: each is between two comments that name its program."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs/results.md"


def publish(program: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, and with `--write` put it into the page."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---", *["---:"] * (len(head) - 1)], *rows)]
    print("\n".join(lines), flush=True)
    if "--write" in sys.argv:
        page = PAGE.read_text("utf-8")
        place = re.compile(rf"(<!-- bench/{program} -->\n).*?(<!-- end -->)", re.DOTALL)
        assert place.search(page), f"the page has no place for {program}"
        PAGE.write_text(place.sub(lambda found: found[1] + "\n".join(lines) + "\n" + found[2], page), "utf-8")


def simulations(usual: int) -> int:
    """How many were asked for."""
    return next((int(word) for word in sys.argv[1:] if word.isdigit()), usual)


def percent(share: float | None) -> str:
    """A share in a table; `-` where nothing is ever said."""
    return "-" if share is None else f"{100 * share:.1f} %"
