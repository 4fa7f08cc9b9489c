"""Count how often a point that `repeat = 3..20 until ci(...) < 5%` calls precise is not within 5 % of the truth.

In: nothing. Out: a table by the coefficient of variation of trials, and exit code 1 where over 3 % of points are called
precise and are not; how often the interval at which a point stops holds the truth; and the same for trials whose
logarithms have two modes, or a correlation of 0.5 from trial to trial (AR(1)), as in `intervals.py`.
Usage: python bench/until.py [SIMULATIONS] [--write]
"""

from __future__ import annotations

import math
import sys

import measure
import numpy as np
from intervals import NOISES as OTHERS
from intervals import SPREAD
from rates import percent, publish, simulations, span

from zlang.intervals import of_logs
from zlang.run.sequential import is_precise_enough

LEAST, MOST, WITHIN = 3, 20, 0.05
ENOUGH = 30
"""So many points called precise give a share."""


def stopped(logs: list[float]) -> int | None:
    """After how many values a point is called precise."""
    values = [math.exp(log) for log in logs]
    return next((n for n in range(LEAST, MOST + 1) if is_precise_enough(values[:n], WITHIN)), None)


def is_held(logs: list[float], n: int) -> bool:
    """Whether the interval of so many values holds the truth."""
    interval = of_logs([math.exp(log) for log in logs[:n]])
    assert interval is not None, "BUG: several values without an interval"
    return abs(interval[0]) <= interval[1]


def drawn(draw: np.random.Generator, spread: float, noise: str) -> list[float]:
    """The logarithms of the trials of a point."""
    return (
        [spread / SPREAD * log for log in OTHERS[noise](draw, MOST)] if noise else draw.normal(0, spread, MOST).tolist()
    )


def main() -> int:
    count = simulations(2000)
    draw = np.random.default_rng(1)
    code = 0
    rows = []
    right, right_if_called = [], []
    right_of_others = []
    cases = [(spread, "") for spread in (0.02, 0.05, 0.1, 0.15, 0.2)]
    cases += [(spread, noise) for noise in ("two modes", "AR(1)") for spread in (0.02, 0.05, 0.1)]
    for spread, noise in cases:
        every = [drawn(draw, spread, noise) for _ in range(count)]
        precise = [(logs, n) for logs in every if (n := stopped(logs)) is not None]
        wrong = sum(abs(math.fsum(logs[:n]) / n) > math.log1p(WITHIN) for logs, n in precise)
        held = sum(is_held(logs, stopped(logs) or MOST) for logs in every)
        if noise and len(precise) >= ENOUGH:
            right_of_others.append(1 - wrong / len(precise))
        if not noise:
            code |= wrong > 0.03 * count
            right.append(1 - wrong / count)
        if not noise and len(precise) >= ENOUGH:
            right_if_called.append(1 - wrong / len(precise))
        trials = f"{sum(n for _, n in precise) / len(precise):.1f}" if precise else "-"
        rows.append(
            (
                f"{percent(spread)}{f', {noise}' if noise else ''}",
                percent(len(precise) / count),
                percent(wrong / count),
                percent(held / count),
                trials,
            )
        )
    figures = [
        ("points that `until` does not wrongly call precise", "at least 90 %", span(right)),
        (
            f"points called precise that are within 5 %, if at least {ENOUGH} points are called precise",
            "at least 90 %",
            span(right_if_called),
        ),
        (
            "the same, with two modes and AR(1)",
            "at least 90 % up to a variation of 5 %",
            span(right_of_others),
        ),
    ]
    publish(
        "until.py",
        (
            "variation of trials",
            "called precise",
            "called precise, but not within 5 %",
            "final interval contains the true value",
            "trials",
        ),
        rows,
        figures,
    )
    return code


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
