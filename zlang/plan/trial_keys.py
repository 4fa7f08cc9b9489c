"""The trials of a schedule without their commands: their keys, and trials that are the same measurement."""

from __future__ import annotations

from collections.abc import Iterator

from zlang.check import hosts
from zlang.plan.difference import TrialKey
from zlang.plan.identities import Identities
from zlang.plan.schedule import Schedule
from zlang.space.trial_config import trial_config


def trial_keys(schedule: Schedule) -> Iterator[TrialKey]:
    """The trials in order, without their commands."""
    identities = Identities(schedule.experiment)
    for slot in schedule.slots():
        identity = identities.of(trial_config(schedule.experiment, slot.point))
        yield TrialKey(identity, slot.replicate, slot.number, schedule.factors(slot.point))


def trial_keys_by_values(schedule: Schedule) -> Iterator[TrialKey]:
    """The same, distinguished by the values that they use: several times as fast.

    Between programs that declare the same kinds these tell what identities tell.
    """
    for slot in schedule.slots():
        key = trial_config(schedule.experiment, slot.point).key
        yield TrialKey(key, slot.replicate, slot.number, schedule.factors(slot.point))


def twins(schedule: Schedule) -> tuple[int, int] | None:
    """The numbers of the first two trials that are one measurement, if there are any: one identity, one replicate.

    In one program the values that a point reaches decide its commands, so these need not be made, unless a name is
    that of two kinds, of which commands tell whether they do the same.
    """
    experiment = schedule.experiment
    kinds = {thing.kind for thing, _ in hosts.used_by(experiment)}
    identities = Identities(schedule.experiment) if len({kind.name for kind in kinds}) < len(kinds) else None
    seen: dict[tuple[str, int], int] = {}
    for slot in schedule.slots():
        config = trial_config(experiment, slot.point)
        own = identities.of(config) if identities else config.key
        first = seen.setdefault((own, slot.replicate), slot.number)
        if first != slot.number:
            return first, slot.number
    return None
