"""Find changes that a test may have made to the machine and that are still in effect."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_TUNABLES = (
    "/proc/sys/vm/*",
    "/sys/module/zfs/parameters/*",
    "/sys/block/*/queue/scheduler",
    "/sys/block/*/queue/*_kb",
)


OTHERS_SET = ("dirty_background_bytes", "dirty_background_ratio")
"""What the tests of tunables set, and set back, while others run."""


LET_GO = Path(__file__).with_name("let_go.sh")
"""Unmounts in a mount namespace what other tests have mounted."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The mounts, the loop devices with their files, and the tunables with their values."""

    mounts: frozenset[str]
    loops: frozenset[str]
    tunables: Mapping[str, str]

    def changed_since(self, before: Machine, places: list[Path]) -> list[str]:
        """List new mounts, attachments and files in these places, and tunables whose value has changed.

        Mounts and loop devices elsewhere are those of others, who test at the same time.
        """
        new = sorted((self.mounts - before.mounts) | (self.loops - before.loops))
        changes = [each for each in new if any(str(place) in each for place in places)]
        changes += [str(path) for place in places for at in (place, *place.glob("*/")) for path in at.glob("zlang-*-*")]
        return changes + [
            f"{name} is {value}, and was {before.tunables[name]}"
            for name, value in self.tunables.items()
            if before.tunables.get(name, value) != value
        ]


def look() -> Machine:
    """Return the present state of the machine."""
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text("utf-8").splitlines()]
    loops = subprocess.run(["losetup", "--noheadings", "--output", "NAME,BACK-FILE"], capture_output=True, text=True)
    return Machine(frozenset(mounts), frozenset(loops.stdout.splitlines()), dict(_tunables()))


def _tunables() -> list[tuple[str, str]]:
    values = []
    for pattern in _TUNABLES:
        for path in Path("/").glob(pattern[1:]):
            if "/loop" in str(path) or path.name in OTHERS_SET:
                continue
            try:
                values.append((str(path), path.read_text("utf-8").strip()))
            except OSError:  # some can only be written
                continue
    return values


def permit_by_list(directory: Path, user: int) -> bool:
    """Let a user write to a directory by its access list (acl(5)); return False if its file system has none."""
    entries = ((1, 7, -1), (2, 7, user), (4, 5, -1), (16, 7, -1), (32, 5, -1))
    content = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(directory, "system.posix_acl_access", content)
    except OSError:
        return False
    return True
