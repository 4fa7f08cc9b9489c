"""Carry out a plan: `Plan` + folder + executor -> events, each written to the journal before it is yielded.

Rules: a command is journalled before and after; a trial is committed only when its artefacts are on the disk; after a
failure is recorded, the run continues with the next trial; however the run ends, it first removes what it made, in
reverse order, except resources on which something still exists.
"""

from __future__ import annotations

import errno
import os
import tempfile
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path

from zlang.cache import Cache
from zlang.errors import RunError, is_out_of_memory, joined, reason_of
from zlang.files import Packed, Place, sync_directory, sync_tree
from zlang.hints import TypeVar
from zlang.plan.plan import LOCAL, Action, Plan, Setup, Step, Trial
from zlang.plan.state import Alter, Make, State, Unmake
from zlang.readers.outside import reader_of
from zlang.run import hashes, journal, lanes, machine, outputs, seal, sequential
from zlang.run.account import PLAN_CHANGED, Account
from zlang.run.events import (
    NOT_PACKED,
    Altered,
    Ask,
    Begin,
    Commit,
    End,
    Event,
    Fail,
    Finish,
    Interrupt,
    LeftBehind,
    Made,
    Next,
    Outcome,
    Recorded,
    Repeat,
    Session,
    Skip,
    Start,
    TrialVerdict,
    Unmade,
)
from zlang.run.executor import LOST, NOT_STARTED, Executor, Handle, conclude, is_readable
from zlang.run.failure import why, why_of_trial
from zlang.run.folder import Folder
from zlang.run.held_directory import HeldDirectory
from zlang.run.lanes import LaneEnded, Waiting
from zlang.run.run_state import RunState
from zlang.run.sequential import Sequential
from zlang.run.stop import Interrupted, Stop

T = TypeVar("T")
Doing = Generator[Event | Waiting, None, T]
"""The work of a lane: it yields events, and the steps that it waits for."""
Work = Generator[Event | Waiting, None, None]
Judge = Callable[[Trial, Place, tuple[float, float] | None], TrialVerdict]
Clock = Callable[[], float]

_TIDYING_ATTEMPTS = 3
_LATE = 0.25
"""Seconds between the end of a step on a machine and the time when we hear of it, beyond which its own clock counts."""
_LEAST_SPACE = 65_536
"""Bytes that have to be free in a run folder: enough for the output of a short step."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The trials to carry out: those not done; `failed`: also those that failed or do not count; `only`: just one.

    With `nothing`, no trial is carried out: the run only removes what an earlier session left behind. At most `lanes`
    lanes work at a time; 0 means all of them.
    """

    only: int | None = None
    failed: bool = False
    nothing: bool = False
    lanes: int = 0


def run(
    plan: Plan,
    folder: Folder,
    executor: Executor,
    judge: Judge,
    *,
    clocks: tuple[Clock, Clock] = (time.time, time.monotonic),
    selection: Selection = Selection(),
    state: RunState | None = None,
) -> Generator[Event, None, None]:
    """Carry out everything that is not done yet. Iterate in the main thread; closing it early cleans up.

    `state` is the journal's content before the folder was locked. Raises RunError (a lost disk, a second runner) and
    Interrupted, in both cases after cleaning up.
    """
    with folder.lock(), Stop() as stop:
        account = Account(folder, judge, state)
        if account.is_plan_changed and not selection.nothing:
            message = f"{PLAN_CHANGED}: {folder.plan}"
            raise RunError(
                message,
                "put the plan back as it was, or begin a new run; `zlang clean` removes what is left",
            )
        with (
            journal.Writer(folder.journal, account.state.number, seal.signer(folder.run)) as writer,
            closing(outputs.Packer(folder.path)) as packed,
        ):
            yield from _Run(
                plan=plan,
                folder=folder,
                executor=executor,
                account=account,
                clocks=clocks,
                selection=selection,
                stop=stop,
                writer=writer,
                outputs=packed,
            ).events()


class _Stopped(Exception):
    """The run was asked to stop, between two commands."""


class _Unanswered(LaneEnded):
    """A manual step is needed, and nobody has confirmed it."""


@dataclass(frozen=True, slots=True)
class _Failure:
    out: str
    step: Step
    rc: int


@dataclass(frozen=True, slots=True)
class _Background:
    step: Step
    out: str
    handle: Handle


@dataclass(slots=True)
class _History:
    """The trials since the data were laid out, whether the data have their changes, and why they cannot have them."""

    trials: list[Trial] = field(default_factory=list)
    stands: bool = True
    failure: _Failure | None = None

    @property
    def keys(self) -> set[str]:
        """The keys of the resources that the trials change."""
        return {key for trial in self.trials for key in trial.keeps}


@dataclass(slots=True)
class _Lane:
    """Machines that work on one trial at a time, and the setups that exist on them.

    `held` has, by signature, the directory that a setup made; `watched` has, for a directory on another machine, that
    machine and the directory of the setup's output. `trial` is the one whose steps are being carried out, with its
    output directory. `history` is that of the kept data.
    """

    machines: frozenset[str] = frozenset()
    state: State = field(default_factory=State)
    places: dict[str, str] = field(default_factory=dict)
    background: list[_Background] = field(default_factory=list)
    held: dict[str, HeldDirectory] = field(default_factory=dict)
    watched: dict[str, tuple[str, Path]] = field(default_factory=dict)
    trial: tuple[Trial, str] | None = None
    history: _History = field(default_factory=_History)


@dataclass(slots=True)
class _Run:
    """One session that carries out a plan."""

    plan: Plan
    folder: Folder
    executor: Executor
    account: Account[TrialVerdict]
    clocks: tuple[Clock, Clock]
    selection: Selection
    stop: Stop
    writer: journal.Writer
    outputs: outputs.Packer
    _setups: dict[str, Setup] = field(default_factory=dict)
    _lanes: list[_Lane] = field(init=False)
    _lane: _Lane = field(init=False)
    """The lane whose work is done at this moment."""
    _sequential: Sequential | None = None
    _lost: list[LaneEnded] = field(default_factory=list)
    _is_lost: bool = False
    _lasting: Cache[str, bool] = field(default_factory=Cache)
    """Directories whose names this session knows to be on the disk."""
    _paths: Cache[str, Path] = field(default_factory=Cache)
    """The paths of directories by their names in the journal."""

    @property
    def _so_far(self) -> RunState:
        return self.account.state

    def __post_init__(self) -> None:
        self._lanes = [_Lane(machines) for machines in lanes.of(self.plan)]
        self._lane = self._lanes[0]

    def events(self) -> Generator[Event, None, None]:
        try:
            try:
                yield from self._driven(self._session())
            except _Stopped:
                self.stop.acknowledge()
                yield from self._driven(self._interrupted())
                raise Interrupted(self.stop.signal) from None
            except _Unanswered as requested:
                yield from self._driven(self._interrupted())
                message = f"the run is waiting for a manual step: {requested}"
                raise RunError(message, "when it is done, type `zlang resume --yes`") from None
        except GeneratorExit:
            if not self.stop.signal:  # a second signal asks for an immediate end
                self._salvage()
            raise
        except Exception as error:
            self._salvage()
            if is_out_of_memory(error):
                raise RunError("the run cannot continue: there is not enough memory", "free some memory") from error
            if isinstance(error, OSError):
                is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
                place = error.filename or (self.folder.path if is_full else "")  # a write names no file
                message = f"the run cannot continue: {reason_of(error)}" + (f": {place}" if place else "")
                raise RunError(message, "fix that, then type `zlang resume`") from error
            raise
        finally:
            for lane in self._lanes:
                for task in lane.background:
                    task.handle.kill()
                for held in lane.held.values():
                    held.release()
        if self._lost:
            raise joined([RunError(*ended.args) for ended in self._lost])

    # Lanes

    def _driven(self, work: Work) -> Generator[Event, None, None]:
        for ended in (yield from lanes.drive([work], lambda _: None, self.stop)):
            raise ended

    def _in_lanes(self, work: Callable[[_Lane], Work], most: int = 0) -> Doing[list[LaneEnded]]:
        """Run work in all lanes at the same time."""
        if len(self._lanes) == 1:
            return (yield from _ending(work(self._lane)))
        works = [work(lane) for lane in self._lanes]
        return (yield from lanes.drive(works, self._enter, self.stop, most))

    def _enter(self, number: int) -> None:
        self._lane = self._lanes[number]

    def _wait(self, handle: Handle) -> Doing[int]:
        """Let other lanes work until a step ends, times out or the run is to stop; return its exit code."""
        try:
            yield Waiting(handle)
            return conclude(handle, self.stop, is_ended=is_readable(handle))
        except BaseException:  # a second signal, even while leftover processes are being ended
            handle.kill()
            raise

    # Parts of a session

    def _session(self) -> Work:
        leftovers = self.account.leftovers
        is_first = self._so_far.sessions == 0 and not leftovers
        plan = hashes.of_file(self.folder.plan)
        yield self._record(Session(self._now(), self.folder.run, machine.boot(), plan, machine.node()))
        if not is_first:
            self.executor.sweep()
            yield from self._end_cut_off_trials(leftovers)
            yield from self._unmake_leftovers(leftovers)
        if not self.selection.nothing:
            yield from self._in_every_lane(self._facts)
            yield from self._all_trials()
            yield from self._in_every_lane(self._tear_down)
        self.executor.sweep()
        if not any(lane.state.standing for lane in self._lanes):
            self.executor.forget()
            if self._so_far.done >= self.plan.header.trials:
                yield self._record(Finish(self._now()))

    def _interrupted(self) -> Work:
        yield from self._in_every_lane(self._stop_and_tear_down)
        self.executor.sweep()
        if not any(lane.state.standing for lane in self._lanes):
            self.executor.forget()
        yield self._record(Interrupt(self._now()))

    def _stop_and_tear_down(self, lane: _Lane) -> Work:
        self.executor.stop_waiting()
        yield from self._stop_background()
        if lane.trial:
            yield from self._end_events(*lane.trial)
        yield from self._tear_down(lane)

    def _salvage(self) -> None:
        """Clean up although nothing can be written; the next session repeats this for everything in the journal."""
        self._is_lost = True
        self.stop.acknowledge()
        for lane in self._lanes:
            for task in reversed(lane.background):
                with suppress(RunError, OSError):
                    task.handle.stop()
            lane.background.clear()
        with suppress(RunError, OSError):
            for _ in self._driven(self._in_every_lane(self._stop_and_tear_down)):
                pass
        with suppress(RunError, OSError):
            self.executor.sweep()

    def _facts(self, lane: _Lane) -> Work:
        for step in self.plan.header.facts:
            is_own = step.host in lane.machines or (step.host == LOCAL and lane is self._lanes[0])
            if is_own and step.name not in self._so_far.facts:
                self._require_no_link("facts")
                self._directory("facts").mkdir(exist_ok=True)
                yield from self._command(step, "facts", is_shown=False)

    def _end_cut_off_trials(self, leftovers: Mapping[str, str]) -> Work:
        """End the events of trials that were cut off because the process died or a machine was lost.

        An event is ended on a machine only while the trial's setups on that machine exist.
        """
        attempts = (attempt for attempt in self._so_far.cut_off(LOST) if attempt.out in self._so_far.setups_of_attempts)
        cut_off = {attempt.place: attempt.out for attempt in attempts if self._is_inside(attempt.out)}
        machines: dict[str, set[str]] = {}
        for item in self.plan.items() if cut_off else ():
            if isinstance(item, Setup):
                machines[item.signature] = lanes.hosts_of_setup(item)
            elif item.place in cut_off:
                out = cut_off[item.place]
                removed = [
                    machines.get(each, set()) for each in self._so_far.setups_of_attempts[out].keys() - leftovers.keys()
                ]
                self._lane = next(lane for lane in self._lanes if self._is_in(lane, item))
                yield from self._end_events(item, out, set().union(*removed))

    def _end_events(self, trial: Trial, out: str, without: Collection[str] = ()) -> Work:
        """Carry out the steps that end the events of a trial that was cut off, except steps that only read results.

        `without` names the machines on which its targets no longer exist.
        """
        for step in trial.steps:
            ended = self._so_far.step(out, step.name)
            is_over = ended is not None and ended.end is not None and ended.end.rc == 0
            if step.action is not Action.TIDY or step.reader is not None or is_over or step.host in without:
                continue
            failure = yield from self._tidied(step, out)
            if failure:
                yield self._leftovers(trial, failure)

    def _leftovers(self, trial: Trial, failure: _Failure) -> LeftBehind:
        step, directory = failure.step, self._directory(failure.out)
        reason = why(directory, step.name, failure.rc, step.timeout)
        return LeftBehind(f"the event of trial {trial.number}", directory, reason)

    def _is_inside(self, out: str) -> bool:
        """Whether a directory that the journal names is in this folder; one that a loss of power took is made again."""
        with suppress(ValueError, FileExistsError, NotADirectoryError):
            self.account.inside(out).mkdir(parents=True, exist_ok=True)
            return True
        return False

    def _unmake_leftovers(self, wanted: Mapping[str, str]) -> Work:
        if not wanted:
            return
        for path in self.folder.path.glob("setups/*/*/made"):
            if path.is_symlink() or not path.is_file():
                message = f"{path} is not a regular file, so zlang did not write it"
                raise RunError(message, "delete it, and remove by hand what the run left")
        setups: dict[str, Setup] = {}
        for item in self.plan.items():
            if isinstance(item, Setup) and item.signature in wanted:
                setups[item.signature] = item
                if len(setups) == len(wanted):
                    break
        if missing := self._so_far.leftovers.keys() - setups.keys():
            message = f"the journal of {self.folder.name} names setups that its plan does not have: {min(missing)}"
            raise RunError(message, "the folder has the plan of another run; remove by hand what the journal lists")
        # Setups that the journal has lost are removed in the order of the plan.
        order = wanted if wanted.keys() == self._so_far.leftovers.keys() else setups
        for lane in self._lanes:
            self._lane = lane
            remaining = tuple(setups[signature] for signature in order if self._is_in(lane, setups[signature]))
            for setup in remaining:
                self._remember_directory(setup, wanted[setup.signature])
            lane.state = State(remaining, frozenset(setup.key for setup in remaining))
        yield from self._in_every_lane(self._tear_down)

    def _is_in(self, lane: _Lane, item: Setup | Trial) -> bool:
        """Whether an item belongs to a lane; items without a machine belong to the first lane."""
        machines = lanes.hosts_of_setup(item) if isinstance(item, Setup) else lanes.hosts_of_trial(item)
        return len(self._lanes) == 1 or bool(machines & lane.machines) or (not machines and lane is self._lanes[0])

    def _all_trials(self) -> Work:
        """Carry out the trials: in order within a lane, lanes at the same time."""
        self._sequential = sequential.of(self.plan.header) if self.selection.only is None else None
        if self.selection.lanes == 1 or self.selection.only is not None:
            ended = yield from _ending(self._trials(None))
        else:
            ended = yield from self._in_lanes(self._trials, self.selection.lanes)
        for error in ended:
            if isinstance(error, _Unanswered):
                raise error
        self._lost += ended

    def _trials(self, lane: _Lane | None) -> Work:
        only = self.selection.only
        skipped: list[tuple[Trial, str]] = []
        for item in self.plan.items():
            if isinstance(item, Setup):
                self._setups[item.signature] = item
            elif not self._is_entered(lane, item):
                pass
            elif not self._is_selected(item):
                self._enter_history(item, stands=False)
                self._replay_earlier_result(item)
            elif self._sequential and (why := self._sequential.skips(item)):
                skipped.append((item, why))
            else:
                yield from self._skip(skipped)
                skipped.clear()
                yield from self._trial(item)
                if only is not None:
                    return
        yield from self._skip(skipped)
        if only is not None:
            message = f"the plan has no trial number {only}"
            raise RunError(message, f"the last number is {self.plan.header.trials}")

    def _is_entered(self, lane: _Lane | None, trial: Trial) -> bool:
        """Whether a trial belongs to the lane; without a lane, switch to the trial's own."""
        if lane is not None:
            return self._is_in(lane, trial)
        self._lane = next(each for each in self._lanes if self._is_in(each, trial))
        return True

    def _replay_earlier_result(self, trial: Trial) -> None:
        """Take into account the result of a trial from an earlier session."""
        attempt = self._so_far.ended.get(trial.place)
        if self._sequential is not None and attempt is not None:
            verdict, _ = self.account.verdict(trial)
            self._sequential.learn(trial, verdict, self.account.window(trial, attempt))

    def _skip(self, trials: Sequence[tuple[Trial, str]]) -> Work:
        """Record that consecutive trials are skipped: all with one wait for the disk."""
        if trials:
            now = self._now()
            yield from self._record_all(
                [Skip(now, trial.identity, trial.replicate, trial.number, why) for trial, why in trials]
            )

    def _is_selected(self, trial: Trial) -> bool:
        if self.selection.only is not None:
            return trial.number == self.selection.only
        if trial.place in self._so_far.skipped:
            return self.selection.failed
        if trial.place not in self._so_far.ended:
            return True
        return self.selection.failed and bool(self.account.verdict(trial)[1])

    # A trial

    def _trial(self, trial: Trial) -> Work:
        for host in sorted(self._lane.machines):
            if (reason := self.executor.lost(host)) is not None:
                what_to_do = f"{reason.hint}; then" if reason.hint else "when the machine is back,"
                raise LaneEnded(reason.message, f"{what_to_do} type `zlang resume`")
        yield Next(trial)
        failure = (yield from self._repeat_history(trial)) or (yield from self._set_up(trial))
        if failure:
            self._lane.history.stands = False
            if failure.rc != LOST:
                self._require_base_present(failure)
            yield from self._failed(trial, failure)
            return
        out = self._attempt_at(trial)
        yield self._record(Begin(self._now(), trial.identity, trial.replicate, trial.number, out))
        self._lane.state = self._lane.state.invalidate(trial.invalidates)
        failure = yield from self._protocol(trial, out)
        packed, output = (NOT_PACKED, self._directory(out)) if failure else self._pack(trial, out)
        if packed == NOT_PACKED:
            unfetched = yield from self._brought(out)
            failure = failure or unfetched
        if failure:
            self._lane.history.stands = False
            yield from self._failed(trial, failure)
            return
        digest, output_read = hashes.read_directory(output)
        yield self._record(Commit(self._now(), trial.identity, trial.replicate, out, digest, packed))
        attempt = self._so_far.ended[trial.place]
        verdict, why_not = self.account.judged(trial, attempt, output_read)
        if isinstance(output, Packed) and not why_not:  # otherwise a person may look for the files
            outputs.remove(self._directory(out), output.files)
        if self._sequential is not None:
            self._sequential.learn(trial, verdict, self.account.window(trial, attempt))
        yield Outcome(trial, output, verdict, why_not)

    def _pack(self, trial: Trial, out: str) -> tuple[int, Place]:
        """Pack the files of an attempt; return the offset of their line and the files.

        They stay in their directory if the plan is small, if they are large, if the disk is full, in a later attempt
        (its directory shows that the journal has lost it), and if another machine or a person completes them.
        """
        directory = self._directory(out)
        header = self.plan.header
        is_here = all(step.host == LOCAL for step in trial.steps) and not header.part and reader_of(trial) is None
        if is_here and header.trials >= outputs.FEWEST_TRIALS and out.endswith("/a1"):
            with suppress(OSError):
                files = outputs.small_files(directory)
                if files is not None:
                    return self.outputs.append(out, files), Packed(files)
        return NOT_PACKED, directory

    def _set_up(self, trial: Trial) -> Doing[_Failure | None]:
        """Make the setups that a trial needs."""
        return (yield from self._make_setups([self._setup(signature) for signature in trial.setups]))

    def _enter_history(self, trial: Trial, *, stands: bool = True) -> _History:
        """Add a trial to the history of the kept data, or begin another one; return the history before it."""
        history = self._lane.history
        if trial.follows == 0:
            self._lane.state = self._lane.state.invalidate(history.keys)
            history = _History()
        self._lane.history = _History([*history.trials, trial], history.stands and stands, history.failure)
        return history

    def _repeat_history(self, trial: Trial) -> Doing[_Failure | None]:
        """Carry out the trials before this one again, without a result, if the kept data do not have their changes."""
        before = self._enter_history(trial)
        history = self._lane.history
        if history.stands or history.failure:
            return history.failure
        self._lane.state = self._lane.state.invalidate(before.keys)
        for each in before.trials:
            yield Repeat(each, trial)
            failure = yield from self._set_up(each)
            if failure is None:
                failure = yield from self._protocol(each, self._new_place(self._setup(each.setups[-1])))
            if failure:
                history.failure = failure
                return failure
        history.stands = True
        return None

    def _require_base_present(self, failure: _Failure) -> None:
        """Raise RunError if the lowest resource could be created before, but cannot be now."""
        signature = failure.out.split("/")[1]
        setup = self._setups.get(signature)
        if setup and setup.parent is None and failure.step in setup.make and signature in self._so_far.made:
            directory = self._directory(failure.out)
            if not _is_full(directory):
                reason = why(directory, failure.step.name, failure.rc, failure.step.timeout)
                message = f"{setup.creates} was created before but cannot be created again: {reason}"
                raise RunError(message, "fix that, then type `zlang resume`")

    def _protocol(self, trial: Trial, out: str) -> Doing[_Failure | None]:
        """Carry out a trial's steps."""
        self._lane.trial = trial, out
        failure = yield from self._carried_out([step for step in trial.steps if step.action is not Action.TIDY], out)
        for step in trial.steps:
            if step.action is Action.TIDY:
                untidied = yield from self._tidied(step, out)
                if failure and untidied and step.reader is None:
                    yield self._leftovers(trial, untidied)
                failure = failure or untidied
        self._lane.trial = None
        return failure

    def _tidied(self, step: Step, out: str) -> Doing[_Failure | None]:
        """Carry out a step that ends something; repeat it if its machine was lost meanwhile and is back."""
        for _ in range(_TIDYING_ATTEMPTS):
            failure = yield from self._attempted(step, out)
            if failure is None or failure.rc != LOST or self.executor.lost(step.host):
                break
        return failure

    def _failed(self, trial: Trial, failure: _Failure) -> Work:
        step, directory = failure.step, self._directory(failure.out)
        if _is_full(directory):
            yield from self._tear_down(self._lane)  # the trial's data may be what fills the disk
            if _is_full(directory):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder.path))
        yield self._record(Fail(self._now(), trial.identity, trial.replicate, failure.out, step.name))
        if self._sequential is not None:
            self._sequential.learn(trial, None, None)
        yield Outcome(trial, directory, None, why_of_trial(trial, directory, step.name, failure.rc, step.timeout))

    # Setups

    def _make_setups(self, needed: Sequence[Setup]) -> Doing[_Failure | None]:
        for change in self._lane.state.changes(needed):
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

    def _make(self, setup: Setup) -> Doing[_Failure | None]:
        made = self._lane.state.after(Make(setup))
        self._lane.state = made.invalidate((setup.key,))  # half made: whatever happens now, it has to be removed
        out = self._place(setup)
        failure = yield from self._carried_out(setup.make, out)
        if failure:
            yield from self._unmake(setup)
            return failure
        self._remember_directory(setup, out)  # before anything else: its inode is not reused while it is held
        yield self._record(Made(self._now(), setup.key, setup.signature))
        self._lane.state = made
        return None

    def _alter(self, change: Alter) -> Doing[_Failure | None]:
        was, setup = change.was, change.setup
        altered = self._lane.state.after(change)
        self._lane.state = self._lane.state.invalidate(
            (setup.key,)
        )  # in neither state: if this fails, it is made again
        out = self._new_place(was)
        for step in change.steps:
            failure = yield from self._attempted(step, out)
            if failure:
                return failure
        yield self._record(Altered(self._now(), setup.key, was.signature, setup.signature))
        self._lane.places.pop(was.signature, None)
        self._lane.state = altered
        return None

    def _unmake(self, setup: Setup) -> Doing[_Failure | None]:
        self._lane.state = self._lane.state.invalidate((setup.key,))
        out = self._lane.places.pop(setup.signature, None) or ("" if self._is_lost else self._new_place(setup))
        for step in setup.unmake:
            failure = yield from self._attempted(step, out, is_shown=True)
            if failure:
                return failure
        yield self._record(Unmade(self._now(), setup.key, setup.signature))
        if held := self._lane.held.pop(setup.signature, None):
            held.release()
        if setup.signature in self._lane.watched:
            self.executor.release(*self._lane.watched.pop(setup.signature))
        self._lane.state = self._lane.state.after(Unmake(setup))
        return None

    def _in_every_lane(self, work: Callable[[_Lane], Work]) -> Work:
        """Run work in every lane; no lane may end early."""
        for ended in (yield from self._in_lanes(work)):
            raise ended

    def _tear_down(self, _lane: _Lane) -> Work:
        """Remove everything, except resources below one that could not be removed."""
        needed_still: set[str] = set()
        for unmake in self._lane.state.teardown():
            setup = unmake.setup
            if setup.key in needed_still:
                needed_still.update(setup.beneath)
                continue
            failure = yield from self._unmake(setup)
            if failure:
                needed_still.update(setup.beneath)
                directory = self._directory(failure.out)
                reason = why(directory, failure.step.name, failure.rc, failure.step.timeout)
                yield LeftBehind(setup.creates, directory, reason)

    def _setup(self, signature: str) -> Setup:
        if signature not in self._setups:
            message = f"the plan of {self.folder.name} needs a setup that it does not have: {signature}"
            raise RunError(message, "create the plan again")
        return self._setups[signature]

    def _place(self, setup: Setup) -> str:
        out = self._lane.places[setup.signature] = self._new_place(setup)
        return out

    def _new_place(self, setup: Setup) -> str:
        """Make the directory of the next attempt at a setup; an existing directory has output and is never reused.

        Leftovers in it show what belongs to the run, so its name and those above it are on the disk.
        """
        number = self._so_far.setup_attempts.get(setup.signature, 0) + 1
        place = f"setups/{setup.signature}"
        while not self._is_made(f"{place}/a{number}"):
            number += 1
        self._keep_names(f"{place}/a{number}")
        return f"{place}/a{number}"

    # Commands

    def _carried_out(self, steps: Iterable[Step], out: str) -> Doing[_Failure | None]:
        """Carry out steps until one fails; those in the background end with them."""
        failure: _Failure | None = None
        for together in _started_together(steps):
            (step, *others) = together
            if step.action is Action.COLLECT:
                yield from self._collect(step, out)
                continue
            failure = yield from (self._meet(together, out) if others else self._attempted(step, out))
            if failure:
                break
        yield from self._stop_background()
        return failure

    def _attempted(self, step: Step, out: str, *, is_shown: bool = False) -> Doing[_Failure | None]:
        rc = yield from self._command(step, out, is_shown=is_shown)
        if rc == LOST:  # everything on the machine may be gone
            self._lane.state = self._lane.state.invalidate(setup.key for setup in self._lane.state.standing)
        return _Failure(out, step, rc) if rc != 0 else None

    def _meet(self, steps: Sequence[Step], out: str) -> Doing[_Failure | None]:
        """Carry out steps on several machines at the same time; the first failure ends the others."""
        self._check()
        codes: dict[str, int] = {}
        began = self._now()
        yield from self._record_all([Start(began, step.name, out, self.executor.ahead(step.host)) for step in steps])
        rc = yield from self._wait(self.executor.start_together(steps, self._directory(out), codes))
        ended = self._now()
        yield from self._record_all([End(ended, step.name, out, codes.get(step.name, rc)) for step in steps])
        self._check()
        if LOST in {rc, *codes.values()}:
            self._lane.state = self._lane.state.invalidate(setup.key for setup in self._lane.state.standing)
        by_name = {step.name: step for step in steps}
        failed = next(((by_name[name], code) for name, code in codes.items() if code), None)
        if failed is None and rc:
            failed = steps[0], rc
        return _Failure(out, *failed) if failed else None

    def _command(self, step: Step, out: str, *, is_shown: bool) -> Doing[int]:
        self._check()
        took = 0.0
        start = self._record(Start(self._now(), step.name, out, self.executor.ahead(step.host)))
        yield start
        if replaced := self._replaced():
            rc = self._refuse(step, out, f"{replaced} is not the directory that this run made")
        elif step.action is Action.ASK:
            rc = yield from self._ask(step, is_shown=is_shown)
        else:
            handle = self.executor.start(step, self._directory(out), keep=not self._is_lost)
            rc = yield from self._wait(handle)
            took = self._took(step, start)
            if rc == 0 and (replaced := self._replaced()):
                rc = self._refuse(step, out, f"{replaced} was replaced meanwhile: it is not what this run made")
        if not self._is_lost and not out.startswith(_TRIALS):  # steps of a trial are synced when it is committed
            unfetched = yield from self._fetched(out, step.host, f"{step.name}." if out == "facts" else "")
            if unfetched and not rc:
                self._refuse(step, out, why(self._directory(out), _FETCH.name, unfetched, 0))
            rc = unfetched or rc
        is_fact = out == "facts" and rc == 0 and not self._is_lost
        files = hashes.of_file(self._directory(out) / f"{step.name}.out") if is_fact else ""
        yield self._record(End(self._now(), step.name, out, rc, files, took))
        self._check()
        return rc

    def _took(self, step: Step, start: Event) -> float:
        """The seconds that a step took on its machine, if we heard of its end late; else zero."""
        _, monotonic = self.clocks
        assert isinstance(start, Start), "BUG: a command that did not start"
        took = self.executor.took(step.host)
        return took if took and start.up is not None and monotonic() - start.up - took > _LATE else 0.0

    def _fetched(self, out: str, host: str = "", prefix: str = "", top: str = "") -> Doing[int]:
        """Wait until the output of steps, here or on other machines, is on the disk; return an exit code.

        The directory entries above `top` are already on the disk.
        """
        handle = self.executor.bring(self._directory(out), host, prefix)
        if handle is not None:
            return (yield from self._wait(handle))
        sync_tree(self._directory(out), self._directory(top), prefix)
        return 0

    def _brought(self, out: str) -> Doing[_Failure | None]:
        rc = yield from self._fetched(out, top=out)
        self._keep_names(out)
        self._check()
        return _Failure(out, _FETCH, rc) if rc else None

    def _remember_directory(self, setup: Setup, out: str) -> None:
        """Remember the directory that a setup made, by the inode and path in its file `made`.

        This applies only to setups without a parent: a directory on a file system that the run mounts may disappear and
        reappear.
        """
        if setup.parent is not None:
            return
        for host in lanes.hosts_of_setup(setup):
            if self.executor.hold(host, self._directory(out)):
                self._lane.watched[setup.signature] = host, self._directory(out)
                return
        path, inode = self.folder.made(out) or (None, 0)
        if path is not None and "\n" in str(path):
            raise RunError(f"{str(path)!r} has a newline in its path", "measure in a directory without one")
        if path is not None and all(held.path != path for held in self._lane.held.values()):
            self._lane.held[setup.signature] = HeldDirectory.lock(path, inode)

    def _replaced(self) -> Path | None:
        """The first directory that was replaced by something else, if any."""
        return next((held.path for held in self._lane.held.values() if held.is_replaced()), None)

    def _refuse(self, step: Step, out: str, why: str) -> int:
        with suppress(OSError):
            (self._directory(out) / f"{step.name}.err").write_text(f"{why}\n", "utf-8", "surrogateescape")
        return NOT_STARTED

    def _ask(self, step: Step, *, is_shown: bool) -> Doing[int]:
        typed = f"RUN={self.folder.run}; OUT=.; export RUN OUT\n{step.command}" if step.command else ""
        ask = Ask(step.why, lambda: self.stop.pending, typed=typed, is_shown=is_shown)
        yield ask
        self._check()
        if not (ask.is_done or is_shown):
            raise _Unanswered(step.why)
        return 0

    def _collect(self, step: Step, out: str) -> Work:
        self._check()
        if self._replaced():
            return  # the next measurement reports it
        yield self._record(Start(self._now(), step.name, out))
        self._lane.background.append(_Background(step, out, self.executor.start(step, self._directory(out))))

    def _stop_background(self) -> Work:
        """End everything in the background: other machines are all told at once, and other lanes work meanwhile."""
        is_awaited = {task.step.name: task.handle.ask_to_stop() for task in reversed(self._lane.background)}
        while self._lane.background:
            task = self._lane.background[-1]
            rc = (yield from self._wait(task.handle)) if is_awaited.get(task.step.name) else task.handle.stop()
            self._lane.background.pop()
            yield self._record(End(self._now(), task.step.name, task.out, rc))

    def _check(self) -> None:
        if self.stop.pending and not self._is_lost:
            raise _Stopped

    def _record(self, event: Recorded) -> Event:
        (recorded,) = self._record_all([event])
        return recorded

    def _record_all(self, events: Sequence[Recorded]) -> list[Event]:
        """Write events with the monotonic time, waiting for the disk at most once."""
        _, monotonic = self.clocks
        up = monotonic()
        timed = [replace(event, up=up) for event in events]
        if not self._is_lost:
            self.writer.write(*timed, is_awaited=not all(map(self._is_written_later, timed)))
            for event in timed:
                self._so_far.apply(event)
        return list[Event](timed)

    def _is_written_later(self, event: Recorded) -> bool:
        """Whether an event may reach the disk with the next one.

        A trial that has begun is known to have been cut off. The end of a command never waits, because a command
        without a recorded end is cleaned up again. In a single lane, whatever follows a commit waits for it.
        """
        if isinstance(event, Commit):
            return len(self._lanes) == 1
        return isinstance(event, End) or (isinstance(event, Start) and event.out.startswith(_TRIALS))

    # Places and times

    def _now(self) -> float:
        clock, _ = self.clocks
        return clock()

    def _directory(self, out: str) -> Path:
        path = self._paths.get(out)
        if path is None:
            path = self._paths[out] = self.folder.path / out
        return path

    def _require_no_link(self, place: str) -> None:
        """Raise RunError if a directory of the folder is or passes through a link: nothing may be written elsewhere."""
        try:
            self.account.inside(place)
        except ValueError as error:
            raise RunError(f"the folder {self.folder.name} was changed: {error}", "delete the link") from error

    def _attempt_at(self, trial: Trial) -> str:
        """Make the directory of the next attempt at a trial. Until the attempt ends, only the journal has to last."""
        number = 1
        while (out := f"{trial.place}/a{number}") in self._so_far.outs or not self._is_made(out):
            number += 1
        return out

    def _is_made(self, out: str) -> bool:
        """Make a directory of the run folder, and those above it; return False if something with that name exists."""
        self._require_no_link(out.rpartition("/")[0])
        path = self._directory(out)
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            return False
        return True

    def _keep_names(self, out: str) -> None:
        """Wait until the name of a directory of the run folder, and those of all above it, are on the disk.

        An existing directory may be from a session that was killed before it waited for the disk.
        """
        for place in accumulate(out.split("/")[:-1], "{}/{}".format):
            if place not in self._lasting:
                sync_directory(self._directory(place).parent)
                self._lasting[place] = True
        sync_directory(self._directory(out).parent)


_TRIALS = "trials/"
_FETCH = Step("fetch", Action.PREPARE, "", "bring what the machines left behind", 0)


def _ending(work: Work) -> Doing[list[LaneEnded]]:
    """Do work, and return the reasons why it ended early."""
    try:
        yield from work
    except LaneEnded as ended:
        return [ended]
    return []


def _started_together(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Yield steps one by one, but measurements and rehearsals on several machines together."""
    together: list[Step] = []
    for step in steps:
        is_alike = together and step.action is together[0].action and step.host not in {each.host for each in together}
        if together and not (is_alike and all(map(_is_load, (step, *together)))):
            yield together
            together = []
        together.append(step)
    if together:
        yield together


def _is_load(step: Step) -> bool:
    """Whether a step runs workloads: of the steps that treat caches, only the output of a rehearsal is read."""
    return step.action is Action.MEASURE or (step.action is Action.FLUSH and step.reader is not None)


def _is_full(directory: Path) -> bool:
    """Whether the disk there is full, so that a failure says nothing about the trial."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(_LEAST_SPACE))
            file.flush()
    except OSError as error:
        return error.errno in {errno.ENOSPC, errno.EDQUOT}
    return False
