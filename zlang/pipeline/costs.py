"""The estimated cost of a plan on this machine, and the actual cost of a run."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from zlang.check.program import Experiment, Symbol
from zlang.errors import RunError, suppress
from zlang.frozen import frozen
from zlang.hints import TYPE_CHECKING
from zlang.units import Quantity

if TYPE_CHECKING:
    from zlang.pipeline.plans import Planned
    from zlang.plan.estimate import Outlook, Past, PlanEstimate
    from zlang.plan.plan import Device, Footprint, Header, Step
    from zlang.run.folder import Folder
    from zlang.run.reuse import Measured
    from zlang.run.run_state import RunState, StepTime

OTHERS = ("as-written", "random")
"""The orders with which a plan's own is compared."""


def estimate(planned: Planned, db: Path, but: Container[str] = ()) -> PlanEstimate:
    """Estimate how long the plan takes on this machine, and what it writes and needs, without the trials in `but`."""
    return next(iter(estimates(planned, db, but, ()).values()))


def estimates(
    planned: Planned,
    db: Path,
    but: Container[str] = (),
    others: Sequence[str] = OTHERS,
) -> dict[str, PlanEstimate]:
    """The estimates of the plan in its own order and in other orders, without the trials in `but`, by their places."""
    from zlang.plan import estimate as estimating
    from zlang.plan import survey
    from zlang.plan.build import Builder
    from zlang.plan.order import Order

    schedule, result, past = planned.schedule, dict[str, "PlanEstimate"](), _past_step_times(db)
    header = planned.plan.header
    for how in dict.fromkeys((schedule.order, *map(Order, others))):
        if schedule.kept is not None and not how.has_plots:
            continue
        other = schedule if how is schedule.order else schedule.ordered(how)
        is_known = bool(past.seconds or past.writes)
        sampled = survey.sample(Builder(other, planned.builder), other, but or None, is_identified=is_known)
        result[how] = estimating.estimate(sampled, header.facts, past, header.shared, header.groups)
        if not schedule.reached:
            result[how].lanes.clear()
    return result


def _past_step_times(db: Path) -> Past:
    """Past durations of steps on this machine; empty if the database is unreadable or from another release."""
    from zlang.plan.estimate import Past

    if not db.exists():
        return Past()
    from zlang.store import past

    with suppress(RunError):
        return past.load(db)
    return Past()


def remaining_estimate(planned: Planned, db: Path, measurements: Mapping[str, Measured] | None) -> Outlook:
    """Estimate the rest of a plan after some of its trials were measured."""
    from zlang.plan.estimate import Outlook, PlanEstimate

    is_done = measurements is not None and len(measurements) == planned.plan.header.trials
    remaining = PlanEstimate() if is_done else estimate(planned, db, measurements or {})
    by_run: dict[str, list[int]] = {}
    for measured in sorted(measurements.values(), key=lambda item: item.number) if measurements else ():
        by_run.setdefault(measured.run, []).append(measured.number)
    return Outlook(
        remaining, None if measurements is None else {run: tuple(numbers) for run, numbers in by_run.items()}
    )


def require_endurance(header: Header, expected: PlanEstimate, share_of: float = 1) -> None:
    """Raise RunError if `share_of` the expected writes to a device exceeds its endurance."""
    for device in header.devices:
        written = _at_one_place(header, device, expected.written) * share_of
        if device.endurance is not None and written > device.endurance:
            share = f"{written:,.0f} bytes, {written / device.endurance:.0%} of its endurance, would be written to"
            raise RunError(f"{share} {device.name}", "to do it anyway, pass --wear; or write less data, or less often")


def _at_one_place(header: Header, device: Device, amounts: Mapping[str, float]) -> float:
    """The bytes for a device together with those for others with its place: two `dir` of one path are one directory."""
    is_one_machine = len(header.hosts) <= 1 and len(header.machines) <= 1
    same = [other for other in header.devices if device.place and other.place == device.place and is_one_machine]
    return sum(amounts.get(name, 0.0) for name in {device.name, *(other.name for other in same)})


def require_space(header: Header, expected: PlanEstimate) -> None:
    """Raise RunError if a directory of this machine has less free space than the plan needs there."""
    from zlang.report.wording import measured

    available_of = free(header)
    for device in header.devices:
        available, needed = available_of.get(device.name), _at_one_place(header, device, expected.space)
        if available is not None and needed > available:
            message = (
                f"{device.name} would need {measured(needed, 'bytes')}, and {measured(available, 'bytes')} are free"
            )
            raise RunError(message, "write less data; if the data are compressed there, or sparse, pass --yes")


def fitting_budget(
    planned: Planned, db: Path, expected: PlanEstimate, but: Container[str] = ()
) -> list[tuple[str, float]] | None:
    """Program lines that fit the budget, each with the seconds of its plan; None if the plan fits already."""
    budget = planned.experiment.budget
    if budget is None or expected.total <= budget:
        return None
    fitting = []
    for ways in _smaller(planned, float(budget) / expected.total):
        for written, smaller in ways:
            seconds = estimate(smaller, db, but).total
            if seconds <= budget:
                fitting.append((written, seconds))
                break
    return fitting


def _smaller(planned: Planned, share: float) -> Iterator[list[tuple[str, Planned]]]:
    """Plans that may take this share of the time, each with its changed program line, the largest first."""
    from zlang.plan.schedule import Schedule

    experiment, schedule = planned.experiment, planned.schedule
    if experiment.until is not None or experiment.search is not None:
        return

    def plan_of(smaller: Experiment) -> Planned:
        order, reached = schedule.order, schedule.reached
        return planned.replace(schedule=Schedule(smaller, schedule.seed, schedule.part, order, reached=reached))

    most = 0 if schedule.is_uneven else min(int(share * schedule.repeat), schedule.repeat - 1)
    repeated = []
    for number in (most, most - 1):
        times = Quantity(Fraction(number))
        repeat = experiment.repeat.replace(value=lambda _, times=times: times)
        repeated += [(f"repeat = {number}", plan_of(experiment.replace(repeat=repeat)))] if number > 0 else []
    yield repeated
    points = schedule.plots.points
    sizes = dict.fromkeys(int(points * share * part) for part in (1, 0.9, 0.75))
    drawn = []
    for size in sizes:
        design = Symbol("sample", Quantity(Fraction(size)))
        smaller = experiment.replace(design=experiment.design.replace(value=lambda _, design=design: design))
        drawn += [(f"design = sample({size})", plan_of(smaller))] if 0 < size < points else []
    yield drawn


def free(header: Header) -> dict[str, int]:
    """The free bytes at the place of each device, if that is a directory of this machine."""
    from zlang.run import machine

    if header.machines:
        return {}
    result = {device.name: machine.free(device.place) for device in header.devices if device.place}
    return {name: free for name, free in result.items() if free is not None}


@frozen
class Spent:
    """The estimate of a run, and its actual seconds by kind of step and in total.

    They include all its sessions, but not the time spent waiting for a person. Lanes work at the same time, so the
    seconds of their steps may add up to more than `elapsed`. Those of one lane count once.
    """

    estimate: PlanEstimate
    took: Mapping[str, float]
    elapsed: float


def spent(folder: Folder, ran: RunState) -> Spent | None:
    """The expected and actual duration of a run; None if it is not finished."""
    import json

    from zlang.files import read_regular
    from zlang.plan import estimate as estimating
    from zlang.plan.plan import Action, Setup
    from zlang.run import lanes

    if not (ran.is_finished and folder.estimate.exists()):
        return None
    try:
        saved = json.loads(read_regular(folder.estimate, 1 << 20))
        seconds, of_lanes = (
            {str(name): float(took) for name, took in saved[part].items()} for part in ("seconds", "lanes")
        )
        unknown, unmeasured = float(saved["unknown_seconds"]), float(saved.get("unmeasured", 0))
        of_setups = float(saved.get("unknown_setup_seconds", 0))
        round(unknown - of_setups)  # not of infinity
    except (OSError, ValueError, KeyError, AttributeError, TypeError, OverflowError):
        return None
    if seconds.keys() != set(estimating.KINDS):
        return None  # another release estimated it with other kinds of steps
    places: dict[str, list[StepTime]] = {}
    for out, steps in ran.steps.items():
        places.setdefault(out.rpartition("/")[0] or out, []).extend(steps)
    ended: list[tuple[StepTime, Step, Footprint | None]] = []
    plan = folder.read_plan()
    for item in plan.items():
        if isinstance(item, Setup):
            place, footprint, planned = f"setups/{item.signature}", item.footprint, (*item.make, *item.unmake)
        else:
            place, footprint, planned = item.place, None, item.steps
            if item.place in ran.reused:
                continue
        named = {step.name: step for step in planned}
        own = [(entry, named.get(entry.start.step), footprint) for entry in places.pop(place, ())]
        ended += [(entry, step, of) for entry, step, of in own if step is not None and entry.elapsed is not None]
    waited = sum(entry.elapsed or 0.0 for entry, step, _ in ended if step.action is Action.ASK)
    took = _by_kind(ended, lanes.of(plan))
    elapsed = ran.seconds - waited
    took["creating and removing"] += max(0.0, elapsed - sum(took.values()))
    expected = estimating.PlanEstimate(
        seconds=seconds,
        lanes=of_lanes,
        unknown_seconds=unknown,
        unknown_setup_seconds=of_setups,
        unmeasured=unmeasured,
    )
    return Spent(expected, took, elapsed)


def _by_kind(
    ended: Iterable[tuple[StepTime, Step, Footprint | None]], lanes: Sequence[frozenset[str]]
) -> dict[str, float]:
    """The seconds of steps by kind, without manual steps; of steps that a lane works on at once, the first counts."""
    from zlang.plan import estimate as estimating
    from zlang.plan.plan import Action

    took = dict.fromkeys(estimating.KINDS, 0.0)
    lane_of = {host: number for number, hosts in enumerate(lanes) for host in hosts}
    busy: dict[int, float] = {}
    latest = 0.0
    for entry, step, footprint in sorted(ended, key=lambda item: item[0].position):
        if step.action in {Action.ASK, Action.COLLECT}:  # collectors run while the trial is measured
            continue
        began = entry.start.t if entry.start.up is None else entry.start.up
        if began < latest:
            busy.clear()  # the machine was started again meanwhile
        latest, lane = began, lane_of.get(step.host, 0)
        over = began + (entry.elapsed or 0.0)
        took[estimating.kind_of(step, footprint)] += max(0.0, over - max(began, busy.get(lane, 0.0)))
        busy[lane] = max(over, busy.get(lane, 0.0))
    return took
