"""Errors outside the program, such as a missing fio, a full disk or a database of another version."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

_OUT_OF_MEMORY = r"(?i)without (exception set|setting an exception)$|bad_alloc|map segment|cannot allocate"
"""Messages of CPython without memory for a call, and of the loader without memory for a library."""


class suppress:  # noqa: N801 - as in contextlib, whose import takes 0.5 ms of each start
    """Leaves out what follows an error of these types in a `with` statement."""

    def __init__(self, *types: type[BaseException]) -> None:
        self._types = types

    def __enter__(self) -> None:
        """Begin the statements."""

    def __exit__(self, error: type[BaseException] | None, *_details: object) -> bool:
        return error is not None and issubclass(error, self._types)


class ReportedError(Exception):
    """Ends a command whose program has errors that are already printed."""


class UsageError(Exception):
    """A wrong use of the command line. `option` is the option or the argument that is wrong, as users type it."""

    def __init__(self, message: str, *, option: str | None = None) -> None:
        super().__init__(message)
        self.message, self.option = message, option


class NotConfirmed(Exception):
    """Ends a command because its user said no to its question, or gave no answer."""


class RunError(Exception):
    """An error outside the program that stopped the work: one sentence, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def joined(problems: Sequence[RunError]) -> RunError:
    """One problem that names all of several."""
    messages = dict.fromkeys(problem.message for problem in problems)
    hints = dict.fromkeys(problem.hint for problem in problems if problem.hint)
    return RunError("; ".join(messages), "; ".join(hints))


def reason_of(error: Exception) -> str:
    """Return the reason why a system call failed, as the end of a sentence: "no such file or directory"."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return reason if reason == type(error).__name__ or reason[:2].isupper() else reason[:1].lower() + reason[1:]


def unwritable(path: Path, error: Exception) -> RunError:
    """The error that a file cannot be written, often because its directory does not exist."""
    is_lost = isinstance(error, FileNotFoundError) and not path.parent.exists()
    reason = f"there is no directory {path.parent}" if is_lost else reason_of(error)
    return RunError(f"cannot write {path}: {reason}")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means out of memory: by its type, or by the messages of CPython, the loader and DuckDB."""
    is_by_text = isinstance(error, SystemError | ImportError) and re.search(_OUT_OF_MEMORY, str(error)) is not None
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException" or is_by_text


def failed_import(error: BaseException) -> RunError | None:
    """The error that a library could not be loaded, if that is why `error` was raised; else None.

    If a system call fails while a module is loaded, parts of the module can be missing, and it can raise any exception.
    """
    place = _place_in_module(error.__traceback__)
    if isinstance(error, RunError) or not (isinstance(error, ImportError) or place):
        return None
    hint = "install zlang again if this happens again" + (f"; if you changed {place}, correct it" if place else "")
    return RunError(f"a library cannot be loaded: {error}", hint)


def _place_in_module(trace: TracebackType | None) -> str:
    """Return the innermost line in a trace that is at module level, not in a function; empty if there is none."""
    place = ""
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "<module>":
            place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
