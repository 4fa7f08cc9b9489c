"""Groups of machines: whose streams a trial has, what is made where, and how machines begin at one instant."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from zlang.check.check import Overrides
from zlang.diagnostics import ProgramError
from zlang.pipeline import plans, programs
from zlang.plan.plan import Action, Plan, Setup, Step, Trial
from zlang.readers import streams
from zlang.readers.registry import READERS
from zlang.source import Source

GROUP = """
host client { members = ["c1".."c3"] }
let n = 1 | 2 | 3
let clients = first(client, n)
"""
EACH = (
    GROUP
    + """
dir here on clients { path = "." }
shell naps { command = "sleep 0.1"  writes = off }
experiment e { on = here  run = naps }
"""
)
FROM = (
    GROUP
    + """
host server
dir share on server { path = "/shared" }
file data on share { size = 4KiB  copies = n }
shell reads { command = "cat {data}"  from = clients  writes = off }
experiment e { on = data  run = reads  where n == 2 }
""".replace("{data}", "/dev/null")
)


def plan_of(text: str) -> Plan:
    checked = programs.check(Source("program.zexp", text), Overrides())
    assert [f.message for f in checked.findings if f.code.id.startswith("E")] == []
    (experiment,) = checked.program.experiments.values()
    return plans.plan(checked, experiment, 1, Overrides()).plan


def trials_of(plan: Plan) -> dict[object, Trial]:
    return {trial.factors.get("n"): trial for trial in plan.items() if isinstance(trial, Trial)}


def measured(trial: Trial) -> list[Step]:
    return [step for step in trial.steps if step.action is Action.MEASURE]


def test_a_group_has_a_stream_on_each_machine() -> None:
    plan = plan_of(EACH)
    trials = trials_of(plan)
    assert plan.header.hosts == ("c1", "c2", "c3")
    assert [trials[n].host for n in (1, 2, 3)] == ["c1", "c1+c2", "c1+c2+c3"]
    assert [step.host for step in measured(trials[3])] == ["c1", "c2", "c3"]
    setups = [item for item in plan.items() if isinstance(item, Setup)]
    assert len(setups) == 3
    assert trials[1].setups[0] == trials[3].setups[0]
    (alone,) = measured(trials[1])
    assert "gate" not in alone.command


def test_each_machine_of_a_group_has_a_copy_of_the_target() -> None:
    (trial,) = trials_of(plan_of(FROM)).values()
    assert [step.host for step in measured(trial)] == ["c1", "c2"]
    assert len(trial.setups) == 3


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_machines_begin_at_the_instant_that_each_is_told(tmp_path: Path, shell: str) -> None:
    """Their clocks differ, and so do the instants; what began too late does not count."""
    trial = trials_of(plan_of(EACH))[2]
    begun = [_started(shell, step, tmp_path / step.host) for step in measured(trial)]
    instant, (first, two) = time.time() + 0.3, [step.host for step in measured(trial)]
    for process, host in zip(begun, (first, two), strict=True):
        gate = tmp_path / host / "gate"
        while not (gate / "met").exists():
            assert process.poll() is None
            time.sleep(0.01)
        (gate / "instant").write_text(f"{round(instant * 1e9)}\n")
    assert [process.wait() for process in begun] == [0, 0]
    began = [float((tmp_path / host / f"stream{n}" / "began").read_text()) for n, host in enumerate((first, two), 1)]
    assert all(at >= instant for at in began)
    assert not (tmp_path / first / "gate").exists()


@pytest.mark.parametrize(("late", "why"), [(0.01, ""), (0.2, "the machines began 200 ms apart")])
def test_a_skew_beyond_the_bound_does_not_count(tmp_path: Path, late: float, why: str) -> None:
    """The clock of the second machine is three seconds ahead."""
    step = measured(trials_of(plan_of(EACH))[2])[-1]
    assert step.reader is not None
    _wrote(tmp_path / "stream1", {"began": 1000.0, "ended": 1002.0})
    _wrote(tmp_path / "stream2", {"began": 1003.0 + late, "ended": 1005.0 + late})
    (tmp_path / "clocks").write_text("measure-c1 0.0 0.0001\nmeasure-c2 3.0 0.0002\n")
    reading = streams.read(READERS, tmp_path, step.reader, step, (999.9, 1002.5))
    assert reading.problems == ()
    assert [text.partition(",")[0] for text in reading.against] == ([why] if why else [])
    assert reading.metrics["start_skew"] == pytest.approx(late)
    assert [stream.host for stream in reading.streams] == ["c1", "c2"]
    assert reading.window == pytest.approx((1000 + late, 1002))
    assert reading.ran == pytest.approx((1000, 1002 + late)), "without the time in which they wait for each other"


def test_a_group_is_refused_where_one_machine_is_needed() -> None:
    program = (
        GROUP
        + """
dir here { path = "." }
shell fills { command = "true"  from = client }
shell looks { command = "ls"  writes = off }
experiment e { on = here  before = fills  run = looks }
"""
    )
    with pytest.raises(ProgramError) as refused:
        list(plan_of(program).items())
    assert "`fills` needs one machine, and `client` is a group of 3" in str(refused.value)


def test_a_collector_of_several_machines_is_refused_when_its_trial_is_planned() -> None:
    """Only a point that differs from the first in two choices has them together."""
    program = """
import linux
host client { members = ["c1".."c3"] }
let n = 1 | 3
let clients = first(client, n)
let watching = [] | [vmstat {}]
dir here on clients { path = "." }
shell looks { command = "ls"  writes = off }
experiment e { on = here  run = looks  collect = watching }
"""
    with pytest.raises(ProgramError) as refused:
        list(plan_of(program).items())
    assert "`vmstat` needs one machine, and a trial has several" in str(refused.value)


def _started(shell: str, step: Step, out: Path) -> subprocess.Popen[bytes]:
    out.mkdir()
    environment = {**os.environ, "OUT": str(out), "RUN": "r"}
    (out / "zlang-r").mkdir()
    return subprocess.Popen([shell, "-c", step.command], cwd=out, env=environment)


def _wrote(directory: Path, times: Mapping[str, float]) -> None:
    directory.mkdir()
    for name, at in times.items():
        (directory / name).write_text(f"{at}\n")
    (directory / "measure.out").write_text("")
    (directory / "measure.err").write_text("")
