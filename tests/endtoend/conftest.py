"""Provide the command in a directory on a disk, and a directory in memory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import IN_MEMORY, Zlang, file_system


@pytest.fixture
def zlang(disk: Path) -> Zlang:
    """Provide the command in a directory on a disk."""
    return Zlang(disk)


@pytest.fixture
def memory() -> Iterator[Path]:
    """Create an empty directory in memory."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or file_system(shm) not in IN_MEMORY:
        pytest.skip("there is no /dev/shm here")
    path = Path(tempfile.mkdtemp(dir=shm, prefix="zlang-test-"))
    yield path
    shutil.rmtree(path)
