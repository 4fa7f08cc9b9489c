"""Measure how fast 10 million lines of fio's logs become rows, beside DuckDB's own `read_csv`.

In: nothing. Out: the table. Both write a database on the same disk with two threads, in turn, as processes.
Usage: python bench/logs.py [LINES]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import duckdb
import ingest as bench
import measure

FILES = 4
TIMES = 3
BARE = """
import os, sys, duckdb
os.path.exists(sys.argv[1]) and os.remove(sys.argv[1])
connection = duckdb.connect(sys.argv[1], config={"threads": "2", "memory_limit": "256MiB"})
connection.execute("CREATE TABLE logs AS FROM read_csv(?, auto_detect = false, header = false, delim = ',', columns = "
    "{'ms': 'BIGINT', 'value': 'BIGINT', 'direction': 'BIGINT', 'block': 'BIGINT', 'priority': 'VARCHAR'})",
    [sys.argv[2] + "/runs/*/trials/*/*/a1/*.log"])
connection.close()
"""
OURS = """
import os, sys, pathlib
from zlang.store.ingest import ingest
os.path.exists(sys.argv[1]) and os.remove(sys.argv[1])
ingest(pathlib.Path(sys.argv[2]) / "runs", pathlib.Path(sys.argv[1]))
"""


def main() -> int:
    """Generate, load in turn, print."""
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        bench.generate(root, FILES, 1)
        places = sorted(root.glob("runs/*/trials/*/*/a1"))
        for place in places:
            lines_of_file = f"SELECT i // 20, hash(i) % 1000000, i % 2, 4096, 0 FROM range({lines // FILES}) t(i)"
            duckdb.execute(f"COPY ({lines_of_file}) TO '{place}/fio_clat.1.log' (HEADER false)")
        targets = [root / "ours.duckdb", root / "bare.duckdb"]
        commands = [
            measure.Command([sys.executable, "-c", program, str(target), str(root)])
            for program, target in zip((OURS, BARE), targets, strict=True)
        ]
        ours, bare = measure.in_turn(commands, TIMES)
        for target in targets:
            with duckdb.connect(str(target), read_only=True) as made:
                assert made.execute("SELECT count(*) FROM logs").fetchone() == (lines,)
    return measure.verdict(
        [
            measure.Check("logs of fio, CPU", ours.cpu, "s", "read_csv", bare.cpu, 1.2),
            measure.Check("logs of fio, by the clock", ours.wall, "s", "read_csv", bare.wall, None),
        ]
    )


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
