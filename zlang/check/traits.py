"""What kinds say of their nature, so that the rules about measurements need not know any kind by its name.

A kind says `trait block = bs`; a rule asks a workload for its `block`, whatever kind it is of. What a kind does not say
is not known, and no rule speaks of it.
"""

from __future__ import annotations

from zlang.check.types import BOOL, COUNT, DURATION, IOPS, RATE, SHARE, SIZE, Type
from zlang.record import Record


class Trait(Record):
    """What the values of a trait are, and what it says; `is_kept` if results are judged by it, and plans tell it."""

    type: Type
    doc: str
    is_kept: bool = False


TRAITS = {
    # of what is run
    "reads": Trait(BOOL, "whether data are read"),
    "modifies": Trait(BOOL, "whether data are written or discarded"),
    "random": Trait(BOOL, "whether offsets are drawn at random", is_kept=True),
    "block": Trait(SIZE, "the least that one operation moves"),
    "workers": Trait(COUNT, "how many do the same at a time", is_kept=True),
    "depth": Trait(COUNT, "how many operations a worker asks for at a time", is_kept=True),
    "waits": Trait(BOOL, "whether a worker waits for each operation, whatever its depth"),
    "queues_uncached": Trait(BOOL, "whether operations are in flight together only past the page cache"),
    "uncached": Trait(BOOL, "whether it goes past the page cache"),
    "apart": Trait(BOOL, "whether each worker has offsets of its own"),
    "reach": Trait(SIZE, "how many bytes of the target it can touch"),
    "timed": Trait(BOOL, "whether it goes on until its time is over"),
    "runtime": Trait(DURATION, "after what time it ends"),
    "ramp": Trait(DURATION, "how long it runs before anything counts"),
    "bounded": Trait(BOOL, "whether an amount ends it"),
    "rounds": Trait(DURATION, "over what time values of a log are averaged"),
    "synced": Trait(BOOL, "whether what it wrote is on the device when it ends"),
    "constant": Trait(BOOL, "whether the data are zeros or a pattern that repeats"),
    "fresh": Trait(BOOL, "whether each write has data of its own"),
    "paced": Trait(BOOL, "whether operations are asked for at a rate, not one after the other", is_kept=True),
    "read_share": Trait(SHARE, "the share of reads, where it mixes them with writes"),
    "repeats_blocks": Trait(BOOL, "whether it may draw one block twice and another never"),
    "unclocked": Trait(BOOL, "whether latencies are not measured"),
    "written": Trait(
        SIZE,
        "how many bytes it writes, if an amount ends it; of a resource, when it is made, unless it is what it holds",
    ),
    "promises": Trait(BOOL, "whether blocks are promised to a file before they are written"),
    "alike": Trait(BOOL, "whether all blocks that it writes are alike although nothing asks for that"),
    "invalidates": Trait(BOOL, "whether it drops what the page cache has of its target before it begins"),
    "stable": Trait(BOOL, "whether each write has to be on the device before the next"),
    "bound": Trait(BOOL, "whether it keeps to processors that it was given"),
    # of treatments and collectors
    "steadies": Trait(BOOL, "whether it brings a device into the state in which it stays"),
    "counts_cpu": Trait(BOOL, "whether it says what processors are busy with"),
    # of what is measured, and what that stands on
    "link": Trait(RATE, "the most that the way to its data carries", is_kept=True),
    "seeks": Trait(IOPS, "how many random operations its disks do at the most", is_kept=True),
    "record": Trait(SIZE, "the block in which data are kept, compressed and verified"),
    "compresses": Trait(BOOL, "whether data are compressed"),
    "dedups": Trait(BOOL, "whether equal blocks are kept once"),
    "keeps_data": Trait(BOOL, "whether its own cache keeps data"),
    "own_cache": Trait(BOOL, "whether it has a cache of its own besides the page cache"),
    "second_cache": Trait(BOOL, "whether a device is a second level of that cache"),
    "feeds_second": Trait(BOOL, "whether data may go to that second level"),
    "holds": Trait(SIZE, "how many bytes of data it has; 0 where nobody knows"),
    "takes": Trait(SIZE, "how many bytes of what it stands on it occupies"),
    "least": Trait(SIZE, "how many bytes what it stands on must have, if not more"),
    "bandwidth": Trait(RATE, "how many bytes a second can be written to it one after the other, as is stated"),
    "endurance": Trait(SIZE, "how many bytes may be written to it for an experiment, as is stated"),
    "saves": Trait(SHARE, "the share of its data that can be compressed away"),
    "repeats": Trait(SHARE, "the share of its blocks that are there already"),
    "capacity": Trait(SIZE, "how many bytes of data there is room for; 0 where nobody knows"),
    "unwritten": Trait(BOOL, "whether blocks of it were never written"),
    "begins": Trait(SIZE, "at which byte of what is beneath it begins"),
    "keeps_promises": Trait(BOOL, "whether blocks that were promised are written as they are, never compressed"),
    "sector_power": Trait(COUNT, "the smallest block of the devices, as a power of 2"),
    "stripe_devices": Trait(
        COUNT, "over how many devices the data of one block are spread, without parity; 0 where nobody knows"
    ),
    "parity": Trait(COUNT, "how many devices of a stripe hold parity"),
    "transfer": Trait(SIZE, "the most that one request to the other machine moves", is_kept=True),
    "cached_beneath": Trait(BOOL, "whether the page cache keeps, beneath it, what goes past the page cache above"),
    "unready": Trait(BOOL, "whether it still writes tables of its own after it was made"),
    "files": Trait(COUNT, "over how many files its data are spread"),
    "dates_reads": Trait(BOOL, "whether each file that is read is written to, to say when"),
    "refuses_promises": Trait(BOOL, "whether blocks cannot be promised to a file, or are not kept free for it"),
    "checks_data": Trait(BOOL, "whether data have checksums"),
    "ignores_sync": Trait(BOOL, "whether what has to be on the device may be said to be there before it is"),
    "log_device": Trait(BOOL, "whether writes that have to be stable go to devices of their own first"),
    "remote": Trait(BOOL, "whether data lie with a server, which has a cache of its own"),
    "out_of_reach": Trait(BOOL, "whether a server has a cache that no flush reaches"),
    "flash": Trait(BOOL, "whether data are kept on flash, which is faster while it is fresh"),
    "controller_compresses": Trait(BOOL, "whether a device compresses what it is given"),
    # of machines
    "passes_own_cache": Trait(BOOL, "whether what goes past the page cache goes past a file system's own, too"),
    "virtual": Trait(BOOL, "whether it is a virtual machine"),
    "nodes": Trait(COUNT, "how many nodes with memory of their own it has"),
    "paced_down": Trait(BOOL, "whether its processors may be clocked down"),
}
