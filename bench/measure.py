"""The parts that benchmarks share: interleaved commands, and the table that says whether targets are met.

In: commands. Out: wall time, CPU time and peak memory of each, with its children, as medians. Rule: what is compared is
run in turn (A B A B), so that a machine whose speed wanders slows both; no figure stands alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
MIB = 1024
"""Kibibytes, in which Linux counts memory."""
LINEAR_MOST = 1.15
"""The allowed time for ten times as much work, divided by ten times the time for one."""


@dataclass(frozen=True, slots=True)
class Command:
    """Something to be measured. `output` is where its standard output goes, by default nowhere; it ends with `code`."""

    words: Sequence[str]
    directory: Path = ROOT
    output: Path = Path(os.devnull)
    setting: Mapping[str, str] | None = None
    code: int = 0


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a command: wall-clock seconds, CPU seconds, MiB at its peak."""

    wall: float
    cpu: float
    peak: float


def show_help(text: str | None) -> None:
    """Print what a program measures and how to call it, and end, if it was called with `--help`."""
    if {"--help", "-h"} & {*sys.argv[1:]}:
        print(text)
        sys.exit(0)


def cost(command: Command) -> Cost:
    """Run it once. It must end as it should."""
    with command.output.open("wb") as out:
        began = time.perf_counter()
        child = subprocess.Popen(
            command.words, cwd=command.directory, stdout=out, stderr=subprocess.PIPE, env=environment(command.setting)
        )
        assert child.stderr is not None
        messages = child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != command.code:
        sys.exit(f"{' '.join(command.words)} ended with {child.returncode}:\n{messages.decode(errors='replace')}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / MIB)


def in_turn(commands: Sequence[Command], times: int) -> list[Cost]:
    """The medians of each command's costs; one run of each goes first and does not count."""
    for command in commands:
        cost(command)
    rounds = [[cost(command) for command in commands] for _ in range(times)]
    return [
        Cost(median(c.wall for c in own), median(c.cpu for c in own), median(c.peak for c in own))
        for own in zip(*rounds, strict=True)
    ]


def environment(setting: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without what would make Python start in another way than a user's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, **(setting or {})}


def zlang(*words: str) -> list[str]:
    """A command line of zlang as it stands in this checkout."""
    return [sys.executable, "-m", "zlang.cli.app", *words]


def installed(scratch: Path, *packages: str) -> Path:
    """The `bin` of a new environment that has these packages, compiled as pip does."""
    venv.create(scratch, with_pip=True)
    pip(scratch / "bin" / "python", "install", "-c", str(ROOT / "constraints.txt"), *packages)
    return scratch / "bin"


def pip(python: Path, *words: str) -> None:
    """Run pip, and show its output only if it fails."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    done = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stdout.decode(errors='replace')}")


@dataclass(frozen=True, slots=True)
class Check:
    """A figure, what it is compared with, and how many times that it may be at most (and at least).

    With None it is only to be known.
    """

    label: str
    figure: float
    unit: str
    beside: str
    limit: float
    most: float | None = 1.0
    least: float | None = None

    @property
    def ratio(self) -> float:
        """The figure as a multiple of what stands beside it."""
        return self.figure / self.limit if self.limit else float("inf")

    @property
    def bounds(self) -> str:
        """The bounds of the ratio."""
        return f"≤ {self.most:g}" if self.least is None else f"{self.least:g} to {self.most:g}"

    @property
    def is_met(self) -> bool:
        """Whether the target is met."""
        return (self.most is None or self.ratio <= self.most) and (self.least is None or self.ratio >= self.least)


def plans(programs: Mapping[str, str], most: float, rounds: int) -> int:
    """Measure `zlang plan` of programs, by what they show, against CPU seconds, and print the table."""
    with tempfile.TemporaryDirectory() as name:
        commands = []
        for number, text in enumerate(programs.values()):
            path = Path(name, f"{number}.zexp")
            path.write_text(text, "utf-8")
            commands.append(Command(zlang("plan", str(path))))
        costs = in_turn(commands, rounds)
    limits = zip(programs, costs, strict=True)
    return verdict([Check(f"plan of {shown}", cost.cpu, "s", "limit", most, 1) for shown, cost in limits])


def verdict(checks: Sequence[Check]) -> int:
    """Print the table. The exit code: 1 where a target is missed."""
    rows = [("measured", "figure", "beside it", "", "ratio", "target", "")]
    for check in checks:
        figure, limit = f"{check.figure:.4g} {check.unit}", f"{check.limit:.4g} {check.unit}"
        target = ("", "") if check.most is None else (check.bounds, "met" if check.is_met else "MISSED")
        rows.append((check.label, figure, check.beside, limit, f"{check.ratio:.2f}", *target))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0 if all(check.is_met for check in checks) else 1
