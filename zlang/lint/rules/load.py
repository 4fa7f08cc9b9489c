"""A load that is not the one that was asked for."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from zlang.lint.rule import ERROR, NOTE, WARNING, Found, Rules, share, size, times
from zlang.lint.trial import Thing, TrialView, formulas

RULES = Rules()
_SMALL = 65536
_FULL = Fraction(8, 10)


@RULES.add("ZL039", "iodepth-without-async", WARNING)
def depth_without_queue(trial: TrialView) -> Found | None:
    """An engine that waits for each operation has a queue depth of one.

    `sync`, `psync`, `mmap` and their like return when the operation is done, so there is never more than one in
    flight, whatever `iodepth` says. Trials that differ in it measure the same thing several times.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  iodepth = 1 | 32 }
    experiment queued { on = data  run = reads  cache = cold  repeat = 3 }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  numjobs = 1 | 32 }
    experiment queued { on = data  run = reads  cache = cold  repeat = 3 }
    ```
    """
    run = trial.run
    depth = run.number("depth")
    if depth is None or depth == 1 or not run.is_("waits"):
        return None
    message = f"a depth of {depth} without effect: the engine waits for each operation"
    return Found(run, ("depth",), message, "take an engine that does not wait (`io_uring`), or `numjobs`")


@RULES.add("ZL040", "buffered-async-is-sync", WARNING)
def buffered_queue(trial: TrialView) -> Found | None:
    """Libaio keeps nothing in flight but past the page cache.

    Through the page cache, and on ZFS always, its call for submitting returns when the operation is done. fio
    reports the depth that was asked for all the same, and a latency of that many operations: with a depth of 32 the
    device had 0.51 operations in flight (measured). A study of 2017 shows it: IOPS that do not grow with depth, and
    latencies that do.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  ioengine = libaio  iodepth = 2..16 by *2 }
    experiment flat { on = data  run = reads  cache = cold  repeat = 3 }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  ioengine = libaio  iodepth = 2..16 by *2  direct = on }
    experiment queued { on = data  run = reads  cache = cold  repeat = 3 }
    ```
    """
    run = trial.run
    depth = run.number("depth")
    if depth is None or depth == 1 or not run.is_("queues_uncached"):
        return None
    own = trial.having("own_cache")
    if own is not None and own.is_("own_cache"):
        message = f"a depth of {depth} is one on `{own.name}`, where the engine waits"
        return Found(run, ("depth",), message, "take `io_uring`, or `numjobs`")
    if run.is_("uncached"):
        return None
    message = f"a depth of {depth} is one through the page cache, where the engine waits"
    return Found(run, ("depth",), message, "say `direct = on`, or take `io_uring` or `numjobs`")


@RULES.add("ZL047", "shared-link-or-nfs-size", NOTE)
def small_transfers(trial: TrialView) -> Found | None:
    """Small requests over a network measure the network.

    A mount with `rsize = 8192` asks the server 16 times for 128 KiB. A study of 2017 compared file systems behind
    such a mount, which bounds what each of them can show.

    ```zexp wrong
    import fio

    kind remote: resource on dir {
      doc = "A directory of another machine."
      property rsize: size { default = 1MiB  doc = "the most that one request reads" }
      offers dir = "{on.dir}"
      trait transfer = rsize
      create { sh "echo {rsize}" { why = "mount it" } }
      destroy { sh "true" { why = "unmount it" } }
    }
    dir here { path = "." }
    remote share on here { rsize = 8KiB }
    file data on share { size = 1GiB }
    fio reads { rw = read  bs = 128KiB }
    experiment far { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio

    kind remote: resource on dir {
      doc = "A directory of another machine."
      property rsize: size { default = 1MiB  doc = "the most that one request reads" }
      offers dir = "{on.dir}"
      trait transfer = rsize
      create { sh "echo {rsize}" { why = "mount it" } }
      destroy { sh "true" { why = "unmount it" } }
    }
    dir here { path = "." }
    remote share on here
    file data on share { size = 1GiB }
    fio reads { rw = read  bs = 128KiB }
    experiment far { on = data  run = reads  cache = cold }
    ```
    """
    behind, block = trial.having("transfer"), trial.run.number("block")
    transfer = behind.number("transfer") if behind else None
    if behind is None or transfer is None or block is None or block <= transfer or transfer >= _SMALL:
        return None
    message = f"{size(block)} over the network are {times(block / transfer)} requests of {size(transfer)}"
    return Found(behind, ("transfer",), message, "take larger requests, or make their size a factor")


@RULES.add("ZL042", "over-capacity", ERROR)
def over_capacity(trial: TrialView) -> Found | None:
    """Data for which there is no room.

    The layout would end in the middle, and so would the run. Of what a file system keeps for itself nothing is
    known here, so a file that fits by a little may not fit either. What a file system itself has to have beneath it
    is known: xfs cannot be made on less than 300 MiB.

    ```zexp wrong
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB }
    ext4 volume on disk
    file data on volume { size = 2GiB }
    fio reads { rw = randread }
    experiment full { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 4GiB }
    ext4 volume on disk
    file data on volume { size = 2GiB }
    fio reads { rw = randread }
    experiment room { on = data  run = reads  cache = cold }
    ```
    """
    for thing, beneath in pairwise(trial.beneath()):
        least, most = thing.number("least"), beneath.number("capacity")
        if least and most and most < least:
            message = f"`{thing.name}` cannot be made on `{beneath.name}`: it needs {size(least)}, and has {size(most)}"
            return Found(beneath, ("capacity",), message, f"give it {size(least)} or more")
    fitting = _held_and_room(trial)
    if fitting is None or fitting[1] <= fitting[3]:
        return None
    holding, held, room, most = fitting
    message = f"{size(held)} do not fit into `{room.name}`, which has room for {size(most)}"
    return Found(holding, ("holds",), message, "scale one of the two")


@RULES.add("ZL058", "pool-too-full", WARNING)
def too_full(trial: TrialView) -> Found | None:
    """What is nearly full works in another way.

    The last blocks are looked for longer, and lie apart: Oracle's own advice for ZFS was to stay below 80 %, and
    OpenZFS looks for the best place instead of the first where less than 4 % are free. If levels differ in how full
    they are, that is measured too: make it a factor.

    ```zexp wrong
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB }
    xfs volume on disk
    file data on volume { size = 900MiB }
    fio reads { rw = randread }
    experiment full { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio
    import filesystems

    dir here { path = "." }
    loop disk on here { size = 1GiB }
    xfs volume on disk
    file data on volume { size = 512MiB }
    fio reads { rw = randread }
    experiment half { on = data  run = reads  cache = cold }
    ```
    """
    fitting = _held_and_room(trial)
    if fitting is None or not _FULL < fitting[1] / fitting[3] <= 1:
        return None
    holding, held, room, most = fitting
    message = f"{size(held)} fill `{room.name}` to {share(round(held / most, 2))}: near its end it works in another way"
    return Found(holding, ("holds",), message, f"hold {size(Fraction(_FULL * most // 1))} at most, or make it a factor")


def _held_and_room(trial: TrialView) -> tuple[Thing, Fraction, Thing, Fraction] | None:
    """What holds data, how much, and where how much room is; None where some of it vanishes or is not known."""
    holding, room = trial.having("holds"), trial.having("capacity")
    if holding is None or room is None or holding.is_("constant") or holding.number("saves"):
        return None
    if holding.number("repeats") and any(thing.is_("dedups") for thing in trial.beneath()):
        return None
    held, most = holding.number("holds"), room.number("capacity")
    return None if held is None or not most else (holding, held, room, most)


@RULES.add("ZL041", "closed-loop-latency", NOTE)
def closed_loop(trial: TrialView) -> Found | None:
    """A load that waits for slow answers does not see how slow they are.

    Each worker asks for the next operation when one is done. While the device stands still nothing is asked for,
    and what would have had to wait is missing from the percentiles: this is called coordinated omission. Users who
    do not wait are served worse than the percentiles say (Schroeder, Wierman and Harchol-Balter, Open versus closed,
    NSDI 2006).

    The rate is what users ask for, where that is known. Where it is not, measure without a rate what the device does at
    the most, and ask for shares of that, such as 25, 50, 75 and 90 %: below the knee latencies hardly change with the
    rate. At 100 % and above, the queue grows as long as it is measured, and percentiles say how long that was. fio
    takes the rate as that of each job, so with `numjobs = 4` it is a quarter.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread }
    experiment closed {
      on    = data
      run   = reads
      cache = cold
      table p99(read_clat)
    }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    let most = 2000/s  # measured without a rate
    let load = 25% | 50% | 75% | 90%
    fio reads { rw = randread  rate_iops = load * most  rate_process = poisson  io_submit_mode = offload }
    experiment open {
      on     = data
      run    = reads
      cache  = cold
      repeat = 5
      table p99(read_clat) by load
    }
    ```
    """
    run = trial.run
    if (
        not run.is_not("paced")
        or run.is_("unclocked")
        or all(term.op != "percentile" for term in formulas(trial.experiment))
    ):
        return None
    message = (
        "each operation waits for the one before: what would have come while the device stood still is not counted"
    )
    return Found(
        run, (), message, "add a series with `rate_iops`, `rate_process = poisson` and `io_submit_mode = offload`"
    )


@RULES.add("ZL043", "generator-on-the-server", NOTE)
def generator_competes(trial: TrialView) -> Found | None:
    """A load that takes the processors from what it measures.

    To compress and to check takes processors, to look for equal blocks does when they are written, and so does the
    load. On one machine each takes them from the other: a gap of 25 % in a study of 2017 was gone when another machine
    made the load. It is a note. There is none where one worker leaves the other processors alone, where a collector
    shows what they were busy with, because then it can be told, or where there is no load.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { compression = off | gzip-9 }
    file data on work { size = 1GiB  content = compressible(50%) }
    fio reads { rw = randread  bs = 128KiB  numjobs = 8 }
    experiment crowded { on = data  run = reads  cache = cold  repeat = 3 }
    ```

    ```zexp
    import fio
    import linux
    import zfs

    dir here { path = "." }
    pool tank on here { size = 4GiB }
    dataset work on tank { compression = off | gzip-9 }
    file data on work { size = 1GiB  content = compressible(50%) }
    fio reads { rw = randread  bs = 128KiB  numjobs = 8 }
    mpstat processors
    experiment watched { on = data  run = reads  cache = cold  repeat = 3  collect = [processors] }
    ```
    """
    run, machine = trial.run, trial.machine
    if run.number("workers") == 1 or not (run.is_("reads") or run.is_("modifies")):
        return None
    origin = run.instance.origin
    if origin is not None and machine is not None and origin.key != machine.instance.key:
        return None
    if any(thing.is_("remote") for thing in trial.beneath()) or any(one.is_("counts_cpu") for one in trial.collectors):
        return None
    for thing in trial.beneath():
        for trait, what in _BUSY.items():
            if (trait != "dedups" or run.is_("modifies")) and thing.factors(trait):
                message = f"trials differ in {what}, which takes processors, and so does the load on the same machine"
                return Found(thing, (trait,), message, "make the load on another machine, or add a collector of CPU")
    return None


_BUSY = {"compresses": "how they compress", "dedups": "whether equal blocks are found", "checks_data": "checksums"}


@RULES.add("ZL048", "numa-and-affinity", NOTE, of_machine=True)
def nodes_are_mixed(trial: TrialView) -> Found | None:
    """Memory that is nearer to one processor than to another.

    On a machine of several nodes a worker may run on one and its buffers lie on another, and each run decides that
    anew: values vary more than they need to. A study of 2017 measured on such a machine.

    ```zexp wrong
    import fio

    host box { nodes = 2 }
    dir here on box { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread }
    experiment anywhere { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio

    host box { nodes = 2 }
    dir here on box { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  numa_cpu_nodes = "0" }
    experiment bound { on = data  run = reads  cache = cold }
    ```
    """
    machine, run = trial.machine, trial.run
    nodes = machine.number("nodes") if machine else None
    if machine is None or nodes is None or nodes == 1 or not run.is_not("bound"):
        return None
    message = f"`{machine.name}` has {nodes} nodes, and the workload is bound to none: each run falls on others"
    return Found(run, ("bound",), message, f"say `{run.word('bound')} = …`")
