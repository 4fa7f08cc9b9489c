"""The tutorial, typed as it stands: every program written, every command carried out, in one directory and in order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/tutorial.md"
_BLOCK = re.compile(r"^```(zexp|sh|text)( [^\n]*)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_tutorial(disk: Path) -> None:
    """`zexp NAME` is a file; `sh` is typed, and ends with 0 or as `exits N` says; `text` is what it printed."""
    printed = ""
    for kind, more, text in _BLOCK.findall(PAGE.read_text("utf-8")):
        if kind == "zexp":
            (disk / more.strip()).write_text(text, "utf-8")
        elif kind == "text":
            assert printed == text
        else:
            printed = typed(text, disk, int(more.split()[-1]) if more else 0)


def typed(commands: str, at: Path, code: int) -> str:
    """What the commands print; the last one ends with `code`, and those before with 0."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", commands],
        cwd=at,
        env={**os.environ, "PATH": path, "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, f"{commands}{done.stdout}{done.stderr}"
    return done.stdout + done.stderr
