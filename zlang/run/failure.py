"""Why a command failed, in one sentence: its own last words, or how it ended.

Rule: what `run` shows, what `status` shows and what the results say are the same sentence, so all of them ask here.
"""

from __future__ import annotations

import signal
from pathlib import Path

TIMED_OUT = 124
_LONGEST_REASON = 300
_LONGEST_FILE = 1 << 20


def why(directory: Path, step: str, rc: int | None, seconds: float) -> str:
    """The reason of a step that ran for `seconds` and left its output in `directory`; without `rc` it was cut off."""
    if rc == TIMED_OUT:
        return f"{step}: out of time after {int(seconds)} s"
    said = _last_words(directory / f"{step}.err")
    return f"{step}: {said or _ending(rc)}"


def _last_words(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _LONGEST_FILE))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    lines = (line.strip() for line in reversed(text.split("\n")))
    return next((line for line in lines if line), "")[:_LONGEST_REASON]


def _ending(rc: int | None) -> str:
    if rc is None:
        return "it did not come to an end"
    number = -rc if rc < 0 else rc - 128
    if number in {one.value for one in signal.Signals}:
        return f"killed by {signal.Signals(number).name}"
    return f"exited with {rc}"
