"""What a plot shows that is not over a factor: latencies, the run from trial to trial, seconds, each factor in turn.

In: a run's trials and a `Plot` over one of `AXES`. Out: `Drawn`s. Rules: distributions are of all operations of the
trials that count, added up; their interval, and that of a series, is over trials; a main effect is the mean over the
combinations of all other factors, and its interval that of repetitions.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from zlang.check.questions import FactorRef, Measure, Plot
from zlang.check.types import parts_of
from zlang.report import design, ratios
from zlang.report.drawn import WIDEST_BAR, Drawn, Form
from zlang.report.formulas import Trials, evaluate, level
from zlang.report.summary import GEOMETRIC_MEAN, Cell, Estimate, cells, estimate, estimates
from zlang.store.query import run_query
from zlang.store.store import literal

_MOST_BINS = 100
"""Points of a curve of latencies."""
_MOST_PLACES = 100
"""Fields of a plot over the position of trials, from left to right."""
_MOST_POINTS = 1000
"""Trials that are a point each in a plot over their position."""
_NS = 1e9

Levels = tuple[Cell, ...]


def drawn(trials: Trials, plot: Plot) -> list[Drawn]:
    """What one plot over something that is no factor shows, each measure by itself. Raises RunError."""
    alone = [replace(plot, measures=(measure,)) for measure in plot.measures]
    match plot.over.name:
        case "factors":
            return [effect for each in alone for effect in _effects(trials, each)]
        case "latency":
            return [_latencies(trials, each) for each in alone]
        case "second":
            return [_seconds(trials, each) for each in alone]
        case _:
            return [
                _histograms(trials, each) if each.measures[0].term.op == "distribution" else _in_order(trials, each)
                for each in alone
            ]


def _title(trials: Trials) -> str:
    return trials.title or trials.experiment


def _columns(plot: Plot) -> tuple[FactorRef, ...]:
    return (*plot.by, *((plot.facet,) if plot.facet else ()))


# -- each factor in turn


def _effects(trials: Trials, plot: Plot) -> list[Drawn]:
    """The geometric mean at each level of each factor, on one axis."""
    (measure,) = plot.measures
    read = design.read(trials, measure.term.name)
    parts = parts_of(read.unit)
    paths = {name: path for path, (name, _) in trials.factors.items()}
    result = []
    for i, factor in enumerate(read.factors):
        rows = []
        for factor_level in read.levels[i]:
            logs: dict[Hashable, list[float]] = {}
            for row in read.rows:
                if row.levels[i] == factor_level:
                    logs.setdefault((*row.levels[:i], *row.levels[i + 1 :]), []).append(row.log - math.log(parts))
            mean = ratios.paired(logs)
            if mean:
                rows.append((factor_level, mean.estimate()))
        over = FactorRef(factor.name, (paths[factor.name],), factor.type)
        text = f"plot {measure.name} over {factor.name}"
        own = Plot(text, plot.measures, over, (), None)
        result.append(Drawn(own, _title(trials), (over,), tuple(rows), middle=GEOMETRIC_MEAN))
    ends = _ends([row[-1] for drawn in result for row in drawn.rows])
    return [replace(item, ends=ends) for item in result]


def _ends(estimates: Sequence[Cell]) -> tuple[float, float]:
    shown = [estimate for estimate in estimates if isinstance(estimate, Estimate)]
    most = max((estimate.value for estimate in shown if estimate.value is not None), default=1.0)
    return 0.0, max(
        most,
        min(max((estimate.high for estimate in shown if estimate.high is not None), default=0.0), WIDEST_BAR * most),
    )


# -- from trial to trial


def _in_order(trials: Trials, plot: Plot) -> Drawn:
    """What each trial measured, at its place in the order."""
    position = FactorRef("position", ("position",), "count")
    placed = replace(trials, factors={**trials.factors, "position": ("position", "")})
    columns = (position, *_columns(plot))
    (measure,) = plot.measures
    times = 100 if measure.type == "share" else 1
    rows = []
    for combination in evaluate(placed, [measure.term], columns, every=True):
        (value,) = combination.results
        if isinstance(value, int | float):
            rows.append((*cells(combination.levels), Estimate(combination.trials, float(value) * times, None, None)))
    if len(rows) > _MOST_POINTS:
        return _in_groups(Drawn(plot, _title(trials), columns, tuple(rows), Form.POINTS))
    return Drawn(
        plot=plot, title=_title(trials), columns=columns, rows=tuple(rows), form=Form.POINTS, middle="each trial"
    )


def _in_groups(each: Drawn) -> Drawn:
    """The same with a point for consecutive trials, at the position of the first, where there are very many."""
    size = _size([row[0] for row in each.rows], _MOST_PLACES)
    groups: dict[Levels, list[float]] = {}
    for *levels, result in each.rows:
        if isinstance(result, Estimate) and result.value is not None:
            groups.setdefault((_start(levels[0], size), *levels[1:]), []).append(result.value)
    rows = [(*levels, estimate) for levels, estimate in zip(groups, estimates(list(groups.values())), strict=True)]
    return replace(each, rows=tuple(rows), note=f"each point is of {size:,} consecutive positions")


def _size(positions: Sequence[Cell], most: int) -> int:
    """How many consecutive positions make a group, so that there are not more groups than this."""
    last = max((position for position in positions if isinstance(position, int)), default=1)
    return math.ceil(last / most)


def _start(position: Cell, size: int) -> Cell:
    """The first position of the group that one belongs to; positions count from one."""
    return position - (position - 1) % size if isinstance(position, int) else position


# -- distributions


def _counts(trials: Trials, measure: Measure, levels: Sequence[str]) -> list[tuple[Levels, dict[int, int]]]:
    """The histogram of each trial that counts, with its levels: how many operations took how many nanoseconds."""
    direction, kind = measure.term.paths
    chosen = "".join(f"{level}, " for level in levels)
    answer = run_query(
        trials.db,
        f"SELECT {chosen}ns, counts FROM {trials.rows} t JOIN main.histograms USING (run, trial, replicate, valid) "
        f"WHERE valid AND direction = {literal(direction)} AND kind = {literal(kind)} ORDER BY ALL",
    )
    return [
        (tuple(cells(own)), dict(zip(ns, counts, strict=True)))
        for *own, ns, counts in answer.rows
        if isinstance(ns, list) and isinstance(counts, list)
    ]


def _latencies(trials: Trials, plot: Plot) -> Drawn:
    """The share of operations that took no longer, in percent."""
    columns = _columns(plot)
    groups: dict[Levels, list[dict[int, int]]] = {}
    for levels, bins in _counts(trials, plot.measures[0], [level(trials, column) for column in columns]):
        groups.setdefault(levels, []).append(bins)
    rows = [(ns / _NS, *levels, share) for levels, several in groups.items() for ns, share in cumulated(several)]
    return Drawn(
        plot=plot,
        title=_title(trials),
        columns=(plot.over, *columns),
        rows=tuple(rows),
        form=Form.CURVES,
        middle="all operations",
        ends=(0.0, 100.0),
    )


def cumulated(several: Sequence[dict[int, int]]) -> list[tuple[int, Estimate]]:
    """Nanoseconds, and the share below: of all trials together, and where it lies over trials."""
    curves = []
    for bins in several:
        ns = sorted(bins)
        curves.append((ns, list(itertools.accumulate(bins[item] for item in ns))))
    counts: Counter[int] = Counter()
    for bins in several:
        counts.update(bins)
    total = counts.total()
    made: list[tuple[int, Estimate]] = []
    last, so_far = -1.0, 0
    every = sorted(counts)
    for at in every:
        so_far += counts[at]
        share = 100 * so_far / total
        if share - last < 100 / _MOST_BINS and at != every[-1]:
            continue
        last = share
        below = [_below(ns, sums, at) for ns, sums in curves]
        over = estimate([100 * item / sums[-1] for item, (_, sums) in zip(below, curves, strict=True)])
        # All operations together may lie beside the middle of trials: the band then reaches to the curve.
        low, high = (None, None)
        if over.low is not None and over.high is not None:
            low, high = min(over.low, share), min(max(over.high, share), 100.0)
        made.append((at, Estimate(over.n, share, low, high)))
    return made


def _below(ns: Sequence[int], sums: Sequence[int], at: int) -> int:
    place = bisect.bisect_right(ns, at)
    return sums[place - 1] if place else 0


def _histograms(trials: Trials, plot: Plot) -> Drawn:
    """How the operations of each trial are spread over latencies, in percent, at its place in the order."""
    facet = (plot.facet,) if plot.facet else ()
    latency = FactorRef("latency up to", (), "duration")
    wanted = ["position", *(level(trials, item) for item in facet)]
    counts = _counts(trials, plot.measures[0], wanted)
    size = _size([levels[0] for levels, _ in counts], _MOST_PLACES)
    groups: dict[Levels, list[dict[int, int]]] = {}
    for levels, bins in counts:
        groups.setdefault((_start(levels[0], size), *levels[1:]), []).append(bins)
    rows: list[tuple[Cell, ...]] = []
    for levels, several in groups.items():
        powers: dict[int, int] = {}
        for bins in several:
            for ns, count in bins.items():
                power = max(ns - 1, 0).bit_length()
                powers[power] = powers.get(power, 0) + count
        total = sum(powers.values())
        for power, count in sorted(powers.items()):
            share = Estimate(len(several), 100 * count / total, None, None)
            rows.append((levels[0], 2**power / _NS, *levels[1:], share))
    rows.sort(key=lambda row: (row[1], row[0]))
    own = replace(plot, by=(latency,))
    note = f"each field is of {size:,} consecutive positions" if size > 1 else ""
    return Drawn(
        plot=own,
        title=_title(trials),
        columns=(plot.over, latency, *facet),
        rows=tuple(rows),
        form=Form.FIELDS,
        middle="operations",
        note=note,
    )


# -- within the measurements


def _seconds(trials: Trials, plot: Plot) -> Drawn:
    """What was sampled, second by second of the measurement, over trials; where there are several sources, of each."""
    columns = _columns(plot)
    (measure,) = plot.measures
    chosen = "".join(f"{level(trials, item)} AS {key}, " for key, item in _keyed(columns))
    keys = "".join(f"{key}, " for key, _ in _keyed(columns))
    answer = run_query(
        trials.db,
        f"WITH t AS (SELECT {chosen}run, trial, replicate FROM {trials.rows} WHERE valid), "
        f"s AS (SELECT {keys}run, trial, replicate, source, floor(second) AS moment, avg(value) AS value FROM t "
        f"JOIN main.samples USING (run, trial, replicate) WHERE second >= 0 AND metric = ? GROUP BY ALL) "
        f"SELECT moment, source, {keys}list(value) FROM s GROUP BY ALL ORDER BY ALL",
        [measure.term.name],
    )
    source = FactorRef("source", (), "string")
    # Of several sources those are left out in which nothing ever happened.
    seen = {row[1] for row in answer.rows if isinstance(row[-1], list) and any(row[-1])}
    several = len({row[1] for row in answer.rows}) > 1
    parts = parts_of(trials.metrics.get(measure.term.name, ("", ""))[1]) if measure.type == "duration" else 1
    rows = []
    for moment, of, *levels, values in answer.rows:
        if several and of not in seen:
            continue
        shown = [float(value) / parts for value in values] if isinstance(values, list) else []
        facet = levels[len(plot.by) :]
        own = [*levels[: len(plot.by)], *([of] if several else []), *facet]
        rows.append((*cells([moment, *own]), estimate(shown)))
    drawn_by = replace(plot, by=(*plot.by, *((source,) if several else ())))
    return Drawn(drawn_by, _title(trials), (plot.over, *_columns(drawn_by)), tuple(rows), Form.CURVES)


def _keyed(columns: Sequence[FactorRef]) -> list[tuple[str, FactorRef]]:
    return [(f'"level {i}"', column) for i, column in enumerate(columns)]
