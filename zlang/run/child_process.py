"""Run work in a child process that may die: `work` -> its result. A crash in a C++ library does not end the caller.

Rule: the caller gets the result, the exception that `work` raised, or a RunError that says how the child died. A signal
meant for the caller also reaches the child, and ends both.
"""

from __future__ import annotations

import ctypes
import io
import os
import pickle
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from zlang.errors import RunError, failed_import, is_out_of_memory, reason_of
from zlang.hints import NoReturn, TypeVar
from zlang.run import processes
from zlang.sink import Sink

T = TypeVar("T")
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_WAITED_FOR = (*_PASSED_ON, signal.SIGCHLD)
_LOOK_EVERY = 1.0
"""Seconds between checks of the child: another thread may receive the signal that it has ended."""
_BY_THE_TERMINAL = 0x80
"""SI_KERNEL (sigaction(2)): the terminal sent the signal, and Ctrl-C to the child as well."""
_PR_SET_PDEATHSIG = 1
_REASON = re.compile(rb'what\(\): .*?"exception_message":"((?:[^"\\]|\\.)*)"|what\(\): *([^\n]+)')
"""The C++ library's message about why it aborts; DuckDB prints JSON."""


def call(work: Callable[[], T], task: str, hint: str = "") -> T:
    """Run `work` in a child process and return its result; errors begin with `task`, as in "reading x".

    The output of `work` is shown; its changes to memory are lost. Raises RunError.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    processes.keep_exit_codes()
    try:
        answer, text = (os.memfd_create(name) for name in ("answer", "said"))
    except OSError as error:
        raise RunError(f"{task} failed: {reason_of(error)}", hint) from error
    try:
        with signals_blocked() as before:
            try:
                child = os.fork()
            except OSError as error:
                raise RunError(f"{task} failed: no process can be started: {reason_of(error)}", hint) from error
            if child == 0:
                _run_child(work, answer, text, before)
            status = _wait(child)
        words = _content(text)
        if os.WIFSIGNALED(status):
            _die_by_same_signal(os.WTERMSIG(status))
            raise RunError(f"{task} failed: {_describe_death(os.WTERMSIG(status), words)}", hint)
        sys.stderr.write(words.decode("utf-8", "replace"))
        if not (content := _content(answer)):
            raise RunError(f"{task} failed: its process ended without a result", hint)
        is_done, value = pickle.loads(content)  # noqa: S301 - written by our child
        if is_done:
            result: T = value
            return result
        if is_out_of_memory(value):
            raise RunError(f"{task} failed: there is not enough memory", hint)
        raise value
    finally:
        os.close(answer)
        os.close(text)


@contextmanager
def signals_blocked() -> Iterator[set[signal.Signals]]:
    """Hold back the signals that end this process, and provide those that were held back before."""
    before = {signal.Signals(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)}
    try:
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(child: int) -> int:
    """Wait for the child and return its status. Pass on signals that did not reach it."""
    while True:
        signal_info = signal.sigtimedwait(_WAITED_FOR, _LOOK_EVERY)
        if signal_info is not None and signal_info.si_signo != signal.SIGCHLD:
            # When a terminal hangs up, it signals only the leader of its session, which may be us.
            if signal_info.si_code != _BY_THE_TERMINAL or signal_info.si_signo == signal.SIGHUP:
                os.kill(child, signal_info.si_signo)
            continue
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status


def _run_child(work: Callable[[], object], answer: int, text: int, mask: set[signal.Signals]) -> NoReturn:
    """In the child: do the work, store the result, and exit without Python's cleanup."""
    code = 1
    try:
        die_with_parent()
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        _redirect_native_output(text)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        try:
            result: tuple[bool, object] = (True, work())
        except BaseException as error:  # noqa: BLE001 - the caller raises it again
            import traceback

            error.add_note("".join(traceback.format_exception(error)))
            is_memory = is_out_of_memory(error)
            result = (False, error if is_memory else failed_import(error) or error)
        signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)
        sys.stdout.flush()
        sys.stderr.flush()
        os.pwrite(answer, _pickled(result), 0)
        code = 0
    finally:
        os._exit(code)


def die_with_parent() -> None:
    """Have the kernel kill this child when its parent is killed: nobody would wait for it then."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _redirect_native_output(text: int) -> None:
    """Capture what a library prints when it aborts; Python's own output is not redirected."""
    with suppress(OSError, ValueError):
        if sys.stderr.fileno() == 2:  # noqa: PLR2004 - standard error
            raw = io.BufferedWriter(Sink(os.dup(2), is_strict=False))
            sys.stderr = io.TextIOWrapper(raw, sys.stderr.encoding, sys.stderr.errors, line_buffering=True)
    os.dup2(text, 2)


def _pickled(result: tuple[bool, object]) -> bytes:
    value = result[1]
    if isinstance(value, RunError):
        return pickle.dumps((False, RunError(value.message, value.hint)))
    try:
        whole = pickle.dumps(result)
        pickle.loads(whole)  # noqa: S301 - our own
    except Exception as error:  # noqa: BLE001 - pickle may raise anything
        notes = getattr(value, "__notes__", [f"BUG: what was found cannot be handed over: {error!r}"])
        return pickle.dumps((False, RuntimeError("\n".join(notes))))
    return whole


def _content(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


def _die_by_same_signal(number: int) -> None:
    """End this process by the signal that ended the child, if the signal was meant for both."""
    if number in _PASSED_ON:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)


def _describe_death(number: int, words: bytes) -> str:
    """Describe how a process died, with the reason that it printed, if any."""
    match = _REASON.search(words)
    reason = next(part for part in match.groups() if part is not None).decode("utf-8", "replace") if match else ""
    if number == signal.SIGKILL:
        reason = "the machine may be out of memory"
    named = f"the database library (DuckDB) ended with {signal.Signals(number).name}"
    return f"{named}: {reason}" if reason else named
