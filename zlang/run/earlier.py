"""What earlier runs measured of a plan, so that it need not be measured again.

In: the trials of a plan and run folders. Out: for each trial that counts there, which attempt it was; `bring` puts
those attempts into a new folder, with their lines of the journal, so that the folder is whole by itself.
Rule: a trial is taken over only where its identity is the same and the machine said of itself what it says now.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from zlang.errors import RunError
from zlang.files import sync_tree
from zlang.plan.plan import LOCAL, Action, Header, Trial
from zlang.run import journal
from zlang.run.events import Begin, Commit, End, Recorded, Reuse, Start, Verdict
from zlang.run.folder import Folder

Judge = Callable[[Trial, Path, tuple[float, float] | None], Verdict]


@dataclass(frozen=True, slots=True)
class Measured:
    """An attempt that counts: number of the trial, a folder that has it, what is said of its run, directory, lines.

    With what was found when it was measured.
    """

    number: int
    folder: Folder
    reuse: Reuse
    out: str
    events: tuple[Recorded, ...]
    verdict: Verdict
    window: tuple[float, float] | None

    @property
    def run(self) -> str:
        """The run that measured it."""
        return self.reuse.run


def measured(
    header: Header, trials: Sequence[Trial], folders: Iterable[Folder], judge: Judge, answer: Callable[[str], str]
) -> dict[str, Measured]:
    """The trials that were measured in these runs, by their place; the first folder that has one wins.

    `answer` gives the first line that a command of the shell prints; where no folder has tried any of the trials,
    nothing is asked.
    """
    found: dict[str, Measured] = {}
    said: dict[str, str] = {}
    for folder in folders:
        tried = folder.tried
        wanted = {trial.place: trial for trial in trials if trial.identity in tried and trial.place not in found}
        if wanted:
            said = said or _facts(header, answer)
            with suppress(RunError):  # a folder that cannot be read has measured nothing
                found |= _of(folder, wanted, judge) if _is_alike(folder, said) else {}
    return found


def bring(found: Mapping[str, Measured], into: Folder, now: float) -> None:
    """Put attempts into the folder of a run that is not begun. Raises RunError."""
    lines: list[Recorded] = []
    try:
        for one in found.values():
            place = into.path / one.out
            shutil.copytree(one.folder.path / one.out, place, symlinks=True, copy_function=_link)
            sync_tree(place, into.path)
            lines += [replace(one.reuse, t=now), *one.events]
    except OSError as error:
        message = f"what was measured before cannot be brought to {into.path}: {error.strerror or error}"
        raise RunError(message, "`zlang run --again` measures it again") from error
    with journal.Writer(into.journal) as writer:
        writer.write(*lines)


def _link(source: str, target: str) -> None:
    """Another name for the same file; a copy where the disk has no such thing."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target)


def _facts(header: Header, answer: Callable[[str], str]) -> dict[str, str]:
    return {step.name: answer(step.command) for step in header.facts if step.host == LOCAL}


def _is_alike(folder: Folder, said: Mapping[str, str]) -> bool:
    """Whether the machine says of itself what it said then; of a fact of many lines, as of its memory, much is free."""
    for name, line in said.items():
        try:
            then = (folder.path / "facts" / f"{name}.out").read_text("utf-8", "replace").strip().splitlines()
        except OSError:
            return False
        if len(then) <= 1 and "".join(then).strip() != line.strip():
            return False
    return True


def _of(folder: Folder, wanted: Mapping[str, Trial], judge: Judge) -> dict[str, Measured]:
    committed = journal.standing(folder.journal).committed
    places = {committed[place]: place for place in wanted.keys() & committed.keys()}
    events: dict[str, list[Recorded]] = {out: [] for out in places}
    origins: dict[tuple[str, int], Reuse] = {}
    for event in journal.Lines(folder.journal) if places else ():
        if isinstance(event, Begin | Start | End | Commit) and event.out in events:
            events[event.out].append(event)
        elif isinstance(event, Reuse):
            origins[event.trial, event.replicate] = event
    found = {}
    orders = {item.place: item for item in folder.read_plan().items() if isinstance(item, Trial)} if places else {}
    for out, place in places.items():
        trial = wanted[place]
        when = window(trial, events[out])
        verdict = judge(trial, folder.path / out, when)
        if verdict.valid:
            numbered = (replace(one, number=trial.number) if isinstance(one, Begin) else one for one in events[out])
            then = orders[place]
            own = Reuse(0, trial.identity, trial.replicate, folder.name, then.block, then.whole_plot)
            origin = origins.get((trial.identity, trial.replicate), own)
            found[place] = Measured(trial.number, folder, origin, out, tuple(numbered), verdict, when)
    return found


def window(trial: Trial, events: Iterable[Recorded]) -> tuple[float, float] | None:
    """From the start of the trial's measurement to its end, in what the journal says of an attempt."""
    names = {step.name for step in trial.steps if step.action is Action.MEASURE}
    times = [event.t for event in events if isinstance(event, Start | End) and event.step in names]
    return (min(times), max(times)) if times else None
