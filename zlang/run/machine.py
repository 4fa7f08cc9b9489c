"""Facts of this machine: tools with their versions, privileges, and the output of commands.

In: the names of tools and how to get them. Out: `Tool`s. Nothing is changed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from zlang.errors import suppress
from zlang.frozen import frozen
from zlang.hints import Self
from zlang.plan.plan import ROOT
from zlang.text import utf8

_PATIENCE = 10
"""Seconds in which a command has to end."""
_KILL, _BROKEN_PIPE = 9, 13
"""Numbers of signals of Linux."""


@frozen
class Tool:
    """A program: its path and version, or how to get it."""

    name: str
    path: str | None
    version: str
    hint: str


def tools(wanted: Mapping[str, str]) -> list[Tool]:
    """Look for each tool."""
    result = []
    for name, hint in sorted(wanted.items()):
        if name == ROOT:
            result.append(Tool(name, "yes" if is_root() else None, "", f"{hint}: type `sudo zlang …`"))
            continue
        if is_command(name):
            result.append(Tool(name, "succeeds" if has(name) else None, "", hint))
            continue
        path = _path_of(name)
        result.append(Tool(name, path, _version(path) if path else "", hint))
    return result


def has(tool: str) -> bool:
    """Whether a requirement is met: a tool exists, a command succeeds, or for `root` the privileges are there."""
    with ToolSearch({tool: ""}) as search:
        return not search.missing()


_TRIED: dict[str, bool] = {}
"""Whether commands have succeeded: each is tried once."""


class ToolSearch:
    """A search for tools, with how to get them. Their commands run while the `with` block does something else."""

    def __init__(self, tools: Mapping[str, str]) -> None:
        self._tools = tools
        self._attempts = {tool: _Attempt(tool) for tool in tools if is_command(tool) and tool not in _TRIED}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for attempt in self._attempts.values():
            attempt.end()

    def missing(self) -> dict[str, str]:
        """The tools, privileges (`root`) and commands that this machine lacks, each with how to get it."""
        return {tool: hint for tool, hint in self._tools.items() if not self._has(tool)}

    def _has(self, tool: str) -> bool:
        if tool in self._attempts:
            _TRIED[tool] = self._attempts.pop(tool).end(_PATIENCE)
        if tool in _TRIED:
            return _TRIED[tool]
        return is_root() if tool == ROOT else _path_of(tool) is not None


def _path_of(tool: str) -> str | None:
    """The path of a program, as `shutil.which` finds it; that module imports three compressors, in 3 ms."""
    places = [""] if "/" in tool else os.get_exec_path()
    paths = (os.path.join(place, tool) for place in places)  # noqa: PTH118 - the same text as in PATH
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)  # noqa: PTH113


def is_command(tool: str) -> bool:
    """Whether a requirement is a command that has to succeed, and not the name of a program."""
    return len(tool.split()) > 1


def is_root() -> bool:
    """Whether this process has the privileges of root."""
    return os.geteuid() == 0


def answer(command: str) -> str:
    """The first line that a shell command prints; empty if it fails."""
    return _first_line(["sh", "-c", command])


def output(command: str) -> str:
    """The full output of a shell command; empty if it fails."""
    return _output(["sh", "-c", command]) or ""


def memory() -> str:
    """The amount of memory in KiB, from /proc/meminfo; empty if that does not exist."""
    return answer("sed -n 's/^MemTotal: *\\([0-9]*\\).*/\\1/p' /proc/meminfo")


def free(place: str) -> int | None:
    """The bytes that can be written to the file system that holds, or will hold, a path."""
    path = Path(place)
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        file_system = os.statvfs(path)
    except OSError:
        return None
    return file_system.f_bavail * file_system.f_frsize


def look(command: str, directory: Path, wipe: str) -> tuple[list[str], list[str]]:
    """The lines that a guard prints about a device, and its objections. With `ZLANG_LOOK` it changes nothing."""
    import subprocess

    environment = {**os.environ, "ZLANG_LOOK": "1", "ZLANG_WIPE": wipe, "CDPATH": "", "LC_ALL": "C"}
    try:
        completed = subprocess.run(  # noqa: S603 - a command of the plan
            ["sh", "-c", utf8(command)],  # noqa: S607
            cwd=directory,
            env=environment,
            capture_output=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], [f"it cannot be inspected: {error}"]
    result, against = (text.decode("utf-8", "replace").splitlines() for text in (completed.stdout, completed.stderr))
    return result, against or (
        [f"inspecting it failed with exit code {completed.returncode}"] if completed.returncode else []
    )


def block_device(path: str) -> tuple[str, ...]:
    """The block device of a path, and the disk that it is a partition of; empty if there is none."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return ()
    if not stat.S_ISBLK(status.st_mode):
        return ()
    there = Path(f"/sys/dev/block/{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}").resolve()
    return (there.name, there.parent.name) if (there / "partition").exists() else (there.name,)


def boot() -> str:
    """The kernel's identifier of the current boot; empty if there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def node() -> str:
    """The network name of the machine, in the characters that a journal allows."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", os.uname().nodename)


def name() -> str:
    """The name of the machine as an identifier of the language."""
    word = re.sub(r"[^a-z0-9]+", "_", os.uname().nodename.partition(".")[0].lower()).strip("_")
    return word if word[:1].isalpha() else f"host_{word}".rstrip("_")


def _version(path: str) -> str:
    """The first line of `--version`; empty if a tool has no such option."""
    return _first_line([path, "--version"])


def _first_line(command: list[str]) -> str:
    lines = (_output(command) or "").splitlines()
    return lines[0].strip() if lines else ""


class _Attempt:
    """A shell command that was started to see whether it succeeds.

    `subprocess` would cost `plan` 4 ms at its start, and 3 at its end.
    """

    def __init__(self, command: str) -> None:
        self._child: int | None = None
        words = [b"sh", b"-c", utf8(command)]
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        files = [(os.POSIX_SPAWN_DUP2, nothing, number) for number in range(3)]
        try:
            self._child = os.posix_spawnp("sh", words, os.environ, file_actions=files, setsigdef=[_BROKEN_PIPE])
        except OSError:
            pass  # there is no shell
        finally:
            os.close(nothing)

    def end(self, patience: float = 0) -> bool:
        """Wait for the command, kill it if that takes more seconds than `patience`, and return whether it succeeded."""
        if self._child is None:
            return False
        child, self._child = self._child, None
        try:
            ended, code = os.waitpid(child, os.WNOHANG)
            if not ended:
                _wait_or_kill(child, patience)
                _, code = os.waitpid(child, 0)
        except ChildProcessError:  # whoever started zlang ignores that children end, so the kernel keeps no exit code
            return True
        return code == 0


def _wait_or_kill(child: int, patience: float) -> None:
    """Wait until a process ends, and kill it if that takes more seconds than `patience`."""
    import select

    try:
        handle = os.pidfd_open(child)
    except ProcessLookupError:
        return
    is_over = False
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        is_over = bool(poll.poll(1000 * patience))
    finally:
        os.close(handle)
        if not is_over:
            with suppress(ProcessLookupError):
                os.kill(child, _KILL)


def _output(command: list[str]) -> str | None:
    """The output of a command; None if it fails or times out."""
    import subprocess

    try:
        completed = subprocess.run(  # noqa: S603 - a tool found in PATH, or a command of the library
            list(map(utf8, command)), capture_output=True, timeout=_PATIENCE, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return completed.stdout.decode("utf-8", "replace") if completed.returncode == 0 else None
