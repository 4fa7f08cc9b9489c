"""Start `zlang` as a user does, in its own process and directory, and inspect what it leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from zlang.plan.plan import Plan, Setup, Trial
from zlang.run.events import Commit, Recorded
from zlang.run.folder import Folder
from zlang.run.journal import Gap, Lines

REPOSITORY = Path(__file__).parents[1]
COMMAND = (sys.executable, "-m", "zlang.cli.app")
_MOST_SECONDS = 120
IN_MEMORY = {"tmpfs", "ramfs"}


@dataclass(frozen=True, slots=True)
class Ended:
    """The exit code and output of a command."""

    code: int
    out: str
    err: str


@dataclass
class Zlang:
    """The command, started in `at` through `prefix`; `environment` extends that of the tests."""

    at: Path
    environment: dict[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()

    def __call__(self, *arguments: str, code: int | None = 0, stdin: str = "") -> Ended:
        """Run a command to completion; it must exit with `code`, unless that is None."""
        done = subprocess.run(
            [*self.prefix, *COMMAND, *arguments],
            cwd=self.at,
            env=self.variables(),
            input=stdin.encode(),
            capture_output=True,
            timeout=_MOST_SECONDS,
        )
        ended = Ended(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert code is None or ended.code == code, f"{arguments}: {ended.code}\n{ended.out}\n{ended.err}"
        assert "Traceback" not in ended.err
        return ended

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command without waiting for it."""
        return subprocess.Popen(
            [*self.prefix, *COMMAND, *arguments],
            cwd=self.at,
            env=self.variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def variables(self) -> Mapping[str, str]:
        """Return the environment of the command."""
        kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "RUN", "ZLANG_RUN"}}
        return {**kept, "PYTHONPATH": str(REPOSITORY), "COLUMNS": "100", **self.environment}

    def program(self, text: str, name: str = "program.zexp") -> str:
        """Write a program and return its name."""
        (self.at / name).write_text(text, "utf-8")
        return name

    def run(self, text: str, *arguments: str, code: int | None = 0) -> Ended:
        """Write a program and run it."""
        return self("run", self.program(text), *arguments, code=code)

    def rows(self, query: str, *arguments: str) -> list[dict[str, object]]:
        """Return the rows of a query in SQL."""
        answer: list[dict[str, object]] = json.loads(self("sql", query, "--format", "json", *arguments).out)
        return answer

    def folder(self, runs: str = "runs") -> Path:
        """Return the only run folder."""
        (folder,) = (path.parent for path in (self.at / runs).glob("*/plan.jsonl"))
        return folder

    def plan(self) -> Plan:
        """Return the plan of the only run."""
        return Folder(self.folder()).read_plan()

    def trials(self) -> list[Trial]:
        """Return the trials of the only run, in order."""
        return [item for item in self.plan().items() if isinstance(item, Trial)]

    def setups(self) -> list[Setup]:
        """Return the setups of the only run."""
        return [item for item in self.plan().items() if isinstance(item, Setup)]

    def events(self) -> list[Recorded]:
        """Return the journal of the only run."""
        lines = Lines(self.folder() / "journal.jsonl")
        return [event for event in lines if not isinstance(event, Gap)]

    def committed(self) -> list[tuple[str, int]]:
        """Return trial and replicate of every commit of the only run, in order."""
        return [(event.trial, event.replicate) for event in self.events() if isinstance(event, Commit)]

    def names(self) -> set[str]:
        """Return the names in the directory."""
        return {path.name for path in self.at.iterdir()}


class Tools:
    """Programs that precede those of the machine on the command's PATH."""

    def __init__(self, zlang: Zlang) -> None:
        self.at = zlang.at.parent / "tools"
        self.at.mkdir()
        zlang.environment["PATH"] = f"{self.at}:{os.environ['PATH']}"

    def wrap(self, name: str, script: str) -> None:
        """Replace a program with a script; `{real}` in it stands for the original program."""
        path = self.at / name
        path.write_text("#!/bin/sh\n" + script.replace("{real}", shutil.which(name) or name) + "\n")
        path.chmod(0o755)


def left_of(run: str) -> list[int]:
    """Return the processes of a run that still exist."""
    numbers = []
    for number in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - a glob asks after processes that have ended
        try:
            if f"\0ZLANG_RUN={run}\0".encode() in b"\0" + Path("/proc", number, "environ").read_bytes() + b"\0":
                numbers.append(int(number))
        except OSError:
            continue
    return numbers


def tree(at: Path) -> dict[str, bytes | None]:
    """Return every name beneath a directory, with the content of files."""
    return {
        str(path.relative_to(at)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in at.rglob("*")
    }


def changed(before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> set[str]:
    """List additions, removals and changes between two snapshots of a tree, by the first part of the name."""
    missing = b"\0missing"
    names = before.keys() | after.keys()
    return {name.split("/")[0] for name in names if before.get(name, missing) != after.get(name, missing)}


def file_system(at: Path) -> str:
    """Return the type of the file system that holds a directory."""
    done = subprocess.run(["stat", "-f", "-c", "%T", "--", at], capture_output=True, text=True, check=True)
    return done.stdout.strip()
