"""`zlang status`: the progress of runs, and their invalid trials."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from zlang.cli import defaults, render, words
from zlang.cli.render import visible
from zlang.errors import RunError
from zlang.pipeline import status as statuses
from zlang.pipeline.status import RunStatus


def status(run_name: str | None = None, runs_dir: Path = defaults.RUNS, *, as_json: bool = False) -> int:
    """Show the progress of one run, or of all runs."""
    if run_name is None:
        return _list(runs_dir, as_json=as_json)
    run = statuses.of(statuses.find(runs_dir, run_name))
    task = _tasks([run]).get(run.path, "")
    if as_json:
        _print_json(run, task)
    else:
        _print(run, task)
    return 0


def follow(run_name: str | None, runs_dir: Path) -> int:
    """Follow a run while it is carried out."""
    from zlang.cli import following, submitting
    from zlang.pipeline import runs, submissions

    folder = runs.find(runs_dir, run_name)
    return submitting.follow(folder) if submissions.task_of(folder) else following.follow(folder)


def show_output(run_name: str | None, runs_dir: Path, number: int, *, as_json: bool) -> int:
    """Print the files that a trial left."""
    from zlang.pipeline import outputs, runs

    folder = runs.find(runs_dir, run_name)
    output = outputs.of(folder, number)
    if as_json:
        print(json.dumps(output.as_dict()))
        return 0
    counts = f"does not count: {output.why_not}" if output.why_not else "counts"
    print(visible(f"trial {output.trial}, replicate {output.replicate}, {counts}"))
    for name, text in sorted(output.files.items()):
        print(visible(f"==> {folder.path / output.place / name} <=="))
        if text is None:
            print("(not shown: longer than 64 KiB, or not a regular file)")
        elif text:
            print(visible(text.removesuffix("\n"), keep="\n\t"))
    return 0


def _print_json(run: RunStatus, task: str) -> None:
    result: dict[str, object] = {"run": run.path.name, "experiment": run.experiment, "trials": run.trials}
    result |= {"done": run.carried_out, "skipped": run.skipped}
    failed = [{"trial": number, "replicate": replicate, "why": why} for number, replicate, why in run.failures]
    seconds = {"seconds": {"estimated": run.expected, "taken": run.took}} if run.expected else {}
    result |= {"part": run.part} if run.part else {}
    result |= {"task": task} if task else {}
    rows = [{"machines": lane, "done": done, "trials": trials} for lane, done, trials in run.lanes]
    result |= {"lanes": rows} if rows else {}
    stage = _stage(run)
    print(json.dumps({**result, "state": stage, "failed": failed, "damage": run.damage, **seconds}))


def _print(run: RunStatus, task: str) -> None:
    counts = f"{words.counts(run, run)} done{_invalid(len(run.failures))}"
    print(visible(f"{run.path.name}: {run.experiment}, {counts}, {_stage(run)}"))
    if task:
        print(f"  {task}")
    for lane, done, trials in run.lanes:
        print(f"  {visible(lane)}: {done:,} of {trials:,} trials")
    for problem in run.damage:
        print(f"  warning: {visible(problem)}")
    for number, replicate, why in run.failures:
        print(f"  trial {number}, replicate {replicate}: {visible(why)}")
    if run.expected:
        print(f"  {'time':24}  {'taken':>12}  {'estimate':>12}")
        for kind, expected in run.expected.items():
            print(f"    {kind:22}  {words.duration(run.took[kind]):>12}  {words.duration(expected):>12}")
    named = words.shell(words.named(run.path))
    if run.failures:
        print(f"to measure them again: zlang resume {named} --failed      only one: zlang resume {named} --only N")
    if _is_running(run):
        print(f"to follow it: zlang status {named} --follow")
    elif not run.is_finished:
        print(f"to continue: zlang resume {named}")


def _stage(run: RunStatus) -> str:
    """The stage of a run, or that a process is carrying it out."""
    return "running" if _is_running(run) else words.stage(run, run.trials)


def _is_running(run: RunStatus) -> bool:
    if run.is_finished:  # avoids loading the code that looks for processes
        return False
    from zlang.pipeline import runs
    from zlang.run.folder import Folder

    return runs.is_carried_out(Folder(run.path))


def _invalid(count: int) -> str:
    """The number of invalid trials, in words; empty if there are none."""
    return f", {count:,} of them {'does' if count == 1 else 'do'} not count" if count else ""


def _list(runs_dir: Path, *, as_json: bool) -> int:
    listed, unread = statuses.of_every(runs_dir)
    tasks = _tasks(listed)
    for run in listed:
        invalid, stage = len(run.failures), _stage(run)
        task = "" if run.is_finished else tasks.get(run.path, "")
        if as_json:
            row = {"run": run.path.name, "experiment": run.experiment, "done": run.carried_out, "invalid": invalid}
            row |= {"trials": run.trials, "skipped": run.skipped, "state": stage}
            row |= {"part": run.part} if run.part else {}
            row |= {"task": task} if task else {}
            print(json.dumps(row))
        else:
            part = [f"part {run.part}"] if run.part else []
            counts = words.counts(run, run) + _invalid(invalid)
            print(visible("  ".join([run.path.name, *part, counts, stage, *([task] if task else [])])))
    for error in unread:
        print(render.run_error(error, colour=render.is_coloured(sys.stderr)), file=sys.stderr)
    code = 1 if unread else 0
    if as_json:
        return code
    for name in statuses.unbegun(runs_dir):
        print(f"{visible(name)}  its start was interrupted; `zlang clean` removes it")
    if not listed and not unread:
        print(f"no runs in the directory {visible(str(runs_dir))}")
    return code


def _tasks(listed: Iterable[RunStatus]) -> Mapping[Path, str]:
    """The task of each submitted run and the state of the task, in words."""
    submitted = [run.path for run in listed if run.is_submitted]
    if not submitted:  # avoids loading the code that queries the batch system
        return {}
    from zlang.pipeline import submissions
    from zlang.run.folder import Folder

    try:
        states = submissions.states(map(Folder, submitted))
        outcomes = submissions.outcomes(Folder(path) for path, state in states.items() if not state)
        texts = {path: state or outcomes.get(path) or "ended" for path, state in states.items()}
        return {path: f"task {submissions.task_of(Folder(path))}: {text}" for path, text in texts.items()}
    except RunError as error:
        print(render.run_error(error, colour=render.is_coloured(sys.stderr)), file=sys.stderr)
        return {}
