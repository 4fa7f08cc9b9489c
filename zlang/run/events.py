"""What happens in a run: the events of the journal, and three more that only those who watch need.

Rule: an event of `RECORDED` is a line of the journal, with these fields in this order, and nothing else is one.
Its strings are `[A-Za-z0-9._/-]*`, so that a shell script can write the same lines; free text stays in artefacts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from zlang.plan.plan import Setup, Trial
from zlang.readers.reading import Histogram


@dataclass(frozen=True, slots=True)
class Session:
    """A runner began, or began again, on a machine that was started as `boot`."""

    t: float
    run: str
    boot: str


@dataclass(frozen=True, slots=True)
class Begin:
    """An attempt at a trial began; what its steps leave behind is in `out`, within the run folder."""

    t: float
    trial: str
    replicate: int
    number: int
    out: str


@dataclass(frozen=True, slots=True)
class Reuse:
    """A trial was measured in an earlier run: its attempt is in this folder too, and its lines follow as they were.

    `block` and `whole_plot` are those of that run's order.
    """

    t: float
    trial: str
    replicate: int
    run: str
    block: int
    whole_plot: int


@dataclass(frozen=True, slots=True)
class Start:
    """A command is about to be started."""

    t: float
    step: str
    out: str


@dataclass(frozen=True, slots=True)
class End:
    """A command ended: 124 = out of time, -N = by signal N."""

    t: float
    step: str
    out: str
    rc: int


@dataclass(frozen=True, slots=True)
class Made:
    """A setup stands."""

    t: float
    key: str
    signature: str


@dataclass(frozen=True, slots=True)
class Altered:
    """A setup that stood as `was` now stands as `signature`."""

    t: float
    key: str
    was: str
    signature: str


@dataclass(frozen=True, slots=True)
class Unmade:
    """A setup is gone."""

    t: float
    key: str
    signature: str


@dataclass(frozen=True, slots=True)
class Commit:
    """Every step of the trial was carried out, and what they left behind is on the disk."""

    t: float
    trial: str
    replicate: int
    out: str


@dataclass(frozen=True, slots=True)
class Fail:
    """A step of the trial, or of a setup that it needs, failed; the step's output is in `out`."""

    t: float
    trial: str
    replicate: int
    out: str
    step: str


@dataclass(frozen=True, slots=True)
class Spare:
    """A trial need not be measured, by what was measured before it (`zlang/run/sequential.py`)."""

    t: float
    trial: str
    replicate: int
    number: int
    why: str


@dataclass(frozen=True, slots=True)
class Finish:
    """All trials are done and nothing that was made is left."""

    t: float


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The run was stopped by a signal, and has tidied up."""

    t: float


Recorded = Session | Reuse | Begin | Start | End | Made | Altered | Unmade | Commit | Fail | Spare | Finish | Interrupt

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
    "spare": Spare,
    "finish": Finish,
    "interrupt": Interrupt,
}


class Verdict(Protocol):
    """What a judge says of a trial: as much of it as those who watch a run need."""

    @property
    def valid(self) -> bool:
        """Whether it counts as a measurement."""

    @property
    def why_not(self) -> str:
        """Why it does not count; empty when it does."""

    @property
    def metrics(self) -> Mapping[str, float]:
        """What was measured."""

    @property
    def latency(self) -> Sequence[Histogram]:
        """How long the operations took."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended: `why_not` is empty when it was measured. There is no verdict if nothing was measured."""

    trial: Trial
    out: Path
    verdict: Verdict | None
    why_not: str


@dataclass(frozen=True, slots=True)
class Left:
    """A setup could not be unmade and is still there."""

    setup: Setup
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


Event = Recorded | Outcome | Left | Ask
