"""Test what a guest that hangs costs: one failure, and a boot."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from vm.guest import MOST_STOPS, Guest

UNANSWERED = """
echo 1 >/proc/sys/kernel/hung_task_timeout_secs
dmsetup create silent --table '0 2048 zero'
dmsetup suspend silent
dd if=/dev/zero of=/dev/mapper/silent count=1 conv=fsync
"""


def test_a_guest_that_hangs_is_switched_off_and_booted_anew(guest: Guest) -> None:
    """A disk that does not answer ends the guest at once, everything else when the time of the command is over."""
    with patch.object(guest, "stops", 0):
        with pytest.raises(AssertionError, match=r"stopped during: (?s:.*)blocked for more than 1 seconds"):
            guest(UNANSWERED, check=False)
        guest.boot_if_off()
        guest("! test -e /dev/mapper/silent")
        with pytest.raises(AssertionError, match="took more than 2 s for: sleep 60"):
            guest("sleep 60", timeout=2)
        with pytest.raises(AssertionError, match="the guest is off"):
            guest("true", check=False)
        guest.stops = MOST_STOPS + 1
        with pytest.raises(AssertionError, match=f"stopped {MOST_STOPS + 1} times"):
            guest.boot_if_off()
