"""Check that templates are evaluated again only if the names that they read from a frame have changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from zlang.check import kind_scope, remembered
from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.plan.plan import Trial
from zlang.source import Source

PROGRAM = """
kind tool: workload {
  needs file as at
  property size:  size
  property count: count { default = 1 }
  property note:  string
  option = "--{key}={value}"
  property twice: count  { default = 1  options = ["--twice={twice + twice}"] }
  property place: string { options = ["--place={place}:{at.file}"] }
  property draw:  string { options = ["--draw={draw}:{seed}"] }
  run {
    sh "tool {size * count} {if has(note) then [note] else []} --at={at.file} {name} {out}/log {options}" {
      timeout = 10s * count
    }
  }
}

dir here { path = "." }
file data on here { size = 1MiB }
file more on here { size = 1MiB }
tool work {
  size  = 4KiB | 8KiB
  count = 1 | 2
  note  = "one" | "two"
  twice = 2 | 3
  place = "in"
  draw  = "by"
}
let target = data | more
experiment some {
  on  = target
  run = work
}
"""


def planned() -> list[str]:
    """Return everything that the program carries out."""
    checked = programs.check(Source("some.zexp", PROGRAM), Overrides())
    assert checked.findings == ()
    return [str(item) for item in plans.plan(checked, programs.choose(checked, None), 1, Overrides()).plan.items()]


def test_a_plan_is_the_same_without_memoised_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value reused from another frame equals the one that this frame would compute."""
    expected = planned()

    def never(compute: Callable[[object], object], _reads: frozenset[str]) -> Callable[[object], object]:
        return compute

    monkeypatch.setattr(remembered, "once", never)
    monkeypatch.setattr(kind_scope, "once", never)
    assert planned() == expected
    assert len(expected) > 8


def test_options_that_read_the_target_or_the_seed_are_those_of_their_trial() -> None:
    checked = programs.check(Source("some.zexp", PROGRAM), Overrides())
    plan = plans.plan(checked, programs.choose(checked, None), 1, Overrides()).plan
    trials = [item for item in plan.items() if isinstance(item, Trial)]
    drawn = set()
    for trial in trials:
        command = trial.steps[-1].command
        assert f"--place=in:{trial.factors['target']}" in command
        assert f"--twice={2 * int(str(trial.factors['twice']))}" in command
        drawn.add(command.partition("--draw=by:")[2].split()[0])
    assert len(drawn) == len({trial.identity for trial in trials})
