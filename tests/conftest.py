"""Provide fixtures that several stages share: run folders and the database built from them."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import machine
import pytest
from command_line import IN_MEMORY, REPOSITORY, file_system
from hypothesis import settings
from private_daemon import ZfsFuse, loops, started
from run_folders import MakeRun, RunBuilder, judged_by_what_was_printed

# A shared machine may be slow at any moment; in CI the same examples are tried each time.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# A shell makes its background processes ignore Ctrl-C, and their children inherit this.
signal.signal(signal.SIGINT, signal.default_int_handler)


# Run folders are sealed with a key of the tests, not with the key of the user who runs them.
_STATE = tempfile.TemporaryDirectory(prefix="zlang-state-")
os.environ["XDG_STATE_HOME"] = _STATE.name

_ARC_MB = 64


TOUCHING = {"endtoend", "filesystems", "trust", "zfs"}
"""The directories of tests that mount, attach and set what belongs to the machine; those of the guest look there."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Create an empty directory on a disk: data in a memory file system can never be cold."""
    if file_system(tmp_path) not in IN_MEMORY:
        path = tmp_path / "disk"
        path.mkdir()
        yield path
        return
    for place in (Path("/var/tmp"), REPOSITORY):
        if file_system(place) not in IN_MEMORY:
            path = Path(tempfile.mkdtemp(dir=place, prefix="zlang-test-"))
            yield path
            shutil.rmtree(path)
            return
    pytest.skip("there is no disk here that can be written to")


@pytest.fixture(autouse=True)
def _machine_as_before(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check that a test that changes the machine leaves it as it was."""
    if request.path.parent.name not in TOUCHING:
        yield
        return
    names = ["tmp_path", *(["disk"] if "disk" in request.fixturenames else [])]
    places: list[Path] = [request.getfixturevalue(name) for name in names]
    before = machine.look()
    yield
    assert machine.look().changed_since(before, places) == []


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return the directory of the runs."""
    path = tmp_path / "runs"
    path.mkdir()
    return path


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Return the path of the database to be built."""
    return tmp_path / "results.duckdb"


@pytest.fixture
def make_run(runs: Path) -> MakeRun:
    """Begin a run folder in `runs`."""

    def make(name: str = "quickstart-20261121-061316-ab12", **more: object) -> RunBuilder:
        return RunBuilder(runs / name, **more)  # type: ignore[arg-type]

    return make


@pytest.fixture
def judged_by_print(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the printed output of the trials as readings, whatever the tool."""
    monkeypatch.setattr("zlang.store.run_rows.judge", judged_by_what_was_printed)


@pytest.fixture
def zfs_fuse(tmp_path: Path) -> Iterator[ZfsFuse]:
    """Start a private zfs-fuse; after the test, no pool, loop device or file of a run may be left."""
    with started(tmp_path, _ARC_MB) as here:
        yield here
        assert here.pools() == []
        assert list(tmp_path.glob("zlang-*")) == []
        assert loops(tmp_path) == []
