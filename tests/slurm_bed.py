"""Run a private Slurm with several nodes on one machine, in a network namespace reachable only from the test."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from command_line import Zlang
from waiting import wait_for

_CONFIGURATION = """\
ClusterName=zlang
SlurmctldHost={name}(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={at}/munge.socket
CredType=cred/munge
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool.%n
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd.%n.pid
SlurmctldLogFile={at}/slurmctld.log
SlurmdLogFile={at}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
ReturnToService=2
MinJobAge=86400
KillWait=30
PropagateResourceLimits=NONE
NodeName=n[1-{count}] NodeHostname={name} NodeAddr=127.0.0.1 Port=[16818-{last}] CPUs=1 RealMemory=1000
PartitionName=p Nodes=n[1-{count}] Default=YES MaxTime=INFINITE State=UP
"""


@dataclass(frozen=True, slots=True)
class Slurm:
    """The nodes `n1`, `n2`, … with one CPU each."""

    at: Path
    namespace: str

    @property
    def prefix(self) -> tuple[str, ...]:
        """Return the prefix that runs a command in the namespace."""
        return ("nsenter", f"--net=/run/netns/{self.namespace}")

    def __call__(self, *command: str) -> str:
        """Run a Slurm command and return its output."""
        environment = {**os.environ, "SLURM_CONF": str(self.at / "slurm.conf")}
        line = [*self.prefix, *command]
        return subprocess.run(line, env=environment, check=True, capture_output=True, text=True, timeout=60).stdout

    def use(self, zlang: Zlang) -> None:
        """Make a command use this Slurm."""
        zlang.prefix = self.prefix
        zlang.environment["SLURM_CONF"] = str(self.at / "slurm.conf")

    def tasks(self) -> dict[str, str]:
        """Return the node of each pending or running task; empty for a pending one."""
        lines = self("squeue", "--noheader", "--array", "--format=%F_%K|%N").splitlines()
        return dict(line.split("|") for line in lines)

    def lose(self, node: str) -> None:
        """Kill everything on a node, as a power cut does, and mark the node as down."""
        tasks = [number for number in _numbers() if f"SLURMD_NODENAME={node}".encode() in _words(number, "environ")]
        steps = [number for number in map(_parent, tasks) if _words(number, "cmdline")[0].startswith(b"slurmstepd")]
        for number in (int((self.at / f"slurmd.{node}.pid").read_text()), *steps, *tasks):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self("scontrol", "update", f"nodename={node}", "state=down", "reason=lost")


def _numbers() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208


def _words(number: int, name: str) -> list[bytes]:
    with suppress(OSError):
        return Path(f"/proc/{number}/{name}").read_bytes().split(b"\0")
    return [b""]


def _parent(number: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


@contextmanager
def started(nodes: int) -> Iterator[Slurm]:
    """Start munged, slurmctld and a slurmd for each node, and end all of them on exit."""
    with tempfile.TemporaryDirectory(prefix="zlang-slurm-", dir="/var/tmp") as place:
        slurm = Slurm(Path(place), f"zlang-slurm-{secrets.token_hex(4)}")
        subprocess.run(["ip", "netns", "add", slurm.namespace], check=True)
        try:
            slurm.at.chmod(0o755)
            _start(slurm, nodes)
            yield slurm
        finally:
            with suppress(subprocess.SubprocessError):
                slurm("scancel", "--partition=p")
                wait_for(lambda: not slurm.tasks())
            for path in slurm.at.glob("*.pid"):
                _end(path)
            subprocess.run(["ip", "netns", "delete", slurm.namespace], check=True)


def _start(slurm: Slurm, nodes: int) -> None:
    at, configuration = slurm.at, slurm.at / "slurm.conf"
    text = _CONFIGURATION.format(at=at, name=socket.gethostname(), count=nodes, last=16817 + nodes)
    configuration.write_text(text)
    (at / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")  # not used, but slurmd looks for one otherwise
    (at / "state").mkdir()
    (at / "munge.key").write_bytes(secrets.token_bytes(1024))
    (at / "munge.key").chmod(0o400)
    slurm("ip", "link", "set", "lo", "up")
    slurm("ip", "address", "add", "10.66.77.1/32", "dev", "lo")  # getaddrinfo finds nothing without an address
    files = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munged.pid"}
    files |= {"log-file": "munged.log", "seed-file": "munge.seed"}
    slurm("munged", "--force", *(f"--{option}={at / name}" for option, name in files.items()))
    slurm("slurmctld", "-c", "-f", str(configuration))
    for number in range(1, nodes + 1):
        slurm("slurmd", "-f", str(configuration), "-N", f"n{number}")
    wait_for(lambda: slurm("sinfo", "--noheader", "--Node", "--format=%T").split() == ["idle"] * nodes)


def _end(path: Path) -> None:
    """End the daemon whose process ID is in a file."""
    with suppress(OSError, ValueError):
        number = int(path.read_text())
        if path.name.partition(".")[0].encode() in _words(number, "cmdline")[0]:
            os.kill(number, signal.SIGKILL)
            wait_for(lambda: not Path(f"/proc/{number}").exists())
