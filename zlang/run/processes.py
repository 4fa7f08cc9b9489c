"""Find and end the processes of a run by the marks in their environment.

fio's workers call setsid(), and go on writing after their parent is killed: neither the process group nor the parent's
PID finds them, but the environment that they inherited does. Rule: never end this process or its ancestors.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from zlang.errors import RunError

GRACE = 5.0
"""Seconds between asking a process to end and ending it."""
_PATIENCE = 10.0
"""Seconds in which a killed process has to disappear; it takes longer only if it waits for a device."""
_PROC = Path("/proc")


def keep_exit_codes() -> None:
    """Have the kernel keep the exit codes of children, even if the program that started zlang ignores SIGCHLD."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def marked(marks: Mapping[str, str]) -> list[int]:
    """List the processes that were started with all of `marks` in their environment."""
    wanted = [b"\0" + os.fsencode(f"{name}={value}") + b"\0" for name, value in marks.items()]
    ours = _lineage()
    return [number for number in _numbers() if number not in ours and _environment_has(number, wanted)]


def that_hold(target: str, own: int) -> list[int]:
    """List the processes that have this file open, not counting our own descriptor `own`."""
    result = []
    for number in _numbers():
        with suppress(OSError), os.scandir(_PROC / str(number) / "fd") as entries:  # it ended, or is another user's
            descriptors = [int(entry.name) for entry in entries if _leads_to(entry.path, target)]
            if descriptors and (number, descriptors) != (os.getpid(), [own]):
                result.append(number)
    return result


def end(marks: Mapping[str, str], grace: float = GRACE) -> int:
    """End all processes with `marks`, with TERM first, until none is left; return their number."""
    processes = marked(marks)
    seen = set(processes)
    handles = _signal(processes, marks, signal.SIGTERM)
    _wait(handles, grace)
    deadline = time.monotonic() + _PATIENCE
    while processes := marked(marks):  # repeatedly: a process that is being ended may still fork
        if time.monotonic() > deadline:
            message = f"processes {', '.join(map(str, processes))} do not end after SIGKILL"
            raise RunError(
                message, "they are probably waiting for a device; see `cat /proc/PID/stack`, then type `zlang resume`"
            )
        seen.update(processes)
        _wait(_signal(processes, marks, signal.SIGKILL), 1.0)
    return len(seen)


def wait(handle: int, seconds: float | None) -> bool:
    """Wait for the process of a pidfd without busy waiting; return whether it ended in time."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(None if seconds is None else max(0.0, seconds) * 1000))


def _signal(numbers: list[int], marks: Mapping[str, str], signals: signal.Signals) -> list[int]:
    wanted = [b"\0" + os.fsencode(f"{name}={value}") + b"\0" for name, value in marks.items()]
    handles: list[int] = []
    for number in numbers:
        with suppress(ProcessLookupError, PermissionError):
            handle = os.pidfd_open(number)
            handles.append(handle)
            if _environment_has(number, wanted):  # the PID may belong to another process by now
                signal.pidfd_send_signal(handle, signals)
    return handles


def _wait(handles: list[int], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for handle in handles:
        wait(handle, deadline - time.monotonic())
        os.close(handle)


def _numbers() -> list[int]:
    with os.scandir(_PROC) as entries:
        return [int(entry.name) for entry in entries if entry.name.isdigit()]


def _leads_to(link: str, target: str) -> bool:
    with suppress(OSError):  # it was closed
        return os.readlink(link) == target  # noqa: PTH115 - a Path for each would cost more than the check
    return False


def _environment_has(number: int, wanted: list[bytes]) -> bool:
    try:
        environment = b"\0" + (_PROC / str(number) / "environ").read_bytes() + b"\0"
    except OSError:  # it ended, or belongs to another user
        return False
    return all(mark in environment for mark in wanted)


def _lineage() -> set[int]:
    number = os.getpid()
    lineage = {0, number}
    while number > 1:
        try:
            status = (_PROC / str(number) / "stat").read_bytes()
        except OSError:
            break
        number = int(status.rpartition(b")")[2].split()[1])
        lineage.add(number)
    return lineage
