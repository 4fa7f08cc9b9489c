"""Interactions: the effect of one factor depends on the level of another, so a mean over all levels would mislead.

In: a `Design` and its sources of variance. Out: `Dependence`s. Rules: chance alone gives such an interaction in less
than 1 of 20 runs (Bonferroni over all pairs of factors), and the ratios at two levels differ by 10 % or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from zlang.errors import RunError
from zlang.intervals import LEVEL, exp
from zlang.report import compare, effects, wording
from zlang.report.compare import Comparison
from zlang.report.design import Design
from zlang.report.ratios import Ratio

_MATTERS = 1.1
"""The smallest ratio of two ratios that is worth a sentence."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """A level of a factor against its first level: the smallest and the largest ratio between them.

    `least` and `greatest` are the levels of the other factor at which these occur, each with its ratio.
    """

    factor: str
    second: str
    other: str
    p: float
    least: tuple[str, Ratio]
    greatest: tuple[str, Ratio]
    comparisons: int

    def __str__(self) -> str:
        chance = effects.chance(self.p)
        at = [f"{compare.distance(ratio)} at {level}" for level, ratio in (self.least, self.greatest)]
        equals = "" if chance.startswith("<") else "= "
        return f"the effect depends on `{self.other}` (p {equals}{chance}): {self.second} is {', '.join(at)}"


def dependences(
    design: Design, sources: Sequence[effects.Effect], compared: Sequence[Comparison]
) -> Iterator[Dependence]:
    """The important interactions, the largest first: how the effect of a compared factor depends on another factor.

    If both factors are compared, it is the one with a significant difference, or the first.
    """
    factors = dict.fromkeys(item.factor for item in sorted(compared, key=lambda item: not item.is_significant))
    tested = [source for source in sources if len(source.factors) > 1 and source.p is not None]
    places = {name: place for place, name in enumerate(factors)}
    for source in tested:
        factor, other = sorted(source.factors, key=lambda name: places.get(name, len(places)))
        if factor in places and source.p is not None and source.p * len(tested) < 1 - LEVEL:
            dependence = _dependence(design, factor, other, source.p)
            if dependence is not None:
                yield dependence


def noted(design: Design, compared: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons of factors, each with a note on what its effect depends on."""
    try:
        sources = effects.effects(design)
    except RunError:
        return list(compared)
    notes: dict[tuple[str, str], list[str]] = {}
    for each in dependences(design, sources, compared):
        notes.setdefault((each.factor, each.second), []).append(str(each))
    return [
        replace(item, note="; ".join(filter(None, [item.note, *notes.get((item.factor, item.second), [])])))
        for item in compared
    ]


def _dependence(design: Design, factor: str, other: str, p: float) -> Dependence | None:
    """The level of the factor whose ratio to the first differs most between two levels of the other factor."""
    place = next(i for i, column in enumerate(design.factors) if column.name == other)
    ratios: dict[str, list[tuple[str, Ratio]]] = {}
    for level in design.levels[place]:
        shown = wording.level(level, design.factors[place].type)
        for item in compare.factors(_at(design, place, level), factor, ()):
            if item.ratio is not None and item.is_judged:
                ratios.setdefault(item.second, []).append((shown, item.ratio))
    ends = [(second, min(each, key=_log), max(each, key=_log)) for second, each in ratios.items() if len(each) > 1]
    if not ends:
        return None
    second, least, greatest = max(ends, key=lambda item: _log(item[2]) - _log(item[1]))
    if exp(_log(greatest) - _log(least)) < _MATTERS:
        return None
    comparisons = sum(map(len, ratios.values()))
    return Dependence(
        factor=factor, second=second, other=other, p=p, least=least, greatest=greatest, comparisons=comparisons
    )


def _log(pair: tuple[str, Ratio]) -> float:
    return pair[1].log


def _at(design: Design, place: int, level: object) -> Design:
    """The part of a design with one level of a factor."""
    rows = tuple(row for row in design.rows if row.levels[place] == level)
    not_positive = tuple(row for row in design.not_positive if row.levels[place] == level)
    return replace(design, rows=rows, not_positive=not_positive)
