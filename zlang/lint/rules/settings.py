"""Rules about settings that do not do what they seem to do."""

from __future__ import annotations

from fractions import Fraction

from zlang.lint.rule import NOTE, WARNING, Rules, TrialFinding, size, write
from zlang.lint.trial import Thing, TrialView

RULES = Rules()
_ENTRY = 320
_MANY = 3
"""With fewer files, only their being several is known."""
_UNLIKE = {
    "checks_data": "verifies checksums of its data",
    "compresses": "compresses",
    "ignores_sync": "reports writes as stable before they are",
}
_OF_MEMORY = Fraction(1, 8)
"""The cache takes half of the memory, and metadata a quarter of that."""


def _second(trial: TrialView) -> Thing | None:
    return next((thing for thing in trial.beneath if thing.is_("second_cache")), None)


@RULES.add("ZL032", "l2arc-starved", WARNING)
def second_level_is_starved(trial: TrialView) -> TrialFinding | None:
    """The second cache level gets only what leaves the first.

    Only data that the ARC evicts reach the L2ARC. `primarycache = metadata` therefore keeps data out of both,
    whatever `secondarycache` says. Measured: 0.5 MB were written to the cache device, and 93.6 MB with `primarycache
    = all`.

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
    message = f"no data reach the second cache level of `{second.name}`, because the first level keeps no data"
    hint = ", or ".join(filter(None, (write(keeping.advice("to_keep_data")), "remove the cache devices")))
    return TrialFinding(keeping, ("keeps_data",), message, hint)


@RULES.add("ZL035", "direct-differs-by-fs", WARNING)
def direct_means_two_things(trial: TrialView) -> TrialFinding | None:
    """`direct = on` does not bypass the cache on every file system.

    On ext4 and xfs, `direct = on` bypasses the page cache and reaches the disk. ZFS has its own cache. Up to 0.7 it
    rejects direct I/O, and up to 2.2 it ignores the flag. From 2.3 on it honours the flag if the blocks fill whole
    records. With `direct = on`, a comparison of the two compares a disk with a cache, as a study of 2017 did. Empty the
    caches instead, in the same way for all. On a volume (`zvol`), it bypasses the page cache above the volume, but not
    the ARC.

    Since Linux 6.14, and in later releases of 6.12, btrfs copies direct writes to the page cache if it stores checksums
    of data, and each waits for the one before. Measured on Linux 6.18 with `iodepth = 16`: 0.6 writes were in flight,
    and 11.6 with `datasum = off`.

    btrfs reads compressed data through the page cache, even with `direct = on`. Measured on a file of 96 MiB: the p99
    of such reads was 43 µs, and 3 ms with data that cannot be compressed.

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
    first = trial.on_first_target
    message = "some targets use direct I/O and others the page cache, so the comparison includes that cache"
    if first is not None and run.trait("uncached") != first.run.trait("uncached"):
        return TrialFinding(run, ("uncached",), message, "use the same for all targets, or make it a separate factor")
    if trial.is_tied_to_target("uncached"):
        return TrialFinding(run, ("uncached",), message, "remove the condition that ties it to the target")
    copying = trial.having("copies_direct")
    if (
        copying is not None
        and copying.is_("copies_direct")
        and run.is_("uncached")
        and run.is_("modifies")
        and not (machine is not None and machine.is_("leaves_direct"))
    ):
        message = (
            f"`{copying.name}` stores checksums, so it copies direct writes to the page cache, one after the other"
        )
        return TrialFinding(run, ("uncached",), message, f"remove it, or {write(copying.advice('to_keep_direct'))}")
    caching = trial.having("caches_compressed")
    if caching is not None and caching.is_("caches_compressed") and run.is_("uncached") and run.is_("reads"):
        data = next((thing for thing in trial.beneath if thing.number("saves") or thing.is_("constant")), None)
        if data is not None:
            message = f"`{caching.name}` compresses `{data.name}`, and reads compressed data through the page cache"
            return TrialFinding(run, ("uncached",), message, "remove it, and compare from `cache = cold`")
    if own is None or not own.is_("own_cache") or not run.is_("uncached"):
        return None
    if machine is not None and machine.is_("passes_own_cache") and keeping is not None:
        block, record = run.number("block"), keeping.number("record")
        if run.is_("modifies") or (block and record and block % record == 0):
            return None  # it bypasses the cache; writes that do not fill a record are ZL026's
    message, hint = f"`{own.name}` has a cache of its own, which direct I/O may not bypass", "remove it, and "
    queue = trial.having("queues")
    if queue is not None and queue.is_("queues"):
        if trial.phases:
            return None  # it bypasses the page cache above
        hint = ""
    return TrialFinding(run, ("uncached",), message, f"{hint}write `cache = cold`")


@RULES.add("ZL034", "ddt-exceeds-ram", WARNING, of_machine=True)
def dedup_table_exceeds_memory(trial: TrialView) -> TrialFinding | None:
    """The deduplication table does not fit into memory.

    For each block that is written, ZFS looks in a table that has an entry of about 320 bytes for every unique block.
    If the table does not fit into the part of the cache for metadata, each write reads the table from disk. A study
    of 2011 measured 197 IOPS with deduplication and 4,851 without. Blocks that are known to repeat count once.

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
        f"{size(held)} in records of {size(record)} needs a deduplication table of {entries:,} entries, about "
        f"{float(entries * _ENTRY / 2**30):.1f} GiB, and the machine has {size(ram)} of memory"
    )
    return TrialFinding(finding, ("dedups",), message, "use larger records")


@RULES.add("ZL020", "dedup-direct-io", WARNING, of_machine=True)
def past_the_table(trial: TrialView) -> TrialFinding | None:
    """Direct writes are not deduplicated.

    OpenZFS 2.3 and later bypasses the ARC for writes with `direct = on`, and does not look for duplicates of such
    blocks (zfsprops(7), direct). The ratio is 1 whatever the data are.

    ```zexp wrong
    import fio
    import zfs

    host box { zfs = "2.3.1" }
    dir here on box { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { dedup = on }
    file data on work { size = 1GiB }
    fio writes { rw = write  bs = 128KiB  direct = on  dedupe_percentage = 50% }
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
    fio writes { rw = write  bs = 128KiB  end_fsync = on  dedupe_percentage = 50% }
    experiment seen { on = data  run = writes }
    ```
    """
    run, machine, finding = trial.run, trial.machine, trial.having("dedups")
    if machine is None or finding is None or not finding.is_("dedups") or not machine.is_("passes_own_cache"):
        return None
    if not trial.is_direct or not run.is_("modifies"):
        return None
    message = f"direct writes to `{finding.name}` are not deduplicated"
    if not run.is_("uncached"):
        return TrialFinding(finding, ("forces_direct",), message, "remove it")
    hint = ", and ".join(filter(None, ("remove it", write(run.advice("to_sync_at_end")))))
    return TrialFinding(run, ("uncached",), message, hint)


@RULES.add("ZL036", "fallocate-on-zfs", WARNING)
def promises_are_not_kept(trial: TrialView) -> TrialFinding | None:
    """ZFS cannot preallocate blocks.

    A file system that writes each block to a new place cannot reserve blocks for a file. ZFS up to 0.8 rejects the
    request, and so does zfs-fuse (measured). ZFS 2.0 and later makes a hole (`zpl_fallocate_common`). The result
    cannot be compared with that of a file system that reserves blocks.

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
    keeping = next((thing for thing in trial.beneath if thing.is_("no_preallocation")), None)
    if keeping is None or not run.is_("preallocates"):
        return None
    message = f"`{keeping.name}` cannot reserve blocks for a file: it reports an error or makes a hole"
    return TrialFinding(run, ("preallocates",), message, "remove it: the default reserves nothing")


@RULES.add("ZL037", "atime-writes", NOTE)
def reading_writes(trial: TrialView) -> TrialFinding | None:
    """Reads that write.

    If the file system stores access times, reading a file also writes to it. For many files, these writes are a
    considerable load; a series of studies of 2012 to 2014 turned access times off. For a single file the effect is
    negligible, so zlang reports nothing.

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
    dating, holding = trial.having("updates_atime"), trial.having("files")
    many = holding.number("files") if holding else None
    if dating is None or not dating.is_("updates_atime") or not many or many == 1 or not trial.run.is_not("modifies"):
        return None
    subject = "each file" if many < _MANY else f"each of {int(many):,} files"
    message = f"reading {subject} also writes to it, because `{dating.name}` stores access times"
    hint = f"{write(dating.advice('to_skip_atime')) or 'turn access times off'}, or make access times a factor"
    return TrialFinding(dating, ("updates_atime",), message, hint)


@RULES.add("ZL038", "unequal-fs-options", NOTE)
def differs_in_other_settings(trial: TrialView) -> TrialFinding | None:
    """The file systems differ in more than their name.

    One file system may verify its data and another not; one may compress; one may report writes as stable before they
    are. The comparison then includes that difference. This is a note, because not every file system can turn such a
    feature off or on. zlang reports nothing about a setting that the program makes for one of them (`checksum = off`
    or `checksum = on`), or if the workload neither reads nor writes data.

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
        other = next((thing for thing in first.stack if thing.trait(trait) is not None), None)
        if here is None or other is None or here.instance.kind is other.instance.kind:
            continue
        if here.trait(trait) == other.trait(trait) or here.is_stated(trait) or other.is_stated(trait):
            continue
        item, another = (here, other) if here.is_(trait) else (other, here)
        message = f"`{item.name}` {does}, but `{another.name}` does not"
        return TrialFinding(
            here, (trait,), message, f"give both the same value, if the kind allows it: `{item.word(trait)} = …`"
        )
    return None


@RULES.add("ZL046", "sync-writes-and-slog", WARNING)
def stability_only_assumed(trial: TrialView) -> TrialFinding | None:
    """Synchronous writes, and what they cost.

    Each synchronous write waits for the log of the file system. A study of 2011 measured 1,086 IOPS over NFS, and
    2,309 with a server that reported writes as stable before they were. On such a server, a power failure loses
    data that were confirmed. If the log is on the same devices as the data, the two compete, and the result shows
    that.

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
    is_stable = run.is_("stable") or trial.waits_for_writes
    if not run.is_("modifies") or not (is_stable or run.is_("synced")):
        return None
    untrue = next((thing for thing in trial.beneath if thing.is_("ignores_sync")), None)
    if untrue is not None:
        message = f"`{untrue.name}` reports writes as stable before they are, so do not compare it with one that waits"
        return TrialFinding(
            untrue, ("ignores_sync",), message, "make it wait, or compare it only with targets that do not wait either"
        )
    log = trial.having("log_device")
    if log is None or not log.is_not("log_device") or not is_stable:
        return None
    message = f"each write waits for the log of `{log.name}`, which is on the same devices as the data"
    return TrialFinding(log, ("log_device",), message, "give the log its own devices, or make that a factor")
