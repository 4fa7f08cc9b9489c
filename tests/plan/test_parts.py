"""Test resources that depend on several others: created after them, removed before them, and guarded."""

from __future__ import annotations

from zlang.check.check import Overrides
from zlang.emit import shell
from zlang.pipeline import plans, programs
from zlang.plan.plan import Action, Plan, Setup, Trial
from zlang.plan.state import Alter, Make, State
from zlang.source import Source

PROGRAM = """
import disks
import filesystems
import fio
import zfs

dir here { path = "." }
loop slow on here { size = 128MiB  count = 2  allocation = sparse }
loop fast on here { size = 64MiB  allocation = FAST }
disk old { id = "/dev/disk/by-id/ata-old"  serial = "1"  size = 1GiB }
pool tank on slow { layout = mirror  log = LOG }
dataset volume on tank
file data on volume { size = 1MiB }
fio reads { rw = read }
experiment e { on = data  run = reads  cache = cold }
"""


def planned(log: str, fast: str = "sparse") -> Plan:
    return plan_of(PROGRAM.replace("LOG", log).replace("FAST", fast))


def plan_of(text: str) -> Plan:
    source = Source("program.zexp", text)
    checked = programs.check(source, Overrides())
    assert [finding.message for finding in checked.findings if finding.code.id.startswith("E")] == []
    return plans.plan(checked, next(iter(checked.program.experiments.values())), 1, Overrides()).plan


def setups_of(plan: Plan) -> list[Setup]:
    return [item for item in plan.items() if isinstance(item, Setup)]


def trials_of(plan: Plan) -> list[Trial]:
    return [item for item in plan.items() if isinstance(item, Trial)]


def test_a_thing_is_built_on_what_its_properties_name() -> None:
    setups = setups_of(planned("stripe(fast)"))
    assert [setup.key for setup in setups] == ["here", "fast", "slow", "tank", "volume", "data"]
    (tank,) = (setup for setup in setups if setup.key == "tank")
    assert (tank.parent, tank.parts, tank.beneath) == ("slow", ("fast",), ("fast", "slow"))


def test_unnamed_devices_are_not_part_of_a_trial() -> None:
    plan = planned("none | stripe(fast)")
    keys = {setup.signature: setup.key for setup in setups_of(plan)}
    used = {trial.factors["log"]: "fast" in {keys[each] for each in trial.setups} for trial in trials_of(plan)}
    assert used == {"none": False, "stripe(fast)": True}


def test_a_thing_is_created_again_with_any_resource_beneath_it() -> None:
    """Devices are created for one pool each, so those in its other role are recreated as well."""
    plan = planned("stripe(fast)", "full | sparse")
    by_signature = {setup.signature: setup for setup in setups_of(plan)}
    first, second = ([by_signature[each] for each in trial.setups] for trial in trials_of(plan))
    state = State()
    for change in state.changes(first):
        state = state.after(change)
    made = [change.setup.key for change in state.changes(second) if isinstance(change, Make | Alter)]
    assert made == ["fast", "slow", "tank", "volume", "data"]
    assert State(state.standing).invalidate(["fast"]).changes(first)[0].setup.key == "data"


def test_each_device_is_guarded_and_armed_in_the_trials_that_use_it() -> None:
    plan = planned("none | stripe(old)")
    assert [name for guarded in plan.header.guarded for name in guarded.names] == ["/dev/disk/by-id/ata-old"]
    tanks = [setup for setup in setups_of(plan) if setup.key == "tank"]
    guarded = [any(step.action is Action.GUARD for step in setup.make) for setup in tanks]
    assert sorted(guarded) == [False, True]


def test_names_are_no_part_of_an_identity() -> None:
    (trial,) = trials_of(planned("stripe(fast)"))
    source = Source(
        "other.zexp", PROGRAM.replace("LOG", "stripe(fast)").replace("FAST", "sparse").replace("fast", "quick")
    )
    checked = programs.check(source, Overrides())
    (experiment,) = checked.program.experiments.values()
    (other,) = trials_of(plans.plan(checked, experiment, 1, Overrides()).plan)
    (unlike,) = trials_of(planned("stripe(fast)", "full"))
    assert other.identity == trial.identity != unlike.identity


def test_a_script_lists_all_parents_of_a_setup() -> None:
    text = "".join(shell.emit(planned("stripe(fast)")))
    (line,) = [line for line in text.splitlines() if line.startswith("setup ") and '"tank"' in line]
    assert "'2 3'" in line


TWO_DECLARATIONS = """
import fio
dir one { path = "." }
dir other { path = "." }
file a on one { size = 1MiB }
file b on other { size = 2MiB }
let target = a | b | [a, b]
let place = one | other
shell touch { command = "touch x" }
fio reads { rw = read  time_based = on  runtime = 61s }
"""


def test_two_declarations_of_one_directory_are_one_directory() -> None:
    plan = plan_of(f"{TWO_DECLARATIONS}experiment e {{ on = target  run = reads  cache = cold }}")
    by_signature = {setup.signature: setup for setup in setups_of(plan)}
    (directory,) = {setup.key for setup in by_signature.values()} & {"one", "other"}
    assert sorted(setup.key for setup in by_signature.values()) == sorted(["a", "b", directory])
    assert {setup.parent for setup in by_signature.values()} == {None, directory}
    state = State()
    for trial in trials_of(plan):
        for change in state.changes([by_signature[each] for each in trial.setups]):
            assert isinstance(change, Make)
            state = state.after(change)
    assert len(state.standing) == len(by_signature)


def test_a_workload_changes_a_directory_under_either_name() -> None:
    plan = plan_of(f"{TWO_DECLARATIONS}experiment e {{ on = place  run = touch }}")
    (directory,) = (setup.key for setup in setups_of(plan))
    assert [trial.invalidates for trial in trials_of(plan)] == [(directory,), (directory,)]
