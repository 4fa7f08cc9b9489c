"""Follow the tutorial literally: write every program and run every command, in one directory and in order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from private_daemon import ZfsFuse

PAGE = Path(__file__).parents[2] / "docs/tutorial.md"
_BLOCK = re.compile(r"^```(zexp|sh|text)( [^\n]*)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_tutorial(zfs_fuse: ZfsFuse) -> None:
    """`zexp NAME` is a file, `sh` is typed and exits with 0 or as `exits N or N` says, `text` is its output."""
    printed = ""
    for kind, more, text in _BLOCK.findall(PAGE.read_text("utf-8")):
        if kind == "zexp":
            (zfs_fuse.place / more.strip()).write_text(text, "utf-8")
        elif kind == "text":
            assert printed == text
        else:
            printed = typed(text, zfs_fuse, [int(word) for word in more.split() if word.isdecimal()] or [0])


def typed(commands: str, zfs_fuse: ZfsFuse, codes: list[int]) -> str:
    """Return the output of the commands; the last one exits with one of `codes`, the others with 0."""
    path = f"PATH={Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        zfs_fuse.command(path, "COLUMNS=120", "bash", "-ec", commands),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode in codes, f"{commands}{done.stdout}{done.stderr}"
    return done.stdout + done.stderr
