"""Blocks of one size on blocks of another."""

from __future__ import annotations

from fractions import Fraction

from zlang.lint.rule import NOTE, WARNING, Found, Rules, size, times
from zlang.lint.trial import Thing, TrialView

RULES = Rules()
_PAGE = Fraction(4096)


def _sector(thing: Thing) -> Fraction | None:
    power = thing.number("sector_power")
    return None if power is None else Fraction(2) ** int(power)


def _smaller(keeping: Thing, block: Fraction, rule: str) -> str:
    """What to do about records that are larger than the blocks."""
    if keeping.factors("record"):
        return f"where this is what you ask about, say why: `# allow {rule}: …`"
    return f"say `{keeping.word('record')} = {size(block)}`, or make it a factor"


@RULES.add("ZL021", "bs-below-recordsize", WARNING)
def block_below_record(trial: TrialView) -> Found | None:
    """Blocks that are smaller than the records they lie in.

    A file system that keeps and verifies data in records reads a whole one to return a part of it, and reads,
    changes and writes one for each smaller write. Measured: random writes of 16 MiB in 8 KiB sent 206 MiB to the
    disk with records of 128 KiB, and 18 MiB with records of 8 KiB. A database went from 6,000 to 74,000 IOPS by
    this alone (2012).

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
        return None  # the next rule speaks of what is not kept
    block, record = run.number("block"), keeping.number("record")
    if block is None or record is None or block >= record:
        return None
    moved = "reads and writes" if run.is_("modifies") else "reads"
    message = (
        f"{size(block)} in records of {size(record)}: {moved} up to {times(record / block)} times what it asks for"
    )
    return Found(run, ("block",), message, _smaller(keeping, block, "bs-below-recordsize"))


@RULES.add("ZL022", "uncached-small-reads", WARNING)
def uncached_small_reads(trial: TrialView) -> Found | None:
    """Without a cache for data every small read fetches a whole record again.

    With `primarycache = metadata` or `none` a record is not kept after a part of it was returned, so even a
    sequential pass fetches it again for the next part. Measured: 40 MiB in 8 KiB were 5,120 reads of records of 128
    KiB, 16 times as much. This is why a study of 2017 had 492,187 IOPS with a cache and 7,496 without.

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
        f"{size(block)} in records of {size(record)} that no cache keeps: each record is read {times(record / block)} "
        "times"
    )
    return Found(run, ("block",), message, _smaller(keeping, block, "uncached-small-reads"))


@RULES.add("ZL023", "sector-mismatch", WARNING)
def misaligned(trial: TrialView) -> Found | None:
    """What begins between two physical blocks touches both.

    A partition or device that does not begin at a multiple of the physical block makes two operations of one. A
    study of 2011 had 609 MB/s with partitions that begin at sector 2048, and 436 MB/s at sector 63.

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
    for thing in trial.beneath():
        begins = thing.number("begins")
        if begins is not None and begins % _PAGE:
            message = f"`{thing.name}` begins at {size(begins)}, within a physical block of {size(_PAGE)}"
            return Found(thing, ("begins",), message, "begin at a multiple of 1MiB, or allow it: it may be your factor")
    return None


@RULES.add("ZL024", "raidz-padding", NOTE)
def stripe_is_not_filled(trial: TrialView) -> Found | None:
    """A record that does not fill a stripe takes more than its share of parity.

    On raidz a record is spread over the devices in sectors, each row with its own parity, and padded. A record of 4
    KiB on four devices with 4 KiB sectors and two of parity takes 12 KiB; draid pads to whole stripes. Capacity
    differs between record sizes for this reason alone, so measure it: a collector of capacity shows it.

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
        f"a record of {size(record)} on {devices} devices and {parity} of parity takes {size(taken)}, "
        f"{times(taken / record)} times as much"
    )
    return Found(keeping, ("record",), message, "collect the capacity, and do not compare it with larger records alone")


@RULES.add("ZL025", "compression-below-sector-gain", NOTE)
def compression_saves_no_sector(trial: TrialView) -> Found | None:
    """Compression that cannot save a whole sector saves nothing.

    A compressed record is kept only if it saves whole sectors, and an eighth at least. A record of 8 KiB with
    sectors of 4 KiB has to shrink to a half; one of 4 KiB can never be compressed.

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
    needed = "can never be compressed" if record <= sector else "is compressed only if it shrinks to a half"
    message = f"a record of {size(record)} {needed}: what is saved are whole sectors of {size(sector)}"
    return Found(keeping, ("record",), message, "mind it where you compare levels of compression")


@RULES.add("ZL026", "bs-unaligned-to-recordsize-direct", NOTE, of_machine=True)
def unaligned_past_the_cache(trial: TrialView) -> Found | None:
    """Writes past the cache that go through it.

    OpenZFS from 2.3 on writes past the ARC only what fills whole records; anything else goes through it without a word
    (zfsprops(7), direct).

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
    if not run.is_("uncached") or not run.is_("modifies") or not block or not record or block % record == 0:
        return None
    message = f"{size(block)} fill no record of {size(record)}, so that each write goes through the cache all the same"
    return Found(run, ("uncached",), message, _smaller(keeping, block, "bs-unaligned-to-recordsize-direct"))
