"""Test a program with several experiments: all run, in order, and share their measurements."""

from __future__ import annotations

import pytest
from command_line import Zlang

from zlang.errors import RunError
from zlang.pipeline import arming
from zlang.run.arming import Armed

TEXT = """
dir here { path = "." }
shell first  { command = "true"   writes = off }
shell second { command = "true #" writes = off }
shell broken { command = "exit 3" writes = off }
let both = first | second
experiment one   { on = here  run = first  repeat = 2 }
experiment two   { on = here  run = broken }
experiment three { on = here  run = both  repeat = 2 }
"""


def test_all_experiments_run_in_order_and_measure_nothing_twice(zlang: Zlang) -> None:
    stderr = zlang.run(TEXT, code=1).err
    places = [
        stderr.index(f"experiment {name} ({number} of 3)") for number, name in ((1, "one"), (2, "two"), (3, "three"))
    ]
    assert places == sorted(places)
    assert "earlier runs have measured 2 of 4 trials" in stderr[places[2] :]
    assert "--experiment: one, two, three" in zlang("run", "program.zexp", "--only", "1", code=1).err


def test_each_experiment_is_armed_for_its_own_devices() -> None:
    wanted = [("a", "b"), ("b",)]
    armed = arming.share(wanted, Armed(("b", "a"), ("b",)), "zlang run x")
    assert armed == [Armed(("b", "a"), ("b",)), Armed(("b",), ("b",))]
    with pytest.raises(RunError):
        arming.share(wanted, Armed(("a",)), "zlang run x")


def test_reused_results_are_not_compared_with_themselves(zlang: Zlang) -> None:
    text = """
dir here { path = "." }
shell waits { command = "sleep 0.01" writes = off }
experiment first { on = here  run = waits  repeat = 2 }
experiment second = first with { expect "as fast" median(elapsed) < 2 * median(first.elapsed) }
"""
    out = zlang.run(text, code=5).out
    assert "2 measurements are in both runs" in out
