"""Import reports of fio runs without zlang as a run: differing options and directories become its factors."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from zlang.errors import RunError
from zlang.run import report_import
from zlang.store.ingest import ingest
from zlang.store.query import run_query

REPORT = orjson.loads((Path(__file__).parents[1] / "store/fio.json").read_bytes())


def leave(place: Path, name: str, when: int, **options: str) -> None:
    """Write the report of a job with these options."""
    job = {**REPORT["jobs"][0], "job options": {**REPORT["jobs"][0].get("job options", {}), **options}}
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = b"fio: some warning before it\n"
    path.write_bytes(noise + orjson.dumps({**REPORT, "timestamp_ms": when, "jobs": [job]}, option=orjson.OPT_INDENT_2))


def test_differing_fields_become_factors(tmp_path: Path) -> None:
    reports, runs, db = tmp_path / "My reports", tmp_path / "runs", tmp_path / "results.duckdb"
    when = 1_790_000_000_000
    for system in ("ext4", "fs=xfs"):
        for size in ("4m", "1g"):
            for n in (2, 1):
                leave(reports, f"{system}/{size}-{n}.json", when + n, size=size, iodepth="8")
    (reports / "notes.json").write_text('{"jobs": []}')
    (reports / "notes.txt").write_text("{")
    folder, count = report_import.import_reports(runs, reports)
    assert (count, folder.name[:15]) == (8, "fio-my-reports-")
    counts = ingest(runs, db)
    assert not run_query(db, "from problems").rows
    assert (counts.runs, counts.trials, counts.valid, counts.problems) == (1, 8, 8, 0)
    assert run_query(db, "from factors select name, type order by name").rows == (
        ("directory_1", "string"),
        ("fs", "string"),
        ("size", "size"),
    )
    rows = run_query(db, "select size, count(*), max(replicate) from trials group by size order by size").rows
    assert rows == ((4 << 20, 4, 2), (1 << 30, 4, 2))
    rates = run_query(db, "select count(*) from trials where read_iops > 0 or write_iops > 0").rows
    assert rates == ((8,),)


def test_reports_are_imported_once_and_file_names_can_be_a_factor(tmp_path: Path) -> None:
    for name in ("zfs-1.json", "zfs-2.json", "xfs-1.json"):
        leave(tmp_path / "r", name, 1_790_000_000_000)
    runs = tmp_path / "runs"
    first, again = (
        report_import.import_reports(runs, tmp_path / "r"),
        report_import.import_reports(runs, tmp_path / "r"),
    )
    assert first == again
    assert [path.name for path in runs.iterdir()] == [first[0].name]
    header = first[0].read_plan().header
    assert [(factor.name, factor.type) for factor in header.factors] == [("file", "string")]
    assert (header.points, header.repeat, header.trials) == (2, 2, 3)


def test_directories_of_bench_fio_add_no_factor_to_their_options(tmp_path: Path) -> None:
    for target in ("sda", "sdb"):
        for bs in ("4k", "64k"):
            for mode in ("randread", "randwrite"):
                for depth in ("1", "16"):
                    name = f"{target}/{mode}/{bs}/{mode}-{depth}-1.json"
                    leave(tmp_path / "r", name, 1_790_000_000_000, bs=bs, rw=mode, iodepth=depth, numjobs="1")
    folder, count = report_import.import_reports(tmp_path / "runs", tmp_path / "r")
    header = folder.read_plan().header
    assert {factor.name for factor in header.factors} == {"rw", "bs", "iodepth", "directory_1"}
    assert (count, header.points, header.repeat) == (16, 16, 1)


def test_a_directory_without_reports(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no reports of fio"):
        report_import.import_reports(tmp_path / "runs", tmp_path)
    with pytest.raises(RunError, match="no directory"):
        report_import.import_reports(tmp_path / "runs", tmp_path / "none")
