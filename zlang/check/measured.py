"""The metrics that an experiment measures, as the readers of its workloads, protocols and collectors declare them.

In: the fields of an experiment. Out: readers with their metrics. If the argument `metrics` of a workload's reader says
what to measure, that argument declares the metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice

from zlang.check import streams, values
from zlang.check.factors import each_level
from zlang.check.instances import Frame
from zlang.check.metric_declarations import parse, place_problem
from zlang.check.program import Expr, Instance, Kind, ReaderDef, Value
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.metrics import AFTER, ELAPSED, PHASE, QUIET, Metric, in_trials, overlap
from zlang.source import Span

MOST_LEVELS = 1000
"""The most levels of a factor of words or declared things; a longer one is a range of numbers."""
_COLLECT = "collect"
FIELDS = ("run", "cache", _COLLECT)
_ALL_OF_READER = "time"
_CUT = ("operations", "throughput", "bytes", "completion")
"""The meanings of metrics that can be cut to a phase."""
_LOGGED = ("operations", "throughput", "completion.p99")
"""The meanings of metrics of which a tool can have samples over time."""
_TO_SAMPLE = "plot the samples of a collector, or a series of a kind of your own (`zlang explain W508`)"
_TO_LOG = "plot the samples of a collector, or add an event or a second workload: then the workload logs over time"
_MOST_PHASES = 100
"""The most phases in which several events go on: each has metrics."""
_STREAMS = "streams"
"""The reader of a trial that has several of them."""


def measured(
    fields: Mapping[str, Expr],
    kind_of: Callable[[str], Kind | None],
    readers: Mapping[str, tuple[Metric, ...]],
    report: Callable[[Diagnostic], None],
) -> tuple[tuple[str, Metric], ...]:
    """Return each metric that a trial of the experiment can have, with its reader."""
    names: dict[tuple[str, Metric], None] = {}
    merged: dict[str, Metric] = {}
    wrong: dict[tuple[object, str], Diagnostic] = {}
    for name in FIELDS:
        for reader, shown, instance in _readers(fields[name], kind_of) if name in fields else ():
            place = (instance.places.get("metrics") or instance.span if instance else None) or fields[name].span
            for item in shown if shown is not None else (None,):
                try:
                    own = _metrics(reader, item, readers)
                except ValueError as error:
                    assert instance is not None, "BUG: nobody told a reader what to measure"
                    finding = Code.NOT_ALLOWED.at(place, name="metrics", value=f"`{_text(item)}`", hint=str(error))
                    wrong.setdefault((place.place, str(error)), finding)
                    continue
                if name == _COLLECT:
                    own = tuple(metric.replace(means=metric.means or "observation") for metric in own)
                names.update(dict.fromkeys((reader.reader, metric) for metric in own))
                for metric in own:
                    earlier = merged.get(metric.name, metric)
                    merged[metric.name] = _with_direction(metric, metric.better or earlier.better)
                    if not _match(earlier, metric):
                        finding = _declared_twice(place, earlier, metric)
                        wrong.setdefault((finding.span.place, metric.name), finding)
    for finding in wrong.values():
        report(finding)
    names = dict.fromkeys((reader, _with_direction(metric, merged[metric.name].better)) for reader, metric in names)
    if "run" in fields:
        of_wrappers = dict.fromkeys(chain.from_iterable(map(_of_wrappers, _instances(fields["run"]))))
        names.update(of_wrappers)
        of_streams = _of_streams(fields["run"], fields.get("on"), tuple(names), readers, of_wrappers)
        names.update(dict.fromkeys(of_streams))
    trials = [streams.things_of(value) for value in _values(fields["during"])] if "during" in fields else []
    events = [event for trial in trials for event in trial]
    in_trial = dict.fromkeys(tuple(map(streams.event_name, trial)) for trial in trials)
    is_quiet = any(trial and all(map(streams.begins, trial)) for trial in trials)
    names.update(dict.fromkeys(_of_phases(_phases(in_trial), tuple(names), is_quiet=is_quiet)))
    for event in events:
        name = streams.event_name(event)
        doc = f"how long {name} took, if it ended while the workloads ran"
        names[_STREAMS, Metric(f"{name}.elapsed", "duration", "s", doc, "lower")] = None
    return tuple(names)


def _with_direction(metric: Metric, better: str) -> Metric:
    return metric if metric.better == better else metric.replace(better=better)


def _match(first: Metric, second: Metric) -> bool:
    """Whether two declarations of a metric can share a column."""
    have_same_direction = first.better == second.better or not (first.better and second.better)
    first_form, second_form = ((each.type, each.unit, each.combined_by) for each in (first, second))
    return first_form == second_form and have_same_direction


def _declared_twice(place: Span, first: Metric, second: Metric) -> Diagnostic:
    """Return the finding about a metric that two workloads declare differently."""
    ways = " and ".join(map(_described, (first, second)))
    hint = f"declare it in the same way, or give one of them another name: it is {ways}"
    finding = Code.NOT_ALLOWED.at(place, name="metrics", value=f"`{second.name}`", hint=hint)
    return finding.saying(f"two workloads declare `{second.name}` differently")


def _described(metric: Metric) -> str:
    better = f", {metric.better} is better" if metric.better else ""
    return f"{metric.type}{better}{f', combined by {metric.combine}' if metric.combine else ''}"


def _of_wrappers(workload: Instance) -> Iterator[tuple[str, Metric]]:
    """Yield the metrics of the wrappers that start a workload."""
    readers = [r for wrapper in workload.under for action in wrapper.kind.actions.values() for r in action.readers]
    yield from ((reader.reader, metric) for reader in readers for metric in reader.metrics)


def _of_streams(
    run: Expr,
    on: Expr | None,
    measured: Sequence[tuple[str, Metric]],
    readers: Mapping[str, tuple[Metric, ...]],
    of_wrappers: Collection[tuple[str, Metric]],
) -> Iterator[tuple[str, Metric]]:
    """Yield the metrics of trials with several streams: those of each, as `STREAM.METRIC`, and those of all."""
    groups = streams.groups(run, on)
    for metric in readers.get(_STREAMS, ()) if groups else ():
        yield _STREAMS, metric
    for group, kinds in groups.items():
        of_kinds = {reader.reader for kind in kinds for action in kind.actions.values() for reader in action.readers}
        own = [metric for reader, metric in measured if reader in of_kinds or (reader, metric) in of_wrappers]
        for metric in in_trials(own) if group else ():
            name, doc = f"{group}.{metric.name}", f"{metric.doc}, of {group}"
            yield _STREAMS, metric.replace(name=name, doc=doc, needs="", means="")


def _phases(trials: Iterable[tuple[str, ...]]) -> list[str]:
    """Return the events of trials, each followed by the phases that it starts together with later ones."""
    places: dict[str, int] = {}
    for event in chain.from_iterable(trials):
        places.setdefault(event, len(places))
    several = chain.from_iterable(combinations(trial, size) for trial in trials for size in range(2, len(trial) + 1))
    phases = {(event,) for event in places} | set(islice(several, _MOST_PHASES))
    ordered = sorted(phases, key=lambda phase: [places[event] for event in phase])
    return list(dict.fromkeys(map(overlap, ordered)))


def _of_phases(
    phases: Sequence[str], measured: Sequence[tuple[str, Metric]], *, is_quiet: bool
) -> Iterator[tuple[str, Metric]]:
    """Yield the metrics of each phase, `phase.NAME.METRIC`, in trials with events: those that fio logs.

    If no event begins with the workloads, the trial `is_quiet` at first: that is also a phase.
    """
    can_be_cut = [*in_trials(metric for _, metric in measured if metric.means.partition(".")[2] in _CUT)]
    names = {metric.name for metric in can_be_cut}
    can_be_cut += (
        metric for reader, metric in measured if reader == _STREAMS and metric.name.rpartition(".")[2] in names
    )
    for phase in (*((QUIET,) if is_quiet else ()), *phases, AFTER) if phases else ():
        for metric in can_be_cut:
            name, doc = f"{PHASE}.{phase}.{metric.name}", f"{metric.doc}, in the phase {phase}"
            yield _STREAMS, metric.replace(name=name, doc=doc, needs="", means="")


def without_samples(
    fields: Mapping[str, Expr], every: Iterable[tuple[str, Metric]], kind_of: Callable[[str], Kind | None]
) -> dict[str, str]:
    """Return the metrics that have no samples over time, each with what to plot instead.

    Collectors sample while they watch, and a metric can be a series. A tool logs what it does in intervals only beside
    streams and events, and during schedules.
    """
    trials = [*in_trials(metric for _, metric in every), ELAPSED]
    logged = {metric.name for metric in trials if metric.means.partition(".")[2] in _LOGGED}
    sampled = {
        name for item in FIELDS if item in fields for r, *_ in _readers(fields[item], kind_of) for name in r.series
    }
    sampled |= logged if _has_logs(fields) else set()
    absent = [metric.name for metric in trials if metric.name.rpartition(".")[2] not in sampled]
    return {name: _TO_LOG if name in logged else _TO_SAMPLE for name in absent}


def _has_logs(fields: Mapping[str, Expr]) -> bool:
    """Whether something changes during a measurement, so that the tool of the workload logs over time."""
    run, during = fields.get("run"), fields.get("during")
    if during is not None and any(map(streams.things_of, _values(during))):
        return True
    is_scheduled = run is not None and any(workload.scheduled for workload in _instances(run))
    return is_scheduled or (run is not None and bool(streams.groups(run, fields.get("on"))))


def words(item: object) -> list[str]:
    """Split an item of a workload's `metrics` into words: how the metric is found, and its declaration."""
    return [item] if isinstance(item, str) else [str(word) for word in item] if isinstance(item, list | tuple) else []


def declaration(item: object) -> str:
    """Return the part of a workload's `metrics` item that declares the metric: `NAME: TYPE in UNIT`."""
    return _text(item).partition("=")[0]


def _text(item: object) -> str:
    return next(reversed(words(item)), "")


def _metrics(reader: ReaderDef, shown: object, readers: Mapping[str, tuple[Metric, ...]]) -> tuple[Metric, ...]:
    if shown is None or words(shown) == [_ALL_OF_READER]:
        return reader.metrics
    how, *_ = words(shown)
    if reader.metrics and len(words(shown)) == 1:
        raise ValueError(
            f'it does not say where it is found: write `{_ALL_OF_READER}` or `["regex", "{how}: TYPE=PATTERN"]`'
        )
    _, equal, where = _text(shown).partition("=")
    if how in {"regex", "json"} and not (equal and where):
        example = {"regex": "iops: iops=([0-9.]+)", "json": "iops: iops=jobs[0].read.iops"}[how]
        raise ValueError(f'it names no metric: write `{how}("{example}")`')
    if wrong := place_problem(how, where):
        raise ValueError(wrong)
    metrics = {metric.name: metric for declared in readers.values() for metric in in_trials(declared)}
    return (parse(declaration(shown), metrics)[0],)


def _readers(
    field: Expr, kind_of: Callable[[str], Kind | None]
) -> Iterator[tuple[ReaderDef, list[object] | None, Instance | None]]:
    """Yield the readers of all possible values of a field, with the metrics that they can be given."""
    names = frozenset(word.name for word in field.type.words)  # a protocol without properties is a word
    names |= field.type.kinds | (field.type.element.kinds if field.type.element else frozenset())
    kinds = [kind for name in sorted(names) if (kind := kind_of(name)) is not None]
    readers = [(kind, reader) for kind in kinds for action in kind.actions.values() for reader in action.readers]
    for kind, reader in readers:
        requested = dict(reader.arguments).get("metrics")
        if requested is None:
            yield reader, None, None
            continue
        for instance in _instances(field):
            if instance.kind.name == kind.name:
                try:
                    argument = values.argument(requested.value(Frame(instance)))
                except ProgramError:
                    continue  # reported where it is used
                yield reader, argument if isinstance(argument, list) else [], instance


def _instances(field: Expr) -> Iterator[Instance]:
    """Yield the instances that a field can have."""
    for value in _values(field):
        yield from streams.things_of(value)


def _values(field: Expr) -> Iterator[Value]:
    """Yield the values that a field can have: at the first levels, and at each other level of one factor."""
    for point in each_level(field.axes, MOST_LEVELS):
        try:
            value = field.value(point)
        except ProgramError:
            continue  # reported where the points are tried
        if point.faults:
            continue
        yield value
