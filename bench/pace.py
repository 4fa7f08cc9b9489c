"""Count how often the remaining time of a run is right within 20 %, from a tenth of its time to nine tenths.

In: nothing. Out: a table of simulated runs of 40 points whose durations differ, beside the mean of all trials so far,
and exit code 1 where it is right at less than 90 % of the moments.
Usage: python bench/pace.py [SIMULATIONS] [--write]
"""

from __future__ import annotations

import sys

import measure
import numpy as np
from rates import percent, publish, simulations, span

from zlang.plan.pace import Pace
from zlang.plan.plan import Footprint, Trial

POINTS, NOISE, WITHIN = 40, 0.1, 0.2
FIRST, LAST = 0.1, 0.9
LEAST = 0.9
CASES = (("states no runtime", 3), ("states no runtime", 10), ("states its runtime", 1), ("states its runtime", 3))


def moments(draw: np.random.Generator, spread: float, repeat: int, *, is_stated: bool) -> list[tuple[bool, bool]]:
    """For each moment of a run, whether the time left is right by points, and by the mean of all trials.

    Blocks of all points in random order; the durations of points are lognormal, and each takes half a second more.
    """
    points = np.exp(draw.normal(2, spread, POINTS))
    trials: list[Trial] = []
    durations: list[float] = []
    for replicate in range(1, repeat + 1):
        for point in draw.permutation(POINTS):
            footprint = Footprint("", None, seconds=float(points[point])) if is_stated else None
            numbers = len(trials) + 1, str(point), replicate, replicate
            trials.append(Trial(*numbers, {}, "", "", (), (), (), whole_plot=replicate, footprint=footprint))
            durations.append(float(points[point] * np.exp(draw.normal(0, NOISE)) + 0.5))
    result: list[tuple[bool, bool]] = []
    pace, total, elapsed = Pace(trials), sum(durations), 0.0
    for done, (trial, took) in enumerate(zip(trials, durations, strict=True), start=1):
        elapsed += took
        pace.end(trial.place, 0.0, took)
        if FIRST <= elapsed / total <= LAST:
            true = total - elapsed
            shown = pace.seconds_left(elapsed) or 0.0
            by_mean = elapsed / done * (len(trials) - done)
            result.append((abs(shown - true) <= WITHIN * true, abs(by_mean - true) <= WITHIN * true))
    return result


def main() -> int:
    count = simulations(200)
    draw = np.random.default_rng(1)
    rows, right = [], []
    for spread in (0.3, 1.0):
        for says, repeat in CASES:
            is_stated = says != CASES[0][0]
            every = [moment for _ in range(count) for moment in moments(draw, spread, repeat, is_stated=is_stated)]
            by_point, by_mean = (sum(column) / len(every) for column in zip(*every, strict=True))
            rows.append((percent(spread), says, str(repeat), percent(by_point), percent(by_mean)))
            right.append(by_point)
    headings = ("spread of points", "workload", "replicates", "correct within 20 %", "from the mean of all trials")
    figure = "remaining time of a run, correct within 20 % after the first tenth of it", "at least 90 %", span(right)
    publish("pace.py", headings, rows, [figure])
    return int(min(right) < LEAST)


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
