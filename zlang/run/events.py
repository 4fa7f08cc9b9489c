"""Events of a run: those of the journal, and four more that only displays need.

Rule: an event of `RECORDED` is a line of the journal, with these fields in this order, and nothing else is one.
Its strings are `[A-Za-z0-9._/-]*`, so that a shell script can write the same lines; free text stays in artefacts.
A field that has a default is absent from the lines of older runs, and from a line where it has that value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from zlang.plan.plan import Trial
from zlang.readers.reading import Histogram


@dataclass(frozen=True, slots=True)
class Timed:
    """An event at `t` by the wall clock and at `up` by the monotonic clock, in seconds.

    The wall clock was read within the `apart` seconds before the other.
    """

    t: float
    up: float | None = field(default=None, kw_only=True)
    apart: float = field(default=0.0, kw_only=True)


@dataclass(frozen=True, slots=True)
class Session(Timed):
    """A runner began, or began again, on the machine `node`, started as `boot`; `plan` is the plan's hash."""

    run: str
    boot: str
    plan: str = ""
    node: str = ""


@dataclass(frozen=True, slots=True)
class Begin(Timed):
    """An attempt at a trial began; what its steps leave behind is in `out`, within the run folder."""

    trial: str
    replicate: int
    number: int
    out: str


@dataclass(frozen=True, slots=True)
class Reuse(Timed):
    """A trial was measured in an earlier run: its attempt is in this folder too, and its lines follow as they were.

    `block` and `whole_plot` are those of that run's order.
    """

    trial: str
    replicate: int
    run: str
    block: int
    whole_plot: int


@dataclass(frozen=True, slots=True)
class Start(Timed):
    """A command is about to start, on a machine whose clock is `ahead` of ours by this many seconds."""

    step: str
    out: str
    ahead: float = 0.0


@dataclass(frozen=True, slots=True)
class End(Timed):
    """A command ended: 124 = out of time, -N = by signal N. `files` is the hash of what a fact's printed."""

    step: str
    out: str
    rc: int
    files: str = ""


@dataclass(frozen=True, slots=True)
class Made(Timed):
    """A setup stands."""

    key: str
    signature: str


@dataclass(frozen=True, slots=True)
class Altered(Timed):
    """A setup that stood as `was` now stands as `signature`."""

    key: str
    was: str
    signature: str


@dataclass(frozen=True, slots=True)
class Unmade(Timed):
    """A setup is gone."""

    key: str
    signature: str


@dataclass(frozen=True, slots=True)
class Commit(Timed):
    """Every step of the trial was carried out, and what they left behind is on the disk; `files` is its hash."""

    trial: str
    replicate: int
    out: str
    files: str = ""


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
    """All trials are done and nothing that was made is left."""


@dataclass(frozen=True, slots=True)
class Interrupt(Timed):
    """The run was stopped by a signal, and has tidied up."""


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
        """Whether it counts as a measurement."""

    @property
    def why_not(self) -> str:
        """The reason why it does not count; empty if it does."""

    @property
    def metrics(self) -> Mapping[str, float]:
        """The metrics of the trial, each in the unit of its declaration."""

    @property
    def latency(self) -> Sequence[Histogram]:
        """The latencies of the operations."""

    @property
    def ran(self) -> tuple[float, float] | None:
        """The begin of its first stream and the end of its last, if they are known; otherwise the journal has both."""


@dataclass(frozen=True, slots=True)
class Next:
    """A trial is the next to be carried out, for which setups may have to be made first."""

    trial: Trial


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a trial: `why_not` is empty if it was measured. There is no verdict if nothing was measured."""

    trial: Trial
    out: Path
    verdict: TrialVerdict | None
    why_not: str


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """Something that could not be removed or ended and is still there: what a setup made, or an event of a trial."""

    name: str
    out: Path
    why: str


@dataclass(slots=True)
class Ask:
    """A person has to do something before the run goes on; who watches sets `is_done`, or the run stops.

    `typed` is what they can type for it elsewhere. `is_stopped` tells whether there is a wish to stop, so that nobody
    need be waited for. What is only `told` nobody waits for.
    """

    text: str
    is_stopped: Callable[[], bool]
    is_done: bool = False
    typed: str = ""
    is_told: bool = False


Event = Recorded | Next | Outcome | LeftBehind | Ask
