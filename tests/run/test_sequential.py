"""Test which trials are skipped during a run, and that an interruption does not change this."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from run_fakes import NOT_DONE, FakeExecutor, Opinion, new_folder, ticking

from zlang.check.check import Overrides
from zlang.files import Place
from zlang.pipeline import plans, programs, runs
from zlang.plan.order import Order
from zlang.plan.plan import Plan, Trial
from zlang.readers.reading import Histogram
from zlang.run import run_state, runner
from zlang.run.events import Commit, Outcome, Skip, TrialVerdict
from zlang.run.runner import Selection
from zlang.run.sequential import Sequential, Why
from zlang.source import Source

KIND = """
dir here { path = "." }
kind says: workload {
  needs dir as at
  property level: count { default = 1 }
  property way: count { default = 1 }
  run {
    sh "true"
    reads shell "measure.out" { metrics = [["regex", "rate=rate=([0-9]+)"], ["regex", "lag=lag=([0-9]+)"]] }
  }
}
"""
SEARCH = """
says it { way = 1 | 2 }
experiment knee { on = here  run = it  REPEAT  find level in 1..60 where median(lag) < 20 maximising rate }
"""
UNTIL = """
says it { way = 1 | 2 | 3 }
experiment precise { on = here  run = it  repeat = 3..12 until ci(rate) < 10% }
"""


def plan_of(text: str, order: Order = Order.PLANNED) -> Plan:
    overrides = Overrides()
    checked = programs.check(Source("t.zexp", KIND + text), overrides)
    assert not checked.findings
    return plans.plan(checked, programs.choose(checked, None), 1, overrides, None, order).plan


@dataclass
class Machine:
    """A simulated system: the result of each trial, and a record of the trials carried out."""

    gives: Callable[[Trial], dict[str, float] | None]
    trials: list[Trial] = field(default_factory=list)

    def judge(self, trial: Trial, _out: Place, _window: tuple[float, float] | None) -> TrialVerdict:
        metrics = self.gives(trial)
        return Opinion(metrics=metrics) if metrics is not None else Opinion(valid=False, why_not="it failed")

    def run(self, at: Path, plan: Plan, stop_after: int | None = None, selection: Selection = NOT_DONE) -> list[str]:
        """Carry out or resume a plan; return the reasons why trials were skipped."""
        existing = list((at / "runs").glob("*")) if (at / "runs").exists() else []
        folder = runs.find(at / "runs", existing[0].name) if existing else new_folder(at, plan)
        spared: list[str] = []
        count = 0
        events = runner.run(
            plan, folder, FakeExecutor(), self.judge, clocks=(ticking(), ticking()), selection=selection
        )
        for event in events:
            if isinstance(event, Skip):
                spared.append(event.why)
            if isinstance(event, Commit):
                count += 1
            if isinstance(event, Outcome):
                self.trials.append(event.trial)
                if count == stop_after:
                    events.close()
                    break
        if stop_after is None:
            assert run_state.read(folder.journal).done == plan.header.trials
        return spared


def levels(trials: list[Trial], way: int) -> list[int]:
    return [int(str(trial.factors["level"])) for trial in trials if trial.factors["way"] == way]


def lagging(knee: dict[object, float]) -> Callable[[Trial], dict[str, float]]:
    def gives(trial: Trial) -> dict[str, float]:
        level = float(str(trial.factors["level"]))
        return {"rate": 100 * level, "lag": 10.0 if level <= knee[trial.factors["way"]] else 30.0}

    return gives


def shake(values: dict[str, float], factor: float) -> dict[str, float]:
    return {**values, "lag": values["lag"] * factor}


@pytest.mark.parametrize("order", Order)
def test_each_point_has_a_separate_search(tmp_path: Path, order: Order) -> None:
    machine = Machine(lagging({1: 17, 2: 41}))
    plan = plan_of(SEARCH.replace("REPEAT", "repeat = 2"), order)
    spared = machine.run(tmp_path, plan)
    for way, knee in ((1, 17), (2, 41)):
        measured = levels(machine.trials, way)
        assert {1, 60, knee, knee + 1} <= set(measured)
        assert sorted(measured) == sorted(list(set(measured)) * 2)
        assert len(measured) <= 2 * 8
    assert len(machine.trials) <= plan.header.at_most == 2 * 2 * 8
    assert set(spared) == {Why.PASSED_BY}
    assert len(spared) + len(machine.trials) == plan.header.trials == 2 * 2 * 60


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    repeat=st.sampled_from(["", "repeat = 2..5"]),
    first=st.integers(0, 61),
    second=st.integers(0, 61),
    stop_after=st.integers(1, 12),
)
def test_an_interrupted_search_goes_on_as_if_nothing_had_been(
    tmp_path_factory: pytest.TempPathFactory, repeat: str, first: int, second: int, stop_after: int
) -> None:
    plan = plan_of(SEARCH.replace("REPEAT", repeat))
    knee = lagging({1: first, 2: second})
    shaken = {n: random.Random(n).lognormvariate(0, 0.6) for n in range(1, plan.header.trials + 1)}
    whole, parted = (Machine(lambda trial: shake(knee(trial), shaken[trial.number])) for _ in range(2))
    whole.run(tmp_path_factory.mktemp("whole"), plan)
    at = tmp_path_factory.mktemp("parted")
    parted.run(at, plan, min(stop_after, len(whole.trials)))
    parted.run(at, plan)
    assert [trial.number for trial in parted.trials] == [trial.number for trial in whole.trials]


def test_a_level_at_which_nothing_counts_ends_a_search_until_it_is_mended(tmp_path: Path) -> None:
    knee = lagging({1: 17, 2: 41})
    broken = Machine(lambda trial: None if trial.factors["level"] == 30 and trial.factors["way"] == 1 else knee(trial))
    plan = plan_of(SEARCH.replace("REPEAT", ""))
    spared = broken.run(tmp_path, plan)
    assert levels(broken.trials, 1) == [*sorted({1, 60}, key=levels(broken.trials, 1).index), 30]
    assert Why.UNDECIDED in spared
    fixed = Machine(knee)
    fixed.run(tmp_path, plan, selection=Selection(failed=True))
    assert {17, 18} <= set(levels(fixed.trials, 1))
    assert not levels(fixed.trials, 2)


def test_an_unfinished_search_has_no_answer() -> None:
    plan = plan_of(SEARCH.replace("REPEAT", ""))
    sequential = Sequential(plan.header)
    first = next(item for item in plan.items() if isinstance(item, Trial))
    sequential.learn(first, Opinion(metrics={"rate": 1.0, "lag": 1.0}), None)
    (looked,) = sequential.searches()
    assert looked.holds
    assert not looked.is_best


def test_a_point_is_repeated_until_it_is_known_well(tmp_path: Path) -> None:
    noise = {1: 0.001, 2: 0.05, 3: 1.0}
    draw = random.Random(1)

    def gives(trial: Trial) -> dict[str, float]:
        return {"rate": 1000 * draw.lognormvariate(0, noise[int(str(trial.factors["way"]))])}

    machine = Machine(gives)
    plan = plan_of(UNTIL)
    spared = machine.run(tmp_path, plan)
    times = {way: sum(trial.factors["way"] == way for trial in machine.trials) for way in noise}
    assert times[1] == 5
    assert 5 < times[2] < 12
    assert times[3] == 12
    assert spared == [Why.PRECISE] * (36 - sum(times.values()))
    blocks = [[trial.factors["way"] for trial in machine.trials if trial.replicate == n] for n in (1, 2, 3)]
    assert all(sorted(map(str, block)) == ["1", "2", "3"] for block in blocks), "replicates are not back to back"


def test_trials_that_do_not_count_are_repeated(tmp_path: Path) -> None:
    machine = Machine(lambda trial: None if trial.replicate < 3 else {"rate": 100.0 + trial.replicate / 100})
    machine.run(tmp_path, plan_of(UNTIL))
    assert {trial.replicate for trial in machine.trials} == {1, 2, 3, 4, 5, 6, 7}


def test_equal_values_are_precise_at_once(tmp_path: Path) -> None:
    machine = Machine(lambda _: {"rate": 100.0})
    machine.run(tmp_path, plan_of(UNTIL))
    assert {trial.replicate for trial in machine.trials} == {1, 2, 3}


def test_the_time_of_a_trial_is_that_of_its_streams_without_the_wait_for_a_common_start() -> None:
    search = "find level in 1..3 where median(elapsed) < 2s minimising median(lag)"
    plan = plan_of(f"says it {{ }}\nexperiment e {{ on = here  run = it  {search} }}")
    sequential = Sequential(plan.header)
    trial = next(item for item in plan.items() if isinstance(item, Trial))
    for _ in range(3):
        sequential.learn(trial, Opinion(metrics={"rate": 1.0, "lag": 1.0}, ran=(5.0, 6.0)), (1.0, 6.0))
    (looked,) = sequential.searches()
    assert looked.holds is True


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("median(rate) > 10 and not (max(lag) >= 3)", True),
        ("mean(rate) + 2 * median(lag) == 15", True),
        ("max(rate) / median(lag) in [3, 4, 6]", True),
        ("median(rate where lag > 2) > 0", None),
        ("count(rate) == 3 or median(rate) < 0", True),
        ("median(lag) > 1 and count(lag) == 3", True),
        ("stddev(rate) > 2", False),
        ("p50(read_clat) < 1us and p99(read_clat) > 8us", True),
        ("median(elapsed) > 1s", True),
    ],
)
def test_a_condition_is_worked_out_over_the_trials_of_a_level(condition: str, holds: bool | None) -> None:
    text = f"""
import fio
file data on here {{ size = 1MiB }}
says it {{ }}
experiment e {{ on = here  run = it  find level in 1..3 where {condition} minimising count(lag) * median(lag) }}
"""
    if "clat" in condition:
        text = text.replace("says it { }", "fio it { rw = read }").replace("level in", "iodepth in")
        text = text.replace("on = here", "on = data").replace("count(lag) * median(lag)", "read_iops")
    plan = plan_of(text)
    sequential = Sequential(plan.header)
    trial = next(item for item in plan.items() if isinstance(item, Trial))
    bins = Histogram("read_clat", MappingProxyType({500: 90, 9000: 10}))
    for rate in (10.0, 12.0, 11.0):
        sequential.learn(
            trial, Opinion(metrics={"rate": rate, "lag": 2.0 - (rate == 10) / 2}, latency=(bins,)), (1.0, 3.5)
        )
    (looked,) = sequential.searches()
    assert looked.holds is holds


@pytest.mark.parametrize("order", Order)
def test_a_level_of_a_search_is_repeated_until_its_condition_is_decided(tmp_path: Path, order: Order) -> None:
    plan = plan_of(SEARCH.replace("REPEAT", "repeat = 3..12"), order)
    assert "3 to 12 replicates (until the condition is decided) = at most 192 trials" in plan.header.counts
    draw = random.Random(2)
    knee = lagging({1: 17, 2: 41})

    def gives(trial: Trial) -> dict[str, float]:
        result = knee(trial)
        limit = 17.5 if trial.factors["way"] == 1 else 41.5
        return {**result, "lag": 20 * int(str(trial.factors["level"])) / limit * draw.lognormvariate(0, 0.1)}

    machine = Machine(gives)
    spared = machine.run(tmp_path, plan)
    for way, near in ((1, 17), (2, 41)):
        times = {level: levels(machine.trials, way).count(level) for level in set(levels(machine.trials, way))}
        assert set(times.values()) <= {3, 6, 12}
        assert times[1] == times[60] == 3 or way == 2
        assert max(times[level] for level in times if abs(level - near) <= 2) == 12
    assert set(spared) == {Why.PASSED_BY, Why.DECIDED}
    assert len(machine.trials) < plan.header.at_most


def test_each_part_of_a_condition_is_decided(tmp_path: Path) -> None:
    text = SEARCH.replace("REPEAT", "repeat = 2..8").replace("median(lag) < 20", "mean(lag) < 20 and max(lag) < 1000")
    machine = Machine(lagging({1: 17, 2: 41}))
    machine.run(tmp_path, plan_of(text))
    assert {levels(machine.trials, way).count(level) for way in (1, 2) for level in levels(machine.trials, way)} == {2}


@pytest.mark.parametrize(("slowest", "decided"), [((2000, 2100, 1900), True), ((500, 9000, 20000), False)])
def test_a_percentile_is_decided_by_those_of_trials(slowest: tuple[int, ...], decided: bool) -> None:
    plan = plan_of("""
import fio
file data on here { size = 1MiB }
fio it { rw = read }
experiment e { on = data  run = it  repeat = 3..12  find iodepth in 1..3 where p99(read_clat) < 9us maximising iodepth }
""")
    sequential = Sequential(plan.header)
    trials = [item for item in plan.items() if isinstance(item, Trial)]
    first = [trial for trial in trials if trial.identity == trials[0].identity]
    for trial, nanoseconds in zip(first, slowest, strict=False):
        bins = Histogram("read_clat", MappingProxyType({500: 90, nanoseconds: 10}))
        sequential.learn(trial, Opinion(metrics={"read_iops": 1.0}, latency=(bins,)), (1.0, 3.5))
    assert (sequential.skips(first[3]) is Why.DECIDED) is decided
