"""Check that a load whose data were in the ARC is not cold, although the pool was verified to be. Needs root."""

from __future__ import annotations

import pytest
from private_daemon import ZfsFuse
from refilling import REFILLED

POOL = """
import fio
import zfs
dir here { path = "." }
pool tank on here { size = 64MiB }
dataset volume on tank { compression = off | gzip  recordsize = 16KiB }
file data on volume { size = 8MiB  content = %s }
"""


def whys(zfs_fuse: ZfsFuse, content: str, experiment: str) -> list[str]:
    """Return the reasons why cold trials of a file on a pool do not count."""
    zfs_fuse.run(REFILLED + POOL % content + experiment, code=None)
    return zfs_fuse.failed()


@pytest.mark.parametrize("load", ["rw = randread  bs = 16KiB", "rw = read  bs = 4KiB  ioengine = mmap"])
def test_a_refilled_pool_is_not_cold(zfs_fuse: ZfsFuse, load: str) -> None:
    failed = whys(
        zfs_fuse,
        "random",
        f"fio load {{ {load} }}\nexperiment one {{ on = data  run = load  cache = refilled | cold }}",
    )
    assert len(failed) == 2
    assert all("bytes that the workload read came from tank, not at least 4,194,304" in why for why in failed)
    counted = "select one_cache, cache_state, count(*) from trials group by all"
    assert zfs_fuse.answers(counted) == [["cold", "cold", 2]]


def test_trials_that_may_read_from_the_arc_count(zfs_fuse: ZfsFuse) -> None:
    loads = [
        "rw = randread  bs = 16KiB  time_based = on  runtime = 1s",
        "rw = randread  bs = 4KiB  numjobs = 4",
        "rw = randrw  bs = 64KiB  rwmixread = 70%",
        "rw = randread  bs = 16KiB  norandommap = on",
        'rw = randread  bs = 4KiB  random_distribution = "zipf:1.2"',
    ]
    fios = "".join(f"fio load{n} {{ {load} }}\n" for n, load in enumerate(loads))
    names = " | ".join(f"load{n}" for n in range(len(loads)))
    contents = "random | compressible(80%)"
    experiment = f"{fios}experiment one {{ on = data  run = {names}  cache = cold }}"
    assert whys(zfs_fuse, contents, experiment) == []
