"""Run the studies of two servers and the matrix of two machines from one place: each expectation gets a verdict."""

from __future__ import annotations

import os
import pty
import subprocess

from beds import Bed
from command_line import COMMAND, REPOSITORY, Zlang

EXAMPLES = REPOSITORY / "examples"
SLOW_FIO = """\
#!/bin/sh
case $* in *--rw=randread*) set -- "$@" --rate_iops=20 ;; esac
exec /usr/bin/fio "$@"
"""
SLOW_COPY = '#!/bin/sh\nsleep 1\nexec /bin/cp "$@"\n'
PUBLISHED = {
    "solaris": {"fileserver": 903, "webserver": 466, "workstation": 53, "database": 201},
    "freebsd": {"fileserver": 95, "webserver": 60, "workstation": 30, "database": 32},
}
ONCE_MORE = ("--order", "blocked", "--yes")


def reached(**hosts: str) -> tuple[str, ...]:
    """Return the options that specify how hosts are reached."""
    return tuple(word for name, host in hosts.items() for word in ("--reach", f"{name}={host}"))


def wrap(bed: Bed, host: str, name: str, text: str) -> None:
    """Wrap a program of a host in a script."""
    bed.on(host, f"cat >/usr/local/bin/{name} <<'END'\n{text}END\nchmod +x /usr/local/bin/{name}")


def test_a_matrix_of_two_machines(zlang: Zlang, bed: Bed) -> None:
    wrap(bed, "host1", "fio", SLOW_FIO)
    settings = [word for setting in ("size=1MiB", "time=1s", 'place="/data"') for word in ("--set", setting)]
    machines = reached(old="host1", new="root@host2")
    try:
        ended = zlang("run", str(EXAMPLES / "hardware.zexp"), *settings, *machines, *ONCE_MORE)
    finally:
        bed.on("host1", "rm /usr/local/bin/fio")
    assert "18 of 18 trials count" in ended.out
    assert "pass in 3 of 3 combinations: the new machine is faster" in ended.out


def test_a_copy_from_pool_to_pool_on_two_servers(zlang: Zlang, bed: Bed) -> None:
    for host in ("host1", "host2"):
        bed.on(host, "mkdir -p /new /old/data; echo 1 >/old/data/one; echo 2 >'/old/data/and two'")
    wrap(bed, "host2", "cp", SLOW_COPY)
    study = (EXAMPLES / "studies" / "001.5-pool-to-pool.zexp").read_text()
    program = zlang.program(
        study.replace('import "./published/musings.csv"', "").replace("run = copy", "run = copy  repeat = 3")
    )
    try:
        ended = zlang("run", program, *reached(solaris="host1", freebsd="host2"), *ONCE_MORE)
    finally:
        bed.on("host2", "rm /usr/local/bin/cp")
    assert "pass: Solaris is faster" in ended.out
    for host in ("host1", "host2"):
        assert bed.on(host, "ls -A /new; rm -r /new /old") == ""


def test_a_load_that_a_person_starts_on_the_client_of_two_servers(zlang: Zlang, bed: Bed) -> None:
    """The directories are created on the servers; only the tool waits for a person, for one server at a time."""
    for host in ("host1", "host2"):
        bed.on(host, "mkdir -p /tank/vm")
    study = (EXAMPLES / "studies" / "001.4-solaris-or-freebsd.zexp").read_text()
    program = zlang.program(study.replace('import "./published/musings.csv"', "").replace("repeat = 3", "repeat = 2"))
    person, terminal = pty.openpty()
    os.write(person, b"\n" * 16)
    command = [
        *zlang.prefix,
        *COMMAND,
        "run",
        program,
        *reached(solaris="host1", freebsd="host2", client="host3"),
        *ONCE_MORE,
    ]
    done = subprocess.run(
        command, cwd=zlang.at, env=zlang.variables(), stdin=terminal, capture_output=True, text=True, timeout=120
    )
    os.close(person)
    os.close(terminal)
    assert done.stderr.count("PerformanceTest 6.1: ") == 16, done.stderr
    run = zlang.folder().name
    assert "client+freebsd+solaris: 16 of 16 trials" in zlang("status", run).out
    rows = [
        f"{os},{profile},{value}.{replicate}MB/s"
        for os, figures in PUBLISHED.items()
        for profile, value in figures.items()
        for replicate in range(2)
    ]
    (zlang.at / "results.csv").write_text("\n".join(["os,profiles,total_bw", *rows, ""]))
    zlang("ingest", "--csv", "results.csv", "--run", run)
    assert "pass in 4 of 4 combinations: Solaris is faster" in zlang("expect").out
    for host in ("host1", "host2"):
        assert bed.on(host, "ls -A /tank/vm; rm -r /tank") == ""
