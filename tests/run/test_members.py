"""Test what the members of a group do at the same time, with machines whose steps take time."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from run_fakes import FakeExecutor, FakeHandle, Signals, fake_run, new_folder, plan, setup, step, trial

from zlang.errors import RunError
from zlang.plan.plan import Action, Plan, Setup, Step
from zlang.run import run_state
from zlang.run.events import LeftBehind, Outcome
from zlang.run.executor import LOST, Handle
from zlang.run.stop import Interrupted

MACHINES = ("c1", "c2", "c3")
MEMBERS = dict.fromkeys(MACHINES, "client")
NAMES = {"make": Action.PREPARE, "flush": Action.FLUSH, "verify": Action.VERIFY, "stop": Action.TIDY}


@dataclass
class Machines(FakeExecutor):
    """Machines that work until somebody waits for them; `together` has the steps that ran after each start."""

    running: dict[str, str] = field(default_factory=dict)
    together: list[set[str]] = field(default_factory=list)

    def start(self, step: Step, out: Path, *, keep: bool = True) -> Handle:
        assert step.host not in self.running, f"{step.host} works for {step.name} and {self.running[step.host]}"
        super().start(step, out, keep=keep)
        self.running[step.host] = step.name
        self.together.append(set(self.running.values()))
        return Working(step.name, self, host=step.host)

    def start_together(self, steps: Sequence[Step], out: Path, codes: dict[str, int]) -> Handle:
        assert not self.running, f"{self.running} while the trial is measured"
        codes.update(dict.fromkeys([step.name for step in steps], 0))
        return FakeHandle("together", self)


@dataclass(frozen=True)
class Working(FakeHandle):
    host: str = ""

    def finish(self) -> int:
        self.leave()
        return super().finish()

    def stop(self) -> int:
        self.leave()
        return super().stop()

    def kill(self) -> None:
        self.leave()
        super().kill()

    def leave(self) -> None:
        assert isinstance(self.executor, Machines)
        self.executor.running.pop(self.host, None)


def on_each(verb: str, machines: Sequence[str] = MACHINES) -> list[Step]:
    return [replace(step(f"{verb}-{name}", NAMES.get(verb, Action.MEASURE)), host=name) for name in machines]


def on(machine: str, made: Setup) -> Setup:
    make, unmake = ([replace(each, host=machine) for each in steps] for steps in (made.make, made.unmake))
    return replace(made, make=tuple(make), unmake=tuple(unmake))


def resources() -> list[Setup]:
    """A directory and a file on each machine, all of one before those of the next."""
    return [
        on(name, setup(f"{kind}{name}", f"{kind}{name}", f"dir{name}" if kind == "file" else None))
        for name in MACHINES
        for kind in ("dir", "file")
    ]


def of_group(groups: dict[str, str] = MEMBERS) -> Plan:
    setups = resources()
    steps = [*on_each("flush"), *on_each("verify"), *on_each("measure"), *on_each("stop")]
    needed = [made.signature for made in setups]
    facts = [replace(step(f"fact-{name}", Action.FACT), host=name) for name in MACHINES]
    return plan(*setups, trial(1, needed, steps), facts=facts, machines=MACHINES, groups=groups)


def names(verb: str) -> set[str]:
    return {f"{verb}{name}" for name in MACHINES}


def test_members_work_at_the_same_time_but_not_beside_a_measurement(tmp_path: Path) -> None:
    executor = Machines()
    folder = new_folder(tmp_path, of_group())
    list(fake_run(folder, executor))
    each = ("fact-", "make-dir", "make-file", "flush-", "verify-", "stop-", "unmake-file", "unmake-dir")
    assert [verb for verb in each if names(verb) not in executor.together] == []
    for verbs in executor.together:  # no cache is verified while another machine flushes
        assert len({name.partition("-")[0] for name in verbs}) == 1
    assert run_state.read(folder.journal).is_finished


def test_machines_that_are_not_alike_work_one_after_the_other(tmp_path: Path) -> None:
    executor = Machines()
    list(fake_run(new_folder(tmp_path, of_group({"c1": "client", "c2": "server"})), executor))
    assert all(len(steps) == 1 for steps in executor.together if not any("fact" in name for name in steps))


def test_a_member_that_fails_does_not_stop_the_others_in_mid_step(tmp_path: Path) -> None:
    executor = Machines(codes={"make-dirc2": 7})
    (outcome,) = [event for event in fake_run(new_folder(tmp_path, of_group()), executor) if isinstance(event, Outcome)]
    assert outcome.why_not == "make-dirc2: exited with 7"
    assert not any("flush" in name for name in executor.order)
    made = [name.removeprefix("make-") for name in executor.order if name.startswith("make-")]
    unmade = [name.removeprefix("unmake-") for name in executor.order if name.startswith("unmake-")]
    assert sorted(made) == sorted(unmade)
    assert "filec2" not in made


def test_what_a_member_cannot_remove_keeps_only_what_is_below_it(tmp_path: Path) -> None:
    executor = Machines(codes={"unmake-filec2": 1})
    events = list(fake_run(new_folder(tmp_path, of_group()), executor))
    assert [event.name for event in events if isinstance(event, LeftBehind)] == ["filec2"]
    assert "unmake-dirc2" not in executor.order
    assert {"unmake-dirc1", "unmake-dirc3"} <= set(executor.order)


def test_a_lost_member_is_set_up_again_and_the_others_are_not(tmp_path: Path) -> None:
    setups = resources()
    needed = [made.signature for made in setups]
    trials = [trial(number, needed, on_each("flush")) for number in (1, 2)]
    executor = Machines(during={"flush-c2": lambda _: executor.codes.update({"flush-c2": LOST})})
    events = []
    for event in fake_run(new_folder(tmp_path, plan(*setups, *trials, machines=MACHINES, groups=MEMBERS)), executor):
        events += [event.why_not] if isinstance(event, Outcome) else []
        executor.during, executor.codes = ({}, {}) if events else (executor.during, executor.codes)
    assert events == ["flush-c2: exited with 125", ""]
    assert {name: executor.order.count(f"make-dir{name}") for name in MACHINES} == {"c1": 1, "c2": 2, "c3": 1}


def test_all_members_stop_when_the_run_is_to_stop(tmp_path: Path) -> None:
    executor = Machines(during={"make-filec3": lambda signals: signals.request(signal.SIGINT)})
    folder = new_folder(tmp_path, of_group())
    with pytest.raises(Interrupted):
        list(fake_run(folder, executor))
    assert executor.running == {}
    state = run_state.read(folder.journal)
    assert not state.leftovers
    assert all(entry.end is not None for entries in state.steps.values() for entry in entries)


def test_nothing_runs_on_when_the_disk_of_the_coordinator_is_full(tmp_path: Path) -> None:
    def full(_: Signals) -> None:
        raise OSError(28, "No space left on device")

    executor = Machines(during={"make-filec3": full})
    with pytest.raises(RunError, match="no space left"):
        list(fake_run(new_folder(tmp_path, of_group()), executor))
    assert {"kill make-filec1", "kill make-filec2"} <= set(executor.order)
