"""Which setups stand, and what has to change before a trial can be measured: `State` + setups needed -> `Change`s.

Rules: two setups of one key never stand at once; nothing is unmade while something stands on it; nothing that stands
as it is needed, and is not stale, is touched. What is shown, what is emitted and what is run follow this one algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zlang.plan.plan import Setup


@dataclass(frozen=True, slots=True)
class Make:
    """Bring a resource into being."""

    setup: Setup


@dataclass(frozen=True, slots=True)
class Unmake:
    """Take away a resource that this run made."""

    setup: Setup


Change = Make | Unmake


@dataclass(frozen=True, slots=True)
class State:
    """The setups that stand, in the order in which they were made, and the keys of those that are stale."""

    standing: tuple[Setup, ...] = ()
    stale: frozenset[str] = frozenset()

    def changes(self, needed: Sequence[Setup]) -> tuple[Change, ...]:
        """Give what has to be done, in order, so that every setup of `needed` (parents first) stands and is fresh."""
        state = self
        changes: list[Change] = []
        for setup in needed:
            if state.has(setup):
                continue
            steps: tuple[Change, ...] = (*state._clearing(setup.key), Make(setup))
            for change in steps:
                state = state.after(change)
            changes.extend(steps)
        return tuple(changes)

    def has(self, setup: Setup) -> bool:
        """Tell whether the setup stands as it is needed."""
        return setup.key not in self.stale and any(
            there.key == setup.key and there.signature == setup.signature for there in self.standing
        )

    def after(self, change: Change) -> State:
        """Give the state once a change has been carried out."""
        key = change.setup.key
        others = tuple(there for there in self.standing if there.key != key)
        match change:
            case Make(setup):
                return State((*others, setup), self.stale - {key})
            case Unmake():
                return State(others, self.stale - {key})

    def spoil(self, keys: Iterable[str]) -> State:
        """Give the state once the resources of these keys are no longer as they were made."""
        here = {there.key for there in self.standing}
        return State(self.standing, self.stale | here.intersection(keys))

    def teardown(self) -> tuple[Unmake, ...]:
        """Give what has to be done so that nothing stands."""
        return tuple(Unmake(setup) for setup in reversed(self.standing))

    def _clearing(self, key: str) -> tuple[Unmake, ...]:
        doomed = {key}
        for there in self.standing:  # a setup is always made after what it stands on
            if there.parent in doomed:
                doomed.add(there.key)
        return tuple(unmake for unmake in self.teardown() if unmake.setup.key in doomed)
