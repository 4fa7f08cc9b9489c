"""Settings that do not do what they seem to."""

from __future__ import annotations

from fractions import Fraction

from zlang.lint.rule import WARNING, Found, Rules, size
from zlang.lint.trial import Thing, Trial

RULES = Rules()
_ENTRY = 320
_OF_MEMORY = Fraction(1, 8)
"""A quarter of the half that the cache takes."""


def _second(trial: Trial) -> Thing | None:
    return next((thing for thing in trial.beneath() if thing.is_("second_cache")), None)


@RULES.add("ZL032", "l2arc-starved", WARNING)
def second_level_is_starved(trial: Trial) -> Found | None:
    """A second level of a cache gets only what leaves the first.

    Only what the ARC throws out reaches the L2ARC, so `primarycache = metadata` keeps data out of both, whatever
    `secondarycache` says. Measured: 0.5 MB were written to the cache device, and 93.6 MB with `primarycache = all`.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB  cache = 1 }
    dataset work on tank { primarycache = metadata }
    file data on work { size = 1GiB }
    fio reads { rw = randread  bs = 128KiB }
    experiment second { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB  cache = 1 }
    dataset work on tank { primarycache = all }
    file data on work { size = 1GiB }
    fio reads { rw = randread  bs = 128KiB }
    experiment second { on = data  run = reads  cache = cold }
    ```
    """
    keeping, feeding = trial.having("keeps_data"), trial.having("feeds_second")
    second = _second(trial)
    if second is None or keeping is None or feeding is None:
        return None
    if not keeping.is_not("keeps_data") or not feeding.is_("feeds_second"):
        return None
    message = f"no data reach the second cache of `{second.name}`: it gets what the first throws out, which keeps none"
    return Found(keeping, ("keeps_data",), message, "say `primarycache = all`, or leave the cache devices out")


@RULES.add("ZL035", "direct-differs-by-fs", WARNING)
def direct_means_two_things(trial: Trial) -> Found | None:
    """Past the page cache is not past the cache everywhere.

    `direct = on` goes past the page cache of ext4 and xfs, and so to the disk. ZFS has a cache of its own: up to
    0.7 it refuses, up to 2.2 it takes no notice, and from 2.3 on it obeys where the blocks fit its records. A
    comparison of the two with `direct = on` compares a disk with a cache, as a study of 2017 did. Empty the caches
    instead, the same way for all.

    ```zexp wrong also=ZL057
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank
    let target = file on work { size = 1GiB  label = "zfs" } | file on here { size = 1GiB  label = "plain" }
    fio reads { rw = randread  bs = 128KiB  direct = on }
    experiment unlike { on = target  run = reads }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank
    let target = file on work { size = 1GiB  label = "zfs" } | file on here { size = 1GiB  label = "plain" }
    fio reads { rw = randread  bs = 128KiB }
    experiment alike { on = target  run = reads  repeat = 3  cache = cold }
    ```
    """
    run, own = trial.run, trial.having("own_cache")
    if own is None or not own.is_("own_cache") or not run.is_("uncached"):
        return None
    message = f"`{own.name}` has a cache of its own, which going past the page cache may not go past"
    return Found(run, ("uncached",), message, "leave it away, and say `cache = cold`")


@RULES.add("ZL034", "ddt-exceeds-ram", WARNING)
def dedup_table_exceeds_memory(trial: Trial) -> Found | None:
    """A table of deduplication that does not fit into memory.

    Each block that is written is looked for in a table with an entry for every other, some 320 bytes each. Where it
    does not fit into the part of the cache that metadata get, each write reads the table from the disks: a study of
    2011 had 197 IOPS with deduplication and 4,851 without.

    ```zexp wrong
    import fio
    import zfs

    host box { ram = 8GiB }
    dir here on box { path = "." }
    pool tank on here { size = 2048GiB }
    dataset work on tank { dedup = on  recordsize = 8KiB }
    file data on work { size = 1024GiB }
    fio reads { rw = randread  bs = 8KiB }
    experiment table_on_disk { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio
    import zfs

    host box { ram = 8GiB }
    dir here on box { path = "." }
    pool tank on here { size = 2048GiB }
    dataset work on tank { dedup = on  recordsize = 1MiB }
    file data on work { size = 512GiB }
    fio reads { rw = randread  bs = 1MiB }
    experiment table_in_memory { on = data  run = reads  cache = cold }
    ```
    """
    finding, holding, ram = trial.having("dedups"), trial.having("holds"), trial.fact("ram")
    if finding is None or holding is None or not finding.is_("dedups") or not isinstance(ram, Fraction):
        return None
    held, record = holding.number("holds"), finding.number("record")
    if held is None or not record or held / record * _ENTRY <= ram * _OF_MEMORY:
        return None
    entries = held // record
    message = (
        f"{size(held)} in records of {size(record)} are {entries:,} entries of the table that finds equal blocks, some "
        f"{float(entries * _ENTRY / 2**30):.1f} GiB, and there are {size(ram)} of memory"
    )
    return Found(finding, ("dedups",), message, "take larger records")
