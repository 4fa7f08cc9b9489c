"""Values that change while a workload runs: `rate_iops = [1000/s for 30s, 1000/s to 5000/s for 60s]`.

In: a workload with schedules. Out: the parts in which it is carried out, each with constant values. Rules: a schedule
begins with the measurement and is repeated until the workload ends; a gradual change is made in steps; a value of 0 is
a pause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise

from zlang.check.instances import Frame, checked_value
from zlang.check.program import ChangingValue, Expr, Instance, Value
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.record import Record
from zlang.units import DURATION, Quantity, show

MOST_PARTS = 100
"""The most parts of one schedule: each is a part of one command, whose length is limited."""
_MOST_STEPS = 10
"""In which a value goes from one to another."""
BEGINS, LASTS = "begins", "lasts"
"""The names by which the templates of a kind know when a part begins, and how long it lasts."""


class SchedulePart(Record):
    """A part of a workload's time: its start and end, in seconds, and its values."""

    begin: Fraction
    end: Fraction
    values: Mapping[str, Value]


def parts_of(workload: Instance, on: Instance | None) -> tuple[SchedulePart, ...]:
    """Return the parts of the workload's time; none if nothing changes. Raises ProgramError."""
    schedules = _schedules(workload)
    if not schedules:
        return ()
    for finding in findings(workload, on):
        raise ProgramError(finding)
    return _parts(workload, schedules, _time(workload, on, "runtime"))


def lasts(workload: Instance, on: Instance | None) -> Fraction:
    """Return the duration in seconds of a workload with schedules."""
    return _time(workload, on, "runtime")


def durations(workload: Instance) -> dict[str, Fraction]:
    """Return the period in seconds of each schedule of a workload, by its property."""
    return {
        name: sum((_seconds(each.duration) for each in value.periods), Fraction(0))
        for name, value in _schedules(workload).items()
    }


def findings(workload: Instance, on: Instance | None) -> Iterator[Diagnostic]:
    """Find the problems in the schedules of a workload."""
    schedules = _schedules(workload)
    if not schedules:
        return
    name = next(iter(schedules))
    place = workload.places.get(name) or workload.span
    assert place is not None, "BUG: a schedule that stands nowhere"
    frame, traits = Frame(workload, on), workload.kind.traits
    runtime = _time(workload, on, "runtime")
    if not runtime or traits["timed"].value(frame) is not True:
        missing = ("to_run_for_time",) if runtime else ("to_run_for_time", "to_set_time")
        words = [traits[trait].value(frame) for trait in missing if trait in traits]
        hint = f"add `{'  '.join(map(str, words))}`: a schedule is repeated until that time is over"
        yield Code.NOT_ALLOWED.at(place, name=name, value="a schedule without a time", hint=hint)
        return
    if _time(workload, on, "ramp"):
        hint = "a schedule begins with the measurement: let its first part be the ramp, and leave it out of the figures"
        yield Code.NOT_ALLOWED.at(place, name=name, value="a schedule after a ramp", hint=hint)
    try:
        parts = _parts(workload, schedules, runtime)
        for part in parts:
            _require_exact(workload, on, part)
    except ProgramError as error:
        yield error.diagnostic
        return
    if not parts or parts[0].begin > 0:
        hint = "begin with a load; a pause can follow"
        yield Code.NOT_ALLOWED.at(place, name=name, value="a schedule that begins with a pause", hint=hint)
    if len(parts) > MOST_PARTS:
        hint = "make its parts longer, or the time shorter"
        yield Code.NOT_ALLOWED.at(place, name=name, value=f"a schedule of more than {MOST_PARTS} parts", hint=hint)


def frame_of(frame: Frame, part: SchedulePart, number: int) -> Frame:
    """Return the frame for one part of a workload's schedule; each part draws different offsets."""
    assert frame.instance is not None, "BUG: a part of nothing"
    context = {**frame.context, **_times(part)}
    seed = context.get("seed")
    if isinstance(seed, Quantity):
        context["seed"] = Quantity((seed.amount + number) % (1 << 31), seed.dimension)
    values = {**frame.instance.values, **part.values}
    in_part = Frame(frame.instance, frame.target, context)
    values |= {name: expr.value(in_part) for name, expr in _changed(frame.instance).items()}
    return Frame(frame.instance.replace(values=values, family=(), varying=()), frame.target, context)


def _changed(workload: Instance) -> Mapping[str, Expr]:
    """Return the properties that have other values in a part of a schedule."""
    properties = workload.kind.properties
    return {name: expr for name in workload.kind.scheduled if (expr := properties[name].scheduled) is not None}


def _times(part: SchedulePart) -> dict[str, Value]:
    return {BEGINS: Quantity(part.begin, DURATION), LASTS: Quantity(part.end - part.begin, DURATION)}


def _require_exact(workload: Instance, on: Instance | None, part: SchedulePart) -> None:
    """Raise ProgramError if a property cannot have the value of a part."""
    at = Frame(workload, on, _times(part))
    place = next(workload.places[name] for name in part.values)
    for name, expr in _changed(workload).items():
        definition, value = workload.kind.properties[name], expr.value(at)
        unit = definition.unit
        if unit and isinstance(value, Quantity) and (value.amount / unit.amount).denominator != 1:
            lasting = f"a schedule with a part of {show(Quantity(part.end - part.begin, DURATION))}"
            hint = f"let each part last a multiple of `{show(unit)}`"
            raise ProgramError(Code.NOT_ALLOWED.at(place, name=next(iter(part.values)), value=lasting, hint=hint))
        checked_value(definition, value, place)
    for name, value in part.values.items():
        checked_value(workload.kind.properties[name], value, place)


def _schedules(workload: Instance) -> dict[str, ChangingValue]:
    return {name: value for name in workload.scheduled if isinstance(value := workload.values.get(name), ChangingValue)}


def _time(workload: Instance, on: Instance | None, trait: str) -> Fraction:
    """Return a duration trait of the workload, in seconds; 0 if it has none."""
    expr = workload.kind.traits.get(trait)
    return _seconds(expr.value(Frame(workload, on)) if expr else None)


def _seconds(value: Value) -> Fraction:
    return value.amount if isinstance(value, Quantity) else Fraction(0)


def _parts(workload: Instance, schedules: Mapping[str, ChangingValue], until: Fraction) -> tuple[SchedulePart, ...]:
    """Return the parts between all changes of all schedules, without pauses; at most one above the limit."""
    unit = max((p.unit.amount for name in _changed(workload) if (p := workload.kind.properties[name]).unit), default=1)
    cycles = {name: _cycle(schedule, Fraction(unit)) for name, schedule in schedules.items()}
    runs = {name: list(_repeated(cycle, until)) for name, cycle in cycles.items()}
    edges = sorted({edge for run in runs.values() for begin, end, _ in run for edge in (begin, end)})
    parts: list[SchedulePart] = []
    places = dict.fromkeys(runs, 0)
    for begin, end in pairwise(edges):
        values: dict[str, Value] = {}
        for name, run in runs.items():
            while run[places[name]][1] <= begin:
                places[name] += 1
            values[name] = run[places[name]][2]
        if all(not isinstance(value, Quantity) or value.amount for value in values.values()):
            parts.append(SchedulePart(begin, end, values))
        if len(parts) > MOST_PARTS:
            break
    return tuple(parts)


def _cycle(schedule: ChangingValue, unit: Fraction) -> list[tuple[Fraction, Value]]:
    """Return the values of a schedule with their durations; a gradual change becomes steps of whole units."""
    cycle: list[tuple[Fraction, Value]] = []
    for period in schedule.periods:
        value, end, duration = period.value, period.end, period.duration
        assert isinstance(duration, Quantity), "BUG: a part of a schedule without a duration"
        if not isinstance(value, Quantity) or not isinstance(end, Quantity):
            cycle.append((duration.amount, value))
            continue
        steps = min(_MOST_STEPS, max(1, int(duration.amount / unit)))
        edges = [int(duration.amount / unit * n / steps) * unit for n in range(steps)] + [duration.amount]
        for first, last in pairwise(edges):
            middle = (first + last) / 2 / duration.amount
            amount = round(value.amount + (end.amount - value.amount) * middle)
            cycle.append((last - first, Quantity(Fraction(amount), value.dimension)))
    return cycle


def _repeated(cycle: list[tuple[Fraction, Value]], until: Fraction) -> Iterator[tuple[Fraction, Fraction, Value]]:
    """Yield the parts of a schedule with their times until the workload ends; stop at one part above the limit."""
    begin, count = Fraction(0), 0
    while begin < until and count <= 2 * MOST_PARTS:
        for lasts, value in cycle:
            end = min(begin + lasts, until)
            if begin < end:
                yield begin, end, value
            begin, count = end, count + 1
