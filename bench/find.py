"""How often `find` names the level at which a condition changes, and how often it gives a range that holds it.

In: nothing. Out: a table by the noise of trials, and exit code 1 where less than 90 % of searches give a range that
holds the level. Of 256 levels each has three trials, whose latency grows with the level.
Usage: python bench/find.py [SIMULATIONS] [--write]
"""

from __future__ import annotations

import math
import statistics
import sys

import numpy as np
from rates import percent, publish, simulations, span

from zlang.check.questions import Term
from zlang.report.formulas import Combination, Side
from zlang.report.judging import Judge
from zlang.report.margins import TrialTerms
from zlang.report.stopping import knee
from zlang.space import bisection

LEVELS, REPEAT = 256, 3
LATENCY = Term("median", (Term("metric", name="latency"),), "median(latency)")
BELOW = Term("<", (LATENCY, Term("value", value=1.0)))


def searched(draw: np.random.Generator, last: int, noise: float) -> tuple[int, tuple[float | None, float | None]]:
    """The last level at which the condition is found to hold, and the range; it holds up to `last`."""
    measured: dict[int, list[float]] = {}

    def holds(level: int) -> bool:
        values = measured.setdefault(
            level, [math.exp(log) * (level + 1) / (last + 1.5) for log in draw.normal(0, noise, REPEAT)]
        )
        return statistics.median(values) < 1

    levels = list(bisection.course(LEVELS, holds))
    judge = Judge(BELOW, [LATENCY], (), 1, 1, is_within_setups=True)
    verdicts = {}
    for level in levels:
        # Each round has its own blocks, and the file that all levels read was laid out once.
        groups = [((n, level), "file") for n in range(REPEAT)]
        own = [
            TrialTerms((level,), (level,), group, (value,))
            for group, value in zip(groups, measured[level], strict=True)
        ]
        side = Side(LATENCY, statistics.median(measured[level]), REPEAT, REPEAT, ())
        verdicts[float(level)] = judge.finding(Combination((level,), REPEAT, (True,), (side,)), own).verdict
    return max((level for level in levels if holds(level)), default=0), knee(verdicts, holds_below=holds(0))


def main() -> int:
    count = simulations(500)
    draw = np.random.default_rng(1)
    code = 0
    rows = []
    shares = []
    for noise in (0.05, 0.1, 0.2):
        right = holding = closed = 0
        widths = []
        for _ in range(count):
            last = int(draw.integers(16, 240))
            level, (low, high) = searched(draw, last, noise)
            right += level == last
            closed += low is not None and high is not None
            if low is not None or high is not None:
                holding += (low or 0) <= last + 0.5 <= (high or math.inf)
            widths.append(high / low if low and high else math.inf)
        share = holding / count
        code |= share < 0.9
        shares.append(share)
        rows.append(
            (
                percent(noise),
                percent(right / count),
                percent(closed / count),
                percent(share),
                f"{statistics.median(widths):.2f}",
            )
        )
    publish(
        "find.py",
        ("noise", "finds the level", "range has both ends", "range contains it", "ratio of its ends"),
        rows,
        [("ranges of `find` that contain the level", "at least 90 %", span(shares))],
    )
    return code


if __name__ == "__main__":
    sys.exit(main())
