"""Carry out a program with several hosts from one place."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from beds import Bed
from command_line import Zlang
from waiting import wait_for

from zlang.run.events import Begin, Commit, Finish, Start

TWO = """
host san1
host san2
let box = san1 | san2
dir here on box { path = "." }
"""
PROGRAM = (
    TWO
    + """
let words = 5
shell counts { command = "uname -n >&2; echo speed {words}"  writes = off  metrics = [regex("speed=speed ([0-9]+)")] }
experiment e {
  on = here  run = counts  repeat = 2
  expect "alike" median(speed where box == san1) == median(speed where box == san2)
}
"""
)
SLEEPS = (
    TWO
    + """
shell sleeps { command = "sleep 1000"  writes = off }
experiment e { on = here  run = sleeps }
"""
)
FAR = """
host server
host client
dir there on server { path = "/shared" }
shell says { command = "uname -n"  from = client  writes = off }
experiment e { on = there  run = says }
"""
FILES = """
host box
dir here on box { path = "/data/ann" }
file data on here { size = 64KiB }
shell reads { command = "cat data >/dev/null"  writes = off }
experiment e { on = data  run = reads  cache = cold }
"""
MOUNTED = """
import filesystems
host box
dir here on box { path = "/data/ann" }
loop disk on here { size = 64MiB }
ext4 volume on disk
shell nothing_much { command = "true" }
experiment e { on = volume  run = nothing_much }
"""
HOSTS = """
[hosts.san1]
ssh = "root@host1"
[hosts.san2]
ssh = "host2"
directory = "/data/zlang"
[hosts.server]
ssh = "host1"
"""


def test_every_trial_is_carried_out_on_its_machine(zlang: Zlang) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    assert "pass: alike" in zlang.run(PROGRAM, "--yes").out
    rows = zlang.rows("select host, count(*) as n from trials group by all order by all")
    assert rows == [{"host": "san1", "n": 2}, {"host": "san2", "n": 2}]
    for trial in zlang.trials():
        (stderr,) = zlang.folder().glob(f"{trial.place}/a1/measure.err")
        assert stderr.read_text() == {"san1": "host1\n", "san2": "host2\n"}[trial.host]
    assert isinstance(zlang.events()[-1], Finish)


SETTINGS = r"""
echo; echo "*** WELCOME ***"; echo "ready x 0"; echo "refused x"; echo ready; printf 'no line end'; echo "a warning" >&2
export LC_ALL=ja_JP.UTF-8 LANG=de_DE.UTF-8 TZ=Pacific/Auckland POSIXLY_CORRECT=1 CDPATH=/ BLOCK_SIZE=1M QUOTING_STYLE=c
export TIME_STYLE=full-iso GREP_OPTIONS=--color=always TMPDIR=/nowhere
umask 077
set -o noclobber
cd /usr
"""


def test_output_and_settings_of_a_login_shell_have_no_effect(zlang: Zlang, bed: Bed) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    bed("exec", "host1", "sh", "-c", 'printf %s "$1" >/root/.bashrc', "sh", SETTINGS)
    try:
        assert "*** WELCOME" in bed("hub", "ssh", "-F", str(bed.path / "config"), "host1", "true")
        assert "reports nothing" not in zlang("doctor", zlang.program(PROGRAM)).out
        assert "pass: alike" in zlang.run(PROGRAM, "--yes").out
    finally:
        bed.on("host1", ": >/root/.bashrc")


HOSTILE_DIRECTORIES = [
    r"""/data/a $(touch /data/x)`touch /data/x`'"; touch /data/x #*?[a]\n\\ é%s-x&|<>!{a,b}~""",
    "/data/-rf",
    "/data/\t\x1b[31m",
]


@pytest.mark.parametrize("directory", HOSTILE_DIRECTORIES, ids=["shell", "option", "control characters"])
def test_a_directory_is_never_a_command_or_an_option(zlang: Zlang, directory: str) -> None:
    """The bed checks that nothing else is in /data afterwards."""
    (zlang.at / "zlang.toml").write_text(HOSTS + f"[hosts.box]\nssh = 'host1'\ndirectory = {json.dumps(directory)}\n")
    zlang.run(WHO.replace("/var/tmp", "."), "--yes")
    assert zlang.rows("select host, valid from all_trials") == [{"host": "box", "valid": True}]


def test_lanes_1_runs_one_machine_at_a_time(zlang: Zlang) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    zlang.run(PROGRAM.replace("repeat = 2", "repeat = 1"), "--yes", "--lanes", "1", code=5)
    ends = [type(event) for event in zlang.events() if isinstance(event, Begin | Commit)]
    assert ends == [Begin, Commit] * 2
    begun = [event.number for event in zlang.events() if isinstance(event, Begin)]
    assert begun == sorted(begun)


def test_a_load_from_a_reachable_machine_has_no_manual_steps(zlang: Zlang) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    listed = zlang("hosts", zlang.program(FAR), code=1)
    assert "client  no address: write [hosts.client]" in listed.out
    assert "server  ssh host1, in /var/tmp/zlang" in listed.out
    ended = zlang("run", "program.zexp", "--yes", "--reach", "client=root@host2")
    assert "manual step" not in ended.err
    assert zlang.rows("select host, valid from all_trials") == [{"host": "client", "valid": True}]
    (stdout,) = zlang.folder().glob("trials/*/1/a1/measure.out")
    assert stdout.read_text() == "host2\n"


def test_unreachable_hosts_are_reported_before_anything_is_created(zlang: Zlang) -> None:
    program = zlang.program(PROGRAM)
    refused = zlang("run", program, "--yes", code=1).err
    assert "--reach san1=USER@HOST" in refused
    assert "--host san1" in refused
    refused = zlang("run", program, "--yes", "--reach", "san1=root@host1", code=1).err
    assert "zlang does not know how to reach `san2`" in refused
    refused = zlang("run", program, "--reach", "san1=host8", "--reach", "san2=host9", code=1).err
    assert "`san1` (host8) cannot be reached" in refused
    assert "`san2` (host9) cannot be reached" in refused
    refused = zlang("run", program, "--reach", "san1=host1", "--reach", "san2=host1", code=1).err
    assert "`san1` and `san2` are both at host1" in refused
    config = Path(zlang.environment["HOME"], ".ssh/config")
    config.write_text("Host host7\n  HostName 10.66.0.11\n" + config.read_text())
    refused = zlang("run", program, "--reach", "san1=host1", "--reach", "san2=host7", code=1).err
    assert "`san1` and `san2` are the same machine" in refused
    visited = zlang("doctor", program, "--reach", "san1=host1", "--reach", "san2=host7", code=1).out
    assert visited.count("`san1` and `san2` are the same machine") == 2
    refused = zlang("run", program, "--reach", "san1=host1", "--reach", "san2=nobody@host2", code=1).err
    assert "`san2` (nobody@host2) cannot be used" in refused
    refused = zlang("run", program, "--reach", "san3=host1", code=1).err
    assert "uses no host `san3`" in refused
    assert not (zlang.at / "runs").exists()


def test_a_host_over_ssh_that_is_this_machine_is_refused(zlang: Zlang, bed: Bed) -> None:
    """Only the boot id shows it: the name in ssh's configuration may be any."""
    (zlang.at / "zlang.toml").write_text('[hosts.san1]\nlocal = true\n[hosts.san2]\nssh = "host2"\n')
    boot = "/proc/sys/kernel/random/boot_id"
    bed.on("host2", f"umount {boot}")
    try:
        refused = zlang("run", zlang.program(PROGRAM), "--yes", code=1).err
    finally:
        bed.on("host2", f"mount --bind /run/boot_id {boot}")
    assert "`san1` and `san2` are the same machine" in refused
    assert not (zlang.at / "runs").exists()


@pytest.fixture
def ann(bed: Bed) -> Iterator[str]:
    """Let an ordinary user log in, whose connections may outlast the test."""
    bed.on("host1", "useradd -p '*' ann && install -d -o ann /data/ann /data/ann/runs /home/ann/.ssh")
    bed.on("host1", "install -o ann -m 600 /run/bed/authorized /home/ann/.ssh/authorized_keys")
    yield "ann@host1"
    assert bed.on("host1", "ls -A /data/ann/runs; rm -r /data/ann; userdel -rf ann 2>/dev/null; true") == ""


def test_an_ordinary_user_measures_files_and_sees_what_needs_root(zlang: Zlang, ann: str) -> None:
    (zlang.at / "zlang.toml").write_text(f'[hosts.box]\nssh = "{ann}"\ndirectory = "/data/ann/runs"\n')
    zlang.run(FILES, "--yes")
    assert zlang.rows("select cache_state, valid from all_trials") == [{"cache_state": "cold", "valid": True}]
    refused = zlang("run", zlang.program(MOUNTED, "mounted.zexp"), "--yes", code=1).err
    assert "on `box`, zlang must run as root" in refused
    assert "loop devices and mounting need it: log in as `root@host1`" in refused


WHO = """
host box
dir here on box { path = "/var/tmp" }
shell asks { command = "id -un"  writes = off }
experiment e { on = here  run = asks }
"""


def test_sudo_is_used_only_with_sudo_in_zlang_toml(zlang: Zlang, bed: Bed, ann: str) -> None:
    """If sudo asks for a password, the run is refused before anything is created."""
    program, project_file = zlang.program(WHO), zlang.at / "zlang.toml"
    users: list[str] = []
    try:
        bed.on("host1", "echo 'ann ALL=(root) NOPASSWD: /bin/sh' >/etc/sudoers.d/ann")
        for words in ('directory = "/data/ann/runs"', "sudo = true"):
            project_file.write_text(f'[hosts.box]\nssh = "{ann}"\n{words}\n')
            runs = zlang.at / f"runs{len(users)}"
            zlang("run", program, "--yes", "--runs", str(runs))
            (path,) = runs.glob("*/trials/*/1/a1/measure.out")
            users.append(path.read_text())
        assert users == ["ann\n", "root\n"]
        assert "as root through sudo" in zlang("hosts", program).out
        bed.on("host1", "echo 'ann ALL=(root) /bin/sh' >/etc/sudoers.d/ann")
        refused = zlang("run", program, "--yes", code=1).err
        assert "`box` (ann@host1) cannot be used: sudo: a password is required" in refused
        assert "`ssh ann@host1 exec sudo -n /bin/sh -c true` must work" in refused
    finally:
        bed.on("host1", "rm -f /etc/sudoers.d/ann")
    assert not (zlang.at / "runs").exists()


def test_kill_9_and_resume_leave_nothing_on_any_machine(zlang: Zlang, bed: Bed) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    process = zlang.start("run", zlang.program(SLEEPS), "--yes")
    wait_for(lambda: _is_measuring(zlang, 2))
    process.kill()
    process.communicate()
    cleaned = json.loads(zlang("clean", "--json").out)
    assert len(cleaned["removed"]) == 2
    assert bed.on("host1", "pgrep -f '^sleep 1000'") == ""


def test_ctrl_c_ends_processes_on_all_machines(zlang: Zlang) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    process = zlang.start("run", zlang.program(SLEEPS), "--yes")
    wait_for(lambda: _is_measuring(zlang, 2))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"everything that the run created is removed" in err


def _is_measuring(zlang: Zlang, count: int) -> bool:
    if not list((zlang.at / "runs").glob("*/journal.jsonl")):
        return False
    return sum(isinstance(event, Start) and event.step == "measure" for event in zlang.events()) == count


ON_THE_SERVER = """
import linux
host server
host c1
kind touching: event {
  needs dir as at
  start { sh "uname -n >{at.dir}/it" }
  wait { sh "sleep 1000" }
  stop { sh "rm {at.dir}/it" }
}
dir share on server { path = "/shared" }
shell looks { command = "sleep 2; cat it"  writes = off  from = c1 }
vmstat far { from = server }
experiment e { on = share  run = looks  during = touching {}  collect = far }
"""


def test_an_event_and_a_collector_are_on_the_server_of_a_client(zlang: Zlang) -> None:
    """The client sees the event's effects there; the event ends when the client has ended."""
    (zlang.at / "zlang.toml").write_text('[hosts.server]\nssh = "host1"\n[hosts.c1]\nssh = "host2"\n')
    zlang.run(ON_THE_SERVER, "--yes")
    (out,) = zlang.folder().glob("trials/*/1/a1")
    assert (out / "stream1" / "measure.out").read_text() == "host1\n"
    (row,) = zlang.rows("select host, elapsed from trials")
    assert row["host"] == "c1"
    assert 2 <= float(str(row["elapsed"])) < 4
    assert zlang.rows("select distinct host from samples") == [{"host": "server"}]


IN_MEMORY = """
import fio
host san1
host san2
let box = san1 | san2
dir here on box { path = PATH }
file data on here { size = 1MiB }
fio reads { rw = randread  time_based = on  runtime = 1s }
experiment e { on = data  run = reads  cache = CACHE }
"""


@pytest.mark.parametrize("path", ["/tmp", "."])
def test_doctor_names_a_directory_in_memory_where_caches_have_to_be_cold(zlang: Zlang, path: str) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS.replace('root@host1"', 'root@host1"\ndirectory = "/tmp/it\'s"'))
    program = IN_MEMORY.replace("PATH", f'if box is san1 then "{path}" else "/data"')
    visited = zlang("doctor", zlang.program(program.replace("CACHE", "as_is | cold")), "--json", code=1).out
    first, second = json.loads(visited)["machines"]
    assert first["contradictions"] == [
        f"on `san1`, {path} is in memory: it measures no disk, and no file there is ever cold"
    ]
    assert second["contradictions"] == []
    assert "nothing is missing" in zlang("doctor", zlang.program(program.replace("CACHE", "as_is"))).out


def test_tools_with_too_few_options_are_named(zlang: Zlang, bed: Bed) -> None:
    (zlang.at / "zlang.toml").write_text(HOSTS)
    program = zlang.program(IN_MEMORY.replace("PATH", '"/data"').replace("CACHE", "as_is"))
    bed.on("host2", "ln -s /bin/busybox /usr/local/bin/stat")
    try:
        shown = zlang("doctor", program, code=1).out
        refused = zlang("run", program, "--yes", code=1).err
    finally:
        bed.on("host2", "rm /usr/local/bin/stat")
    assert shown.count("fails: apt-get install coreutils findutils") == 1
    assert "on `san2`, `stat --format=%i /` fails" in refused
    assert "san1" not in refused
