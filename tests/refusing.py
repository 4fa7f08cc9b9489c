"""Run a command under a kernel that refuses some system calls, as in containers of podman and Docker."""

from __future__ import annotations

import platform
import sys

NUMBERS = {"x86_64": {"io_setup": 206, "io_uring_setup": 425}, "aarch64": {"io_setup": 0, "io_uring_setup": 425}}
_SCRIPT = """
import ctypes, os, struct, sys
error, calls, command = int(sys.argv[1]), [int(word) for word in sys.argv[2].split(",")], sys.argv[3:]
LOAD, EQUAL, RETURN, ALLOW, REFUSE = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000
lines = [(LOAD, 0, 0, 0), *((EQUAL, len(calls) - at, 0, number) for at, number in enumerate(calls))]
lines += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE | error)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
program = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
no = ctypes.c_ulong(0)
for arguments in ((38, ctypes.c_ulong(1), no, no, no), (22, ctypes.c_ulong(2), program, no, no)):
    if libc.prctl(*arguments):
        sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(command[0], command)
"""


def prefix(error: int, *calls: str) -> tuple[str, ...]:
    """Return a command prefix that makes each of these system calls fail."""
    numbers = NUMBERS[platform.machine()]
    return (sys.executable, "-c", _SCRIPT, str(error), ",".join(str(numbers[call]) for call in calls))
