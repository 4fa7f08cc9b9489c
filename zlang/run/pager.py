"""Long text on a terminal: pieces go to the user's pager as they are produced."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from contextlib import suppress

_PAGER = "less -FRX"
"""Exits by itself if everything fits on the screen, and does not clear the screen."""


def page(pieces: Iterable[str]) -> bool:
    """Show text until it ends or the user quits; False if there is no pager."""
    words = shlex.split(os.environ.get("PAGER", _PAGER))
    if not words or shutil.which(words[0]) is None:
        return False
    with (
        suppress(BrokenPipeError),  # the user quit before the end
        subprocess.Popen(words, stdin=subprocess.PIPE, text=True, encoding="utf-8") as pager,  # noqa: S603 - the user's
    ):
        assert pager.stdin is not None, "BUG: a pager without input"
        for piece in pieces:
            pager.stdin.write(piece)
    return True
