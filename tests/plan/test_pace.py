"""Estimate the remaining time of a run from the trials that have ended."""

from __future__ import annotations

import pytest

from zlang.plan.pace import Pace
from zlang.plan.plan import Footprint, Trial


def trial(
    number: int, point: str, whole_plot: int = 1, stated: float | None = None, host: str = "", setup: str = "s"
) -> Trial:
    footprint = None if stated is None else Footprint("", None, seconds=stated)
    return Trial(
        number, point, number, 1, {}, "", "", (setup,), (), (), host=host, whole_plot=whole_plot, footprint=footprint
    )


def test_before_a_trial_has_ended_nothing_is_known() -> None:
    assert Pace([trial(1, "a")]).seconds_left(3.0) is None


def test_a_point_takes_its_earlier_time_and_others_the_mean() -> None:
    trials = [trial(1, "a"), trial(2, "b"), trial(3, "a"), trial(4, "c")]
    pace = Pace(trials)
    pace.end(trials[0].place, 0.0, 2.0)
    pace.end(trials[1].place, 0.0, 10.0)
    assert pace.seconds_left(12.0) == pytest.approx(2 + 6)


def test_an_unmeasured_point_takes_its_stated_time_and_the_usual_overhead() -> None:
    trials = [trial(1, "a", stated=10.0), trial(2, "b", stated=60.0)]
    pace = Pace(trials)
    pace.end(trials[0].place, 0.0, 11.0)
    assert pace.seconds_left(11.0) == pytest.approx(61)


def test_setups_are_expected_before_the_first_trial_of_a_plot() -> None:
    trials = [trial(1, "a"), trial(2, "a"), trial(3, "b", 2), trial(4, "b", 2)]
    pace = Pace(trials)
    pace.end(trials[0].place, 30.0, 1.0)
    pace.end(trials[1].place, 0.0, 1.0)
    assert pace.seconds_left(32.0) == pytest.approx(30 + 2)


def test_setups_take_the_time_of_equal_ones() -> None:
    trials = [trial(number, "a", number, setup=setup) for number, setup in enumerate("xyxyz")]
    pace = Pace(trials)
    pace.end(trials[0].place, 5.0, 1.0)
    pace.end(trials[1].place, 60.0, 1.0)
    assert pace.seconds_left(67.0) == pytest.approx(5 + 60 + 65 / 2 + 3)


def test_dropped_trials_take_no_time() -> None:
    trials = [trial(1, "a"), trial(2, "a"), trial(3, "a")]
    pace = Pace(trials)
    pace.end(trials[0].place, 0.0, 5.0)
    for _ in range(2):  # the second time, it is not expected any more
        pace.drop(trials[1].place)
    assert pace.seconds_left(5.0) == pytest.approx(5)
    pace.end(trials[2].place, 0.0, 5.0)
    assert pace.seconds_left(10.0) == 0


def test_machines_that_work_at_the_same_time_need_less() -> None:
    trials = [trial(number, "a", host=host) for number, host in enumerate(["x", "y"] * 4)]
    pace = Pace(trials)
    for ended in trials[:4]:
        pace.end(ended.place, 0.0, 5.0)
    assert pace.seconds_left(10.0) == pytest.approx(10)
    assert pace.seconds_left(12.0, under_way=4.0) == pytest.approx(10)
