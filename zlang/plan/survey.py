"""Sampling of a plan: `Schedule` -> `SampledTrial`s, which an estimate adds up.

Rule: all trials of a plan of up to `EXACT`; of a longer one `DRAWN` places, each with the number of places that it
represents as its weight. The trials in `but`, by their place, were measured before and are not carried out. Without
these, and for an estimate that knows no earlier results, the trials need no identities: these take half of the time.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from zlang.check import hosts
from zlang.frozen import frozen
from zlang.plan.build import Builder
from zlang.plan.plan import Trial, trial_place
from zlang.plan.schedule import Schedule
from zlang.plan.state import Change, Walk

EXACT = 1000
DRAWN = 150


@frozen
class SampledTrial:
    """The changes before a trial, and the trial, if there is one; it represents `weight` trials.

    The trial may belong to another replicate, which takes the same steps.
    """

    weight: float
    changes: tuple[Change, ...]
    trial: Trial | None


def sample(
    builder: Builder, schedule: Schedule, but: Container[str] | None = None, *, is_identified: bool = True
) -> Iterator[SampledTrial]:
    """Yield each trial that may be carried out, or a sample of them, and finally the teardown."""
    schedule = schedule.carried_out()
    is_listed = schedule.trials <= EXACT or schedule.kept is not None
    return (_every_trial if is_listed else _drawn_trials)(builder, schedule, but, is_identified or but is not None)


def _every_trial(
    builder: Builder, schedule: Schedule, but: Container[str] | None, is_identified: bool
) -> Iterator[SampledTrial]:
    walk = Walk()
    carried_out = 0  # trials on the kept data, since the data were laid out
    for slot in schedule.slots():
        config, setups, invalidated = builder.state(slot)
        if but is not None and trial_place(builder.identities.of_slot(slot, config), slot.replicate) in but:
            continue
        if carried_out != slot.follows:  # earlier ones were measured before, but their changes are needed
            walk.leave(builder.changed_by_all(slot, config))
            for each in reversed([*slot.earlier()]):
                _, needed, _ = builder.state(each)
                yield SampledTrial(1, walk.enter(needed), builder.like(each, is_identified=is_identified))
        yield SampledTrial(1, walk.enter(setups), builder.like(slot, config, is_identified=is_identified))
        walk.leave(invalidated)
        carried_out = slot.follows + 1 if slot.is_kept else 0
    yield SampledTrial(1, walk.state.teardown(), None)


def _drawn_trials(
    builder: Builder, schedule: Schedule, but: Container[str] | None, is_identified: bool
) -> Iterator[SampledTrial]:
    walk = Walk()
    for weight, before, slot in schedule.sampled(DRAWN):
        if schedule.part is not None and schedule.part not in hosts.names_at(schedule.experiment, slot.point):
            continue
        drawn, needed = builder.trial(slot, is_identified=is_identified)
        is_left = but is None or drawn.place not in but
        if not is_left and before is not None:
            continue
        walk = Walk()
        if before is not None:
            trial, setups = builder.trial(before, is_identified=is_identified)
            walk.enter(setups)
            walk.leave(trial.invalidates)
        changes = walk.enter(needed)
        yield SampledTrial(weight, changes, drawn if is_left else None)  # the first trial always finds nothing made
    yield SampledTrial(1, walk.state.teardown(), None)
