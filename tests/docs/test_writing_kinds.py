"""Carry out every program of docs/writing-kinds.md; the array's uses an `ssh` that behaves as sshd would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/writing-kinds.md").read_text("utf-8")
PROGRAMS = {
    block.partition("\n")[0].removeprefix("# "): block for block in re.findall(r"(?ms)^```zexp\n(.*?)^```$", PAGE)
}
ZLANG = Path(sys.executable).with_name("zlang")
HOSTILE = """it's "$(touch pwned)" `touch pwned`; touch pwned & \\ * ~ $HOME"""

# sshd joins the words with spaces and passes them to a shell, without the client's environment.
SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
[ "$2" = admin@array ] || exit 255
shift 2
cd {array} && exec env -i PATH={array}/bin:/usr/bin:/bin sh -c "$*"
"""
SHARE = """#!/bin/sh
verb=$1 name=$2
printf '%s\\n' "$verb" >>verbs
case $verb in
  list) ls properties; exit ;;
  destroy) exec rm -r "properties/$name" "shares/$name" ;;
  flush) printf 0 >"properties/$name/cached"; exit ;;
  create) mkdir "properties/$name" "shares/$name" || exit 1 ;;
esac
shift 2
while [ $# -gt 0 ]; do
  if [ "$verb" = get ]; then cat "properties/$name/$1" && echo; shift; continue; fi
  printf '%s' "$2" >"properties/$name/$1"
  shift 2
done
"""


def run(program: str, at: Path, *settings: str, path: str = "") -> list[str]:
    """Carry out a program of the page; return the trials that count."""
    (at / program).write_text(PROGRAMS[program], "utf-8")
    options = [word for setting in settings for word in ("--set", setting)]
    environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
    for words in (["run", program, "--yes", *options], ["sql", "--format", "csv", "from trials"]):
        done = subprocess.run(
            [ZLANG, *words], cwd=at, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[1:]


def script(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize("program", PROGRAMS)
def test_shellcheck_finds_nothing(program: str, tmp_path: Path) -> None:
    (tmp_path / program).write_text(PROGRAMS[program], "utf-8")
    emitted = subprocess.run([ZLANG, "plan", program, "--emit", "sh"], cwd=tmp_path, capture_output=True, check=True)
    done = subprocess.run(["shellcheck", "-s", "sh", "-"], input=emitted.stdout, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.skipif(os.geteuid() != 0, reason="loop devices and mounting need root")
def test_the_file_system(disk: Path) -> None:
    assert len(run("ext2.zexp", disk)) == 4
    assert sorted(path.name for path in disk.iterdir()) == ["ext2.zexp", "results.duckdb", "runs"]


@pytest.mark.parametrize("note", ["made for a measurement", HOSTILE, "two\nlines"])
def test_a_value_reaches_the_array_through_two_shells(disk: Path, note: str) -> None:
    array, tools = disk / "the array", disk / "tools"
    for made in (tools, array / "bin", array / "properties", array / "shares"):
        made.mkdir(parents=True)
    script(tools / "ssh", SSH.format(array=f"'{array}'"))
    script(array / "bin/share", SHARE)
    escaped = note.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    counted = run("array.zexp", disk, f'note="{escaped}"', f'mounted="{array}/shares"', path=str(tools))
    assert len(counted) == 4
    assert list((array / "properties").iterdir()) == list((array / "shares").iterdir()) == []
    assert not list(disk.rglob("pwned"))
    verbs = (array / "verbs").read_text().split()
    assert verbs.count("create") == verbs.count("destroy") == 1


def test_the_load_generators(disk: Path) -> None:
    assert len(run("generators.zexp", disk)) == 5
    question = "SELECT count(pass_iops > 0), count(fsync_p99 > 0), max(fsync_p99) < 60e9 FROM trials"
    done = subprocess.run(
        [ZLANG, "sql", "--format", "csv", question], cwd=disk, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[1:] == ["4,1,true"]


def test_the_latencies(disk: Path) -> None:
    assert len(run("latencies.zexp", disk)) == 6
    question = "SELECT count(*), min(read_latency_p999), max(write_latency_p99) FROM trials GROUP BY intervals"
    done = subprocess.run(
        [ZLANG, "sql", "--format", "csv", question], cwd=disk, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[1:] == ["3,2007000.0,3007000.0"] * 2


@pytest.mark.parametrize("program", ["touches.zexp", "sandboxed.zexp"])
def test_the_event_and_the_wrapper(program: str, disk: Path) -> None:
    assert len(run(program, disk)) == 2


def test_the_protocol(disk: Path) -> None:
    trials = run("settled.zexp", disk, "most=1TiB")
    assert sorted("settled" in trial for trial in trials) == [False, True]
