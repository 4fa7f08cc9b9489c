"""Student's t on logarithms: where the middle of what was measured lies, with 95 % confidence.

What storage does is multiplied and not added: at n = 3 this interval covers 95.6 % where a bootstrap (BCa) covers 73 %
and t on the plain values 93 %. `bench/intervals.py` measures it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

LEVEL = 0.95


def student(df: int, share: float) -> float:
    """The quantile of Student's distribution with `df` degrees of freedom below which this share lies."""
    from scipy.special import stdtrit

    return float(stdtrit(df, share))


def of_logs(values: Sequence[float]) -> tuple[float, float] | None:
    """The mean of the values' logarithms, and how far its interval reaches to both sides; None where there is none."""
    if len(values) <= 1 or not all(0 < value < math.inf for value in values):
        return None
    logs = [math.log(value) for value in values]
    half = student(len(logs) - 1, (1 + LEVEL) / 2) * statistics.stdev(logs) / math.sqrt(len(logs))
    return statistics.fmean(logs), half


def exp(log: float) -> float:
    """The number of a logarithm; infinity where it is too large."""
    try:
        return math.exp(log)
    except OverflowError:
        return math.inf
