"""Rules about what a load generator does beyond its options."""

from __future__ import annotations

from collections.abc import Collection

from zlang.lint.rule import ERROR, NOTE, WARNING, Rules, TrialFinding, share, write
from zlang.lint.trial import Thing, TrialView, formulas, formulas_by_clause, metrics_of, terms
from zlang.metrics import PERCENTILES, Metric, in_trials, statistics_of

RULES = Rules()


_LATENCIES = {"latency", "completion", "submission"}


def _is_latency(metric: Metric) -> bool:
    """Whether it is a distribution of latencies, or a statistic of one."""
    return bool(_LATENCIES & set(metric.means.split(".")))


@RULES.add("ZL069", "metric-disabled", ERROR)
def latency_is_not_measured(trial: TrialView) -> TrialFinding | None:
    """The workload does not measure a metric that the program asks for.

    `gtod_reduce` and the `disable_…` options save system calls by not taking the time. Latencies are then 0 in the
    output.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  gtod_reduce = on }
    experiment blind {
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
    # allow closed-loop-latency: how long an answer takes while nothing else waits
    fio reads { rw = randread }
    experiment seeing {
      on    = data
      run   = reads
      cache = cold
      table p99(read_clat)
    }
    ```
    """
    run = trial.run
    if not run.is_("no_latencies"):
        return None
    if not any(map(_is_latency, trial.requested(formulas(trial.experiment)).values())):
        return None
    message = "the program asks for latencies, but this option turns their measurement off"
    return TrialFinding(run, ("no_latencies",), message, "remove it")


@RULES.add("ZL068", "percentiles-averaged", WARNING)
def averages_of_percentiles(trial: TrialView) -> TrialFinding | None:
    """Percentiles cannot be averaged.

    The 99th percentile of several measurements together is not the mean of their 99th percentiles. One slow
    measurement among ten determines it, and the mean hides that measurement. `p99(read_clat)` merges the histograms
    instead.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread }
    experiment tails {
      on     = data
      run    = reads
      cache  = cold
      repeat = 3
      table mean(read_clat_p99)
    }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    # allow closed-loop-latency: how long an answer takes while nothing else waits
    fio reads { rw = randread }
    experiment tails {
      on     = data
      run    = reads
      cache  = cold
      repeat = 3
      table p99(read_clat)
    }
    ```
    """
    means = [(clause, term) for clause in trial.experiment.clauses for term in terms(clause) if term.op == "mean"]
    if not means:
        return None
    percentiles = {
        statistics_of(metric)[percentile].name: (metric.name, percentile)
        for metric in trial.experiment.metrics
        if metric.is_distribution
        for percentile, _ in PERCENTILES
    }
    averaged = [(clause, term.terms[0].name) for clause, term in means if term.terms[0].name in percentiles]
    if not averaged:
        return None
    clause, name = averaged[0]
    metric, percentile = percentiles[name]
    message = f"a mean of `{name}` is not a percentile of all operations: it hides a slow replicate"
    hint = f"write `{percentile}({metric})`, which merges the histograms"
    return TrialFinding(trial.clause_span(clause.text), (), message, hint)


@RULES.add("ZL072", "no-random-map", NOTE)
def blocks_may_be_missed(trial: TrialView) -> TrialFinding | None:
    """Random offsets may repeat.

    With `norandommap`, fio reads some blocks twice and others never. If it draws as many offsets as there are blocks,
    it misses 37 % of them. A statement about the whole file is then true of only two thirds of it. zlang reports
    nothing about a load that is limited by time.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread  norandommap = on }
    experiment some { on = data  run = reads  cache = cold }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio reads { rw = randread }
    experiment all { on = data  run = reads  cache = cold }
    ```
    """
    run = trial.run
    if not run.is_("random") or not run.is_("repeats_blocks") or run.is_("timed"):
        return None
    message = "random offsets may repeat: with as many draws as blocks, 37% of the blocks are never accessed"
    return TrialFinding(run, ("repeats_blocks",), message, write(run.advice("to_visit_all")))


@RULES.add("ZL073", "rwmix-as-mode", NOTE)
def mix_of_one(trial: TrialView) -> TrialFinding | None:
    """A mix that has only reads or only writes.

    With `rw = randrw` and `rwmixread = 0%`, fio opens the file for both reading and writing, and reports a direction
    in which nothing was done. A study of 2017 wrote "100 % write" in this way.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio writes { rw = randrw  rwmixread = 0%  end_fsync = on }
    experiment mixed { on = data  run = writes }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio writes { rw = randwrite  end_fsync = on }
    experiment plain { on = data  run = writes }
    ```
    """
    run = trial.run
    part = run.number("read_share")
    if part is None or 0 < part < 1:
        return None
    message = f"a mix with {share(part)} reads is not a mix"
    return TrialFinding(run, ("read_share",), message, write(run.advice("to_only_write"), run.advice("to_only_read")))


@RULES.add("ZL067", "mixed-direction-latency", NOTE)
def one_direction_is_hidden(trial: TrialView) -> TrialFinding | None:
    """The latency of a mix in one direction only.

    Reads and writes of a mixed workload have different latencies. One of them alone, or a mean of both, hides the
    other. A study of 2017 published 16 latencies for 70 % reads; 13 of them contradict its own IOPS.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio load { rw = randrw  rwmixread = 70%  direct = on }
    experiment half {
      on    = data
      run   = load
      cache = cold
      table median(read_clat_mean)
    }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio load { rw = randrw  rwmixread = 70%  direct = on }
    experiment whole {
      on    = data
      run   = load
      cache = cold
      table median(read_clat_mean), median(write_clat_mean)
    }
    ```
    """
    run = trial.run
    if not run.is_("reads") or not run.is_("modifies"):
        return None
    latencies = [item for item in trial.requested(formulas(trial.experiment)).values() if _is_latency(item)]
    requested = {direction for latency in latencies if (direction := latency.means.partition(".")[0]) in _OTHER}
    if len(requested) != 1:
        return None
    (direction,) = requested
    item = next(latency for latency in latencies if latency.means.startswith(direction))
    meaning = f"{_OTHER[direction]}{item.means.removeprefix(direction)}"
    declared = trial.experiment.metrics
    other = next((metric for metric in (*declared, *in_trials(declared)) if metric.means == meaning), None)
    message = f"the workload mixes reads and writes, but the program asks only for the latency of {direction}s"
    hint = f"ask for both: `{item.name}` and `{_beside(trial, item, other)}`" if other else ""
    return TrialFinding(run, ("read_share",), message, hint)


def _beside(trial: TrialView, metric: Metric, other: Metric) -> str:
    """The name of another metric, of this stream alone if the first one is."""
    return f"{trial.prefix}{other.name}" if metric.name.startswith(trial.prefix) else other.name


_OTHER = {"read": "write", "write": "read"}
"""The directions of a mix, as metrics mean them."""


@RULES.add("ZL078", "sync-left-out", WARNING)
def sync_is_not_in_the_latency(trial: TrialView) -> TrialFinding | None:
    """The latency of writes without the latency of their syncs.

    fio measures an fsync or fdatasync as an operation of its own. `write_clat` and `write_lat` end when the write
    does. Through the page cache, that is a copy in memory, and the time of the device is not included. An application
    that must not lose data also waits for the sync, which takes most of the time. So ask for `sync_lat`
    in the same clause, such as `expect median(write_clat_mean) + median(sync_lat_mean) < 20ms`.
    With `sync = dsync` there is no separate sync: each write waits for the device, and `write_clat` includes that.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio commits { rw = randwrite  fdatasync = 1 }
    experiment half {
      on  = data
      run = commits
      table median(write_clat_mean)
    }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    fio commits { rw = randwrite  fdatasync = 1 }
    experiment whole {
      on  = data
      run = commits
      table median(write_clat_mean), median(sync_lat_mean)
    }
    ```
    """
    run = trial.run
    if not run.is_("syncs") or not run.is_("modifies"):
        return None
    requested = [trial.requested(clause).values() for clause in formulas_by_clause(trial.experiment)]
    written = next((latency for metrics in requested if (latency := _write_without_sync(metrics))), None)
    if written is None:
        return None
    other = next((metric for metric in trial.experiment.metrics if _means_one_of(metric, (_SYNC,))), None)
    message = f"`{written.name}` ends when the write does and does not include the sync that follows"
    hint = "measure the syncs too"
    if other:
        name = _beside(trial, written, other)
        hint = f"ask for `{name}` in the same clause too"
        if other.is_distribution:
            hint += f", such as `p99({name})`"
    return TrialFinding(run, ("syncs",), message, hint)


def _write_without_sync(metrics: Collection[Metric]) -> Metric | None:
    """A latency of writes among the metrics of a clause, if none of them is that of syncs."""
    if any(_means_one_of(metric, (_SYNC,)) for metric in metrics):
        return None
    return next((metric for metric in metrics if _means_one_of(metric, _ENDS_WITH_THE_WRITE)), None)


def _means_one_of(metric: Metric, kinds: tuple[str, ...]) -> bool:
    """Whether a metric means one of these, or is a statistic of a distribution that does."""
    return any(metric.means == kind or metric.means.startswith(f"{kind}.") for kind in kinds)


_ENDS_WITH_THE_WRITE = ("write.completion", "write.latency")
_SYNC = "sync.latency"


@RULES.add("ZL089", "streams-added-up", NOTE)
def streams_are_added_up(trial: TrialView) -> TrialFinding | None:
    """The program asks only for what several workloads did together.

    If workloads run at the same time, `read_iops` is the sum of their read operations, and the histograms of latencies
    are merged. With `run = oltp | [oltp, backup]`, the reads of the backup would hide how many reads the database
    lost. Each workload has its own metrics, too: `oltp.read_iops`. zlang does not report this if the program names such
    a metric, or if every trial has the same workloads.

    ```zexp wrong
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    file archive on here { size = 1GiB }
    fio oltp { rw = randread  time_based = on  runtime = 60s }
    fio backup on archive { rw = read  bs = 1MiB  time_based = on  runtime = 60s }
    let both = [oltp, backup]
    let load = oltp | both
    experiment beside {
      on     = data
      run    = load
      cache  = cold
      repeat = 5
      table read_iops by load
    }
    ```

    ```zexp
    import fio

    dir here { path = "." }
    file data on here { size = 1GiB }
    file archive on here { size = 1GiB }
    fio oltp { rw = randread  time_based = on  runtime = 60s }
    fio backup on archive { rw = read  bs = 1MiB  time_based = on  runtime = 60s }
    let both = [oltp, backup]
    let load = oltp | both
    experiment beside {
      on     = data
      run    = load
      cache  = cold
      repeat = 5
      table oltp.read_iops by load
    }
    ```
    """
    if trial.stream:  # the finding is about all streams together
        return None
    first = trial.first
    several = trial if trial.others else first
    if all(other.name == several.run.name for other in several.others):
        return None
    experiment = trial.experiment
    questions = list(formulas(experiment))
    requested = metrics_of(experiment, questions)
    if questions and not requested:
        return None
    groups = {stream.group for stream in several.streams}
    if any(name.startswith(f"{group}.") for name in requested for group in groups):
        return None
    if {stream.group for stream in trial.streams} == {stream.group for stream in first.streams}:
        return None
    measured = [metric for metric in requested.values() or experiment.metrics if _measuring(metric, several)]
    for metric in measured if requested else measured[:1]:  # without a request, zlang compares by the first
        names = [f"{group}.{own.name}" for own in in_trials([metric]) for group in _measuring(metric, several)]
        apart = [own.name for own in experiment.metrics if own.name in names]
        if len({name.partition(".")[0] for name in apart}) > 1:
            asks = "the program asks for" if requested else "zlang compares trials by"
            message = f"{asks} the `{metric.name}` of all workloads together"
            return TrialFinding(trial.run, (), message, f"ask for that of one workload, such as `{apart[0]}`")
    return None


def _measuring(metric: Metric, trial: TrialView) -> list[str]:
    """The streams of a trial that can have a metric."""
    things = {stream.group: Thing(stream.workload, stream.on) for stream in trial.streams}
    return [group for group, thing in things.items() if not thing.is_not(metric.needs)]
