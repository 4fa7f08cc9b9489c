"""Count how often intervals contain the true value, and how often differences called detectable are detected.

In: nothing. Out: a table, and exit code 1 if intervals of log-normal values do not contain it in 93 to 97 % of
experiments (that of a median, between two of the values, in up to 98.5 %). Distributions are those of logarithms:
heavy tails are Student's t with 3 degrees of freedom; two modes are 6 standard deviations apart; AR(1) is a correlation
of 0.5 from trial to trial, which no interval knows of. Usage: python bench/intervals.py [SIMULATIONS] [--write]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

import measure
import numpy as np
from rates import percent, publish, simulations, span

from zlang.report import ratios
from zlang.report.ratios import Ratio
from zlang.report.summary import estimate

MEDIANS = ", of medians up to 98.5 %"
WHY_NOT = {
    "log-normal": MEDIANS,
    "heavy tails": f", of 3 or 5 values up to 97.5 %{MEDIANS}",
    "two modes": f"{MEDIANS}, not of 3 or 5 values",
    "AR(1)": ", not without random order",
}
"""The page's remark on intervals that cannot contain the true value as often."""
Noise = Callable[[np.random.Generator, int], Sequence[float]]
SIZES = (3, 5, 10, 20)
SPREAD = 0.2
"""Of the logarithms: a coefficient of variation of 20 %."""


def correlated(draw: np.random.Generator, n: int) -> Sequence[float]:
    """Each value keeps half of the one before."""
    values = [float(draw.normal(0, SPREAD))]
    while len(values) < n:
        values.append(0.5 * values[-1] + float(draw.normal(0, SPREAD * math.sqrt(0.75))))
    return values


NOISES: dict[str, Noise] = {
    "log-normal": lambda draw, n: draw.normal(0, SPREAD, n).tolist(),
    "heavy tails": lambda draw, n: (SPREAD * draw.standard_t(3, n)).tolist(),
    "two modes": lambda draw, n: (draw.normal(0, SPREAD / 3, n) + SPREAD * draw.choice([-1, 1], n)).tolist(),
    "AR(1)": correlated,
}


def two_levels(first: Sequence[float], second: Sequence[float]) -> Ratio | None:
    return ratios.paired({(): [b - a for a, b in zip(first, second, strict=True)]})


def two_runs(first: Sequence[float], second: Sequence[float]) -> Ratio | None:
    return ratios.unpaired({(): first}, {(): second})


def is_held(ratio: Ratio | None) -> bool:
    interval = ratio.interval() if ratio else None
    return interval is not None and interval[0] <= 1 <= interval[1]


def of_one(values: Sequence[float]) -> bool:
    """The interval of a table, about 1: of the geometric mean, or from six values on of the median."""
    interval = estimate([math.exp(value) for value in values])
    return interval.low is not None and interval.high is not None and interval.low <= 1 <= interval.high


INTERVALS: dict[str, Callable[[Sequence[float], Sequence[float]], bool]] = {
    "two levels in blocks": lambda first, second: is_held(two_levels(first, second)),
    "two runs": lambda first, second: is_held(two_runs(first, second)),
    "one value of a table": lambda values, _: of_one(values),
}


def unequal(draw: np.random.Generator, n: int) -> bool:
    """Two combinations, one with three times as many trials and a fifth of the spread."""
    return is_held(
        ratios.paired({1: draw.normal(0, SPREAD, n).tolist(), 2: draw.normal(0, SPREAD / 5, 3 * n).tolist()})
    )


def detected(draw: np.random.Generator, n: int) -> bool:
    """Whether another experiment detects the difference that the first calls detectable."""
    first, second = (draw.normal(0, SPREAD, n) for _ in range(2))
    ratio = ratios.paired({(): first.tolist()})
    detectable = ratio.detectable() if ratio else None
    assert detectable is not None, "BUG: an experiment that was repeated detects nothing"
    return not is_held(ratios.paired({(): (second + math.log(detectable)).tolist()}))


def main() -> int:
    count = simulations(1000)
    slack = 2.6 * math.sqrt(0.05 * 0.95 / count)
    draw = np.random.default_rng(1)
    code = 0
    rows, figures = [], []
    for name, noise in NOISES.items():
        held = []
        for label, is_right in INTERVALS.items():
            shares = [sum(is_right(noise(draw, n), noise(draw, n)) for _ in range(count)) / count for n in SIZES]
            code |= name == "log-normal" and not all(0.93 - slack <= share <= 0.985 for share in shares)
            held += shares
            rows.append((f"{name}: {label}", *map(percent, shares)))
        figures.append(
            (f"intervals that contain the true value, {name}", f"93 to 97 %{WHY_NOT.get(name, '')}", span(held))
        )
    for label, is_so in (
        ("combinations of unequal spread", unequal),
        ("differences called detectable that are detected", detected),
    ):
        shares = [sum(is_so(draw, n) for _ in range(count)) / count for n in SIZES]
        rows.append((label, *map(percent, shares)))
        figures.append((label, "about 80 %" if is_so is detected else "93 to 97 %, not of 3 values", span(shares)))
    publish(
        "intervals.py", ("intervals that contain the true value", "n = 3", "n = 5", "n = 10", "n = 20"), rows, figures
    )
    return code


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
