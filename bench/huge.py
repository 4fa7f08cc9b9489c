"""Whether a space of 10^12 points is counted, sampled and shown as fast as one of 1,000 points is gone through.

In: nothing. Out: the table.
Usage: python bench/huge.py [ROUNDS]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import measure

MOST = 1.05
"""No slower, but for what pairs of equal runs differ by here."""
PROGRAM = """import fio
dir here {{ path = "." }}
file data on here {{ size = 1MiB }}
fio random {{ rw = randread  {fields} }}
experiment many {{ on = data  run = random  cache = cold }}
"""
OPTIONS = (
    *("fdatasync", "fsync", "iodepth", "iodepth_batch", "iodepth_low", "loops"),
    *("nice", "nrfiles", "number_ios", "numjobs", "openfiles", "thinktime_blocks"),
)


def program(axes: int) -> str:
    """Twelve factors, of which so many have ten levels each and the others one."""
    fields = [f"{option} = {'1..10' if i < axes else '1..1'}" for i, option in enumerate(OPTIONS)]
    return PROGRAM.format(fields="  ".join(fields))


def main() -> int:
    """Write the two programs, measure, print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        (scratch / "few.zexp").write_text(program(3), "utf-8")
        (scratch / "many.zexp").write_text(program(len(OPTIONS)), "utf-8")
        commands = [measure.Command(measure.zlang("plan", str(scratch / f"{which}.zexp"))) for which in ("few", "many")]
        thousand, trillion = measure.in_turn(commands, rounds)
    return measure.verdict(
        [
            measure.Check(
                "plan of 10^12 points", 1000 * trillion.wall, "ms", "of 1,000 points", 1000 * thousand.wall, MOST
            ),
            measure.Check("its memory", trillion.peak, "MiB", "of 1,000 points", thousand.peak, MOST),
        ]
    )


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
