"""Run several hosts on one machine: network namespaces, each with its own sshd, reachable only from the test."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from command_line import Zlang

SCRIPT = Path(__file__).parent / "hosts" / "hosts.sh"


@dataclass(frozen=True, slots=True)
class Bed:
    """Hosts `host1`, `host2`, …, each with its own disk at /data."""

    path: Path

    def __call__(self, *arguments: str, code: int | None = 0) -> str:
        """Run a command of hosts.sh and return its output."""
        done = subprocess.run(
            ["sh", SCRIPT, *arguments],
            env={**os.environ, "BED": str(self.path)},
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert code is None or done.returncode == code, f"{arguments}: {done.returncode}\n{done.stderr}"
        return done.stdout

    def on(self, host: str, command: str) -> str:
        """Return the output of a shell command in a host, without ssh."""
        return self("exec", host, "sh", "-c", command, code=None).strip()

    def processes(self, host: str) -> int:
        """Count the processes of a host."""
        (line,) = (line for line in self("status").splitlines() if line.startswith(f"{host} "))
        return int(line.split()[2])

    def use(self, zlang: Zlang) -> None:
        """Run a command in the hub, where ssh knows the hosts."""
        home = zlang.at.parent / f"home-{zlang.at.name}"
        (home / ".ssh").mkdir(parents=True, mode=0o700)
        (home / ".ssh" / "config").write_text((self.path / "config").read_text())
        zlang.environment["HOME"] = str(home)
        zlang.prefix = ("nsenter", f"--net=/run/netns/{self.path.name}-hub")


@contextmanager
def started(hosts: int, *options: str) -> Iterator[Bed]:
    """Start hosts, and remove all of them on exit."""
    with tempfile.TemporaryDirectory(prefix="zlang-bed-", dir="/var/tmp") as place:
        bed = Bed(Path(place) / Path(place).name)
        bed("up", str(hosts), *options)
        try:
            yield bed
        finally:
            bed("down")


def fill(bed: Bed, host: str) -> None:
    """Fill the disk of a host completely; writes of 1 MiB fail while smaller blocks are still free.

    What runs there may remove files meanwhile, so the disk is filled again until nothing can be written.
    """
    for attempt in range(10):
        files = f"/data/fill{attempt}.$n"
        bed.on(host, f"for n in 1M 1k 1; do dd if=/dev/zero of={files} bs=$n; sync; done 2>/dev/null")
        if bed.on(host, "{ echo x >/data/fill; } 2>/dev/null; cat /data/fill") == "":
            return
        bed.on(host, ": >/data/fill")
    raise AssertionError(f"the disk of {host} cannot be filled")
