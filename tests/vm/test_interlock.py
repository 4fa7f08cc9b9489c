"""Test others' devices in a guest, armed and to be wiped: a script writes no byte to a device in use."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Zlang
from vm.guest import DISKS, Guest
from vm.test_scripts import START, bring_back, hand_over

BY_ID = "/dev/disk/by-id"

# disk1 carries a group of LVM, disk2 half a mirror of md, disk3 four partitions of 32, 96, 96 and 32 MiB.
OCCUPY = r"""
set -e
part() { printf "$(printf '\\%03o' 0 0 0 0 131 0 0 0 0 0 $1 0 0 0 $2 0)"; }
{ head -c 446 /dev/zero; part 1 1; part 2 3; part 5 3; part 8 1; printf '\125\252'; } >/dev/vdd
blockdev --rereadpt /dev/vdd
udevadm settle
pvcreate -q /dev/vdb /dev/vdd4
vgcreate -q others /dev/vdb
for name in volume lower secret; do lvcreate -q -y -L 32M -n $name others; done
dmsetup create over --table '0 65536 linear /dev/others/lower 0'
printf 'LUKS\272\276\000\001' >/dev/others/secret
mdadm -q --create /dev/md/others --uuid=3a4b5c6d:00112233:8899aabb:ccddeeff --run --level=raid1 -n 2 /dev/vdc missing
for device in others/volume md/others vdd1; do
  mke2fs -q -t ext4 -E lazy_itable_init=0,lazy_journal_init=0 /dev/$device
  mkdir -p /run/others/$device
  mount -o noatime /dev/$device /run/others/$device
  echo theirs >/run/others/$device/theirs
done
zpool create -m none others /dev/vdd2
# What a pool frees while it is created is written some transactions later.
for each in 1 2 3 4; do zpool sync others; done
zpool create -m none exported /dev/vdd3
zpool export exported
udevadm settle
sync
# An array notes a while after what was written last that its members agree.
for tries in $(seq 100); do grep -q clean /sys/block/md127/md/array_state && exit; sleep 0.1; done
exit 1
"""

LEAVE = """
umount /run/others/*/* /run/others/vdd1; rm -r /run/others
zpool export others
dmsetup remove over; vgchange -q --activate n others
mdadm -q --stop /dev/md/others
for device in vdb vdc vdd; do blkdiscard -f /dev/$device; done
blockdev --rereadpt /dev/vdd; udevadm settle
"""

# Who may be overwritten by `ZLANG_WIPE`, as what it is known, how large it is in MiB, and why it is not written to.
IN_USE = {
    f"{BY_ID}/virtio-disk1": ("disk1", 1024, "is used by dm-0 dm-1 dm-2"),
    "/dev/mapper/others-volume": ("volume", 32, "is mounted at /run/others/others/volume (252:0)"),
    f"{BY_ID}/dm-name-others-lower": ("lower", 32, "is used by dm-3"),
    f"{BY_ID}/virtio-disk2": ("disk2", 1024, "is used by md127"),
    f"{BY_ID}/md-uuid-3a4b5c6d:00112233:8899aabb:ccddeeff": (
        "3a4b5c6d-0011-2233-8899-aabbccddeeff",
        1022,
        "is mounted at /run/others/md/others (9:127)",
    ),
    f"{BY_ID}/virtio-disk3": ("disk3", 1024, "is mounted at /run/others/vdd1 (254:49)"),
    f"{BY_ID}/virtio-disk3-part2": (
        "disk3",
        96,
        "cannot be opened exclusively: Device or resource busy; on it: zfs_label zfs_member",
    ),
}
_PERMITS = " permits zlang to overwrite it"
NOT_EMPTY = {
    f"{BY_ID}/virtio-disk3-part3": ("disk3", 96, "is not empty: zfs_label zfs_member"),
    f"{BY_ID}/virtio-disk3-part4": ("disk3", 32, "is not empty: LVM2_member"),
    "/dev/others/secret": ("secret", 32, "is not empty: crypto_LUKS"),
}

REFUSED = """
import disks
import fio

dir here {{ path = "." }}
disk theirs {{ (id, serial, size) = {devices} }}
fio load {{ rw = write  bs = 64KiB  io_size = 1MiB  end_fsync = on }}
experiment refused {{ on = theirs  run = load }}
"""


@pytest.fixture
def others(guest: Guest) -> Iterator[dict[str, str]]:
    """Devices of all kinds that are in use or were; the UUIDs of logical volumes by their names."""
    guest(OCCUPY)
    uuids = guest(
        "for each in volume lower secret; do cat /sys/block/$(basename $(readlink -f /dev/others/$each))/dm/uuid; done"
    )
    yield dict(zip(("volume", "lower", "secret"), uuids.stdout.split(), strict=True))
    guest(LEAVE)


def content(guest: Guest) -> list[str]:
    """Return where the disks of the guest, seen from this machine, contain anything but zeros, and the content."""
    guest("sync")
    return [digest(guest.at / f"disk{number}") for number in range(1, DISKS + 1)]


def digest(image: Path) -> str:
    checksum, step = hashlib.sha256(), 1 << 16
    with image.open("rb") as file:
        end, at = file.seek(0, os.SEEK_END), 0
        while at < end:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA) // step * step
            except OSError:  # no more data
                break
            file.seek(at)
            block = file.read(step)
            if block.strip(b"\0"):
                checksum.update(at.to_bytes(8) + block)
            at += step
    return checksum.hexdigest()


def carry_out(guest: Guest, zlang: Zlang, program: str, wipe: str, code: int) -> None:
    """Run the script as it requires: arm the devices that it names when nothing is armed."""
    hand_over(guest, zlang, program)
    stderr = guest(START, check=False).stderr
    armed = stderr[stderr.index("ZLANG_ARM='") :].split("'")[1]
    done = guest(f"export ZLANG_ARM='{armed}' ZLANG_WIPE='{wipe}' && {START}", check=False)
    assert done.returncode == code, done.stdout + done.stderr
    bring_back(guest, zlang)


def test_devices_in_use_are_refused_and_unchanged(guest: Guest, others: dict[str, str], carried_out: Zlang) -> None:
    """Physical and logical volumes, an array and its member, partitions, vdevs: each refusal has its reason."""
    cases = {**IN_USE, **NOT_EMPTY}
    devices = [f'("{name}", "{others.get(of, of)}", {size}MiB)' for name, (of, size, _) in cases.items()]
    before = content(guest)
    assert len(set(before)) == DISKS
    carry_out(guest, carried_out, REFUSED.format(devices=" | ".join(devices)), " ".join(IN_USE), code=1)
    reasons = {row["id"]: row["why_not"] for row in carried_out.rows("select id, why_not from all_trials")}
    assert reasons == {
        name: f"guard-theirs: {name} {why}" + (f"; --wipe {name}{_PERMITS}" if name in NOT_EMPTY else "")
        for name, (_, _, why) in cases.items()
    }
    assert content(guest) == before


CARRYING = """
import disks
import filesystems
import fio
import zfs

dir here { path = "." }
disk spares {
  id     = ["/dev/disk/by-id/virtio-disk3", "/dev/disk/by-id/virtio-disk4"]
  serial = ["disk3", "disk4"]
  size   = 1GiB
}
md array on spares { level = raid0 }
pool tank on spares { layout = mirror }
ext4 first on array
dataset second on tank
let under = first | second
file data on under { size = 2MiB }
fio load { rw = randrw  bs = 8KiB  io_size = 64KiB }
experiment carried { on = data  run = load  cache = cold }
"""


def test_armed_blank_disks_can_have_an_array_and_a_pool(guest: Guest, carried_out: Zlang) -> None:
    """Both use the same two disks in turn, and each must find them blank; no other disk changes."""
    before = content(guest)
    carry_out(guest, carried_out, CARRYING, "", code=0)
    rows = carried_out.rows("select valid, why_not, cache_state from all_trials")
    assert [list(row.values()) for row in rows] == [[True, "", "cold"]] * 2
    assert guest("for each in b c d e; do wipefs /dev/vd$each; done").stdout == ""
    after = content(guest)
    assert [was == now for was, now in zip(before, after, strict=True)] == [True, True, False, False]
