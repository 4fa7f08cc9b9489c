"""Measure streams: how far apart they start, and what beginning a hundred of them costs.

In: nothing. Out: two lines. The skew is that of two streams of fio in one trial, by the first operation in fio's own
logs, over many trials; the cost is the processor time of `zlang plan` of an experiment with a hundred streams, and that
of the shell which begins them, without fio. Run it on a machine that does nothing else, or as root with `chrt --rr 1`,
or in a control group that gets the processors before all others.

    python bench/streams.py [TRIALS]
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import measure

from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.plan.plan import Action, Trial
from zlang.source import Source

HEAD = """
import fio
dir here { path = "." }
file data on here { size = 1MiB  copies = COPIES }
fio reads { rw = randread  time_based = on  runtime = 1s }
experiment storm { on = data  run = reads }
"""
_AVERAGED = "--log_avg_msec=100 --log_hist_msec=500 "
"""Without it, fio logs each operation."""


def command(copies: int) -> str:
    """The command that carries out so many streams, as it is planned."""
    checked = programs.check(Source("storm.zexp", HEAD.replace("COPIES", str(copies))), Overrides())
    (experiment,) = checked.program.experiments.values()
    items = plans.plan(checked, experiment, 1, Overrides()).plan.items()
    trial = next(item for item in items if isinstance(item, Trial))
    (step,) = [step for step in trial.steps if step.action is Action.MEASURE]
    return step.command


def skews(trials: int, place: Path) -> list[float]:
    """The milliseconds between the first operations of two streams, in each trial."""
    planned = command(2)
    assert _AVERAGED in planned, "BUG: the logs are asked for in other words"
    text = planned.replace(_AVERAGED, "").replace("--runtime=1", "--runtime=100ms")
    result = []
    for number in range(trials):
        out = place / str(number)
        out.mkdir()
        run(text, place, out)
        (logs,) = out.rglob("logs")
        first = [int((logs / f"stream{number}_iops.log").read_text().split(",", 1)[0]) for number in (1, 2)]
        result.append(abs(first[0] - first[1]))
    return sorted(result)


def run(text: str, place: Path, out: Path, path: str = "") -> None:
    """Carry out a command as the runner does."""
    environment = {**os.environ, "RUN": "bench", "OUT": str(out), "PATH": f"{path}{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", text], cwd=place, env=environment, check=True, stdout=subprocess.DEVNULL)


def seconds_of(who: int) -> float:
    """The processor time of this process, or of its children."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def main(trials: int) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        (place / "zlang-bench").mkdir()
        for name in ("data", *(f"data.{number}" for number in range(2, 101))):
            (place / "zlang-bench" / name).write_bytes(bytes(1 << 20))
        sorted_skews = skews(trials, place)
        p99 = sorted_skews[min(len(sorted_skews) - 1, int(0.99 * len(sorted_skews)))]
        print(f"start skew of 2 streams: p99 {p99} ms, most {sorted_skews[-1]} ms ({trials} trials)")
        before = seconds_of(resource.RUSAGE_SELF)
        text = command(100)
        planned = seconds_of(resource.RUSAGE_SELF) - before
        tools = place / "bin"
        tools.mkdir()
        (tools / "fio").write_text("#!/bin/sh\n")
        (tools / "fio").chmod(0o755)
        (place / "hundred").mkdir()
        before = seconds_of(resource.RUSAGE_CHILDREN)
        run(text, place, place / "hundred", f"{tools}:")
        begun = seconds_of(resource.RUSAGE_CHILDREN) - before
        print(f"100 streams: planned in {planned:.2f} s and begun in {begun:.2f} s of processor time")


if __name__ == "__main__":
    measure.show_help(__doc__)
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
