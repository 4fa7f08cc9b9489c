"""Test the summary of a plan: complete for a short plan, from a sample of trials for a long one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from zlang.check.check import Overrides
from zlang.errors import RunError
from zlang.pipeline import costs, plans, programs
from zlang.plan import build, estimate, survey
from zlang.plan.action_steps import steps_of
from zlang.plan.build import Builder
from zlang.plan.estimate import Past, PlanEstimate
from zlang.plan.order import Order
from zlang.plan.plan import Setup, Step, Trial
from zlang.plan.schedule import Slot
from zlang.plan.state import Walk
from zlang.plan.survey import SampledTrial
from zlang.source import Source
from zlang.space.trial_config import TrialConfig, trial_config

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


def counted(levels: str, order: Order = Order.PLANNED, past: Past = Past(), text: str = PROGRAM) -> PlanEstimate:  # noqa: B008
    overrides = Overrides()
    checked = programs.check(Source("t.zexp", text.replace("LEVELS", levels)), overrides)
    assert not checked.findings
    planned = plans.plan(checked, programs.choose(checked, None), 1, overrides, order=order)
    builder = Builder(planned.schedule)
    return estimate.estimate(survey.sample(builder, planned.schedule), planned.plan.header.facts, past, {}, {})


@pytest.mark.parametrize("order", Order)
def test_a_sampled_count_is_close_to_the_exact_one(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = counted("1..12", order)
    monkeypatch.setattr(survey, "EXACT", 0)
    monkeypatch.setattr(survey, "DRAWN", 2000)
    drawn = counted("1..12", order)
    assert drawn.made == pytest.approx(exact.made, rel=0.25)
    assert drawn.altered == pytest.approx(exact.altered, rel=0.25)

    assert drawn.total == pytest.approx(exact.total, rel=0.25)
    assert drawn.trials == pytest.approx(exact.trials)


def test_rare_changes_are_sampled_too(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = counted("2..101", Order.AS_WRITTEN)
    monkeypatch.setattr(survey, "EXACT", 10_000)
    exact = counted("2..101", Order.AS_WRITTEN)
    assert (drawn.made, drawn.altered) == (exact.made, exact.altered)


@pytest.mark.parametrize("order", Order)
def test_a_point_is_built_once_and_counts_for_each_trial(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = programs.check(Source("t.zexp", PROGRAM.replace("LEVELS", "1..2")), Overrides())
    planned = plans.plan(checked, programs.choose(checked, None), 1, Overrides())
    schedule = planned.schedule.ordered(order)
    trials, walk = [], Walk()
    for trial, setups in map(Builder(schedule).trial, schedule.slots()):
        trials.append(SampledTrial(1, walk.enter(setups), trial))
        walk.leave(trial.invalidates)
    trials.append(SampledTrial(1, walk.state.teardown(), None))
    built: list[Slot] = []
    build = Builder.trial

    def noted(self: Builder, slot: Slot, **options: bool) -> tuple[Trial, tuple[Setup, ...]]:
        built.append(slot)
        return build(self, slot, **options)

    monkeypatch.setattr(Builder, "trial", noted)
    estimates = costs.estimates(planned, Path("none.duckdb"), others=(order,))
    facts, shared = planned.plan.header.facts, planned.plan.header.shared
    expected = estimate.estimate(trials, facts, Past(), shared, {})
    assert (expected.made, expected.trials, expected.steps) == (
        estimates[order].made,
        estimates[order].trials,
        estimates[order].steps,
    )
    assert estimates[order].total == pytest.approx(expected.total)
    assert len(built) == planned.plan.header.points


def test_measured_trials_are_left_out_of_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    overrides = Overrides()
    checked = programs.check(Source("t.zexp", PROGRAM.replace("LEVELS", "2..13")), overrides)
    planned = plans.plan(checked, programs.choose(checked, None), 1, overrides)
    builder, header = Builder(planned.schedule), planned.plan.header
    trials = [item for item in planned.plan.items() if isinstance(item, Trial)]

    def remaining_without(but: list[Trial]) -> PlanEstimate:
        sampled = survey.sample(builder, planned.schedule, {trial.place for trial in but})
        return estimate.estimate(sampled, header.facts, Past(), {}, {})

    half = remaining_without([trial for trial in trials if trial.factors["files"] in {1, 2}])
    assert (half.trials, half.made) == (len(trials) * 3 / 5, 3 + 9)
    monkeypatch.setattr(survey, "EXACT", 0)
    drawn = remaining_without([trial for trial in trials if trial.factors["files"] in {1, 2}])
    assert drawn.trials == pytest.approx(half.trials, rel=0.25)
    assert remaining_without(trials[:1]).made >= 1


def test_short_plans_are_counted() -> None:
    planned, written = counted("2"), counted("2", Order.AS_WRITTEN)
    assert (planned.made, planned.trials) == (3 + 15, 60)
    assert written.made > planned.made


def test_a_trillion_trials_are_surveyed() -> None:
    estimate = counted("1..1000000", Order.RANDOM)
    assert 60_000_000 * 0.5 < estimate.made < 60_000_000 * 2
    assert estimate.trials == pytest.approx(60_000_000)


TRAITS = """
kind place: resource {
  property speed: rate
  property most: size
  offers dir = "/{name}"
  trait bandwidth = speed
  trait endurance = most
  create { sh "make" }
  destroy { sh "remove" }
}
kind blob: resource on place {
  property size: size { required = on }
  offers dir = "{on.dir}/{name}"
  trait written = size
  trait occupies = size
  create { sh "lay" { why = "data" } }
  destroy { sh "remove" }
}
kind churn: workload {
  needs dir as at
  property time: duration
  property amount: size { default = 0B }
  writes = amount > 0B
  trait runtime = time
  trait ramp = 1s
  trait written = amount
  run { sh "work" }
}
place disk { PLACE }
blob data on disk { size = 1GiB | 3GiB }
churn work { WORK }
experiment e { on = data  run = work  repeat = 5 }
"""


def of(place: str, work: str, past: Past = Past()) -> PlanEstimate:  # noqa: B008
    return counted("", past=past, text=TRAITS.replace("PLACE", place).replace("WORK", work))


def test_stated_times_are_added_up() -> None:
    estimate = of("speed = 1GiB/s", "time = 9s  amount = 2GiB")
    # Each of ten trials writes, so the data are laid out ten times.
    assert estimate.seconds["measuring"] == pytest.approx(10 * 10, rel=0.01)
    assert estimate.seconds["writing data"] == pytest.approx(5 * 1 + 5 * 3, rel=0.1)
    assert estimate.written == {"place disk": (5 * 1 + 5 * 3 + 10 * 2) << 30}
    assert estimate.space == {"place disk": 3 << 30}
    assert (estimate.unknown_seconds, estimate.unknown_bytes) == (0, 0)


def test_unknown_durations_are_counted() -> None:
    estimate = of("", "")
    assert estimate.seconds["writing data"] < 1
    assert (estimate.unknown_setup_seconds, estimate.unknown_seconds) == (2, 2 + 10)
    assert of("", "time = 1s", Past(rate=float(1 << 30))).seconds["writing data"] == pytest.approx(4, rel=0.1)


def test_unmeasured_commands_count_the_least_and_say_so() -> None:
    """What takes seconds is hardly changed by a few commands; what takes milliseconds is a lower bound."""
    estimate = of("speed = 1GiB/s", "time = 9s  amount = 2GiB")
    assert estimate.unmeasured > 10
    assert not estimate.is_lower_bound
    assert PlanEstimate(seconds={"measuring": 1.0}, unmeasured=20).is_lower_bound
    assert not PlanEstimate(seconds={"measuring": 1.0}, unmeasured=5).is_lower_bound


def test_a_step_takes_its_earlier_time() -> None:
    once = counted("", text=TRAITS.replace("PLACE", "").replace("WORK", ""))
    assert once.unknown_seconds
    overrides = Overrides()
    checked = programs.check(Source("t.zexp", TRAITS.replace("PLACE", "").replace("WORK", "")), overrides)
    items = list(plans.plan(checked, programs.choose(checked, None), 1, overrides).plan.items())
    owners = {(item.signature, step.name): 7.0 for item in items if isinstance(item, Setup) for step in item.make}
    owners |= {(item.identity, step.name): 5.0 for item in items if isinstance(item, Trial) for step in item.steps}
    estimate = of("", "", Past(owners))
    assert estimate.seconds["measuring"] == pytest.approx(50, rel=0.01)
    assert estimate.seconds["writing data"] == pytest.approx(14, rel=0.01)
    assert estimate.unknown_seconds == 0


def test_more_than_a_device_is_to_bear_is_refused() -> None:
    overrides = Overrides()
    checked = programs.check(Source("t.zexp", TRAITS.replace("PLACE", "most = 3GiB").replace("WORK", "")), overrides)
    planned = plans.plan(checked, programs.choose(checked, None), 1, overrides)
    with pytest.raises(RunError, match=r"4,294,967,296 bytes, 133% of its endurance, .* place disk"):
        costs.require_endurance(planned.plan.header, of("most = 3GiB", ""))
    costs.require_endurance(planned.plan.header, PlanEstimate(written={"place disk": 3 << 30}))


def test_two_directories_of_one_path_are_one_device() -> None:
    """Each would bear what is written to it, but not what is written to both."""
    text = """import fio
        dir a { path = "."  endurance = 20MiB }
        dir b { path = "." }
        file first on a { size = 8MiB }
        file second on b { size = 16MiB }
        let data = first | second
        fio reads { rw = read }
        experiment e { on = data  run = reads }
        """
    overrides = Overrides()
    checked = programs.check(Source("t.zexp", text), overrides)
    planned = plans.plan(checked, programs.choose(checked, None), 1, overrides)
    header = planned.plan.header
    costs.require_endurance(header, PlanEstimate(written={"dir a": 8 << 20}))
    with pytest.raises(RunError, match=r"25,165,824 bytes, 120% of its endurance, .* dir a"):
        costs.require_endurance(header, PlanEstimate(written={"dir a": 8 << 20, "dir b": 16 << 20}))


def test_the_setups_of_a_level_are_made_once_for_the_order_and_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def recording(*args: Any) -> list[Step]:
        here = args[4]
        made.extend([] if here is None else [args[2]])  # an identity belongs to no machine
        return steps_of(*args)

    monkeypatch.setattr("zlang.plan.setups.steps_of", recording)
    text = PROGRAM.replace("files = 1..5", "files = 1..20")
    checked = programs.check(Source("t.zexp", text.replace("LEVELS", "2")), Overrides())
    planned = plans.plan(checked, programs.choose(checked, None), 1, Overrides())
    trials = [item for item in planned.plan.items() if isinstance(item, Trial)]
    assert len(trials) == 3 * 2 * 20 * 2
    assert made.count("create-pool") == 3 * 2
    assert made.count("create-data") == 3 * 2 * 20


def test_an_estimate_reads_the_configuration_of_a_point_once_for_all_replicates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points: list[object] = []

    def recording(*args: Any) -> TrialConfig:
        points.append(args[1])
        return trial_config(*args)

    monkeypatch.setattr(build, "trial_config", recording)
    result = counted("2", text=PROGRAM.replace("repeat = 2", "repeat = 30"))
    assert result.trials == 3 * 2 * 5 * 30
    assert len(points) <= 2 * 3 * 2 * 5, "once for the state of the resources, and once for the trial"
