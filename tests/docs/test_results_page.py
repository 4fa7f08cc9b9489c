"""Run every query of docs/results.md on the results of a real run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from zlang.check.check import Overrides
from zlang.pipeline import plans, programs, results, runs
from zlang.run.runner import Selection
from zlang.source import Source

PAGE = (Path(__file__).parents[2] / "docs/results.md").read_text("utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
DIAGRAM = re.findall(r"```mermaid\n(.*?)```", PAGE, re.DOTALL)[0]
RELATIONS = re.findall(r"^ +(\w+) (\S+) (\w+) : (.*)$", DIAGRAM, re.MULTILINE)
PUBLISHED = re.findall(r"```csv\n(.*?)```", PAGE, re.DOTALL)[0]
PROGRAM = """
import fio
import "./published.csv"
dir here { path = "." }
file data on here { size = 1MiB }
fio w { rw = rw  bs = 4KiB | 16KiB  iodepth = 1 }
experiment tiny { on = data  run = w  cache = cold  repeat = 2 }
"""


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        Path("published.csv").write_text(PUBLISHED, "utf-8")
        overrides = Overrides()
        checked = programs.check(Source("tiny.zexp", PROGRAM.replace("iodepth = 1", "iodepth = 1 | 2")), overrides)
        planned = plans.plan(checked, programs.choose(checked, None), 1, overrides)
        for _ in runs.carry_out(runs.account(runs.begin(planned, place / "runs")), Selection()):
            pass
        done = results.ingest(place / "runs", place / "results.duckdb")
    assert done.trials == done.valid == 8
    return place / "results.duckdb"


@pytest.mark.parametrize("query", QUERIES, ids=[" ".join(query.split())[:40] for query in QUERIES])
def test_queries_of_the_page_work(db: Path, query: str) -> None:
    assert results.query(db, query).columns


def test_the_headline_query_answers_for_every_combination(db: Path) -> None:
    rows = results.query(db, QUERIES[0]).rows
    assert [row[:2] for row in rows] == [(4096, 1), (4096, 2), (16384, 1), (16384, 2)]
    assert all(isinstance(row[2], float) and row[2] > 0 for row in rows)


def test_measured_and_published_figures_are_joined(db: Path) -> None:
    (query,) = (query for query in QUERIES if "as theirs" in query)
    assert [row[2] for row in results.query(db, query).rows] == [6545, 5901]


def test_the_page_names_every_table(db: Path) -> None:
    tables = results.query(db, "select table_name from duckdb_tables() where schema_name = 'main'").rows
    assert {str(name) for (name,) in tables} - {"about", "histograms"} <= set(re.findall(r"`(\w+)`", PAGE))


def test_the_diagram_has_every_table(db: Path) -> None:
    tables = results.query(db, "select table_name from information_schema.tables where table_schema = 'main'").rows
    of_the_same_columns = {"trials", "all_metrics", "histograms", "copies", "logs", "about"}
    of_the_same_columns |= {"stream_metrics", "stream_histograms"}
    drawn = {name for table, _, other, _ in RELATIONS for name in (table, other)}
    assert {str(name) for (name,) in tables} == drawn | of_the_same_columns


@pytest.mark.parametrize(("parent", "ends", "other", "key"), RELATIONS, ids=[f"{r[0]}-{r[2]}" for r in RELATIONS])
def test_the_relations_of_the_diagram_hold(db: Path, parent: str, ends: str, other: str, key: str) -> None:
    keys = key.strip('"').split(", ")
    listed = ", ".join(keys)
    has_keys = " and ".join(f"{key} is not null" for key in keys)
    twice = results.query(db, f"select {listed} from {parent} group by all having count(*) > 1").rows
    without = results.query(
        db, f"select {listed} from {other} anti join {parent} using ({listed}) where {has_keys}"
    ).rows
    nulls = results.query(db, f"select count(*) from {other} where not ({has_keys})").rows[0][0]
    assert (twice, without) == ((), ())
    assert nulls == 0 or ends.startswith("|o")


def test_a_notebook_opens_the_results(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(db.parent)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["trials"].groupby("bs").read_iops.count().to_dict() == {4096: 4, 16384: 4}
    assert names["same"].shape == names["trials"].shape
    names["results"].close()


def test_the_command_line_of_duckdb_opens_the_results(db: Path) -> None:
    (line,) = re.findall(r"```sh\n(duckdb .*?)\n```", PAGE)
    command = [str(Path(sys.executable).parent / "duckdb"), *line.split()[1:], "-csv", "-noheader"]
    percentile = "select latency_percentile(ns, count, 99) > 0 from latency"
    words = [*command, "-c", "select bs, count(*) from trials group by all order by all", "-c", percentile]
    done = subprocess.run(words, cwd=db.parent, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["4096,4", "16384,4", "true"]
