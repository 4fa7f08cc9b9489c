"""Test the main job: a sweep becomes a plan, runs real fio on cold caches, and is queried with SQL."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from itertools import pairwise

import pytest
from command_line import REPOSITORY, Tools, Zlang, changed, left_of, tree

from zlang.plan.plan import Action
from zlang.run.events import Begin, Made, Start

QUICKSTART = str(REPOSITORY / "examples" / "quickstart.zexp")
SCALED_DOWN = ("--set", "size=2MiB", "--set", "time=1s")

SMALL = """
import fio
dir here { path = "." }
file data on here { size = 1MiB }
fio reads { rw = randread  bs = 4KiB | 16KiB  direct = on }
experiment small "Small reads" { on = data  run = reads  cache = cold  repeat = 2 }
"""

WRITES = """
import fio
dir here { path = "." }
file data on here { size = 1MiB }
fio io { rw = randread | randwrite  bs = 64KiB }
experiment writes { on = data  run = io  cache = cold  repeat = 2 }
"""


def test_the_quickstart_answers(zlang: Zlang) -> None:
    shown = zlang("run", QUICKSTART, *SCALED_DOWN, "--set", "time=1s", "--yes")
    assert "24 of 24 trials count" in shown.out
    assert "rw" in shown.out
    assert "randrw" in shown.out
    assert "try next:" in shown.out
    medians = zlang.rows("select bs, iodepth, median(read_iops) as iops from trials group by all order by all")
    assert [(row["bs"], row["iodepth"]) for row in medians] == [(4096, 1), (4096, 8), (65536, 1), (65536, 8)]
    assert all(isinstance(row["iops"], float) and row["iops"] > 0 for row in medians)
    suggested = shown.out[shown.out.index("zlang sql '") :].splitlines()[0].removeprefix("zlang sql '").rstrip("'")
    assert len(zlang.rows(suggested)) == 8
    (counted,) = zlang.rows("select count(*) as n, count(distinct (trial, replicate)) as m from trials")
    assert counted == {"n": 24, "m": 24}
    columns = {str(row["name"]) for row in zlang.rows("select name from columns")}
    assert columns >= {
        *(f"{way}_{metric}" for way in ("read", "write") for metric in ("iops", "bw", "clat_mean", "clat_p50")),
        *(f"{way}_clat_{tail}" for way in ("read", "write") for tail in ("p95", "p99", "p999")),
        *("usr_cpu", "sys_cpu", "rw", "bs", "iodepth"),
    }
    assert zlang.names() == {"runs", "results.duckdb"}
    assert left_of(zlang.folder().name) == []


def test_a_run_without_results_suggests_no_query(zlang: Zlang) -> None:
    text = 'dir here { path = "." }\nshell fails { command = "exit 3"  writes = off }\n'
    shown = zlang.run(text + "experiment e { on = here  run = fails }", code=1).out
    name = zlang.folder().name
    assert shown.endswith(f"try next:\n  zlang status {name}\n  zlang resume {name} --failed\n")


def test_a_second_plan_estimates_from_the_first_run(zlang: Zlang) -> None:
    name = zlang.program(WRITES)
    assert "unknown, so not included" in zlang("plan", name).out
    ended = zlang("run", name).out
    (took,) = (line for line in ended.splitlines() if line.startswith("took "))
    assert "the estimate was" in took
    again = zlang("plan", name, "--again").out
    assert "not included" not in again
    assert "dir here: " in again
    (total,) = zlang.rows("select sum(elapsed) as s from steps where action <> 'fact' and step = 'measure'")
    seconds = json.loads(zlang("status", zlang.folder().name, "--json").out)["seconds"]
    assert seconds["taken"]["measuring"] == pytest.approx(total["s"], rel=0.01)
    assert seconds["estimated"].keys() == seconds["taken"].keys()
    zlang("plan", name, "--db", "elsewhere.duckdb")


def test_no_more_is_written_than_a_device_is_to_bear(zlang: Zlang) -> None:
    name = zlang.program(WRITES.replace('path = "."', 'path = "."  endurance = 2MiB'))
    refused = zlang("run", name, code=1)
    assert "of its endurance, would be written to dir here" in refused.err
    assert zlang.names() == {"program.zexp"}
    assert zlang("run", name, "--wear").code == 0


def test_no_more_is_written_than_a_directory_has_space_for(zlang: Zlang) -> None:
    name = zlang.program(WRITES.replace("1MiB", "100TiB"))
    refused = zlang("run", name, code=1)
    assert "dir here would need 100 TiB" in refused.err
    assert "are free" in refused.err
    assert zlang.names() == {"program.zexp"}


def test_plan_steps_are_exactly_what_run_executes(zlang: Zlang) -> None:
    """Every command of `plan --steps` is carried out, byte for byte and in this order."""
    name = zlang.program(WRITES)
    shown = zlang("plan", name, "--steps").out
    as_json = zlang("plan", name, "--emit", "json").out
    zlang("run", name)
    folder = zlang.folder()
    assert (folder / "plan.jsonl").read_text("utf-8") == as_json
    assert (folder / "plan.sh").read_text("utf-8") == zlang("plan", name, "--emit", "sh").out
    places = {"facts": zlang.plan().header.facts}
    places |= {f"setups/{setup.signature}": (*setup.make, *setup.unmake) for setup in zlang.setups()}
    places |= {trial.place: trial.steps for trial in zlang.trials()}
    commands = {(place, step.name): step.command for place, steps in places.items() for step in steps}
    started = [event for event in zlang.events() if isinstance(event, Start)]
    at = 0
    for event in started:
        command = commands[event.out.rpartition("/a")[0] or event.out, event.step]
        at = shown.index(f"\n{command}\n", at) + len(command)
    heads = re.findall(rf"^# (?:{'|'.join(Action)}): ", shown, re.MULTILINE)
    assert len(started) == len(heads)


def test_the_same_seed_gives_the_same_plan_and_another_another_order(zlang: Zlang) -> None:
    name = zlang.program(SMALL)
    first, again, other = (zlang("plan", name, "--json", "--seed", seed).out for seed in ("7", "7", "8"))
    assert first == again
    assert first != other

    def trials(text: str) -> list[tuple[str, int]]:
        items = (json.loads(line).get("trial") for line in text.splitlines())
        return [(item["identity"], item["replicate"]) for item in items if item]

    assert sorted(trials(first)) == sorted(trials(other))
    assert len({tuple(trials(zlang("plan", name, "--json", "--seed", str(seed)).out)) for seed in range(5)}) > 1


def test_every_replicate_reads_other_offsets(zlang: Zlang) -> None:
    tools = Tools(zlang)
    log = 'set -- "$@" --write_iolog="$OUT/offsets.log"'
    tools.wrap("fio", f'case $1 in --name=layout) ;; *) {log} ;; esac\nexec {{real}} "$@"')
    zlang.run(SMALL)
    logs = [path.read_text().splitlines() for path in zlang.folder().glob("trials/*/*/a1/offsets.log")]
    reads = [[line.split()[-2] for line in log if " read " in line] for log in logs]
    assert sorted(map(len, reads)) == [64, 64, 256, 256]
    assert len({tuple(offsets) for offsets in reads}) == 4
    assert all(len(set(offsets)) == len(offsets) for offsets in reads)


def test_data_are_written_again_after_writes_but_not_after_reads(zlang: Zlang) -> None:
    zlang.run(WRITES)
    order: list[str] = []
    rw = {trial.identity: str(trial.factors["rw"]) for trial in zlang.trials()}
    for event in zlang.events():
        if isinstance(event, Made) and event.key == "data":
            order.append("lay out")
        if isinstance(event, Begin):
            order.append(rw[event.trial])
    assert Counter(order)["randwrite"] == Counter(order)["randread"] == 2
    assert order[0] == "lay out"
    for before, after in pairwise(order):
        assert (after == "lay out") == (before == "randwrite")


def test_ingest_builds_the_same_database_again(zlang: Zlang) -> None:
    zlang.run(SMALL)
    tables = ("trials", "all_metrics", "steps", "runs", "latency")
    before = [zlang("sql", f"select * from {table} order by all", "--format", "csv").out for table in tables]
    (zlang.at / "results.duckdb").unlink()
    assert "1 run, 4 trials, 4 of them count" in zlang("ingest", "runs").out
    zlang("ingest", "runs")
    assert [zlang("sql", f"select * from {table} order by all", "--format", "csv").out for table in tables] == before
    zlang("ingest", str(zlang.folder()), "--db", "one.duckdb")
    assert len(zlang.rows("from trials", "--db", "one.duckdb")) == 4


def test_the_emitted_script_measures_the_same_and_is_ingested(zlang: Zlang) -> None:
    name = zlang.program(SMALL)
    zlang("plan", name, "--emit", "sh", "--out", "script")
    subprocess.run(["sh", "script/plan.sh"], cwd=zlang.at, check=True, capture_output=True)
    zlang("ingest", "runs")
    assert zlang.rows("select count(*) as n, min(read_ios) as ios from trials") == [{"n": 4, "ios": 64.0}]
    assert zlang.names() == {name, "script", "runs", "results.duckdb"}


def test_only_named_paths_are_touched(zlang: Zlang) -> None:
    (zlang.at / "keep").mkdir()
    for name in ("data", "keep/data", "zlang-mine", ".hidden"):
        (zlang.at / name).write_text(name)
    before = tree(zlang.at)
    zlang.run(SMALL)
    assert changed(before, tree(zlang.at)) == {"program.zexp", "runs", "results.duckdb"}
