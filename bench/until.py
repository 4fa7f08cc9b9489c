"""How often a point that `repeat = 3..20 until ci(...) < 5%` calls precise is not within 5 % of the truth.

In: nothing. Out: a table by the coefficient of variation of trials, and exit code 1 where over 3 % of points are called
precise and are not. Usage: python bench/until.py [SIMULATIONS] [--write]
"""

from __future__ import annotations

import math
import sys

import numpy as np
from rates import percent, publish, simulations, span

from zlang.run.sequential import is_known_well

LEAST, MOST, WITHIN = 3, 20, 0.05
ENOUGH = 30
"""So many points called precise give a share."""


def stopped(logs: list[float]) -> int | None:
    """After how many values a point is called precise."""
    values = [math.exp(log) for log in logs]
    return next((n for n in range(LEAST, MOST + 1) if is_known_well(values[:n], WITHIN)), None)


def main() -> int:
    count = simulations(2000)
    draw = np.random.default_rng(1)
    code = 0
    rows = []
    right, right_if_called = [], []
    for spread in (0.02, 0.05, 0.1, 0.15, 0.2):
        every = [draw.normal(0, spread, MOST).tolist() for _ in range(count)]
        precise = [(logs, n) for logs in every if (n := stopped(logs)) is not None]
        wrong = sum(abs(math.fsum(logs[:n]) / n) > math.log1p(WITHIN) for logs, n in precise)
        code |= wrong > 0.03 * count
        right.append(1 - wrong / count)
        if len(precise) >= ENOUGH:
            right_if_called.append(1 - wrong / len(precise))
        trials = f"{sum(n for _, n in precise) / len(precise):.1f}" if precise else "-"
        rows.append((percent(spread), percent(len(precise) / count), percent(wrong / count), trials))
    figures = [
        ("points that `until` does not call precise without reason", "at least 90 %", span(right)),
        (
            f"points called precise that are, where {ENOUGH} or more are called so",
            "at least 90 %",
            span(right_if_called),
        ),
    ]
    publish(
        "until.py", ("variation of trials", "called precise", "called so and not within 5 %", "trials"), rows, figures
    )
    return code


if __name__ == "__main__":
    sys.exit(main())
