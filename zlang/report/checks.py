"""What makes a run's figures doubtful, found without being asked for: drift, outliers, two modes, caches, confounding.

In: a `Design` and, for queue depths, what fio told. Out: `Doubt`s, each with a code of `Sign`. Rules: a sign is shown
only where it is both unlikely by chance (p < 0.001 where it is tested) and large enough; docs/results.md says what
each of them means. Sources: Mann, Econometrica 13 (1945) and Kendall, Rank Correlation Methods, for drift; Little,
Operations Research 9 (1961), for depths.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from zlang.report.design import Design, Row
from zlang.report.formulas import Trials
from zlang.store.query import run_query
from zlang.store.store import quoted

_CHANCE = 0.001
_MATTERS = 0.02
"""Part of a figure below which a drift is of no account."""
_ENOUGH = 8
"""Residuals below which nothing is said of their shape."""
_FEW = 3
_FAR = 6.0
"""Standard deviations (by the median of deviations) beyond which a value is an outlier."""
_TWO_HUMPS = 5.0
"""How many times their own spread two groups are apart; halves of a normal distribution: 2.6, of a uniform one: 3.5."""
_SMALLER_HUMP = 0.2
_TOO_DEEP = 1.1
_TOO_SHALLOW = 0.5
_APART = 0.9
"""Of all pairs of trials of two levels, the part in which the same level came first."""


class Sign(Enum):
    """What can be doubtful: its code and what it is."""

    DRIFT = ("R101", "the values drift over the run")
    OUTLIER = ("R102", "a value is far from the others of its kind")
    TWO_MODES = ("R103", "repetitions fall into two groups")
    WARMED = ("R104", "the first repetition differs from those after it")
    FEW = ("R105", "too few repetitions")
    WITH_ORDER = ("R106", "a factor goes with the order")
    WITH_HOST = ("R107", "a factor goes with the host")
    LITTLE = ("R108", "more was in flight than was asked for")
    SHALLOW = ("R109", "the queue depth was not reached")

    @property
    def code(self) -> str:
        """What it is known by."""
        return str(self.value[0])


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that makes figures doubtful, in one sentence."""

    sign: Sign
    sentence: str


def run(design: Design) -> list[Doubt]:
    """All that is doubtful of the figures of a design."""
    residuals = _residuals(design)
    return [doubt for check in _CHECKS for doubt in check(design, residuals)]


Residuals = Sequence[tuple[Row, float]]
"""Each trial with its logarithm less the mean of its point, where the point has several."""


def _residuals(design: Design) -> Residuals:
    points: dict[tuple[str, str], list[Row]] = {}
    for row in design.rows:
        points.setdefault((row.run, row.trial), []).append(row)
    return [
        (row, row.log - math.fsum(r.log for r in rows) / len(rows))
        for rows in points.values()
        if len(rows) > 1
        for row in rows
    ]


def _drift(_design: Design, residuals: Residuals) -> Iterator[Doubt]:
    from scipy.stats import kendalltau

    for run, own in _by_run(residuals).items():
        if len(own) < _ENOUGH:
            continue
        places, values = [float(row.position) for row, _ in own], [value for _, value in own]
        if len(set(places)) < _ENOUGH or len(set(values)) == 1:
            continue
        tau, p = kendalltau(places, values)
        # The mean of a point is taken of the same values, so their slope is too flat: by its own places it is not.
        slope = _slope(own)
        change = math.expm1(slope * (max(places) - min(places)))
        if float(p) < _CHANCE and abs(change) > _MATTERS:
            yield Doubt(
                Sign.DRIFT,
                f"from the first trial to the last of {run} the values change by {100 * change:+.0f} % "
                f"(Mann-Kendall: tau = {float(tau):.2f}, p = {float(p):.1g})",
            )


def _slope(own: Residuals) -> float:
    """Of the residuals over the places, both less the mean of their point."""
    places: dict[str, list[int]] = {}
    for row, _ in own:
        places.setdefault(row.trial, []).append(row.position)
    centred = [(row.position - statistics.fmean(places[row.trial]), value) for row, value in own]
    squares = math.fsum(x * x for x, _ in centred)
    return math.fsum(x * y for x, y in centred) / squares if squares else 0.0


def _by_run(residuals: Residuals) -> dict[str, list[tuple[Row, float]]]:
    found: dict[str, list[tuple[Row, float]]] = {}
    for row, value in residuals:
        found.setdefault(row.run, []).append((row, value))
    return found


def _outliers(_design: Design, residuals: Residuals) -> Iterator[Doubt]:
    if len(residuals) < _ENOUGH:
        return
    spread = statistics.median(abs(value) for _, value in residuals) / 0.6745
    far = [(row, value) for row, value in residuals if abs(value) > _FAR * spread and abs(value) > _MATTERS]
    if far:
        row, value = max(far, key=lambda one: abs(one[1]))
        said = f"{len(far)} of {len(residuals)} trials" if len(far) > 1 else f"1 of {len(residuals)} trials"
        yield Doubt(
            Sign.OUTLIER,
            f"{said} are far from their point's mean; the farthest is place {row.position} of {row.run} "
            f"({100 * math.expm1(value):+.0f} %)",
        )


def _two_modes(_design: Design, residuals: Residuals) -> Iterator[Doubt]:
    values = sorted(value for _, value in residuals)
    least = max(2, math.ceil(_SMALLER_HUMP * len(values)))
    if len(values) < 2 * _ENOUGH:
        return
    cut = min(range(least, len(values) - least + 1), key=lambda n: _within(values[:n]) + _within(values[n:]))
    low, high = values[:cut], values[cut:]
    apart = statistics.fmean(high) - statistics.fmean(low)
    spread = math.sqrt((_within(low) + _within(high)) / (len(values) - 2))
    if apart > _TWO_HUMPS * spread and apart > _MATTERS:
        yield Doubt(
            Sign.TWO_MODES,
            f"{len(low)} trials and {len(high)} are in two groups, {100 * math.expm1(apart):.0f} % apart",
        )


def _within(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def _warmed(design: Design, _residuals: Residuals) -> Iterator[Doubt]:
    points: dict[tuple[str, str], list[Row]] = {}
    for row in design.rows:
        points.setdefault((row.run, row.trial), []).append(row)
    steps = []
    for rows in points.values():
        first, *later = sorted(rows, key=lambda row: row.position)
        if later:
            steps.append(math.fsum(row.log for row in later) / len(later) - first.log)
    if len(steps) < _FEW + 1:
        return
    from scipy.special import stdtr

    mean, error = statistics.fmean(steps), statistics.stdev(steps) / math.sqrt(len(steps))
    p = 2 * float(stdtr(len(steps) - 1, -abs(mean) / error)) if error else float(not mean)
    if p < _CHANCE and abs(mean) > _MATTERS:
        yield Doubt(
            Sign.WARMED,
            f"later repetitions differ from their point's first by {100 * math.expm1(mean):+.0f} % (p = {p:.1g})",
        )


def _few(design: Design, _residuals: Residuals) -> Iterator[Doubt]:
    counts: dict[str, int] = {}
    for row in design.rows:
        counts[row.trial] = counts.get(row.trial, 0) + 1
    few = [n for n in counts.values() if n < _FEW]
    if few:
        yield Doubt(
            Sign.FEW,
            f"{len(few)} of {len(counts)} points have fewer than {_FEW} trials that count: use repeat = {_FEW}",
        )


def _with_order(design: Design, _residuals: Residuals) -> Iterator[Doubt]:
    for i, factor in enumerate(design.factors):
        levels = design.levels[i]
        for second in levels[1:]:
            one, other = ([r for r in design.rows if r.levels[i] == level] for level in (levels[0], second))
            runs = {row.run for row in one} & {row.run for row in other}
            pairs = [a.position < b.position for a in one for b in other if a.run == b.run and a.run in runs]
            if len(one) + len(other) < _ENOUGH or not pairs:
                continue
            share = sum(pairs) / len(pairs)
            if max(share, 1 - share) >= _APART:
                yield Doubt(
                    Sign.WITH_ORDER,
                    f"`{factor.name}` goes with the order of the trials: what else changed is taken for its effect",
                )
                break


def _with_host(design: Design, _residuals: Residuals) -> Iterator[Doubt]:
    if len({row.host for row in design.rows}) < 2:  # noqa: PLR2004 - one host confounds nothing
        return
    for i, factor in enumerate(design.factors):
        hosts: dict[object, set[str]] = {}
        for row in design.rows:
            if row.levels[i] is not None:
                hosts.setdefault(row.levels[i], set()).add(row.host)
        if len(set(map(frozenset, hosts.values()))) > 1 and not set.intersection(*hosts.values()):
            yield Doubt(Sign.WITH_HOST, f"the levels of `{factor.name}` were measured on different hosts")


_CHECKS: tuple[Callable[[Design, Residuals], Iterator[Doubt]], ...] = (
    _drift,
    _outliers,
    _two_modes,
    _warmed,
    _few,
    _with_order,
    _with_host,
)


def depths(trials: Trials) -> list[Doubt]:
    """Where IOPS times latency is not the depth that was asked for, as far as `iodepth` (and `jobs`) are factors."""
    asked, jobs = _named(trials, "iodepth"), _named(trials, "jobs")
    flights = [
        f"coalesce({quoted(trials.metrics[f'{d}_iops'][0])} * {quoted(trials.metrics[f'{d}_lat_mean'][0])} / 1e9, 0)"
        for d in ("read", "write", "trim")
        if f"{d}_iops" in trials.metrics and f"{d}_lat_mean" in trials.metrics
    ]
    if asked is None or not flights:
        return []
    wanted = f"{quoted(asked)} * {quoted(jobs) if jobs else 1}"
    rows = run_query(
        trials.db,
        f"SELECT {wanted} AS asked, {' + '.join(flights)} AS flight FROM {trials.rows} "
        "WHERE valid AND asked IS NOT NULL AND flight > 0",
    ).rows
    told = [(float(str(want)), float(str(flight))) for want, flight in rows]
    deep = [one for one in told if one[1] > _TOO_DEEP * one[0]] if jobs else []
    shallow = [one for one in told if one[1] < _TOO_SHALLOW * one[0]]
    found = []
    for sign, ones in ((Sign.LITTLE, deep), (Sign.SHALLOW, shallow)):
        if ones:
            want, flight = max(ones, key=lambda one: abs(math.log(one[1] / one[0])))
            found.append(
                Doubt(
                    sign,
                    f"in {len(ones)} of {len(told)} trials IOPS × latency is not the depth: {flight:.3g} in flight, "
                    f"{want:.0f} asked for",
                )
            )
    return found


def _named(trials: Trials, last: str) -> str | None:
    """The column of the factor whose path ends so."""
    names: Mapping[str, tuple[str, str]] = trials.factors
    return next((name for path, (name, _) in names.items() if path.rpartition(".")[2] == last), None)
