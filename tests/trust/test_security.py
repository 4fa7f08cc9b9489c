"""Test claims of SECURITY.md that no other test covers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import COMMAND, REPOSITORY, Zlang, tree

PROGRAM = """
kind own: resource on dir {
  requires "touch PWNED-by-requirement" "it says so"
  property p: string { default = "x"  doc = "anything"  probe = "touch PWNED-by-probe" }
  offers dir = "{on.dir}"
  create { sh "touch PWNED-by-create" { why = "it says so" } }
  destroy { sh "true" }
  verify property { sh "touch PWNED-by-verify; echo {p}" is "{p}" { why = "it says so" } }
}
dir here { path = "." }
own thing on here
shell io { command = "touch PWNED-by-command" }

experiment e { on = thing  run = io }
"""
SIMPLE = """
dir here { path = "." }
shell io { command = "echo speed=3"  metrics = [regex("speed: count=speed=([0-9]+)")]  writes = off }
experiment e { on = here  run = io }
"""
READERS = {
    "check program.zexp": 0,
    "fmt program.zexp --diff": 0,
    "explain E201": 0,
    "plan program.zexp": 0,
    "plan program.zexp --steps": 0,
    "plan program.zexp --emit sh": 0,
    "diff program.zexp program.zexp": 0,
    "snapshot program.zexp": 0,
    "kinds dir": 0,
    "doctor program.zexp": 0,
}
"""Commands that read a program, with the codes with which they end."""
FORCED = re.compile(
    r"\b(mkfs[.\w]*|mke2fs|wipefs|zpool|zfs|mdadm|pvcreate|vgcreate|vgremove|lvremove|lvcreate|mkswap|umount|sgdisk|sfdisk)"
    r"\b[^|;&\n]* (-f|-F|-ff|-l|--force|--lazy)(?![\w-])"
)


def test_no_tool_is_given_a_force_option() -> None:
    library = {path.name: path.read_text("utf-8") for path in (REPOSITORY / "stdlib").glob("*.zexp")}
    assert FORCED.search("zpool create -f tank sda")
    commands = ((name, line) for name, text in library.items() for line in text.splitlines() if "#" not in line)
    assert [(name, line) for name, line in commands if FORCED.search(line)] == []


def test_read_only_commands_run_nothing_of_a_program(tmp_path: Path) -> None:
    zlang = Zlang(tmp_path)
    zlang.program(PROGRAM.replace("PWNED", f"{tmp_path}/pwned"))
    for command, code in READERS.items():
        zlang(*command.split(), code=code)
        assert not list(tmp_path.glob("pwned*")), command
    assert f"touch {tmp_path}/pwned-by-requirement" in zlang("plan", "program.zexp", "--steps").out
    zlang("run", "program.zexp")
    assert {path.name for path in tmp_path.glob("pwned*")} == {
        f"pwned-by-{action}" for action in ("create", "verify", "command", "requirement")
    }


def test_no_network_is_used(tmp_path: Path) -> None:
    if not shutil.which("strace"):
        pytest.skip("strace lists the sockets")
    zlang = Zlang(tmp_path)
    zlang.program(SIMPLE)
    log = tmp_path / "sockets"
    for command in ("check program.zexp", "plan program.zexp", "run program.zexp", "status", "report", "doctor"):
        words: list[str | Path] = [
            "strace",
            "-f",
            "-qq",
            "-A",
            "-e",
            "trace=socket",
            "-o",
            log,
            *COMMAND,
            *command.split(),
        ]
        done = subprocess.run(words, cwd=tmp_path, env=zlang.variables(), capture_output=True, timeout=120)
        assert done.returncode == 0 or command == "doctor", done.stderr
    assert log.exists()
    assert "AF_INET" not in log.read_text()


def test_the_environment_is_not_stored(tmp_path: Path) -> None:
    secret = "hunter2-of-this-test"
    zlang = Zlang(tmp_path, {"DATABASE_PASSWORD": secret})
    zlang.run(SIMPLE)
    zlang("report")
    stored = {name: content for name, content in tree(tmp_path).items() if content is not None}
    assert "results.duckdb" in stored
    assert [name for name, content in stored.items() if secret.encode() in content] == []


def test_the_run_folder_of_root_is_written_by_root_only(tmp_path: Path) -> None:
    zlang = Zlang(tmp_path)
    before = os.umask(0o022)
    try:
        zlang.run(SIMPLE)
    finally:
        os.umask(before)
    assert [path for path in zlang.folder().rglob("*") if path.stat().st_mode & 0o022] == []
