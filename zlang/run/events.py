"""Events of a run: those of the journal, and a few that only displays need.

Rule: an event of `RECORDED` is a line of the journal, with these fields in this order; no other event is. Its strings
are `[A-Za-z0-9._/-]*`, so that a shell script can write the same lines; free text stays in artefacts. A field with a
default is absent from the lines of older runs, and from a line where it has that value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from zlang.files import Place
from zlang.hints import Protocol
from zlang.plan.plan import Trial
from zlang.readers.reading import Histogram

NOT_PACKED = -1


@dataclass(frozen=True, slots=True)
class Timed:
    """An event at `t` by the wall clock and at `up` by the monotonic clock, in seconds.

    The wall clock was read at most `apart` seconds before the other.
    """

    t: float
    up: float | None = field(default=None, kw_only=True)
    apart: float = field(default=0.0, kw_only=True)


@dataclass(frozen=True, slots=True)
class Session(Timed):
    """A runner began or resumed the run on the machine `node`, booted as `boot`; `plan` is the plan's hash."""

    run: str
    boot: str
    plan: str = ""
    node: str = ""


@dataclass(frozen=True, slots=True)
class Begin(Timed):
    """An attempt at a trial began; the output of its steps is in `out`, within the run folder."""

    trial: str
    replicate: int
    number: int
    out: str


@dataclass(frozen=True, slots=True)
class Reuse(Timed):
    """A trial was measured in an earlier run: this folder has its attempt; its journal lines follow unchanged.

    `block` and `whole_plot` are those of the earlier run's order.
    """

    trial: str
    replicate: int
    run: str
    block: int
    whole_plot: int


@dataclass(frozen=True, slots=True)
class Start(Timed):
    """A command is about to start on a machine whose clock is `ahead` of ours by this many seconds."""

    step: str
    out: str
    ahead: float = 0.0


@dataclass(frozen=True, slots=True)
class End(Timed):
    """A command ended: 124 = timed out, -N = killed by signal N. `files` is the hash of a fact's output.

    If the coordinator heard of the end late, `took` has the command's seconds by the clock of its machine.
    """

    step: str
    out: str
    rc: int
    files: str = ""
    took: float = 0.0


@dataclass(frozen=True, slots=True)
class Made(Timed):
    """A setup exists."""

    key: str
    signature: str


@dataclass(frozen=True, slots=True)
class Altered(Timed):
    """A setup changed from the state `was` to the state `signature`."""

    key: str
    was: str
    signature: str


@dataclass(frozen=True, slots=True)
class Unmade(Timed):
    """A setup was removed."""

    key: str
    signature: str


@dataclass(frozen=True, slots=True)
class Commit(Timed):
    """Every step of the trial was carried out, and its output is on the disk; `files` is the hash of the output.

    If the output was packed, `packed` is the offset of its line.
    """

    trial: str
    replicate: int
    out: str
    files: str = ""
    packed: int = NOT_PACKED


@dataclass(frozen=True, slots=True)
class Fail(Timed):
    """A step of the trial, or of a setup that it needs, failed; the step's output is in `out`."""

    trial: str
    replicate: int
    out: str
    step: str


@dataclass(frozen=True, slots=True)
class Skip(Timed):
    """A trial is not needed, according to earlier results (`zlang/run/sequential.py`)."""

    trial: str
    replicate: int
    number: int
    why: str


@dataclass(frozen=True, slots=True)
class Finish(Timed):
    """All trials are done, and everything that was made is removed."""


@dataclass(frozen=True, slots=True)
class Interrupt(Timed):
    """The run was stopped by a signal, and has cleaned up."""


Recorded = Session | Reuse | Begin | Start | End | Made | Altered | Unmade | Commit | Fail | Skip | Finish | Interrupt

RECORDED: Mapping[str, type[Recorded]] = {
    "session": Session,
    "reuse": Reuse,
    "begin": Begin,
    "start": Start,
    "end": End,
    "made": Made,
    "altered": Altered,
    "unmade": Unmade,
    "commit": Commit,
    "fail": Fail,
    "skip": Skip,
    "finish": Finish,
    "interrupt": Interrupt,
}

FORMER_NAMES: Mapping[str, str] = {"spare": "skip"}
"""Names of events in older journals."""


class TrialVerdict(Protocol):
    """The part of a verdict on a trial that displays need."""

    @property
    def valid(self) -> bool:
        """Whether the trial counts as a measurement."""

    @property
    def why_not(self) -> str:
        """The reason why the trial does not count; empty if it does."""

    @property
    def metrics(self) -> Mapping[str, float]:
        """The metrics of the trial, each in the unit of its declaration."""

    @property
    def latency(self) -> Sequence[Histogram]:
        """The latencies of the operations."""

    @property
    def ran(self) -> tuple[float, float] | None:
        """The start of its first stream and the end of its last, if known; otherwise the journal has both."""


@dataclass(frozen=True, slots=True)
class Next:
    """A trial is the next to be carried out; setups may have to be made first."""

    trial: Trial


@dataclass(frozen=True, slots=True)
class Repeat:
    """An earlier trial is carried out again, without a result, so that kept data have its changes before `then`."""

    trial: Trial
    then: Trial


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a trial: `why_not` is empty if it was measured. There is no verdict if nothing was measured."""

    trial: Trial
    out: Place
    verdict: TrialVerdict | None
    why_not: str


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """Something that could not be removed or ended and still exists: the result of a setup, or an event of a trial."""

    name: str
    out: Path
    why: str


@dataclass(slots=True)
class Ask:
    """A person has to do something before the run goes on; the display sets `is_done`, or the run stops.

    `typed` is what they can type for it on another machine. `is_stopped` returns whether the run is to stop, which ends
    the wait. With `is_shown` the person is only informed, and nothing waits.
    """

    text: str
    is_stopped: Callable[[], bool]
    is_done: bool = False
    typed: str = ""
    is_shown: bool = False


Event = Recorded | Next | Repeat | Outcome | LeftBehind | Ask
