"""Test plans for groups of machines: streams of a trial, where resources are created, and the common start."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from zlang.check.check import Overrides
from zlang.diagnostics import ProgramError
from zlang.pipeline import plans, programs
from zlang.plan.plan import Action, Plan, Setup, Step, Trial
from zlang.readers import streams
from zlang.readers.judge import judge
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


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox sh"])
def test_machines_begin_at_their_given_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    """No process starts between the instant and the moment that is recorded: it would delay the load."""
    # On a busy machine a script takes a while to start.
    monkeypatch.setattr("zlang.plan.streams._EARLY", (1_000_000_000, 0))
    starts, own = tmp_path / "starts", tmp_path / "bin"
    own.mkdir()
    for tool in ("date", "sleep"):
        script = f'#!/bin/sh\n{shutil.which("date")} +%s.%N >>{starts}\nexec {shutil.which(tool)} "$@"\n'
        (own / tool).write_text(script)
        (own / tool).chmod(0o755)
    monkeypatch.setenv("PATH", f"{own}:{os.environ['PATH']}")
    trial = trials_of(plan_of(EACH))[2]
    begun = [_started(shell, step, tmp_path / step.host) for step in measured(trial)]
    instant, (first, two) = time.time() + 3, [step.host for step in measured(trial)]
    for process, host in zip(begun, (first, two), strict=True):
        gate = tmp_path / host / "gate"
        while not (gate / "met").exists():
            assert process.poll() is None
            time.sleep(0.01)
        (gate / "instant").write_text(f"{round(instant * 1e9)}\n")
    assert [process.wait() for process in begun] == [0, 0]
    began = [float((tmp_path / host / f"stream{n}" / "began").read_text()) for n, host in enumerate((first, two), 1)]
    assert all(at >= instant for at in began)
    assert not [at for at in map(float, starts.read_text().split()) if instant <= at < min(began)]
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
    assert "`fills` needs one machine, and `client` is a group of machines" in str(refused.value)


OBSERVED = """
import linux
import events
host server
host client { members = ["c1".."c2"] }
let n = 1 | 2
dir here on server { path = "/shared" }
shell naps { command = "sleep 3"  writes = off  from = first(client, n) }
vmstat near {}
vmstat far { from = server }
experiment e { on = here  run = naps  collect = [far, near]  during = hog { at = 1s } }
"""


def test_collectors_and_events_are_on_each_machine() -> None:
    trials = trials_of(plan_of(OBSERVED))
    collectors = {n: [s for s in trial.steps if s.action is Action.COLLECT] for n, trial in trials.items()}
    assert [(step.name, step.host) for step in collectors[1]] == [("far", "server"), ("near", "c1")]
    assert [(step.name, step.host) for step in collectors[2]] == [
        ("far", "server"),
        ("near.c1", "c1"),
        ("near.c2", "c2"),
    ]
    first, second = measured(trials[2])
    assert "happen event1 1 " in first.command
    assert "happen event2 1 " in second.command
    assert second.reader is not None
    assert second.reader.args["events"] == [
        {"name": "hog", "directory": f"event{number}", "begun_by": f"measure-c{number}"} for number in (1, 2)
    ]


ON_THE_SERVER = """
host server
host client { members = ["c1".."c2"] }
kind touching: event {
  needs dir as at
  start { sh "touch {at.dir}/it" }
  wait { sh "sleep 100" }
  stop { sh "rm {at.dir}/it" }
}
dir share on server { path = "/shared" }
shell naps { command = "sleep 1"  writes = off  from = client }
experiment e { on = share  run = naps  during = touching {} }
"""


def test_an_event_happens_on_the_machine_of_its_target(tmp_path: Path) -> None:
    """It ends when the workloads elsewhere have ended, so its own end does not tell how long it takes."""
    (trial,) = trials_of(plan_of(ON_THE_SERVER)).values()
    assert [step.host for step in measured(trial)] == ["c1", "c2", "server"]
    *_, on_server = measured(trial)
    assert on_server.reader is not None
    assert 'until test -e "$gate/over"' in on_server.command
    assert trial.steps[-1].host == "server"
    for number in (1, 2):
        _wrote(tmp_path / f"stream{number}", {"began": 1000.0, "ended": 1002.0})
    (tmp_path / "clocks").write_text("measure-c1 0 0.0001\nmeasure-c2 0 0.0001\nmeasure-server 5 0.0001\n")
    for number, (ended, elapsed) in enumerate(((1001.5, 1.0), (1002.5, None)), 1):
        (tmp_path / "event1").mkdir(exist_ok=True)
        (tmp_path / "event1" / "began").write_text("1005.5\n")
        (tmp_path / "event1" / "ended").write_text(f"{ended + 5}\n")
        reading = streams.read(READERS, tmp_path, on_server.reader, on_server, (1000.0, 1003.0))
        assert reading.against == (), number
        assert reading.metrics.get("touching.elapsed") == elapsed
        assert [phase.name for phase in reading.phases][:2] == ["quiet", "touching"]
        assert reading.ran == (1000.0, 1002.0)


def test_a_collector_on_a_machine_that_is_not_reached_is_refused() -> None:
    checked = programs.check(Source("program.zexp", OBSERVED), Overrides())
    plan = plans.plan(checked, checked.program.experiments["e"], 1, Overrides(), "c1").plan
    with pytest.raises(ProgramError, match="`far` observes `server`, which this run does not reach"):
        list(plan.items())


def test_samples_belong_to_their_machine_and_use_its_clock(tmp_path: Path) -> None:
    """The clock of `c2` is three seconds ahead, and that of the server ten seconds."""
    trial = trials_of(plan_of(OBSERVED))[2]
    clocks = {"measure-c1": 0, "measure-c2": 3, "far": 10, "near.c1": 0, "near.c2": 3}
    (tmp_path / "clocks").write_text("".join(f"{name} {ahead} 0.0001\n" for name, ahead in clocks.items()))
    for number, ahead in ((1, 0.0), (2, 3.0)):
        _wrote(tmp_path / f"stream{number}", {"began": 1000 + ahead, "ended": 1003 + ahead})
        _wrote(tmp_path / f"event{number}", {"began": 1001.0 + ahead + number / 4, "ended": 1003 + ahead})
        (tmp_path / f"event{number}" / "over").touch()
    for name, user in (("far", 50), ("near.c1", 20), ("near.c2", 40)):
        (tmp_path / f"{name}.out").write_text(_vmstat(1000 + clocks[name], user))
    judged = judge(trial, tmp_path, (1000.0, 1003.2))
    assert judged.why_not == ""
    assert judged.notes == ()
    samples = {(s.host, s.metric): s for s in judged.samples if s.metric == "vmstat_us"}
    assert {host: (s.t, s.value) for (host, _), s in samples.items()} == {
        "server": (1002.0, 50.0),
        "c1": (1002.0, 20.0),
        "c2": (1002.0, 40.0),
    }
    assert judged.metrics["vmstat_us"] == 50
    assert judged.metrics["near_vmstat_bo"] == 2 * 1024
    each = [(part.host, part.metrics.get("near_vmstat_us")) for part in judged.streams if not part.name]
    assert each == [("c1", 20.0), ("c2", 40.0)]
    assert [(phase.name, phase.begin) for phase in judged.phases] == [("quiet", 1000.0), ("hog", 1001.25)]


def _vmstat(began: int, user: int) -> str:
    """Write two vmstat reports, for one and two seconds after the start."""
    header = (
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----\n"
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC\n"
    )
    rows = [
        f" 0  0      0      1      1      1    0    0     0     1    0    0 {user}  0 50  0  0 {stamp}\n"
        for stamp in (datetime.fromtimestamp(began + second, UTC).strftime("%Y-%m-%d %H:%M:%S") for second in (1, 2))
    ]
    return f"@ {began}.0\n{header}{''.join(rows)}"


def _started(shell: str, step: Step, out: Path) -> subprocess.Popen[bytes]:
    out.mkdir()
    environment = {**os.environ, "OUT": str(out), "RUN": "r"}
    (out / "zlang-r").mkdir()
    return subprocess.Popen([*shell.split(), "-c", step.command], cwd=out, env=environment)


def _wrote(directory: Path, times: Mapping[str, float]) -> None:
    directory.mkdir()
    for name, at in times.items():
        (directory / name).write_text(f"{at}\n")
    (directory / "measure.out").write_text("")
    (directory / "measure.err").write_text("")


COUNTING = """
host client { members = ["c1".."c2"] }
kind counting: collector { look { sh "true" }  metric mapped: size = regex "^([0-9]+)" in KiB }
dir here on client { path = "." }
shell naps { command = "sleep 0.1"  writes = off }
experiment e { on = here  run = naps  collect = counting {} }
"""


def test_metrics_of_a_users_collector_are_added_up_over_machines(tmp_path: Path) -> None:
    (trial,) = trials_of(plan_of(COUNTING)).values()
    for step in trial.steps:
        (tmp_path / f"{step.name}.out").write_text("3" if step.host == "c1" else "4")
        (tmp_path / f"{step.name}.err").touch()
    verdict = judge(trial, tmp_path, (1.0, 2.0))
    assert verdict.metrics == {"mapped": 7 << 10}
    assert {part.host: part.metrics for part in verdict.streams} == {
        "c1": {"mapped": 3 << 10},
        "c2": {"mapped": 4 << 10},
    }


READS_ITSELF = """
host client { members = ["c1".."c2"] }
dir here on client { path = "." }
shell prints {
  command = "echo rate: 3 heat: 40"
  writes  = off
  metrics = [regex("moved: rate in KiB/s=rate: ([0-9]+)"), regex("heat: number=heat: ([0-9]+)")]
}
experiment e { on = here  run = prints }
"""


def test_metrics_of_a_shell_are_added_up_over_machines(tmp_path: Path) -> None:
    """Only additive metrics are added up; the others belong to each machine."""
    (trial,) = trials_of(plan_of(READS_ITSELF)).values()
    for number in (1, 2):
        _wrote(tmp_path / f"stream{number}", {"began": 1.0, "ended": 2.0})
        (tmp_path / f"stream{number}" / "measure.out").write_text("rate: 3 heat: 40\n")
    (tmp_path / "clocks").write_text("measure-c1 0.0 0.001\nmeasure-c2 0.0 0.001\n")
    verdict = judge(trial, tmp_path, (1.0, 2.0))
    assert verdict.metrics["moved"] == 6 << 10
    assert "heat" not in verdict.metrics
    assert [part.metrics["heat"] for part in verdict.streams] == [40, 40]
