"""Make and remove the setups of a lane: the setups that a trial needs -> events, and the step that failed.

Rules: a setup that was begun is removed, even if it could not be made; a resource is not removed while something exists
on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from zlang.errors import RunError
from zlang.plan import members
from zlang.plan.plan import Setup, Trial
from zlang.plan.state import Alter, Change, Make, Unmake
from zlang.run.directories import Directories, is_full
from zlang.run.events import Altered, LeftBehind, Made, Unmade
from zlang.run.lanes import Doing, Work
from zlang.run.recorder import Recorder
from zlang.run.resources import Resources
from zlang.run.steps import Failure, StepRunner


@dataclass(slots=True)
class SetupRunner:
    """Makes, alters and removes the setups of one lane; `planned` has the setups of the plan so far, by signature."""

    planned: Mapping[str, Setup]
    recorder: Recorder
    directories: Directories
    resources: Resources
    steps: StepRunner
    _made_in: dict[str, str] = field(default_factory=dict)
    """The directory in which a setup was made, by its signature."""

    def make_for(self, trial: Trial) -> Doing[Failure | None]:
        """Make the changes after which all setups that a trial needs exist."""
        needed = [self.get(signature) for signature in trial.setups]
        for stretch in members.stretches_of_changes(self.resources.state.changes(needed), self.steps.groups):
            failures = yield from self.steps.side_by_side([self._change(own) for own in stretch])
            if failure := next(filter(None, failures), None):
                return failure
        return None

    def tear_down(self) -> Work:
        """Remove everything, except resources below one that could not be removed."""
        needed_still: set[str] = set()
        for stretch in members.stretches_of_changes(self.resources.state.teardown(), self.steps.groups):
            yield from self.steps.side_by_side([self._tear_down(own, needed_still) for own in stretch])

    def get(self, signature: str) -> Setup:
        """A setup by its signature. Raises RunError if the plan does not have it."""
        if signature not in self.planned:
            message = f"the plan of {self.resources.folder.name} needs a setup that it does not have: {signature}"
            raise RunError(message, "create the plan again")
        return self.planned[signature]

    def require_base_present(self, failure: Failure) -> None:
        """Raise RunError if the lowest resource could be created before, but cannot be now."""
        signature = failure.out.split("/")[1]
        setup = self.planned.get(signature)
        if setup and setup.parent is None and failure.step in setup.make and signature in self.recorder.state.made:
            if not is_full(self.directories.path(failure.out)):
                message = f"{setup.creates} was created before but cannot be created again: {self.steps.why(failure)}"
                raise RunError(message, "fix that, then type `zlang resume`")

    def _change(self, changes: Iterable[Change]) -> Doing[Failure | None]:
        """Make changes, in order, until one fails."""
        for change in changes:
            match change:
                case Make(setup):
                    failure = yield from self._make(setup)
                case Alter():
                    failure = yield from self._alter(change)
                case Unmake(setup):
                    failure = yield from self._unmake(setup)
            if failure:
                return failure
        return None

    def _tear_down(self, changes: Iterable[Change], needed_still: set[str]) -> Work:
        """Remove setups, in order, but not what is `needed_still` by one that could not be removed."""
        for change in changes:
            setup = change.setup
            if setup.key in needed_still:
                needed_still.update(setup.beneath)
                continue
            failure = yield from self._unmake(setup)
            if failure:
                needed_still.update(setup.beneath)
                yield LeftBehind(setup.creates, self.directories.path(failure.out), self.steps.why(failure))

    def _make(self, setup: Setup) -> Doing[Failure | None]:
        self.resources.apply(Make(setup))
        self.resources.invalidate((setup.key,))  # half made: whatever happens now, it has to be removed
        out = self._made_in[setup.signature] = self.directories.make_for_setup(setup)
        failure = yield from self.steps.carry_out(setup.make, out)
        if failure:
            yield from self._unmake(setup)
            return failure
        self.resources.hold(setup, out)  # before anything else: its inode is not reused while it is held
        yield self.recorder.record(Made(self.recorder.now(), setup.key, setup.signature))
        self.resources.apply(Make(setup))
        return None

    def _alter(self, change: Alter) -> Doing[Failure | None]:
        was, setup = change.was, change.setup
        self.resources.invalidate((setup.key,))  # until it has changed: a failure leaves it unusable
        out = self.directories.make_for_setup(was)
        for step in change.steps:
            failure = yield from self.steps.attempt(step, out)
            if failure:
                return failure
        yield self.recorder.record(Altered(self.recorder.now(), setup.key, was.signature, setup.signature))
        self._made_in.pop(was.signature, None)
        self.resources.apply(change)
        self.resources.state = self.resources.state.renew(setup.key)
        return None

    def _unmake(self, setup: Setup) -> Doing[Failure | None]:
        self.resources.invalidate((setup.key,))
        out = self._made_in.pop(setup.signature, "")
        if not out and not self.recorder.is_lost:
            out = self.directories.make_for_setup(setup)
        for step in setup.unmake:
            failure = yield from self.steps.attempt(step, out, is_shown=True)
            if failure:
                return failure
        yield self.recorder.record(Unmade(self.recorder.now(), setup.key, setup.signature))
        self.resources.release(setup)
        self.resources.apply(Unmake(setup))
        return None
