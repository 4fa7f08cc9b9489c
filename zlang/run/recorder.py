"""Write the events of a session, and small outputs: event -> a line of the journal, and the state of the run after it.

Rule: an event is on the disk before anything relies on it, as `lanes.drive` waits for it. Events that nothing relies on
go there with the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zlang.run import journal, outputs
from zlang.run.directories import is_of_trial
from zlang.run.events import Commit, End, Event, Recorded, Start, Timed
from zlang.run.run_state import RunState

Clock = Callable[[], float]
_set_up = vars(Timed)["up"].__set__
"""Sets the time of an event that only the recorder has; copying it takes ten times as long."""


@dataclass(slots=True)
class Recorder:
    """Writes events with their time. With `is_lost`, nothing can be written any more, and events change nothing."""

    writer: journal.Writer
    packer: outputs.Packer
    state: RunState
    clock: Clock
    monotonic: Clock
    has_one_lane: bool
    is_lost: bool = False
    is_behind: bool = False
    """Whether an event has to be on the disk before its lane continues."""

    def now(self) -> float:
        """The time of day, in seconds."""
        return self.clock()

    def record(self, event: Recorded) -> Event:
        """Write an event; return it with its time."""
        (recorded,) = self.record_all([event])
        return recorded

    def record_all(self, events: Sequence[Recorded]) -> list[Event]:
        """Write events with the monotonic time; whoever takes them waits for the disk first."""
        up = self.monotonic()
        for event in events:
            _set_up(event, up)
        if not self.is_lost:
            self.writer.write(*events, is_awaited=False)
            self.is_behind |= not all(map(self._is_written_later, events))
            for event in events:
                self.state.apply(event)
        return list[Event](events)

    def wait(self) -> None:
        """Wait until all is on the disk: outputs first, as lines of the journal say that they are there."""
        is_behind, self.is_behind = self.is_behind, False
        self.packer.wait()
        if is_behind:
            self.writer.wait()

    def _is_written_later(self, event: Recorded) -> bool:
        """Whether an event may reach the disk with the next one.

        A trial that has begun is known to have been cut off. The end of a command never waits, because a command
        without a recorded end is cleaned up again. In a single lane, whatever follows a commit waits for it.
        """
        if isinstance(event, Commit):
            return self.has_one_lane
        return isinstance(event, End) or (isinstance(event, Start) and is_of_trial(event.out))
