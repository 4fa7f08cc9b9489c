"""Fixtures of more than one stage: run folders and the database made of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from run_folders import MakeRun, RunBuilder, judged_by_what_was_printed

# A shared machine may be slow at any moment; in CI the same examples are tried each time.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """The directory of the runs."""
    path = tmp_path / "runs"
    path.mkdir()
    return path


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """The database to be built."""
    return tmp_path / "results.duckdb"


@pytest.fixture
def make_run(runs: Path) -> MakeRun:
    """Begin a run folder in `runs`."""

    def make(name: str = "quickstart-20261121-061316-ab12", **more: object) -> RunBuilder:
        return RunBuilder(runs / name, **more)  # type: ignore[arg-type]

    return make


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readings are what the trials printed, whatever the tool."""
    monkeypatch.setattr("zlang.store.ingest.judge", judged_by_what_was_printed)
