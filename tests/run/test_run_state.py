"""Compare the state of a run with a simple model of its journal, for intact and damaged journals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zlang.run import journal, run_state
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
    Skip,
    Start,
    Unmade,
)
from zlang.run.run_state import RunState


def account(events: Iterable[Recorded]) -> RunState:
    state = RunState()
    for event in events:
        state.apply(event)
    return state


def test_a_run_took_the_time_of_its_sessions() -> None:
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
    assert account(events).seconds == 4 + 3.5


# -- clocks


def attempt(walls: Sequence[float], ups: Sequence[float | None], trial: str = "t") -> list[Recorded]:
    out = f"trials/{trial}/1/a1"
    events: list[Recorded] = [
        Begin(0, trial, 1, 1, out),
        Start(0, "measure", out),
        End(0, "measure", out, 0),
        Commit(0, trial, 1, out),
    ]
    return [replace(event, t=t, up=up) for event, t, up in zip(events, walls, ups, strict=True)]


@pytest.mark.parametrize(
    ("walls", "ups", "elapsed", "moved"),
    [
        ((10, 11, 13, 14), (1, 2, 4, 5), 2, ""),
        ((10, 11, 3613, 3614), (1, 2, 4, 5), 2, "3,600.0 s"),
        ((5000, 5001, 1403, 1404), (1, 2, 4, 5), 2, "3,600.0 s"),
        ((10, 11, 13, 3614), (1, 2, 4, 5), 2, "3,600.0 s"),
        ((10, 11, 3613, 14), (1, 2, 4, 5), 2, "3,600.0 s"),
        ((10, 11, 13.2, 14.2), (1, 2, 4, 5), 2, ""),
        ((10, 11, 13.3, 14.3), (1, 2, 4, 5), 2, "0.3 s"),
        ((10, 11, 3614, 3615), (1, 2, 3602, 3603), 3600, ""),
        ((10, 11, 3613, 3614), (None,) * 4, 3602, ""),
        ((5000, 5001, 1403, 1404), (None,) * 4, -3598, "3,598.0 s"),
    ],
)
def test_durations_are_of_the_monotonic_clock(
    walls: Sequence[float], ups: Sequence[float | None], elapsed: float, moved: str
) -> None:
    state = account([Session(1, "r", "b", up=0), *attempt(walls, ups)])
    window = state.window("trials/t/1/a1", ["measure"])
    assert window == (walls[1], walls[1] + elapsed)
    assert state.steps["trials/t/1/a1"][0].elapsed == elapsed
    why = f"the wall clock was moved by {moved} during the trial" if moved else ""
    assert state.ended["trials/t/1"].problem == why


@pytest.mark.parametrize(("wall", "moved"), [(12.5, ""), (12.2, "0.3 s"), (13.5, "0.5 s"), (3612.5, "3,599.5 s")])
def test_clocks_that_were_read_one_after_the_other_may_differ_by_the_time_between(wall: float, moved: str) -> None:
    """The monotonic clock was read up to 0.5 s after the wall clock."""
    began, start, end, commit = attempt((10, 11, wall, 14), (1, 2, 4, 5))
    state = account([Session(1, "r", "b", up=0), began, start, replace(end, apart=0.5), commit])
    assert state.steps["trials/t/1/a1"][0].elapsed == 2
    why = f"the wall clock was moved by {moved} during the trial" if moved else ""
    assert state.ended["trials/t/1"].problem == why


def test_the_order_is_that_of_the_lines() -> None:
    first, second = attempt((9000, 9001, 9002, 9003), (1, 2, 3, 4), "x"), attempt((10, 11, 12, 13), (5, 6, 7, 8), "y")
    assert account([*first, *second]).positions() == {"trials/x/1": 1, "trials/y/1": 2}


# -- a plain model


def stands(events: Sequence[Recorded]) -> dict[str, tuple[str, str]]:
    """Return the directory and end of the attempt that counts for each trial, chosen from a list of all attempts."""
    by_trial: dict[str, list[tuple[str, str]]] = {}
    for at, event in enumerate(events):
        if isinstance(event, Begin):
            later = events[at + 1 :]
            ends = [
                later_event
                for later_event in later
                if isinstance(later_event, Commit | Fail) and later_event.out == event.out
            ]
            by_trial.setdefault(event.trial, []).append((event.out, type(ends[0]).__name__ if ends else "nothing"))
        elif isinstance(event, Fail) and event.out.startswith("setups/"):
            by_trial.setdefault(event.trial, []).append((event.out, "Fail"))
    chosen = {}
    for trial, attempts in by_trial.items():
        ended = [attempt for attempt in attempts if attempt[1] != "nothing"]
        chosen[trial] = (ended or attempts)[-1]
    return chosen


def ends_of(state: RunState) -> dict[str, tuple[str, str]]:
    """Return the same from the run state; attempts that do not count because of damage are marked."""
    ends = {}
    for attempt in state.attempts.values():
        end = "Commit" if attempt.is_committed else "Fail" if attempt.failed else "nothing"
        ends[attempt.trial] = attempt.out, "damaged" if attempt.problem else end
    return ends


ENDS = ("commit", "commit", "commit", "fail", "setup", "stop", "kill", "skip")


@st.composite
def histories(draw: st.DrawFn) -> list[Recorded]:
    """Generate the events of several sessions of a run, some of which end during an attempt."""
    events: list[Recorded] = []
    tries: dict[str, int] = {}
    clock = 0

    def add(event: Recorded) -> None:
        nonlocal clock
        clock += draw(st.integers(1, 5))
        events.append(replace(event, t=1000.0 + clock, up=float(clock)))

    for _ in range(draw(st.integers(1, 4))):
        add(Session(0, "r", "b"))
        for _ in range(draw(st.integers(0, 5))):
            trial, end = draw(st.sampled_from("abc")), draw(st.sampled_from(ENDS))
            if end == "skip":
                add(Skip(0, trial, 1, 1, "precise"))
                continue
            if end == "setup":
                add(Start(0, "make", "setups/s/a1"))
                add(End(0, "make", "setups/s/a1", 1))
                add(Fail(0, trial, 1, "setups/s/a1", "make"))
                continue
            tries[trial] = tries.get(trial, 0) + 1
            out = f"trials/{trial}/1/a{tries[trial]}"
            add(Begin(0, trial, 1, 1, out))
            add(Start(0, "measure", out))
            if end == "kill":
                break
            add(End(0, "measure", out, 0 if end == "commit" else 1))
            if end == "stop":
                add(Interrupt(0))
                break
            add(Commit(0, trial, 1, out) if end == "commit" else Fail(0, trial, 1, out, "measure"))
    return events


@settings(max_examples=300, deadline=None)
@given(histories())
def test_the_account_is_that_of_a_plain_model(events: list[Recorded]) -> None:
    state = account(events)
    assert ends_of(state) == stands(events)
    carried_out = {attempt.trial for attempt in state.ended.values()}
    assert {event.trial for event in state.skipped.values()} == {
        event.trial for event in events if isinstance(event, Skip) and event.trial not in carried_out
    }


FAULTS = ("lose", "double", "swap", "flip", "zero", "junk", "insert", "join", "cut")


def damaged(lines: list[bytes], fault: str, at: int, amount: int) -> list[bytes]:
    """Return the lines of a journal after damage at a line, for the given number of lines or bits."""
    at %= len(lines)
    some = 1 + amount % 3
    line = lines[at]
    bit = amount % (8 * len(line))
    flipped = line[: bit // 8] + bytes([line[bit // 8] ^ 1 << bit % 8]) + line[bit // 8 + 1 :]
    other = lines[amount % len(lines)]
    match fault:
        case "lose":
            return lines[:at] + lines[at + some :]
        case "double":
            return [*lines[: at + 1], *lines[at : at + some], *lines[at + 1 :]]
        case "swap":
            return [*lines[:at], *lines[at + some : at + some + 1], *lines[at : at + some], *lines[at + some + 1 :]]
        case "flip":
            return [*lines[:at], flipped, *lines[at + 1 :]]
        case "zero":
            return [*lines[:at], bytes(len(line)), *lines[at + 1 :]]
        case "junk":
            return [*lines[:at], b"\xff{\x00}\n", *lines[at + 1 :]]
        case "insert":
            return [*lines[:at], other, *lines[at:]]
        case "join":
            return [*lines[:at], line[:-1], *lines[at + 1 :]]
        case _:
            return [*lines[:at], line[: 1 + amount % (len(line) - 1)]] if len(line) > 1 else lines[:at]


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    histories(),
    st.lists(st.tuples(st.sampled_from(FAULTS), st.integers(0, 99), st.integers(0, 9999)), min_size=1, max_size=3),
)
def test_damage_never_makes_another_trial_count(
    tmp_path: Path, events: list[Recorded], faults: list[tuple[str, int, int]]
) -> None:
    lines = [journal.encode(event, number) for number, event in enumerate(events, 1)]
    for fault, at, amount in faults:
        lines = damaged(lines, fault, at, amount) if lines else lines
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(lines))
    state = run_state.read(path)
    # What was cut off the end was never written, as far as anybody can tell; and a setup that failed leaves no
    # directory at its trial.
    kept = [event for event in events[: state.number] if not (isinstance(event, Fail) and event.out[:6] == "setups")]
    truth = stands(kept)
    outs = {event.out for event in kept if isinstance(event, Begin)}
    for place, attempt in state.attempts.items():
        is_lost = state.gaps and any(out.startswith(f"{place}/") and out not in state.outs for out in outs)
        if attempt.is_committed and not attempt.problem and not is_lost:
            assert truth[attempt.trial] == (attempt.out, "Commit")
            assert state.window(attempt.out, ["measure"]) == account(kept).window(attempt.out, ["measure"])
    if [line for line in lines if line.strip()] != [journal.encode(event, n) for n, event in enumerate(events, 1)]:
        is_only_unended = b"".join(lines).endswith(b"}")
        assert state.gaps or state.torn or state.number < len(events) or is_only_unended


def test_setups_of_a_trial_are_identified_by_their_creation() -> None:
    state = RunState()

    def stood(*events: Recorded) -> dict[str, int]:
        out = f"trials/t/1/a{len(state.setups_of_attempts) + 1}"
        for event in (*events, Begin(1.0, "t", 1, 1, out)):
            state.apply(event)
        return state.setups_of_attempts[out]

    assert stood() == {}
    assert stood(Made(1.0, "pool", "p"), Made(1.0, "data", "d")) == {"p": 1, "d": 2}
    assert stood(Unmade(1.0, "data", "d"), Made(1.0, "data", "d")) == {"p": 1, "d": 3}
    assert stood(Altered(1.0, "pool", "p", "q")) == {"q": 1, "d": 3}
    assert stood(Unmade(1.0, "pool", "q")) == {"d": 3}


# -- queries of a run state

OUT = "trials/t/1/a1"


def test_sessions_and_plan_of_a_run() -> None:
    state = account([
        Session(7, "first", "b", "plan-1", "node-1"),
        Session(9, "second", "b", "plan-2", "node-2"),
        Session(8, "third", "b", "", "node-3"),
    ])  # fmt: skip
    assert (state.run, state.sessions, state.first, state.last_session) == ("first", 3, 7, 9)
    assert (state.node, state.plans) == ("node-3", {"plan-1", "plan-2"})


def test_a_window_covers_the_requested_steps_that_ended() -> None:
    events: list[Recorded] = [
        Start(10, "look", OUT),
        End(20, "look", OUT, 0),
        Start(30, "measure", OUT, 5),
        End(40, "measure", OUT, 0),
        Start(50, "again", OUT),
    ]
    state = account(events)
    assert state.window(OUT, ["measure", "again"]) == (35, 45)
    assert state.window(OUT, ["again"]) is None
    assert state.window("elsewhere", ["measure"]) is None
    assert state.step(OUT, "verify") is None
    assert [step.position for step in state.steps[OUT]] == [1, 2, 3]


def test_attempts_are_numbered_in_the_order_in_which_they_began() -> None:
    ended = attempt((1, 2, 3, 4), (1, 2, 3, 4), "x")
    state = account([*ended, Begin(5, "y", 1, 1, "trials/y/1/a1")])
    assert [attempt.position for attempt in state.attempts.values()] == [2, 1]
    assert state.positions() == {"trials/x/1": 1, "trials/y/1": 2}


def test_reasons_for_an_unfinished_attempt() -> None:
    state = account([Session(1, "r", "b"), Begin(2, "t", 1, 1, OUT)])
    assert state.attempts["trials/t/1"].unended == run_state.NOT_ENDED
    state.apply(Interrupt(3))
    assert state.attempts["trials/t/1"].unended == run_state.INTERRUPTED


def test_reused_and_skipped_trials() -> None:
    reuse, skip = Reuse(1, "a", 1, "earlier", 1, 1), Skip(2, "b", 1, 1, "precise")
    state = account([reuse, skip, *attempt((3, 4, 5, 6), (3, 4, 5, 6), "c"), Skip(7, "c", 1, 1, "precise")])
    assert state.reused == {"trials/a/1": reuse}
    assert state.skipped == {"trials/b/1": skip}
    assert (state.done, state.carried_out) == (2, 1)


def test_an_end_without_a_beginning() -> None:
    state = account([
        Fail(1, "a", 1, "trials/a/1/a1", "measure"),
        Commit(2, "b", 1, "setups/s/a1"),
        Fail(3, "c", 1, "setups/s/a1", "make"),
        End(4, "measure", OUT, 0),
        Unmade(5, "k", "s"),
    ])  # fmt: skip
    problems = {attempt.trial: attempt.problem for attempt in state.ended.values()}
    assert problems == {"a": run_state.NOT_STARTED, "b": run_state.NOT_STARTED, "c": ""}


def test_an_attempt_of_which_a_line_is_missing_ended_with_that_line(tmp_path: Path) -> None:
    began, *others = attempt((1, 2, 3, 4), (1, 2, 3, 4))
    path = tmp_path / "journal.jsonl"
    lines = [journal.encode(event, number) for number, event in enumerate((began, *others), 1)]
    path.write_bytes(b"".join([lines[0], *lines[2:]]))
    (ended,) = run_state.read(path).ended.values()
    assert ended.problem.startswith("its part of the journal is damaged: ")


def test_the_manual_step_for_which_a_run_waits() -> None:
    waiting, stopped = Start(2, "ask-s", "setups/s/a1"), Interrupt(3)
    assert account([waiting, stopped]).waits_for == ("ask-s", "setups/s")
    assert account([stopped]).waits_for is None
    assert account([waiting, End(2, "ask-s", "setups/s/a1", 0), stopped]).waits_for is None
    assert account([waiting, stopped, Session(4, "r", "b")]).waits_for is None
    assert account([waiting, Session(4, "r", "b"), stopped]).waits_for is None


def test_imported_results_have_the_setups_of_the_run() -> None:
    """External results are another attempt, after everything was removed."""
    made, gone = Made(1.0, "data", "d"), Unmade(4.0, "data", "d")
    state = account([made, Begin(2.0, "t", 1, 1, OUT), Commit(3.0, "t", 1, OUT, ""), gone])
    later = OUT.replace("a1", "a2")
    state.apply(Begin(5.0, "t", 1, 1, later))
    assert state.setups_of_attempts[later] == state.setups_of_attempts[OUT] == {"d": 1}


def test_facts_come_from_successful_steps() -> None:
    ends = [End(1, "uname", "facts", 0, "hash"), End(1, "lsblk", "facts", 1, "hash"), End(1, "measure", OUT, 0, "hash")]
    assert account(ends).facts == {"uname": "hash"}


def test_leftovers_are_known_without_their_first_events() -> None:
    state = account([Made(1, "k", "s"), Made(2, "k", "s"), Start(3, "make", "setups/t/odd"), Begin(4, "t", 1, 1, OUT)])
    assert state.leftovers == {"s": "", "t": "setups/t/odd"}
    assert state.setup_attempts == {"t": 0}
    assert state.setups_of_attempts[OUT] == {"s": 2}
