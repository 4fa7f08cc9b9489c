"""Run emitted scripts for real: their work, what they leave behind, how they are stopped and resumed."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from emit_plans import SHELLS, begin, carry_out, events, folder, full_plan, plan, setup, step, trial, words, write
from waiting import wait_for

from zlang.cli.app import SYSTEM_TOOLS
from zlang.emit import json_lines
from zlang.errors import RunError
from zlang.plan.plan import Action, Setup, Step
from zlang.run import journal, processes, run_state
from zlang.run.events import End, Finish, Interrupt
from zlang.run.folder import Folder

each_shell = pytest.mark.parametrize("shell", SHELLS)


def strays(run: Path) -> list[int]:
    return processes.marked({"ZLANG_RUN": run.name})


def codes(run: Path) -> dict[str, int]:
    return {event.step: event.rc for event in events(run) if isinstance(event, End)}


@each_shell
def test_a_whole_plan(tmp_path: Path, shell: str) -> None:
    run = carry_out(tmp_path, full_plan(), shell, code=1)
    assert words(events(run)) == [
        *("session", "+p1", "+d1", "=t1", "!t2 breaks", "-d1", "+d1", "=t3"),
        *("-d1", "-p1", "+p2", "=t4", "p2>p3", "=t5", "-p3", "finish"),
    ]
    assert codes(run)["iostat"] == codes(run)["vmstat"] == 143
    assert (run / "plan.jsonl").read_text() == "".join(json_lines.emit(full_plan()))
    assert (run / "plan.sh").read_bytes() == (tmp_path / "plan.sh").read_bytes()
    assert {file.name: file.read_text() for file in (run / "source").iterdir()} == {
        "a.zexp": "it's\nEND_OF_PLAN\n",
        "a-2.zexp": "no newline",
    }
    assert (run / "trials/t1/1/a1/measure.out").read_text() == f"it's {run.name}\n```\n"
    assert (run / "trials/t2/1/a1/breaks.err").read_text() == "oops\n"
    assert sorted(file.name for file in run.iterdir()) == [
        *("directory", "facts", "journal.jsonl", "lock", "plan.jsonl", "plan.sh", "setups", "source", "trials")
    ]
    assert Folder(run).read_plan().header == full_plan().header
    assert Folder(run).directory == tmp_path


@each_shell
def test_the_environment_of_a_command(tmp_path: Path, shell: str) -> None:
    command = 'printf "%s|" "$RUN" "$ZLANG_RUN" "$OUT" "$CDPATH" "$LC_ALL" "$PWD" "$step"; cat; kill -INT $$'
    run = carry_out(tmp_path, plan(trial(1, steps=[step("m", command)])), shell, code=1, CDPATH="/", step="kept")
    out = run / "trials/t1/1/a1"
    assert (out / "m.out").read_text() == f"{run.name}|{run.name}|{out}||C|{tmp_path}|kept|"
    assert codes(run)["m"] == 130


@each_shell
@pytest.mark.parametrize("bare", [False, True])
def test_a_timeout_ends_the_whole_tree(tmp_path: Path, shell: str, *, bare: bool) -> None:
    path = _busybox_first(tmp_path) if bare else os.environ["PATH"]
    items = (trial(1, steps=[step("slow", "setsid sleep 60 & sleep 60", timeout=1)]), trial(2))
    run = carry_out(tmp_path, plan(*items), shell, code=1, PATH=path)
    assert codes(run)["slow"] == 124
    assert words(events(run))[1:] == ["!t1 slow", "=t2", "finish"]
    assert strays(run) == []


@each_shell
def test_with_busybox_instead_of_coreutils(tmp_path: Path, shell: str) -> None:
    run = carry_out(tmp_path, full_plan(), shell, code=1, PATH=_busybox_first(tmp_path))
    assert words(events(run))[-1] == "finish"
    assert codes(run)["iostat"] == codes(run)["vmstat"] == 143
    assert strays(run) == []


def _busybox_first(at: Path) -> str:
    """Return a PATH with busybox first; Debian's lacks cksum and flock, which other builds have."""
    bin_ = at / "bin"
    bin_.mkdir()
    busybox = shutil.which("busybox")
    assert busybox
    for name in subprocess.run([busybox, "--list"], capture_output=True, check=True, text=True).stdout.split():
        (bin_ / name).symlink_to(busybox)
    return f"{bin_}:{os.environ['PATH']}"


def test_a_failed_create_is_cleaned_up_and_the_next_trial_runs(tmp_path: Path) -> None:
    items = (setup("p", "pool"), setup("d", "data", "pool", make="exit 3"), trial(1, "pd"), trial(2, "p"))
    run = carry_out(tmp_path, plan(*items), code=1)
    assert words(events(run)) == ["session", "+p", "-d", "!t1 make-d", "=t2", "-p", "finish"]
    assert sorted(str(path.relative_to(run)) for path in (run / "setups").glob("*/*/*.out")) == [
        *("setups/d/a1/make-d.out", "setups/d/a1/unmake-d.out", "setups/p/a1/make-p.out", "setups/p/a1/unmake-p.out")
    ]


def test_a_failed_destroy_is_not_logged_as_done(tmp_path: Path) -> None:
    items = (setup("p", "pool"), setup("d", "data", "pool", unmake="[ -e gone ]"), trial(1, "pd"))
    run = carry_out(tmp_path, plan(*items), code=1)
    assert words(events(run)) == ["session", "+p", "+d", "=t1"]
    (tmp_path / "gone").touch()
    assert carry_out(tmp_path, plan(*items)) == run
    assert words(events(run))[4:] == ["session", "-d", "-p", "finish"]


@each_shell
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGQUIT, 131), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_stops_and_cleans_up_and_the_script_can_continue(
    tmp_path: Path, shell: str, number: signal.Signals, code: int
) -> None:
    at_work = f"touch {tmp_path}/working; [ -e go ] || {{ setsid sleep 60 & sleep 60; }}"
    items = plan(
        setup("p", "pool", make="touch pool", unmake="rm -f pool"),
        *(trial(1, "p"), trial(2, "p", [step("c", "sleep 60", Action.COLLECT), step("m", at_work)])),
    )
    process = begin(tmp_path, items, shell)
    wait_for((tmp_path / "working").exists)
    process.send_signal(number)
    assert process.wait(60) == code
    run = folder(tmp_path)
    assert words(events(run)) == ["session", "+p", "=t1", "-p", "interrupt"]
    assert isinstance(events(run)[-1], Interrupt)
    assert strays(run) == []
    assert not (tmp_path / "pool").exists()
    (tmp_path / "go").touch()
    assert carry_out(tmp_path, items, shell) == run
    assert words(events(run))[5:] == ["session", "+p", "=t2", "-p", "finish"]
    assert (run / "trials/t2/1/a2").is_dir()
    assert (run / "setups/p/a2").is_dir()


_DATE = """#!/bin/sh
if test -e {moved}; then exec {date} -d '+1 hour' "$@"; fi
exec {date} "$@"
"""


def test_a_clock_that_is_set_changes_no_duration(tmp_path: Path) -> None:
    """The clock moves forward in the second trial and back in the third; the trials themselves take no time."""
    moved, tools = tmp_path / "moved", tmp_path / "tools"
    tools.mkdir()
    (tools / "date").write_text(_DATE.format(moved=moved, date=shutil.which("date")))
    (tools / "date").chmod(0o755)
    steps = ([step("a")], [step("b", f"touch {moved}")], [step("c", f"rm {moved}")])
    script = write(tmp_path, plan(*(trial(number, (), command) for number, command in enumerate(steps, start=1))))
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    done = subprocess.run(["dash", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    shown = [float(seconds) for seconds in re.findall(r": ok \((.*) s\)", done.stderr)]
    assert len(shown) == 3
    assert all(0 <= seconds < 1000 for seconds in shown), shown
    state = run_state.read(folder(tmp_path) / "journal.jsonl")
    problem = "the wall clock was moved by 3,600"
    assert [attempt.problem.startswith(problem) for attempt in state.ended.values()] == [False, True, True]


@each_shell
def test_ctrl_c_at_a_terminal(tmp_path: Path, shell: str) -> None:
    """The signal reaches the whole foreground process group of the terminal, not only the script."""
    items = plan(setup("p", "pool", unmake="touch tidy"), trial(1, "p", [step("m", "touch busy; sleep 60")]))
    write(tmp_path, items)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(["setsid", "-c", *SHELLS[shell], "plan.sh"], cwd=tmp_path, stdin=theirs, stderr=theirs)
    os.close(theirs)
    wait_for((tmp_path / "busy").exists)
    os.write(ours, b"\x03")
    assert process.wait(60) == 130
    os.close(ours)
    assert words(events(folder(tmp_path))) == ["session", "+p", "-p", "interrupt"]
    assert (tmp_path / "tidy").exists()


def test_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    items = plan(
        setup("p", "pool", unmake="touch untidy; sleep 60"), trial(1, "p", [step("m", "touch busy; sleep 60")])
    )
    process = begin(tmp_path, items)
    wait_for((tmp_path / "busy").exists)
    process.send_signal(signal.SIGINT)
    wait_for((tmp_path / "untidy").exists)
    time.sleep(0.4)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert strays(folder(tmp_path)) == []


@each_shell
def test_after_kill_9_the_script_cleans_up_and_continues(tmp_path: Path, shell: str) -> None:
    at_work = "touch busy; [ -e go ] || { setsid sleep 60 & sleep 60; }"
    items = plan(
        setup("p", "pool", make="touch pool", unmake="rm -f pool"), trial(1), trial(2, "p", [step("m", at_work)])
    )
    process = begin(tmp_path, items, shell)
    wait_for((tmp_path / "busy").exists)
    process.kill()
    process.wait()
    run = folder(tmp_path)
    with (run / "journal.jsonl").open("ab") as file:
        file.write(b'{"t":1.0,"event":"commit","trial":"t2","replicate":1,"out":"x","crc":7}\n{"t":1.0,"ev')
    (tmp_path / "go").touch()
    assert carry_out(tmp_path, items, shell) == run
    lines = journal.Lines(run / "journal.jsonl")
    assert words([event for event in lines if not isinstance(event, journal.Gap)]) == [
        "session",
        "=t1",
        "+p",
        "session",
        "-p",
        "+p",
        "=t2",
        "-p",
        "finish",
    ]
    assert lines.torn == 2
    assert strays(run) == []


def test_a_finished_script_starts_again_in_a_new_folder(tmp_path: Path) -> None:
    first = carry_out(tmp_path, plan(trial(1)))
    subprocess.run(["dash", "plan.sh"], cwd=tmp_path, check=True, capture_output=True)
    second = next(each for each in (tmp_path / "runs").iterdir() if each != first)
    assert words(events(second)) == ["session", "=t1", "finish"]


def test_another_plan_does_not_go_on_in_it(tmp_path: Path) -> None:
    carry_out(tmp_path, plan(setup("p", "pool", unmake="exit 1"), trial(1, "p")), code=1)
    script = write(tmp_path, plan(trial(1), name="beef"))
    subprocess.run(["dash", script], cwd=tmp_path, check=True, capture_output=True)
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_two_do_not_share_a_folder(tmp_path: Path) -> None:
    items = plan(trial(1, steps=[step("m", "touch busy; sleep 60")]))
    process = begin(tmp_path, items)
    wait_for((tmp_path / "busy").exists)
    done = subprocess.run(["dash", "plan.sh"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"process {process.pid} is already running" in done.stderr
    process.terminate()
    assert process.wait(60) == 143


def test_a_full_disk_stops_the_run_after_tidying(tmp_path: Path) -> None:
    items = plan(
        setup("p", "pool", make="touch pool", unmake="rm -f pool"),
        trial(1, "p", [step("m", 'cd "$OUT/../../../.." && mv journal.jsonl kept && ln -s /dev/full journal.jsonl')]),
        trial(2, "p", [step("n", "touch never")]),
    )
    run = carry_out(tmp_path, items, code=1)
    assert not (tmp_path / "pool").exists()
    assert not (tmp_path / "never").exists()
    (run / "kept").replace(run / "journal.jsonl")
    assert carry_out(tmp_path, items, code=None) == run


def test_list_and_help_do_nothing(tmp_path: Path) -> None:
    script = write(tmp_path, full_plan())
    listed = subprocess.run(["dash", script, "--list"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert listed.stdout.splitlines()[2:4] == ["3  t3/1  engine=libaio, direct=true, ramp=-", "4  t4/1  bs=16384"]
    helped = subprocess.run(["dash", script, "-h"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "usage: sh" in helped.stdout
    assert subprocess.run(["dash", script, "--nope"], cwd=tmp_path, capture_output=True, check=False).returncode == 2
    assert list(tmp_path.iterdir()) == [script]


def test_a_missing_tool_is_named_before_anything_is_made(tmp_path: Path) -> None:
    script = write(tmp_path, plan(trial(1), tools={"no-such-tool": "apt install it"}))
    done = subprocess.run(["dash", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no-such-tool is missing: apt install it" in done.stderr
    assert list(tmp_path.iterdir()) == [script]


def test_a_script_can_be_piped_into_a_shell_with_a_directory(tmp_path: Path) -> None:
    script = write(tmp_path, plan(trial(1), trial(2)))
    with script.open("rb") as text:
        subprocess.run(["dash", "-s", "--", "--", "-r x"], cwd=tmp_path, stdin=text, capture_output=True, check=True)
    (run,) = (tmp_path / "-r x").iterdir()
    assert isinstance(events(run)[-1], Finish)


def test_plans_that_no_script_can_carry_out_are_refused(tmp_path: Path) -> None:
    away = plan(trial(1, steps=[replace(step("m"), host="db1")]))
    with pytest.raises(RunError, match="reaches only its own machine"):
        write(tmp_path, away)
    with pytest.raises(RunError, match="NUL"):
        write(tmp_path, plan(trial(1, steps=[step("m", "\0")])))


@each_shell
def test_a_script_stops_at_an_unanswered_manual_step(tmp_path: Path, shell: str) -> None:
    ask = Step(name="ask", action=Action.ASK, command="", why="fit a card; it's in the box", timeout=0)
    manual = Setup("s", "cards.asked", None, "", (ask,), ())
    script = write(tmp_path, plan(manual, setup("d", "data", "cards.asked"), trial(1, "sd"), trial(2, "sd")))
    stopped = subprocess.run([*SHELLS[shell], script], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True)
    assert (stopped.returncode, b"manual step: fit a card; it's in the box" in stopped.stderr) == (1, True)
    done = subprocess.run([*SHELLS[shell], script], cwd=tmp_path, input=b"\n", capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    order = words(events(folder(tmp_path)))
    assert order == ["session", "-s", "interrupt", "session", "+s", "+d", "=t1", "=t2", "-d", "-s", "finish"]


def test_without_flock_the_process_of_a_run_is_found_by_its_id(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    needed = "sh cat cksum date find grep mkdir mv od rm sleep sort sync tail timeout tr"
    for name in needed.split():
        (tools / name).symlink_to(str(shutil.which(name)))
    script = write(tmp_path, plan(setup("p", "pool", unmake="[ -e gone ]"), trial(1, "p")))

    def again() -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "PATH": str(tools)}
        return subprocess.run(["sh", script], cwd=tmp_path, env=environment, capture_output=True, check=False)

    again()
    run = folder(tmp_path)
    (run / "lock").write_text(f"{os.getpid()}\n")
    refused = again()
    assert (refused.returncode, b"is already running" in refused.stderr) == (1, True)
    (run / "lock").write_text("999999999\n")
    assert b"is being carried out" not in again().stderr


def test_a_trial_of_a_script_during_which_the_clock_was_moved_does_not_count(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    date = tools / "date"
    date.write_text(
        f'#!/bin/sh\n[ "$1" = +%s.%N ] && [ -e {tmp_path}/moved ] || exec {shutil.which("date")} "$@"\n'
        f'exec {shutil.which("date")} -d "1 hour ago" "$@"\n'
    )
    date.chmod(0o755)
    items = plan(trial(1), trial(2, steps=[step("m", f"touch {tmp_path}/moved")]), trial(3))
    run = carry_out(tmp_path, items, "dash", PATH=f"{tools}:{os.environ['PATH']}")
    problems = [attempt.problem for attempt in run_state.read(run / "journal.jsonl").attempts.values()]
    assert problems[0] == problems[2] == ""
    assert "the wall clock was moved by 3," in problems[1]


@pytest.mark.parametrize(
    "date",
    [
        f'sleep 0.$(($(awk "{{ print NR }}" count | wc -l) % 4)); echo >>count; exec {shutil.which("date")} "$@"',
        f'[ "$1" = +%s.%N ] || [ "$1" = +%N ] && exec echo N; exec {shutil.which("date")} "$@"',
        f'sleep 0.15; exec {shutil.which("date")} "$@"',
    ],
    ids=["now and then late", "whole seconds", "always late"],
)
def test_a_date_that_is_late_or_coarse_is_no_clock_that_was_moved(tmp_path: Path, date: str) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "date").write_text(f"#!/bin/sh\ncd {tools}; touch count; {date}\n")
    (tools / "date").chmod(0o755)
    items = plan(trial(1), trial(2))
    run = carry_out(tmp_path, items, "dash", PATH=f"{tools}:{os.environ['PATH']}")
    assert {attempt.problem for attempt in run_state.read(run / "journal.jsonl").attempts.values()} == {""}


def test_tools_of_administrators_are_found_on_the_path_of_any_user(tmp_path: Path) -> None:
    path = step("m", 'printf %s "$PATH"')
    for number, (given, expected) in enumerate(
        {
            "/usr/bin:/bin": "/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
            "/sbin:/usr/bin:/bin:/usr/sbin": "/sbin:/usr/bin:/bin:/usr/sbin:/usr/local/sbin",
        }.items()
    ):
        (at := tmp_path / str(number)).mkdir()
        run = carry_out(at, plan(trial(1, steps=[path])), PATH=given)
        assert (run / "trials/t1/1/a1/m.out").read_text() == expected
        for place in SYSTEM_TOOLS:
            assert place in expected.split(":")
