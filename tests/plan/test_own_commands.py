"""`check` builds the commands of a user's own kinds at some points, within a limit."""

from __future__ import annotations

import re
from typing import Any

import pytest

from zlang.check import check
from zlang.check.afresh import AFRESH
from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.plan import build
from zlang.plan.plan import Action, Trial
from zlang.source import Source
from zlang.space.trial_config import trial_config

PROGRAM = """import fio
kind count_up: workload {{
  doc = "Print a number."
  needs dir as at
  property n: count {{ required = on  allow = 0..9999  doc = "the number" }}
  writes = off
  run {{ sh "echo {{n}}" }}
}}
dir here {{ path = "." }}
file data on here {{ size = 64MiB }}
count_up steps on here {{ n = 1..900 }}
fio reads {{ rw = randread  copies = 400  time_based = on  runtime = 60s }}
experiment e {{ on = data  run = {run}  repeat = 5  }}
"""


@pytest.mark.parametrize(("run", "fewest", "most"), [("reads", 0, 0), ("[reads, steps]", 20, 30), ("steps", 900, 1100)])
def test_few_points_are_tried_where_trials_have_many_streams(
    run: str, fewest: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = list[int]()

    def config(*args: Any) -> Any:
        made = trial_config(*args)
        tried.append(len(made.streams))
        return made

    monkeypatch.setattr(build, "trial_config", config)
    checked = check.program(Source("p.zexp", PROGRAM.format(run=run)), lambda _: "", None)
    assert checked.is_sound
    assert not list(plans._without_commands(checked, AFRESH))
    assert fewest <= len(tried) <= most


def test_the_level_of_a_search_is_known_in_commands() -> None:
    """A property that only `find` gives a value has one wherever a command is built."""
    text = """kind answers: workload { needs dir as at  property level: count  run { sh "echo {level}" } }
dir here { path = "." }
answers load {}
experiment e {
  on = here  run = load  repeat = 3
  find level in 1..256 where median(elapsed) < 1s maximising elapsed
}
"""
    checked = check.program(Source("p.zexp", text), lambda _: "", None)
    assert checked.is_sound, checked.findings
    assert not list(plans._without_commands(checked, AFRESH))


def test_a_kind_asks_whether_its_target_has_a_size() -> None:
    """`has(at.size)` is true of a property and of an offer. Nothing says how large an array is."""
    text = """import disks
import filesystems
import fio
dir here { path = "." }
loop luns on here { size = 64MiB  count = 2 }
md array on luns { level = raid1 }
let target = array | luns | file on here { size = 64MiB }
fio reads { rw = read }
experiment e { on = target  run = reads }
"""
    checked = programs.check(Source("p.zexp", text), Overrides())
    (experiment,) = checked.program.experiments.values()
    sizes = {}
    for item in plans.plan(checked, experiment, 1, Overrides()).plan.items():
        if isinstance(item, Trial):
            (measure,) = (step.command for step in item.steps if step.action is Action.MEASURE)
            sizes[item.factors["target"]] = re.findall(r"--size=(\d+)", measure)
    assert sizes == {"array": [], "luns": ["67108864"], "file": ["67108864"]}
