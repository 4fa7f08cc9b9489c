"""What templates read of a frame decides whether they are worked out anew."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from zlang.check import remembered
from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.source import Source

PROGRAM = """
kind tool: workload {
  needs file as at
  property size:  size
  property count: count { default = 1 }
  property note:  string
  run {
    sh "tool {size * count} {if has(note) then [note] else []} --seed={seed} --at={at.file} {name} {out}/log" {
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
}
let target = data | more
experiment some {
  on  = target
  run = work
}
"""


def planned() -> list[str]:
    """Everything that the program carries out."""
    checked = programs.check(Source("some.zexp", PROGRAM), Overrides())
    assert checked.findings == ()
    return [str(item) for item in plans.plan(checked, programs.choose(checked, None), 1, Overrides()).plan.items()]


def test_a_plan_is_the_same_where_nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is taken from another frame is what this frame gives."""
    expected = planned()

    def never(compute: Callable[[object], object], _reads: frozenset[str]) -> Callable[[object], object]:
        return compute

    monkeypatch.setattr(remembered, "once", never)
    assert planned() == expected
    assert len(expected) > 8
