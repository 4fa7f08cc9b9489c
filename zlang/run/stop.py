"""Ctrl-C, SIGQUIT, SIGTERM and SIGHUP as something that can be waited for: signals -> `Stop`.

Rules: the first signal interrupts nothing by itself: it makes `Stop` readable, and the runner checks it at points where
its state is consistent. A second one raises `Interrupted` wherever the program is.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from types import FrameType, TracebackType

from zlang.hints import Self

_SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
_DOUBLE = 0.3
"""Seconds within which a second signal is the same request: timeout(1) signals the process and then its group."""


class Interrupted(BaseException):
    """The run was stopped by a signal; the exit code is the shell's for it, 130 for Ctrl-C and 143 for SIGTERM."""

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.signal = number
        self.exit_code = 128 + number


class Stop:
    """A request to stop: `pending` from the signal until it is `acknowledge`d; readable while it is pending."""

    def __init__(self) -> None:
        self.signal = 0
        self.pending = False
        self._at = 0.0
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def request(self, number: int) -> None:
        """Ask the run to stop, as if signal `number` had arrived."""
        now = time.monotonic()
        if not self.signal:
            self.signal, self.pending, self._at = number, True, now
            os.write(self._writer, b"!")
        elif now - self._at > _DOUBLE:
            raise Interrupted(number)

    def acknowledge(self) -> None:
        """Record that the request was seen, so cleanup can proceed."""
        self.pending = False
        self.drain()

    def drain(self) -> None:
        """Make the descriptor unreadable again, because other signals wake us, too."""
        with suppress(BlockingIOError):
            while os.read(self._reader, 512):
                pass

    def fileno(self) -> int:
        """Return the descriptor that is readable when a signal has arrived."""
        return self._reader

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.request(number)

    def __enter__(self) -> Self:
        """Install the signal handlers; not for SIGHUP if nohup(1) ignores it."""
        self._before = {number: signal.getsignal(number) for number in _SIGNALS}
        for number, handler in self._before.items():
            if not (number == signal.SIGHUP and handler == signal.SIG_IGN):
                signal.signal(number, self._on_signal)
        # Without this a signal between Python's last check and poll(2) would go unnoticed until the workload ends.
        self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Restore the signal handlers."""
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        os.close(self._reader)
        os.close(self._writer)
