"""Check the invariants of a run after a crash: no committed trial is lost or counted twice, and nothing is left.

`Aftermath` resumes the run in a directory, cleans up if `resume` refuses, and lists the violations. Commands run in a
fork of this process, which takes 10 ms instead of the time to start Python.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from command_line import Ended, left_of

from zlang.cli import app, running
from zlang.errors import RunError
from zlang.plan.plan import Trial
from zlang.readers.judge import judge
from zlang.run import outputs
from zlang.run.account import Account
from zlang.run.folder import Folder

PROGRAM = """
let n = 1..3
dir here { path = "." }
file data on here { size = 4KiB }
shell io { command = "echo {n} >$OUT/answer && echo {n} >>left" }
experiment e { on = data  run = io }
"""
DOCUMENTED = frozenset({0, 1})
"""How a command that nobody interrupts can end when no expectation is asked for (docs/cli.md)."""
_BAD = re.compile(r"Traceback|a bug in zlang")
_MOST_SECONDS = 1800
"""Only what hangs takes so long, whatever else the machine does."""
_SCRATCH = re.compile(r"\.[a-z.]+\.[a-z0-9_]{8}")
"""A file that was to replace another."""
_EARLY = ("zlang.cli.commands", "zlang.report.clauses", "zlang.report.summary", "zlang.store.query")
"""What commands import late; imported once, it is there in each fork."""
_FIO = """#!/bin/sh
test "$1" != --version || exec echo fio-3.39
head -c 4096 /dev/zero >data
"""

Figures = Mapping[str, object]
"""What is said of each trial that counts, by its place."""
Share = tuple[int, int]
"""Which of how many parts of the cases a process tries."""


for _module in _EARLY:
    importlib.import_module(_module)


@dataclass
class Score:
    """Number of cases tried of each kind, their outcomes, and the violations."""

    places: int = 0
    """In how many places of the recorded run something could be attacked."""
    tried: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    cases_wrong: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, case: str, problems: Sequence[str]) -> None:
        """Add one case."""
        self.cases_wrong += bool(problems)
        self.wrong += [f"{case}: {problem}" for problem in problems]

    def merge(self, other: Score) -> None:
        """Add the cases of another process."""
        self.places = max(self.places, other.places)
        self.tried += other.tried
        self.ended += other.ended
        self.cases_wrong += other.cases_wrong
        self.wrong += other.wrong


def as_program(
    about: str, attempt: Callable[[int, int, float], Score], count: int, sum_up: Callable[[Score], str]
) -> int:
    """Try as many cases as the command line says, `count` by default, and print the score; return 1 on a violation."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seconds", type=float, default=3600)
    options = parser.parse_args()
    score = attempt(options.seed, options.count, options.seconds)
    lines = [f"{how:15} {tried:6,} tried" for how, tried in sorted(score.tried.items())]
    lines.append(f"{score.tried.total():,} {sum_up(score)}; seed {options.seed}, {score.cases_wrong:,} wrong")
    sys.stdout.write("\n".join([*lines, *(f"WRONG: {line}" for line in score.wrong)]) + "\n")
    return 1 if score.wrong else 0


def stand_in(tools: Path) -> str:
    """Install a fake `fio` that writes its file in 1 % of the time; return the PATH that finds it first."""
    tools.mkdir()
    fio = tools / "fio"
    fio.write_text(_FIO)
    fio.chmod(0o755)
    return f"{tools}:{os.environ['PATH']}"


def call(
    at: Path,
    *arguments: str,
    is_whole: bool = False,
    environment: Mapping[str, str] = MappingProxyType({}),
    tracer: Sequence[str] = (),
) -> Ended:
    """Run a command in a fork; unless `is_whole`, the database is not built.

    The process that calls may not have drawn a plot: the library that draws (V8) hangs in a fork of one that did.
    A tracer is a command that takes the process as its last argument and says on standard error when it has attached.
    """
    prefix = at.parent / "said"
    gate = os.pipe()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.setsid()
            os.chdir(at)
            os.environ.update(environment)
            for number, name in ((1, "out"), (2, "err")):
                os.dup2(os.open(f"{prefix}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.close(gate[1])
            os.read(gate[0], 1)
            os.close(gate[0])
            sys.argv = ["zlang", *arguments]
            outputs.FEWEST_TRIALS = 1  # the program stands for one of many trials
            if not is_whole:
                running._answer = lambda folder, db, failures, *, is_whole=True: int(failures > 0)  # noqa: ARG005
            app.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 70
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    os.close(gate[0])
    with _attached(tracer, child):
        os.close(gate[1])
        code = _wait(child)
    return Ended(code, *(Path(f"{prefix}.{name}").read_text("utf-8", "replace") for name in ("out", "err")))


@contextmanager
def _attached(tracer: Sequence[str], child: int) -> Iterator[None]:
    if not tracer:
        yield
        return
    with subprocess.Popen([*tracer, str(child)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert b"attached" in line, line
        yield


def _wait(child: int) -> int:
    """Wait for a child; one that takes too long is killed."""
    late = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < late:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL


def figures(folder: Folder) -> Figures:
    """Return the results that count, according to `run`, `resume` and `status`."""
    account = Account(folder, judge)
    counting = {}
    for trial in folder.read_plan().items():
        if isinstance(trial, Trial):
            verdict, why_not = account.verdict(trial)
            if verdict is not None and not why_not:
                attempt = account.state.ended[trial.place]
                window = account.window(trial, attempt)
                elapsed = round(window[1] - window[0], 6) if window else None
                counting[trial.place] = (attempt.out, elapsed, dict(verdict.metrics), verdict.latency)
    return counting


@dataclass
class Aftermath:
    """A directory after a crash, with the durable part of the run's folder at that time."""

    at: Path
    committed: Figures
    environment: Mapping[str, str]
    is_whole: bool = False
    refused: bool = False
    kept: bool = False
    """Whether a directory stays that `resume` names, since it cannot be known that the run made it or what is in it."""

    def problems(self) -> list[str]:
        """Resume, clean up, and list the violations."""
        for name in self._scratch_files():
            os.utime(self.at / name, (0, 0), follow_symlinks=False)
        resumed = self._call("resume", is_whole=self.is_whole)
        problems = said_wrong("resume", resumed)
        self.refused = resumed.code != 0 and "trials count" not in resumed.out
        if not self.refused and self._is_incomplete():  # the fault made a trial fail
            resumed = self._call("resume", "--failed")
            problems += said_wrong("resume --failed", resumed)
        if self.refused:
            is_shown = "error: " in resumed.err or "does not count: " in resumed.err
            problems += [] if is_shown else [f"resume: {resumed.code} without a reason: {resumed.err!r}"]
            trust = ("--trust",) if "--trust" in resumed.err else ()
            problems += said_wrong("clean", self._call("clean", *trust))
        plans = sorted(self.at.glob("runs/*/plan.jsonl"))
        if self.committed and not plans:
            return [*problems, "there is no run any more, though trials were committed"]
        for plan in plans:
            problems += self._problems_of(Folder(plan.parent))
        remaining = sorted(path for path in self.at.iterdir() if path.name.startswith(("zlang-", ".zlang-")))
        kept = [path for path in remaining if f"kept in {path}" in resumed.err or not any(path.iterdir())]
        kept = [path for path in kept if path.name in resumed.err]
        self.kept = bool(kept)
        problems += [f"left behind: {path.name}; resume: {resumed.err!r}" for path in remaining if path not in kept]
        return problems + [f"a scratch file is left: {name}" for name in self._scratch_files()]

    def _call(self, *arguments: str, is_whole: bool = False) -> Ended:
        return call(self.at, *arguments, is_whole=is_whole, environment=self.environment)

    def _is_incomplete(self) -> bool:
        (plan,) = self.at.glob("runs/*/plan.jsonl")
        folder = Folder(plan.parent)
        return len(figures(folder)) != sum(isinstance(item, Trial) for item in folder.read_plan().items())

    def _problems_of(self, folder: Folder) -> list[str]:
        try:
            counted = figures(folder)
        except RunError as error:
            return [f"the folder cannot be read: {error}"] if self.committed else []
        lost = [place for place, figures_before in self.committed.items() if counted.get(place) != figures_before]
        problems = [f"{place} had {self.committed[place]}, has {counted.get(place)}" for place in lost]
        if not self.refused and len(counted) != sum(isinstance(item, Trial) for item in folder.read_plan().items()):
            problems.append(f"only {sorted(counted)} count after resume")
        return problems + [f"process {pid} is left" for pid in left_of(folder.name)]

    def _scratch_files(self) -> list[str]:
        return [str(path.relative_to(self.at)) for path in self.at.rglob(".*") if _SCRATCH.fullmatch(path.name)]


def said_wrong(command: str, ended: Ended, also: Collection[int] = frozenset()) -> list[str]:
    """List faults in how a command ended; `also` has further acceptable exit codes."""
    problems = [f"{command}: {ended.err!r}"] if _BAD.search(ended.err + ended.out) else []
    return problems + (
        [] if ended.code in {*DOCUMENTED, *also} else [f"{command} ended with {ended.code}: {ended.err!r}"]
    )
