"""Test the content, not the appearance, of plots as text and as pictures."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zlang.check.questions import FactorRef, Measure, Plot, Term
from zlang.errors import RunError
from zlang.report import drawing, terminal, vega
from zlang.report.drawn import Drawn, Form
from zlang.report.summary import Cell, Estimate

BS, RW, DIRECT = (
    FactorRef("bs", ("r.bs",), "size"),
    FactorRef("rw", ("r.rw",), "word"),
    FactorRef("direct", ("r.direct",), "bool"),
)
NAMES = ("read", "\x1b[31mrand</text>read")


def drawn(over: FactorRef = BS, levels: tuple[Cell, ...] = (4096, 8192, 65536)) -> Drawn:
    """Draw a measure with intervals and one without, over some levels, by `rw`, for each of two values of `direct`."""
    measures = (Measure("read_bw", Term("median"), "rate"), Measure("max(elapsed)", Term("max"), "duration"))
    rows: list[tuple[Cell, ...]] = []
    for n, level in enumerate(levels, 1):
        for rw in NAMES:
            for direct in (False, True):
                bw = 2**20 * n * (10.0 if direct else 1.0)
                rows.append(
                    (level, rw, direct, Estimate(3, bw, bw * 0.9, bw * 1.1, "geomean"), Estimate(3, 0.001, None, None))
                )
    rows.append((levels[0], "neither", False, Estimate(0, None, None, None), Estimate(0, None, None, None)))
    text = "plot read_bw, max(elapsed) over bs by rw, facet direct"
    return Drawn(Plot(text, measures, over, (RW,), DIRECT), "A title", (over, RW, DIRECT), tuple(rows))


def text_of(plot: Drawn, *, is_coloured: bool = False) -> str:
    return terminal.draw(plot, 80, is_coloured=is_coloured)


@pytest.mark.parametrize(
    ("levels", "logarithmic"),
    [
        ((4096, 8192, 65536), True),
        ((1, 2), True),
        ((0.5, 1, 4), True),
        ((1, 2, 3), False),
        ((0, 1, 2), False),
        ((8,), False),
        (("a", "b"), False),
    ],
)
def test_powers_of_two_have_a_logarithmic_axis(levels: tuple[Cell, ...], *, logarithmic: bool) -> None:
    assert drawing.is_logarithmic(levels) == logarithmic
    scale = views(drawn(levels=levels))[0]["encoding"]["x"]["scale"]
    assert scale.get("type", "none") == ("log" if logarithmic else "none" if isinstance(levels[0], str) else "linear")


def test_a_picture_for_each_measure_and_level_of_the_facet() -> None:
    text = text_of(drawn())
    titles = re.findall(r"(read_bw|max\(elapsed\)): A title, direct = (\w+)", text)
    assert titles == [(measure, level) for measure in ("read_bw", "max(elapsed)") for level in ("off", "on")]
    assert re.search(r"4KiB +8KiB +64KiB", text)
    assert "MiB/s" in text
    assert "  ● read\n  ▲ \\x1b[31mrand</text>read\n" in text
    assert "\x1b[31m" not in text
    assert "neither" not in text


def test_a_measure_without_values_has_no_picture(tmp_path: Path) -> None:
    whole = drawn()
    nothing = replace(whole, rows=whole.rows[-1:])
    assert text_of(nothing) == f"{whole.plot.text}: no trial that counts has a value for this plot\n"
    assert drawing.pictures(nothing) == []
    with pytest.raises(RunError, match="there is nothing to draw"):
        vega.write([nothing], tmp_path / "a.json")
    vega.write([nothing, whole], tmp_path / "a.json")
    assert len(json.loads((tmp_path / "a.json").read_text())["vconcat"]) == len(drawing.pictures(whole))


def test_a_title_that_is_too_wide_is_not_lost() -> None:
    long = replace(drawn(), title="what do block sizes do " * 10)
    for picture in drawing.pictures(long):
        assert f"{picture.measure}: {picture.named(long.title)}" in text_of(long)


def test_colours_are_those_that_all_can_tell_apart() -> None:
    text = text_of(drawn(), is_coloured=True)
    assert all(f"38;2;{r};{g};{b}m" in text for r, g, b in drawing.COLOURS[:2])


@pytest.mark.parametrize(("over", "levels"), [(BS, (4096, 8192)), (RW, ("x", "y")), (DIRECT, (False, True))])
def test_any_factor_can_be_drawn_over(over: FactorRef, levels: tuple[Cell, ...], tmp_path: Path) -> None:
    assert text_of(drawn(over, levels)).count("┌") == 4
    vega.write([drawn(over, levels)], tmp_path / "plot.svg")
    svg = (tmp_path / "plot.svg").read_text("utf-8")
    assert svg.startswith("<svg")
    assert "rand&lt;/text&gt;read" in svg
    assert "<script" not in svg


def views(plot: Drawn) -> list[dict[str, Any]]:
    views_of_plot: list[dict[str, Any]] = json.loads(json.dumps(vega.specification([plot])))["vconcat"]
    return views_of_plot


def test_pictures_of_a_measure_share_their_axis_which_has_zero_on_it() -> None:
    axes = [view["layer"][-1]["encoding"]["y"] for view in views(drawn())]
    assert [axis["title"] for axis in axes] == ["read_bw, MiB/s (geomean, 95 %)"] * 2 + ["max(elapsed), ms"] * 2
    assert [axis["scale"]["domain"] for axis in axes] == [[0, pytest.approx(33)]] * 2 + [[0, 1]] * 2


def test_pictures_of_a_plot_share_their_axes_and_colours() -> None:
    plot = drawn()
    kept = tuple(row for row in plot.rows if row[2] or (row[1] == NAMES[1] and row[0] == 65536))
    every = views(replace(plot, rows=kept))
    ends = [view["encoding"]["x"]["scale"]["domain"] for view in every]
    assert ends == [[pytest.approx(4096, rel=0.05), pytest.approx(65536, rel=0.05)]] * 4
    domains = [view["encoding"]["color"]["scale"]["domain"] for view in every]
    assert domains == [domains[0]] * 4
    assert len(domains[0]) == 2


def test_levels_have_the_order_of_the_plot_that_has_all_of_them() -> None:
    plot = drawn()
    part = replace(plot, rows=tuple(row for row in plot.rows if row[1] == NAMES[1]))
    palette = drawing.Palette([part, plot])
    assert palette.places(part) == dict.fromkeys(drawing.lines_of(part), 1)
    assert [*palette.places(plot).values()] == [0, 1]


def test_a_factor_for_which_too_few_colours_are_left_begins_with_the_first() -> None:
    def by(name: str, levels: int) -> Drawn:
        plot = drawn()
        rows = tuple((4096, f"{name}{n}", False, *plot.rows[0][3:]) for n in range(levels))
        return replace(plot, plot=replace(plot.plot, by=(replace(RW, name=name, paths=(name,)),)), rows=rows)

    palette = drawing.Palette()
    places = [[*palette.places(by(name, levels)).values()] for name, levels in (("a", 3), ("b", 4), ("c", 2), ("a", 4))]
    assert places == [[0, 1, 2], [3, 4, 5, 6], [0, 1], [0, 1, 2, 3]]


def test_a_factor_has_its_colours_also_under_the_name_of_its_column() -> None:
    plot, palette = drawn(), drawing.Palette()
    other = replace(plot, plot=replace(plot.plot, by=(replace(RW, name="e_rw"),)))
    assert palette.places(plot) == palette.places(other)


def test_long_names_below_bars_are_whole() -> None:
    levels = ("ext4", "zfs, primarycache=metadata", "remote object store", "x")
    (view, *_) = views(drawn(RW, levels))
    labels = view["encoding"]["x"]["axis"]["labelExpr"]
    assert '"remote object store":["remote object","store"]' in labels
    assert '"zfs, primarycache=metadata":["zfs,","primarycache=","metadata"]' in labels
    many = views(drawn(RW, tuple(f"production-{n}" for n in range(10))))[0]["encoding"]["x"]["axis"]
    assert many == {"labelAngle": -35, "labelLimit": 220}


def test_points_beside_a_level_are_within_the_axis_and_far_from_the_next_level() -> None:
    many = tuple((level, f"l{n}", False, *drawn().rows[0][3:]) for level in (1, 76, 78, 79) for n in range(10))
    (view, *_) = views(replace(drawn(), rows=many))
    places = sorted(value["at"] for value in view["data"]["values"])
    least, most = view["encoding"]["x"]["scale"]["domain"]
    assert least <= places[0]
    assert places[-1] <= most
    assert sum(abs(place - 78) < 0.5 for place in places) == 10


@pytest.mark.parametrize(
    ("names", "columns"), [(("4KiB", "16KiB", "64KiB", "1MiB"), 4), (("ext4", "zfs, primarycache=metadata"), 2)]
)
def test_a_legend_has_as_many_columns_as_fit(names: tuple[str, ...], columns: int) -> None:
    plot = drawn()
    rows = tuple((*row[:1], name, *row[2:]) for name in names for row in plot.rows if row[1] == "read")
    assert views(replace(plot, rows=rows))[0]["encoding"]["color"]["legend"] == {"columns": columns}


def test_an_interval_that_is_far_longer_than_the_values_does_not_hide_them() -> None:
    plot = drawn(levels=(4096,))
    wide = tuple((*row[:3], Estimate(2, 10.0, 0.1, 1e6), row[4]) for row in plot.rows if row[1] == "read")
    (view, *_) = views(replace(plot, rows=wide))
    assert view["layer"][-1]["encoding"]["y"]["scale"]["domain"] == [0, 20]
    assert view["layer"][0]["mark"]["clip"]
    assert re.search(r"^ *20┤", text_of(replace(plot, rows=wide)), re.MULTILINE)


def test_a_question_ends_before_the_level_of_a_facet() -> None:
    question = replace(drawn(), title="How fast is it?")
    assert views(question)[0]["title"]["text"] == ["How fast is it? direct = off"]
    assert views(drawn())[0]["title"]["text"] == ["A title, direct = off"]


def test_a_long_title_in_a_picture_keeps_the_level_of_the_facet() -> None:
    (first, last) = views(replace(drawn(), title="Which file system reads fastest, and does it depend on the size?"))[
        0
    ]["title"]["text"]
    assert first.startswith("Which file system")
    assert last.endswith("direct = off")
    lines = views(replace(drawn(), title="what do block sizes do " * 100))[0]["title"]["text"]
    assert len(lines) == 4
    assert lines[-1].endswith("direct = off")


def test_cut_intervals_are_noted_in_the_picture() -> None:
    sentence = "intervals at the edge of the plot extend beyond it"
    plot = drawn(levels=(4096,))
    wide = tuple((*row[:3], Estimate(2, 10.0, 0.1, 1e6), row[4]) for row in plot.rows if row[1] == "read")
    assert sentence not in text_of(plot)
    assert f"  pooled over `fs`; {sentence}\n" in text_of(replace(plot, rows=wide, note="pooled over `fs`"))
    title = vega.specification([replace(plot, rows=wide)])["vconcat"][0]["title"]  # type: ignore[index]
    assert title["subtitle"][1:] == [sentence]
    narrow, cut = (views(each)[0]["layer"][-1]["encoding"]["y"]["scale"] for each in (plot, replace(plot, rows=wide)))
    assert (narrow["nice"], cut["nice"]) == (True, False), "the axis ends where the interval is cut"


def test_a_logarithmic_axis_holds_all_values_and_no_zero() -> None:
    plot = drawn()
    plot = replace(plot, plot=replace(plot.plot, is_log=True))
    axis = views(plot)[0]["layer"][-1]["encoding"]["y"]
    assert axis["scale"]["type"] == "log"
    least, most = axis["scale"]["domain"]
    assert 0.5 < least <= 0.9, "it ends near the values, not at the next power of ten"
    assert 33 <= most < 50
    marks = re.findall(r"^ *([\d.]+)┤", text_of(plot), re.MULTILINE)
    assert {"1", "2", "5", "10", "20"} <= set(marks)
    assert "0" not in marks


def test_a_logarithmic_axis_has_room_for_a_wide_interval() -> None:
    plot = drawn()
    wide = tuple((*row[:3], Estimate(2, 10.0, 0.5, 200.0), row[4]) for row in plot.rows)
    plot = replace(plot, plot=replace(plot.plot, is_log=True), rows=wide)
    least, most = views(plot)[0]["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    assert least <= 0.5
    assert most >= 200
    assert not drawing.caption(plot)


def test_a_short_logarithmic_axis_has_round_marks() -> None:
    plot = drawn(levels=(4096,))
    plot = replace(plot, plot=replace(plot.plot, is_log=True), rows=plot.rows[:1])
    marks = re.findall(r"^ *([\d.]+)┤", text_of(plot), re.MULTILINE)
    assert marks[:5] == ["1.1", "1.05", "1", "0.95", "0.9"]


def test_a_picture_in_a_file(tmp_path: Path) -> None:
    for name, start in (("a.png", b"\x89PNG"), ("a.json", b'{\n  "$schema"')):
        vega.write([drawn()], tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(RunError, match=r"cannot be written as `a\.gif`"):
        vega.write([drawn()], tmp_path / "a.gif")
    with pytest.raises(RunError, match="there is no directory"):
        vega.write([drawn()], tmp_path / "none" / "a.json")


def test_missing_plot_libraries_have_an_installation_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("plotext", "vl_convert"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(RunError) as raised:
        text_of(drawn())
    assert raised.value.hint == "pip install 'zlang[plots]'"
    with pytest.raises(RunError, match="the libraries that draw plots are not installed"):
        vega.write([drawn()], tmp_path / "a.svg")


@pytest.mark.parametrize(
    ("levels", "marks"),
    [
        ((2e-5, 0.3), [100, 1000, 10_000, 100_000]),
        ((2e-5, 1e-3), [20, 50, 100, 200, 500, 1000]),
        ((1e-4, 2e-4), [100, 200]),
    ],
)
def test_latencies_have_marks_at_round_numbers(levels: tuple[float, float], marks: list[float]) -> None:
    spec = vega.specification([replace(drawn(FactorRef("latency", (), "duration"), levels), form=Form.CURVES)])
    assert f'"values": {json.dumps([float(mark) for mark in marks])}' in json.dumps(spec)
