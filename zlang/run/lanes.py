"""Lanes, which are machines that work at the same time: a plan -> lanes; and the single thread that drives their work.

Rules: machines that take part in one trial, or share a resource, belong to one lane. A lane carries out one trial at a
time, in the planned order. This module starts no steps: the work of a lane starts them, and yields each to be waited
for.
"""

from __future__ import annotations

import select
import time
from collections.abc import Collection, Container, Generator, Mapping, Sequence
from dataclasses import dataclass

from zlang.hints import Protocol, TypeVar
from zlang.plan.plan import LOCAL, Action, Plan, Setup, Step, Trial
from zlang.run.events import Event
from zlang.run.executor import Handle
from zlang.run.stop import Stop

_SHARED = " "
"""The prefix of shared resources in sets of machines; no name of a machine begins with it."""
_DAY = 86_400  # poll(2) takes at most 24 of them


@dataclass(slots=True, eq=False)
class Waiting:
    """Steps of which at least one has to end before their lane continues."""

    handles: Sequence[Handle]
    over: Collection[Handle] = ()
    """Those that have ended, timed out or are to be stopped, when the lane continues."""


class Written:
    """Output that has to be on the disk before its lane continues."""


class Disk(Protocol):
    """The files that all lanes write. One wait serves all lanes that have written something."""

    is_behind: bool
    """Whether something has to be on the disk before the lane that wrote it continues."""

    def wait(self) -> None:
        """Wait until everything is on the disk."""


class LaneEnded(Exception):
    """A lane cannot continue; the others do."""


T = TypeVar("T")
Doing = Generator[Event | Waiting | Written, None, T]
"""Work of a lane with a result: it yields events, and the steps and the output that it waits for."""
Work = Generator[Event | Waiting | Written, None, None]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The places of the trials that a lane does not carry out: those `done`, and those of points that it has not."""

    done: Container[str]
    points: Container[str]

    def __contains__(self, place: object) -> bool:
        """Whether a trial is not to be carried out in the lane."""
        return place in self.done or str(place).split("/")[1] not in self.points


def of(plan: Plan) -> list[frozenset[str]]:
    """The machines of each lane, in the order of their first trials. Without machines there is one lane."""
    return [machines for machines, _ in divide(plan)]


def divide(plan: Plan) -> list[tuple[frozenset[str], set[str]]]:
    """The machines of each lane, and the identities of the points that it measures."""
    if not plan.header.machines:
        return [(frozenset(), set())]
    lanes: list[set[str]] = []
    setups: dict[str, set[str]] = {}
    points: dict[str, str] = {}
    """A machine of each point."""
    shared = plan.header.shared
    for item in plan.items():
        if isinstance(item, Setup):
            setups[item.signature] = hosts_of_setup(item)
        else:
            own = hosts_of_trial(item)
            points[item.identity] = min(own, default="")
            together = own.union(*(setups.get(signature, set()) for signature in item.setups))
            together |= {_SHARED + shared[host] for host in together if host in shared}
            joined = [lane for lane in lanes if lane & together]
            first = joined[0] if joined else set[str]()
            if not joined:
                lanes.append(first)
            first |= together.union(*joined)
            lanes = [lane for lane in lanes if lane is first or not lane & first]
    result = [(frozenset(name for name in lane if not name.startswith(_SHARED)), set[str]()) for lane in lanes]
    for point, machine in points.items():
        _, own_points = next((lane for lane in result if machine in lane[0]), result[0])
        own_points.add(point)
    return result or [(frozenset(), set())]


def hosts_of_setup(setup: Setup) -> set[str]:
    """The machines on which a setup is made, changed and removed."""
    settings = (step for setting in setup.settings for step in setting.steps)
    return _hosts((*setup.make, *setup.unmake, *settings))


def hosts_of_trial(trial: Trial) -> set[str]:
    """The machines on which the steps of a trial run."""
    return _hosts(trial.steps)


def _hosts(steps: Sequence[Step]) -> set[str]:
    """The machines of some steps, including manual steps on them; other manual steps belong to no machine."""
    return {step.host for step in steps if step.action is not Action.ASK or step.host != LOCAL}


def drive(works: Sequence[Work], stop: Stop, disk: Disk, most: int = 0) -> Generator[Event, None, list[LaneEnded]]:
    """Advance up to `most` lanes at a time until all have ended; yield their events.

    Returns the reasons why lanes ended early. Raises as `side_by_side`.
    """
    lanes = side_by_side(works, stop, disk, most)
    while True:
        try:
            item = next(lanes)
        except StopIteration as end:
            return [result for result in end.value if isinstance(result, LaneEnded)]
        if isinstance(item, Waiting):
            item.over = _over(item.handles, stop)
        else:
            yield item


def side_by_side(
    works: Sequence[Doing[T]], stop: Stop, disk: Disk, most: int = 0
) -> Generator[Event | Waiting, None, list[T | LaneEnded]]:
    """Advance up to `most` works at a time, each whenever a step that it waits for has ended; return their results.

    An event is yielded, and its work continues, when what was written before it is on the disk. A work that ended early
    has the reason as its result. An exception in one work ends all others at once, unless the run is to stop; every
    work is told of that.
    """
    begun = min(most or len(works), len(works))
    ready = list(range(begun))
    waiting: dict[int, Waiting] = {}
    written: dict[int, Event | Written] = {}
    results: dict[int, T | LaneEnded] = {}
    stopped: list[Exception] = []
    try:
        while ready or waiting or written:
            index = ready.pop(0) if ready else -1
            if index < 0 and written:
                disk.wait()
                ready, items = list(written), list(written.values())
                written.clear()
                yield from (item for item in items if not isinstance(item, Written))
                continue
            if index < 0:
                ready = yield from _ready(waiting)
                continue
            waiting.pop(index, None)
            item = _advance(index, works[index], stop, results, stopped)
            if isinstance(item, Waiting):
                waiting[index] = item
            elif item is not None and (disk.is_behind or isinstance(item, Written)):
                written[index] = item
            elif item is not None:
                ready.insert(0, index)
                yield item
            elif begun < len(works) and not stopped:
                ready.append(begun)
                begun += 1
    except BaseException:
        for work in works:
            work.close()
        raise
    if stopped:
        raise stopped[0]
    return [results[index] for index in range(len(works))]


def _advance(
    index: int, work: Doing[T], stop: Stop, results: dict[int, T | LaneEnded], stopped: list[Exception]
) -> Event | Waiting | Written | None:
    """The next item of a work; None if it has ended, with its result in `results`, or because the run is to stop."""
    try:
        return next(work)
    except StopIteration as end:
        results[index] = end.value
    except LaneEnded as error:
        results[index] = error
    except Exception as error:
        if not stop.pending:
            raise
        stopped.append(error)
    return None


def _ready(waiting: Mapping[int, Waiting]) -> Generator[Waiting, None, list[int]]:
    """Wait for a step; return the numbers of the works that can continue."""
    item = Waiting([handle for each in waiting.values() for handle in each.handles])
    yield item
    for each in waiting.values():
        each.over = [handle for handle in each.handles if handle in item.over]
    return [index for index, each in waiting.items() if each.over]


def _over(handles: Sequence[Handle], stop: Stop) -> Sequence[Handle]:
    """Sleep until a step ends, times out or the run is to stop; return the steps for which nothing has to wait."""
    poll = select.poll()
    for handle in handles:
        poll.register(handle.fileno(), select.POLLIN)
    poll.register(stop.fileno(), select.POLLIN)
    while True:
        now = time.monotonic()
        late = [handle for handle in handles if handle.deadline <= now]
        if late:
            return late
        pause = min(min(handle.deadline for handle in handles) - now, _DAY)
        readable = {descriptor for descriptor, _ in poll.poll(max(0.0, pause) * 1000)}
        if stop.fileno() in readable:
            if stop.pending:
                for handle in handles:
                    handle.ask_to_stop()  # all machines are told at once
                return handles
            stop.drain()
        result = [handle for handle in handles if handle.fileno() in readable]
        if result:
            return result
