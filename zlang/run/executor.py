"""Run one step: `Step` + directory for its output -> exit code. All other processes are started here.

Rule: when `finish` or `stop` has returned and the step did not succeed, nothing that it started is still running.
"""

from __future__ import annotations

import os
import secrets
import select
import shutil
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from zlang.errors import RunError, reason_of
from zlang.hints import Protocol
from zlang.plan.plan import Step
from zlang.run import processes
from zlang.run.failure import TIMED_OUT
from zlang.run.stop import Stop
from zlang.text import utf8

NOT_STARTED = 126
LOST = 125
"""The exit code of a step whose machine was lost."""
_DAY = 86_400  # poll(2) takes at most 24 of them
_WRITTEN = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_MODE = 0o666
"""The permissions of a new file, before the umask."""
_STANDARD = 2
"""The last descriptor of the standard streams."""
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class Handle(Protocol):
    """A started step, or anything else to wait for until its deadline (by the monotonic clock)."""

    @property
    def deadline(self) -> float:
        """The time by which it has to end."""

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when the step ends."""

    def finish(self) -> int:
        """Return the exit code of a step that has ended."""

    def ask_to_stop(self) -> bool:
        """Ask the step to end if that may take a while, as on another machine; False if `stop` ends it quickly."""

    def stop(self) -> int:
        """End the step, with TERM first, and return its exit code."""

    def kill(self) -> None:
        """Kill the step immediately."""


class Executor(Protocol):
    """A place where commands run, and the way to run them there."""

    def start(self, step: Step, out: Path, *, keep: bool = True) -> Handle:
        """Start a step; `keep=False` discards its output (on a full disk)."""

    def start_together(self, steps: Sequence[Step], out: Path, codes: dict[str, int]) -> Handle:
        """Start steps on several machines, which begin at one instant; `codes` gets their exit codes as they end."""

    def bring(
        self, out: Path, host: str = "", prefix: str = "", small: dict[str, bytes] | None = None
    ) -> Handle | None:
        """Fetch the output of steps in a directory of the run from all other machines, or from one of them.

        Afterwards the files in it whose names begin with `prefix` are on the disk. With `small`, files of one machine
        that can be packed by their sizes go there instead.
        """

    def hold(self, host: str, out: Path) -> bool:
        """Have another machine verify the directory named in `made` around each step; False if it is this machine."""

    def release(self, host: str, out: Path) -> None:
        """Stop verifying the directory."""

    def ahead(self, host: str) -> float:
        """The seconds by which a machine's clock is ahead of ours."""

    def took(self, host: str) -> float:
        """The seconds that the last step took by the clock of its machine; zero if unknown."""

    def lost(self, host: str) -> RunError | None:
        """The reason why a machine is no longer used, and what to do; None if it is in use."""

    def stop_waiting(self) -> None:
        """Stop waiting for unreachable machines from now on, because the run is to stop."""

    def sweep(self) -> int:
        """End all processes of this run that are still running, and return their number."""

    def forget(self) -> None:
        """Remove everything that machines keep for the run, once none of it is needed any more."""


def run(executor: Executor, step: Step, out: Path, stop: Stop) -> int:
    """Run a step until it ends, times out or the run is to stop."""
    handle = executor.start(step, out)
    try:
        return conclude(handle, stop, is_ended=wait(handle, stop))
    except BaseException:  # a second signal, even while leftover processes are being ended
        handle.kill()
        raise


def conclude(handle: Handle, stop: Stop, *, is_ended: bool) -> int:
    """Return the exit code of a step that has ended, or end it if it timed out or the run is to stop."""
    if is_ended:
        return handle.finish()
    code = handle.stop()
    return code if stop.pending else TIMED_OUT


def wait(handle: Handle, stop: Stop) -> bool:
    """Sleep until a step ends (True), times out or the run is to stop (False)."""
    poll = select.poll()
    poll.register(handle.fileno(), select.POLLIN)
    poll.register(stop.fileno(), select.POLLIN)
    while (remaining := handle.deadline - time.monotonic()) > 0:
        ready = {descriptor for descriptor, _ in poll.poll(min(remaining, _DAY) * 1000)}
        if handle.fileno() in ready:
            return True
        if stop.fileno() in ready:
            if stop.pending:
                return False
            stop.drain()
    return False


def is_readable(handle: Handle) -> bool:
    """Whether the step has ended."""
    return processes.wait(handle.fileno(), 0)


class LocalExecutor:
    """Runs steps on this machine, in `directory`, each in its own session, with `more` in the environment."""

    def __init__(self, run: str, directory: Path, more: Mapping[str, str] = MappingProxyType({})) -> None:
        self._run = run
        self._directory = directory
        marks = {"RUN": run, "ZLANG_RUN": run, "ZLANG_SESSION": secrets.token_hex(8)}
        # As bytes, and with the path of `sh`, so that neither is computed again for each step.
        self._environment = {**os.environb, **_encoded({**marks, "CDPATH": "", "LC_ALL": "C", **more})}
        shell = shutil.which("sh", path=more.get("PATH"))
        self._shell = shell if shell and Path(shell).is_absolute() else "sh"
        _keep_descriptors()
        processes.keep_exit_codes()

    def start(self, step: Step, out: Path, *, keep: bool = True) -> Handle:
        """Start a step in its own session."""
        return self._task(step, out, keep=keep) or _NeverStarted()

    def start_together(self, steps: Sequence[Step], _out: Path, _codes: dict[str, int]) -> Handle:
        """Do nothing: there are no other machines."""
        raise AssertionError(f"BUG: {steps[-1].name} begins with others, and there is one machine")

    def bring(self, _out: Path, _host: str = "", _prefix: str = "", _small: dict[str, bytes] | None = None) -> None:
        """Do nothing: all output is on this machine."""

    def hold(self, _host: str, _out: Path) -> bool:
        """Do nothing: the runner verifies the directory itself."""
        return False

    def release(self, _host: str, _out: Path) -> None:
        """Do nothing: the runner verifies the directory itself."""

    def took(self, _host: str) -> float:
        """Return zero: the coordinator's clock is the only one."""
        return 0.0

    def ahead(self, _host: str) -> float:
        """Zero: the clock is the same."""
        return 0.0

    def lost(self, _host: str) -> None:
        """None: this machine is always available."""

    def stop_waiting(self) -> None:
        """Do nothing: this machine is never away."""

    def sweep(self) -> int:
        """End all processes of this run that are still running."""
        return processes.end({"ZLANG_RUN": self._run})

    def forget(self) -> None:
        """Do nothing: the run folder belongs to the user."""

    def _task(self, step: Step, out: Path, *, keep: bool) -> _Task | None:
        if step.host != "local":
            message = f"step {step.name} is for the host {step.host}, but only this machine can be reached"
            raise RunError(message)
        marks = {"OUT": str(out), "ZLANG_STEP": step.name}
        output, errors = (f"{out}/{step.name}.out", f"{out}/{step.name}.err") if keep else (os.devnull,) * 2
        try:
            process = self._spawn(utf8(step.command), output, errors, {**self._environment, **_encoded(marks)})
        except OSError as error:  # the command is too long, the directory is gone, or no process can be created
            Path(errors).write_text(f"cannot start: {reason_of(error)}\n", "utf-8", "surrogateescape")
            return None
        return _Task(process, {"ZLANG_RUN": self._run, **marks}, time.monotonic() + step.timeout)

    def _spawn(self, command: bytes, output: str, errors: str, environment: Mapping[bytes, bytes]) -> int:
        """Start a shell in its own session, with two files for its output; `subprocess` takes three times as long."""
        files = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, output, _WRITTEN, _MODE),
            (os.POSIX_SPAWN_OPEN, 2, errors, _WRITTEN, _MODE),
        ]
        with _working_in(self._directory):
            return os.posix_spawnp(
                self._shell,
                (b"sh", b"-c", command),
                environment,
                file_actions=files,
                setsid=True,
                setsigdef=_IGNORED_BY_PYTHON,
            )


@contextmanager
def _working_in(directory: Path) -> Iterator[None]:
    """Work in a directory, which a process starts in; a spawned process cannot be given another one.

    There is no way back to a directory in which the user may not look, and nothing in it that zlang could read.
    """
    before = -1
    with suppress(PermissionError):
        before = os.open(".", os.O_PATH | os.O_CLOEXEC)
    try:
        os.chdir(directory)
        yield
    finally:
        if before >= 0:
            os.fchdir(before)
            os.close(before)


def _keep_descriptors() -> None:
    """Pass no descriptors on to processes but their standard streams, such as those of whatever started zlang."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - the names are numbers
        with suppress(OSError):  # that of the list itself
            if int(name) > _STANDARD:
                os.set_inheritable(int(name), False)  # noqa: FBT003 - it takes no name


def _encoded(variables: Mapping[str, str]) -> dict[bytes, bytes]:
    return {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}


class _Task:
    """A process and all its descendants."""

    def __init__(self, process: int, marks: dict[str, str], deadline: float) -> None:
        self.deadline = deadline
        self._process = process
        self._marks = marks
        self._handle = os.pidfd_open(process)

    def fileno(self) -> int:
        return self._handle

    def finish(self) -> int:
        code = self._code()
        if code != 0:
            self.sweep()
        self._release()
        return code

    def ask_to_stop(self) -> bool:
        return False

    def stop(self) -> int:
        self.end()
        self._release()
        return self._code()

    def kill(self) -> None:
        """Kill the process without waiting, with all its descendants."""
        if self._handle < 0:
            return
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
                message = f"process {self._process} of step {self._marks['ZLANG_STEP']} does not end after SIGKILL"
                raise RunError(
                    message, "it is probably waiting for a device; when the device responds, type `zlang resume`"
                )
        self.sweep()

    def sweep(self) -> None:
        processes.end(self._marks)

    def _code(self) -> int:
        """Return the exit code of the process, which has ended."""
        return os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])

    def _release(self) -> None:
        os.close(self._handle)
        self._handle = -1

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process, number)


class _NeverStarted:
    """A step that could not be started; its `.err` file says why."""

    deadline = 0.0

    def __init__(self) -> None:
        self._handle = os.eventfd(1, os.EFD_CLOEXEC)

    def fileno(self) -> int:
        return self._handle

    def finish(self) -> int:
        self.kill()
        return NOT_STARTED

    def ask_to_stop(self) -> bool:
        return False

    def stop(self) -> int:
        return self.finish()

    def kill(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
