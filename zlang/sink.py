"""Output to a descriptor whose failure does not by itself end a command."""

from __future__ import annotations

import errno
import io

from zlang.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

HUNG_UP = frozenset({errno.EPIPE, errno.EBADF, errno.EIO})
"""Nobody reads any more: a closed pipe, a closed descriptor, a terminal that is gone."""


class Unwritable(BaseException):
    """Standard output cannot be written to."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror)
        self.error = error
        self.is_hung_up = error.errno in HUNG_UP


class Sink(io.FileIO):
    """A descriptor to write to; the first failure is noted, and raised if `is_strict`. Later output is discarded.

    If nobody reads for `patience` seconds, output is dropped until somebody reads again; with None, writing waits.
    """

    def __init__(self, number: int, *, is_strict: bool, patience: float | None = None) -> None:
        super().__init__(number, "w", closefd=False)
        self.is_strict = is_strict
        self.failure: OSError | None = None
        self._patience = patience
        self._is_stalled = False

    def write(self, data: ReadableBuffer, /) -> int:
        """Write what was collected, or drop it."""
        size = memoryview(data).nbytes
        if self.failure is not None:
            return size
        try:
            if self._patience is not None:
                self._write_what_is_read(memoryview(data).cast("B"), self._patience)
                return size
            while (written := super().write(data)) is None:  # the descriptor is non-blocking
                import select

                select.select([], [self], [])
        except OSError as error:
            self.failure = error
            if self.is_strict:
                raise Unwritable(error) from error
            return size
        return written

    def _write_what_is_read(self, data: memoryview, patience: float) -> None:
        """Write in pieces of a size that a descriptor which select(2) reports as writable takes without blocking."""
        import select

        while data:
            _, is_writable, _ = select.select([], [self], [], 0 if self._is_stalled else patience)
            written = super().write(data[: select.PIPE_BUF]) if is_writable else None
            self._is_stalled = written is None
            if written is None:
                return
            data = data[written:]
