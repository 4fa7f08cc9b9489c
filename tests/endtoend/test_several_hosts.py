"""Check that each machine carries out its own part and that the results of all form one set."""

from __future__ import annotations

import os
import subprocess

from command_line import Zlang

PROGRAM = """
host san1
host san2
let box = san1 | san2
dir here on box { path = "." }
let words = 5 | 50
shell counts { command = "echo speed {words}"  writes = off  metrics = [regex("speed=speed ([0-9]+)")] }
experiment e {
  on = here  run = counts  repeat = 2
  expect "alike" median(speed where box == san1) == median(speed where box == san2)
}
"""
FAR = """
kind place: resource on host {
  offers dir = "."
  create { sh "true" { why = "mount it" } }
  destroy { sh "false" { why = "unmount it" } }
  flush { sh "true" }
  verify cold { sh "echo yes" is "yes" { why = "it is cold" } }
}
host server
host client
place there on server {}
shell says { command = "echo hello"  from = client  writes = off }
experiment e { on = there  run = says  cache = cold }
"""


def test_one_part_by_zlang_the_other_by_its_script(zlang: Zlang) -> None:
    refused = zlang.run(PROGRAM, "--yes", code=1)
    assert "--host san1" in refused.err
    assert not (zlang.at / "runs").exists()
    program = zlang.program(PROGRAM)

    half = zlang("run", program, "--host", "san1", "--yes", code=5)
    assert "inconclusive" in half.out
    zlang("plan", program, "--emit", "sh", "--host", "san2", "--out", "elsewhere")
    # Both parts share a directory of runs; neither may mistake the other's folder for its own.
    subprocess.run(["sh", "elsewhere/plan.sh"], cwd=zlang.at, check=True, capture_output=True)
    zlang("ingest", "runs")
    rows = zlang.rows("select host, count(*) as n from trials group by all order by all")
    assert rows == [{"host": "san1", "n": 4}, {"host": "san2", "n": 4}]
    assert "pass in 2 of 2 combinations: alike" in zlang("expect").out
    other = zlang.program(PROGRAM.replace("host san1", "host san1 { cores = 4096  platform = linux }"))
    warned = zlang("run", other, "--host", "san1", "--yes", "--only", "1", "--db", "other.duckdb", code=None).err
    assert [line for line in warned.splitlines() if line.startswith("warning: ")] == [
        f"warning: `san1` has cores = 4096 in the program, and this machine has {os.sysconf('SC_NPROCESSORS_ONLN')}"
    ]
    assert "no trials on a host `san3`" in zlang("run", program, "--host", "san3", "--yes", code=1).err


def test_steps_on_an_unreachable_host_become_manual_and_are_recorded(zlang: Zlang) -> None:
    program = zlang.program(FAR)
    waits = zlang("run", program, code=1)
    assert "manual step: on server: mount it\nRUN=" in waits.err
    assert "zlang resume --yes" in waits.err
    (zlang.at / "plan.sh").write_text(zlang("plan", program, "--emit", "sh").out)
    done = subprocess.run(["sh", "plan.sh", "other"], cwd=zlang.at, input=b"\n" * 9, capture_output=True, check=True)
    requests = [line for line in done.stderr.decode().splitlines() if line.startswith("manual step")]
    assert requests == [
        "manual step: on server: mount it, then press Enter",
        "manual step: on server: flush-there, then press Enter",
        "manual step: on server: it is cold, then press Enter",
        "manual step: on server: unmount it",
    ]
    zlang("ingest", "other")
    assert zlang.rows("select host, valid, cache_state, cache_evidence from all_trials") == [
        {"host": "client", "valid": True, "cache_state": "cold", "cache_evidence": "attested: on server: it is cold"}
    ]
