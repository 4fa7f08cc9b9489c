"""Read files from a git revision."""

from __future__ import annotations

import subprocess
from pathlib import Path

from zlang.errors import RunError


def text(revision: str, path: str) -> str:
    """The text of a file in a revision of its repository. Raises RunError, FileNotFoundError."""
    place = Path(path)
    if not revision or revision.startswith("-"):
        raise RunError(f"`{revision}` is not a git revision", "write, for example, HEAD~1:lab.zexp")
    words = ["git", "-C", str(place.parent), "show", f"{revision}:./{place.name}"]
    try:
        done = subprocess.run(words, capture_output=True, check=False)  # noqa: S603 - no shell, and no option
    except FileNotFoundError:
        raise RunError("`git` is not installed", "apt-get install git") from None
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ").splitlines()
        raise RunError(f"git cannot show {path} in {revision}: {lines[0] if lines else 'git gives no reason'}")
    try:
        return done.stdout.decode("utf-8")
    except UnicodeDecodeError:
        raise RunError(f"{path} in {revision} is not UTF-8 text") from None
