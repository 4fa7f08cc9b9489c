"""Check that a run killed during events leaves nothing of them behind. Needs root."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest
from command_line import REPOSITORY
from private_daemon import ZfsFuse
from waiting import wait_for

PROGRAM = """
import zfs

dir here {{ path = "." }}
{pool}
resilver rebuild {{ device = 2 }}
send backup {{ receive = on }}
snapshots often {{ every = 1s }}
shell waits {{ command = "until test -e {place}/go; do sleep 0.1; done; {happens}; sleep 3"  writes = off }}
experiment events {{ on = tank  run = waits  during = {events} }}
"""

SNAPSHOTS = "zfs list -H -o name -t snapshot"
"""What is measured goes on until an event did what it is there for, however busy the machine is."""

HOLDS = """#!/bin/sh
case $1 in
  replace) touch {place}/$1; exec sleep 1000 ;;
  receive | snapshot) {real} "$@"; touch {place}/$1; exec sleep 1000 ;;
esac
exec {real} "$@"
"""
"""A tool that stands still in the midst of an event."""


RECEIVES_PART = """#!/bin/sh
case $1 in
  receive) {{ head -c 20000; touch {place}/part; exec sleep 1000; }} | {real} "$@"; exit ;;
esac
exec {real} "$@"
"""
"""A tool that receives the beginning of a stream, and waits for more."""


def write_program(zfs_fuse: ZfsFuse, pool: str, events: str) -> str:
    happens = f"until {SNAPSHOTS} | grep -q @meanwhile; do sleep 0.1; done" if "often" in events else ":"
    text = PROGRAM.format(pool=pool, events=events, place=zfs_fuse.place, happens=happens)
    (zfs_fuse.place / "events.zexp").write_text(text, "utf-8")
    return "events.zexp"


def kill_meanwhile(zfs_fuse: ZfsFuse, command: list[str], moments: Sequence[str], tool: str = HOLDS) -> None:
    """Start a command whose tools block, and kill it when all of them do."""
    tools = zfs_fuse.place / "tools"
    tools.mkdir()
    for name in ("zfs", "zpool"):
        real = zfs_fuse.say("sh", "-c", f"command -v {name}").strip()
        (tools / name).write_text(tool.format(real=real, place=zfs_fuse.place), "utf-8")
        (tools / name).chmod(0o755)
    words = zfs_fuse.command("env", f"PATH={tools}:{os.environ['PATH']}", f"PYTHONPATH={REPOSITORY}", *command)
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: process.poll() is not None or all((zfs_fuse.place / each).exists() for each in moments))
    assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate(timeout=60)


MADE = "pool beneath on here { size = 64MiB  allocation = sparse  layout = mirror }\ndataset tank on beneath"
EVENTS = "[rebuild, backup, often]"


def test_a_script_that_was_killed_goes_on(zfs_fuse: ZfsFuse) -> None:
    """A device was offline, and a snapshot and a copy of it stood: the pool goes, and the trial is measured."""
    (zfs_fuse.place / "plan.sh").write_text(
        zfs_fuse.zlang("plan", write_program(zfs_fuse, MADE, EVENTS), "--emit", "sh"), "utf-8"
    )
    kill_meanwhile(zfs_fuse, ["dash", "plan.sh"], ["replace", "snapshot"])
    (zfs_fuse.place / "go").touch()
    zfs_fuse.say("dash", "plan.sh")
    zfs_fuse.zlang("ingest", "runs")
    assert zfs_fuse.answers("select count(*) from trials") == [[1]]


def test_nothing_is_left_of_a_run_that_was_killed(zfs_fuse: ZfsFuse) -> None:
    command = [sys.executable, "-m", "zlang.cli.app", "run", write_program(zfs_fuse, MADE, EVENTS), "--yes"]
    kill_meanwhile(zfs_fuse, command, ["replace", "snapshot"])
    (pool,) = zfs_fuse.pools()
    assert "OFFLINE" in zfs_fuse.say("zpool", "status", pool)
    assert "still there" not in zfs_fuse.zlang("clean", zfs_fuse.last_run())


@pytest.mark.parametrize("ends", ["clean", "resume"])
def test_nothing_is_left_of_a_run_that_was_killed_while_a_part_was_received(zfs_fuse: ZfsFuse, ends: str) -> None:
    """A running receive is ended, so the copy can be destroyed; the resumed trial is counted once."""
    program = write_program(zfs_fuse, MADE, "backup")
    command = [sys.executable, "-m", "zlang.cli.app", "run", program, "--yes"]
    kill_meanwhile(zfs_fuse, command, ["part"], RECEIVES_PART)
    (zfs_fuse.place / "go").touch()
    if ends == "resume":
        zfs_fuse.zlang("resume", zfs_fuse.last_run(), "--yes")
        assert zfs_fuse.answers("select count(*) from trials") == [[1]]
    assert "still there" not in zfs_fuse.zlang("clean", zfs_fuse.last_run())
    assert list(zfs_fuse.pools()) == []
    assert zfs_fuse.say("sh", "-c", f"grep -lsz '/{zfs_fuse.last_run()}/' /proc/[0-9]*/environ || true") == ""
