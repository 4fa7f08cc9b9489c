"""The status of runs: a run folder -> `RunStatus`. A folder is read again only after something in it has changed."""

from __future__ import annotations

import json
from pathlib import Path

from zlang.errors import RunError
from zlang.record import Record
from zlang.run import places, status_cache


class RunStatus(Record):
    """The progress of a run, and its trials that do not count; `place` is its folder.

    `failures` has the number, the replicate and the reason for each trial that was carried out and does not count.
    `lanes` has the machines of each lane, and its numbers of trials done and in total. `expected` and `took` are
    seconds by kind of step, for a finished run with an estimate.
    """

    place: str
    experiment: str
    part: str
    trials: int
    at_most: int
    is_sequential: bool
    sessions: int
    done: int
    carried_out: int
    skipped: int
    is_finished: bool
    is_submitted: bool
    failures: list[tuple[int, int, str]]
    damage: list[str]
    lanes: list[tuple[str, int, int]]
    expected: dict[str, float]
    took: dict[str, float]

    @property
    def path(self) -> Path:
        """The run folder."""
        return Path(self.place)


def find(runs: Path, run: str | None) -> Path:
    """The folder of the run with that name or path, or of the latest. Raises RunError."""
    return places.find(runs, run)


def of_every(runs: Path) -> tuple[list[RunStatus], list[RunError]]:
    """The status of each run in a directory, by name, and the errors of runs that cannot be read.

    Parts that began together are in the order of their numbers.
    """
    listed, unread = [], []
    for path in places.every(runs):
        try:
            listed.append(of(path))
        except RunError as error:
            unread.append(error)
    return sorted(listed, key=_place_in_list), unread


def _place_in_list(status: RunStatus) -> tuple[str, int, str]:
    number = status.part.partition("/")[0]
    return status.path.name.rpartition("-")[0], int(number) if number.isdecimal() else 0, status.path.name


def of(path: Path) -> RunStatus:
    """The status of the run in a folder. Raises RunError."""
    if (saved := status_cache.load(path)) is not None:
        return RunStatus(**{**json.loads(saved), "place": str(path)})
    snapshot = status_cache.describe(path)
    status, is_final = _read(path)
    if snapshot is not None and is_final:
        status_cache.save(path, snapshot, json.dumps(status.as_dict()))
    return status


def unbegun(runs: Path) -> list[str]:
    """The names of the folders of runs whose start was killed."""
    if all((path / "plan.jsonl").exists() for path in runs.glob("*-????")):
        return []  # this avoids loading the code that reads them
    from zlang.pipeline import runs as all_runs

    return all_runs.unbegun(runs)


def _read(path: Path) -> tuple[RunStatus, bool]:
    """Read a run folder; also return whether the status stays the same until the folder changes."""
    from zlang.pipeline import costs, runs, submissions
    from zlang.run.account import PERHAPS_UNREAD
    from zlang.run.folder import Folder

    folder = Folder(path)
    header, account = folder.read_plan().header, runs.account(folder)
    state, failures = account.state, runs.failures(account)
    spent = costs.spent(folder, state)
    status = RunStatus(
        place=str(path),
        experiment=header.experiment,
        part=header.part,
        trials=header.trials,
        at_most=header.at_most,
        is_sequential=header.is_sequential,
        sessions=state.sessions,
        done=state.done,
        carried_out=state.carried_out,
        skipped=len(state.skipped),
        is_finished=state.is_finished,
        is_submitted=submissions.task_of(folder) is not None,
        failures=failures,
        damage=runs.damage(account),
        lanes=runs.lanes(folder, state),
        expected=dict(spent.estimate.seconds) if spent else {},
        took=dict(spent.took) if spent else {},
    )
    is_unread = account.is_plan_changed or account.changed_facts
    return status, not (is_unread or any(why.startswith(PERHAPS_UNREAD) for *_, why in failures))
