"""Plots in a terminal, drawn by plotext."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from zlang.report import drawing, wording
from zlang.report.drawing import COLOURS, LATENCY, Library, Picture
from zlang.report.drawn import EMPTY, Drawn, Form
from zlang.report.summary import Cell, Estimate
from zlang.text import visible

MARKS = "●▲■◆▼★✚"
_HEIGHT = 20
_SHADES = " ░▒▓█"
_WIDEST_FIELDS = 72
_MOST_MARKS = 12
_FEWEST_MARKS = 4
_MARGIN = 0.05
_MANY = 1000
_NEAR_MARK = 0.1
"""The part of the axis around the mark of an event in which it has no other."""


def draw(drawn: Drawn, width: int, *, is_coloured: bool) -> str:
    """Draw the pictures one above the other. Raises RunError if plotext is not installed."""
    if not drawn.has_values:
        return f"{visible(drawn.plot.text)}: {EMPTY}\n"
    plotext = drawing.load_library("plotext")
    return "\n".join(
        _picture(plotext, drawn, picture, width, is_coloured=is_coloured) for picture in drawing.pictures(drawn)
    )


@dataclass(frozen=True, slots=True)
class _UpAxis:
    """The axis of the measure: its ends, the size of its unit in that of the values, and whether it is logarithmic."""

    least: float
    most: float
    size: float
    is_log: bool

    def place(self, value: float) -> float:
        """The place of a value on the axis; a value beyond an end is at that end."""
        kept = min(max(value, self.least), self.most) / self.size
        return math.log10(kept) if self.is_log else kept

    def marks(self) -> list[float]:
        """Round numbers within the axis, in the unit of the axis."""
        return (_log_marks if self.is_log else _linear_marks)(self.least / self.size, self.most / self.size)


def _picture(plotext: Library, drawn: Drawn, picture: Picture, width: int, *, is_coloured: bool) -> str:
    if drawn.form is Form.FIELDS:
        return _fields(drawn, picture)
    places = _places(drawn)
    first, last = min(places.values(), default=0.0), max(places.values(), default=0.0)
    span = last - first or 1.0
    size, unit = _step(picture)
    up = _UpAxis(picture.least, picture.most, size, is_log=drawn.plot.is_log and picture.least > 0)
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")  # the terminal's own background
    figure.plot_size(width, _HEIGHT)
    figure.legend(active=False)  # it would cover what is drawn there
    names = []
    every = {name: i for i, name in enumerate(drawing.lines_of(drawn))}
    beside = drawing.line_offsets(len(every), sorted(places.values()) if drawn.form is Form.LINES else ())
    for name, line in picture.lines.items():
        i = every[name]
        colour = COLOURS[i % len(COLOURS)] if is_coloured else None
        mark = MARKS[i % len(MARKS)]
        points = [(places[level] + beside[i], result) for level, result in line]
        form = Form.POINTS if drawing.has_bars(drawn) else drawn.form
        _draw_line(plotext, points, up.place, (mark, colour), form)
        line_shown = f"{mark} {name}"
        names += [str(plotext.colorize(line_shown, colour).string() if colour else line_shown)] if name else []
    title = f"{picture.measure}: {picture.named(picture.title)}"
    figure.title(title)
    figure.label(drawn.plot.over.name, "x")
    figure.label(unit, "y")
    marked = _marks_with_events(drawn, picture, places, span * _NEAR_MARK)
    figure.ruler("x").ticks([place for place, _ in marked], [label for _, label in marked])
    margin = max(_MARGIN * span, 2 * max(beside, default=0.0))
    figure.ruler("x").lim(first - margin, last + margin)
    marks = up.marks()
    figure.ruler("y").lim(up.place(up.least), up.place(up.most))
    figure.ruler("y").ticks([math.log10(n) if up.is_log else n for n in marks], [f"{n:,.10g}" for n in marks])
    text: str = figure.build().string(not is_coloured)
    above = "" if title in text else f"{title}\n"  # plotext omits text that is wider than the picture
    note = drawing.caption(drawn)
    below = [*names, *([note] if note else [])]
    return above + text.rstrip("\n") + "\n" + "".join(f"  {line}\n" for line in below)


def _places(drawn: Drawn) -> dict[Cell, float]:
    """The place of each level on the axis."""
    levels = list(dict.fromkeys(row[0] for row in drawn.rows))
    if not drawing.is_number(drawn.plot.over, levels):
        return {level: float(i) for i, level in enumerate(levels)}
    scale = math.log2 if _is_log_axis(drawn, levels) else float
    return {level: scale(level) for level in levels if isinstance(level, int | float)}


def _marks_with_events(
    drawn: Drawn, picture: Picture, places: Mapping[Cell, float], near: float
) -> list[tuple[float, str]]:
    """The marks of the axis and of events; marks of the axis near an event are omitted."""
    marks = _axis_marks(drawn, sorted(places.values()), places)
    kept = [mark for mark in marks if all(abs(mark[0] - second) > near for second, _ in picture.marks)]
    return [*kept, *((second, f"▲{visible(name)}") for second, name in picture.marks)]


def _log_marks(least: float, most: float) -> list[float]:
    """1, 2 and 5 times the powers of ten within an axis; the marks of a linear axis if there are fewer than two."""
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    marks = [step * 10.0**power for power in powers for step in (1, 2, 5) if least <= step * 10.0**power <= most]
    return marks if len(marks) > 1 else _linear_marks(least, most)


def _linear_marks(least: float, most: float) -> list[float]:
    """Four to ten multiples of 1, 2 or 5 times a power of ten within an axis, or its ends if it has no length."""
    part = (most - least) / _FEWEST_MARKS
    if part <= 0:
        return [least]
    power = 10.0 ** math.floor(math.log10(part))
    step = max(step for step in (1, 2, 5) if step * power <= part) * power
    return [round(i * step, 12) for i in range(math.ceil(least / step), math.floor(most / step) + 1)]


def _is_log_axis(drawn: Drawn, levels: Sequence[Cell]) -> bool:
    return drawn.plot.over.name == LATENCY or (drawn.form is not Form.POINTS and drawing.is_logarithmic(levels))


def _axis_marks(drawn: Drawn, ends: Sequence[float], places: Mapping[Cell, float]) -> list[tuple[float, str]]:
    """The marks of an axis: all levels, or some of them if there are many; powers of ten for latencies."""
    over = drawn.plot.over
    if over.name == LATENCY and ends:
        tens = [10.0**n for n in range(-9, 4)]
        return [(math.log2(ten), drawing.on_axis(over, ten)) for ten in tens if ends[0] <= math.log2(ten) <= ends[-1]]
    levels = sorted(places, key=places.__getitem__)
    return [
        (places[level], drawing.on_axis(over, level)) for level in levels[:: math.ceil(len(levels) / _MOST_MARKS) or 1]
    ]


def _fields(drawn: Drawn, picture: Picture) -> str:
    """A heat map with a row for each line, the highest first; darker fields have larger values."""
    over = drawn.plot.over
    levels = drawing.sorted_levels([row[0] for row in drawn.rows])
    by = " × ".join(item.name for item in drawn.plot.by)
    wide = max(1, min(8, _WIDEST_FIELDS // max(1, len(levels))))
    if over.paths:
        words_shown = [
            wording.measured(each_one.value or 0.0, picture.unit)
            for line in picture.lines.values()
            for _, each_one in line
        ]
        wide = 2 + max(map(len, [*words_shown, *(drawing.on_axis(over, level) for level in levels)]), default=0)
    names = list(picture.lines)
    margin = max(map(len, names), default=0)
    text = f"{picture.measure}: {picture.named(picture.title)}\n"
    for name in reversed(names):
        existing = dict(picture.lines[name])
        cells = [existing.get(level) for level in levels]
        if over.paths:  # a factor has few enough levels to print numbers
            shown = [wording.measured(each_one.value or 0.0, picture.unit) if each_one else "" for each_one in cells]
            text += f"{name:>{margin}} │{'│'.join(f' {each_one:>{wide - 2}} ' for each_one in shown)}│\n"
            continue
        shades = [_shade(each_one, picture.most) if each_one else " " for each_one in cells]
        text += f"{name:>{margin}} │{''.join(shade * wide for shade in shades)}│\n"
    if over.paths:
        marks = "".join(f" {drawing.on_axis(over, level):^{wide}}" for level in levels)
        return f"{text}{'':>{margin}} {marks}\n{'':>{margin}}  {over.name} (across), {by} (up)\n"
    most = wording.measured(picture.most, picture.unit)
    ends = (
        " … ".join(dict.fromkeys(drawing.on_axis(over, level) for level in (levels[0], levels[-1]))) if levels else ""
    )
    return f"{text}{'':>{margin}}  {over.name} {ends} (across), {by} (up); {_SHADES[-1]} is {most}\n"


def _shade(estimate: Estimate, most: float) -> str:
    part = (estimate.value or 0.0) / most if most else 0.0
    return _SHADES[min(len(_SHADES) - 1, math.ceil(part * (len(_SHADES) - 1)))]


def _step(picture: Picture) -> tuple[float, str]:
    """As `drawing.scale`, but values without a larger unit are counted in thousands."""
    size, name = drawing.scale(picture)
    return (size, name) if size != 1 or picture.most < _MANY else (1000.0, f"thousand {name}".rstrip())


def _draw_line(
    plotext: Library,
    points: list[tuple[float, Estimate]],
    upwards: Callable[[float], float],
    mark: tuple[str, tuple[int, int, int] | None],
    form: Form,
) -> None:
    figure = plotext.figure
    stroke = plotext.marker("hd", mark[1])
    at = [place for place, _ in points]
    medians = [upwards(point.value or 0.0) for _, point in points]
    if form is not Form.POINTS:
        figure.draw(figure.signal(at, medians, marker=stroke).lines())
    # A few of a curve's many intervals are enough to show their width.
    every = math.ceil(len(points) / _MOST_MARKS) if form is Form.CURVES else 1
    for place, point in points[::every]:
        if point.low is not None and point.high is not None:
            figure.draw(figure.segment([place, place], [upwards(point.low), upwards(point.high)], marker=stroke))
    figure.draw(figure.signal(at[::every], medians[::every], marker=plotext.marker(*mark)))
