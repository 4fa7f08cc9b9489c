"""The footprint of a resource, treatment or workload: the time, bytes and space that its kind states.

In: a declared thing at a point. Out: a `Footprint`. Rule: what a kind does not state is unknown, and is never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zlang.check.instances import Frame
from zlang.check.program import Instance
from zlang.diagnostics import ProgramError
from zlang.errors import suppress
from zlang.plan.plan import Device, Fetch, Footprint
from zlang.record import Record
from zlang.units import Quantity

_OF_DEVICES = {"bandwidth", "endurance"}
OF_WORKLOADS, OF_READS = ("timed", "written", "runtime", "ramp"), ("workers", "reuse_distance")
"""The traits that decide the footprint of a workload, and the data that it must read from devices."""


def of_resource(thing: Instance, frame: Frame) -> Footprint | None:
    """The footprint of making a resource; None if it writes next to nothing."""
    written, holds = _number(thing, "written", frame), _number(thing, "holds", frame)
    if thing.is_given or (written is None and holds is None):
        return None
    under = device_of(thing)
    space = _number(thing, "occupies", frame) if thing.parent is under else None
    laid = _as_int(holds or None) if written is None else _as_int(written)  # that it holds nothing: unknown
    return Footprint(_called(under), laid, _rate(thing), None, _as_int(space))


def of_treatment(thing: Instance, on: Instance, frame: Frame) -> Footprint:
    """The footprint of a treatment, or of a workload that runs before the measurement."""
    written = _number(thing, "written", frame)
    return Footprint(_called(device_of(on)), _as_int(written), _rate(on), _seconds(thing, frame))


class TargetTraits(Record):
    """The target's part of a footprint: its device, its rate, and the share of its data that reaches the device."""

    device: str
    rate: float | None
    kept: float


def target_traits(on: Instance) -> TargetTraits:
    """The values that the footprints of all workloads on a target share."""
    traits = {name: _nearest(on, name) for name in ("constant", "saves", "compresses", "repeats", "dedups")}
    kept = 1.0
    if traits["compresses"] is not False:
        kept *= 0 if traits["constant"] is True else 1 - _as_float(traits["saves"])
    if traits["dedups"] is not False:
        kept *= 1 - _as_float(traits["repeats"])
    return TargetTraits(_called(device_of(on)), _rate(on), kept)


def of_workload(thing: Instance, on: TargetTraits | None, frame: Frame, *, writes: bool) -> Footprint:
    """The footprint of a measurement."""
    seconds = _seconds(thing, frame)
    amount = None if _value(thing, "timed", frame) is True else _number(thing, "written", frame)
    written = _as_int(amount) if writes else 0
    return Footprint(on.device if on else "", written, on.rate if on else None, seconds)


def of_streams(footprints: Iterable[Footprint]) -> Footprint:
    """The footprint of workloads that run at the same time; its bytes are None if they write to several devices."""
    first, *others = footprints
    if not others:
        return first
    every = (first, *others)
    devices = {each.device: None for each in every if each.written != 0} or {first.device: None}
    amounts = [each.written for each in every if each.written is not None]
    written = sum(amounts) if len(amounts) == len(every) and len(devices) == 1 else None
    seconds = [each.seconds for each in every if each.seconds is not None]
    return Footprint(next(iter(devices)), written, first.rate, max(seconds) if len(seconds) == len(every) else None)


def of_reads_together(fetches: Sequence[Fetch | None]) -> Fetch | None:
    """The data that workloads running at the same time must read from devices; None if unknown for one of them."""
    stated = [fetch for fetch in fetches if fetch is not None]
    if len(stated) < len(fetches):
        return None
    return (
        stated[0] if len(stated) == 1 else Fetch(min(each.share for each in stated), sum(each.most for each in stated))
    )


def of_reads(thing: Instance, on: TargetTraits, frame: Frame) -> Fetch | None:
    """The bytes that a workload must read from devices; None if it may read data twice, or if that is unknown.

    Data that may be compressed or deduplicated are counted at the size that is kept.
    """
    workers, distance = _number(thing, "workers", frame), _number(thing, "reuse_distance", frame)
    if not workers or not distance or distance < 0 or on.kept <= 0:
        return None
    return Fetch(on.kept / workers, on.kept * distance)


def _nearest(on: Instance, trait: str) -> object:
    """The value of a trait at the nearest thing that has it; None if unknown."""
    instance: Instance | None = on
    while instance is not None:
        if trait in instance.kind.traits:
            return _value(instance, trait, Frame(instance))
        instance = instance.parent
    return None


def _as_float(value: object) -> float:
    return float(value.amount) if isinstance(value, Quantity) else 0.0


def both(footprint: Footprint | None, other: Footprint) -> Footprint:
    """The footprint of two steps, one after the other."""
    if footprint is None:
        return other
    is_stated = footprint.written is not None and other.written is not None
    written = (footprint.written or 0) + (other.written or 0) if is_stated else None
    return Footprint(footprint.device, written, footprint.rate, other.seconds, footprint.space)


def device_of(thing: Instance) -> Instance:
    """The lowest resource that says how it can be written to, else the lowest resource."""
    result: Instance | None = None
    under = thing
    instance: Instance | None = thing
    while instance is not None and instance.kind.role == "resource":
        under, result = instance, instance if _OF_DEVICES & instance.kind.traits.keys() else result
        instance = instance.parent
    return result or under


def device(thing: Instance, place: str) -> Device:
    """The size and the sector size of the device that is written to."""
    endurance = _number(thing, "endurance", Frame(thing))
    return Device(_called(thing), place, _as_int(endurance))


def _called(thing: Instance) -> str:
    return thing.title


def _rate(thing: Instance) -> float | None:
    """The bandwidth in bytes per second that a thing, or else the nearest thing below it, states."""
    instance: Instance | None = thing
    while instance is not None:
        number = _number(instance, "bandwidth", Frame(instance))
        if number is not None:
            return number
        instance = instance.parent
    return None


def _seconds(thing: Instance, frame: Frame) -> float | None:
    runtime = _number(thing, "runtime", frame)
    return runtime + (_number(thing, "ramp", frame) or 0) if runtime else None  # a runtime of zero means no limit


def _as_int(number: float | None) -> int | None:
    return None if number is None else round(number)


def _number(thing: Instance, trait: str, frame: Frame) -> float | None:
    value = _value(thing, trait, frame)
    return float(value.amount) if isinstance(value, Quantity) else None


def _value(thing: Instance, trait: str, frame: Frame) -> object:
    if trait not in thing.kind.traits:
        return None
    with suppress(ProgramError):  # a trait that cannot be computed is unknown
        return thing.kind.traits[trait].value(frame)
    return None
