"""The resources on the machines of a lane: a setup that was made or removed -> the state of all, and their directories.

Rule: a directory that this run made is identified by its inode, so another one in its place is noticed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from zlang.errors import RunError
from zlang.plan.plan import Setup
from zlang.plan.state import Change, State
from zlang.run import lanes
from zlang.run.executor import Executor
from zlang.run.folder import Folder
from zlang.run.held_directory import HeldDirectory


@dataclass(slots=True)
class Resources:
    """The setups that exist on the machines of a lane, by the algorithm of `plan/state.py`.

    Two tables have, by signature, the directory that a setup made: one on this machine, which is held, and one on
    another machine, which that machine watches, with the directory of the setup's output.
    """

    folder: Folder
    executor: Executor
    state: State = field(default_factory=State)
    _held: dict[str, HeldDirectory] = field(default_factory=dict)
    _watched: dict[str, tuple[str, Path]] = field(default_factory=dict)

    def apply(self, change: Change) -> None:
        """Take a change into account; other machines may have changed meanwhile."""
        self.state = self.state.after(change)

    def invalidate(self, keys: Iterable[str]) -> None:
        """Have the resources with these keys made again before they are used."""
        self.state = self.state.invalidate(keys)

    def invalidate_all_but(self, machines: Collection[str]) -> None:
        """Have everything made again except what exists only on these machines."""
        for setup in self.state.standing:
            if not lanes.hosts_of_setup(setup) <= set(machines):
                self.invalidate((setup.key,))

    def hold(self, setup: Setup, out: str) -> None:
        """Remember the directory that a setup made, by the inode and path in its file `made`.

        This applies only to setups without a parent: a directory on a file system that the run mounts may disappear and
        reappear.
        """
        if setup.parent is not None:
            return
        output = self.folder.path / out
        for host in lanes.hosts_of_setup(setup):
            if self.executor.hold(host, output):
                self._watched[setup.signature] = host, output
                return
        path, inode = self.folder.made(out) or (None, 0)
        if path is not None and "\n" in str(path):
            raise RunError(f"{str(path)!r} has a newline in its path", "measure in a directory without one")
        if path is not None and all(held.path != path for held in self._held.values()):
            self._held[setup.signature] = HeldDirectory.lock(path, inode)

    def release(self, setup: Setup) -> None:
        """Forget the directory that a setup made, because the setup was removed."""
        if held := self._held.pop(setup.signature, None):
            held.release()
        if setup.signature in self._watched:
            self.executor.release(*self._watched.pop(setup.signature))

    def release_all(self) -> None:
        """Release the locks of all directories."""
        for held in self._held.values():
            held.release()

    def replaced(self) -> Path | None:
        """The first directory on this machine that was replaced by something else, if any."""
        for held in self._held.values():
            if held.is_replaced():
                return held.path
        return None
