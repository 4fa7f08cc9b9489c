"""What a cache answers instead of the device that was meant."""

from __future__ import annotations

from zlang.lint.rule import ERROR, NOTE, WARNING, Found, Rules, size
from zlang.lint.trial import TrialView

RULES = Rules()


def _is_cached(trial: TrialView) -> bool:
    """Whether a memory of the machine keeps what the workload reads."""
    kept = trial.having("own_cache")
    if kept is not None and kept.is_("own_cache"):
        return not any(thing.is_not("keeps_data") for thing in trial.beneath())
    return not trial.run.is_("uncached")


def _has_another(trial: TrialView) -> bool:
    """Whether a cache keeps the data besides that of the pages of the machine from which they are read."""
    return any(
        thing.is_("own_cache") or thing.is_("remote") or thing.is_("cached_beneath") for thing in trial.beneath()
    )


@RULES.add("ZL001", "working-set-in-cache", WARNING, of_machine=True)
def working_set_in_cache(trial: TrialView) -> Found | None:
    """The working set fits into the memory.

    What is read more than once comes from memory the second time, if it fits there. The first of five studies
    published 2,458 MB/s for a file of which no block was read from a disk, and others measured files of 4 MB on
    machines with 96 GB. Make the data two or three times as large as all caches together, or say that the cache is
    what you measure: `cache = hot`. It is a warning and no error, because a cold pass that reads each block once is
    sound whatever the size.

    ```zexp wrong
    import fio

    host box { ram = 64GiB }
    dir here on box { path = "." }
    file data on here { size = 4GiB }
    fio reads { rw = randread  time_based = on  runtime = 60s }
    experiment small { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio

    host box { ram = 64GiB }
    dir here on box { path = "." }
    file data on here { size = 3 * box.ram }
    fio reads { rw = randread  time_based = on  runtime = 60s }
    experiment large { on = data  run = reads  cache = cold }
    ```
    """
    if not trial.run.is_("reads") or "verify_hot" in trial.phases or (trial.is_cold and not trial.run.is_("timed")):
        return None
    ram = trial.fact("ram")
    holding = trial.having("holds")
    if holding is None or ram is None or isinstance(ram, bool | str) or not _is_cached(trial):
        return None
    held = holding.number("holds")
    if not held or held > ram:
        return None
    message = f"the {size(held)} that are read fit into the {size(ram)} of memory: a second pass measures the cache"
    return Found(holding, ("holds",), message, f"read more than {size(2 * ram)}, or say `cache = hot`")


@RULES.add("ZL002", "replicates-warm-the-cache", WARNING)
def replicates_warm_the_cache(trial: TrialView) -> Found | None:
    """Replicates warm the cache for each other.

    Where nothing empties the caches between replicates, each finds what those before it have left, and their mean
    means nothing. A study of 2013 published 20, 36, 40, 48 and 58 MB/s as five replicates of one measurement. A
    workload that drops the pages of its file before it begins (fio's `invalidate`) is warned of only where another
    cache than that of pages keeps them, such as the ARC.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank
    file data on work { size = 1GiB }
    fio reads { rw = randread  bs = 128KiB }
    experiment again { on = data  run = reads  repeat = 5 }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank
    file data on work { size = 1GiB }
    fio reads { rw = randread  bs = 128KiB }
    experiment again { on = data  run = reads  repeat = 5  cache = cold }
    ```
    """
    run, repeat = trial.run, trial.experiment.repeat
    if repeat == 1 or trial.phases or not run.is_("reads") or run.is_("modifies") or run.instance.replays:
        return None
    if not _is_cached(trial) or (run.is_("invalidates") and (run.is_said("invalidates") or not _has_another(trial))):
        return None  # of what is said the rule below speaks
    message = f"{repeat} replicates, and nothing is done about the caches: each finds what those before it have left"
    return Found(trial.said("repeat"), (), message, "say `cache = cold`, or `cache = hot`")


@RULES.add("ZL003", "randrepeat-replays-offsets", WARNING)
def replays_offsets(trial: TrialView) -> Found | None:
    """Replicates that replay their offsets find them in the cache.

    fio draws the same offsets in every run unless it is told otherwise; zlang tells it, and `seed = replay` takes
    that back. With the caches left as they are, each replicate then reads what the one before it has just read.
    Measured on ZFS, a file six times as large as the ARC: hit ratios of 13, 60, 63, 66, 65 % with replayed offsets,
    of 13, 11, 12, 14, 13 % with fresh ones.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  seed = replay }
    experiment drift { on = data  run = reads  repeat = 5 }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  seed = replay }
    experiment same { on = data  run = reads  repeat = 5  cache = cold }
    ```
    """
    run, repeat = trial.run, trial.experiment.repeat
    if repeat == 1 or trial.phases or not run.instance.replays or not run.is_("random"):
        return None
    message = f"{repeat} replicates read the same offsets, and nothing empties the caches between them"
    return Found(run, (), message, "say `seed = fresh`, or `cache = cold`")


@RULES.add("ZL004", "flush-does-not-reach-the-cache", WARNING)
def flush_is_not_verified(trial: TrialView) -> Found | None:
    """A flush that nobody looks after.

    What empties one cache leaves another as it was: after `drop_caches` the ARC of zfs-fuse held all of 480 records
    (measured), and that of OpenZFS up to 2.2 gives up 40 MB at most. zlang's `cold` asks each layer afterwards
    whether it is empty. A protocol of your own should do so too.

    ```zexp wrong
    import fio

    kind emptied: protocol {
      doc    = "Empty the caches."
      phases = [flush]
    }
    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread }
    experiment hoping { on = data  run = reads  cache = emptied }
    ```

    ```zexp
    import fio

    kind emptied: protocol {
      doc    = "Empty the caches, and look whether they are empty."
      phases = [flush, verify_cold]
    }
    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread }
    experiment knowing { on = data  run = reads  cache = emptied }
    ```
    """
    if "flush" not in trial.phases or any(phase.startswith("verify_") for phase in trial.phases):
        return None
    message = "the caches are flushed, and nothing verifies that they are empty"
    return Found(trial.said("cache"), (), message, "add `verify_cold` to the phases of the protocol")


@RULES.add("ZL006", "jobs-share-one-file", WARNING)
def jobs_share_one_file(trial: TrialView) -> Found | None:
    """Jobs that walk through one file in lock-step.

    Several jobs that read one file from its beginning ask for the same blocks at the same time: the device reads
    each once, and the others get it from memory. Measured: four jobs read 1,024 MiB, and the device 256. A study of
    2017 had 2.7 GB/s from six disks in this way.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = read  numjobs = 16 }
    experiment together { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = read  numjobs = 16  size = 64MiB  offset_increment = 64MiB }
    experiment apart { on = data  run = reads  cache = cold }
    ```
    """
    run = trial.run
    if not run.is_not("random") or run.is_("apart"):
        return None
    workers = run.number("workers")
    if workers is None or workers == 1:
        return None
    reach = run.number("reach")
    apart = f"give each a part of its own: `offset_increment = {size(reach / workers)}`" if reach else ""
    message = f"{workers} jobs walk through the same offsets in lock-step: one fetches what the others then find"
    return Found(run, ("workers",), message, apart)


@RULES.add("ZL009", "property-change-without-flush", WARNING)
def change_without_flush(trial: TrialView) -> Found | None:
    """A cache keeps what it had when its property changes.

    `zfs set primarycache=none` throws nothing away: the first pass after it had 320 hits of 320, the second none
    (measured on zfs-fuse). Trials that differ in such a property and are not flushed measure the property of the
    trial before.

    ```zexp wrong also=ZL057
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { primarycache = all | metadata }
    file data on work { size = 1GiB }
    fio reads { rw = randread  bs = 128KiB }
    experiment caching { on = data  run = reads }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { primarycache = all | metadata }
    file data on work { size = 1GiB }
    fio reads { rw = randread  bs = 128KiB }
    experiment caching { on = data  run = reads  repeat = 3  cache = cold }
    ```
    """
    if "flush" in trial.phases or not trial.run.is_("reads"):
        return None
    for thing in trial.beneath():
        for trait in ("keeps_data", "feeds_second"):
            if thing.factors(trait):
                message = "trials differ in what the cache keeps, and it is not emptied between them"
                return Found(thing, (trait,), message, "say `cache = cold`")
    return None


@RULES.add("ZL011", "loop-double-cache", WARNING)
def loop_is_cached_beneath(trial: TrialView) -> Found | None:
    """A cache beneath what goes past the cache.

    A loop device without direct I/O has its file in the page cache, so a workload with `direct = on` above it reads
    from memory all the same. Measured: 40 reads of the disk for a second pass of 64 MiB, 16,389 with direct I/O.

    ```zexp wrong
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB  direct_io = off }
    ext4 volume on disk
    file data on volume { size = 512MiB }
    fio reads { rw = randread  direct = on }
    experiment past { on = data  run = reads }
    ```

    ```zexp
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB }
    ext4 volume on disk
    file data on volume { size = 512MiB }
    fio reads { rw = randread  direct = on }
    experiment past { on = data  run = reads }
    ```
    """
    if not trial.run.is_("uncached"):
        return None
    for thing in trial.beneath():
        if thing.is_("cached_beneath"):
            message = f"the workload goes past the page cache, and `{thing.name}` beneath it is in the page cache again"
            return Found(thing, ("cached_beneath",), message, "say `direct_io = on`")
    return None


@RULES.add("ZL005", "invalidate-is-not-a-flush", WARNING)
def pages_alone_are_dropped(trial: TrialView) -> Found | None:
    """To drop the pages of a file is not to flush.

    What a workload drops before it begins are the pages that this machine has of its file. The cache of a file system
    of its own, that of a server and that beneath a device stay as they are: a second pass with `invalidate = on` had
    516 hits and no miss in the ARC (measured on zfs-fuse).

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank
    file data on work { size = 1GiB }
    fio reads { rw = randread  bs = 128KiB  invalidate = on }
    experiment dropped { on = data  run = reads  repeat = 5 }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank
    file data on work { size = 1GiB }
    fio reads { rw = randread  bs = 128KiB  invalidate = on }
    experiment flushed { on = data  run = reads  repeat = 5  cache = cold }
    ```
    """
    run = trial.run
    if trial.phases or not run.is_("reads") or not run.is_("invalidates") or not run.is_said("invalidates"):
        return None
    for thing in trial.beneath():
        if any(thing.is_(trait) for trait in ("own_cache", "remote", "cached_beneath")) and _is_cached(trial):
            message = f"what is dropped are pages of this machine: what `{thing.name}` has in a cache of its own stays"
            return Found(run, ("invalidates",), message, "say `cache = cold`")
    return None


@RULES.add("ZL007", "two-ended-cache", ERROR)
def one_end_is_flushed(trial: TrialView) -> Found | None:
    """A cache at each end, of which one is flushed.

    Over a network the client has a cache and the server has another; cold is what both have lost. zlang flushes both
    where the server is the run's own, and cannot where it is another machine's, until it is said what empties that.
    The run would end there, so it is an error.

    ```zexp wrong
    import fio
    import nfs

    dir here { path = "." }
    nfs far on here { address = "filer"  path = "/export" }
    file data on far { size = 1GiB }
    fio reads { rw = randread }
    experiment half { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio
    import nfs

    dir here { path = "." }
    nfs far on here {
      address      = "filer"
      path         = "/export"
      server_flush = "ssh filer 'sync; echo 3 >/proc/sys/vm/drop_caches' && echo 0"
    }
    file data on far { size = 1GiB }
    fio reads { rw = randread }
    experiment whole { on = data  run = reads  cache = cold }
    ```
    """
    behind = next((thing for thing in trial.beneath() if thing.is_("out_of_reach")), None)
    if behind is None or "flush" not in trial.phases:
        return None
    message = f"of the two caches of `{behind.name}` only that of this machine can be emptied, not that of the server"
    return Found(behind, (), message, 'say what empties it, `server_flush = "…"`, or `cache = as_is`')


@RULES.add("ZL012", "hypervisor-cache", NOTE, of_machine=True)
def disks_are_virtual(trial: TrialView) -> Found | None:
    """A cache beneath the machine.

    The disks of a virtual machine may be files of another, which has them in its memory: on a virtual disk reads of 4
    KiB took 0.1 ms (measured). Nothing in the machine can empty that cache or look whether it is empty. It is a note:
    results of such a machine are compared with those of its like.

    ```zexp wrong
    import fio

    host box { hardware = virtual }
    dir here on box { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread }
    experiment guest { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio

    host box { hardware = physical }
    dir here on box { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread }
    experiment metal { on = data  run = reads  cache = cold }
    ```
    """
    machine = trial.machine
    if machine is None or not machine.is_("virtual") or not trial.run.is_("reads"):
        return None
    if not (trial.is_cold or trial.run.is_("uncached")) or any(thing.is_("remote") for thing in trial.beneath()):
        return None
    message = f"`{machine.name}` is a virtual machine: what is cold in it may be in the memory of the one beneath"
    return Found(machine, ("virtual",), message, "say so with the results, or measure on a machine of its own")


@RULES.add("ZL051", "no-warmup", WARNING)
def nothing_warms(trial: TrialView) -> Found | None:
    """Caches that ought to be warm, and nothing that warms them.

    A study of 2013 let sequential reads come before random ones, so that the caches were as warm as the order made
    them. zlang's `hot` reads the data into the caches, and its `warm` rehearses until it is steady. A protocol of your
    own that only looks whether they are warm finds them as the trial before has left them, and most trials invalid.

    ```zexp wrong
    import fio

    kind kept: protocol {
      doc    = "Look whether the caches are warm."
      phases = [verify_hot]
    }
    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread }
    experiment hoping { on = data  run = reads  cache = kept }
    ```

    ```zexp
    import fio

    kind kept: protocol {
      doc    = "Warm the caches, and look whether they are warm."
      phases = [warm, verify_hot]
    }
    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread }
    experiment knowing { on = data  run = reads  cache = kept }
    ```
    """
    if "verify_hot" not in trial.phases or trial.phases[0] != "verify_hot":
        return None
    message = "the caches have to be warm, and nothing before that warms them"
    return Found(trial.said("cache"), (), message, "add `warm` to the phases of the protocol, or say `cache = hot`")
