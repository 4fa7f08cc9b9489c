"""Rules about the values themselves: outliers, two modes, too few replicates.

Rule: a finding is large enough to matter.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

from zlang.report.design import Design, Row, groups
from zlang.report.findings.rule import ResultRules, Results

RULES = ResultRules()
_MATTERS = 0.02
"""The smallest relative change that matters."""
_ENOUGH = 8
"""The fewest residuals that have a shape."""
_FEW = 3
_FAR = 8.0
"""Standard deviations (by the median of deviations) beyond which a value is an outlier."""
_TWO_HUMPS = 5.0
"""The distance of two groups in multiples of their spread; for halves of a normal distribution 2.6, a uniform 3.5."""
_SMALLER_HUMP = 0.2
_EXCEPTIONS = 0.1
"""The share of trials that may be in another group than most trials of their block or setup."""


def _residuals(design: Design) -> list[tuple[float, Row]]:
    """The logarithm of each trial minus the mean of its point, ascending, for points with several trials."""
    residuals = [
        (row.log - math.fsum(r.log for r in rows) / len(rows), row)
        for rows in _points(design).values()
        if len(rows) > 1
        for row in rows
    ]
    return sorted(residuals, key=lambda pair: pair[0])


def _points(design: Design) -> dict[tuple[str, str], list[Row]]:
    points: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in design.rows:
        points[row.run, row.trial].append(row)
    return points


@RULES.add("outlier")
def value_is_far(results: Results) -> Iterator[str]:
    """A value is far from the others of its point.

    Something may have affected only this trial: the machine did other work, or a device corrected an error. This
    changes means and intervals, but hardly a median. A value is an outlier if it is more than eight standard
    deviations away from the median of its point. The standard deviation is estimated over all points from the median
    of deviations, which an outlier does not change (Hampel, Journal of the American Statistical Association 69, 1974).
    So if some points vary far more than most, their trials can be outliers, too. The trial still counts: `zlang sql`
    shows the samples of its collectors.

    ```csv found
    bs,read_iops
    4KiB,2000 1990 2010 1210 2005
    8KiB,1000 1005 990 1010 995
    16KiB,500 503 498 501 497
    ```

    ```csv
    bs,read_iops
    4KiB,2000 1990 2010 1995 2005
    8KiB,1000 1005 990 1010 995
    16KiB,500 503 498 501 497
    ```
    """
    apart: list[tuple[Row, float]] = []
    for rows in _points(results.design).values():
        middle = statistics.median(row.log for row in rows)
        # The median is at distance 0 from itself, which would make the spread of three trials look small.
        apart += [(row, row.log - middle) for row in rows if row.log != middle]
    if len(apart) < _ENOUGH:
        return
    spread = statistics.median(abs(value) for _, value in apart) / 0.6745
    far = [(row, value) for row, value in apart if abs(value) > _FAR * spread and abs(value) > _MATTERS]
    if far:
        row, value = max(far, key=lambda pair: abs(pair[1]))
        yield (
            f"{len(far)} of {len(results.design.rows)} trials {'is' if len(far) == 1 else 'are'} far from the median "
            f"of the point; the farthest is trial {row.position} of {row.run} ({100 * math.expm1(value):+.0f} %)"
        )


@RULES.add("two-modes")
def values_are_in_two_groups(results: Results) -> Iterator[str]:
    """Replicates fall into two groups.

    The same trial has two outcomes: on a fast and a slow part of a disk, with a good and a bad layout of the file, or
    with and without a cache. Neither their median nor their mean is typical, and an interval over both says little.
    zlang reports two groups if they are more than five times their own spread apart and the smaller one has at least
    a fifth of the values. The two halves of a normal distribution are 2.6 times their spread apart. With fewer than
    16 trials, zlang does not look for groups. If each block or setup is in one of the groups, there must be 16 of
    these: of three blocks that differ by chance, two are often close to each other.

    ```csv found
    bs,read_iops
    4KiB,2000 2620 1990 2605 2010 2610 1995 2625
    8KiB,1300 1005 990 1310 995 1305 1295 1002
    ```

    ```csv
    bs,read_iops
    4KiB,2000 1990 2010 1995 2005 2001 1980 2015
    8KiB,1000 1005 990 1010 995 999 1003 1001
    ```
    """
    residuals = _residuals(results.design)
    values = [value for value, _ in residuals]
    least = max(2, math.ceil(_SMALLER_HUMP * len(values)))
    if len(values) < 2 * _ENOUGH:
        return
    cut, within = _best_split(values, least)
    low, high = values[:cut], values[cut:]
    apart = statistics.fmean(high) - statistics.fmean(low)
    spread = math.sqrt(within / (len(values) - 2))
    is_clear = apart > _TWO_HUMPS * spread and apart > _MATTERS
    if is_clear and not _follows_few(groups([row for _, row in residuals]), cut):
        yield f"the trials form two groups, of {len(low)} and {len(high)}, {100 * math.expm1(apart):.0f} % apart"


def _follows_few(units: Sequence[tuple[Hashable, ...]], cut: int) -> bool:
    """Whether a split separates the units of a kind, such as blocks, of which there are few."""
    for own in zip(*units, strict=True):
        sizes, below = Counter(own), Counter(own[:cut])
        exceptions = sum(min(below[unit], size - below[unit]) for unit, size in sizes.items())
        if 1 < len(sizes) < 2 * _ENOUGH and exceptions <= _EXCEPTIONS * len(own):
            return True
    return False


def _best_split(values: Sequence[float], least: int) -> tuple[int, float]:
    """The place of the best split into two groups of at least `least` values, and the sum of squares within them."""
    total, squares = math.fsum(values), math.fsum(value * value for value in values)
    best, cut = math.inf, least
    below = math.fsum(values[: least - 1])
    for n in range(least, len(values) - least + 1):
        below += values[n - 1]
        remaining = squares - below * below / n - (total - below) ** 2 / (len(values) - n)
        if remaining < best:
            best, cut = remaining, n
    return cut, max(best, 0.0)


@RULES.add("too-few-trials-count")
def too_few_count(results: Results) -> Iterator[str]:
    """Some points have fewer than three trials that count.

    One value says nothing about variation, and two say very little: the 95 % interval of Student's t extends 9
    standard deviations to each side with two values, and 2.5 with three. zlang reports points with fewer than three
    trials that count, whether fewer were planned or some did not count (`zlang status RUN` says why).

    ```csv found
    bs,read_iops
    4KiB,2000 1990
    8KiB,1000 1005
    ```

    ```csv
    bs,read_iops
    4KiB,2000 1990 2010
    8KiB,1000 1005 990
    ```
    """
    counts: dict[str, int] = defaultdict(int)
    for row in results.design.counting:
        counts[row.trial] += 1
    few = sum(n < _FEW for n in counts.values())
    if few:
        has = "has" if few == 1 else "have"
        points = (
            f"the only measured point {has}" if len(counts) == 1 else f"{few} of {len(counts)} measured points {has}"
        )
        was_planned = max(results.repeat, *(row.replicate for row in results.design.counting)) >= _FEW
        what_to_do = "`zlang resume --failed` measures the others again" if was_planned else f"write `repeat = {_FEW}`"
        yield f"{points} fewer than {_FEW} trials that count: {what_to_do}"
