"""Test the budget of a run: a plan estimated to take longer is refused, with what would fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlang.check.check import Overrides
from zlang.pipeline import costs, plans, programs
from zlang.plan.plan import Trial
from zlang.source import Source

NOWHERE = Path("/nonexistent/results.duckdb")


def planned(budget: str, more: str = "") -> plans.Planned:
    text = f"""
        import fio
        dir here {{ path = "." }}
        file data on here {{ size = 1MiB }}
        fio reads {{ rw = read  bs = 4KiB | 8KiB | 16KiB | 32KiB  time_based = on  runtime = 60s }}
        experiment e {{ on = data  run = reads  repeat = 5  {budget}  {more} }}
    """
    checked = programs.check(Source("program.zexp", text), Overrides())
    assert [f.message for f in checked.findings if f.code.id.startswith("E")] == []
    (experiment,) = checked.program.experiments.values()
    return plans.plan(checked, experiment, 1, Overrides())


def fitting(plan: plans.Planned) -> list[str] | None:
    ways = costs.fitting_budget(plan, NOWHERE, costs.estimate(plan, NOWHERE))
    return None if ways is None else [written for written, _ in ways]


@pytest.mark.parametrize(
    ("budget", "ways"),
    [
        ("", None),
        ("budget = 1h", None),
        ("budget = 10min", ["repeat = 2", "design = sample(1)"]),
        ("budget = 16min", ["repeat = 3", "design = sample(3)"]),
        ("budget = 3min", []),
    ],
)
def test_an_exceeded_budget_names_what_fits(budget: str, ways: list[str] | None) -> None:
    assert fitting(planned(budget)) == ways


def test_a_sample_that_fits_does_fit() -> None:
    assert costs.estimate(planned("", "design = sample(3)"), NOWHERE).total <= 16 * 60
    assert costs.estimate(planned("", "design = full"), NOWHERE).total > 16 * 60


def test_a_budget_decides_no_measurement() -> None:
    identities = [
        [item.identity for item in planned(budget).plan.items() if isinstance(item, Trial)]
        for budget in ("", "budget = 1min")
    ]
    assert identities[0] == identities[1]
