"""What a plan amounts to: gone through where it is short, drawn where it is long."""

from __future__ import annotations

import pytest

from zlang import pipeline
from zlang.check.check import Overrides
from zlang.plan import survey
from zlang.plan.build import Builder
from zlang.plan.order import Order
from zlang.plan.survey import Reconfigurations
from zlang.source import Source

PROGRAM = """
kind place: resource {
  property disks: count { required = on }
  property sync: off | always { default = off  cost = live }
  offers dir = "/{name}"
  create { sh "make {name} {disks} {sync}" }
  change { sh "set {name} {key}={value}" }
  destroy { sh "remove {name}" }
}
kind tree: resource on place {
  property files: count { required = on }
  offers dir = "{on.dir}/{name}"
  create { sh "lay {name} {files}" }
  destroy { sh "remove {name}" }
}
kind churn: workload {
  needs dir as at
  property level: count { default = 1 }
  writes = level == 1
  run { sh "work {level}" }
}
place pool { disks = 1..3  sync = off | always }
tree data on pool { files = 1..5 }
churn work { level = LEVELS }
experiment e { on = data  run = work  repeat = 2 }
"""


def counted(levels: str, order: Order) -> Reconfigurations:
    said = Overrides()
    checked = pipeline.check(Source("t.zexp", PROGRAM.replace("LEVELS", levels)), said)
    planned = pipeline.plan(checked, pipeline.choose(checked, None), 1, said, order=order)
    builder = Builder(checked.program, planned.experiment, planned.schedule)
    return survey.reconfigurations(survey.stops(builder, planned.schedule))


@pytest.mark.parametrize("order", Order)
def test_what_is_drawn_is_about_what_is_counted(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = counted("1..12", order)
    monkeypatch.setattr(survey, "EXACT", 0)
    monkeypatch.setattr(survey, "DRAWN", 2000)
    drawn = counted("1..12", order)
    assert drawn.made == pytest.approx(exact.made, rel=0.25)
    assert drawn.altered == pytest.approx(exact.altered, rel=0.25)


def test_short_plans_are_counted() -> None:
    assert counted("2", Order.PLANNED) == Reconfigurations(made=3 + 15, altered=counted("2", Order.PLANNED).altered)
    assert counted("2", Order.AS_WRITTEN).made > counted("2", Order.PLANNED).made


def test_a_trillion_trials_are_surveyed() -> None:
    found = counted("1..1000000", Order.RANDOM)
    assert 60_000_000 * 0.5 < found.made < 60_000_000 * 2
