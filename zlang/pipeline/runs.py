"""Runs: their folders, their results, and how they are begun, resumed and cleaned up."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from zlang.errors import RunError, joined, reason_of, suppress
from zlang.frozen import field, frozen
from zlang.hints import TYPE_CHECKING
from zlang.pipeline.arming import require_tools
from zlang.pipeline.plans import emit, require_distinct, require_one_host
from zlang.run import places
from zlang.suggest import did_you_mean

if TYPE_CHECKING:
    from zlang.pipeline.plans import Planned
    from zlang.plan.estimate import PlanEstimate
    from zlang.plan.plan import Finding, Header, Plan, Setup
    from zlang.readers.reading import Judgement
    from zlang.run.account import Account
    from zlang.run.arming import Armed
    from zlang.run.events import Event
    from zlang.run.executor import LocalExecutor
    from zlang.run.folder import Folder
    from zlang.run.following import Follower
    from zlang.run.reuse import Measured
    from zlang.run.run_state import RunState
    from zlang.run.runner import Selection
    from zlang.run.transport.reach import Reach

RUN_LIMIT = 10_000
"""The number of trials that `run` carries out without `--limit`."""


def begin(
    planned: Planned,
    runs: Path,
    armed: Armed | None = None,
    measurements: Mapping[str, Measured] = MappingProxyType({}),
    expected: PlanEstimate | None = None,
    reached: Iterable[Reach] = (),
    findings: tuple[Finding, ...] | None = None,
) -> Folder:
    """A new run folder with the plan, the armed devices, expected cost, and earlier results to reuse. Raises RunError.

    `findings` are those of the rules on this machine.
    """
    from zlang.run import reuse

    require_one_host(planned)
    require_distinct(planned)
    require_tools(planned.plan.header.tools)
    folder = new_folder(planned, runs, armed, reached, findings)
    if measurements:
        reuse.bring(measurements, folder, time.time())
    if expected is not None:
        try:
            import json
            from dataclasses import asdict

            from zlang.files import replace_file

            replace_file(folder.estimate, json.dumps(asdict(expected)).encode() + b"\n")
        except OSError as error:
            raise RunError(f"cannot write {folder.estimate}: {reason_of(error)}", "free some space") from error
    return folder


def new_folder(
    planned: Planned,
    runs: Path,
    armed: Armed | None = None,
    reached: Iterable[Reach] = (),
    findings: tuple[Finding, ...] | None = None,
) -> Folder:
    """A run folder with a plan, its program, its script, its findings, and devices armed for it. Raises RunError."""
    from zlang.run import arming, machine
    from zlang.run import findings as keeping
    from zlang.run import folder as folders
    from zlang.run.transport import reach

    folder = folders.create(runs, planned.plan.header.experiment, Path.cwd())
    try:
        with folder.lock():
            _fill(folder, planned)
            if planned.plan.header.machines:
                reach.save(folder.path, reached)
            if findings is not None:
                keeping.save(folder.path, findings)
            if armed and armed.names:
                arming.save(folder.path, armed, planned.plan.header.plan, machine.boot())
            folder.write_plan(planned.plan)
    except OSError as error:
        discard(folder)
        raise RunError(
            f"cannot write {folder.path}: {reason_of(error)}", "choose another directory with --runs"
        ) from None
    except BaseException:  # a point that cannot be planned, or Ctrl-C: no run exists yet
        discard(folder)
        raise
    return folder


def _fill(folder: Folder, planned: Planned) -> None:
    """Write the files that belong to the plan: the program's text, and the script if one can carry it out."""
    from zlang.files import replace_file

    for name, text in planned.plan.header.sources.items():
        replace_file(folder.sources / Path(name).name, text.encode())
    if not planned.plan.header.machines and planned.schedule.kept is None:
        replace_file(folder.script, (text.encode() for text in emit(planned, "sh")))


def seal(folder: Folder) -> str:
    """Seal a run folder as this user's own; return why that failed, or an empty text."""
    from zlang.run import seal as seals

    try:
        seals.write(folder.path, folder.run)
    except RunError as error:
        return f"{error} ({error.hint})" if error.hint else str(error)
    return ""


def is_own(folder: Folder) -> bool:
    """Whether a folder has this user's valid seal."""
    from zlang.run import seal as seals

    return not seals.why_not_executed(folder.path)


def require_own(folder: Folder, *, trust: bool) -> None:
    """Raise RunError unless a folder has this user's valid seal; with `trust` it is sealed now, if possible."""
    from zlang.run import seal as seals

    why = seals.why_not_executed(folder.path)
    if why and not trust:
        message = f"no command of the run {folder.name} is executed: {why}"
        raise RunError(
            message,
            "`zlang ingest` reads its results; --trust executes the commands of its plan, as if you had written it",
        )
    if why:
        seal(folder)


def discard(folder: Folder) -> None:
    """Remove the folder of a run that has not begun."""
    import shutil

    shutil.rmtree(folder.path, ignore_errors=True)


def remove_unbegun(runs: Path, run: str | None) -> list[str]:
    """Remove the folders of runs that were killed while they started, or only that of `run`; return their names."""
    from zlang.run import folder as folders

    result = [folder for folder in folders.unbegun(runs) if run in {None, folder.name}]
    for folder in result:
        discard(folder)
    return [folder.name for folder in result]


def unbegun(runs: Path) -> list[str]:
    """The names of the folders of runs whose start was killed."""
    from zlang.run import folder as folders

    return [folder.name for folder in folders.unbegun(runs)]


def find(runs: Path, run: str | None) -> Folder:
    """The run with that name or path, or the latest. Raises RunError."""
    from zlang.run import folder as folders

    return folders.find(runs, run)


def all_runs(runs: Path) -> list[Folder]:
    """Every run folder in a directory, by name."""
    paths = places.every(runs)
    if not paths:  # this avoids loading the code that reads them
        return []
    from zlang.run.folder import Folder

    return [Folder(path) for path in paths]


def readable_headers(runs: Path) -> Iterator[tuple[Folder, Header]]:
    """Every run folder with a readable plan, and its header; other folders may belong to another user."""
    for folder in all_runs(runs):
        with suppress(RunError):
            yield folder, folder.read_plan().header


def latest_of(runs: Path, planned: Planned) -> Folder:
    """The latest run of the same part of the same plan. Raises RunError."""
    wanted = planned.plan.header
    same = [
        folder for folder, header in readable_headers(runs) if (header.plan, header.part) == (wanted.plan, wanted.part)
    ]
    if not same:
        raise RunError("this program has not been run yet, so no trial has failed", "type `zlang run` without --failed")
    return max(same, key=lambda folder: folder.plan.stat().st_mtime)


def run_state(folder: Folder) -> RunState:
    """The state of a run according to its journal."""
    from zlang.run.run_state import read

    return read(folder.journal)


def is_carried_out(folder: Folder) -> bool:
    """Whether a process on this machine carries a run out: whether it holds the run's lock, which is not taken here."""
    try:
        inode = (folder.path / "lock").stat().st_ino
        locks = Path("/proc/locks").read_text("ascii").splitlines()
    except OSError:
        return False
    return any("FLOCK" in line and f":{inode} " in line for line in locks)


def follow(folder: Folder) -> Follower[Judgement]:
    """Follow a run that another process carries out."""
    from zlang.readers.judge import judge
    from zlang.run.following import Follower

    return Follower(folder, judge)


def measured(
    planned: Planned,
    runs: Path,
    refuse: Callable[[Folder, str], None],
    most: int = RUN_LIMIT,
) -> Mapping[str, Measured] | None:
    """The valid results of a plan's trials from runs in this directory, by the trials' places.

    The latest run comes first. None if more than `most` trials would remain whatever these runs have measured: then no
    run is searched. `refuse` gets each foreign folder whose results are not used, and the reason.
    """
    if planned.plan.header.machines or (planned.schedule.part is None and len(planned.schedule.hosts) > 1):
        return {}  # no single machine carries the plan out
    folders = sorted(all_runs(runs), key=lambda folder: folder.plan.stat().st_mtime, reverse=True)
    tried = frozenset[str]().union(*(folder.tried for folder in folders))
    header = planned.plan.header
    if not tried:
        return {}
    if header.at_most - len(tried) * header.repeat > most:
        return None
    from zlang.plan import build
    from zlang.readers.judge import judge
    from zlang.run import machine, reuse

    trials = tuple(build.trials(planned.schedule, tried))
    return reuse.measured(header, trials, folders, judge, machine.answer, refuse)


def remaining_trials(planned: Planned, measurements: Mapping[str, Measured]) -> int:
    """Count the trials of a plan that may still have to be measured, without those already measured."""
    from zlang.run import sequential

    header = planned.plan.header
    verdicts = {place: (judged.verdict, judged.window) for place, judged in measurements.items()}
    if not measurements:
        return header.at_most
    return 0 if sequential.is_settled(planned.plan, verdicts) else max(1, header.at_most - len(measurements))


def account(folder: Folder) -> Account[Judgement]:
    """The state of a run, and which of its trials count, from its journal and files."""
    from zlang.readers.judge import judge
    from zlang.run.account import Account

    return Account(folder, judge)


def failures(account: Account[Judgement]) -> list[tuple[int, int, str]]:
    """The number, replicate and reason of each trial that was carried out and does not count."""
    from zlang.plan.plan import Trial

    ended = account.state.ended
    trials = (item for item in account.folder.read_plan().items() if isinstance(item, Trial) and item.place in ended)
    whys = ((trial.number, trial.replicate, account.verdict(trial)[1]) for trial in trials)
    return [row for row in whys if row[2]]


def damage(account: Account[Judgement]) -> list[str]:
    """The problems of a run folder as a whole, one sentence each."""
    from zlang.run.unverified import UNVERIFIED

    return [*account.damage, *([f"{UNVERIFIED}: {account.doubt}"] if account.doubt else [])]


def carry_out(account: Account[Judgement], selection: Selection) -> Generator[Event, None, None]:
    """Carry out the part of a run folder's plan that is not done yet. Raises RunError, Interrupted.

    The journal is read again only if it was written to since the account was made.
    """
    from zlang.readers.judge import judge
    from zlang.run import arming, machine, runner
    from zlang.run.executor import LocalExecutor

    folder = account.folder
    plan = folder.read_plan()
    boot = machine.boot()
    armed = arming.load(folder.path, plan.header.plan, boot)
    executor = LocalExecutor(folder.run, folder.directory, armed.environment(plan.header.plan, boot))
    require_tools(plan.header.tools)
    if plan.header.machines:
        return _from_one_place(account, plan, executor, selection)
    return runner.run(plan, folder, executor, judge, selection=selection, state=account.state)


def _from_one_place(
    account: Account[Judgement], plan: Plan, local: LocalExecutor, selection: Selection
) -> Generator[Event, None, None]:
    """Carry out a plan on several machines from here. Unusable machines are left out if the run has begun before."""
    from zlang.readers.judge import judge
    from zlang.run import runner
    from zlang.run.transport import reach
    from zlang.run.transport.machines import Machines

    folder = account.folder
    with Machines(reach.load(folder.path), folder.run, folder.path, local) as machines:
        problems = machines.connect()
        if problems and not (selection.nothing or account.state.sessions):
            machines.forget()
            raise joined(problems)
        yield from runner.run(plan, folder, machines, judge, selection=selection, state=account.state)


def reach_again(folder: Folder, options: Iterable[str]) -> None:
    """Change how machines of a run are reached, according to the command line. Raises RunError."""
    from zlang.run.transport import reach

    kept = {entry.name: entry for entry in reach.load(folder.path)}
    machines = folder.read_plan().header.machines
    for option in options:
        name = option.partition("=")[0]
        if name not in machines:
            near = did_you_mean(name, machines) or "its machines are " + ", ".join(machines)
            raise RunError(f"the run {folder.name} has no machine `{name}`", near)
    entries = reach.changed(kept, options)
    reach.require_different_machines(entries.values())
    reach.save(folder.path, entries.values())


def lanes(folder: Folder, state: RunState) -> list[tuple[str, int, int]]:
    """The machines of each lane of a run, such as `san1+san2`, with the numbers of its trials done and in total."""
    from zlang.plan.plan import Trial
    from zlang.run import lanes

    plan = folder.read_plan()
    if not plan.header.machines:
        return []
    trials = [item for item in plan.items() if isinstance(item, Trial)]
    result = []
    for machines in lanes.of(plan):
        own = [trial.place for trial in trials if lanes.hosts_of_trial(trial) & machines]
        done = sum(place in state.ended or place in state.skipped for place in own)
        result.append(("+".join(sorted(machines)), done, len(own)))
    return result


def elsewhere(state: RunState) -> str:
    """The other machine on which the run was carried out, if things that it made may still exist there."""
    from zlang.run import machine

    return state.node if state.leftovers and state.node != machine.node() else ""


def still_standing(folder: Folder) -> list[str]:
    """The resources that a run has made and not removed, in the order of making."""
    from zlang.plan.plan import Setup

    remaining = run_state(folder).leftovers
    items = folder.read_plan().items() if remaining else ()
    named = {item.signature: _named(item, folder.run) for item in items if isinstance(item, Setup)}
    return [named[signature] for signature in remaining if named.get(signature)]


def _named(setup: Setup, run: str) -> str:
    """The name of the resource that a setup creates, and its machine if that is reached from here."""
    from zlang.plan.plan import LOCAL
    from zlang.run import lanes

    creates = setup.creates.replace("$RUN", run)
    machines = ", ".join(sorted(lanes.hosts_of_setup(setup) - {LOCAL}))
    return f"{creates} on {machines}" if creates and machines else creates


@frozen
class Cleaned:
    """The result of `clean`: removed resources, resources already gone, and those not removed, with reasons."""

    removed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    stuck: list[tuple[str, str]] = field(default_factory=list)


def clean(folder: Folder) -> Cleaned:
    """Remove the leftovers of a run. Raises RunError, Interrupted."""
    from zlang.plan.plan import Setup
    from zlang.readers.judge import judge
    from zlang.run.account import Account
    from zlang.run.events import LeftBehind, Unmade
    from zlang.run.runner import Selection

    account = Account(folder, judge)
    remaining = account.leftovers
    names = (
        {item.signature: item for item in folder.read_plan().items() if isinstance(item, Setup)} if remaining else {}
    )
    gone: set[str] = set()
    is_here = not folder.read_plan().header.machines
    for setup in names.values() if is_here else ():  # of other machines, nothing is known yet
        made = folder.made(remaining[setup.signature]) if setup.signature in remaining else None
        if not gone.isdisjoint(setup.beneath) or (made and not os.path.lexists(made[0])):
            gone.add(setup.key)
    cleaned = Cleaned()
    is_needed = account.state.sessions or remaining or not is_here  # machines have a folder before the first session
    for event in carry_out(account, Selection(nothing=True)) if is_needed else ():
        match event:
            case Unmade(key=key, signature=signature) if creates := _named(names[signature], folder.run):
                (cleaned.gone if key in gone else cleaned.removed).append(creates)
            case LeftBehind(name=name, why=why):
                cleaned.stuck.append((name.replace("$RUN", folder.run), why))
            case _:
                pass
    return cleaned
