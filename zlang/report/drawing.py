"""Plots: what `answers.Drawn` holds, drawn by plotext in a terminal and by Vega-Lite in a file.

Rules: a point is a median (or another aggregate) and its bar the 95 % interval, where there is one. Numbers that are
powers of two of each other have a logarithmic axis. The colours are told apart by the colour-blind (Okabe and Ito,
https://jfly.uni-koeln.de/color/), and each line has a mark of its own. Zero is on the axis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from zlang.check.answers import Asked
from zlang.errors import RunError
from zlang.files import replace_file
from zlang.report import wording
from zlang.report.answers import Drawn
from zlang.report.formulas import UNITS
from zlang.report.summary import Cell, Estimate

COLOURS = ((0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0), (240, 228, 66))
MARKS = "●▲■◆▼★✚"
ENDINGS = (".png", ".svg", ".json")
Library = Any
"""A module that is there or not."""
Colour = tuple[int, int, int] | None
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_HEIGHT = 20
_LONGEST = 160
_WIDTH = 480
_CONFIG = {
    "axis": {"labelLimit": 120, "titleLimit": 280, "labelFontSize": 11, "titleFontSize": 12},
    "legend": {"labelLimit": 280, "titleLimit": 280, "labelFontSize": 11, "orient": "bottom", "direction": "vertical"},
    "title": {"limit": _WIDTH, "subtitleLimit": _WIDTH},
}
"""Names may be long: they are cut with `…`."""
_MARGIN = 0.05
_MANY = 1000


@dataclass(frozen=True, slots=True)
class Picture:
    """One measure at one level of the facet: lines of points, by how the line is called.

    `least` and `most` are the ends of its axis, the same for all levels of the facet.
    """

    title: str
    facet: str
    measure: str
    unit: str
    least: float
    most: float
    lines: dict[str, list[tuple[Cell, Estimate]]]

    def named(self, title: str) -> str:
        """A title with the level of the facet."""
        return f"{title}, {self.facet}" if self.facet else title


def terminal(drawn: Drawn, width: int, *, is_coloured: bool) -> str:
    """The pictures one above the other. Raises RunError where plotext is not installed."""
    plotext = _library("plotext")
    return "\n".join(_in_terminal(plotext, drawn, one, width, is_coloured=is_coloured) for one in pictures(drawn))


def write(every: Sequence[Drawn], path: Path) -> None:
    """All plots in one file: PNG, SVG, or the Vega-Lite specification as JSON. Raises RunError."""
    if path.suffix not in ENDINGS:
        raise RunError(f"a plot cannot be written as `{path.name}`", "its name ends in " + ", ".join(ENDINGS))
    spec = vega(every)
    if path.suffix == ".json":
        import orjson

        data = orjson.dumps(spec, option=orjson.OPT_INDENT_2)
    else:
        convert = _library("vl_convert")
        data = (
            convert.vegalite_to_svg(spec).encode() if path.suffix == ".svg" else convert.vegalite_to_png(spec, scale=2)
        )
    try:
        replace_file(path, data)
    except OSError as error:
        raise RunError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None


def _library(name: str) -> Library:
    try:
        return import_module(name)
    except ImportError:
        raise RunError("what draws plots is not installed", "pip install plotext vl-convert-python") from None


def pictures(drawn: Drawn) -> list[Picture]:
    """A picture for each measure and each level of the facet."""
    plot = drawn.plot
    names = 1 + len(plot.by)
    made: dict[tuple[int, Cell], Picture] = {}
    facets = list(dict.fromkeys(row[names] for row in drawn.rows)) if plot.facet else [None]
    title = wording.visible(drawn.title)
    for n, measure in enumerate(plot.measures):
        for facet in facets:
            at = f"{plot.facet.name} = {wording.level(facet, plot.facet.type)}" if plot.facet else ""
            least, most = _ends(drawn, n)
            made[n, facet] = Picture(
                title, at, wording.visible(measure.name), UNITS.get(measure.type, ""), least, most, {}
            )
    for row in drawn.rows:
        estimates = [cell for cell in row if isinstance(cell, Estimate)]
        line = ", ".join(wording.level(cell, one.type) for cell, one in zip(row[1:names], plot.by, strict=True))
        for n, found in enumerate(estimates):
            if found.median is not None:
                lines = made[n, row[names] if plot.facet else None].lines
                lines.setdefault(line, []).append((row[0], found))
    return list(made.values())


def _ends(drawn: Drawn, measure: int) -> tuple[float, float]:
    """Zero and all values of a measure, with their intervals."""
    found = [[cell for cell in row if isinstance(cell, Estimate)][measure] for row in drawn.rows]
    values = [value for one in found for value in (one.median, one.low, one.high) if value is not None]
    return min([0.0, *values]), max([0.0, *values]) or 1.0


def _is_number(over: Asked, levels: Sequence[Cell]) -> bool:
    return over.type not in {"word", "string"} and all(type(level) in {int, float} for level in levels)


def is_logarithmic(levels: Sequence[Cell]) -> bool:
    """Whether the levels are several numbers that differ by powers of two."""
    numbers = [level for level in levels if isinstance(level, int | float) and level > 0]
    if len(numbers) != len(levels) or len(set(numbers)) < 2:  # noqa: PLR2004 - one level has no scale
        return False
    return all(math.log2(number / numbers[0]).is_integer() for number in numbers)


# -- in a terminal


def _in_terminal(plotext: Library, drawn: Drawn, picture: Picture, width: int, *, is_coloured: bool) -> str:
    over = drawn.plot.over
    levels = list(dict.fromkeys(row[0] for row in drawn.rows))
    places: dict[Cell, float] = {level: float(i) for i, level in enumerate(levels)}
    if _is_number(over, levels):
        scale = math.log2 if is_logarithmic(levels) else float
        places = {level: scale(level) for level in levels if isinstance(level, int | float)}
    size, unit = _step(picture.most, picture.unit)
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")  # the terminal's own background
    figure.plot_size(width, _HEIGHT)
    figure.legend(active=False)  # it would hide what is drawn beneath it
    names = []
    for i, (name, line) in enumerate(picture.lines.items()):
        colour = COLOURS[i % len(COLOURS)] if is_coloured else None
        mark = MARKS[i % len(MARKS)]
        points = [(places[level], found) for level, found in line]
        _draw_line(plotext, points, size, (mark, colour))
        said = f"{mark} {name}"
        names += [str(plotext.colorize(said, colour).string() if colour else said)] if name else []
    figure.title(f"{picture.measure}: {picture.named(picture.title)}")
    figure.label(over.name, "x")
    figure.label(unit, "y")
    across = figure.ruler("x")
    across.ticks(list(places.values()), [wording.level(level, over.type) for level in places])
    first, last = min(places.values(), default=0.0), max(places.values(), default=0.0)
    across.lim(first - _MARGIN * (last - first or 1), last + _MARGIN * (last - first or 1))
    figure.ruler("y").lim(picture.least / size, picture.most / size)
    drawn_text: str = figure.build().string(not is_coloured)
    return drawn_text.rstrip("\n") + "\n" + "".join(f"  {name}\n" for name in names)


def _step(top: float, unit: str) -> tuple[float, str]:
    """As `wording.step`; what has no larger unit is counted in thousands."""
    size, name = wording.step(top, unit)
    return (size, name) if size != 1 or top < _MANY else (1000.0, f"thousand {unit}".rstrip())


def _draw_line(plotext: Library, points: list[tuple[float, Estimate]], size: float, mark: tuple[str, Colour]) -> None:
    figure = plotext.figure
    stroke = plotext.marker("hd", mark[1])
    at = [place for place, _ in points]
    medians = [(found.median or 0.0) / size for _, found in points]
    figure.draw(figure.signal(at, medians, marker=stroke).lines())
    for place, found in points:
        if found.low is not None and found.high is not None:
            figure.draw(figure.segment([place, place], [found.low / size, found.high / size], marker=stroke))
    figure.draw(figure.signal(at, medians, marker=plotext.marker(*mark)))


# -- in a file


def vega(every: Sequence[Drawn]) -> dict[str, object]:
    """A Vega-Lite specification of all plots, one beneath the other."""
    views = []
    for drawn in every:
        for picture in pictures(drawn):
            title = {
                "text": picture.named(picture.title),
                "subtitle": drawn.plot.text,
                "anchor": "start",
            }
            views.append({"title": title, "width": _WIDTH, **_view(drawn, picture)})
    return _tame({"$schema": _SCHEMA, "background": "white", "config": _CONFIG, "vconcat": views})


def alone(drawn: Drawn, picture: Picture) -> dict[str, object]:
    """A specification of one picture without a title, as wide as its place."""
    return _tame({"$schema": _SCHEMA, "width": "container", "config": _CONFIG, **_view(drawn, picture)})


def _tame(spec: dict[str, object]) -> dict[str, object]:
    """A specification whose texts can be drawn: long ones, which take all memory, are cut, and are still distinct."""
    known: dict[str, str] = {}

    def tamed(part: object) -> object:
        match part:
            case str():
                text = wording.visible(part)
                short = f"{text[:_LONGEST]}… ({len(known) + 1})"
                return text if len(text) <= _LONGEST else known.setdefault(text, short)
            case dict():
                return {key: value if key == "labelExpr" else tamed(value) for key, value in part.items()}
            case list():
                return [tamed(value) for value in part]
            case _:
                return part

    return {key: tamed(value) for key, value in spec.items()}


def still(spec: Mapping[str, object]) -> str:
    """A specification drawn as SVG. Raises RunError."""
    found: str = _library("vl_convert").vegalite_to_svg({**spec, "width": _WIDTH, "background": "white"})
    return found


def library() -> str:
    """What draws specifications in a page, as JavaScript: it makes a function `vegaEmbed`. Raises RunError."""
    found: str = _library("vl_convert").javascript_bundle()
    return found


def _view(drawn: Drawn, picture: Picture) -> dict[str, object]:
    over = drawn.plot.over
    points = [(name, level, found) for name, line in picture.lines.items() for level, found in line]
    size, unit = wording.step(picture.most, picture.unit)
    values = [
        {
            "over": level if _is_number(over, [level]) else wording.level(level, over.type),
            "line": name,
            "value": (found.median or 0.0) / size,
            "low": None if found.low is None else found.low / size,
            "high": None if found.high is None else found.high / size,
            "n": found.n,
        }
        for name, level, found in points
    ]
    title = picture.measure + (f", {unit}" if unit else "")
    has_bars = any(found.low is not None for _, _, found in points)
    title += " (median, 95 %)" if has_bars else ""
    domain = {"domain": [picture.least / size, picture.most / size], "nice": True}
    y: dict[str, object] = {"field": "value", "type": "quantitative", "title": title, "scale": domain}
    colours = [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in COLOURS]
    by = ", ".join(one.name for one in drawn.plot.by)
    names = list(picture.lines)
    line: dict[str, object] = {"field": "line", "type": "nominal", "title": by, "scale": {"domain": names}}
    colour: dict[str, object] = {**line, "scale": {"domain": names, "range": colours}} if by else {"value": colours[0]}
    # In a page a click on a name in the legend leaves this line alone.
    chosen = [{"name": "chosen", "select": {"type": "point", "fields": ["line"]}, "bind": "legend"}] if by else []
    faint: dict[str, object] = {"opacity": {"condition": {"param": "chosen", "value": 1}, "value": 0.1}} if by else {}
    shape: dict[str, object] = {"shape": line} if by else {}
    shown = [{"field": "line", "title": by}] if by else []
    shown += [{"field": "over", "title": over.name}, {"field": "value", "title": title}, {"field": "n", "title": "n"}]
    at: dict[str, object] = {"y": y, **faint}
    bars: dict[str, object] = {
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {**at, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
    }
    return {
        "height": 300,
        "data": {"values": values},
        "encoding": {"x": _x(drawn), "color": colour, "tooltip": shown},
        "layer": [
            *([bars] if has_bars else []),
            {"mark": "line", "encoding": at, "params": chosen},
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {**at, **shape},
            },
        ],
    }


def _x(drawn: Drawn) -> dict[str, object]:
    over = drawn.plot.over
    levels = list(dict.fromkeys(row[0] for row in drawn.rows))
    axis: dict[str, object] = {"field": "over", "title": over.name}
    if not _is_number(over, levels):
        return {**axis, "type": "nominal", "sort": None, "axis": {"labelAngle": 0}}
    import orjson

    labels = orjson.dumps({str(level): wording.level(level, over.type) for level in levels}).decode()
    scale = {"type": "log", "base": 2} if is_logarithmic(levels) else {"type": "linear", "zero": False}
    ticks = {"values": levels, "labelExpr": f"{labels}[toString(datum.value)]"}
    return {**axis, "type": "quantitative", "scale": {**scale, "padding": 20}, "axis": ticks}
