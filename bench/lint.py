"""Measure all rules on a program of 100,000 points, many of them in a pitfall.

In: a program with the factors that most rules look at. Out: the CPU of all rules on it, and on the same program with
80 points, and the target.
Usage: python bench/lint.py
"""

from __future__ import annotations

import sys
import time
from statistics import median

import measure

from zlang.check.check import Overrides
from zlang.pipeline import programs
from zlang.source import Source
from zlang.space import points

TIMES = 5
MOST_SECONDS = 2.0
PROGRAM = """
import fio
import zfs
host box {{ ram = 64GiB }}
dir here on box {{ path = "." }}
pool tank on here {{ size = 64GiB  cache = 1  ashift = 12 }}
dataset work on tank {{
  recordsize   = {records}
  compression  = off | lzjb
  primarycache = all | metadata
}}
file data on work {{ size = 16GiB  content = random | zeros }}
fio load {{
  rw         = read | randread | write | randwrite | randrw
  bs         = {blocks}
  ioengine   = psync | libaio
  iodepth    = {depths}
  numjobs    = {jobs}
  time_based = on
  runtime    = 10s
}}
experiment all {{ on = data  run = load  repeat = 3 }}
"""


def seconds(text: str) -> tuple[float, int, int]:
    """CPU seconds of all rules, the number of points and of findings."""
    taken, count, findings = [], 0, 0
    for _ in range(TIMES):
        # A program that was linted before still knows the things at its points.
        checked = programs.check(Source("program.zexp", text), Overrides())
        assert checked.is_sound, [finding.message for finding in checked.findings]
        (experiment,) = checked.program.experiments.values()
        count = points.of(experiment).count
        began = time.process_time()
        findings = len(programs.lint(checked))
        taken.append(time.process_time() - began)
    return median(taken), count, findings


def main() -> int:
    """Measure both, print, compare."""
    large = PROGRAM.format(
        records="4KiB..1MiB by *2", blocks="4KiB..1MiB by *2", depths="1..16 by *2", jobs="1..8 by *2"
    )
    small = PROGRAM.format(records="128KiB", blocks="8KiB", depths="1", jobs="1")
    took, count, findings = seconds(large)
    took_small, count_small, found_small = seconds(small)
    print(f"{count:,} points, {findings} findings; {count_small:,} points, {found_small} findings")
    return measure.verdict(
        [
            measure.Check(f"all rules on {count:,} points: CPU", took, "s", "asked for", MOST_SECONDS),
            measure.Check("the same", took, "s", f"of {count_small:,} points", took_small, None),
        ]
    )


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
