"""Carrying out one step: `Step` + directory for its output -> exit code. The only door to other processes.

Rule: when `run` or `stop` has returned, and the step did not end well by itself, nothing that it started is running.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from zlang.errors import RunError
from zlang.plan.plan import Step
from zlang.run import processes
from zlang.run.failure import TIMED_OUT
from zlang.run.stop import Stop

NOT_STARTED = 126
_DAY = 86_400  # poll(2) takes at most 24 of them


class Handle(Protocol):
    """A step that is running in the background."""

    def stop(self) -> int:
        """End it, TERM first, and give its exit code."""

    def kill(self) -> None:
        """End it at once."""


class Executor(Protocol):
    """Where and how commands are run."""

    def run(self, step: Step, out: Path, stop: Stop, *, keep: bool = True) -> int:
        """Run a step to its end, its timeout or a wish to stop; `keep=False` throws its output away (a full disk)."""

    def start(self, step: Step, out: Path) -> Handle:
        """Start a step in the background."""

    def sweep(self) -> int:
        """End whatever is still running of this run, and give how many processes that were."""


class LocalExecutor:
    """Runs steps on this machine, in `directory`, each in a session of its own, with `more` in the environment."""

    def __init__(self, run: str, directory: Path, more: Mapping[str, str] = MappingProxyType({})) -> None:
        self._run = run
        self._directory = directory
        self._environment = {**os.environ, "RUN": run, "ZLANG_RUN": run, "CDPATH": "", "LC_ALL": "C", **more}

    def run(self, step: Step, out: Path, stop: Stop, *, keep: bool = True) -> int:
        """Run a step to its end, its timeout or a wish to stop."""
        task = self._task(step, out, keep=keep)
        if task is None:
            return NOT_STARTED
        try:
            if not task.wait(step.timeout, stop):
                task.end()
                return TIMED_OUT if not stop.pending else task.code
            if task.code != 0:
                task.sweep()
        except BaseException:  # a second signal, also while what the process left behind is being ended
            task.kill()
            raise
        else:
            return task.code
        finally:
            task.close()

    def start(self, step: Step, out: Path) -> Handle:
        """Start a step in the background."""
        return self._task(step, out, keep=True) or _NeverStarted()

    def sweep(self) -> int:
        """End whatever is still running of this run."""
        return processes.end({"ZLANG_RUN": self._run})

    def _task(self, step: Step, out: Path, *, keep: bool) -> _Task | None:
        if step.host != "local":
            message = f"step {step.name} is for the host {step.host}, but only this machine can be reached"
            raise RunError(message)
        marks = {"ZLANG_RUN": self._run, "OUT": str(out), "ZLANG_STEP": step.name}
        names = (out / f"{step.name}.out", out / f"{step.name}.err") if keep else (Path(os.devnull),) * 2
        with names[0].open("wb") as output, names[1].open("wb") as errors:
            try:
                process = subprocess.Popen(  # noqa: S603  (running the plan's commands is what we are for)
                    ["sh", "-c", step.command],  # noqa: S607  (sh is wherever PATH has it, as for the user)
                    cwd=self._directory,
                    env={**self._environment, **marks},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    start_new_session=True,
                )
            except OSError as error:  # the command is too long, the directory is gone, no process is to be had
                errors.write(f"cannot start: {error.strerror}\n".encode())
                return None
        return _Task(process, marks)


class _Task:
    """A process, with all that came of it."""

    def __init__(self, process: subprocess.Popen[bytes], marks: dict[str, str]) -> None:
        self._process = process
        self._marks = marks
        self._handle = os.pidfd_open(process.pid)

    @property
    def code(self) -> int:
        return self._process.wait()

    def wait(self, seconds: int, stop: Stop) -> bool:
        """Sleep until the process ends (True), its time is over or a wish to stop comes (False)."""
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        poll.register(stop.fileno(), select.POLLIN)
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0:
            ready = {handle for handle, _ in poll.poll(min(remaining, _DAY) * 1000)}
            if self._handle in ready:
                return True
            if stop.fileno() in ready:
                if stop.pending:
                    return False
                stop.drain()
        return False

    def stop(self) -> int:
        self.end()
        self.close()
        return self.code

    def kill(self) -> None:
        """Leave nothing behind and wait for nothing."""
        self._signal(signal.SIGKILL)
        for number in processes.marked(self._marks):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
        self._release()

    def end(self) -> None:
        self._signal(signal.SIGTERM)
        if not processes.wait(self._handle, processes.GRACE):
            self._signal(signal.SIGKILL)
            if not processes.wait(self._handle, processes.GRACE):
                message = f"process {self._process.pid} of step {self._marks['ZLANG_STEP']} does not end after SIGKILL"
                raise RunError(
                    message, "it is probably waiting for a device; when the device responds, type `zlang resume`"
                )
        self.sweep()

    def sweep(self) -> None:
        processes.end(self._marks)

    def close(self) -> None:
        """Let go of the process; if it still runs, because a second signal came, kill it first."""
        if self._handle < 0:
            return
        if processes.wait(self._handle, 0):
            self._process.wait()
            self._release()
        else:
            self.kill()

    def _release(self) -> None:
        os.close(self._handle)
        self._handle = -1

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


class _NeverStarted:
    """A background step that could not be started; why stands in its `.err`."""

    def stop(self) -> int:
        return NOT_STARTED

    def kill(self) -> None:
        pass
