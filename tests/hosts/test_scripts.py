"""Test scripts for several machines, without zlang or Python: they start at the same instant, as a run does."""

from __future__ import annotations

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from beds import Bed
from command_line import Zlang
from waiting import wait_for

from zlang.run.account import FILES_CHANGED
from zlang.run.events import Commit, End
from zlang.run.journal import Gap, Lines

PROGRAM = """
host server
host client { members = ["c1".."c2"] }
dir there on server { path = "/shared" }
file data on there { size = 64KiB }
shell reads { command = "uname -n; wc -c <data; sleep 1"  from = client  writes = off }
experiment e { on = data  run = reads  cache = cold }
"""
MACHINES = {"server": "host1", "c1": "host2", "c2": "host3"}
_PREPARE = 20
"""Seconds: a busy machine needs some for what takes none."""
APART = ("the machines began", "the streams did not run at the same time")
"""Reasons for which a trial on a busy machine may not count."""


def ended(journal: Path) -> set[tuple[str, int]]:
    """Return the steps that ended, with their exit codes, and each commit."""
    events = [event for event in Lines(journal) if not isinstance(event, Gap)]
    steps = {(event.step, event.rc) for event in events if isinstance(event, End)}
    return steps | {(event.trial, event.replicate) for event in events if isinstance(event, Commit)}


def counted(zlang: Zlang) -> list[str]:
    """Return the reason why each trial of the joined run does not count; empty for one that does."""
    (zlang.at / "parts.duckdb").unlink(missing_ok=True)  # or only a run whose journal changed is read
    zlang("ingest", "parts", "--db", "parts.duckdb")
    rows = zlang("sql", "SELECT why_not FROM all_trials", "--db", "parts.duckdb", "--format", "json").out
    return [row["why_not"] for row in json.loads(rows)]


def test_scripts_start_together_and_do_the_same_as_the_run(zlang: Zlang, bed: Bed) -> None:
    written = zlang("plan", zlang.program(PROGRAM), "--emit", "sh", "--out", "scripts").out
    assert all(f"scripts/{machine}.sh" in written for machine in MACHINES)
    shared = bed.path / "shared"
    shutil.copytree(zlang.at / "scripts", shared / "scripts")
    instant = int(time.time()) + _PREPARE + 4
    words = f"MEET={instant} EVERY={_PREPARE + 4} PREPARE={_PREPARE} dash /shared/scripts"
    try:
        assert "say when all machines begin" in bed.on("host1", "dash /shared/scripts/c1.sh 2>&1")
        with ThreadPoolExecutor() as pool:
            commands = {
                host: f"mkdir /data/s && cd /data/s && {words}/{name}.sh 2>&1" for name, host in MACHINES.items()
            }
            printed = dict(zip(MACHINES, pool.map(lambda host: bed.on(host, commands[host]), commands), strict=True))
        assert all("1 of 1 trials are done, 0 of them failed" in text for text in printed.values()), printed
        journals = {name: zlang.at / f"{name}.jsonl" for name in MACHINES}
        for name, host in MACHINES.items():
            journals[name].write_text(bed.on(host, "cat /data/s/runs/*/journal.jsonl") + "\n")
        names = {bed.on(host, "ls /data/s/runs") for host in MACHINES.values()}
        assert len(names) == 1, "what one machine creates has the name of the run on all of them"
        began = [float(bed.on(host, "cat /data/s/runs/*/trials/*/1/a1/stream*/began")) for host in ("host2", "host3")]
        assert min(began) >= instant
        for name, host in MACHINES.items():
            bed.on(host, f"cp -r /data/s/runs /shared/scripts/of-{name}")
            shutil.copytree(shared / "scripts" / f"of-{name}", zlang.at / "parts" / name)
        outputs = [bed.on(host, "cat /data/s/runs/*/trials/*/1/a1/stream*/measure.out") for host in ("host2", "host3")]
        assert outputs == ["host2\n65536", "host3\n65536"]
    finally:
        shutil.rmtree(shared / "scripts")
        for host in MACHINES.values():
            bed.on(host, "rm -rf /data/s")
    assert list(shared.iterdir()) == []

    (why,) = counted(zlang)
    assert not why or why.startswith(APART)
    (changed,) = zlang.at.glob("parts/c2/*/trials/*/1/a1/stream*/measure.out")
    changed.write_text("host3\n65537\n")
    assert counted(zlang) == [f"meeting: c2: {FILES_CHANGED}"]
    shutil.rmtree(zlang.at / "parts" / "c2")
    assert counted(zlang) == ["meeting: the run folder of `c2` is not here"]

    reached = [word for name, host in MACHINES.items() for word in ("--reach", f"{name}={host}")]
    zlang("run", "program.zexp", "--yes", *reached, code=None)  # on a busy machine they may begin too far apart
    by_scripts = set().union(*(ended(journal) for journal in journals.values()))
    assert by_scripts == ended(zlang.folder() / "journal.jsonl")


TWICE = """
host client { members = ["c1".."c2"] }
dir here on client { path = "." }
shell waits { command = "echo 1 >begun; sleep 3"  writes = off }
experiment e { on = here  run = waits }
"""


def test_scripts_of_which_one_was_killed_measure_the_trial_again(zlang: Zlang, bed: Bed) -> None:
    """The other machine has finished: it goes on in the same folder, so that both use resources of the same name."""
    zlang("plan", zlang.program(TWICE), "--emit", "sh", "--out", "scripts")
    shared = bed.path / "shared"
    shutil.copytree(zlang.at / "scripts", shared / "scripts")
    machines = {"c1": "host1", "c2": "host2"}
    try:
        for is_first in (True, False):
            words = f"mkdir -p /data/s && cd /data/s && MEET={int(time.time()) + 12} EVERY=20 PREPARE=10 FROM=1 dash"
            commands = {host: f"{words} /shared/scripts/{name}.sh 2>&1" for name, host in machines.items()}
            with ThreadPoolExecutor() as pool:
                printed = [pool.submit(bed.on, host, command) for host, command in commands.items()]
                if is_first:
                    wait_for(lambda: bed.on("host2", "ls /data/s/zlang-*/begun"))
                    bed.on("host2", "kill -9 $(cat /data/s/runs/*/lock)")
            assert "1 of 1 trials are done, 0 of them failed" in printed[0].result()
        assert "continuing" in printed[1].result()
        for name, host in machines.items():
            bed.on(host, f"cp -r /data/s/runs /shared/scripts/of-{name}")
            shutil.copytree(shared / "scripts" / f"of-{name}", zlang.at / "parts" / name)
    finally:
        shutil.rmtree(shared / "scripts")
        for host in machines.values():
            bed.on(host, "rm -rf /data/s")
    (why,) = counted(zlang)
    assert not why or why.startswith(APART)
