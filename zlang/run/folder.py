"""The folder of one run: its name, its paths, its plan and its lock.

Rules: a folder belongs to one runner at a time; `plan.jsonl` is either complete or absent; `directory` records where
the run was started, because the commands of a plan are relative to it.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from zlang.errors import RunError, reason_of
from zlang.files import (
    is_temporary,
    make_directory,
    open_regular,
    read_regular,
    remove_abandoned_files,
    replace_file,
    sync_directory,
)
from zlang.plan import wire
from zlang.plan.plan import Plan
from zlang.run import journal, outputs, places, processes, seal
from zlang.run.events import Session

_LONGEST_NAME = 40
_LONGEST_PATH = 8192
_UNBEGUN = frozenset({"armed", "directory", places.FINDINGS, "lock", "machines", "plan.sh", "source"})
"""Everything that a folder can contain before its plan, except files that are being written."""
_RUN = re.compile(r"[a-z0-9-]{1,100}")
_FIRST = frozenset({"lock", "source"})
"""Everything that a folder can contain before `directory`."""
_NAME = re.compile(r"[a-z0-9-]+-\d{8}-\d{6}-[0-9a-f]{4}")


@dataclass(frozen=True, slots=True)
class Folder:
    """A run folder; `path` is absolute."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.path.name

    @property
    def run(self) -> str:
        """The name under which the run began, which its commands use; a folder can be renamed. Raises RunError."""
        sessions = (event.run for event in journal.Lines(self.journal) if isinstance(event, Session))
        name = seal.sealed_name(self.path) or next(sessions, self.name)
        if not _RUN.fullmatch(name):
            message = f"`{name}` is not the name of a run"
            raise RunError(message, "a name has lower-case letters, digits and `-` only; rename the folder")
        return name

    @property
    def plan(self) -> Path:
        """The path of the plan as JSON lines."""
        return self.path / "plan.jsonl"

    @property
    def script(self) -> Path:
        """The path of the plan as a shell script."""
        return self.path / "plan.sh"

    @property
    def sources(self) -> Path:
        """The directory of the program's source."""
        return self.path / "source"

    @property
    def journal(self) -> Path:
        """The path of the journal."""
        return self.path / "journal.jsonl"

    @property
    def directory(self) -> Path:
        """The directory from which the run was started."""
        path = self.path / "directory"
        try:
            name = read_regular(path, _LONGEST_PATH)
        except FileNotFoundError:
            return Path.cwd()
        except OSError as error:
            raise RunError(f"cannot read {path}: {reason_of(error)}") from error
        if b"\0" in name or not name.startswith(b"/"):
            message = f"{path} is damaged: it does not name the directory from which the run was started"
            raise RunError(message, "write the path of that directory into it, then add --trust")
        return Path(os.fsdecode(name))

    @property
    def estimate(self) -> Path:
        """The path of the estimate that was made before the run began."""
        return self.path / "estimate.json"

    @property
    def tried(self) -> frozenset[str]:
        """The identities of the trials that were started and left output."""
        packed = frozenset(out.split("/")[1] for out in outputs.packed_in(self.path))
        try:
            return packed.union(os.listdir(self.path / "trials"))  # noqa: PTH208 - only the names are needed
        except OSError:
            return packed

    def made(self, out: str) -> tuple[Path, int] | None:
        """The directory that a setup made, and its inode, as the setup recorded them in its output directory."""
        try:
            identity, _, line = read_regular(self.path / out / "made", _LONGEST_PATH).partition(b"\n")
            path, inode = os.fsdecode(line.removesuffix(b"\n")), int(identity.split()[0])
        except (OSError, ValueError, IndexError):
            return None
        return (Path(path), inode) if path else None

    def write_plan(self, plan: Plan) -> None:
        """Write the plan; the file gets its name once it is complete and on the disk."""
        try:
            replace_file(self.plan, wire.dump(plan))
        except OSError as error:
            message = f"cannot write {self.plan}: {reason_of(error)}"
            raise RunError(message) from error

    def read_plan(self) -> Plan:
        """Read the plan lazily, item by item."""
        return wire.load(self._plan_lines, str(self.plan))

    def _plan_lines(self) -> Iterable[bytes]:
        try:
            with open_regular(self.plan) as file:
                yield from file
        except OSError as error:
            message = f"cannot read {self.plan}: {reason_of(error)}"
            raise RunError(message, "a run folder without a plan was never started; delete it") from error

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder's lock; a RunError names the process that has it. The kernel frees it at any death."""
        path = self.path / "lock"
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        except OSError as error:
            message = f"cannot lock the run {self.name}: {reason_of(error)}"
            raise RunError(message) from error
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise RunError(f"cannot lock the run {self.name}: {path} is not a regular file", "remove it")
            _lock(handle, self.name)
            with _hold_run_lock(self.run):
                for place in (self.path, self.sources):
                    remove_abandoned_files(place)
                yield
        finally:
            os.close(handle)


@contextmanager
def _hold_run_lock(run: str) -> Iterator[None]:
    """Lock the run itself on this machine, because copies of its folder each have their own lock.

    The lock is a file in memory named after the run, which disappears with the process. It is visible wherever the
    run's processes are visible, even from another network or mount namespace.
    """
    try:
        mark = os.memfd_create(f"zlang-run-{run}")
    except OSError as error:
        raise RunError(f"cannot lock the run {run}: {reason_of(error)}") from error
    try:
        holders = processes.that_hold(f"/memfd:zlang-run-{run} (deleted)", mark)
        if holders:
            message = f"process {holders[0]} is working on the run {run}, in a copy of this folder"
            raise RunError(message, "wait for it or stop it with Ctrl-C first")
        yield
    finally:
        os.close(mark)


def _lock(handle: int, name: str) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
        message = f"process {holder or 'of another user'} is already running {name}"
        raise RunError(message, "wait for it, or stop it with Ctrl-C") from error
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, b"%d\n" % os.getpid(), 0)
    except OSError:
        pass  # the number only improves a message; a full disk is reported elsewhere


def create(runs: Path, experiment: str, directory: Path, now: float | None = None) -> Folder:
    """Create the folder of a new run, to be carried out from `directory`. Raises RunError."""
    for place in (directory.absolute(), runs.absolute()):
        if "\n" in str(place):
            raise RunError(f"{str(place)!r} has a newline in its path", "work in a directory without one")
    word = re.sub(r"[^a-z0-9]+", "-", experiment.lower()).strip("-")[:_LONGEST_NAME].rstrip("-") or "run"
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(time.time() if now is None else now))
    try:
        make_directory(runs.absolute())
        path = _unused_path(runs.absolute(), f"{word}-{stamp}")
        (path / "source").mkdir()
        replace_file(path / "directory", os.fsencode(directory.absolute()))
        sync_directory(runs)
    except OSError as error:
        message = f"cannot create a run folder in {runs}: {reason_of(error)}"
        raise RunError(message, "choose another directory with --runs") from error
    return Folder(path)


def _unused_path(runs: Path, stem: str) -> Path:
    while True:
        path = runs / f"{stem}-{secrets.token_hex(2)}"
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path


def unbegun(runs: Path) -> list[Folder]:
    """List the folders of runs whose start was killed before the plan was written, and that nobody is starting now."""
    result = []
    for path in sorted(runs.glob("*-[0-9]*-[0-9]*-????")):
        with suppress(OSError, RunError):
            if _is_unbegun(path):
                folder = Folder(path.absolute())
                with folder.lock():
                    result.append(folder)
    return result


def _is_unbegun(path: Path) -> bool:
    """Whether a directory has a run folder's name, and contains only what `create` and its caller make.

    `directory` is on the disk before anything is written into `source`. Raises OSError.
    """
    if not _NAME.fullmatch(path.name) or path.is_symlink():
        return False
    names = {entry.name for entry in path.iterdir() if not is_temporary(entry)}
    if path.joinpath("directory").is_file():
        return names <= _UNBEGUN
    return names <= _FIRST and not (path / "source").is_symlink() and not any((path / "source").glob("*"))


def find(runs: Path, run: str | None = None) -> Folder:
    """Find a run by its name in `runs` or by the path of its folder; without either, the latest one in `runs`."""
    return Folder(places.find(runs, run))
