"""The setups that exist, and the changes that a trial needs: `State` and needed setups -> `Change`s.

Rules: two setups with one key never exist at once. An ambient setup exists only while it is needed. A setup is not
removed while another is built on it. A setup in the needed state, and not stale, is left alone. A setup that can be
altered is not created again. The display, the emitted script and the runner all follow this one algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zlang.cache import Cache
from zlang.frozen import frozen
from zlang.plan.plan import Setting, Setup, Step


@frozen
class Make:
    """Create a resource."""

    setup: Setup

    @property
    def steps(self) -> tuple[Step, ...]:
        """The commands."""
        return self.setup.make


@frozen
class Alter:
    """Change a resource from the state `was` to another, and keep everything built on it."""

    was: Setup
    setup: Setup

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings to make: those with another value, and those whose commands read another value."""
        before = {setting.name: setting for setting in self.was.settings}
        result = [s for s in self.setup.settings if s.name not in before or s.value != before[s.name].value]
        run = {setting.commands for setting in result}
        for setting in self.setup.settings:
            if setting not in result and setting != before[setting.name] and setting.commands not in run:
                result.append(setting)
                run.add(setting.commands)
        return tuple(result)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The commands; those that several settings share are carried out once."""
        by_commands = {setting.commands: setting for setting in reversed(self.settings)}
        return tuple(
            step for setting in self.settings if by_commands[setting.commands] is setting for step in setting.steps
        )


@frozen
class Unmake:
    """Remove a resource that this run created."""

    setup: Setup

    @property
    def steps(self) -> tuple[Step, ...]:
        """The commands."""
        return self.setup.unmake


Change = Make | Alter | Unmake


@frozen
class State:
    """The setups that exist, in the order in which they were made, and the keys of the stale ones."""

    standing: tuple[Setup, ...] = ()
    stale: frozenset[str] = frozenset()

    def changes(self, needed: Sequence[Setup]) -> tuple[Change, ...]:
        """The changes, in order, after which every setup of `needed` (parents first) exists and is fresh."""
        keys = {setup.key for setup in needed}
        for there in reversed(self.standing):
            if there.is_ambient and there.key not in keys:
                state = self
                cleared = self._unmake_all_on(there.key)
                for each in cleared:
                    state = state.after(each)
                return *cleared, *state.changes(needed)
        state = self
        changes: list[Change] = []
        for setup in needed:
            if state.has(setup):
                continue
            was = state._standing_at(setup.key)
            steps: tuple[Change, ...] = (*(state._unmake_all_on(setup.key) if was else ()), Make(setup))
            if was and setup.base is not None and was.base == setup.base and was.key not in state.stale:
                steps = (Alter(was, setup),)
            for change in steps:
                state = state.after(change)
            changes.extend(steps)
        return tuple(changes)

    def has(self, setup: Setup) -> bool:
        """Whether the setup exists in the needed state."""
        there = self._standing_at(setup.key)
        return there is not None and there.signature == setup.signature and setup.key not in self.stale

    def _standing_at(self, key: str) -> Setup | None:
        for there in self.standing:
            if there.key == key:
                return there
        return None

    def after(self, change: Change) -> State:
        """Return the state after a change."""
        key = change.setup.key
        others = tuple([there for there in self.standing if there.key != key])
        match change:
            case Make(setup):
                return State((*others, setup), self.stale - {key})
            case Alter(_, setup):
                altered = State(tuple(setup if there.key == key else there for there in self.standing), self.stale)
                is_rewritten = any(setting.rewrites for setting in change.settings)
                return altered.invalidate(altered._keys_on(key) - {key}) if is_rewritten else altered
            case Unmake():
                return State(others, self.stale - {key})

    def invalidate(self, keys: Iterable[str]) -> State:
        """Return the state after the resources with these keys have become stale."""
        changed = set(keys)
        if not changed:
            return self
        return State(self.standing, self.stale.union(there.key for there in self.standing if there.key in changed))

    def renew(self, key: str) -> State:
        """Return the state after the resource with this key has become usable again."""
        return State(self.standing, self.stale - {key})

    def teardown(self) -> tuple[Unmake, ...]:
        """The changes, in order, that remove everything."""
        return tuple(Unmake(setup) for setup in reversed(self.standing))

    def _unmake_all_on(self, key: str) -> tuple[Unmake, ...]:
        doomed = self._keys_on(key)
        return tuple(unmake for unmake in self.teardown() if unmake.setup.key in doomed)

    def _keys_on(self, key: str) -> frozenset[str]:
        """The key, and the keys of everything built on it."""
        result = {key}
        for there in self.standing:  # a setup is always made after what it is built on
            if not result.isdisjoint(there.beneath):
                result.add(there.key)
        return frozenset(result)


class Walk:
    """The sequence of states through which the trials of a plan pass.

    The same setups are needed in the same state many times, so each change is computed once. Within one plan, a
    setup's signature identifies it.
    """

    def __init__(self) -> None:
        self.state = State()
        self._cached = Cache[
            tuple[tuple[str, ...], frozenset[str], tuple[str, ...]], tuple[tuple[Change, ...], State]
        ]()

    def enter(self, needed: Sequence[Setup]) -> tuple[Change, ...]:
        """Return the changes before a trial that needs these setups."""
        standing = tuple([there.signature for there in self.state.standing])
        key = standing, self.state.stale, tuple([setup.signature for setup in needed])
        cached = self._cached.get(key)
        if cached is None:
            state, changes = self.state, self.state.changes(needed)
            for change in changes:
                state = state.after(change)
            cached = self._cached[key] = changes, state
        changes, self.state = cached
        return changes

    def leave(self, invalidated: Iterable[str]) -> None:
        """Record the keys of the resources that the trial changed."""
        self.state = self.state.invalidate(invalidated)
