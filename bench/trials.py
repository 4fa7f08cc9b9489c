"""The cost of trials that do nothing: zlang's own CPU, the disk, and the time before the first one of a run.

In: nothing. Out: the table. CPU and disk of a trial are the difference between a long run and a short one, so
what each run costs is not in them. A resumed run was killed when half of its trials were done.
Usage: python bench/trials.py [TRIALS]
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import measure

CPU_MS = 2.0
"""Milliseconds that a trial may take of zlang itself."""
DISK = 4.0
"""KiB that a trial may take."""
FIRST = 2.0
"""Seconds of CPU before the first trial."""
RESUMED = 1.0
"""The same of a run that is resumed."""
SHORT = 1000
"""The trials of the shorter run; fewer would not be packed."""
RUN = ("run", "--again", "--yes", "work.zexp", "--limit")
POLL = 0.01

PROGRAM = """
dir here {{ path = "." }}
shell work {{ command = ":"  writes = off }}
experiment work {{ on = here  run = work  cache = as_is  repeat = {repeat} }}
"""
OWN = """
import atexit, resource
from zlang.cli.app import main

def note():
    used = resource.getrusage(resource.RUSAGE_SELF)
    open("own", "w").write(str(used.ru_utime + used.ru_stime))

atexit.register(note)
main()
"""


@dataclass(frozen=True, slots=True)
class Whole:
    """The CPU of zlang itself in a run, and the size of its folder and database in KiB."""

    cpu: float
    disk: float


def prepare(at: Path, trials: int) -> dict[str, str]:
    """Write the program; gives the environment in which to run it."""
    at.mkdir()
    (at / "work.zexp").write_text(PROGRAM.format(repeat=trials), "utf-8")
    return measure.environment({"PYTHONPATH": str(measure.ROOT), "XDG_STATE_HOME": str(at / "state")})


def whole(at: Path, trials: int) -> Whole:
    """Carry out a run to its end."""
    environment = prepare(at, trials)
    words = [sys.executable, "-c", OWN, *RUN, str(trials)]
    subprocess.run(words, cwd=at, env=environment, check=True, capture_output=True)
    disk = subprocess.run(["du", "-sk", "runs", "results.duckdb"], cwd=at, check=True, capture_output=True, text=True)
    return Whole(float((at / "own").read_text()), sum(float(line.split()[0]) for line in disk.stdout.splitlines()))


def until(at: Path, environment: dict[str, str], words: list[str], count: int) -> float:
    """Kill zlang when its journal has this many trials that were begun; gives the CPU that was used until then."""
    child = subprocess.Popen(
        measure.zlang(*words), cwd=at, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while begun(at) < count:
        time.sleep(POLL)
        if child.poll() is not None:
            sys.exit(f"zlang {' '.join(words)} ended with {child.returncode}")
    os.kill(child.pid, signal.SIGKILL)
    _, _, used = os.wait4(child.pid, 0)
    return used.ru_utime + used.ru_stime


def begun(at: Path) -> int:
    """Count the trials that were begun."""
    return sum(path.read_bytes().count(b'"event":"begin"') for path in at.glob("runs/*/journal.jsonl"))


def main() -> int:
    """Measure, print."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        few, many = whole(root / "few", SHORT), whole(root / "many", SHORT + trials)
        at = root / "killed"
        environment = prepare(at, trials)
        first = until(at, environment, [*RUN, str(trials)], 1)
        until(at, environment, ["resume", "--yes"], trials // 2)
        resumed = until(at, environment, ["resume", "--yes"], begun(at) + 1)
    return measure.verdict(
        [
            measure.Check("a trial, of zlang itself: CPU", 1000 * (many.cpu - few.cpu) / trials, "ms", "limit", CPU_MS),
            measure.Check("a trial, with its rows: disk", (many.disk - few.disk) / trials, "KiB", "limit", DISK),
            measure.Check(f"before the first of {trials:,}: CPU", first, "s", "limit", FIRST),
            measure.Check(f"resumed in the middle of {trials:,}: CPU", resumed, "s", "limit", RESUMED),
        ]
    )


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
