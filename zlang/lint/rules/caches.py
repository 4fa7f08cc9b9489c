"""Rules about caches that answer instead of the device."""

from __future__ import annotations

from fractions import Fraction
from math import inf

from zlang.diagnostics import ProgramError
from zlang.errors import suppress
from zlang.lint.rule import ERROR, NOTE, WARNING, Rules, TrialFinding, size, write
from zlang.lint.trial import Thing, TrialView

RULES = Rules()
_WARM_NOTHING = {"flush", "verify_cold"}
_PHASES = {"flush", "warm"}
"""The phases that resources carry out. Every other phase that verifies nothing is a command of the protocol itself."""
_CACHES = ("own_cache", "remote", "cached_beneath")
"""The traits of what has a cache other than the page cache of this machine."""


def _is_cached(trial: TrialView) -> bool:
    """Whether the machine caches in memory what the workload reads."""
    kept = trial.having("own_cache")
    if kept is not None and kept.is_("own_cache"):
        return not any(thing.is_not("keeps_data") for thing in trial.beneath)
    return not trial.run.is_("uncached")


def _has_other_cache(trial: TrialView) -> bool:
    """Whether a cache other than this machine's page cache keeps the data."""
    return any(thing.is_(trait) for thing in trial.beneath for trait in _CACHES)


@RULES.add("ZL001", "working-set-in-cache", WARNING, of_machine=True)
def working_set_in_cache(trial: TrialView) -> TrialFinding | None:
    """The working set fits into memory.

    Data that are read more than once come from memory the second time if they fit there. The first of five studies
    published 2,458 MB/s for a file of which no block was read from a disk. Others measured files of 4 MB on machines
    with 96 GB. Make the data two or three times as large as all caches together. If the cache is what you want to
    measure, say `cache = hot`.

    This is a warning and not an error, because a cold pass that reads each block once is sound at any size. So is a
    load at a fixed rate that ends before it reads any block for the second time.

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
    run = trial.run
    if not run.is_("reads") or "verify_hot" in trial.phases:
        return None
    ram = trial.fact("ram")
    holding = trial.having("holds")
    if holding is None or ram is None or isinstance(ram, bool | str) or not _is_cached(trial):
        return None
    if trial.is_cold and not run.is_("rereads") and (not run.is_("timed") or _rate_prevents_rereads(run)):
        return None
    held = holding.number("holds")
    if not held or held > ram:
        return None
    message = f"the workload reads {size(held)}, which fits into the memory of {size(ram)}: it measures the cache"
    return TrialFinding(holding, ("holds",), message, f"read more than {size(2 * ram)}, or write `cache = hot`")


def _rate_prevents_rereads(run: Thing) -> bool:
    """Whether its time is over before any block can be read twice."""
    most = None
    with suppress(ProgramError):  # a rate that changes has no single value
        most = run.number("max_transfer")
    distance = run.number("reuse_distance")
    reads_apart = run.is_("splits_target") or run.number("workers") == 1
    return reads_apart and not run.is_("repeats_blocks") and bool(most and distance and most <= distance)


@RULES.add("ZL002", "replicates-warm-the-cache", WARNING)
def replicates_warm_the_cache(trial: TrialView) -> TrialFinding | None:
    """Replicates warm the cache for each other.

    If nothing empties the caches between replicates, each replicate reads what the earlier ones left in the cache,
    and the mean is meaningless. A study of 2013 published 20, 36, 40, 48 and 58 MB/s as five replicates of one
    measurement.

    Some workloads drop the page cache of their file before they start (fio's `invalidate`). For these zlang warns
    only if another cache, such as the ARC, keeps the data.

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
    run, repeat = trial.run, trial.repeat
    if repeat == 1 or trial.phases or not trial.may_read or run.is_("modifies") or run.instance.replays:
        return None
    if not _is_cached(trial) or (
        run.is_("invalidates") and (run.is_stated("invalidates") or not _has_other_cache(trial))
    ):
        return None  # what the program itself drops is ZL005's
    message = f"nothing empties the caches between {repeat} replicates: each reads what the earlier ones left there"
    return TrialFinding(trial.clause_span("repeat"), (), message, "write `cache = cold` or `cache = hot`")


@RULES.add("ZL003", "randrepeat-replays-offsets", WARNING)
def replays_offsets(trial: TrialView) -> TrialFinding | None:
    """Replicates that repeat their offsets read from the cache.

    fio draws the same offsets in every run by default. zlang changes that, and `seed = replay` restores it. If the
    caches are not emptied, each replicate then reads what the previous one has just read. Measured on ZFS with a file
    six times as large as the ARC: hit ratios of 13, 60, 63, 66 and 65 % with repeated offsets, and of 13, 11, 12, 14
    and 13 % with new ones.

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
    run, repeat = trial.run, trial.repeat
    if repeat == 1 or trial.phases or not run.instance.replays or not run.is_("random"):
        return None
    if not run.is_("reads") or not _is_cached(trial):
        return None
    message = f"{repeat} replicates read the same offsets, and nothing empties the caches between them"
    return TrialFinding(run, (), message, "write `seed = fresh` or `cache = cold`")


@RULES.add("ZL004", "flush-does-not-reach-the-cache", WARNING)
def flush_is_not_verified(trial: TrialView) -> TrialFinding | None:
    """Nothing verifies that the flush worked.

    A command that empties one cache may leave another one full. After `drop_caches`, the ARC of zfs-fuse still held
    all of 480 records (measured). In OpenZFS up to 2.2, the ARC releases 40 MB at most. zlang's `cold` asks each
    layer whether it is empty. A protocol of your own should do the same. If it has neither `flush` nor a `verify`,
    zlang warns only where a cache other than the page cache keeps the data.

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
    if any(phase.startswith("verify_") for phase in trial.phases):
        return None
    caching = next((thing for thing in trial.beneath if any(map(thing.is_, _CACHES))), None)
    if "flush" not in trial.phases:
        if caching is None or not set(trial.phases) - _PHASES or not trial.may_read or not _is_cached(trial):
            return None
        message = f"`{caching.name}` has a cache of its own, and nothing verifies what the protocol does to it"
        hint = "begin the phases of the protocol with `flush`, and end them with `verify_cold`; or write `cache = cold`"
        return TrialFinding(trial.clause_span("cache"), (), message, hint)
    message = "the protocol flushes the caches, but nothing verifies that they are empty"
    return TrialFinding(trial.clause_span("cache"), (), message, "add `verify_cold` to the phases of the protocol")


@RULES.add("ZL006", "jobs-share-one-file", WARNING)
def jobs_share_one_file(trial: TrialView) -> TrialFinding | None:
    """Jobs read the same file in lock-step.

    If several jobs read one file from its beginning, they ask for the same blocks at the same time. The device reads
    each block once, and the other jobs get it from memory. Measured: four jobs read 1,024 MiB in total, and the
    device read 256 MiB. A study of 2017 reported 2.7 GB/s from six disks in this way.

    Two workloads that read the same part of a target at the same time also find in the cache what the other has read.
    One of them may be an event (`during`).

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
    run, target = trial.run, trial.target
    if not run.is_("reads"):
        return None
    events = trial.meanwhile_on_target
    others = (*trial.later_on_target, *events)
    other = next((other for other in others if _share_blocks(run, other, _is_cached(trial))), None)
    if target is not None and other is not None:
        event = "the event " if other in events else ""
        both = f"`{run.name}` and {event}`{other.name}` read the same part of `{target.name}`"
        message = f"{both}, so each finds in the cache what the other has read"
        return TrialFinding(run, (), message, "give each a target of its own, or another part of this one")
    if not run.is_not("random"):
        return None
    copies = trial.copies_on_target
    workers = 1 if run.is_("splits_target") else run.number("workers")
    if target is not None and copies > 1 and workers is not None:
        message = f"{copies * workers} jobs read the same offsets of `{target.name}` in lock-step, most from the cache"
        hint = f"give each a target of its own: `copies = {copies}` in `{target.name}`"
        return TrialFinding(run, ("workers",), message, hint)
    if workers is None or workers == 1:
        return None
    reach = run.number("reach")
    word = run.advice("to_split")
    apart = f"give each job its own part: `{word} = {size(reach / workers)}`" if reach and word else ""
    message = f"{workers} jobs read the same offsets in lock-step, so only one of them reads from the device"
    return TrialFinding(run, ("workers",), message, apart)


def _share_blocks(run: Thing, other: Thing, are_cached: bool) -> bool:
    """Whether both read the same blocks, so a cache has those that the other has read, or both read in step."""
    (begins, ends), (other_begins, other_ends) = _part_used(run), _part_used(other)
    if not other.is_("reads") or max(begins, other_begins) >= min(ends, other_ends):
        return False
    in_step = run.is_not("random") and other.is_not("random")
    return in_step or (are_cached and run.number("reach") is not None and other.number("reach") is not None)


def _part_used(run: Thing) -> tuple[Fraction | float, Fraction | float]:
    """The begin and end of the part of the target that a workload uses; an unknown bound is as far away as possible."""
    begins, reach = run.number("begins") or 0, run.number("reach")
    return begins, inf if reach is None or run.is_("splits_target") else begins + reach


@RULES.add("ZL009", "property-change-without-flush", WARNING)
def change_without_flush(trial: TrialView) -> TrialFinding | None:
    """Changing a cache property does not empty the cache.

    `zfs set primarycache=none` does not drop what is already cached: the first pass after it had 320 hits of 320, the
    second had none (measured on zfs-fuse). If trials differ in such a property and the cache is not emptied between
    them, a trial measures the setting of the trial before it.

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
    if "flush" in trial.phases or not trial.may_read:
        return None
    for thing in trial.beneath:
        for trait in ("keeps_data", "feeds_second"):
            if thing.factors(trait):
                message = "this cache property differs between trials, and nothing empties the cache between them"
                return TrialFinding(thing, (trait,), message, "write `cache = cold`")
    return None


@RULES.add("ZL011", "loop-double-cache", WARNING)
def loop_is_cached_beneath(trial: TrialView) -> TrialFinding | None:
    """A page cache below a workload that bypasses the page cache.

    A loop device without direct I/O keeps its file in the page cache. A workload with `direct = on` on top of it
    still reads from memory. Measured for a second pass over 64 MiB: 40 reads reached the disk without direct I/O, and
    16,389 with it.

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
    for thing in trial.beneath:
        if thing.is_("cached_beneath"):
            message = f"the workload bypasses the page cache, but `{thing.name}` below it uses the page cache"
            return TrialFinding(thing, ("cached_beneath",), message, write(thing.advice("to_bypass_beneath")))
    return None


@RULES.add("ZL005", "invalidate-is-not-a-flush", WARNING)
def pages_alone_are_dropped(trial: TrialView) -> TrialFinding | None:
    """`invalidate` drops the page cache only.

    A workload with `invalidate` drops the pages of its file from the page cache of this machine. It does not empty
    the cache of a file system that has its own, the cache of a server, or a cache below the device. A second pass
    with `invalidate = on` had 516 hits and no miss in the ARC (measured on zfs-fuse).

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
    if trial.phases or not run.is_("reads") or not run.is_("invalidates") or not run.is_stated("invalidates"):
        return None
    for thing in trial.beneath:
        if any(thing.is_(trait) for trait in _CACHES) and _is_cached(trial):
            word = run.word("invalidates")
            message = f"`{word}` drops this machine's page cache only, and `{thing.name}` has a cache of its own"
            return TrialFinding(run, ("invalidates",), message, "write `cache = cold`")
    return None


@RULES.add("ZL007", "two-ended-cache", ERROR)
def one_end_is_flushed(trial: TrialView) -> TrialFinding | None:
    """Only one of two caches is flushed.

    Over a network, the client has a cache and the server has another. A cold measurement needs both to be empty.
    zlang flushes both if the run made the server. If the server is another machine, zlang needs a command that
    empties its cache. Without one the run would fail, so this is an error.

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
    behind = next((thing for thing in trial.beneath if thing.is_("out_of_reach")), None)
    if behind is None or "flush" not in trial.phases:
        return None
    message = f"zlang can empty the client's cache of `{behind.name}`, but not the server's"
    return TrialFinding(behind, (), message, write(behind.advice("to_flush_server"), "cache = as_is"))


@RULES.add("ZL012", "hypervisor-cache", NOTE, of_machine=True)
def disks_are_virtual(trial: TrialView) -> TrialFinding | None:
    """The hypervisor may cache the disks.

    The disks of a virtual machine may be files that the host has in memory. On a virtual disk, reads of 4 KiB took
    0.1 ms (measured). Nothing inside the machine can empty that cache or check whether it is empty. This is a note,
    because results from one virtual machine can still be compared with each other.

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
    if not (trial.is_cold or trial.run.is_("uncached")) or any(thing.is_("remote") for thing in trial.beneath):
        return None
    message = f"`{machine.name}` is a virtual machine: its hypervisor may cache what is cold in the guest"
    return TrialFinding(machine, ("virtual",), message, "state this with the results, or measure on a physical machine")


@RULES.add("ZL051", "no-warmup", WARNING)
def nothing_warms(trial: TrialView) -> TrialFinding | None:
    """Caches are expected to be warm, but nothing warms them.

    A study of 2013 ran sequential reads before random ones, so the order of the tests decided how warm the caches
    were. zlang's `hot` reads the data into the caches, and its `warm` rehearses the workload until it is steady. A
    protocol that only verifies that the caches are warm finds them as the previous trial left them, and most trials
    become invalid.

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
    phases = trial.phases
    if "verify_hot" not in phases or not _WARM_NOTHING.issuperset(phases[: phases.index("verify_hot")]):
        return None
    message = "the protocol expects warm caches, but nothing warms them"
    return TrialFinding(
        trial.clause_span("cache"), (), message, "add `warm` to the phases of the protocol, or write `cache = hot`"
    )
