"""Carry out runs with real shells, real signals and real disks."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Zlang
from run_fakes import background_run, new_folder, plan, real_run, setup, step, trial
from waiting import wait_for

from zlang.errors import RunError
from zlang.plan.plan import Action
from zlang.readers.reading import text_of
from zlang.run import child_process, executor, journal, processes, run_state
from zlang.run.events import Commit, Finish, Interrupt
from zlang.run.executor import LocalExecutor
from zlang.run.folder import Folder
from zlang.run.stop import Stop

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def strays(folder: Folder) -> list[int]:
    return processes.marked({"ZLANG_RUN": folder.name})


def test_a_command_gets_its_environment_and_keeps_its_output(tmp_path: Path) -> None:
    command = 'printf "%s|" "$RUN" "$ZLANG_RUN" "$OUT" "$CDPATH" "$LC_ALL" "$PWD"; cat; echo oops >&2; exit 3'
    out = tmp_path / "out"
    out.mkdir()
    with Stop() as stop:
        assert executor.run(LocalExecutor("r-1", tmp_path), step("m", command=command), out, stop) == 3
    assert (out / "m.out").read_text() == f"r-1|r-1|{out}||C|{tmp_path}|"
    assert (out / "m.err").read_text() == "oops\n"


def test_a_command_inherits_no_descriptor_and_leaves_the_working_directory(tmp_path: Path) -> None:
    before, (reader, writer) = Path.cwd(), os.pipe()
    os.set_inheritable(writer, True)  # noqa: FBT003 - it takes no name
    with Stop() as stop:
        command = f"test ! -e /proc/self/fd/{writer}"
        assert executor.run(LocalExecutor("r-1", tmp_path), step("m", command=command), tmp_path, stop) == 0
    assert Path.cwd() == before
    os.close(reader)
    os.close(writer)


@needs_root
def test_a_run_is_resumed_from_a_directory_in_which_the_user_may_not_look(tmp_path: Path) -> None:
    here = Zlang(tmp_path)
    work = 'shell once { command = "true" }'
    here.run(f'dir here {{ path = "{tmp_path}" }}\n{work}\nexperiment e {{ on = here  run = once }}\n')
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    os.chown(closed, 65534, 65534)
    rights = "-dac_override,-dac_read_search"
    there = Zlang(closed, prefix=("setpriv", "--bounding-set", rights, "--inh-caps", rights))
    resumed = there("resume", str(here.folder()), "--only", "1", "--db", str(tmp_path / "results.duckdb"))
    assert "1 of 1 trials count" in resumed.out + resumed.err


def test_a_command_has_its_exit_code_if_children_were_ignored(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with Stop() as stop:
            assert executor.run(LocalExecutor("r-1", tmp_path), step("m", command="exit 3"), tmp_path, stop) == 3
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        assert child_process.call(lambda: 4, "the work") == 4
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_command_that_cannot_start_has_a_reason(tmp_path: Path) -> None:
    made = new_folder(tmp_path, plan(trial(1, steps=[step("m", command=f": {'x' * 200_000}")])))
    (outcome,) = real_run(made)
    assert outcome.why_not == "m: cannot start: argument list too long"


def test_a_timeout_ends_the_whole_tree(tmp_path: Path) -> None:
    command = "setsid sleep 60 & sleep 60"
    made = new_folder(tmp_path, plan(trial(1, steps=[step("slow", command=command, timeout=1)]), trial(2)))
    began = time.monotonic()
    outcomes = real_run(made)
    assert [each.why_not for each in outcomes] == ["slow: timed out after 1 s", ""]
    assert time.monotonic() - began < 50, "it waited for what sleeps a minute"
    assert strays(made) == []


def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.3)
    command = "trap '' TERM; while :; do sleep 1; done"
    made = new_folder(tmp_path, plan(trial(1, steps=[step("deaf", command=command, timeout=1)])))
    (outcome,) = real_run(made)
    assert "timed out" in outcome.why_not
    assert strays(made) == []


def test_a_workload_whose_parent_was_killed_leaves_nothing(tmp_path: Path) -> None:
    made = new_folder(tmp_path, plan(trial(1, steps=[step("m", command="setsid sleep 60 & kill -9 $$")])))
    (outcome,) = real_run(made)
    assert outcome.why_not
    assert strays(made) == []


def test_a_timeout_keeps_daemons_of_setups(tmp_path: Path) -> None:
    serve = setup("s", "server", make='setsid sleep 60 & echo $! > "$OUT/pid"', unmake='kill "$(cat "$OUT/pid")"')
    check = step("alive", command="kill -0 $(cat runs/*/setups/s/a1/pid)")
    slow = step("slow", command="sleep 60", timeout=1)
    made = new_folder(tmp_path, plan(serve, trial(1, "s", [slow]), trial(2, "s", [check])))
    assert [bool(each.why_not) for each in real_run(made)] == [True, False]
    assert isinstance(run_state.read(made.journal).last, Finish)
    assert strays(made) == []


def test_collectors_run_while_measuring(tmp_path: Path) -> None:
    watch = step("watch", Action.COLLECT, 'while :; do date >> "$OUT/log"; sleep 0.02; done')
    made = new_folder(tmp_path, plan(trial(1, steps=[watch, step("measure", command="sleep 0.2")])))
    (outcome,) = real_run(made)
    assert outcome.why_not == ""
    assert text_of(outcome.out / "log")
    assert strays(made) == []


@needs_fio
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_no_worker_of_fio(tmp_path: Path, number: int, code: int) -> None:
    job = "fio --name=w --rw=randwrite --size=8388608 --numjobs=2 --time_based --runtime=60 --directory=data"
    made = new_folder(
        tmp_path,
        plan(
            setup("d", "data", make="mkdir -p data", unmake="rm -rf data"),
            trial(1, "d", [step("idle", Action.COLLECT, "exec sleep 60"), step("fio", command=job, timeout=90)]),
        ),
    )
    runner = background_run(made)
    wait_for(lambda: len(list((tmp_path / "data").glob("w.*"))) == 2)
    wait_for(lambda: len(strays(made)) >= 4)
    runner.send_signal(number)
    assert runner.wait(15) == code
    assert strays(made) == []
    assert not (tmp_path / "data").exists()
    state = run_state.read(made.journal)
    assert isinstance(state.last, Interrupt)
    assert (state.leftovers, state.done) == ({}, 0)


def test_a_second_signal_leaves_at_once(tmp_path: Path) -> None:
    unmake = step("unmake", Action.TIDY, "sleep 30")
    slow = setup("s", "k")
    slow = type(slow)("s", "k", None, "k", slow.make, (unmake,))
    made = new_folder(tmp_path, plan(slow, trial(1, "s", [step("m", command="sleep 30")])))
    runner = background_run(made)
    wait_for((made.path / "trials/t1/1/a1/m.out").exists)
    runner.send_signal(signal.SIGINT)
    wait_for((made.path / "setups/s/a1/unmake.out").exists)
    time.sleep(0.4)
    runner.send_signal(signal.SIGINT)
    assert runner.wait(25) == 130
    wait_for(lambda: strays(made) == [])


def test_two_runners_never_share_a_run(tmp_path: Path) -> None:
    made = new_folder(tmp_path, plan(trial(1, steps=[step("m", command="sleep 30")])))
    first = background_run(made)
    wait_for((made.path / "trials/t1/1/a1/m.out").exists)
    assert background_run(made).wait(60) == 1
    first.send_signal(signal.SIGTERM)
    assert first.wait(60) == 143


def test_kill_9_at_any_moment_loses_at_most_the_step_under_way(tmp_path: Path) -> None:
    count = 40
    chance = random.Random(4)
    work = step("m", command='setsid sleep 0.05 & echo measured > "$OUT/result"; wait')
    odd, even = (setup(name, "k", make=f"mkdir {name}", unmake=f"rm -rf {name}") for name in ("odd", "even"))
    trials = [trial(n, ["odd" if n % 4 < 2 else "even"], [work]) for n in range(count)]
    made = new_folder(tmp_path, plan(odd, even, *trials))
    deadline = time.monotonic() + 12
    kills = 0
    while kills < 20 and time.monotonic() < deadline:
        runner = background_run(made)
        try:
            runner.wait(0.2 + chance.random() * 0.3)
            break
        except subprocess.TimeoutExpired:
            runner.kill()
            runner.wait()
            kills += 1
    real_run(made)
    assert kills > 2
    assert strays(made) == []
    assert not (tmp_path / "odd").exists()
    assert not (tmp_path / "even").exists()
    commits = [event for event in journal.Lines(made.journal) if isinstance(event, Commit)]
    assert Counter(event.trial for event in commits) == {f"t{n}": 1 for n in range(count)}
    assert all((made.path / event.out / "result").read_text() == "measured\n" for event in commits)
    assert isinstance(run_state.read(made.journal).last, Finish)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    at = tmp_path / "small"
    at.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", at], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", at], check=True)


@needs_root
def test_a_full_disk_is_reported_after_cleanup_and_the_run_can_continue(small_disk: Path, tmp_path: Path) -> None:
    fill = f"mkdir {tmp_path}/kept; dd if=/dev/zero of={small_disk}/filler bs=4096 2>&1 || :"
    items = plan(
        setup("s", "k", make=f"mkdir {tmp_path}/made", unmake=f"rm -rf {tmp_path}/made"),
        trial(1, "s"),
        trial(2, "s", [step("fill", command=f"test -e {tmp_path}/kept || {{ {fill}; }}")]),
        *(trial(n, "s", [step("talk", command="head -c 3000 /dev/zero")]) for n in range(3, 30)),
    )
    made = new_folder(small_disk, items)
    with pytest.raises(RunError, match="no space left on device"):
        real_run(made)
    assert not (tmp_path / "made").exists()
    assert strays(made) == []
    before = run_state.read(made.journal)
    kept = {place: attempt.out for place, attempt in before.ended.items() if attempt.is_committed}
    assert "trials/t1/1" in kept
    (small_disk / "filler").unlink()
    real_run(made)
    after = run_state.read(made.journal)
    assert isinstance(after.last, Finish)
    assert kept.items() <= {place: attempt.out for place, attempt in after.ended.items()}.items()
    assert not (tmp_path / "made").exists()
