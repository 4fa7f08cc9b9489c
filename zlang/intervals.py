"""95 % intervals of the mean or median of measured values: Student's t on logarithms, or order statistics.

Effects on storage performance multiply rather than add. At n = 3 this interval covers the true value in 95.6 % of
cases, a bootstrap (BCa) in 73 %, and Student's t on the plain values in 93 %: `bench/intervals.py` measures it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import cache

LEVEL = 0.95
_ASSURANCE = 0.8


def student(df: float, share: float) -> float:
    """The quantile of Student's t distribution with `df` degrees of freedom below which this share lies."""
    from scipy.special import stdtrit

    return float(stdtrit(df, share))


def of_logs(values: Sequence[float], looks: int = 1) -> tuple[float, float] | None:
    """The mean of the values' logarithms and the half-width of its interval; None if they cannot be computed."""
    if not all(0 < value < math.inf for value in values):
        return None
    return of_mean([math.log(value) for value in values], looks)


def of_mean(values: Sequence[float], looks: int = 1) -> tuple[float, float] | None:
    """The mean and the half-width of its interval; None for a single value.

    The intervals of this many interim `looks` at growing data are simultaneous (Bonferroni).
    """
    if len(values) <= 1:
        return None
    share = 1 - (1 - LEVEL) / 2 / looks
    half = student(len(values) - 1, share) * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values), half


def looks(least: int, most: int) -> tuple[int, ...]:
    """The sample sizes at which precision is checked: from `least`, doubled each time, and finally `most`."""
    result = []
    while least < most:
        result.append(least)
        least *= 2
    return (*result, most)


def assured_reach(values: Sequence[float]) -> float | None:
    """The half-width of the mean's interval, as a share of the mean, for the largest plausible spread.

    The spread is the upper limit of its one-sided 80 % interval: a run that may stop after any value tends to stop when
    the spread happens to look small (Kupper and Hafner, The American Statistician 43, 1989).
    """
    from scipy.special import chdtri

    interval = of_logs(values)
    if interval is None:
        return None
    df = len(values) - 1
    return exp(interval[1] * math.sqrt(df / float(chdtri(df, _ASSURANCE)))) - 1


LEAST_FOR_MEDIAN = 6
"""So many values have an interval of the median with 95 % confidence."""


def of_median(values: Sequence[float]) -> tuple[float, float] | None:
    """The two values between which the median lies, whatever the distribution; None if there are too few values.

    The number of values below the median is binomial (Conover, Practical Nonparametric Statistics, ch. 3).
    """
    ordered = sorted(values)
    below = _most_below(len(ordered))
    return None if below is None else (ordered[below], ordered[-below - 1])


@cache
def _most_below(n: int) -> int | None:
    """The largest number of values that may lie below the interval."""
    from scipy.special import bdtr

    return next((k for k in reversed(range(n // 2)) if float(bdtr(k, n, 0.5)) <= (1 - LEVEL) / 2), None)


def exp(log: float) -> float:
    """The exponential of a logarithm; infinity on overflow."""
    try:
        return math.exp(log)
    except OverflowError:
        return math.inf
