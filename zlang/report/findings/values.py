"""What is doubtful about values themselves: drift, outliers, two modes, first repetitions, confounding.

Rule: a finding is both unlikely by chance (p < 0.001 where it is tested) and large enough to matter.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from zlang.report.design import Design, Row
from zlang.report.findings.rule import ResultRules, Results

RULES = ResultRules()
_CHANCE = 0.001
_MATTERS = 0.02
"""Part of a figure below which a change is of no account."""
_ENOUGH = 8
"""Residuals below which nothing is said of their shape."""
_FEW = 3
_FAR = 8.0
"""Standard deviations (by the median of deviations) beyond which a value is an outlier."""
_TWO_HUMPS = 5.0
"""How many times their own spread two groups are apart; halves of a normal distribution: 2.6, of a uniform one: 3.5."""
_SMALLER_HUMP = 0.2
_APART = 0.9
"""Of all pairs of trials of two levels, the part in which the same level came first."""


@RULES.add("drift")
def values_drift(results: Results) -> Iterator[str]:
    """The values drift over the run.

    Something changes while it is measured: a device that fills up or gets warm, a cache that gets fuller, another
    tenant of the machine. What was measured late is then compared with what was measured early. The Mann-Kendall test
    (Mann, Econometrica 13, 1945) compares each trial with the earlier ones of its own point, as Hirsch and Slack do it
    by season (Water Resources Research 20, 1984): p < 0.001 and a change of over 2 %. The order of the trials is
    random, so that a drift makes intervals wider and not differences wrong.

    ```csv found
    bs,read_iops
    4KiB,2000 1950 1900 1850 1800 1750
    8KiB,1000 975 950 925 900 875
    ```

    ```csv
    bs,read_iops
    4KiB,2000 1990 2010 1995 2005 2001
    8KiB,1000 1005 990 1010 995 999
    ```
    """
    for run, own in _by_run(results.design).items():
        places = [row.position for rows in own for row in rows]
        if len(set(places)) < _ENOUGH:
            continue
        change = math.expm1(_slope(own) * (max(places) - min(places)))
        tau, p = kendall([[row.log for row in rows] for rows in own])
        if abs(change) > _MATTERS and p < _CHANCE:
            yield (
                f"from the first trial to the last of {run} the values change by {100 * change:+.0f} % "
                f"(Mann-Kendall: tau = {tau:.2f}, p = {p:.1g})"
            )


def kendall(points: Iterable[Sequence[float]]) -> tuple[float, float]:
    """Kendall's tau of values of several points in the order of time, compared within each, and its p of two sides."""
    concordant = pairs = 0
    variance = 0.0
    for values in points:
        before: list[float] = []
        for value in values:
            concordant += bisect_left(before, value) - (len(before) - bisect_right(before, value))
            insort(before, value)
        n = len(values)
        pairs += n * (n - 1) // 2
        variance += n * (n - 1) * (2 * n + 5) / 18
    if not pairs:
        return 0.0, 1.0
    return concordant / pairs, math.erfc(abs(concordant) / math.sqrt(2 * variance))


def _by_run(design: Design) -> dict[str, list[list[Row]]]:
    """The trials of each point that has several, in the order of time, by run."""
    found: dict[str, list[list[Row]]] = defaultdict(list)
    for (run, _), rows in _points(design).items():
        if len(rows) > 1:
            found[run].append(sorted(rows, key=lambda row: row.position))
    return found


def _slope(points: Iterable[Sequence[Row]]) -> float:
    """Of the logarithms over the places, both less the mean of their point."""
    products = squares = 0.0
    for rows in points:
        place, log = (statistics.fmean(values) for values in ([r.position for r in rows], [r.log for r in rows]))
        products += math.fsum((row.position - place) * (row.log - log) for row in rows)
        squares += math.fsum((row.position - place) ** 2 for row in rows)
    return products / squares if squares else 0.0


def _residuals(design: Design) -> list[float]:
    """Of each trial of a point that has several, its logarithm less the mean of its point."""
    return [
        row.log - math.fsum(r.log for r in rows) / len(rows)
        for rows in _points(design).values()
        if len(rows) > 1
        for row in rows
    ]


def _points(design: Design) -> dict[tuple[str, str], list[Row]]:
    points: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in design.rows:
        points[row.run, row.trial].append(row)
    return points


@RULES.add("outlier")
def value_is_far(results: Results) -> Iterator[str]:
    """A value is far from the others of its kind.

    Something happened in one trial only: the machine did something else, a device corrected an error. Medians hardly
    mind, means and intervals do. Far is over eight standard deviations from the median of its point, where the standard
    deviation is that of all points by the median of deviations, which an outlier does not change (Hampel, Journal of
    the American Statistical Association 69, 1974). The trial is kept: `zlang sql` shows its collectors' samples.

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
        # The trial in the middle is not apart from itself, and would make the spread of three look small.
        apart += [(row, row.log - middle) for row in rows if row.log != middle]
    if len(apart) < _ENOUGH:
        return
    spread = statistics.median(abs(value) for _, value in apart) / 0.6745
    far = [(row, value) for row, value in apart if abs(value) > _FAR * spread and abs(value) > _MATTERS]
    if far:
        row, value = max(far, key=lambda one: abs(one[1]))
        yield (
            f"{len(far)} of {len(results.design.rows)} trials {'is' if len(far) == 1 else 'are'} far from the median "
            f"of the point; the farthest is place {row.position} of {row.run} ({100 * math.expm1(value):+.0f} %)"
        )


@RULES.add("two-modes")
def values_are_in_two_groups(results: Results) -> Iterator[str]:
    """Repetitions fall into two groups.

    The same trial has two outcomes: on a fast and a slow part of a disk, with a good and a bad layout of the file, in a
    cache or not. Neither their median nor their mean is any of them, and an interval of both says little. Two groups
    are those that are over five times their own spread apart, the smaller a fifth of all or more; halves of a normal
    distribution are 2.6 times apart.

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
    values = sorted(_residuals(results.design))
    least = max(2, math.ceil(_SMALLER_HUMP * len(values)))
    if len(values) < 2 * _ENOUGH:
        return
    cut, within = _cut(values, least)
    low, high = values[:cut], values[cut:]
    apart = statistics.fmean(high) - statistics.fmean(low)
    spread = math.sqrt(within / (len(values) - 2))
    if apart > _TWO_HUMPS * spread and apart > _MATTERS:
        yield f"{len(low)} trials and {len(high)} are in two groups, {100 * math.expm1(apart):.0f} % apart"


def _cut(values: Sequence[float], least: int) -> tuple[int, float]:
    """Where two groups are told apart best, neither smaller than `least`, and the squares that are left in them."""
    total, squares = math.fsum(values), math.fsum(value * value for value in values)
    best, cut = math.inf, least
    below = math.fsum(values[: least - 1])
    for n in range(least, len(values) - least + 1):
        below += values[n - 1]
        left = squares - below * below / n - (total - below) ** 2 / (len(values) - n)
        if left < best:
            best, cut = left, n
    return cut, max(best, 0.0)


@RULES.add("first-differs")
def first_repetition_differs(results: Results) -> Iterator[str]:
    """The first repetition differs from those after it.

    Repetitions warm each other: the first one reads from the disk what the others find in a cache, or breaks in a
    layout that the others find broken in. Then they are no repetitions of one thing. A t test over the points compares
    each point's first trial with the mean of its later ones: p < 0.001 and over 2 %. `cache = cold` makes them alike.

    ```csv found
    bs,read_iops
    4KiB,1000 2600 2620
    8KiB,900 2310 2340
    16KiB,700 1830 1810
    32KiB,500 1290 1310
    64KiB,300 790 780
    ```

    ```csv
    bs,read_iops
    4KiB,1000 990 1004
    8KiB,900 905 897
    16KiB,700 706 699
    32KiB,500 497 502
    64KiB,300 302 299
    ```
    """
    steps = []
    for rows in _points(results.design).values():
        first, *later = sorted(rows, key=lambda row: row.position)
        if later:
            steps.append(math.fsum(row.log for row in later) / len(later) - first.log)
    if len(steps) < _FEW + 1:
        return
    mean, error = statistics.fmean(steps), statistics.stdev(steps) / math.sqrt(len(steps))
    if abs(mean) <= _MATTERS:
        return
    from scipy.special import stdtr

    p = 2 * float(stdtr(len(steps) - 1, -abs(mean) / error)) if error else 0.0
    if p < _CHANCE:
        yield f"later repetitions differ from their point's first by {100 * math.expm1(mean):+.0f} % (p = {p:.1g})"


@RULES.add("too-few-count")
def too_few_count(results: Results) -> Iterator[str]:
    """Too few repetitions that count.

    Of one value nothing can be told, and of two next to nothing: the 95 % interval of Student's t is then 9 standard
    deviations to each side, of three values 2.5. So fewer than three trials of a point that count are named, whether
    they were not planned or did not count (`zlang status RUN` says why).

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
    for row in results.design.rows:
        counts[row.trial] += 1
    few = [n for n in counts.values() if n < _FEW]
    if few:
        yield f"{len(few)} of {len(counts)} points have fewer than {_FEW} trials that count: use repeat = {_FEW}"


@RULES.add("goes-with-order")
def factor_goes_with_order(results: Results) -> Iterator[str]:
    """A factor goes with the order.

    All trials of one level came before those of another. Whatever else changed meanwhile (the device fills up, gets
    warm, the night begins) is then taken for the effect of the factor, and no number of repetitions tells them apart.
    zlang shuffles; what is set up anew is set up once for all its trials, though, and of two setups one comes first.
    `zlang run --order blocked --again` sets everything up anew for each replicate. It is found where in nine of ten
    pairs of trials the same level came first. Where an experiment repeats `until` or has a `find`, which trials come
    later goes with what was measured, so it is not looked for.

    ```csv found
    bs,place,read_iops
    4KiB,1 2 3 4,2000 1990 2010 2003
    8KiB,5 6 7 8,1000 1005 990 1002
    ```

    ```csv
    bs,place,read_iops
    4KiB,1 4 6 7,2000 1990 2010 2003
    8KiB,2 3 5 8,1000 1005 990 1002
    ```
    """
    design = results.design
    for i, factor in enumerate(design.factors if not results.is_sequential else ()):
        places: dict[object, dict[str, list[int]]] = {level: defaultdict(list) for level in design.levels[i]}
        for row in design.rows:
            if row.levels[i] is not None:
                places[row.levels[i]][row.run].append(row.position)
        first, *others = places.values()
        if any(_goes_before_or_after(first, second) for second in others):
            yield f"`{factor.name}` goes with the order of the trials: what else changed is taken for its effect"


def _goes_before_or_after(one: dict[str, list[int]], other: dict[str, list[int]]) -> bool:
    """Whether nearly all trials of one level came before, or after, those of another in the same run."""
    before = pairs = 0
    for run in one.keys() & other.keys():
        own = sorted(one[run])
        before += sum(bisect_left(own, place) for place in other[run])
        pairs += len(own) * len(other[run])
    enough = sum(map(len, one.values())) + sum(map(len, other.values())) >= _ENOUGH
    return enough and pairs > 0 and max(before, pairs - before) >= _APART * pairs


@RULES.add("goes-with-host")
def factor_goes_with_host(results: Results) -> Iterator[str]:
    """A factor goes with the host.

    No machine measured all levels of a factor, so that the difference between its levels is also one between machines:
    their disks, memory and kernels. Let each host have each level: where the host is a factor itself, cross it.

    ```csv found
    fs,host,read_iops
    ext4,san1,2000 1990 2010
    xfs,san2,1000 1005 990
    ```

    ```csv
    fs,host,read_iops
    ext4,san1,2000 1990 2010
    xfs,san1,1800 1805 1790
    ext4,san2,1100 1120 1110
    xfs,san2,1000 1005 990
    ```
    """
    design = results.design
    if len({row.host for row in design.rows}) < 2:  # noqa: PLR2004 - one host confounds nothing
        return
    for i, factor in enumerate(design.factors):
        hosts: dict[object, set[str]] = defaultdict(set)
        for row in design.rows:
            if row.levels[i] is not None:
                hosts[row.levels[i]].add(row.host)
        if len(set(map(frozenset, hosts.values()))) > 1 and not set.intersection(*hosts.values()):
            yield f"the levels of `{factor.name}` were measured on different hosts"
