"""Test manual steps: external states, caches that a person vouches for, tools that zlang does not start."""

from __future__ import annotations

import itertools
import json

import pytest
from command_line import Zlang

PROGRAM = """
host box
manual fan on box { state = off | on  ask = "switch the fan" }
dir here on fan { path = "." }
let load = "File" | "Web"
external iometer {
  ask = "run the profile {load}"  metrics = ["total_iops: iops", "lat_mean_ns: duration in ns"]  writes = off
}
experiment cooling {
  on = here  run = iometer  cache = attested { ask = "restart the server" }
  expect "cool is fast" median(total_iops where state == on) > median(total_iops where state == off)
}
"""
ROWS = """\
state,load,total_iops,lat_mean_ns
off,File,100,5ms
off,Web,90,5000000
on,File,200/s,2ms
on,Web,190,2ms
"""


def test_a_run_waits_for_a_person_and_takes_the_results_afterwards(zlang: Zlang) -> None:
    outputs = [zlang.run(PROGRAM, "--yes", code=1).err]
    while "manual step: " in outputs[-1]:
        outputs.append(zlang("resume", "--yes", code=None).err)
    lines = [line for err in outputs for line in err.splitlines()]
    requests = [line.removeprefix("manual step: ") for line in lines if line.startswith("manual step: ")]
    assert "estimate" in zlang("status", zlang.folder().name).out
    # Manual steps done before the run stopped are not requested again; each fan state is requested once.
    assert sorted(requests) == sorted(
        ["switch the fan: on", "switch the fan: off"]
        + ["restart the server"] * 4
        + ["run the profile File", "run the profile Web"] * 2
    )
    zlang("ingest")
    (not_yet,) = zlang.rows("select distinct why_not from all_trials")
    assert "zlang ingest DIR --csv FILE --run RUN" in str(not_yet["why_not"])

    (zlang.at / "results.csv").write_text(ROWS)
    zlang("ingest", "--csv", "results.csv", "--run", zlang.folder().name)
    assert zlang.rows("select state, load, total_iops, lat_mean_ns from trials order by all")[:2] == [
        {"state": False, "load": "File", "total_iops": 100, "lat_mean_ns": 5e6},
        {"state": False, "load": "Web", "total_iops": 90, "lat_mean_ns": 5e6},
    ]
    assert zlang.rows("select distinct cache_state, cache_evidence, outside, valid from all_trials") == [
        {"cache_state": "cold", "cache_evidence": "attested: restart the server", "outside": True, "valid": True}
    ]
    assert "inconclusive in 2 of 2" in zlang("expect", code=5).out, "nothing was repeated"


def test_results_of_a_plan_measured_without_zlang(zlang: Zlang) -> None:
    program = zlang.program(PROGRAM)
    (zlang.at / "results.csv").write_text(ROWS)
    assert "4 trials" in zlang("ingest", "--csv", "results.csv", "--program", program).out
    assert zlang.rows("select count(*) as n from trials") == [{"n": 4}]
    # The folder holds everything from which the database is built.
    (zlang.at / "results.csv").unlink()
    (zlang.at / "results.duckdb").unlink()
    zlang("ingest")
    assert zlang.rows("select count(*) as n from trials where outside") == [{"n": 4}]


def test_imported_results_count_without_checks_by_zlang(zlang: Zlang) -> None:
    program = zlang.program("""
import filesystems
dir here { path = "." }
loop disk on here { size = 300MiB }
let volume = ext4 on disk { label = "ext4" } | xfs on disk { label = "xfs" }
file data on volume { size = 10MiB }
external tool { ask = "measure"  metrics = ["ops"] }
experiment e { on = data  run = tool }
""")
    (zlang.at / "results.csv").write_text("volume,ops\next4,100\nxfs,50\n")
    zlang("ingest", "--csv", "results.csv", "--program", program)
    assert zlang.rows("select volume, ops from trials order by all") == [
        {"volume": "ext4", "ops": 100},
        {"volume": "xfs", "ops": 50},
    ]
    (first, *_) = zlang.rows("select distinct problem from problems order by all")
    assert first == {"problem": "measured without zlang, and not checked by it: property-disk, property-volume.ext4"}


SETUPS = """
import filesystems
dir here { path = "." }
loop disk on here { size = 300MiB }
let volume = ext4 on disk { label = "ext4" } | xfs on disk { label = "xfs" }
file data on volume { size = 10MiB }
let threads = 1 | 2
external tool { ask = "measure with {threads}"  metrics = ["ops: iops, higher is better"]  writes = off }
experiment e { on = data  run = tool  repeat = 3 }
"""


@pytest.mark.parametrize(
    ("order", "setups", "verdict"), [("planned", 1, "inconclusive: set up once"), ("blocked", 3, "slower")]
)
def test_imported_results_have_the_setups_of_the_plan(zlang: Zlang, order: str, setups: int, verdict: str) -> None:
    """Trials on one file system are one observation of it, whoever created it."""
    program = zlang.program(SETUPS)
    lines = [
        f"{volume},{threads},{n},{(100 if volume == 'ext4' else 50) * threads + n}"
        for volume, threads, n in itertools.product(("ext4", "xfs"), (1, 2), (1, 2, 3))
    ]
    (zlang.at / "results.csv").write_text("\n".join(["volume,threads,replicate,ops", *lines]))
    zlang("ingest", "--csv", "results.csv", "--program", program, "--order", order)
    rows = json.loads(zlang("compare", "--by", "volume", "--format", "json").out)
    assert [(row["n"], verdict in row["verdict"]) for row in rows] == [(setups, True)]


def test_imported_results_have_an_order(zlang: Zlang) -> None:
    program = zlang.program(PROGRAM)
    (zlang.at / "results.csv").write_text(ROWS)
    planned = zlang("plan", program, "--trials", "--json", "--order", "random").out.splitlines()
    zlang("ingest", "--csv", "results.csv", "--program", program, "--order", "random")
    rows = zlang.rows("select state, load, block from trials order by position")
    assert [(row["state"], row["load"]) for row in rows] == [
        tuple(json.loads(line)["factors"].values()) for line in planned
    ]
    assert {row["block"] for row in rows} == {1}
    zlang("ingest", "--csv", "results.csv", "--program", program, "--order", "sorted", code=2)


def test_a_partial_import_counts_and_can_be_completed(zlang: Zlang) -> None:
    program = zlang.program(PROGRAM)
    (zlang.at / "results.csv").write_text(ROWS.replace("on,Web,190,2ms\n", "").replace("90,5000000", "90,"))
    imported = zlang("ingest", "--csv", "results.csv", "--program", program)
    run = zlang.folder().name
    assert "results.csv: 3 trials" in imported.out
    assert "note: 1 of 4 trials have no results; the first is trial " in imported.err
    assert ": state = on, load = Web, replicate 1" in imported.err
    by_iops = "select total_iops, lat_mean_ns from trials order by total_iops"
    assert zlang.rows(by_iops) == [
        {"total_iops": 90, "lat_mean_ns": None},
        {"total_iops": 100, "lat_mean_ns": 5e6},
        {"total_iops": 200, "lat_mean_ns": 2e6},
    ]
    (missing,) = zlang.rows("select why_not from all_trials where not valid")
    assert "its results are not imported" in str(missing["why_not"])
    (zlang.at / "rest.csv").write_text("state,load,total_iops,lat_mean_ns\non,Web,190,2ms\n")
    assert "no results" not in zlang("ingest", "--csv", "rest.csv", "--run", run).err
    assert [row["total_iops"] for row in zlang.rows(by_iops)] == [90, 100, 190, 200]


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("total_iops", "total", "`total`, which is neither a factor nor a metric of the plan\n  = help: did you mean"),
        ("state,", "", "results.csv, line 2, has 4 cells, and there are 3 columns"),
        ("5ms", "5KiB", "line 2, column `lat_mean_ns`: `5KiB` is a size, and this is in ns"),
        ("200/s", '"1,5"', "line 4, column `total_iops`: `1,5`"),
        ("200/s", "nan", "line 4, column `total_iops`: `nan` is not a number that can be measured"),
        ("200/s", "-200/s", "line 4, column `total_iops`: a number per second cannot be `-200/s`"),
        ("5ms", "1e999999999", "line 2, column `lat_mean_ns`: `1e999999999` is not a number that can be measured"),
        ("off,Web", "off,Wob", "no trial with state = off, load = Wob\n  = help: the levels of `load` are "),
        ("off,Web", "off,File", "line 3: there are more rows than trials with state = off, load = File"),
        (ROWS, ROWS.splitlines()[0], "results.csv has no results"),
        (ROWS, "state,load,total_iops\non,Web,1\n", "has no column `lat_mean_ns`"),
        (ROWS, "", "results.csv is empty"),
    ],
)  # fmt: skip
def test_results_that_do_not_fit_the_plan_are_refused(zlang: Zlang, before: str, after: str, reason: str) -> None:
    program = zlang.program(PROGRAM)
    (zlang.at / "results.csv").write_text(ROWS.replace(before, after))
    refused = zlang("ingest", "--csv", "results.csv", "--program", program, code=1)
    assert reason in refused.err
    assert not list((zlang.at / "runs").iterdir())
