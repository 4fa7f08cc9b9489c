"""Test fio's logs: each line becomes a row that names its trial."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_folders import MakeRun

from zlang.store.ingest import ingest
from zlang.store.query import run_query

pytestmark = pytest.mark.usefixtures("judged_by_print")

PRINTED = '{"metrics": {"read_iops": 5}}'
LOGS = {
    "fio_clat.1.log": "0, 111126, 0, 4096, 0\n1500, 80340, 1, 8192, 0\n",
    "fio_bw.2.log": "500, 3, 2, 4096\n",
    "x_iops.log": "1000, 7, 0, 4096, 65536, 0x4001\n",
    "fio_slat.1.log": "",
    "other.log": "1, 2, 3, 4\n",
}
ROWS = [
    ("bw", 2, 0.5, "trim", 3072.0, 4096, None),
    ("clat", 1, 0.0, "read", 111126.0, 4096, None),
    ("clat", 1, 1.5, "write", 80340.0, 8192, None),
    ("iops", 1, 1.0, "read", 7.0, 4096, 65536),
]


def test_each_line_is_a_row(make_run: MakeRun, runs: Path, db: Path) -> None:
    run = make_run("odd [a-z]* name")
    for replicate in (1, 2):
        run.measured("p0", replicate, {"bs": 4096, "iodepth": 1}, PRINTED)
        for name, text in LOGS.items():
            run.write(f"trials/p0/{replicate}/a1/{name}", text)
    run.done()
    for kept in (0, 1):
        assert ingest(runs, db).kept == kept
        for replicate in (1, 2):
            answer = run_query(db, f"from logs select * exclude (run, experiment, trial) where replicate = {replicate}")
            assert sorted(row[1:] for row in answer.rows) == sorted(ROWS)


def test_a_malformed_log_is_a_problem_and_other_logs_are_loaded(make_run: MakeRun, runs: Path, db: Path) -> None:
    run = make_run().measured("p0", 1, {"bs": 4096, "iodepth": 1}, PRINTED)
    run.write("trials/p0/1/a1/fio_lat.1.log", "0, 5, 0, 4096, 0\n")
    run.write("trials/p0/1/a1/fio_lat.2.log", "a, b, c, d, e\n")
    run.done()
    assert ingest(runs, db).valid == 1
    assert run_query(db, "select value from logs").rows == ((5.0,),)
    ((problem,),) = run_query(db, "select problem from problems where problem not like '%seal%'").rows
    assert str(problem).startswith("fio_lat.2.log is not a log of fio: ")
