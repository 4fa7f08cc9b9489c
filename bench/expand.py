"""Measure the time and memory to expand a matrix of four axes and 100,000 points.

In: `matrix.zexp` beside this file. Out: the table. What is printed goes to a file. What other tools take: `peers.py`.
Usage: python bench/expand.py [ROUNDS]
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import measure
import peers

LISTED_MOST = 3.0
"""CPU of the list of trials, in times the bare loop's."""
MEMORY_MOST = 100.0
"""MiB."""
FLAT_MOST = 1.1
"""Memory at 100,000 points, in times that at 10,000."""

FEWER = ["--set", "tenths=1"]
LOOP = """
import itertools, json, sys
bs, iodepth, numjobs, rwmixread = range(4096, 40961, 4096), range(1, 11), range(1, 11), range(1, 101)
write = sys.stdout.write
for trial, (b, d, n, m) in enumerate(itertools.product(bs, iodepth, numjobs, rwmixread), 1):
    factors = {"bs": b, "iodepth": d, "numjobs": n, "rwmixread": m}
    write(json.dumps({"trial": trial, "replicate": 1, "factors": factors}) + "\\n")
"""


def main() -> int:
    """Measure, print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        plan = measure.zlang("plan", str(peers.PROGRAM))
        listed = measure.Command([*plan, "--trials", "--json"], output=scratch / "listed.jsonl")
        loop = measure.Command([sys.executable, "-c", LOOP], output=scratch / "loop.jsonl")
        whole = measure.Command([*plan, "--steps"], output=scratch / "whole.txt")
        tenth = measure.Command([*plan, "--steps", *FEWER], output=scratch / "tenth.txt")
        listed_cost, loop_cost = measure.in_turn([listed, loop], 2 * rounds)
        whole_cost, tenth_cost = measure.in_turn([whole, tenth], rounds)
        same = sorted(lines(listed.output)) == sorted(lines(loop.output))
    if not same:
        sys.exit("the list of trials and the bare loop do not have the same points")
    return measure.verdict(
        [
            measure.Check("plan --trials, CPU", listed_cost.cpu, "s", "bare loop", loop_cost.cpu, LISTED_MOST),
            measure.Check("plan --trials, memory", listed_cost.peak, "MiB", "asked for", MEMORY_MOST),
            measure.Check(
                "plan --steps, CPU", whole_cost.cpu, "s", "10 x 10,000", 10 * tenth_cost.cpu, measure.LINEAR_MOST
            ),
            measure.Check("plan --steps, memory", whole_cost.peak, "MiB", "asked for", MEMORY_MOST),
            measure.Check("plan --steps, memory", whole_cost.peak, "MiB", "of 10,000", tenth_cost.peak, FLAT_MOST),
        ]
    )


def lines(path: Path) -> list[str]:
    """The points, whatever their order."""
    return [json.dumps(json.loads(line)["factors"], sort_keys=True) for line in path.read_text().splitlines()]


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
