"""Provide one guest for all tests of an OpenZFS release; `ZLANG_VM_RELEASES` selects releases (default: 2.1)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Zlang
from vm.guest import Guest, booted

RELEASES = os.environ.get("ZLANG_VM_RELEASES", "2.1").split()


@pytest.fixture(scope="session", params=RELEASES)
def booted_guest(request: pytest.FixtureRequest) -> Iterator[Guest]:
    """Start a guest with kernel OpenZFS."""
    with (
        tempfile.TemporaryDirectory(dir="/var/tmp", prefix="zlang-guest-") as at,
        booted(request.param, Path(at)) as up,
    ):
        yield up


@pytest.fixture
def guest(booted_guest: Guest) -> Guest:
    """Provide the guest that all tests share, booted anew after a test in which it stopped."""
    booted_guest.boot_if_off()
    return booted_guest


@pytest.fixture
def zlang(tmp_path: Path) -> Zlang:
    """Provide the command outside the guest: it plans and ingests."""
    return Zlang(tmp_path)


@pytest.fixture
def nfs_server(guest: Guest) -> Iterator[None]:
    """Start the guest's NFS server; the guest starts no services by itself."""
    guest(
        "modprobe nfsd && mount -t nfsd nfsd /proc/fs/nfsd && mkdir -p /etc/exports.d"
        " && rpcbind -w && rpc.mountd && rpc.nfsd 2"
    )
    yield
    guest("rpc.nfsd 0; kill $(pidof rpc.mountd rpcbind); umount /proc/fs/nfsd")


@pytest.fixture
def carried_out(guest: Guest, zlang: Zlang) -> Iterator[Zlang]:
    """Check afterwards that no resource of a script is left in the guest."""
    before = guest(LIST_WHAT_REMAINS).stdout
    yield zlang
    guest("rm -rf /var/tmp/here")
    assert guest(LIST_WHAT_REMAINS).stdout == before


LIST_WHAT_REMAINS = """
cat /proc/self/mounts /sys/module/zfs/parameters/zfs_arc_max
awk '$1 == "c_max" || $1 == "c_min"' /proc/spl/kstat/zfs/arcstats
ls /run | grep zlang
losetup --list
zpool list -H -o name
grep : /proc/mdstat
dmsetup ls; vgs
exportfs -s; find /etc/exports.d -type f
ls /var/tmp
"""
