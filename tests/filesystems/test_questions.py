"""Run the programs of docs/how-to.md that need neither ZFS nor a server."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from command_line import REPOSITORY, Zlang

HOWTO = REPOSITORY / "examples" / "howto"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a loop device needs root")


@pytest.fixture
def zlang(disk: Path) -> Zlang:
    """Provide the command in a directory on a disk."""
    return Zlang(disk)


def test_a_trial_on_a_cold_cache(zlang: Zlang) -> None:
    zlang("run", str(HOWTO / "is_the_cache_cold.zexp"), "--profile", "smoke", "--set", "size=2MiB", "--only", "1")
    (row,) = zlang.rows("select valid, why_not, cache = cache_state as is_as_wanted from all_trials")
    assert list(row.values()) == [True, "", True]


def test_a_depth_of_the_knee(zlang: Zlang) -> None:
    zlang("run", str(REPOSITORY / "examples/knee.zexp"), "--profile", "smoke", "--only", "1")
    (row,) = zlang.rows("select valid, why_not, cache_state, read_iops > 0 as is_measured from all_trials")
    assert list(row.values()) == [True, "", "cold", True]


def test_a_mount_and_a_device_of_a_server(zlang: Zlang) -> None:
    """A directory replaces the NFS mount, and a loop device replaces the LUN."""
    volume = zlang.at / "lun.img"
    with volume.open("wb") as file:
        file.truncate(64 << 20)
    (zlang.at / "export").mkdir()
    node = subprocess.run(
        ["losetup", "--find", "--show", volume], capture_output=True, text=True, check=True
    ).stdout.strip()
    link = zlang.at / "lun"
    link.symlink_to(node)
    try:
        given = [f'export="{zlang.at / "export"}"', f'link="{link}"', f'serial="{volume}"', "volume=64MiB"]
        words = [word for setting in given for word in ("--set", setting)]
        zlang("run", str(HOWTO / "nfs_or_iscsi.zexp"), "--profile", "smoke", *words, "--arm", str(link), "--only", "1")
    finally:
        subprocess.run(["losetup", "--detach", node], check=True)
    (row,) = zlang.rows("select valid, why_not, cache_state from all_trials")
    assert list(row.values()) == [True, "", "cold"]
