"""The state of a run for everything that needs it: the lines of its journal -> `RunState`.

Rules: of several attempts at a trial, the last that ended counts, whether committed or failed; one that was cut off or
is still running counts only if none ended. An attempt with a missing or broken line has ended and does not count;
neither does one during which the wall clock was changed. Order is the order of the lines, and durations are those of
the monotonic clock, where the journal has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from zlang.run.events import (
    NOT_PACKED,
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
    Skip,
    Start,
    Timed,
    Unmade,
)
from zlang.run.journal import Gap, Lines, Sign

INTERRUPTED = "interrupted: it started and did not finish"
NOT_ENDED = "did not finish: it was killed, or is still running"
NOT_STARTED = "the journal has no line for its start"

_CLOCK_SLACK = 0.25
"""Seconds by which the two clocks may disagree: they are read one after the other, perhaps on a busy machine."""
_CLOCK_DRIFT = 0.001
"""The further share of an attempt's time by which they may disagree: clocks that are being corrected run slower."""

Window = tuple[float, float]


@dataclass(slots=True)
class StepTime:
    """A command that was started; without `end` it was cut off. `position` numbers the commands of the run."""

    position: int
    start: Start
    end: End | None = None

    @property
    def elapsed(self) -> float | None:
        """Its duration in seconds."""
        return None if self.end is None else self.end.took or seconds(self.start, self.end)


@dataclass(slots=True)
class Attempt:
    """An attempt at a trial; its output is in `out`.

    `position` numbers the attempts of the run. `problem` is the reason why it does not count, whatever it measured, and
    `files` is the hash of its output.
    """

    trial: str
    replicate: int
    out: str
    began: Timed
    position: int
    failed: Fail | None = None
    is_committed: bool = False
    is_cut_off: bool = False
    problem: str = ""
    files: str = ""
    packed: int = NOT_PACKED
    """The offset of its files, if they were packed (`zlang/run/outputs.py`)."""
    clocks: tuple[float, float] | None = None
    """The largest and the smallest lead of the wall clock over the monotonic clock that its lines allow."""
    last: Timed = field(init=False)

    def __post_init__(self) -> None:
        """Begin with the clocks of the first line."""
        self.last = self.began
        self.see(self.began)

    @property
    def is_packed(self) -> bool:
        """Whether its files are in the file of all packed outputs."""
        return self.packed != NOT_PACKED

    @property
    def place(self) -> str:
        """The directory of the trial's attempts."""
        return f"trials/{self.trial}/{self.replicate}"

    @property
    def unended(self) -> str:
        """The reason why it did not end; empty if it did."""
        if self.is_committed or self.failed or self.problem:
            return ""
        return INTERRUPTED if self.is_cut_off else NOT_ENDED

    def see(self, event: Timed) -> None:
        """Compare the two clocks at another line of the attempt."""
        allowed = _CLOCK_SLACK
        if event.up is None or self.last.up is None:
            moved = self.last.t - event.t
        else:
            earliest = event.t - event.up
            latest = earliest + event.apart
            least, most = self.clocks or (latest, earliest)
            self.clocks = least, most = min(least, latest), max(most, earliest)
            moved = max(most - least, self.last.up - event.up)
            allowed += _CLOCK_DRIFT * abs(seconds(self.began, event))
        if moved > allowed and not self.problem:
            self.problem = f"the wall clock was moved by {moved:,.1f} s during the trial"
        self.last = event


@dataclass(slots=True)
class RunState:
    """The state of a run after some lines of its journal. Keys of trials are places, `trials/IDENTITY/REPLICATE`."""

    run: str = ""
    sessions: int = 0
    first: float | None = None
    last_session: float = 0.0
    node: str = ""
    """The machine of the last session."""
    seconds: float = 0.0
    """The total duration of its sessions, without the time between them."""
    plans: set[str] = field(default_factory=set)
    """The hashes of the plan at the beginnings of the sessions."""
    ended: dict[str, Attempt] = field(default_factory=dict)
    """For each trial with an attempt that ended, the attempt that is used."""
    begun: dict[str, Attempt] = field(default_factory=dict)
    """The latest attempt of each trial, until it has ended."""
    skipped: dict[str, Skip] = field(default_factory=dict)
    """The trials that were skipped."""
    reused: dict[str, Reuse] = field(default_factory=dict)
    """The trials that an earlier run has measured."""
    steps: dict[str, list[StepTime]] = field(default_factory=dict)
    """The commands by the directory of their output."""
    leftovers: dict[str, str] = field(default_factory=dict)
    """Signature -> directory of each setup whose making was started and that was not removed, in order of making."""
    made: set[str] = field(default_factory=set)
    """Signatures of the setups that were made successfully at least once."""
    setup_attempts: dict[str, int] = field(default_factory=dict)
    """Signature -> number of its latest attempt."""
    setups_of_attempts: dict[str, dict[str, int]] = field(default_factory=dict)
    """By directory of an attempt, the signatures of the setups that existed, each with the number of its making."""
    facts: dict[str, str] = field(default_factory=dict)
    """Names of fact steps that succeeded, with the hashes of their output."""
    last: Recorded | None = None
    waits_for: tuple[str, str] | None = None
    """The manual step that was waiting when the run stopped, and the place of its attempts."""
    gaps: list[Gap] = field(default_factory=list)
    outs: set[str] = field(default_factory=set)
    """The directories of all attempts at trials."""
    unsigned: list[int] = field(default_factory=list)
    """The numbers of the lines that the key of the run's seal did not sign."""
    torn: int = 0
    """The number of lines torn by a crash, which loses nothing."""
    number: int = 0
    """The number of the last line."""
    version: tuple[int, ...] = ()
    """The result of `version_of` just before the journal was read."""
    _running: dict[tuple[str, str], None] = field(default_factory=dict)
    _under_way: dict[str, Attempt] = field(default_factory=dict)
    _stands: dict[str, tuple[str, int]] = field(default_factory=dict)
    _makings: int = 0
    _positions: int = 0
    _commands: int = 0

    @property
    def has_made(self) -> bool:
        """Whether the run made anything for its trials."""
        return self._makings > 0

    @property
    def done(self) -> int:
        """The number of trials that were carried out or skipped."""
        return len(self.ended) + len(self.skipped)

    @property
    def carried_out(self) -> int:
        """The number of trials that were carried out."""
        return len(self.ended)

    @property
    def is_finished(self) -> bool:
        """Whether all trials are done and everything was removed."""
        return isinstance(self.last, Finish)

    @property
    def attempts(self) -> dict[str, Attempt]:
        """The attempt that counts for each trial that was begun."""
        return self.begun | self.ended

    def cut_off(self, code: int) -> Iterator[Attempt]:
        """The attempts that were cut off, and those that failed after a command had ended with this code."""
        yield from self.begun.values()
        for place, attempt in self.ended.items():
            if attempt.failed is not None and place not in self.begun:
                ends = (step.end for step in self.steps.get(attempt.out, ()))
                if any(end is not None and end.rc == code for end in ends):
                    yield attempt

    def attempt(self, place: str) -> Attempt | None:
        """The attempt that counts for one trial."""
        return self.ended.get(place) or self.begun.get(place)

    @property
    def damage(self) -> list[str]:
        """Missing or broken lines of the journal, one sentence each."""
        return [str(gap) for gap in self.gaps]

    def positions(self) -> dict[str, int]:
        """The position of each trial in the order in which the attempts that count were begun."""
        order = sorted(self.attempts.values(), key=lambda attempt: attempt.position)
        return {attempt.place: n for n, attempt in enumerate(order, 1)}

    def window(self, out: str, names: Iterable[str]) -> Window | None:
        """The time span from the start of the first of these steps to the end of the last, if both are known.

        It begins by the wall clock of the machine that ran them, because tools log by that clock; its length is by the
        monotonic clock.
        """
        wanted = set(names)
        ran = [step for step in self.steps.get(out, ()) if step.start.step in wanted and step.end is not None]
        if not ran:
            return None
        begin = ran[0].start.t + ran[0].start.ahead
        if len(ran) == 1:
            return begin, begin + (ran[0].elapsed or 0.0)
        return begin, begin + max(seconds(ran[0].start, step.end) for step in ran if step.end is not None)

    def step(self, out: str, name: str) -> StepTime | None:
        """The last execution of this step there."""
        for step in reversed(self.steps.get(out, ())):
            if step.start.step == name:
                return step
        return None

    def apply(self, event: Recorded | Gap) -> None:
        """Apply one more event to the state."""
        if isinstance(event, Gap):
            self._end_by_gap(event)
            return
        self._pass_time(event)
        match event:
            case Start() | End():
                self._apply_to_commands(event)
            case Session(run=run, plan=plan, node=node):
                self.node = node
                self.run = self.run or run
                self.sessions += 1
                self.last_session = max(self.last_session, event.t)
                self.plans |= {plan} - {""}
                self._running.clear()
                self.waits_for = None
                self._cut_off()
            case Interrupt():
                # If a run cleaned up although a command had not ended, it was waiting for a person.
                step, out = next(reversed(self._running), ("", ""))
                self.waits_for = (step, out.rpartition("/")[0]) if step else None
                self._cut_off()
            case Reuse(trial=trial, replicate=replicate):
                self.reused[f"trials/{trial}/{replicate}"] = event
            case Begin():
                attempt = self._attempt(event)
                if not event.out.startswith(f"{attempt.place}/"):
                    attempt.problem = _BAD_PLACE
                self._under_way[event.out] = self.begun[attempt.place] = attempt
                # Results from outside are a separate attempt, after the trial's setups were removed.
                before = self.ended.get(attempt.place)
                earlier = self.setups_of_attempts.get(before.out, {}) if before else {}
                self.setups_of_attempts[event.out] = dict(self._stands.values()) or earlier
            case Commit() | Fail():
                self._end(event)
            case Skip(trial=trial, replicate=replicate):
                place = f"trials/{trial}/{replicate}"
                if place not in self.ended:
                    self.skipped[place] = event
            case Made() | Altered() | Unmade():
                self._apply_to_setups(event)
            case _:
                pass

    def _pass_time(self, event: Recorded) -> None:
        self.first = event.t if self.first is None else self.first
        if self.sessions and self.last is not None and not isinstance(event, Session):
            self.seconds += max(0.0, seconds(self.last, event))
        self.last = event

    # Trials

    def _attempt(self, event: Begin | Commit | Fail) -> Attempt:
        self._positions += 1
        self.outs.add(event.out)
        return Attempt(event.trial, event.replicate, event.out, event, self._positions)

    def _cut_off(self) -> None:
        for attempt in self.begun.values():
            attempt.is_cut_off = True
        self._under_way.clear()

    def _end_by_gap(self, gap: Gap) -> None:
        """End everything under way before missing lines: its outcome is unknown."""
        self.gaps.append(gap)
        for attempt in self._under_way.values():
            attempt.problem = f"its part of the journal is damaged: {gap}"
            self._settle(attempt)
        self._under_way.clear()

    def _end(self, event: Commit | Fail) -> None:
        attempt = self._under_way.pop(event.out, None)
        place = f"trials/{event.trial}/{event.replicate}"
        if attempt is None or attempt.place != place:
            attempt = self.ended.get(place)
            if attempt is not None and attempt.out == event.out and attempt.problem:
                return  # a line of it is missing
            attempt = self._attempt(event)
            if isinstance(event, Commit) or not event.out.startswith("setups/"):
                attempt.problem = NOT_STARTED
        attempt.see(event)
        if isinstance(event, Commit):
            attempt.is_committed, attempt.files, attempt.packed = True, event.files, event.packed
        else:
            attempt.failed = event
        self._settle(attempt)

    def _settle(self, attempt: Attempt) -> None:
        self.begun.pop(attempt.place, None)
        self.skipped.pop(attempt.place, None)
        self.ended[attempt.place] = attempt

    # Commands and setups

    def _apply_to_commands(self, event: Start | End) -> None:
        """Record the times of commands."""
        step, out = event.step, event.out
        if isinstance(event, Start):
            self._commands += 1
            self._running[step, out] = None
            self.steps.setdefault(out, []).append(StepTime(self._commands, event))
        else:
            self._running.pop((step, out), None)
            ran = self.step(out, step)
            if ran is not None and ran.end is None:
                ran.end = event
            if out == "facts" and event.rc == 0:
                self.facts[step] = event.files
        if out.startswith("setups/"):
            self._note_step(out)
        elif attempt := self._under_way.get(out):
            attempt.see(event)

    def _apply_to_setups(self, event: Made | Altered | Unmade) -> None:
        match event:
            case Made(signature=signature):
                self.made.add(signature)
                self.leftovers.setdefault(signature, "")
            case Altered(was=was, signature=signature):
                self.leftovers = {signature if name == was else name: out for name, out in self.leftovers.items()}
            case Unmade(signature=signature):
                self.leftovers.pop(signature, None)
        self._set_up(event)

    def _set_up(self, event: Made | Altered | Unmade) -> None:
        """Record, by key, the signature of each setup that exists, and the number of its making."""
        self._makings += isinstance(event, Made)
        _, making = self._stands.pop(event.key, ("", self._makings))
        if not isinstance(event, Unmade):
            self._stands[event.key] = (event.signature, self._makings if isinstance(event, Made) else making)

    def _note_step(self, out: str) -> None:
        _, signature, attempt = f"{out}//".split("/")[:3]
        number = attempt.removeprefix("a")
        self.leftovers.setdefault(signature, out)
        setup_attempt = self.setup_attempts.get(signature, 0)
        self.setup_attempts[signature] = max(setup_attempt, int(number) if number.isdecimal() else 0)


_BAD_PLACE = "the journal gives it a directory that is not its own"


def seconds(begin: Timed, end: Timed) -> float:
    """The seconds from one event to another."""
    if begin.up is None or end.up is None:
        return end.t - begin.t
    return end.up - begin.up


def read(path: Path, sign: Sign | None = None) -> RunState:
    """Read a journal to its end, and verify the signatures of its lines if `sign` is given. Raises RunError."""
    lines = Lines(path, sign)
    state = RunState(version=version_of(path))
    for event in lines:
        state.apply(event)
    state.torn, state.number, state.unsigned = lines.torn, lines.number, lines.unsigned
    return state


def version_of(path: Path) -> tuple[int, ...]:
    """The inode, size and modification time of a journal, which change with every write; empty without a journal."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns
