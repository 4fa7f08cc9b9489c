"""Restrict tests that need pools and mounts to root."""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Pools and mounts are for root."""
    if os.geteuid() != 0:
        for item in items:
            if "zfs_fuse" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.skip(reason="pools and mounting need root"))
