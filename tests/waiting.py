"""Wait for an action of another process, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    """Return as soon as the condition holds; fail if it does not within that time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
