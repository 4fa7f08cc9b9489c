"""Compare what fio reaches in a run of zlang with what the same command of fio reaches alone.

In: nothing; fio must be installed. Out: the table. Both read one file from the page cache: that depends on the
processors only, so whatever zlang does meanwhile shows. They run in turn, in changing order. The figure is the
geometric mean of the ratios of pairs, and the table also has half the width of its 95 % interval, and how often fio
was taken off its processor. The machine must do nothing else.
Usage: python bench/disturbance.py [PAIRS]
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import measure

PAIRS = 40
PROGRAM = """
import fio
given dir here { path = "." }
given file data on here { size = 64MiB }
fio reads { rw = randread  bs = 4KiB  time_based = on  runtime = 2s }
experiment paired { on = data  run = reads  cache = as_is  repeat = 1 }
"""
LAST = "select read_iops, ctx from trials order by started desc limit 1"


def output(words: list[str], at: Path, **setting: str) -> str:
    """Run a command in a directory, which must succeed, and return what it prints."""
    environment = measure.environment({"PYTHONPATH": str(measure.ROOT), "XDG_STATE_HOME": str(at), **setting})
    done = subprocess.run(words, cwd=at, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def within(at: Path) -> tuple[float, int]:
    """The reads a second and the context switches of fio in a run of zlang."""
    output(measure.zlang("run", "--again", "--yes", "paired.zexp"), at)
    (row,) = json.loads(output(measure.zlang("sql", "--json", LAST), at))
    return float(row["read_iops"]), int(row["ctx"])


def alone(at: Path, command: str) -> tuple[float, int]:
    """The same of the command alone."""
    output(["sh", "-c", command], at, OUT=str(at), file="data")
    (job,) = json.loads((at / "fio.json").read_text("utf-8"))["jobs"]
    return float(job["read"]["iops"]), int(job["ctx"])


def main() -> int:
    """Measure pairs, print."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    with tempfile.TemporaryDirectory() as name:
        at = Path(name)
        (at / "data").write_bytes(os.urandom(64 << 20))
        (at / "paired.zexp").write_text(PROGRAM, "utf-8")
        shown = output(measure.zlang("plan", "paired.zexp", "--steps"), at)
        command = re.search(r"^ *fio --name=reads (?:.*\\\n)*.*$", shown, re.MULTILINE)
        assert command is not None, shown
        alone(at, command[0])  # the first reads fill the page cache
        logs, switches, switches_alone = [], [], []
        for number in range(pairs):
            if number % 2:
                least, measured = alone(at, command[0]), within(at)
            else:
                measured = within(at)
                least = alone(at, command[0])
            logs.append(math.log(measured[0] / least[0]))
            switches.append(measured[1])
            switches_alone.append(least[1])
    mean = sum(logs) / pairs
    spread = math.sqrt(sum((log - mean) ** 2 for log in logs) / (pairs - 1) / pairs)
    return measure.verdict(
        [
            measure.Check(f"reads a second under zlang, {pairs} pairs", math.exp(mean), "", "alone", 1, 1.01, 0.99),
            measure.Check("half of its 95 % interval", 1.96 * spread, "", "figure", math.exp(mean), None),
            measure.Check(
                "median of fio's context switches", median(switches), "", "alone", median(switches_alone), None
            ),
        ]
    )


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
