"""Test streams in plans: what they share with trials without a list, and steps that carry out several."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from zlang.check.check import Overrides
from zlang.diagnostics import ProgramError
from zlang.pipeline import plans, programs, verdicts
from zlang.pipeline.plans import Planned
from zlang.plan.plan import Action, Plan, Setup, Step, Trial
from zlang.source import Source

HEAD = """
import fio

dir here { path = "." }
file data on here { size = 8MiB }
file archive on here { size = 8MiB }
fio oltp { rw = randrw  bs = 4KiB  time_based = on  runtime = 2s }
fio backup { rw = read  bs = 64KiB  time_based = on  runtime = 2s  ramp_time = 1s }
fio placed on archive { rw = read  bs = 64KiB  time_based = on  runtime = 2s  ramp_time = 1s }
shell sleeps { command = "sleep 1"  writes = off }
"""

OWN = "fio own on data { rw = randrw  bs = 4KiB  time_based = on  runtime = 2s }\n"


def planned(text: str, head: str = HEAD) -> Planned:
    checked = programs.check(Source("program.zexp", head + text), Overrides())
    assert [f.message for f in checked.findings if f.code.id.startswith("E")] == []
    (experiment,) = checked.program.experiments.values()
    return plans.plan(checked, experiment, 1, Overrides())


def plan_of(text: str, head: str = HEAD) -> Plan:
    return planned(text, head).plan


def trials_of(text: str) -> list[Trial]:
    return [item for item in plan_of(text).items() if isinstance(item, Trial)]


def measured(trial: Trial) -> Step:
    (step,) = [step for step in trial.steps if step.action is Action.MEASURE]
    return step


def test_a_stream_alone_is_the_trial_without_a_list() -> None:
    """Covers a stream with its own target, and one with a single copy."""
    alone = plan_of("experiment e { on = data  run = oltp  cache = cold }")
    for text in (
        "experiment e { on = [data]  run = [oltp]  cache = cold }",
        "experiment e { on = data  run = [oltp]  cache = cold }",
        "experiment e { on = data  run = oltp with { copies = 1 }  cache = cold }",
        OWN + "experiment e { run = own  cache = cold }",
    ):
        (expected,) = [item for item in alone.items() if isinstance(item, Trial)]
        (trial,) = [item for item in plan_of(text).items() if isinstance(item, Trial)]
        assert trial.identity == expected.identity
        assert trial.setups == expected.setups
        if "own" not in text and "with" not in text:
            assert trial.steps == expected.steps


def test_the_order_of_a_choice_does_not_matter_for_a_stream_alone() -> None:
    trials = trials_of("experiment e { on = data  run = oltp | [oltp, backup] }")
    (alone,) = trials_of("experiment e { on = data  run = oltp }")
    assert {trial.factors["run"] for trial in trials} == {"oltp", "[oltp, backup]"}
    assert alone.identity in {trial.identity for trial in trials}


def test_streams_of_one_kind_share_a_process() -> None:
    (trial,) = trials_of("experiment e { on = data  run = [oltp, placed]  cache = cold }")
    step = measured(trial)
    assert step.reader is not None
    parts = step.reader.args["streams"]
    assert isinstance(parts, list)
    assert [(part["name"], part["directory"], part["args"]["stream"]) for part in parts] == [
        ("oltp", "", "stream1"),
        ("placed", "", "stream2"),
    ]
    assert [line.split()[0] for line in step.command.splitlines()].count("fio") == 1
    assert '--filename=./zlang-"$RUN"/data' in step.command
    assert '--filename=./zlang-"$RUN"/archive' in step.command
    names = [step.name for step in trial.steps]
    assert names.index("verify-archive") < names.index("measure")
    assert {
        setup.key
        for setup in plan_of("experiment e { on = data  run = [oltp, placed] }").items()
        if isinstance(setup, Setup)
    } == {
        "here",
        "data",
        "archive",
    }
    assert trial.invalidates == ("data",)


def test_more_streams_than_one_command_can_start_are_refused() -> None:
    """Linux limits a command to 128 KiB: planning fails, instead of the trial after all files were written."""
    text = "experiment e {{ on = data with {{ copies = {} }}  run = oltp }}"
    assert len(measured(*trials_of(text.format(400))).command) < 128 << 10
    with pytest.raises(ProgramError, match=r"the command of 700 streams has .* bytes, and Linux takes 131,071 at most"):
        trials_of(text.format(700))


def test_names_of_streams_are_not_part_of_the_identity() -> None:
    (trial,) = trials_of("experiment e { on = data  run = [oltp, backup] }")
    other = HEAD.replace("oltp", "database").replace("archive", "store")
    items = plan_of("experiment e { on = data  run = [database, backup] }", other).items()
    (renamed,) = [item for item in items if isinstance(item, Trial)]
    assert renamed.identity == trial.identity


def test_the_target_of_a_stream_is_part_of_the_identity() -> None:
    (first,) = trials_of("experiment e { on = data  run = [oltp, backup] }")
    (other,) = trials_of("experiment e { on = data  run = [oltp, placed] }")
    assert first.identity != other.identity


def test_copies_share_the_first_file() -> None:
    text = "file disk on here { size = 1MiB  copies = 1 | 3 }\nexperiment e { on = disk  run = backup }"
    plan = plan_of(text)
    assert {item.key for item in plan.items() if isinstance(item, Setup)} == {"here", "disk", "disk.2", "disk.3"}
    by_copies = {trial.factors["copies"]: trial for trial in plan.items() if isinstance(trial, Trial)}
    (alone,) = trials_of("file disk on here { size = 1MiB }\nexperiment e { on = disk  run = backup }")
    assert by_copies[1].identity == alone.identity
    assert set(by_copies[1].setups) < set(by_copies[3].setups)
    reader = measured(by_copies[3]).reader
    assert reader is not None
    parts = reader.args["streams"]
    assert isinstance(parts, list)
    assert [(part["name"], part["group"]) for part in parts] == [(f"backup.{n}", "backup") for n in (1, 2, 3)]


def test_a_workload_on_each_target_and_each_workload_on_each() -> None:
    assert _names("experiment e { on = [data, archive]  run = backup }") == ["data", "archive"]
    assert _names("experiment e { on = [data, archive]  run = [backup, placed] }") == [
        "backup-data",
        "backup-archive",
        "placed",
    ]


def _names(text: str) -> list[str]:
    (trial,) = trials_of(text)
    reader = measured(trial).reader
    assert reader is not None
    parts = reader.args["streams"]
    assert isinstance(parts, list)
    return [part["name"] for part in parts]


def test_processes_of_different_kinds_begin_together(tmp_path: Path) -> None:
    """One that fails is waited for with the others, and fails the step; the gate is gone afterwards."""
    text = 'shell fails { command = "echo no such disk >&2; exit 3"  writes = off }\n'
    (trial,) = trials_of(text + "experiment e { on = data  run = [sleeps, fails] }")
    (out, run) = (tmp_path / "out", "gate")
    out.mkdir()
    (tmp_path / f"zlang-{run}").mkdir()
    for shell in ("dash", "bash"):
        done = subprocess.run(
            [shell, "-c", measured(trial).command],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "RUN": run, "OUT": str(out)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 3
        assert "no such disk" in done.stderr
        began = [float((out / place / "began").read_text()) for place in ("stream1", "stream2")]
        ended = [float((out / place / "ended").read_text()) for place in ("stream1", "stream2")]
        assert max(began) < min(ended) or ended[1] < ended[0]
        assert not (out / "gate").exists()
        for place in ("stream1", "stream2"):
            for file in (out / place).iterdir():
                file.unlink()
            (out / place).rmdir()


def test_a_plan_shows_streams_and_levels_that_are_set_up_once() -> None:
    shown = planned("experiment e { on = data  run = oltp | [oltp, placed]  repeat = 3 }")
    assert "archive" in [setup.key for setup in plans.setups_by_branch(shown)]
    assert verdicts.set_up_once(shown) == ("run",)
    assert verdicts.is_removed_by_blocks(shown)
    assert verdicts.set_up_once(planned("experiment e { on = data  run = [oltp, placed]  repeat = 3 }")) == ()


def test_programs_without_lists_are_planned_in_one_way() -> None:
    """The kind of the measurement determines its reader, and the plan contains no streams."""
    (trial,) = trials_of("experiment e { on = data  run = oltp }")
    reader = measured(trial).reader
    assert reader is not None
    assert reader.name == "fio"
    assert "stream" not in trial.traits


def options_of(command: str, name: str) -> list[int]:
    """Return the values of a fio option in all sections."""
    return [int(value) for value in re.findall(rf"--{name}=(\d+)", command)]


def test_a_schedule_is_sections_one_after_the_other() -> None:
    """The schedule is repeated and cut to the runtime; ramps become steps; 0 is a pause."""
    text = "experiment e {{ on = data  run = oltp with {{ runtime = {}  rate_iops = {} }} }}"
    (trial, *_) = trials_of(text.format("5s", "[100/s for 2s, 0/s for 1s, 300/s for 1s]"))
    command = measured(trial).command
    assert options_of(command, "startdelay") == [0, 3, 4]
    assert options_of(command, "runtime") == [2, 1, 1]
    assert options_of(command, "rate_iops") == [100, 300, 100]
    assert len(set(options_of(command, "randseed"))) == 3
    (trial, *_) = trials_of(text.format("4s", "[100/s to 500/s for 4s]"))
    assert options_of(measured(trial).command, "rate_iops") == [150, 250, 350, 450]
    (trial, *_) = trials_of(text.format("60s", "[100/s to 0/s for 60s]"))
    assert options_of(measured(trial).command, "rate_iops") == [95, 85, 75, 65, 55, 45, 35, 25, 15, 5]


def test_schedules_of_several_streams_and_levels() -> None:
    """A later section waits from the common start; a different schedule is a different measurement."""
    paced = "let paced = oltp with { rate_iops = [100/s for 1s, (200/s | 300/s) for 1s] }\n"
    (trial, *_) = trials_of(paced + "experiment e { on = data  run = [paced, placed, sleeps] }")
    assert measured(trial).command.count("--exec_prerun=delay=1; eval") == 1
    trials = trials_of(paced + "experiment e { on = data  run = paced | oltp }")
    assert len({trial.identity for trial in trials}) == 3


def test_a_collector_looks_at_the_targets_of_all_streams(tmp_path: Path) -> None:
    """One step observes each target once, and fails if any of them fails."""
    (trial,) = trials_of("experiment e { on = [data, archive]  run = oltp  collect = [capacity {}] }")
    looks = {step.name: step for step in trial.steps if "capacity" in step.name}
    assert [(name, step.reader is not None) for name, step in looks.items()] == [
        ("e.collect.capacity-before", False),
        ("e.collect.capacity-after", True),
    ]
    (tmp_path / "zlang-r").mkdir()
    (tmp_path / "zlang-r" / "data").write_bytes(bytes(8192))
    environment = {**os.environ, "RUN": "r", "OUT": str(tmp_path)}
    look = ["sh", "-c", looks["e.collect.capacity-after"].command]
    assert subprocess.run(look, cwd=tmp_path, env=environment, capture_output=True, check=False).returncode != 0
    (tmp_path / "zlang-r" / "archive").write_bytes(bytes(4096))
    done = subprocess.run(look, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert [line for line in done.stdout.splitlines() if "apparent" in line] == [
        "data\tapparent\t8192",
        "archive\tapparent\t4096",
    ]


def test_copies_alone_have_the_name_that_they_have_beside_others() -> None:
    """So `oltp.read_iops` is a metric of each trial, however many copies there are."""
    more = "file several on here { size = 1MiB  copies = 1 | 2 }\nlet load = oltp | [oltp, placed]\n"
    trials = trials_of(more + "experiment e { on = several  run = load }")
    names = {(trial.factors["copies"], trial.factors["load"]): trial.traits.get("stream") for trial in trials}
    several = "[oltp, placed]"
    assert names == {(1, "oltp"): "oltp", (2, "oltp"): "oltp", (1, several): None, (2, several): None}


def test_a_collector_without_a_list_collects() -> None:
    alone, listed = (
        trials_of(f"import linux\nmpstat cpu {{}}\nexperiment e {{ on = data  run = oltp  collect = {value} }}")
        for value in ("cpu", "[cpu]")
    )
    assert alone == listed
    assert any("mpstat" in step.command for step in alone[0].steps)
