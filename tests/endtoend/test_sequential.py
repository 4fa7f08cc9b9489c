"""Test `repeat … until` and `find` from the user's side: the plan, the run, stored and shown results, the script."""

from __future__ import annotations

import json
import subprocess
import time

from command_line import Zlang

SEARCH = """
kind says: workload {
  needs dir as at
  property level: count { default = 1 }
  property way: count { default = 1 }
  run {
    sh "cd -- {at.dir} && echo {level} >>../said && ../say {level} {way}"
    reads shell "measure.out" { metrics = [["regex", "rate=rate=([0-9]+)"], ["regex", "lag=lag=([0-9]+)"]] }
  }
}
dir here { path = "data" }
says it { way = 3 | 20 | 100 }
experiment knee {
  on  = here
  run = it
  find level in 1..16 where median(lag) < 9 maximising rate
}
"""
SAY = """#!/bin/sh
echo "rate=$(($1 * 100))"
if [ "$1" -le "$2" ]; then echo lag=5; else echo lag=50; fi
"""
UNTIL = """
import fio
dir here { path = "." }
file data on here { size = 4MiB }
fio reads { rw = randread  bs = 4KiB | 64KiB }
experiment precise {
  on     = data
  run    = reads
  cache  = hot
  repeat = 2..4 until ci(read_bytes) < 1%
}
"""


ON_A_FILE = """
kind says: workload {
  needs file as at
  property level: count { default = 1 }
  run {
    sh "cd -- {at.dir} && echo {level} >>../said && echo lag=$(( 100 * {level} + $(wc -l <../said) % 3 ))"
    reads shell "measure.out" { metrics = [["regex", "lag=lag=([0-9]+)"]] }
  }
}
dir here { path = "data" }
file data on here { size = 4MiB }
says it {}
experiment knee {
  on     = data
  run    = it
  repeat = 3
  find level in 1..16 where median(lag) < 650 maximising level
}
"""


def _lab(zlang: Zlang) -> None:
    (zlang.at / "data").mkdir()
    (zlang.at / "data" / "say").write_text(SAY)
    (zlang.at / "data" / "say").chmod(0o755)


def _measured_levels(zlang: Zlang) -> list[int]:
    return [int(word) for path in zlang.at.glob("*/said") for word in path.read_text().split()]


def test_the_range_of_a_search_is_that_of_the_file_that_was_laid_out_once(zlang: Zlang) -> None:
    (zlang.at / "data").mkdir()
    ended = zlang("run", zlang.program(ON_A_FILE))
    assert (
        "level=6; the condition holds at 6 and not at 7; with 95 % confidence it changes between 6 and 7" in ended.out
    )


def test_a_wide_search_range_has_a_hint_to_narrow_it(zlang: Zlang) -> None:
    (zlang.at / "data").mkdir()
    ended = zlang("run", zlang.program(ON_A_FILE.replace("% 3 ))", "% 3 * 60 ))")))
    assert "it changes between 4 and 8; to narrow this, write `repeat = 3..20`" in ended.out


def test_a_search_shows_a_bound_in_the_plan_and_its_steps_after_the_run(zlang: Zlang) -> None:
    _lab(zlang)
    planned = zlang("plan", zlang.program(SEARCH)).out
    assert "3 points × at most 6 of 16 levels of level = at most 18 trials" in planned
    assert "the run decides which of the 48 trials are needed" in planned
    assert " plus what is not included, for at most " in planned
    ended = zlang("run", "program.zexp")
    assert "find level in 1..16 where median(lag) < 9 maximising rate" in ended.out
    assert "  way=3: level=3, rate = 300; the condition holds at 3 and not at 4; too few trials" in ended.out
    assert "confounded-with-order" not in ended.out, "which level comes next is decided by those before it"
    for way in (20, 100):
        assert f"  way={way}: level=16, rate = 1,600; the condition holds at both ends" in ended.out
    assert sorted(_measured_levels(zlang)) == sorted([1, 16, 8, 4, 2, 3, 1, 16, 1, 16])
    course = zlang.rows(
        "select level, holds, objective, best from searches join trials using (run, trial) where way = 3 order by step"
    )
    assert [(row["level"], row["holds"]) for row in course][2:] == [(8, False), (4, False), (2, True), (3, True)]
    assert [row["objective"] for row in course if row["best"]] == [300]
    assert zlang.rows("select planned, done, valid, skipped from runs") == [
        {"planned": 48, "done": 10, "valid": 10, "skipped": 38}
    ]
    zlang("report", "--format", "markdown")
    report = (zlang.at / "report.md").read_text()
    assert "### Steps of each search" in report
    assert "way=3\\: level=3" in report
    status = json.loads(zlang("status", zlang.folder().name, "--json").out)
    assert (status["done"], status["skipped"], status["state"]) == (10, 38, "finished")
    assert "all 10 needed trials" in zlang("status").out

    again = zlang("run", "program.zexp")
    assert "earlier runs have measured 10 of 48 trials" in again.err
    assert "way=3: level=3" in again.out
    assert len(_measured_levels(zlang)) == 10, "nothing is measured again"
    assert "nothing left to do" in zlang("plan", "program.zexp").out


def test_the_script_measures_all_that_could_be_needed(zlang: Zlang) -> None:
    _lab(zlang)
    script = zlang("plan", zlang.program(SEARCH), "--emit", "sh")
    assert "which trials are needed" in script.out
    (zlang.at / "plan.sh").write_text(script.out)
    subprocess.run(["sh", "plan.sh"], cwd=zlang.at, check=True, capture_output=True)
    assert len(_measured_levels(zlang)) == 48
    zlang("ingest", "runs")
    assert zlang.rows("select level from searches join trials using (run, trial) where best and way = 3") == [
        {"level": 3}
    ]


def test_a_point_is_measured_until_it_is_known(zlang: Zlang) -> None:
    """Each replicate reads the same value, so two are enough."""
    ended = zlang.run(UNTIL)
    assert "until ci(read_bytes) < 1%: 2 of 2 points are that precise, after 2 trials" in ended.out
    assert zlang.rows("select why, n, reach from stops") == [{"why": "precise", "n": 2, "reach": 0.0}] * 2
    assert zlang.rows("select skipped from runs") == [{"skipped": 4}]
    text = UNTIL.replace("read_bytes) < 1%", "read_clat_mean) < 0.001%")
    ended = zlang.run(text)
    assert "0 of 2 points are that precise" in ended.out
    assert "  not precise: bs=4KiB, " in ended.out
    assert {row["why"] for row in zlang.rows("select why from stops join runs using (run) where valid = 8")} == {
        "bound"
    }


def test_a_search_decides_by_the_same_percentile_as_sql(zlang: Zlang) -> None:
    """The runner decides by the percentile over all operations of a level, as SQL computes it."""
    text = """
import fio
dir here { path = "." }
file data on here { size = 4MiB }
fio reads { rw = randread  bs = 4KiB }
experiment agreed {
  on     = data
  run    = reads
  repeat = 2
  find numjobs in 1..3 where p99(read_clat) < 1h and median(read_iops) > 0/s minimising p95(read_clat)
}
"""
    zlang.run(text)
    query = """
        select objective, best, pooled / 1e9 as pooled from searches join (
            select run, trial, latency_percentile(ns, count, 95) as pooled from latency
            where metric = 'read_clat' group by all
        ) using (run, trial) order by step
    """
    rows = [(float(str(row["objective"])), float(str(row["pooled"])), row["best"]) for row in zlang.rows(query)]
    assert len(rows) == 2
    assert all(abs(objective - pooled) < 1e-12 for objective, pooled, _ in rows)
    assert [pooled for _, pooled, is_best in rows if is_best] == [min(pooled for _, pooled, _ in rows)]


def test_an_undecided_search_explains_why(zlang: Zlang) -> None:
    _lab(zlang)
    (zlang.at / "data" / "say").write_text("exit 1")
    assert "not decided: at level=1 no trial counts" in zlang.run(SEARCH, code=1).out
    (zlang.at / "data" / "say").write_text(SAY)
    text = SEARCH.replace("maximising rate", "maximising level").replace("3 | 20 | 100", "3")
    stdout = zlang.run(text).out
    assert "level=3; the condition holds at 3 and not at 4" in stdout
    assert "level   n   median(lag)   condition" in stdout, "what is searched has one column"
    zlang.program(text.replace("< 9", "< 60"), "other.zexp")
    again = zlang("diff", "program.zexp", "other.zexp", code=6)
    assert "the rule that decides which of them are needed is different" in again.out


def test_a_killed_search_goes_on(zlang: Zlang) -> None:
    _lab(zlang)
    (zlang.at / "data" / "say").write_text(SAY + "sleep 0.3\n")
    process = zlang.start("run", zlang.program(SEARCH))
    deadline = time.monotonic() + 60
    while len(_measured_levels(zlang)) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    committed = zlang.committed()
    assert committed
    resumed = zlang("resume")
    assert "  way=3: level=3, rate = 300; the condition holds at 3 and not at 4; too few trials" in resumed.out
    assert zlang.committed()[: len(committed)] == committed
    assert zlang.rows("select done, valid, skipped from runs") == [{"done": 10, "valid": 10, "skipped": 38}]


def test_earlier_results_can_contradict_a_search(zlang: Zlang) -> None:
    _lab(zlang)
    lags = 'case "$1" in 1|2|3) echo lag=5;; 8) echo lag=20;; *) echo lag=50;; esac'
    (zlang.at / "data" / "say").write_text(f'echo "rate=$1"\n{lags}\n')
    text = SEARCH.replace("3 | 20 | 100", "1")
    assert "level=3, rate = 3; the condition holds at 3 and not at 4; too few trials" in zlang.run(text).out
    ended = zlang.run(text.replace("< 9", "< 30"))
    assert "the condition holds at 8 and not at 9; among the measured levels it changes 3 times" in ended.out
