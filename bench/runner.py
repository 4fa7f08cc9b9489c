"""Measure the runner: each step beside the emitted script under dash, and its own CPU time while a workload runs.

In: nothing. Out: the table. `zlang run` is measured whole, from reading the program to the medians.
Usage: python bench/runner.py [STEPS] [SECONDS]
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import measure

EXTRA_MS = 5.0
"""Milliseconds that a step may take longer than in the script."""
SHARE = 0.5
"""Percent of one core that zlang may use while a workload runs."""
PEAK = 80.0
"""MiB that it may use."""
ROUNDS = 3
TICKS = os.sysconf("SC_CLK_TCK")

PROGRAM = """
dir here {{ path = "." }}
shell work {{ command = "{command}"  writes = off }}
experiment work {{ on = here  run = work  cache = as_is  repeat = {repeat} }}
"""


def steps(scratch: Path, count: int) -> measure.Check:
    """Commands that do nothing, one after another."""
    program = scratch / "steps.zexp"
    program.write_text(PROGRAM.format(command=":", repeat=count), "utf-8")
    emit = measure.zlang("plan", str(program), "--emit", "sh", "--out", str(scratch))
    measure.cost(measure.Command(emit))
    script = measure.Command(["dash", str(scratch / "plan.sh"), "scripted"], scratch)
    runner = measure.Command(measure.zlang("run", "--again", "--yes", str(program)), scratch, setting=SOURCES)
    by_script, by_runner = (1000 * cost.wall / count for cost in measure.in_turn([script, runner], ROUNDS))
    beside = f"the script under dash, {by_script:.2f} ms, + {EXTRA_MS:g} ms"
    return measure.Check(f"a step, of {count:,}", by_runner, "ms", beside, by_script + EXTRA_MS)


def idle(scratch: Path, seconds: int, *, on_terminal: bool) -> list[measure.Check]:
    """One workload that takes a while; zlang alone is looked at, not what it started."""
    program = scratch / "idle.zexp"
    program.write_text(PROGRAM.format(command=f"sleep {seconds}", repeat=1), "utf-8")
    ours, theirs = pty.openpty() if on_terminal else os.pipe()
    environment = measure.environment({**SOURCES, "TERM": "xterm"})
    child = subprocess.Popen(
        measure.zlang("run", "--again", "--yes", str(program)),
        cwd=scratch,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    reading = threading.Thread(target=drain, args=(ours,))
    reading.start()
    time.sleep(3)
    before, began = ticks(child.pid), time.monotonic()
    time.sleep(seconds - 5)
    used, passed, peak = ticks(child.pid) - before, time.monotonic() - began, peak_of(child.pid)
    child.wait()
    reading.join()
    where = "with a progress bar" if on_terminal else "without a terminal"
    # One tick of the clock by which Linux counts may be missed.
    share = 100 * (used + 1) / TICKS / passed
    return [
        measure.Check(f"CPU while a workload runs, {where}", share, "%", "asked for, of one core", SHARE),
        measure.Check(f"memory while a workload runs, {where}", peak, "MiB", "asked for", PEAK),
    ]


SOURCES = {"PYTHONPATH": str(measure.ROOT)}


def drain(end: int) -> None:
    """Read what is said, until nothing more can come."""
    try:
        while os.read(end, 65536):
            pass
    except OSError:  # how a terminal ends
        pass
    finally:
        os.close(end)


def ticks(process: int) -> int:
    """The CPU time of a process without its children."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def peak_of(process: int) -> float:
    """Its peak memory so far, in MiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / measure.MIB


def main() -> int:
    """Measure, print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        checks = [steps(scratch, count)]
        for on_terminal in (False, True):
            checks += idle(scratch, seconds, on_terminal=on_terminal)
    return measure.verdict(checks)


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
