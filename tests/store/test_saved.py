"""Test saved queries: zlang's own work on any results, and the user's take precedence."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from run_folders import MakeRun

from zlang.cli.query_results import read_query
from zlang.errors import RunError
from zlang.store import saved
from zlang.store.ingest import ingest
from zlang.store.query import run_query, session, write_parquet
from zlang.store.store import Access, reading

pytestmark = pytest.mark.usefixtures("judged_by_print")

SHIPPED = [query.name for query in saved.listed()]


@pytest.fixture
def built(make_run: MakeRun, runs: Path, db: Path) -> Path:
    for run, factor in (("r1", 1.0), ("r2", 2.0)):
        made = make_run(run)
        for n, (bs, replicate) in enumerate([(4096, 1), (8192, 1), (4096, 2), (8192, 2)]):
            printed = {
                "metrics": {"read_iops": factor * bs * (1 + n / 10)},
                "latency": [["read_clat", {"1000": 98, "5000": 2}]],
            }
            made.measured(f"p{bs}", replicate, {"bs": bs, "iodepth": 1}, orjson.dumps(printed))
        made.failed("p4096", 3, {"bs": 4096, "iodepth": 1}, "broken").done()
    ingest(runs, db)
    return db


def ask(db: Path, name: str) -> tuple[tuple[object, ...], ...]:
    text, given = read_query(db, f"@{name}", {})
    return run_query(db, text, given).rows


@pytest.mark.parametrize("name", SHIPPED)
def test_every_saved_query_works_and_has_a_description(built: Path, name: str) -> None:
    assert ask(built, name)
    assert saved.named(name).about


def test_percentiles_are_those_of_all_replicates(built: Path) -> None:
    percentiles = (5000, 5000, 5000)
    expected = [(bs, 1, "read_clat", 400, 1000, *percentiles) for bs in (4096, 8192)]
    assert [row[:8] for row in ask(built, "tails")] == expected


def test_drift_is_the_change_from_the_first_to_the_last(built: Path) -> None:
    ((n, change, r),) = ask(built, "drift")
    assert n == 8
    assert isinstance(change, float)
    assert isinstance(r, float)


def test_the_query_here_comes_before_the_users_and_before_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for place in (tmp_path / "config/zlang/queries", tmp_path / "queries"):
        place.mkdir(parents=True)
        (place / "drift.sql").write_text(f"-- {place.parent.name}\n-- param a = 4KiB\nselect $a")
        assert saved.named("drift").about == place.parent.name
    with pytest.raises(RunError) as caught:
        saved.named("drfit")
    assert "`drift`" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "means"),
    [("4KiB", 4096), ("90s", 90), ("500us", 0.0005), ("70%", 70), ("16", 16), ("'16'", "16"), ("rand", "rand"),
     ("true", True), ("4KB", "4KB")],
)  # fmt: skip
def test_values_of_parameters(text: str, means: object) -> None:
    assert saved.value(text) == means
    assert type(saved.value(text)) is type(means)


def test_parquet_is_a_file_or_a_directory_by_levels(built: Path, tmp_path: Path) -> None:
    assert write_parquet(built, "select bs, read_iops from trials; ", (), tmp_path / "t.parquet", ()) == 8
    assert write_parquet(built, "from trials where bs > $a", {"a": 1}, tmp_path / "it's", ("bs",)) == 8
    assert {path.name for path in (tmp_path / "it's").iterdir()} == {"bs=4096", "bs=8192"}
    with reading(built, Access(unsafe=True)) as connection:
        rows = connection.execute("SELECT count(*), max(bs) FROM read_parquet(?)", [str(tmp_path / "t.parquet")])
        assert rows.fetchall() == [(8, 8192)]
    with pytest.raises(RunError, match="already exists"):
        write_parquet(built, "from trials", (), tmp_path / "t.parquet", ())


@pytest.mark.parametrize(
    "query",
    ["select 1) TO '{dir}/x.csv' --", "from read_text('/etc/passwd')", "select 1) TO 'x' (FORMAT csv); attach 'y' --"],
)
def test_parquet_opens_no_other_file(built: Path, tmp_path: Path, query: str) -> None:
    before = sorted(tmp_path.iterdir())
    with pytest.raises(RunError):
        write_parquet(built, query.format(dir=tmp_path), (), tmp_path / "t.parquet", ())
    assert sorted(tmp_path.iterdir()) == before


def test_more_access_needs_an_option(built: Path, tmp_path: Path) -> None:
    stolen = tmp_path / "x.csv"
    with reading(built, Access(write=True)) as connection:
        connection.execute("CREATE TABLE main.mine AS SELECT 1 AS a")
        with pytest.raises(Exception, match="disabled by configuration"):
            connection.execute(f"COPY main.mine TO '{stolen}'")
    assert run_query(built, "from mine").rows == ((1,),)
    with reading(built, Access(unsafe=True)) as connection:
        connection.execute(f"COPY main.mine TO '{stolen}'")
        with pytest.raises(Exception, match="read-only"):
            connection.execute("DROP TABLE main.mine")
    assert stolen.read_text() == "a\n1\n"


def test_a_query_writes_no_file_that_stays(built: Path) -> None:
    kept = built.with_name(f"{built.name}.tmp") / "mine.csv"
    kept.parent.mkdir()
    kept.write_text("mine")
    before = sorted(built.parent.iterdir())
    with reading(built) as connection:
        with pytest.raises(Exception, match="disabled by configuration"):
            connection.execute(f"COPY (SELECT 1) TO '{kept}'")
        ((spill,),) = connection.execute("SELECT current_setting('temp_directory')").fetchall()
        connection.execute(f"COPY (SELECT 1) TO '{spill}/gone.csv'")
    assert kept.read_text() == "mine"
    assert sorted(built.parent.iterdir()) == before


def test_an_answer_that_is_shown_has_a_limit(built: Path) -> None:
    with session(built) as opened:
        assert len(opened.ask("from range(10)", (), 10).rows) == 10
        with pytest.raises(RunError, match="the answer has more than 10 rows") as refused:
            opened.ask("from range(11)", (), 10)
    assert "--format parquet" in refused.value.hint
