"""Follow a run that another process carries out: its growing journal -> its state, its trials, and the remaining time.

Rule: nothing in the run folder is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from zlang.files import Place
from zlang.hints import Generic, TypeVar
from zlang.plan.pace import Pace
from zlang.plan.plan import Trial
from zlang.run.account import Account
from zlang.run.events import Begin, Commit, Fail, Recorded, Reuse, Session, Skip, TrialVerdict
from zlang.run.folder import Folder
from zlang.run.journal import Gap, Tail
from zlang.run.run_state import RunState, Window

V = TypeVar("V", bound=TrialVerdict)


class Follower(Generic[V]):
    """The trials of a run as they begin and end. Times are seconds of running time, without interruptions."""

    def __init__(self, folder: Folder, judge: Callable[[Trial, Place, Window | None], V]) -> None:
        self._trials = {item.place: item for item in folder.read_plan().items() if isinstance(item, Trial)}
        self._account = Account(folder, judge)
        self.state = self._account.state = RunState()
        self._pace = Pace(self._trials.values())
        self._free_since: dict[str, float] = {}
        self._session = 0.0
        self._begun: dict[str, float] = {}

    @property
    def under_way(self) -> list[Trial]:
        """The trials that are being measured."""
        return [self._trials[place] for place in self._begun]

    def trials(self, wait: Callable[[], bool]) -> Iterator[tuple[Trial, bool]]:
        """Each trial when it begins (False), and when it has ended (True).

        `wait` is called whenever there is no new event, and returns whether to read on.
        """
        for event in Tail(self._account.folder.journal, wait):
            self.state.apply(event)
            if not isinstance(event, Gap) and (trial := self._trial(event)):
                yield trial, not isinstance(event, Begin)

    def verdict(self, trial: Trial) -> tuple[V | None, str]:
        """The verdict on a trial that has ended, and why it does not count."""
        return self._account.judged(trial, self.state.ended[trial.place])

    def seconds_left(self, since: float) -> float | None:
        """The remaining seconds, `since` seconds after the last event; None if not known yet."""
        now = self.state.seconds + since
        return self._pace.seconds_left(now, sum(now - begun for begun in self._begun.values()))

    def _trial(self, event: Recorded) -> Trial | None:
        """The trial that an event begins or ends; its times are recorded."""
        now = self.state.seconds
        match event:
            case Session():
                self._session = now
                self._free_since.clear()
                self._begun.clear()
            case Reuse(trial=identity, replicate=replicate) | Skip(trial=identity, replicate=replicate):
                self._pace.drop(f"trials/{identity}/{replicate}")
            case Begin(trial=identity, replicate=replicate):
                place = f"trials/{identity}/{replicate}"
                self._begun[place] = now
                return self._trials.get(place)
            case Commit(trial=identity, replicate=replicate) | Fail(trial=identity, replicate=replicate):
                place = f"trials/{identity}/{replicate}"
                trial = self._trials.get(place)
                if trial is not None:
                    begun = self._begun.pop(place, now)
                    self._pace.end(place, begun - self._free_since.get(trial.host, self._session), now - begun)
                    self._free_since[trial.host] = now
                return trial
            case _:
                pass
        return None
