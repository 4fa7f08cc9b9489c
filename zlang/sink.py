"""A descriptor to write to, whose failure ends no command by itself."""

from __future__ import annotations

import errno
import io
import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

HUNG_UP = frozenset({errno.EPIPE, errno.EBADF, errno.EIO})
"""Nobody reads any more: a closed pipe, a closed descriptor, a terminal that is gone."""


class Unwritable(BaseException):
    """Standard output cannot be written to."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror)
        self.reason = error.strerror or ""
        self.is_hung_up = error.errno in HUNG_UP


class Sink(io.FileIO):
    """A descriptor to write to; the first failure is noted, and raised if `is_strict`. Later it takes everything."""

    def __init__(self, number: int, *, is_strict: bool) -> None:
        super().__init__(number, "w", closefd=False)
        self.is_strict = is_strict
        self.failure: OSError | None = None

    def write(self, data: ReadableBuffer, /) -> int:
        """Write it, or drop it."""
        size = memoryview(data).nbytes
        if self.failure is not None:
            return size
        try:
            while (written := super().write(data)) is None:  # the descriptor does not wait by itself
                select.select([], [self], [])
        except OSError as error:
            self.failure = error
            if self.is_strict:
                raise Unwritable(error) from error
            return size
        return written
