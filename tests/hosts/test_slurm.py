"""Test a plan split into Slurm tasks: one is cancelled, and one loses its node."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Zlang
from slurm_bed import Slurm, started
from waiting import wait_for

PROGRAM = """
let n = 1 | 2 | 3 | 4
dir here { path = "." }
file data on here { size = n * 4KiB }
shell waits { command = "echo 1 >begun; until test -e GO; do sleep 0.1; done"  writes = off }
experiment e { on = data  run = waits  cache = as_is  repeat = 2  table elapsed by n }
"""

GROUP = """
host client { members = ["c1".."c3"] }
dir here on client { path = "/data" }
shell says { command = "echo 1"  writes = off }
experiment e { on = here  run = says }
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    """Start a Slurm with four nodes."""
    if os.geteuid() != 0:
        pytest.skip("only root makes namespaces")
    with started(4) as slurm:
        yield slurm


@pytest.fixture
def zlang(slurm: Slurm, tmp_path: Path) -> Zlang:
    """Provide the command where Slurm is installed."""
    at = tmp_path / "work"
    at.mkdir()
    command = Zlang(at)
    slurm.use(command)
    return command


def rows(zlang: Zlang) -> list[dict[str, str]]:
    """Return the rows of `status`, one for each part."""
    return [json.loads(line) for line in zlang("status", "--json").out.splitlines()]


def submit(zlang: Zlang, program: str) -> str:
    """Submit a program and return the job."""
    out = zlang("submit", program, "--slurm", "--parts", "4", "--", "--partition=p").out
    return out.split()[2].rstrip(":")


def test_parts_that_are_cancelled_or_lose_their_node_resume(zlang: Zlang, slurm: Slurm) -> None:
    go = zlang.at / "go"
    program = zlang.program(PROGRAM.replace("GO", str(go)))
    job = submit(zlang, program)
    wait_for(lambda: len(list(zlang.at.glob("zlang-*/begun"))) == 4)
    assert {row["task"] for row in rows(zlang)} == {f"task {job}_{n}: RUNNING on n{n}" for n in range(1, 5)}
    assert "wait or run" in zlang("submit", program, "--slurm").err

    slurm("scancel", f"{job}_1")
    slurm.lose("n2")
    wait_for(lambda: slurm.tasks().get(f"{job}_2") == "" and f"{job}_1" not in slurm.tasks())
    go.touch()
    slurm("scontrol", "update", f"jobid={job}_2", "starttime=now")  # Slurm would wait for two minutes
    wait_for(lambda: not slurm.tasks())
    states = {row["part"]: row["state"] for row in rows(zlang)}
    assert states == {"1/4": "not finished", **dict.fromkeys(("2/4", "3/4", "4/4"), "finished")}
    assert [row["task"] for row in rows(zlang) if "task" in row] == [f"task {job}_1: CANCELLED on n1"]

    submit(zlang, program)
    wait_for(lambda: not slurm.tasks())
    assert {row["state"] for row in rows(zlang)} == {"finished"}
    zlang("ingest")
    assert zlang.rows("select n, count(*) as k from trials group by n order by n") == [
        {"n": n, "k": 2} for n in range(1, 5)
    ]
    assert "8 of 8 trials count" in zlang("table").out
    assert zlang.names() == {"go", "program.zexp", "results.duckdb", "runs"}


def test_experiments_are_jobs_one_after_the_other(zlang: Zlang, slurm: Slurm) -> None:
    go = zlang.at / "go"
    line = "experiment e { on = data  run = waits  cache = as_is  repeat = 2  table elapsed by n }"
    second = "experiment f { on = data  run = waits  cache = hot }"
    program = zlang.program(PROGRAM.replace("GO", str(go)).replace(line, f"{line}\n{second}"))
    stdout = zlang("submit", program, "--slurm", "--parts", "2", "--", "--partition=p").out
    first, after = (said_of.split(":")[0] for said_of in stdout.split("submitted job ")[1:])
    wait_for(lambda: len(list(zlang.at.glob("zlang-e-*/begun"))) == 2)
    assert {name: bool(node) for name, node in slurm.tasks().items()} == {
        f"{job}_{number}": job == first for job in (first, after) for number in (1, 2)
    }
    go.touch()
    wait_for(lambda: not slurm.tasks())
    assert [row["state"] for row in rows(zlang)] == ["finished"] * 4


def test_nodes_of_an_allocation_are_the_machines_of_a_group(zlang: Zlang) -> None:
    (zlang.at / "zlang.toml").write_text('[hosts]\nengine = "slurm"\n[hosts.c1]\nssh = "login"\n')
    program = zlang.program(GROUP)
    outside = json.loads(zlang("hosts", program, "--json", code=1).out)
    assert [row["reached"] for row in outside] == [True, False, False]
    assert "no node of Slurm is allocated for `c2`, `c3`" in (refused := zlang("run", program, code=1).err)
    assert f"type: salloc --nodes=2 zlang run {program}" in refused
    assert "c3  no node of Slurm: begin the command with `salloc --nodes=2`" in zlang("hosts", program, code=1).out
    zlang.prefix = (*zlang.prefix, "salloc", "--quiet", "--nodes=2")
    inside = json.loads(zlang("hosts", program, "--json").out)
    assert [row["host"] for row in inside] == ["c1", "c2", "c3"]
    assert inside[0]["ssh"] == "login"
    assert inside[1]["ssh"] < inside[2]["ssh"]
    assert {row["ssh"] for row in inside[1:]} <= {"n1", "n2", "n3", "n4"}  # one of them may be lost
