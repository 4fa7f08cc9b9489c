"""Measure several machines, as namespaces with an ssh server each: what it costs to reach them, and their common start.

In: nothing. Out: a line for each figure. It needs root, and what tests/hosts needs. The times are those of the journal,
so run it on a machine that does nothing else; memory is that of the coordinator.

    python bench/coordinator.py
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import measure

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from beds import Bed, started  # noqa: E402 - found only by the line above
from command_line import Zlang  # noqa: E402
from waiting import wait_for  # noqa: E402

from zlang.run.events import Begin, Commit, End, Made, Start  # noqa: E402

TWO_HOSTS = """
host here
host there
let box = here | there
dir at on box { path = "/var/tmp" }
shell empty { command = "true"  writes = off }
experiment steps { on = at  run = empty  repeat = 100 }
"""
GROUP = """
host client { members = ["c1".."c{machines}"] }
dir at on client { path = "/data" }
shell waits { command = "{command}"  writes = off  timeout = 10min }
experiment group { on = at  run = waits  repeat = {repeat} }
"""
LANES = """
{hosts}
let box = {names}
dir at on box {{ path = "/data" }}
shell waits {{ command = "sleep {seconds}"  writes = off }}
experiment lanes {{ on = at  run = waits  repeat = {repeat} }}
"""
SET_UP = """
host client { members = [{names}] }
kind pause: treatment { needs dir as at  apply { sh "sleep 1" } }
dir at on client { path = "/data" }
pause first {}
shell empty { command = "true"  writes = off }
experiment set_up { on = at  before = first  run = empty }
"""
_PEAK = re.compile(r"^VmHWM:\s*([0-9]+) kB", re.MULTILINE)
_CORES = len(os.sched_getaffinity(0))
_OFTEN = 0.05
"""Seconds between two looks at the memory or the processor time of the coordinator."""
_SETTLED, _OBSERVED = 10, 30
"""Seconds after which all machines measure, and seconds in which the coordinator is observed."""


def ready(bed: Bed, place: Path, machines: int, name: str) -> Zlang:
    """The command in a directory of its own, which reaches so many machines."""
    at = place / name
    at.mkdir()
    zlang = Zlang(at)
    bed.use(zlang)
    (at / "zlang.toml").write_text("".join(f'[hosts.c{n}]\nssh = "host{n}"\n' for n in range(1, machines + 1)))
    return zlang


def group(machines: int, command: str, repeat: int) -> str:
    """A program in which a group carries a command out."""
    texts = {"machines": str(machines), "command": command, "repeat": str(repeat)}
    text = GROUP
    for name, value in texts.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def run(zlang: Zlang, text: str) -> float:
    """Run a program to its end; gives the coordinator's largest memory in MiB until the results are ingested."""
    process = zlang.start("run", zlang.program(text), "--yes", "--lanes", "1")
    status, largest = Path(f"/proc/{process.pid}/status"), 0
    while process.poll() is None and not (zlang.at / "results.duckdb").exists():
        largest = max(largest, *map(int, _PEAK.findall(status.read_text())), 0)
        time.sleep(_OFTEN)
    _, errors = process.communicate()
    if not (zlang.at / "runs").is_dir():
        sys.exit(errors.decode())
    return largest / 1024


def share_of_a_core(bed: Bed, place: Path, machines: int) -> float:
    """The processor time of the coordinator for each second in which so many machines measure."""
    zlang = ready(bed, place, machines, "sleep")
    process = zlang.start("run", zlang.program(group(machines, "sleep 60", 1)), "--yes")
    wait_for(lambda: list(zlang.at.glob("runs/*/trials/*/1/a1/clocks")))
    time.sleep(_SETTLED)
    before = _processor_seconds(process.pid)
    time.sleep(_OBSERVED)
    spent = _processor_seconds(process.pid) - before
    process.communicate()
    return spent / _OBSERVED


def _processor_seconds(number: int) -> float:
    words = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def remote_step(bed: Bed, place: Path) -> float:
    """Milliseconds by which a step on another machine takes longer than the same step here: the medians."""
    zlang = ready(bed, place, 0, "steps")
    (zlang.at / "zlang.toml").write_text('[hosts.here]\nlocal = true\n[hosts.there]\nssh = "host1"\n')
    run(zlang, TWO_HOSTS)
    hosts = {trial.place: trial.host for trial in zlang.trials()}
    begun: dict[str, float] = {}
    seconds: dict[str, list[float]] = {"here": [], "there": []}
    for event in zlang.events():
        if isinstance(event, Start) and event.step == "measure":
            begun[event.out] = event.up or 0.0
        elif isinstance(event, End) and event.step == "measure":
            seconds[hosts[event.out.rpartition("/")[0]]].append((event.up or 0.0) - begun[event.out])
    return 1000 * (statistics.median(seconds["there"]) - statistics.median(seconds["here"]))


def skews(bed: Bed, place: Path, machines: int, trials: int) -> list[float]:
    """The milliseconds between the first and the last start of a group, in each trial, by the clock of this machine."""
    zlang = ready(bed, place, machines, "skew")
    run(zlang, group(machines, "true", trials))
    result = []
    for path in zlang.folder().glob("trials/*/*/a1/clocks"):
        ahead = [float(line.split()[1]) for line in path.read_text().splitlines()]
        began = [float((path.parent / f"stream{n}" / "began").read_text()) for n in range(1, machines + 1)]
        at = [instant - offset for instant, offset in zip(began, ahead, strict=True)]
        result.append(1000 * (max(at) - min(at)))
    return sorted(result)


def set_up(bed: Bed, place: Path, machines: int) -> float:
    """The seconds in which a group creates a directory on each machine, and works there for a second."""
    zlang = ready(bed, place, machines, f"set-up-{machines}")
    names = ", ".join(f'"c{number}"' for number in range(1, machines + 1))
    run(zlang, SET_UP.replace("{names}", names))
    starts = [event for event in zlang.events() if isinstance(event, Start) and event.out.startswith("setups/")]
    made = [event for event in zlang.events() if isinstance(event, Made)]
    return max(event.up or 0.0 for event in made) - min(event.up or 0.0 for event in starts)


@dataclass(frozen=True)
class Lanes:
    """Milliseconds for each trial: by the clock, and of processors for the coordinator and for all machines.

    What a run needs before its first trial and after its last one is not in it.
    """

    clock: float
    coordinator: float
    machines: float

    def best_here(self, alone: Lanes, machines: int) -> float:
        """The speed of all, as a multiple of one machine's, here and with a coordinator that takes no processor time.

        All of them share the processors of this computer.
        """
        return min(machines, alone.clock * _CORES / self.machines)

    def best_apart(self, alone: Lanes, machines: int) -> float:
        """The same for this coordinator, with machines that have processors of their own."""
        return min(machines, alone.clock / self.coordinator)


def in_lanes(bed: Bed, place: Path, machines: int, trials: int, seconds: float = 0) -> Lanes:
    """The cost of trials that only wait, on machines that share nothing but this computer."""
    few, many = (_in_lanes(bed, place, machines, repeat, seconds) for repeat in (1, trials // machines))
    on_machines = (many.machines - few.machines) / (trials - machines)
    return Lanes(many.clock / trials, many.coordinator / trials, on_machines)


def _in_lanes(bed: Bed, place: Path, machines: int, repeat: int, seconds: float) -> Lanes:
    """The same for all trials together."""
    zlang = ready(bed, place, machines, f"lanes{machines}-{repeat}-{seconds}")
    names = [f"c{number}" for number in range(1, machines + 1)]
    hosts = "\n".join(f"host {name}" for name in names)
    text = LANES.format(hosts=hosts, names=" | ".join(names), repeat=repeat, seconds=seconds)
    program, before = zlang.program(text), [_busy_seconds(bed, f"host{number}") for number in range(1, machines + 1)]
    process = zlang.start("run", program, "--yes")
    assert process.stdout is not None
    reading = threading.Thread(target=process.stdout.read)
    reading.start()
    wait_for(lambda: any(b'"begin"' in path.read_bytes() for path in zlang.at.glob("runs/*/journal.jsonl")))
    first = last = _processor_seconds(process.pid)
    while process.poll() is None and not (zlang.at / "results.duckdb").exists():
        last = _processor_seconds(process.pid)
        time.sleep(_OFTEN)
    reading.join()
    time.sleep(1)  # the processes of the connections end
    spent = [_busy_seconds(bed, f"host{number}") for number in range(1, machines + 1)]
    begun = [event.up or 0.0 for event in zlang.events() if isinstance(event, Begin)]
    ended = [event.up or 0.0 for event in zlang.events() if isinstance(event, Commit)]
    figures = max(ended) - min(begun), last - first, sum(spent) - sum(before)
    return Lanes(*(1000 * figure for figure in figures))


def _busy_seconds(bed: Bed, host: str) -> float:
    """The processor time of a host's first process, and of all processes that have ended there."""
    outer = (bed.path / host / "pid").read_text().strip()
    init = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()[0]
    words = Path(f"/proc/{init}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print all figures."""
    with tempfile.TemporaryDirectory(prefix="zlang-machines-", dir="/var/tmp") as name, started(16) as bed:
        place = Path(name)
        print(f"load of this machine: {os.getloadavg()[0]:.0f}")
        print(f"a step on another machine takes {remote_step(bed, place):.1f} ms longer than here (median of 100)")
        for seconds, trials in ((0, 1000), (0.05, 200), (0.2, 200)):
            alone, together = (in_lanes(bed, place, machines, trials, seconds) for machines in (1, 8))
            ratio = alone.clock / together.clock
            print(
                f"a trial that waits for {seconds} s: {alone.clock:.0f} ms on one machine, {together.clock:.0f} ms on "
                f"8 that share nothing: 1/{ratio:.1f}; of {_CORES} processors {together.coordinator:.1f} ms for the "
                f"coordinator and {together.machines:.1f} ms for the machine"
            )
            here, apart = together.best_here(alone, 8), together.best_apart(alone, 8)
            print(f"  bounds: 1/{here:.1f} here without the coordinator's work, 1/{apart:.1f} on machines of their own")
        alone_in, all_in = (set_up(bed, place, machines) for machines in (1, 16))
        print(f"work of 1 s that sets up a machine takes {alone_in:.1f} s on one, and {all_in:.1f} s on a group of 16")
        skew = skews(bed, place, 8, 100)
        last = skew[-1 - len(skew) // 100]
        print(f"start skew of 8 machines: median {statistics.median(skew):.1f} ms, p99 {last:.1f} ms")
        print(f"coordinator while 16 machines measure: {100 * share_of_a_core(bed, place, 16):.2f} % of a core")
        command = "test $(uname -n) != host1 || head -c 1G /dev/zero"
        memory = run(ready(bed, place, 2, "output"), group(2, command, 1))
        print(f"coordinator's memory for a step with 1 GiB of output: {memory:.0f} MiB")


if __name__ == "__main__":
    measure.show_help(__doc__)
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{error.stderr}")
