"""Test error messages of the operating system, worded as the end of a sentence."""

from __future__ import annotations

import errno
import socket

import pytest

from zlang.errors import reason_of
from zlang.run.transport import ssh


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), "no such file or directory"),
        (OSError("Multiple exceptions"), "multiple exceptions"),
        (OSError(errno.EIO, "RAID is degraded"), "RAID is degraded"),
        (ValueError(), "ValueError"),
    ],
)
def test_a_reason_ends_a_sentence(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "name or service not known"),
        (ConnectionRefusedError(111, "Connect call failed ('10.0.0.6', 22)"), "connection refused"),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 22)"), "connection refused"),
    ],
)
def test_a_machine_is_not_reached(error: Exception, reason: str) -> None:
    assert ssh._reason(error) == reason
