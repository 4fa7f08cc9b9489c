"""Build plans of small programs: identities, seeds, setups and the protocol of a trial."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from itertools import chain

import pytest

from zlang.check.check import Overrides
from zlang.diagnostics import Code, ProgramError
from zlang.pipeline import plans, programs
from zlang.plan import wire
from zlang.plan.order import Order
from zlang.plan.plan import Action, Plan, Setup, Trial
from zlang.plan.state import Make, State
from zlang.source import Source

PROGRAM = """
import fio
import linux
param size: size = 1MiB
dir here { path = "." }
file data on here { size = size }
fio soak  { rw = randwrite  bs = 4KiB }
fio reads { rw = RW  bs = 4KiB | 8KiB  iodepth = 1..3 }
experiment e {
  on = data
  run = reads
  cache = cold
  repeat = 2
  collect = [vmstat {}, diskstats { interval = 2s }]
}
"""


def plan_of(text: str, seed: int = 1, **values: str) -> Plan:
    return planned_of(text, seed, **values).plan


def planned_of(text: str, seed: int = 1, **values: str) -> plans.Planned:
    overrides = Overrides(values)
    checked = programs.check(Source("program.zexp", text), overrides)
    assert checked.findings == ()
    return plans.plan(checked, programs.choose(checked, None), seed, overrides)


def trials(plan: Plan) -> list[Trial]:
    return [item for item in plan.items() if isinstance(item, Trial)]


def setups(plan: Plan) -> list[Setup]:
    return [item for item in plan.items() if isinstance(item, Setup)]


READS = PROGRAM.replace("RW", "randread")
WRITES = PROGRAM.replace("RW", "randwrite")


def test_a_list_of_commands_has_those_of_the_plan() -> None:
    planned = planned_of(WRITES)
    listed = [
        (each.slot.number, tuple(setup.signature for setup in each.setups), (*chain(*each.parts),), each.invalidates)
        for each in planned.builder.commands()
    ]
    assert listed == [(item.number, item.setups, item.steps, item.invalidates) for item in trials(planned.plan)]


def test_a_command_has_the_levels_of_its_trial() -> None:
    """A searched level belongs to a trial, not to its point."""
    text = READS.replace("iodepth = 1..3", "").replace(
        "repeat = 2", "find iodepth in 1..8 where p99(read_clat) < 2ms maximising read_iops  repeat = 2"
    )
    checked = programs.check(Source("program.zexp", text), Overrides())
    assert checked.findings == ()
    experiment = programs.choose(checked, None)
    for order in Order:
        planned = trials(plans.plan(checked, experiment, 1, Overrides(), order=order).plan)
        assert len(planned) == 2 * 8 * 2
        for trial in planned:
            command = next(step.command for step in trial.steps if step.action is Action.MEASURE)
            assert f" --bs={trial.factors['bs']} --iodepth={trial.factors['iodepth']}" in command


def test_the_same_input_and_seed_give_the_same_plan_byte_for_byte() -> None:
    assert list(wire.dump(plan_of(READS))) == list(wire.dump(plan_of(READS)))
    assert list(wire.dump(plan_of(READS, seed=2))) != list(wire.dump(plan_of(READS)))


def test_an_identity_has_everything_that_determines_the_measurement() -> None:
    identities = {t.identity for t in trials(plan_of(READS))}
    assert len(identities) == 6
    renamed = READS.replace("reads", "lookups").replace("data", "stuff").replace(" e {", " other {")
    commented = READS.replace("repeat = 2", "repeat = 5  # more")
    assert {t.identity for t in trials(plan_of(renamed))} == identities
    assert {t.identity for t in trials(plan_of(commented, seed=7))} == identities
    assert identities < {t.identity for t in trials(plan_of(READS.replace("8KiB", "8KiB | 16KiB")))}
    for other in (plan_of(READS, size="2MiB"), plan_of(WRITES), plan_of(READS.replace("cold", "hot"))):
        assert not identities & {t.identity for t in trials(other)}


def test_bandwidth_and_endurance_change_no_identity() -> None:
    plan = plan_of(READS)
    stated = plan_of(READS.replace('path = "."', 'path = "."  bandwidth = 1GiB/s  endurance = 1GiB'))
    assert stated.header.devices != plan.header.devices
    assert [t.identity for t in trials(stated)] == [t.identity for t in trials(plan)]
    assert [s.signature for s in setups(stated)] == [s.signature for s in setups(plan)]


def test_the_endurance_belongs_to_the_device_that_states_it() -> None:
    beneath = (
        'host box\nmanual fan on box { state = "on"  ask = "switch the fan" }\ndir here on fan { endurance = 1GiB  '
    )
    (device,) = plan_of(READS.replace("dir here { ", beneath)).header.devices
    assert (device.name, device.endurance) == ("dir here", 1 << 30)


ASKS = """
kind heap: resource on dir {
  offers dir = "{on.dir}/{name}"
  create { sh "lay {name} {on.bandwidth}" }
  destroy { sh "remove {name}" }
}
dir here { path = "/mnt/disk" }
heap data on here
shell look { command = "ls" }
experiment e { on = data  run = look }
"""


TWICE = """
kind heap: workload {
  property more: size { default = 1MiB }
  needs file as at
  run { sh "lay {at.size * 2 + more}" }
}
dir here { path = "." }
file data on here { size = 1MiB }
heap work
experiment e { on = data  run = work }
"""


def test_commands_compute_with_properties_of_other_things() -> None:
    (trial,) = trials(plan_of(TWICE))
    assert trial.steps[-1].command == "lay 3145728"
    for wrong, message in (
        ("+ 2s", "`+` needs two values of the same type, not a size and a duration"),
        ("* at.dir", "for numbers"),
    ):
        with pytest.raises(ProgramError) as caught:
            trials(plan_of(TWICE.replace("* 2 + more", wrong)))
        assert message in caught.value.diagnostic.message


def test_properties_of_cost_none_cannot_be_used_by_other_kinds() -> None:
    with pytest.raises(ProgramError) as caught:
        list(plan_of(ASKS).items())
    assert caught.value.diagnostic.message.startswith("`bandwidth` of `dir` has `cost = none`")


OWN_TRAITS = """
import fio

kind rig: resource on dir {
  doc = "A directory on some disks."
  property disks: count { default = 12  doc = "how many disks" }
  offers dir = "{on.dir}"
  trait spindles: count = disks
  trait is_wide: bool = disks > 8
}
dir here { path = "." }
rig shelf on here { disks = 4 | 12 }
file data on shelf { size = 16MiB }
fio reads { rw = randread }
experiment x { on = data  run = reads }
"""


def test_a_plan_keeps_the_traits_that_a_kind_invents() -> None:
    kept = [(trial.traits["spindles"], trial.traits["is_wide"]) for trial in trials(plan_of(OWN_TRAITS))]
    assert sorted(kept) == [(4, False), (12, True)]


def test_no_replicate_replays_the_offsets_of_another() -> None:
    commands = [step.command for t in trials(plan_of(READS)) for step in t.steps if step.action is Action.MEASURE]
    seeds = {word for command in commands for word in command.split() if word.startswith("--randseed=")}
    assert len(seeds) == len(commands) == 12


def test_seed_replay_repeats_the_offsets_of_the_first_replicate() -> None:
    def seeds(plan: Plan) -> dict[str, set[str]]:
        seeds_of: dict[str, set[str]] = {}
        for trial in trials(plan):
            words = [word for step in trial.steps for word in step.command.split()]
            assert not any(word.startswith("--seed") for word in words)
            seeds_of.setdefault(trial.identity, set()).update(word for word in words if word.startswith("--randseed="))
        return seeds_of

    programs_of_words = (READS.replace("iodepth", f"seed = {word}  iodepth") for word in ("fresh", "replay"))
    fresh, replayed = map(seeds, map(plan_of, programs_of_words))
    assert {len(drawn) for drawn in fresh.values()} == {2}
    assert {len(drawn) for drawn in replayed.values()} == {1}
    assert len({seed for drawn in replayed.values() for seed in drawn}) == len(replayed) == len(fresh)
    assert seeds(plan_of(READS)) == fresh
    assert not fresh.keys() & replayed.keys()


def test_a_trial_flushes_verifies_collects_and_measures() -> None:
    for trial in trials(plan_of(READS)):
        actions = [step.action for step in trial.steps]
        assert actions == [Action.FLUSH, Action.FLUSH, Action.VERIFY, Action.COLLECT, Action.COLLECT, Action.MEASURE]
        assert [step.name for step in trial.steps if step.action is Action.COLLECT] == [
            "e.collect.vmstat",
            "e.collect.diskstats",
        ]
        assert all(step.why and step.timeout > 0 for step in trial.steps)
        assert all(not (step.expect and step.action is not Action.VERIFY) for step in trial.steps)


def replayed(plan: Plan) -> Iterator[tuple[Trial, int]]:
    """Return each trial with the number of times that its data were laid out, by the state that the runner keeps."""
    state, setups = State(), dict[str, Setup]()
    for item in plan.items():
        if isinstance(item, Setup):
            setups[item.signature] = item
            continue
        made = 0
        for change in state.changes([setups[signature] for signature in item.setups]):
            state = state.after(change)
            made += isinstance(change, Make) and change.setup.key == "data"
        assert all(state.has(setups[signature]) for signature in item.setups)
        yield item, made
        state = state.invalidate(item.invalidates)


def test_data_are_created_again_only_after_writes() -> None:
    assert [made for _, made in replayed(plan_of(READS))] == [1] + [0] * 11
    assert [made for _, made in replayed(plan_of(WRITES))] == [1] * 12


def test_a_treatment_is_part_of_the_setup_of_the_target() -> None:
    plan = plan_of(READS.replace("run = reads", "before = none | soak  run = reads"))
    treated = [s for s in setups(plan) if s.key == "data" and len(s.make) == 3]
    assert len(treated) == 1
    assert "before the measurement" in treated[0].make[-1].why
    assert sum(made for _, made in replayed(plan)) == 2


TREATED = """
import fio
import filesystems
import treatments
dir here { path = "." }
loop disk on here { size = 64MiB }
ext4 volume on disk
file data on volume { size = 1MiB }
fio reads { rw = read  bs = 64KiB }
experiment e { on = data  before = BEFORE  run = reads }
"""


@pytest.mark.parametrize(
    ("before", "at"),
    [("discard {}", "disk"), ("fill { until = 50% }", "volume"), ("age { amount = 1MiB }", "volume"),
     ("precondition {}", "data"), ("reads", "data")],
)  # fmt: skip
def test_a_treatment_is_applied_to_the_thing_that_offers_its_need(before: str, at: str) -> None:
    plan = plan_of(TREATED.replace("BEFORE", before))
    assert {s.key for s in setups(plan) for step in s.make if step.name.startswith("before-")} == {at}


def test_given_things_are_not_treated() -> None:
    text = """
    import zfs
    import treatments
    dir here { path = "." }
    given pool tank on here { called = "tank"  at = "/tank" }
    shell look { command = "ls"  writes = off }
    experiment e { on = tank  before = none | fill { until = 50% }  run = look }
    """
    with pytest.raises(ProgramError, match="`fill` would change `tank`, which is `given`"):
        list(plan_of(text).items())


def test_every_setup_comes_before_the_first_trial_that_needs_it() -> None:
    seen: set[str] = set()
    for item in plan_of(READS.replace("size = size", "size = size | 2MiB")).items():
        if isinstance(item, Setup):
            assert item.signature not in seen
            seen.add(item.signature)
        else:
            assert set(item.setups) <= seen


def test_hostile_values_are_one_word_each() -> None:
    hostile = "a 'b' \\\"c\\\" $(touch pwned) `x` ; rm -rf *"
    plan = plan_of(READS.replace('path = "."', f'path = "{hostile}"'))
    wanted = hostile.replace("\\", "")
    words = shlex.split(setups(plan)[0].make[0].command.replace('"$RUN"', "RUN"), comments=True)
    made = words.index("mkdir")
    assert words[made : made + 3] == ["mkdir", "--", f"{wanted}/zlang-RUN"]


def test_words_for_a_second_shell_arrive_as_they_are() -> None:
    text = """
    kind far: workload {
      property words: [string] { required = on }
      run { sh \"\"\"printf %s {quoted("x", words, [4KiB, true], "zlang-{run}")}\"\"\" { why = "speak" } }
    }
    far speech { words = ["it's \\"$HOME\\" `ls` \\\\ *", "", "a\\nb"] }
    experiment e { run = speech }
    """
    command = next(step.command for step in trials(plan_of(text))[0].steps)
    first = subprocess.run(["sh", "-c", command], env={"RUN": "r-1"}, capture_output=True, text=True, check=True)
    assert shlex.split(first.stdout) == ["x", 'it\'s "$HOME" `ls` \\ *', "", "a\nb", "4096", "1", "zlang-r-1"]
    with pytest.raises(ProgramError, match="cannot be quoted twice"):
        trials(plan_of(text.replace("{run}", "{out}")))


def test_cold_is_refused_where_nothing_can_empty_the_cache() -> None:
    text = """
    dir here { path = "." }
    shell build { command = "true" }
    experiment e { on = here  run = build  cache = cold }
    """
    with pytest.raises(ProgramError) as error:
        trials(plan_of(text))
    assert error.value.diagnostic.code is Code.NOT_MEASURABLE
    assert "cold" in error.value.diagnostic.message


def test_a_thing_that_is_given_is_verified_and_never_made() -> None:
    text = """
    kind place: resource {
      property path: path { required = on }
      offers dir = "{path}"
      present { sh "test -d {path}" { why = "it is there" } }
      create { sh "mkdir -- {path}" { why = "make it" } }
      destroy { sh "rmdir -- {path}" { why = "remove it" } }
    }
    given place tmp { path = "/tmp" }
    shell look { command = "ls"  writes = off }
    experiment e { on = tmp  run = look }
    """
    (setup,) = setups(plan_of(text))
    assert [step.command for step in setup.make] == ["test -d /tmp"]
    assert setup.unmake == ()
    assert setup.creates == ""


RESTED = """
import fio
kind rested: protocol {
  needs file as at
  property pause: duration { default = 1s }
  phases = [flush, rest, PHASE]
  rest { sh "sleep {pause}; test -e {at.file}" { why = "let the device rest" } }
}
dir here { path = "." }
file data on here { size = 1MiB }
fio reads { rw = read  bs = 4KiB }
experiment e { on = data  run = reads  cache = CACHE }
"""


def trials_of(text: str) -> list[Trial]:
    return trials(plan_of(text))


def test_a_protocol_of_ones_own() -> None:
    program = RESTED.replace("PHASE", "verify_cold")
    (cold,) = trials_of(program.replace("CACHE", "cold"))
    rested = trials_of(program.replace("CACHE", "rested { pause = 2s | 3s }"))
    assert [(trial.cache, trial.cache_state) for trial in (cold, *rested)] == [("cold",) * 2, *[("rested", "cold")] * 2]
    assert len({trial.identity for trial in (cold, *rested)}) == 3
    for trial in rested:
        (pause,) = (step for step in trial.steps if step.name.startswith("rest-"))
        assert pause.command == f"sleep {trial.factors['pause']:.0f}; test -e data"
        assert [step for step in trial.steps if step is not pause] == [*cold.steps[:-1], trial.steps[-1]]


def test_a_protocol_that_verifies_nothing_claims_nothing() -> None:
    (trial,) = trials_of(RESTED.replace(", PHASE", "").replace("CACHE", "rested"))
    assert (trial.cache, trial.cache_state) == ("rested", "as_is")


def test_a_protocol_whose_state_nothing_can_verify_is_refused() -> None:
    with pytest.raises(ProgramError, match="verify that its cache is lukewarm"):
        trials_of(RESTED.replace("PHASE", "verify_lukewarm").replace("CACHE", "rested"))


def test_the_plan_lists_all_resources_that_will_be_created() -> None:
    """Resources in a branch that the order of trials reaches late are included."""
    text = """
    import fio
    import filesystems
    dir here { path = "." }
    loop disk on here { size = 320MiB  sector_size = 512B | 4KiB }
    let volume = ext4 on disk { inode_size = 256B | 512B } | xfs on disk {}
    file data on (here | volume) { size = 1MiB..64MiB by *2 }
    fio reads { rw = read }
    experiment e { on = data  run = reads }
    """
    overrides = Overrides()
    checked = programs.check(Source("program.zexp", text), overrides)
    planned = plans.plan(checked, programs.choose(checked, None), 1, overrides)
    made = {setup.creates.split(" ")[0] for setup in plans.setups_by_branch(planned)}
    assert made == {"dir", "loop", "ext4", "xfs", "file"}


def test_a_look_runs_before_the_caches_are_treated_and_after_the_measurement() -> None:
    text = PROGRAM.replace("RW", "read").replace("  run = reads\n", "").replace("[vmstat {},", "[capacity {},")
    (trial, *_) = trials(plan_of(text))
    assert [(step.name, step.action) for step in trial.steps if step.action is not Action.VERIFY] == [
        ("e.collect.capacity-before", Action.PREPARE),
        ("flush-data-1", Action.FLUSH),
        ("flush-data-2", Action.FLUSH),
        ("e.collect.diskstats", Action.COLLECT),
        ("measure", Action.MEASURE),
        ("e.collect.capacity-after", Action.TIDY),
    ]
    read = {step.name: step.reader.name for step in trial.steps if step.reader}
    assert read == {"e.collect.diskstats": "diskstats", "e.collect.capacity-after": "capacity"}
