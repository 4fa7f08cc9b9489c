"""Set a machine's wall clock while a script measures: durations stay right, and the affected trial does not count."""

from __future__ import annotations

import re

from command_line import Zlang
from vm.guest import Guest
from vm.test_scripts import carry_out

PROGRAM = """
dir here { path = "/var/tmp/here" }
let n = 1..5
shell io { command = "test {n} != 2 || date -s '+1 hour'; test {n} != 4 || date -s '-1 hour'; echo done={n}" }
experiment stepped { on = here  run = io  cache = as_is }
"""


def test_a_trial_in_which_the_clock_was_set_does_not_count(guest: Guest, carried_out: Zlang) -> None:
    """The clock moves forward by an hour in one trial, and back in another."""
    carry_out(guest, carried_out, PROGRAM)
    rows = carried_out.rows("select n, valid, why_not, elapsed, position from all_trials order by n")
    assert [row["valid"] for row in rows] == [True, False, True, False, True]
    moved = re.compile(r"the wall clock was moved by 3,(599|600)\.\d s during the trial")
    assert all(moved.fullmatch(str(rows[n]["why_not"])) for n in (1, 3)), rows
    assert sorted(int(str(row["position"])) for row in rows) == [1, 2, 3, 4, 5]
    assert all(row["elapsed"] is None or 0 <= float(str(row["elapsed"])) < 600 for row in rows), rows
