"""Test concurrent workloads, carried out by the runner and by the script."""

from __future__ import annotations

import json
import subprocess

import pytest
from command_line import REPOSITORY, Zlang

from zlang.report import design, known_runs

PROGRAM = """
import fio

dir here { path = "." }
file data on here { size = 1MiB }
file archive on here { size = 1MiB }
fio oltp { rw = randread  bs = 4KiB  time_based = on  runtime = 1s  rate_iops = 500/s }
fio backup on archive { rw = read  bs = 64KiB  time_based = on  runtime = 1s  rate_iops = 50/s }
shell naps { command = "sleep 2"  writes = off }
shell dozes on archive { command = "sleep 2"  writes = off }
let both = [oltp, backup]
let load = oltp | both
experiment beside {
  on  = data
  run = load
  table read_iops, oltp.read_iops, backup.read_iops, fairness by load
  plot backup.read_iops over second
}
experiment naps { on = data  run = [naps, dozes] }
fio day { rw = randread  bs = 4KiB  time_based = on  runtime = 2s  rate_iops = [200/s for 1s, 400/s for 1s] }
fio night on archive { rw = read  bs = 64KiB  time_based = on  runtime = 2s  rate_iops = 50/s }
experiment scheduled { on = data  run = [day, night] }
"""


def test_streams_of_one_process(zlang: Zlang) -> None:
    """Each stream has its own figures, which are added up; a single stream has figures of the same names."""
    ended = zlang.run(PROGRAM, "--experiment", "beside")
    assert "oltp.read_iops" in ended.out
    assert "backup.read_iops: beside" in ended.out
    rows = zlang.rows("select load, read_iops, oltp_read_iops, backup_read_iops, fairness from trials")
    alone, both = sorted(rows, key=lambda row: row["load"] == "both")
    assert (alone["load"], both["load"]) == ("oltp", "both")
    assert alone["read_iops"] == alone["oltp_read_iops"]
    assert (alone["backup_read_iops"], alone["fairness"]) == (None, None)
    own = [both["oltp_read_iops"], both["backup_read_iops"]]
    assert both["read_iops"] == pytest.approx(sum(value for value in own if isinstance(value, float)))
    of_streams = zlang.rows(
        "select stream, value from metrics where metric = 'read_iops' and stream is not null order by 1"
    )
    assert [(row["stream"], row["value"]) for row in of_streams] == [("backup", own[1]), ("oltp", own[0])]
    (bins,) = zlang.rows(
        "select sum(count) filter (stream is null) = sum(count) filter (stream is not null) as same "
        "from latency join trials using (run, trial, replicate) where load = 'both' and metric like '%_clat'"
    )
    assert bins == {"same": True}
    trials = known_runs.trials_of(zlang.at / "results.duckdb", None)
    assert design.read(trials, "oltp.read_iops").better == "higher"


PERCENTILES = """
import fio
dir here { path = "." }
file data on here { size = 1MiB }
file archive on here { size = 1MiB  copies = 2 }
fio oltp { rw = randread  bs = 4KiB  time_based = on  runtime = 1s  rate_iops = 500/s }
fio backup on archive { rw = read  bs = 64KiB  time_based = on  runtime = 1s  rate_iops = 50/s }
let both = [oltp, backup]
let load = oltp | both | backup
experiment beside {
  on  = data
  run = load
  expect "is short" p99(oltp.read_clat where load == both) < 10s
  table p99(oltp.read_clat), p999(backup.read_clat), count(read_iops) by load
  plot oltp.read_clat over latency by load
  plot p50(oltp.read_clat) over load
}
"""


def test_percentiles_of_one_stream(zlang: Zlang) -> None:
    """They are over the operations of that stream or of all its copies, also in trials with that stream alone."""
    ended = zlang.run(PERCENTILES, code=None)  # nothing is repeated, so the expectation is inconclusive
    assert "p50(oltp.read_clat)" in ended.out
    query = """
        select load, latency_percentile(ns, count, PERCENT) / 1e9 as p
        from (
            select load, ns, sum(count) as count from latency join trials using (run, trial, replicate)
            where metric = 'read_clat' and CONDITION group by all
        ) group by all
    """

    def percentiles(stream: str, percent: str) -> dict[str, float]:
        condition = f"(stream like '{stream}%' or (stream is null and load = '{stream}'))"
        # The streams of copies alone are also in the histogram of the whole trial.
        condition += " and not (stream is not null and load = 'backup')"
        rows = zlang.rows(query.replace("PERCENT", percent).replace("CONDITION", condition))
        return {str(row["load"]): float(str(row["p"])) for row in rows}

    table = zlang("table", "p99(oltp.read_clat), p999(backup.read_clat) by load", "--format", "json").out
    rows = {row["load"]: row for row in json.loads(table)}
    for column, expected in (
        ("p99(oltp.read_clat)", percentiles("oltp", "99")),
        ("p999(backup.read_clat)", percentiles("backup", "99.9")),
    ):
        shown = {load: row[column] for load, row in rows.items() if row[column] is not None}
        assert shown == pytest.approx(expected)
        assert len(shown) == 2
    verdict = zlang("expect", code=None).out
    assert "p99(oltp.read_clat where load == both)" in verdict


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_the_script_begins_processes_together(zlang: Zlang, shell: str) -> None:
    script = zlang("plan", zlang.program(PROGRAM), "--experiment", "naps", "--emit", "sh").out
    (zlang.at / "plan.sh").write_text(script, "utf-8")
    subprocess.run([shell, "plan.sh"], cwd=zlang.at, env=zlang.variables(), check=True, capture_output=True)
    (trial,) = zlang.folder().glob("trials/*/1/a1")
    began = [float((trial / f"stream{number}/began").read_text()) for number in (1, 2)]
    ended = [float((trial / f"stream{number}/ended").read_text()) for number in (1, 2)]
    assert max(began) < min(ended)
    assert not (trial / "gate").exists()


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_schedule_of_the_script(zlang: Zlang, shell: str) -> None:
    """Without zlang, the script runs a varying workload beside a constant one."""
    script = zlang("plan", zlang.program(PROGRAM), "--experiment", "scheduled", "--emit", "sh").out
    (zlang.at / "plan.sh").write_text(script, "utf-8")
    subprocess.run([shell, "plan.sh"], cwd=zlang.at, env=zlang.variables(), check=True, capture_output=True)
    zlang("ingest", "runs")
    (row,) = zlang.rows("select valid, why_not, day_read_iops, night_read_iops from all_trials")
    assert row["valid"], row["why_not"]
    assert row["day_read_iops"] == pytest.approx(300, rel=0.1)
    assert row["night_read_iops"] == pytest.approx(50, rel=0.1)


def test_the_runner_begins_processes_together(zlang: Zlang) -> None:
    zlang.run(PROGRAM, "--experiment", "naps")
    rows = zlang.rows("select stream from metrics where metric = 'elapsed' and stream is not null order by all")
    assert [row["stream"] for row in rows] == ["dozes", "naps"]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("beside_a_backup", ["volume=1MiB"]),
        ("boot_storm", ["image=1MiB"]),
        ("two_targets", ["volume=1MiB", 'one="one"', 'two="two"']),
    ],
)
def test_a_trial_of_an_example(zlang: Zlang, name: str, settings: list[str]) -> None:
    """The trial with the fewest concurrent streams counts, and has the metrics of each stream."""
    for place in ("one", "two"):
        (zlang.at / place).mkdir()
    text = (REPOSITORY / f"examples/streams/{name}.zexp").read_text("utf-8")
    program = zlang.program(text)
    options = [word for setting in ("time=1s", *settings) for word in ("--set", setting)]
    lines = zlang("plan", program, *options, "--emit", "json").out.splitlines()
    trials = [line["trial"] for line in map(json.loads, lines) if "trial" in line]
    parts = [(trial["steps"][-1]["reader"]["args"].get("streams", ()), trial["number"]) for trial in trials]
    _, number = min((len(streams), number) for streams, number in parts if streams)
    zlang("run", program, *options, "--only", str(number), code=None)
    (row,) = zlang.rows("select valid, read_iops, why_not from all_trials")
    assert row["valid"], row["why_not"]
    streams = zlang.rows("select sum(value) as whole from metrics where metric = 'read_iops' and stream is not null")
    assert streams[0]["whole"] == pytest.approx(row["read_iops"])


def test_a_schedule(zlang: Zlang) -> None:
    """The load of each second follows the schedule, and figures cover the whole time."""
    text = (REPOSITORY / "examples/streams/working_day.zexp").read_text("utf-8")
    settings = ("--set", "time=1s", "--set", "volume=1MiB", "--set", "rush=400/s")
    zlang("run", zlang.program(text), *settings, "--only", "1", code=None)
    (row,) = zlang.rows("select valid, why_not, read_iops, read_ios, read_runtime from all_trials")
    assert row["valid"], row["why_not"]
    assert (
        row["read_ios"]
        == zlang.rows("select sum(count) as n from latency where metric in ('read_clat', 'write_clat')")[0]["n"]
    )
    seconds = zlang.rows("select value from samples where metric = 'read_iops' order by t")
    rates = [second["value"] for second in seconds if isinstance(second["value"], float)]
    assert (rates[0] < 120, max(rates) > 250) == (True, True)
    assert row["read_iops"] == pytest.approx(float(str(row["read_ios"])) / 7, rel=0.05)


PRINTING = """
dir here { path = "." }
shell left {
  command = "sleep 1; echo rate: 3 heat: 40"
  writes  = off
  metrics = [regex("moved: rate in KiB/s=rate: ([0-9]+)"), regex("heat: number=heat: ([0-9]+)")]
}
let right = left with { command = "sleep 1; echo rate: 4 heat: 50" }
experiment e { on = here  run = [left, right]  table moved, heat }
"""


def test_a_table_names_metrics_that_only_streams_have(zlang: Zlang) -> None:
    """Rates can be added up; temperatures cannot."""
    out = zlang.run(PRINTING).out
    assert "7 KiB/s" in out
    why = "`heat` does not add up, so only streams have values"
    assert f"{why}: zlang sql 'select host, stream, metric, value from metrics where stream is not null'" in out
    assert why in zlang("table", "heat").out


def test_shared_time_is_not_a_primary_metric(zlang: Zlang) -> None:
    """The share of time in which all streams ran varies between trials, but is not a requested metric."""
    naps = 'shell NAME { command = "sleep 0.NUMBER"  writes = off }\n'
    both = "".join(naps.replace("NAME", name).replace("NUMBER", n) for name, n in (("a", "4"), ("b", "3")))
    out = zlang.run(f'dir here {{ path = "." }}\n{both}experiment e {{ on = here  run = [a, b]  repeat = 3 }}').out
    assert "shared_time" not in out


WITH_AN_EVENT = """
kind idles: event { writes = off  wait { sh "sleep 100" } }
dir here { path = "." }
shell naps { command = "sleep 0.5"  writes = off }
experiment e { on = here  run = naps  during = idles {} }
"""


def test_the_time_of_a_trial_with_an_event_is_that_of_its_workload(zlang: Zlang) -> None:
    """The command that starts and ends both does not determine the time."""
    zlang.run(WITH_AN_EVENT)
    (row,) = zlang.rows("select * from trials")
    (out,) = zlang.folder().glob("trials/*/1/a1")
    began, ended = (float((out / "stream1" / name).read_text()) for name in ("began", "ended"))
    assert row["elapsed"] == pytest.approx(ended - began, abs=1e-4)
    assert "measured_elapsed" not in row


COMBINED = """
kind heats: workload {
  doc = "Print numbers."
  needs dir as at
  property degrees: number { required = on }
  run { sh "sleep 1; echo temperature {degrees}" }
  metric hottest: number = regex "temperature ([0-9]+)" { combine = max }
  metric coldest: number = regex "temperature ([0-9]+)" { combine = min }
  metric errors: count = regex "temperature ([0-9]+)" { combine = sum }
  metric middle: share = regex "temperature ([0-9]+)" { combine = mean }
  metric apart: number = regex "temperature ([0-9]+)"
}
dir here { path = "." }
heats near { degrees = 20 }
heats far { degrees = 60 }
let slow = "took: duration in ms, lower is better, combined by max=([0-9]+)"
shell brief { command = "sleep 1; echo 7"  metrics = [regex(slow)]  writes = off }
shell long { command = "sleep 1; echo 9"  metrics = [regex(slow)]  writes = off }
experiment e { on = here  run = [near, far, brief, long] }
"""


def test_streams_are_combined_as_their_metrics_declare(zlang: Zlang) -> None:
    zlang.run(COMBINED, code=None)  # on a busy machine they may not run at the same time
    of_trial = {row["metric"]: row["value"] for row in zlang.rows("select metric, value from all_metrics")}
    values = {name: of_trial[name] for name in ("hottest", "coldest", "errors", "middle", "took")}
    assert values == {"hottest": 60, "coldest": 20, "errors": 80, "middle": 40, "took": pytest.approx(0.009)}
    assert "apart" not in of_trial
