"""Test points measured more often than others, in each order and in the estimate."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest

from zlang.check.check import Overrides
from zlang.pipeline import costs, plans, programs
from zlang.plan.order import Order
from zlang.plan.plan import Trial
from zlang.source import Source

PROGRAM = """
import fio
dir here { path = "." }
file data on here { size = 1MiB | 2MiB | 4MiB }
fio reads { rw = read | randread  bs = BS  time_based = on  runtime = 2s }
experiment e { on = data  run = reads  repeat = if data.size == 4MiB then 4 else if rw == read then 2 else 1  BUDGET }
"""


def planned(order: Order = Order.PLANNED, bs: str = "4KiB | 8KiB", budget: str = "") -> plans.Planned:
    text = PROGRAM.replace("BS", bs).replace("BUDGET", budget)
    checked = programs.check(Source("program.zexp", text), Overrides())
    return plans.plan(checked, programs.choose(checked, None), 1, Overrides(), order=order)


@pytest.mark.parametrize("order", Order)
def test_the_replicates_of_a_point_depend_on_its_levels(order: Order) -> None:
    plan = planned(order).plan
    trials = [item for item in plan.items() if isinstance(item, Trial)]
    seen = Counter((trial.factors["size"], trial.factors["rw"], trial.factors["bs"]) for trial in trials)
    expected = {
        (size << 20, rw, bs): 4 if size == 4 else 2 if rw == "read" else 1
        for size in (1, 2, 4)
        for rw in ("read", "randread")
        for bs in (4096, 8192)
    }
    assert seen == expected
    assert len(trials) == plan.header.trials == 28
    assert [trial.number for trial in trials] == list(range(1, 29))
    assert plan.header.counts == "12 points × 1 to 4 replicates = 28 trials"


def test_the_replicates_of_a_point_are_numbered_and_blocks_that_are_empty_are_not() -> None:
    trials = [item for item in planned().plan.items() if isinstance(item, Trial)]
    blocks = [[trial.replicate for trial in some] for _, some in groupby(trials, lambda trial: trial.block)]
    assert sorted(blocks) == [[1] * 4, [1] * 4, [1] * 4, [2] * 2, [2] * 2, [2] * 4, [3] * 4, [4] * 4]
    assert {trial.block for trial in trials} == set(range(1, 9))


@pytest.mark.parametrize("order", Order)
def test_a_long_plan_is_estimated_from_a_sample(order: Order) -> None:
    plan = planned(order, "4KiB..1MiB by 4KiB")
    assert plan.plan.header.trials == 256 * 14
    assert costs.estimate(plan, Path("/nonexistent")).total == pytest.approx(256 * 14 * 2, rel=0.1)


def test_a_budget_suggests_fewer_points_if_replicates_differ() -> None:
    plan = planned(budget="budget = 20s")
    expected = costs.estimate(plan, Path("/nonexistent"))
    fitting = costs.fitting_budget(plan, Path("/nonexistent"), expected)
    assert fitting is not None
    assert [written for written, _ in fitting] == ["design = sample(4)"]
