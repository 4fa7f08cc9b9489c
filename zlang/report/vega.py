"""Plots in a file or a page: specifications of Vega-Lite, which vl-convert draws."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from zlang import units
from zlang.check.questions import FactorRef
from zlang.errors import RunError, unwritable
from zlang.files import replace_file, user_directory, write_output
from zlang.report import drawing, wording
from zlang.report.drawing import COLOURS, LATENCY, Palette, Picture
from zlang.report.drawn import EMPTY, Drawn, Form
from zlang.report.summary import Cell
from zlang.text import visible

_SHAPES = ("circle", "triangle-up", "square", "diamond", "triangle-down", "triangle-right", "cross")
ENDINGS = (".png", ".svg", ".json")
_ALONE = "#64748b"
"""The colour of a line that is alone: that of no level."""
_MOST_NUMBERS = 120
"""Fields of a heat map that have room for numbers."""
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_LATENCY_UNIT = "us"
_SECONDS = float(units.parse(f"1{_LATENCY_UNIT}").amount)
_LONGEST = 160
_WIDTH = 480
_TITLE, _SUBTITLE = 62, 75
"""Characters in a line of a title, and of a subtitle, as wide as a picture."""
_MOST_LINES = 4
"""The most lines of a title; a longer one has its first lines and its last one, which names the level of the facet."""
_CONFIG = {
    "axis": {"labelLimit": 140, "titleLimit": 280, "labelFontSize": 11, "titleFontSize": 12},
    "axisY": {"minExtent": 56},
    "legend": {"labelLimit": 280, "titleLimit": 280, "labelFontSize": 11, "orient": "bottom"},
    "title": {"limit": _WIDTH, "subtitleLimit": _WIDTH},
}
"""Names may be long: they are cut with `…`."""
_LEGEND, _LEGEND_OF_PHONE = 420, 300
"""The width of a legend in pixels, and on a phone."""
_SYMBOL, _LETTER = 30, 6.5
"""The width of a symbol of a legend with its margin, and of a letter."""
_AXIS = 55
"""The number of letters that fit below a picture of half the width of a page."""
_SHORT = 6
"""The number of letters that always fit below a bar."""
_APART = {"scale": {"color": "independent", "shape": "independent"}}
"""Independent scales for plots that are stacked."""
_FEWEST_DECADES = 2
_BESIDE = 0.04
"""The part of a logarithmic axis beyond its values on each side."""
_ROUNDING = 1e-9
_EVENT = "#666666"


def write(every: Sequence[Drawn], path: Path) -> None:
    """Write all plots to one file: PNG, SVG, or the Vega-Lite specification as JSON. Raises RunError."""
    every = [drawn for drawn in every if drawn.has_values]
    if not every:
        raise RunError("there is nothing to draw", EMPTY)
    if path.suffix not in ENDINGS:
        hint = f"use a name that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise RunError(f"a plot cannot be written as `{path.name}`", hint)
    spec = specification(every)
    if path.suffix == ".json":
        import orjson

        data = orjson.dumps(spec, option=orjson.OPT_INDENT_2)
    else:
        convert = drawing.load_library("vl_convert")
        data = (
            convert.vegalite_to_svg(spec).encode() if path.suffix == ".svg" else convert.vegalite_to_png(spec, scale=2)
        )
    try:
        write_output(path, data)
    except OSError as error:
        raise unwritable(path, error) from None


def specification(every: Sequence[Drawn]) -> dict[str, object]:
    """A Vega-Lite specification of all plots, one below the other."""
    views = []
    palette = Palette(every)
    for drawn in every:
        note = drawing.caption(drawn)
        for picture in drawing.pictures(drawn):
            title = {
                "text": _title_lines(picture.named(picture.title)),
                "subtitle": [
                    *textwrap.wrap(drawn.plot.text, _SUBTITLE),
                    *textwrap.wrap(note.replace("`", ""), _SUBTITLE),
                ],
                "anchor": "start",
            }
            views.append({"title": title, "width": _WIDTH, **_view(drawn, picture, palette)})
    return _with_short_texts(
        {"$schema": _SCHEMA, "background": "white", "config": _CONFIG, "vconcat": views, "resolve": _APART}
    )


def _title_lines(title: str) -> list[str]:
    lines = textwrap.wrap(title, _TITLE)
    return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], f"… {lines[-1]}"]


def alone(drawn: Drawn, picture: Picture, palette: Palette) -> dict[str, object]:
    """A specification of one picture without a title, as wide as its container."""
    return _with_short_texts(
        {"$schema": _SCHEMA, "width": "container", "config": _CONFIG, **_view(drawn, picture, palette)}
    )


def _with_short_texts(spec: dict[str, object]) -> dict[str, object]:
    """Shorten long texts in a specification, which would exhaust memory when drawn, but keep them distinct."""
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
    """Draw a specification as SVG. Raises RunError."""
    result: str = drawing.load_library("vl_convert").vegalite_to_svg({**spec, "width": _WIDTH, "background": "white"})
    return result


def library() -> str:
    """The JavaScript that draws specifications in a page; it defines a function `vegaEmbed`. Raises RunError.

    It takes a second to make, so it is kept in the user's cache, by the version of the library that made it.
    """
    convert = drawing.load_library("vl_convert")
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
    size, unit = drawing.scale(picture)
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
    has_intervals = drawn.form is not Form.FIELDS and any(result.low is not None for _, _, result in points)
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
    line = {"field": "line", "type": "nominal", "title": by, "legend": {"columns": _columns(list(places))}}
    colours = [COLOURS[place % len(COLOURS)] for place in places.values()]
    scale = {"domain": [*places], "range": [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in colours]}
    colour: dict[str, object] = {**line, "scale": scale} if by else {"value": _ALONE}
    offset = (
        {"xOffset": {"field": "line", "scale": {"domain": [*places]}, "bandPosition": 0.5}}
        if by and drawing.has_bars(drawn)
        else {}
    )
    own = {"encoding": {"x": x, **offset, "color": colour, "tooltip": shown}, "layer": layers}
    if not picture.marks:
        return {**common, **own}
    return {**common, "layer": [own, *_event_layers(picture, x)]}


def _event_layers(picture: Picture, x: Mapping[str, object]) -> list[dict[str, object]]:
    """A line at the start of each event, with its name."""
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
    """Intervals, lines or bars, and points; `places` are the places of the lines, if there are several."""
    size, _ = drawing.scale(picture)
    ends = [picture.least / size, picture.most / size]
    # A longer axis would show all of an interval that the caption calls cut off.
    is_cut = drawing.is_cut(picture)
    domain: dict[str, object] = {"domain": ends, "nice": drawn.plot.over.name != LATENCY and not is_cut}
    if drawn.plot.is_log and picture.least > 0:
        beside = 1 if is_cut else (picture.most / picture.least) ** _BESIDE
        domain = {"type": "log", "nice": False, "domain": [ends[0] / beside, ends[1] * beside]}
    y: dict[str, object] = {"field": "value", "type": "quantitative", "title": title, "scale": domain}
    # In a page, a click on a name in the legend shows only this line.
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
    if drawing.has_bars(drawn) and not drawn.plot.is_log:
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
    legend = {"legend": {"columns": _columns(list(existing))}}
    shape: dict[str, object] = {} if places is None else {"shape": {**marks, "title": by, **legend}}
    dots: dict[str, object] = {
        "mark": {"type": "point", "filled": True, "size": 12 if is_curve else 60, "opacity": 1},
        "encoding": {**at, **shape},
        "params": chosen,
    }
    is_joined = drawn.form is not Form.POINTS and not drawing.has_bars(drawn)
    return [*shown, *([stroke] if is_joined else []), dots]


def _interval(low: float, high: float) -> dict[str, float]:
    return {"low": _rounded(low), "high": _rounded(high)}


def _rounded(value: float) -> float:
    """Round to five digits: more cannot be seen, and a page has many numbers."""
    return float(f"{value:.5g}")


def _places_beside(drawn: Drawn) -> Callable[[str, Cell], float] | None:
    """A function that shifts the points of a line sideways from those of other lines; None if none are shifted."""
    offsets = _offsets(drawn)
    is_log = drawing.is_logarithmic([row[0] for row in drawn.rows])
    return (lambda name, level: _rounded(_moved(level, offsets[name], is_log=is_log))) if offsets else None


def _offsets(drawn: Drawn) -> dict[str, float]:
    """The distance of each line from the middle of all, in powers of two on a logarithmic axis; empty if it is zero."""
    levels = drawing.sorted_levels([row[0] for row in drawn.rows])
    lines = drawing.lines_of(drawn)
    if drawn.form is not Form.LINES or len(lines) < 2 or not drawing.is_number(drawn.plot.over, levels):  # noqa: PLR2004
        return {}
    place_of = math.log2 if drawing.is_logarithmic(levels) else float
    places = [place_of(level) for level in levels if isinstance(level, int | float)]
    return dict(zip(lines, drawing.line_offsets(len(lines), places), strict=True)) if len(places) > 1 else {}


def _moved(level: Cell, beside: float, *, is_log: bool) -> float:
    """A place on the axis beside a level."""
    place = float(level) if isinstance(level, int | float) else 0.0
    return place * 2**beside if is_log else place + beside


def _fields(
    drawn: Drawn, picture: Picture, by: str, title: str, shown: Sequence[Mapping[str, object]]
) -> dict[str, object]:
    """A heat map of two factors, in colours that do not require telling red from green."""
    over = drawn.plot.over
    levels = [_place(drawn, level) for level in drawing.sorted_levels([row[0] for row in drawn.rows])]
    axis = {"labelExpr": _labels(over, [row[0] for row in drawn.rows]), "labelAngle": 0, "labelOverlap": True}
    x: dict[str, object] = {"field": "over", "type": "ordinal", "title": over.name, "sort": levels, "axis": axis}
    y = {"field": "line", "type": "ordinal", "title": by, "sort": list(reversed(picture.lines))}
    colour = {"field": "value", "type": "quantitative", "title": title, "scale": {"scheme": "viridis", "zero": True}}
    legend = {"legend": {"orient": "bottom", "direction": "horizontal"}}
    fields: dict[str, object] = {"mark": "rect", "encoding": {"color": {**colour, **legend}}}
    layers = [fields]
    if over.paths and sum(map(len, picture.lines.values())) <= _MOST_NUMBERS:
        size, _ = drawing.scale(picture)
        dark = {"test": f"datum.value > {_rounded(0.6 * picture.most / size)}", "value": "black"}
        number = {"field": "value", "type": "quantitative", "format": ",.3~r"}
        layers.append({"mark": "text", "encoding": {"text": number, "color": {"condition": dark, "value": "white"}}})
    return {"encoding": {"x": x, "y": y, "tooltip": shown}, "layer": layers}


def _place(drawn: Drawn, level: Cell) -> Cell:
    """The place of a level on its axis: a number or a name."""
    over = drawn.plot.over
    if over.name == LATENCY and isinstance(level, float):
        return level / _SECONDS
    return level if drawing.is_number(over, [level]) else wording.level(level, over.type)


def _x_axis(drawn: Drawn) -> dict[str, object]:
    """The horizontal axis, the same for all levels of the facet."""
    over = drawn.plot.over
    levels = drawing.sorted_levels([row[0] for row in drawn.rows])
    places = [_place(drawn, level) for level in levels]
    axis: dict[str, object] = {"field": "over", "title": over.name}
    if not drawing.is_number(over, levels):
        labels = _labels_below_bars([visible(str(place)) for place in places])
        return {**axis, "type": "nominal", "sort": None, "scale": {"domain": places}, "axis": labels}
    ends = {"domain": [places[0], places[-1]]} if len(places) > 1 else {}
    if over.name == LATENCY:
        title = f"{LATENCY}, {_LATENCY_UNIT}"
        decades = {"values": _decades(places[0], places[-1])} if len(places) > 1 else {}
        return {**axis, "type": "quantitative", "title": title, "scale": {**ends, "type": "log"}, "axis": decades}
    if drawn.form in {Form.CURVES, Form.POINTS}:
        scale = {**ends, "zero": False, "padding": 10}
        return {**axis, "type": "quantitative", "scale": scale, "axis": {"tickMinStep": 1}}
    is_log = drawing.is_logarithmic(levels)
    kind = {"type": "log", "base": 2} if is_log else {"type": "linear", "zero": False}
    beside = max(_offsets(drawn).values(), default=0.0)
    ends = {"domain": [_moved(levels[n], m, is_log=is_log) for n, m in ((0, -beside), (-1, beside))]} if ends else {}
    ticks = {"values": levels, "labelExpr": _labels(over, levels), "labelOverlap": "greedy", "labelSeparation": 6}
    return {**axis, "type": "quantitative", "scale": {**ends, **kind, "padding": 20}, "axis": ticks}


def _columns(names: Sequence[str]) -> int:
    """The columns of a legend: at least three on a phone, where names may be cut, and no more than fit in a picture."""
    width = _SYMBOL + _LETTER * max(map(len, names), default=1)
    return max(1, min(max(3, int(_LEGEND_OF_PHONE / width)), int(_LEGEND / width)))


def _labels_below_bars(names: Sequence[str]) -> dict[str, object]:
    """The labels of an axis of words: in lines as wide as a bar, or aslant if a word is wider."""
    import orjson

    room = _AXIS // len(names)
    lines = {name: _in_lines(name, max(_SHORT, room)) for name in names}
    if max(len(line) for several in lines.values() for line in several) > max(_SHORT, room):
        return {"labelAngle": -35, "labelLimit": 220}
    return {"labelAngle": 0, "labelExpr": f"{orjson.dumps(lines).decode()}[datum.label] || datum.label"}


def _in_lines(name: str, width: int) -> list[str]:
    """A name in lines, broken at spaces, hyphens and after `=`."""
    parts = re.sub(r"=(?=\S)", "=\t ", name)
    wrapped = textwrap.wrap(parts, width, break_long_words=False, expand_tabs=False, replace_whitespace=False)
    return [line.replace("\t ", "").replace("\t", "") for line in wrapped] or [name]


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
    """The expression for the labels of an axis, in which numbers are shown as levels for people."""
    if not drawing.is_number(over, levels):
        return "datum.label"
    import orjson

    places, labels = (orjson.dumps(items).decode() for items in (levels, [wording.level(x, over.type) for x in levels]))
    return f"{labels}[indexof({places}, datum.value)]"
