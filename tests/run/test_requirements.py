"""Test how requirements of kinds are looked for on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from zlang.run import machine

DESCRIPTORS = Path("/proc/self/fd")


@pytest.mark.parametrize(
    ("requirement", "is_met"),
    [
        ("sh", True),
        ("no-such-tool", False),
        ("/bin/sh", True),
        ("true 1", True),
        ("false 1", False),
        ("exit 3", False),
        ("no-such-tool --version", False),
        ("kill -9 $$", False),
        ("yes | head -1", True),
        ('read line && test "$line"', False),  # there is nothing to read
        ("echo an error >&2; test -c /dev/stdout", True),
    ],
)
def test_requirements_are_tools_and_commands(
    capfd: pytest.CaptureFixture[str], requirement: str, *, is_met: bool
) -> None:
    before = len(list(DESCRIPTORS.iterdir()))
    assert machine.has(requirement) is is_met
    assert len(list(DESCRIPTORS.iterdir())) == before
    assert capfd.readouterr() == ("", "")


def test_a_command_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_PATIENCE", 0.2)
    began = time.monotonic()
    assert not machine.has("exec sleep 60")
    assert time.monotonic() - began < 30
    with pytest.raises(ChildProcessError):  # it is no longer a child, not even a dead one
        os.waitpid(-1, os.WNOHANG)


def test_commands_are_looked_for_if_the_kernel_keeps_no_exit_codes() -> None:
    program = "from zlang.run import machine; print(machine.has('true 1'), machine.has('sleep 0.1'))"
    ignoring = f"import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); {program}"
    done = subprocess.run([sys.executable, "-c", ignoring], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("True True\n", "")


def test_commands_run_while_something_else_is_done(tmp_path: Path) -> None:
    marks = [tmp_path / name for name in ("first", "second")]
    with machine.ToolSearch({f"touch {mark}": "" for mark in marks} | {"false 1": "a hint"}) as search:
        until = time.monotonic() + 30
        while not all(mark.exists() for mark in marks):
            assert time.monotonic() < until
        assert search.missing() == {"false 1": "a hint"}


def test_no_command_outlasts_its_search(tmp_path: Path) -> None:
    number = tmp_path / "number"
    until = time.monotonic() + 30
    with machine.ToolSearch({f"echo $$ >{number}; exec sleep 60": ""}):
        while not (number.exists() and number.read_text("ascii")):
            assert time.monotonic() < until
    with pytest.raises(ProcessLookupError):
        os.kill(int(number.read_text("ascii")), 0)
