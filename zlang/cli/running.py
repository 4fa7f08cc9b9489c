"""`zlang run`, `zlang resume` and `zlang clean`: carrying out plans, showing their progress, and cleaning up."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from zlang.cli import answering, checking, progress, render, result_notes, words
from zlang.errors import NotConfirmed, RunError, UsageError
from zlang.hints import TYPE_CHECKING
from zlang.pipeline import arming, costs, machines, plans, programs, results, runs, submissions, verdicts
from zlang.run.arming import Armed
from zlang.run.folder import Folder
from zlang.run.runner import Selection
from zlang.run.stop import Interrupted

_LOOK_EVERY = 0.2
"""Seconds between looks at whether the run is to stop while somebody is waited for."""
_THEN = ", then press Enter"


@dataclass(frozen=True, slots=True)
class Wishes:
    """The trials that a user wants to run, and the permissions given for them."""

    only: int | None
    limit: int | None
    yes: bool
    failed: bool
    again: bool
    wear: bool


if TYPE_CHECKING:
    from zlang.pipeline.plans import Planned
    from zlang.plan.estimate import PlanEstimate
    from zlang.plan.plan import Finding, Header
    from zlang.readers.reading import Judgement
    from zlang.run.account import Account
    from zlang.run.reuse import Measured
    from zlang.run.transport.reach import Reach


def run(
    file: str,
    settings: list[str] | None,
    profile: str | None,
    experiment: str | None,
    runs_dir: Path,
    db: Path,
    seed: int | None,
    host: str | None,
    order: str | None,
    armed: Armed,
    wishes: Wishes,
    *,
    reach: list[str],
    lanes: int,
) -> int:
    """Carry out the plan of a program in a new run folder, or of each of its experiments, one after the other."""
    words.ordered(order)
    checking.require_file(file)
    overrides = checking.overrides(settings, profile)
    here = programs.here()
    checked = checking.sound(file, overrides, here)
    experiments = programs.chosen(checked, experiment, is_one=wishes.only is not None or wishes.failed)
    seed_used = plans.DEFAULT_SEED if seed is None else seed
    prepared: list[_Prepared] = []
    misspelt: list[str] = []
    for item in experiments:
        name = experiment if len(experiments) == 1 else item.name
        reached = machines.reached(checked, item, reach) if host is None else {}
        program = words.program(file, settings, profile, name, seed, host, order, reach=reach)
        if host is None:
            machines.require_nodes(checked, item, reached, f"zlang run {program}")
            new = [each for each in machines.misspelt(checked, item, reached) if each not in misspelt]
            for sentence in new:
                print(f"warning: {render.visible(sentence)}", file=sys.stderr)
            misspelt += new
        planned = plans.plan(checked, item, seed_used, overrides, host, order, reached)
        findings = (*plans.findings_of(checked, item, here), *_warn_of_machines(planned, reached))
        prepared.append(_Prepared(planned, reached, findings, f"zlang run {program}", armed))
    if len(prepared) > 1:
        line = f"zlang run {words.program(file, settings, profile, None, seed, host, order, reach=reach)}"
        shares = arming.share([each.planned.plan.header.armed for each in prepared], armed, line)
        prepared = [replace(each, armed=own) for each, own in zip(prepared, shares, strict=True)]
    code = 0
    for number, each in enumerate(prepared, 1):
        if len(prepared) > 1:
            sys.stdout.flush()  # keep the order of the output in a file that receives both streams
            print(f"experiment {each.planned.experiment.name} ({number} of {len(prepared)})", file=sys.stderr)
        ended = _run_one(each, runs_dir, db, wishes, lanes)
        if ended > _SIGNALLED:
            return ended
        code = code or ended
    return code


_SIGNALLED = 128
"""A larger exit code is that of a signal."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A prepared run: the plan, how its machines are reached, the command to type again, and what it may write to.

    `findings` are those of the rules about these machines.
    """

    planned: Planned
    reached: Mapping[str, Reach]
    findings: tuple[Finding, ...]
    command: str
    armed: Armed


def _warn_of_machines(planned: Planned, reached: Mapping[str, Reach]) -> Iterator[Finding]:
    """Warn of facts in a plan that its machines contradict. Raises RunError if the machines cannot be used."""
    header = planned.plan.header
    plans.require_one_host(planned)
    plans.require_guarded_nodes(planned)
    if header.machines:
        plans.require_no_devices(planned)
        machines.require_reached(planned, reached)
    visits = machines.visit(planned, reached, is_strict=True) if header.machines else []
    contradictions = machines.contradictions(planned, visits) if visits else plans.contradictions(planned)
    for sentence in (*contradictions, *plans.shared_devices(planned)):
        print(f"warning: {render.visible(sentence)}", file=sys.stderr)
        yield plans.finding_of_machine(sentence)


def _run_one(prepared: _Prepared, runs_dir: Path, db: Path, wishes: Wishes, lanes: int) -> int:
    """Carry out the plan of an experiment in a new run folder."""
    planned, armed, only = prepared.planned, prepared.armed, wishes.only
    header = planned.plan.header
    _require_trial(only, header)
    arming.require_named(header.armed, armed)
    if wishes.failed:
        folder = runs.latest_of(runs_dir, planned)
        runs.require_own(folder, trust=False)
        _arm_again(folder, armed, f"{prepared.command} --failed")
        return _resume(runs.account(folder), db, Selection(only, failed=True, lanes=lanes))
    most = runs.RUN_LIMIT if wishes.limit is None else wishes.limit
    is_new = wishes.again or only is not None
    result = {} if is_new else runs.measured(planned, runs_dir, words.refuse, most) or {}
    remaining = 1 if only is not None else runs.remaining_trials(planned, result)
    if remaining > most:
        raise RunError(
            f"the plan has {remaining:,} trials, and `run` accepts at most {most:,}",
            f"raise the limit with --limit {remaining}, or use fewer levels",
        )
    if result:
        print(words.measured(Counter(measured.run for measured in result.values()), header.trials), file=sys.stderr)
    if not remaining:
        whole = {item.folder.path: item.folder for item in result.values()}
        (folder, *others) = whole.values()
        # Another release may declare metrics and read clauses differently, although the plan is the same.
        if not others and folder.read_plan().header == header:
            return _answer(folder, db, 0)
    else:
        arming.arm(header, armed, prepared.command)
        arming.require_clear(header, armed)
    if remaining and only is None:
        _note_weak_comparisons(planned)
    expected = costs.estimate(planned, db, result)
    if not wishes.wear:
        costs.require_endurance(header, expected, 1 if only is None else 1 / header.trials)
    if remaining and not wishes.yes:
        costs.require_space(header, expected)
    _require_budget(planned, db, expected, result if only is None else None)
    if remaining:
        _confirm(remaining, header, yes=wishes.yes)
    folder = runs.begin(
        planned,
        runs_dir,
        armed,
        result,
        expected if only is None else None,
        prepared.reached.values(),
        prepared.findings,
    )
    _seal(folder)
    return _resume(runs.account(folder), db, Selection(only, failed=False, lanes=lanes))


def _note_weak_comparisons(planned: Planned) -> None:
    """Print which factors cannot be compared well, because of their order or of how often they are set up."""
    repeat = planned.plan.header.repeat
    once, limits = verdicts.set_up_once(planned), verdicts.limits_of_one_setup(planned)
    if once or limits:
        has_fix = verdicts.is_removed_by_blocks(planned)
        print(f"note: {words.set_up_once(once, limits, repeat, has_fix=has_fix)}", file=sys.stderr)
    if confounded := verdicts.confounded_with_order(planned):
        are_set_up = not frozenset(confounded).isdisjoint(planned.schedule.whole)
        note = words.confounded_with_order(confounded, repeat, are_set_up=are_set_up)
        print(f"note: {note}", file=sys.stderr)


def _require_budget(
    planned: Planned, db: Path, expected: PlanEstimate, measurements: Mapping[str, Measured] | None
) -> None:
    """Raise RunError if a whole run exceeds its time budget; the hint says what would fit."""
    fitting = None if measurements is None else costs.fitting_budget(planned, db, expected, measurements)
    if fitting is not None:
        raise RunError(*words.over_budget(expected.total, float(planned.experiment.budget or 0), fitting))


def _confirm(trials: int, header: Header, *, yes: bool) -> None:
    """Ask for confirmation before the first command, if standard input is a terminal."""
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    some = ("at most " if header.is_sequential else "") + words.counted(trials, "trial")
    question = f"{header.experiment}: run {some}? `zlang plan` shows them"
    import typer

    try:
        is_confirmed = typer.confirm(question, default=True, err=True)
    except typer.Abort:  # Ctrl-C, or the end of the input
        is_confirmed = False
    if not is_confirmed:
        raise NotConfirmed


def resume(
    run_name: str | None,
    runs_dir: Path,
    db: Path,
    armed: Armed,
    *,
    only: int | None,
    failed: bool,
    yes: bool,
    trust: bool,
    reach: list[str],
    is_answered: bool,
) -> int:
    """Continue a run; with `yes`, the manual step that it waited for counts as done."""
    folder = runs.find(runs_dir, run_name)
    runs.require_own(folder, trust=trust)
    _reach_again(folder, reach)
    _require_trial(only, folder.read_plan().header)
    if submissions.is_part(folder):
        _add_findings(folder)
    account = runs.account(folder)
    if account.state.is_finished and not failed and only is None:
        print(f"{render.visible(folder.name)}: all trials are done", file=sys.stderr)
    else:
        _arm_again(folder, armed, _resume_line(folder, db))
    return _resume(account, db, Selection(only, failed=failed), is_confirmed=yes, is_answered=is_answered)


def _add_findings(folder: Folder) -> None:
    """Add what the rules say of a part on this machine, which `submit` could not know, and renew the seal."""
    try:
        for finding in submissions.add_findings(folder):
            print(f"{finding.severity}: {render.visible(finding.message)}", file=sys.stderr)
    except (RunError, OSError) as error:
        print(f"warning: no rule examined this machine: {render.visible(str(error))}", file=sys.stderr)
        return
    _seal(folder)


def _require_trial(number: int | None, header: Header) -> None:
    """Refuse an `--only` trial that the plan does not have."""
    if number is not None and not 1 <= number <= header.trials:
        raise UsageError(f"the plan has trials 1 to {header.trials:,}", option="--only")


def _arm_again(folder: Folder, armed: Armed, line: str) -> None:
    """Rearm the devices that a run writes to, and renew the seal, which covers them."""
    if arming.rearm(folder, armed, line):
        _seal(folder)


def _reach_again(folder: Folder, options: list[str]) -> None:
    """Change how machines are reached, and renew the seal, which covers that too."""
    if options:
        runs.reach_again(folder, options)
        _seal(folder)


def _seal(folder: Folder) -> None:
    why = runs.seal(folder)
    if why:
        print(f"warning: this run is not sealed: {render.visible(why)}", file=sys.stderr)
        print("`zlang resume` and `zlang clean` will need --trust for it", file=sys.stderr)


def _resume(
    account: Account[Judgement], db: Path, selection: Selection, *, is_confirmed: bool = False, is_answered: bool = True
) -> int:
    """Carry out the remaining trials, then show the results if requested."""
    folder, state = account.folder, account.state
    header = folder.read_plan().header
    done = state.carried_out if selection.only is None and not selection.failed else 0
    waits_for = state.waits_for or ("", "") if is_confirmed else None
    total = 1 if selection.only is not None else header.at_most
    print(f"run {render.visible(folder.name)} in {render.visible(str(folder.path))}", file=sys.stderr)
    if selection.failed and selection.only is None and state.is_finished and not runs.failures(account):
        print("no trial failed: there is nothing to measure again", file=sys.stderr)
    for problem in runs.damage(account) if state.sessions else ():
        status = f"zlang status {words.shell(words.named(folder.path))}"
        print(f"warning: {render.visible(problem)}; `{status}` lists what does not count", file=sys.stderr)
    if other := runs.elsewhere(state):
        remaining = ", ".join(render.visible(creates) for creates in runs.still_standing(folder))
        why = f"the run was on {other} before. If these are on a disk of {other}, remove them there"
        print(f"warning: {why}: {remaining}", file=sys.stderr)
    try:
        course = progress.course(folder.read_plan(), state, total, done)
        failures = progress.watch(runs.carry_out(account, selection), folder.run, header, course, waits_for)
    except Interrupted as stop:
        print(f"\n{_standing_resources(folder)} To continue: {_resume_line(folder, db)}", file=sys.stderr)
        return stop.exit_code
    except RunError as error:
        print(render.run_error(error, colour=render.is_coloured(sys.stderr)), file=sys.stderr)
        if folder.path.is_dir():
            print(f"all measurements are kept. To continue: {_resume_line(folder, db)}", file=sys.stderr)
        else:
            gone = f"the run folder {render.visible(str(folder.path))} was renamed or deleted"
            print(f"{gone}. To continue: zlang resume NAME, with its new name", file=sys.stderr)
        return 1
    if not is_answered:
        return 1 if failures else 0
    return _answer(folder, db, failures, is_whole=selection.only is None)


def _standing_resources(folder: Folder) -> str:
    """The resources that a stopped run has left behind, in a sentence."""
    remaining = [render.visible(creates) for creates in runs.still_standing(folder)]
    if not remaining:
        return "stopped; everything that the run created is removed."
    line = f"zlang clean {words.shell(words.named(folder.path))}{_trust_option(folder)}"
    return f"stopped. Still there: {', '.join(remaining)}. Remove it: {line}."


def _answer(folder: Folder, db: Path, failures: int, *, is_whole: bool = True) -> int:
    """Show the results of a run. A failure of the database loses nothing: the run folder has everything."""
    try:
        closing = results.conclude(folder, db, is_whole=is_whole)
    except RunError as error:
        print(render.run_error(error, colour=render.is_coloured(sys.stderr)), file=sys.stderr)
        again = f"zlang ingest {words.file(str(folder.path.parent))}{_db_option(db)}"
        print(
            f"the run is complete, in {render.visible(str(folder.path))}. To load its results: {again}",
            file=sys.stderr,
        )
        return 1
    code = answering.close(closing, failures, is_whole=is_whole)
    result_notes.note_of_dropped(closing.dropped, db, folder.path.parent)
    took = costs.spent(folder, runs.run_state(folder))
    if took is not None:
        estimate = took.estimate
        is_sequential = folder.read_plan().header.is_sequential
        missing = words.unknown_time(estimate)
        without = (f" plus {missing}" if is_sequential else f" (without {missing})") if estimate.unknown_seconds else ""
        # For both, less may be needed, and unknown durations may add to it.
        bound = {(True, False): "at most ", (False, True): "at least "}.get(
            (is_sequential, estimate.is_lower_bound), ""
        )
        print(f"took {words.duration(took.elapsed)}; the estimate was {bound}{words.duration(estimate.total)}{without}")
    print("\ntry next:")
    if closing.summary.valid:
        print(f"  {result_notes.example_query(closing.summary)}{_db_option(db)}")
        for column in closing.summary.columns:
            if column.meaning:
                print(f"    `{column.name}` is {column.meaning}")
    print(f"  zlang status {words.shell(words.named(folder.path))}")
    if not closing.summary.valid:
        print(f"  {_resume_line(folder, db)} --failed")
    return code


def _resume_line(folder: Folder, db: Path) -> str:
    return f"zlang resume {words.shell(words.named(folder.path))}{_trust_option(folder)}{_db_option(db)}"


def _trust_option(folder: Folder) -> str:
    """The option with which `resume` and `clean` accept a folder that could not be sealed."""
    return "" if runs.is_own(folder) else " --trust"


def _db_option(db: Path) -> str:
    return "" if db == Path("results.duckdb") else f" --db {words.file(str(db))}"


# -- clean


def clean(run_name: str | None, runs_dir: Path, *, as_json: bool, trust: bool, reach: list[str]) -> int:
    """Remove the resources that a run left behind."""
    unbegun = runs.remove_unbegun(runs_dir, run_name)
    if unbegun and not as_json:
        for name in unbegun:
            print(f"removed: the folder of {render.visible(name)}, whose start was interrupted")
    if unbegun and (run_name is not None or not runs.all_runs(runs_dir)):
        if as_json:
            print(json.dumps({"run": unbegun[-1], "removed": unbegun, "gone": [], "left": []}))
        return 0
    folder = runs.find(runs_dir, run_name)
    runs.require_own(folder, trust=trust)
    _reach_again(folder, reach)
    try:
        cleaned = runs.clean(folder)
    except Interrupted as stop:
        print("stopped; to continue, repeat the command", file=sys.stderr)
        return stop.exit_code
    if as_json:
        remaining = [{"what": creates, "why": why} for creates, why in cleaned.stuck]
        content = {"run": folder.name, "removed": cleaned.removed, "gone": cleaned.gone, "left": remaining}
        print(json.dumps(content))
        return 1 if remaining else 0
    for creates in cleaned.removed:
        print(f"removed: {render.visible(creates)}")
    for creates in cleaned.gone:
        print(f"already gone: {render.visible(creates)}")
    for creates, why in cleaned.stuck:
        print(f"still there: {render.visible(creates)}: {render.visible(why)}")
    if cleaned == runs.Cleaned():
        print(f"{render.visible(folder.name)}: nothing left to remove")
    return 1 if cleaned.stuck else 0
