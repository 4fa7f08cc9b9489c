"""Joining of the run folders that the scripts of a plan wrote, one per machine, into one, as if one machine had run it.

Rules: a trial is committed only if every machine that takes part in it committed its part for the same instant, and
nothing of it was changed since. Each machine has its own clock; only starts are compared between clocks, and a clock
that was set is noticed as in any run. Files are linked if the file system permits it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from zlang.errors import RunError
from zlang.plan.plan import CLOCKS, LOCAL, Action, Header, Plan, Trial
from zlang.readers.judge import judge
from zlang.readers.reading import Judgement, text_of
from zlang.run import hashes
from zlang.run.account import Account
from zlang.run.events import Begin, Commit, End, Fail, Finish, Interrupt, Recorded, Session, Start
from zlang.run.folder import Folder
from zlang.run.journal import Gap, Lines, Writer
from zlang.run.run_state import Attempt
from zlang.run.unverified import UNVERIFIED

_INSTANT = "instant"
"""The file in which a script keeps when all machines began a trial."""
_MEETING = "meeting"
"""The name of the check that fails if the parts of a trial do not belong together."""

_WORD = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_Moment = tuple[float, Recorded]


def is_part(header: Header) -> bool:
    """Whether a run is the part of one machine in a plan for several."""
    return header.part in header.machines and _WORD.fullmatch(header.part) is not None


def join(parts: Mapping[str, Folder], plan: Plan, place: Path) -> Folder:
    """Write the joined parts of a plan into a directory. Raises RunError, OSError."""
    folder = Folder(place)
    folder.write_plan(Plan(replace(plan.header, part=""), plan.items))
    accounts = {machine: Account(parts[machine], judge) for machine in sorted(parts)}
    ended: list[_Moment] = []
    moments: list[_Moment] = []
    standing: dict[tuple[str, str], str] = {}
    for trial in plan.items():
        attempts = _attempts(trial, accounts) if isinstance(trial, Trial) else {}
        if isinstance(trial, Trial) and attempts:
            out = f"{trial.place}/a{max(_number(attempt.out) for attempt in attempts.values())}"
            ended += _joined(trial, attempts, accounts, place, out)
            standing |= {(machine, attempt.out): out for machine, attempt in attempts.items() if _is_started(attempt)}
    for machine, account in accounts.items():
        moments += _moments(account.folder, {out: to for (owner, out), to in standing.items() if owner == machine})
        for pattern in ("facts", "setups/*/*"):
            for path in sorted(account.folder.path.glob(pattern)):
                own = str(path.relative_to(account.folder.path))
                _link(account, own, place / own, machine)
    events = [event for _, event in sorted([*moments, *ended], key=lambda moment: moment[0])]
    with Writer(folder.journal) as journal:
        journal.write(*_journal(folder, accounts, events))
    return folder


def problems(parts: Mapping[str, Folder], header: Header) -> Iterator[str]:
    """Sentences about missing or damaged parts."""
    for machine in header.machines.keys() - parts.keys():
        yield f"the run folder of `{machine}` is not here: trials in which it takes part do not count"
    for machine, folder in sorted(parts.items()):
        account = Account(folder, judge)
        yield from (f"{machine}: {text}" for text in account.damage)
        if account.doubt:
            yield f"{machine}: {UNVERIFIED}: {account.doubt}"


def _attempts(trial: Trial, accounts: Mapping[str, Account[Judgement]]) -> dict[str, Attempt]:
    attempts = {machine: account.state.attempt(trial.place) for machine, account in accounts.items()}
    return {machine: attempt for machine, attempt in attempts.items() if attempt is not None}


def _joined(
    trial: Trial, attempts: Mapping[str, Attempt], accounts: Mapping[str, Account[Judgement]], place: Path, out: str
) -> Iterator[_Moment]:
    """Join the files of a trial from all machines; yield its start and its end."""
    directory = _within(place, out)
    directory.mkdir(parents=True)
    begun = {machine: attempt for machine, attempt in attempts.items() if _is_started(attempt)}
    for machine, attempt in begun.items():
        _link(accounts[machine], attempt.out, directory, machine)
    if not (directory / CLOCKS).exists():  # scripts assume that the clocks agree
        names = [step.name for step in trial.steps if step.action is Action.MEASURE]
        (directory / CLOCKS).write_text("".join(f"{name} 0 0\n" for name in names), "ascii")
    ends = max(_elapsed(attempt) for attempt in attempts.values())
    if begun:
        t = max(attempt.began.t for attempt in begun.values())
        yield t, Begin(t, trial.identity, trial.replicate, trial.number, out, up=t)
    failed = next((attempt.failed for attempt in attempts.values() if attempt.failed), None)
    if failed is not None:
        at = failed.out if failed.out.startswith("setups/") else out
        yield ends, replace(failed, t=ends, up=ends, apart=0.0, out=at)
        return
    if reason := _reason(trial, attempts, accounts):
        (directory / f"{_MEETING}.err").write_text(reason, "utf-8")
        yield ends, Fail(ends, trial.identity, trial.replicate, out, _MEETING, up=ends)
        return
    yield ends, Commit(ends, trial.identity, trial.replicate, out, up=ends)


def _reason(trial: Trial, attempts: Mapping[str, Attempt], accounts: Mapping[str, Account[Judgement]]) -> str:
    """The reason why the parts of a trial do not form one measurement; empty if they do."""
    for machine in dict.fromkeys(step.host for step in trial.steps if step.host != LOCAL):
        if machine not in accounts:
            return f"the run folder of `{machine}` is not here"
        if machine not in attempts:
            return f"`{machine}` did not take part in it"
        if why := attempts[machine].unended or accounts[machine].examined(attempts[machine])[0]:
            return f"{machine}: {why}"
    instants = {text_of(accounts[machine].folder.path / each.out / _INSTANT) for machine, each in attempts.items()}
    return "the machines carried it out at different times" if len(instants) > 1 else ""


def _moments(folder: Folder, standing: Mapping[str, str]) -> Iterator[_Moment]:
    """The events of a machine except starts and ends of trials, timed by the monotonic clock since the last start."""
    wall, monotonic = 0.0, 0.0
    for event in Lines(folder.journal):
        if isinstance(event, Gap):
            continue
        if isinstance(event, Session | Begin) and event.up is not None:
            wall, monotonic = event.t, event.up
        up = None if event.up is None else wall + event.up - monotonic
        at = event.t if up is None else up
        if isinstance(event, Start | End):
            yield at, replace(event, up=up, out=standing.get(event.out, event.out))
        elif not isinstance(event, Begin | Commit | Fail | Interrupt):
            yield at, replace(event, up=up)


def _journal(folder: Folder, accounts: Mapping[str, Account[Judgement]], events: list[Recorded]) -> Iterator[Recorded]:
    """The events of all machines as those of one run, which begins once and finishes when all have finished."""
    sessions = [event for event in events if isinstance(event, Session)]
    yield from (replace(session, plan=hashes.of_file(folder.plan), node="") for session in sessions[:1])
    yield from (event for event in events if not isinstance(event, Session | Finish))
    if all(account.state.is_finished for account in accounts.values()):
        yield from (event for event in events[-1:] if isinstance(event, Finish))


def _is_started(attempt: Attempt) -> bool:
    """Whether an attempt got beyond its setups."""
    return attempt.out.startswith(f"{attempt.place}/")


def _elapsed(attempt: Attempt) -> float:
    """The time of a part's last known event, on the wall clock of its start."""
    began, last = attempt.began, attempt.last
    return last.t if began.up is None or last.up is None else began.t + last.up - began.up


def _within(place: Path, name: str) -> Path:
    """A path below a directory. Raises RunError if a name in a plan leads outside it."""
    if ".." in name.split("/"):
        raise RunError(f"the plan is damaged: `{name}` leads outside the run folder")
    return place / name


def _number(out: str) -> int:
    number = out.rpartition("/a")[2]
    return int(number) if number.isdecimal() else 1


def _link(account: Account[Judgement], source: str, target: Path, machine: str) -> None:
    """Link the regular files of a run's directory into another, or below `machine` there if a name is taken."""
    try:
        top = account.inside(source)
    except ValueError:  # a symbolic link, which is not part of the run
        return
    for at, _, names in os.walk(top):
        for name in names:
            path, own = Path(at, name), Path(at, name).relative_to(top)
            to = target / own if not (target / own).exists() else target / machine / own
            if path.is_file() and not path.is_symlink():
                to.parent.mkdir(parents=True, exist_ok=True)
                try:
                    to.hardlink_to(path)
                except OSError:
                    shutil.copyfile(path, to, follow_symlinks=False)
