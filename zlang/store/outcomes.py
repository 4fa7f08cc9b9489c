"""What a journal says happened: which attempt of each trial counts, and when every command ran.

In: the events of one journal in order. Out: `Outcomes`. Rule: of several attempts of one trial and replicate the last
one that was committed counts, one that failed only where none was committed, and one that was cut off or goes on only
where none came to an end; the others are kept as steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from zlang.run.events import (
    Altered,
    Begin,
    Commit,
    End,
    Fail,
    Finish,
    Interrupt,
    Made,
    Recorded,
    Reuse,
    Session,
    Spare,
    Start,
    Unmade,
)

_INTERRUPTED = "interrupted: it was begun and did not come to an end"
_NOT_ENDED = "not ended: it was killed, or is still going on"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a trial; `failed` names the step that failed and where it left its output.

    `unended` says why it has not come to an end.
    """

    trial: str
    replicate: int
    out: str
    began: float
    failed: tuple[str, str] | None = None
    unended: str = ""


@dataclass(slots=True)
class StepTime:
    """One command that was started; without `ended` it was cut off."""

    position: int
    step: str
    out: str
    started: float
    ended: float | None = None
    rc: int | None = None


@dataclass(slots=True)
class Outcomes:
    """All that ingest takes from a journal."""

    run: str = ""
    sessions: int = 0
    first: float | None = None
    last: float | None = None
    last_session: float = 0.0
    seconds: float = 0.0
    """How long its sessions went on, without the time between them."""
    finished: bool = False
    attempts: dict[tuple[str, int], Attempt] = field(default_factory=dict)
    steps: dict[str, list[StepTime]] = field(default_factory=dict)
    reused: dict[tuple[str, int], Reuse] = field(default_factory=dict)
    """The trials that an earlier run has measured."""
    spared: set[tuple[str, int]] = field(default_factory=set)
    """The trials that need not be measured."""

    def positions(self) -> dict[tuple[str, int], int]:
        """The place of each trial in the order in which the attempts that count were begun."""
        order = sorted(self.attempts.values(), key=lambda a: (a.began, a.trial, a.replicate))
        return {(a.trial, a.replicate): n for n, a in enumerate(order, 1)}

    def window(self, out: str, names: Iterable[str]) -> tuple[float, float] | None:
        """From the start of the first of these steps to the end of the last one, where both are known."""
        wanted = set(names)
        spans = [(s.started, s.ended) for s in self.steps.get(out, ()) if s.step in wanted and s.ended is not None]
        return (min(a for a, _ in spans), max(b for _, b in spans)) if spans else None

    def step(self, out: str, name: str) -> StepTime | None:
        """The last time that this step ran there."""
        return next((s for s in reversed(self.steps.get(out, ())) if s.step == name), None)


def follow(events: Iterable[Recorded]) -> Outcomes:
    """Go through a journal once."""
    found = Outcomes()
    began: dict[str | tuple[str, int], float] = {}
    open_: dict[tuple[str, int], Attempt] = {}
    count = 0
    for event in events:
        _pass_time(found, event)
        match event:
            case Session(t=t, run=run):
                found.run = found.run or run
                found.sessions += 1
                found.last_session = max(found.last_session, t)
                _cut_off(open_)
            case Reuse(trial=trial, replicate=replicate):
                found.reused[trial, replicate] = event
            case Begin(t=t, trial=trial, replicate=replicate, out=out):
                began[out] = began[trial, replicate] = t
                open_[trial, replicate] = Attempt(trial, replicate, out, t, unended=_NOT_ENDED)
            case Start(t=t, step=step, out=out):
                count += 1
                found.steps.setdefault(out, []).append(StepTime(count, step, out, t))
            case End():
                _end(found, event)
            case Commit() | Fail():
                open_.pop((event.trial, event.replicate), None)
                _carried_out(found, event, began)
            case Interrupt():
                _cut_off(open_)
            case Spare(trial=trial, replicate=replicate):
                found.spared.add((trial, replicate))
            case Made() | Altered() | Unmade() | Finish():
                pass
            case _:
                assert_never(event)
        found.finished = isinstance(event, Finish)
    found.attempts = open_ | found.attempts
    return found


def _pass_time(found: Outcomes, event: Recorded) -> None:
    found.first = event.t if found.first is None else found.first
    if found.sessions and found.last is not None and not isinstance(event, Session):
        found.seconds += max(0.0, event.t - found.last)
    found.last = event.t


def _cut_off(attempts: dict[tuple[str, int], Attempt]) -> None:
    """What was going on then has been interrupted."""
    for key, one in attempts.items():
        attempts[key] = replace(one, unended=_INTERRUPTED)


def _carried_out(found: Outcomes, event: Commit | Fail, began: Mapping[str | tuple[str, int], float]) -> None:
    """Take an attempt into account that came to an end."""
    key = (event.trial, event.replicate)
    found.spared.discard(key)
    before = found.attempts.get(key)
    if isinstance(event, Commit):
        found.attempts[key] = Attempt(*key, event.out, began.get(event.out, event.t))
    elif before is None or before.failed is not None:
        found.attempts[key] = _failed(event, began)


def _failed(event: Fail, began: Mapping[str | tuple[str, int], float]) -> Attempt:
    # Where a setup's step failed, `out` is the setup's, and the trial itself may never have begun.
    t = began.get(event.out, began.get((event.trial, event.replicate), event.t))
    return Attempt(event.trial, event.replicate, event.out, t, (event.step, event.out))


def _end(found: Outcomes, event: End) -> None:
    for step in reversed(found.steps.get(event.out, ())):
        if step.step == event.step and step.ended is None:
            step.ended, step.rc = event.t, event.rc
            return
