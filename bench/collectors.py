"""Measure the cost of each collector of this machine at its default interval.

In: the commands of the collectors, as a plan has them. Out: the CPU of each, all its processes included, as a share of
one core, and the target.
Usage: python bench/collectors.py [SECONDS]
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measure

from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.plan.plan import Action, Trial
from zlang.source import Source

SECONDS = 30.0
MOST = 0.01
"""Of a core: what the documentation promises."""
PROGRAM = """
import linux
import zfs
experiment watched {{ collect = [{collectors}] }}
"""


def collectors() -> list[str]:
    """Those that can be carried out here; of ZFS only where it runs."""
    always = ["diskstats", "meminfo", "pressure", "vmstat", "iostat", "mpstat"]
    has_zfs = any(Path(place).exists() for place in ("/proc/spl/kstat/zfs/arcstats", "/zfs-kstat/zfs/arcstats"))
    return [*always, *(["arcstats", "zpool_iostat"] if has_zfs and shutil.which("zpool") else [])]


def commands() -> dict[str, str]:
    """The command of each collector, as it is planned."""
    text = PROGRAM.format(collectors=", ".join(f"{name} {{}}" for name in collectors()))
    checked = programs.check(Source("program.zexp", text), Overrides())
    assert checked.is_sound, [finding.message for finding in checked.findings]
    (experiment,) = checked.program.experiments.values()
    plan = plans.plan(checked, experiment, 1, Overrides()).plan
    (trial,) = (item for item in plan.items() if isinstance(item, Trial))
    return {step.name.rpartition(".")[2]: step.command for step in trial.steps if step.action is Action.COLLECT}


def shares(wanted: dict[str, str], seconds: float, scratch: Path) -> dict[str, float]:
    """CPU seconds a second of each; they watch at the same time, and are ended as a run ends them."""
    began = time.monotonic()
    watching = {}
    for name, command in wanted.items():
        with (scratch / f"{name}.out").open("wb") as out:
            words, setting = ["sh", "-c", command], {**measure.environment(), "OUT": str(scratch), "RUN": "bench"}
            watching[name] = subprocess.Popen(words, stdout=out, env=setting, start_new_session=True)
    time.sleep(seconds)
    cost_by_name = {}
    for name, process in watching.items():
        os.killpg(process.pid, signal.SIGTERM)
        _, status, used = os.wait4(process.pid, 0)  # what a shell has waited for is counted with it
        process.returncode = os.waitstatus_to_exitcode(status)
        assert (scratch / f"{name}.out").stat().st_size > 0, f"{name} printed nothing"
        cost_by_name[name] = (used.ru_utime + used.ru_stime) / (time.monotonic() - began)
    return cost_by_name


def main() -> int:
    """Measure, print, and say whether all stay below the target."""
    seconds = float(sys.argv[1]) if sys.argv[1:] else SECONDS
    with tempfile.TemporaryDirectory() as scratch:
        cost_by_name = shares(commands(), seconds, Path(scratch))
    return measure.verdict(
        [measure.Check(name, 100 * share, "%", "of a core", 100 * MOST) for name, share in sorted(cost_by_name.items())]
    )


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
