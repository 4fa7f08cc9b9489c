"""Test `layout = keep(N)`: the order of the passes, what each trial finds, and what it is recognised by."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from zlang.check.check import Overrides
from zlang.errors import RunError
from zlang.pipeline import costs, plans, programs
from zlang.plan.order import Order
from zlang.plan.plan import Trial
from zlang.plan.state import Make, Walk
from zlang.source import Source

PROGRAM = """
import fio
dir here { path = "." }
file data on here { size = 1MiB | 2MiB }
fio load { rw = RW  bs = 4KiB | 8KiB }
experiment e { on = data  run = load  repeat = 3  LAYOUT }
"""
KEPT = "layout = keep(4)"


def planned(order: str = "planned", rw: str = "randwrite | read", layout: str = KEPT, seed: int = 1) -> plans.Planned:
    text = PROGRAM.replace("RW", rw).replace("LAYOUT", layout)
    checked = programs.check(Source("program.zexp", text), Overrides())
    return plans.plan(checked, programs.choose(checked, None), seed, Overrides(), order=order)


def trials_of(plan: plans.Planned) -> list[Trial]:
    return [item for item in plan.plan.items() if isinstance(item, Trial)]


@pytest.mark.parametrize("order", ["planned", "blocked"])
def test_each_history_has_all_passes_in_order_and_begins_with_fresh_data(order: str) -> None:
    plan = planned(order)
    trials = trials_of(plan)
    assert len(trials) == plan.plan.header.trials == 2 * 4 * 4 * 3
    histories = [list(group) for _, group in groupby(trials, key=lambda trial: (trial.block, trial.whole_plot))]
    assert len(histories) == 2 * 3
    for history in histories:
        assert [trial.follows for trial in history] == list(range(16))
        assert [trial.factors["pass"] for trial in history] == [number for number in (1, 2, 3, 4) for _ in range(4)]
        for _, of_pass in groupby(history, key=lambda trial: trial.factors["pass"]):
            assert len({trial.identity for trial in of_pass}) == 4
        *kept, last = history
        assert {trial.keeps for trial in kept if trial.factors["rw"] == "randwrite"} == {("data",)}
        assert {trial.keeps for trial in kept if trial.factors["rw"] == "read"} == {()}
        assert {trial.invalidates for trial in kept} == {()}
        assert last.keeps == ()
        assert "data" in last.invalidates
    orders = {tuple((trial.factors["rw"], trial.factors["bs"]) for trial in history) for history in histories}
    assert len(orders) > 1


def test_the_data_are_laid_out_once_for_each_history() -> None:
    plan = planned()
    walk, made = Walk(), 0
    setups = {item.signature: item for item in plan.plan.items() if not isinstance(item, Trial)}
    for trial in trials_of(plan):
        made += sum(isinstance(change, Make) for change in walk.enter([setups[each] for each in trial.setups]))
        walk.leave(trial.invalidates)
    assert made == 1 + 2 * 3  # the directory, and each of two files in each of three replicates


def test_a_trial_is_recognised_by_its_point_its_pass_and_its_history() -> None:
    first, second, other_seed = trials_of(planned()), trials_of(planned()), trials_of(planned(seed=2))
    assert first == second
    fresh = trials_of(planned(layout=""))
    assert {trial.identity for trial in first}.isdisjoint(trial.identity for trial in fresh)
    assert len({trial.identity for trial in first}) == 2 * 4 * 4
    assert {trial.identity for trial in first} == {trial.identity for trial in other_seed}
    assert len({trial.place for trial in first}) == len(first)
    assert {trial.history for trial in first if not trial.follows} == {""}
    histories = {(trial.place, trial.history) for trial in first if trial.follows >= 12}
    assert histories.isdisjoint((trial.place, trial.history) for trial in other_seed)


def test_each_pass_draws_other_offsets_unless_they_are_replayed() -> None:
    for replay, seeds in (("", 4 * 3), ("seed = replay", 1)):
        trials = trials_of(planned(rw=f"randwrite {replay}"))
        points: dict[tuple[object, object], set[tuple[str, ...]]] = {}
        for trial in trials:
            commands = tuple(step.command for step in trial.steps)
            points.setdefault((trial.factors["size"], trial.factors["bs"]), set()).add(commands)
        assert {len(commands) for commands in points.values()} == {seeds}


@pytest.mark.parametrize("order", [Order.RANDOM, Order.AS_WRITTEN])
def test_an_order_without_whole_plots_is_refused(order: Order) -> None:
    with pytest.raises(RunError, match=f"`--order {order}`"):
        planned(order)


def test_a_script_is_refused() -> None:
    with pytest.raises(RunError, match="a script cannot repeat earlier trials"):
        next(plans.emit(planned(), "sh"))
    assert "".join(plans.emit(planned(), "markdown"))


def test_an_estimate_includes_the_trials_that_are_repeated(tmp_path: Path) -> None:
    plan = planned(rw="randwrite  time_based = on  runtime = 10s")
    trials = trials_of(plan)
    whole = costs.estimate(plan, tmp_path / "none")
    last = {trial.place for trial in trials[:7]}
    remaining = costs.estimate(plan, tmp_path / "none", last)
    assert whole.seconds["measuring"] == pytest.approx(10 * len(trials), rel=0.01)
    assert remaining.seconds["measuring"] == pytest.approx(
        10 * len(trials), rel=0.01
    )  # seven are repeated for the eighth
    one_history = costs.estimate(plan, tmp_path / "none", {trial.place for trial in trials[:8]})
    assert one_history.seconds["measuring"] == pytest.approx(10 * (len(trials) - 8), rel=0.01)
