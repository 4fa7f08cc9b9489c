"""Runs: their folders, what they have measured, and how they are begun, gone on with and cleared away."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from zlang.check.check import Checked
from zlang.errors import RunError
from zlang.pipeline.arming import require_tools
from zlang.pipeline.plans import emit, require_distinct, require_one_host

if TYPE_CHECKING:
    from zlang.pipeline.plans import Planned
    from zlang.plan.estimate import Estimate
    from zlang.run.arming import Armed
    from zlang.run.earlier import Measured
    from zlang.run.events import Event
    from zlang.run.folder import Folder
    from zlang.run.journal import Standing
    from zlang.run.runner import Selection

RUN_LIMIT = 10_000
"""How many trials `run` carries out without being told to."""


def begin(
    planned: Planned,
    runs: Path,
    armed: Armed | None = None,
    found: Mapping[str, Measured] = MappingProxyType({}),
    expected: Estimate | None = None,
) -> Folder:
    """A new run folder with the plan, what was armed, is expected, and need not be measured. Raises RunError."""
    import json
    from dataclasses import asdict

    from zlang.run import earlier

    require_one_host(planned)
    require_distinct(planned)
    require_tools(planned.plan.header.tools)
    folder = new_folder(planned, runs, armed)
    if found:
        earlier.bring(found, folder, time.time())
    if expected is not None:
        folder.estimate.write_text(json.dumps(asdict(expected)) + "\n", "utf-8")
    return folder


def new_folder(planned: Planned, runs: Path, armed: Armed | None = None) -> Folder:
    """A run folder with a plan, its program, its script, and what was armed for it. Raises RunError."""
    from zlang.run import arming, machine
    from zlang.run import folder as folders

    folder = folders.create(runs, planned.plan.header.experiment, Path.cwd())
    try:
        _fill(folder, planned)
        if armed and armed.names:
            arming.keep(folder.path, armed, planned.plan.header.plan, machine.boot())
        folder.write_plan(planned.plan)
    except OSError as error:
        discard(folder)
        raise RunError(f"cannot write {folder.path}: {error.strerror}", "give another directory with --runs") from None
    except BaseException:  # a point that cannot be planned, or Ctrl-C: there is no run yet
        discard(folder)
        raise
    return folder


def _fill(folder: Folder, planned: Planned) -> None:
    """Write what goes with the plan: the program's text, and the script where one machine carries all of it out."""
    for name, text in planned.plan.header.sources.items():
        (folder.sources / Path(name).name).write_text(text, "utf-8")
    if planned.schedule.part is not None or len(planned.schedule.hosts) == 1:
        with folder.script.open("w", encoding="utf-8") as file:
            file.writelines(emit(planned, "sh"))


def discard(folder: Folder) -> None:
    """Remove a run folder in which nothing was carried out."""
    shutil.rmtree(folder.path, ignore_errors=True)


def find(runs: Path, run: str | None) -> Folder:
    """The run of that name or path, or the latest. Raises RunError."""
    from zlang.run import folder as folders

    return folders.find(runs, run)


def all_runs(runs: Path) -> list[Folder]:
    """Every run folder in a directory, by name."""
    from zlang.run.folder import Folder

    return [Folder(path.parent.absolute()) for path in sorted(runs.glob("*/plan.jsonl"))]


def latest_of(runs: Path, planned: Planned) -> Folder:
    """The latest run of the same part of the same plan. Raises RunError."""
    wanted = planned.plan.header
    headers = [(folder, folder.read_plan().header) for folder in all_runs(runs)]
    same = [folder for folder, header in headers if (header.plan, header.part) == (wanted.plan, wanted.part)]
    if not same:
        raise RunError("this program has no run yet whose trials could have failed", "`zlang run` without --failed")
    return max(same, key=lambda folder: folder.plan.stat().st_mtime)


def standing(folder: Folder) -> Standing:
    """What a run's journal amounts to."""
    from zlang.run import journal

    return journal.standing(folder.journal)


def measured(checked: Checked, planned: Planned, runs: Path, most: int = RUN_LIMIT) -> Mapping[str, Measured] | None:
    """The trials of a plan that runs in this directory have measured, and that count, by their place.

    The latest run comes first. None where more than `most` trials are left whatever these runs have measured: so many
    are not looked through.
    """
    from zlang.plan import build
    from zlang.readers.judge import judge
    from zlang.run import earlier, machine

    if planned.schedule.part is None and len(planned.schedule.hosts) > 1:
        return {}  # no one machine carries that out
    folders = sorted(all_runs(runs), key=lambda folder: folder.plan.stat().st_mtime, reverse=True)
    tried = frozenset[str]().union(*(folder.tried for folder in folders))
    header = planned.plan.header
    if not tried:
        return {}
    if header.at_most - len(tried) * header.repeat > most:
        return None
    trials = tuple(build.trials(checked.program, planned.schedule, tried))
    return earlier.measured(header, trials, folders, judge, machine.answer)


def left(planned: Planned, found: Mapping[str, Measured]) -> int:
    """How many trials of a plan there are to measure at most, once these were found."""
    from zlang.run import sequential

    header = planned.plan.header
    known = {place: (one.verdict, one.window) for place, one in found.items()}
    if not found:
        return header.at_most
    return 0 if sequential.is_settled(planned.plan, known) else max(1, header.at_most - len(found))


def failures(folder: Folder) -> Iterator[tuple[int, int, str]]:
    """Number, replicate and reason of each trial that was carried out and does not count."""
    from zlang.plan.plan import Trial
    from zlang.readers.judge import judge
    from zlang.run import failure, journal
    from zlang.store import outcomes

    known = standing(folder)
    times = outcomes.follow(journal.Lines(folder.journal))
    for item in folder.read_plan().items():
        if not isinstance(item, Trial):
            continue
        failed = known.failed.get(item.place)
        if failed is not None:
            ran = times.step(failed.out, failed.step)
            seconds = ran.ended - ran.started if ran and ran.ended is not None else 0.0
            why = failure.why(folder.path / failed.out, failed.step, ran.rc if ran else None, seconds)
            yield item.number, item.replicate, why
        elif item.place in known.committed:
            verdict = judge(item, folder.path / known.committed[item.place], (0.0, 0.0))
            if not verdict.valid:
                yield item.number, item.replicate, verdict.why_not


def carry_out(folder: Folder, selection: Selection) -> Iterator[Event]:
    """Do what a run folder's plan says and has not been done. Raises RunError, Interrupted."""
    from zlang.readers.judge import judge
    from zlang.run import arming, machine, runner
    from zlang.run.executor import LocalExecutor

    plan = folder.read_plan()
    boot = machine.boot()
    armed = arming.kept(folder.path, plan.header.plan, boot)
    executor = LocalExecutor(folder.name, folder.directory, armed.environment(plan.header.plan, boot))
    require_tools(plan.header.tools)
    return runner.run(plan, folder, executor, judge, selection=selection)


def clean(folder: Folder) -> tuple[list[str], list[tuple[str, str]]]:
    """Remove what a run left: what is gone now, and what would not go, with why. Raises RunError, Interrupted."""
    from zlang.plan.plan import Setup
    from zlang.run.events import Left, Unmade
    from zlang.run.runner import Selection

    left = standing(folder).left
    known = {item.signature: item for item in folder.read_plan().items() if isinstance(item, Setup)} if left else {}
    removed: list[str] = []
    stuck: list[tuple[str, str]] = []
    for event in carry_out(folder, Selection(nothing=True)) if standing(folder).sessions else ():
        match event:
            case Unmade(signature=signature) if known[signature].creates:
                removed.append(known[signature].creates)
            case Left(setup=setup, why=why):
                stuck.append((setup.creates, why))
            case _:
                pass
    return removed, stuck
