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
    """Start three hosts that share only a network."""
    if os.geteuid() != 0:
        pytest.skip("only root makes namespaces")
    with started(3) as bed:
        yield bed


@pytest.fixture
def bed(hosts: Bed) -> Iterator[Bed]:
    """Provide the hosts, without traces of zlang before and after the test."""
    yield hosts
    for number in (1, 2, 3):
        assert hosts.on(f"host{number}", "ls -A /var/tmp/zlang 2>/dev/null; ls -A /data | grep -v lost+found") == ""
        assert hosts.on(f"host{number}", "grep -lsz '^ZLANG_RUN=' /proc/[0-9]*/environ; true") == ""


@pytest.fixture
def zlang(tmp_path: Path, bed: Bed) -> Zlang:
    """Provide the command where ssh reaches the hosts by name."""
    at = tmp_path / "work"
    at.mkdir()
    command = Zlang(at)
    bed.use(command)
    return command
