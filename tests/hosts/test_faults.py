"""Test faults of machines, networks and clocks during a run: nothing is lost, and nothing incomplete counts."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from beds import Bed, fill
from command_line import Zlang
from waiting import wait_for

from zlang.run.events import Start

HOSTS = """
[hosts.san1]
ssh = "host1"
directory = "/data/zlang"
[hosts.san2]
ssh = "host2"
directory = "/data/zlang"
"""
SLOW = """
host san1
host san2
let box = san1 | san2
dir here on box { path = "." }
shell slow { command = "until test -e /data/go; do sleep 0.1; done; echo done"  writes = off }
experiment e { on = here  run = slow }
"""
WANTING = """
host san1 { cores = 4096 }
dir here on san1 { path = "." }
kind odd: workload { needs dir as at  requires odd_tool "apt-get install odd"  run { sh "odd_tool" } }
odd it {}
experiment e { on = here  run = it }
"""
AHEAD = '#!/bin/sh\\nexec /bin/date -d "+3 seconds" "$@"\\n'


def test_a_machine_works_for_one_run_at_a_time(zlang: Zlang, bed: Bed) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    process = zlang.start("run", zlang.program(SLOW), "--yes")
    _await_measurements(zlang, process, 2)
    first = zlang.folder().name
    zlang("doctor", zlang.program(SLOW))
    refused = zlang("run", zlang.program(SLOW), "--yes", "--runs", "others", code=1).err
    assert f"`san1` (host1) cannot be used: the run {first} works there" in refused
    for machine in ("host1", "host2"):
        bed.on(machine, "touch /data/go")
    try:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        zlang("run", zlang.program(SLOW), "--yes", "--runs", "others")
    finally:
        for machine in ("host1", "host2"):
            bed.on(machine, "rm /data/go")


def test_an_ssh_server_that_permits_one_session_needs_more_connections(zlang: Zlang, bed: Bed) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    bed.on("host1", "cp /run/bed/sshd_config /root/before && echo MaxSessions 1 >>/run/bed/sshd_config")
    bed("killsshd", "host1")
    bed("startsshd", "host1")
    try:
        zlang.run(SLOW.replace("until test -e /data/go; do sleep 0.1; done", "true"), "--yes")
    finally:
        bed.on("host1", "cp /root/before /run/bed/sshd_config")
        bed("killsshd", "host1")
        bed("startsshd", "host1")
    assert [row["valid"] for row in zlang.rows("select valid from all_trials")] == [True, True]


def test_a_crash_fails_one_trial_and_a_short_cut_none(zlang: Zlang, bed: Bed) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    process = zlang.start("run", zlang.program(SLOW), "--yes")
    _await_measurements(zlang, process, 2)
    bed("crash", "host1")
    bed("cut", "host2")
    time.sleep(2)
    bed("join", "host2")
    bed("boot", "host1")
    machines = ("host1", "host2")
    for machine in machines:
        bed.on(machine, "touch /data/go")
    try:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 1, err
        assert b"does not count: measure: `san1` was lost" in err
        rows = "select host, valid from all_trials order by all"
        assert zlang.rows(rows) == [{"host": "san1", "valid": False}, {"host": "san2", "valid": True}]
        zlang("resume", "--failed")
    finally:
        for machine in machines:
            bed.on(machine, "rm /data/go")
    assert zlang.rows(rows) == [{"host": "san1", "valid": True}, {"host": "san2", "valid": True}]
    lanes = json.loads(zlang("status", zlang.folder().name, "--json").out)["lanes"]
    assert sorted(lane["machines"] for lane in lanes) == ["san1", "san2"]
    assert [(lane["done"], lane["trials"]) for lane in lanes] == [(1, 1), (1, 1)]


def test_a_full_disk_of_a_machine_is_named(zlang: Zlang, bed: Bed) -> None:
    """A command's error message cannot be written to the full disk."""
    (zlang.at / "zlang.toml").write_text(HOSTS)
    process = zlang.start("run", zlang.program(SLOW), "--yes")
    _await_measurements(zlang, process, 2)
    fill(bed, "host1")
    machines = ("host1", "host2")
    try:
        for machine in machines:
            bed.on(machine, "touch /data/go")
        _, err = process.communicate(timeout=120)
        assert process.returncode == 1, err
        assert b"does not count: measure: no space is left in /data/zlang on `san1`" in err
        bed.on("host1", "rm /data/fill*")
        zlang("resume", "--failed")
    finally:
        for machine in machines:
            bed.on(machine, "rm -f /data/go /data/fill*")
    assert zlang.rows("select count(*) as n from trials") == [{"n": 2}]


def test_doctor_visits_every_machine(zlang: Zlang, bed: Bed) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    bed.on("host1", f"printf '{AHEAD}' >/usr/local/bin/date; chmod +x /usr/local/bin/date")
    try:
        visited = json.loads(zlang("doctor", zlang.program(WANTING), "--json", code=1).out)["machines"]
    finally:
        bed.on("host1", "rm /usr/local/bin/date")
    (machine,) = visited
    assert machine["missing"] == ["odd_tool"]
    assert abs(machine["clock"]["ahead"] - 3) < 0.5 + machine["clock"]["error"]
    assert machine["contradictions"][0].startswith("`san1` has cores = 4096 in the program")
    assert "missing: apt-get install odd" in zlang("doctor", "program.zexp", code=1).out
    assert "on `san1`, `odd_tool` is not installed" in zlang("run", "program.zexp", "--yes", code=1).err


def test_one_refusal_names_what_every_machine_lacks(zlang: Zlang, bed: Bed) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    program = WANTING.replace("host san1 { cores = 4096 }", "host san1\nhost san2\nlet box = san1 | san2")
    bed("killsshd", "host2")
    try:
        refused = zlang("run", zlang.program(program.replace("on san1", "on box")), "--yes", code=1).err
    finally:
        bed("startsshd", "host2")
    assert "`san2` (host2) cannot be reached: connection refused; on `san1`, `odd_tool` is not installed\n" in refused
    assert "`ssh host2 true` must work; apt-get install odd\n" in refused


def test_output_of_a_login_shell_is_discarded(zlang: Zlang, bed: Bed) -> None:
    """A login shell may print any amount of text, and does so before each answer."""
    (zlang.at / "zlang.toml").write_text(HOSTS)
    bed.on("host1", "echo 'head -c 150M /dev/zero' >/root/.bashrc")
    program = zlang.program(WANTING.replace("host san1 { cores = 4096 }", "host san1"))
    zlang.prefix = (*zlang.prefix, "sh", "-c", 'ulimit -v 500000; exec "$@"', "sh")
    try:
        assert "missing: apt-get install odd" in zlang("doctor", program, code=1).out
    finally:
        bed.on("host1", ": >/root/.bashrc")


def test_a_changed_or_unknown_host_key_is_refused(zlang: Zlang, bed: Bed) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    Path(zlang.environment["HOME"], ".ssh/known_hosts").write_text("")
    refused = zlang("run", zlang.program(SLOW), "--yes", "--reach", "san2=root@10.66.0.12", code=1).err
    assert "the host key of `san2` (root@10.66.0.12) is not known" in refused
    assert "type `ssh root@10.66.0.12` once" in refused
    bed("rekey", "host2")
    try:
        refused = zlang("run", zlang.program(SLOW), "--yes", code=1).err
    finally:
        bed("rekey", "host2")
    assert "the host key of `san2` (host2) has changed" in refused
    assert "ssh-keygen -R host2" in refused
    assert not (zlang.at / "runs").exists()


def test_a_login_shell_that_reads_standard_input_is_reported(zlang: Zlang, bed: Bed) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    bed.on("host1", "echo 'read line' >/root/.bashrc")
    try:
        refused = zlang("run", zlang.program(SLOW), "--yes", code=1).err
    finally:
        bed.on("host1", ": >/root/.bashrc")
    assert "`san1` (host1) cannot be used: what its login shell runs at the start (such as ~/.bashrc) reads" in refused


BANNER = r'echo "#!/bin/dash\necho WELCOME\nexec /bin/dash \"\$@\"" >/bin/new; chmod +x /bin/new; mv /bin/new /bin/sh'
RELOAD = "kill -HUP $(cat /run/bed/sshd.pid)"
OTHER_DIRECTORY = '  = help: write directory = "/OTHER/PATH" below [hosts.san1] in zlang.toml\n'
UNUSABLE = {
    "its sh prints": (
        BANNER,
        "ln -sf dash /bin/sh",
        "cannot be used: its sh prints `WELCOME` before the output of every command",
    ),
    "its directory is read-only": (
        "mount --bind /data /data; mount -o remount,ro,bind /data",
        "umount /data",
        f"the directory /data/zlang cannot be made: Read-only file system\n{OTHER_DIRECTORY}",
    ),
    "its directory is below that of another user": (
        "mkdir -m 777 /data/open; mount --bind /data/open /var/tmp",
        "umount /var/tmp; rmdir /data/open",
        f"another user can write to /var/tmp, and replace what is in it\n{OTHER_DIRECTORY}",
    ),
    "its ssh server permits no session": (
        f"cp /run/bed/sshd_config /root/before; echo MaxSessions 0 >>/run/bed/sshd_config; {RELOAD}",
        f"mv /root/before /run/bed/sshd_config; {RELOAD}",
        "cannot be reached: its ssh server permits no session",
    ),
    "its login shell is restricted": (
        "sed -i s:/bin/bash:/bin/rbash: /etc/passwd",
        "sed -i s:/bin/rbash:/bin/bash: /etc/passwd",
        "exec: restricted\n  = help: `ssh host1 exec sh -c true` must work\n",
    ),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_machine_that_cannot_be_used_is_refused_with_what_to_change(zlang: Zlang, bed: Bed, name: str) -> None:
    spoil, restore, message = UNUSABLE[name]
    is_default = "/var/tmp" in spoil
    (zlang.at / "zlang.toml").write_text(HOSTS.replace('directory = "/data/zlang"', "") if is_default else HOSTS)
    bed("exec", "host1", "dash", "-c", spoil)
    try:
        refused = zlang("run", zlang.program(SLOW), "--yes", code=1).err
    finally:
        bed("exec", "host1", "dash", "-c", restore)
    assert message in refused
    assert "san2" not in refused


def test_tools_of_busybox_are_enough(zlang: Zlang, bed: Bed) -> None:
    """Its `head` reads more of a pipe than it prints, and its `date` knows only whole seconds."""
    (zlang.at / "zlang.toml").write_text(HOSTS)
    tools = "sh sed timeout grep dd head wc sha256sum date"
    bed.on("host1", f"for tool in {tools}; do ln -s /bin/busybox /usr/local/bin/$tool; done; touch /data/go")
    bed.on("host2", "touch /data/go")
    try:
        visited = json.loads(zlang("doctor", zlang.program(SLOW), "--json").out)["machines"]
        assert [machine["clock"]["error"] >= 0.5 for machine in visited] == [True, False]
        zlang("run", "program.zexp", "--yes")
    finally:
        bed.on("host1", f"cd /usr/local/bin && rm {tools}; rm /data/go")
        bed.on("host2", "rm /data/go")
    assert zlang.rows("select host from trials order by all") == [{"host": "san1"}, {"host": "san2"}]


def test_a_visit_logs_in_twice(zlang: Zlang, bed: Bed) -> None:
    """A login shell may take seconds."""
    (zlang.at / "zlang.toml").write_text(HOSTS)
    bed.on("host1", "echo 'echo once >>/root/logins' >/root/.bashrc")
    try:
        zlang("doctor", zlang.program(SLOW))
        assert bed.on("host1", "cat /root/logins").split() == ["once"] * 2
    finally:
        bed.on("host1", ": >/root/.bashrc; rm /root/logins")


def _await_measurements(zlang: Zlang, process: subprocess.Popen[bytes], count: int) -> None:
    while process.poll() is None:
        if list((zlang.at / "runs").glob("*/journal.jsonl")):
            starts = [event for event in zlang.events() if isinstance(event, Start) and event.step == "measure"]
            if len(starts) == count:
                return
        time.sleep(0.05)
    raise AssertionError(process.communicate())


@contextmanager
def slow_to_answer(bed: Bed, seconds: int) -> Iterator[None]:
    """Make the first machine slow to report its resources."""
    text = f"#!/bin/sh\\nexec sleep {seconds}\\n"
    bed.on("host1", f"printf '{text}' >/usr/local/bin/getconf; chmod +x /usr/local/bin/getconf")
    try:
        yield
    finally:
        bed.on("host1", "rm /usr/local/bin/getconf")


def test_a_visit_that_is_killed_leaves_nothing(zlang: Zlang, bed: Bed) -> None:
    """Until a run folder exists, only the machines themselves know that they were contacted."""
    (zlang.at / "zlang.toml").write_text(HOSTS)
    with slow_to_answer(bed, 60):
        process = zlang.start("run", zlang.program(SLOW), "--yes")
        wait_for(lambda: bed.on("host1", "ls -d /data/zlang/visit-*"))
        process.kill()
        process.communicate()
        wait_for(lambda: bed.on("host1", "ls -d /data/zlang") == "" == bed.on("host2", "ls -d /data/zlang"))
    assert not (zlang.at / "runs").exists()


def test_doctor_reports_the_others_when_one_is_lost_meanwhile(zlang: Zlang, bed: Bed) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    with slow_to_answer(bed, 4):
        process = zlang.start("doctor", zlang.program(SLOW), "--json")
        wait_for(lambda: bed.on("host1", "pgrep -f '^sleep 4'"))
        try:
            bed("killsshd", "host1")
            out, _ = process.communicate(timeout=60)
        finally:
            bed("startsshd", "host1")
    assert [machine["reached"] for machine in json.loads(out)["machines"]] == [False, True]
    wait_for(lambda: bed.on("host1", "ls -d /data/zlang") == "")


def test_ctrl_c_does_not_wait_for_a_machine_that_is_away(zlang: Zlang, bed: Bed) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    process = zlang.start("run", zlang.program(SLOW), "--yes")
    _await_measurements(zlang, process, 2)
    bed("crash", "host1")
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=30)
    finally:
        bed("boot", "host1")
    assert process.returncode == 130
    assert b"Still there: dir here (./zlang-" in err
    assert b" on san1. Remove it: zlang clean" in err
    assert zlang("clean").out.endswith(" on san1\n")
