"""Measure queries over 100,000 trials with 100 metrics, in the wide table and in the tidy one.

In: nothing. Out: the best of several answers to each question, against what is asked for. The database is laid out as
ingest does it, and opened as `zlang sql` does. Usage: python bench/query.py [TRIALS]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import measure

from zlang.store import store
from zlang.store.query import session

METRICS = 100
TIMES = 60
MEANS = "select bs, iodepth, avg(m0), stddev(m0), count(*) from bench.trials group by all order by all"
MEDIAN = "select bs, iodepth, median(m0) from bench.trials group by all order by all"
TIDY = "select trial, median(value) from metrics where metric = 'm0' group by all"


def build(path: Path, trials: int) -> None:
    """A database as ingest leaves it."""
    connection = store.create(path, path.with_name("spill"))
    metrics = ", ".join(f"random() * {n + 1} AS m{n}" for n in range(METRICS))
    connection.execute("CREATE SCHEMA bench")
    connection.execute(
        f"CREATE TABLE bench.all_trials AS SELECT 4096 << (i % 8)::INT AS bs, 1 << ((i // 8) % 8)::INT AS iodepth, "
        f"'r' AS run, (i % 64)::VARCHAR AS trial, i AS replicate, true AS valid, {metrics} FROM range({trials}) t(i)"
    )
    connection.execute("CREATE VIEW bench.trials AS SELECT * FROM bench.all_trials WHERE valid")
    for n in range(METRICS):
        connection.execute(
            "INSERT INTO main.all_metrics (run, experiment, trial, replicate, valid, metric, value) "
            f"SELECT run, 'bench', trial, replicate, valid, 'm{n}', m{n} FROM bench.all_trials"
        )
    connection.execute("CHECKPOINT")
    connection.close()


def main() -> int:
    """Build, ask, print."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "results.duckdb"
        build(path, trials)
        best = {}
        with session(path) as connection:
            for sql in (MEANS, MEDIAN, TIDY):
                taken = []
                for _ in range(TIMES):
                    began = time.perf_counter()
                    answer = connection.ask(sql)
                    taken.append(time.perf_counter() - began)
                    assert len(answer.rows) == 64
                best[sql] = 1000 * min(taken)
    return measure.verdict(
        [
            measure.Check("medians from the wide table", best[MEDIAN], "ms", "asked for", 5),
            measure.Check("means, spreads, counts from it", best[MEANS], "ms", "asked for", 10),
            measure.Check("medians from the tidy table", best[TIDY], "ms", "asked for", 100),
        ]
    )


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
