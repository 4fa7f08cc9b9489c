"""Settings that do not do what they seem to."""

from __future__ import annotations

from fractions import Fraction

from zlang.lint.rule import NOTE, WARNING, Found, Rules, size
from zlang.lint.trial import Thing, TrialView

RULES = Rules()
_ENTRY = 320
_MANY = 3
"""Of fewer files it is only known that they are several."""
_UNLIKE = {
    "checks_data": "has checksums of its data",
    "compresses": "compresses",
    "ignores_sync": "says that writes are on the disk before they are",
}
_OF_MEMORY = Fraction(1, 8)
"""A quarter of the half that the cache takes."""


def _second(trial: TrialView) -> Thing | None:
    return next((thing for thing in trial.beneath() if thing.is_("second_cache")), None)


@RULES.add("ZL032", "l2arc-starved", WARNING)
def second_level_is_starved(trial: TrialView) -> Found | None:
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
def direct_means_two_things(trial: TrialView) -> Found | None:
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
    run, own, machine, keeping = trial.run, trial.having("own_cache"), trial.machine, trial.having("record")
    if own is None or not own.is_("own_cache") or not run.is_("uncached"):
        return None
    if machine is not None and machine.is_("passes_own_cache") and keeping is not None:
        block, record = run.number("block"), keeping.number("record")
        if run.is_("modifies") or (block and record and block % record == 0):
            return None  # it goes past the cache; of writes that do not fill a record another rule speaks
    message = f"`{own.name}` has a cache of its own, which going past the page cache may not go past"
    return Found(run, ("uncached",), message, "leave it away, and say `cache = cold`")


@RULES.add("ZL034", "ddt-exceeds-ram", WARNING, of_machine=True)
def dedup_table_exceeds_memory(trial: TrialView) -> Found | None:
    """A table of deduplication that does not fit into memory.

    Each block that is written is looked for in a table with an entry for every other, some 320 bytes each. Where it
    does not fit into the part of the cache that metadata get, each write reads the table from the disks: a study of
    2011 had 197 IOPS with deduplication and 4,851 without. Blocks of which it is known that they repeat count once.

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
    if held is None or not record:
        return None
    entries = held * (1 - (holding.number("repeats") or 0)) // record
    if entries * _ENTRY <= ram * _OF_MEMORY:
        return None
    message = (
        f"{size(held)} in records of {size(record)} are {entries:,} entries of the table that finds equal blocks, some "
        f"{float(entries * _ENTRY / 2**30):.1f} GiB, and there are {size(ram)} of memory"
    )
    return Found(finding, ("dedups",), message, "take larger records")


@RULES.add("ZL020", "dedup-direct-io", WARNING, of_machine=True)
def past_the_table(trial: TrialView) -> Found | None:
    """What is written past the cache is not looked for.

    OpenZFS from 2.3 on writes past the ARC where `direct = on`, and such blocks are not looked for in the table of
    deduplication (zfsprops(7), direct): the ratio is 1 whatever the data are.

    ```zexp wrong
    import fio
    import zfs

    host box { zfs = "2.3.1" }
    dir here on box { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { dedup = on }
    file data on work { size = 1GiB }
    fio writes { rw = write  bs = 128KiB  direct = on }
    experiment unseen { on = data  run = writes }
    ```

    ```zexp
    import fio
    import zfs

    host box { zfs = "2.3.1" }
    dir here on box { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { dedup = on }
    file data on work { size = 1GiB }
    fio writes { rw = write  bs = 128KiB  end_fsync = on }
    experiment seen { on = data  run = writes }
    ```
    """
    run, machine, finding = trial.run, trial.machine, trial.having("dedups")
    if machine is None or finding is None or not finding.is_("dedups") or not machine.is_("passes_own_cache"):
        return None
    if not run.is_("uncached") or not run.is_("modifies"):
        return None
    message = f"what goes past the cache is not looked for in the table of `{finding.name}`: nothing is kept once"
    return Found(run, ("uncached",), message, "leave it away, and say `end_fsync = on`")


@RULES.add("ZL036", "fallocate-on-zfs", WARNING)
def promises_are_not_kept(trial: TrialView) -> Found | None:
    """Blocks that cannot be promised.

    A file system that writes each block to a new place cannot keep one free for it: ZFS refused to up to 0.8, makes a
    hole since 2.0 (`zpl_fallocate_common`), and zfs-fuse refuses (measured). What is measured is not what is measured
    of a file system that keeps the promise.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank
    file data on work { size = 1GiB }
    fio writes { rw = write  bs = 128KiB  fallocate = posix  end_fsync = on }
    experiment promised { on = data  run = writes }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank
    file data on work { size = 1GiB }
    fio writes { rw = write  bs = 128KiB  end_fsync = on }
    experiment written { on = data  run = writes }
    ```
    """
    run = trial.run
    keeping = next((thing for thing in trial.beneath() if thing.is_("refuses_promises")), None)
    if keeping is None or not run.is_("promises"):
        return None
    message = f"`{keeping.name}` cannot keep blocks free for a file: it refuses, or makes a hole"
    return Found(run, ("promises",), message, "leave it away: nothing is promised then")


@RULES.add("ZL037", "atime-writes", NOTE)
def reading_writes(trial: TrialView) -> Found | None:
    """Reading that writes.

    Where the time of access of a file is kept, to read a file is to write to it, once for each: over many files that
    is a load of its own, which a study of 2012 to 2014 turned off. Of a single file next to nothing is written, so
    nothing is said.

    ```zexp wrong
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB }
    ext4 volume on disk { atime = strictatime }
    corpus sources on volume { files = 10000 }
    shell search { command = "grep -r word . || true"  writes = off }
    experiment dated { on = sources  run = search  cache = cold }
    ```

    ```zexp
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB }
    ext4 volume on disk { atime = noatime }
    corpus sources on volume { files = 10000 }
    shell search { command = "grep -r word . || true"  writes = off }
    experiment undated { on = sources  run = search  cache = cold }
    ```
    """
    dating, holding = trial.having("dates_reads"), trial.having("files")
    many = holding.number("files") if holding else None
    if dating is None or not dating.is_("dates_reads") or not many or many == 1 or not trial.run.is_not("modifies"):
        return None
    what = "each file that is read" if many < _MANY else f"each of {int(many):,} files that are read"
    message = f"{what} is written to as well, to keep the time of it"
    return Found(dating, ("dates_reads",), message, "turn it off, or make it a factor")


@RULES.add("ZL038", "unequal-fs-options", NOTE)
def unlike_besides(trial: TrialView) -> Found | None:
    """File systems that are unlike in more than their name.

    One checks its data and another does not, one compresses, one says that data are on the disk before they are: what
    is compared is that, too. It is a note, because not every file system can do without, or with; what is said for one
    of them (`checksum = off`, or `checksum = on`) is meant, and nothing is said of it, nor where only capacity is
    looked at.

    ```zexp wrong
    import filesystems
    import fio

    dir here { path = "." }
    loop disk on here { size = 2GiB }
    ext4 plain on disk
    btrfs tree on disk
    let volume = plain | tree
    file data on volume { size = 1GiB }
    fio reads { rw = randread }
    experiment unlike { on = data  run = reads  cache = cold  repeat = 3 }
    ```

    ```zexp
    import filesystems
    import fio

    dir here { path = "." }
    loop disk on here { size = 2GiB }
    ext4 plain on disk
    btrfs tree on disk { datasum = off }
    let volume = plain | tree
    file data on volume { size = 1GiB }
    fio reads { rw = randread }
    experiment alike { on = data  run = reads  cache = cold  repeat = 3 }
    ```
    """
    first, run = trial.first_target, trial.run
    if first is None or not (run.is_("reads") or run.is_("modifies")):
        return None
    for trait, does in _UNLIKE.items():
        here = trial.having(trait)
        other = next((thing for thing in first.stack() if thing.trait(trait) is not None), None)
        if here is None or other is None or here.instance.kind is other.instance.kind:
            continue
        if here.trait(trait) == other.trait(trait) or here.is_said(trait) or other.is_said(trait):
            continue
        one, another = (here, other) if here.is_(trait) else (other, here)
        message = f"`{one.name}` {does}, and `{another.name}` does not: that is compared, too"
        return Found(here, (trait,), message, f"say it where it can be said: `{one.word(trait)} = …`")
    return None


@RULES.add("ZL046", "sync-writes-and-slog", WARNING)
def stability_is_only_said(trial: TrialView) -> Found | None:
    """Writes that have to be on the disk, and what that costs.

    Each such write waits for the log of the file system: a study of 2011 had 1,086 IOPS over NFS, and 2,309 with a
    server that said so before it was true. Where it is only said, other semantics are measured, and a loss of power
    loses what was confirmed. Where the log lies on the same devices as the data, that is what is measured.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { sync = disabled  recordsize = 8KiB }
    file data on work { size = 1GiB }
    fio commits { rw = randwrite  bs = 8KiB  fsync = 1 }
    experiment said { on = data  run = commits }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB  log = stripe(1) }
    dataset work on tank { recordsize = 8KiB }
    file data on work { size = 1GiB }
    fio commits { rw = randwrite  bs = 8KiB  fsync = 1 }
    experiment done { on = data  run = commits }
    ```
    """
    run = trial.run
    if not run.is_("modifies") or not (run.is_("stable") or run.is_("synced")):
        return None
    untrue = next((thing for thing in trial.beneath() if thing.is_("ignores_sync")), None)
    if untrue is not None:
        message = f"`{untrue.name}` says that a write is on the disk before it is: this is not comparable with others"
        return Found(untrue, ("ignores_sync",), message, "never rank it with what waits, or let it wait")
    log = trial.having("log_device")
    if log is None or not log.is_not("log_device") or not run.is_("stable"):
        return None
    message = f"each write waits for the log of `{log.name}`, which lies on the same devices as the data"
    return Found(log, ("log_device",), message, "give the log devices of its own, or make that a factor")
