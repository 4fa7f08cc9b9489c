"""Estimate a plan's duration, writes and space: `SampledTrial`s and known durations -> `Estimate`.

The duration of a step is the first of these that is known: the median of the same step on this machine; what its kind
states (a runtime, or bytes divided by a bandwidth); the durations of steps with its name; `COMMAND`. Rule: a step of
unknown duration is counted as unknown, never silently left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from zlang.frozen import field, frozen, mutable
from zlang.hints import TYPE_CHECKING
from zlang.plan import members
from zlang.plan.plan import LOCAL, Action, Footprint, Setup, Step, Trial
from zlang.plan.state import Alter, Change, Make

if TYPE_CHECKING:  # reading a plan does not need the code that plans a trial
    from zlang.plan.survey import SampledTrial

COMMAND = 0.004
BETWEEN = 0.001
"""The least seconds for an unknown command, and between two commands: measured, on an idle virtual machine with two
processors. There, the median of 1,200 commands `echo`, and of the commands that create and remove what they need, is
5 to 6 ms."""
_SLOW_COMMAND = 0.1
"""Seconds that commands may take on average. Those of the library that are not given the time of a load take 10 to 60
ms (medians of five file systems and pools, on a busy machine), creating a file system or pool up to 400 ms."""
KINDS = ("measuring", "writing data", "creating and removing", "caches and checks")


@frozen
class Past:
    """Past durations of steps on this machine, by owner (setup's signature, trial's identity) and step, and by step.

    `rate` is the speed of laying out data, in bytes per second; `writes` is the write rate of each trial while it was
    measured.
    """

    seconds: Mapping[tuple[str, str], float] = field(default_factory=dict)
    by_step: Mapping[str, float] = field(default_factory=dict)
    rate: float | None = None
    writes: Mapping[str, float] = field(default_factory=dict)


@mutable
class PlanEstimate:
    """The estimate of a plan.

    It counts how often resources are made and altered, seconds by kind of step, bytes written and space needed by
    device, and manual steps. `unknown_seconds` and `unknown_bytes` count the trials and setups whose duration or writes
    are unknown; the figures do not include them. `unknown_setup_seconds` and `unknown_setup_bytes` count only setups.
    `unmeasured` counts the commands that are included as `COMMAND`.
    `lanes` has the seconds of each lane of machines, such as `san1+san2`; lanes work at the same time.
    """

    trials: float = 0
    steps: float = 0
    made: float = 0
    altered: float = 0
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(KINDS, 0.0))
    written: dict[str, float] = field(default_factory=dict)
    space: dict[str, int] = field(default_factory=dict)
    manual_steps: float = 0
    unknown_seconds: float = 0
    unknown_bytes: float = 0
    unknown_setup_seconds: float = 0
    unknown_setup_bytes: float = 0
    unmeasured: float = 0
    lanes: dict[str, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """The total in seconds: only the longest lane counts."""
        spent = sum(self.seconds.values())
        return spent - sum(self.lanes.values()) + max(self.lanes.values()) if self.lanes else spent

    @property
    def are_commands_unknown(self) -> bool:
        """Whether commands that were not measured could double the total."""
        return self.unmeasured * _SLOW_COMMAND > self.total

    @property
    def is_lower_bound(self) -> bool:
        """Whether the total is only the least time."""
        return self.unknown_seconds > 0 or self.are_commands_unknown


@frozen
class Outlook:
    """The part of a plan that is still to be done on this machine, and the part that can be skipped.

    `measured` has the numbers of the trials that earlier runs have measured, by run; None if the plan is too long to be
    searched.
    """

    estimate: PlanEstimate
    measured: Mapping[str, tuple[int, ...]] | None


def estimate(
    sampled: Iterable[SampledTrial],
    facts: Iterable[Step],
    past: Past,
    shared: Mapping[str, str],
    groups: Mapping[str, str],
) -> PlanEstimate:
    """Add up the cost of the sampled trials.

    Machines with the same text in `shared` do not work at the same time; members of one of the `groups` do.
    """
    result = PlanEstimate()
    by_machine: dict[str, list[Step]] = {}
    for step in facts:
        by_machine.setdefault(step.host, []).append(step)
    _at_once(result, [partial(_steps, result, "facts", steps, past, 1) for steps in by_machine.values()])
    largest: dict[str, tuple[str, int]] = {}
    lanes: dict[frozenset[str], float] = {}
    hosts_of_setup: dict[str, set[str]] = {}
    for sample in sampled:
        for change in sample.changes:
            hosts_of_setup.setdefault(change.setup.signature, set()).update(_hosts(change.steps))
        if sample.trial is not None:
            needed = (hosts_of_setup.get(signature, set()) for signature in sample.trial.setups)
            _add_to_lane(lanes, _hosts(sample.trial.steps).union(*needed), 0.0)
        for stretch in members.stretches_of_changes(sample.changes, groups):
            by_lane: dict[frozenset[str], list[Callable[[], None]]] = {}
            for changes in stretch:
                together = _hosts(step for change in changes for step in change.steps)
                work = partial(_changes, result, changes, past, sample.weight, largest)
                by_lane.setdefault(_add_to_lane(lanes, together, 0.0), []).append(work)
            for lane, works in by_lane.items():
                _add_to_lane(lanes, lane, _at_once(result, works))
        if sample.trial is not None:
            work = partial(_trial, result, sample.trial, past, sample.weight, groups)
            if together := _hosts(sample.trial.steps):
                _add_to_lane(lanes, together, _at_once(result, [work]))
            else:
                work()
    for text in set(shared.values()):
        _add_to_lane(lanes, {host for lane in lanes for host in lane if shared.get(host) == text}, 0.0)
    result.lanes = {"+".join(sorted(lane)): seconds for lane, seconds in lanes.items()} if len(lanes) > 1 else {}
    for device, space in largest.values():
        result.space[device] = result.space.get(device, 0) + space
    return result


def _at_once(estimate: PlanEstimate, works: Sequence[Callable[[], None]]) -> float:
    """Add what several machines do at the same time, but only the seconds of the slowest; return these."""
    if len(works) == 1:
        seconds = sum(estimate.seconds.values())
        works[0]()
        return sum(estimate.seconds.values()) - seconds
    before, slowest = estimate.seconds, dict.fromkeys(KINDS, 0.0)
    for work in works:
        estimate.seconds = dict.fromkeys(KINDS, 0.0)
        work()
        slowest = max(slowest, estimate.seconds, key=lambda seconds: sum(seconds.values()))
    estimate.seconds = {kind: before[kind] + slowest[kind] for kind in KINDS}
    return sum(slowest.values())


def _changes(
    estimate: PlanEstimate,
    changes: Iterable[Change],
    past: Past,
    weight: float,
    largest: dict[str, tuple[str, int]],
) -> None:
    for change in changes:
        _change(estimate, change, past, weight, largest)


def _change(
    estimate: PlanEstimate, change: Change, past: Past, weight: float, largest: dict[str, tuple[str, int]]
) -> None:
    """Add a change, and update the most space needed on the device of its setup."""
    match change:
        case Make(setup):
            estimate.made += weight
            _make(estimate, setup, past, weight)
            if setup.footprint is not None and setup.footprint.space is not None:
                before = largest.get(setup.key, ("", 0))[1]
                largest[setup.key] = setup.footprint.device, max(before, setup.footprint.space)
        case Alter(_, setup):
            estimate.altered += weight
            _steps(estimate, setup.signature, change.steps, past, weight)
        case _:
            _steps(estimate, change.setup.signature, change.steps, past, weight)


def _hosts(steps: Iterable[Step]) -> set[str]:
    """The machines of some steps, including manual ones."""
    return {step.host for step in steps if step.host != LOCAL}


def _add_to_lane(lanes: dict[frozenset[str], float], together: Iterable[str], seconds: float) -> frozenset[str]:
    """Add the seconds that some machines work together; lanes that share a machine are merged. Return the lane."""
    machines = frozenset(together)
    joined = [lane for lane in lanes if lane & machines]
    if machines:
        machines = machines.union(*joined)
        lanes[machines] = seconds + sum(lanes.pop(lane) for lane in joined)
    return machines


def kind_of(step: Step, footprint: Footprint | None) -> str:
    """The kind of a step that makes a state, or of a trial's step (without a footprint)."""
    if step.action is Action.MEASURE:
        return "measuring"
    if step.action in {Action.FLUSH, Action.WARM, Action.VERIFY}:
        return "caches and checks"
    return "writing data" if footprint is not None and step.action is Action.PREPARE else "creating and removing"


def _make(estimate: PlanEstimate, setup: Setup, past: Past, weight: float) -> None:
    _steps(estimate, setup.signature, setup.make, past, weight, setup.footprint)
    if setup.footprint is None:
        return
    first = next((step for step in setup.make if step.action is Action.PREPARE), None)
    if first is None or (setup.signature, first.name) not in past.seconds:
        rate, written = setup.footprint.rate or past.rate, setup.footprint.written
        if setup.footprint.seconds is not None:
            estimate.seconds["writing data"] += weight * setup.footprint.seconds
        elif written is None or (written and rate is None):
            estimate.unknown_seconds += weight
            estimate.unknown_setup_seconds += weight
        elif rate is not None:
            estimate.seconds["writing data"] += weight * written / rate
    _write(estimate, setup.footprint, setup.footprint.written, weight)
    estimate.unknown_setup_bytes += weight if setup.footprint.written is None else 0


def _trial(estimate: PlanEstimate, trial: Trial, past: Past, weight: float, groups: Mapping[str, str]) -> None:
    estimate.trials += weight
    measured = [step for step in trial.steps if step.action is Action.MEASURE]
    others = [step for step in trial.steps if step.action is not Action.MEASURE]
    if not groups:
        _steps(estimate, trial.identity, others, past, weight)
    for stretch in members.stretches_of_steps(others, groups) if groups else ():
        _at_once(estimate, [partial(_steps, estimate, trial.identity, own, past, weight) for own in stretch])
    footprint = trial.footprint
    seconds = [past.seconds.get((trial.identity, step.name)) for step in measured]
    is_asked = any(step.action is Action.ASK for step in trial.steps)
    estimate.steps += weight * len(measured)
    if None not in seconds:
        by_machine: dict[str, float] = {}
        for step, item in zip(measured, seconds, strict=True):
            by_machine[step.host] = by_machine.get(step.host, 0.0) + (item or 0.0)
        took = max(by_machine.values(), default=0.0)
    elif footprint is not None and footprint.seconds is not None:
        took = footprint.seconds + len(measured) * COMMAND
        estimate.unmeasured += weight * len(measured)
    else:
        took = len(measured) * COMMAND
        estimate.unknown_seconds += 0 if is_asked and not measured else weight
    estimate.seconds["measuring"] += weight * (took + len(measured) * BETWEEN)
    if footprint is not None:
        rate = past.writes.get(trial.identity)
        ran = footprint.seconds if footprint.seconds is not None else took
        written = footprint.written if footprint.written is not None else None if rate is None else round(rate * ran)
        _write(estimate, footprint, written, weight)


def _write(estimate: PlanEstimate, footprint: Footprint, written: int | None, weight: float) -> None:
    if written is None:
        estimate.unknown_bytes += weight
    elif written:
        estimate.written[footprint.device] = estimate.written.get(footprint.device, 0.0) + weight * written


def _steps(
    estimate: PlanEstimate,
    owner: str,
    steps: Iterable[Step],
    past: Past,
    weight: float,
    footprint: Footprint | None = None,
) -> None:
    for step in steps:
        if step.action is Action.ASK:
            estimate.manual_steps += weight
            continue
        if step.action is Action.COLLECT:  # while the trial is measured
            continue
        estimate.steps += weight
        seconds = past.seconds.get((owner, step.name), past.by_step.get(step.name))
        estimate.unmeasured += 0 if seconds is not None else weight
        estimate.seconds[kind_of(step, footprint)] += weight * (BETWEEN + (COMMAND if seconds is None else seconds))
