"""`zlang submit`: submitting the parts of a plan to a batch system."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from zlang.cli import checking, defaults, render, words
from zlang.errors import RunError
from zlang.hints import TYPE_CHECKING
from zlang.pipeline import costs, plans, programs, runs, submissions, verdicts

if TYPE_CHECKING:
    from zlang.pipeline.plans import Planned
    from zlang.run.folder import Folder


_FOLLOW_EVERY = 5.0
"""Seconds between questions to the batch system."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A requested submission: the number of parts of the plan, the parts to submit, and the permissions given."""

    parts: int
    lanes: int
    limit: int | None
    wear: bool
    failed: bool
    again: bool


def submit(
    file: str,
    settings: list[str] | None,
    profile: str | None,
    experiment: str | None,
    runs_dir: Path,
    db: Path,
    seed: int | None,
    order: str | None,
    options: list[str],
    wishes: Submission,
) -> int:
    """Submit the plan of each experiment of a program; the tasks of one begin when those of the previous have ended."""
    words.ordered(order)
    _require_own_array(options)
    checking.require_file(file)
    overrides = checking.overrides(settings, profile)
    checked = checking.sound(file, overrides, programs.here())
    seed_used = plans.DEFAULT_SEED if seed is None else seed
    experiments = programs.chosen(checked, experiment, is_one=False)
    every = [plans.plan(checked, item, seed_used, overrides, None, order) for item in experiments]
    for planned in every:
        submissions.require_parts(planned)
    jobs: list[str] = []
    for planned in every:
        if len(every) > 1:
            print(f"experiment {planned.experiment.name}", file=sys.stderr)
        after = [f"--dependency=afterany:{jobs[-1]}"] if jobs else []
        if job := _submit_one(planned, runs_dir, db, [*after, *options], wishes):
            jobs.append(job)
    if jobs:
        runs_option = "" if runs_dir == defaults.RUNS else f" --runs {words.file(str(runs_dir))}"
        print("\ntry next:")
        print(f"  zlang status{runs_option}")
        print(f"  zlang ingest {words.file(str(runs_dir))}")
    return 0


def _submit_one(planned: Planned, runs_dir: Path, db: Path, options: list[str], wishes: Submission) -> str:
    """Submit the unfinished parts of a plan, or all parts if none exist yet; return the job."""
    created: list[Folder] = []
    folders = [] if wishes.again else submissions.latest(runs_dir, planned.plan.header.plan)
    if folders:
        folders = _to_do(folders, failed=wishes.failed)
        if not folders:
            return ""
    else:
        folders = created = _create(planned, runs_dir, db, wishes)
    try:
        job = submissions.submit(folders, wishes.lanes, options, failed=wishes.failed)
    except BaseException:
        submissions.discard(created)
        raise
    trials = sum(folder.read_plan().header.trials for folder in folders)
    print(f"submitted job {job}: {words.counted(len(folders), 'part')}, {words.counted(trials, 'trial')}")
    return job


def follow(folder: Folder) -> int:
    """Print a line for each change in the parts of a plan, until none of their tasks waits or runs."""
    line_shown = ""
    with suppress(KeyboardInterrupt):
        while True:
            parts = submissions.latest(folder.path.parent, folder.read_plan().header.plan)
            under_way = list(filter(None, submissions.states(parts).values()))
            ended = [runs.run_state(part) for part in parts]
            done = sum(state.carried_out for state in ended)
            trials = sum(part.read_plan().header.trials for part in parts)
            finished = sum(state.is_finished for state in ended)
            running = sum(" on " in state for state in under_way)
            line = f"{done:,} of {trials:,} trials; {finished:,} of {len(parts):,} parts are finished, {running:,} run"
            line += f", {len(under_way) - running:,} wait"
            if line != line_shown:
                print(line, flush=True)
                line_shown = line
            if not under_way:
                break
            time.sleep(_FOLLOW_EVERY)
    return 0


def _require_own_array(options: list[str]) -> None:
    """Refuse options of sbatch that would break the match between tasks and parts."""
    for option in options:
        if option.startswith(("--array", "-a")):
            raise RunError(
                f"`{option}`: zlang numbers the tasks itself", "use --parts N, and --lanes N for how many run at a time"
            )


def _to_do(folders: list[Folder], *, failed: bool) -> list[Folder]:
    """The parts to submit again: unfinished ones whose tasks neither wait nor run."""
    for folder in folders:
        runs.require_own(folder, trust=False)
    unfinished = [folder for folder in folders if not runs.run_state(folder).is_finished]
    wanted = [folder for folder in folders if folder in unfinished or (failed and runs.failures(runs.account(folder)))]
    states = submissions.states(wanted)
    result = [folder for folder in wanted if not states.get(folder.path)]
    if not wanted:
        print(f"all {len(folders):,} parts are finished; --again measures them again", file=sys.stderr)
    elif not result:
        print(f"the tasks of {len(wanted):,} parts wait or run; `zlang status` shows them", file=sys.stderr)
    else:
        print(f"{len(folders) - len(result):,} of {len(folders):,} parts need not be submitted again", file=sys.stderr)
    return result


def _create(planned: Planned, runs_dir: Path, db: Path, wishes: Submission) -> list[Folder]:
    """Make and seal a run folder for each part of a plan."""
    header = planned.plan.header
    most = runs.RUN_LIMIT if wishes.limit is None else wishes.limit
    if header.trials > most:
        raise RunError(
            f"the plan has {header.trials:,} trials, and `submit` accepts at most {most:,}",
            f"raise the limit with --limit {header.trials}, or use fewer levels",
        )
    if not wishes.wear:
        costs.require_endurance(header, costs.estimate(planned, db))
    once, limits = verdicts.set_up_once(planned), verdicts.limits_of_one_setup(planned)
    if once or limits:
        has_fix = verdicts.is_removed_by_blocks(planned)
        print(f"note: {words.set_up_once(once, limits, header.repeat, has_fix=has_fix)}", file=sys.stderr)
    folders = submissions.create(plans.cut(planned, wishes.parts), runs_dir)
    for folder in folders:
        if why := runs.seal(folder):
            submissions.discard(folders)
            raise RunError(f"the parts cannot be sealed, so no task could run them: {render.visible(why)}")
    return folders
