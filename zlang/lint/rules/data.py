"""Data that are not what data are: never written, all the same, or easier to compress than they were meant."""

from __future__ import annotations

from zlang.lint.rule import ERROR, WARNING, Found, Rules, share, size, times
from zlang.lint.trial import TrialView

RULES = Rules()


@RULES.add("ZL013", "read-of-never-written", WARNING)
def read_of_never_written(trial: TrialView) -> Found | None:
    """What was never written is read without any device.

    Holes and blocks that were only promised to a file are read as zeros from nowhere: 149,000 IOPS from a sparse
    file and 118,000 from a preallocated one, and no block of a disk was touched (measured on xfs). A study of 2013
    published 2,458 MB/s for such a file and 897 MB/s for the same file written. A `file` of zlang is always written
    in full; a device that is given its blocks when they are first written is not.

    ```zexp wrong
    import fio
    import filesystems

    kind device_reads: workload {
      doc = "Read a device from its beginning."
      needs block as at
      trait reads = on
      run {
        sh "dd if={at.block} of=/dev/null bs=1048576 status=none" { why = "read it" }
        reads shell "measure.out" { metrics = ["time"] }
      }
    }
    dir here { path = "." }
    loop disk on here { size = 1GiB  allocation = sparse }
    device_reads all
    experiment holes { on = disk  run = all  cache = cold }
    ```

    ```zexp
    import fio
    import filesystems

    kind device_reads: workload {
      doc = "Read a device from its beginning."
      needs block as at
      trait reads = on
      run {
        sh "dd if={at.block} of=/dev/null bs=1048576 status=none" { why = "read it" }
        reads shell "measure.out" { metrics = ["time"] }
      }
    }
    dir here { path = "." }
    loop disk on here { size = 1GiB }
    device_reads all
    experiment blocks { on = disk  run = all  cache = cold }
    ```
    """
    target = trial.target
    if target is None or trial.before is not None or not trial.run.is_("reads") or not target.is_("unwritten"):
        return None
    message = f"what is read of `{target.name}` was never written: it is read as zeros, and no device is asked"
    return Found(target, ("unwritten",), message, "say `allocation = full`, or write it first: `before = …`")


@RULES.add("ZL014", "constant-or-zero-data", WARNING)
def constant_data(trial: TrialView) -> Found | None:
    """Zeros vanish where data are compressed or kept once.

    A file system that compresses keeps no block of a file of zeros, and one that finds equal blocks keeps one: 48
    MiB of zeros took 1 KiB, and the ratio of deduplication was 384 (measured on zfs-fuse). Reads of them ask no
    device, and writes send next to nothing to it. A study of 2009 measured deduplication with zeros.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { compression = lzjb }
    file data on work { size = 1GiB  content = zeros }
    fio reads { rw = randread  bs = 128KiB }
    experiment nothing { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { compression = lzjb }
    file data on work { size = 1GiB  content = compressible(50%) }
    fio reads { rw = randread  bs = 128KiB }
    experiment something { on = data  run = reads  cache = cold }
    ```
    """
    ways = (("compresses", "is compressed away"), ("dedups", "is kept once"))
    lost = next((how for trait, how in ways if any(thing.is_(trait) for thing in trial.beneath())), None)
    if lost is None:
        return None
    hint = "say `content = random`, or how much can be compressed: `content = compressible(50%)`"
    run = trial.run
    if run.is_("modifies") and run.is_("constant"):
        return Found(run, ("constant",), f"what `{run.name}` writes is the same everywhere and {lost}")
    holding = trial.having("constant")
    if holding is None or not holding.is_("constant") or not run.is_("reads"):
        return None
    held = holding.number("holds")
    what = f"{size(held)} of one content" if held else "data of one content"
    return Found(holding, ("constant",), f"`{holding.name}` has {what}, of which nearly all {lost}", hint)


@RULES.add("ZL015", "stale-buffers-compress", WARNING)
def stale_buffers(trial: TrialView) -> Found | None:
    """Buffers that are written again and again compress well.

    A workload that fills its buffer once writes the same block many times, and a record of several such blocks
    compresses: 10.6 times with 4 KiB in records of 128 KiB, 6.2 times with 8 KiB, not at all with 128 KiB (measured
    with gzip-1). zlang has fio refill its buffers; `refill_buffers = off` takes that back.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { compression = gzip-1 }
    file data on work { size = 1GiB }
    # allow bs-below-recordsize: what the buffers hold is the question
    fio writes { rw = randwrite  bs = 4KiB  refill_buffers = off  end_fsync = on }
    experiment stale { on = data  run = writes }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { compression = gzip-1 }
    file data on work { size = 1GiB }
    # allow bs-below-recordsize: what the buffers hold is the question
    fio writes { rw = randwrite  bs = 4KiB  end_fsync = on }
    experiment fresh { on = data  run = writes }
    ```
    """
    run, keeping = trial.run, trial.having("record")
    if keeping is None or not run.is_("modifies") or not run.is_not("fresh"):
        return None
    if not any(thing.is_("compresses") for thing in trial.beneath()):
        return None
    record, block = keeping.number("record"), run.number("block")
    if record is None or block is None or block >= record:
        return None
    message = (
        f"one buffer of {size(block)} is written {times(record / block)} times into each record of {size(record)}, "
        "which then compresses well"
    )
    return Found(run, ("fresh",), message, "leave `refill_buffers` on")


@RULES.add("ZL018", "prealloc-defeats-compression", WARNING)
def preallocated_is_not_compressed(trial: TrialView) -> Found | None:
    """What was promised to a file before it was written is never compressed.

    btrfs does not compress what is written into preallocated blocks: with fio's own preallocation, zeros took all
    of their space, and 3 % without it (measured, zstd:3). zlang never preallocates; a workload that does says so.

    ```zexp wrong
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB }
    btrfs volume on disk { compress = zstd(3) }
    file data on volume { size = 256MiB }
    fio writes { rw = write  bs = 128KiB  fallocate = native  end_fsync = on }
    experiment promised { on = data  run = writes }
    ```

    ```zexp
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB }
    btrfs volume on disk { compress = zstd(3) }
    file data on volume { size = 256MiB }
    fio writes { rw = write  bs = 128KiB  end_fsync = on }
    experiment written { on = data  run = writes }
    ```
    """
    run = trial.run
    keeping = next((thing for thing in trial.beneath() if thing.is_("compresses")), None)
    if keeping is None or not run.is_("promises") or not keeping.is_("keeps_promises"):
        return None
    message = f"`{keeping.name}` compresses nothing that is written into preallocated blocks"
    return Found(run, ("promises",), message, "leave it away: nothing is promised then")


@RULES.add("ZL016", "compress-percentage-zero-trap", ERROR)
def share_of_zero(trial: TrialView) -> Found | None:
    """A share of zero that makes all blocks alike.

    `buffer_compress_percentage = 0` said in so many words turns scrambling off, and turns refilling not on, whatever
    the manual says: every block is the same, and a file system that finds equal blocks had a ratio of 384 (measured;
    options.c, init.c). zlang has fio refill its buffers; with `refill_buffers = off` both come together. It is an
    error because nobody can mean it: `zero_buffers` or a pattern says that blocks are alike.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio writes { rw = write  buffer_compress_percentage = 0%  refill_buffers = off  end_fsync = on }
    experiment alike { on = data  run = writes }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio writes { rw = write  buffer_compress_percentage = 0%  end_fsync = on }
    experiment random { on = data  run = writes }
    ```
    """
    run = trial.run
    if not run.is_("modifies") or not run.is_("alike"):
        return None
    message = "every block that is written is the same: nothing scrambles or refills the buffer"
    return Found(run, ("alike",), message, "leave `refill_buffers` on, or say what is meant: `zero_buffers = on`")


@RULES.add("ZL017", "ssd-compresses", WARNING)
def device_compresses(trial: TrialView) -> Found | None:
    """A device that compresses what it is given.

    The controllers of some flash drives write less than they are given where that compresses. A study of 2011 had
    7,000 IOPS with the repeating data of its generator and 4,700 with random ones, on the same drive. No command says
    that a drive does it: say `compressing = on`.

    ```zexp wrong
    import disks
    import fio

    disk drive {
      id          = "/dev/disk/by-id/ata-OCZ-VERTEX2_OCZ-0123456789"
      serial      = "OCZ-0123456789"
      size        = 120034123776B
      compressing = on
    }
    fio writes { rw = randwrite  direct = on  zero_buffers = on }
    experiment inflated { on = drive  run = writes }
    ```

    ```zexp
    import disks
    import fio

    disk drive {
      id          = "/dev/disk/by-id/ata-OCZ-VERTEX2_OCZ-0123456789"
      serial      = "OCZ-0123456789"
      size        = 120034123776B
      compressing = on
    }
    fio writes { rw = randwrite  direct = on }
    experiment honest { on = drive  run = writes }
    ```
    """
    device = next((thing for thing in trial.beneath() if thing.is_("controller_compresses")), None)
    thing, done = (trial.run, "written") if trial.run.is_("modifies") else (trial.having("saves"), "read")
    if device is None or thing is None or (done == "read" and not trial.run.is_("reads")):
        return None
    part = thing.number("saves")
    if thing.is_("constant") or thing.is_not("fresh"):
        what = f"what is {done} is the same everywhere"
    elif part:
        what = f"{share(part)} of what is {done} can be compressed away"
    else:
        return None
    message = f"{what}, and `{device.name}` compresses: it does less than it is asked for"
    return Found(thing, ("constant", "saves", "fresh"), message, "take random data, or make what can be saved a factor")


@RULES.add("ZL033", "baseline-is-compressed", WARNING)
def compression_is_not_said(trial: TrialView) -> Found | None:
    """A default that differs between versions.

    Where nothing is said OpenZFS compresses since 2.2, and did not before; blocks of volumes are 16 KiB there and were
    8 KiB. What is "the default" in two places is then not the same. It matters where the data can be compressed, so
    it is said only there: a file of random bytes takes the same space either way.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank
    file data on work { size = 1GiB  content = compressible(50%) }
    fio reads { rw = randread  bs = 128KiB }
    experiment default { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { compression = off }
    file data on work { size = 1GiB  content = compressible(50%) }
    fio reads { rw = randread  bs = 128KiB }
    experiment said { on = data  run = reads  cache = cold }
    ```
    """
    unsaid = next((thing for thing in trial.beneath() if thing.leaves_open("compresses")), None)
    run, holding = trial.run, trial.having("saves")
    if unsaid is None:
        return None
    held = holding.number("saves") if holding else None
    can = held or (holding and holding.is_("constant")) or run.number("saves") or run.is_("constant")
    if not can:
        return None
    message = f"the data can be compressed, and `{unsaid.name}` does not say whether it does: versions differ in that"
    return Found(unsaid, ("compresses",), message, f"say it: `{unsaid.word('compresses')} = off`, or on")


@RULES.add("ZL060", "first-write-into-prealloc", WARNING)
def first_write(trial: TrialView) -> Found | None:
    """The first write to a block is another one than the second.

    Blocks that were promised, or that a device gets when they are first written, have to be found and noted then: a
    first pass of random writes over such blocks had 33,900 IOPS, and the second 106,400 (measured on ext4). A `file`
    of zlang is written in full before it is measured; a device that is sparse, or thin, is not.

    ```zexp wrong
    import filesystems

    kind device_writes: workload {
      doc = "Write a device from its beginning."
      needs block as at
      writes = on
      trait modifies = on
      run {
        sh "dd if=/dev/urandom of={at.block} bs=1048576 oflag=direct status=none count=64" { why = "write it" }
        reads shell "measure.out" { metrics = ["time"] }
      }
    }
    dir here { path = "." }
    loop disk on here { size = 1GiB  allocation = sparse }
    device_writes all
    experiment holes { on = disk  run = all }
    ```

    ```zexp
    import filesystems

    kind device_writes: workload {
      doc = "Write a device from its beginning."
      needs block as at
      writes = on
      trait modifies = on
      run {
        sh "dd if=/dev/urandom of={at.block} bs=1048576 oflag=direct status=none count=64" { why = "write it" }
        reads shell "measure.out" { metrics = ["time"] }
      }
    }
    dir here { path = "." }
    loop disk on here { size = 1GiB }
    device_writes all
    experiment blocks { on = disk  run = all }
    ```
    """
    target = trial.target
    if target is None or trial.before is not None or not trial.run.is_("modifies") or not target.is_("unwritten"):
        return None
    message = f"blocks of `{target.name}` are written for the first time, which takes longer than any later write"
    return Found(target, ("unwritten",), message, "write it first: `before = precondition {}`, or make it full")
