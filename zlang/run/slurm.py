"""Slurm: sbatch, squeue and sacct. In: a script, and a number of tasks. Out: a job, and the states of its tasks.

Rule: the run's folder records which task carries the run out. The record decides no command, so no seal covers it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from zlang.errors import RunError
from zlang.files import read_regular, replace_file
from zlang.text import utf8

KEPT = "slurm"
NUMBER = "SLURM_ARRAY_TASK_ID"
"""The variable with the number of a task in its job array."""
OUTPUT = "slurm-%A_%a.out"
_LONGEST = 4096
_JOB = re.compile(r"[0-9]{1,18}")
_FOLLOWED = "%F_%K %T %R"
"""Columns of squeue for a task: its name, its state, and its nodes or the reason why it waits."""
_ALL = ("--me", "--noheader", "--array", "--states=all", "--format=%F_%K|%T|%N")
_ACCOUNTED = "--format=JobID,State,NodeList"
_NO_NODES = "None assigned"
_PATIENCE = 60


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a job array."""

    job: str
    number: int

    def __str__(self) -> str:
        """The name by which squeue and scancel know the task."""
        return f"{self.job}_{self.number}"


def submit(script: str, name: str, directory: Path, tasks: str, options: Sequence[str]) -> str:
    """Submit a job array with its output in a directory; return the number of the job. Raises RunError."""
    ours = [f"--array={tasks}", f"--job-name={name}", f"--chdir={directory}", f"--output={OUTPUT}"]
    line = ["sbatch", "--parsable", "--requeue", "--exclusive", "--open-mode=append", *ours, *options]
    answer = _output(list(map(utf8, line)), script)
    job, *_ = answer.strip().split(";")
    if not _JOB.fullmatch(job):
        raise RunError(f"sbatch answered `{answer.strip()[:200]}`, which is not the number of a job")
    return job


def tasks() -> dict[str, str]:
    """The state of each waiting or running task of this user, by name. Raises RunError."""
    states: dict[str, str] = {}
    for line in _output(["squeue", "--me", "--noheader", "--array", f"--format={_FOLLOWED}"]).splitlines():
        name, _, state = line.partition(" ")
        word, _, where = state.partition(" ")
        states[name] = f"{word} {where}" if where.startswith("(") else f"{word} on {where}" if where else word
    return states


def outcomes(jobs: Iterable[str]) -> dict[str, str]:
    """The outcomes of tasks of jobs, by name: from accounting, or from squeue, which shows them for some minutes."""
    accounted = ["--noheader", "--parsable2", "--allocations", f"--jobs={','.join(sorted(jobs))}", _ACCOUNTED]
    states: dict[str, str] = {}
    for line in (["squeue", *_ALL], ["sacct", *accounted]):
        with suppress(RunError):
            for row in _output(line).splitlines():
                name, state, nodes = (*row.split("|"), "", "")[:3]
                states[name] = f"{state} on {nodes}" if nodes and nodes != _NO_NODES else state
    return states


def nodes() -> tuple[list[str], str]:
    """The nodes of the allocation in which zlang was started, and the current node. Raises RunError."""
    listed = os.environ.get("SLURM_JOB_NODELIST", "")
    names = _output(["scontrol", "show", "hostnames", listed]).split() if listed else []
    return names, os.environ.get("SLURMD_NODENAME", "")


def save(folder: Path, task: Task) -> None:
    """Record in a run's folder which task carries the run out. Raises OSError."""
    replace_file(folder / KEPT, json.dumps(asdict(task)).encode() + b"\n")


def load(folder: Path) -> Task | None:
    """The task that carries a run out; None if none is recorded."""
    try:
        content = json.loads(read_regular(folder / KEPT, _LONGEST))
        task = Task(content["job"], content["number"])
        is_task = _JOB.fullmatch(task.job) is not None and isinstance(task.number, int)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return task if is_task else None


def _output(line: Sequence[str | bytes], given: str = "") -> str:
    name = str(line[0], "utf-8") if isinstance(line[0], bytes) else line[0]
    try:
        done = subprocess.run(  # noqa: S603 - one of two tools, whose arguments reach no shell
            line, input=given.encode("utf-8", "surrogateescape"), capture_output=True, timeout=_PATIENCE, check=False
        )
    except FileNotFoundError:
        raise RunError(f"there is no `{name}` on this machine", "submit where Slurm's commands are installed") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunError(f"`{name}` cannot be used: {error}") from None
    if done.returncode:
        message = "; ".join(done.stderr.decode("utf-8", "replace").split("\n")).strip("; ")
        raise RunError(f"`{name}` failed: {message or f'exit code {done.returncode}'}")
    return done.stdout.decode("utf-8", "replace")
