"""Test repeated `ingest`: unchanged runs are not read again, yet the result is the same as if they were."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from run_folders import FACTORS, MakeRun, RunBuilder, factor

from zlang.run.account import FILES_CHANGED, UNREAD, Account
from zlang.store.ingest import ingest
from zlang.store.query import run_query

pytestmark = pytest.mark.usefixtures("judged_by_print")

TABLES = ("runs", "columns", "a.all_trials", "all_metrics", "latency", "samples", "steps", "facts", "problems")


def rows(db: Path) -> dict[str, list[str]]:
    """Return all rows of the tables, regardless of their order."""
    answers = {table: run_query(db, f'FROM "{table}"'.replace(".", '"."')) for table in TABLES}
    return {table: [str(a.columns), str(a.types), *sorted(map(str, a.rows))] for table, a in answers.items()}


def fill(run: RunBuilder, level: object, metric: str) -> RunBuilder:
    text = {
        "metrics": {metric: 1.5},
        "latency": [["read_clat", {"1000": 2}]],
        "samples": [[1.5e9, "vda", "util", 5]],
        "notes": ["odd"],
    }
    words = next((factor.levels for factor in run.factors if factor.name == "fs"), (None,))
    levels: dict[str, object] = {"bs": level, "iodepth": 1, "fs": words[0]}
    run.measured("p0", 1, levels, orjson.dumps(text))  # type: ignore[arg-type]
    run.failed("p1", 1, levels, "no")  # type: ignore[arg-type]
    return run


@pytest.fixture
def three(make_run: MakeRun) -> list[RunBuilder]:
    options = {"experiment": "a", "facts": {"kernel": "6.1"}}
    named = (("a", "b"), ("c", "b"), ("d",))
    words = [(*FACTORS, factor("fs", "word", levels=levels)) for levels in named]
    made = [make_run(f"r{n}", **options, began=1_790_000_000.0 + n, factors=each) for n, each in enumerate(words)]
    for run, level, metric in zip(made, (4096, 8192.5, "odd"), ("read_iops", "x", "read_iops"), strict=True):
        fill(run, level, metric).done()
    return made


def add(runs: Path, three: list[RunBuilder], make_run: MakeRun) -> int:
    fill(make_run("r9", experiment="a", began=1_790_000_100.0, factors=(factor("bs", "word"),)), "big", "y").done()
    return 3


def go_on(runs: Path, three: list[RunBuilder], make_run: MakeRun) -> int:
    three[1].measured("p2", 1, {"bs": 1, "iodepth": 2}, b'{"metrics": {"z": 1}}').done()
    return 2


def remove(runs: Path, three: list[RunBuilder], make_run: MakeRun) -> int:
    shutil.rmtree(three[2].path)
    return 2


def copy(runs: Path, three: list[RunBuilder], make_run: MakeRun) -> int:
    shutil.copytree(three[0].path, runs / "copy")
    return 2


@pytest.mark.parametrize("change", [add, go_on, remove, copy])
def test_an_incremental_ingest_equals_a_full_one(
    change: Callable[[Path, list[RunBuilder], MakeRun], int],
    runs: Path,
    db: Path,
    three: list[RunBuilder],
    make_run: MakeRun,
) -> None:
    ingest(runs, db)
    unchanged = change(runs, three, make_run)
    again, fresh = ingest(runs, db), ingest(runs, db.with_name("fresh.duckdb"))
    assert (again.kept, fresh.kept) == (unchanged, 0)
    assert (again.dropped, fresh.dropped) == (change is remove, 0)
    assert (again.trials, again.valid, again.problems) == (fresh.trials, fresh.valid, fresh.problems)
    assert rows(db) == rows(db.with_name("fresh.duckdb"))


@pytest.mark.parametrize("why", [FILES_CHANGED, f"{UNREAD}: input/output error"])
def test_unreadable_runs_are_read_again(
    runs: Path, db: Path, three: list[RunBuilder], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading can fail temporarily, for example with a disk error or too many open files."""
    with monkeypatch.context() as patched:
        patched.setattr(Account, "examined", lambda _self, attempt: (why if "p0" in attempt.out else "", None))
        assert ingest(runs, db).valid == 0
    counts = ingest(runs, db)
    assert (counts.kept, counts.valid) == (0, len(three))
    assert ingest(runs, db).kept == len(three)


def test_a_run_that_could_not_be_read_counts_among_those_that_go(
    runs: Path, db: Path, three: list[RunBuilder], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Account, "examined", lambda *_: (FILES_CHANGED, None))
        ingest(runs, db)
    shutil.rmtree(three[0].path)
    assert ingest(runs, db).dropped == 1


def test_an_unchanged_run_is_not_read(runs: Path, db: Path, three: list[RunBuilder]) -> None:
    ingest(runs, db)
    before = rows(db)
    for run in three:
        shutil.rmtree(run.path / "trials")
    assert ingest(runs, db).kept == 3
    assert rows(db) == before
    os.utime(three[0].path / "journal.jsonl", (1, 1))
    counts = ingest(runs, db)
    assert (counts.kept, counts.trials, counts.valid) == (2, 6, 2)
