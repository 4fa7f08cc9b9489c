"""Carry out the steps of a lane: `Step`s + a directory for their output -> events, and the step that failed.

Rules: a command is journalled before and after; the run stops only between two commands; no command begins while a
directory that this run made is replaced by something else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from zlang.errors import RunError
from zlang.files import sync_tree
from zlang.hints import TypeVar
from zlang.plan import members
from zlang.plan.plan import Action, Step
from zlang.run import hashes, lanes
from zlang.run.directories import FACTS, Directories, is_of_trial
from zlang.run.events import Ask, End, Event, Start
from zlang.run.executor import LOST, NOT_STARTED, Executor, Handle, conclude, is_readable
from zlang.run.failure import why
from zlang.run.lanes import Doing, LaneEnded, Waiting, Work
from zlang.run.recorder import Recorder
from zlang.run.resources import Resources
from zlang.run.stop import Stop

T = TypeVar("T")
_TIDYING_ATTEMPTS = 3
_LATE = 0.25
"""Seconds between the end of a step on a machine and the time when we hear of it, beyond which its own clock counts."""
_FETCH = Step("fetch", Action.PREPARE, "", "copy the remaining output from the machines", 0)


class StopRequested(Exception):
    """The run was asked to stop, between two commands."""


class Unanswered(LaneEnded):
    """A manual step is needed, and nobody has confirmed it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A step that failed, with the directory of its output and its exit code."""

    out: str
    step: Step
    rc: int


@dataclass(frozen=True, slots=True)
class _Background:
    step: Step
    out: str
    handle: Handle


@dataclass(slots=True)
class StepRunner:
    """Carries out the steps of one lane of the run named `run`; `groups` has the group of each machine in one."""

    run: str
    groups: Mapping[str, str]
    executor: Executor
    stop: Stop
    recorder: Recorder
    directories: Directories
    resources: Resources
    _background: list[_Background] = field(default_factory=list)

    def carry_out(self, steps: Iterable[Step], out: str) -> Doing[Failure | None]:
        """Carry out steps until one fails; those in the background end with them."""
        failure: Failure | None = None
        for stretch in members.stretches_of_steps(steps, self.groups):
            first = stretch[0][0]
            if first.action is Action.COLLECT:
                yield from self._collect(first, out)
                continue
            if len(stretch) > 1 and members.is_load(first):
                failure = yield from self._meet([step for (step,) in stretch], out)
            else:
                failures = yield from self.side_by_side([self._in_order(own, out) for own in stretch])
                failure = next(filter(None, failures), None)
            if failure:
                break
        yield from self.stop_background(out)
        return failure

    def side_by_side(self, works: Sequence[Doing[T]]) -> Doing[list[T]]:
        """Do the work of several machines at the same time; return the results. Raises the first reason to end."""
        if len(works) == 1:
            return [(yield from works[0])]
        done = yield from lanes.side_by_side(works, self.stop, self.recorder)
        results: list[T] = []
        for result in done:
            if isinstance(result, LaneEnded):
                raise result
            results.append(result)
        return results

    def attempt(self, step: Step, out: str, *, is_shown: bool = False) -> Doing[Failure | None]:
        """Carry out one step; return it if it failed. With `is_shown`, a manual step is shown, not waited for."""
        rc = yield from self.command(step, out, is_shown=is_shown)
        if rc == LOST:
            self._invalidate({step.host})
        return Failure(out, step, rc) if rc != 0 else None

    def tidy_all(self, steps: Iterable[Step], out: str) -> Doing[list[Failure]]:
        """Carry out steps that end something, even if some fail; return the failures."""
        failures: list[Failure] = []
        for stretch in members.stretches_of_steps(steps, self.groups):
            for failed in (yield from self.side_by_side([self._tidied(own, out) for own in stretch])):
                failures += failed
        return failures

    def tidy(self, step: Step, out: str) -> Doing[Failure | None]:
        """Carry out a step that ends something; repeat it if its machine was lost meanwhile and is back."""
        for _ in range(_TIDYING_ATTEMPTS):
            failure = yield from self.attempt(step, out)
            if failure is None or failure.rc != LOST or self.executor.lost(step.host):
                break
        return failure

    def command(self, step: Step, out: str, *, is_shown: bool = False) -> Doing[int]:
        """Carry out one step; return its exit code."""
        self.check_stop()
        took = 0.0
        start = self.recorder.record(Start(self.recorder.now(), step.name, out, self.executor.ahead(step.host)))
        yield start
        if replaced := self.resources.replaced():
            rc = self._refuse(step, out, f"{replaced} is not the directory that this run made")
        elif step.action is Action.ASK:
            rc = yield from self._ask(step, is_shown=is_shown)
        else:
            handle = self.executor.start(step, self.directories.path(out), keep=not self.recorder.is_lost)
            rc = yield from self._wait(handle)
            took = self._took(step, start)
            if rc == 0 and (replaced := self.resources.replaced()):
                rc = self._refuse(step, out, f"{replaced} was replaced: it is no longer what this run created")
        if not self.recorder.is_lost and not is_of_trial(out):  # steps of a trial are synced when it is committed
            unfetched = yield from self._fetched(out, step.host, f"{step.name}." if out == FACTS else "")
            if unfetched and not rc:
                self._refuse(step, out, why(self.directories.path(out), _FETCH.name, unfetched, 0))
            rc = unfetched or rc
        is_fact = out == FACTS and rc == 0 and not self.recorder.is_lost
        files = hashes.of_file(self.directories.path(out) / f"{step.name}.out") if is_fact else ""
        yield self.recorder.record(End(self.recorder.now(), step.name, out, rc, files=files, took=took))
        self.check_stop()
        return rc

    def fetch(self, out: str, small: dict[str, bytes] | None) -> Doing[Failure | None]:
        """Wait until the output of a trial's steps, here and on other machines, is on the disk.

        With `small`, output that can be packed need not be on the disk, and that of another machine is put there.
        """
        directory = self.directories.path(out)
        if small is None:
            self.directories.make(out)
        handle = self.executor.bring(directory, "", "", small)
        rc = (yield from self._wait(handle)) if handle is not None else 0
        if small is None:
            if handle is None:
                sync_tree(directory, directory)
            self.directories.keep_names(out)
        self.check_stop()
        return Failure(out, _FETCH, rc) if rc else None

    def stop_background(self, out: str = "") -> Work:
        """End what runs in the background with its output there, or everything.

        Other machines are all told at once, and other lanes work meanwhile.
        """
        tasks = [task for task in reversed(self._background) if out in {"", task.out}]
        are_awaited = [task.handle.ask_to_stop() for task in tasks]
        for task, is_awaited in zip(tasks, are_awaited, strict=True):
            rc = (yield from self._wait(task.handle)) if is_awaited else task.handle.stop()
            self._background.remove(task)
            yield self.recorder.record(End(self.recorder.now(), task.step.name, task.out, rc))

    def kill_background(self) -> None:
        """Kill everything in the background immediately."""
        for task in self._background:
            task.handle.kill()

    def abandon_background(self) -> None:
        """End everything in the background although nothing can be written about it."""
        for task in reversed(self._background):
            with suppress(RunError, OSError):
                task.handle.stop()
        self._background.clear()

    def why(self, failure: Failure) -> str:
        """The reason why a step failed, in one sentence."""
        return why(self.directories.path(failure.out), failure.step.name, failure.rc, failure.step.timeout)

    def check_stop(self) -> None:
        """Raise StopRequested if the run is to stop."""
        if self.stop.pending and not self.recorder.is_lost:
            raise StopRequested

    def _in_order(self, steps: Iterable[Step], out: str) -> Doing[Failure | None]:
        """Carry out the steps of one machine until one fails."""
        for step in steps:
            failure = yield from self.attempt(step, out)
            if failure:
                return failure
        return None

    def _tidied(self, steps: Iterable[Step], out: str) -> Doing[list[Failure]]:
        """Carry out the steps of one machine that end something; return the failures."""
        failures: list[Failure] = []
        for step in steps:
            failure = yield from self.tidy(step, out)
            failures += [failure] if failure else []
        return failures

    def _meet(self, steps: Sequence[Step], out: str) -> Doing[Failure | None]:
        """Carry out steps on several machines at the same time; the first failure ends the others."""
        self.check_stop()
        codes: dict[str, int] = {}
        record, now = self.recorder.record_all, self.recorder.now
        began = now()
        yield from record([Start(began, step.name, out, self.executor.ahead(step.host)) for step in steps])
        rc = yield from self._wait(self.executor.start_together(steps, self.directories.path(out), codes))
        ended = now()
        yield from record([End(ended, step.name, out, codes.get(step.name, rc)) for step in steps])
        self.check_stop()
        by_name = {step.name: step for step in steps}
        lost = {by_name[name].host for name, code in codes.items() if code == LOST}
        if lost or rc == LOST:
            self._invalidate(lost or {step.host for step in steps})
        failed = next(((by_name[name], code) for name, code in codes.items() if code), None)
        if failed is None and rc:
            failed = steps[0], rc
        return Failure(out, *failed) if failed else None

    def _invalidate(self, lost: Collection[str]) -> None:
        """Have everything made again that may be gone because these machines were lost: not that of other members."""
        groups = {self.groups.get(machine) for machine in lost}
        self.resources.invalidate_all_but(
            {name for name, of in self.groups.items() if of in groups and name not in lost}
        )

    def _collect(self, step: Step, out: str) -> Work:
        self.check_stop()
        if self.resources.replaced():
            return  # the next measurement reports it
        yield self.recorder.record(Start(self.recorder.now(), step.name, out))
        handle = self.executor.start(step, self.directories.path(out))
        self._background.append(_Background(step, out, handle))

    def _ask(self, step: Step, *, is_shown: bool) -> Doing[int]:
        typed = f"RUN={self.run}; OUT=.; export RUN OUT\n{step.command}" if step.command else ""
        ask = Ask(step.why, lambda: self.stop.pending, typed=typed, is_shown=is_shown)
        yield ask
        self.check_stop()
        if not (ask.is_done or is_shown):
            raise Unanswered(step.why)
        return 0

    def _wait(self, handle: Handle) -> Doing[int]:
        """Let other lanes work until a step ends, times out or the run is to stop; return its exit code."""
        try:
            yield Waiting([handle])
            return conclude(handle, self.stop, is_ended=is_readable(handle))
        except BaseException:  # a second signal, even while leftover processes are being ended
            handle.kill()
            raise

    def _took(self, step: Step, start: Event) -> float:
        """The seconds that a step took on its machine, if we heard of its end late; else zero."""
        assert isinstance(start, Start), "BUG: a command that did not start"
        took = self.executor.took(step.host)
        is_late = took and start.up is not None and self.recorder.monotonic() - start.up - took > _LATE
        return took if is_late else 0.0

    def _fetched(self, out: str, host: str = "", prefix: str = "") -> Doing[int]:
        """Wait until the output of steps, here or on other machines, is on the disk; return an exit code."""
        directory = self.directories.path(out)
        handle = self.executor.bring(directory, host, prefix)
        if handle is not None:
            return (yield from self._wait(handle))
        sync_tree(directory, self.directories.path(""), prefix)
        return 0

    def _refuse(self, step: Step, out: str, reason: str) -> int:
        with suppress(OSError):
            error = self.directories.path(out) / f"{step.name}.err"
            error.write_text(f"{reason}\n", "utf-8", "surrogateescape")
        return NOT_STARTED
