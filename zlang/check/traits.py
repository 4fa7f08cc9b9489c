"""Traits: properties that kinds declare about themselves, so that the rules need not know any kind by its name.

A kind says `trait block = bs`; a rule asks a workload for its `block`, whatever its kind. If a kind does not state a
trait, the rules that need it report nothing. The `doc` of a trait that a metric can need begins with "whether it".
"""

from __future__ import annotations

from zlang.check.types import BOOL, COUNT, DURATION, IOPS, RATE, SHARE, SIZE, STRING, Type
from zlang.record import Record


class KnownTrait(Record):
    """A trait: the type and the meaning of its values.

    Plans store the traits that judge results (`is_kept`). Others are read to plan trials (`is_planned`).
    """

    type: Type
    doc: str
    is_kept: bool = False
    is_planned: bool = False


TRAITS = {
    # of workloads
    "reads": KnownTrait(BOOL, "whether it reads data", is_kept=True),
    "modifies": KnownTrait(BOOL, "whether it writes or discards data", is_kept=True),
    "random": KnownTrait(BOOL, "whether it draws offsets at random", is_kept=True),
    "block": KnownTrait(SIZE, "the smallest amount that one operation transfers; 0 if not known"),
    "workers": KnownTrait(COUNT, "how many workers run at the same time", is_kept=True),
    "depth": KnownTrait(COUNT, "how many operations a worker has in flight, if it does not wait", is_kept=True),
    "waits": KnownTrait(BOOL, "whether it waits for each operation, whatever its depth"),
    "queues_uncached": KnownTrait(BOOL, "whether it queues operations only if they bypass the page cache"),
    "uncached": KnownTrait(BOOL, "whether it bypasses the page cache"),
    "splits_target": KnownTrait(BOOL, "whether it gives each worker a part of the target to itself"),
    "reach": KnownTrait(SIZE, "how many bytes of the target it can touch"),
    "overrun": KnownTrait(SIZE, "how many bytes past the end of its target it goes; 0 if it stays within"),
    "reuse_distance": KnownTrait(
        SIZE,
        "how many bytes each worker reads before it may read any of them again; half of the bytes among which it draws,"
        " if it `repeats_blocks`; 0 if unknown",
        is_planned=True,
    ),
    "max_transfer": KnownTrait(SIZE, "how many bytes each worker can transfer at its rate; 0 if that is not limited"),
    "timed": KnownTrait(BOOL, "whether it runs until its time is over", is_planned=True),
    "rereads": KnownTrait(BOOL, "whether it reads data more than once, whatever its size and time"),
    "runtime": KnownTrait(DURATION, "how long it runs", is_planned=True),
    "ramp": KnownTrait(DURATION, "how long it runs before anything counts", is_planned=True),
    "skips_ramp": KnownTrait(BOOL, "whether it measures at once, although a ramp is set"),
    "bounded": KnownTrait(BOOL, "whether it ends after a stated amount of data"),
    "rounds": KnownTrait(DURATION, "the interval over which it averages the values of a log"),
    "synced": KnownTrait(BOOL, "whether its writes are on the device when it ends"),
    "constant": KnownTrait(BOOL, "whether it writes zeros or a repeating pattern", is_planned=True),
    "fresh": KnownTrait(BOOL, "whether it writes new data each time"),
    "paced": KnownTrait(BOOL, "whether it starts operations at a rate, instead of one after the other", is_kept=True),
    "regular": KnownTrait(BOOL, "whether the operations that it starts at a rate begin at equal intervals"),
    "read_share": KnownTrait(SHARE, "the share of reads in a mix of reads and writes"),
    "repeats_blocks": KnownTrait(BOOL, "whether it can use one block twice and miss another, at random offsets"),
    "no_latencies": KnownTrait(BOOL, "whether it measures no latencies"),
    "written": KnownTrait(
        SIZE,
        "how many bytes are written: by a workload that ends after an amount, or to create a resource without its data",
        is_planned=True,
    ),
    "preallocates": KnownTrait(BOOL, "whether it preallocates the blocks of a file before it writes them"),
    "same_content": KnownTrait(
        BOOL, "whether it writes the same content to all blocks, although the program does not ask for that"
    ),
    "invalidates": KnownTrait(BOOL, "whether it first drops its target from the page cache"),
    "stable": KnownTrait(BOOL, "whether it puts each write on the device before the next one starts"),
    "syncs": KnownTrait(BOOL, "whether it repeatedly syncs its writes"),
    "bound": KnownTrait(BOOL, "whether it is bound to certain processors"),
    "claims": KnownTrait(
        BOOL, "whether it opens a device exclusively, so that nothing else can hold it meanwhile", is_planned=True
    ),
    "runs_in_target": KnownTrait(
        BOOL, "whether it runs in the directory of its target, so that relative paths lead elsewhere", is_planned=True
    ),
    "keeps_environment": KnownTrait(
        BOOL, "whether what it starts gets its environment and its open files", is_planned=True
    ),
    # of treatments and collectors
    "preconditions": KnownTrait(BOOL, "whether it brings a device into its steady state"),
    "counts_cpu": KnownTrait(BOOL, "whether it reports what processors are busy with"),
    # of targets and the things beneath them
    "link": KnownTrait(RATE, "the bandwidth of the connection to its data", is_kept=True),
    "seeks": KnownTrait(IOPS, "the most random operations per second that its disks can do", is_kept=True),
    "record": KnownTrait(SIZE, "the size of the blocks in which data are stored, compressed and verified"),
    "compresses": KnownTrait(BOOL, "whether data are compressed", is_planned=True),
    "dedups": KnownTrait(BOOL, "whether equal blocks are stored once", is_planned=True),
    "keeps_data": KnownTrait(BOOL, "whether its own cache keeps data"),
    "own_cache": KnownTrait(BOOL, "whether it has a cache of its own besides the page cache"),
    "queues": KnownTrait(BOOL, "whether operations that bypass the page cache can run in parallel there"),
    "second_cache": KnownTrait(BOOL, "whether a device is a second level of its cache"),
    "feeds_second": KnownTrait(BOOL, "whether data may enter the second level of its cache"),
    "holds": KnownTrait(SIZE, "how many bytes of data it has; 0 if unknown", is_planned=True),
    "occupies": KnownTrait(SIZE, "how many bytes it occupies in the resource beneath it", is_planned=True),
    "needs_below": KnownTrait(SIZE, "how many bytes the thing beneath it must have at least"),
    "bandwidth": KnownTrait(RATE, "the stated rate of sequential writes to it", is_planned=True),
    "endurance": KnownTrait(SIZE, "how many bytes an experiment may write to it, as stated", is_planned=True),
    "saves": KnownTrait(SHARE, "the share of its data that compression saves", is_planned=True),
    "repeats": KnownTrait(SHARE, "the share of its blocks that are duplicates", is_planned=True),
    "capacity": KnownTrait(SIZE, "how many bytes of data fit into it; 0 if unknown"),
    "limit": KnownTrait(SIZE, "how many bytes may be stored in it and in all that it contains; 0 if not limited"),
    "own_limit": KnownTrait(SIZE, "how many bytes may be stored in it, without what it contains; 0 if not limited"),
    "stored_copies": KnownTrait(COUNT, "how many times each of its blocks is stored"),
    "unwritten": KnownTrait(BOOL, "whether it has blocks that were never written", is_planned=True),
    "begins": KnownTrait(
        SIZE, "its offset from the start of the device beneath it; for a workload, from the start of its target"
    ),
    "compresses_at_once": KnownTrait(SIZE, "how many bytes of a sequential write are compressed together"),
    "preallocated_raw": KnownTrait(BOOL, "whether preallocated blocks are written as they are, never compressed"),
    "sector": KnownTrait(SIZE, "the smallest amount that a device writes at once"),
    "sector_power": KnownTrait(COUNT, "the sector size that it assumes, as a power of 2"),
    "stripe_devices": KnownTrait(COUNT, "how many devices hold the data of one block, without parity; 0 if unknown"),
    "stripe": KnownTrait(SIZE, "how many bytes of data a stripe with parity holds at least; 0 without parity"),
    "redundancy": KnownTrait(
        COUNT, "how many of its devices can be taken away without loss; 0 if one is missing already"
    ),
    "uses_redundancy": KnownTrait(BOOL, "whether it works only where data are stored with copies or parity"),
    "parity": KnownTrait(COUNT, "how many devices of a stripe hold parity"),
    "transfer": KnownTrait(SIZE, "the largest read request over the network", is_kept=True),
    "transfer_of_writes": KnownTrait(SIZE, "the largest write request over the network"),
    "cached_beneath": KnownTrait(
        BOOL, "whether the page cache below it keeps data that bypass the page cache above it"
    ),
    "lazy_init": KnownTrait(BOOL, "whether it still writes its own metadata after it was created"),
    "background_work": KnownTrait(BOOL, "whether it works in the background after data were written"),
    "files": KnownTrait(COUNT, "how many files hold its data"),
    "updates_atime": KnownTrait(BOOL, "whether a read updates the access time of a file, which is a write"),
    "no_preallocation": KnownTrait(BOOL, "whether blocks cannot be preallocated, or are not reserved"),
    "checks_data": KnownTrait(BOOL, "whether it stores checksums of data"),
    "ignores_sync": KnownTrait(BOOL, "whether a sync may return before the data are on the device"),
    "ignores_direct": KnownTrait(BOOL, "whether I/O that bypasses the page cache still goes through its cache"),
    "copies_direct": KnownTrait(BOOL, "whether writes that bypass the page cache are copied to it first, one by one"),
    "caches_compressed": KnownTrait(
        BOOL, "whether reads of compressed data go through its cache, even if asked to bypass it"
    ),
    "forces_direct": KnownTrait(BOOL, "whether all I/O bypasses its cache wherever possible"),
    "log_device": KnownTrait(BOOL, "whether synchronous writes first go to separate devices"),
    "remote": KnownTrait(BOOL, "whether the data are on a server, which has a cache of its own"),
    "out_of_reach": KnownTrait(BOOL, "whether a server has a cache that no flush empties"),
    "flash": KnownTrait(BOOL, "whether the data are on flash, which is faster while it is new"),
    "controller_compresses": KnownTrait(BOOL, "whether the controller of a device compresses data"),
    # of machines
    "passes_own_cache": KnownTrait(
        BOOL, "whether I/O that bypasses the page cache also bypasses the cache of its file system"
    ),
    "leaves_direct": KnownTrait(BOOL, "whether its kernel copies no writes that bypass the page cache"),
    "writes_no_data": KnownTrait(
        BOOL, "whether it only changes a setting, even of a device that it names", is_planned=True
    ),
    "virtual": KnownTrait(BOOL, "whether it is a virtual machine"),
    "nodes": KnownTrait(COUNT, "how many NUMA nodes it has"),
    "paced_down": KnownTrait(BOOL, "whether the clock of its processors can be lowered"),
    # what to write in a program, for hints
    "to_queue": KnownTrait(STRING, "what to write so that several operations are in flight"),
    "to_add_workers": KnownTrait(STRING, "the property that sets the number of workers"),
    "to_split": KnownTrait(STRING, "the property that gives each worker a part of the target to itself"),
    "to_bypass": KnownTrait(STRING, "what to write so that it bypasses the page cache"),
    "to_bypass_beneath": KnownTrait(STRING, "what to write so that it bypasses the page cache below it"),
    "to_sync": KnownTrait(STRING, "what to write so that it syncs after each write"),
    "to_sync_at_end": KnownTrait(STRING, "what to write so that its writes are on the device when it ends"),
    "to_run_for_time": KnownTrait(STRING, "what to write so that it runs until its time is over"),
    "to_set_time": KnownTrait(STRING, "what to write to set how long it runs"),
    "to_bound": KnownTrait(STRING, "what to write so that it ends after an amount of data"),
    "to_pace": KnownTrait(STRING, "what to write so that operations start at a rate"),
    "to_randomize": KnownTrait(STRING, "what to write so that operations start at random intervals"),
    "to_only_read": KnownTrait(STRING, "what to write so that it only reads"),
    "to_only_write": KnownTrait(STRING, "what to write so that it only writes"),
    "to_visit_all": KnownTrait(STRING, "what to write so that random offsets do not repeat"),
    "to_vary_data": KnownTrait(STRING, "what to write so that each write has new data"),
    "to_write_zeros": KnownTrait(STRING, "what to write so that it writes zeros"),
    "to_write_compressible": KnownTrait(STRING, "what to write so that compression saves a share of what it writes"),
    "to_write_duplicates": KnownTrait(STRING, "what to write so that a share of what it writes are duplicates"),
    "to_hold_random": KnownTrait(STRING, "what to write so that its data are random"),
    "to_hold_compressible": KnownTrait(STRING, "what to write so that compression saves a share of its data"),
    "to_fill": KnownTrait(STRING, "what to write so that every block is written when it is created"),
    "to_steady": KnownTrait(STRING, "what to write so that it is in its steady state before it is measured"),
    "to_keep_data": KnownTrait(STRING, "what to write so that its own cache keeps data"),
    "to_keep_direct": KnownTrait(STRING, "what to write so that writes that bypass the page cache are not copied"),
    "to_skip_atime": KnownTrait(STRING, "what to write so that reads do not update access times"),
    "to_take_turns": KnownTrait(STRING, "what to write so that several machines work one at a time"),
    "to_state_link": KnownTrait(STRING, "what to write so that the bandwidth of its link is known"),
    "to_flush_server": KnownTrait(STRING, "what to write so that the cache of the server is emptied too"),
}
