"""Carry out the trials of a lane, one after another: `Trial` -> its setups, its steps and its outcome.

Rules: a trial is committed only when its artefacts are on the disk. Trials that change data which stay (`follows`) are
measured only on data with the changes of the trials before them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from zlang.files import Packed, Place, sync_tree
from zlang.plan.plan import LOCAL, Action, Header, Trial
from zlang.readers.outside import reader_of
from zlang.run import hashes, outputs
from zlang.run.account import Account
from zlang.run.directories import Directories, is_full
from zlang.run.events import NOT_PACKED, Begin, Commit, Fail, LeftBehind, Next, Outcome, Repeat, TrialVerdict
from zlang.run.executor import LOST
from zlang.run.failure import why_of_trial
from zlang.run.lanes import Doing, Work, Written
from zlang.run.recorder import Recorder
from zlang.run.resources import Resources
from zlang.run.setups import SetupRunner
from zlang.run.steps import Failure, StepRunner


@dataclass(slots=True)
class _History:
    """The trials since the data were laid out, whether the data have their changes, and why they cannot have them."""

    trials: list[Trial] = field(default_factory=list)
    stands: bool = True
    failure: Failure | None = None

    @property
    def keys(self) -> set[str]:
        """The keys of the resources that the trials change."""
        return {key for trial in self.trials for key in trial.keeps}


@dataclass(slots=True)
class TrialRunner:
    """Carries out the trials of one lane."""

    header: Header
    account: Account[TrialVerdict]
    recorder: Recorder
    directories: Directories
    resources: Resources
    steps: StepRunner
    setups: SetupRunner
    _under_way: tuple[Trial, str] | None = None
    """The trial whose steps are being carried out, and the directory of their output."""
    _history: _History = field(default_factory=_History)

    def carry_out(self, trial: Trial) -> Doing[Outcome]:
        """Make the setups of a trial, measure it, and judge what was measured."""
        yield Next(trial)
        failure = (yield from self._repeat_history(trial)) or (yield from self.setups.make_for(trial))
        if failure:
            self._history.stands = False
            if failure.rc != LOST:
                self.setups.require_base_present(failure)
            return (yield from self._failed(trial, failure))
        out = self._make_directory(trial)
        yield self.recorder.record(Begin(self.recorder.now(), trial.identity, trial.replicate, trial.number, out))
        self.resources.invalidate(trial.invalidates)
        failure = yield from self._protocol(trial, out)
        small: dict[str, bytes] | None = {} if self._may_be_packed(trial, out) and not failure else None
        unfetched = yield from self.steps.fetch(out, small)
        failure = failure or unfetched
        if failure:
            self._history.stands = False
            return (yield from self._failed(trial, failure))
        packed = NOT_PACKED
        output: Place = self.directories.path(out)
        if small is not None:
            packed, output = self._pack(out, small)
            yield Written()
        digest, output_read = hashes.read_directory(output)
        now = self.recorder.now()
        yield self.recorder.record(Commit(now, trial.identity, trial.replicate, out, files=digest, packed=packed))
        verdict, why_not = self.account.judged(trial, self.account.state.ended[trial.place], output_read)
        if isinstance(output, Packed):
            if why_not:  # a person may look for the files
                outputs.write(self.directories.path(out), output.files)
            else:
                outputs.remove(self.directories.path(out), output.files)
        return Outcome(trial, output, verdict, why_not)

    def pass_over(self, trial: Trial) -> None:
        """Have a trial carried out again, without a result, before the next one that measures on its data."""
        self._enter_history(trial, stands=False)

    def end_events(self, trial: Trial, out: str, without: Collection[str] = ()) -> Work:
        """Carry out the steps that end the events of a trial that was cut off, except steps that only read results.

        `without` names the machines on which its targets no longer exist.
        """
        for step in trial.steps:
            ended = self.account.state.step(out, step.name)
            is_over = ended is not None and ended.end is not None and ended.end.rc == 0
            if step.action is not Action.TIDY or step.reader is not None or is_over or step.host in without:
                continue
            failure = yield from self.steps.tidy(step, out)
            if failure:
                yield self._leftovers(trial, failure)

    def end_events_under_way(self) -> Work:
        """End the events of the trial that is being carried out, because the run stops."""
        if self._under_way:
            yield from self.end_events(*self._under_way)

    def _protocol(self, trial: Trial, out: str) -> Doing[Failure | None]:
        """Carry out a trial's steps."""
        self._under_way = trial, out
        steps = [step for step in trial.steps if step.action is not Action.TIDY]
        failure = yield from self.steps.carry_out(steps, out)
        tidying = [step for step in trial.steps if step.action is Action.TIDY]
        for untidied in (yield from self.steps.tidy_all(tidying, out)):
            if failure and untidied.step.reader is None:
                yield self._leftovers(trial, untidied)
            failure = failure or untidied
        self._under_way = None
        return failure

    def _failed(self, trial: Trial, failure: Failure) -> Doing[Outcome]:
        step, directory = failure.step, self.directories.path(failure.out)
        if is_full(directory):
            yield from self.setups.tear_down()  # the trial's data may be what fills the disk
            if is_full(directory):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.account.folder.path))
        now = self.recorder.now()
        yield self.recorder.record(Fail(now, trial.identity, trial.replicate, failure.out, step.name))
        return Outcome(trial, directory, None, why_of_trial(trial, directory, step.name, failure.rc, step.timeout))

    def _leftovers(self, trial: Trial, failure: Failure) -> LeftBehind:
        directory = self.directories.path(failure.out)
        return LeftBehind(f"the event of trial {trial.number}", directory, self.steps.why(failure))

    def _make_directory(self, trial: Trial) -> str:
        """The directory of the next attempt at a trial.

        An attempt on other machines whose output can be packed gets one only when something is written into it.
        """
        is_away = all(step.host != LOCAL for step in trial.steps)
        first = f"{trial.place}/a1"
        if is_away and self._may_be_packed(trial, first) and self.directories.is_free(first):
            return first
        return self.directories.make_for_trial(trial)

    def _may_be_packed(self, trial: Trial, out: str) -> bool:
        """Whether the output of an attempt can be packed if it is small.

        It stays in its directory if the plan is small, in a later attempt (its directory shows that the journal has
        lost it), and if another run or a person completes it.
        """
        is_whole = not self.header.part and reader_of(trial) is None
        return is_whole and self.header.trials >= outputs.FEWEST_TRIALS and out.endswith("/a1")

    def _pack(self, out: str, fetched: Mapping[str, bytes]) -> tuple[int, Place]:
        """Pack the files of an attempt; return the offset of their line and the files.

        They are written to their directory, or stay there, if they are large or no texts, or if the disk is full.
        """
        directory = self.directories.path(out)
        with suppress(OSError):
            files = outputs.small_files(directory) if directory.is_dir() else {}
            if files is not None and outputs.are_texts(fetched):
                files = {**fetched, **files}
                return self.recorder.packer.append(out, files, is_awaited=False), Packed(files)
        outputs.write(directory, fetched)
        sync_tree(directory, directory)
        self.directories.keep_names(out)
        return NOT_PACKED, directory

    def _enter_history(self, trial: Trial, *, stands: bool = True) -> _History:
        """Add a trial to the history of the kept data, or begin another one; return the history before it."""
        history = self._history
        if trial.follows == 0:
            self.resources.invalidate(history.keys)
            history = _History()
        self._history = _History([*history.trials, trial], history.stands and stands, history.failure)
        return history

    def _repeat_history(self, trial: Trial) -> Doing[Failure | None]:
        """Carry out the trials before this one again, without a result, if the kept data do not have their changes."""
        before = self._enter_history(trial)
        history = self._history
        if history.stands or history.failure:
            return history.failure
        self.resources.invalidate(before.keys)
        for each in before.trials:
            yield Repeat(each, trial)
            failure = yield from self.setups.make_for(each)
            if failure is None:
                out = self.directories.make_for_setup(self.setups.get(each.setups[-1]))
                failure = yield from self._protocol(each, out)
            if failure:
                history.failure = failure
                return failure
        history.stands = True
        return None
