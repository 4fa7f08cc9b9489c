"""What this machine has: tools with their versions, and privileges.

In: the names of tools and how to get them. Out: `Tool`s. Nothing is changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from zlang.plan.plan import ROOT


@dataclass(frozen=True, slots=True)
class Tool:
    """A program: where it is and what it calls itself, or how to get it."""

    name: str
    path: str | None
    version: str
    hint: str


def tools(wanted: Mapping[str, str]) -> list[Tool]:
    """Look for each tool."""
    found = []
    for name, hint in sorted(wanted.items()):
        if name == ROOT:
            found.append(Tool(name, "yes" if is_root() else None, "", hint))
            continue
        path = shutil.which(name)
        found.append(Tool(name, path, _version(path) if path else "", hint))
    return found


def has(tool: str) -> bool:
    """Whether a tool is there, or the privileges are if it is root."""
    return is_root() if tool == ROOT else shutil.which(tool) is not None


def is_root() -> bool:
    """Whether this process may do what only root may."""
    return os.geteuid() == 0


def _version(path: str) -> str:
    """The first line of `--version`; nothing where a tool has no such option."""
    try:
        said = subprocess.run(  # noqa: S603 - the path comes from PATH, the argument is ours
            [path, "--version"], capture_output=True, timeout=10, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = said.stdout.decode("utf-8", "replace").splitlines()
    return lines[0].strip() if said.returncode == 0 and lines else ""
