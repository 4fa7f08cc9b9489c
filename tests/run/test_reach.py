"""Test how hosts are reached: settings in the project file and the command line, and invalid ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from zlang.errors import RunError
from zlang.run.transport import reach
from zlang.run.transport.reach import Address


def test_the_command_line_wins_over_the_project_file(tmp_path: Path) -> None:
    (tmp_path / "zlang.toml").write_text(
        '[hosts.a]\nssh = "root@a.lab:2222"\ndirectory = "/data"\nwait = 5\n[hosts.b]\nlocal = true\n'
        '[hosts.d]\nssh = "d"\nsudo = true\n'
    )
    entries = reach.read(tmp_path / "inner", ["c=[fe80::1%eth0]:22", "b=bob@b", "d=ann@d"])
    assert {name: str(entry.address) for name, entry in entries.items()} == {
        "a": "root@a.lab:2222",
        "b": "bob@b",
        "c": "[fe80::1%eth0]:22",
        "d": "ann@d",
    }
    assert [name for name, entry in entries.items() if entry.sudo] == ["d"]
    assert (entries["a"].directory, entries["a"].wait) == ("/data", 5)
    assert entries["c"].address == Address("fe80::1%eth0", "", 22)
    assert reach.read(tmp_path)["b"].is_local


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-oProxyCommand=x",
        "a b",
        "a;b",
        "$(id)",
        "a@-b",
        "a@b:99999",
        "a@b:0",
        "a@b@c",
        "ssh://a",
        "`id`",
        "a\nb",
        "ä",
        "a/b",
    ],
)
def test_an_address_is_no_option_and_no_command(text: str) -> None:
    with pytest.raises(RunError, match="is not an ssh address"):
        reach.parse(text, "--reach a")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("fe80::1", "write `[fe80::1]`, or `[fe80::1]:PORT`"),
        ("root@fe80::1%eth0", "write `root@[fe80::1%eth0]`, or `root@[fe80::1%eth0]:PORT`"),
        ("[fe80::1%$(id)]", "write USER@HOST, USER@HOST:PORT, HOST, or [IPV6-ADDRESS]:PORT"),
        ("a:b:c", "write USER@HOST, USER@HOST:PORT, HOST, or [IPV6-ADDRESS]:PORT"),
    ],
)
def test_an_address_of_ipv6_needs_brackets(text: str, hint: str) -> None:
    with pytest.raises(RunError) as refused:
        reach.parse(text, "[hosts.a]")
    assert refused.value.hint == hint


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("hosts = 3", "`hosts` must be a table"),
        ('[host.a]\nssh = "x"', "unknown table `host`"),
        ('[lints]\ndeny = ["drift"]', "unknown table `lints`"),
        ("[hosts]\na = 3", "must be a table"),
        ("[hosts.a]", "does not say how to reach the host"),
        ('[hosts.a]\nssh = "x"\nlocal = true', "does not say how to reach the host"),
        ("[hosts.a]\nssh = 3", "`ssh` must be a string"),
        ('[hosts.a]\nssh = "x"\nport = 3', "has no `port`"),
        ('[hosts.a]\nssh = "x"\ndirectory = "data"', "`directory` must be an absolute path"),
        ('[hosts.a]\nssh = "x"\ndirectory = "/da\\nta"', "`directory` must be an absolute path"),
        ('[hosts.a]\nssh = "x"\nwait = -1', "`wait` must be a whole number of seconds"),
        ('[hosts.a]\nssh = "x"\nsudo = "yes"', "`sudo` must be true or false"),
        ("[hosts.a]\nlocal = true\nsudo = true", "only with `ssh`"),
    ],
)
def test_a_wrong_project_file_is_refused(tmp_path: Path, table: str, message: str) -> None:
    (tmp_path / "zlang.toml").write_text(table)
    with pytest.raises(RunError, match=message):
        reach.read(tmp_path)


def test_a_host_may_have_the_name_of_a_setting(tmp_path: Path) -> None:
    project_file = tmp_path / "zlang.toml"
    project_file.write_text('[hosts]\nengine = "slurm"\n')
    assert (reach.read(tmp_path), reach.engine(tmp_path)) == ({}, "slurm")
    project_file.write_text('[hosts.engine]\nssh = "engine.lab"\n')
    assert ([*reach.read(tmp_path)], reach.engine(tmp_path)) == (["engine"], "")
    project_file.write_text('[hosts]\nengine = "pbs"\n')
    with pytest.raises(RunError, match="has the unknown engine `pbs`"):
        reach.engine(tmp_path)


def test_a_project_file_beside_the_working_directory_is_not_above_another_one(tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    (tmp_path / "here/zlang.toml").write_text("[hosts.a]\nlocal = true\n")
    assert reach.read(tmp_path / "here/../there") == {}


def test_the_name_of_this_machine_is_of_no_other() -> None:
    with pytest.raises(RunError, match="`local` is this machine, and --reach says that it is at root@x"):
        reach.require_different_machines(reach.changed({}, ["a=b", "local=root@x"]).values())
    reach.require_different_machines(reach.changed({}, ["a=b", "local=local"]).values())


def test_two_hosts_are_two_machines() -> None:
    entries = reach.changed({}, ["a=root@x", "b=root@x"])
    with pytest.raises(RunError, match="`a` and `b` are both at root@x"):
        reach.require_different_machines(entries.values())
    both_here = reach.changed({}, ["a=local", "b=local"])
    with pytest.raises(RunError, match="`a` and `b` are both this machine"):
        reach.require_different_machines(both_here.values())


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        ("a", "root@A.:22", "at a and root@A.:22, which is one server"),
        ("ann@a:2222", "bob@a:2222", "at ann@a:2222 and bob@a:2222, which is one server"),
        ("[fe80::1%e0]", "[FE80:0::1%e0]:22", r"at \[fe80::1%e0\] and \[FE80:0::1%e0\]:22, which is one server"),
        ("localhost", "local", r"this machine \(localhost\)"),
        ("127.1", "local", r"this machine \(127.1\)"),
        ("10.1", "root@10.0.0.1", "at 10.1 and root@10.0.0.1, which is one server"),
        ("127.0.0.1", "[::1]", r"this machine \(127.0.0.1 and \[::1\]\)"),
    ],
)
def test_two_ways_to_write_an_address_are_one_machine(first: str, second: str, place: str) -> None:
    with pytest.raises(RunError, match=f"`a` and `b` are both {place}"):
        reach.require_different_machines(reach.changed({}, [f"a={first}", f"b={second}"]).values())


@pytest.mark.parametrize(("first", "second"), [("a:2201", "a:2202"), ("localhost:2201", "local"), ("a", "b")])
def test_two_ports_of_a_gateway_or_tunnel_are_two_machines(first: str, second: str) -> None:
    reach.require_different_machines(reach.changed({}, [f"a={first}", f"b={second}"]).values())


def test_machines_saved_in_a_run_folder_are_loaded(tmp_path: Path) -> None:
    entries = list(reach.changed({}, ["a=root@x:1", "b=local"]).values())
    reach.save(tmp_path, entries)
    assert reach.load(tmp_path) == entries
    (tmp_path / "machines").write_text('[{"name": "a"}]')
    with pytest.raises(RunError, match="cannot read"):
        reach.load(tmp_path)


SLOW_RESOLVER = """
import socket, sys, time
from pathlib import Path
from zlang.run.executor import LocalExecutor
from zlang.run.transport import reach, ssh
from zlang.run.transport.machines import Machines

numbers = socket.getaddrinfo
socket.getaddrinfo = lambda *_, flags=0, **__: numbers(*_, flags=flags, **__) if flags else time.sleep(600)
ssh._CONNECT = 0.2
folder = Path(sys.argv[1])
local, hosts = LocalExecutor("visit-0", folder), reach.changed({}, ["a=nowhere"]).values()
with Machines(hosts, "visit-0", folder, local) as machines:
    print(machines.connect()[0].message)
"""


def test_the_end_does_not_wait_for_a_resolver(tmp_path: Path) -> None:
    """A resolver whose servers do not answer may take minutes."""
    line = [sys.executable, "-c", SLOW_RESOLVER, str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("`a` (nowhere) cannot be reached: no answer\n", "")
