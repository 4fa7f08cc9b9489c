"""Ratios of what was measured, with the interval in which they lie: Student's t on logarithms.

In: logarithms. Out: `Ratio`. Rules: what was measured in the same block is compared within it; combinations of the
other factors count alike, and what differs between them is no error; the error is that of repetitions. Sources: Box,
Hunter and Hunter, Statistics for Experimenters (blocks, ch. 4; split plots, ch. 9). `bench/intervals.py` measures how
often the intervals hold the true ratio.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from zlang.intervals import LEVEL, exp, student
from zlang.report.summary import Estimate

_POWER = 0.8
"""Of a difference that `is said to be found`, how often it would be."""

Logs = Mapping[Hashable, Sequence[float]]
"""By combination of the other factors."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio: the mean of `n` logarithms of ratios, its standard error, and of how many degrees of freedom that is."""

    n: int
    log: float
    error: float | None
    df: int

    def interval(self, comparisons: int = 1) -> tuple[float, float] | None:
        """Where it lies with 95 % confidence, together with the others of so many comparisons (Bonferroni)."""
        if self.error is None:
            return None
        half = self.error * student(self.df, 1 - (1 - LEVEL) / 2 / comparisons)
        return exp(self.log - half), exp(self.log + half)

    def detectable(self, comparisons: int = 1) -> float | None:
        """The ratio above 1 that would have been found in four of five cases."""
        if self.error is None:
            return None
        return exp(self.error * (student(self.df, 1 - (1 - LEVEL) / 2 / comparisons) + student(self.df, _POWER)))

    def estimate(self, comparisons: int = 1) -> Estimate:
        """The same as a cell of a table."""
        return Estimate(self.n, exp(self.log), *(self.interval(comparisons) or (None, None)))


def paired(differences: Logs) -> Ratio | None:
    """The ratio of what stands in pairs: the differences of the logarithms of each pair, by combination."""
    means = [math.fsum(ones) / len(ones) for ones in differences.values() if ones]
    if not means:
        return None
    n = sum(len(ones) for ones in differences.values())
    df = n - len(means)
    log = math.fsum(means) / len(means)
    if df:
        return Ratio(n, log, _error(_squares(differences) / df, [1 / len(d) for d in differences.values() if d]), df)
    if len(means) == 1:
        return Ratio(n, log, None, 0)
    # Nothing was repeated: what differs between the combinations is all there is to judge by.
    spread = math.fsum((mean - log) ** 2 for mean in means) / (len(means) - 1)
    return Ratio(n, log, math.sqrt(spread / len(means)), len(means) - 1)


def apart(ones: Logs, others: Logs) -> Ratio | None:
    """The ratio of the others to the ones where nothing pairs them, in the combinations that both have."""
    both = [key for key in ones if key in others and ones[key] and others[key]]
    if not both:
        return None
    log = math.fsum(_mean(others[key]) - _mean(ones[key]) for key in both) / len(both)
    n = min(sum(len(side[key]) for key in both) for side in (ones, others))
    df = sum(len(ones[key]) + len(others[key]) - 2 for key in both)
    if not df:
        return Ratio(n, log, None, 0)
    squares = _squares({key: ones[key] for key in both}) + _squares({key: others[key] for key in both})
    parts = [1 / len(ones[key]) + 1 / len(others[key]) for key in both]
    return Ratio(n, log, _error(squares / df, parts), df)


def _error(variance: float, parts: Sequence[float]) -> float:
    return math.sqrt(variance * math.fsum(parts)) / len(parts)


def _squares(logs: Logs) -> float:
    return math.fsum((log - _mean(ones)) ** 2 for ones in logs.values() if ones for log in ones)


def _mean(logs: Sequence[float]) -> float:
    return math.fsum(logs) / len(logs)
