"""Act as others who use a device that a run may overwrite, for `test_matrix.py`: `python strikes.py DIRECTORY STATE…`.

Each state is created as common tools would create it, by opening devices exclusively: a strike is denied if the device
is held. A device that is taken is recorded with its hash, which must not change from then on.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
SIZE = 8 * MIB
PAGE = os.sysconf("SC_PAGE_SIZE")
SWAP = 16 * PAGE
LET_GO = Path(__file__).resolve().parents[1] / "let_go.sh"


@dataclass(frozen=True, slots=True)
class Pair:
    """A device that may be overwritten, and a bystander's, in the directory of a matrix."""

    at: Path
    state: str

    @property
    def image(self) -> Path:
        """The file of the device."""
        return self.at / "images" / self.state

    @property
    def bystander(self) -> Path:
        """The file of somebody else's device of the same size, which has data where no label lies."""
        return self.at / "bystanders" / self.state

    @property
    def link(self) -> Path:
        """The link by which a program names the device."""
        return self.at / "by-id" / self.state

    @property
    def mounted(self) -> Path:
        """The place where a strike mounts the device."""
        return self.at / "mounted" / self.state

    @property
    def taken(self) -> Path:
        """Holds the hash of the device after a strike that succeeded."""
        return self.at / "taken" / self.state

    @property
    def denied(self) -> Path:
        """Holds why a strike failed."""
        return self.at / "denied" / self.state

    @property
    def device(self) -> Path:
        """The device node."""
        return self.node(self.image)

    def node(self, of: Path) -> Path:
        """The loop device that a file was attached to."""
        return Path(json.loads((self.at / "nodes.json").read_text())[str(of)])

    def digest(self) -> str:
        """Return the hash of the device's content, without pages that the kernel may swap to at any moment."""
        with suppress(OSError), self.device.open("rb") as file:
            os.fsync(file.fileno())
        content = bytearray(self.image.read_bytes())
        if self.state == "swap":
            content[PAGE:SWAP] = bytes(SWAP - PAGE)
        return hashlib.sha256(content).hexdigest()


class Denied(Exception):
    """Another process holds the device."""


def say(*words: object) -> str:
    """Run a command that must succeed, and return its output."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise Denied(f"{words[0]}: {done.stderr}")
    return done.stdout.strip()


def put(pair: Pair, content: bytes, at: int = 0) -> None:
    """Write to a device as mkfs does."""
    handle = os.open(pair.device, os.O_RDWR | os.O_EXCL)
    try:
        os.pwrite(handle, content, at)
        os.fsync(handle)
    finally:
        os.close(handle)


def leave(words: Sequence[str], pair: Pair) -> None:
    """Start a process that signals readiness by creating a file, and lasts until it is killed."""
    ready = pair.at / "ready" / pair.state
    process = subprocess.Popen(
        [*words, str(ready)],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"]},  # without the mark of the run, which ends what bears it
    )
    (pair.at / "processes" / pair.state).write_text(str(process.pid))
    while not ready.exists():
        if process.poll() is not None:
            raise Denied("busy")
        time.sleep(0.01)


def keep_open(pair: Pair, flags: str) -> None:
    """Keep the device open in a process."""
    code = f"import os, sys, time, pathlib; os.open({str(pair.device)!r}, {flags}); pathlib.Path(sys.argv[1]).touch()"
    leave([sys.executable, "-I", "-S", "-c", f"{code}; time.sleep(600)"], pair)


def make_file_system(pair: Pair) -> None:
    """Create a file system in the usual way."""
    say("mke2fs", "-q", "-t", "ext2", "-E", "lazy_itable_init=0", pair.device)


def mount(pair: Pair) -> None:
    """Make a file system with a file, and mount it."""
    make_file_system(pair)
    pair.mounted.mkdir()
    say("mount", pair.device, pair.mounted)
    (pair.mounted / "precious").write_text("theirs")
    say("sync", "-f", pair.mounted)
    say("mount", "-o", "remount,ro", pair.mounted)


def mount_elsewhere(pair: Pair) -> None:
    """Mount a file system only in another mount namespace, which holds no other mount of the tests."""
    mount(pair)
    script = f'sh {LET_GO} {pair.mounted}; touch "$0"; exec sleep 600'
    leave(["unshare", "--mount", "sh", "-c", script], pair)
    say("umount", pair.mounted)


def bind_mount(pair: Pair) -> None:
    """Mount a directory of a file system, but not its root."""
    make_file_system(pair)
    pair.mounted.mkdir()
    say("mount", pair.device, pair.mounted)
    (pair.mounted / "inner").mkdir()
    say("mount", "--bind", pair.mounted / "inner", pair.mounted)
    say("sync", "-f", pair.mounted)
    say("mount", "-o", "remount,ro", pair.mounted)


def swap(pair: Pair) -> None:
    """Make the kernel swap to the device."""
    say("mkswap", pair.device, SWAP // 1024)
    say("swapon", pair.device)


def put_table(pair: Pair) -> None:
    """Create a partition table with one partition."""
    table = bytearray(512)
    table[446:462] = bytes([0, 0, 0, 0, 0x83, 0, 0, 0]) + (2048).to_bytes(4, "little") + (8192).to_bytes(4, "little")
    table[510:512] = b"\x55\xaa"
    put(pair, bytes(table))


def mount_partition(pair: Pair) -> None:
    """Mount a partition of the device."""
    put_table(pair)
    say("partx", "--update", pair.device)
    part = Path(f"{pair.device}p1")
    say("mke2fs", "-q", "-t", "ext2", "-E", "lazy_itable_init=0", part)
    pair.mounted.mkdir()
    say("mount", "-o", "ro", part, pair.mounted)


def detach(pair: Pair) -> None:
    """Detach the device from its file; if it is open, this happens when it is closed."""
    say("losetup", "--detach", pair.device)
    if Path(f"/sys/block/{pair.device.name}/loop/backing_file").exists():
        raise Denied("somebody has it")


def attach_another(pair: Pair) -> None:
    """Give the device the bystander's file: another serial number under the same name."""
    detach(pair)
    say("losetup", pair.device, pair.bystander)


def retarget(pair: Pair) -> None:
    """Point the link to the bystander."""
    pair.link.unlink()
    pair.link.symlink_to(pair.node(pair.bystander))


def replace_node(pair: Pair) -> None:
    """Replace the device's node with the bystander's."""
    number = pair.node(pair.bystander).stat().st_rdev
    pair.device.rename(f"{pair.device}-aside")
    os.mknod(pair.device, 0o600 | 0o060000, number)


def replace_link_by_node(pair: Pair) -> None:
    """Replace the link with the bystander's node."""
    number = pair.node(pair.bystander).stat().st_rdev
    pair.link.unlink()
    os.mknod(pair.link, 0o600 | 0o060000, number)


def link_to_file(pair: Pair) -> None:
    """Point the link to the bystander's file."""
    pair.link.unlink()
    pair.link.symlink_to(pair.bystander)


def put_under_loop(pair: Pair) -> None:
    """Attach another loop device to this device."""
    (pair.at / "loops" / pair.state).write_text(say("losetup", "--find", "--show", pair.device))


def make_read_only(pair: Pair) -> None:
    """Make the kernel refuse writes to the device."""
    say("blockdev", "--setro", pair.device)


def resize(pair: Pair, size: int) -> None:
    """Change the size of the device."""
    os.truncate(pair.image, size)
    say("losetup", "--set-capacity", pair.device)


MD = bytes.fromhex("fc4e2ba901000000").ljust(256, b"m")
LVM = b"LABELONE".ljust(24, b"\0") + b"LVM2 001"
UBERBLOCK = (0x00BAB10C).to_bytes(8, "little").ljust(1024, b"\0")

IN_USE: dict[str, Callable[[Pair], None]] = {
    "mounted": mount,
    "mounted-elsewhere": mount_elsewhere,
    "bind-mounted": bind_mount,
    "swap": swap,
    "mounted-partition": mount_partition,
    "held": lambda pair: keep_open(pair, "os.O_RDWR | os.O_EXCL"),
}
SIGNED: dict[str, Callable[[Pair], None]] = {
    "file-system": make_file_system,
    "luks": lambda pair: put(pair, b"LUKS\xba\xbe\x00\x01".ljust(512, b"\0")),
    "md-member": lambda pair: put(pair, MD, 4096),
    "physical-volume": lambda pair: put(pair, LVM, 512),
    "btrfs-member": lambda pair: put(pair, b"_BHRfS_M", 65536 + 64),
    "zfs-label": lambda pair: put(pair, UBERBLOCK * 128, 131072),
    "zfs-label-at-the-end": lambda pair: put(pair, UBERBLOCK * 128, SIZE - 131072),
    "partition-table": put_table,
    "data": lambda pair: put(pair, b"somebody's data", 4096),
    "data-at-the-end": lambda pair: put(pair, b"somebody's data", SIZE - 15),
}
ELSEWHERE: dict[str, Callable[[Pair], None]] = {
    "another-link": retarget,
    "another-node": replace_node,
    "node-for-link": replace_link_by_node,
    "link-to-file": link_to_file,
    "no-link": lambda pair: pair.link.unlink(),
}
CHANGED: dict[str, Callable[[Pair], None]] = {
    "open": lambda pair: keep_open(pair, "os.O_RDWR"),
    "file-of-a-loop": put_under_loop,
    "another-serial": attach_another,
    "grown": lambda pair: resize(pair, SIZE + MIB),
    "shrunk": lambda pair: resize(pair, SIZE - MIB),
    "read-only": make_read_only,
    "gone": detach,
}
STATES = {**IN_USE, **SIGNED, **ELSEWHERE, **CHANGED}
THEIRS = {*IN_USE, *SIGNED}
"""The states in which something on the device is somebody else's."""


def strike(pair: Pair) -> None:
    """Create a state; record the hash of a device that was taken, or the reason why the strike was denied."""
    try:
        STATES[pair.state](pair)
    except (Denied, OSError) as error:
        pair.denied.write_text(str(error))
        return
    pair.taken.write_text(pair.digest() if pair.state in THEIRS else "")


def end(process: int) -> None:
    """Kill a process, and wait until it has closed its files."""
    handle = os.pidfd_open(process)
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        select.select([handle], [], [], 60)
    finally:
        os.close(handle)


def undo(pair: Pair) -> None:
    """Undo every change."""
    aside = Path(f"{pair.device}-aside")
    if aside.is_block_device():
        aside.replace(pair.device)
    with suppress(OSError):
        end(int((pair.at / "processes" / pair.state).read_text()))
    if pair.state in IN_USE:
        for words in (
            ("umount", pair.mounted),
            ("umount", pair.mounted),
            ("swapoff", pair.device),
        ):
            subprocess.run(words, capture_output=True, check=False)
    elif pair.state == "read-only":
        subprocess.run(("blockdev", "--setrw", pair.device), capture_output=True, check=False)
    loop = pair.at / "loops" / pair.state
    if loop.exists():
        subprocess.run(["losetup", "--detach", loop.read_text()], capture_output=True, check=False)


def attach(image: Path, *options: str) -> Path:
    """Give a file a loop device, which has no partition of an earlier one, and leaves none to a later one."""
    return Path(say("losetup", "--find", "--show", "--partscan", *options, image))


def make(at: Path, states: list[str]) -> list[Pair]:
    """Make a pair of devices for each state: one that is blank, and one with data that nobody may touch."""
    for name in ("images", "bystanders", "by-id", "mounted", "taken", "denied", "processes", "ready", "loops"):
        (at / name).mkdir()
    nodes: dict[str, str] = {}
    pairs = [Pair(at, state) for state in states]
    for pair in pairs:
        for file, content in ((pair.image, b""), (pair.bystander, bytes(MIB) + b"precious" * 8192)):
            file.write_bytes(content)
            os.truncate(file, SIZE)
            if file == pair.image or pair.state in {"another-link", "another-node", "node-for-link"}:
                nodes[str(file)] = str(attach(file))
        pair.link.symlink_to(nodes[str(pair.image)])
    (at / "nodes.json").write_text(json.dumps(nodes))
    return pairs


def remove(pairs: list[Pair]) -> None:
    """Undo all strikes, and detach all devices."""
    for pair in pairs:
        undo(pair)
    (at,) = {pair.at for pair in pairs}
    for line in say("losetup", "--list", "--noheadings", "--raw", "--output", "NAME,BACK-FILE").splitlines():
        name, _, file = line.partition(" ")
        if file.startswith(f"{at}/"):
            subprocess.run(["losetup", "--detach", name], capture_output=True, check=False)


if __name__ == "__main__":
    for state in sys.argv[2:]:
        strike(Pair(Path(sys.argv[1]), Path(state).name))
