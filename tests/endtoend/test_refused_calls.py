"""Test an engine of fio whose system calls the kernel refuses, as in a container."""

from __future__ import annotations

import errno
import os
import platform

import pytest
import refusing
from command_line import Zlang

PROGRAM = """
import fio
dir here { path = "." }
file data on here { size = 1MiB }
fio reads { rw = randread  bs = 4KiB  ioengine = libaio | io_uring }
fio others { rw = randread  bs = 4KiB  ioengine = libaio }
experiment e { on = data  run = reads | [reads, others]  cache = as_is }
"""


@pytest.mark.skipif(platform.machine() not in refusing.NUMBERS, reason="the numbers of its system calls are unknown")
@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS], ids=errno.errorcode.get)
def test_the_message_names_the_engine_and_the_remedy(zlang: Zlang, error: int) -> None:
    """Only fio's report names the refused call: fio prints nothing."""
    zlang.prefix = refusing.prefix(error, "io_setup", "io_uring_setup")
    ended = zlang.run(PROGRAM, code=1)
    zlang.prefix = ()
    rows = zlang.rows("select ioengine, why_not from all_trials")
    assert len(rows) == 4
    for row in rows:
        why = str(row["why_not"])
        assert f"{os.strerror(error)} (job " in why
        assert why.endswith("start a container with `--security-opt seccomp=unconfined`, or write `ioengine = psync`")
        assert f"does not count: {why}\n" in ended.err
    assert {str(row["why_not"]).partition("ioengine = ")[2].partition("`")[0] for row in rows} == {"libaio", "io_uring"}
