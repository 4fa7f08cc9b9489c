"""A zfs-fuse for each test, which ends with it and leaves nothing."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from private_daemon import ZfsFuse, loops

ARC_MB = 64


@pytest.fixture
def zfs_fuse(tmp_path: Path) -> Iterator[ZfsFuse]:
    """A daemon of the test's own; once the test is over no pool, loop device or file of a run may be left."""
    script = Path(__file__).parent / "private_zfs_fuse.sh"
    daemon = subprocess.Popen(["unshare", "--mount", "sh", script, tmp_path, str(ARC_MB)])
    here = ZfsFuse(daemon.pid, tmp_path)
    try:
        deadline = time.monotonic() + 20
        while subprocess.run(here.command("zpool", "list"), capture_output=True).returncode != 0:
            assert daemon.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield here
        assert here.pools() == []
        assert list(tmp_path.glob("zlang-*")) == []
        assert loops(tmp_path) == []
    finally:
        daemon.kill()
        daemon.wait()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Pools and mounts are for root."""
    if os.geteuid() != 0:
        for item in items:
            if "zfs_fuse" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.skip(reason="pools and mounting need root"))
