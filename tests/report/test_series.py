"""Compare plots that are not over a factor with results computed by hand from the same trials."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import orjson
import pytest
from run_folders import RunBuilder, factor

from zlang.diagnostics import ProgramError
from zlang.errors import RunError
from zlang.report import answers, known_runs, series, terminal, vega
from zlang.report.drawn import Drawn, Form
from zlang.report.formulas import Trials
from zlang.report.summary import Cell, Estimate
from zlang.store.ingest import ingest

pytestmark = pytest.mark.usefixtures("judged_by_print")

# Latencies in nanoseconds and numbers of operations, by block size and replicate.
BINS = {
    (4096, 1): {1000: 50, 3000: 50},
    (4096, 2): {1000: 150, 5000: 50},
    (65536, 1): {9000: 10},
    (65536, 2): {9000: 5, 70000: 5},
}


def trials(tmp_path: Path, sampled: int | None = None, seconds: tuple[float, float] = (0, 0.2)) -> Trials:
    """Create two replicates of two block sizes at two depths; depth doubles the rate, block size divides it by 5."""
    run = RunBuilder(tmp_path / "runs" / "r", experiment="e", factors=(factor("bs", "size"), factor("depth", "count")))
    for replicate, depth, bs in itertools.product((1, 2), (1, 2), (4096, 65536)):
        iops = 100.0 * depth / (5 if bs == 65536 else 1) * (1.1 if replicate == 1 else 1 / 1.1)
        bins = {str(ns): count for ns, count in BINS[bs, replicate].items()} if depth == 1 else {}
        begun = run.clock + 2.0  # when the measurement begins, after the steps before it
        samples = [[begun + second + 0.25, "vda", "vmstat_us", 10.0 * replicate] for second in seconds]
        samples = samples if sampled in {None, bs} else []
        printed = {"metrics": {"read_iops": iops, "vmstat_us": 1.0}, "latency": [["read_clat", bins]] if bins else []}
        output = orjson.dumps({**printed, "samples": samples})
        run.measured(f"p{bs}{depth}", replicate, {"bs": bs, "depth": depth}, output)
    run.done()
    ingest(tmp_path / "runs", tmp_path / "db")
    return known_runs.trials_of(tmp_path / "db", None)


def figures(drawn: Drawn) -> list[tuple[Cell, ...]]:
    """Return the rows, with each estimate replaced by its central value."""
    return [tuple(round(c.value or 0, 6) if isinstance(c, Estimate) else c for c in row) for row in drawn.rows]


def test_over_latencies_all_operations_are_counted_and_the_interval_is_over_trials(tmp_path: Path) -> None:
    (drawn,) = answers.new_plots(trials(tmp_path), "read_clat over latency by bs")
    assert drawn.note == "pooled over `depth`"
    small = [row for row in figures(drawn) if row[1] == 4096]
    # 200 of 300 took a microsecond, 250 no more than three.
    assert small == [(1e-6, 4096, round(200 / 3, 6)), (3e-6, 4096, round(250 / 3, 6)), (5e-6, 4096, 100.0)]
    (first, *_) = [row[2] for row in drawn.rows if row[1] == 4096]
    assert isinstance(first, Estimate)
    assert first.low is not None
    assert first.low < 50
    assert (first.high or 0) > 75


def test_over_the_run_a_distribution_is_a_histogram_of_each_trial(tmp_path: Path) -> None:
    (drawn,) = answers.new_plots(trials(tmp_path), "read_clat over position")
    assert drawn.form is Form.FIELDS
    of_first = [row for row in figures(drawn) if row[0] == 1]
    assert of_first == [(1, 1024e-9, 50.0), (1, 4096e-9, 50.0)]


def test_a_plot_over_position_has_a_value_for_each_trial(tmp_path: Path) -> None:
    (drawn,) = answers.new_plots(trials(tmp_path), "read_iops over position by bs")
    assert drawn.form is Form.POINTS
    assert sorted(figures(drawn))[:3] == [(1, 4096, 110.0), (2, 65536, 22.0), (3, 4096, 220.0)]


def test_main_effects_are_means_over_all_other_combinations_on_one_axis(tmp_path: Path) -> None:
    bs, depth = answers.new_plots(trials(tmp_path), "read_iops over factors")
    assert figures(bs) == [(4096, round(100 * math.sqrt(2), 6)), (65536, round(20 * math.sqrt(2), 6))]
    assert figures(depth) == [(1, round(100 / math.sqrt(5), 6)), (2, round(200 / math.sqrt(5), 6))]
    assert bs.ends == depth.ends
    assert all(isinstance(row[1], Estimate) and row[1].low is not None for row in bs.rows)


def test_main_effects_on_a_share_are_in_percent(tmp_path: Path) -> None:
    for drawn in answers.new_plots(trials(tmp_path), "vmstat_us over factors"):
        assert {share for _, share in figures(drawn)} == {1.0}


def test_a_plot_over_second_has_the_samples(tmp_path: Path) -> None:
    (drawn,) = answers.new_plots(trials(tmp_path), "vmstat_us over second by bs")
    assert figures(drawn) == [(0.0, 4096, 14.142136), (0.0, 65536, 14.142136)]
    assert [row[2].n for row in drawn.rows if isinstance(row[2], Estimate)] == [4, 4]
    assert drawn.note == "pooled over `depth`; all samples are of one second"
    assert drawn.form is Form.LINES
    vega.write([drawn], tmp_path / "a.svg")
    assert ">0s<" in (tmp_path / "a.svg").read_text("utf-8")

    with pytest.raises(RunError, match="there is nothing to draw"):
        answers.new_plots(trials(tmp_path / "other"), "elapsed over second")


def test_over_seconds_trials_without_samples_are_counted(tmp_path: Path) -> None:
    (drawn,) = answers.new_plots(
        trials(tmp_path, sampled=4096, seconds=(0, 1)), "vmstat_us over second by bs, facet depth"
    )
    assert {row[1] for row in drawn.rows} == {4096}
    assert drawn.note == "4 of 8 trials have no samples of vmstat_us"


@pytest.mark.parametrize(
    "text",
    [
        "read_clat over latency by bs, facet depth",
        "read_clat over position",
        "read_iops over position",
        "read_iops over factors",
        "vmstat_us over second",
    ],
)
def test_series_are_drawn_in_every_format(text: str, tmp_path: Path) -> None:
    every = answers.new_plots(trials(tmp_path), text)
    for plot in every:
        assert plot.plot.measures[0].name in terminal.draw(plot, 80, is_coloured=False)
    vega.write(every, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text("utf-8").startswith("<svg")


def test_a_heat_map_is_of_two_factors(tmp_path: Path) -> None:
    measured = trials(tmp_path)
    (drawn,) = answers.fields(answers.new_plots(measured, "read_iops over bs by depth"))
    text = terminal.draw(drawn, 80, is_coloured=False)
    assert [line.replace(" ", "") for line in text.splitlines()[1:3]] == ["2│200│40│", "1│100│20│"], text
    with pytest.raises(RunError, match="a heat map needs two factors"):
        answers.fields(answers.new_plots(measured, "read_iops over bs"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("read_iops over latency", "`over latency` takes a distribution such as `read_clat`"),
        ("max(read_iops) over factors", "`over factors` takes one metric by its name, not `max(read_iops)`"),
        ("read_clat over second", "`over second` takes one metric by its name, not `read_clat`"),
        ("read_iop over factors", "unknown name `read_iop`"),
        ("read_iops over seconds", "`seconds` is not a factor of this experiment"),
    ],
)
def test_impossible_plots_are_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ProgramError) as raised:
        answers.new_plots(trials(tmp_path), text)
    assert message in raised.value.diagnostic.message


def test_a_curve_has_points_in_the_tail() -> None:
    """A band over trials can change most where the distribution of all operations hardly does."""
    bins = [(1000, 990), *((round(1000 * 1.1**n), 1) for n in range(1, 50))]
    places = list(series._curve(bins))
    assert places[0] == 1000
    assert all(later <= 1.4 * ns for ns, later in itertools.pairwise(places)), places
    assert len(places) < 40


def test_a_band_of_latencies_contains_its_curve() -> None:
    """One trial with many operations pulls the curve away from the middle of the trials."""
    for share in (5.0, 50.0, 95.0):
        band = series.around(share, [40.0, 45.0, 50.0, 55.0, 60.0])
        assert band.low == pytest.approx(min(40.2, share), abs=0.1)
        assert band.value == share
        assert band.high == pytest.approx(max(59.8, share), abs=0.1)


def test_a_band_of_latencies_begins_where_the_first_trial_has_operations() -> None:
    """A share of zero has no logarithm, but an interval; shares are at least 0 and at most 100 %."""
    band = series.around(5.0, [0.0, 0.0, 15.0])
    assert band.low == 0.0
    assert band.high == pytest.approx(26.5, abs=0.1)
    assert series.around(99.0, [97.0, 100.0, 100.0]).high == 100.0
