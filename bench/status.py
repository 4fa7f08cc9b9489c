"""Measure `zlang status`: for a run that it reads for the first time, and for one in which nothing has changed since.

In: nothing. Out: the table. The run is that of ingest.py: each trial has three directories and seven files.
Usage: python bench/status.py [TRIALS]
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from pathlib import Path

import ingest
import measure

SECONDS = 0.3
"""CPU that it may take where nothing has changed."""
SETTLED = 3.0
"""Seconds after which a folder is no longer one that changed just now."""
ROUNDS = 5


def main() -> int:
    """Generate, ask, print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        writer = multiprocessing.get_context("spawn").Process(target=ingest.generate, args=(root, count, 1))
        writer.start()
        writer.join()
        time.sleep(SETTLED)
        setting = {"PYTHONPATH": str(measure.ROOT), "XDG_STATE_HOME": str(root / "state")}
        status = measure.Command(measure.zlang("status"), root, setting=setting)
        first = measure.cost(status)
        (again,) = measure.in_turn([status], ROUNDS)
    label = f"status of {count:,} trials"
    return measure.verdict(
        [
            measure.Check(f"{label} again, nothing changed: CPU", again.cpu, "s", "limit", SECONDS),
            measure.Check(f"{label} again, nothing changed: memory", again.peak, "MiB", "the first time", first.peak),
            measure.Check(f"{label}, the first time: CPU", first.cpu, "s", "again", again.cpu, None),
        ]
    )


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
