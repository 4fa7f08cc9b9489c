"""Test changes to existing resources: a plan is replayed on a model of the machine."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.plan.order import Order
from zlang.plan.plan import Plan, Setup, Step, Trial
from zlang.plan.schedule import Schedule, resources_of
from zlang.plan.state import Alter, State
from zlang.source import Source
from zlang.space.trial_config import trial_config

KINDS = """
kind place: resource {
  property disks: count { required = on }
  property sync: off | always { default = off  cost = live }
  property chunk: size { default = 8KiB  cost = rewrite }
  offers dir = "/{name}"
  create { sh "make {name} disks={disks} sync={sync} chunk={chunk}" }
  change { sh "set {name} {key}={value}" }
  destroy { sh "remove {name}" }
}
kind forest: resource on place {
  property files: count { required = on }
  property hint: bool { default = off  doc = "whether it is laid out by what the place is set to" }
  property depth: count { default = 1  cost = live }
  offers dir = "{on.dir}/{name}"
  create { sh "lay {name} files={files} depth={depth} hint={if hint then on.sync else 0}" }
  change { sh "set {name} {key}={value}" }
  destroy { sh "remove {name}" }
}
kind churn: workload {
  needs dir as at
  writes = invalidates == on
  property invalidates: bool { default = off }
  property level: count { default = 1 }
  run { sh "work {level}" }
}
kind age: treatment {
  needs dir as at
  property by: count { default = 1 }
  apply { sh "age {by}" }
}
"""

PROGRAM = (
    KINDS
    + """
place pool { disks = 1 | 2  sync = off | always  chunk = 4KiB | 8KiB }
forest tree on pool { files = 10 | 20  depth = 1 | 2  hint = HINT }
churn work { level = 1 | 2  invalidates = SPOILS }
age aged {}
experiment e { on = tree  before = BEFORE  run = work  repeat = 2 }
"""
)


def plan_of(text: str, seed: int = 1, order: Order = Order.PLANNED) -> Plan:
    checked = programs.check(Source("program.zexp", text), Overrides())
    assert checked.findings == ()
    return plans.plan(checked, programs.choose(checked, None), seed, Overrides(), order=order).plan


@dataclass
class Machine:
    """A model of the commands above: each resource with its current properties, and those when it was laid out."""

    things: dict[str, dict[str, str]] = field(default_factory=dict)

    def run(self, step: Step) -> None:
        verb, *words = step.command.split()
        settings = dict(word.split("=") for word in words if "=" in word)
        match verb:
            case "make":
                assert not self.things, "a place is made where nothing stands"
                self.things[words[0]] = settings
            case "lay":
                assert words[0] not in self.things
                self.things[words[0]] = {**settings, "chunk": self.things["pool"]["chunk"]}
            case "set":
                self.things[words[0]] |= settings
            case "age":
                tree = self.things["tree"]
                assert "age" not in tree, "what is aged was laid out anew"
                tree["age"] = words[0]
            case "remove":
                assert words[0] == "tree" or "tree" not in self.things
                del self.things[words[0]]


def check(machine: Machine, trial: Trial) -> None:
    """Check the machine against the factors, now and when the tree was laid out, except for live properties."""
    wanted = {name: str(value) for name, value in trial.factors.items()}
    pool, tree = machine.things["pool"], machine.things["tree"]
    assert {name: pool[name] for name in ("disks", "sync", "chunk")} == {
        n: wanted[n] for n in ("disks", "sync", "chunk")
    }
    assert (tree["files"], tree["depth"], tree["chunk"]) == (wanted["files"], wanted["depth"], wanted["chunk"])
    assert tree["hint"] in {wanted["sync"], "0"}
    assert ("age" in tree) == (wanted.get("before") == "aged")


@pytest.mark.parametrize("hint", ["off", "on"])
@pytest.mark.parametrize("before", ["none", "none | aged"])
@given(
    order=st.sampled_from(Order),
    seed=st.integers(0, 10_000),
    invalidates=st.booleans(),
    faults=st.sampled_from([0.0, 0.1]),
)
@settings(max_examples=6, deadline=None)
def test_no_trial_is_measured_in_another_state_than_its_own(
    hint: str, before: str, order: Order, seed: int, invalidates: bool, faults: float
) -> None:
    text = PROGRAM.replace("HINT", hint).replace("BEFORE", before).replace("SPOILS", "on" if invalidates else "off")
    plan = plan_of(text, seed, order)
    machine, state, setups, chance = Machine(), State(), dict[str, Setup](), random.Random(seed)
    seen = Counter[tuple[str, int]]()
    for item in plan.items():
        if isinstance(item, Setup):
            setups[item.signature] = item
            continue
        seen[item.identity, item.replicate] += 1
        for change in state.changes([setups[signature] for signature in item.setups]):
            is_broken = isinstance(change, Alter) and chance.random() < faults
            for step in change.steps[:1] if is_broken else change.steps:
                machine.run(step)
            if is_broken:  # as the runner has it: neither the one state nor the other
                state = state.invalidate([change.setup.key])
                break
            state = state.after(change)
        else:
            check(machine, item)
            state = state.invalidate(item.invalidates)
    for unmake in state.teardown():
        for step in unmake.steps:
            machine.run(step)
    assert machine.things == {}
    assert set(seen.values()) == {1}
    assert len(seen) == plan.header.trials


def counted(text: str, order: Order = Order.PLANNED, seed: int = 1) -> Counter[str]:
    """Count how often each resource is created, altered and removed in a plan."""
    state, setups, counts = State(), dict[str, Setup](), Counter[str]()
    for item in plan_of(text, seed, order).items():
        if isinstance(item, Setup):
            setups[item.signature] = item
            continue
        for change in state.changes([setups[signature] for signature in item.setups]):
            state = state.after(change)
            counts[f"{type(change).__name__} {change.setup.key}"] += 1
        state = state.invalidate(item.invalidates)
    return counts


@pytest.mark.parametrize(
    ("swept", "expected"),
    [
        ("sync = off | always", {"Make pool": 1, "Make tree": 1}),
        ("chunk = 4KiB | 8KiB", {"Make pool": 1, "Make tree": 2, "Alter pool": 1, "Unmake tree": 1}),
        ("disks = 2 | 3", {"Make pool": 2, "Make tree": 2, "Unmake pool": 1, "Unmake tree": 1}),
        ("(sync, chunk) = (off, 4KiB) | (always, 8KiB)", {"Make pool": 1, "Make tree": 2}),
    ],
)
def test_a_sweep_creates_again_only_what_its_cost_requires(swept: str, expected: dict[str, int]) -> None:
    swept = swept if "disks" in swept else f"disks = 1  {swept}"
    text = f"{KINDS}place pool {{ {swept} }}\ncorpus tree on pool {{ files = 10 }}\nchurn work {{ level = 1 | 2 }}\n"
    counts = counted(f"{text}experiment e {{ on = tree  run = work  repeat = 3 }}\n")
    assert expected.items() <= counts.items()


def test_given_things_are_not_changed() -> None:
    kinds = KINDS.replace("  change {", '  present { sh "test -d {name}" }\n  change {', 1)
    things = "given place pool { disks = 1  sync = always }\nchurn work { level = 1 | 2 }\n"
    plan = plan_of(f"{kinds}{things}experiment e {{ on = pool  run = work }}\n")
    (given,) = (item for item in plan.items() if isinstance(item, Setup))
    assert ([step.command for step in given.make], given.unmake, given.settings) == (["test -d pool"], (), ())


def test_in_a_change_lists_have_only_the_words_of_the_changed_property() -> None:
    text = """
    kind place: resource {
      lists = [settings]
      property path: path { required = on }
      property sync: bool { cost = live  settings = ["-o", if sync then "sync=always" else "sync=off"] }
      property chunk: size { cost = rewrite  settings = ["-o", "chunk={chunk}"] }
      offers dir = "{path}"
      create { sh "make {settings} {path}" }
      change { sh "set {settings} {path}" { why = "set it" } }
      destroy { sh "remove {path}" }
    }
    shell look { command = "ls"  writes = off }
    place p { path = "it's"  sync = on  chunk = 8k }
    experiment e { on = p  run = look }
    """
    (setup,) = (item for item in plan_of(text).items() if isinstance(item, Setup))
    assert setup.make[0].command == "make -o sync=always -o chunk=8192 'it'\"'\"'s'"
    assert [(setting.name, setting.rewrites, setting.steps[0].name) for setting in setup.settings] == [
        ("sync", False, "change-p-sync"),
        ("chunk", True, "change-p-chunk"),
    ]
    assert [setting.steps[0].command for setting in setup.settings] == [
        "set -o sync=always 'it'\"'\"'s'",
        "set -o chunk=8192 'it'\"'\"'s'",
    ]


def test_a_manual_step_is_requested_once_for_each_state() -> None:
    text = """
    kind box: resource {
      property cards: count { cost = manual  ask = "fit {cards} cards into {name}" }
      property disks: count { default = 1 }
      property sync: bool { default = off  cost = live }
      offers dir = "/{name}"
      create { sh "make {disks}" }
      change { sh "set {value}" }
      destroy { sh "remove" }
    }
    box machine { cards = 0 | 1 | 2  disks = 1 | 2  sync = off | on }
    shell work { command = "true"  writes = on }
    experiment e { on = machine  run = work  repeat = 2 }
    """
    for seed in range(5):
        state, setups, done = State(), dict[str, Setup](), list[str]()
        for item in plan_of(text, seed).items():
            if isinstance(item, Setup):
                setups[item.signature] = item
                continue
            for change in state.changes([setups[signature] for signature in item.setups]):
                state = state.after(change)
                done += [step.command or step.why for step in change.steps]
            state = state.invalidate(item.invalidates)
        requests = [text for text in done if text.startswith("fit")]
        assert sorted(requests) == [f"fit {number} cards into machine" for number in range(3)]
        places = [place for place, text in enumerate(done) if text in requests]
        assert all(done[place - 1] == "remove" for place in places if place)
        assert done.count("make 1") == done.count("make 2") == 12


NESTED = f"""{KINDS}
place pool {{ disks = 1..3  chunk = 4KiB | 8KiB }}
forest tree on pool {{ files = 10 | 20 | 30 }}
churn work {{ level = 1..4 }}
experiment e {{ on = tree  run = work  repeat = 2  where pool.chunk >= 8KiB or work.level > 2 }}
"""


@pytest.mark.parametrize(
    ("order", "pools", "trees"),
    [(Order.PLANNED, 3, 18), (Order.BLOCKED, 6, 36), (Order.AS_WRITTEN, 9, 18), (Order.RANDOM, 60, 70)],
)
def test_an_order_creates_each_state_as_often_as_documented(order: Order, pools: int, trees: int) -> None:
    counts = counted(NESTED, order)
    if order is Order.RANDOM:
        assert counts["Make pool"] > pools
        assert counts["Make tree"] > trees
    else:
        assert (counts["Make pool"], counts["Make tree"]) == (pools, trees)


def test_a_block_begins_with_nothing_of_the_one_before() -> None:
    """Otherwise, resources from the end of one chunk would be measured in the next, where the first state returns."""
    text = f"""{KINDS}
    place pool {{ disks = 1..2  chunk = 4KiB }}
    shell work {{ command = "true"  writes = off }}
    experiment e {{ on = pool  run = work  repeat = 6 }}
    """
    assert counted(text, Order.BLOCKED)["Make pool"] == 12
    constant = text.replace("disks = 1..2", "disks = 1")
    assert counted(constant, Order.BLOCKED)["Make pool"] == 6, (
        "each block has a setup of its own, so that setups are a sample"
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_new_block_recreates_all_resources(seed: int) -> None:
    """Two structures exist side by side: both are created for each block, whichever comes last."""
    text = f"""{KINDS}
    place pool {{ disks = 1 }}
    place bare {{ disks = 2 | 3 }}
    forest tree on pool {{ files = 10 | 20 }}
    shell work {{ command = "true"  writes = off }}
    let either = tree | bare
    experiment e {{ on = either  run = work  repeat = 6 }}
    """
    counts = counted(text, Order.BLOCKED, seed)
    assert (counts["Make pool"], counts["Make tree"], counts["Make bare"]) == (6, 12, 12)


@pytest.mark.parametrize("order", Order)
def test_a_whole_plot_is_left_when_something_dear_changes(order: Order) -> None:
    plan = plan_of(NESTED, order=order)
    assert (plan.header.order, plan.header.whole_plot_factors) == (order, ("files", "disks", "chunk"))
    trials = [item for item in plan.items() if isinstance(item, Trial)]
    hard_to_change = [tuple(trial.factors[name] for name in plan.header.whole_plot_factors) for trial in trials]
    changes = [a != b for a, b in itertools.pairwise(hard_to_change)]
    assert [b.whole_plot - a.whole_plot for a, b in itertools.pairwise(trials)] == changes
    assert trials[0].whole_plot == 1
    if order is Order.PLANNED:
        assert trials[-1].whole_plot == len(set(hard_to_change)) == 18
        replicates = [trial.replicate for trial in trials if trial.whole_plot == 1]
        assert replicates == sorted(replicates), "replicates are blocks also where a condition ties factors together"


PLAIN = PROGRAM.replace("cost = live", "").replace("cost = rewrite", "").replace("hint = HINT", "")


@pytest.mark.parametrize(
    "text",
    [
        PROGRAM.replace("HINT", "on").replace("BEFORE", "none | aged"),
        PLAIN.replace("BEFORE", "none"),
        PLAIN.replace("BEFORE", "none").replace("place pool", "place other { disks = 1 | 2 }\nplace pool").replace(
            "on = tree", "on = tree | other | pool"
        ),
        PLAIN.replace("BEFORE", "none").replace("forest tree on pool {", "forest tree on pool { copies = 1 | 2 "),
        PLAIN.replace("BEFORE", "none").replace("doc =", "cost = none  doc ="),
    ],
)  # fmt: skip
def test_whole_plots_are_ordered_by_the_states_that_they_set_up(text: str) -> None:
    checked = programs.check(Source("program.zexp", text), Overrides())
    schedule = Schedule(programs.choose(checked, None), 1)
    ordered, made = list[object](), list[object]()
    for plot in range(schedule.plots.count):
        config = trial_config(schedule.experiment, schedule.plots.at(plot, 0))
        for target in config.targets:
            below = resources_of(target)
            ordered.append(schedule.setups.states(below, config.before))
            setups = schedule.setups.of(below, config.before)
            made.append([(setup.base or setup.signature, _rewritten(setup)) for setup in setups])
    assert [ordered.index(states) for states in ordered] == [made.index(states) for states in made]
    assert len({made.index(states) for states in made}) > 2


def _rewritten(setup: Setup) -> list[tuple[str, str]]:
    return [(setting.name, setting.value) for setting in setup.settings if setting.rewrites]
