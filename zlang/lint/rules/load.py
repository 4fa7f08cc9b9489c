"""A load that is not the one that was asked for."""

from __future__ import annotations

from zlang.lint.rule import NOTE, WARNING, Found, Rules, size, times
from zlang.lint.trial import Trial

RULES = Rules()
_SMALL = 65536


@RULES.add("ZL039", "iodepth-without-async", WARNING)
def depth_without_queue(trial: Trial) -> Found | None:
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
def buffered_queue(trial: Trial) -> Found | None:
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
def small_transfers(trial: Trial) -> Found | None:
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
