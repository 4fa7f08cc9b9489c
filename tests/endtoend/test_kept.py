"""Test `layout = keep(N)` from the user's side: however a run ends, each trial finds the changes of those before it."""

from __future__ import annotations

import signal
import time

import pytest
from command_line import Zlang
from waiting import wait_for

from zlang.run.events import Commit

GROWS = """
dir here { path = "." }
file data on here { size = 64KiB }
let word = "a" | "b"
shell grow {
  command = "test ! -e ../fail$(stat -c %s data) && sleep PAUSE && stat -c 'size: %s' data && printf {word} >>data"
  metrics = [regex("before: count=size: *([0-9]+)")]
}
experiment grows { on = data  run = grow  layout = keep(3)  repeat = 2  table before by word, pass }
"""
EARLIER = "select number, before - 65536 as earlier from trials order by number"
ALL = [{"number": number, "earlier": (number - 1) % 6} for number in range(1, 13)]


def program(pause: str = "0") -> str:
    return GROWS.replace("PAUSE", pause)


def test_each_trial_reads_the_writes_of_earlier_trials(zlang: Zlang) -> None:
    ended = zlang.run(program())
    assert "12 of 12 trials count" in ended.out
    assert zlang.rows(EARLIER) == ALL
    passes = zlang.rows("select pass, count(*) as n from trials group by all order by all")
    assert passes == [{"pass": number, "n": 4} for number in (1, 2, 3)]
    again = zlang("plan", "program.zexp")
    assert "earlier runs have measured all 12 trials" in again.out


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_was_ended_repeats_the_trials_before_without_counting_them(zlang: Zlang, way: int) -> None:
    process = zlang.start("run", zlang.program(program("0.3")))

    def measured() -> int:
        return len(zlang.committed()) if list(zlang.at.glob("runs/*/plan.jsonl")) else 0

    wait_for(lambda: measured() >= 3)
    time.sleep(0.1)
    process.send_signal(way)
    process.communicate()
    before = zlang.committed()
    assert 3 <= len(before) < 12
    resumed = zlang("resume")
    if len(before) % 6:
        assert "without counting them, for the data of trial" in resumed.err
    assert zlang.rows(EARLIER) == ALL
    assert zlang.committed()[: len(before)] == before
    assert len(set(zlang.committed())) == len(zlang.committed()) == 12


def test_after_a_failure_the_others_find_the_changes_of_all_before(zlang: Zlang) -> None:
    """A failure that does not last costs one trial; one that lasts costs the rest of its history."""
    (zlang.at / "fail65540").touch()
    failed = zlang.run(program(), code=1)
    assert "8 of 12 trials count" in failed.out
    assert zlang.rows(EARLIER) == [row for row in ALL if int(str(row["earlier"])) < 4]
    (zlang.at / "fail65540").unlink()
    zlang("resume", "--failed")
    assert zlang.rows(EARLIER) == ALL


def test_a_single_trial_finds_the_changes_of_all_before(zlang: Zlang) -> None:
    zlang.run(program(), "--only", "5")
    assert zlang.rows(EARLIER) == [ALL[4]]
    commits = [event for event in zlang.events() if isinstance(event, Commit)]
    assert len(commits) == 1


def test_another_order_reuses_only_trials_with_the_same_history(zlang: Zlang) -> None:
    zlang.run(program())
    other = zlang("plan", "program.zexp", "--seed", "3")
    assert "earlier runs have measured all" not in other.out
    more = zlang("plan", zlang.program(program().replace("keep(3)", "keep(4)")))
    assert "earlier runs have measured 12 of 16 trials" in more.out
