"""Which levels differ, and by how much: ratios with intervals and a verdict in words.

In: a `Design`. Out: `Comparison`s. Rules: the first of two is what the second is compared with; levels in the same
block are compared within it, those of a whole-plot factor over plots; the intervals of several comparisons hold
together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from zlang.errors import RunError
from zlang.report import ratios, wording
from zlang.report.design import Design, Row
from zlang.report.ratios import Ratio
from zlang.report.summary import Cell
from zlang.suggest import did_you_mean

_TIMES = 3
"""From this ratio on it is said how many times, not how many percent."""
_ONE_SETUP = "each was set up once: how much setups differ is not in the interval"
_ONE_RUN = "each run was carried out once: whatever else changed between them is in the ratio"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The second level of a factor against the first (or two runs): the ratio, what it means, and what to mind."""

    metric: str
    factor: str
    first: str
    second: str
    ratio: Ratio | None
    comparisons: int
    verdict: str
    note: str


def factors(design: Design, by: str | None, pair: Sequence[str]) -> list[Comparison]:
    """Levels of one factor, or of each: the two that are named, or every other one against the first."""
    known = {one.name: i for i, one in enumerate(design.factors)}
    if not known:
        raise RunError("no factor has two levels", "`zlang compare RUN RUN` compares runs")
    if by is not None and by not in known:
        hint = did_you_mean(by, known) or "there are " + ", ".join(known)
        raise RunError(f"there is no factor `{by}` with two levels", hint)
    wanted: list[tuple[int, Cell, Cell]] = []
    for name, i in known.items():
        levels = design.levels[i]
        if by is None:
            wanted += [(i, levels[0], level) for level in levels[1:]]
        elif name == by and pair:
            first, second = (_level(design, i, text) for text in pair)
            wanted.append((i, first, second))
        elif name == by:
            wanted += [(i, levels[0], level) for level in levels[1:]]
    return [_compared(design, i, first, second, len(wanted)) for i, first, second in wanted]


def factor_of(design: Design, pair: Sequence[str]) -> str | None:
    """The factor that has both levels, where one has. Raises RunError where several have."""
    found = [one.name for i, one in enumerate(design.factors) if {*pair} <= {*_levels(design, i)}]
    if len(found) > 1:
        raise RunError(f"{' and '.join(found)} have the levels {' and '.join(pair)}", f"say which: --by {found[0]}")
    return found[0] if found else None


def _levels(design: Design, factor: int) -> dict[str, Cell]:
    """The levels of a factor by what they are called: `4096`, and `4KiB`."""
    type_ = design.factors[factor].type
    levels = design.levels[factor]
    return {str(level): level for level in levels} | {wording.level(level, type_): level for level in levels}


def _level(design: Design, factor: int, text: str) -> Cell:
    known = _levels(design, factor)
    if text not in known:
        shown = [wording.level(level, design.factors[factor].type) for level in design.levels[factor]]
        hint = did_you_mean(text, shown) or "it has " + ", ".join(shown)
        raise RunError(f"`{design.factors[factor].name}` has no level `{text}`", hint)
    return known[text]


def _compared(design: Design, factor: int, first: Cell, second: Cell, comparisons: int) -> Comparison:
    column = design.factors[factor]
    sides = tuple([row for row in design.rows if row.levels[factor] == level] for level in (first, second))
    # A factor that exists only beside one of the two cannot match them.
    others = [
        i
        for i in range(len(design.factors))
        if i != factor and all(any(row.levels[i] is not None for row in side) for side in sides)
    ]
    ratio, note = _ratio(design, factor, sides[0], sides[1], others)
    shown = [wording.level(level, column.type) for level in (first, second)]
    verdict = said(ratio, comparisons, design.unit)
    return Comparison(design.metric, column.name, shown[0], shown[1], ratio, comparisons, verdict, note)


def _ratio(
    design: Design, factor: int, ones: Sequence[Row], twos: Sequence[Row], others: Sequence[int]
) -> tuple[Ratio | None, str]:
    def combination(row: Row) -> Hashable:
        return tuple(row.levels[i] for i in others)

    if factor not in design.whole:
        blocks = _differences(ones, twos, combination, lambda row: (row.run, row.block, row.replicate))
        if blocks:
            return ratios.paired(blocks), ""
    else:
        dear, cheap = ([i for i in others if (i in design.whole) == is_dear] for is_dear in (True, False))
        plots = _differences(
            *(ones, twos),
            lambda row: (row.run, *(row.levels[i] for i in dear)),
            lambda row: tuple(row.levels[i] for i in cheap),
        )
        means = [math.fsum(one) / len(one) for one in plots.values()]
        if len(means) > 1:
            # Plots of one pair differ in their other levels only; how much they do is the error of a plot.
            return ratios.paired({n: [mean] for n, mean in enumerate(means)}), f"over {len(means)} pairs of setups"
    return ratios.apart(_by(ones, combination), _by(twos, combination)), _ONE_SETUP if factor in design.whole else ""


def _by(rows: Sequence[Row], key: Callable[[Row], Hashable]) -> dict[Hashable, list[float]]:
    found: dict[Hashable, list[float]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row.log)
    return found


def _differences(
    ones: Sequence[Row], twos: Sequence[Row], group: Callable[[Row], Hashable], place: Callable[[Row], Hashable]
) -> dict[Hashable, list[float]]:
    """The differences of the logarithms at each place that both have, by group."""
    sides = [_by(rows, lambda row: (group(row), place(row))) for rows in (ones, twos)]
    found: dict[Hashable, list[float]] = {}
    for key, logs in sides[0].items():
        if key in sides[1] and isinstance(key, tuple):
            other = sides[1][key]
            found.setdefault(key[0], []).append(math.fsum(other) / len(other) - math.fsum(logs) / len(logs))
    return found


def runs(names: tuple[str, str], one: Design, other: Design) -> Comparison:
    """The second of two runs against the first, at the points that both have."""
    if one.metric != other.metric:
        raise RunError(f"the runs are measured by `{one.metric}` and `{other.metric}`", "say which: --metric")
    ones, others = ({(row.run, row.trial, row.replicate) for row in design.rows} for design in (one, other))
    if ones & others:
        message = f"{len(ones & others):,} measurements are in both runs: one was taken over from the other"
        raise RunError(message, "measure anew with `zlang run --again`")
    same = {row.trial for row in one.rows} & {row.trial for row in other.rows}
    shared = [column.name for column in one.factors if column in other.factors]
    keys = [{c.name: i for i, c in enumerate(design.factors)} for design in (one, other)]

    def logs(design: Design, places: Mapping[str, int]) -> dict[Hashable, list[float]]:
        if same:
            return _by(design.rows, lambda row: row.trial)
        return _by(design.rows, lambda row: tuple(row.levels[places[name]] for name in shared))

    ratio = ratios.apart(logs(one, keys[0]), logs(other, keys[1])) if same or shared else None
    return Comparison(one.metric, "run", names[0], names[1], ratio, 1, said(ratio, 1, one.unit), _ONE_RUN)


def said(ratio: Ratio | None, comparisons: int, unit: str) -> str:
    """The verdict in words."""
    if ratio is None:
        return "cannot tell: they have no combination in common"
    interval, detectable = ratio.interval(comparisons), ratio.detectable(comparisons)
    if interval is None or detectable is None:
        return "cannot tell: nothing was repeated"
    low, high = interval
    if low > 1:
        return _much(low, high, _MORE.get(unit, "more"))
    if high < 1:
        return _much(1 / high, 1 / low, _LESS.get(unit, "less"), 1 - high, 1 - low)
    if detectable < _TIMES:
        return f"no difference found, and a {_percent(detectable - 1)} % one would have been"
    return f"cannot tell: only {_times(detectable)} times as much would have been found"


_MORE = {"1/s": "faster", "bytes/s": "faster", "ns": "slower", "s": "slower"}
_LESS = {"1/s": "slower", "bytes/s": "slower", "ns": "faster", "s": "faster"}


def _much(low: float, high: float, word: str, least: float | None = None, most: float | None = None) -> str:
    if high >= _TIMES:
        return f"{_span(_times(low), _times(high))} times {word}"
    parts = (low - 1 if least is None else least, high - 1 if most is None else most)
    return f"{_span(*map(_percent, parts))} % {word}"


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low}–{high}"


def _times(ratio: float) -> str:
    """`1.04`, `3.4`, `120`: as many digits as tell it from one."""
    return f"{ratio:.2f}" if ratio < 1.095 else f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"  # noqa: PLR2004


def _percent(part: float) -> str:
    return f"{100 * part:.0f}" if part >= 0.095 else f"{100 * part:.1g}"  # noqa: PLR2004 - two digits of ten and more
