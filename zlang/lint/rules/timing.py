"""Rules about when a measurement starts and ends, how often it is repeated, and what runs beside it."""

from __future__ import annotations

from zlang.lint.rule import ERROR, NOTE, WARNING, Rules, TrialFinding, time, write
from zlang.lint.trial import Thing, TrialView

RULES = Rules()
_SHORT = 30
_WINDOWS = 20
_FEW = 3


@RULES.add("ZL049", "buffered-write-not-synced", WARNING)
def write_is_not_synced(trial: TrialView) -> TrialFinding | None:
    """Writes that end in memory.

    A write through the page cache is complete when the data are in memory. The device gets them later, and an error
    at that time is reported to nobody. A study of 2017 published 56,024 write IOPS of six disks in this way.

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
    own, queue = trial.having("own_cache"), trial.having("queues")
    is_kept = run.is_not("uncached") or (queue is not None and queue.is_("queues"))
    if not run.is_("modifies") or not is_kept or not run.is_not("synced") or trial.waits_for_writes:
        return None
    message = "writes end in memory: nothing waits until they are on the device"
    bypassing = () if own is not None and own.is_("own_cache") else ("to_bypass",)
    hint = write(*(run.advice(way) for way in ("to_sync_at_end", "to_sync", *bypassing)))
    return TrialFinding(run, ("modifies",), message, hint)


@RULES.add("ZL050", "runtime-too-short", NOTE)
def runtime_is_short(trial: TrialView) -> TrialFinding | None:
    """The runtime is too short for a steady state.

    Write buffers fill and devices slow down over minutes, and a second cache level fills at 8 MiB/s. A measurement of
    a few seconds covers only the start-up phase. This is a note, because the start-up phase may be what you want to
    measure.

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
        message = f"{time(runtime)} covers {float(runtime / window):.3g} rounds of {time(window)}, too few for a trend"
        return TrialFinding(run, ("runtime",), message, f"run for {time(_WINDOWS * window)} or longer")
    fills = run.is_("modifies") or any(thing.is_("second_cache") for thing in trial.beneath)
    if runtime >= _SHORT or not fills:
        return None
    message = f"{time(runtime)} covers only the start-up phase: buffers fill and devices slow down over minutes"
    return TrialFinding(run, ("runtime",), message, "run for a minute or longer; use a `profile` for short trial runs")


@RULES.add("ZL052", "time_based-needs-runtime", ERROR)
def time_without_end(trial: TrialView) -> TrialFinding | None:
    """`time_based` needs a runtime.

    With `time_based` and no `runtime`, fio prints a remark, stops after the given amount of data, and exits with code
    0 (measured).

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
    message = f"`{run.word('timed')}` is on, and no runtime is given"
    return TrialFinding(run, ("timed",), message, write(run.advice("to_set_time")))


@RULES.add("ZL053", "runtime-without-time_based", WARNING)
def end_comes_before_time(trial: TrialView) -> TrialFinding | None:
    """`runtime` has little effect without `time_based`.

    Without `time_based`, the workload ends when it has gone through the data once. `runtime` can only end it earlier.
    Fast targets are then measured for a shorter time than slow ones.

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
    message = f"the workload ends after one pass over the data, which may be before {time(runtime)}"
    return TrialFinding(run, ("runtime",), message, write(run.advice("to_run_for_time"), run.advice("to_bound")))


@RULES.add("ZL057", "too-few-replicates", NOTE)
def few_replicates(trial: TrialView) -> TrialFinding | None:
    """Too few replicates to tell a difference from chance.

    In published studies the same measurement varies by 5 to 35 % from one time to the next, and many studies measured
    only once. One value says nothing about this variation, and two say very little. zlang computes an interval from
    three replicates on, so this rule asks for three, although five are better.

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
    repeat = trial.repeat
    if repeat >= _FEW or not trial.experiment.axes:
        return None
    often = "once" if repeat == 1 else "twice"
    message = f"each point is measured only {often}, too few to tell a difference from chance"
    return TrialFinding(trial.clause_span("repeat"), (), message, "write `repeat = 5`")


@RULES.add("ZL059", "background-work", WARNING)
def still_writing_its_tables(trial: TrialView) -> TrialFinding | None:
    """Background work continues during the measurement.

    A new file system may initialise its tables for minutes, a pool frees the space of destroyed data, and a device
    may discard blocks. zlang creates ext4 with its tables initialised. A kind that initialises them later declares
    the trait `lazy_init`. A kind that works in the background after data were written declares `background_work`:
    `autodefrag` of btrfs writes data again, and `autotrim` of a pool discards blocks.

    ```zexp wrong
    import fio

    kind lazy: resource on dir {
      doc = "A file system that writes its tables later."
      offers dir = "{on.dir}"
      trait lazy_init = on
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
      trait lazy_init = off
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
    for thing in trial.beneath:
        if thing.is_("lazy_init"):
            message = f"`{thing.name}` is still initialising its tables during the measurement"
            return TrialFinding(thing, ("lazy_init",), message, "initialise them when it is created")
        if thing.is_("background_work") and trial.run.is_("modifies"):
            message = f"`{thing.name}` works in the background after writes, in this trial or in the next"
            return TrialFinding(thing, ("background_work",), message, "switch it off, unless it is what you study")
    return None


@RULES.add("ZL054", "ssd-not-preconditioned", WARNING)
def flash_is_fresh(trial: TrialView) -> TrialFinding | None:
    """The flash drive is not preconditioned.

    A drive that was just erased writes to free blocks; a full drive has to free blocks first. A study of 2011
    measured 6,000 IOPS at first, and 910 after eight hours. To measure the lasting performance, write the whole drive
    twice and then until it is steady (SNIA PTS). This is a warning and not an error, because the fresh state may be
    what you want to measure. The program declares that a disk is flash, and zlang compares that with what the kernel
    says.

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
    flash = next((thing for thing in trial.beneath if thing.is_("flash")), None)
    if flash is None or not trial.run.is_("modifies") or (trial.before and trial.before.is_("preconditions")):
        return None
    message = f"`{flash.name}` is flash, which writes faster while it is fresh than later"
    return TrialFinding(trial.run, ("modifies",), message, write(flash.advice("to_steady")))


@RULES.add("ZL055", "thermal-and-governor", NOTE, of_machine=True)
def processors_are_paced(trial: TrialView) -> TrialFinding | None:
    """The CPU governor may slow the processors down.

    A governor other than `performance` lets a processor slow down between two operations. The latency of a fast
    device then includes the time to wake up. Heat has the same effect on processors, drives and controllers: one in a
    study of 2011 stopped at 79 °C. A collector of temperatures (`smart`) shows this.

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
    message = f"the processors of `{machine.name}` may slow down between operations"
    return TrialFinding(machine, ("paced_down",), message, "set the CPU governor to `performance`")


@RULES.add("ZL079", "streams-of-different-length", WARNING)
def streams_end_at_different_times(trial: TrialView) -> TrialFinding | None:
    """The streams of a trial do not run for the same time.

    zlang measures several workloads at the same time only while all of them run. A workload that ends when its work
    is done may end early. The others then run alone, and their figures would mix two situations, so such a trial does
    not count. A different `ramp_time` has the same effect: a workload that ramps up is a load, but is not measured.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    file archive on here { size = 1GiB }
    fio oltp { rw = randread  time_based = on  runtime = 60s }
    fio backup on archive { rw = read  bs = 1MiB }
    experiment beside { on = data  run = [oltp, backup]  cache = cold }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    file archive on here { size = 1GiB }
    fio oltp { rw = randread  time_based = on  runtime = 60s }
    fio backup on archive { rw = read  bs = 1MiB  time_based = on  runtime = 60s }
    experiment beside { on = data  run = [oltp, backup]  cache = cold }
    ```
    """
    run, others = trial.run, trial.others
    if not others:
        return None
    advice = (run.advice("to_run_for_time"), run.advice("to_set_time"))
    hint = (
        f"let all streams run for the same time: `{'  '.join(advice)}`"
        if all(advice)
        else "let its command end when the others do, and then allow this rule"
    )
    if not run.is_("timed") or not run.number("runtime"):
        message = f"`{run.name}` has no set time: it may end before the other streams, or go on after them"
        return TrialFinding(run, ("runtime", "timed"), message, hint)
    for other in others:
        is_timed = other.is_("timed") and other.number("runtime")
        if is_timed and _lengths(run) != _lengths(other):
            message = f"`{run.name}` and `{other.name}` do not run for the same time"
            return TrialFinding(run, ("runtime",), message, hint)
    return None


@RULES.add("ZL080", "event-after-the-end", WARNING)
def event_is_too_late(trial: TrialView) -> TrialFinding | None:
    """An event begins when the workload has ended.

    `at` counts from the beginning of the workloads. An event that begins later than they end does not happen in the
    trial, so the trial does not count.

    ```zexp wrong
    import fio
    import events

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  time_based = on  runtime = 60s }
    experiment busy { on = data  run = reads  cache = cold  repeat = 5  during = none | hog { at = 2min } }
    ```

    ```zexp
    import fio
    import events

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  time_based = on  runtime = 60s }
    experiment busy { on = data  run = reads  cache = cold  repeat = 5  during = none | hog { at = 30s } }
    ```
    """
    runtime, ramp = trial.run.number("runtime"), trial.run.number("ramp") or 0
    for event, begins in trial.events:
        if runtime and begins >= runtime + ramp:
            message = f"`{event.name}` begins after {time(begins)}, and the workload ends after {time(runtime + ramp)}"
            return TrialFinding(event, (), message, "let it begin earlier, or let the workload run longer")
    return None


@RULES.add("ZL087", "schedule-is-cut", WARNING)
def schedule_is_cut(trial: TrialView) -> TrialFinding | None:
    """The runtime ends in the middle of a schedule.

    A schedule begins with the measurement, and repeats until the runtime is over. If the runtime is shorter than the
    schedule, its last parts never happen. If the schedule does not fit into the runtime a whole number of times, its
    first parts happen more often than its last ones. Means and percentiles then describe a different load from the
    one in the program.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio day {
      rw         = randread
      rate_iops  = [500/s for 30s, 4000/s for 30s]
      time_based = on
      runtime    = 45s
    }
    experiment half_a_day { on = data  run = day  cache = cold }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio day {
      rw         = randread
      rate_iops  = [500/s for 30s, 4000/s for 30s]
      time_based = on
      runtime    = 60s
    }
    experiment a_day { on = data  run = day  cache = cold }
    ```
    """
    run = trial.run
    runtime = run.number("runtime")
    if not runtime:
        return None
    for name, (place, lasts) in run.schedules.items():
        whole, remainder = divmod(runtime, lasts)
        if not remainder:
            continue
        message = f"the schedule of `{name}` lasts {time(lasts)}, and the workload ends after {time(runtime)}"
        message += ", in the middle of a repetition" if whole else ": the rest never happens"
        lengths = [f"`{run.word('runtime')} = {time(number * lasts)}`" for number in (whole, whole + 1) if number]
        hint = f"write {' or '.join(lengths)}, or change the durations of its parts"
        return TrialFinding(place, (), message, hint)
    return None


@RULES.add("ZL088", "event-needs-redundancy", ERROR)
def event_finds_no_redundancy(trial: TrialView) -> TrialFinding | None:
    """An event needs redundancy, and the target has none.

    A device can be removed only if its data are stored elsewhere, too. A pool that is a stripe refuses to take a
    device offline, and raid0 refuses to lose one, so the event would fail in each trial. A pool with `offline` devices
    does not become whole again, so a rebuild of it never ends.

    ```zexp wrong
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { layout = stripe | mirror  devices = 2  size = 4GiB }
    dataset records on tank { recordsize = 8KiB }
    file data on records { size = 1GiB }
    fio reads { rw = randread  bs = 8KiB  time_based = on  runtime = 60s }
    experiment rebuilt { on = data  run = reads  cache = cold  repeat = 3  during = resilver { at = 10s } }
    ```

    ```zexp
    import fio
    import zfs

    dir here { path = "." }
    pool tank on here { layout = raidz1 | mirror  devices = 3  size = 4GiB }
    dataset records on tank { recordsize = 8KiB }
    file data on records { size = 1GiB }
    fio reads { rw = randread  bs = 8KiB  time_based = on  runtime = 60s }
    experiment rebuilt { on = data  run = reads  cache = cold  repeat = 3  during = resilver { at = 10s } }
    ```
    """
    for event, _ in trial.events:
        below = trial.redundant_below(event) if event.is_("uses_redundancy") else None
        if below is not None and (below.number("redundancy") or 0) < 1:
            message = f"`{event.name}` needs redundancy, but `{below.name}` has none left"
            hint = f"give `{below.name}` another `{below.word('redundancy')}`, or leave these trials out with `where`"
            return TrialFinding(event, (), message, hint)
    return None


@RULES.add("ZL090", "ramp-is-ignored", WARNING)
def ramp_is_ignored(trial: TrialView) -> TrialFinding | None:
    """A workload ignores its ramp and measures at once.

    A load generator may start the clocks of the ramp and of the runtime at the same time. A load with a set rate whose
    ramp is longer than its runtime then measures at once: with `rate = 40MiB/s`, a ramp of 4 s and a runtime of 3 s, it
    ended after 3 s. The figures then include the operations that the ramp should exclude.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  rate_iops = 500/s  time_based = on  ramp_time = 60s  runtime = 30s }
    experiment steady { on = data  run = reads  cache = cold  repeat = 3 }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  rate_iops = 500/s  time_based = on  ramp_time = 60s  runtime = 60s }
    experiment steady { on = data  run = reads  cache = cold  repeat = 3 }
    ```
    """
    run = trial.run
    ramp = run.number("ramp")
    if not ramp or not run.is_("skips_ramp"):
        return None
    message = f"`{run.name}` sets a rate, and its ramp of {time(ramp)} is longer than its runtime: it would be ignored"
    hint = f"write `{run.word('runtime')} = {time(ramp)}`, or more, or a shorter `{run.word('ramp')}`"
    return TrialFinding(run, ("ramp",), message, hint)


def _lengths(run: Thing) -> tuple[object, object]:
    return run.number("runtime"), run.number("ramp") or 0
