"""A way through a plan without carrying it out: `Schedule` -> `Stop`s, over which something can be added up.

Rule: a plan of up to `EXACT` trials is gone through; of a longer one places are drawn, and what is counted is about so.
What is `but` of the way, by its place, was measured before and is not carried out.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from zlang.check import hosts
from zlang.plan.build import Builder, Schedule
from zlang.plan.plan import Trial
from zlang.plan.state import Change, State

EXACT = 1000
DRAWN = 150


@dataclass(frozen=True, slots=True)
class Stop:
    """What has to change before a trial, and the trial, if it is one; it stands for `weight` trials."""

    weight: float
    changes: tuple[Change, ...]
    trial: Trial | None


def stops(builder: Builder, schedule: Schedule, but: Container[str] = ()) -> Iterator[Stop]:
    """Each trial that is carried out at most, or those that are drawn, and at last what is removed."""
    schedule = schedule.carried_out()
    return (_exact if schedule.trials <= EXACT else _drawn)(builder, schedule, but)


def _exact(builder: Builder, schedule: Schedule, but: Container[str]) -> Iterator[Stop]:
    state = State()
    for slot in schedule.slots():
        trial, setups = builder.trial(slot)
        if trial.place in but:
            continue
        changes = state.changes(setups)
        for change in changes:
            state = state.after(change)
        yield Stop(1, changes, trial)
        state = state.spoil(trial.spoils)
    yield Stop(1, state.teardown(), None)


def _drawn(builder: Builder, schedule: Schedule, but: Container[str]) -> Iterator[Stop]:
    state = State()
    for weight, before, slot in schedule.sampled(DRAWN):
        if schedule.part is not None and hosts.name_at(schedule.experiment, slot.point) != schedule.part:
            continue
        drawn, needed = builder.trial(slot)
        is_left = drawn.place not in but
        if not is_left and before is not None:
            continue
        state = State()
        if before is not None:
            trial, setups = builder.trial(before)
            for change in state.changes(setups):
                state = state.after(change)
            state = state.spoil(trial.spoils)
        changes = state.changes(needed)
        for change in changes:
            state = state.after(change)
        yield Stop(weight, changes, drawn if is_left else None)  # whichever is the first finds nothing made
    yield Stop(1, state.teardown(), None)
