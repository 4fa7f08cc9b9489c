"""Plots over an axis that is not a factor: latencies, positions in the run, seconds, or each factor in turn.

In: a run's trials and a `Plot` over one of `AXES`. Out: `Drawn`s. Rules: a distribution pools all operations of the
valid trials; its interval, and that of a series, is over trials. A main effect is the mean over the combinations of all
other factors, and its interval comes from replicates.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from zlang import intervals
from zlang.check.questions import FactorRef, Measure, Plot, distribution_of
from zlang.check.types import NANOSECONDS, parts_of
from zlang.metrics import QUIET
from zlang.report import design, ratios
from zlang.report.drawn import WIDEST_BAR, Drawn, Form
from zlang.report.formulas import Trials, evaluate, histograms, level
from zlang.report.summary import GEOMETRIC_MEAN, Cell, Estimate, cells, estimate, estimates
from zlang.store.query import run_query
from zlang.store.store import literal

_MOST_BINS = 60
"""Points of a curve of latencies, if no two are too far apart."""
_LONGEST_STEP = 1.25
"""The largest ratio of neighbouring latencies: a band is drawn straight between points."""
_MOST_PLACES = 100
"""Fields of a plot over the position of trials, from left to right."""
_MOST_POINTS = 1000
"""Trials that are a point each in a plot over their position."""
_NS = parts_of(NANOSECONDS)

Levels = tuple[Cell, ...]


def drawn(trials: Trials, plot: Plot) -> list[Drawn]:
    """The data of a plot over an axis that is not a factor, for each measure. Raises RunError."""
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
    parts = 1 if measure.type == "share" else parts_of(read.unit)  # shares are shown in percent
    paths = {name: path for path, (name, _) in trials.factors.items()}
    note = f"left out: levels with values of {measure.name} that are not positive" if read.not_positive else ""
    result = []
    for i, factor in enumerate(read.factors):
        rows = []
        left_out = {row.levels[i] for row in read.not_positive}
        for factor_level in (each for each in read.levels[i] if each not in left_out):
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
        result.append(Drawn(own, _title(trials), (over,), tuple(rows), middle=GEOMETRIC_MEAN, note=note))
    ends = _latency_range([row[-1] for drawn in result for row in drawn.rows])
    return [replace(item, ends=ends) for item in result]


def _latency_range(estimates: Sequence[Cell]) -> tuple[float, float]:
    shown = [estimate for estimate in estimates if isinstance(estimate, Estimate)]
    most = max((estimate.value for estimate in shown if estimate.value is not None), default=1.0)
    return 0.0, max(
        most,
        min(max((estimate.high for estimate in shown if estimate.high is not None), default=0.0), WIDEST_BAR * most),
    )


# -- from trial to trial


def _in_order(trials: Trials, plot: Plot) -> Drawn:
    """The value of each trial, at its position in the run order."""
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
    ranks = [_ranks(trials, item) for item in columns[1:]]
    rows.sort(key=lambda row: [rank[cell] for rank, cell in zip(ranks, row[1:], strict=False)])
    if len(rows) > _MOST_POINTS:
        return _in_groups(Drawn(plot, _title(trials), columns, tuple(rows), Form.POINTS))
    return Drawn(
        plot=plot, title=_title(trials), columns=columns, rows=tuple(rows), form=Form.POINTS, middle="each trial"
    )


def _ranks(trials: Trials, factor: FactorRef) -> dict[object, int]:
    """The place of each level among those of its factor."""
    name = level(trials, factor)
    result = run_query(trials.db, f"SELECT DISTINCT {name} FROM {trials.rows} ORDER BY ALL").rows
    return {item: n for n, levels in enumerate(result) for item in cells(levels)}


def _in_groups(each: Drawn) -> Drawn:
    """If there are very many trials, combine consecutive ones into one point at the position of the first."""
    size = _size([row[0] for row in each.rows], _MOST_PLACES)
    groups: dict[Levels, list[float]] = {}
    for *levels, result in each.rows:
        if isinstance(result, Estimate) and result.value is not None:
            groups.setdefault((_start(levels[0], size), *levels[1:]), []).append(result.value)
    rows = [(*levels, estimate) for levels, estimate in zip(groups, estimates(list(groups.values())), strict=True)]
    return replace(each, rows=tuple(rows), note=f"each point is of {size:,} consecutive positions")


def _size(positions: Sequence[Cell], most: int) -> int:
    """The number of consecutive positions in each group, so that there are at most `most` groups."""
    last = max((position for position in positions if isinstance(position, int)), default=1)
    return math.ceil(last / most)


def _start(position: Cell, size: int) -> Cell:
    """The first position of the group to which a position belongs; positions count from one."""
    return position - (position - 1) % size if isinstance(position, int) else position


# -- distributions


def _histograms_in_sql(trials: Trials, measure: Measure, levels: Sequence[str]) -> str:
    """A subquery with the histogram of each valid trial, its levels, and a number for each combination of levels."""
    keys = [f'"level {i}"' for i in range(len(levels))]
    chosen = "".join(f"{item} AS {key}, " for item, key in zip(levels, keys, strict=True))
    group = f"dense_rank() OVER (ORDER BY {', '.join(keys)})" if keys else "1"
    return (
        f"h AS (SELECT row_number() OVER () AS id, {group} AS own, * FROM (SELECT {chosen}ns AS bins, counts "
        f"FROM {trials.rows} t JOIN {histograms(trials, distribution_of(measure.term))} "
        "USING (run, trial, replicate, valid)))"
    )


def _latencies(trials: Trials, plot: Plot) -> Drawn:
    """The cumulative distribution: the share of operations up to each latency, in percent."""
    columns = _columns(plot)
    keys = "".join(f', "level {i}"' for i in range(len(columns)))
    each = _histograms_in_sql(trials, plot.measures[0], [level(trials, item) for item in columns])
    unnested = "SELECT id, own, unnest(bins) AS ns, unnest(counts) AS ios FROM h"
    answer = run_query(
        trials.db,
        f"WITH {each}, l AS (SELECT DISTINCT own{keys} FROM h), "
        f"s AS (SELECT own, ns, sum(ios) AS ios FROM ({unnested}) GROUP BY ALL) "
        f"SELECT own, ns, ios{keys} FROM s JOIN l USING (own) ORDER BY own, ns",
    )
    bins: dict[int, list[tuple[int, int]]] = {}
    levels: dict[int, Levels] = {}
    for group, ns, count, *own in answer.rows:
        levels.setdefault(_integer(group), tuple(cells(own)))
        bins.setdefault(_integer(group), []).append((_integer(ns), _integer(count)))
    curves = {group: _curve(several) for group, several in bins.items()}
    marks = [(group, ns, at) for group, curve in curves.items() for ns, at in _marks(bins[group], curve)]
    shares = run_query(
        trials.db,
        f"WITH {each}, "
        "m AS (SELECT unnest(?::BIGINT[]) AS own, unnest(?::BIGINT[]) AS ns, unnest(?::BIGINT[]) AS mark), "
        f"s AS (SELECT id, mark, sum(ios)::DOUBLE AS ios FROM ({unnested}) JOIN m USING (own, ns) GROUP BY ALL), "
        "places AS (SELECT id, own, mark FROM h JOIN (SELECT DISTINCT own, mark FROM m) USING (own)), "
        "b AS (SELECT own, mark, sum(coalesce(ios, 0)) OVER (PARTITION BY id ORDER BY mark) AS below, "
        "sum(ios) OVER (PARTITION BY id) AS total FROM places LEFT JOIN s USING (id, mark)) "
        "SELECT own, mark, list(100 * below / total) FROM b GROUP BY ALL ORDER BY ALL",
        [list(column) for column in zip(*marks, strict=True)] or [[], [], []],
    )
    rows = []
    for group, at, values in shares.rows:
        share = curves[_integer(group)][_integer(at)]
        of_trials = [float(item) for item in values] if isinstance(values, list) else []
        rows.append((_integer(at) / _NS, *levels[_integer(group)], around(share, of_trials)))
    return Drawn(
        plot=plot,
        title=_title(trials),
        columns=(plot.over, *columns),
        rows=tuple(rows),
        form=Form.CURVES,
        middle="all operations",
        ends=(0.0, 100.0),
    )


def _curve(bins: Sequence[tuple[int, int]]) -> dict[int, float]:
    """The cumulative share of operations at some of the bins, as many as a curve needs."""
    total = sum(count for _, count in bins)
    curve: dict[int, float] = {}
    last, last_ns, so_far = -1.0, 0, 0
    for ns, count in bins:
        so_far += count
        share = 100 * so_far / total
        if share - last >= 100 / _MOST_BINS or ns >= _LONGEST_STEP * last_ns or ns == bins[-1][0]:
            curve[ns] = last = share
            last_ns = ns
    return curve


def _marks(bins: Sequence[tuple[int, int]], curve: Mapping[int, float]) -> Iterator[tuple[int, int]]:
    """Each bin with the point of the curve to which it belongs: the next one."""
    points = list(curve)
    for ns, _ in bins:
        yield ns, points[bisect.bisect_left(points, ns)]


def around(share: float, of_trials: Sequence[float]) -> Estimate:
    """The share over all operations together, with the interval of the mean share of the trials, in percent."""
    interval = intervals.of_mean(of_trials)
    if interval is None:
        return Estimate(len(of_trials), share, None, None)
    mean, half = interval
    # The pooled share can lie outside the interval over trials: the band then extends to the curve.
    low, high = max(0.0, min(mean - half, share)), min(100.0, max(mean + half, share))
    return Estimate(len(of_trials), share, low, high)


def _integer(value: object) -> int:
    return int(str(value))


def _histograms(trials: Trials, plot: Plot) -> Drawn:
    """The latency distribution of each trial, in percent of its operations, at its position in the run order."""
    facet = (plot.facet,) if plot.facet else ()
    latency = FactorRef("latency up to", (), "duration")
    ((last,),) = run_query(trials.db, f"SELECT coalesce(max(position), 1) FROM {trials.rows} WHERE valid").rows
    size = math.ceil(_integer(last) / _MOST_PLACES)
    start = f"position - (position - 1) % {size}"
    each = _histograms_in_sql(trials, plot.measures[0], [start, *(level(trials, item) for item in facet)])
    keys = "".join(f', "level {i + 1}"' for i in range(len(facet)))
    result = run_query(
        trials.db,
        f"WITH {each}, b AS (SELECT own, unnest(bins) AS ns, unnest(counts) AS ios FROM h), "
        "p AS (SELECT own, ceil(log2(greatest(ns, 1)))::BIGINT AS power, sum(ios) AS ios FROM b GROUP BY ALL), "
        f'g AS (SELECT own, "level 0"{keys}, count(*) AS n FROM h GROUP BY ALL) '
        f'SELECT "level 0"{keys}, power, 100.0 * ios / sum(ios) OVER (PARTITION BY own), n FROM p JOIN g USING (own) '
        'ORDER BY power, "level 0"',
    )
    rows = tuple(
        (
            *cells([place]),
            2 ** _integer(power) / _NS,
            *cells(levels),
            Estimate(_integer(n), float(str(share)), None, None),
        )
        for place, *levels, power, share, n in result.rows
    )
    note = f"each field is of {size:,} consecutive positions" if size > 1 else ""
    return Drawn(
        plot=replace(plot, by=(latency,)),
        title=_title(trials),
        columns=(plot.over, latency, *facet),
        rows=rows,
        form=Form.FIELDS,
        middle="operations",
        note=note,
    )


# -- within the measurements


def _seconds(trials: Trials, plot: Plot) -> Drawn:
    """The samples for each second of the measurement, over trials, by source if there are several."""
    columns = _columns(plot)
    (measure,) = plot.measures
    group, _, metric = measure.term.name.rpartition(".")
    grouped = 'SELECT run, trial, replicate, stream FROM main.stream_metrics WHERE "group" = ?'
    of_group = f" AND (run, trial, replicate, stream) IN ({grouped})" if group else ""
    chosen = "".join(f"{level(trials, item)} AS {key}, " for key, item in _keyed(columns))
    keys = "".join(f"{key}, " for key, _ in _keyed(columns))
    answer = run_query(
        trials.db,
        f"WITH t AS (SELECT {chosen}run, trial, replicate FROM {trials.rows} WHERE valid), "
        f"s AS (SELECT {keys}run, trial, replicate, floor(second) AS moment, "
        "coalesce(stream, concat_ws(' ', host, nullif(source, ''))) AS source, "
        "avg(value) AS value FROM t JOIN main.samples USING (run, trial, replicate) "
        f"WHERE second >= 0 AND metric = ?{of_group} GROUP BY ALL) "
        f"SELECT moment, source, {keys}list(value) FROM s GROUP BY ALL ORDER BY ALL",
        [metric, group] if group else [metric],
    )
    column = "stream" if metric in _metrics_of_streams(trials) else "source"
    source = FactorRef(column, (), "string")
    # If there are several sources, those without any activity are omitted.
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
    columns = (plot.over, *_columns(drawn_by))
    return Drawn(
        plot=drawn_by,
        title=_title(trials),
        columns=columns,
        rows=tuple(rows),
        form=Form.CURVES if len({row[0] for row in rows}) > 1 else Form.LINES,
        note=_note_on_samples(trials, rows, metric, f"{group}." if group else ""),
        marks=_events(trials, plot.facet),
    )


def _note_on_samples(trials: Trials, rows: Sequence[Levels], metric: str, group: str) -> str:
    """A sentence about trials without samples, and about samples of a single second."""
    with_samples = "SELECT run, trial, replicate FROM main.samples WHERE second >= 0 AND metric = ?"
    ((without, every),) = run_query(
        trials.db,
        f"SELECT count(*) FILTER ((run, trial, replicate) NOT IN ({with_samples})), count(*) FROM {trials.rows} "
        "WHERE valid",
        [metric],
    ).rows
    notes = [f"{without:,} of {every:,} trials have no samples of {group}{metric}"] * bool(rows and without)
    notes += ["all samples are of one second"] * (len({row[0] for row in rows}) == 1)
    return "; ".join(notes)


def _metrics_of_streams(trials: Trials) -> frozenset[str]:
    """The metrics that have samples for single streams."""
    own = f"SELECT DISTINCT metric FROM main.samples JOIN {trials.rows} USING (run, trial, replicate)"
    return frozenset(str(metric) for (metric,) in run_query(trials.db, f"{own} WHERE stream IS NOT NULL").rows)


def _events(trials: Trials, facet: FactorRef | None) -> tuple[tuple[Cell, float, str], ...]:
    """The mean start of each phase but the first: half a second before its first sample, which covers a second."""
    own = f"main.samples JOIN {trials.rows} t USING (run, trial, replicate)"
    of = level(trials, facet) if facet else "NULL"
    answer = run_query(
        trials.db,
        f"WITH p AS (SELECT {of} AS facet, run, trial, replicate, phase, min(second) - 0.5 AS began "
        f"FROM {own} WHERE valid AND phase IS NOT NULL AND second >= 0 GROUP BY ALL) "
        f"SELECT facet, avg(began), phase FROM p WHERE phase <> {literal(QUIET)} GROUP BY ALL "
        "HAVING avg(began) > 0 ORDER BY ALL",
    )
    return tuple(
        (cell, float(str(second)), str(phase))
        for facet_level, second, phase in answer.rows
        for cell in cells([facet_level])
    )


def _keyed(columns: Sequence[FactorRef]) -> list[tuple[str, FactorRef]]:
    return [(f'"level {i}"', column) for i, column in enumerate(columns)]
