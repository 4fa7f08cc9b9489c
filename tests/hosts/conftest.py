"""Provide the command in the hub of a test bed, whose hosts are started once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from beds import Bed, started
from command_line import Zlang


@pytest.fixture(scope="session")
def hosts() -> Iterator[Bed]:
    """Three hosts that only share a network."""
    if os.geteuid() != 0:
        pytest.skip("only root makes namespaces")
    with started(3) as bed:
        yield bed


@pytest.fixture
def bed(hosts: Bed) -> Iterator[Bed]:
    """The hosts, with nothing of zlang on them before and after the test."""
    yield hosts
    for number in (1, 2, 3):
        assert hosts.on(f"host{number}", "ls -A /var/tmp/zlang 2>/dev/null; ls -A /data | grep -v lost+found") == ""
        assert hosts.on(f"host{number}", "grep -lsz '^ZLANG_RUN=' /proc/[0-9]*/environ; true") == ""


@pytest.fixture
def zlang(tmp_path: Path, bed: Bed) -> Zlang:
    """The command, where ssh reaches the hosts by their names."""
    at = tmp_path / "work"
    at.mkdir()
    command = Zlang(at)
    bed.use(command)
    return command
