"""Measure `zlang fmt` on a program of 10,000 lines of declarations, choices and comments.

In: the examples, one after the other, until there are so many lines. Out: CPU seconds of this process, the median of 3.
Usage: python bench/format.py
"""

from __future__ import annotations

import sys
import time
from statistics import median

import measure

from zlang.source import Source
from zlang.syntax import format as formatting

LINES = 10_000
ROUNDS = 3
MOST_SECONDS = 1.0


def program() -> Source:
    """The examples again and again; names that are defined twice do not matter to the layout."""
    text = "".join(path.read_text("utf-8") for path in sorted(measure.ROOT.glob("examples/*.zexp")))
    return Source("program.zexp", text * (LINES // text.count("\n") + 1))


def main() -> int:
    """Format, time, print."""
    source = program()
    lines = source.text.count("\n")
    taken = []
    for _ in range(ROUNDS):
        began = time.process_time()
        done = formatting.program(source)
        taken.append((time.process_time() - began) * LINES / lines)
        assert not done.findings
    return measure.verdict([measure.Check("10,000 lines, CPU", median(taken), "s", "asked for", MOST_SECONDS)])


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
