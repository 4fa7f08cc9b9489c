"""Check that run folders of earlier releases can be read unchanged."""

from __future__ import annotations

import shutil
from pathlib import Path

from zlang.store.ingest import ingest
from zlang.store.query import run_query

FOLDER = Path(__file__).parent / "run_of_an_earlier_release"
"""Made by the release before plans declared metrics, with fio 3.33, without its facts and script."""


def rows(db: Path, sql: str) -> list[tuple[object, ...]]:
    return list(run_query(db, sql).rows)


def test_a_run_whose_plan_declares_no_metrics_has_those_of_the_library(tmp_path: Path, db: Path) -> None:
    run = tmp_path / "runs" / "old"
    shutil.copytree(FOLDER, run)
    assert b'"metrics":' not in (run / "plan.jsonl").read_bytes()
    counts = ingest(tmp_path / "runs", db)
    assert (counts.trials, counts.valid, counts.problems) == (2, 2, 1)  # it is not sealed
    assert rows(db, "select bs, read_iops, read_clat_p99 from trials order by all") == [
        (4096, 20000.0, 10816.0),
        (8192, 20000.0, 8640.0),
    ]
    query = "select name, unit, better, means from columns where name in ('read_bw', 'read_clat_p99') order by 1"
    columns = rows(db, query)
    assert columns == [
        ("read_bw", "bytes/s", "higher", "read.throughput"),
        ("read_clat_p99", "ns", "lower", "read.completion.p99"),
    ]
