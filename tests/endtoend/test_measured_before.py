"""Check that earlier measurements are reused: what counts as the same trial, and what the database shows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from command_line import REPOSITORY, Zlang

PROGRAM = """
dir here { path = "data" }
param most: count = 2
let n = 1 .. most
shell says { command = "echo {n} >>../said && test ! -e ../broken-{n}"  metrics = [time] }
experiment counts { on = here  run = says  repeat = 2 }
"""


def _measurements(zlang: Zlang) -> dict[str, int]:
    """Count the measurements of each level since the last call."""
    words: list[str] = []
    for path in zlang.at.glob("*/said"):
        words += path.read_text().split()
        path.unlink()
    return {word: words.count(word) for word in sorted(set(words))}


@pytest.fixture
def lab(zlang: Zlang) -> Zlang:
    """Create a directory in which the program has been run."""
    (zlang.at / "data").mkdir()
    zlang.run(PROGRAM)
    assert _measurements(zlang) == {"1": 2, "2": 2}
    return zlang


def test_a_new_level_is_all_that_is_measured(lab: Zlang) -> None:
    ended = lab("run", "program.zexp", "--set", "most=3")
    assert "earlier runs have measured 4 of 6 trials (4 in counts-" in ended.err
    assert _measurements(lab) == {"3": 2}
    assert lab.rows("select n, count(*) as trials, count(elapsed) as times from trials group by n order by n") == [
        {"n": n, "trials": 2, "times": 2} for n in (1, 2, 3)
    ]


def test_more_replicates_are_all_that_is_measured(lab: Zlang) -> None:
    lab.run(PROGRAM.replace("repeat = 2", "repeat = 3"))
    assert _measurements(lab) == {"1": 1, "2": 1}


def test_a_comment_measures_nothing_and_again_everything(lab: Zlang) -> None:
    before = lab("run", "program.zexp").err
    assert "earlier runs have measured all 4 trials" in before
    assert len(list((lab.at / "runs").iterdir())) == 1, "that run answers"
    lab.run(PROGRAM + "# a comment\n")
    assert _measurements(lab) == {}
    lab("run", "program.zexp", "--again")
    assert _measurements(lab) == {"1": 2, "2": 2}


def test_a_trial_that_does_not_count_is_measured_again(zlang: Zlang) -> None:
    (zlang.at / "data").mkdir()
    (zlang.at / "data" / "broken-2").touch()
    zlang.run(PROGRAM, code=None)
    assert _measurements(zlang) == {"1": 2, "2": 2}
    (zlang.at / "data" / "broken-2").unlink()
    zlang("run", "program.zexp")
    assert _measurements(zlang) == {"2": 2}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("test ! -e", "! test -e", id="a command"),
        pytest.param('"data"', '"other"', id="the target"),
        pytest.param("metrics =", "timeout = 5min  metrics =", id="a property"),
    ],
)
def test_changed_trials_are_measured_again(lab: Zlang, before: str, after: str) -> None:
    assert before in PROGRAM
    (lab.at / "other").mkdir()
    lab.run(PROGRAM.replace(before, after), code=None)
    assert set(_measurements(lab)) == {"1", "2"}


def test_another_version_of_a_tool_or_the_kernel_is_another_machine(lab: Zlang) -> None:
    (lab.folder() / "facts" / "kernel.out").write_text("Linux 2.6.9\n")
    lab("run", "program.zexp")
    assert _measurements(lab) == {"1": 2, "2": 2}


def test_each_measurement_counts_once(lab: Zlang) -> None:
    first = lab.folder()
    lab("run", "program.zexp", "--set", "most=3")
    lab("run", "program.zexp", "--set", "most=1")
    once = [{"n": 1, "trials": 2}, {"n": 2, "trials": 2}, {"n": 3, "trials": 2}]
    query = "select n, count(*) as trials from counts.trials group by n order by n"
    assert lab.rows(query) == once
    assert lab.rows("select n, count(*) as trials from trials group by n order by n") == once[:1]
    assert lab.rows("select distinct count(*) as n from metrics group by metric") == [{"n": 6}]
    joined = "select n, count(distinct replicate) as trials from trials join metrics using (run, trial, replicate)"
    assert lab.rows(f"{joined} group by n") == once[:1], "what is joined to trials is whole"
    shutil.rmtree(first)
    lab("ingest", "runs")
    assert lab.rows(query) == once, "a folder holds all that it shows"


def test_reused_results_keep_their_times(lab: Zlang) -> None:
    was = lab.rows("select trial, replicate, started, elapsed from trials order by all")
    shutil.rmtree(lab.at / "results.duckdb", ignore_errors=True)
    lab("run", "program.zexp", "--set", "most=3")
    assert lab.rows("select trial, replicate, started, elapsed from trials where n < 3 order by all") == was
    (added,) = (path for path in Path(lab.at / "runs").iterdir() if (path / "journal.jsonl").read_text().count("reuse"))
    assert lab.rows(f"select count(*) as n from steps where run = '{added.name}' and trial is not null")[0]["n"] == 12


def test_reused_trials_keep_their_order(lab: Zlang) -> None:
    """Otherwise the levels that one run has and those of another look as if they were measured one after the other."""
    lab("run", "program.zexp", "--set", "most=1")
    lab.run(PROGRAM + "experiment later = counts with {}\n")
    started = [str(row["started"]) for row in lab.rows("select started from later.all_trials order by position")]
    assert len(started) == 4
    assert started == sorted(started)


def test_a_plan_shows_the_remaining_trials(lab: Zlang) -> None:
    was = lab("plan", "program.zexp", "--again").out
    assert "measured before" not in was
    assert "estimate: nothing left to do" in lab("plan", "program.zexp").out
    planned = lab("plan", "program.zexp", "--set", "most=3")
    assert "earlier runs have measured 4 of 6 trials (4 in counts-" in planned.out
    assert "estimate: of the rest" in planned.out
    lines = [json.loads(line) for line in lab("plan", "program.zexp", "--set", "most=3", "--json").out.splitlines()]
    plan = {kind: [line[kind] for line in lines if kind in line] for kind in ("header", "outlook", "setup", "trial")}
    (outlook,) = plan["outlook"]
    assert outlook["estimate"]["trials"] == 2
    before = [trial["number"] for trial in plan["trial"] if trial["factors"]["n"] < 3]
    assert outlook["measured"] == {lab.folder().name: before}
    assert _measurements(lab) == {}, "nothing was measured"
    lab("run", "program.zexp", "--set", "most=3")
    assert _measurements(lab) == {"3": 2}


def test_earlier_results_of_a_huge_plan_are_not_looked_up(lab: Zlang) -> None:
    huge = ("--set", "most=1000000")
    assert "earlier results were not looked up" in lab("plan", "program.zexp", *huge).out
    assert "at most 10,000" in lab("run", "program.zexp", *huge, code=1).err
    assert "not looked up" not in lab("plan", "program.zexp", *huge, "--runs", "none").out


def test_the_estimate_of_the_remaining_trials_is_compared_with_the_time_taken(lab: Zlang) -> None:
    first = lab.folder()
    assert "the estimate was" in lab("run", "program.zexp", "--set", "most=3").out
    (second,) = (path for path in (lab.at / "runs").iterdir() if path != first)
    seconds = json.loads(lab("status", second.name, "--json").out)["seconds"]
    times = "select sum(elapsed) as took from steps where run = '{}' and action = 'measure' and trial in ({})"
    own = f"select trial from trials where n = 3 and run = '{second.name}'"
    assert seconds["taken"]["measuring"] == pytest.approx(lab.rows(times.format(second.name, own))[0]["took"])


def test_two_trials_that_are_one_are_refused(zlang: Zlang) -> None:
    (zlang.at / "data").mkdir()
    ended = zlang.run(PROGRAM.replace("{n}", "{max(n, 2)}"), code=1)
    assert "are the same measurement" in ended.err
    assert not (zlang.at / "runs").exists()


def test_reused_results_stay_in_their_block(lab: Zlang) -> None:
    """A different order does not split one setup into several."""
    first = lab.folder()
    query = "select trial, replicate, block, whole_plot from {}.all_trials where run {} '{}' order by all"
    was = lab.rows(query.format("counts", "=", first.name))
    lab("run", "program.zexp", "--order", "random")
    assert lab.rows(query.format("counts", "<>", first.name)) == was
    second = next(path for path in (lab.at / "runs").iterdir() if path != first)
    refused = lab("compare", first.name, second.name, "--metric", "elapsed", code=1).err
    assert "4 measurements are in both runs" in refused


def test_a_plan_that_an_older_release_read_otherwise_does_not_answer(zlang: Zlang) -> None:
    """The measurement is the same, but the new plan determines the metrics and their units."""
    (zlang.at / "data").mkdir()
    (zlang.at / "older").mkdir()
    patch = (
        "from dataclasses import replace\n"
        "from zlang.plan import header\n"
        "newer = header.header\n"
        "header.header = lambda *given: replace(newer(*given), metrics=())\n"
    )
    (zlang.at / "older" / "sitecustomize.py").write_text(patch)
    zlang.environment["PYTHONPATH"] = f"{zlang.at / 'older'}:{REPOSITORY}"
    zlang.run(PROGRAM)
    del zlang.environment["PYTHONPATH"]
    for _ in range(2):
        assert "earlier runs have measured all 4 trials" in zlang("run", "program.zexp").err
        assert len(list((zlang.at / "runs").iterdir())) == 2, "the new run shows the trials of the older one"
