"""Data that are not what data are: never written, all the same, or easier to compress than they were meant."""

from __future__ import annotations

from zlang.lint.rule import WARNING, Found, Rules, size, times
from zlang.lint.trial import Trial

RULES = Rules()


@RULES.add("ZL013", "read-of-never-written", WARNING)
def read_of_never_written(trial: Trial) -> Found | None:
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
def constant_data(trial: Trial) -> Found | None:
    """Zeros vanish where data are compressed or kept once.

    A file system that compresses keeps no block of a file of zeros, and one that finds equal blocks keeps one: 48
    MiB of zeros took 1 KiB, and the ratio of deduplication was 384 (measured on zfs-fuse). Reads of them ask no
    device, and writes send next to nothing to it. A study of 2009 measured deduplication with zeros.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { compression = off | lzjb }
    file data on work { size = 1GiB  content = zeros }
    fio reads { rw = randread  bs = 128KiB }
    experiment nothing { on = data  run = reads  cache = cold  repeat = 3 }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { compression = off | lzjb }
    file data on work { size = 1GiB  content = compressible(50%) }
    fio reads { rw = randread  bs = 128KiB }
    experiment something { on = data  run = reads  cache = cold  repeat = 3 }
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
def stale_buffers(trial: Trial) -> Found | None:
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
def preallocated_is_not_compressed(trial: Trial) -> Found | None:
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
