"""Submissions: a plan in parts, each a run folder of its own that a task of a batch system carries out."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import chdir, suppress
from pathlib import Path

from zlang.check.values import quote
from zlang.diagnostics import ProgramError
from zlang.errors import RunError
from zlang.hints import TYPE_CHECKING
from zlang.pipeline import differences, plans, programs, runs
from zlang.source import Source

if TYPE_CHECKING:
    from zlang.pipeline.plans import Planned
    from zlang.plan.plan import Finding
    from zlang.run.folder import Folder
    from zlang.run.slurm import Task


def require_parts(planned: Planned) -> None:
    """Raise RunError for a plan that cannot be cut into parts for interchangeable machines."""
    header = planned.plan.header
    if len(planned.schedule.hosts) > 1:
        count = len(planned.schedule.hosts)
        message = f"the trials are on {count} hosts: {', '.join(filter(None, planned.schedule.hosts))}"
        hint = (
            'a task can run on any node; for one trial on several nodes, write `engine = "slurm"` below [hosts] '
            f"in zlang.toml, then type: salloc --nodes={count} zlang run FILE"
        )
        raise RunError(message, hint)
    plans.require_distinct(planned)
    if header.is_sequential:
        message = "what is measured next depends on what was measured before, so the plan cannot be divided into parts"
        raise RunError(message, "use `repeat = N` without `until`, and list the levels instead of `find`")
    if header.armed:
        message = "devices are overwritten only by a run on their own machine: " + ", ".join(header.armed)
        raise RunError(message, "on that machine, type: zlang run FILE")


def create(parts: Iterable[Planned], directory: Path) -> list[Folder]:
    """Make a run folder for each part. Raises RunError, and then leaves none."""
    folders: list[Folder] = []
    try:
        folders.extend(runs.new_folder(part, directory) for part in parts)
    except BaseException:
        discard(folders)
        raise
    return folders


def discard(folders: Iterable[Folder]) -> None:
    """Remove folders of parts that were not submitted."""
    for folder in folders:
        runs.discard(folder)


def latest(directory: Path, plan: str) -> list[Folder]:
    """The run folders of the latest submission of a plan, in the order of the parts."""
    by_part: dict[tuple[str, int], Folder] = {}
    last = ""
    for folder, header in sorted(runs.readable_headers(directory), key=lambda each: each[0].plan.stat().st_mtime):
        number, _, last_of = header.part.partition("/")
        if header.plan == plan and last_of:
            by_part[last_of, int(number)] = folder
            last = last_of
    return [folder for (of, _), folder in sorted(by_part.items()) if of == last]


def submit(folders: Sequence[Folder], lanes: int, options: Sequence[str], *, failed: bool) -> str:
    """Submit a task for each run folder, with at most `lanes` running at a time; return the job. Raises RunError."""
    from zlang.run import slurm

    first = folders[0]
    name = f"zlang-{first.read_plan().header.experiment}"
    tasks = f"1-{len(folders)}" + (f"%{lanes}" if lanes else "")
    script = _script(folders, slurm.NUMBER, failed=failed)
    job = slurm.submit(script, name, first.path.parent, tasks, options)
    for number, folder in enumerate(folders, start=1):
        with suppress(OSError):  # the task runs anyway; only `status` does not know it
            slurm.save(folder.path, slurm.Task(job, number))
    return job


def _script(folders: Iterable[Folder], variable: str, *, failed: bool) -> str:
    """The script of all tasks: each carries out its own run folder. `variable` holds the task's number."""
    cases = [f"{number}) run={quote(str(folder.path))} ;;\n" for number, folder in enumerate(folders, start=1)]
    # Without -P, a directory `zlang` among the runs would be imported.
    resume = f"exec {quote(sys.executable)} -P -m zlang.cli.app resume"
    options = "--no-ingest" + (" --failed" if failed else "")
    return "".join([f"#!/bin/sh\ncase ${variable} in\n", *cases, f'esac\n{resume} {options} -- "${{run:?}}"\n'])


def is_part(folder: Folder) -> bool:
    """Whether a run is a part of a plan that was divided for interchangeable machines."""
    return "/" in folder.read_plan().header.part


def add_findings(folder: Folder) -> tuple[Finding, ...]:
    """Find what the rules say of a part on this machine; add it to the folder, and return what is new.

    The program is the one that was submitted, even if its file has changed since. Raises RunError, OSError.
    """
    from zlang.run import findings

    header = folder.read_plan().header
    name, text = next(iter(header.sources.items()))
    overrides = differences.plan_overrides(header)
    try:
        with chdir(folder.directory):
            checked = programs.check(Source(name, text), overrides, header.sources)
            experiment = programs.choose(checked, header.experiment)
            planned = plans.plan(checked, experiment, header.seed, overrides, order=header.order)
            on_this_node = (
                *plans.findings_of(checked, experiment, programs.here()),
                *map(plans.finding_of_machine, plans.contradictions(planned)),
            )
    except ProgramError as error:
        raise RunError(f"this version of zlang does not accept the program of the run: {error}") from error
    saved = findings.load(folder.path)
    before = header.findings if saved is None else saved
    new = tuple(finding for finding in on_this_node if finding not in before)
    if new or saved is None:
        findings.save(folder.path, (*before, *new))
    return new


def task_of(folder: Folder) -> Task | None:
    """The task that carries a run out, if any."""
    from zlang.run import slurm

    return slurm.load(folder.path)


def states(folders: Iterable[Folder]) -> Mapping[Path, str]:
    """The state of each run's task, by folder; empty for a task that neither waits nor runs. Raises RunError."""
    from zlang.run import slurm

    tasks = {folder.path: task for folder in folders if (task := task_of(folder))}
    known_states = slurm.tasks() if tasks else {}
    return {path: known_states.get(str(task), "") for path, task in tasks.items()}


def outcomes(folders: Iterable[Folder]) -> Mapping[Path, str]:
    """The outcomes of the tasks of runs that Slurm's accounting knows."""
    from zlang.run import slurm

    tasks = {folder.path: task for folder in folders if (task := task_of(folder))}
    states = slurm.outcomes({task.job for task in tasks.values()}) if tasks else {}
    return {path: states[str(task)] for path, task in tasks.items() if str(task) in states}
