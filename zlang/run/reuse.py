"""Find results of a plan in earlier runs, so that they are not measured again.

In: the trials of a plan and run folders. Out: for each trial that counts there, the attempt at it; `bring` copies those
attempts into a new folder, with their lines of the journal, so that the folder is complete by itself. Rule: a trial is
reused only if its identity and its history are the same, the facts of the machine are the same as now, and the folder
is this user's own and unchanged.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace

from zlang.errors import RunError, reason_of
from zlang.files import Place, read_regular, sync_tree
from zlang.plan.plan import LOCAL, Header, Trial
from zlang.readers.reading import LONGEST
from zlang.run import journal, outputs, seal
from zlang.run.account import Account
from zlang.run.events import NOT_PACKED, Begin, Commit, End, Recorded, Reuse, Start, TrialVerdict
from zlang.run.folder import Folder

Judge = Callable[[Trial, Place, tuple[float, float] | None], TrialVerdict]


@dataclass(frozen=True, slots=True)
class Measured:
    """An attempt that counts: the trial's number, a folder that has it, the facts of its run, its directory and lines.

    It includes the findings from when it was measured.
    """

    number: int
    folder: Folder
    reuse: Reuse
    out: str
    events: tuple[Recorded, ...]
    verdict: TrialVerdict
    window: tuple[float, float] | None

    @property
    def run(self) -> str:
        """The name of the run that measured it."""
        return self.reuse.run


def measured(
    header: Header,
    trials: Sequence[Trial],
    folders: Iterable[Folder],
    judge: Judge,
    answer: Callable[[str], str],
    refuse: Callable[[Folder, str], None],
) -> dict[str, Measured]:
    """The trials that were measured in these runs, by their place; the first folder that has a trial wins.

    `answer` returns the first line that a shell command prints; it is not called if no folder has tried any of the
    trials. `refuse` gets each foreign folder that has tried some, with the reason.
    """
    measurements: dict[str, Measured] = {}
    text: dict[str, str] = {}
    for folder in folders:
        tried = folder.tried
        wanted = {trial.place: trial for trial in trials if trial.identity in tried and trial.place not in measurements}
        if wanted:
            text = text or _facts(header, answer)
            with suppress(RunError):  # an unreadable folder has no results
                account = Account(folder, judge)
                if account.doubt:
                    refuse(folder, account.doubt)
                elif _is_same_machine(folder, text):
                    measurements |= _measured_in(account, wanted)
    return measurements


def bring(measurements: Mapping[str, Measured], into: Folder, now: float) -> None:
    """Copy attempts into the folder of a run that has not started, in the order in which they were measured.

    Raises RunError.
    """
    ordered = sorted(measurements.values(), key=lambda item: item.events[0].t)
    lines: list[Recorded] = []
    try:
        with closing(outputs.Packer(into.path)) as packed:
            for item in ordered:
                lines.append(replace(item.reuse, t=now))
                lines += [_brought(event, item.folder, into, packed) for event in item.events]
            packed.wait()
    except (OSError, ValueError) as error:
        message = f"cannot copy earlier results to {into.path}: {reason_of(error)}"
        raise RunError(message, "`zlang run --again` measures it again") from error
    with journal.Writer(into.journal, sign=seal.signer(into.run)) as writer:
        writer.write(*lines)


def _brought(event: Recorded, source: Folder, into: Folder, packed: outputs.Packer) -> Recorded:
    """Copy the files that an event commits; the event for the new folder."""
    if not isinstance(event, Commit):
        return event
    if event.packed != NOT_PACKED:
        files = outputs.read(source.path, event.packed, event.out).files
        return replace(event, packed=packed.append(event.out, files, is_awaited=False))
    place = into.path / event.out
    shutil.copytree(source.path / event.out, place, symlinks=True, copy_function=_link)
    sync_tree(place, into.path)
    return event


def _link(source: str, target: str) -> None:
    """Create a hard link, or a copy if the file system has no hard links."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target)


def _facts(header: Header, answer: Callable[[str], str]) -> dict[str, str]:
    return {step.name: answer(step.command) for step in header.facts if step.host == LOCAL}


def _fact(folder: Folder, name: str) -> str:
    return read_regular(folder.path / "facts" / f"{name}.out", LONGEST).decode("utf-8", "replace")


def _is_same_machine(folder: Folder, text: Mapping[str, str]) -> bool:
    """Whether the facts of the machine are the same as then; facts of many lines, such as its memory, may vary."""
    for name, line in text.items():
        try:
            then = _fact(folder, name).strip().splitlines()
        except OSError:
            return False
        if len(then) <= 1 and "".join(then).strip() != line.strip():
            return False
    return True


def _measured_in(account: Account[TrialVerdict], wanted: Mapping[str, Trial]) -> dict[str, Measured]:
    folder = account.folder
    if account.changed_facts:  # the machine that measured it is unknown
        return {}
    state = account.state
    attempts = [entry for place, entry in state.ended.items() if place in wanted and entry.is_committed]
    attempts.sort(key=lambda attempt: attempt.position)
    events: dict[str, list[Recorded]] = {attempt.out: [] for attempt in attempts}
    for event in journal.Lines(folder.journal) if attempts else ():
        if isinstance(event, Begin | Start | End | Commit) and event.out in events:
            events[event.out].append(event)
    result = {}
    orders = {item.place: item for item in folder.read_plan().items() if isinstance(item, Trial)} if attempts else {}
    for attempt in attempts:
        trial = wanted[attempt.place]
        verdict, why_not = account.verdict(trial)
        is_same = attempt.place in orders and orders[attempt.place].history == trial.history
        if verdict is not None and not why_not and is_same:
            own = events[attempt.out]
            numbered = (replace(entry, number=trial.number) if isinstance(entry, Begin) else entry for entry in own)
            then = orders[attempt.place]
            itself = Reuse(
                t=0,
                trial=trial.identity,
                replicate=trial.replicate,
                run=folder.name,
                block=then.block,
                whole_plot=then.whole_plot,
            )
            origin = state.reused.get(attempt.place, itself)
            when = account.window(trial, attempt)
            result[attempt.place] = Measured(
                number=trial.number,
                folder=folder,
                reuse=origin,
                out=attempt.out,
                events=tuple(numbered),
                verdict=verdict,
                window=when,
            )
    return result
