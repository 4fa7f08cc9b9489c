"""Run a guest with kernel OpenZFS in QEMU's software emulation: boot it, run commands, copy files in and out.

Each boot starts from the system disk as built. Four virtio disks of 1 GiB, /dev/vdb to /dev/vde, are empty at the first
boot and keep the data that reached them before a power cut. The guest listens on a port of 127.0.0.1 only.
"""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(os.environ.get("ZLANG_VM_CACHE", "/var/cache/zlang-test-vm"))
BUILD = Path(__file__).with_name("build.sh")
FIRST = ("nice", "-n", "-5")
"""Of all tests that go on at the same time these take longest, so they go first where they may."""
DISKS = 4
LONGEST_BOOT = 300
"""Seconds; measured: 10 to 25 on a machine with nothing else to do, 46 where 20 processes share two processors."""
LONGEST_COMMAND = 400
"""Seconds; measured: up to 161 where 20 processes share two processors."""
MOST_STOPS = 3
"""A guest that hung or crashed is booted anew so often at most: what stops it in every test must not cost hours."""
CONNECTION_LOST = 255
"""The exit code of ssh where it is not that of the command."""


@dataclass(slots=True)
class Guest:
    """A running guest: the directory of its key and disks, the port of its sshd, and how it is started."""

    at: Path
    port: int
    machine: tuple[str | Path, ...] = ()
    qemu: subprocess.Popen[bytes] | None = None
    stops: int = 0

    def __call__(
        self, command: str, *, check: bool = True, timeout: float = LONGEST_COMMAND
    ) -> subprocess.CompletedProcess[str]:
        """Run a command with the guest's sh as root. A guest that does not answer in time is switched off."""
        return self._reach([*self._ssh("ssh", "-p"), "root@127.0.0.1", command], command, check=check, timeout=timeout)

    def put(self, source: Path, target: str) -> None:
        """Copy a file or directory into the guest."""
        self._reach([*self._ssh("scp", "-P"), "-q", "-r", source, f"root@127.0.0.1:{target}"], f"put {source}")

    def get(self, source: str, target: Path) -> None:
        """Copy a file or directory out of the guest."""
        self._reach([*self._ssh("scp", "-P"), "-q", "-r", f"root@127.0.0.1:{source}", target], f"get {source}")

    def boot_if_off(self) -> None:
        """Boot with empty disks where the guest stopped or was switched off."""
        if self.qemu is not None:
            return
        assert self.stops <= MOST_STOPS, f"the guest stopped {self.stops} times and is not booted again"
        for number in range(1, DISKS + 1):
            with (self.at / f"disk{number}").open("wb") as file:
                file.truncate(1 << 30)
        self.start()

    def start(self) -> None:
        """Boot, and wait until commands can be run."""
        with (self.at / "qemu.log").open("ab") as log:
            self.qemu = subprocess.Popen(self.machine, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + LONGEST_BOOT
        while time.monotonic() < end and self.qemu.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                if _run([*self._ssh("ssh", "-p"), "root@127.0.0.1", "true"], 60).returncode == 0:
                    return
            time.sleep(0.5)
        raise self._stop("cannot be reached after its boot")

    def cut_power(self) -> None:
        """Stop at once: what the guest has not written to its disks is lost."""
        if self.qemu is not None:
            self.qemu.kill()
            self.qemu.wait()
            self.qemu = None
            _run([*self._ssh("ssh", "-p"), "-O", "exit", "guest"], 60)

    def _reach(
        self, words: Sequence[str | Path], command: str, *, check: bool = True, timeout: float = LONGEST_COMMAND
    ) -> subprocess.CompletedProcess[str]:
        assert self.qemu is not None, "the guest is off"
        try:
            done = _run(words, timeout)
        except subprocess.TimeoutExpired:
            raise self._stop(f"took more than {timeout} s for: {command}") from None
        if done.returncode == CONNECTION_LOST:
            with suppress(subprocess.TimeoutExpired):
                self.qemu.wait(5)
                raise self._stop(f"stopped during: {command}")
        if check and done.returncode:
            raise AssertionError(f"{command}\n{done.stdout}{done.stderr}")
        return done

    def _stop(self, why: str) -> AssertionError:
        """Switch the guest off, so that no other test waits for it, and return why with what it printed last."""
        self.cut_power()
        self.stops += 1
        logs = "".join((self.at / name).read_text(errors="replace")[-6000:] for name in ("qemu.log", "console"))
        return AssertionError(f"the guest {why}\n{logs}")

    def _ssh(self, program: str, port: str) -> list[str | Path]:
        options = (
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "LogLevel=ERROR",
            "BatchMode=yes",
            "ConnectTimeout=10",
            # A key exchange takes seconds on the emulated processor, so all commands share one connection.
            "ControlMaster=auto",
            "ControlPersist=600",
            f"ControlPath={self.at / 'connection'}",
        )
        given = [word for option in options for word in ("-o", option)]
        return [program, "-F", "none", "-i", self.at / "key", port, str(self.port), *given]


@contextmanager
def booted(release: str, at: Path) -> Iterator[Guest]:
    """Boot a guest with that release of OpenZFS, built if missing, and end it on exit."""
    made = _built(release)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "guest", "-f", at / "key"], check=True)
    key = (at / "key.pub").read_text().split()[1]
    guest = Guest(at, _free_port())
    words: list[str | Path] = [*FIRST, "qemu-system-x86_64"]
    # Measured: one plain processor is up to twice as fast as two with all features of QEMU. Without a second possible
    # processor QEMU leaves out memory barriers, but its disks work in other threads: after some million requests the
    # interrupt for one was lost, and that disk answered no more.
    words += ["-accel", "tcg", "-cpu", "Nehalem", "-smp", "1,maxcpus=2"]
    words += ["-m", "1536", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    words += ["-serial", f"file:{at / 'console'}", "-kernel", made / "vmlinuz", "-initrd", made / "initrd"]
    # Without no_timer_check, a kernel that misses ticks during boot, as on a busy machine, gives up.
    kernel = "console=ttyS0 root=LABEL=guest rw init=/sbin/guest panic=-1 mitigations=off no_timer_check"
    # QEMU translates code again where it lies at another address: a fork and an exec take 28 ms, and 8 without that.
    kernel += " nokaslr norandmaps"
    # A disk that does not answer for two minutes ends the guest, and the next test boots it anew.
    kernel += " hung_task_panic=1"
    words += ["-append", f"{kernel} guest.key={key}"]
    words += ["-drive", f"file={made / 'disk'},format=raw,if=none,id=root,snapshot=on"]
    words += ["-device", "virtio-blk-pci,drive=root"]
    for number in range(1, DISKS + 1):
        words += [
            "-drive",
            f"file={at / f'disk{number}'},format=raw,if=none,id=d{number},cache=writeback,discard=unmap",
        ]
        words += ["-device", f"virtio-blk-pci,drive=d{number},serial=disk{number}"]
    words += ["-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{guest.port}-:22"]
    words += ["-device", "virtio-net-pci,netdev=net,romfile=", "-device", "virtio-rng-pci"]
    guest.machine = tuple(words)
    try:
        guest.boot_if_off()
        yield guest
    finally:
        guest.cut_power()


def _run(words: Sequence[str | Path], timeout: float) -> subprocess.CompletedProcess[str]:
    """Run a command of this machine."""
    return subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=timeout)


def _built(release: str) -> Path:
    """Return the directory of boot files. Two processes that need the same files at the same time build them once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([*FIRST, BUILD, CACHE, release], check=True)
    return CACHE / release


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
