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
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


@dataclass
class Zlang:
    """The command, started in `at`, by `prefix`; `environment` is added to that of the tests."""

    at: Path
    environment: dict[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()

    def __call__(self, *arguments: str, code: int | None = 0, stdin: str = "") -> Ended:
        """Run a command to its end; it has to end with `code`, unless that is None."""
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
        """Start a command and do not wait for it."""
        return subprocess.Popen(
            [*self.prefix, *COMMAND, *arguments],
            cwd=self.at,
            env=self.variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def variables(self) -> Mapping[str, str]:
        """The environment of the command."""
        kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "RUN", "ZLANG_RUN"}}
        return {**kept, "PYTHONPATH": str(REPOSITORY), "COLUMNS": "100", **self.environment}

    def program(self, text: str, name: str = "program.zexp") -> str:
        """Write a program; gives its name."""
        (self.at / name).write_text(text, "utf-8")
        return name

    def run(self, text: str, *arguments: str, code: int | None = 0) -> Ended:
        """Write a program and run it."""
        return self("run", self.program(text), *arguments, code=code)

    def rows(self, query: str, *arguments: str) -> list[dict[str, object]]:
        """The answer to a question in SQL."""
        answer: list[dict[str, object]] = json.loads(self("sql", query, "--format", "json", *arguments).out)
        return answer

    def folder(self, runs: str = "runs") -> Path:
        """The only run folder."""
        (folder,) = (path.parent for path in (self.at / runs).glob("*/plan.jsonl"))
        return folder

    def plan(self) -> Plan:
        """The plan of the only run."""
        return Folder(self.folder()).read_plan()

    def trials(self) -> list[Trial]:
        """The trials of the only run, in order."""
        return [item for item in self.plan().items() if isinstance(item, Trial)]

    def setups(self) -> list[Setup]:
        """The setups of the only run."""
        return [item for item in self.plan().items() if isinstance(item, Setup)]

    def events(self) -> list[Recorded]:
        """The journal of the only run."""
        lines = Lines(self.folder() / "journal.jsonl")
        return [event for event in lines if not isinstance(event, Gap)]

    def committed(self) -> list[tuple[str, int]]:
        """Every commit of the only run, in order: trial and replicate."""
        return [(event.trial, event.replicate) for event in self.events() if isinstance(event, Commit)]

    def names(self) -> set[str]:
        """What is in the directory."""
        return {path.name for path in self.at.iterdir()}


class Tools:
    """Programs that stand before those of the machine on the command's PATH."""

    def __init__(self, zlang: Zlang) -> None:
        self.at = zlang.at.parent / "tools"
        self.at.mkdir()
        zlang.environment["PATH"] = f"{self.at}:{os.environ['PATH']}"

    def wrap(self, name: str, script: str) -> None:
        """Put a script in the place of a program; `{real}` in it is the program."""
        path = self.at / name
        path.write_text("#!/bin/sh\n" + script.replace("{real}", shutil.which(name) or name) + "\n")
        path.chmod(0o755)


def left_of(run: str) -> list[int]:
    """The processes of a run that are still there."""
    numbers = []
    for number in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - a glob asks after processes that have ended
        try:
            if f"\0ZLANG_RUN={run}\0".encode() in b"\0" + Path("/proc", number, "environ").read_bytes() + b"\0":
                numbers.append(int(number))
        except OSError:
            continue
    return numbers


def tree(at: Path) -> dict[str, bytes | None]:
    """Every name beneath a directory, with the content of files."""
    return {
        str(path.relative_to(at)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in at.rglob("*")
    }


def changed(before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> set[str]:
    """What came, went or changed between two looks at a tree, by the first part of its name."""
    missing = b"\0missing"
    names = before.keys() | after.keys()
    return {name.split("/")[0] for name in names if before.get(name, missing) != after.get(name, missing)}


def file_system(at: Path) -> str:
    """What kind of file system a directory is on."""
    done = subprocess.run(["stat", "-f", "-c", "%T", "--", at], capture_output=True, text=True, check=True)
    return done.stdout.strip()
