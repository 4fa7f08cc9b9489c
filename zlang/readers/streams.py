"""The streams of a trial: the metrics of each stream, and of all of them for the time in which all ran.

In: the directory of an attempt. Args: `streams`, a list with the plan's data of each stream: its `name`, the `group`
that it shares with its copies, its `directory`, and its own reader with `artefact` and `args`. Out: a `Reading` of the
whole, which has those of the streams.
Rules: operations, bytes and their rates add up, and a metric may be declared to be combined in another way. Histograms
are merged, and percentiles come from the merged histograms. Other metrics exist only for single streams. The *window*
begins when the last stream is being measured, and ends when the first measurement ends. A stream that was measured for
longer is cut to the window if its tool logs intervals; it then has only the metrics that can be cut. If it cannot be
cut, the trial does not count, because its metrics are for another time. Events divide the window into *phases*, which
have the metrics that can be cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise

from zlang.check import library
from zlang.check.measured import declaration
from zlang.check.metric_declarations import DISTRIBUTION, parse
from zlang.files import Place
from zlang.frozen import replace
from zlang.hints import NamedTuple
from zlang.metrics import AFTER, COMBINED, PHASE, QUIET, Metric, overlap
from zlang.plan.plan import CLOCKS, Reader, Step
from zlang.readers import periods, shell
from zlang.readers.merging import merged, statistics
from zlang.readers.reading import (
    Intervals,
    Phase,
    Read,
    Reading,
    Sample,
    StreamReading,
    Window,
    text_of,
)

NAME = "streams"
_PLACE_OF_COMBINE = 7
"""The place of the way to combine a metric, in what a kind's reader is told about it."""
_THROUGHPUT = ".throughput"
_SHARE_MISSING = 0.05
"""The share of a stream's time in which others may not have run."""
_MOST_SKEW, _SHARE_SKEW = 0.05, 0.01
"""Seconds that machines may begin apart, or the share of the window, whichever is more."""
_SKEW = "start_skew"
_LEAST_MISSING = 1.0
"""Seconds in which others may not have run, however short streams are: fio takes half a second to begin (measured)."""
_LEAST_CUT = 0.1
"""Seconds below which nothing is cut: logs are not finer."""
_LEAST_COVERED = 0.5
"""The share of a stream's time that the window has to be, however its figures are cut."""
_LEAST_PHASE = 0.5
"""The shortest phase with figures, in seconds: a shorter one has only a few lines in a log."""


class _Happened(NamedTuple):
    """An event: its period, and whether it was ended together with the workloads."""

    name: str
    ran: Window | None
    is_over: bool


def read(
    readers: Mapping[str, Read], directory: Place, reader: Reader, step: Step, window: Window | None = None
) -> Reading:
    """Read all streams and combine them, or say why they cannot be combined."""
    parts = [part for part in _listed(reader.args.get(NAME)) if isinstance(part, Mapping)]
    clocks = clocks_of(directory)
    readings = [_on_one_clock(readers, directory, part, step, window, clocks) for part in parts]
    names = [str(part["name"]) for part in parts]
    problems = [f"stream {name}: {p}" for name, reading in zip(names, readings, strict=True) for p in reading.problems]
    if problems or not parts:
        return Reading(problems=tuple(problems) or ("the plan names no stream",))
    windows = [reading.window or window for reading in readings]
    common, against = _shared(names, windows, [reading.intervals is not None for reading in readings])
    skew, too_late = _skew(directory, parts, clocks, common[1] - common[0] if common else 0.0)
    cut = [_within(reading, own, common) for reading, own in zip(readings, windows, strict=True)]
    streams = _streams(parts, cut)
    events = [event for event in _listed(reader.args.get("events")) if isinstance(event, Mapping)]
    ended = _ended(directory, parts, clocks)
    happened = list(_as_one(_happened(directory, event, clocks, ended) for event in events))
    declared = [metric for part in parts for metric in _declared(part)]
    fetched = {
        (part["directory"], _counted(part)): reading.fetched for part, reading in zip(parts, readings, strict=True)
    }
    metrics = _metrics(streams, declared)
    if len(streams) > 1 and common:
        metrics["shared_time"] = 100 * (common[1] - common[0]) / max(own[1] - own[0] for own in windows if own)
    for event in happened:
        if event.ran and not event.is_over:
            metrics[f"{event.name}.elapsed"] = event.ran[1] - event.ran[0]
    phases = _phases(happened, common)
    metrics.update(_of_phases(phases, parts, readings, declared))
    if skew is not None:
        metrics[_SKEW] = skew
    return Reading(
        metrics=metrics,
        latency=merged(streams),
        samples=tuple(_samples(phases, common, parts, readings)),
        window=common,
        against=(
            *(text for reading in readings for text in reading.against),
            *against,
            *too_late,
            *(f"{event.name} did not begin while the workloads ran" for event in happened if event.ran is None),
        ),
        streams=streams if len(streams) > 1 else (),
        phases=phases,
        read=_sum(reading.read for reading in readings),
        fetched=_sum(fetched.values()),
        ran=_ran_together(directory, parts, clocks),
    )


def _streams(parts: Sequence[Mapping[str, object]], readings: Sequence[Reading]) -> tuple[StreamReading, ...]:
    return tuple(
        StreamReading(
            str(part["name"]), str(part["group"]), reading.metrics, reading.latency, str(part.get("host", ""))
        )
        for part, reading in zip(parts, readings, strict=True)
    )


def _metrics(streams: Sequence[StreamReading], declared: Sequence[Metric]) -> dict[str, float]:
    """The metrics of a trial: those of its only stream, or the totals of several streams and those of each group."""
    if len(streams) == 1:
        return dict(streams[0].metrics)
    return {**together(streams, declared), **dict(_by_group(streams, declared)), **_fairness(streams, declared)}


def _within(reading: Reading, own: Window | None, common: Window | None) -> Reading:
    """A stream's reading, cut to the time in which all streams were measured."""
    if reading.intervals is None or own is None or common is None:
        return reading
    if (own[1] - own[0]) - (common[1] - common[0]) <= _LEAST_CUT:
        return reading
    cut = reading.intervals.cut([common])
    return replace(reading, metrics=cut.metrics, latency=cut.latency)


def _phases(happened: Sequence[_Happened], window: Window | None) -> tuple[Phase, ...]:
    """The phases of the window: named after the events in progress, `quiet` before all events, else `after`."""
    events = [(event.name, event.ran) for event in happened if event.ran is not None]
    if not events or window is None:
        return ()
    first = min(begin for _, (begin, _) in events)
    edges = sorted({*window, *(t for _, ran in events for t in ran if window[0] < t < window[1])})
    phases: list[Phase] = []
    for begin, end in pairwise(edges):
        going_on = [name for name, ran in events if ran[0] <= begin and end <= ran[1]]
        name = overlap(going_on) or (QUIET if begin < first else AFTER)
        if phases and phases[-1].name == name:
            phases[-1] = Phase(name, phases[-1].begin, end)
        else:
            phases.append(Phase(name, begin, end))
    return tuple(phases)


def _of_phases(
    phases: Sequence[Phase],
    parts: Sequence[Mapping[str, object]],
    readings: Sequence[Reading],
    declared: Sequence[Metric],
) -> Iterator[tuple[str, float]]:
    """The metrics of each phase, if all streams can be cut."""
    intervals = [reading.intervals for reading in readings if reading.intervals is not None]
    if len(intervals) < len(readings):
        return
    for name in dict.fromkeys(phase.name for phase in phases):
        windows = [(phase.begin, phase.end) for phase in phases if phase.name == name]
        if sum(end - begin for begin, end in windows) >= _LEAST_PHASE:
            metrics = _metrics(_streams(parts, [each.cut(windows) for each in intervals]), declared)
            yield from ((f"{PHASE}.{name}.{metric}", value) for metric, value in metrics.items())


def _samples(
    phases: Sequence[Phase],
    window: Window | None,
    parts: Sequence[Mapping[str, object]],
    readings: Sequence[Reading],
) -> Iterator[Sample]:
    """The samples of each stream for each second, by phase."""
    spans = [(phase.begin, phase.end) for phase in phases] or ([window] if window else [])
    for part, reading in zip(parts, readings, strict=True):
        if reading.intervals is not None:
            for span in spans:
                yield from reading.intervals.samples(span, str(part["name"]))


def together(streams: Sequence[StreamReading], declared: Iterable[Metric]) -> dict[str, float]:
    """The metrics of all streams together: combined as declared, and percentiles of merged histograms."""
    metrics: dict[str, float] = {}
    for metric in dict.fromkeys(declared):
        if metric.is_distribution:
            metrics.update(statistics(metric, streams))
        elif metric.combined_by:
            measured = [stream.metrics[metric.name] for stream in streams if metric.name in stream.metrics]
            if measured:
                metrics[metric.name] = COMBINED[metric.combined_by](measured)
    return metrics


def _by_group(streams: Sequence[StreamReading], declared: Sequence[Metric]) -> Iterator[tuple[str, float]]:
    """The metrics of each group of streams, as `GROUP.METRIC`; a group of one stream has the metrics of that stream."""
    groups: dict[str, list[StreamReading]] = {}
    for stream in streams:
        groups.setdefault(stream.group, []).append(stream)
    for group, members in groups.items() if len(groups) > 1 else ():
        metrics = members[0].metrics if len(members) == 1 else together(members, declared)
        yield from ((f"{group}.{name}", value) for name, value in metrics.items())


def _fairness(streams: Sequence[StreamReading], declared: Iterable[Metric]) -> dict[str, float]:
    """Jain's fairness index of the streams' bytes per second: 1 if all are equal, 1/n if one stream has everything."""
    names = {metric.name for metric in declared if metric.means.endswith(_THROUGHPUT)}
    rates = [sum(value for name, value in stream.metrics.items() if name in names) for stream in streams]
    is_measured = all(names & stream.metrics.keys() for stream in streams)
    squares = sum(rate * rate for rate in rates)
    return {"fairness": sum(rates) ** 2 / (len(rates) * squares)} if squares and is_measured else {}


def _shared(
    names: Sequence[str], windows: Sequence[Window | None], can_be_cut: Sequence[bool]
) -> tuple[Window | None, list[str]]:
    """The time in which all streams were measured, and the streams whose figures are for another time."""
    stated = [window for window in windows if window is not None]
    if not stated:
        return None, []
    begin, end = max(begin for begin, _ in stated), min(end for _, end in stated)
    if begin >= end:
        return None, ["the streams did not run at the same time"]
    longer: dict[str, list[str]] = {}
    for name, window, is_cut in zip(names, windows, can_be_cut, strict=True):
        seconds = window[1] - window[0] if window else 0.0
        share = 1 - _LEAST_COVERED if is_cut else _SHARE_MISSING
        if seconds - (end - begin) > max(share * seconds, _LEAST_MISSING):
            time = f"measured for {seconds:.1f} s, but together with all other streams only for {end - begin:.1f} s"
            longer.setdefault(time, []).append(name)
    return (begin, end), [
        f"stream {those[0]} was {time}" if len(those) == 1 else f"streams {', '.join(those)} were {time}"
        for time, those in longer.items()
    ]


def clocks_of(directory: Place) -> dict[str, tuple[float, float]]:
    """The seconds by which each machine's clock was ahead, and their uncertainty, by the step that it ran."""
    clocks: dict[str, tuple[float, float]] = {}
    for line in (text_of(directory / CLOCKS) or "").splitlines():
        name, *numbers = line.split()
        with suppress(ValueError):
            ahead, error = map(float, numbers)
            clocks[name] = ahead, error
    return clocks


class _Shifted:
    """The log of a machine whose clock is ahead, converted to the clock of the first machine."""

    def __init__(self, intervals: Intervals, ahead: float) -> None:
        self._intervals, self._ahead = intervals, ahead

    def cut(self, windows: Sequence[Window]) -> Reading:
        """The metrics of these windows."""
        return self._intervals.cut([(begin + self._ahead, end + self._ahead) for begin, end in windows])

    def samples(self, window: Window, stream: str) -> Iterator[Sample]:
        """The rates of each second of a window."""
        for sample in self._intervals.samples((window[0] + self._ahead, window[1] + self._ahead), stream):
            yield sample._replace(t=sample.t - self._ahead)


def _on_one_clock(
    readers: Mapping[str, Read],
    directory: Place,
    part: Mapping[str, object],
    step: Step,
    window: Window | None,
    clocks: Mapping[str, tuple[float, float]],
) -> Reading:
    """The reading of one stream, converted to the clock of the first machine."""
    ahead = _ahead(part, clocks)
    reading = _read(readers, directory, part, step, window and (window[0] + ahead, window[1] + ahead))
    if not ahead or reading.window is None:
        return reading
    intervals = reading.intervals and _Shifted(reading.intervals, ahead)
    return replace(reading, window=(reading.window[0] - ahead, reading.window[1] - ahead), intervals=intervals)


def _ran_together(
    directory: Place, parts: Sequence[Mapping[str, object]], clocks: Mapping[str, tuple[float, float]]
) -> Window | None:
    """The time from the first start to the last end of streams, by the coordinator's clock; None if one is unknown."""
    steps = [str(part.get("begun_by")) for part in parts]
    if len({part.get("host") for part in parts}) > 1 and not clocks.keys() >= {*steps}:
        return None
    aheads = [clocks.get(step, (0.0, 0.0))[0] for step in steps]
    ran = [(_ran(directory / str(part["directory"])), ahead) for part, ahead in zip(parts, aheads, strict=True)]
    every = [(own[0] - ahead, own[1] - ahead) for own, ahead in ran if own is not None]
    return (min(begin for begin, _ in every), max(end for _, end in every)) if every else None


def _skew(
    directory: Place, parts: Sequence[Mapping[str, object]], clocks: Mapping[str, tuple[float, float]], seconds: float
) -> tuple[float | None, list[str]]:
    """The seconds between the first and the last start on several machines, and the problems if these are too many."""
    if len({part.get("host") for part in parts}) <= 1:
        return None, []
    starts: list[float] = []
    errors: list[float] = []
    for part in parts:
        ran, clock = _ran(directory / str(part["directory"])), clocks.get(str(part.get("begun_by")))
        if ran is None or clock is None:
            return None, [f"it is not known when stream {part['name']} began"]
        starts.append(ran[0] - clock[0])
        errors.append(clock[1])
    skew, most = max(starts) - min(starts), max(_MOST_SKEW, _SHARE_SKEW * seconds)
    uncertain = 2 * max(errors)
    if skew + uncertain <= most:
        return skew, []
    apart = f"{skew * 1000:.0f} ms apart, with an uncertainty of {uncertain * 1000:.1f} ms"
    return skew, [f"the machines began {apart} (at most {most * 1000:.0f} ms)"]


def _read(
    readers: Mapping[str, Read], directory: Place, part: Mapping[str, object], step: Step, window: Window | None
) -> Reading:
    """Read one stream with its own reader; if it had its own process, within the time in which that ran."""
    read_one = readers.get(str(part["reader"]))
    if read_one is None:
        return Reading(problems=("this version of zlang has no such reader",))
    arguments = part["args"]
    assert isinstance(arguments, Mapping), "BUG: a stream without arguments"
    own = directory / str(part["directory"])
    reader = Reader(str(part["reader"]), str(part["artefact"]), arguments)
    ran = _ran(own) or window
    renamed = _step_of(step, part)
    reading = shell.with_wrappers(read_one(own, reader, renamed, ran), own, reader, renamed, ran)
    after = [args for args in _listed(part.get("after")) if isinstance(args, Mapping)]
    if after or "lasts" in part:
        others = (Reader(reader.name, reader.artefact, args) for args in after)
        every = [reading, *(read_one(own, other, _step_of(step, part), ran) for other in others)]
        reading = periods.joined(every, float(str(part.get("lasts", 0))), list(_declared(part)))
    return reading if reading.window is not None else replace(reading, window=ran)


def _step_of(step: Step, part: Mapping[str, object]) -> Step:
    """The step of a stream. On several machines its command is unknown: a trial has only that of the first machine."""
    command = "" if part.get("host") else step.command
    return Step(str(part["step"]), step.action, command, step.why, step.timeout)


def _happened(
    directory: Place, event: Mapping[str, object], clocks: Mapping[str, tuple[float, float]], ended: Mapping[str, float]
) -> _Happened:
    """The time of an event by the first machine's clock; `ended` has the ends of workloads, by what started them."""
    own = directory / str(event["directory"])
    ran, ahead = _ran(own), _ahead(event, clocks)
    ran = ran and (ran[0] - ahead, ran[1] - ahead)
    is_alone = str(event.get("begun_by")) not in ended
    is_late = is_alone and ran is not None and bool(ended) and ran[1] > max(ended.values())
    return _Happened(str(event["name"]), ran, is_late or (own / "over").is_file())


def _ended(
    directory: Place, parts: Sequence[Mapping[str, object]], clocks: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    """The end of the last workload on each machine, by the clock of the first one."""
    ended: dict[str, float] = {}
    for part in parts:
        if ran := _ran(directory / str(part["directory"])):
            step = str(part.get("begun_by"))
            ended[step] = max(ended.get(step, 0.0), ran[1] - _ahead(part, clocks))
    return ended


def _as_one(happened: Iterable[_Happened]) -> Iterator[_Happened]:
    """Join each event over machines: it lasts from its start on the first machine to its end on the last."""
    events: dict[str, list[_Happened]] = {}
    for event in happened:
        events.setdefault(event.name, []).append(event)
    for name, each in events.items():
        ran = [event.ran for event in each if event.ran is not None]
        begin, end = min((begin for begin, _ in ran), default=0.0), max((end for _, end in ran), default=0.0)
        is_whole = len(ran) == len(each)
        yield _Happened(name, (begin, end) if is_whole else None, any(event.is_over for event in each))


def _ahead(part: Mapping[str, object], clocks: Mapping[str, tuple[float, float]]) -> float:
    """The seconds by which the clock of a stream's or event's machine is ahead of the first machine's clock."""
    first, _ = next(iter(clocks.values()), (0.0, 0.0))
    return clocks.get(str(part.get("begun_by")), (first, 0.0))[0] - first


def _ran(directory: Place) -> Window | None:
    """The start and the end of a process behind the gate."""
    texts = [text_of(directory / name) for name in ("began", "ended")]
    try:
        begin, end = (float(text or "") for text in texts)
    except ValueError:
        return None
    return begin, end


def _declared(part: Mapping[str, object]) -> Iterator[Metric]:
    arguments = part["args"]
    return metrics_of(str(part["reader"]), arguments if isinstance(arguments, Mapping) else {})


def metrics_of(reader: str, given: Mapping[str, object]) -> Iterator[Metric]:
    """The metrics that a reader can measure: those of the library, and those that its kind or its workload declares."""
    yield from library.load().readers.get(reader, ())
    for wanted in (*_listed(given.get("found")), *_listed(given.get("under"))):
        if isinstance(wanted, list | tuple):
            name, type_, how, *_ = words = [*map(str, wanted)]
            combine = next(iter(words[_PLACE_OF_COMBINE:]), "")
            yield Metric(name, type_, is_distribution=how == DISTRIBUTION, combine=combine)
    for item in _listed(given.get("metrics")):
        with suppress(ValueError):  # the reader reports it
            yield parse(declaration(item), {})[0]


def _counted(part: Mapping[str, object]) -> object:
    arguments = part["args"]
    return arguments.get("counted") if isinstance(arguments, Mapping) else None


def _sum(numbers: Iterable[float | None]) -> float | None:
    every = list(numbers)
    return sum(number for number in every if number is not None) if None not in every else None


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()
