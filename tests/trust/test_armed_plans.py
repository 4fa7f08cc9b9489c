"""Check that every device written to by any trial of a plan is armed, however that write is decided."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from command_line import Zlang

from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.pipeline.plans import Planned
from zlang.plan import exposure
from zlang.plan.plan import Action, Trial
from zlang.source import Source

HEAD = """
import fio
import disks
import events
import wrappers
disk one { id = "/dev/disk/by-id/scsi-SN-one"  serial = "SN-one"  size = 100MiB }
disk two { id = "/dev/disk/by-id/scsi-SN-two"  serial = "SN-two"  size = 100MiB }
dir here { path = "." }
file data on here { size = 8MiB }
let place = one | two
fio reads { rw = randread  time_based = on  runtime = 2s }
fio writes { rw = randwrite  time_based = on  runtime = 2s }
fio either { rw = randread | randwrite  time_based = on  runtime = 2s }
fio own on one { rw = randwrite  time_based = on  runtime = 2s }
fio placed on place { rw = randread | randwrite  time_based = on  runtime = 2s }
fio looks on two { rw = randread  time_based = on  runtime = 2s }
kind around: wrapper { wrap { sh "sh -c 'dd of=x; exec \\"$@\\"' sh {command}" } }
kind naming: wrapper { property at: path { required = on }  wrap { sh "sh -c 'dd of=\\"$1\\"' sh {at} {command}" } }
kind writer: event { writes = off  needs block as at  wait { sh "dd of={at.block}" } }
fio wrapped { rw = randread  time_based = on  runtime = 2s  under = none | around {} }
fio patient { rw = randread  time_based = on  runtime = 2s  under = nice { niceness = 1 } }
fio names on one { rw = randread  time_based = on  runtime = 2s  under = naming { at = two.block } }
"""
PROGRAMS = {
    "on = one  run = reads": [],
    "on = one | two  run = either": ["one", "two"],
    "on = one  run = either": ["one"],
    "on = data  run = placed": ["one", "two"],
    "on = data  run = reads | [reads, own]": ["one"],
    "on = data  run = reads | [reads, own, looks]": ["one"],
    "on = data  run = reads | [reads, placed]": ["one", "two"],
    "on = data  run = reads  during = none | own": ["one"],
    "on = data  run = reads  during = none | looks": [],
    "on = data  run = reads  during = none | placed": ["one", "two"],
    "on = two  run = reads  during = none | own": ["one"],
    "on = [data, one]  run = writes": ["one"],
    "on = data | [data, two]  run = either": ["two"],
    "on = one  run = reads | [reads, looks]  during = none | hog { at = 1s }": [],
    "on = one  run = wrapped": ["one"],
    "on = data | one  run = wrapped": ["one"],
    "on = one  run = patient": [],
    "on = one  run = reads  during = none | writer {}": ["one"],
    "on = data  run = [reads, names, looks]": ["one", "two"],
    "on = data  run = reads | [reads, names, own, looks]": ["one", "two"],
}


def planned(body: str) -> Planned:
    checked = programs.check(Source("program.zexp", f"{HEAD}experiment e {{ {body} }}"), Overrides())
    assert [finding.message for finding in checked.findings if finding.code.id.startswith("E")] == []
    (experiment,) = checked.program.experiments.values()
    return plans.plan(checked, experiment, 1, Overrides())


@pytest.mark.parametrize("body", PROGRAMS)
def test_all_that_is_written_to_is_armed(body: str) -> None:
    plan = planned(body).plan
    assert sorted(name.rpartition("-")[2] for name in plan.header.armed) == PROGRAMS[body]
    for trial in (item for item in plan.items() if isinstance(item, Trial)):
        guarded = {step.name for step in trial.steps if step.action is Action.GUARD}
        (measured,) = [step for step in trial.steps if step.action is Action.MEASURE]
        for name in ("one", "two"):
            if f"-{name}/" in measured.command and "randwrite" in measured.command:
                assert any(name in step for step in guarded) or name not in PROGRAMS[body]


def test_of_many_points_more_is_armed_rather_than_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposure, "_MOST_POINTS", 1)
    for body, names in PROGRAMS.items():
        armed = {name.rpartition("-")[2] for name in planned(body).plan.header.armed}
        assert {*names} <= armed, body
        assert len(list(itertools.islice(planned(body).plan.items(), 100))) > 0, body


FAR = """
import fio
import disks
host here
host far
disk one on far {{ id = "/dev/disk/by-id/scsi-SN-one"  serial = "SN-one"  size = 100MiB }}
fio some {{ rw = {rw}  time_based = on  runtime = 2s  from = here }}
experiment e {{ on = one  run = some }}
"""


@pytest.mark.parametrize(("rw", "armed"), [("randwrite", ("/dev/disk/by-id/scsi-SN-one",)), ("randread", ())])
def test_a_disk_that_a_person_guards_on_another_machine_is_armed(rw: str, armed: tuple[str, ...]) -> None:
    checked = programs.check(Source("program.zexp", FAR.format(rw=rw)), Overrides())
    header = plans.plan(checked, programs.choose(checked, None), 1, Overrides()).plan.header
    assert header.armed == armed
    assert [guarded.steps for guarded in header.guarded] == [() for _ in armed]


def test_unwritten_devices_cannot_be_armed_even_if_nothing_is_measured(tmp_path: Path) -> None:
    zlang = Zlang(tmp_path)
    zlang.run(
        'dir here { path = "." }\nshell io { command = "true"  writes = off }\nexperiment e { on = here  run = io }'
    )
    for more in ([], ["--failed"]):
        refused = zlang("run", "program.zexp", "--arm", "/dev/nosuch", *more, code=1)
        assert "the plan does not write to /dev/nosuch" in refused.err
