"""The plan: a stream of items in the order of execution.

Out: `Header`, then `Setup` and `Trial` items; a `Setup` comes before the first trial that needs it. Rule: an item is
plain data and holds the full shell text of every command, so the printed plan, the emitted script and the runner cannot
differ.

Commands are run by `sh -c` in the directory from which the run was started, with three variables in the environment:
`RUN` (the run's name, `[a-z0-9-]+`), `OUT` (the absolute directory for the output of this step) and `CDPATH` (empty).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from enum import StrEnum

from zlang.check.questions import AnyExpectation, Plot, Search, Table, Until
from zlang.frozen import field, frozen, replace
from zlang.metrics import Metric
from zlang.space import bisection

ROOT = "root"
"""The entry among the tools of a plan that must be run by root."""

LOCAL = "local"
"""The host of a step that runs on the machine that carries the plan out."""
COUNTED = "counted-"
"""The prefix of steps that print how many bytes a resource has read; their names end in `-before` or `-after`."""
EACH = "each"
"""The argument of a collector's readers, if several machines have it: the collector's number in the trial."""
ALONE = "stream"
"""The trait of a trial with one stream, or with copies of one: the name of the stream in trials with several."""
CLOCKS = "clocks"
"""The file of an attempt with the leads of its machines' clocks over ours: `STEP SECONDS ERROR` a line."""
Here = str | frozenset[str] | None
"""The machine that carries a plan out, or the machines that are reached from one place; None for a plan of several."""
Scalar = str | int | float | bool | None
"""A factor's level as it is stored: sizes in bytes, durations in seconds, rates per second, shares in percent."""


class Action(StrEnum):
    """The purpose of a step, in the order of a trial's protocol."""

    FACT = "fact"
    ASK = "ask"
    GUARD = "guard"
    PREPARE = "prepare"
    FLUSH = "flush"
    WARM = "warm"
    VERIFY = "verify"
    COLLECT = "collect"
    MEASURE = "measure"
    TIDY = "tidy"


@frozen
class Reader:
    """The reader that turns an artefact of a tool into metrics, samples, or reasons why nothing was measured."""

    name: str
    artefact: str
    args: Mapping[str, object]


@frozen
class Step:
    """One command. Its standard output and error are kept as `NAME.out` and `NAME.err` in its `OUT` directory.

    `expect` is what standard output, stripped, must be for the step's claim to hold (a cold cache, a property in
    force). zlang never executes an `ASK` step: `why` is what a person has to do before the run goes on (for a removal
    the person is only informed), and `command` is what they can type for it, on the machine that `why` names. If it has
    `expect`, the person confirms the claim. A `COLLECT` step runs in the background until the measurement is over, or
    in a setup until the last step of the setup is.
    """

    name: str
    action: Action
    command: str
    why: str
    timeout: int
    host: str = LOCAL
    expect: str | None = None
    reader: Reader | None = None


@frozen
class Setting:
    """A value of a property that can be set while its resource exists.

    `rewrites` if it affects only data written later, so that everything on the resource is laid out again. `value` is
    in canonical form; it is empty in plans of earlier releases.
    """

    name: str
    steps: tuple[Step, ...]
    rewrites: bool
    value: str = ""

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that set it."""
        return tuple(step.command for step in self.steps)


@frozen
class Footprint:
    """The demands of a step on the machine; None where its kind does not state one.

    `device` is the lowest resource, `written` the bytes written to it, `rate` its stated bandwidth in bytes per second,
    `seconds` the duration that the step states itself, and `space` the bytes that it occupies on the device.
    """

    device: str
    written: int | None
    rate: float | None = None
    seconds: float | None = None
    space: int | None = None


@frozen
class Fetch:
    """The bytes that a load must read from devices while none of its data are cached.

    At least `share` of all bytes that it reads, up to `most` bytes: later reads of the same data may be cached.
    """

    share: float
    most: float


@frozen
class Device:
    """The lowest device: its place, and how many bytes one experiment may write to it."""

    name: str
    place: str
    endurance: int | None


@frozen
class Setup:
    """A resource in one state, with the steps that make and remove it.

    `signature` identifies the state and the states of everything beneath it. `key` identifies the resource; two setups
    with one key never exist at once. `parent` is the key of the resource beneath it, and `parts` are the keys of others
    beneath it. Setups with one `base` are one resource in states between which its `settings` switch; without a base it
    is made again for each state. A setup that `is_ambient` affects more than what is built on it, so it is removed
    where a trial does not need it. A setup that `is_place` is the same when it is made again.
    """

    signature: str
    key: str
    parent: str | None
    creates: str
    make: tuple[Step, ...]
    unmake: tuple[Step, ...]
    base: str | None = None
    settings: tuple[Setting, ...] = ()
    is_ambient: bool = False
    is_place: bool = False
    footprint: Footprint | None = None
    parts: tuple[str, ...] = ()

    @property
    def is_a_unit(self) -> bool:
        """Whether making it again may change what is measured on it, so that each making is one unit of a sample."""
        return bool(self.creates) and not self.is_ambient and not self.is_place

    @property
    def beneath(self) -> tuple[str, ...]:
        """The keys of everything directly beneath it."""
        return (*self.parts, *([self.parent] if self.parent is not None else []))


@frozen
class Trial:
    """One measurement: a point of the space, one replicate of it, and its position in the order.

    `identity` identifies the point (not the replicate). `cache` is the cache protocol, and `cache_state` the state that
    it verifies (`cold`, `hot` …; `as_is` if it verifies nothing). `setups` are the signatures needed, parents first.
    `invalidates` has the keys of the resources that the measurement changes: they are made again before the next use.
    `host` is the machine that carries the trial out, if it has a name. Consecutive trials with the same levels of all
    hard-to-change factors are one `whole_plot`. `traits` are those of the workload and of everything below it by which
    results are judged. `fetch` is what a cold trial must read from devices, if known. It `follows` so many trials whose
    changes to the data it finds: those just before it in the plan. `history` is their hash, and `keeps` has the keys of
    the resources that the next trial finds as this one leaves them.
    """

    number: int
    identity: str
    replicate: int
    block: int
    factors: Mapping[str, Scalar]
    cache: str
    cache_state: str
    setups: tuple[str, ...]
    invalidates: tuple[str, ...]
    steps: tuple[Step, ...]
    host: str = ""
    whole_plot: int = 0
    traits: Mapping[str, Scalar] = field(default_factory=dict)
    footprint: Footprint | None = None
    fetch: Fetch | None = None
    follows: int = 0
    history: str = ""
    keeps: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The directory of this trial's attempts within a run folder."""
        return trial_place(self.identity, self.replicate)


def trial_place(identity: str, replicate: int) -> str:
    """The directory of the attempts at one replicate of a point, within a run folder."""
    return f"trials/{identity}/{replicate}"


@frozen
class Factor:
    """A column: its shortest unique name, its full path, its type and (if there are few) its levels."""

    name: str
    path: str
    type: str
    levels: tuple[Scalar, ...]
    count: int


@frozen
class Guarded:
    """A device that the run did not make and writes to: its kind, the names by which it is armed, and its guards.

    With `ZLANG_LOOK` in their environment the steps change nothing: they print the content of the device, and fail with
    a reason if something prevents writing to it.
    """

    what: str
    names: tuple[str, ...]
    steps: tuple[Step, ...]


@frozen
class Finding:
    """A finding of a rule about the experiment, at `FILE:LINE:COLUMN`.

    `allowed` is the reason for which the program allows it; else it is empty.
    """

    code: str
    name: str
    severity: str
    message: str
    hint: str
    place: str
    allowed: str


@frozen
class Header:
    """The header of a plan. `plan` is the hash of everything that determines it, seed included.

    A plan for several `hosts` is carried out in parts: `part` is the host whose trials these are (empty: all hosts).
    The `design` takes `points` of the space, and leaves others out. `whole_plot_factors` are the names of the
    hard-to-change factors, by which the `order` groups trials. Each point is measured `repeat` times, or fewer if
    `until` says so, or down to `least_repeat` times if points differ. The plan has every level of a `search`, of which
    a run measures few. `expectations`, `tables` and `plots` are what the experiment wants to know of its results;
    `findings` are what the rules about measurements report, including what is allowed. `settings` are the values of
    `--set` and `--profile`. `metrics` are those that its readers declare, with type, unit and direction: all that a
    trial can have. `machines` are the hosts reached from the machine that runs the plan, each with the tools that it
    needs; each step names its own. `shared` is what some of them share, such as a switch: machines that share it work
    one at a time. `groups` has the group of each machine that is a member of one. On kept data there are several
    `passes` over the points.
    """

    experiment: str
    title: str
    plan: str
    seed: int
    points: int
    repeat: int
    trials: int
    factors: tuple[Factor, ...]
    sources: Mapping[str, str]
    facts: tuple[Step, ...]
    tools: Mapping[str, str]
    design: str = "full"
    left_out: int = 0
    format: int = 2
    expectations: tuple[AnyExpectation, ...] = ()
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    hosts: tuple[str, ...] = ()
    part: str = ""
    guarded: tuple[Guarded, ...] = ()
    findings: tuple[Finding, ...] = ()
    order: str = "planned"
    whole_plot_factors: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    until: Until | None = None
    search: Search | None = None
    metrics: tuple[Metric, ...] = ()
    machines: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    shared: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    least_repeat: int = 0
    passes: int = 1

    def limited_to(self, part: str, trials: int) -> Header:
        """The header of a part of the plan."""
        return replace(self, part=part, trials=trials)

    @property
    def at_most(self) -> int:
        """The largest number of trials that are carried out: a search does not need all."""
        if self.search is None:
            return self.trials
        return self.trials // self.search.levels * len(bisection.longest(self.search.levels))

    @property
    def armed(self) -> tuple[str, ...]:
        """The names of everything that is written to and that the run did not make, each once."""
        return tuple(dict.fromkeys(name for item in self.guarded for name in item.names))

    @property
    def is_sequential(self) -> bool:
        """Whether the results decide, during the run, which of the trials are needed."""
        return self.until is not None or self.search is not None

    @property
    def counts(self) -> str:
        """The numbers of points, replicates and trials, in words."""
        parts = [f"{self.points:,} point{'s' if self.points != 1 else ''}"]
        if self.left_out:
            parts = [f"{self.points:,} of {self.points + self.left_out:,} points ({self.design})"]
        if self.search is not None:
            most = len(bisection.longest(self.search.levels))
            parts.append(f"at most {most:,} of {self.search.levels:,} levels of {self.search.factor}")
        if self.passes > 1:
            parts.append(f"{self.passes:,} passes on the same data")
        if self.until is not None:
            parts.append(f"{self.until.least:,} to {self.repeat:,} replicates (until {self.until.text})")
        elif self.search is not None and self.search.least:
            parts.append(f"{self.search.least:,} to {self.repeat:,} replicates (until the condition is decided)")
        elif self.least_repeat:
            parts.append(f"{self.least_repeat:,} to {self.repeat:,} replicates")
        elif self.repeat > 1:
            parts.append(f"{self.repeat:,} replicates")
        some = "at most " if self.is_sequential else ""
        return f"{' × '.join(parts)} = {some}{self.at_most:,} trial{'s' if self.at_most != 1 else ''}"


@frozen
class Plan:
    """The header, and a function that yields the items: each call of `items` begins a fresh stream.

    If the plan is read from a file, `unread` yields them without the trials at some places: those whose data no other
    trial finds.
    """

    header: Header
    items: Callable[[], Iterator[Setup | Trial]]
    unread: Callable[[Container[str]], Iterator[Setup | Trial]] | None = None

    def remaining(self, done: Container[str]) -> Iterator[Setup | Trial]:
        """The items; trials at the places that are done may be left out, if that saves reading them."""
        return self.items() if self.unread is None else self.unread(done)
