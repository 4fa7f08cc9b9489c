"""Work on many items in child processes, one for each processor: `work`, items -> results, in the order of the items.

Rules: the results, and an exception at its place, are those of `work` called here for one item after the other. A child
that gets ahead waits until its results are taken, so only a few are in memory. No child outlives this process. If a
child cannot be started, or dies, or fails, its remaining items are worked on here.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from zlang.hints import Any, BinaryIO, NamedTuple, NoReturn, TypeVar
from zlang.run import child_process

A = TypeVar("A")
B = TypeVar("B")

_MOST_CHILDREN = 8
"""One process takes the results of all children, and would not keep up with more."""
_LEAST = 200
"""Fewer items are done before children have started."""
_MOST_TOGETHER = 16
"""Results that are passed together."""
_BUFFER = 1 << 16
_NONE: Any = object()


class _Child(NamedTuple):
    """A child process, and the pipe with its results."""

    process: int
    results: BinaryIO


@contextmanager
def results(work: Callable[[A], B], items: Sequence[A]) -> Iterator[Iterator[B]]:
    """Begin to work on all items, and provide the results. The children end with the block."""
    children: list[_Child] = []
    try:
        count = min(_MOST_CHILDREN, len(os.sched_getaffinity(0)), len(items))
        if count > 1 and len(items) >= _LEAST:
            with suppress(OSError):  # no more processes can be started; the list has those that were
                children.extend(_start(work, items[number::count]) for number in range(count))
        yield _in_turn(work, items, children, count)
    finally:
        for child in children:
            child.results.close()
            with suppress(OSError):  # where the system collects the children of a process by itself
                os.kill(child.process, signal.SIGKILL)
                os.waitpid(child.process, 0)


def _in_turn(work: Callable[[A], B], items: Sequence[A], children: Sequence[_Child], count: int) -> Iterator[B]:
    """The results of all items; the child of that number has every `count`-th."""
    ready: list[Iterator[B]] = [iter(())] * count
    for place, item in enumerate(items):
        number = place % count
        result = next(ready[number], _NONE)
        if result is _NONE and number < len(children):
            with suppress(EOFError, pickle.UnpicklingError):
                ready[number] = iter(pickle.load(children[number].results))  # noqa: S301 - written by our child
            result = next(ready[number], _NONE)
        yield work(item) if result is _NONE else result


def _start(work: Callable[[A], B], items: Sequence[A]) -> _Child:
    """Start a child that works on some items. Raises OSError."""
    parent = os.getpid()
    reading, writing = os.pipe()
    try:
        with child_process.signals_blocked():
            process = os.fork()
            if process == 0:
                _run_child(work, items, writing, parent)
    except OSError:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return _Child(process, os.fdopen(reading, "rb", _BUFFER))


def _run_child(work: Callable[[A], B], items: Sequence[A], writing: int, parent: int) -> NoReturn:
    """In the child: write the results, and exit without Python's cleanup.

    Several are pickled together, because they share objects; the first ones are passed on at once. The signals that end
    a process stay blocked: if they end the parent, the child ends too.
    """
    try:
        child_process.die_with_parent()
        gc.disable()  # a collection would copy the memory that is shared with the parent
        with os.fdopen(writing, "wb", _BUFFER) as out:
            place, size = 0, 1
            while place < len(items) and os.getppid() == parent:
                done: list[B] = []
                try:
                    done.extend(map(work, items[place : place + size]))
                finally:
                    pickle.dump(done, out, pickle.HIGHEST_PROTOCOL)
                place, size = place + size, min(2 * size, _MOST_TOGETHER)
    finally:
        os._exit(0)
