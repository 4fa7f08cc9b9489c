"""Test that a plan can be built of every program that `zlang check` accepts, whatever its experiment combines."""

from __future__ import annotations

import random

import pytest

from zlang.check.check import Overrides
from zlang.diagnostics import ProgramError, Severity
from zlang.pipeline import plans, programs
from zlang.source import Source

_THINGS = """
import disks
import events
import filesystems
import fio
import linux
import treatments
import zfs
host two { members = ["a", "b"] }
host old { zfs = "0.8.0" }
host new { zfs = "2.2.0" }
dir here { path = "." }
dir far on two { path = "/srv" }
dir aside on (new | old) { path = "/srv" }
given dir archive { path = "/srv/archive" }
given file dump on archive { called = "dump"  size = 16MiB }
file plain on here { size = 16MiB }
file remote on far { size = 16MiB }
file many on here { size = 16MiB  copies = 2 }
loop one on here { size = 256MiB }
loop four on here { size = 256MiB  count = 4 }
ext4 volume on one
xfs other on one
file stored on volume { size = 16MiB }
file kept on other { size = 16MiB }
pool tank on four { layout = raidz1 }
pool large on aside { size = 1GiB }
dataset books on tank { compression = lz4 | zstd }
dataset shelves on large { compression = lz4 | zstd }
file paged on books { size = 16MiB }
file bound on shelves { size = 16MiB }
md array on four { level = raid5 }
disk spare { id = "/dev/disk/by-id/ata-S"  serial = "S"  size = 1GiB }
fio reads { rw = randread  bs = 4KiB | 8KiB }
fio writes { rw = randwrite  end_fsync = on }
fio mixed { rw = read | write  end_fsync = on }
fio scan on dump { rw = read }
fio placed on stored { rw = read }
fio steps { rw = randread  rate_iops = [100/s for 5s, 200/s for 5s]  time_based = on  runtime = 10s }
fio pair { rw = read  copies = 2 }
shell list { command = "ls"  writes = off }
shell wipe { command = "dd of={spare.block}" }
tunable swap { knob = sysctl("vm.swappiness")  value = 10 | 20 }
tunable swapping { knob = sysctl("vm.swappiness") | sysctl("vm.dirty_ratio")  value = 30 }
"""
_TARGETS = ["plain", "remote", "many", "stored", "kept", "paged", "bound", "dump", "here", "volume", "array", "spare"]
_CHOICES = {
    "run": ["reads", "writes", "mixed", "scan", "placed", "steps", "pair", "list", "wipe"],
    "during": ["none", "trim {}", "scrub {}", "hog {}", "rebuild {}", "scan", "writes", "send {}"],
    "before": ["none", "writes", "fill { until = 80% }", "discard {}", "precondition {}"],
    "cache": ["cold", "hot", "warm", "as_is"],
    "collect": ["vmstat {}", "capacity {}", "zpool_iostat {}", "btrfs_capacity {}"],
    "with": ["swap", "swapping", "spare", "plain", "arc_max { limit = 1GiB }"],
}
_MACHINES = ("a", "b", "old", "new")


def _experiment(seed: int) -> str:
    """Return an experiment with a few drawn fields, as choices of things and lists."""
    drawn = random.Random(seed)
    fields = {"on": drawn.sample(_TARGETS, drawn.randint(1, 2)), "run": drawn.sample(_CHOICES["run"], 2)}
    for name in drawn.sample(sorted(_CHOICES.keys() - {"run"}), drawn.randint(1, 2)):
        fields[name] = drawn.sample(_CHOICES[name], 2)

    def option(name: str) -> str:
        is_list = name not in {"before", "cache"} and drawn.random() < 0.3
        chosen = [drawn.choice(fields[name]) for _ in range(drawn.randint(1, 2))]
        return f"[{', '.join(chosen)}]" if is_list else chosen[0]

    lines = [f"  {name} = {' | '.join({option(name): 0, option(name): 0})}" for name in fields]
    return "experiment drawn {\n" + "\n".join(lines) + "\n}\n"


def _require_plan(text: str) -> bool:
    """Build all trials of a program that `check` accepts, and return whether it does."""
    checked = programs.check(Source("program.zexp", text), Overrides())
    if any(finding.code.severity is Severity.ERROR for finding in plans.report(checked)[0]):
        return False
    (experiment,) = checked.program.experiments.values()
    try:
        for item in plans.plan(checked, experiment, 1, Overrides(), reached=_MACHINES).plan.items():
            assert item is not None
    except ProgramError as error:
        pytest.fail(f"`plan` alone reports: {error.diagnostic.message}\n{text.removeprefix(_THINGS)}")
    return True


@pytest.mark.parametrize("part", range(3))
def test_drawn_experiments(part: int) -> None:
    """One in ten is accepted: most things do not fit together."""
    assert sum(_require_plan(_THINGS + _experiment(seed)) for seed in range(part * 100, part * 100 + 100)) > 3


@pytest.mark.parametrize("fields", ["on = plain  with = [swap, swap]  run = reads"])
def test_single_experiments(fields: str) -> None:
    assert _require_plan(f"{_THINGS}experiment one {{ {fields} }}\n")
