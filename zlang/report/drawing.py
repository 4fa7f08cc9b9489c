"""The pictures of a plot: the data of `Drawn` as lines of points, which `terminal` and `vega` draw.

Rules: a point is a median (or another aggregate) and its error bar the 95 % interval, if there is one. Numeric levels
are joined by lines, on a logarithmic axis if they differ by powers of two; words, which have no order, are drawn as
bars. Colour-blind people can distinguish the colours (Okabe and Ito, https://jfly.uni-koeln.de/color/), and each line
has its own mark; a level has the same colour in all plots of a `Palette`. Zero is on the axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise

from zlang.check.questions import FactorRef, Plot
from zlang.check.types import SCALARS
from zlang.errors import RunError
from zlang.hints import Any
from zlang.report import wording
from zlang.report.drawn import WIDEST_BAR, WIDEST_ON_LOG, Drawn, Form
from zlang.report.formulas import UNITS
from zlang.report.summary import Cell, Estimate
from zlang.text import visible

COLOURS = ((0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0), (240, 228, 66))
Library = Any
"""A module that may be missing."""
MISSING = "the libraries that draw plots are not installed"
TO_INSTALL = "pip install 'zlang[plots]'"
_DODGE = 0.015
"""The part of the axis between neighbouring lines, so their intervals do not overlap."""
_MOST_OF_GAP = 0.6
"""The part of the distance between two levels over which the points of one level may spread."""
LATENCY = "latency"


@dataclass(frozen=True, slots=True)
class Picture:
    """One measure at one level of the facet: lines of points, by the names of the lines.

    `least` and `most` are the ends of its axis, the same for all levels of the facet.
    """

    title: str
    facet: str
    measure: str
    type: str
    unit: str
    least: float
    most: float
    lines: dict[str, list[tuple[Cell, Estimate]]]
    marks: tuple[tuple[float, str], ...] = ()

    def named(self, title: str) -> str:
        """The title with the level of the facet added."""
        return f"{title}{'' if title.endswith('?') else ','} {self.facet}" if self.facet else title


def load_library(name: str) -> Library:
    """Import a library that draws. Raises RunError if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise RunError(MISSING, TO_INSTALL) from None


def draws_in_pages() -> bool:
    """Whether the library that draws in HTML pages is installed."""
    return find_spec("vl_convert") is not None


def pictures(drawn: Drawn) -> list[Picture]:
    """A picture for each measure at each level of the facet, omitting those without values."""
    plot = drawn.plot
    names = 1 + len(plot.by)
    made: dict[tuple[int, Cell], Picture] = {}
    facets = sorted_levels([row[names] for row in drawn.rows]) if plot.facet else [None]
    title = visible(drawn.title)
    for n, measure in enumerate(plot.measures):
        for facet in facets:
            at = f"{plot.facet.name} = {wording.level(facet, plot.facet.type)}" if plot.facet else ""
            least, most = _value_range(drawn, n)
            made[n, facet] = Picture(
                title=title,
                facet=at,
                measure=visible(measure.name),
                type=measure.type,
                unit=UNITS.get(measure.type, ""),
                least=least,
                most=most,
                lines={},
                marks=tuple((second, name) for level, second, name in drawn.marks if level == facet),
            )
    for row in drawn.rows:
        estimates = [cell for cell in row if isinstance(cell, Estimate)]
        line = _line(plot, row)
        for n, estimate in enumerate(estimates):
            if estimate.value is not None:
                lines = made[n, row[names] if plot.facet else None].lines
                lines.setdefault(line, []).append((row[0], estimate))
    return [item for item in made.values() if item.lines]


def _line(plot: Plot, row: Sequence[Cell]) -> str:
    """The name of the line to which a row belongs."""
    return ", ".join(on_axis(item, cell) for cell, item in zip(row[1 : 1 + len(plot.by)], plot.by, strict=True))


def lines_of(drawn: Drawn) -> list[str]:
    """The names of the lines in all pictures, so each line has the same colour everywhere."""
    shown = [row for row in drawn.rows if any(isinstance(cell, Estimate) and cell.value is not None for cell in row)]
    ranks = [
        {level: rank for rank, level in enumerate(sorted_levels([row[n] for row in shown]))}
        for n in range(1, 1 + len(drawn.plot.by))
    ]
    shown.sort(key=lambda row: [rank[level] for rank, level in zip(ranks, row[1:], strict=False)])
    return list(dict.fromkeys(_line(drawn.plot, row) for row in shown))


_Factors = tuple[tuple[str, ...], ...]


class Palette:
    """Assigns each line a colour and a mark that are the same in every plot.

    Of the plots that are named first, the one with the most lines determines their order, as others may lack levels.
    Different factors have different colours as long as there are enough of them.
    """

    def __init__(self, plots: Sequence[Drawn] = ()) -> None:
        self._places: dict[_Factors, dict[str, int]] = {}
        longest: dict[_Factors, Drawn] = {}
        for drawn in plots:
            before = longest.setdefault(_by(drawn), drawn)
            longest[_by(drawn)] = max(before, drawn, key=lambda item: len(lines_of(item)))
        for drawn in longest.values():
            self.places(drawn)

    def places(self, drawn: Drawn) -> dict[str, int]:
        """The place of each line of a plot among the colours, which repeat if there are more lines than colours."""
        lines, used = lines_of(drawn), sum(map(len, self._places.values()))
        own = self._places.setdefault(_by(drawn), {})
        first = min(own.values(), default=used if used + len(lines) <= len(COLOURS) else 0)
        return {name: own.setdefault(name, first + len(own)) for name in lines}


def _by(drawn: Drawn) -> _Factors:
    """The factors of the lines. A column can have another name than its factor, such as one called `run`."""
    return tuple(item.paths or (item.name,) for item in drawn.plot.by)


def scale(picture: Picture) -> tuple[float, str]:
    """The unit of an axis, and its size in the unit of the values."""
    size, unit = wording.step(picture.most, picture.unit)
    return size, "IOPS" if picture.type == "iops" and unit == SCALARS["iops"].unit else unit


def has_bars(drawn: Drawn) -> bool:
    """Whether a plot has bars instead of lines because it is over words, which have no order."""
    return drawn.form is Form.LINES and not is_number(drawn.plot.over, [row[0] for row in drawn.rows])


def _value_range(drawn: Drawn, measure: int) -> tuple[float, float]:
    """The range of a measure's axis: zero, all values, and as much of their intervals as leaves the values visible."""
    if drawn.ends is not None:
        return drawn.ends
    result = [[cell for cell in row if isinstance(cell, Estimate)][measure] for row in drawn.rows]
    values = [estimate.value for estimate in result if estimate.value is not None]
    highs = [estimate.high for estimate in result if estimate.high is not None and drawn.form is not Form.FIELDS]
    most = max([0.0, *values])
    if drawn.plot.is_log and values and min(values) > 0:
        lows = [estimate.low for estimate in result if estimate.low is not None and estimate.low > 0]
        return max(min([*values, *lows]), min(values) / WIDEST_ON_LOG), max(
            most, min(max(highs, default=0.0), WIDEST_ON_LOG * most)
        )
    return min([0.0, *values]), max(most, min(max(highs, default=0.0), WIDEST_BAR * most)) or 1.0


def caption(drawn: Drawn) -> str:
    """A caption that explains the points, and says if the axis cuts off intervals."""
    has_cuts = drawn.form is not Form.FIELDS and any(map(is_cut, pictures(drawn)))
    cut = "intervals at the edge of the plot extend beyond it" if has_cuts else ""
    return "; ".join(text for text in (drawn.note, cut) if text)


def is_cut(picture: Picture) -> bool:
    """Whether an interval extends beyond the axis."""
    drawn = [estimate for line in picture.lines.values() for _, estimate in line]
    return any(
        estimate.high is not None
        and (estimate.high > picture.most or (estimate.low is not None and 0 < estimate.low < picture.least))
        for estimate in drawn
    )


def is_number(over: FactorRef, levels: Sequence[Cell]) -> bool:
    """Whether all levels are numbers, so that they have an order."""
    return over.type not in {"word", "string"} and all(type(level) in {int, float} for level in levels)


def is_logarithmic(levels: Sequence[Cell]) -> bool:
    """Whether the levels are several numbers that differ by powers of two."""
    numbers = [level for level in levels if isinstance(level, int | float) and level > 0]
    if len(numbers) != len(levels) or len(set(numbers)) < 2:  # noqa: PLR2004 - one level has no scale
        return False
    return all(math.log2(number / numbers[0]).is_integer() for number in numbers)


def line_offsets(lines: int, places: Sequence[float]) -> list[float]:
    """The offset of each line from the middle of all, so that error bars do not overlap.

    `places` are those of the levels on the axis, ascending; the points of a level stay far from those of the next one.
    """
    if len(places) < 2:  # noqa: PLR2004 - one place has no length
        return [0.0] * lines
    nearest = min(after - before for before, after in pairwise(places))
    step = min(_DODGE * (places[-1] - places[0]), _MOST_OF_GAP * nearest / lines)
    return [(n - (lines - 1) / 2) * step for n in range(lines)]


def on_axis(over: FactorRef, level: Cell) -> str:
    """A level as the axis shows it: exactly for a factor, in a few digits for a measured value."""
    if not over.paths and over.type == "duration" and isinstance(level, int | float):
        return wording.measured(level, "s")
    return wording.level(level, over.type)


def sorted_levels(levels: Sequence[Cell]) -> list[Cell]:
    """The distinct levels: numbers ascending, others in their order."""
    distinct = list(dict.fromkeys(levels))
    numbers = [level for level in distinct if isinstance(level, int | float)]
    return [*sorted(numbers)] if len(numbers) == len(distinct) else distinct
