"""Check that a run whose standard output or error is closed, full or hung up goes on, tidies up and exits as usual."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from command_line import COMMAND, Zlang, left_of
from waiting import wait_for

from zlang.run.events import Fail, Finish, Interrupt
from zlang.sink import Sink

FAILS_AT_FIRST = """
dir here { path = "." }
file data on here { size = 4KiB }
shell io { command = "test {n} -ne 1" }
let n = 1 | 2 | 3 | 4 | 5 | 6
experiment e { on = data  run = io }
"""
WAITS = """
dir here { path = "." }
file data on here { size = 4KiB }
shell io { command = "touch BEGUN; sleep 60"  timeout = 90s }
experiment e { on = data  run = io }
"""
NOWHERE = {
    "closed": "2>&- >&-",
    "full": ">/dev/full 2>&1",
    "no reader": "2>&1 | true",
    "one line": "2>&1 | head -n 1",
    "closed error": "2>&-",
    "closed output": ">&-",
    "closed input": "<&-",
    "all closed": "<&- >&- 2>&-",
    "full error": "2>/dev/full",
    "full output": ">/dev/full",
}


@pytest.fixture
def zlang(tmp_path: Path) -> Zlang:
    return Zlang(tmp_path)


def waits(zlang: Zlang) -> str:
    return WAITS.replace("BEGUN", str(zlang.at / "begun"))


def shell(zlang: Zlang, line: str) -> int:
    """Return the exit code of the `zlang` (in `$zlang`) that a shell line starts."""
    environment = {**zlang.variables(), "zlang": " ".join(COMMAND)}
    done = subprocess.run(["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"], cwd=zlang.at, env=environment, timeout=90)
    return done.returncode


@pytest.mark.parametrize("where", NOWHERE)
def test_a_run_with_closed_output_is_carried_out(zlang: Zlang, where: str) -> None:
    zlang.program(FAILS_AT_FIRST)
    assert shell(zlang, f"$zlang run program.zexp {NOWHERE[where]}") == 1
    events = zlang.events()
    assert isinstance(events[-1], Finish)
    assert len(zlang.committed()) == 5
    assert len([event for event in events if isinstance(event, Fail)]) == 1
    assert zlang.names() == {"program.zexp", "runs", "results.duckdb"}
    assert zlang.rows("select count(*) as n, count(*) filter (valid) as valid from all_trials") == [
        {"n": 6, "valid": 5}
    ]
    assert shell(zlang, f"$zlang resume {NOWHERE[where]}") == 1


@pytest.mark.parametrize("is_blocking", [True, False])
def test_a_run_does_not_wait_for_a_reader_of_its_messages(zlang: Zlang, is_blocking: bool) -> None:
    name = zlang.program(FAILS_AT_FIRST)
    reader, writer = os.pipe()
    try:
        os.set_blocking(writer, False)
        with suppress(BlockingIOError):
            while True:
                os.write(writer, bytes(4096))
        os.set_blocking(writer, is_blocking)
        ended = subprocess.run(
            [*COMMAND, "run", name], cwd=zlang.at, env=zlang.variables(), stdin=subprocess.DEVNULL, stderr=writer,
            stdout=subprocess.DEVNULL, timeout=60,
        )  # fmt: skip
    finally:
        os.close(reader)
        os.close(writer)
    assert ended.returncode == 1
    assert isinstance(zlang.events()[-1], Finish)
    assert len(zlang.committed()) == 5


def test_output_continues_when_a_reader_returns() -> None:
    reader, writer = os.pipe()
    try:
        size = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        sink = Sink(writer, is_strict=False, patience=0)
        sink.write(b"a" * 3 * size)
        sink.write(b"dropped")
        assert os.read(reader, 3 * size) == b"a" * size
        sink.write(b"b")
        assert os.read(reader, size) == b"b"
    finally:
        os.close(reader)
        os.close(writer)


def test_a_terminal_that_hangs_up_stops_the_run(zlang: Zlang) -> None:
    zlang.program(waits(zlang))
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(zlang.at)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.execve(COMMAND[0], [*COMMAND, "run", "program.zexp", "--yes"], {**zlang.variables(), "TERM": "xterm"})
    while not (zlang.at / "begun").exists():
        if select.select([terminal], [], [], 0.02)[0]:
            os.read(terminal, 4096)
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGHUP
    assert isinstance(zlang.events()[-1], Interrupt)
    assert zlang.names() == {"program.zexp", "runs", "begun"}
    assert left_of(zlang.folder().name) == []


def test_a_terminal_that_hangs_up_ends_a_query(zlang: Zlang) -> None:
    """If zlang leads the session, as in `ssh -t HOST zlang sql …`, only zlang itself is signalled."""
    zlang.run(FAILS_AT_FIRST, code=1)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(zlang.at)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        query = "select count(*) from range(1000000000) a, range(1000) b where a.range % 7 = b.range"
        os.execve(COMMAND[0], [*COMMAND, "sql", query], {**zlang.variables(), "TERM": "xterm"})
    wait_for(lambda: Path(f"/proc/{child}/task/{child}/children").read_text())
    os.close(terminal)
    try:
        wait_for(lambda: os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT), 15)
    finally:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in {-signal.SIGHUP, 128 + signal.SIGHUP}


def test_nohup_goes_on_when_the_terminal_hangs_up(zlang: Zlang) -> None:
    name = zlang.program(FAILS_AT_FIRST.replace("test {n}", f"touch {zlang.at}/begun; sleep 0.3; test {{n}}"))
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(zlang.at)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.execve(COMMAND[0], [*COMMAND, "run", name, "--yes"], {**zlang.variables(), "TERM": "xterm"})
    while not (zlang.at / "begun").exists():
        if select.select([terminal], [], [], 0.02)[0]:
            os.read(terminal, 4096)
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 1
    assert isinstance(zlang.events()[-1], Finish)


def test_a_second_ctrl_c_names_the_leftovers(zlang: Zlang) -> None:
    """Resources cannot be removed while their removal hangs; the message says so, and `clean` removes them."""
    name = zlang.program(waits(zlang).replace("touch", "trap '' TERM; touch"))
    process = zlang.start("run", name)
    while not (zlang.at / "begun").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    time.sleep(0.6)  # a signal that comes sooner is taken for the same wish
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    folder = zlang.folder()
    assert process.returncode == 130
    assert "everything that the run created is removed" not in err.decode()
    assert re.search(rf"Still there: .*zlang-{folder.name}", err.decode())
    assert f"zlang clean {folder.name}" in err.decode()
    deadline = time.monotonic() + 10
    while left_of(folder.name):  # they were killed, and nobody waited for them
        assert time.monotonic() < deadline
    assert any(name.startswith("zlang-") for name in zlang.names())
    zlang("clean", folder.name)
    assert not any(name.startswith("zlang-") for name in zlang.names())


def test_hints_for_a_run_that_could_not_be_sealed(zlang: Zlang) -> None:
    name = zlang.program(waits(zlang))
    zlang.environment["XDG_STATE_HOME"] = "/dev/null/state"
    process = zlang.start("run", name)
    while not (zlang.at / "begun").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "this run is not sealed" in err.decode()
    assert f"To continue: zlang resume {zlang.folder().name} --trust" in err.decode()


@pytest.mark.parametrize("command", ["resume", "run"])
def test_failed_trials_give_exit_code_1_again(zlang: Zlang, command: str) -> None:
    zlang.run(FAILS_AT_FIRST, code=1)
    again = zlang("resume", code=1) if command == "resume" else zlang("run", "program.zexp", code=1)
    assert "5 of 6 trials count" in again.out
