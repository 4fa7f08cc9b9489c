"""How fast a matrix of four axes and 100,000 points is expanded, and in how much memory.

In: `matrix.zexp` beside this file. Out: the table. What is printed goes to a file. ReBench
(https://rebench.readthedocs.io) is installed in a scratch environment and expands the same four axes.
Usage: python bench/expand.py [ROUNDS]
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import measure

LISTED_MOST = 3.0
"""CPU of the list of trials, in times the bare loop's."""
MEMORY_MOST = 100.0
"""MiB."""
PLAN_MOST = 0.5
"""CPU of the whole plan, in times ReBench's."""
FLAT_MOST = 1.1
"""Memory at 100,000 points, in times that at 10,000."""

PROGRAM = Path(__file__).with_name("matrix.zexp")
FEWER = ["--set", "tenths=1"]
LOOP = """
import itertools, json, sys
bs, iodepth, numjobs, rwmixread = range(4096, 40961, 4096), range(1, 11), range(1, 11), range(1, 101)
write = sys.stdout.write
for trial, (b, d, n, m) in enumerate(itertools.product(bs, iodepth, numjobs, rwmixread), 1):
    factors = {"bs": b, "iodepth": d, "numjobs": n, "rwmixread": m}
    write(json.dumps({"trial": trial, "replicate": 1, "factors": factors}) + "\\n")
"""
JOB = (
    "--name=mixed --filename=data --size=67108864 --thread=1 --group_reporting=1 --fallocate=none "
    "--allow_file_create=0 --refill_buffers=1 --percentile_list=50:95:99:99.9 --output-format=json+ "
    "--output=fio.json --ioengine=libaio --direct=1 --rw=randrw --time_based=1 --runtime=1 "
    "--bs=%(benchmark)s --iodepth=%(input)s --numjobs=%(cores)s --rwmixread=%(variable)s"
)


def rebench(scratch: Path) -> measure.Command:
    """The same matrix for ReBench, whose plan has the measured commands alone."""
    suite = {
        "gauge_adapter": "Time",
        "command": JOB,
        "input_sizes": list(range(1, 11)),
        "cores": list(range(1, 11)),
        "variable_values": list(range(1, 101)),
        "benchmarks": [str(size) for size in range(4096, 40961, 4096)],
    }
    config = {
        "default_experiment": "matrix",
        "default_data_file": "matrix.data",
        "benchmark_suites": {"fio": suite},
        "executors": {"fio": {"path": "/usr/bin", "executable": "fio"}},
        "experiments": {"matrix": {"suites": ["fio"], "executions": ["fio"]}},
    }
    (scratch / "rebench.conf").write_text(json.dumps(config), "utf-8")  # YAML that is JSON
    home = measure.installed(scratch / "venv", "ReBench")
    return measure.Command(
        [str(home / "rebench"), "--no-denoise", "--execution-plan", "rebench.conf"], scratch, scratch / "rebench.txt"
    )


def main() -> int:
    """Install ReBench, measure, print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        plan = measure.zlang("plan", str(PROGRAM))
        listed = measure.Command([*plan, "--trials", "--json"], output=scratch / "listed.jsonl")
        loop = measure.Command([sys.executable, "-c", LOOP], output=scratch / "loop.jsonl")
        whole = measure.Command([*plan, "--steps"], output=scratch / "whole.txt")
        tenth = measure.Command([*plan, "--steps", *FEWER], output=scratch / "tenth.txt")
        listed_cost, loop_cost = measure.in_turn([listed, loop], 2 * rounds)
        whole_cost, tenth_cost, other_cost = measure.in_turn([whole, tenth, rebench(scratch)], rounds)
        same = sorted(lines(listed.output)) == sorted(lines(loop.output))
    if not same:
        sys.exit("the list of trials and the bare loop do not have the same points")
    return measure.verdict(
        [
            measure.Check("plan --trials, CPU", listed_cost.cpu, "s", "bare loop", loop_cost.cpu, LISTED_MOST),
            measure.Check("plan --trials, memory", listed_cost.peak, "MiB", "asked for", MEMORY_MOST),
            measure.Check("plan --steps, CPU", whole_cost.cpu, "s", "rebench -p", other_cost.cpu, PLAN_MOST),
            measure.Check("plan --steps, memory", whole_cost.peak, "MiB", "asked for", MEMORY_MOST),
            measure.Check("plan --steps, memory", whole_cost.peak, "MiB", "of 10,000", tenth_cost.peak, FLAT_MOST),
            measure.Check("plan --steps, memory", whole_cost.peak, "MiB", "rebench -p", other_cost.peak),
        ]
    )


def lines(path: Path) -> list[str]:
    """The points, whatever their order."""
    return [json.dumps(json.loads(line)["factors"], sort_keys=True) for line in path.read_text().splitlines()]


if __name__ == "__main__":
    sys.exit(main())
