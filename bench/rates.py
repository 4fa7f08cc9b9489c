"""The tables of error rates in docs/results.md: each is between two comments that name its program.

In: what the programs measured. Out: the table of a program, and its lines in the table of all figures.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

Figure = tuple[str, str, str]
"""The name of a figure, its target, and its measured value."""
PROGRAMS = ("verdicts", "effects", "intervals", "expectations", "until", "find", "findings", "estimate", "pace")
"""In the order in which the table of all figures has them."""
_OF_ALL = ("figure", "should be", "measured", "by")
PAGE = Path(__file__).resolve().parent.parent / "docs/results.md"


def publish(program: str, head: Sequence[str], rows: Sequence[Sequence[str]], figures: Sequence[Figure] = ()) -> None:
    """Print a table and the figures that it gives, and with `--write` put them into the page."""
    lines = table(head, rows) if rows else []
    print(*lines, *(" | ".join(figure) for figure in figures), sep="\n", flush=True)
    if "--write" in sys.argv:
        page = PAGE.read_text("utf-8")
        written = _between(page, program, lambda _: "\n".join(lines) + "\n") if rows else page
        PAGE.write_text(_between(written, "rates.py", lambda before: _with_figures(before, program, figures)), "utf-8")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table of Markdown, all but the first column to the right."""
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---", *["---:"] * (len(head) - 1)], *rows)]


def _between(page: str, program: str, change: Callable[[str], str]) -> str:
    """The page with the text changed that a program writes."""
    place = re.compile(rf"(<!-- bench/{program} -->\n)(.*?)(<!-- end -->)", re.DOTALL)
    assert place.search(page), f"the page has no place for {program}"
    return place.sub(lambda match: match[1] + change(match[2]) + match[3], page)


def _with_figures(before: str, program: str, figures: Sequence[Figure]) -> str:
    """The table of all figures with those of one program renewed."""
    kept = [tuple(line.strip("| ").split(" | ")) for line in before.splitlines()[2:] if f"/{program})" not in line]
    rows = [*kept, *((*figure, f"[{program}](../bench/{program})") for figure in figures)]
    rows.sort(key=lambda row: next(n for n, name in enumerate(PROGRAMS) if f"/{name}.py)" in row[-1]))
    return "\n".join(table(_OF_ALL, rows)) + "\n"


def simulations(usual: int) -> int:
    """The number of simulations to run."""
    return next((int(word) for word in sys.argv[1:] if word.isdigit()), usual)


def percent(share: float | None) -> str:
    """A share in a table; `-` where nothing is ever said."""
    return "-" if share is None else f"{100 * share:.1f} %"


def span(shares: Iterable[float | None]) -> str:
    """The least and the most of some shares."""
    shares_known = [share for share in shares if share is not None]
    low, high = percent(min(shares_known)), percent(max(shares_known))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"
