"""Test events in plans: trials without events are unaffected, and an event ends with the workloads."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from waiting import wait_for

from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.plan.plan import Action, Trial
from zlang.run import processes
from zlang.source import Source

HEAD = """
import events

dir here { path = "." }
shell naps { command = "sleep 1"  writes = off }
shell waits { command = "until test -s $OUT/../event1/start.out; do sleep 0.1; done"  writes = off }
kind endless: event {
  doc    = "x"
  writes = off
  needs dir as at
  start { sh "echo started" }
  wait { sh "sleep 1000 & sleep 1001" { timeout = 1h } }
  verify { sh "echo it was" is "it was" }
  stop { sh "echo stopped" }
}
shell sees { command = "until test -s $OUT/../event1/wait.out; do sleep 0.1; done"  writes = off }
kind says: event {
  doc    = "x"
  writes = off
  needs dir as at
  wait { sh "echo on; sleep 1000 & sleep 1001" { timeout = 1h } }
}
kind changes: event { wait { sh "true" }  needs dir as at  doc = "x" }
kind fails: event { doc = "x"  start { sh "echo no pool >&2; exit 7" } }
"""


def trial_of(text: str) -> Trial:
    checked = programs.check(Source("program.zexp", HEAD + text), Overrides())
    assert [f.message for f in checked.findings if f.code.id.startswith("E")] == []
    (experiment,) = checked.program.experiments.values()
    planned = plans.plan(checked, experiment, 1, Overrides()).plan
    (trial,) = [item for item in planned.items() if isinstance(item, Trial)]
    return trial


def test_a_level_without_events_changes_no_trial() -> None:
    plain = trial_of("experiment e { on = here  run = naps }")
    none = trial_of("experiment e { on = here  run = naps  during = none }")
    assert (none.identity, none.steps) == (plain.identity, plain.steps)
    happening = trial_of("experiment e { on = here  run = naps  during = endless {} }")
    assert happening.identity != plain.identity


def test_the_steps_around_an_event() -> None:
    trial = trial_of("experiment e { on = here  run = naps  during = endless {} }")
    last = [(step.name.partition(".")[0], step.action) for step in trial.steps[-3:]]
    assert [action for _, action in last] == [Action.MEASURE, Action.VERIFY, Action.TIDY]
    assert trial.invalidates == ()


def test_an_event_that_changes_its_target_makes_it_stale() -> None:
    assert trial_of("experiment e { on = here  run = naps  during = changes {} }").invalidates == ("here",)


# Imitates `timeout` when a signal arrives while it forks, or is lost before the shell becomes `timeout`.
TIMEOUT = """#!/usr/bin/python3
import os, signal, subprocess, sys
seen = []
def end(*_):
    seen.append(1)
    if len(seen) > {lost}:
        os._exit(143)
signal.signal(signal.SIGTERM, end)
os.setpgid(0, 0)
subprocess.run(sys.argv[4:])
"""


def carried_out(trial: Trial, place: Path, shell: str) -> subprocess.CompletedProcess[str]:
    (step,) = [step for step in trial.steps if step.action is Action.MEASURE]
    (place / "out").mkdir()
    (place / "zlang-run").mkdir()
    path = f"{place}/bin:/usr/bin:/bin"
    environment = {"PATH": path, "RUN": "run", "OUT": str(place / "out"), "ZLANG_STEP": str(place)}
    command = [shell, "-c", step.command]
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_an_event_without_an_end_ends_with_the_workloads(tmp_path: Path, shell: str) -> None:
    trial = trial_of("experiment e { on = here  run = waits  during = endless {} }")
    done = carried_out(trial, tmp_path, shell)
    assert (done.returncode, done.stderr.replace("Terminated\n", "")) == (0, "")
    event, stream = tmp_path / "out/event1", tmp_path / "out/stream1"
    assert (event / "start.out").read_text() == "started\n"
    assert (event / "over").exists()
    assert float((event / "began").read_text()) < float((stream / "ended").read_text())
    # Its processes have received the signal, and end when the machine schedules them.
    wait_for(lambda: processes.marked({"ZLANG_STEP": str(tmp_path)}) == [])
    assert not (tmp_path / "out/gate").exists()


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize("lost", [0, 1])
def test_a_signal_at_a_bad_moment_still_ends_an_event(tmp_path: Path, shell: str, lost: int) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/timeout").write_text(TIMEOUT.format(lost=lost))
    (tmp_path / "bin/timeout").chmod(0o755)
    done = carried_out(trial_of("experiment e { on = here  run = sees  during = says {} }"), tmp_path, shell)
    assert (done.returncode, done.stderr.replace("Terminated\n", "")) == (0, "")
    assert (tmp_path / "out/event1/wait.out").read_text() == "on\n"
    wait_for(lambda: processes.marked({"ZLANG_STEP": str(tmp_path)}) == [])


def test_a_workload_that_is_an_event_is_started_by_its_wrapper(tmp_path: Path) -> None:
    """A wrapper can limit a load beside the measured workload, for example by a control group."""
    trial = trial_of(
        "import wrappers\n"
        'shell calm { command = "nice >$OUT/niceness"  writes = off  under = nice { niceness = 1 } }\n'
        "experiment e { on = here  run = naps  during = calm }"
    )
    done = carried_out(trial, tmp_path, "dash")
    assert (done.returncode, done.stderr) == (0, "")
    assert int((tmp_path / "out/event1/niceness").read_text()) == min(19, os.nice(0) + 1)


def test_an_event_is_started_by_its_wrapper(tmp_path: Path) -> None:
    """The processor hog has the niceness set by its wrapper, and is gone when the workload has ended."""
    of_event = f"grep -l -a -z ZLANG_STEP={tmp_path} /proc/[0-9]*/environ 2>/dev/null | cut -d / -f 3"
    is_nice = f"ps -o ni= -p $({of_event} | paste -s -d ,) | grep -q -x -e ' *19'"
    (tmp_path / "looks.sh").write_text(f"until {is_nice}; do sleep 0.1; done")
    trial = trial_of(
        "import wrappers\n"
        f'shell looks {{ command = "timeout 60 sh {tmp_path}/looks.sh"  writes = off }}\n'
        "experiment e { on = here  run = looks  during = hog { under = nice { niceness = 19 } } }"
    )
    done = carried_out(trial, tmp_path, "dash")
    assert (done.returncode, done.stderr.replace("Terminated\n", "")) == (0, "")
    wait_for(lambda: processes.marked({"ZLANG_STEP": str(tmp_path)}) == [])


def test_a_hog_holds_memory_until_the_workloads_end(tmp_path: Path) -> None:
    """The workload ends as soon as a process of the event holds the memory, which is then released."""
    of_event = "grep -l ZLANG_STEP={place} -a -z /proc/[0-9]*/environ 2>/dev/null | sed s/environ/status/"
    is_held = """awk '$1 == "VmRSS:" && $2 > 60000 {{ over = 1 }} END {{ exit !over }}'"""
    holds = f"until {of_event} | xargs cat 2>/dev/null | {is_held}; do sleep 0.1; done"
    (tmp_path / "holds.sh").write_text(holds.format(place=tmp_path))
    trial = trial_of(
        f'shell looks {{ command = "timeout 60 sh {tmp_path}/holds.sh"  writes = off }}\n'
        "experiment e { on = here  run = looks  during = hog { processors = 0  memory = 64MiB } }"
    )
    done = carried_out(trial, tmp_path, "dash")
    assert (done.returncode, done.stderr.replace("Terminated\n", "")) == (0, "")
    wait_for(lambda: processes.marked({"ZLANG_STEP": str(tmp_path)}) == [])


def test_a_hog_whose_memory_is_taken_away_fails_the_trial(tmp_path: Path) -> None:
    """The kernel takes memory away when it is short; without this check, only the processors would stay busy."""
    of_event = f"grep -l -a -z ZLANG_STEP={tmp_path} /proc/[0-9]*/environ 2>/dev/null | sed s/environ/comm/"
    holder = f"{of_event} | xargs grep -s -l -x tail | cut -d / -f 3"
    (tmp_path / "kills.sh").write_text(f"until kill -KILL $({holder}) 2>/dev/null; do sleep 0.1; done; sleep 3")
    trial = trial_of(
        f'shell kills {{ command = "timeout 60 sh {tmp_path}/kills.sh"  writes = off }}\n'
        "experiment e { on = here  run = kills  during = hog { memory = 64MiB } }"
    )
    done = carried_out(trial, tmp_path, "dash")
    assert done.returncode == 1
    assert "what held the memory was ended" in done.stderr
    wait_for(lambda: processes.marked({"ZLANG_STEP": str(tmp_path)}) == [])


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_an_event_that_cannot_begin_fails_the_trial(tmp_path: Path, shell: str) -> None:
    done = carried_out(trial_of("experiment e { on = here  run = naps  during = fails {} }"), tmp_path, shell)
    assert done.returncode == 7
    assert "no pool" in done.stderr


def test_an_event_that_is_due_later_does_not_begin(tmp_path: Path) -> None:
    done = carried_out(trial_of("experiment e { on = here  run = naps  during = endless { at = 1h } }"), tmp_path, "sh")
    assert done.returncode == 0
    assert not (tmp_path / "out/event1/began").exists()
    assert processes.marked({"ZLANG_STEP": str(tmp_path)}) == []


@pytest.mark.parametrize(
    ("receive", "called"), [("on", {"snapshot", "send", "receive"}), ("off", {"snapshot", "send"})]
)
def test_a_dataset_is_received_only_if_that_is_wanted(tmp_path: Path, receive: str, called: set[str]) -> None:
    """Nothing is sent to /dev/null itself, because ZFS cannot do so on every kernel."""
    text = "import zfs\npool tank on here { size = 64MiB }\ndataset d on tank\n"
    trial = trial_of(f"{text}experiment e {{ on = d  run = naps  during = send {{ receive = {receive} }} }}")
    (step,) = [step for step in trial.steps if step.action is Action.MEASURE]
    (tmp_path / "out").mkdir()
    (tmp_path / "zlang-run/tank/d.run").mkdir(parents=True)
    tool = tmp_path / "zfs"
    tool.write_text(
        f'#!/bin/sh\necho "$1" >>{tmp_path}/called\ntest "$1" != send || test ! /proc/self/fd/1 -ef /dev/null\n'
    )
    tool.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "RUN": "run", "OUT": str(tmp_path / "out")}
    subprocess.run(["dash", "-c", step.command], cwd=tmp_path, env=environment, check=True)
    assert set((tmp_path / "called").read_text().split()) == called
