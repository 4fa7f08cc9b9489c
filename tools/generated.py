"""What the generators of documents share: write a page, or with `--check` say whether it is up to date."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path


def write_or_check(page: Path, new: str, arguments: list[str]) -> int:
    """The exit code: 1, with a diff on standard output, where `--check` finds that the page is not what it would be."""
    old = page.read_text("utf-8") if page.exists() else ""
    if "--check" not in arguments:
        if old != new:
            page.write_text(new, "utf-8")
        return 0
    diff = difflib.unified_diff(old.splitlines(), new.splitlines(), "there", "generated", lineterm="")
    sys.stdout.writelines(f"{line}\n" for line in diff)
    return int(old != new)
