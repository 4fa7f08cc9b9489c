"""The trials of a schedule without their commands: their keys, and duplicate measurements."""

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
        identity = identities.of_slot(slot)
        yield TrialKey(identity, slot.replicate, slot.number, schedule.factors(slot.point))


def trial_keys_by_values(schedule: Schedule) -> Iterator[TrialKey]:
    """The trials in order, with keys made from the values that they use: several times as fast as `trial_keys`.

    Between programs that declare the same kinds, these keys distinguish the same trials as identities do.
    """
    for slot in schedule.slots():
        key = trial_config(schedule.experiment, slot.point).key
        yield TrialKey(key, slot.replicate, slot.number, schedule.factors(slot.point))


def twins(schedule: Schedule) -> tuple[int, int] | None:
    """The numbers of the first two trials that are the same measurement (one identity, one replicate), if any.

    Within one program, the values that a point uses decide its commands, so the commands need not be built. The
    exception is a name that two kinds share: only their commands tell whether they do the same.
    """
    experiment = schedule.experiment
    kinds = {thing.kind for thing, _ in hosts.used_by(experiment)}
    identities = Identities(schedule.experiment) if len({kind.name for kind in kinds}) < len(kinds) else None
    seen: dict[tuple[str, int, int], int] = {}
    for slot in schedule.slots():
        config = trial_config(experiment, slot.point)
        own = identities.of(config) if identities else config.key
        nth = slot.point[schedule.kept.path] if schedule.kept else 0
        first = seen.setdefault((own, slot.replicate, nth), slot.number)
        if first != slot.number:
            return first, slot.number
    return None
