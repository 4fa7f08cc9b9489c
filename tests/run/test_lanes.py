"""Test the thread that drives lanes."""

from __future__ import annotations

from zlang.run import lanes
from zlang.run.events import Finish
from zlang.run.lanes import Written
from zlang.run.stop import Stop


class FakeDisk:
    """Recorder of waits among what else happens."""

    def __init__(self) -> None:
        self.is_behind = False
        self.order: list[str] = []

    def wait(self) -> None:
        self.is_behind = False
        self.order.append("wait")


def test_one_wait_for_the_disk_serves_all_lanes() -> None:
    disk = FakeDisk()

    def work(lane: str) -> lanes.Work:
        disk.order.append(f"{lane} writes output")
        yield Written()
        disk.order.append(f"{lane} commits")
        disk.is_behind = True
        yield Finish(1.0)
        disk.order.append(f"{lane} goes on")
        yield Finish(2.0)

    with Stop() as stop:
        for event in lanes.drive([work("a"), work("b")], stop, disk):
            disk.order.append(f"event {event.t:.0f}")  # type: ignore[union-attr]
    assert disk.order == [
        *("a writes output", "b writes output", "wait", "a commits", "b commits", "wait", "event 1", "event 1"),
        *("a goes on", "event 2", "b goes on", "event 2"),
    ]
