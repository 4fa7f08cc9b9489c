"""Traits: what kinds declare of themselves, so that the rules about measurements need not know any kind by its name.

A kind says `trait block = bs`; a rule asks a workload for its `block`, whatever kind it is of. What a kind does not say
is not known, and no rule speaks of it.
"""

from __future__ import annotations

from zlang.check.types import BOOL, COUNT, DURATION, IOPS, RATE, SHARE, SIZE, STRING, Type
from zlang.record import Record


class KnownTrait(Record):
    """A trait: the type of its values, and its meaning; plans store those by which results are judged (`is_kept`)."""

    type: Type
    doc: str
    is_kept: bool = False


TRAITS = {
    # of what is run
    "reads": KnownTrait(BOOL, "whether data are read"),
    "modifies": KnownTrait(BOOL, "whether data are written or discarded"),
    "random": KnownTrait(BOOL, "whether offsets are drawn at random", is_kept=True),
    "block": KnownTrait(SIZE, "the least that one operation moves"),
    "workers": KnownTrait(COUNT, "how many do the same at a time", is_kept=True),
    "depth": KnownTrait(COUNT, "how many operations a worker asks for at a time", is_kept=True),
    "waits": KnownTrait(BOOL, "whether a worker waits for each operation, whatever its depth"),
    "queues_uncached": KnownTrait(BOOL, "whether operations are in flight together only past the page cache"),
    "uncached": KnownTrait(BOOL, "whether it goes past the page cache"),
    "apart": KnownTrait(BOOL, "whether each worker has offsets of its own"),
    "reach": KnownTrait(SIZE, "how many bytes of the target it can touch"),
    "distinct": KnownTrait(
        SIZE, "how many bytes each worker can read before it may read any of them again; 0 if unknown"
    ),
    "timed": KnownTrait(BOOL, "whether it goes on until its time is over"),
    "rereads": KnownTrait(BOOL, "whether it reads data more than once, however long that takes"),
    "runtime": KnownTrait(DURATION, "after what time it ends"),
    "ramp": KnownTrait(DURATION, "how long it runs before anything counts"),
    "bounded": KnownTrait(BOOL, "whether an amount ends it"),
    "rounds": KnownTrait(DURATION, "over what time values of a log are averaged"),
    "synced": KnownTrait(BOOL, "whether what it wrote is on the device when it ends"),
    "constant": KnownTrait(BOOL, "whether the data are zeros or a pattern that repeats"),
    "fresh": KnownTrait(BOOL, "whether each write has data of its own"),
    "paced": KnownTrait(BOOL, "whether operations are asked for at a rate, not one after the other", is_kept=True),
    "read_share": KnownTrait(SHARE, "the share of reads, where it mixes them with writes"),
    "repeats_blocks": KnownTrait(BOOL, "whether it may draw one block twice and another never"),
    "unclocked": KnownTrait(BOOL, "whether latencies are not measured"),
    "written": KnownTrait(
        SIZE,
        "how many bytes it writes, if an amount ends it; of a resource, when it is made, unless it is what it holds",
    ),
    "promises": KnownTrait(BOOL, "whether blocks are promised to a file before they are written"),
    "alike": KnownTrait(BOOL, "whether all blocks that it writes are alike although nothing asks for that"),
    "invalidates": KnownTrait(BOOL, "whether it drops what the page cache has of its target before it begins"),
    "stable": KnownTrait(BOOL, "whether each write must be on the device before the next, whatever writes to it"),
    "syncs": KnownTrait(BOOL, "whether it syncs what it wrote, again and again"),
    "bound": KnownTrait(BOOL, "whether it keeps to processors that it was given"),
    "claims": KnownTrait(
        BOOL, "whether its tools open a device exclusively, so that nothing else can hold it while they work"
    ),
    # of treatments and collectors
    "steadies": KnownTrait(BOOL, "whether it brings a device into the state in which it stays"),
    "counts_cpu": KnownTrait(BOOL, "whether it says what processors are busy with"),
    # of what is measured, and what that stands on
    "link": KnownTrait(RATE, "the most that the way to its data carries", is_kept=True),
    "seeks": KnownTrait(IOPS, "how many random operations its disks do at the most", is_kept=True),
    "record": KnownTrait(SIZE, "the block in which data are kept, compressed and verified"),
    "compresses": KnownTrait(BOOL, "whether data are compressed"),
    "dedups": KnownTrait(BOOL, "whether equal blocks are kept once"),
    "keeps_data": KnownTrait(BOOL, "whether its own cache keeps data"),
    "own_cache": KnownTrait(BOOL, "whether it has a cache of its own besides the page cache"),
    "second_cache": KnownTrait(BOOL, "whether a device is a second level of that cache"),
    "feeds_second": KnownTrait(BOOL, "whether data may go to that second level"),
    "holds": KnownTrait(SIZE, "how many bytes of data it has; 0 if unknown"),
    "takes": KnownTrait(SIZE, "how many bytes of what it stands on it occupies"),
    "least": KnownTrait(SIZE, "how many bytes what it stands on must have, if not more"),
    "bandwidth": KnownTrait(RATE, "how many bytes a second can be written to it one after the other, as is stated"),
    "endurance": KnownTrait(SIZE, "how many bytes may be written to it for an experiment, as is stated"),
    "saves": KnownTrait(SHARE, "the share of its data that can be compressed away"),
    "repeats": KnownTrait(SHARE, "the share of its blocks that are there already"),
    "capacity": KnownTrait(SIZE, "how many bytes of data there is room for; 0 if unknown"),
    "unwritten": KnownTrait(BOOL, "whether blocks of it were never written"),
    "begins": KnownTrait(SIZE, "at which byte of what is beneath it begins"),
    "compresses_at_once": KnownTrait(SIZE, "how many bytes that are written in sequence are compressed together"),
    "keeps_promises": KnownTrait(BOOL, "whether blocks that were promised are written as they are, never compressed"),
    "sector": KnownTrait(SIZE, "the least that a device writes at a time"),
    "sector_power": KnownTrait(COUNT, "the smallest block of the devices, as a power of 2"),
    "stripe_devices": KnownTrait(
        COUNT, "over how many devices the data of one block are spread, without parity; 0 if unknown"
    ),
    "parity": KnownTrait(COUNT, "how many devices of a stripe hold parity"),
    "transfer": KnownTrait(SIZE, "the most that one request that reads moves from the other machine", is_kept=True),
    "transfer_of_writes": KnownTrait(SIZE, "the most that one request that writes moves to the other machine"),
    "cached_beneath": KnownTrait(BOOL, "whether the page cache keeps, beneath it, what goes past the page cache above"),
    "unready": KnownTrait(BOOL, "whether it still writes tables of its own after it was made"),
    "files": KnownTrait(COUNT, "over how many files its data are spread"),
    "dates_reads": KnownTrait(BOOL, "whether each file that is read is written to, to say when"),
    "refuses_promises": KnownTrait(BOOL, "whether blocks cannot be promised to a file, or are not kept free for it"),
    "checks_data": KnownTrait(BOOL, "whether data have checksums"),
    "ignores_sync": KnownTrait(BOOL, "whether what has to be on the device may be said to be there before it is"),
    "log_device": KnownTrait(BOOL, "whether writes that have to be stable go to devices of their own first"),
    "remote": KnownTrait(BOOL, "whether data lie with a server, which has a cache of its own"),
    "out_of_reach": KnownTrait(BOOL, "whether a server has a cache that no flush reaches"),
    "flash": KnownTrait(BOOL, "whether data are kept on flash, which is faster while it is fresh"),
    "controller_compresses": KnownTrait(BOOL, "whether a device compresses what it is given"),
    # of machines
    "passes_own_cache": KnownTrait(BOOL, "whether what goes past the page cache goes past a file system's own, too"),
    "virtual": KnownTrait(BOOL, "whether it is a virtual machine"),
    "nodes": KnownTrait(COUNT, "how many nodes with memory of their own it has"),
    "paced_down": KnownTrait(BOOL, "whether its processors may be clocked down"),
    # what to write in a program, for hints
    "to_queue": KnownTrait(STRING, "what to write so that operations are in flight together"),
    "to_add_workers": KnownTrait(STRING, "the property that says how many workers there are"),
    "to_split": KnownTrait(STRING, "the property that gives each worker a part of the target of its own"),
    "to_bypass": KnownTrait(STRING, "what to write so that it goes past the page cache"),
    "to_bypass_beneath": KnownTrait(STRING, "what to write so that it goes past the page cache beneath it"),
    "to_sync": KnownTrait(STRING, "what to write so that it syncs after each write"),
    "to_sync_at_end": KnownTrait(STRING, "what to write so that what it wrote is on the device when it ends"),
    "to_run_for_time": KnownTrait(STRING, "what to write so that it goes on until its time is over"),
    "to_set_time": KnownTrait(STRING, "what to write for the time that it runs"),
    "to_bound": KnownTrait(STRING, "what to write for the amount that ends it"),
    "to_pace": KnownTrait(STRING, "what to write so that operations are asked for at a rate"),
    "to_only_read": KnownTrait(STRING, "what to write so that it reads only"),
    "to_only_write": KnownTrait(STRING, "what to write so that it writes only"),
    "to_visit_all": KnownTrait(STRING, "what to write so that random offsets do not repeat"),
    "to_vary_data": KnownTrait(STRING, "what to write so that each write has data of its own"),
    "to_write_zeros": KnownTrait(STRING, "what to write so that it writes zeros"),
    "to_hold_random": KnownTrait(STRING, "what to write so that its data are random"),
    "to_hold_compressible": KnownTrait(STRING, "what to write so that a share of its data can be compressed away"),
    "to_fill": KnownTrait(STRING, "what to write so that every block is written when it is made"),
    "to_keep_data": KnownTrait(STRING, "what to write so that its own cache keeps data"),
    "to_flush_server": KnownTrait(STRING, "what to write so that the server's cache is emptied, too"),
}
