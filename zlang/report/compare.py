"""Comparisons of the levels of factors: ratios with intervals, and verdicts in words.

In: a `Design`. Out: `Comparison`s. Rules: the second level is compared with the first. Levels that need a setup are
compared over setups, all others over trials (`strata`). A level that was set up only once gets no verdict. Intervals of
several comparisons are simultaneous.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from zlang.check.types import SCALARS, scalar_of
from zlang.errors import RunError
from zlang.intervals import exp
from zlang.report import strata, wording
from zlang.report.design import Design, Row, groups, without_factors
from zlang.report.ratios import Ratio
from zlang.report.strata import Difference, Observation
from zlang.report.summary import Cell
from zlang.suggest import did_you_mean

_TIMES = 3
"""Ratios from here on are shown as a multiple, smaller ones in percent."""
_NARROW = 1.5
"""The verdict is "no significant difference" only if a ratio below this was detectable."""
_MOST_TIMES = 100
"""The verdict names no detectable ratio above this: it would be as uncertain as the interval."""
_MOST_LEVELS = 8
"""Most levels of a factor that a hint lists."""
_ROUNDING = 1e-9
_TINY = 0.001
_HUGE = 1_000_000
_OF_RUNS = "`zlang compare RUN RUN` compares runs"
_SET_UP_ONCE = "inconclusive: set up once"
_SET_UP_AGAIN = f"a level was set up only once; {wording.SET_UP_AGAIN}"
_BY_EFFECTS = "`zlang effects` judges a factor over all combinations"
_ALL_COMBINATIONS = "`design = full` measures both levels with everything else equal"
_BY_COMBINATIONS = "nothing was repeated: judged by how the ratio differs between combinations; `repeat = 3` repeats"
_BY_VALUES = "`zlang table METRIC` shows the values; an `expect` of `mean(METRIC)` compares their difference"
_REPEAT = "nothing was repeated, so a difference may be chance; write `repeat = 3`"
_SET_UP_ONCE_IN_RUN = "inconclusive: set up once in a run"
_ONE_RUN = "each run was made only once, so the ratio includes everything else that changed between them"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The second level of a factor (or run) compared with the first: the ratio, what it means, and its caveats."""

    metric: str
    factor: str
    first: str
    second: str
    ratio: Ratio | None
    comparisons: int
    verdict: str
    note: str

    @property
    def is_judged(self) -> bool:
        """Whether there is a verdict."""
        return self.ratio is not None and self.ratio.error is not None

    @property
    def is_significant(self) -> bool:
        """Whether the interval excludes a ratio of 1."""
        interval = self.ratio.interval(self.comparisons) if self.ratio else None
        return interval is not None and not interval[0] <= 1 <= interval[1]


def factors(design: Design, by: str | None, pair: Sequence[str]) -> list[Comparison]:
    """Compare levels of one factor, or of each factor: the two named levels, or every other level with the first."""
    wanted = _sides(design, by, pair)
    result = []
    for i, (first, second), sides in wanted:
        column = design.factors[i]
        shown = wording.level(first, column.type), wording.level(second, column.type)
        result.append(_compared(design, column.name, sides, (i,), shown, len(wanted)))
    return result


def is_set_up_once(design: Design, by: str) -> bool:
    """Whether a level of a factor was set up only once, which rules out a verdict on it."""
    every = (_judged(sides, _other_factors(design, sides, (i,))) for i, _, sides in _sides(design, by, ()))
    return any(judged.is_of_one_setup for judged in every)


def _sides(
    design: Design, by: str | None, pair: Sequence[str]
) -> list[tuple[int, tuple[Cell, Cell], tuple[list[Row], list[Row]]]]:
    """The factors to compare, each with two levels and the valid trials at both."""
    candidates = {factor.name: i for i, factor in enumerate(design.factors)}
    if not candidates:
        raise without_factors(design, _OF_RUNS)
    result = []
    for name, i in candidates.items():
        if by not in {None, name}:
            continue
        rows_at: dict[Cell, list[Row]] = {}
        for row in design.counting:
            rows_at.setdefault(row.levels[i], []).append(row)
        levels = design.levels[i]
        wanted = [(levels[0], level) for level in levels[1:]]
        if by is not None and pair:
            wanted = [(_level(design, i, pair[0]), _level(design, i, pair[1]))]
        result += [(i, (first, second), (rows_at.get(first, []), rows_at.get(second, []))) for first, second in wanted]
    return result


def factor_named(design: Design, name: str) -> str:
    """The factor of that name, or the only one whose name ends with it: `cache` for `reads_cache`. Raises RunError."""
    names = [factor.name for factor in design.factors]
    result = [each for each in names if each == name] or [each for each in names if each.endswith(f"_{name}")]
    if len(result) > 1:
        raise RunError(f"`{name}` could be {' or '.join(result)}", f"write the whole name: --by {result[0]}")
    if not names:
        raise without_factors(design, _OF_RUNS)
    if not result:
        others = "the factors are " + ", ".join(names)
        raise RunError(f"there is no factor `{name}` with two levels", did_you_mean(name, names) or others)
    return result[0]


def factor_of(design: Design, pair: Sequence[str]) -> str:
    """Find the factor that has both levels. Raises RunError if none has, or several have."""
    result = [factor.name for i, factor in enumerate(design.factors) if {*pair} <= {*_levels(design, i)}]
    if len(result) > 1:
        raise RunError(f"{' and '.join(result)} have the levels {' and '.join(pair)}", f"choose one: --by {result[0]}")
    if not result:
        levels = dict.fromkeys(name for i in range(len(design.factors)) for name in _levels(design, i))
        others = [level for level in levels if level not in pair]
        meant = next((hint for text in pair if text not in levels and (hint := did_you_mean(text, others))), None)
        raise RunError(
            f"no factor has the levels `{pair[0]}` and `{pair[1]}`, and no run has one of these names",
            meant or f"{_levels_in_words(design)}; `zlang status` lists the runs",
        )
    return result[0]


def selections(design: Design, pair: Sequence[str], by: str | None) -> Comparison:
    """Compare two groups of trials, each named by some of its levels: `read`, or `write, bs=4KiB`.

    Raises RunError.
    """
    first, second = (_selection(design, text, by) for text in pair)
    sides = tuple(
        [row for row in design.counting if all(row.levels[i] == level for i, level in selection.items())]
        for selection in (first, second)
    )
    for text, side in zip(pair, sides, strict=True):
        if not side:
            raise RunError(f"no trial that counts has all of `{text}`", _levels_in_words(design))
    if {id(row) for row in sides[0]} & {id(row) for row in sides[1]}:
        raise RunError(f"some trials are both `{pair[0]}` and `{pair[1]}`", "add a level in which they differ")
    chosen = list(dict.fromkeys((*first, *second)))
    name = ", ".join(design.factors[i].name for i in chosen)
    return _compared(design, name, sides, chosen, (pair[0], pair[1]), 1)


def is_selection(design: Design, pair: Sequence[str], by: str | None) -> bool:
    """Whether one of the two names more than a level of one factor."""
    places = [i for i, factor in enumerate(design.factors) if by in {None, factor.name}]
    return any({"=", ","} & {*text} and not any(text in _levels(design, i) for i in places) for text in pair)


def _selection(design: Design, text: str, by: str | None) -> dict[int, Cell]:
    """Parse `LEVEL` and `FACTOR=LEVEL` into the level of each named factor, by the place of the factor."""
    result: dict[int, Cell] = {}
    names = {factor.name: i for i, factor in enumerate(design.factors)}
    for part in map(str.strip, text.split(",")):
        places = [i for name, i in names.items() if by in {None, name} and part in _levels(design, i)]
        name, sign, level = (word.strip() for word in part.partition("="))
        if sign and not places:
            if name not in names:
                raise RunError(
                    f"there is no factor `{name}` with two levels",
                    did_you_mean(name, names) or _levels_in_words(design),
                )
            result[names[name]] = _level(design, names[name], level)
        elif len(places) == 1:
            result[places[0]] = _levels(design, places[0])[part]
        elif places:
            several = " and ".join(design.factors[i].name for i in places)
            raise RunError(f"{several} have the level `{part}`", f"write {design.factors[places[0]].name}={part}")
        else:
            raise RunError(f"no factor has the level `{part}`", _levels_in_words(design))
    return result


def _levels(design: Design, factor: int) -> dict[str, Cell]:
    """The levels of a factor by each of their names: `4096`, and `4KiB`."""
    type_ = design.factors[factor].type
    levels = design.levels[factor]
    return {str(level): level for level in levels} | {wording.level(level, type_): level for level in levels}


def _levels_in_words(design: Design) -> str:
    """List the first levels of each factor: `the levels are rw = read, write; bs = 4KiB, 64KiB`."""
    parts = []
    for column, levels in zip(design.factors, design.levels, strict=True):
        shown = [wording.level(level, column.type) for level in levels[:_MOST_LEVELS]]
        parts.append(f"{column.name} = {', '.join(shown)}" + (", …" if len(levels) > _MOST_LEVELS else ""))
    return "the levels are " + "; ".join(parts)


def _level(design: Design, factor: int, text: str) -> Cell:
    levels = _levels(design, factor)
    if text not in levels:
        shown = [wording.level(level, design.factors[factor].type) for level in design.levels[factor]]
        hint = did_you_mean(text, shown) or "its levels are " + ", ".join(shown)
        raise RunError(f"`{design.factors[factor].name}` has no level `{text}`", hint)
    return levels[text]


def _compared(
    design: Design,
    name: str,
    sides: tuple[list[Row], ...],
    chosen: Sequence[int],
    shown: tuple[str, str],
    comparisons: int,
) -> Comparison:
    """Compare the second side with the first; they differ in the `chosen` factors and are named as `shown`."""
    if verdict := not_positive(sides, shown):
        return _without_ratio(design.metric, name, shown, comparisons, verdict)
    judged = _judged(sides, _other_factors(design, sides, chosen))
    if judged.is_of_one_setup:
        verdict, note = _SET_UP_ONCE, _SET_UP_AGAIN
    else:
        verdict = verdict_on(judged.ratio, comparisons, design)
        is_repeated = len({(row.run, row.trial) for row in design.rows}) < len(design.rows)
        note = _note_on(judged, is_repeated=is_repeated)
    return Comparison(
        metric=design.metric,
        factor=name,
        first=shown[0],
        second=shown[1],
        ratio=judged.ratio,
        comparisons=comparisons,
        verdict=verdict,
        note=note,
    )


def _other_factors(design: Design, sides: Sequence[Sequence[Row]], chosen: Sequence[int]) -> list[int]:
    """The factors by whose levels two sides are matched; a factor that exists on one side only cannot match them."""
    return [
        i
        for i in range(len(design.factors))
        if i not in chosen and all(any(row.levels[i] is not None for row in side) for side in sides)
    ]


def _without_ratio(metric: str, factor: str, sides: tuple[str, str], comparisons: int, verdict: str) -> Comparison:
    return Comparison(
        metric=metric,
        factor=factor,
        first=sides[0],
        second=sides[1],
        ratio=None,
        comparisons=comparisons,
        verdict=verdict,
        note=_BY_VALUES,
    )


def not_positive(sides: Sequence[Sequence[Row]], names: Sequence[str]) -> str:
    """The reason why two sides have no ratio if some values have no logarithm; else empty.

    Without these trials, the side with the most zeros would have the largest mean.
    """
    counts = [sum(row.log == -math.inf for row in side) for side in sides]
    parts = [
        f"{count:,} of {len(side):,} values of {name}"
        for count, side, name in zip(counts, sides, names, strict=True)
        if count
    ]
    verb = "is" if sum(counts) == 1 else "are"
    return f"inconclusive: {' and '.join(parts)} {verb} not positive, so there is no ratio" if parts else ""


def _note_on(judged: Difference, *, is_repeated: bool) -> str:
    """Explain how a ratio was judged, or how to get one."""
    if judged.ratio is None:
        return f"{_ALL_COMBINATIONS}; {_BY_EFFECTS}" if is_repeated else f"{_ALL_COMBINATIONS}; {_REPEAT}"
    if is_repeated:
        return f"compared over {judged.units} setups of each level" if judged.is_of_setups else ""
    return _REPEAT if judged.ratio.error is None else _BY_COMBINATIONS


def _judged(sides: Sequence[Sequence[Row]], others: Sequence[int]) -> Difference:
    """Judge the second of two sides against the first, in the combinations of the other factors."""
    rows = [*sides[0], *sides[1]]
    numbers = [0] * len(sides[0]) + [1] * len(sides[1])
    return strata.difference(
        [
            Observation(side, own, tuple(row.levels[i] for i in others), row.log)
            for side, own, row in zip(numbers, groups(rows), rows, strict=True)
        ]
    )


def compare_runs(runs: tuple[str, str], item: Design, other: Design) -> Comparison:
    """Compare the second of two runs with the first, at the points that both have."""
    if item.metric != other.metric:
        raise RunError(
            f"the runs have different primary metrics: `{item.metric}` and `{other.metric}`",
            "choose one: --metric METRIC",
        )
    ones, others = ({(row.run, row.trial, row.replicate) for row in design.counting} for design in (item, other))
    if ones & others:
        message = f"{len(ones & others):,} measurements are in both runs: one run reused those of the other"
        raise RunError(message, "measure again with `zlang run --again`")
    if verdict := not_positive((item.counting, other.counting), runs):
        return _without_ratio(item.metric, "run", runs, 1, verdict)
    same = {row.trial for row in item.rows} & {row.trial for row in other.rows}
    names = [[column.name for column in design.factors] for design in (item, other)]
    shared = [name for name in names[0] if name in names[1]]

    def levels(row: Row, of: Sequence[str]) -> tuple[Cell, ...]:
        return tuple(row.levels[of.index(name)] for name in shared) or (row.trial,)

    rows = [(side, row) for side, own in enumerate((item, other)) for row in own.rows if not same or row.trial in same]
    result = [
        Observation(side, of, levels(row, names[side]), row.log)
        for (side, row), of in zip(rows, groups([row for _, row in rows]), strict=True)
    ]
    judged = strata.difference(result)
    ratio = judged.ratio if same or shared else None
    is_set_up = any(row.setups for _, row in rows)
    is_repeated = len({(side, row.trial) for side, row in rows}) < len(rows)
    if ratio is not None and is_set_up and is_repeated and judged.units == 1:
        verdict, note = _SET_UP_ONCE_IN_RUN, f"{wording.SET_UP_AGAIN}; {_ONE_RUN}"
    else:
        verdict = verdict_on(ratio, 1, item)
        note = f"compared over {judged.units} setups or blocks of each run; {_ONE_RUN}" if is_set_up else _ONE_RUN
    return Comparison(
        metric=item.metric,
        factor="run",
        first=runs[0],
        second=runs[1],
        ratio=ratio,
        comparisons=1,
        verdict=verdict,
        note=note,
    )


def verdict_on(ratio: Ratio | None, comparisons: int, design: Design) -> str:
    """The verdict in words."""
    if ratio is None:
        return "inconclusive: no combination of the other factors has both"
    interval, detectable = ratio.interval(comparisons), ratio.detectable(comparisons)
    if interval is None or detectable is None:
        is_repeated = len({(row.run, row.trial) for row in design.rows}) < len(design.rows)
        return f"inconclusive: {'too few independent setups or blocks' if is_repeated else 'nothing was repeated'}"
    low, high = interval
    more, less = _comparatives(design.unit, design.better)
    if low > 1:
        return _ratio_phrase(low, high, more)
    if high < 1:
        return _ratio_phrase(1 / high, 1 / low, less, 1 - high, 1 - low)
    if detectable - 1 < _ROUNDING:
        return "no difference: the values are equal"
    if detectable < _NARROW:
        return f"no significant difference ({_percent(detectable - 1)} % or more would have been detected)"
    if detectable < _TIMES:
        return f"inconclusive: only differences of {_percent(detectable - 1)} % or more were detectable"
    if detectable > _MOST_TIMES:
        return f"inconclusive: not even a {_MOST_TIMES}-fold difference was detectable"
    return f"inconclusive: only {_with_article(_times(detectable))}-fold difference was detectable"


def _comparatives(unit: str, better: str) -> tuple[str, str]:
    """The words for more and less of a metric: faster and slower only for speeds, which retries per second are not."""
    if not better or SCALARS[scalar_of(unit)].faster != better:
        return "higher", "lower"
    return ("faster", "slower") if better == "higher" else ("slower", "faster")


def end(ratio: float) -> str:
    """An end of an interval in three decimals, or a bound that it exceeds if the interval is very wide."""
    return f"< {_TINY}" if ratio < _TINY else f"> {_HUGE:,}" if ratio > _HUGE else f"{ratio:.3f}"


def distance(ratio: Ratio) -> str:
    """The difference of the second value from the first in words: `56 % lower`, `2.3 times as high`."""
    value = exp(ratio.log)
    if value >= 2:  # noqa: PLR2004 - from here on, a multiple is easier to read
        return f"{_times(value)} times as high"
    return f"{_percent(abs(value - 1))} % {'higher' if value > 1 else 'lower'}"


def _ratio_phrase(low: float, high: float, word: str, least: float | None = None, most: float | None = None) -> str:
    if high >= _TIMES:
        return f"{word} by a factor of {_span(_times(low), _times(high))}"
    parts = (low - 1 if least is None else least, high - 1 if most is None else most)
    return f"{_span(*map(_percent, parts))} % {word}"


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low}–{high}"


def _times(ratio: float) -> str:
    """A ratio with the digits that distinguish it from one: `1.04`, `3.4`, `120`."""
    return f"{ratio:.2f}" if ratio < 1.095 else f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"  # noqa: PLR2004


def _with_article(number: str) -> str:
    """The number with `a`, or with `an` if it is pronounced with a vowel: `an 8`, `an 11`, `an 18`, `an 80`."""
    return f"{'an' if number.startswith('8') or number.partition('.')[0] in {'11', '18'} else 'a'} {number}"


def _percent(part: float) -> str:
    return f"{100 * part:.0f}" if part >= 0.095 else f"{100 * part:.1g}"  # noqa: PLR2004 - two digits of ten and more
