"""Test that durations of steps are read once from a database that does not change."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_folders import RunBuilder

from zlang.errors import RunError
from zlang.plan.estimate import Past
from zlang.run import machine, status_cache
from zlang.store import past
from zlang.store.ingest import ingest

PAST = Past({("p0", "measure"): 3.25, ("facts", "kernel"): 0.1}, {"drop": 1.5}, None, {"p0": 2e8})


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database of a run, whose changes need not be two seconds ago."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(status_cache, "_STEP", 0)
    run = RunBuilder(tmp_path / "runs" / "r")
    run.measured("p0", 1, {"bs": 4096, "iodepth": 1}, "{}")
    run.done()
    ingest(tmp_path / "runs", tmp_path / "results.duckdb")
    return tmp_path / "results.duckdb"


@pytest.fixture
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a byte for each time that a database was read, which happens in a child process."""
    count = tmp_path / "reads"
    count.write_bytes(b"")

    def read(*_: object) -> Past:
        with count.open("ab") as file:
            file.write(b".")
        return PAST

    monkeypatch.setattr(past, "read", read)
    return count


def test_an_unchanged_database_is_read_once(db: Path, reads: Path) -> None:
    assert [past.load(db) for _ in range(3)] == [PAST] * 3
    assert reads.read_bytes() == b"."


def test_a_changed_database_is_read_again(db: Path, reads: Path, tmp_path: Path) -> None:
    past.load(db)
    ingest(tmp_path / "runs", db)
    past.load(db)
    assert reads.read_bytes() == b".."


def test_a_database_with_a_log_is_always_read(db: Path, reads: Path) -> None:
    past.load(db)
    db.with_name(f"{db.name}.wal").write_bytes(b"")
    past.load(db)
    past.load(db)
    assert reads.read_bytes() == b"..."


def test_durations_of_another_machine_are_read_again(db: Path, reads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    past.load(db)
    monkeypatch.setattr(past, "_this_machine", lambda: ["Linux", "9.9", "#1", "x86_64", 1])
    past.load(db)
    assert reads.read_bytes() == b".."


def test_what_is_saved_is_what_was_read(db: Path) -> None:
    first = past.load(db)
    assert first == past.load(db)
    assert first == past.read(db, machine.answer("uname -srvm"), machine.memory())


def test_no_answer_is_saved_for_a_file_that_is_not_a_database(tmp_path: Path, db: Path) -> None:
    other = db.with_name("other.duckdb")
    other.write_text("text")
    for _ in range(2):
        with pytest.raises(RunError, match="is not a results database"):
            past.load(other)
    assert not list((tmp_path / "state").rglob("status/*"))
