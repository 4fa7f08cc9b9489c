"""Check that `zlang clean` removes what a killed run left behind, and nothing that merely resembles it. Needs root."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command_line import COMMAND, Zlang
from machine import LET_GO
from private_daemon import ZfsFuse, loops
from waiting import wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="loop devices and mounting need root")

SLOW = """
import filesystems
dir here { path = "." }
loop small on here { size = 16MiB }
ext4 volume on small
shell waits { command = "touch running; sleep 60"  writes = off }
experiment slow { on = volume  run = waits }
"""


@pytest.fixture
def killed(disk: Path) -> Zlang:
    """Create a run that was killed while it measured, with all its resources."""
    zlang = Zlang(disk)
    process = zlang.start("run", zlang.program(SLOW))
    wait_for(lambda: list(disk.glob("zlang-*/small-volume/running")))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return zlang


def made(zlang: Zlang) -> Path:
    (path,) = zlang.at.glob("zlang-*")
    return path


def test_leftovers_of_a_killed_run_are_removed_once(killed: Zlang) -> None:
    place = made(killed).name
    cleaned = json.loads(killed("clean", "--json").out)
    assert cleaned["removed"] == [
        f"ext4 volume (./{place}/small-volume)",
        f"loop small (./{place}/small)",
        f"dir here (./{place})",
    ]
    assert cleaned["left"] == []
    assert list(killed.at.glob("zlang-*")) == []
    assert loops(killed.at) == []
    assert killed.committed() == []
    assert killed("clean").out == f"{killed.folder().name}: nothing left to remove\n"


def test_clean_accepts_leftovers_removed_by_a_copy(killed: Zlang) -> None:
    copy = killed.at / "copies" / "one"
    shutil.copytree(killed.folder(), copy)
    removed = json.loads(killed("clean", str(copy), "--json").out)["removed"]
    assert len(removed) == 3
    cleaned = json.loads(killed("clean", "--json").out)
    assert (cleaned["removed"], cleaned["gone"], cleaned["left"]) == ([], removed, [])


def test_mounts_of_another_user_stay(killed: Zlang) -> None:
    at = made(killed) / "small-volume"
    subprocess.run(["mount", "-t", "tmpfs", "other", at], check=True)
    try:
        (at / "precious").touch()
        cleaned = json.loads(killed("clean", "--json", code=1).out)
        assert cleaned["removed"] == []
        assert "other is mounted there, and that is not of this run" in cleaned["left"][0]["why"]
        assert (at / "precious").exists()
    finally:
        subprocess.run(["umount", at], check=True)
    assert len(json.loads(killed("clean", "--json").out)["removed"]) == 3


def test_a_file_system_with_another_uuid_stays(killed: Zlang) -> None:
    place = made(killed)
    (place / "small-volume.uuid").write_text("00000000-0000-0000-0000-000000000000\n")
    kept = killed.at / "kept"
    kept.hardlink_to(place / "small.files" / "001")
    killed("clean")
    signatures = subprocess.run(["wipefs", "--noheadings", kept], capture_output=True, text=True, check=True).stdout
    assert "ext4" in signatures


def test_a_pool_without_the_mark_stays(zfs_fuse: ZfsFuse) -> None:
    """A finished run is made to look killed, and a pool of its name belongs to someone else."""
    zfs_fuse.run(
        """
        import zfs
        dir here { path = "." }
        pool tank on here { size = 64MiB  allocation = sparse }
        dataset data on tank
        shell says { command = "zfs set org.zlang:run=another zlang-$RUN-tank"  writes = off }
        experiment one { on = data  run = says }
        """,
        code=1,
    )
    (pool,) = zfs_fuse.pools()
    try:
        cleaned = json.loads(zfs_fuse.zlang("clean", "--json", code=1))
        assert f"{pool} is not of this run" in str(cleaned["left"])
        assert zfs_fuse.pools() == [pool]
    finally:
        zfs_fuse.say("zfs", "set", f"org.zlang:run={zfs_fuse.last_run()}", pool)
    assert len(json.loads(zfs_fuse.zlang("clean", "--json"))["removed"]) >= 2


NAMESPACES = {
    "network": ["unshare", "--net"],
    "network and processes": [
        *("unshare", "--net", "--pid", "--fork", "--mount-proc"),
        *("sh", "-c", f'sh {LET_GO}; exec "$@"', "sh"),
    ],
}


@pytest.mark.parametrize("namespaces", NAMESPACES)
def test_a_copy_of_the_folder_harms_no_live_run(tmp_path: Path, namespaces: str) -> None:
    """A user who sees the run's processes knows that it is live; for others its directory is locked."""
    zlang = Zlang(tmp_path)
    program = """
    dir here { path = "." }
    shell waits { command = "touch running; until test -e go; do sleep 0.05; done"  writes = off }
    experiment slow { on = here  run = waits }
    """
    process = zlang.start("run", zlang.program(program))
    while not (ready := list(tmp_path.glob("zlang-*/running"))):
        assert process.poll() is None
        time.sleep(0.02)
    copy = tmp_path / "copies" / zlang.folder().name
    shutil.copytree(zlang.folder(), copy)
    for command in ("clean", "resume"):
        words = [*NAMESPACES[namespaces], *COMMAND, command, str(copy)]
        ended = subprocess.run(words, cwd=tmp_path, env=zlang.variables(), capture_output=True, text=True, timeout=60)
        assert ended.returncode == 1, ended
        assert re.search("(from|in) a copy of (this|its) folder", ended.stderr)
    (ready[0].parent / "go").touch()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert len(zlang.committed()) == 1
    assert list(tmp_path.glob("zlang-*")) == []
