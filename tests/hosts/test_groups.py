"""Test groups of machines: one trial runs on all of them, they start together, and their figures are added."""

from __future__ import annotations

import json
import re

import pytest
from beds import Bed
from command_line import Zlang
from waiting import wait_for

from zlang.run.events import End, Start

PROGRAM = """
import fio
import linux
host client { members = ["c1".."c3"] }
let n = 1 | 3
let clients = first(client, n)
dir here on clients { path = "/data" }
file data on here { size = 1MiB }
fio reads { rw = randread  bs = 4KiB  time_based = on  runtime = 1s  rate_iops = 200/s }
experiment scaling { on = data  run = reads  collect = vmstat {}  table read_iops, start_skew by n }
"""
FAILS = """
host client { members = ["c1".."c3"] }
dir here on client { path = "/data" }
shell sleeps { command = "sleep 1; test $(uname -n) != host2 && sleep 1000"  writes = off }
experiment e { on = here  run = sleeps }
"""
WAITS = """
host client { members = ["c1".."c3"] }
dir here on client { path = "/data" }
shell waits { command = "echo 1 >begun; until test -e /data/go; do sleep 0.1; done; sleep 3"  writes = off }
experiment e { on = here  run = waits }
"""
HOSTS = "".join(f'[hosts.c{number}]\nssh = "host{number}"\n' for number in (1, 2, 3))


def test_figures_of_a_group_add_up(zlang: Zlang) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    zlang.run(PROGRAM, "--yes", code=None)  # on a busy machine they may begin too far apart
    rows = zlang.rows("select n, host, read_iops from all_trials order by n")
    assert [row["host"] for row in rows] == ["c1", "c1+c2+c3"]
    assert float(str(rows[1]["read_iops"])) > 2 * float(str(rows[0]["read_iops"]))
    each = zlang.rows("select host from stream_metrics where metric = 'read_iops' order by host")
    assert [row["host"] for row in each] == ["c1", "c2", "c3"]
    seconds = json.loads(zlang("status", zlang.folder().name, "--json").out)["seconds"]["taken"]
    events = zlang.events()
    assert sum(seconds.values()) == pytest.approx(events[-1].t - events[0].t, abs=1)


LATE = """
host client { members = ["c1".."c2"] }
dir here on client { path = "/data" }
shell naps { command = "sleep 0.2"  writes = off }
experiment e { on = here  run = naps }
"""


def test_the_time_of_a_group_begins_when_its_machines_begin(zlang: Zlang) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    zlang.run(LATE, "--yes", code=None)  # on a busy machine they may begin too far apart
    (out,) = zlang.folder().glob("trials/*/1/a1")
    ahead = [float(line.split()[1]) for line in (out / "clocks").read_text().splitlines()]
    began, ended = (
        [float((out / f"stream{n}" / name).read_text()) - ahead[n - 1] for n in (1, 2)] for name in ("began", "ended")
    )
    (row,) = zlang.rows("select elapsed from all_trials")
    assert abs(float(str(row["elapsed"])) - (max(ended) - min(began))) < 1e-3


def test_a_machine_that_is_lost_fails_the_trial_and_ends_the_others(zlang: Zlang, bed: Bed) -> None:
    """The other machines stop their loads at once and leave nothing; `resume --failed` measures all of them again."""
    (zlang.at / "zlang.toml").write_text(HOSTS.replace('"\n', '"\ndirectory = "/data/zlang"\n'))
    process = zlang.start("run", zlang.program(WAITS), "--yes")
    machines = ("host1", "host2", "host3")
    wait_for(lambda: all(bed.on(machine, "ls /data/zlang-*/begun") for machine in machines))
    bed("crash", "host2")
    bed("boot", "host2")
    try:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 1, err
        assert b"`c2` was lost" in err
        for machine in machines:
            assert bed.on(machine, "grep -lsz '^ZLANG_RUN=' /proc/[0-9]*/environ; true") == ""
            bed.on(machine, "touch /data/go")
        zlang("resume", "--failed", code=None)  # on a busy machine they may begin too far apart
    finally:
        for machine in machines:
            bed.on(machine, "rm -f /data/go")
    (row,) = zlang.rows("select host, valid, why_not from all_trials")
    assert row["host"] == "c1+c2+c3"
    assert row["valid"] or re.search("began|all streams for", str(row["why_not"])), row


def test_nothing_is_left_of_a_trial_in_which_the_run_was_killed(zlang: Zlang, bed: Bed) -> None:
    """The test bed checks the machines for leftovers."""
    (zlang.at / "zlang.toml").write_text(HOSTS)
    process = zlang.start("run", zlang.program(WAITS), "--yes")
    machines = ("host1", "host2", "host3")
    wait_for(lambda: all(bed.on(machine, "ls /data/zlang-*/begun") for machine in machines))
    process.kill()
    process.communicate(timeout=60)
    removed = zlang("clean", zlang.folder().name).out.splitlines()
    assert sorted(line.split(" (")[0] for line in removed) == [f"removed: dir here.c{number}" for number in (1, 2, 3)]


def test_a_replaced_directory_on_a_machine_is_not_removed(zlang: Zlang, bed: Bed) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    process = zlang.start("run", zlang.program(WAITS), "--yes")
    machines = ("host1", "host2", "host3")
    wait_for(lambda: all(bed.on(machine, "ls /data/zlang-*/begun") for machine in machines))
    bed.on(
        "host2", "cd /data && mkdir victim && echo precious >victim/file && mv zlang-* moved && ln -s victim moved-back"
    )
    try:
        (run,) = (path.name for path in (zlang.at / "runs").iterdir())
        bed.on("host2", f"cd /data && mv moved-back zlang-{run}")
        for machine in machines:
            bed.on(machine, "touch /data/go")
        _, err = process.communicate(timeout=120)
        assert process.returncode == 1, err
        assert f"/data/zlang-{run} was replaced: it is no longer what this run created".encode() in err
        zlang("clean", run, code=1)
        assert bed.on("host2", "cat /data/victim/file; ls /data/moved") == "precious\nbegun"
    finally:
        bed.on("host2", "cd /data && rm -f zlang-* && mv moved zlang-$1 2>/dev/null; rm -rf victim".replace("$1", run))
        for machine in machines:
            bed.on(machine, "rm -f /data/go")
    zlang("clean", run)


def test_one_machine_that_fails_ends_the_others(zlang: Zlang, bed: Bed) -> None:
    """The clock of the second machine is three seconds ahead; all machines started at the same time."""
    (zlang.at / "zlang.toml").write_text(HOSTS)
    ahead = '#!/bin/sh\\ncase $1 in -d) exec /bin/date "$@" ;; *) exec /bin/date -d "+3 seconds" "$@" ;; esac\\n'
    bed.on("host2", f"printf '{ahead}' >/usr/local/bin/date; chmod +x /usr/local/bin/date")
    try:
        failed = zlang.run(FAILS, "--yes", code=1).err
    finally:
        bed.on("host2", "rm /usr/local/bin/date")
    assert "measure-c2: exited with 1" in failed
    (out,) = zlang.folder().glob("trials/*/1/a1")
    clocks = {line.split()[0]: float(line.split()[1]) for line in (out / "clocks").read_text().splitlines()}
    assert [round(seconds) for seconds in clocks.values()] == [0, 3, 0]
    began = [float((out / f"stream{n}" / "began").read_text()) for n in (1, 2, 3)]
    begun = [at - ahead_by for at, ahead_by in zip(began, clocks.values(), strict=True)]
    assert max(begun) - min(begun) < 1


REHEARSED = '''
kind falls: workload {
  doc = "Print a number that falls to 100; on the second machine it takes one round more."
  needs dir as at
  run { sh "cd -- {at.dir} && pwd -P >>${{OUT%/trials/*}}/leaves && echo x >>rounds && test -n {seed}" }
  round {
    sh """
      awk -v more="$(test "$(uname -n)" != host2; echo $?)" '
        END {{ print "depth", 100 + (NR <= 1 + more ? 900 : 0) }}' {at.dir}/rounds
    """
  }
}
host client { members = ["c1".."c3"] }
dir here on client { path = "/data" }
falls load {}
experiment e { on = here  run = load  cache = warm { metric = "depth"  window = 3  ceiling = 9 } }
'''


def test_each_machine_of_a_group_rehearses_until_it_is_steady(zlang: Zlang) -> None:
    """The machines rehearse at the same time. The trial has the rounds of the slowest, and each machine its own."""
    (zlang.at / "zlang.toml").write_text(HOSTS)
    zlang.run(REHEARSED, "--yes", code=None)  # on a busy machine they may begin too far apart
    (row,) = zlang.rows("select cache_state, cache_evidence, rounds from all_trials")
    assert row["cache_state"] == "warm", row
    assert row["rounds"] == 5
    each = zlang.rows("select host, value from stream_metrics where metric = 'rounds' order by host")
    assert [(own["host"], own["value"]) for own in each] == [("c1", 4), ("c2", 5), ("c3", 4)]
    rounds = zlang.rows(
        "select host, min(t) as t, count(*) as n from samples where metric = 'depth' group by 1 order by 1"
    )
    assert [(own["host"], own["n"]) for own in rounds] == [("c1", 4), ("c2", 5), ("c3", 4)]


FROM_A_CLIENT = """
kind falls: workload {
  doc = "Print a number that falls to 100, and record each run on its machine."
  needs dir as at
  run { sh "cd -- {at.dir} && uname -n >>/run/rehearsals && test -n {seed}" }
  round { sh "if test $(grep -c '' /run/rehearsals) = 1; then echo depth 900; else echo depth 100; fi" }
}
host server
host client
dir share on server { path = "/shared" }
falls load { from = client }
experiment e { on = share  run = load  cache = warm { metric = "depth"  window = 3  ceiling = 9 } }
"""


def test_the_machine_of_the_load_rehearses_for_a_target_on_another(zlang: Zlang, bed: Bed) -> None:
    (zlang.at / "zlang.toml").write_text('[hosts.server]\nssh = "host1"\n[hosts.client]\nssh = "host2"\n')
    try:
        zlang.run(FROM_A_CLIENT, "--yes")
        rehearsed = {machine: bed.on(machine, "cat /run/rehearsals 2>/dev/null") for machine in ("host1", "host2")}
    finally:
        bed.on("host2", "rm /run/rehearsals")
    (row,) = zlang.rows("select host, cache_state, rounds from trials")
    assert row == {"host": "client", "cache_state": "warm", "rounds": 4}
    assert rehearsed == {"host1": "", "host2": "\n".join(["host2"] * 5)}
    assert bed.on("host1", "ls -A /shared") == ""


LAYS_OUT = """
import fio
host client { members = ["c1".."c3"] }
kind pause: treatment { needs file as at  apply { sh "sleep 2" } }
dir here on client { path = "/data" }
file data on here { size = 1MiB }
pause first {}
shell waits { command = "sleep 1"  writes = off }
experiment e { on = data  run = waits  before = first  cache = cold  repeat = 2 }
"""


def test_members_are_set_up_and_flushed_at_the_same_time(zlang: Zlang) -> None:
    """A group takes as long as one machine; but nothing happens beside a measurement."""
    (zlang.at / "zlang.toml").write_text(HOSTS)
    zlang.run(LAYS_OUT, "--yes", code=None)  # on a busy machine they may begin too far apart
    began: dict[str, float] = {}
    times: dict[str, list[tuple[float, float]]] = {}
    for event in zlang.events():
        if isinstance(event, Start):
            began[f"{event.step} {event.out}"] = event.t
        elif isinstance(event, End):
            times.setdefault(event.step, []).append((began.pop(f"{event.step} {event.out}"), event.t))
    (pauses,) = (spans for step, spans in times.items() if step.startswith("before"))
    assert len(pauses) == 3
    assert max(end for _, end in pauses) - min(start for start, _ in pauses) < 2 * 2
    measured = [span for step, spans in times.items() for span in spans if step.startswith("measure")]
    for step, spans in times.items():
        for start, end in spans if not step.startswith("measure") else ():
            assert not [span for span in measured if span[0] < end and start < span[1]], step
    status = json.loads(zlang("status", zlang.folder().name, "--json").out)["seconds"]
    events = zlang.events()
    assert sum(status["taken"].values()) == pytest.approx(events[-1].t - events[0].t, abs=1)


def test_this_machine_can_be_a_member_of_a_group(zlang: Zlang) -> None:
    text = HOSTS.replace('ssh = "host1"', "local = true").replace('"\n', '"\ndirectory = "/data/it\'s"\n')
    (zlang.at / "zlang.toml").write_text(text)
    zlang.run(LATE.replace('"/data"', '"."'), "--yes", code=None)  # on a busy machine they may begin too far apart
    (row,) = zlang.rows("select host, why_not from all_trials")
    assert row["host"] == "c1+c2"
    assert re.search("^$|began|all streams for", str(row["why_not"])), row
