"""When a measurement begins and ends, how often it is made, and what else goes on."""

from __future__ import annotations

from zlang.lint.rule import ERROR, NOTE, WARNING, Found, Rules, time
from zlang.lint.trial import TrialView

RULES = Rules()
_SHORT = 30
_WINDOWS = 20
_FEW = 3


@RULES.add("ZL049", "buffered-write-not-synced", WARNING)
def write_is_not_synced(trial: TrialView) -> Found | None:
    """Writes that end in memory.

    What goes through the page cache is done when it is in memory; the device gets it later, and what goes wrong
    there nobody is told. A study of 2017 published 56,024 write IOPS of six disks in this way.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio writes { rw = randwrite }
    experiment memory { on = data  run = writes }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio writes { rw = randwrite  end_fsync = on }
    experiment disk { on = data  run = writes }
    ```
    """
    run = trial.run
    if not run.is_("modifies") or not run.is_not("uncached") or not run.is_not("synced"):
        return None
    message = "what is written ends in memory: nothing waits until it is on the device"
    return Found(run, ("modifies",), message, "say `end_fsync = on`, or `fsync = 1`, or `direct = on`")


@RULES.add("ZL050", "runtime-too-short", NOTE)
def runtime_is_short(trial: TrialView) -> Found | None:
    """A time in which nothing has settled.

    Buffers of writes run full and devices slow down over minutes, and a second level of a cache fills at 8 MiB in a
    second. What is measured of them in a few seconds is the beginning. It is a note, because the beginning can be
    meant.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio writes { rw = randwrite  direct = on  time_based = on  runtime = 5s }
    experiment brief { on = data  run = writes }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio writes { rw = randwrite  direct = on  time_based = on  runtime = 60s }
    experiment longer { on = data  run = writes }
    ```
    """
    run = trial.run
    runtime = run.number("runtime")
    if runtime is None or not runtime or not run.is_("timed"):
        return None
    window = run.number("rounds")
    if window and runtime < _WINDOWS * window:
        message = f"{time(runtime)} are {float(runtime / window):.3g} rounds of {time(window)}: too few to see a course"
        return Found(run, ("runtime",), message, f"run for {time(_WINDOWS * window)} or longer")
    fills = run.is_("modifies") or any(thing.is_("second_cache") for thing in trial.beneath())
    if runtime >= _SHORT or not fills:
        return None
    message = f"{time(runtime)} covers only the start-up phase: buffers fill and devices slow down over minutes"
    return Found(run, ("runtime",), message, "run for a minute or longer; `profile` can keep a short one for trying")


@RULES.add("ZL052", "time_based-needs-runtime", ERROR)
def time_without_end(trial: TrialView) -> Found | None:
    """A time that ends it, which is not said.

    fio only remarks that there is no time and ends with the amount, with exit code 0 (measured).

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  time_based = on }
    experiment endless { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  time_based = on  runtime = 60s }
    experiment minute { on = data  run = reads  cache = cold }
    ```
    """
    run = trial.run
    if not run.is_("timed") or run.number("runtime"):
        return None
    return Found(run, ("timed",), "time ends it, and no time is given", "say `runtime = 60s`")


@RULES.add("ZL053", "runtime-without-time_based", WARNING)
def end_comes_before_time(trial: TrialView) -> Found | None:
    """A time that may never be reached.

    Without `time_based` the workload ends when the data have been gone through once, and `runtime` only cuts it
    short. Fast targets then are measured for a shorter time than slow ones.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  runtime = 60s }
    experiment cut { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  runtime = 60s  time_based = on }
    experiment minute { on = data  run = reads  cache = cold }
    ```
    """
    run = trial.run
    runtime = run.number("runtime")
    if not runtime or not run.is_not("timed") or run.is_("bounded"):
        return None
    message = f"it ends when the data have been gone through once, which may be before {time(runtime)}"
    return Found(run, ("runtime",), message, "say `time_based = on`, or how much is moved: `io_size = …`")


@RULES.add("ZL057", "too-few-replicates", NOTE)
def few_replicates(trial: TrialView) -> Found | None:
    """Too few replicates to know what is chance.

    The same measurement varies by 5 to 35 % from one time to the next in published studies, and many made it once.
    Of one value nothing can be told, of two next to nothing; zlang gives an interval from three on, which is why
    five are not asked for here.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = read | randread }
    experiment once { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = read | randread }
    experiment thrice { on = data  run = reads  cache = cold  repeat = 3 }
    ```
    """
    repeat = trial.experiment.repeat
    if repeat >= _FEW or not trial.experiment.axes:
        return None
    often = "once" if repeat == 1 else "twice"
    message = f"each point is measured {often}: a difference between points cannot be told from chance"
    return Found(trial.said("repeat"), (), message, "say `repeat = 5`")


@RULES.add("ZL059", "background-work", WARNING)
def still_writing_its_tables(trial: TrialView) -> Found | None:
    """Work that goes on by itself while it is measured.

    A new file system may write tables of its own for minutes after it was made, a pool frees what was destroyed, a
    device discards. zlang makes ext4 with its tables written; a kind that leaves them for later says that it is
    unready.

    ```zexp wrong
    import fio

    kind lazy: resource on dir {
      doc = "A file system that writes its tables later."
      offers dir = "{on.dir}"
      trait unready = on
      create { sh "true" { why = "make it" } }
      destroy { sh "true" { why = "remove it" } }
    }
    dir here { path = "." }
    lazy volume on here
    file data on volume { size = 1GiB }
    fio reads { rw = randread }
    experiment busy { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio

    kind settled: resource on dir {
      doc = "A file system that is ready when it was made."
      offers dir = "{on.dir}"
      trait unready = off
      create { sh "true" { why = "make it" } }
      destroy { sh "true" { why = "remove it" } }
    }
    dir here { path = "." }
    settled volume on here
    file data on volume { size = 1GiB }
    fio reads { rw = randread }
    experiment quiet { on = data  run = reads  cache = cold }
    ```
    """
    unready = next((thing for thing in trial.beneath() if thing.is_("unready")), None)
    if unready is None:
        return None
    message = f"`{unready.name}` still writes tables of its own while it is measured"
    return Found(unready, ("unready",), message, "have them written when it is made")


@RULES.add("ZL054", "ssd-not-preconditioned", WARNING)
def flash_is_fresh(trial: TrialView) -> Found | None:
    """Flash that is still fresh.

    A drive that has been erased writes to free blocks; one that is full has to make them first. A study of 2011 had
    6,000 IOPS, and 910 after eight hours. What stays is measured after all of it was written twice and then until it is
    steady (SNIA PTS). It is a warning and no error, because the beginning can be meant. Whether a disk is flash is said
    of it, and compared with what the kernel says.

    ```zexp wrong
    import disks
    import fio

    disk drive {
      id     = "/dev/disk/by-id/nvme-drive_0123456789"
      serial = "0123456789"
      size   = 120034123776B
      medium = flash
    }
    fio writes { rw = randwrite  direct = on  time_based = on  runtime = 10min }
    experiment fresh { on = drive  run = writes }
    ```

    ```zexp
    import disks
    import fio
    import treatments

    disk drive {
      id     = "/dev/disk/by-id/nvme-drive_0123456789"
      serial = "0123456789"
      size   = 120034123776B
      medium = flash
    }
    fio writes { rw = randwrite  direct = on  time_based = on  runtime = 10min }
    experiment steady { on = drive  run = writes  before = precondition {} }
    ```
    """
    flash = next((thing for thing in trial.beneath() if thing.is_("flash")), None)
    if flash is None or not trial.run.is_("modifies") or (trial.before and trial.before.is_("steadies")):
        return None
    message = f"`{flash.name}` is flash, and what it writes while it is fresh is faster than what it writes later"
    return Found(trial.run, ("modifies",), message, "say `before = precondition {}` (import treatments)")


@RULES.add("ZL055", "thermal-and-governor", NOTE, of_machine=True)
def processors_are_paced(trial: TrialView) -> Found | None:
    """Processors that are clocked as somebody else decides.

    A governor other than `performance` lets a processor sleep between two operations and wake up for the next, so that
    the latency of a fast device is that of waking up. Heat does the same to processors, drives and controllers: one in
    a study of 2011 stood still at 79 °C. A collector of temperatures (`smart`) shows it.

    ```zexp wrong
    import fio

    host box { governor = powersave }
    dir here on box { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread }
    experiment sleepy { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio

    host box { governor = performance }
    dir here on box { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread }
    experiment awake { on = data  run = reads  cache = cold }
    ```
    """
    machine = trial.machine
    if machine is None or not machine.is_("paced_down"):
        return None
    message = f"the processors of `{machine.name}` may be clocked down between operations"
    return Found(machine, ("paced_down",), message, "set the governor to performance")
