"""Check which points of a space each design selects for the plan."""

from __future__ import annotations

from collections import Counter

from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.plan.plan import Plan, Trial
from zlang.source import Source

PROGRAM = """
import fio
let n = 7
dir here { path = "." }
let target = file on here { size = 1MiB }
           | file on here { size = 1MiB  content = zeros | random  label = "filled" }
fio w { rw = read | randread  bs = 4KiB | 8KiB | 16KiB  iodepth = 1 | 2 | 4 | 8  numjobs = 1..4 }
experiment e { on = target  run = w  repeat = 2  design = DESIGN  where w.iodepth + w.numjobs < 8 }
"""


def plan_of(design: str, seed: int = 1, text: str = PROGRAM) -> Plan:
    overrides = Overrides()
    checked = programs.check(Source("t.zexp", text.replace("DESIGN", design)), overrides)
    assert not checked.findings
    return plans.plan(checked, programs.choose(checked, None), seed, overrides).plan


def trials(plan: Plan) -> list[Trial]:
    return [item for item in plan.items() if isinstance(item, Trial)]


def test_a_design_takes_points_of_the_space_and_leaves_their_identities_alone() -> None:
    full = {trial.identity: trial.factors for trial in trials(plan_of("full"))}
    assert plan_of("full").header.left_out == 0
    for design in ("pairwise", "triples", "sample(n)"):
        plan = plan_of(design)
        taken = trials(plan)
        assert all(full[trial.identity] == trial.factors for trial in taken)
        assert plan.header.points + plan.header.left_out == len(full)
        assert Counter(trial.identity for trial in taken) == dict.fromkeys({t.identity for t in taken}, 2)
        assert len(taken) == plan.header.trials == 2 * plan.header.points < 2 * len(full)
        assert plan.header.design == {"sample(n)": "sample(7)"}.get(design, design)


def test_a_design_is_drawn_by_the_seed() -> None:
    for design in ("pairwise", "sample(n)"):
        drawn = [{trial.identity for trial in trials(plan_of(design, seed))} for seed in (1, 1, 2)]
        assert drawn[0] == drawn[1] != drawn[2]


def test_a_larger_sample_goes_on_from_a_smaller_one_up_to_all() -> None:
    drawn = [{trial.identity for trial in trials(plan_of(f"sample({n})"))} for n in (1, 5, 40, 1000)]
    assert drawn[0] < drawn[1] < drawn[2] < drawn[3]
    assert drawn[3] == {trial.identity for trial in trials(plan_of("full"))}


def test_a_sample_of_a_space_too_large_to_list() -> None:
    fields = "iodepth = 1..1000  numjobs = 1..1000  nrfiles = 1..1000  loops = 1..1000"
    text = f"""
import fio
dir here {{ path = "." }}
file data on here {{ size = 1MiB }}
fio w {{ rw = read  size = 1MiB  {fields} }}
experiment e {{ on = data  run = w  design = sample(20) }}
"""
    plan = plan_of("", text=text)
    assert plan.header.counts == "20 of 1,000,000,000,000 points (sample(20)) = 20 trials"
    assert len({trial.identity for trial in trials(plan)}) == 20
