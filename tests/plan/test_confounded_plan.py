"""Check that factors confounded with run order are named before the plan is run."""

from __future__ import annotations

import pytest

from zlang.check.check import Overrides
from zlang.pipeline import plans, programs, verdicts
from zlang.plan.order import Order
from zlang.source import Source

PROGRAM = """
dir here { path = "." }
file data on here { size = 1MiB | 2MiB }
let bs = 1 | 2
let depth = 1..4
shell works { command = "true {bs} {depth}"  writes = off }
experiment e { on = data  run = works  repeat = 3 }
"""


@pytest.mark.parametrize("order", Order)
def test_confounded_easy_factors_are_named_in_the_written_order(order: Order) -> None:
    checked = programs.check(Source("program.zexp", PROGRAM.replace("1MiB | 2MiB", "1MiB")), Overrides())
    (experiment,) = checked.program.experiments.values()
    planned = plans.plan(checked, experiment, 1, Overrides(), order=order)
    expected = ("bs",) if order is Order.AS_WRITTEN else ()
    assert verdicts.confounded_with_order(planned) == expected


def test_hard_to_change_factors_are_not_called_confounded() -> None:
    checked = programs.check(Source("program.zexp", PROGRAM), Overrides())
    (experiment,) = checked.program.experiments.values()
    planned = plans.plan(checked, experiment, 1, Overrides(), order=Order.AS_WRITTEN)
    assert "size" not in " ".join(verdicts.confounded_with_order(planned))
    assert verdicts.set_up_once(planned) == ("size",)


def test_factors_recreated_by_every_write_are_named_as_confounded() -> None:
    checked = programs.check(Source("program.zexp", PROGRAM.replace("writes = off", "writes = on")), Overrides())
    (experiment,) = checked.program.experiments.values()
    named = {
        order: verdicts.confounded_with_order(plans.plan(checked, experiment, 1, Overrides(), order=order))
        for order in (Order.PLANNED, Order.BLOCKED)
    }
    assert named == {Order.PLANNED: ("size",), Order.BLOCKED: ()}
