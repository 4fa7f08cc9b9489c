"""Count how often `find` names the level at which a condition changes, and how often its range contains it.

In: nothing. Out: a table by the noise of trials, and exit code 1 where less than 90 % of searches give a range that
holds the level. Of 256 levels each has three trials, or up to 20 until its condition is decided, and the latency grows
with the level.
Usage: python bench/find.py [SIMULATIONS] [--write]
"""

from __future__ import annotations

import math
import statistics
import sys
from itertools import product

import measure
import numpy as np
from rates import percent, publish, simulations, span

from zlang import intervals
from zlang.check.questions import Term
from zlang.report.formulas import Combination, Side
from zlang.report.judging import Judge
from zlang.report.margins import TrialTerms
from zlang.report.stopping import knee
from zlang.space import bisection

LEVELS, LEAST = 256, 3
LATENCY = Term("median", (Term("metric", name="latency"),), "median(latency)")
BELOW = Term("<", (LATENCY, Term("value", value=1.0)))


def searched(
    draw: np.random.Generator, last: int, noise: float, most: int
) -> tuple[int, tuple[float | None, float | None], int]:
    """The last level at which the condition is found to hold, the range, and the trials; it holds up to `last`."""
    measured: dict[int, list[float]] = {}
    looks = intervals.looks(LEAST, most)

    def values_at(level: int) -> list[float]:
        values: list[float] = []
        for count in looks:
            drawn = draw.normal(0, noise, count - len(values))
            values += [math.exp(log) * (level + 1) / (last + 1.5) for log in drawn]
            interval = intervals.of_logs(values, len(looks))
            if interval is not None and abs(interval[0]) > interval[1]:
                break
        return values

    def holds(level: int) -> bool:
        if level not in measured:
            measured[level] = values_at(level)
        return statistics.median(measured[level]) < 1

    levels = list(bisection.course(LEVELS, holds))
    judge = Judge(BELOW, [LATENCY], (), 1, 1, is_within_setups=True, looks=len(looks))
    verdicts = {}
    for level in levels:
        # Each round has its own blocks, and the file that all levels read was laid out once.
        count = len(measured[level])
        groups = [((n, level), "file") for n in range(count)]
        own = [
            TrialTerms((level,), (level,), group, (value,))
            for group, value in zip(groups, measured[level], strict=True)
        ]
        side = Side(LATENCY, statistics.median(measured[level]), count, count, ())
        verdicts[float(level)] = judge.finding(Combination((level,), count, (holds(level),), (side,)), own).verdict
    highest = max((level for level in levels if holds(level)), default=0)
    return highest, knee(verdicts, holds_below=holds(0)), sum(map(len, measured.values()))


def main() -> int:
    count = simulations(500)
    draw = np.random.default_rng(1)
    code = 0
    rows = []
    shares = []
    for most, noise in product((LEAST, 20), (0.05, 0.1, 0.2)):
        right = holding = closed = trials = 0
        widths = []
        for _ in range(count):
            last = int(draw.integers(16, 240))
            level, (low, high), measured = searched(draw, last, noise, most)
            right += level == last
            trials += measured
            closed += low is not None and high is not None
            if low is not None or high is not None:
                holding += (low or 0) <= last + 0.5 <= (high or math.inf)
            widths.append(high / low if low and high else math.inf)
        share = holding / count
        code |= share < 0.9
        shares.append(share)
        rows.append(
            (
                f"{LEAST}" if most == LEAST else f"{LEAST}..{most}",
                percent(noise),
                f"{trials / count:.0f}",
                percent(right / count),
                percent(closed / count),
                percent(share),
                f"{statistics.median(widths):.2f}",
            )
        )
    publish(
        "find.py",
        (
            "`repeat`",
            "noise",
            "trials",
            "finds the level",
            "range has both ends",
            "range contains it",
            "ratio of its ends",
        ),
        rows,
        [("ranges of `find` that contain the level", "at least 90 %", span(shares))],
    )
    return code


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
