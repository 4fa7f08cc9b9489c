"""A directory on a disk for every test: what lies in memory can never be cold."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import IN_MEMORY, REPOSITORY, Zlang, file_system


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """An empty directory on a disk."""
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


@pytest.fixture
def zlang(disk: Path) -> Zlang:
    """The command, in a directory on a disk."""
    return Zlang(disk)


@pytest.fixture
def memory() -> Iterator[Path]:
    """An empty directory in memory."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or file_system(shm) not in IN_MEMORY:
        pytest.skip("there is no /dev/shm here")
    path = Path(tempfile.mkdtemp(dir=shm, prefix="zlang-test-"))
    yield path
    shutil.rmtree(path)
