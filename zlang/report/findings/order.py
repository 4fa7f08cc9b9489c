"""Rules about the order of trials: drift, a first replicate that differs, factors confounded with order or host.

Rule: trials that share a block or a setup are not independent. Blocks are compared by their means; within a block,
each trial is taken less the means of its block and setup. `bench/findings.py` measures how often a rule reports
something without a cause.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cache

from zlang.hints import TYPE_CHECKING
from zlang.report.design import Design, Row, groups
from zlang.report.findings.rule import ResultRules, Results
from zlang.report.strata import components

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Floats = NDArray[np.float64]
    _Numbers = NDArray[np.int64]

RULES = ResultRules()
_CHANCE = 0.02
_MATTERS = 0.02
"""The smallest relative change that matters."""
_LEAST = 4
"""The fewest points whose first trials are compared if there are no blocks."""
_ENOUGH = 6
"""The fewest trials of two levels whose order is checked."""
_APART = 0.9
"""The share of all pairs of trials of two levels in which the same level came first."""
_UNLIKELY = 0.05
_MANY = 10
"""The number of trials from which a probability that falls with their number is not computed."""
_FEWEST = 3
"""The fewest trials per block or setup, on average, from which a mean is removed."""
_SWEEPS = 200
_SMALL = 1e-9


@RULES.add("drift")
def values_drift(results: Results) -> Iterator[str]:
    """The values drift over the run.

    Something changes during the run: a device fills up or gets warm, a cache fills, or another user loads the
    machine. Late trials are then compared with early ones. zlang looks for a trend in two ways: between blocks, by
    the means of blocks, and within blocks, where it compares each trial with others of its point, block and setup. So
    blocks or setups that differ by chance are not a drift. zlang reports a drift if p < 0.02 for both together and
    the change exceeds 2 %. The order of trials is random, so a drift widens intervals, but does not bias differences.

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
        slope, p = trend(own, _MATTERS)
        change = math.expm1(slope * _span(own))
        if abs(change) > _MATTERS and p < _CHANCE:
            yield (
                f"the values change by {100 * change:+.0f} % from the first trial of {run} to the last "
                f"(trend over positions, p = {p:.1g})"
            )


def _span(rows: Sequence[Row]) -> int:
    places = [row.position for row in rows]
    return max(places) - min(places)


def trend(rows: Sequence[Row], matters: float = 0.0) -> tuple[float, float]:
    """The slope of the logarithms over positions, and its p; that is 1 for a change by the share `matters` or less.

    Most runs change by less than what matters. So they need no p, for which scipy is imported in 0.2 s.
    """
    import numpy as np

    span = _span(rows)
    rows = _at_the_time_of_their_blocks(rows)
    points = _numbered(row.trial for row in rows)
    places = _without_group_means(np.array([float(row.position) for row in rows]), [points])
    logs = _without_group_means(np.array([row.log for row in rows]), [points])
    squares = float(places @ places)
    if squares < _SMALL:
        return 0.0, 1.0
    slope = float(places @ logs) / squares
    if abs(math.expm1(slope * span)) <= matters:
        return slope, 1.0
    own = groups(rows)
    together = [_numbered(keys) for keys in zip(*own, strict=True) if len(set(keys)) * _FEWEST <= len(keys)]
    within = _slope([points, *together], places, logs)
    between = (0.0, 1.0)
    if own[0][0] is not None:
        blocks = _numbered([pair[0] for pair in own])
        linked = components([(row.trial, pair[0]) for row, pair in zip(rows, own, strict=True)], (0, 1))
        first = {int(block): unit for block, unit in zip(blocks, linked, strict=True)}
        counts = np.bincount(blocks)
        means = [np.bincount(blocks, shown) / counts for shown in (places, logs)]
        between = _slope([_numbered([first[n] for n in range(len(counts))])], *means)
    p = min(1.0, 2 * min((p for of, p in (within, between) if of * slope > 0), default=1.0))
    return slope, p


def _at_the_time_of_their_blocks(rows: Sequence[Row]) -> list[Row]:
    """All but trials that were measured after a later block began on their machine, such as failed ones, once again.

    They ran on other setups than their block did.
    """
    latest: dict[str, int] = {}
    result = []
    for row in sorted(rows, key=lambda row: row.position):
        if row.block >= latest.setdefault(row.host, row.block):
            latest[row.host] = row.block
            result.append(row)
    return result


def _slope(keys: Sequence[_Numbers], places: _Floats, logs: _Floats) -> tuple[float, float]:
    """The slope of the residuals without the means of these groups, and its p by Student's t."""
    from scipy.special import stdtr

    places, logs = _without_group_means(places, keys), _without_group_means(logs, keys)
    squares = float(places @ places)
    df = len(logs) - _parameters(keys) - 1
    if df < 1 or squares < _SMALL:
        return 0.0, 1.0
    slope = float(places @ logs) / squares
    remaining = logs - slope * places
    error = math.sqrt(float(remaining @ remaining) / df / squares)
    return slope, 2 * float(stdtr(df, -abs(slope) / error)) if error else float(slope == 0)


def _parameters(keys: Sequence[_Numbers]) -> int:
    """An upper bound of the number of group means that are removed, where groups of several kinds share trials."""
    nodes = sum(int(key.max()) + 1 for key in keys)
    linked = components(list(zip(*(key.tolist() for key in keys), strict=True)), range(len(keys)))
    return nodes - (len(keys) - 1) * len(set(linked))


def _without_group_means(values: _Floats, keys: Sequence[_Numbers]) -> _Floats:
    """Values less the means of their groups, of every kind."""
    import numpy as np

    for _ in range(_SWEEPS):
        before = values
        for places in keys:
            values = values - (np.bincount(places, values) / np.bincount(places))[places]
        if len(keys) == 1 or np.allclose(before, values, rtol=0, atol=_SMALL):
            break
    return values


def _numbered(keys: Iterable[Hashable]) -> _Numbers:
    """The number of each key; equal keys have equal numbers."""
    import numpy as np

    number_of: dict[Hashable, int] = {}
    return np.array([number_of.setdefault(key, len(number_of)) for key in keys])


def _by_run(design: Design) -> dict[str, list[Row]]:
    """The trials of points with several trials in a run, by run, in order of time."""
    counts = Counter((row.run, row.trial) for row in design.rows)
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(design.rows, key=lambda row: row.position):
        if counts[row.run, row.trial] > 1:
            rows[row.run].append(row)
    return rows


@RULES.add("first-differs")
def first_repetition_differs(results: Results) -> Iterator[str]:
    """The first replicate differs from later ones.

    Replicates warm each other: the first one reads from the disk what the others find in a cache, or uses a fresh
    layout that is worn for the others. They are then not replicates of one thing. zlang compares the mean of the
    first block with the means of later blocks, relative to the differences among the later ones. If trials have no
    blocks, it compares the first trial of each point with the later ones. zlang reports a difference if p < 0.02 and
    it exceeds 2 %. `cache = cold` removes the effect of caches.

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
    series = [item for rows in _by_run(results.design).values() for item in _series(rows)]
    steps = [statistics.fmean(later) - first for first, *later in series]
    if not steps:
        return
    mean = statistics.fmean(steps)
    df = sum(len(item) - 2 for item in series)
    if _is_in_blocks(results.design) and df:
        squares = math.fsum(statistics.pvariance(later) * len(later) for _, *later in series)
        error = math.sqrt(squares / df * sum(1 + 1 / (len(item) - 1) for item in series)) / len(steps)
    elif len(steps) >= _LEAST:
        df, error = len(steps) - 1, statistics.stdev(steps) / math.sqrt(len(steps))
    else:
        return
    if abs(mean) <= _MATTERS:
        return
    from scipy.special import stdtr

    p = 2 * float(stdtr(df, -abs(mean) / error)) if error else 0.0
    if p < _CHANCE:
        yield f"later replicates differ from the first of their point by {100 * math.expm1(mean):+.0f} % (p = {p:.1g})"


def _is_in_blocks(design: Design) -> bool:
    return all(group[0] is not None for group in groups(design.rows))


def _series(rows: Sequence[Row]) -> Iterator[list[float]]:
    """The means of blocks that have the same points, or else the values of each point, in order of time."""
    points: dict[Hashable, list[Row]] = defaultdict(list)
    for row in rows:
        points[row.trial].append(row)
    own = groups(rows)
    if any(pair[0] is None for pair in own):
        yield from ([row.log for row in of_point] for of_point in points.values())
        return
    means = {trial: statistics.fmean(row.log for row in of_point) for trial, of_point in points.items()}
    linked = components([(row.trial, pair[0]) for row, pair in zip(rows, own, strict=True)], (0, 1))
    plots: dict[int, dict[Hashable, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row, unit, pair in zip(rows, linked, own, strict=True):
        plots[unit][pair[0]].append(row.log - means[row.trial])
    yield from ([statistics.fmean(block) for block in blocks.values()] for blocks in plots.values())


@RULES.add("confounded-with-order")
def factor_confounded_with_order(results: Results) -> Iterator[str]:
    """A factor is confounded with run order.

    All trials of one level ran before those of another. Anything else that changed in the meantime looks like an
    effect of the factor: a device that fills up or gets warm, or the load at night. Replicates cannot separate the
    two. zlang randomises the order. However, it sets a resource up only once for all trials that use it, so one of
    two setups always comes first; `zlang plan` warns of this. `zlang run --order blocked --again` sets everything
    up again for each replicate.

    zlang reports this if the same level came first in nine of ten pairs of trials. In a random order this must be
    rare: any factor would have it in at most 5 % of cases. zlang does not check experiments with `repeat … until`
    or `find`, because there the results decide which trials come later. Nor does it check the factor `pass` of
    `layout = keep`.

    ```csv found
    compression,place,read_iops
    zstd,1 2 3,2000 1990 2010
    off,4 5 6,1000 1005 990
    ```

    ```csv
    compression,place,read_iops
    zstd,1 4 6,2000 1990 2010
    off,2 3 5,1000 1005 990
    ```
    """
    names = confounded(results.design) if not results.is_sequential else ()
    for name in names:
        if name == results.of_passes:
            continue
        yield (
            f"`{name}` is confounded with run order; drift would look like its effect: "
            "`zlang run --order blocked --again` mixes its levels"
        )


def confounded(design: Design) -> Iterator[str]:
    """The names of the factors that are confounded with run order."""
    comparisons = sum(len(levels) - 1 for levels in design.levels)
    for i, factor in enumerate(design.factors):
        levels: dict[object, list[Row]] = {level: [] for level in design.levels[i]}
        for row in design.counting:
            if row.levels[i] is not None:
                levels[row.levels[i]].append(row)
        first, *others = levels.values()
        if any(_is_before_or_after(first, second, comparisons) for second in others):
            yield factor.name


def _is_before_or_after(item: Sequence[Row], other: Sequence[Row], comparisons: int) -> bool:
    """Whether nearly all trials of one level came before, or after, those of another in the same run.

    A random order must be unlikely to have that in any of so many comparisons.
    """
    if len(item) + len(other) < _ENOUGH or min(len(item), len(other)) < 2:  # noqa: PLR2004 - one is always at an end
        return False
    sides: list[dict[str, list[int]]] = [defaultdict(list), defaultdict(list)]
    for side, rows in zip(sides, (item, other), strict=True):
        for row in rows:
            side[row.run].append(row.position)
    before = pairs = 0
    for run in sides[0].keys() & sides[1].keys():
        own = sorted(sides[0][run])
        before += sum(bisect_left(own, place) for place in sides[1][run])
        pairs += len(own) * len(sides[1][run])
    if not pairs or max(before, pairs - before) < _APART * pairs:
        return False
    chance = _chance_of_apart(len(item), len(other)) * _chance_of_turns([*item, *other])
    return chance * comparisons <= _UNLIKELY


@cache
def _chance_of_apart(size: int, other: int) -> float:
    """The share of random orders of so many trials with nearly all of one level first (Mann and Whitney's U)."""
    size, other = min(size, _MANY), min(other, _MANY)  # of more it is even less likely
    most = int((1 - _APART) * size * other + _SMALL)
    counts = [1] + [0] * most
    # The generating function of U is the product of (1 - q^(other + i)) / (1 - q^i).
    for i in range(1, size + 1):
        for u in range(most, other + i - 1, -1):
            counts[u] -= counts[u - other - i]
        for u in range(i, most + 1):
            counts[u] += counts[u - i]
    return 2 * sum(counts) / math.comb(size + other, size)


def _chance_of_turns(rows: Sequence[Row]) -> float:
    """The share of random orders with the replicates of each point in turn, as here; 1 if they are not in turn here."""
    last: dict[tuple[str, str], list[int]] = {}
    for row in sorted(rows, key=lambda row: row.position):
        before = last.setdefault((row.run, row.trial), [])
        if before and row.replicate < before[-1]:
            return 1.0
        before.append(row.replicate)
    return math.prod(1 / math.factorial(min(len(turns), _MANY)) for turns in last.values())


@RULES.add("confounded-with-host")
def factor_confounded_with_host(results: Results) -> Iterator[str]:
    """A factor is confounded with the host.

    No machine measured all levels of a factor. A difference between its levels is then also a difference between
    machines: their disks, memory and kernels. Measure every level on every host: if the host is a factor itself,
    cross the two. The factor whose levels are the hosts is not reported.

    ```csv found
    fs,host,read_iops
    ext4,san1,2000 1990 2010
    xfs,san2,1000 1005 990
    ```

    ```csv
    box,fs,host,read_iops
    san1,ext4,san1,2000 1990 2010
    san1,xfs,san1,1800 1805 1790
    san2,ext4,san2,1100 1120 1110
    san2,xfs,san2,1000 1005 990
    ```
    """
    design = results.design
    if len({row.host for row in design.rows}) < 2:  # noqa: PLR2004 - one host confounds nothing
        return
    for i, factor in enumerate(design.factors):
        hosts: dict[object, set[str]] = defaultdict(set)
        for row in design.counting:
            if row.levels[i] is not None:
                hosts[row.levels[i]].update(row.host.split("+"))  # several machines of a group, in one trial
        is_of_hosts = any(level in names for level, names in hosts.items())
        if not is_of_hosts and len(set(map(frozenset, hosts.values()))) > 1 and not set.intersection(*hosts.values()):
            yield f"the levels of `{factor.name}` were measured on different hosts"
