"""Rules about block sizes that do not fit each other."""

from __future__ import annotations

from fractions import Fraction

from zlang.lint.rule import NOTE, WARNING, Rules, TrialFinding, size, times
from zlang.lint.trial import Thing, TrialView
from zlang.units import SIZE, Quantity, show

RULES = Rules()
_PAGE = Fraction(4096)


def _sector(thing: Thing) -> Fraction | None:
    power = thing.number("sector_power")
    return None if power is None else Fraction(2) ** int(power)


def _smaller(keeping: Thing, block: Fraction, rule: str) -> str:
    """A hint about records that are larger than the blocks."""
    if keeping.factors("record"):
        return f"if this is what you want to study, say so: `# allow {rule}: REASON`"
    return f"write `{keeping.word('record')} = {size(block)}`, or make it a factor"


@RULES.add("ZL021", "bs-below-recordsize", WARNING)
def block_below_record(trial: TrialView) -> TrialFinding | None:
    """Blocks are smaller than the records that hold them.

    A file system that stores and verifies data in records reads a whole record to return a part of it. For each
    smaller write it reads, changes and writes a whole record. Measured: random writes of 16 MiB in blocks of 8 KiB
    sent 206 MiB to the disk with records of 128 KiB, and 18 MiB with records of 8 KiB. A database went from 6,000 to
    74,000 IOPS through this change alone (2012).

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank
    file data on work { size = 1GiB }
    fio reads { rw = randread  bs = 8KiB }
    experiment database { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { recordsize = 8KiB }
    file data on work { size = 1GiB }
    fio reads { rw = randread  bs = 8KiB }
    experiment database { on = data  run = reads  cache = cold }
    ```
    """
    run, keeping = trial.run, trial.having("record")
    if keeping is None or not (run.is_("random") or run.is_("modifies")) or keeping.is_not("keeps_data"):
        return None  # ZL022 reports records that are not cached
    block, record = run.number("block"), keeping.number("record")
    if block is None or record is None or block >= record:
        return None
    moved = "reads and writes" if run.is_("modifies") else "reads"
    message = (
        f"blocks of {size(block)} in records of {size(record)}: the file system {moved} up to "
        f"{times(record / block)} times the data"
    )
    return TrialFinding(run, ("block",), message, _smaller(keeping, block, "bs-below-recordsize"))


@RULES.add("ZL022", "uncached-small-reads", WARNING)
def uncached_small_reads(trial: TrialView) -> TrialFinding | None:
    """Without a data cache, each small read fetches a whole record again.

    With `primarycache = metadata` or `none`, a record is dropped as soon as a part of it has been returned. Even a
    sequential pass fetches the record again for its next part. Measured: reading 40 MiB in blocks of 8 KiB fetched
    5,120 records of 128 KiB, 16 times the data. This is why a study of 2017 reported 492,187 IOPS with a cache and
    7,496 without.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { primarycache = metadata }
    file data on work { size = 1GiB }
    fio reads { rw = read  bs = 8KiB }
    experiment uncached { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { primarycache = metadata  recordsize = 8KiB }
    file data on work { size = 1GiB }
    fio reads { rw = read  bs = 8KiB }
    experiment uncached { on = data  run = reads  cache = cold }
    ```
    """
    run, keeping = trial.run, trial.having("record")
    if keeping is None or not run.is_("reads") or not keeping.is_not("keeps_data"):
        return None
    block, record = run.number("block"), keeping.number("record")
    if block is None or record is None or block >= record:
        return None
    message = (
        f"blocks of {size(block)} in records of {size(record)} that are not cached: each record is read "
        f"{times(record / block)} times"
    )
    return TrialFinding(run, ("block",), message, _smaller(keeping, block, "uncached-small-reads"))


@RULES.add("ZL023", "sector-mismatch", WARNING)
def misaligned(trial: TrialView) -> TrialFinding | None:
    """The device is not aligned to physical blocks.

    If a partition or device does not start at a multiple of the physical block size, many operations touch two blocks
    instead of one. A study of 2011 measured 609 MB/s with partitions that start at sector 2048, and 436 MB/s at
    sector 63.

    ```zexp wrong
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB  offset = 63 * 512B }
    ext4 volume on disk
    file data on volume { size = 256MiB }
    fio reads { rw = randread  bs = 4KiB }
    experiment between { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB  offset = 2048 * 512B }
    ext4 volume on disk
    file data on volume { size = 256MiB }
    fio reads { rw = randread  bs = 4KiB }
    experiment aligned { on = data  run = reads  cache = cold }
    ```
    """
    allocates = trial.having("sector_power")
    device = next((thing for thing in allocates.stack if thing.number("sector")), None) if allocates else None
    if allocates is not None and device is not None:
        block, sector = _sector(allocates), device.number("sector")
        if block is not None and sector is not None and block < sector:
            message = (
                f"`{allocates.name}` has blocks of {size(block)}, and `{device.name}` has sectors of {size(sector)}"
            )
            return TrialFinding(allocates, ("sector_power",), message, "make its blocks as large as the sectors")
    for thing in trial.beneath:
        begins = thing.number("begins")
        if begins is not None and begins % _PAGE:
            place = show(Quantity(begins, SIZE))  # not rounded: 1MiB + 512B is no 1.0MiB
            message = f"`{thing.name}` starts at {place}, which is not a multiple of {size(_PAGE)}"
            hint = "start at a multiple of 1MiB, or allow this rule if the offset is what you study"
            return TrialFinding(thing, ("begins",), message, hint)
    return None


@RULES.add("ZL024", "raidz-padding", NOTE)
def stripe_is_not_filled(trial: TrialView) -> TrialFinding | None:
    """Records that do not fill a stripe use more space for parity.

    raidz spreads a record over the devices in sectors, adds parity to each row, and pads the result. A record of 4
    KiB takes 12 KiB on four devices with sectors of 4 KiB and two parity devices. draid pads to whole stripes.
    Because of this, used capacity differs between record sizes. Measure it with a collector of capacity.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { layout = raidz2  devices = 6  size = 1GiB  ashift = 12 }
    dataset work on tank { recordsize = 8KiB }
    file data on work { size = 1GiB }
    fio reads { rw = randread  bs = 8KiB }
    experiment padded { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { layout = raidz2  devices = 6  size = 1GiB  ashift = 12 }
    dataset work on tank { recordsize = 128KiB }
    file data on work { size = 1GiB }
    fio reads { rw = randread  bs = 128KiB }
    experiment filled { on = data  run = reads  cache = cold }
    ```
    """
    keeping, spread = trial.having("record"), trial.having("parity")
    if keeping is None or spread is None:
        return None
    record, sector = keeping.number("record"), _sector(spread)
    devices, parity = spread.number("stripe_devices"), spread.number("parity")
    if record is None or sector is None or devices is None or not parity or record >= devices * sector:
        return None
    rows = max(1, -(-record // (devices * sector)))
    taken = record + rows * parity * sector
    taken += -(taken // sector) % (parity + 1) * sector
    message = (
        f"a record of {size(record)} on {devices} data and {parity} parity devices takes {size(taken)}, "
        f"{times(taken / record)} times its size"
    )
    return TrialFinding(keeping, ("record",), message, "collect the used capacity, and compare it between record sizes")


@RULES.add("ZL025", "compression-below-sector-gain", NOTE)
def compression_saves_no_sector(trial: TrialView) -> TrialFinding | None:
    """Compression that does not save a whole sector saves nothing.

    A compressed record is stored compressed only if that saves whole sectors, and at least an eighth. A record of 8
    KiB on sectors of 4 KiB must shrink to half its size. A record of 4 KiB can never be compressed.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB  ashift = 12 }
    dataset work on tank { recordsize = 8KiB  compression = lzjb }
    file data on work { size = 1GiB  content = compressible(30%) }
    fio reads { rw = randread  bs = 8KiB }
    experiment sectors { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB  ashift = 12 }
    dataset work on tank { recordsize = 128KiB  compression = lzjb }
    file data on work { size = 1GiB  content = compressible(30%) }
    fio reads { rw = randread  bs = 128KiB }
    experiment sectors { on = data  run = reads  cache = cold }
    ```
    """
    keeping, on = trial.having("record"), trial.having("sector_power")
    if keeping is None or on is None or not keeping.is_("compresses"):
        return None
    record, sector = keeping.number("record"), _sector(on)
    if record is None or sector is None or record // sector > 2:  # noqa: PLR2004 - then an eighth, or a third, is enough
        return None
    needed = "can never be compressed" if record <= sector else "is compressed only if it halves"
    message = f"a record of {size(record)} {needed}: compression saves whole sectors of {size(sector)}"
    return TrialFinding(keeping, ("record",), message, "use larger records to compare levels of compression")


@RULES.add("ZL026", "bs-unaligned-to-recordsize-direct", NOTE, of_machine=True)
def unaligned_past_the_cache(trial: TrialView) -> TrialFinding | None:
    """Direct writes that go through the cache.

    OpenZFS 2.3 and later bypasses the ARC only for writes that fill whole records. All other writes go through the
    ARC without a message (zfsprops(7), direct).

    ```zexp wrong also=ZL021
    import fio
    import zfs

    host box { zfs = "2.3.1" }
    dir here on box { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank
    file data on work { size = 1GiB }
    fio writes { rw = randwrite  bs = 8KiB  direct = on }
    experiment through { on = data  run = writes }
    ```

    ```zexp
    import fio
    import zfs

    host box { zfs = "2.3.1" }
    dir here on box { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { recordsize = 8KiB }
    file data on work { size = 1GiB }
    fio writes { rw = randwrite  bs = 8KiB  direct = on }
    experiment past { on = data  run = writes }
    ```
    """
    run, machine, keeping = trial.run, trial.machine, trial.having("record")
    if machine is None or keeping is None or not machine.is_("passes_own_cache"):
        return None
    block, record = run.number("block"), keeping.number("record")
    if not trial.is_direct or not run.is_("modifies") or not block or not record or block % record == 0:
        return None
    message = f"writes of {size(block)} do not fill records of {size(record)}, so they go through the cache"
    return TrialFinding(run, ("uncached",), message, _smaller(keeping, block, "bs-unaligned-to-recordsize-direct"))


@RULES.add("ZL085", "part-of-a-stripe", NOTE)
def write_below_stripe(trial: TrialView) -> TrialFinding | None:
    """Writes that do not fill a stripe read before they write.

    An array with parity (RAID 4, 5 or 6) computes the parity of a stripe from all of its data. To write a part of a
    stripe at random, it reads the old data and the old parity, and then writes both. So one write becomes four
    operations, or six with two parities. A stripe holds `chunk` bytes on each device that has data. ZFS has no such
    writes: the stripes of raidz are as long as the record.

    ```zexp wrong
    import disks
    import filesystems
    import fio

    dir here { path = "." }
    loop drives on here { size = 1GiB  count = 4  direct_io = on }
    md array on drives { level = raid5  chunk = 64KiB }
    xfs volume on array { su = 64KiB  sw = 3 }
    file data on volume { size = 1GiB }
    fio writes { rw = randwrite  bs = 4KiB  direct = on }
    experiment parts { on = data  run = writes  repeat = 3 }
    ```

    ```zexp
    import disks
    import filesystems
    import fio

    dir here { path = "." }
    loop drives on here { size = 1GiB  count = 4  direct_io = on }
    md array on drives { level = raid5  chunk = 64KiB }
    xfs volume on array { su = 64KiB  sw = 3 }
    file data on volume { size = 1GiB }
    fio writes { rw = randwrite  bs = 192KiB  direct = on }
    experiment whole { on = data  run = writes  repeat = 3 }
    ```
    """
    run, array = trial.run, trial.having("stripe")
    block, stripe = run.number("block"), array.number("stripe") if array is not None else None
    if array is None or not block or not stripe or block >= stripe or not (run.is_("random") and run.is_("modifies")):
        return None
    message = (
        f"`{array.name}` reads old data and parity before each write of {size(block)}, which does not fill a stripe"
    )
    return TrialFinding(run, ("block",), message, "write whole stripes, or compare only with arrays that do the same")
