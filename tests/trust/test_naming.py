# ruff: noqa: E501 - programs of one line
"""Check that no way of naming a declared device bypasses its guard: each way is guarded, or an error."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from zlang.check import hosts, naming
from zlang.check.check import Overrides
from zlang.check.program import Experiment, Symbol
from zlang.diagnostics import Diagnostic, ProgramError
from zlang.errors import RunError
from zlang.pipeline import plans, programs
from zlang.plan.plan import Action, Setup, Trial
from zlang.run import machine
from zlang.units import Quantity

ID = "/dev/disk/by-id/ata-FAST_1"
HEAD = f"""
import fio
import disks
import filesystems
import linux
import treatments
import zfs
param place: path = "/none"
dir here {{ path = "." }}
disk fast {{ id = "{ID}"  serial = "S1"  size = 64MiB }}
disk slow {{ id = "/dev/disk/by-id/ata-SLOW_1"  serial = "S2"  size = 64MiB }}
shell look {{ command = "true"  writes = off }}
fio reads {{ rw = read }}
fio loads {{ rw = write  bs = 64KiB }}
"""
HANDS_ON = 'kind hands: resource on host { property d: path { required = on  doc = "a place" }  offers blocks = d  offers block = d }'
PASSES = 'kind passes: resource on block { offers block = "{on.block}"  offers blocks = "{on.blocks}" }'
MAKES = (
    'kind makes: resource on block { offers block = "BLOCK"  offers dir = "DIR"  '
    'create { sh "true" { why = "x" } }  destroy { sh "true" } }\nmakes p on fast'
)
CREATES = 'create { sh "true" { why = "x" } }  destroy { sh "true" }  offers'
OWN = 'kind w: workload { needs block as at  run { sh "dd of={at.block}" { why = "x" } } }'
POINT = 'property d: path { required = on  doc = "a place" }'
WRITES = "dd if=/dev/zero of={fast.block}"

GUARDED = {
    "in a command": (f'shell w {{ command = "{WRITES}" }}', "on = here  with = fast  run = w"),
    "in a command that says it only reads": (
        f'shell w {{ command = "{WRITES}"  writes = off }}',
        "on = here  with = fast  run = w",
    ),
    "through a let": (
        'let p = fast.block\nshell w { command = "dd of={p}" }',
        "on = here  with = fast  run = w",
    ),
    "through a text in a let": (
        'let p = "{fast.blocks}/001"\nshell w { command = "dd of={p}" }',
        "on = here  with = fast  run = w",
    ),
    "through if": (
        'let p = if look.writes then "/x" else fast.block\nshell w { command = "dd of={p}" }',
        "on = here  with = fast  run = w",
    ),
    "through a list": (
        'let all = [fast.block, "x"]\nshell w { command = "for i in {all}; do dd of=$i; done" }',
        "on = here  with = fast  run = w",
    ),
    "through functions": (
        'let put = replace(join([fast.id, "x"], "-"), "-x", "")\nshell w { command = "dd of={put}" }',
        "on = here  with = fast  run = w",
    ),
    "through a choice": (
        'let d = fast | slow\nshell w { command = "dd of={d.block}" }',
        "on = here  with = d  run = w",
    ),
    "by its own name": ('shell w { command = "dd of={fast.id}" }', "on = here  with = fast  run = w"),
    "written out": (f'shell w {{ command = "dd of={ID}" }}', "on = here  with = fast  run = w"),
    "written out with a detour": (
        "shell w { command = \"dd of=//dev/./disk/by-uuid/../by-id/'ata'-FAST_1\" }",
        "on = here  with = fast  run = w",
    ),
    "from its directory": (
        'shell w { command = "cd /dev/disk/by-id && dd of=ata-FAST_1" }',
        "on = here  with = fast  run = w",
    ),
    "of a partition by hand": (f'shell w {{ command = "dd of={ID}-part1" }}', "on = here  with = fast  run = w"),
    "by a collector": (
        f'kind c: collector {{ {POINT}  watch {{ sh "dd of={{d}}" {{ why = "x" }} }} }}\nc sees {{ d = fast.block }}',
        "on = here  with = fast  run = look  collect = [sees]",
    ),
    "by a collector of the library": (
        "smart sees { devices = [fast.id] }",
        "on = here  with = fast  run = look  collect = [sees]",
    ),
    "by a collector of the target": (
        'kind c: collector { needs block as at  watch { sh "dd of={at.block}" { why = "x" } } }',
        "on = fast  run = reads  collect = [c {}]",
    ),
    "by a protocol": (
        (
            f'kind p: protocol {{ {POINT}  phases = [wipes]  wipes {{ sh "dd of={{d}}" {{ why = "x" }} }} }}\n'
            "p wiped { d = fast.block }"
        ),
        "on = here  with = fast  run = look  cache = wiped",
    ),
    "by a protocol of the target": (
        'kind p: protocol { needs block as at  phases = [wipes]  wipes { sh "dd of={at.block}" { why = "x" } } }',
        "on = fast  run = reads  cache = p",
    ),
    "by a treatment": (
        f'kind t: treatment {{ needs dir as at  {POINT}  apply {{ sh "dd of={{d}}" {{ why = "x" }} }} }}',
        "on = here  with = fast  before = t { d = fast.block }  run = look",
    ),
    "by a wrapper of what is done before": (
        (
            f'kind wraps: wrapper {{ {POINT}  wrap {{ sh "dd of={{d}} -- {{command}}" }} }}\n'
            'shell w { command = "true"  under = wraps { d = fast.block } }'
        ),
        "on = here  with = fast  before = w  run = look",
    ),
    "by a treatment of the target": ("", "on = fast  before = discard {}  run = reads"),
    "by a workload of one's own that does not say that it writes": (
        OWN,
        "on = fast  run = w {}",
    ),
    "by a workload that says that it writes": (
        'kind w: workload { needs block as at  writes = on  run { sh "dd of={at.block}" { why = "x" } } }',
        "on = fast  run = w {}",
    ),
    "by a workload that says so by a condition without a value": (
        (
            'kind w: workload { needs block as at  property size: size { doc = "x" }  writes = size > 0B  '
            'run { sh "dd of={at.block}" { why = "x" } } }'
        ),
        "on = fast  run = w {}",
    ),
    "through a kind that hands it on from beneath": (f"{PASSES}\n{OWN}\npasses p on fast", "on = p  run = w {}"),
    "through a kind that hands it on and makes something": (
        f"{MAKES.replace('BLOCK', '{on.block}')}\n{OWN}",
        "on = p  run = w {}",
    ),
    "through one that hands it on with a detour": (
        f"{MAKES.replace('BLOCK', '{on.blocks}/../device')}\n{OWN}",
        "on = p  run = w {}",
    ),
    "through one that hands on the directory": (
        f"{MAKES.replace('BLOCK', 'device').replace('DIR', '/dev/zlang-{run}-fast')}\n{OWN}",
        "on = p  run = w {}",
    ),
    "beside a kind that hands it on and makes something": (
        f'{MAKES.replace("BLOCK", "{on.block}")}\nshell w {{ command = "{WRITES}"  writes = off }}',
        "on = p  run = w",
    ),
    "by a workload of one's own that says that it does not write": (
        OWN.replace("run", "writes = off  run"),
        "on = fast  run = w {}",
    ),
    "in a command of a kind whose target it is": (
        f'kind w: workload {{ needs block as at  writes = off  run {{ sh "dd of={ID}" {{ why = "x" }} }} }}',
        "on = fast  run = w {}",
    ),
    "by a kind of the library with another command": (
        'kind w: fio { run { sh "dd of={at.block}" { why = "x" } } }',
        "on = fast  run = w { rw = read }",
    ),
    "by a kind of the library that says that it does not write": (
        "kind w: fio { writes = off }",
        "on = fast  run = w { rw = write }",
    ),
    "by one that extends that": (
        "kind w: fio { writes = off }\nkind v: w { default rw = write }",
        "on = fast  run = v {}",
    ),
    "through two of them": (f"{PASSES}\n{OWN}\npasses p on fast\npasses q on p", "on = q  run = w {}"),
    "through a pool on a kind that hands it on": (
        f"{PASSES}\npasses p on fast\npool tank on p\ndataset d on tank\nfile data on d {{ size = 1MiB }}",
        "on = data  run = reads",
    ),
    "of a disk beneath the target": (
        f'ext4 v on fast\nfile data on v {{ size = 1MiB }}\nshell w {{ command = "{WRITES}" }}',
        "on = data  run = w",
    ),
    "of a disk beneath the target that is also in with": (
        f'ext4 v on fast\nfile data on v {{ size = 1MiB }}\nshell w {{ command = "{WRITES}" }}',
        "on = data  with = fast  run = w",
    ),
    "of a partition": (
        'partition p on fast { size = 8MiB }\nshell w { command = "dd of={p.block}" }',
        "on = here  with = p  run = w",
    ),
}
"""What stands before an experiment, and the experiment, which has to arm `fast`."""

REFUSED = {
    "not taken in": (f'shell w {{ command = "{WRITES}" }}', "on = here  run = w", "E333"),
    "another taken in": (f'shell w {{ command = "{WRITES}" }}', "on = here  with = slow  run = w", "E333"),
    "written out and not taken in": (f'shell w {{ command = "dd of={ID}" }}', "on = here  run = w", "E333"),
    "in a param": ('shell w { command = "dd of={place}" }', "on = here  run = w", "E333"),
    "from its directory": (
        'shell w { command = "cd /dev/disk/by-id && dd of=ata-FAST_1" }',
        "on = here  run = w",
        "E333",
    ),
    "from its directory, beside a point": (
        'shell w { command = "cd /dev/disk/by-id && dd of=./ata-FAST_1" }',
        "on = here  run = w",
        "E333",
    ),
    "from a directory beneath its own": (
        'dir near { path = "/dev/disk/by-id" }\nshell w { command = "dd of=../ata-FAST_1" }',
        "on = near  run = w",
        "E336",
    ),
    "by a pattern": (
        'shell w { command = "for each in /dev/disk/by-id/ata-F*; do dd of=$each; done" }',
        "on = here  run = w",
        "E333",
    ),
    "by a pattern in its directory": (
        'shell w { command = "cd /dev/disk/by-id && for each in ata-F*; do dd of=$each; done" }',
        "on = here  run = w",
        "E333",
    ),
    "by a pattern with a class": (
        'shell w { command = "dd of=/dev/disk/by-id/ata-[[:upper:]]AST_[^2]" }',
        "on = here  run = w",
        "E333",
    ),
    "from the directory above": (
        'shell w { command = "cd /dev/disk && dd of=by-id/ata-FAST_1" }',
        "on = here  run = w",
        "E333",
    ),
    "by its directory in a variable": (
        'shell w { command = "disks=/dev/disk && dd of=$disks/by-id/ata-FAST_1" }',
        "on = here  run = w",
        "E333",
    ),
    "a partition by the name that the kernel gives": (
        'disk raw { id = "/dev/sdb"  serial = "S3"  size = 64MiB }\nshell w { command = "dd of=/dev/sdb1" }',
        "on = here  run = w",
        "E333",
    ),
    "on two lines": (
        f'shell w {{ command = """dd of={ID[:-3]}\\\n{ID[-3:]}""" }}',
        "on = here  run = w",
        "E333",
    ),
    "in what a kind requires": (
        f'kind w: workload {{ requires "dd of={ID}" "x"  run {{ sh "true" {{ why = "x" }} }} }}',
        "run = w {}",
        "E336",
    ),
    "in a fact": (
        f'kind w: workload {{ fact {{ sh "dd of={ID}" {{ why = "x" }} }}  run {{ sh "true" {{ why = "x" }} }} }}',
        "run = w {}",
        "E336",
    ),
    "in a choice of which one is not taken in": (
        'let d = fast | slow\nshell w { command = "dd of={d.block}" }',
        "on = here  with = fast  run = w",
        "E333",
    ),
    "handed on by a kind": (f"{HANDS_ON}\nhands h {{ d = fast.blocks }}", "on = h  with = fast  run = loads", "E334"),
    "handed on to a pool": (
        f"{HANDS_ON}\nhands h {{ d = fast.blocks }}\npool tank on h\ndataset d on tank\nfile data on d {{ size = 1MiB }}",
        "on = data  with = fast  run = loads",
        "E334",
    ),
    "written out in a kind that hands it on": (
        f'{HANDS_ON}\nhands h {{ d = "{ID}" }}\next4 v on h\nfile data on v {{ size = 1MiB }}',
        "on = data  run = reads",
        "E334",
    ),
    "as a directory": (f'dir odd {{ path = "{ID}" }}', "on = odd  run = look", "E334"),
    "as the place of a corpus": (f'corpus all on here {{ from = "{ID}" }}', "on = all  run = look", "E334"),
    "as a tunable": (f'tunable t {{ knob = file("{ID}")  value = 1 }}', "on = here  with = t  run = look", "E337"),
    "as a tunable beside it": (
        "tunable t { knob = file(fast.block)  value = 1 }",
        "on = here  with = [t, fast]  run = look",
        "E337",
    ),
    "as a disk of a host": (
        f'host h {{ disks = ["{ID}"] }}\ndir there on h {{ path = "." }}\nshell w {{ command = "dd of={{h.disks}}" }}',
        "on = there  run = w",
        "E333",
    ),
    "beneath what is given": (
        'kind g: resource on block { offers dir = "/x"  present { sh "dd of={on.block}" { why = "x" } } }\ngiven g v on fast {}',
        "on = v  run = look",
        "E335",
    ),
    "in a command of a kind": (
        f'kind w: workload {{ run {{ sh "dd of={ID}" {{ why = "x" }} }} }}',
        "run = w {}",
        "E336",
    ),
    "put together in a command of a kind": (
        'kind w: workload { property a: path { default = "/dev/disk"  doc = "x" }  run { sh "dd of={a}/by-id/ata-FAST_1" { why = "x" } } }',
        "run = w {}",
        "E336",
    ),
    "by the name of its link": (
        'kind w: workload { run { sh "dd of=/dev/zlang-$RUN-fast/device" { why = "x" } } }',
        "with = fast  run = w {}",
        "E336",
    ),
    "in a command that makes something": (
        f'kind m: resource on dir {{ offers dir = "{{on.dir}}"  create {{ sh "dd of={ID}" {{ why = "x" }} }}  destroy {{ sh "true" }} }}\nm odd on here',
        "on = odd  run = look",
        "E336",
    ),
    "in a guard": (
        (
            f'kind m: resource on host {{ offers dir = "/srv"  present {{ sh "true" {{ why = "x" }} }}  '
            f'guard {{ sh "dd of={ID}" {{ why = "x" }} }} }}\ngiven m odd {{}}\nfile data on odd {{ size = 1MiB }}'
        ),
        "on = data  run = reads",
        "E336",
    ),
    "in a command that takes something away": (
        (
            f'kind m: resource on dir {{ offers dir = "{{on.dir}}"  create {{ sh "true" {{ why = "x" }} }}  '
            f'destroy {{ sh "dd of={ID}" {{ why = "x" }} }} }}\nm odd on here'
        ),
        "on = odd  run = look",
        "E336",
    ),
    "in a command that sets something": (
        (
            f'kind m: resource on dir {{ property v: count {{ cost = live  required = on  doc = "x" }}  offers dir = "{{on.dir}}"  '
            f'create {{ sh "true" {{ why = "x" }} }}  destroy {{ sh "true" }}  change {{ sh "dd of={ID} count={{value}}" {{ why = "x" }} }} }}\n'
            "m odd on here { v = 1 }"
        ),
        "on = odd  run = look",
        "E336",
    ),
}


def planned(tmp_path: Path, before: str, experiment: str) -> tuple[list[str], set[str], list[Setup | Trial]]:
    """Return the codes of findings, the armed devices, and the items."""
    program = tmp_path / "program.zexp"
    program.write_text(f"{HEAD}{before}\nexperiment e {{ {experiment} }}\n")
    overrides = Overrides({"place": f'"{ID}"'}, None)
    try:
        checked = programs.check(programs.read(str(program)), overrides)
        errors = [finding.code.id for finding in checked.findings if finding.code.id.startswith("E")]
        if errors:
            return errors, set(), []
        plan = plans.plan(checked, programs.choose(checked, None), 1, overrides).plan
        return [], set(plan.header.armed), list(plan.items())
    except ProgramError as error:
        return [error.diagnostic.code.id], set(), []


@pytest.mark.parametrize(
    "command",
    [
        "ls /dev/disk/by-id; find . -name '*.log'",
        "case $x in a*|*) ls /dev/disk/by-id;; esac",
        "readlink /dev/disk/by-id/ata-OTHER; ls *",
        "dd of=/other/by-id/ata-FAST_1",
        "dd of=by-id/ata-FAST_12",
        "dd of=/dev/sdb10",
    ],
)
def test_other_paths_name_nothing(tmp_path: Path, command: str) -> None:
    before = f'disk raw {{ id = "/dev/sda"  serial = "S3"  size = 64MiB }}\nshell w {{ command = "{command}" }}'
    assert planned(tmp_path, before, "on = here  run = w")[:2] == ([], set())


@pytest.mark.parametrize(
    ("command", "is_refused"),
    [
        ("dd of=/dev/sdb", True),
        ("cd /dev && dd of=sdb1", True),
        ("env --chdir=/dev dd of=sdb", True),
        ("cd /dev && dd of=sdc", False),
        ("cd /dev/shm && dd of=sdb", False),
    ],
)
def test_a_run_refuses_disks_named_by_their_node(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, is_refused: bool
) -> None:
    monkeypatch.setattr(machine, "block_device", lambda name: ("sdb",) if name == ID else ())
    program = tmp_path / "program.zexp"
    program.write_text(f'{HEAD}shell w {{ command = "{command}" }}\nexperiment e {{ on = here  run = w }}\n')
    checked = programs.check(programs.read(str(program)), Overrides())
    made = plans.plan(checked, programs.choose(checked, None), 1, Overrides())
    if not is_refused:
        plans.require_guarded_nodes(made)
        return
    with pytest.raises(RunError, match="`w` names `fast` by its node"):
        plans.require_guarded_nodes(made)


_OWN_WORKLOAD = """
kind own: workload { needs dir as at  run { sh "dd of=/dev/sdb1"  reads shell "o" { metrics = ["time"] } } }
own w {}
experiment e { on = here  run = w }
"""
_OWN_RESOURCE = """
kind own: resource on dir { offers dir = "{on.dir}"  create { sh "mkfs /dev/sdb" }  destroy { sh "true" } }
own top on here {}
shell w { command = "ls"  writes = off }
experiment e { on = top  run = w }
"""


@pytest.mark.parametrize("own", [_OWN_WORKLOAD, _OWN_RESOURCE])
def test_a_run_refuses_a_kind_whose_commands_name_a_disk_by_its_node(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: str
) -> None:
    monkeypatch.setattr(machine, "block_device", lambda name: ("sdb",) if name == ID else ())
    program = tmp_path / "program.zexp"
    program.write_text(f"{HEAD}{own}")
    checked = programs.check(programs.read(str(program)), Overrides())
    made = plans.plan(checked, programs.choose(checked, None), 1, Overrides())
    with pytest.raises(RunError, match="names `fast` by its node"):
        plans.require_guarded_nodes(made)


def test_a_name_in_a_directory_that_a_command_enters_names_a_disk(tmp_path: Path) -> None:
    before = 'disk raw { id = "/dev/sda"  serial = "S3"  size = 64MiB }\nshell w { command = "cd /dev; dd of=sda1" }'
    assert planned(tmp_path, before, "on = here  run = w")[0] == ["E333"]


@pytest.mark.parametrize("way", GUARDED)
def test_named_devices_are_guarded(tmp_path: Path, way: str) -> None:
    codes, armed, items = planned(tmp_path, *GUARDED[way])
    assert codes == []
    assert ID in armed
    for item in items:
        if isinstance(item, Trial):
            setups = [setup for setup in items if isinstance(setup, Setup) and setup.signature in item.setups]
            steps = [step for setup in setups for step in setup.make] + list(item.steps)
            guards = [step for step in steps if step.action is Action.GUARD]
            assert guards
            holds = way.startswith(("through one", "through a kind that hands it on and", "beside"))
            assert not holds or any(step.name == "hold-fast" for step in item.steps)
            # Before the guard, only commands that create and remove its links name the device.
            before = steps[: steps.index(guards[0])]
            assert all("dd of" not in step.command for step in before)


@pytest.mark.parametrize("way", REFUSED)
def test_unguarded_devices_are_refused(tmp_path: Path, way: str) -> None:
    before, experiment, code = REFUSED[way]
    assert planned(tmp_path, before, experiment)[0] == [code]


QUEUE = 'tunable t {{ knob = queue("scheduler")  device = {}  value = "none" | "bfq" }}'
V = "\next4 v on fast\nfile data on v { size = 1MiB }"


@pytest.mark.parametrize("device", ["fast.id", f'"{ID}"'])
def test_a_setting_of_its_queue_is_not_written_to_it(tmp_path: Path, device: str) -> None:
    before = QUEUE.format(device) + V
    assert planned(tmp_path, before, "on = data  with = t  run = reads")[:2] == ([], {ID})
    assert planned(tmp_path, before, "on = fast  with = t  run = reads")[:2] == ([], set())
    assert planned(tmp_path, before, "on = here  with = t  run = look")[0] == ["E333"]


def test_a_setting_does_not_name_a_place_of_the_run(tmp_path: Path) -> None:
    some = findings_of(tmp_path, QUEUE.format("fast.block") + V, "on = data  with = t  run = reads")
    assert {finding.hint for finding in some} == {"name it by its link, `fast.id`: `t` is set before it is made"}


def test_a_setting_of_a_kind_of_ones_own_is_not_believed(tmp_path: Path) -> None:
    own = f'kind mine: tunable {{ change linux {{ sh "dd of={ID}" {{ why = "x" }} }} }}\nmine t {{ knob = sysctl("a.b")  value = 1 | 2 }}'
    assert planned(tmp_path, own, "on = fast  with = t  run = reads")[0] == ["E336"]


ADD, STANDS = "add `with = fast` to the experiment", "a resource can name only what it is built on, here a "
FINDINGS = {
    "not taken in": ("fast.block", ADD),
    "another taken in": ("fast.block", "add `with = [slow, fast]` to the experiment"),
    "from its directory": ('"cd /dev/disk/by-id && dd of=ata-FAST_1"', ADD),
    "handed on by a kind": ("fast.blocks", f"{STANDS}`host`: `on fast`"),
    "as the place of a corpus": (f'"{ID}"', f"{STANDS}`dir`: `on fast`"),
    "beneath what is given": ("g", "remove `given`, and the run creates it; or remove `on fast`"),
}
"""At which text of the program `check` finds it, and what its hint says to write."""


def chosen(tmp_path: Path, before: str, experiment: str) -> Experiment:
    program = tmp_path / "program.zexp"
    program.write_text(f"{HEAD}{before}\nexperiment e {{ {experiment} }}\n")
    return programs.choose(programs.check(programs.read(str(program)), Overrides({"place": f'"{ID}"'}, None)), None)


def with_hints(tmp_path: Path, before: str, experiment: str) -> list[tuple[str, str, str]]:
    """Return the code of each finding of `check`, its text location, and its hint."""
    findings = naming.found_at(chosen(tmp_path, before, experiment))
    return [(finding.code.id, finding.span.text if finding.span else "", finding.hint) for finding in findings]


@pytest.mark.parametrize("way", FINDINGS)
def test_check_finds_it_at_its_place_before_anything_is_planned(tmp_path: Path, way: str) -> None:
    before, experiment, code = REFUSED[way]
    assert with_hints(tmp_path, before, experiment) == [(code, *FINDINGS[way])]


def test_each_thing_that_is_named_is_found(tmp_path: Path) -> None:
    before = 'shell two { command = "cat {fast.block} {slow.block}"  writes = off }'
    assert [text for _, text, _ in with_hints(tmp_path, before, "on = here  run = two")] == ["fast.block", "slow.block"]


BELOW = 'kind below: resource on dir { offers dir = "{on.dir}/x" }'
IN_GIVEN = {
    "a file, which has the name of the run in its own": ("file data on kept { size = 1MiB }", "data", []),
    "what has the name of the run in its own": (
        f"{BELOW.replace('/x', '/x-{run}').replace('offers', CREATES)}\nbelow thing on kept",
        "thing",
        [],
    ),
    "what makes nothing": (f"{BELOW}\nbelow thing on kept", "thing", []),
    "what makes something elsewhere": (
        f"{BELOW.replace('{on.dir}/x', '/y').replace('offers', CREATES)}\nbelow thing on kept",
        "thing",
        [],
    ),
    "what makes something of that name": (
        f"{BELOW.replace('offers', CREATES)}\nbelow thing on kept",
        "thing",
        ["`thing` would be made in `kept`, which is `given`, where its name may be taken"],
    ),
    "a corpus": (
        "corpus tree on kept { files = 3  size = 1MiB }",
        "tree",
        ["`tree` would be made in `kept`, which is `given`, where its name may be taken"],
    ),
}


@pytest.mark.parametrize("path", ["/srv", "/srv/$RUN"])
@pytest.mark.parametrize("way", IN_GIVEN)
def test_given_things_get_no_children_whose_name_may_be_taken(tmp_path: Path, way: str, path: str) -> None:
    before, target, messages = IN_GIVEN[way]
    some = findings_of(tmp_path, f'given dir kept {{ path = "{path}" }}\n{before}', f"on = {target}  run = look")
    assert [finding.message for finding in some] == messages
    assert {finding.hint for finding in some} <= {
        "make it in a directory that belongs to the run: `dir NAME { path = … }`"
    }


PLACE = 'property d: path { required = on  doc = "a place" }  offers blocks = d  offers block = d'
MESSAGES = [
    (*REFUSED["not taken in"][:2], ["`fast` is used here, but it is not part of the experiment"]),
    (*REFUSED["beneath what is given"][:2], ["`v` is `given`, so its disk `fast` is in use and cannot be guarded"]),
    (*REFUSED["handed on by a kind"][:2], ["`h` names `fast`, but is not built on it"]),
]
PARENTS = [("resource on host | dir", "a `host` or a `dir`"), ("resource", "nothing")]


def findings_of(tmp_path: Path, before: str, experiment: str) -> list[Diagnostic]:
    return list(naming.found_at(chosen(tmp_path, before, experiment)))


@pytest.mark.parametrize(("before", "experiment", "messages"), MESSAGES)
def test_a_finding_names_both_things(tmp_path: Path, before: str, experiment: str, messages: list[str]) -> None:
    assert [finding.message for finding in findings_of(tmp_path, before, experiment)] == messages


@pytest.mark.parametrize(("role", "foundations"), PARENTS)
def test_the_hint_names_the_possible_parents(tmp_path: Path, role: str, foundations: str) -> None:
    before = f"kind two: {role} {{ {PLACE} }}\ntwo h {{ d = fast.blocks }}"
    (finding,) = findings_of(tmp_path, before, "on = h  with = fast  run = loads")
    assert finding.hint == f"a resource can name only what it is built on, here {foundations}: `on fast`"


def test_each_device_of_one_text_is_found(tmp_path: Path) -> None:
    before = f'shell two {{ command = "dd of={ID}; dd of={ID.replace("FAST", "SLOW")}" }}'
    hints = [finding.hint for finding in findings_of(tmp_path, before, "on = here  run = two")]
    assert hints == [f"add `with = {name}` to the experiment" for name in ("fast", "slow")]
    (hint,) = (finding.hint for finding in findings_of(tmp_path, before, "on = here  with = fast  run = two"))
    assert hint == "add `with = [fast, slow]` to the experiment"


def test_a_device_that_is_declared_twice_is_found_once(tmp_path: Path) -> None:
    before = f'shell w {{ command = "dd of={ID}" }}\ndisk again {{ id = "{ID}"  serial = "S1" }}'
    assert len(findings_of(tmp_path, before, "on = here  run = w")) == 1


def test_a_machine_names_nothing_by_listing_its_disks(tmp_path: Path) -> None:
    before = f'host h {{ disks = ["{ID}"] }}\ndir there on h {{ path = "." }}'
    assert with_hints(tmp_path, before, "on = there  run = look") == []


EXPOSED = [
    ("", "fast", ["fast"]),
    ("ext4 v on fast\nfile data on v { size = 1MiB }", "data", []),
    (MAKES.replace("BLOCK", "{on.block}-part1"), "p", ["fast"]),
    (MAKES.replace("BLOCK", "{on.block}-part1").replace("makes p", "makes part1"), "part1", []),
    (
        f"host h\ndisk far on h {{ id = '/dev/disk/by-id/x-1'  serial = 'S3' }}\n{PASSES}\npasses p on far\npasses q on p".replace(
            "'", '"'
        ),
        "q",
        ["far"],
    ),
    (
        "host h\ndisk far on h { id = '/dev/disk/by-id/x-1'  serial = 'S3' }\n".replace("'", '"')
        + MAKES.replace("BLOCK", "{on.block}").replace("on fast", "on far"),
        "p",
        ["far"],
    ),
]


@pytest.mark.parametrize(("before", "target", "devices"), EXPOSED)
def test_a_resource_hides_its_device_unless_it_offers_it(
    tmp_path: Path, before: str, target: str, devices: list[str]
) -> None:
    experiment = chosen(tmp_path, before, f"on = {target}  run = reads")
    (point, *_) = hosts.each_choice(experiment, experiment.axes)
    (thing,) = naming._trial_at(experiment, point).targets
    assert [device.name for device in naming.exposed(thing)] == devices


def test_offers_of_a_device_are_matched_only_on_request(tmp_path: Path) -> None:
    experiment = chosen(tmp_path, "", "on = fast  run = reads")
    (device, *_) = naming.devices_of(experiment)
    (offered, *_) = device.offers
    assert naming.mentions(offered, device)
    assert not naming.mentions(offered, device, offers=False)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("/a/./b", "/a/b"),
        ("//a//b", "/a/b"),
        ("/a/b/../c", "/a/c"),
        ("/a/b/c/../../d", "/a/d"),
        ("dd of='/a'\"b\"", "dd of=/ab"),
        ("dd of=/a\\\nb", "dd of=/ab"),
    ],
)
def test_a_path_without_detours(text: str, plain: str) -> None:
    assert naming.plain_path(text) == plain


@pytest.mark.parametrize(
    ("pattern", "is_matched"),
    [
        ("/dev/*/by-id/ata-[A-B]", True),
        ("/dev/disk/by-id/ata-[B-C]", False),
        ("/dev/*/ata-A", False),
        ("/dev/disk/by-id/*/ata-A", False),
    ],
)
def test_a_pattern_matches_paths_of_the_same_depth(pattern: str, is_matched: bool) -> None:
    assert hosts.is_matched("/dev/disk/by-id/ata-A", pattern) is is_matched


def test_the_texts_of_values() -> None:
    assert naming.written(Symbol("file", "/a")) == "/a"
    assert naming.written(Quantity(Fraction(5))) == "5"
    assert naming.written(Quantity(Fraction(1, 3))) == ""
    assert naming.written(value=True) == ""


def test_the_texts_of_a_list_are_lines() -> None:
    assert naming.written(("a", ("b", "c"))) == "a\nb\nc"


@pytest.mark.parametrize("way", GUARDED)
def test_check_accepts_guarded_disks(tmp_path: Path, way: str) -> None:
    assert with_hints(tmp_path, *GUARDED[way]) == []


def test_devices_are_found_beside_choices_that_have_no_value(tmp_path: Path) -> None:
    several = 'let n = 0 | 1 | 2\ndisk more { id = "/dev/disk/by-id/ata-MORE_{4 / n}"  serial = "S3"  size = 64MiB }'
    devices = naming.devices_of(chosen(tmp_path, several, "on = here  run = look"))
    assert {name for device in devices for name in device.names} >= {
        ID,
        "/dev/disk/by-id/ata-MORE_4",
        "/dev/disk/by-id/ata-MORE_2",
    }


def test_devices_are_found_at_choices_beneath_a_choice(tmp_path: Path) -> None:
    several = (
        'let inner = "1" | "2"\n'
        'disk more { id = "/dev/disk/by-id/ata-A" | "/dev/disk/by-id/ata-{inner}"  serial = "S3"  size = 64MiB }'
    )
    devices = naming.devices_of(chosen(tmp_path, several, "on = here  run = look"))
    assert {f"/dev/disk/by-id/ata-{name}" for name in "A12"} <= {name for device in devices for name in device.names}


def test_a_point_without_a_value_hides_no_other(tmp_path: Path) -> None:
    before = (
        'kind odd: resource on host { property n: count { required = on  doc = "x" }  offers dir = "/x"  '
        'armed = "/x-{8 / n}"  guard { sh "true" { why = "x" } } }\n'
        f'let m = 0 | 1\nshell w {{ command = "if test {{m}} = 1; then {WRITES}; fi" }}'
    )
    assert {finding.code.id for finding in findings_of(tmp_path, before, "on = odd { n = m }  run = w")} == {"E333"}


def test_a_kind_may_arm_several_names(tmp_path: Path) -> None:
    both = (
        'kind pair: resource on host { property one: path { required = on  doc = "a device" }\n'
        'offers blocks = one  armed = [one, "{one}-part1"]  guard { sh "true" { why = "x" } } }\n'
        'pair two on host { one = "/dev/disk/by-id/ata-TWO" }'
    )
    devices = naming.devices_of(chosen(tmp_path, both, "on = here  run = look"))
    assert ("/dev/disk/by-id/ata-TWO", "/dev/disk/by-id/ata-TWO-part1") in {device.names for device in devices}
