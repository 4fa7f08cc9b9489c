"""Test killed, interrupted and failing runs: nothing is left, nothing is measured twice, and the run resumes."""

from __future__ import annotations

import os
import pty
import random
import select
import shutil
import signal
import subprocess
import time

import pytest
from command_line import COMMAND, Tools, Zlang, left_of
from machine import LET_GO
from waiting import wait_for

from zlang.run.events import Begin, Commit, Interrupt, Session, Start

# 200 reads a second: a trial is more than a second long, with an end of its own.
SLOW = """
import fio
dir here { path = "." }
file data on here { size = 1MiB }
fio reads { rw = randread | read  bs = 4KiB  rate_iops = 200/s }
experiment slow { on = data  run = reads  cache = cold  repeat = 2 }
"""

LONG = """
import fio
import linux
dir here { path = "." }
file data on here { size = 1MiB }
fio reads { rw = randwrite | read  numjobs = 2  thread = off  time_based = on  runtime = 200s }
experiment long { on = data  run = reads  cache = cold  collect = [vmstat {}] }
"""


def begun(zlang: Zlang, step: str) -> bool:
    if not list(zlang.at.glob("runs/*/plan.jsonl")):
        return False
    return any(isinstance(event, Start) and event.step.startswith(step) for event in zlang.events())


def made_in(zlang: Zlang) -> list[str]:
    return [path.name for path in zlang.at.iterdir() if path.name.startswith("zlang-")]


def measured_once(zlang: Zlang, trials: int) -> None:
    committed = zlang.committed()
    assert len(committed) == len(set(committed)) == trials
    assert zlang.rows("select count(*) as n, count(*) filter (valid) as valid from all_trials") == [
        {"n": trials, "valid": trials}
    ]


@pytest.mark.parametrize("seed", range(2))
def test_a_killed_run_goes_on(zlang: Zlang, seed: int) -> None:
    """Whenever the run is killed, each trial is measured once and nothing of the run is left."""
    moment = random.Random(seed if os.environ.get("CI") else None).uniform(0.1, 2.5)
    process = zlang.start("run", zlang.program(SLOW))
    wait_for(lambda: begun(zlang, ""))
    time.sleep(moment)
    process.kill()
    process.communicate()
    committed = zlang.committed()
    resumed = zlang("resume")
    assert "4 of 4 trials count" in resumed.out
    measured_once(zlang, 4)
    sessions = [event for event in zlang.events() if isinstance(event, Session)]
    assert len(sessions) == 2
    assert zlang.committed()[: len(committed)] == committed
    assert made_in(zlang) == []
    assert left_of(zlang.folder().name) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGQUIT, 131), (signal.SIGTERM, 143)])
def test_an_interrupted_run_cleans_up(zlang: Zlang, number: signal.Signals, code: int) -> None:
    """Forked workers of fio keep writing after their parent is killed, so they must be found as well."""
    process = zlang.start("run", zlang.program(LONG))
    wait_for(lambda: begun(zlang, "measure"))
    time.sleep(0.5)
    process.send_signal(number)
    _, err = process.communicate(timeout=100)
    assert process.returncode == code
    folder = zlang.folder()
    assert b"stopped; everything that the run created is removed" in err
    assert f"zlang resume {folder.name}".encode() in err
    assert left_of(folder.name) == []
    assert made_in(zlang) == []
    assert isinstance(zlang.events()[-1], Interrupt)
    assert zlang.committed() == []
    assert "0 of 2 trials done" in zlang("status", folder.name).out


def test_ctrl_c_on_a_terminal(zlang: Zlang) -> None:
    """The terminal signals the whole process group, and the user sees progress until then."""
    zlang.program(LONG)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(zlang.at)
        os.execve(COMMAND[0], [*COMMAND, "run", "program.zexp", "--yes"], {**zlang.variables(), "TERM": "xterm"})
    output = b""
    is_interrupted = False
    try:
        while True:
            if not is_interrupted and begun(zlang, "measure"):
                os.write(terminal, b"\x03")
                is_interrupted = True
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                break
            if not piece:
                break
            output += piece
    finally:
        _, status = os.waitpid(child, 0)
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130
    assert b"0/2" in output
    assert b"stopped; everything that the run created is removed" in output
    assert made_in(zlang) == []
    assert left_of(zlang.folder().name) == []


def test_an_interrupted_run_goes_on(zlang: Zlang) -> None:
    process = zlang.start("run", zlang.program(SLOW))
    wait_for(lambda: list(zlang.at.glob("runs/*/journal.jsonl")) and zlang.committed())
    folder = zlang.folder()
    assert f"to follow it: zlang status {folder.name} --follow" in zlang("status", folder.name).out
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=100)
    assert process.returncode == 130
    assert "to continue: zlang resume" in zlang("status", folder.name).out
    assert "not finished" in zlang("status").out
    zlang("resume", folder.name)
    measured_once(zlang, 4)
    assert "finished" in zlang("status", folder.name).out
    again = zlang("resume", folder.name)
    assert "all trials are done" in again.err
    assert "there is nothing to measure again" in zlang("resume", folder.name, "--failed").err
    measured_once(zlang, 4)


def test_resume_stops_if_its_directory_was_removed(zlang: Zlang) -> None:
    place = zlang.at / "place"
    place.mkdir()
    program = zlang.program(SLOW.replace('path = "."', 'path = "place"'))
    process = zlang.start("run", program)
    wait_for(lambda: list(zlang.at.glob("runs/*/journal.jsonl")) and zlang.committed())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=100)
    done = len(zlang.committed())
    place.rmdir()
    stopped = zlang("resume", code=1)
    assert stopped.err.count("error: ") == 1
    assert "cannot be created again" in stopped.err
    assert len(zlang.committed()) == done
    place.mkdir()
    zlang("resume")
    measured_once(zlang, 4)
    assert list(place.iterdir()) == []


def test_two_runners_of_one_folder_are_refused(zlang: Zlang) -> None:
    process = zlang.start("run", zlang.program(LONG))
    wait_for(lambda: begun(zlang, "measure"))
    refused = zlang("resume", code=1)
    assert f"process {process.pid} is already running" in refused.err
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=100)
    assert process.returncode == 130


def test_only_one_trial(zlang: Zlang) -> None:
    zlang("run", zlang.program(SLOW), "--only", "3")
    (begin,) = [event for event in zlang.events() if isinstance(event, Begin)]
    assert begin.number == 3
    assert made_in(zlang) == []
    assert zlang.rows("select number from trials") == [{"number": 3}]
    zlang("resume", "--only", "3")
    assert [event.out.rpartition("/")[2] for event in zlang.events() if isinstance(event, Commit)] == ["a1", "a2"]
    assert zlang.rows("select number from trials") == [{"number": 3}]
    assert "the plan has trials 1 to 4" in " ".join(zlang("run", "program.zexp", "--only", "5", code=2).err.split())
    assert "the plan has trials 1 to 4" in zlang("resume", "--only", "5", code=2).err


# -- fio fails

FAILING = """
import fio
dir here { path = "." }
file data on here { size = 1MiB }
fio io { rw = read | randread  bs = 4KiB | 16KiB }
experiment failing { on = data  run = io }
"""


def test_a_bad_option_value_is_fios_to_refuse(zlang: Zlang) -> None:
    text = FAILING.replace("rw = read | randread", 'rw = read  random_distribution = "random" | "banana"')
    ended = zlang.run(text, code=1)
    assert ended.err.count("does not count: measure: ") == 2
    assert "2 of 4 trials count" in ended.out
    (failed,) = zlang.rows("select count(*) as n, any_value(why_not) as why from all_trials where not valid")
    assert failed["n"] == 2
    assert "fio" in str(failed["why"])
    assert "banana" in str(failed["why"])
    shown = zlang("status", zlang.folder().name).out
    assert "4 of 4 trials done, 2 of them do not count, finished" in shown
    assert shown.count("banana") == 2


def test_an_io_error_is_shown_and_measured_again(zlang: Zlang) -> None:
    if not shutil.which("strace"):
        pytest.skip("strace makes the errors")
    tools = Tools(zlang)
    fail = "exec strace -f -qqq -o /dev/null -e trace=pread64 -e inject=pread64:error=EIO:when=4+"
    tools.wrap("fio", f'case "$*" in *--bs=16384*) {fail} {{real}} "$@" ;; esac\nexec {{real}} "$@"')
    ended = zlang.run(FAILING, code=1)
    assert "2 of 4 trials count" in ended.out
    (failed,) = zlang.rows("select count(*) as n, any_value(why_not) as why from all_trials where not valid")
    assert failed["n"] == 2
    assert "Input/output error" in str(failed["why"])
    assert "Input/output error" in zlang("status", zlang.folder().name).out
    (tools.at / "fio").unlink()
    zlang("resume", code=1)  # what failed is not measured again unless it is asked for
    assert len(zlang.rows("from trials")) == 2
    zlang("run", "program.zexp", "--failed")
    assert len(zlang.rows("from trials")) == 4
    assert len(zlang.events()) > 0
    assert " trials done, finished" in zlang("status", zlang.folder().name).out


def test_a_program_that_never_ran_has_nothing_that_failed(zlang: Zlang) -> None:
    assert "has not been run yet" in zlang("run", zlang.program(SLOW), "--failed", code=1).err
    assert "runs" not in zlang.names()


# -- a full disk


def in_memory(zlang: Zlang, size: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run zlang where `small` is a memory file system that disappears with the namespace."""
    script = f'mount -t tmpfs -o size={size} tmpfs small && exec "$@"'
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    if not user:  # what other tests have mounted is not held on to
        script = f"sh {LET_GO} && {script}"
    done = subprocess.run(
        ["unshare", "--mount", *user, "sh", "-c", script, "sh", *COMMAND, *arguments],
        cwd=zlang.at,
        env=zlang.variables(),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("namespaces are not to be had here")
    assert "Traceback" not in done.stderr
    return done


def test_no_space_for_some_of_the_data(zlang: Zlang) -> None:
    (zlang.at / "small").mkdir()
    text = SLOW.replace('path = "."', 'path = "small"').replace("1MiB", "1MiB | 64MiB")
    text = text.replace("repeat = 2", "repeat = 1").replace("cache = cold", "cache = as_is")
    ended = in_memory(zlang, "8m", "run", zlang.program(text), "--yes")
    assert ended.returncode == 1
    assert "2 of 4 trials count" in ended.stdout
    failed = zlang.rows("select why_not from all_trials where not valid")
    assert len(failed) == 2
    assert all("No space left on device" in str(row["why_not"]) for row in failed)


def test_no_space_for_the_run_folder(zlang: Zlang) -> None:
    (zlang.at / "small").mkdir()
    ended = in_memory(zlang, "24k", "run", zlang.program(SLOW), "--runs", "small/runs")
    assert ended.returncode == 1
    assert "error: cannot write" in ended.stderr
    assert "--runs" in ended.stderr
    assert made_in(zlang) == []


def test_the_disk_of_the_run_folder_fills_up(zlang: Zlang) -> None:
    (zlang.at / "small").mkdir()
    noisy = """
dir here { path = "." }
shell noise { command = "head -c 300000 /dev/urandom | od"  writes = off }
experiment noisy { on = here  run = noise  repeat = 3 }
"""
    ended = in_memory(zlang, "1m", "run", zlang.program(noisy), "--runs", "small/runs")
    assert ended.returncode == 1, ended
    assert "no space left on device" in ended.stderr
    assert made_in(zlang) == []
