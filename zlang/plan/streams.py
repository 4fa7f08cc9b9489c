"""Several streams at the same time, as one step: processes that begin together, and are all waited for.

In: the streams of a trial, each with the frame that fills in its templates. Out: one `MEASURE` step, whose reader knows
the streams. Rules: a kind with `together` runs all its streams in one process, with its own command for this; processes
wait behind a gate, so that none begins before all are ready. Commands name a stream by its position, so that its name
does not affect the measurement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zlang.check import hosts, values
from zlang.check.instances import Frame
from zlang.check.program import Experiment, Expr, Kind, KindAction, Value
from zlang.check.schedules import frame_of, lasts, parts_of
from zlang.check.streams import Stream, begins, event_name
from zlang.diagnostics import Code, ProgramError
from zlang.frozen import replace
from zlang.plan.action_steps import reader_of, steps_of, with_wrappers
from zlang.plan.plan import Action, Here, Reader, Step
from zlang.record import Record

READER = "streams"
"""The reader of a step with several streams: it calls the reader of each stream's kind."""
_NAME = "measure"
_TOGETHER = "together"
_KEEPS = "keeps_environment"
"""The trait of wrappers through which a tool still finds the gate."""

_LONGEST = (128 << 10) - 1
"""The most bytes in one argument of a program (MAX_ARG_STRLEN without the final NUL)."""

_WAIT = 'eval "$GATE"'
"""The command that a tool which can wait runs just before it starts. For other tools, the shell waits first."""

# The gate is a fifo: opening it for reading blocks until it is opened for writing, after each process has reported
# that it is ready; a slow process that opens it later finds it open. `date` is started before, and reads the clock when
# it gets a line: to start it behind the gate would take a millisecond of each process's start. Only the one of GNU can.
# With `delay` in the environment, a tool waits that many seconds more. An event ends with the workloads: its command
# runs in `timeout`, which ends everything that it started.
_GATE = """\
gate=$OUT/gate
mkdir -- "$gate" {directories} && mkfifo -- "$gate/ready" "$gate/open"{fifos} || exit 1
exec 3<>"$gate/ready"
clock='date -f - +%s.%N'
test -z "$($clock </dev/null 2>&1)" || clock='{{ cat >/dev/null; date +%s.%N; }}'
await={await_start}
delay=
GATE='now=$({{ : >"$OUT/there"; echo >&3; '"$await"'; echo now; }} | '"$clock"')
  test -e "$OUT/began" || echo "$now" >"$OUT/began"
  if test -n "$delay"; then
    read -r from <"$OUT/began"
    left=$(awk -v from="${{from:-$now}}" -v delay="$delay" -v now="$now" "BEGIN {{ print from + delay - now }}")
    case $left in -*) ;; *) sleep "$left" ;; esac
  fi'
export gate GATE
begin() {{
  OUT=$OUT/$1
  export OUT
  case $2 in *'$GATE'*) ;; *) eval "$GATE"; exec 3>&- ;; esac
  eval "$2"
  code=$?
  test -e "$OUT/began" || {{ : >"$OUT/there"; echo >&3; }}
  date +%s.%N >"$OUT/ended"
  test "$code" = 0 || cat -- "$OUT"/*.err >&2
  exit "$code"
}}
{functions}processes='' events=''
{processes}
for each in {places}; do until test -e "$OUT/$each/there"; do read -r _ <&3; done; done
{meeting}exec 4>"$gate/open"
code=0
for each in $processes; do wait "$each" || code=$?; done
{ending}rm -r -- "$gate"
exit "$code"
"""
# A signal ends `wait`, not the command that it waits for. One that reaches a process between fork and exec may be lost
# (dash), and one that reaches `timeout` while it forks ends it without its command (1 % of events that end at once,
# on a busy machine): so it is sent each second until the event is gone, and then to the rest of `timeout`'s group.
_HAPPEN = """\
outlast() {{
  while wait "$child" 2>/dev/null; code=$?; kill -0 "$child" 2>/dev/null; do :; done
}}
end_group() {{
  kill -TERM "-$child" 2>/dev/null || return 0
  sleep 0.1 2>/dev/null || sleep 1
  kill -KILL "-$child" 2>/dev/null
}}
happen() {{
  OUT=$OUT/$1
  export OUT
  child='' over=''
  trap 'over=1; test -z "$child" || kill -TERM "$child" 2>/dev/null' TERM
  trap ': >"$OUT/gone"' EXIT
  : >"$OUT/there"
  echo >&3
  (eval "$await") >/dev/null
  exec 3>&-
  sleep "$2" &
  child=$!
  outlast
  test -z "$over" || exit 0
  date +%s.%N >"$OUT/began"
  child=''
  sh -c "$3" >"$OUT/start.out" 2>"$OUT/start.err"
  code=$?
  if test "$code" = 0 && test -z "$over"; then
    timeout -k 5 "$4" sh -c "$5" >"$OUT/wait.out" 2>"$OUT/wait.err" &
    child=$!
    outlast
    test -z "$over" || {{ end_group; code=0; }}
  fi
  date +%s.%N >"$OUT/ended"
  test -z "$over" || : >"$OUT/over"
  test "$code" = 0 || cat -- "$OUT"/*.err >&2
  exit "$code"
}}
"""
# Several machines begin at one instant: once all are ready, each gets it in the time of its own clock, and every
# process waits for it. Time passes between reading the clock and sleeping, most while machines are being told: so each
# reads it again shortly before. `sleep` is the last process that holds the pipe: its end completes the line for `date`.
_MEETING = """\
: >"$gate/met"
read -r instant <"$gate/instant"
printf '%s\\n' "$instant" >"$gate/told"
"""
_AWAIT_GATE = """': <"$gate/open"'"""
_AWAIT_INSTANT = """\
': <"$gate/open"
  read -r instant <"$gate/told"
  for early in {early} 0; do
    left=$((instant - early - $(date +%s%N)))
    part=$((1000000000 + left % 1000000000)) part=$((left / 1000000000)).${{part#1}}
    case $left:$early in -* | 0:*) ;; *:0) printf now; exec sleep "$part" ;; *) sleep "$part" ;; esac
  done'"""
_EARLY = 100_000_000, 5_000_000
"""Nanoseconds before the instant at which the clock is read again: at least, and for each process of a machine."""
# A machine with events only is told when the workloads on the others have ended.
_AWAIT_OTHERS = """\
until test -e "$gate/over"; do sleep 0.1 2>/dev/null || sleep 1; done
"""
_END_EVENTS = """\
tries=0
for place in {places}; do
  until test -e "$OUT/$place/gone" || test "$tries" = 100; do
    test "$((tries % 10))" != 0 || kill -TERM $events 2>/dev/null
    tries=$((tries + 1))
    sleep 0.1 2>/dev/null || sleep 1
  done
done
for each in $events; do wait "$each" || code=$?; done
"""


class _Process(Record):
    """One process of a trial: its machine, its steps, and the readers of each of its streams, one for each part."""

    place: str
    steps: tuple[Step, ...]
    readers: tuple[tuple[int, tuple[Reader, ...]], ...]

    @property
    def host(self) -> str:
        """The machine on which it runs."""
        return self.steps[0].host


class _Event(Record):
    """An event of a trial: when and how it begins, and the command that lasts as long. Times are in seconds."""

    at: str
    start: str
    wait: str
    timeout: str


def place_of(number: int) -> str:
    """The name of a stream in commands, which is also its directory."""
    return f"stream{number + 1}"


def measure(
    experiment: Experiment,
    streams: Sequence[Stream],
    frames: Sequence[Frame],
    events: Sequence[Frame],
    here: Here,
) -> list[Step]:
    """The steps that run streams and events, one on each machine; the last one reads the results of all.

    Raises ProgramError if they cannot begin together.
    """
    groups = _by_process(streams)
    is_gated = len(groups) > 1 or bool(events)
    processes = [_process(numbers, frames, here, is_gated=is_gated, is_cut=bool(events)) for numbers in groups]
    happens: dict[str, list[int]] = {}
    for number, frame in enumerate(events, 1):
        happens.setdefault(_host_of(frame, here), []).append(number)
    _require_together(experiment, streams, processes)
    _require_reached(experiment, events, here)
    every = [step for process in processes for step in process.steps]
    is_alone = len(every) == 1 and not events
    machines = list(dict.fromkeys([*(step.host for step in every), *happens]))
    longest = max(sum(step.timeout for step in process.steps) for process in processes)
    steps: list[Step] = []
    parts: dict[int, Mapping[str, object]] = {}
    for machine in machines:
        own = [process for process in processes if process.host == machine]
        name = _NAME if len(machines) == 1 else f"{_NAME}-{machine}"
        begun_by = {"host": machine, "begun_by": name} if len(machines) > 1 else {}
        for process in own:
            directory = "" if is_alone else process.place
            for number, readers in process.readers:
                parts[number] = _reading_of(streams[number], process, readers, directory) | begun_by
        happening = {number: _event(events[number - 1], here) for number in happens.get(machine, ())}
        text = every[0].command if is_alone else _gated(own, happening, has_others=len(machines) > 1)
        timeout = max((sum(step.timeout for step in process.steps) for process in own), default=longest)
        _require_short(experiment, text, len(streams))
        why = "the workloads, at the same time"
        steps.append(Step(name, Action.MEASURE, text, why, timeout, host=machine))
    arguments: dict[str, object] = {READER: [parts[number] for number in sorted(parts)]}
    if events:
        arguments["events"] = [
            {
                "name": event_name(frame.instance) if frame.instance else "",
                "directory": f"event{number}",
                **({"begun_by": f"{_NAME}-{machine}"} if len(machines) > 1 else {}),
            }
            for machine, numbers in happens.items()
            for number, frame in ((number, events[number - 1]) for number in numbers)
        ]
    return [*steps[:-1], replace(steps[-1], reader=Reader(READER, "", arguments))]


def _reading_of(stream: Stream, process: _Process, readers: Sequence[Reader], directory: str) -> dict[str, object]:
    """The description of one stream for the reader of all streams."""
    reader, *others = readers
    return {
        "name": stream.name,
        "group": stream.group,
        "directory": directory,
        "step": process.steps[-1].name,
        "reader": reader.name,
        "artefact": reader.artefact,
        "args": dict(reader.args),
        **({"after": [dict(other.args) for other in others]} if others else {}),
        **_lasting(stream),
    }


def _require_short(experiment: Experiment, text: str, streams: int) -> None:
    """Raise ProgramError if one command cannot start this many streams."""
    size = len(text.encode())
    if size > _LONGEST:
        message = f"the command of {streams} streams has {size:,} bytes, and Linux takes {_LONGEST:,} at most"
        hint = f"run fewer at the same time: about {streams * _LONGEST // size} of them are possible"
        raise ProgramError(Code.NOT_MEASURABLE.at(experiment.run.span, message=message, hint=hint))


def _lasting(stream: Stream) -> dict[str, object]:
    """The duration arguments of a stream with a schedule, pauses included."""
    return {"lasts": float(lasts(stream.workload, stream.on))} if stream.workload.scheduled else {}


def _by_process(streams: Sequence[Stream]) -> list[tuple[int, ...]]:
    """Group streams by process: streams of one kind that supports this, on one machine, share one.

    A wrapper that counts does so for a whole process, so a stream with such a wrapper has its own process.
    """
    groups: dict[object, list[int]] = {}
    for number, stream in enumerate(streams):
        starts = (hosts.action_of(wrapper, "wrap", at=stream.on) for wrapper in stream.workload.under)
        is_counted = any(start.readers for start in starts if start)
        is_shared = stream.workload.kind.has(_TOGETHER) and not is_counted
        machine = hosts.carrier(stream.workload, stream.on)
        under = tuple(wrapper.digest for wrapper in stream.workload.under)
        key = (stream.workload.kind, machine.key if machine else "", under) if is_shared else number
        groups.setdefault(key, []).append(number)
    return [tuple(numbers) for numbers in groups.values()]


def _process(numbers: Sequence[int], frames: Sequence[Frame], here: Here, *, is_gated: bool, is_cut: bool) -> _Process:
    """The process for these streams; a process that must be split at events gets sections, as several streams do."""
    if is_gated and all(map(_keeps_gate_open, frames)):
        frames = [Frame(f.instance, f.target, {**f.context, "gate": (_WAIT,)}) for f in frames]
    first = frames[numbers[0]]
    assert first.instance is not None, "BUG: a stream without a workload"
    kind = first.instance.kind
    is_shared = kind.has(_TOGETHER) and (is_cut or len(frames) > 1 or bool(first.instance.scheduled))
    sections = {number: _in_sections(frames[number], number) for number in numbers} if is_shared else {}
    words = tuple(word for own in sections.values() for frame in own for word in _section(kind, frame))
    frame = Frame(first.instance, first.target, {**first.context, "sections": words}) if is_shared else first
    action = hosts.action_of(first.instance, _TOGETHER if is_shared else "run", at=first.target)
    assert action is not None, f"BUG: {kind.name} cannot be carried out"
    steps = steps_of(action, Action.MEASURE, _NAME, frame, here)
    if not is_shared:
        reader = steps[-1].reader
        return _Process(place_of(numbers[0]), tuple(steps), ((numbers[0], (reader,)),) if reader else ())
    output = f"{steps[-1].name}.out"
    readers = [
        (number, tuple([reader_of(action.readers[0], frame, output) for frame in own]))
        for number, own in sections.items()
    ]
    if len(readers) == 1:  # several streams in one process have no wrapper that counts
        ((number, (reader, *parts)),) = readers
        counted = with_wrappers(reader, action, frames[number], output)
        readers = [(number, (counted, *parts))] if counted else readers
    # The timeout covers the stream that takes longest.
    every = [frame for own in sections.values() for frame in own]
    longest = max(sum(step.timeout for step in _commands(action, frame, here)) for frame in every)
    steps = [replace(step, timeout=max(step.timeout, longest)) for step in steps]
    return _Process(place_of(numbers[0]), tuple(steps), tuple(readers))


def _keeps_gate_open(frame: Frame) -> bool:
    """Whether the wrappers of a workload pass on the shell's open descriptors, such as those of the gate."""
    under = frame.instance.under if frame.instance else ()
    traits = ((wrapper, wrapper.kind.traits.get(_KEEPS)) for wrapper in under)
    return all(trait is not None and trait.value(Frame(wrapper, frame.target)) is True for wrapper, trait in traits)


def _in_sections(frame: Frame, number: int) -> list[Frame]:
    """The sections of one stream: one for each part of its schedule, or a single one."""
    assert frame.instance is not None, "BUG: a stream without a workload"
    name = place_of(number)
    parts = parts_of(frame.instance, frame.target)
    if not parts:
        return [Frame(frame.instance, frame.target, {**frame.context, "stream": name})]
    every = [frame_of(frame, part, place) for place, part in enumerate(parts)]
    return [
        Frame(part.instance, part.target, {**part.context, "stream": f"{name}.{place}"})
        for place, part in enumerate(every, 1)
    ]


def _commands(action: KindAction, frame: Frame, here: Here) -> list[Step]:
    """The steps of a process that runs this stream alone."""
    return steps_of(
        action, Action.MEASURE, _NAME, Frame(frame.instance, frame.target, {**frame.context, "sections": ()}), here
    )


def _section(kind: Kind, frame: Frame) -> tuple[Value, ...]:
    """The words that a section adds to the command of its shared process."""
    (section,) = kind.forms["section"]
    assert isinstance(section, Expr), f"BUG: the section of {kind.name} is a text"
    words = section.value(frame)
    return words if isinstance(words, tuple) else (words,)


def _require_together(experiment: Experiment, streams: Sequence[Stream], processes: Sequence[_Process]) -> None:
    """Raise ProgramError if a person has to start a stream."""
    for process in processes:
        for number, _ in process.readers:
            if any(step.action is Action.ASK for step in process.steps):
                name = streams[number].workload.label
                message = f"`{name}` cannot begin together with the other streams: a person would have to start it"
                hint = "reach all machines of such a trial, or write a script for each: `plan --emit sh --out DIR`"
                raise ProgramError(Code.NOT_MEASURABLE.at(experiment.run.span, message=message, hint=hint))


def _require_reached(experiment: Experiment, events: Sequence[Frame], here: Here) -> None:
    """Raise ProgramError if a person would have to begin an event on another machine."""
    for frame in events:
        step = _happening(frame, here)[0]
        if step.action is Action.ASK:
            assert experiment.during is not None, "BUG: an event that nobody asked for"
            place = step.why.partition(":")[0]
            message = f"an event would happen {place}, which this run does not reach"
            hint = "reach all machines of such a trial, or write a script for each: `plan --emit sh --out DIR`"
            raise ProgramError(Code.NOT_MEASURABLE.at(experiment.during.span, message=message, hint=hint))


def _host_of(frame: Frame, here: Here) -> str:
    """The machine on which an event happens."""
    return _happening(frame, here)[0].host


def _happening(frame: Frame, here: Here) -> list[Step]:
    return _steps_of(frame, "wait", here) or _steps_of(frame, "run", here) or _steps_of(frame, "start", here)


def _gated(processes: Sequence[_Process], events: Mapping[int, _Event], *, has_others: bool) -> str:
    """The script that starts processes behind a gate, each with its own output directory, and runs the events."""
    begun = []
    for process in processes:
        text = " && ".join(
            f'sh -c {values.quote(step.command)} >"$OUT/{step.name}.out" 2>"$OUT/{step.name}.err"'
            for step in process.steps
        )
        begun.append(f'begin {process.place} {values.quote(text)} &\nprocesses="$processes $!"')
    for number, event in events.items():
        words = " ".join(map(values.quote, (event.at, event.start, event.timeout, event.wait)))
        begun.append(f'happen event{number} {words} &\nevents="$events $!"')
    happening = [f"event{number}" for number in events]
    names = [*(process.place for process in processes), *happening]
    return _GATE.format(
        places=" ".join(names),
        directories=" ".join(f'"$OUT/{name}"' for name in names),
        fifos=' "$gate/instant"' if has_others else "",
        meeting=_MEETING if has_others else "",
        await_start=_AWAIT_INSTANT.format(early=_EARLY[0] + len(names) * _EARLY[1]) if has_others else _AWAIT_GATE,
        functions=_HAPPEN.format() if events else "",
        processes="\n".join(begun),
        ending=("" if processes else _AWAIT_OTHERS)
        + (_END_EVENTS.format(places=" ".join(happening)) if events else ""),
    )


def _event(frame: Frame, here: Here) -> _Event:
    """An event as shell text; a workload used as an event lasts as long as its command runs."""
    event = frame.instance
    assert event is not None, "BUG: an event without a kind"
    is_workload = event.kind.role == "workload"
    start = [] if is_workload else _steps_of(frame, "start", here)
    wait = _steps_of(frame, "run" if is_workload else "wait", here)
    return _Event(
        at=f"{float(begins(event)):g}",
        start=_as_text(start),
        wait=_as_text(wait),
        timeout=str(sum(step.timeout for step in wait) or 1),
    )


def _steps_of(frame: Frame, name: str, here: Here) -> list[Step]:
    assert frame.instance is not None, "BUG: an event without a kind"
    action = hosts.action_of(frame.instance, name, at=frame.target)
    return steps_of(action, Action.MEASURE, name, frame, here) if action else []


def _as_text(steps: Sequence[Step]) -> str:
    """Join commands that run in order, each in a shell of its own."""
    return " && ".join(f"sh -c {values.quote(step.command)}" for step in steps) or ":"
