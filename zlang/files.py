"""Writing files so that a reader sees the old one or the new one, never half of one, and what is written stays."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def replace_file(path: Path, content: bytes | Iterable[bytes], mode: int = 0o644) -> None:
    """Write, at once or piece by piece, beside `path` under a temporary name and rename. Raises OSError."""
    import tempfile

    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.writelines([content] if isinstance(content, bytes) else content)
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def sync_tree(directory: Path, top: Path) -> None:
    """Wait until all files beneath `directory`, and the names that lead to them from `top`, are on the disk."""
    for at, _, names in os.walk(directory):
        for name in names:
            _sync_file(os.path.join(at, name))  # noqa: PTH118  (os.walk gives strings)
        sync_directory(Path(at))
    while directory != top:
        directory = directory.parent
        sync_directory(directory)


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk. Raises OSError."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _sync_file(path: str) -> None:
    if not os.path.isfile(path) or os.path.islink(path):  # noqa: PTH113, PTH114  (a FIFO would block us)
        return
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.fsync(file)
    finally:
        os.close(file)
