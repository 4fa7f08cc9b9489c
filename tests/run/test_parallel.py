"""Test work on many items in child processes: the order of results, errors at their place, and the end of children."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import REPOSITORY

from zlang.run import parallel

ITEMS = range(1000)


@pytest.fixture(autouse=True)
def several_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))


def children() -> list[int]:
    return [int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_results_come_in_order_from_several_processes() -> None:
    with parallel.results(lambda n: (n, os.getpid()), ITEMS) as results:
        both = list(results)
    assert [n for n, _ in both] == list(ITEMS)
    assert len({process for _, process in both} - {os.getpid()}) == 4


def test_few_items_are_worked_on_here() -> None:
    with parallel.results(lambda _: os.getpid(), range(10)) as results:
        assert set(results) == {os.getpid()}


def test_one_processor_works_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with parallel.results(lambda _: os.getpid(), ITEMS) as results:
        assert set(results) == {os.getpid()}


def test_without_processes_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", fork)
    with parallel.results(lambda _: os.getpid(), ITEMS) as results:
        assert set(results) == {os.getpid()}


def test_a_child_that_dies_leaves_its_work_to_the_parent() -> None:
    parent = os.getpid()

    def work(n: int) -> tuple[int, str]:
        if n == 401 and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return n, "a result " * n  # more than a pipe holds

    with parallel.results(work, ITEMS) as results:
        assert list(results) == [(n, "a result " * n) for n in ITEMS]


def test_an_error_comes_at_its_place() -> None:
    def work(n: int) -> int:
        if n == 503:
            raise ZeroDivisionError
        return n

    with parallel.results(work, ITEMS) as results:
        assert [next(results) for _ in range(503)] == list(range(503))
        with pytest.raises(ZeroDivisionError):
            next(results)


def test_the_children_end_with_the_block() -> None:
    def work(n: int) -> str:
        if n > 10:
            time.sleep(60)
        return "a result " * 10_000  # more than the child keeps

    with parallel.results(work, ITEMS) as results:
        assert next(results)
        assert len(children()) == 4
    assert not children()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_child_outlives_its_parent(number: signal.Signals) -> None:
    program = (
        "import os, time; from zlang.run import parallel; os.sched_getaffinity = lambda _: {0, 1}\n"
        "with parallel.results(lambda n: time.sleep(60), range(1000)) as results:\n"
        "  print(open(f'/proc/self/task/{os.getpid()}/children').read(), flush=True); next(results)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        started = [int(word) for word in process.stdout.readline().split()]
        assert len(started) == 2
        os.killpg(process.pid, number) if number == signal.SIGINT else process.kill()
        words = process.stderr.read()  # ends when no process holds it
    assert words.count("Traceback") == (number == signal.SIGINT)
    deadline = time.monotonic() + 20
    while any(map(is_running, started)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_running, started))
