"""The identities of an experiment's trials, each worked out once for all points that reach the same values."""

from __future__ import annotations

from dataclasses import replace

from zlang.check import digests
from zlang.check.program import Experiment, Instance
from zlang.plan import identity
from zlang.plan.schedule import KEPT
from zlang.plan.trial_config import TrialConfig
from zlang.plan.trial_steps import Prepared, TrialSteps


def _one_seed(*_drawn_for: str) -> str:
    """The same seed for everything: an identity does not depend on it."""
    return identity.SEED


class Identities:
    """The identities of an experiment's points, worked out once for all that reach the same values."""

    def __init__(self, experiment: Experiment) -> None:
        self._trial_steps = TrialSteps(experiment, None, _one_seed)
        self._cache: dict[str, str] = {}
        self._neutral: dict[tuple[int, ...], tuple[tuple[Instance | None, ...], identity.Neutral]] = {}
        self._prepared: dict[int, tuple[object, str]] = {}

    def of(self, config: TrialConfig) -> str:
        """The identity of a point. Raises ProgramError where it cannot be carried out."""
        cached = self._cache.get(config.key)
        if cached is None:
            if len(self._cache) >= KEPT:
                self._cache.clear()
            self._trial_steps.require_possible(config)
            renamed, given = self._with_neutral_names(config)
            prepared = self._of_prepared(self._trial_steps.prepared(renamed))
            frame = self._trial_steps.frame(renamed, 1, "")
            steps = identity.of_steps(self._trial_steps.steps(renamed, (), frame))
            cached = identity.joined(*identity.values_of(renamed.workload), given, prepared, steps)
            self._cache[config.key] = cached
        return cached

    def _with_neutral_names(self, config: TrialConfig) -> tuple[TrialConfig, str]:
        """The same point with names by position, and the hash of all its values but the workload's."""
        things = (config.on, config.before, config.protocol, *config.with_, *config.collectors)
        place = tuple(map(id, things))
        cached = self._neutral.get(place)
        if cached is None:
            if len(self._neutral) >= KEPT:
                self._neutral.clear()
            # The things are kept as well, so that no other can get their place in memory.
            cached = self._neutral[place] = things, identity.neutral(things)
        on, before, protocol, *more = cached[1].things
        assert protocol is not None, "BUG: a protocol went away"
        there = tuple([item for item in more if item is not None])
        with_, collectors = there[: len(config.with_)], there[len(config.with_) :]
        workload = replace(config.workload, alias="workload")
        return TrialConfig(
            workload=workload,
            on=on,
            with_=with_,
            before=before,
            protocol=protocol,
            collectors=collectors,
            key=config.key,
        ), cached[1].values

    def _of_prepared(self, prepared: Prepared) -> str:
        """The hash of what many points share, and which `TrialSteps` hands out as one object."""
        cached = self._prepared.get(id(prepared))
        if cached is None:
            if len(self._prepared) >= KEPT:
                self._prepared.clear()
            setups, steps = prepared
            cached = prepared, digests.digest(identity.of_setups(setups), identity.of_steps(steps))
            self._prepared[id(prepared)] = cached
        return cached[1]
