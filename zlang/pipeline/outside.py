"""Runs with results that were measured without zlang."""

from __future__ import annotations

import shutil
from pathlib import Path

from zlang.errors import RunError, reason_of
from zlang.hints import TYPE_CHECKING
from zlang.pipeline.programs import text_of
from zlang.pipeline.runs import new_folder, seal
from zlang.record import Record

if TYPE_CHECKING:
    from zlang.pipeline.plans import Planned
    from zlang.plan.plan import Header, Trial
    from zlang.run.folder import Folder


def import_reports(runs: Path, directory: Path) -> tuple[Folder, int]:
    """Import reports of a tool that ran without zlang; return the run folder and their number. Raises RunError."""
    from zlang.run import report_import

    return report_import.import_reports(runs, directory)


def begin_outside(planned: Planned, runs: Path) -> Folder:
    """A new run folder for a plan that is carried out without zlang. Raises RunError."""
    from zlang.plan.plan import Trial
    from zlang.readers import outside

    for item in planned.plan.items():
        if isinstance(item, Trial) and outside.reader_of(item) is None:
            hint = "run it with `zlang run`, then import the results of the others with --run"
            raise RunError(f"trial {item.number} takes no imported results: zlang runs its workload itself", hint)
    folder = new_folder(planned, runs)
    seal(folder)
    return folder


class Imported(Record):
    """The number of trials with results from a file, and sentences about the others."""

    count: int
    notes: tuple[str, ...]


def import_csv(folder: Folder, file: str) -> Imported:
    """Import the results of a run's outside trials from a CSV file. Raises RunError if it has none."""
    from zlang.plan.plan import Trial
    from zlang.readers import outside
    from zlang.run import outside as recording

    plan = folder.read_plan()
    trials = [item for item in plan.items() if isinstance(item, Trial) and outside.reader_of(item)]
    if not trials:
        raise RunError(
            f"no trial of {folder.name} has external results",
            "`zlang kinds external` shows how to declare a workload with such results",
        )
    match = outside.match(text_of(file, None), file, plan.header, trials)

    if not match:
        raise RunError(f"{file} has no results")

    def artefact(trial: Trial) -> str:
        reader = outside.reader_of(trial)
        assert reader is not None, "BUG: results for a trial that measures itself"
        return reader.artefact

    try:
        not_run = recording.record(folder, trials, match, artefact)
        shutil.copyfile(file, folder.path / f"outside-{len(list(folder.path.glob('outside-*.csv'))) + 1}.csv")
    except OSError as error:
        raise RunError(f"cannot write {folder.path}: {reason_of(error)}") from None
    notes = []
    if not_run:
        listed = ", ".join(f"{trial.number}" for trial in not_run)
        notes.append(f"{folder.name} did not carry out trial {listed}: their results were not imported")
    remaining = [trial for trial in trials if not any((folder.path / trial.place).glob(f"a*/{artefact(trial)}"))]
    if remaining:
        notes.append(_without_results(remaining, len(trials), plan.header))
    return Imported(len(match) - len(not_run), tuple(notes))


def _without_results(trials: list[Trial], count: int, header: Header) -> str:
    """A sentence about trials that have no results yet."""
    from zlang.report import wording

    first = min(trials, key=lambda trial: trial.number)
    types = {factor.name: factor.type for factor in header.factors}
    levels = [f"{name} = {wording.level(level, types[name])}" for name, level in first.factors.items()]
    which = ", ".join([*levels, f"replicate {first.replicate}"])
    return f"{len(trials):,} of {count:,} trials have no results; the first is trial {first.number}: {which}"
