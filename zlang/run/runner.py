"""Carry out a plan: `Plan` + folder + executor -> events, each written to the journal before it is yielded.

Rules: after a failure is recorded, the run continues with the next trial; however the run ends, it first removes what
it made. A session divides its work among lanes. In each, `trials.py` carries out trials, `setups.py` makes what they
need, `steps.py` runs the commands of both, and `recorder.py` writes what happened.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Container, Generator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, suppress
from dataclasses import dataclass, field

from zlang.errors import RunError, is_out_of_memory, joined, reason_of
from zlang.files import Place
from zlang.plan.plan import LOCAL, Plan, Setup, Step, Trial
from zlang.plan.state import State
from zlang.run import hashes, journal, lanes, machine, outputs, seal, sequential
from zlang.run.account import PLAN_CHANGED, Account
from zlang.run.directories import Directories
from zlang.run.events import Event, Finish, Interrupt, Session, Skip, TrialVerdict
from zlang.run.executor import LOST, Executor
from zlang.run.folder import Folder
from zlang.run.lanes import Doing, LaneEnded, Work
from zlang.run.recorder import Clock, Recorder
from zlang.run.resources import Resources
from zlang.run.run_state import RunState
from zlang.run.sequential import Sequential
from zlang.run.setups import SetupRunner
from zlang.run.steps import StepRunner, StopRequested, Unanswered
from zlang.run.stop import Interrupted, Stop
from zlang.run.trials import TrialRunner

Judge = Callable[[Trial, Place, tuple[float, float] | None], TrialVerdict]


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
            closing(outputs.Packer(folder.path)) as packer,
        ):
            clock, monotonic = clocks
            divided = lanes.divide(plan)
            recorder = Recorder(
                writer=writer,
                packer=packer,
                state=account.state,
                clock=clock,
                monotonic=monotonic,
                has_one_lane=len(divided) == 1,
            )
            session = _Session(
                plan=plan,
                executor=executor,
                account=account,
                selection=selection,
                stop=stop,
                recorder=recorder,
                divided=divided,
            )
            yield from session.events()


@dataclass(frozen=True, slots=True)
class _Lane:
    """Machines that work on one trial at a time, what exists on them, and what carries out their work.

    The trials of other `points` are those of other lanes.
    """

    machines: frozenset[str]
    points: AbstractSet[str]
    resources: Resources
    steps: StepRunner
    setups: SetupRunner
    trials: TrialRunner


@dataclass(slots=True)
class _Session:
    """One session that carries out a plan, `divided` among lanes: the machines of each, and its points."""

    plan: Plan
    executor: Executor
    account: Account[TrialVerdict]
    selection: Selection
    stop: Stop
    recorder: Recorder
    divided: Sequence[tuple[frozenset[str], AbstractSet[str]]]
    _setups: dict[str, Setup] = field(default_factory=dict)
    """The setups of the plan so far, by signature."""
    _directories: Directories = field(init=False)
    _lanes: list[_Lane] = field(init=False)
    _sequential: Sequential | None = None
    _lost: list[LaneEnded] = field(default_factory=list)

    @property
    def folder(self) -> Folder:
        return self.account.folder

    @property
    def state(self) -> RunState:
        return self.account.state

    def __post_init__(self) -> None:
        self._directories = Directories(self.account)
        self._lanes = [self._new_lane(machines, points) for machines, points in self.divided]

    def _new_lane(self, machines: frozenset[str], points: AbstractSet[str]) -> _Lane:
        recorder, directories = self.recorder, self._directories
        resources = Resources(self.folder, self.executor)
        steps = StepRunner(
            run=self.folder.run,
            groups=self.plan.header.groups,
            executor=self.executor,
            stop=self.stop,
            recorder=recorder,
            directories=directories,
            resources=resources,
        )
        setups = SetupRunner(self._setups, recorder, directories, resources, steps)
        trials = TrialRunner(
            header=self.plan.header,
            account=self.account,
            recorder=recorder,
            directories=directories,
            resources=resources,
            steps=steps,
            setups=setups,
        )
        return _Lane(machines=machines, points=points, resources=resources, steps=steps, setups=setups, trials=trials)

    def events(self) -> Generator[Event, None, None]:
        try:
            try:
                yield from self._driven(self._session())
            except StopRequested:
                self.stop.acknowledge()
                yield from self._driven(self._interrupted())
                raise Interrupted(self.stop.signal) from None
            except Unanswered as requested:
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
                lane.steps.kill_background()
                lane.resources.release_all()
        if self._lost:
            raise joined([RunError(*ended.args) for ended in self._lost])

    # Lanes

    def _driven(self, work: Work) -> Generator[Event, None, None]:
        for ended in (yield from lanes.drive([work], self.stop, self.recorder)):
            raise ended

    def _in_lanes(self, work: Callable[[_Lane], Work], most: int = 0) -> Doing[list[LaneEnded]]:
        """Run work in all lanes at the same time."""
        if len(self._lanes) == 1:
            return (yield from _ending(work(self._lanes[0])))
        works = [work(lane) for lane in self._lanes]
        return (yield from lanes.drive(works, self.stop, self.recorder, most))

    def _in_every_lane(self, work: Callable[[_Lane], Work]) -> Work:
        """Run work in every lane; no lane may end early."""
        for ended in (yield from self._in_lanes(work)):
            raise ended

    def _is_in(self, lane: _Lane, item: Setup | Trial) -> bool:
        """Whether an item belongs to a lane; items without a machine belong to the first lane."""
        machines = lanes.hosts_of_setup(item) if isinstance(item, Setup) else lanes.hosts_of_trial(item)
        return len(self._lanes) == 1 or bool(machines & lane.machines) or (not machines and lane is self._lanes[0])

    def _lane_of(self, trial: Trial) -> _Lane:
        return next(lane for lane in self._lanes if self._is_in(lane, trial))

    # Parts of a session

    def _session(self) -> Work:
        leftovers = self.account.leftovers
        is_first = self.state.sessions == 0 and not leftovers
        plan = hashes.of_file(self.folder.plan)
        yield self.recorder.record(Session(self.recorder.now(), self.folder.run, machine.boot(), plan, machine.node()))
        if not is_first:
            self.executor.sweep()
            yield from self._end_cut_off_trials(leftovers)
            yield from self._unmake_leftovers(leftovers)
        if not self.selection.nothing:
            yield from self._in_every_lane(self._facts)
            yield from self._all_trials()
            yield from self._in_every_lane(lambda lane: lane.setups.tear_down())
        self.executor.sweep()
        if self._is_all_removed():
            self.executor.forget()
            if self.state.done >= self.plan.header.trials:
                yield self.recorder.record(Finish(self.recorder.now()))

    def _is_all_removed(self) -> bool:
        return not any(lane.resources.state.standing for lane in self._lanes)

    def _interrupted(self) -> Work:
        yield from self._in_every_lane(self._stop_and_tear_down)
        self.executor.sweep()
        if self._is_all_removed():
            self.executor.forget()
        yield self.recorder.record(Interrupt(self.recorder.now()))

    def _stop_and_tear_down(self, lane: _Lane) -> Work:
        self.executor.stop_waiting()
        yield from lane.steps.stop_background()
        yield from lane.trials.end_events_under_way()
        yield from lane.setups.tear_down()

    def _salvage(self) -> None:
        """Clean up although nothing can be written; the next session repeats this for everything in the journal."""
        self.recorder.is_lost = True
        self.stop.acknowledge()
        for lane in self._lanes:
            lane.steps.abandon_background()
        with suppress(RunError, OSError):
            for _ in self._driven(self._in_every_lane(self._stop_and_tear_down)):
                pass
        with suppress(RunError, OSError):
            self.executor.sweep()

    def _facts(self, lane: _Lane) -> Work:
        by_machine: dict[str, list[Step]] = {}
        for step in self.plan.header.facts:
            is_own = step.host in lane.machines or (step.host == LOCAL and lane is self._lanes[0])
            if is_own and step.name not in self.state.facts:
                by_machine.setdefault(step.host, []).append(step)
        if by_machine:
            out = self._directories.make_for_facts()
            yield from lane.steps.side_by_side([self._facts_of(lane, steps, out) for steps in by_machine.values()])

    def _facts_of(self, lane: _Lane, steps: Sequence[Step], out: str) -> Work:
        """Record the facts of one machine, whether or not the commands succeed."""
        for step in steps:
            yield from lane.steps.command(step, out)

    def _end_cut_off_trials(self, leftovers: Mapping[str, str]) -> Work:
        """End the events of trials that were cut off because the process died or a machine was lost.

        An event is ended on a machine only while the trial's setups on that machine exist.
        """
        attempts = (attempt for attempt in self.state.cut_off(LOST) if attempt.out in self.state.setups_of_attempts)
        cut_off = {attempt.place: attempt.out for attempt in attempts if self._directories.restore(attempt.out)}
        machines: dict[str, set[str]] = {}
        for item in self.plan.items() if cut_off else ():
            if isinstance(item, Setup):
                machines[item.signature] = lanes.hosts_of_setup(item)
            elif out := cut_off.pop(item.place, ""):
                removed = [
                    machines.get(each, set()) for each in self.state.setups_of_attempts[out].keys() - leftovers.keys()
                ]
                yield from self._lane_of(item).trials.end_events(item, out, set().union(*removed))
            if not cut_off:
                return  # a plan may have a million more lines

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
        if missing := self.state.leftovers.keys() - setups.keys():
            message = f"the journal of {self.folder.name} names setups that its plan does not have: {min(missing)}"
            raise RunError(message, "the folder has the plan of another run; remove by hand what the journal lists")
        # Setups that the journal has lost are removed in the order of the plan.
        order = wanted if wanted.keys() == self.state.leftovers.keys() else setups
        for lane in self._lanes:
            remaining = tuple(setups[signature] for signature in order if self._is_in(lane, setups[signature]))
            for setup in remaining:
                lane.resources.hold(setup, wanted[setup.signature])
            lane.resources.state = State(remaining, frozenset(setup.key for setup in remaining))
        yield from self._in_every_lane(lambda lane: lane.setups.tear_down())

    def _all_trials(self) -> Work:
        """Carry out the trials: in order within a lane, lanes at the same time."""
        self._sequential = sequential.of(self.plan.header) if self.selection.only is None else None
        if self.selection.lanes == 1 or self.selection.only is not None:
            ended = yield from _ending(self._trials(None))
        else:
            ended = yield from self._in_lanes(self._trials, self.selection.lanes)
        for error in ended:
            if isinstance(error, Unanswered):
                raise error
        self._lost += ended

    def _trials(self, lane: _Lane | None) -> Work:
        """Carry out the trials of a lane; without one, all trials in the order of the plan, each in its own lane."""
        only = self.selection.only
        is_each_read = only is not None or self.selection.failed or self._sequential is not None
        skipped: list[tuple[Trial, str]] = []
        done: Container[str] = () if is_each_read else self.state.ended
        if lane is not None and len(self._lanes) > 1:
            done = lanes.Elsewhere(done, lane.points)
        for item in self.plan.remaining(done):
            if isinstance(item, Setup):
                self._setups[item.signature] = item
                continue
            if lane is not None and not self._is_in(lane, item):
                continue
            its_lane = lane or self._lane_of(item)
            if not self._is_selected(item):
                its_lane.trials.pass_over(item)
                self._replay_earlier_result(item)
            elif self._sequential and (why := self._sequential.skips(item)):
                skipped.append((item, why))
            else:
                yield from self._skip(skipped)
                skipped.clear()
                yield from self._trial(its_lane, item)
                if only is not None:
                    return
        yield from self._skip(skipped)
        if only is not None:
            message = f"the plan has no trial number {only}"
            raise RunError(message, f"the last number is {self.plan.header.trials}")

    def _trial(self, lane: _Lane, trial: Trial) -> Work:
        for host in sorted(lane.machines):
            if (reason := self.executor.lost(host)) is not None:
                what_to_do = f"{reason.hint}; then" if reason.hint else "when the machine is back,"
                raise LaneEnded(reason.message, f"{what_to_do} type `zlang resume`")
        outcome = yield from lane.trials.carry_out(trial)
        if self._sequential is not None:
            window = self.account.window(trial, self.state.ended[trial.place])
            self._sequential.learn(trial, outcome.verdict, window)
        yield outcome

    def _replay_earlier_result(self, trial: Trial) -> None:
        """Take into account the result of a trial from an earlier session."""
        attempt = self.state.ended.get(trial.place)
        if self._sequential is not None and attempt is not None:
            verdict, _ = self.account.verdict(trial)
            self._sequential.learn(trial, verdict, self.account.window(trial, attempt))

    def _skip(self, trials: Sequence[tuple[Trial, str]]) -> Work:
        """Record that consecutive trials are skipped: all with one wait for the disk."""
        if trials:
            now = self.recorder.now()
            yield from self.recorder.record_all(
                [Skip(now, trial.identity, trial.replicate, trial.number, why) for trial, why in trials]
            )

    def _is_selected(self, trial: Trial) -> bool:
        if self.selection.only is not None:
            return trial.number == self.selection.only
        if trial.place in self.state.skipped:
            return self.selection.failed
        if trial.place not in self.state.ended:
            return True
        return self.selection.failed and bool(self.account.verdict(trial)[1])


def _ending(work: Work) -> Doing[list[LaneEnded]]:
    """Do work, and return the reasons why it ended early."""
    try:
        yield from work
    except LaneEnded as ended:
        return [ended]
    return []
