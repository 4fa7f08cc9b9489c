"""Test work in a child process: its result, its exceptions and its death."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import duckdb
import pytest
from command_line import REPOSITORY

from zlang.errors import RunError
from zlang.run import child_process


def test_the_result_comes_back() -> None:
    assert child_process.call(lambda: {"a": [1.5, "é", None]}, "counting") == {"a": [1.5, "é", None]}


def test_another_thread_may_take_the_signal_that_the_child_has_ended() -> None:
    is_over = threading.Event()
    threads = [threading.Thread(target=is_over.wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        assert child_process.call(lambda: 1, "counting") == 1
    finally:
        is_over.set()


def test_changes_in_the_child_process_do_not_reach_the_parent() -> None:
    changed: list[int] = []
    child_process.call(lambda: changed.append(1), "counting")
    assert changed == []


def fail(error: BaseException) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


def test_an_error_of_the_world_comes_back_whole() -> None:
    with pytest.raises(RunError, match="no disk") as caught:
        child_process.call(fail(RunError("no disk", "buy one")), "counting")
    assert caught.value.hint == "buy one"


@pytest.mark.parametrize("error", [ZeroDivisionError("by zero"), KeyboardInterrupt()])
def test_other_errors_come_back_with_their_traceback(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        child_process.call(fail(error), "counting")
    assert "in work" in "".join(caught.value.__notes__)


OUT_OF_MEMORY = (
    MemoryError(),
    SystemError("error return without exception set"),
    SystemError("<built-in function len> returned NULL without setting an exception"),
    ImportError("lib.so: failed to map segment from shared object"),
    duckdb.OutOfMemoryException("Allocation failure"),
)
"""What CPython, the loader and DuckDB raise where there is no memory."""


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=repr)
def test_lack_of_memory_is_a_run_error(error: Exception) -> None:
    with pytest.raises(RunError, match="counting failed: there is not enough memory") as caught:
        child_process.call(fail(error), "counting", "buy some")
    assert caught.value.hint == "buy some"


def test_an_error_that_cannot_be_pickled_has_its_traceback() -> None:
    class Odd(Exception):
        pass

    with pytest.raises(RuntimeError, match="in work"):
        child_process.call(fail(Odd()), "counting")


def test_a_result_that_cannot_be_pickled_is_a_bug() -> None:
    with pytest.raises(RuntimeError, match="BUG"):
        child_process.call(lambda: lambda: 1, "counting")


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGKILL])
def test_a_killed_process_is_reported(number: signal.Signals) -> None:
    def work() -> None:
        faulthandler.disable()  # pytest's would print where it died
        os.kill(os.getpid(), number)

    with pytest.raises(RunError, match=f"reading x failed: .* ended with {number.name}") as caught:
        child_process.call(work, "reading x", "read y")
    assert caught.value.hint == "read y"


def test_the_message_of_an_aborting_library_is_the_reason() -> None:
    message = b'terminate called\n  what():  {"exception_type":"IO","exception_message":"Cannot open file: EMFILE"}\n'

    def work() -> None:
        faulthandler.disable()
        os.write(2, message)
        os.abort()

    with pytest.raises(RunError, match=r"SIGABRT: Cannot open file: EMFILE$"):
        child_process.call(work, "reading x")


SLEEPS = """
import os, signal, sys, time
from zlang.run import child_process
def work():
    print(os.getpid(), flush=True)
    time.sleep(60)
try:
    child_process.call(work, "sleeping")
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGKILL, -9)])
def test_a_signal_for_the_parent_ends_both(number: signal.Signals, code: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEPS], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}
    )
    assert process.stdout
    assert process.stdout.readline()
    process.send_signal(number)
    assert process.wait(60) == code
    assert process.stdout.read() == b""  # the end of what both could write: the child is gone, too
    process.stdout.close()


def test_no_core_is_dumped() -> None:
    import resource

    soft, _ = child_process.call(lambda: resource.getrlimit(resource.RLIMIT_CORE), "looking")
    assert soft == 0


def test_an_end_without_a_result_is_no_bug() -> None:
    with pytest.raises(RunError, match="counting failed: its process ended without a result"):
        child_process.call(lambda: os._exit(1), "counting")


def test_a_limit_that_cannot_be_set_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert child_process.call(lambda: 1, "counting") == 1
