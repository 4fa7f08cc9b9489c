"""Test queries: answered, or refused in one sentence with the nearest names; no query can change data."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest
from run_folders import MakeRun

from zlang.errors import RunError
from zlang.store.ingest import ingest
from zlang.store.query import run_query

pytestmark = pytest.mark.usefixtures("judged_by_print")


@pytest.fixture
def built(make_run: MakeRun, runs: Path, db: Path) -> Path:
    make_run().measured("p0", 1, {"bs": 4096, "iodepth": 1}, '{"metrics": {"read_iops": 5}}').done()
    ingest(runs, db)
    return db


@pytest.mark.parametrize(
    ("sql", "message", "hint"),
    [
        ("select red_iops from trials", 'column "red_iops" not found', "did you mean `read_iops`?"),
        ("select t.iodept from trials t", '"iodept"', "`iodepth`"),
        ("from trails", "trails does not exist", "`trials`"),
        ("from quikstart.trials", 'schema "quikstart" does not exist', "`quickstart`"),
        ("select medain(bs) from trials", "medain does not exist", "`median`"),
        ("selct 1", "syntax error", ""),
        ("", "the query is empty", "from trials"),
        ("select '\udcff'", "is not UTF-8 text", ""),
        ("-- only a comment", "the query is empty", "from trials"),
        ("from trials where bs = '4KiB'", "Could not convert", "`4KiB` is 4096 in SQL"),
        ("from trials where valid = 'off'", "Could not convert", "`off` is false"),
        ("from trials where valid = off", '"off" not found', "`off` is false"),
        ("from trials where elapsed < 500ms", "syntax error", "`500ms` is 0.5 in SQL"),
        ("from trials where bs = $bs", "not provided", "--param bs=…"),
        ("select bs, max(read_iops) from trials", "GROUP BY", "group by all"),
        ("from quickstart", "quickstart does not exist", "quickstart.trials"),
        ("from bandwidths", "bandwidths does not exist", "show tables"),
        ("select bandwidth from trials", '"bandwidth" not found', "@columns"),
        ("select iops from trials", '"iops" not found', "`read_iops`"),
        ('from trials where host = "4096"', '"4096" not found', "'4096'"),
        ("select experiment from trials", '"experiment" not found', "a column of this name is in "),
        ('select "read.iops" from trials', '"read.iops" not found', 'in SQL it is "read_iops"'),
        ("select p99(read_iops) from trials", "p99 does not exist", "latency_percentile"),
    ],
)
def test_errors_in_queries(built: Path, sql: str, message: str, hint: str) -> None:
    with pytest.raises(RunError) as caught:
        run_query(built, sql)
    assert message in caught.value.message
    assert "\n" not in caught.value.message
    assert hint in caught.value.hint


def test_a_time_with_a_time_zone_is_shown_or_explained(built: Path) -> None:
    """DuckDB before 2.0.1 needs pytz for this, which zlang does not install."""
    sql = "select TIMESTAMPTZ '2026-01-02 03:04:05+00'"
    if tuple(int(part) for part in duckdb.__version__.split(".")) >= (2, 0, 1):
        assert run_query(built, sql).rows == ((datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),),)
    else:
        with pytest.raises(RunError, match="pytz") as caught:
            run_query(built, sql)
        assert "::TIMESTAMP" in caught.value.hint


def test_a_parameter_that_is_not_text(built: Path) -> None:
    with pytest.raises(RunError, match="is not UTF-8 text"):
        run_query(built, "from trials where experiment = $x", {"x": "\udcff"})


LOCKED = {
    "reading files": """
        from read_csv('/etc/passwd'); from sniff_csv('/etc/passwd'); from read_text('/etc/passwd');
        from read_blob('/etc/passwd');
        from read_json('/etc/passwd'); from read_parquet('/etc/passwd'); from parquet_metadata('/etc/passwd');
        from glob('/etc/*');
        from '/etc/passwd.csv'; copy quickstart.all_trials from '/etc/passwd'; from read_ndjson_objects('/etc/passwd');
        import database '{dir}'; from read_duckdb('{dir}/other.db', table_name = 'secret')
    """,
    "writing files": """
        copy trials to '{dir}/x.csv'; copy trials to '{dir}/x' (format parquet); copy (select 1) to '/dev/stdout';
        export database '{dir}/out'; pragma profiling_output = '{dir}/x'; set profiling_output = '{dir}/x';
        call enable_logging(storage = 'file', storage_path = '{dir}'); from system.main."Enable_Logging"();
        call enable_profiling(save_location = '{dir}/x.txt'); create persistent secret s (type s3)
    """,
    "opening databases": "attach '{dir}/other.db'; attach '{dir}/new.db' as n; detach zlang_results",
    "the network": """
        from 'https://127.0.0.1/x.csv'; from 's3://bucket/x.parquet'; install httpfs; force install httpfs; load httpfs;
        install spatial from community; load '{dir}/x.duckdb_extension'; update extensions; from duckdb_extensions()
    """,
    "the environment": "select getenv('HOME'); from duckdb_secrets()",
    "changing results": """
        insert into quickstart.all_trials (bs) values (1); update runs set title = 'x'; delete from runs; truncate runs;
        drop table quickstart.all_trials; create table main.t (a integer);
        create or replace table runs as select 1 as a;
        alter table runs add column a integer; create view main.v as select 1; drop macro latency_percentile;
        create schema s;
        comment on table runs is 'x'; create index i on runs (run)
    """,
    "the lock itself": """
        set enable_external_access = true; reset enable_external_access; set lock_configuration = false;
        reset lock_configuration;
        pragma lock_configuration = false; set allowed_directories = ['/']; set allowed_paths = ['/etc/passwd'];
        set access_mode = 'read_write'; set threads = 1; set memory_limit = '1TB'; set temp_directory = '{dir}/x';
        set autoinstall_known_extensions = true; set allow_unsigned_extensions = true; set secret_directory = '{dir}';
        set file_search_path = '/etc'; set home_directory = '/etc'; set logging_level = 'trace'
    """,
}


@pytest.mark.parametrize("way", LOCKED)
def test_a_question_reaches_nothing_but_the_results(built: Path, way: str) -> None:
    with duckdb.connect(str(built.with_name("other.db"))) as connection:
        connection.execute("create table secret as select 42 as a")
    before, names = built.read_bytes(), sorted(built.parent.iterdir())
    for statement in LOCKED[way].format(dir=built.parent).split(";"):
        for sql in (statement, f"select 1; {statement}"):
            with pytest.raises(RunError):
                pytest.fail(f"{sql}: {run_query(built, sql)}")
    assert built.read_bytes() == before
    assert sorted(built.parent.iterdir()) == names


def test_names_of_python_are_not_tables(built: Path) -> None:
    names = {"bs": [1]}
    with pytest.raises(RunError):
        run_query(built, "from names")
    assert names


def test_repeated_columns_are_numbered(built: Path) -> None:
    assert run_query(built, "select 1 as a, 2 as a, 3 as a_2, 4 as a").columns == ("a", "a_2", "a_2_2", "a_3")


def test_of_several_statements_the_last_is_answered(built: Path) -> None:
    assert run_query(built, "create temp table t as select 7 as a; from t").rows == ((7,),)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="there is no results database") as caught:
        run_query(tmp_path / "none.duckdb", "from trials")
    assert "zlang ingest DIR --db" in caught.value.hint


@pytest.mark.parametrize("content", [b"", b"my thesis", b"\0" * 5000])
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.duckdb"
    path.write_bytes(content)
    with pytest.raises(RunError, match="is not a results database") as caught:
        run_query(path, "from trials")
    assert "zlang ingest DIR --db" in caught.value.hint


def test_a_damaged_database(built: Path) -> None:
    built.write_bytes(built.read_bytes()[:5000])
    with pytest.raises(RunError, match="cannot be opened") as caught:
        run_query(built, "from trials")
    assert "zlang ingest" in caught.value.hint


def test_a_foreign_database(tmp_path: Path) -> None:
    path = tmp_path / "it's.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table trials (a integer)")
    with pytest.raises(RunError, match="is not a results database"):
        run_query(path, "from trials")


def test_a_path_with_quotes(built: Path) -> None:
    moved = built.with_name("a 'quoted' \"name\".duckdb")
    built.rename(moved)
    assert run_query(moved, "select bs from trials").rows == ((4096,),)


def test_questions_at_the_same_time(built: Path) -> None:
    with duckdb.connect(str(built), read_only=True) as connection:
        assert connection.execute("select bs from trials").fetchall() == [(4096,)]


def test_plain_duckdb_reads_it(built: Path) -> None:
    with duckdb.connect(str(built), read_only=True) as connection:
        assert connection.execute("select bs, read_iops from quickstart.trials").fetchall() == [(4096, 5.0)]
        assert connection.execute("select count(*) from latency").fetchall() == [(0,)]


def test_a_limit_of_processes_is_no_bug(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RunError, match="no thread can be started"):
        run_query(built, "from trials")
