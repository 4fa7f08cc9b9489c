"""What a journal says happened."""

from __future__ import annotations

from zlang.run.events import Begin, Commit, End, Finish, Interrupt, Recorded, Reuse, Session, Start
from zlang.store import outcomes


def test_a_run_took_what_its_sessions_took() -> None:
    events: list[Recorded] = [
        Reuse(50, "a", 1, "earlier", 1, 1),
        Begin(1, "a", 1, 1, "a/1"),
        Start(2, "measure", "a/1"),
        End(9, "measure", "a/1", 0),
        Commit(10, "a", 1, "a/1"),
        Session(100, "r", "boot"),
        Start(101, "measure", "b/1"),
        Interrupt(104),
        Session(1000, "r", "boot"),
        Start(1001, "measure", "b/2"),
        End(1003, "measure", "b/2", 0),
        Finish(1003.5),
    ]
    assert outcomes.follow(events).seconds == 4 + 3.5
