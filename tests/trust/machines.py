"""Inflict real faults on machines while they measure: `python tests/trust/machines.py`, as root, takes some minutes.

Each fault hits one of three machines during a trial on two of them, or kills the coordinator. Then `zlang resume
--failed` must complete the run: every trial counts once, events have ended, and nothing is left behind.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from beds import Bed, fill, started  # noqa: E402
from command_line import Zlang  # noqa: E402

from zlang.run.events import Start  # noqa: E402

PROGRAM = """
import linux
host both { members = ["san1", "san2"] }
host alone
let where_from = both | alone
kind marks: event {
  needs dir as at
  start  { sh "uname -n >/data/mark-$(basename $(dirname $(dirname $OUT)))" }
  wait   { sh "sleep 1000" }
  verify { sh "test -e /data/mark-$(basename $(dirname $OUT))" }
  stop   { sh "rm -f /data/mark-$(basename $(dirname $OUT))" }
}
dir here on where_from { path = "." }
shell slow { command = "sleep 4; echo done"  writes = off }
vmstat seen {}
experiment e { on = here  run = slow  during = marks { at = 1s }  collect = seen  repeat = 2 }
"""
"""Each machine has a collector, and an event whose mark is outside of what the run creates."""
MACHINES = {"san1": "host1", "san2": "host2", "alone": "host3"}
HOSTS = "".join(
    f'[hosts.{name}]\nssh = "{host}"\ndirectory = "/data/zlang"\nwait = 10\n' for name, host in MACHINES.items()
)
LIAR = '#!/bin/sh\\nif test -e /run/lies; then echo 0000  ./measure.out; else exec /usr/bin/sha256sum "$@"; fi\\n'
"""It is there from the beginning: the shell that sends files remembers where it found the program."""
CLOCK = '#!/bin/sh\\nexec /bin/date -d "+9 seconds" "$@"\\n'


@dataclass(frozen=True)
class Fault:
    """A fault inflicted on host1, and its repair after the given number of seconds."""

    strike: Callable[[Bed], object]
    mend: Callable[[Bed], object]
    seconds: float


def _wrapped(name: str, text: str) -> Fault:
    path = f"/usr/local/bin/{name}"
    return Fault(
        lambda bed: bed.on("host1", f"printf '{text}' >{path}; chmod +x {path}"),
        lambda bed: bed.on("host1", f"rm {path}"),
        8,
    )


FAULTS = {
    "network cut for 5 s": Fault(lambda bed: bed("cut", "host1"), lambda bed: bed("join", "host1"), 5),
    "network cut for 40 s": Fault(lambda bed: bed("cut", "host1"), lambda bed: bed("join", "host1"), 40),
    "sshd killed": Fault(lambda bed: bed("killsshd", "host1"), lambda bed: bed("startsshd", "host1"), 1),
    "machine rebooted": Fault(lambda bed: bed("crash", "host1"), lambda bed: bed("boot", "host1"), 2),
    "machine stalled for 5 s": Fault(lambda bed: bed("stall", "host1"), lambda bed: bed("continue", "host1"), 5),
    "disk full": Fault(
        lambda bed: fill(bed, "host1"),
        lambda bed: bed.on("host1", "rm /data/fill*"),
        8,
    ),
    "clock moved by 9 s": _wrapped("date", CLOCK),
    "hashes are garbage": Fault(
        lambda bed: bed.on("host1", "touch /run/lies"), lambda bed: bed.on("host1", "rm /run/lies"), 8
    ),
}
_UNTIL_THE_EVENT = 2
"""Seconds after which the event has begun on each machine."""
KILLS = (0.5, 1.5, 2.5, 3.5, 5.0, 7.0, 9.0)
"""Seconds after the start of the run at which the coordinator is killed."""


def main() -> int:
    wrong = 0
    with started(3) as bed, tempfile.TemporaryDirectory(dir="/var/tmp", prefix="zlang-faults-") as place:
        for number, (name, fault) in enumerate(FAULTS.items()):
            zlang = _command(Path(place) / f"f{number}", bed)
            bed.on("host1", f"printf '{LIAR}' >/usr/local/bin/sha256sum; chmod +x /usr/local/bin/sha256sum")
            process = zlang.start("run", zlang.program(PROGRAM), "--yes")
            while process.poll() is None and not _is_measuring(zlang):
                time.sleep(0.05)
            time.sleep(_UNTIL_THE_EVENT)
            fault.strike(bed)
            time.sleep(fault.seconds)
            fault.mend(bed)
            _, err = process.communicate()
            wrong += _judge(name, zlang, bed, err)
        for number, seconds in enumerate(KILLS):
            zlang = _command(Path(place) / f"k{number}", bed)
            process = zlang.start("run", zlang.program(PROGRAM), "--yes")
            time.sleep(seconds)
            process.kill()
            _, err = process.communicate()
            wrong += _judge(f"coordinator killed after {seconds} s", zlang, bed, err)
    return 1 if wrong else 0


def _command(at: Path, bed: Bed) -> Zlang:
    at.mkdir()
    zlang = Zlang(at)
    bed.use(zlang)
    (at / "zlang.toml").write_text(HOSTS)
    return zlang


def _is_measuring(zlang: Zlang) -> bool:
    if not list((zlang.at / "runs").glob("*/journal.jsonl")):
        return False
    return any(isinstance(event, Start) and event.step.startswith("measure") for event in zlang.events())


def _judge(name: str, zlang: Zlang, bed: Bed, err: bytes) -> int:
    """Resume a run, and print the faults found afterwards."""
    if list((zlang.at / "runs").glob("*/plan.jsonl")):
        ended = zlang("resume", "--failed", "--yes", code=None)
    else:
        ended = zlang("run", "program.zexp", "--yes", code=None)
    problems = []
    rows = zlang.rows("select host, count(*) as n from trials group by all order by all")
    if rows != [{"host": "alone", "n": 2}, {"host": "san1+san2", "n": 2}]:
        problems.append(f"trials that count: {rows}")
    for host in MACHINES.values():
        if remains := bed.on(host, "ls -A /data | grep -v lost+found"):
            problems.append(f"left on {host}: {remains}")
        if processes := bed.on(host, "grep -lsz '^ZLANG_RUN=' /proc/[0-9]*/environ"):
            problems.append(f"still running on {host}: {processes}")
    reasons = [line for line in (err.decode() + ended.err).splitlines() if "does not count" in line]
    verdict = "; ".join(problems) or "nothing lost, nothing left"
    sys.stdout.write(f"{name}: {verdict} ({'; '.join(reasons) or 'no trial failed'})\n")
    sys.stdout.flush()
    return len(problems)


if __name__ == "__main__":
    sys.exit(main())
