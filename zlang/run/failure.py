"""The reason why a command failed, in one sentence: its own last output, or its exit status.

Rule: `run`, `status` and the results all use this module, so they show the same sentence.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from zlang.files import open_regular
from zlang.plan.plan import Trial
from zlang.readers import failures

TIMED_OUT = 124
_LONGEST_REASON = 300
_LONGEST_FILE = 1 << 20


def why(directory: Path, step: str, rc: int | None, seconds: float) -> str:
    """The reason why a step failed after `seconds`, with its output in `directory`; without `rc` it was cut off."""
    if rc == TIMED_OUT:
        return f"{step}: timed out after {int(seconds)} s"
    text = _last_words(directory / f"{step}.err")
    return f"{step}: {text or _describe_exit(rc)}"


def why_of_trial(trial: Trial, directory: Path, step: str, rc: int | None, seconds: float) -> str:
    """The reason why a trial's step failed, including what only the report of its workload says."""
    reason = why(directory, step, rc, seconds)
    error = failures.explain(trial.steps, directory, reason) if rc else ""
    return f"{reason}; {error}" if error else reason


def _last_words(path: Path) -> str:
    try:
        with open_regular(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LONGEST_FILE))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    lines = (line.strip() for line in reversed(text.split("\n")))
    return next((line for line in lines if line), "")[:_LONGEST_REASON]


def _describe_exit(rc: int | None) -> str:
    if rc is None:
        return "it did not finish"
    number = -rc if rc < 0 else rc - 128
    if number in {member.value for member in signal.Signals}:
        return f"killed by {signal.Signals(number).name}"
    return f"exited with {rc}"
