"""Test the order in which a run's commands are carried out, and the journal entries for them."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from run_fakes import (
    FakeExecutor,
    FakeHandle,
    Opinion,
    Signals,
    approve,
    fake_run,
    new_folder,
    plan,
    setup,
    step,
    ticking,
    trial,
)

from zlang.errors import RunError
from zlang.files import Place
from zlang.plan import wire
from zlang.plan.plan import Action, Plan, Reader, Setting, Setup, Step, Trial
from zlang.run import directories, hashes, journal, machine, run_state, runner, seal, trials
from zlang.run.account import Account
from zlang.run.events import (
    Altered,
    Ask,
    Begin,
    Commit,
    End,
    Event,
    Fail,
    Finish,
    Interrupt,
    LeftBehind,
    Made,
    Next,
    Outcome,
    Recorded,
    Session,
    Start,
)
from zlang.run.executor import LOST, Handle
from zlang.run.folder import Folder
from zlang.run.held_directory import HeldDirectory
from zlang.run.runner import Selection
from zlang.run.stop import Interrupted

FULL = (
    step("flush", Action.FLUSH),
    step("verify", Action.VERIFY),
    step("vmstat", Action.COLLECT),
    step("iostat", Action.COLLECT),
    step("measure"),
)


def carry_out(at: Path, plan: Plan, **faults: int) -> tuple[FakeExecutor, list[Event], Folder]:
    folder = new_folder(at, plan)
    executor = FakeExecutor(codes={name.replace("_", "-"): code for name, code in faults.items()})
    return executor, list(fake_run(folder, executor)), folder


def outcomes(events: list[Event]) -> list[str]:
    return [event.why_not for event in events if isinstance(event, Outcome)]


def test_the_protocol_of_a_trial(tmp_path: Path) -> None:
    facts = [step("uname", Action.FACT)]
    executor, events, folder = carry_out(tmp_path, plan(setup("s", "k"), trial(1, ["s"], FULL), facts=facts))
    collected = ["vmstat &", "iostat &", "measure", "stop iostat", "stop vmstat"]
    assert executor.order == ["uname", "make-s", "flush", "verify", *collected, "unmake-s"]
    assert isinstance(events[-1], Finish)
    assert outcomes(events) == [""]
    assert list(journal.Lines(folder.journal)) == [event for event in events if not isinstance(event, Next | Outcome)]


def test_two_states_of_one_key_and_staleness(tmp_path: Path) -> None:
    a, b = setup("a", "k"), setup("b", "k")
    trials = [trial(1, "a"), trial(2, "a", invalidates=["k"]), trial(3, "a"), trial(4, "b"), trial(5, "a")]
    executor, _, _ = carry_out(tmp_path, plan(a, trials[0], trials[1], trials[2], b, *trials[3:]))
    assert executor.order == [
        *("make-a", "measure", "measure", "unmake-a"),
        *("make-a", "measure", "unmake-a"),
        *("make-b", "measure", "unmake-b"),
        *("make-a", "measure", "unmake-a"),
    ]


def test_children_are_destroyed_before_parents(tmp_path: Path) -> None:
    items = (setup("p", "pool"), setup("d", "data", "pool"), trial(1, "pd", invalidates=["pool"]), trial(2, "pd"))
    executor, _, _ = carry_out(tmp_path, plan(*items))
    once = ["make-p", "make-d", "measure", "unmake-d", "unmake-p"]
    assert executor.order == once * 2


def test_a_failed_create_is_destroyed_and_the_next_trial_runs(tmp_path: Path) -> None:
    items = (setup("p", "pool"), setup("d", "data", "pool"), trial(1, "pd"), trial(2, "p"))
    executor, events, _ = carry_out(tmp_path, plan(*items), make_d=3)
    assert executor.order == ["make-p", "make-d", "unmake-d", "measure", "unmake-p"]
    assert outcomes(events) == ["make-d: exited with 3", ""]
    assert [(event.out, event.step) for event in events if isinstance(event, Fail)] == [("setups/d/a1", "make-d")]
    assert [event.number for event in events if isinstance(event, Begin)] == [2]
    assert isinstance(events[-1], Finish)


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("flush", ["flush", "next"]),
        ("verify", ["flush", "verify", "next"]),
        ("measure", ["flush", "verify", "vmstat &", "iostat &", "measure", "stop iostat", "stop vmstat", "next"]),
    ],
)
def test_a_failing_step_fails_its_trial_only(tmp_path: Path, name: str, order: list[str]) -> None:
    items = (trial(1, steps=FULL), trial(2, steps=[step("next")]))
    executor, events, folder = carry_out(tmp_path, plan(*items), **{name: 7})
    assert executor.order == order
    assert outcomes(events) == [f"{name}: exited with 7", ""]
    failed = run_state.read(folder.journal).ended["trials/t1/1"].failed
    assert failed is not None
    assert failed.step == name


def test_a_failed_destroy_is_reported_and_repeated_and_its_parent_kept(tmp_path: Path) -> None:
    items = (setup("p", "pool"), setup("d", "data", "pool"), trial(1, "pd"))
    executor, events, folder = carry_out(tmp_path, plan(*items), unmake_d=1)
    assert executor.order == ["make-p", "make-d", "measure", "unmake-d"]
    assert events[-1] == LeftBehind("data", folder.path / "setups/d/a1", "unmake-d: exited with 1")
    again = FakeExecutor()
    assert isinstance(list(fake_run(folder, again))[-1], Finish)
    assert again.order == ["unmake-d", "unmake-p"]
    assert sorted(path.name for path in (folder.path / "setups/d").iterdir()) == ["a1", "a2"]


def test_a_failed_destroy_between_trials_fails_the_trial(tmp_path: Path) -> None:
    items = (setup("a", "k"), trial(1, "a"), setup("b", "k"), trial(2, "b"), trial(3))
    executor, events, _ = carry_out(tmp_path, plan(*items), unmake_a=1)
    assert outcomes(events) == ["", "unmake-a: exited with 1", ""]
    assert "make-b" not in executor.order


def test_an_interrupt_cleans_up_and_resume_continues_with_the_trial(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(setup("s", "k"), trial(1, "s"), trial(2, "s", FULL)))
    executor = FakeExecutor(codes={}, during={"flush": lambda stop: stop.request(signal.SIGTERM)})
    events: list[Event] = []
    with pytest.raises(Interrupted) as stopped:
        events.extend(fake_run(folder, executor))
    assert stopped.value.exit_code == 143
    assert executor.order == ["make-s", "measure", "flush", "unmake-s"]
    assert executor.forgotten == 1
    state = run_state.read(folder.journal)
    assert isinstance(state.last, Interrupt)
    assert (state.done, state.leftovers) == (1, {})
    again = FakeExecutor()
    list(fake_run(folder, again))
    assert again.order[:2] == ["make-s", "flush"]
    assert again.order[-1] == "unmake-s"
    assert (folder.path / "trials/t2/1/a2").is_dir()


def altered_plan() -> Plan:
    def state(name: str) -> Setup:
        setting = Setting("sync", (step(f"set-{name}", Action.PREPARE),), rewrites=False)
        return replace(setup(name, "pool"), base="b", settings=(setting,))

    return plan(*(state("p"), setup("d", "data", "pool"), trial(1, "pd"), state("q"), trial(2, "qd"), trial(3, "pd")))


def test_a_change_keeps_the_resource(tmp_path: Path) -> None:
    executor, events, folder = carry_out(tmp_path, altered_plan())
    once = ["make-p", "make-d", "measure", "set-q", "measure", "set-p", "measure"]
    assert executor.order == [*once, "unmake-d", "unmake-p"]
    assert isinstance(events[-1], Finish)
    assert sorted(path.name for path in (folder.path / "setups").iterdir()) == ["d", "p", "q"]


@pytest.mark.parametrize(("after", "remaining"), [(Start, "p"), (Altered, "q")])
def test_a_run_that_dies_in_a_change_is_recovered(tmp_path: Path, after: type[Event], remaining: str) -> None:
    folder = new_folder(tmp_path, altered_plan())
    events = fake_run(folder, FakeExecutor())
    for event in events:
        if isinstance(event, after) and (not isinstance(event, Start) or event.step == "set-q"):
            break
    events.close()
    assert list(run_state.read(folder.journal).leftovers) == [remaining, "d"]
    again = FakeExecutor()
    assert isinstance(list(fake_run(folder, again))[-1], Finish)
    assert again.order == [
        "unmake-d",
        f"unmake-{remaining}",
        "make-q",
        "make-d",
        "measure",
        "set-p",
        "measure",
        "unmake-d",
        "unmake-p",
    ]


def asking_plan() -> Plan:
    """Build a plan with two manual machine states; the resource on top of them has its own states."""
    items: list[Setup | Trial] = []
    for number, name in enumerate(["s", "t"]):
        ask = Step(name=f"ask-{name}", action=Action.ASK, command="", why=f"fit {number} cards", timeout=0)
        items += [Setup(name, "cards.asked", None, "", (ask,), ()), setup(f"{name}-dir", "dir", "cards.asked")]
        items += [trial(2 * number + 1 + i, [name, f"{name}-dir"], invalidates=["dir"]) for i in range(2)]
    return plan(*items)


def answered(folder: Folder, executor: FakeExecutor, answers: list[bool]) -> list[str]:
    """Return the questions to the user, for these answers."""
    texts = []
    for event in fake_run(folder, executor):
        if isinstance(event, Ask):
            texts.append(event.text)
            event.is_done = answers.pop(0)
    return texts


def test_a_manual_step_is_requested_once_per_state_with_nothing_on_the_resource(tmp_path: Path) -> None:
    executor, folder = FakeExecutor(), new_folder(tmp_path, asking_plan())
    assert answered(folder, executor, [True, True]) == ["fit 0 cards", "fit 1 cards"]
    first, other = ["make-s-dir", "measure", "unmake-s-dir"], ["make-t-dir", "measure", "unmake-t-dir"]
    assert executor.order == [*first, *first, *other, *other]
    assert run_state.read(folder.journal).is_finished


def test_an_unanswered_manual_step_stops_the_run(tmp_path: Path) -> None:
    executor, folder = FakeExecutor(), new_folder(tmp_path, asking_plan())
    with pytest.raises(RunError, match="is waiting for a manual step: fit 1 cards") as stopped:
        answered(folder, executor, [True, False])
    assert stopped.value.hint == "when it is done, type `zlang resume --yes`"
    state = run_state.read(folder.journal)
    assert (state.done, state.leftovers, type(state.last)) == (2, {}, Interrupt)
    again = FakeExecutor()
    assert answered(folder, again, [True]) == ["fit 1 cards"]
    assert again.order == ["make-t-dir", "measure", "unmake-t-dir"] * 2
    assert run_state.read(folder.journal).is_finished


def test_an_interrupt_while_measuring_stops_collectors(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(trial(1, steps=FULL)))
    executor = FakeExecutor(during={"measure": lambda stop: stop.request(signal.SIGINT)})
    with pytest.raises(Interrupted) as stopped:
        list(fake_run(folder, executor))
    assert stopped.value.exit_code == 130
    assert executor.order[-2:] == ["stop iostat", "stop vmstat"]


def test_a_second_signal_leaves_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zlang.run.stop._DOUBLE", -1.0)

    def ask(stop: Signals) -> None:
        stop.request(signal.SIGINT)

    folder = new_folder(tmp_path, plan(setup("s", "k"), setup("r", "l"), trial(1, "sr")))
    executor = FakeExecutor(during={"measure": ask, "unmake-r": ask})
    with pytest.raises(Interrupted):
        list(fake_run(folder, executor))
    assert executor.order[-1] == "unmake-r"
    assert executor.forgotten == 0
    assert list(run_state.read(folder.journal).leftovers) == ["s", "r"]
    again = FakeExecutor()
    list(fake_run(folder, again))
    assert again.order == ["unmake-r", "unmake-s", "make-s", "make-r", "measure", "unmake-r", "unmake-s"]


def test_a_run_closed_before_its_end_cleans_up(tmp_path: Path) -> None:
    executor = FakeExecutor()
    events = fake_run(new_folder(tmp_path, plan(setup("s", "k"), trial(1, "s"))), executor)
    next(event for event in events if isinstance(event, Made))
    events.close()
    assert executor.order == ["make-s", "unmake-s"]


def test_siblings_of_a_failed_destroy_are_destroyed(tmp_path: Path) -> None:
    items = (setup("o", "other"), setup("p", "pool"), setup("d", "data", "pool"), trial(1, "opd"))
    executor, _, _ = carry_out(tmp_path, plan(*items), unmake_d=1)
    assert executor.order == ["make-o", "make-p", "make-d", "measure", "unmake-d", "unmake-o"]


def test_leftovers_of_a_crash_are_destroyed_first(tmp_path: Path) -> None:
    def crash(_: Signals) -> None:
        raise KeyboardInterrupt

    folder = new_folder(tmp_path, plan(setup("p", "pool"), setup("d", "data", "pool"), trial(1, "pd")))
    with pytest.raises(KeyboardInterrupt):
        list(fake_run(folder, FakeExecutor(during={"make-d": crash})))
    again = FakeExecutor()
    list(fake_run(folder, again))
    assert again.order == ["unmake-d", "unmake-p", "make-p", "make-d", "measure", "unmake-d", "unmake-p"]


def with_an_event(*others: Trial) -> Plan:
    """Build a trial with an event that must be ended, and with a read-only inspection."""
    look = replace(step("look", Action.TIDY), reader=Reader("capacity", "look.out", {}))
    return plan(setup("s", "k"), trial(1, "s", [step("measure"), step("stop", Action.TIDY), look]), *others)


def crash(_: Signals) -> None:
    raise KeyboardInterrupt


def interrupt(stop: Signals) -> None:
    stop.request(signal.SIGINT)


@pytest.mark.parametrize("selection", [Selection(), Selection(nothing=True)])
def test_an_event_is_ended_first_if_the_process_died_while_it_happened(tmp_path: Path, selection: Selection) -> None:
    folder = new_folder(tmp_path, with_an_event())
    with pytest.raises(KeyboardInterrupt):
        list(fake_run(folder, FakeExecutor(during={"measure": crash})))
    again = FakeExecutor()
    list(fake_run(folder, again, selection))
    whole = ["make-s", "measure", "stop", "look", "unmake-s"]
    assert again.order == ["stop", "unmake-s", *([] if selection.nothing else whole)]
    state = run_state.read(folder.journal)
    assert state.step("trials/t1/1/a1", "stop") is not None
    assert state.leftovers == {}


def test_an_event_is_ended_if_the_run_is_stopped_and_not_once_more(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, with_an_event())
    executor = FakeExecutor(during={"measure": interrupt})
    with pytest.raises(Interrupted):
        list(fake_run(folder, executor))
    assert executor.order == ["make-s", "measure", "stop", "unmake-s"]
    again = FakeExecutor()
    list(fake_run(folder, again, Selection(nothing=True)))
    assert again.order == []


def test_an_event_that_was_ended_is_not_ended_again(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, with_an_event(trial(2, "s")))
    executor = FakeExecutor(during={"look": interrupt})
    with pytest.raises(Interrupted):
        list(fake_run(folder, executor))
    assert executor.order == ["make-s", "measure", "stop", "look", "unmake-s"]
    other = new_folder(tmp_path, with_an_event(trial(2, steps=[step("second")])))
    executor = FakeExecutor(during={"second": interrupt})
    with pytest.raises(Interrupted):
        list(fake_run(other, executor))
    assert executor.order == ["make-s", "measure", "stop", "look", "second", "unmake-s"]


def test_an_event_that_cannot_be_stopped_is_reported(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, with_an_event())
    with pytest.raises(KeyboardInterrupt):
        list(fake_run(folder, FakeExecutor(during={"measure": crash})))
    again = FakeExecutor(codes={"stop": 3})
    (behind,) = (event for event in fake_run(folder, again, Selection(nothing=True)) if isinstance(event, LeftBehind))
    out = folder.path / "trials/t1/1/a1"
    assert behind == LeftBehind("the event of trial 1", out, "stop: exited with 3")
    assert again.order == ["stop", "unmake-s"]


def test_an_event_on_a_lost_machine_is_ended_by_the_next_session(tmp_path: Path) -> None:
    """The trial failed because of the loss, so its resources were removed on no machine."""
    folder = new_folder(tmp_path, with_an_event())
    executor = FakeExecutor(codes={"measure": LOST, "stop": LOST, "unmake-s": LOST})
    events = list(fake_run(folder, executor))
    assert executor.order == ["make-s", "measure", "stop", "stop", "stop", "look", "unmake-s"]
    assert outcomes(events) == ["measure: exited with 125"]
    behind = [event.name for event in events if isinstance(event, LeftBehind)]
    assert behind == ["the event of trial 1", "k"]
    again = FakeExecutor()
    list(fake_run(folder, again, Selection(nothing=True)))
    assert again.order == ["stop", "unmake-s"]
    once_more = FakeExecutor()
    list(fake_run(folder, once_more, Selection(nothing=True)))
    assert once_more.order == []


def test_an_event_is_ended_on_the_machine_whose_resource_is_left(tmp_path: Path) -> None:
    """The trial's other resources were removed when the run was stopped while one machine was away."""
    setups = [
        replace(made, make=(away(made.make[0], made.key),), unmake=(away(made.unmake[0], made.key),))
        for made in (setup("c1", "c1"), setup("c2", "c2"))
    ]
    steps = [away(step("measure"), "c1"), *(away(step(f"stop-{n}", Action.TIDY), n) for n in ("c1", "c2"))]
    folder = new_folder(tmp_path, plan(*setups, trial(1, ["c1", "c2"], steps), machines=["c1", "c2"]))
    executor = FakeExecutor(codes={"stop-c2": LOST, "unmake-c2": LOST}, during={"measure": interrupt})
    with pytest.raises(Interrupted):
        list(fake_run(folder, executor))
    again = FakeExecutor()
    list(fake_run(folder, again, Selection(nothing=True)))
    assert again.order == ["stop-c2", "unmake-c2"]


def away(step: Step, host: str) -> Step:
    return replace(step, host=host)


def test_an_event_is_ended_only_within_the_folder(tmp_path: Path) -> None:
    """The journal is not sealed, and a path in it may be a link."""
    folder = new_folder(tmp_path, with_an_event())
    with pytest.raises(KeyboardInterrupt):
        list(fake_run(folder, FakeExecutor(during={"measure": crash})))
    attempt = folder.path / "trials/t1/1/a1"
    attempt.rename(tmp_path / "elsewhere")
    attempt.symlink_to(tmp_path / "elsewhere")
    again = FakeExecutor()
    list(fake_run(folder, again, Selection(nothing=True)))
    assert again.order == ["unmake-s"]


def test_events_are_ended_though_nothing_can_be_written_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(_: Signals) -> None:
        monkeypatch.setattr(journal.Writer, "write", lost)

    def lost(*_: object, **_options: object) -> None:
        raise RunError("the disk is gone")

    executor = FakeExecutor(during={"measure": lose})
    folder = new_folder(tmp_path, with_an_event())
    assert refused(fake_run(folder, executor)) == ("the disk is gone", "")
    assert executor.order == ["make-s", "measure", "stop", "unmake-s"]


def test_a_lost_journal_is_reported_after_cleanup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(_: Signals) -> None:
        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", fail)

    folder = new_folder(tmp_path, plan(setup("s", "k"), trial(1, "s", FULL)))
    executor = FakeExecutor(during={"measure": lose})
    with pytest.raises(RunError, match="no space left on device"):
        list(fake_run(folder, executor))
    assert executor.order[-3:] == ["stop iostat", "stop vmstat", "unmake-s"]


def test_lack_of_memory_is_reported_after_cleanup(tmp_path: Path) -> None:
    def fail(_: Signals) -> None:
        raise MemoryError

    executor = FakeExecutor(during={"measure": fail})
    with pytest.raises(RunError) as caught:
        list(fake_run(new_folder(tmp_path, plan(setup("s", "k"), trial(1, "s"))), executor))
    assert (caught.value.message, caught.value.hint) == (
        "the run cannot continue: there is not enough memory",
        "free some memory",
    )
    assert executor.order[-1] == "unmake-s"


@pytest.mark.parametrize("place", ["facts", "trials/t1/1"])
def test_nothing_is_written_through_a_link_in_the_folder(tmp_path: Path, place: str) -> None:
    folder = new_folder(tmp_path, plan(trial(1), facts=[step("uname", Action.FACT)]))
    (tmp_path / "theirs").mkdir()
    (folder.path / place).parent.mkdir(parents=True, exist_ok=True)
    (folder.path / place).symlink_to(tmp_path / "theirs")
    with pytest.raises(RunError, match=f"^the folder {folder.name} was changed: .*{place}.*") as caught:
        list(fake_run(folder, FakeExecutor()))
    assert caught.value.hint == "delete the link"
    assert list((tmp_path / "theirs").iterdir()) == []


def test_each_line_of_the_journal_is_signed(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(trial(1)))
    seal.write(folder.path, folder.run)
    list(fake_run(folder, FakeExecutor()))
    account = run_state.read(folder.journal, seal.verifier(folder.path))
    assert (account.number > 0, account.unsigned) == (True, [])


@pytest.mark.parametrize("error", [RunError("no"), OSError(5, "no")])
def test_a_failure_during_cleanup_does_not_hide_the_first_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    def lose(_: Signals) -> None:
        monkeypatch.setattr(journal.Writer, "write", lost)

    def lost(*_: object, **_options: object) -> None:
        raise RunError("the disk is gone")

    folder = new_folder(tmp_path, plan(setup("p", "a"), setup("q", "b"), trial(1, "pq", FULL)))
    executor = FakeExecutor(during={"measure": lose, "unmake-q": fail})
    monkeypatch.setattr(FakeHandle, "stop", fail)
    monkeypatch.setattr(FakeExecutor, "sweep", fail)
    assert refused(fake_run(folder, executor)) == ("the disk is gone", "")
    assert executor.order[-1] == "unmake-q"


def test_a_lost_run_writes_nothing_during_cleanup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(_: Signals) -> None:
        monkeypatch.setattr(journal.Writer, "write", lost)

    def lost(*_: object, **_options: object) -> None:
        raise RunError("the disk is gone")

    folder = new_folder(tmp_path, plan(setup("s", "k"), trial(1, "s")))
    executor = FakeExecutor(during={"measure": lose})
    assert refused(fake_run(folder, executor)) == ("the disk is gone", "")
    assert executor.order == ["make-s", "measure", "unmake-s"]
    assert executor.discarded == ["unmake-s"]


def test_a_trial_whose_cleanup_fails_does_not_count(tmp_path: Path) -> None:
    steps = (step("measure"), step("tidy", Action.TIDY), step("sweep", Action.TIDY))
    executor, events, _ = carry_out(tmp_path / "a", plan(trial(1, steps=steps)), tidy=3)
    assert executor.order == ["measure", "tidy", "sweep"]
    assert outcomes(events) == ["tidy: exited with 3"]
    executor, events, _ = carry_out(tmp_path / "b", plan(trial(1, steps=steps)), measure=124)
    assert executor.order == ["measure", "tidy", "sweep"]
    assert outcomes(events) == ["measure: timed out after 30 s"]


def test_a_full_disk_of_the_run_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of a write does not name its file."""

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = new_folder(tmp_path, plan(setup("s", "k"), trial(1, "s")))
    monkeypatch.setattr("zlang.run.steps.sync_tree", fail)
    assert refused(fake_run(folder, FakeExecutor()))[0] == (
        f"the run cannot continue: no space left on device: {folder.path}"
    )


def test_a_failure_on_a_full_disk_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run's resources are removed first: if that frees the disk, the trial itself caused the failure."""
    calls: list[tuple[Path, int]] = []
    executor = FakeExecutor(codes={"measure": 1})
    full = {True: [True, True], False: [True, False]}

    def is_full(directory: Path) -> bool:
        calls.append((directory, len(executor.order)))
        return answers.pop(0)

    monkeypatch.setattr(trials, "is_full", is_full)
    answers = full[True]
    folder = new_folder(tmp_path, plan(setup("s", "k"), trial(1, "s")))
    assert refused(fake_run(folder, executor)) == (
        f"the run cannot continue: no space left on device: {folder.path}",
        "fix that, then type `zlang resume`",
    )
    attempt = folder.path / "trials/t1/1/a1"
    assert calls == [(attempt, 2), (attempt, 3)]
    assert run_state.read(folder.journal).ended == {}
    answers = full[False]
    other = new_folder(tmp_path, plan(setup("s", "k"), trial(1, "s")))
    (outcome,) = (event for event in fake_run(other, executor) if isinstance(event, Outcome))
    assert (outcome.trial.number, outcome.out, outcome.verdict) == (1, other.path / "trials/t1/1/a1", None)


def test_output_of_setups_is_synced_at_once_and_that_of_trials_at_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def note(directory: Path, top: Path, prefix: str = "") -> None:
        synced.append(f"{directory.relative_to(top)} {prefix}")

    monkeypatch.setattr("zlang.run.steps.sync_tree", note)
    carry_out(tmp_path, plan(setup("s", "k"), trial(1, "s", FULL), facts=[step("uname", Action.FACT)]))
    of_trial = ". "  # the names above were synced when its directory was made
    assert synced == ["facts uname.", "setups/s/a1 ", of_trial, "setups/s/a1 "]


def test_names_of_directories_are_synced_once_by_each_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    folder = new_folder(tmp_path, plan(*(trial(n, steps=[step("m")]) for n in (1, 2))))
    monkeypatch.setattr(directories, "sync_directory", lambda path: synced.append(str(path.relative_to(folder.path))))
    list(fake_run(folder, FakeExecutor(), Selection(only=1)))
    first = [".", "trials", "trials/t1", "trials/t1/1"]
    assert synced == first
    (folder.path / "trials/t2/1").mkdir(parents=True)  # a session that was killed may have made it
    synced.clear()
    list(fake_run(folder, FakeExecutor(), Selection()))
    assert synced == [name.replace("t1", "t2") for name in first]


def test_the_journal_is_synced_before_a_trial_and_by_the_next_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write, wait = journal.Writer.write, journal.Writer.wait

    def note(writer: journal.Writer, *events: Recorded, is_awaited: bool = True) -> None:
        written.extend(type(event).__name__ for event in events)
        write(writer, *events, is_awaited=is_awaited)

    def note_wait(writer: journal.Writer) -> None:
        written[-1] += "!"
        wait(writer)

    monkeypatch.setattr(journal.Writer, "write", note)
    monkeypatch.setattr(journal.Writer, "wait", note_wait)
    carry_out(tmp_path, plan(trial(1, steps=[step("fill"), step("measure", Action.MEASURE)])))
    assert written == ["Session!", "Begin!", "Start", "End", "Start", "End", "Commit", "Finish!!"]  # and at the end


def test_manual_steps_during_cleanup_do_not_wait(tmp_path: Path) -> None:
    manual = replace(setup("s", "k"), unmake=(Step("put-back", Action.ASK, "", "put it back", 0),))
    folder = new_folder(tmp_path, plan(manual, trial(1, "s")))
    asks = [(event.text, event.is_shown) for event in fake_run(folder, FakeExecutor()) if isinstance(event, Ask)]
    assert asks == [("put it back", True)]


def test_done_failed_and_only(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(*(trial(n, steps=[step(f"m{n}")]) for n in (1, 2, 3))))
    list(fake_run(folder, FakeExecutor(codes={"m2": 1})))

    def order(selection: Selection) -> list[str]:
        executor = FakeExecutor()
        list(fake_run(folder, executor, selection, judge))
        return executor.order

    def judge(trial: Trial, _out: Place, _window: tuple[float, float] | None) -> Opinion:
        return Opinion(valid=trial.number != 3, why_not="cache not cold")

    assert order(Selection()) == []
    assert order(Selection(only=1)) == ["m1"]
    assert order(Selection(failed=True)) == ["m2", "m3"]
    assert order(Selection(failed=True)) == ["m3"]
    with pytest.raises(RunError, match="no trial number 9"):
        order(Selection(only=9))


def test_a_run_is_finished_only_when_every_trial_is_done(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(trial(1), trial(2)))
    events = list(fake_run(folder, FakeExecutor(), Selection(only=2)))
    assert not any(isinstance(event, Finish) for event in events)
    events = list(fake_run(folder, FakeExecutor()))
    assert [event.trial for event in events if isinstance(event, Commit)] == ["t1"]
    assert isinstance(events[-1], Finish)


@pytest.mark.parametrize(("there", "elapsed"), [(0.5, 0.5), (0.9, 2), (0.0, 1)])
def test_the_duration_of_a_remote_step_is_that_of_its_machine(tmp_path: Path, there: float, elapsed: float) -> None:
    """The coordinator may have been stopped meanwhile, or the network cut. A small difference is left as it is."""
    items = plan(trial(1, steps=[step("measure")]))
    folder = new_folder(tmp_path, items)
    executor = FakeExecutor(seconds_there=there)
    for _ in runner.run(items, folder, executor, approve, clocks=(ticking(), ticking())):
        pass
    state = run_state.read(folder.journal)
    (measured,) = state.steps["trials/t1/1/a1"]
    assert measured.elapsed == elapsed
    window = state.window("trials/t1/1/a1", ["measure"])
    assert window is not None
    assert window[1] - window[0] == elapsed


@pytest.mark.parametrize("by", [3600, -3600])
def test_a_trial_during_which_the_clock_was_moved_does_not_count(tmp_path: Path, by: int) -> None:
    moved = [0.0]

    def move(_stop: Signals) -> None:
        moved[0] += by

    items = plan(trial(1), trial(2, steps=[step("moved")]), trial(3))
    folder = new_folder(tmp_path, items)
    executor = FakeExecutor(during={"moved": move})
    wall = ticking()
    events = runner.run(items, folder, executor, approve, clocks=(lambda: wall() + moved[0], ticking()))
    problem = "the wall clock was moved by 3,600.0 s during the trial"
    assert [event.why_not for event in events if isinstance(event, Outcome)] == ["", problem, ""]
    state = run_state.read(folder.journal)
    assert [attempt.problem for attempt in state.attempts.values()] == ["", problem, ""]
    assert list(state.positions().values()) == [1, 2, 3]
    assert state.window("trials/t2/1/a1", ["moved"]) is not None
    assert state.steps["trials/t2/1/a1"][0].elapsed == 1


def test_a_run_whose_plan_was_changed_does_not_go_on(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(trial(1), trial(2)))
    list(fake_run(folder, FakeExecutor(), Selection(only=1)))
    folder.plan.write_bytes(folder.plan.read_bytes().replace(b'"bs":4096', b'"bs":8192'))
    with pytest.raises(RunError, match="the plan was changed after the run had begun"):
        list(fake_run(folder, FakeExecutor()))


# -- messages, word for word


def refused(events: Iterator[Event]) -> tuple[str, str]:
    with pytest.raises(RunError) as error:
        list(events)
    return error.value.message, error.value.hint


def test_messages_of_runs_that_cannot_continue(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(trial(1), trial(2)))
    assert refused(fake_run(folder, FakeExecutor(), Selection(only=3))) == (
        "the plan has no trial number 3",
        "the last number is 2",
    )
    folder.plan.write_bytes(folder.plan.read_bytes().replace(b'"bs":4096', b'"bs":8192'))
    assert refused(fake_run(folder, FakeExecutor())) == (
        f"the plan was changed after the run had begun: {folder.plan}",
        "put the plan back as it was, or begin a new run; `zlang clean` removes what is left",
    )
    assert list(fake_run(folder, FakeExecutor(), Selection(nothing=True))), "what is left can still be removed"


def test_a_journal_of_another_plan(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(setup("s", "k"), trial(1, "s")))
    with journal.Writer(folder.journal) as writer:
        writer.write(
            Session(1.0, folder.run, ""), *(Start(1.0, "make", f"setups/{name}/a1") for name in ("z", "s", "y"))
        )
    assert refused(fake_run(folder, FakeExecutor())) == (
        f"the journal of {folder.name} names setups that its plan does not have: y",
        "the folder has the plan of another run; remove by hand what the journal lists",
    )


def test_a_trial_of_another_plan(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(trial(1, ["s"])))
    assert refused(fake_run(folder, FakeExecutor())) == (
        f"the plan of {folder.name} needs a setup that it does not have: s",
        "create the plan again",
    )


def test_a_run_stops_if_its_base_cannot_be_recreated(tmp_path: Path) -> None:
    items = plan(setup("p", "pool"), setup("d", "data", "pool"), trial(1, "pd", invalidates=["pool"]), trial(2, "pd"))
    folder = new_folder(tmp_path, items)
    executor = FakeExecutor()
    executor.during["unmake-p"] = lambda _stop: executor.codes.update({"make-p": 3})
    assert refused(fake_run(folder, executor)) == (
        "pool was created before but cannot be created again: make-p: exited with 3",
        "fix that, then type `zlang resume`",
    )
    other = new_folder(tmp_path, items)
    executor = FakeExecutor()
    executor.during["unmake-d"] = lambda _stop: executor.codes.update({"make-d": 3})
    assert outcomes(list(fake_run(other, executor))) == ["", "make-d: exited with 3"]


def test_texts_of_manual_steps(tmp_path: Path) -> None:
    def asks(name: str, command: str, expect: str | None = None) -> Step:
        return Step(name, Action.ASK, command, f"do {name}", 0, expect=expect)

    folder = new_folder(tmp_path, plan(trial(1, steps=[asks("this", "echo this"), asks("that", ""), step("measure")])))
    seen = []
    for event in fake_run(folder, FakeExecutor()):
        if isinstance(event, Ask):
            seen.append((event.text, event.typed, event.is_shown, event.is_stopped()))
            event.is_done = True
    typed = f"RUN={folder.run}; OUT=.; export RUN OUT\necho this"
    assert seen == [("do this", typed, False, False), ("do that", "", False, False)]


def test_ctrl_c_at_a_manual_step_stops_the_run(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(trial(1, steps=[Step("this", Action.ASK, "", "do this", 0)])))
    events = fake_run(folder, FakeExecutor())
    (ask,) = (event for _, event in zip(range(5), events, strict=False) if isinstance(event, Ask))
    signal.raise_signal(signal.SIGTERM)
    assert ask.is_stopped()
    with pytest.raises(Interrupted):
        list(events)


def dies_while_it_measures(at: Path, made: bytes | None = None) -> Folder:
    """Create a run that died with two setups in place; one left its resources."""

    def crash(_: Signals) -> None:
        raise KeyboardInterrupt

    folder = new_folder(at, plan(setup("p", "pool"), setup("d", "data", "pool"), trial(1, "pd")))
    with pytest.raises(KeyboardInterrupt):
        list(fake_run(folder, FakeExecutor(during={"measure": crash})))
    if made is not None:
        (folder.path / "setups/p/a1/made").write_bytes(made)
    return folder


def test_a_resource_is_destroyed_although_its_directory_is_gone(tmp_path: Path) -> None:
    folder = dies_while_it_measures(tmp_path, b"1 2\n/nonexistent\n")
    again = FakeExecutor()
    list(fake_run(folder, again))
    assert again.order[:3] == ["unmake-d", "unmake-p", "make-p"]


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_forged_records_remove_nothing(tmp_path: Path, kind: str) -> None:
    folder = dies_while_it_measures(tmp_path)
    made = folder.path / "setups/p/a1/made"
    if kind == "link":
        (tmp_path / "other").write_text("1 2\n/\n")
        made.symlink_to(tmp_path / "other")
    else:
        os.mkfifo(made)
    again = FakeExecutor()
    with pytest.raises(RunError) as refused:
        list(fake_run(folder, again))
    assert refused.value.message == f"{made} is not a regular file, so zlang did not write it"
    assert refused.value.hint == "delete it, and remove by hand what the run left"
    assert again.order == []


def test_a_directory_is_locked_while_the_run_has_it(tmp_path: Path) -> None:
    held = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(RunError) as refused:
        HeldDirectory.lock(tmp_path, 1)
    os.close(held)
    message = f"{tmp_path} is in use: another process is carrying out this run, from a copy of its folder"
    assert (refused.value.message, refused.value.hint) == (message, "wait for it, or stop it with Ctrl-C")
    locked = HeldDirectory.lock(tmp_path, tmp_path.stat().st_ino)
    assert os.path.samestat(os.fstat(locked.descriptor), tmp_path.stat())
    assert not locked.is_replaced()
    locked.release()
    assert HeldDirectory(tmp_path, 1, -1).is_replaced()
    assert not HeldDirectory(tmp_path / "missing", 1, -1).is_replaced()


@pytest.mark.parametrize("kind", ["nothing", "link", "file"])
def test_only_a_directory_is_locked(tmp_path: Path, kind: str) -> None:
    at = tmp_path / "at"
    match kind:
        case "link":
            at.symlink_to(tmp_path)
        case "file":
            at.touch()
    assert HeldDirectory.lock(at, 1).descriptor == -1


def test_a_directory_is_full_if_nothing_can_be_written_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def temporary(*, dir: Path) -> None:  # noqa: A002 - as tempfile has it
        raise OSError(errno.ENOSPC if dir == tmp_path else errno.EACCES, "no")

    assert not directories.is_full(tmp_path)
    assert not directories.is_full(tmp_path / "missing")
    monkeypatch.setattr("tempfile.TemporaryFile", temporary)
    assert directories.is_full(tmp_path)
    assert not directories.is_full(tmp_path / "other")


def test_a_reason_names_a_path_byte_for_byte(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(setup("s", "k"), trial(1, "s", FULL)))
    at = tmp_path / "made\udcff"

    def make(_stop: Signals) -> None:
        at.mkdir()
        (folder.path / "setups/s/a1/made").write_bytes(b"%d x\n%b\n" % (at.stat().st_ino, os.fsencode(at)))

    def replace_it(_stop: Signals) -> None:
        at.rmdir()
        at.mkdir()

    list(fake_run(folder, FakeExecutor(during={"make-s": make, "verify": replace_it})))
    error = (folder.path / "trials/t1/1/a1/verify.err").read_bytes()
    assert error == os.fsencode(at) + b" was replaced: it is no longer what this run created\n"


def makes_a_directory(folder: Folder, at: Path, when: Path) -> Callable[[Signals], None]:
    """While a setup is created, record the path and inode of the new directory."""

    def make(_stop: Signals) -> None:
        at.mkdir(exist_ok=True)
        (folder.path / when / "made").write_text(f"{at.stat().st_ino} x\n{at}\n")

    return make


@pytest.mark.parametrize(
    ("moment", "problem"),
    [
        ("make-s", "{} is not the directory that this run made"),
        ("verify", "{} was replaced: it is no longer what this run created"),
    ],
)
def test_a_replaced_directory_is_not_removed(tmp_path: Path, moment: str, problem: str) -> None:
    folder = new_folder(tmp_path, plan(setup("s", "k"), trial(1, "s", [step("verify", Action.VERIFY), *FULL])))
    at = tmp_path / "made"
    make = makes_a_directory(folder, at, Path("setups/s/a1"))

    def replace_it(_stop: Signals) -> None:
        at.rmdir()
        (tmp_path / "another").mkdir()
        at.mkdir()

    during = {"make-s": make, "verify": replace_it}
    executor = FakeExecutor(during=during)
    events = []
    for event in fake_run(folder, executor):
        events.append(event)
        if moment == "make-s" and isinstance(event, Made):
            replace_it(Signals())
    assert outcomes(events) == [f"verify: {problem.format(at)}"]
    assert "measure" not in executor.order
    errors = (folder.path / "trials/t1/1/a1/verify.err").read_text("utf-8")
    assert errors == f"{problem.format(at)}\n"


# -- several machines


class Group(FakeExecutor):
    """Machines with fast clocks, and files to fetch; `fails` sets their exit codes."""

    def __init__(self, codes: dict[str, int] | None = None, fetch: int = 0) -> None:
        super().__init__(codes=codes or {})
        self.fetched: list[tuple[str, str]] = []
        self.begun: list[tuple[list[str], str]] = []
        self.codes["fetch"] = fetch
        self.code: int | None = None
        """What the steps end with of which none has a code of its own."""

    def ahead(self, host: str) -> float:
        return {"c1": 1.5, "c2": 2.5}.get(host, 0.0)

    def bring(
        self, out: Path, host: str = "", prefix: str = "", small: dict[str, bytes] | None = None
    ) -> Handle | None:
        self.fetched.append(("/".join(out.parts[-3:]), host))
        return FakeHandle("fetch", self)

    def start_together(self, steps: Sequence[Step], out: Path, codes: dict[str, int]) -> Handle:
        self.begun.append(([step.name for step in steps], "/".join(out.parts[-3:])))
        if self.code is None:
            codes.update({each.name: self.codes.get(each.name, 0) for each in steps})
        self.codes["together"] = self.code or max(codes.values(), default=0)
        return FakeHandle("together", self)


def on(host: str, *names: str) -> list[Step]:
    return [replace(step(name), host=host) for name in names]


TOGETHER = [*on("c1", "measure-c1"), *on("c2", "measure-c2")]


def starts_and_ends(folder: Folder) -> list[tuple[object, ...]]:
    events = [event for event in journal.Lines(folder.journal) if isinstance(event, Start | End)]
    return [
        (each.step, each.out, each.ahead) if isinstance(each, Start) else (each.step, each.out, each.rc, each.files)
        for each in events
    ]


def test_machines_begin_together_and_each_has_its_lines(tmp_path: Path) -> None:
    folder, executor = new_folder(tmp_path, plan(trial(1, steps=TOGETHER))), Group()
    events = list(fake_run(folder, executor))
    out = "trials/t1/1/a1"
    assert executor.begun == [(["measure-c1", "measure-c2"], "t1/1/a1")]
    assert executor.fetched == [("t1/1/a1", "")]
    assert starts_and_ends(folder) == [
        ("measure-c1", out, 1.5),
        ("measure-c2", out, 2.5),
        ("measure-c1", out, 0, ""),
        ("measure-c2", out, 0, ""),
    ]
    assert outcomes(events) == [""]
    times = [event.t for event in journal.Lines(folder.journal) if isinstance(event, Start | End)]
    assert times[0] == times[1] < times[2] == times[3]


@pytest.mark.parametrize(
    ("codes", "code", "ends", "why_not"),
    [
        ({"measure-c2": 3}, None, [0, 3], "measure-c2: exited with 3"),
        ({"measure-c1": 4, "measure-c2": 3}, None, [4, 3], "measure-c1: exited with 4"),
        ({}, 5, [5, 5], "measure-c1: exited with 5"),
    ],
)
def test_one_machine_that_fails_fails_the_trial(
    tmp_path: Path, codes: dict[str, int], code: int | None, ends: list[int], why_not: str
) -> None:
    folder, executor = new_folder(tmp_path, plan(trial(1, steps=TOGETHER))), Group(codes)
    executor.code = code
    assert outcomes(list(fake_run(folder, executor))) == [why_not]
    assert [row[2] for row in starts_and_ends(folder)[2:]] == ends
    failed = run_state.read(folder.journal).ended["trials/t1/1"].failed
    assert failed is not None
    assert (failed.out, failed.step) == ("trials/t1/1/a1", why_not.partition(":")[0])


@pytest.mark.parametrize(("code", "is_made_again"), [(LOST, True), (3, False)])
def test_resources_on_a_lost_machine_are_recreated(tmp_path: Path, code: int, *, is_made_again: bool) -> None:
    def item(name: str) -> Setup:
        parts = setup(name, name)
        return replace(parts, make=tuple(replace(each, host="c2") for each in parts.make))

    items = (item("s"), trial(1, "s", TOGETHER), trial(2, "s", on("c2", "alone")))
    executor = Group({"measure-c2": code})
    list(fake_run(new_folder(tmp_path, plan(*items)), executor))
    again = ["unmake-s", "make-s"] if is_made_again else []
    assert executor.order == ["make-s", *again, "alone", "unmake-s"]


def test_a_trial_whose_files_cannot_be_fetched_fails(tmp_path: Path) -> None:
    folder, executor = new_folder(tmp_path, plan(trial(1, steps=on("c1", "measure")))), Group(fetch=7)
    assert outcomes(list(fake_run(folder, executor))) == ["fetch: exited with 7"]
    assert starts_and_ends(folder)[0] == ("measure", "trials/t1/1/a1", 1.5)


def test_output_of_a_remote_setup_is_fetched(tmp_path: Path) -> None:
    there = replace(setup("s", "k"), make=tuple(on("c1", "make-s")))
    executor = Group(fetch=7)
    folder = new_folder(tmp_path, plan(there, trial(1, "s", on("c1", "measure"))))
    assert outcomes(list(fake_run(folder, executor)))[0] == "make-s: fetch: exited with 7"
    assert executor.fetched[0] == ("setups/s/a1", "c1")


def test_lanes_of_machines_that_share_no_trial(tmp_path: Path) -> None:
    items = (trial(1, steps=on("c1", "first")), trial(2, steps=on("c2", "second")), trial(3, steps=on("c1", "third")))
    facts = [step("here", Action.FACT), *(replace(step(f"on-{name}", Action.FACT), host=name) for name in ("c1", "c2"))]
    folder, executor = new_folder(tmp_path, plan(*items, facts=facts, machines=["c1", "c2"])), Group()
    events = list(fake_run(folder, executor))
    assert sorted(executor.order) == ["first", "here", "on-c1", "on-c2", "second", "third"]
    assert executor.order.index("first") < executor.order.index("third")
    assert outcomes(events) == ["", "", ""]
    assert run_state.read(folder.journal).is_finished


def test_a_lane_reads_only_its_own_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lane goes through the plan."""
    machines = [f"c{number % 4}" for number in range(40)]
    items = [trial(number, steps=on(machine, f"m{number}")) for number, machine in enumerate(machines, 1)]
    folder, executor = new_folder(tmp_path, plan(*items, machines=sorted(set(machines)))), Group()
    read: list[int] = []
    parse = wire._parse.__wrapped__

    def noted(line: bytes, number: int, *more: object) -> object:
        read.append(number)
        return parse(line, number, *more)

    monkeypatch.setattr(wire, "_parse", noted)
    assert outcomes(list(fake_run(folder, executor))) == [""] * 40
    assert sorted(executor.order) == sorted(f"m{number}" for number in range(1, 41))
    assert len([number for number in read if number > 1]) <= 2 * 40  # once to divide the plan, and once to carry it out


# -- leftovers of earlier sessions


def test_resources_lost_from_the_journal_are_destroyed_in_plan_order(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(setup("p", "pool"), setup("d", "data", "pool"), trial(1, "pd")))
    for name in ("p", "d"):
        (folder.path / f"setups/{name}/a1").mkdir(parents=True)
        (folder.path / f"setups/{name}/a1/make.out").touch()
    executor = FakeExecutor()
    list(fake_run(folder, executor, Selection(nothing=True)))
    assert executor.order == ["unmake-d", "unmake-p"]


def test_leftovers_are_never_reused(tmp_path: Path) -> None:
    """Its child could not be removed at first, so it still exists when a trial needs it."""
    folder = dies_while_it_measures(tmp_path)
    again = FakeExecutor(codes={"unmake-d": 1})
    events = fake_run(folder, again)
    for event in events:
        if isinstance(event, LeftBehind):
            again.codes.clear()
    assert again.order[:5] == ["unmake-d", "unmake-d", "unmake-p", "make-p", "make-d"]


def test_the_directory_of_an_attempt_is_never_reused(tmp_path: Path) -> None:
    folder = dies_while_it_measures(tmp_path)
    shutil.rmtree(folder.path / "setups")
    list(fake_run(folder, FakeExecutor(), Selection(nothing=True)))
    assert [path.name for path in (folder.path / "setups/p").iterdir()] == ["a2"]


def test_a_directory_with_a_line_end_in_its_path_ends_the_run(tmp_path: Path) -> None:
    at = tmp_path / "a\nb"
    folder = new_folder(tmp_path, plan(setup("s", "k"), trial(1, "s")))
    make = makes_a_directory(folder, at, Path("setups/s/a1"))
    assert refused(fake_run(folder, FakeExecutor(during={"make-s": make}))) == (
        f"{str(at)!r} has a newline in its path",
        "measure in a directory without one",
    )


def test_a_directory_that_two_setups_name_is_locked_once(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(setup("s", "k"), setup("t", "l"), trial(1, "st")))
    at = tmp_path / "made"
    during = {f"make-{name}": makes_a_directory(folder, at, Path(f"setups/{name}/a1")) for name in ("s", "t")}
    assert outcomes(list(fake_run(folder, FakeExecutor(during=during)))) == [""]


def test_steps_of_one_machine_run_in_order(tmp_path: Path) -> None:
    executor = Group()
    assert outcomes(list(fake_run(new_folder(tmp_path, plan(trial(1, steps=on("c1", "one", "two")))), executor))) == [
        ""
    ]
    assert (executor.order, executor.begun) == (["one", "two"], [])


def test_the_journal_has_hashes_of_facts_alone(tmp_path: Path) -> None:
    facts = [step("uname", Action.FACT), step("odd", Action.FACT)]
    _, _, folder = carry_out(tmp_path, plan(setup("s", "k"), trial(1, "s"), facts=facts), odd=1)
    files = {event.step: event.files for event in journal.Lines(folder.journal) if isinstance(event, End)}
    of_uname = hashes.of_file(folder.path / "facts/uname.out")
    assert files == {"uname": of_uname, "odd": "", "make-s": "", "measure": "", "unmake-s": ""}


def test_a_machine_that_is_lost_ends_its_lane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(_executor: FakeExecutor, host: str) -> RunError | None:
        return RunError(f"`{host}` was lost", "`ssh c1 true` must work") if host == "c1" else None

    monkeypatch.setattr(Group, "lost", lost)
    items = (trial(1, steps=on("c1", "first")), trial(2, steps=on("c2", "second")))
    executor = Group()
    assert refused(fake_run(new_folder(tmp_path, plan(*items, machines=["c1", "c2"])), executor)) == (
        "`c1` was lost",
        "`ssh c1 true` must work; then type `zlang resume`",
    )
    assert executor.order == ["second"]


def test_outcomes_agree_with_judge_and_journal(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(setup("s", "k"), setup("t", "l"), trial(1, "st")))
    executor = FakeExecutor(codes={"unmake-t": 1})
    (outcome,) = (event for event in fake_run(folder, executor) if isinstance(event, Outcome))
    assert outcome.verdict == Opinion()
    lines = list(journal.Lines(folder.journal))
    (commit,) = (event for event in lines if isinstance(event, Commit))
    assert commit.files == hashes.of_directory(folder.path / commit.out)
    assert [event.node for event in lines if isinstance(event, Session)] == [machine.node()]
    assert executor.order[-2:] == ["unmake-t", "unmake-s"], "what stands beside it goes"


def test_a_journal_is_read_again_only_if_it_was_written_to(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(trial(1)))
    list(fake_run(folder, FakeExecutor()))
    state = Account(folder, approve).state
    assert Account(folder, approve, state).state is state
    with folder.journal.open("a") as file:
        file.write("\n")
    assert Account(folder, approve, state).state is not state
