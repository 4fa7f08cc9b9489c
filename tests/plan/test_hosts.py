"""Test plans for several machines: owners of trials, each machine's part, and manual steps on other machines."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest

from zlang.check.check import Overrides
from zlang.diagnostics import Severity
from zlang.errors import RunError
from zlang.pipeline import costs, machines, plans, programs, submissions
from zlang.pipeline.plans import Planned
from zlang.plan.plan import Action, Setup, Trial
from zlang.run import lanes
from zlang.source import Source

TWO = """
kind tool: resource on host {
  offers dir = "/tmp/{name}"
  create { sh "mkdir" } destroy { sh "rmdir" }
  flush { sh "flush it" } verify cold { sh "is it cold" is "yes" }
  create freebsd { sh "mkdir with gadget" } requires gadget "get one"
}
kind other: workload { needs dir as at run { sh "widget {at.dir}" } requires widget "get one" }
host a
host b { platform = freebsd }
let box = a | b
tool here on box {}
other work {}
shell says { command = "echo 1" | "echo 2" }
experiment e { on = here  run = says | work  repeat = 2 }
"""
PARTS = """
dir here { path = "." }
file data on here { size = 4KiB | 8KiB | 1MiB }
shell says { command = "echo 1" | "echo 2"  writes = off }
experiment e { on = data  run = says  repeat = 3 }
"""
LANES = """
host one
host two
let box = one | two
dir here on box { path = "." }
shell says { command = "echo 1"  writes = off }
experiment e { on = here  run = says  repeat = 2 }
"""
FAR = """
kind tool: resource on host {
  offers dir = "/tmp/{name}"
  create { sh "mkdir" { why = "make it" } } destroy { sh "rmdir" { why = "remove it" } }
  flush { sh "flush it" { why = "flush" } } verify cold { sh "is it cold" is "yes" { why = "cold" } }
}
host server
host one
host two
tool here on server {}
shell says { command = "echo 1"  from = one | two }
experiment e { on = here  run = says  cache = cold }
"""


def planned(text: str, host: str | None = None) -> Planned:
    checked = programs.check(Source("program.zexp", text), Overrides())
    assert [finding for finding in checked.findings if finding.code.severity is Severity.ERROR] == []
    return plans.plan(checked, programs.choose(checked, None), 1, Overrides(), host)


def trials(plan: Planned) -> list[Trial]:
    return [item for item in plan.plan.items() if isinstance(item, Trial)]


def test_the_parts_of_all_hosts_are_the_plan() -> None:
    whole, a, b = planned(TWO), planned(TWO, "a"), planned(TWO, "b")
    assert whole.plan.header.hosts == ("a", "b")
    assert len({plan.plan.header.plan for plan in (whole, a, b)}) == 1
    assert [plan.plan.header.trials for plan in (whole, a, b)] == [len(trials(plan)) for plan in (whole, a, b)]
    whose = {trial.number: (trial.identity, trial.host) for trial in trials(whole)}
    parts = {trial.number: (trial.identity, trial.host) for plan in (a, b) for trial in trials(plan)}
    assert whose == parts
    assert {trial.host for trial in trials(a)} == {"a"}
    # Two machines with identical properties are still two machines.
    assert not {t.identity for t in trials(a)} & {t.identity for t in trials(b)}


def test_a_part_needs_only_the_tools_of_its_host() -> None:
    a, b = (planned(TWO, host).plan.header.tools for host in "ab")
    assert "gadget" not in a
    assert "gadget" in b
    assert "widget" in a.keys() & b.keys()


@pytest.mark.parametrize("far", ["on", "off"])
def test_tools_of_an_unused_branch_are_not_required(far: str) -> None:
    load = f"param far: bool = {far}\nlet load = if far then work else says\nexperiment"
    tools = planned(TWO.replace("experiment", load).replace("says | work", "load"), "a").plan.header.tools
    assert ("widget" in tools) == (far == "on")


def test_only_one_machine_can_carry_a_plan_out() -> None:
    plans.require_one_host(planned(TWO, "a"))
    with pytest.raises(RunError, match="2 hosts: a, b"):
        plans.require_one_host(planned(TWO))
    with pytest.raises(RunError, match="2 hosts") as refused:
        plans.emit(planned(TWO), "sh")
    assert refused.value.hint == "add `--out DIR`: it writes a script for each"
    with pytest.raises(RunError, match="no trials on a host `c`"):
        planned(TWO, "c")
    plans.require_one_host(planned(TWO.replace("let box = a | b", "let box = a")))
    only = planned(TWO.replace("repeat = 2", "where box == b"))
    plans.require_one_host(only)
    assert only.plan.header.hosts == ("b",)
    with pytest.raises(RunError, match="others on no host"):
        plans.require_one_host(planned(TWO.replace("on = here", "on = here | tool {}")))


@pytest.mark.parametrize("host", ["a", "b"])
def test_a_block_ends_on_every_host(host: str) -> None:
    text = TWO.replace('"echo 2" }', '"echo 2"  writes = off }').replace("says | work", "says")
    checked = programs.check(Source("program.zexp", text), Overrides())
    part = plans.plan(checked, programs.choose(checked, None), 1, Overrides(), host, order="blocked")
    for both in (plans.plan(checked, programs.choose(checked, None), 1, Overrides(), order="blocked"), part):
        own = [trial for trial in trials(both) if trial.host == host]
        assert [trial.replicate for trial in own if trial.invalidates] == [1, 2]
        last = {trial.replicate: trial.number for trial in own}
        assert [trial.number for trial in own if trial.invalidates] == list(last.values())


def test_steps_on_another_host_become_manual() -> None:
    part = planned(FAR, "two")
    (trial,) = trials(part)
    assert [(step.action, step.why, step.expect) for step in trial.steps] == [
        (Action.PREPARE, "note where the workload leaves files", None),
        (Action.ASK, "on server: flush", None),
        (Action.ASK, "on server: cold", "yes"),
        (Action.MEASURE, "the workload", None),
    ]
    (setup,) = [item for item in part.plan.items() if isinstance(item, Setup)]
    assert [(step.action, step.command) for step in (*setup.make, *setup.unmake)] == [
        (Action.ASK, "mkdir"),
        (Action.ASK, "rmdir"),
    ]
    hosts = [step.host for trial in trials(planned(FAR)) for step in trial.steps]
    assert set(hosts) == {"server", "one", "two"}


@pytest.mark.parametrize("order", ["planned", "blocked", "random", "as-written"])
@pytest.mark.parametrize("most", [1, 3, 100])
def test_parts_have_every_trial_once_and_no_whole_plot_is_cut(order: str, most: int) -> None:
    checked = programs.check(Source("parts.zexp", PARTS), Overrides())
    planned = plans.plan(checked, programs.choose(checked, None), 1, Overrides(), order=order)
    parts = plans.cut(planned, most)
    items = [[item for item in part.plan.items() if isinstance(item, Trial)] for part in parts]
    assert [item for part in items for item in part] == trials(planned)
    assert [part.plan.header.trials for part in parts] == [len(part) for part in items]
    assert [part.plan.header.part for part in parts] == [f"{n}/{len(parts)}" for n in range(1, len(parts) + 1)]
    for before, after in itertools.pairwise(items):
        assert (before[-1].block, before[-1].whole_plot) != (after[0].block, after[0].whole_plot)
    needed = {signature for item in items[-1] for signature in item.setups}
    assert needed == {item.signature for item in parts[-1].plan.items() if isinstance(item, Setup)}
    if order == "blocked" and most == 3:
        assert [{item.block for item in part} for part in items] == [{1}, {2}, {3}]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (LANES, "the trials are on 2 hosts: one, two"),
        (PARTS.replace("repeat = 3", "repeat = 3..5 until ci(elapsed) < 5%"), "depends on what was measured before"),
    ],
)
def test_plans_that_cannot_be_cut_are_refused(text: str, why: str) -> None:
    checked = programs.check(Source("parts.zexp", text), Overrides())
    planned = plans.plan(checked, programs.choose(checked, None), 1, Overrides())
    with pytest.raises(RunError, match=why):
        submissions.require_parts(planned)


def test_lanes_take_their_time_at_once(tmp_path: Path) -> None:
    """Machines without a shared trial take as long as the slower one; a trial on both belongs to one lane."""
    apart = "let box = one | two"
    estimates = []
    for placed in (apart, "let box = two"):
        checked = programs.check(Source("lanes.zexp", LANES.replace(apart, placed)), Overrides())
        reached = ("one", "two")
        planned = plans.plan(checked, programs.choose(checked, None), 1, Overrides(), reached=reached)
        estimates.append(costs.estimate(planned, tmp_path / "none.duckdb"))
    assert sorted(estimates[0].lanes) == ["one", "two"]
    assert max(estimates[0].lanes.values()) <= estimates[0].total < sum(estimates[0].seconds.values())
    assert estimates[1].lanes == {}


def test_members_take_their_time_at_once(tmp_path: Path) -> None:
    totals = []
    for names in (["n1"], ["n1", "n2", "n3", "n4"]):
        text = GROUP.replace("MEMBERS", ", ".join(f'"{name}"' for name in names))
        checked = programs.check(Source("members.zexp", text), Overrides())
        assert not checked.findings
        planned = plans.plan(checked, programs.choose(checked, None), 1, Overrides(), reached=names)
        expected = costs.estimate(planned, tmp_path / "none.duckdb")
        totals.append(expected.total - expected.seconds["measuring"])
    assert totals[1] == pytest.approx(totals[0], rel=0.01)


GROUP = """
import fio
host client { members = [MEMBERS] }
dir here on client { path = "." }
file data on here { size = 1KiB }
shell lists { command = "ls"  writes = off }
experiment e { on = data  run = lists  repeat = 3  cache = cold }
"""


def test_a_machine_on_which_a_person_acts_is_of_one_lane() -> None:
    """Two clients share a server that zlang cannot reach: it never works for both at once."""
    checked = programs.check(Source("far.zexp", FAR), Overrides())
    planned = plans.plan(checked, programs.choose(checked, None), 1, Overrides(), reached=("one", "two"))
    assert lanes.of(planned.plan) == [{"one", "two", "server"}]


def test_machines_that_share_something_are_of_one_lane() -> None:
    text = LANES.replace("host one", 'host one { shares = "switch" }').replace(
        "host two", 'host two { shares = "switch" }'
    )
    checked = programs.check(Source("lanes.zexp", text), Overrides())
    planned = plans.plan(checked, programs.choose(checked, None), 1, Overrides(), reached=("one", "two"))
    assert lanes.of(planned.plan) == [{"one", "two"}]


@pytest.mark.parametrize(("text", "has_meetings"), [(FAR, True), (LANES, False)])
def test_each_machine_has_a_script_that_any_shell_reads(tmp_path: Path, text: str, *, has_meetings: bool) -> None:
    """If no trial needs two machines, a script does not wait for a common start time."""
    checked = programs.check(Source("far.zexp", text), Overrides())
    chosen = programs.choose(checked, None)
    planned = plans.plan(checked, chosen, 1, Overrides(), reached=machines.hosts_of(chosen))
    scripts = {name: "".join(pieces) for name, pieces in plans.scripts(planned)}
    assert scripts.keys() == ({"server", "one", "two"} if has_meetings else {"one", "two"})
    for script in scripts.values():
        (tmp_path / "plan.sh").write_text(script)
        listed = subprocess.run(["dash", "plan.sh", "--list"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert listed.stdout
        assert ("MEET" in script) is has_meetings
