"""A directory that a run made: locked while it exists, and identified by its inode.

Rule: if two processes carry out a run, from copies of its folder, only one has the lock.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from zlang.errors import RunError
from zlang.hints import Self


@dataclass(frozen=True, slots=True)
class HeldDirectory:
    """A directory with the descriptor of its lock, or -1."""

    path: Path
    inode: int
    descriptor: int

    @classmethod
    def lock(cls, path: Path, inode: int) -> Self:
        """Lock a directory, if possible. Raises RunError if another process has the lock."""
        descriptor = -1
        with suppress(OSError):  # it is gone, or its file system does not support locks
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                message = f"{path} is in use: another process is carrying out this run, from a copy of its folder"
                raise RunError(message, "wait for it, or stop it with Ctrl-C") from None
        return cls(path, inode, descriptor)

    def is_replaced(self) -> bool:
        """Whether the path now leads to something else."""
        try:
            return os.lstat(self.path).st_ino != self.inode
        except (OSError, ValueError):
            return False

    def release(self) -> None:
        """Release the lock."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
