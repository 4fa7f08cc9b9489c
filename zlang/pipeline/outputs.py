"""The output of a trial: a run folder and the number of the trial -> the names and texts of its files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from zlang.errors import RunError, reason_of
from zlang.files import Packed, read_regular
from zlang.hints import TYPE_CHECKING
from zlang.record import Record

if TYPE_CHECKING:
    from zlang.run.folder import Folder

_LONGEST = 1 << 16
"""The length of the longest file whose text is shown."""


class Output(Record):
    """The files that the last attempt at a trial left, by name; `why_not` says why it does not count.

    `place` is their directory in the run folder. A file that is too long to be shown has no text.
    """

    trial: int
    replicate: int
    place: str
    why_not: str
    files: Mapping[str, str | None]


def of(folder: Folder, number: int) -> Output:
    """The output of the trial with this number. Raises RunError."""
    from zlang.pipeline import runs
    from zlang.plan.plan import Trial

    plan = folder.read_plan()
    trials = (item for item in plan.items() if isinstance(item, Trial) and item.number == number)
    trial = next(trials, None)
    if trial is None:
        raise RunError(f"the plan has no trial number {number}", f"the last number is {plan.header.trials}")
    account = runs.account(folder)
    attempt = account.state.attempt(trial.place)
    if attempt is None:
        raise RunError(f"trial {number} has not run, so it has no output", "choose another trial")
    try:
        output = account.output(attempt)
        files = _packed_texts(output) if isinstance(output, Packed) else dict(_texts(output))
    except (OSError, ValueError) as error:
        raise RunError(f"cannot read the output of trial {number}: {reason_of(error)}") from None
    _, why_not = account.verdict(trial)
    return Output(number, trial.replicate, attempt.out, why_not, files)


def _packed_texts(output: Packed) -> dict[str, str | None]:
    return {name: content.decode("utf-8", "replace") for name, content in output.files.items()}


def _texts(directory: Path) -> Iterator[tuple[str, str | None]]:
    """The names and texts of the files in and under a directory; no text of a long file or of another kind of file."""
    for place, _, names in os.walk(directory):
        for name in names:
            path = f"{place}/{name}"
            yield os.path.relpath(path, directory), _text(path)


def _text(path: str) -> str | None:
    try:
        return read_regular(path, _LONGEST).decode("utf-8", "replace")
    except OSError:
        return None
