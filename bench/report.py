"""Measure `zlang report` and `zlang effects` for many trials, and how their time grows.

In: nothing (fio is run once where it is installed, else the document of the tests is taken). Out: the table. There are
128 points, each measured as often as it takes.
Usage: python bench/report.py [TRIALS]...
"""

from __future__ import annotations

import multiprocessing
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import ingest
import measure

from zlang.plan.plan import Trial

COUNTS = [100, 1000, 10_000]
POINTS = 128
SECONDS = {"report": 5, "report --format markdown": 5, "effects": 2}
"""CPU that each command may take for the most trials."""
SIZE, MEMORY = 8, 500
"""MiB of a page, and of memory."""
WITHIN = 2e-7
"""The share by which a throughput may be another one and still match its operations and runtime."""


def trial(number: int, jobs: int) -> Trial:
    """A trial whose levels belong to its point."""
    replicate, point = divmod(number, POINTS)
    levels = {"bs": 4096 << point % 4, "iodepth": 1 + point // 8, "pattern": ("random", "sequential")[point // 4 % 2]}
    return replace(ingest.trial(number, jobs), identity=f"{point:016x}", replicate=replicate + 1, factors=levels)


def generate(root: Path, count: int) -> None:
    """A run of this many trials, in `root`."""
    report, jobs = ingest.document(root)
    ingest.write_run(root / "runs" / "bench", [trial(i, jobs) for i in range(count)], varied(report), 1.79e9)


def varied(report: bytes) -> Iterator[bytes]:
    """The report again and again, the last digits of its throughput drawn: what does not vary has no effects."""
    source = random.Random(1)

    def drawn(match: re.Match[bytes]) -> bytes:
        return match[1] + b"%.9f" % (float(match[2]) * (1 + source.uniform(-WITHIN, WITHIN)))

    while True:
        yield re.sub(rb'("iops"\s*:\s*)([0-9.]+)', drawn, report)


def main() -> int:
    """Generate, ingest, ask, print."""
    counts = [int(word) for word in sys.argv[1:]] or COUNTS
    checks = []
    for count in counts:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            writer = multiprocessing.get_context("spawn").Process(target=generate, args=(root, count))
            writer.start()
            writer.join()
            measure.cost(measure.Command(measure.zlang("ingest", "runs"), root))
            for words, seconds in SECONDS.items():
                out = root / "answer"
                more = ["-o", str(out)] if words.startswith("report") else []
                cost = measure.cost(measure.Command(measure.zlang(*words.split(), *more), root))
                label = f"{words} of {count:,} trials"
                checks.append(measure.Check(f"{label}: CPU", cost.cpu, "s", "goal", seconds))
                checks.append(measure.Check(f"{label}: memory", cost.peak, "MiB", "goal", MEMORY))
                if more:
                    size = out.stat().st_size / (1 << 20)
                    checks.append(measure.Check(f"{label}: size", size, "MiB", "goal", SIZE))
    return measure.verdict(checks)


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
