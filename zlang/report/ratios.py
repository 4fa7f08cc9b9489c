"""Ratios of measured values with their intervals: Student's t on logarithms.

In: logarithms. Out: `Ratio`. Rules: combinations of the other factors have equal weights, and differences between them
are not error; each has its own spread, with the degrees of freedom of Satterthwaite (1946) as Welch estimates them
(Biometrika 34, 1947). `bench/intervals.py` measures how often the intervals cover the true ratio, and how often a
`detectable` ratio is detected.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from functools import cache

from zlang.frozen import frozen
from zlang.intervals import LEVEL, exp, student
from zlang.report.summary import Estimate

_POWER = 0.8
"""The probability of detecting a difference that is called detectable."""
_QUANTILES = 40
_STEP = 1e-4
"""The part of a standard error to which a detectable difference is computed."""

Logs = Mapping[Hashable, Sequence[float]]
"""By combination of the other factors."""


@frozen
class Ratio:
    """A ratio: the mean of `n` logarithms of ratios, its standard error, and its degrees of freedom."""

    n: int
    log: float
    error: float | None
    df: float

    def interval(self, comparisons: int = 1) -> tuple[float, float] | None:
        """The 95 % interval, simultaneous over this many comparisons (Bonferroni)."""
        if self.error is None:
            return None
        half = self.error * student(self.df, 1 - (1 - LEVEL) / 2 / comparisons)
        return exp(self.log - half), exp(self.log + half)

    def detectable(self, comparisons: int = 1) -> float | None:
        """The smallest ratio above 1 that the same experiment would detect in four of five repetitions."""
        if self.error is None:
            return None
        return exp(self.error * _errors_detected(self.df, comparisons))

    def estimate(self, comparisons: int = 1) -> Estimate:
        """The ratio as a table cell."""
        return Estimate(self.n, exp(self.log), *(self.interval(comparisons) or (None, None)))


@cache
def _errors_detected(df: float, comparisons: int) -> float:
    """The number of standard errors that a difference needs to be detected, if the error itself is an estimate.

    It is the noncentral t, averaged over the distribution of the estimate: a small estimate promises too much.
    """
    import numpy as np
    from scipy.special import chdtri, nctdtr

    limit = student(df, 1 - (1 - LEVEL) / 2 / comparisons)
    estimates = np.sqrt(chdtri(df, 1 - (np.arange(_QUANTILES) + 0.5) / _QUANTILES) / df)

    def power_at(steps: int) -> float:
        return float(np.mean(1 - nctdtr(df, steps * _STEP * estimates, limit)))

    most = math.ceil((limit + 1) / _STEP)
    while power_at(most) < _POWER:
        most *= 2
    return bisect_left(range(most), _POWER, key=power_at) * _STEP


def paired(differences: Logs) -> Ratio | None:
    """The ratio of paired values, from the differences of the logarithms of each pair, by combination."""
    kept = {key: logs for key, logs in differences.items() if logs}
    if not kept:
        return None
    means = list(map(mean, kept.values()))
    n = sum(map(len, kept.values()))
    log = mean(means)
    error = error_of(list(kept.values()), len(means))
    if error is not None:
        return Ratio(n, log, *error)
    if len(means) == 1:
        return Ratio(n, log, None, 0)
    # Nothing was repeated, so the differences between the combinations are the only estimate of the error.
    spread = math.fsum((item - log) ** 2 for item in means) / (len(means) - 1)
    return Ratio(n, log, math.sqrt(spread / len(means)), len(means) - 1)


def unpaired(ones: Logs, others: Logs) -> Ratio | None:
    """The ratio of `others` to `ones` for unpaired values, in the combinations that both have."""
    both = [key for key in ones if key in others and ones[key] and others[key]]
    if not both:
        return None
    log = math.fsum(mean(others[key]) - mean(ones[key]) for key in both) / len(both)
    n = min(sum(len(side[key]) for key in both) for side in (ones, others))
    error = error_of([side[key] for key in both for side in (ones, others)], len(both))
    return Ratio(n, log, *(error or (None, 0)))


def mean(logs: Sequence[float]) -> float:
    """The arithmetic mean."""
    return math.fsum(logs) / len(logs)


def error_of(samples: Sequence[Sequence[float]], count: int) -> tuple[float, float] | None:
    """The standard error of the sum of the samples' means over `count`, and its degrees of freedom.

    Each sample has its own variance (Welch, Satterthwaite), unless a sample is a single value: then all share one.
    """
    squares = [math.fsum((log - middle) ** 2 for log in logs) for logs in samples for middle in (mean(logs),)]
    dfs = [len(logs) - 1 for logs in samples]
    if not sum(dfs):
        return None
    pooled = math.fsum(squares) / sum(dfs)
    has_single = not all(dfs)
    parts = [
        (pooled if has_single else square / df) / len(logs)
        for logs, square, df in zip(samples, squares, dfs, strict=True)
    ]
    if has_single:
        return math.sqrt(math.fsum(parts)) / count, sum(dfs)
    error, df = summed(list(zip(parts, dfs, strict=True)))
    return error / count, df


def summed(variances: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The standard error and degrees of freedom of a sum of independent parts, from the variance and those of each."""
    total = math.fsum(variance for variance, _ in variances)
    most = math.fsum(df for _, df in variances)
    if not total:
        return 0.0, most
    # Welch's form, in which the squares of estimated variances are not too large on average
    df = total**2 / math.fsum(variance**2 / (own + 2) for variance, own in variances) - 2
    return math.sqrt(total), min(df, most)
