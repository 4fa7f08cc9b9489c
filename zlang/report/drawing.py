"""Plots: what `answers.Drawn` holds, drawn by plotext in a terminal and by Vega-Lite in a file.

Rules: a point is a median (or another aggregate) and its bar the 95 % interval, where there is one. Numbers are joined
by lines, and those that are powers of two of each other have a logarithmic axis; words, which have no order, are bars.
The colours are told apart by the colour-blind (Okabe and Ito, https://jfly.uni-koeln.de/color/), and each line has a
mark of its own; a level has the same colour in all plots of a `Palette`. Zero is on the axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from zlang.check.questions import FactorRef, Plot
from zlang.errors import RunError
from zlang.files import replace_file, user_directory
from zlang.report import wording
from zlang.report.drawn import EMPTY, WIDEST_BAR, WIDEST_ON_LOG, Drawn, Form
from zlang.report.formulas import UNITS
from zlang.report.summary import Cell, Estimate
from zlang.text import visible

COLOURS = ((0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0), (240, 228, 66))
MARKS = "●▲■◆▼★✚"
_SHAPES = ("circle", "triangle-up", "square", "diamond", "triangle-down", "triangle-right", "cross")
ENDINGS = (".png", ".svg", ".json")
Library = Any
"""A module that is there or not."""
Colour = tuple[int, int, int] | None
_ALONE = "#64748b"
"""The colour of a line that is alone: that of no level."""
_DODGE = 0.015
"""The part of the axis between neighbouring lines, so their intervals do not overlap."""
_MOST_NUMBERS = 120
"""Fields of a heat map that have room for numbers."""
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_HEIGHT = 20
_SHADES = " ░▒▓█"
_WIDEST_FIELDS = 72
_MOST_MARKS = 12
_FEWEST_MARKS = 4
LATENCY = "latency"
_LATENCY_UNIT = (1e-6, "us")
_LONGEST = 160
_WIDTH = 480
_CONFIG = {
    "axis": {"labelLimit": 120, "titleLimit": 280, "labelFontSize": 11, "titleFontSize": 12},
    "axisY": {"minExtent": 56},
    "legend": {"labelLimit": 280, "titleLimit": 280, "labelFontSize": 11, "orient": "bottom", "columns": 3},
    "title": {"limit": _WIDTH, "subtitleLimit": _WIDTH},
}
"""Names may be long: they are cut with `…`."""
_APART = {"scale": {"color": "independent", "shape": "independent"}}
"""Independent scales for plots that are stacked."""
_FEWEST_DECADES = 2
_ROUNDING = 1e-9
_MARGIN = 0.05
_MANY = 1000

_NEAR_MARK = 0.1
"""The part of the axis around the mark of an event in which it has no other."""
_EVENT = "#666666"


@dataclass(frozen=True, slots=True)
class Picture:
    """One measure at one level of the facet: lines of points, by how the line is called.

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
        """A title with the level of the facet."""
        return f"{title}, {self.facet}" if self.facet else title


def terminal(drawn: Drawn, width: int, *, is_coloured: bool) -> str:
    """The pictures one above the other. Raises RunError where plotext is not installed."""
    if not drawn.has_values:
        return f"{visible(drawn.plot.text)}: {EMPTY}\n"
    plotext = _library("plotext")
    return "\n".join(
        _in_terminal(plotext, drawn, picture, width, is_coloured=is_coloured) for picture in pictures(drawn)
    )


def write(every: Sequence[Drawn], path: Path) -> None:
    """All plots in one file: PNG, SVG, or the Vega-Lite specification as JSON. Raises RunError."""
    every = [drawn for drawn in every if drawn.has_values]
    if not every:
        raise RunError("there is nothing to draw", EMPTY)
    if path.suffix not in ENDINGS:
        raise RunError(f"a plot cannot be written as `{path.name}`", "use a name that ends in " + " or ".join(ENDINGS))
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
        raise RunError(
            "the libraries that draw plots are not installed", "pip install plotext vl-convert-python"
        ) from None


def pictures(drawn: Drawn) -> list[Picture]:
    """A picture for each measure and each level of the facet, of those that have values."""
    plot = drawn.plot
    names = 1 + len(plot.by)
    made: dict[tuple[int, Cell], Picture] = {}
    facets = _sorted([row[names] for row in drawn.rows]) if plot.facet else [None]
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
    """How the line is called that a row is of."""
    return ", ".join(_on_axis(item, cell) for cell, item in zip(row[1 : 1 + len(plot.by)], plot.by, strict=True))


def _lines(drawn: Drawn) -> list[str]:
    """The names of the lines in all pictures, so each line has the same colour everywhere."""
    shown = [row for row in drawn.rows if any(isinstance(cell, Estimate) and cell.value is not None for cell in row)]
    ranks = [
        {level: rank for rank, level in enumerate(_sorted([row[n] for row in shown]))}
        for n in range(1, 1 + len(drawn.plot.by))
    ]
    shown.sort(key=lambda row: [rank[level] for rank, level in zip(ranks, row[1:], strict=False)])
    return list(dict.fromkeys(_line(drawn.plot, row) for row in shown))


class Palette:
    """A colour and a mark for each line: the same wherever it is drawn."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], int] = {}

    def places(self, drawn: Drawn) -> dict[str, int]:
        """The place of each line of a plot among the colours; the more lines, the more often a colour comes again."""
        by = ", ".join(item.name for item in drawn.plot.by)
        return {name: self._places.setdefault((by, name), len(self._places)) for name in _lines(drawn)}


def _scale(picture: Picture) -> tuple[float, str]:
    """The unit of an axis, and how much of the unit of its values it is."""
    size, unit = wording.step(picture.most, picture.unit)
    return size, "IOPS" if picture.type == "iops" and unit == "1/s" else unit


def has_bars(drawn: Drawn) -> bool:
    """Whether a plot is over words: they have no order, so it has bars instead of lines."""
    return drawn.form is Form.LINES and not _is_number(drawn.plot.over, [row[0] for row in drawn.rows])


def _value_range(drawn: Drawn, measure: int) -> tuple[float, float]:
    """Zero and all values of a measure, with their intervals as far as they leave the values to be seen."""
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
    """What its points stand for, and whether the axis cuts intervals."""
    has_cuts = drawn.form is not Form.FIELDS and any(map(_is_cut, pictures(drawn)))
    cut = "intervals at the edge of the plot extend beyond it" if has_cuts else ""
    return "; ".join(text for text in (drawn.note, cut) if text)


def _is_cut(picture: Picture) -> bool:
    drawn = [estimate for line in picture.lines.values() for _, estimate in line]
    return any(
        estimate.high is not None
        and (estimate.high > picture.most or (estimate.low is not None and 0 < estimate.low < picture.least))
        for estimate in drawn
    )


def _is_number(over: FactorRef, levels: Sequence[Cell]) -> bool:
    return over.type not in {"word", "string"} and all(type(level) in {int, float} for level in levels)


def is_logarithmic(levels: Sequence[Cell]) -> bool:
    """Whether the levels are several numbers that differ by powers of two."""
    numbers = [level for level in levels if isinstance(level, int | float) and level > 0]
    if len(numbers) != len(levels) or len(set(numbers)) < 2:  # noqa: PLR2004 - one level has no scale
        return False
    return all(math.log2(number / numbers[0]).is_integer() for number in numbers)


# -- in a terminal


def _in_terminal(plotext: Library, drawn: Drawn, picture: Picture, width: int, *, is_coloured: bool) -> str:
    if drawn.form is Form.FIELDS:
        return _fields_in_terminal(drawn, picture)
    over = drawn.plot.over
    levels = list(dict.fromkeys(row[0] for row in drawn.rows))
    places: dict[Cell, float] = {level: float(i) for i, level in enumerate(levels)}
    if _is_number(over, levels):
        scale = math.log2 if _is_log_axis(drawn, levels) else float
        places = {level: scale(level) for level in levels if isinstance(level, int | float)}
    size, unit = _step(picture)
    is_log = drawn.plot.is_log and picture.least > 0

    def upwards(value: float) -> float:
        kept = min(max(value, picture.least), picture.most) / size
        return math.log10(kept) if is_log else kept

    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")  # the terminal's own background
    figure.plot_size(width, _HEIGHT)
    figure.legend(active=False)  # it would hide what is drawn beneath it
    names = []
    every = {name: i for i, name in enumerate(_lines(drawn))}
    span = max(places.values(), default=0.0) - min(places.values(), default=0.0) or 1.0
    for name, line in picture.lines.items():
        i = every[name]
        colour = COLOURS[i % len(COLOURS)] if is_coloured else None
        mark = MARKS[i % len(MARKS)]
        beside = _line_offset(i, len(every), span) if drawn.form is Form.LINES else 0.0
        points = [(places[level] + beside, result) for level, result in line]
        form = Form.POINTS if has_bars(drawn) else drawn.form
        _draw_line(plotext, points, upwards, (mark, colour), form)
        line_shown = f"{mark} {name}"
        names += [str(plotext.colorize(line_shown, colour).string() if colour else line_shown)] if name else []
    title = f"{picture.measure}: {picture.named(picture.title)}"
    figure.title(title)
    figure.label(over.name, "x")
    figure.label(unit, "y")
    across = figure.ruler("x")
    near = span * _NEAR_MARK
    axis_marks = _axis_marks(drawn, sorted(places.values()), places)
    marked = [mark for mark in axis_marks if all(abs(mark[0] - second) > near for second, _ in picture.marks)]
    marked += [(second, f"▲{visible(name)}") for second, name in picture.marks]
    across.ticks([place for place, _ in marked], [label for _, label in marked])
    first, last = min(places.values(), default=0.0), max(places.values(), default=0.0)
    across.lim(first - _MARGIN * (last - first or 1), last + _MARGIN * (last - first or 1))
    up = figure.ruler("y")
    up.lim(upwards(picture.least), upwards(picture.most))
    marks = (_log_marks if is_log else _linear_marks)(picture.least / size, picture.most / size)
    up.ticks([math.log10(value) if is_log else value for value in marks], [f"{value:,.10g}" for value in marks])
    drawn_text: str = figure.build().string(not is_coloured)
    above = "" if title in drawn_text else f"{title}\n"  # plotext leaves out what is wider than the picture
    note = caption(drawn)
    below = [*names, *([note] if note else [])]
    return above + drawn_text.rstrip("\n") + "\n" + "".join(f"  {text}\n" for text in below)


def _log_marks(least: float, most: float) -> list[float]:
    """1, 2 and 5 times the powers of ten within an axis; its ends where these are less than two."""
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    marks = [step * 10.0**power for power in powers for step in (1, 2, 5) if least <= step * 10.0**power <= most]
    return marks if len(marks) > 1 else [least, most]


def _linear_marks(least: float, most: float) -> list[float]:
    """Four to ten multiples of 1, 2 or 5 times a power of ten within an axis; its ends where it has no length."""
    part = (most - least) / _FEWEST_MARKS
    if part <= 0:
        return [least]
    power = 10.0 ** math.floor(math.log10(part))
    step = max(step for step in (1, 2, 5) if step * power <= part) * power
    return [round(i * step, 12) for i in range(math.ceil(least / step), math.floor(most / step) + 1)]


def _line_offset(place: int, lines: int, span: float) -> float:
    """How far a line is from the middle of the lines."""
    return (place - (lines - 1) / 2) * _DODGE * span


def _is_log_axis(drawn: Drawn, levels: Sequence[Cell]) -> bool:
    return drawn.plot.over.name == LATENCY or (drawn.form is not Form.POINTS and is_logarithmic(levels))


def _axis_marks(drawn: Drawn, ends: Sequence[float], places: Mapping[Cell, float]) -> list[tuple[float, str]]:
    """The marks of an axis: all levels, or some where they are many; powers of ten of latencies."""
    over = drawn.plot.over
    if over.name == LATENCY and ends:
        tens = [10.0**n for n in range(-9, 4)]
        return [(math.log2(ten), _on_axis(over, ten)) for ten in tens if ends[0] <= math.log2(ten) <= ends[-1]]
    levels = sorted(places, key=places.__getitem__)
    return [(places[level], _on_axis(over, level)) for level in levels[:: math.ceil(len(levels) / _MOST_MARKS) or 1]]


def _on_axis(over: FactorRef, level: Cell) -> str:
    # A level of a factor is told exactly; what was measured need not be.
    if not over.paths and over.type == "duration" and isinstance(level, int | float):
        return wording.measured(level, "s")
    return wording.level(level, over.type)


def _fields_in_terminal(drawn: Drawn, picture: Picture) -> str:
    """A row for each line, the highest first; the darker, the more."""
    over = drawn.plot.over
    levels = _sorted([row[0] for row in drawn.rows])
    by = " × ".join(item.name for item in drawn.plot.by)
    wide = max(1, min(8, _WIDEST_FIELDS // max(1, len(levels))))
    if over.paths:
        words_shown = [
            wording.measured(each_one.value or 0.0, picture.unit)
            for line in picture.lines.values()
            for _, each_one in line
        ]
        wide = 2 + max(map(len, [*words_shown, *(_on_axis(over, level) for level in levels)]), default=0)
    names = list(picture.lines)
    margin = max(map(len, names), default=0)
    text = f"{picture.measure}: {picture.named(picture.title)}\n"
    for name in reversed(names):
        existing = dict(picture.lines[name])
        cells = [existing.get(level) for level in levels]
        if over.paths:  # levels of a factor are few enough for numbers
            shown = [wording.measured(each_one.value or 0.0, picture.unit) if each_one else "" for each_one in cells]
            text += f"{name:>{margin}} │{'│'.join(f' {each_one:>{wide - 2}} ' for each_one in shown)}│\n"
            continue
        shades = [_shade(each_one, picture.most) if each_one else " " for each_one in cells]
        text += f"{name:>{margin}} │{''.join(shade * wide for shade in shades)}│\n"
    if over.paths:
        marks = "".join(f" {_on_axis(over, level):^{wide}}" for level in levels)
        return f"{text}{'':>{margin}} {marks}\n{'':>{margin}}  {over.name} (across), {by} (up)\n"
    most = wording.measured(picture.most, picture.unit)
    ends = " … ".join(dict.fromkeys(_on_axis(over, level) for level in (levels[0], levels[-1]))) if levels else ""
    return f"{text}{'':>{margin}}  {over.name} {ends} (across), {by} (up); {_SHADES[-1]} is {most}\n"


def _sorted(levels: Sequence[Cell]) -> list[Cell]:
    """Each level once: numbers ascending, others as they come."""
    distinct = list(dict.fromkeys(levels))
    numbers = [level for level in distinct if isinstance(level, int | float)]
    return [*sorted(numbers)] if len(numbers) == len(distinct) else distinct


def _shade(estimate: Estimate, most: float) -> str:
    part = (estimate.value or 0.0) / most if most else 0.0
    return _SHADES[min(len(_SHADES) - 1, math.ceil(part * (len(_SHADES) - 1)))]


def _step(picture: Picture) -> tuple[float, str]:
    """As `_scale`; what has no larger unit is counted in thousands."""
    size, name = _scale(picture)
    return (size, name) if size != 1 or picture.most < _MANY else (1000.0, f"thousand {name}".rstrip())


def _draw_line(
    plotext: Library,
    points: list[tuple[float, Estimate]],
    upwards: Callable[[float], float],
    mark: tuple[str, Colour],
    form: Form,
) -> None:
    figure = plotext.figure
    stroke = plotext.marker("hd", mark[1])
    at = [place for place, _ in points]
    medians = [upwards(point.value or 0.0) for _, point in points]
    if form is not Form.POINTS:
        figure.draw(figure.signal(at, medians, marker=stroke).lines())
    # Of a curve's many intervals some tell how wide they are.
    every = math.ceil(len(points) / _MOST_MARKS) if form is Form.CURVES else 1
    for place, point in points[::every]:
        if point.low is not None and point.high is not None:
            figure.draw(figure.segment([place, place], [upwards(point.low), upwards(point.high)], marker=stroke))
    figure.draw(figure.signal(at[::every], medians[::every], marker=plotext.marker(*mark)))


# -- in a file


def vega(every: Sequence[Drawn]) -> dict[str, object]:
    """A Vega-Lite specification of all plots, one beneath the other."""
    views = []
    palette = Palette()
    for drawn in every:
        note = caption(drawn)
        for picture in pictures(drawn):
            title = {
                "text": picture.named(picture.title),
                "subtitle": [drawn.plot.text, *([note.replace("`", "")] if note else [])],
                "anchor": "start",
            }
            views.append({"title": title, "width": _WIDTH, **_view(drawn, picture, palette)})
    return _with_short_texts(
        {"$schema": _SCHEMA, "background": "white", "config": _CONFIG, "vconcat": views, "resolve": _APART}
    )


def alone(drawn: Drawn, picture: Picture, palette: Palette) -> dict[str, object]:
    """A specification of one picture without a title, as wide as its place."""
    return _with_short_texts(
        {"$schema": _SCHEMA, "width": "container", "config": _CONFIG, **_view(drawn, picture, palette)}
    )


def _with_short_texts(spec: dict[str, object]) -> dict[str, object]:
    """A specification whose texts can be drawn: long ones, which take all memory, are cut, and are still distinct."""
    aliases: dict[str, str] = {}

    def shortened(part: object) -> object:
        match part:
            case str():
                text = visible(part)
                short = f"{text[:_LONGEST]}… ({len(aliases) + 1})"
                return text if len(text) <= _LONGEST else aliases.setdefault(text, short)
            case dict():
                return {key: value if key == "labelExpr" else shortened(value) for key, value in part.items()}
            case list():
                return [shortened(value) for value in part]
            case _:
                return part

    return {key: shortened(value) for key, value in spec.items()}


def still(spec: Mapping[str, object]) -> str:
    """A specification drawn as SVG. Raises RunError."""
    result: str = _library("vl_convert").vegalite_to_svg({**spec, "width": _WIDTH, "background": "white"})
    return result


def library() -> str:
    """The JavaScript that draws specifications in a page: it defines a function `vegaEmbed`. Raises RunError.

    It takes a second to make, so it is kept in the user's cache, by the version of what made it.
    """
    convert = _library("vl_convert")
    home = user_directory("XDG_CACHE_HOME", ".cache")
    place = home / "zlang" / f"vega-{version('vl-convert-python')}.js" if home else None
    with suppress(OSError, UnicodeDecodeError):
        if place is not None and (result := place.read_text("utf-8")):
            return result
    result = str(convert.javascript_bundle())
    with suppress(OSError):
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            replace_file(place, result.encode())
    return result


def _view(drawn: Drawn, picture: Picture, palette: Palette) -> dict[str, object]:
    over = drawn.plot.over
    points = [(name, level, result) for name, line in picture.lines.items() for level, result in line]
    size, unit = _scale(picture)
    at = _places_beside(drawn)
    values = [
        {
            "over": _place(drawn, level),
            **({"at": at(name, level)} if at else {}),
            **({"line": name} if name else {}),
            "value": _rounded((result.value or 0.0) / size),
            **({} if result.low is None or result.high is None else _interval(result.low / size, result.high / size)),
            "n": result.n,
        }
        for name, level, result in points
    ]
    has_intervals = any(result.low is not None for _, _, result in points)
    middle = drawn.middle or next((result.statistic for _, _, result in points if result.low is not None), "")
    text = ", ".join([*([middle] if middle else []), *(["95 %"] if has_intervals else [])])
    title = picture.measure + (f", {unit}" if unit else "") + (f" ({text})" if text else "")
    by = ", ".join(item.name for item in drawn.plot.by)
    shown = [{"field": "line", "title": by}] if by else []
    shown += [{"field": "over", "title": over.name}, {"field": "value", "title": title}]
    shown += [{"field": "low"}, {"field": "high"}, {"field": "n"}] if has_intervals else []
    common = {"height": 300, "data": {"values": values}}
    if drawn.form is Form.FIELDS:
        return {**common, **_fields(drawn, picture, by, title, shown)}
    places = palette.places(drawn)
    layers = _layers(drawn, picture, title, places if by else None, has_intervals=has_intervals)
    x = {**_x_axis(drawn), **({"field": "at"} if at else {})}
    line = {"field": "line", "type": "nominal", "title": by}
    colours = [COLOURS[place % len(COLOURS)] for place in places.values()]
    scale = {"domain": [*places], "range": [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in colours]}
    colour: dict[str, object] = {**line, "scale": scale} if by else {"value": _ALONE}
    offset = (
        {"xOffset": {**line, "scale": {"domain": [*places]}, "bandPosition": 0.5}} if by and has_bars(drawn) else {}
    )
    own = {"encoding": {"x": x, **offset, "color": colour, "tooltip": shown}, "layer": layers}
    if not picture.marks:
        return {**common, **own}
    return {**common, "layer": [own, *_event_layers(picture, x)]}


def _event_layers(picture: Picture, x: Mapping[str, object]) -> list[dict[str, object]]:
    """A line where an event begins, with its name."""
    values = [{"over": second, "event": name} for second, name in picture.marks]
    data: dict[str, object] = {"data": {"values": values}}
    rule = {"mark": {"type": "rule", "strokeDash": [4, 3], "color": _EVENT}, "encoding": {"x": x}}
    text = {
        "mark": {"type": "text", "align": "left", "dx": 4, "dy": 8, "color": _EVENT},
        "encoding": {"x": x, "y": {"value": 0}, "text": {"field": "event"}},
    }
    return [{**data, **rule}, {**data, **text}]


def _layers(
    drawn: Drawn, picture: Picture, title: str, places: Mapping[str, int] | None, *, has_intervals: bool
) -> list[dict[str, object]]:
    """Intervals, lines or bars, and points; `places` are those of its lines, where it has several."""
    size, _ = _scale(picture)
    ends = [picture.least / size, picture.most / size]
    domain: dict[str, object] = {"domain": ends, "nice": drawn.plot.over.name != LATENCY}
    if drawn.plot.is_log and picture.least > 0:
        domain |= {"type": "log", "nice": True}
    y: dict[str, object] = {"field": "value", "type": "quantitative", "title": title, "scale": domain}
    # In a page a click on a name in the legend leaves this line alone.
    select: dict[str, object] = {"name": "chosen", "select": {"type": "point", "fields": ["line"]}, "bind": "legend"}
    chosen: list[dict[str, object]] = [] if places is None else [select]
    at: dict[str, object] = {"y": y}
    if places is not None:
        at["opacity"] = {"condition": {"param": "chosen", "value": 1}, "value": 0.1}
    is_curve = drawn.form is Form.CURVES
    intervals: dict[str, object] = {
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {
            "clip": True,
            **({"type": "area", "fillOpacity": 0.2} if is_curve else {"type": "rule", "strokeWidth": 2}),
        },
        "encoding": {**at, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
    }
    shown = [intervals] if has_intervals else []
    if has_bars(drawn) and not drawn.plot.is_log:
        bars: dict[str, object] = {
            "mark": {"type": "bar", "fillOpacity": 0.5, "clip": True},
            "encoding": at,
            "params": chosen,
        }
        return [bars, *shown]
    stroke: dict[str, object] = {"mark": {"type": "line", "clip": True}, "encoding": at}
    existing = places or {}
    scale = {"domain": [*existing], "range": [_SHAPES[place % len(_SHAPES)] for place in existing.values()]}
    marks = {"field": "line", "type": "nominal", "scale": scale}
    by = ", ".join(item.name for item in drawn.plot.by)
    shape: dict[str, object] = {} if places is None else {"shape": {**marks, "title": by}}
    dots: dict[str, object] = {
        "mark": {"type": "point", "filled": True, "size": 12 if is_curve else 60, "opacity": 1},
        "encoding": {**at, **shape},
        "params": chosen,
    }
    is_joined = drawn.form is not Form.POINTS and not has_bars(drawn)
    return [*shown, *([stroke] if is_joined else []), dots]


def _interval(low: float, high: float) -> dict[str, float]:
    return {"low": _rounded(low), "high": _rounded(high)}


def _rounded(value: float) -> float:
    """Five digits: no eye sees more, and a page has many."""
    return float(f"{value:.5g}")


def _places_beside(drawn: Drawn) -> Callable[[str, Cell], float] | None:
    """Where the points of a line are on the axis: beside those of the others; None where all are where they belong."""
    levels = _sorted([row[0] for row in drawn.rows])
    numbers = [level for level in levels if isinstance(level, int | float)]
    lines = {name: i for i, name in enumerate(_lines(drawn))}
    if drawn.form is not Form.LINES or len(lines) < 2 or len(numbers) < 2 or not _is_number(drawn.plot.over, levels):  # noqa: PLR2004
        return None
    is_log = is_logarithmic(levels)
    span = math.log2(numbers[-1] / numbers[0]) if is_log else numbers[-1] - numbers[0]

    def at(name: str, level: Cell) -> float:
        beside = _line_offset(lines[name], len(lines), span)
        place = float(level) if isinstance(level, int | float) else 0.0
        return _rounded(place * 2**beside if is_log else place + beside)

    return at


def _fields(
    drawn: Drawn, picture: Picture, by: str, title: str, shown: Sequence[Mapping[str, object]]
) -> dict[str, object]:
    """A field for each level of one factor and of another, in colours that are told apart without red and green."""
    over = drawn.plot.over
    levels = [_place(drawn, level) for level in _sorted([row[0] for row in drawn.rows])]
    axis = {"labelExpr": _labels(over, [row[0] for row in drawn.rows]), "labelAngle": 0, "labelOverlap": True}
    x: dict[str, object] = {"field": "over", "type": "ordinal", "title": over.name, "sort": levels, "axis": axis}
    y = {"field": "line", "type": "ordinal", "title": by, "sort": list(reversed(picture.lines))}
    colour = {"field": "value", "type": "quantitative", "title": title, "scale": {"scheme": "viridis", "zero": True}}
    legend = {"legend": {"orient": "bottom", "direction": "horizontal"}}
    fields: dict[str, object] = {"mark": "rect", "encoding": {"color": {**colour, **legend}}}
    layers = [fields]
    if over.paths and sum(map(len, picture.lines.values())) <= _MOST_NUMBERS:
        size, _ = _scale(picture)
        dark = {"test": f"datum.value > {_rounded(0.6 * picture.most / size)}", "value": "black"}
        number = {"field": "value", "type": "quantitative", "format": ",.3~r"}
        layers.append({"mark": "text", "encoding": {"text": number, "color": {"condition": dark, "value": "white"}}})
    return {"encoding": {"x": x, "y": y, "tooltip": shown}, "layer": layers}


def _place(drawn: Drawn, level: Cell) -> Cell:
    """Where a level is on its axis: a number, or how it is called."""
    over = drawn.plot.over
    if over.name == LATENCY and isinstance(level, float):
        return level / _LATENCY_UNIT[0]
    return level if _is_number(over, [level]) else wording.level(level, over.type)


def _x_axis(drawn: Drawn) -> dict[str, object]:
    """The axis of what it is over, the same for all levels of the facet."""
    over = drawn.plot.over
    levels = _sorted([row[0] for row in drawn.rows])
    places = [_place(drawn, level) for level in levels]
    axis: dict[str, object] = {"field": "over", "title": over.name}
    if not _is_number(over, levels):
        return {**axis, "type": "nominal", "sort": None, "scale": {"domain": places}, "axis": {"labelAngle": 0}}
    ends = {"domain": [places[0], places[-1]]} if len(places) > 1 else {}
    if over.name == LATENCY:
        title = f"{LATENCY}, {_LATENCY_UNIT[1]}"
        decades = {"values": _decades(places[0], places[-1])} if len(places) > 1 else {}
        return {**axis, "type": "quantitative", "title": title, "scale": {**ends, "type": "log"}, "axis": decades}
    if drawn.form in {Form.CURVES, Form.POINTS}:
        scale = {**ends, "zero": False, "padding": 10}
        return {**axis, "type": "quantitative", "scale": scale, "axis": {"tickMinStep": 1}}
    kind = {"type": "log", "base": 2} if is_logarithmic(levels) else {"type": "linear", "zero": False}
    ticks = {"values": levels, "labelExpr": _labels(over, levels)}
    return {**axis, "type": "quantitative", "scale": {**ends, **kind, "padding": 20}, "axis": ticks}


def _decades(least: Cell, most: Cell) -> list[float]:
    """The marks of a logarithmic axis: powers of ten, or also 2 and 5 times these if there are fewer than three."""
    if not isinstance(least, float) or not isinstance(most, float) or least <= 0:
        return []
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    by_steps = ([step * 10.0**power for power in powers for step in steps] for steps in ((1,), (1, 2, 5)))
    within = [
        [mark for mark in marks if least * (1 - _ROUNDING) <= mark <= most * (1 + _ROUNDING)] for marks in by_steps
    ]
    return within[0] if len(within[0]) > _FEWEST_DECADES else within[1]


def _labels(over: FactorRef, levels: Sequence[Cell]) -> str:
    """The labels of an axis, as an expression: numbers are levels as people write them."""
    if not _is_number(over, levels):
        return "datum.label"
    import orjson

    labels = orjson.dumps({str(level): wording.level(level, over.type) for level in levels}).decode()
    return f"{labels}[toString(datum.value)]"
