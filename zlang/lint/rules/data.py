"""Rules about unrealistic data: never written, all the same, or too easy to compress."""

from __future__ import annotations

from zlang.lint.rule import ERROR, WARNING, Rules, TrialFinding, share, size, times, write
from zlang.lint.trial import TrialView

RULES = Rules()


@RULES.add("ZL013", "read-of-never-written", WARNING)
def read_of_unwritten_blocks(trial: TrialView) -> TrialFinding | None:
    """Blocks that were never written are read without any device.

    Holes, and blocks that are only reserved for a file, are returned as zeros without a device read. Measured on xfs:
    149,000 IOPS from a sparse file and 118,000 from a preallocated one, and no block of a disk was read. A study of
    2013 published 2,458 MB/s for such a file, and 897 MB/s for the same file once it was written. zlang always writes
    a `file` in full. It does not write a device that allocates its blocks at the first write.

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
    target = trial.never_written
    if target is None or not trial.run.is_("reads"):
        return None
    message = f"`{target.name}` was never written: reads return zeros and reach no device"
    return TrialFinding(target, ("unwritten",), message, write(target.advice("to_fill"), "before = …"))


@RULES.add("ZL014", "constant-or-zero-data", WARNING)
def constant_data(trial: TrialView) -> TrialFinding | None:
    """Zeros take no space where data are compressed or deduplicated.

    A file system that compresses stores almost nothing of a file of zeros, and one that deduplicates stores one block.
    Measured on zfs-fuse: 48 MiB of zeros took 1 KiB, and the deduplication ratio was 384. Reads of zeros reach no
    device, and writes send almost nothing to it. A study of 2009 measured deduplication with zeros.

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
    ways = (("compresses", "compressed away"), ("dedups", "deduplicated"))
    lost = next((how for trait, how in ways if any(thing.is_(trait) for thing in trial.beneath)), None)
    if lost is None:
        return None
    run = trial.run
    if run.is_("modifies") and run.is_("constant"):
        return TrialFinding(run, ("constant",), f"`{run.name}` writes identical blocks, which are {lost}")
    holding = trial.having("constant")
    if holding is None or not holding.is_("constant") or not trial.may_read:
        return None
    held = holding.number("holds")
    subject = f"{size(held)} of identical blocks" if held else "identical blocks"
    hint = write(holding.advice("to_hold_random"), holding.advice("to_hold_compressible"))
    return TrialFinding(holding, ("constant",), f"`{holding.name}` has {subject}, and nearly all are {lost}", hint)


@RULES.add("ZL015", "stale-buffers-compress", WARNING)
def stale_buffers(trial: TrialView) -> TrialFinding | None:
    """Buffers that are written again and again compress well.

    A workload that fills its buffer only once writes the same block many times. A record that holds several such blocks
    compresses well. Measured with gzip-1 in records of 128 KiB: by a factor of 10.6 with blocks of 4 KiB, by 6.2 with 8
    KiB, and not at all with 128 KiB. zlang makes fio refill its buffers; `refill_buffers = off` turns that off.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { compression = gzip-1 }
    file data on work { size = 1GiB }
    # allow bs-below-recordsize: what the buffers hold is the question
    fio writes { rw = randwrite  bs = 4KiB  refill_buffers = off  buffer_compress_percentage = 50%  end_fsync = on }
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
    fio writes { rw = randwrite  bs = 4KiB  buffer_compress_percentage = 50%  end_fsync = on }
    experiment fresh { on = data  run = writes }
    ```
    """
    run = trial.run
    trait = "record" if trial.having("record") or run.is_("random") else "compresses_at_once"
    keeping = trial.having(trait)
    if keeping is None or not run.is_("modifies") or not run.is_not("fresh"):
        return None
    if not any(thing.is_("compresses") for thing in trial.beneath):
        return None
    record, block = keeping.number(trait), run.number("block")
    if record is None or block is None or block >= record:
        return None
    message = (
        f"the same buffer of {size(block)} fills each record of {size(record)} {times(record / block)} times, "
        "so the records compress well"
    )
    return TrialFinding(run, ("fresh",), message, write(run.advice("to_vary_data")))


@RULES.add("ZL018", "prealloc-defeats-compression", WARNING)
def preallocated_is_not_compressed(trial: TrialView) -> TrialFinding | None:
    """Preallocated blocks are never compressed.

    btrfs does not compress data that are written into preallocated blocks. With fio's own preallocation, a file of
    zeros took all of its space; without it, 3 % (measured, zstd:3). zlang preallocates nothing unless `fallocate`
    says so.

    ```zexp wrong
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB }
    btrfs volume on disk { compress = zstd(3) }
    file data on volume { size = 256MiB }
    fio writes { rw = write  bs = 128KiB  fallocate = native  buffer_compress_percentage = 50%  end_fsync = on }
    experiment promised { on = data  run = writes }
    ```

    ```zexp
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB }
    btrfs volume on disk { compress = zstd(3) }
    file data on volume { size = 256MiB }
    fio writes { rw = write  bs = 128KiB  buffer_compress_percentage = 50%  end_fsync = on }
    experiment written { on = data  run = writes }
    ```
    """
    run = trial.run
    keeping = next((thing for thing in trial.beneath if thing.is_("compresses")), None)
    if keeping is None or not run.is_("preallocates") or not keeping.is_("preallocated_raw"):
        return None
    message = f"`{keeping.name}` does not compress data in preallocated blocks"
    return TrialFinding(run, ("preallocates",), message, "remove it: the default preallocates nothing")


@RULES.add("ZL016", "compress-percentage-zero-trap", ERROR)
def share_of_zero(trial: TrialView) -> TrialFinding | None:
    """A compression share of zero makes all blocks the same.

    If `buffer_compress_percentage = 0` is set explicitly, fio stops scrambling its buffers, and it does not start to
    refill them, although the manual says so. All blocks are then the same: a file system that deduplicates reached a
    ratio of 384 (measured; options.c, init.c). zlang makes fio refill its buffers, so this happens only together with
    `refill_buffers = off`. It is an error because nobody wants it: `zero_buffers` or a pattern is the way to ask for
    identical blocks.

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
    if not run.is_("modifies") or not run.is_("same_content"):
        return None
    message = "all blocks that are written are the same: the load neither scrambles nor refills its buffer"
    hint = write(run.advice("to_vary_data"), run.advice("to_write_zeros"))
    return TrialFinding(run, ("same_content",), message, hint)


@RULES.add("ZL017", "ssd-compresses", WARNING)
def device_compresses(trial: TrialView) -> TrialFinding | None:
    """The device compresses data.

    The controllers of some flash drives compress data and so write less than they are given. A study of 2011 measured
    7,000 IOPS with the repetitive data of its load generator, and 4,700 with random data on the same drive. No
    command shows that a drive compresses: declare it with `compressing = on`.

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
    device = next((thing for thing in trial.beneath if thing.is_("controller_compresses")), None)
    thing, done = (trial.run, "written") if trial.run.is_("modifies") else (trial.having("saves"), "read")
    if device is None or thing is None or (done == "read" and not trial.may_read):
        return None
    part = thing.number("saves")
    if thing.is_("constant") or thing.is_not("fresh"):
        subject = f"all data that are {done} are the same"
    elif part:
        subject = f"{share(part)} of the data that are {done} can be compressed away"
    else:
        return None
    message = f"{subject}, and `{device.name}` compresses, so it moves fewer bytes than the workload asks for"
    return TrialFinding(thing, ("constant", "saves", "fresh"), message, "use random data, or make the share a factor")


@RULES.add("ZL033", "baseline-is-compressed", WARNING)
def compression_not_set(trial: TrialView) -> TrialFinding | None:
    """The default of `compression` differs between versions.

    OpenZFS 2.2 and later compresses by default; earlier versions do not. The default block size of a volume changed in
    the same version, from 8 KiB to 16 KiB. So the defaults of two machines may differ. zlang warns only if the data
    can be compressed: a file of random bytes takes the same space either way.

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
    unset = next((thing for thing in trial.beneath if thing.leaves_open("compresses")), None)
    run, holding = trial.run, trial.having("saves")
    if unset is None:
        return None
    held = holding.number("saves") if holding else None
    can = held or (holding and holding.is_("constant")) or run.number("saves") or run.is_("constant")
    if not can:
        return None
    message = f"`{unset.name}` does not say whether it compresses, and the default depends on the version"
    return TrialFinding(unset, ("compresses",), message, f"write `{unset.word('compresses')} = off` or `on`")


@RULES.add("ZL060", "first-write-into-prealloc", WARNING)
def first_write(trial: TrialView) -> TrialFinding | None:
    """The first write to a block is slower than later ones.

    The first write to a reserved block, or to a block of a thin device, has to allocate it. A first pass of random
    writes over such blocks had 33,900 IOPS, and the second 106,400 (measured on ext4). zlang writes a `file` in full
    before it measures. It does not write sparse or thin devices.

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
    target = trial.never_written
    if target is None or not trial.run.is_("modifies"):
        return None
    message = f"the workload writes blocks of `{target.name}` for the first time, which is slower than later writes"
    hint = write(target.advice("to_steady"), target.advice("to_fill"))
    return TrialFinding(target, ("unwritten",), message, hint)


@RULES.add("ZL086", "data-do-not-compress", WARNING)
def data_do_not_compress(trial: TrialView) -> TrialFinding | None:
    """Random data show nothing of compression and deduplication.

    By default, fio and the layout of a `file` write random bytes. No algorithm can compress them, and no two of their
    blocks are the same. Trials with and without compression then differ only in the time that failed attempts take.
    Trials of several algorithms may not differ at all. zlang warns if a program sets compression or deduplication, and
    all data of the workload are random. A write replaces the content of the file, so `content = compressible(50%)` is
    not enough for a workload that writes.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { compression = off | lz4 | zstd }
    file data on work { size = 1GiB }
    fio writes { rw = write  bs = 1MiB  end_fsync = on }
    experiment algorithms { on = data  run = writes  repeat = 3 }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { compression = off | lz4 | zstd }
    file data on work { size = 1GiB }
    fio writes { rw = write  bs = 1MiB  end_fsync = on  buffer_compress_percentage = 50% }
    experiment algorithms { on = data  run = writes  repeat = 3 }
    ```
    """
    run = trial.run
    written = [(run, "writes")] if run.is_("modifies") else []
    holding = trial.having("saves")
    read = [(holding, "reads")] if trial.may_read and holding and not holding.instance.is_given else []
    if trial.may_read and not read:
        return None
    for setting, share_of, lack, moved in (
        ("compresses", "saves", "cannot be compressed", [*written, *read]),
        ("dedups", "repeats", "have no duplicates", written),
    ):
        thing = trial.having(setting)
        if thing is None or not thing.is_(setting) or not thing.is_stated(setting) or not moved:
            continue
        if any(data.number(share_of) != 0 or data.is_("constant") or data.is_not("fresh") for data, _ in moved):
            continue
        if any(data.factors(trait) for data, _ in moved for trait in (share_of, "constant", "fresh", "same_content")):
            continue  # other trials have other data
        data, verb = moved[0]
        advice = data.advice("to_hold_compressible") if data is holding else data.advice(_TO_WRITE[setting])
        message = f"`{run.name}` {verb} random data, which {lack}: `{thing.word(setting)}` shows only its cost"
        return TrialFinding(thing, (setting,), message, write(advice))
    return None


_TO_WRITE = {"compresses": "to_write_compressible", "dedups": "to_write_duplicates"}
