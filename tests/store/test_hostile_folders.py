"""Ingest hostile run folders: nothing outside of them is read, and nothing in them stops `ingest`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import orjson
import pytest
from run_folders import MakeRun, RunBuilder

from zlang.errors import RunError
from zlang.files import read_regular, scratch
from zlang.readers.reading import text_of
from zlang.store.ingest import ingest
from zlang.store.query import run_query


def ask(db: Path, sql: str) -> list[tuple[object, ...]]:
    return list(run_query(db, sql).rows)


SECRET = "the secret of another user"


@pytest.fixture
def run(make_run: MakeRun, tmp_path: Path) -> RunBuilder:
    (tmp_path / "secret").mkdir()
    for name in ("kernel.out", "measure.out", "measure.err"):
        (tmp_path / "secret" / name).write_text(SECRET)
    made = make_run(facts={"kernel": "Linux 6.1\n"})
    made.measured("p0", 1, {"bs": 4096, "iodepth": 1}, orjson.dumps({"metrics": {"read_iops": 1.0}}))
    made.failed("p1", 1, {"bs": 4096, "iodepth": 2}, "it failed")
    made.done()
    return made


def _link(target: Path) -> Callable[[Path], None]:
    return lambda at: at.symlink_to(target)


def _hole(at: Path) -> None:
    at.touch()
    os.truncate(at, 1 << 42)


HOSTILE: dict[str, Callable[[Path], Callable[[Path], None]]] = {
    "a link": lambda secret: _link(secret / "kernel.out"),
    "a link to nothing": lambda _: _link(Path("/nonexistent")),
    "endless zeros": lambda _: _link(Path("/dev/zero")),
    "a pipe": lambda _: os.mkfifo,
    "a directory": lambda _: Path.mkdir,
    "a hole": lambda _: _hole,
}


@pytest.mark.parametrize("name", ["facts/kernel.out", "trials/p1/1/a1/measure.err"])
@pytest.mark.parametrize("way", HOSTILE)
def test_only_regular_files_are_read(
    run: RunBuilder, runs: Path, db: Path, tmp_path: Path, way: str, name: str
) -> None:
    (run.path / name).unlink()
    HOSTILE[way](tmp_path / "secret")(run.path / name)
    assert ingest(runs, db).trials == 2
    assert SECRET not in str([ask(db, f"from {table}") for table in ("facts", "problems", "all_trials")])


@pytest.mark.parametrize("name", ["facts", "trials/p1/1/a1", "trials/p0/1", "trials"])
def test_a_directory_that_is_a_link_is_not_followed(
    run: RunBuilder, runs: Path, db: Path, tmp_path: Path, name: str
) -> None:
    (run.path / name).rename(tmp_path / "moved")
    (run.path / name).symlink_to(tmp_path / ("secret" if name in {"facts", "trials/p1/1/a1"} else "moved"))
    ingest(runs, db)
    assert SECRET not in str([ask(db, f"from {table}") for table in ("facts", "problems", "all_trials")])
    if name.startswith("trials/p0"):
        assert ask(db, "select valid from all_trials where trial = 'p0'") == [(False,)]


@pytest.mark.parametrize("name", ["journal.jsonl", "plan.jsonl"])
@pytest.mark.parametrize("way", HOSTILE)
def test_a_journal_or_plan_of_another_sort_ends_at_once(
    run: RunBuilder, runs: Path, db: Path, tmp_path: Path, way: str, name: str
) -> None:
    (run.path / name).unlink()
    HOSTILE[way](tmp_path / "secret")(run.path / name)
    with suppress(RunError):
        ingest(runs, db)
    assert not db.exists() or SECRET not in str(ask(db, "from problems"))


def test_an_artefact_is_read_up_to_a_limit_and_never_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"x" * 101)
    with pytest.raises(OSError, match="Longer than 100 bytes"):
        read_regular(tmp_path / "long", 100)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "long")
    assert [text_of(tmp_path / name) for name in ("pipe", "link", "none", ".")] == [None] * 4
    assert text_of(Path("/dev/zero")) is None


def test_the_next_ingest_removes_files_of_a_killed_one(tmp_path: Path) -> None:
    abandoned, other = (tmp_path / name for name in (".zlang-scratch-abcdef12", ".zlang-settings"))
    with scratch(tmp_path) as held:
        for path in (abandoned, other):
            path.mkdir()
            (path / "database").touch()
        with scratch(tmp_path) as second:
            assert {*tmp_path.iterdir()} == {other, held, second}
    assert {*tmp_path.iterdir()} == {other}


def test_a_journal_that_cannot_be_read_leaves_out_its_run_only(run: RunBuilder, runs: Path, db: Path) -> None:
    other = runs / "other-20261127-211440-c07f"
    shutil.copytree(run.path, other)
    (other / "journal.jsonl").unlink()
    (other / "journal.jsonl").symlink_to("/etc/hostname")
    ingested = ingest(runs, db)
    assert ingested.runs == 1
    ((problem,),) = ask(db, f"select problem from problems where run = '{other.name}'")
    assert problem == f"cannot read the journal {other}/journal.jsonl: is a link, and links are not followed here"
