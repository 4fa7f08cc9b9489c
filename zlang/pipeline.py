"""The product, from top to bottom: read, check, plan, emit, run, ingest, answer.

Each function takes the output of the one above it. The command line and any other face of zlang call these and nothing
below them.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from zlang.check import check as checking
from zlang.check.check import Checked, Overrides
from zlang.check.program import Experiment, Instance
from zlang.check.values import quote
from zlang.diagnostics import Code, Diagnostic, Lint, ProgramError, Severity
from zlang.errors import RunError
from zlang.files import replace_file
from zlang.source import Source, Span
from zlang.suggest import did_you_mean

if TYPE_CHECKING:
    from zlang.lint.levels import Levels
    from zlang.plan.build import Schedule
    from zlang.plan.difference import Changed, Difference, Edit
    from zlang.plan.estimate import Estimate, Outlook, Past
    from zlang.plan.plan import Finding, Guarded, Header, Plan, Setup, Trial
    from zlang.report.answers import Judged
    from zlang.report.compare import Comparison
    from zlang.report.compose import Known
    from zlang.report.document import Document
    from zlang.report.drawn import Drawn
    from zlang.report.effects import Effect
    from zlang.report.findings.rule import Doubt
    from zlang.report.summary import Summary
    from zlang.run.arming import Armed
    from zlang.run.earlier import Measured
    from zlang.run.events import Event
    from zlang.run.folder import Folder
    from zlang.run.journal import Standing
    from zlang.run.runner import Selection
    from zlang.store.ingest import Ingested, Progress
    from zlang.store.query import Parameters, Result, Session
    from zlang.store.saved import Saved
    from zlang.syntax.format import Formatted

DEFAULT_SEED = 1
RUN_LIMIT = 10_000
"""How many trials `run` carries out without being told to."""


def read(path: str) -> Source:
    """A program's text, its lines ended by newlines. Raises RunError where there is none."""
    return Source(path, _text(path, None))


def _text(path: str, newline: str | None) -> str:
    try:
        with Path(path).open(encoding="utf-8", newline=newline) as file:
            return file.read()
    except UnicodeDecodeError:
        raise RunError(f"{path} is no UTF-8 text") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise RunError(f"cannot read {path}: {why.lower()}", _near(path)) from None


def _near(path: str) -> str:
    """The program in the same directory whose name is nearest to one that is not there."""
    try:
        beside = [str(one) for one in Path(path).parent.glob("*.zexp")] if not Path(path).exists() else []
    except (OSError, ValueError):
        return ""
    return did_you_mean(str(Path(path)), beside)


def read_exactly(path: str) -> Source:
    """A program's text with the line ends that it has. Raises RunError where there is none."""
    return Source(path, _text(path, ""))


def format_source(source: Source) -> Formatted:
    """A program's text in the one style, or why it was left alone."""
    from zlang.syntax import format as formatting

    return formatting.program(source)


def mend(path: str, before: str, after: str) -> None:
    """Replace a program's text, in the line ends that it has. Raises RunError, also where it is not `before` now."""
    exact = read_exactly(path).text
    line_end = "\r\n" if "\r\n" in exact else "\n"
    if exact != before.replace("\n", line_end):
        raise RunError(f"cannot mend {path}: it changed meanwhile, or its line ends are of several kinds")
    rewrite(path, after.replace("\n", line_end))


def rewrite(path: str, text: str) -> None:
    """Replace a program's text; a link stays one, and the file keeps its mode. Raises RunError."""
    try:
        real = Path(path).resolve(strict=True)
        replace_file(real, text.encode(), stat.S_IMODE(real.stat().st_mode))
    except OSError as error:
        raise RunError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None


def check(source: Source, overrides: Overrides, instead: Mapping[str, str] = MappingProxyType({})) -> Checked:
    """All that is wrong with a program. `instead` are texts of imported files that are not those on the disk."""

    def imported(path: str) -> str:
        return instead[path] if path in instead else Path(path).read_text("utf-8")

    return checking.program(source, imported, overrides)


def here() -> Instance:
    """What is known of this machine, for the rules about what is measured on it."""
    from zlang.check import hosts
    from zlang.run import machine

    return hosts.known("this machine", hosts.facts({name: machine.answer(ask) for name, ask in hosts.probes().items()}))


def lint(
    checked: Checked, options: Mapping[str, list[str]] = MappingProxyType({}), machine: Instance | None = None
) -> list[Diagnostic]:
    """What is sound and would still measure something else than it says, as far as it is not allowed.

    `options` are the rules that the command line denies, warns of or allows. What stands on no named host is on
    `machine`, where that is given. Raises RunError.
    """
    from zlang.lint import lint as rules

    return rules.findings(checked.program, _levels(checked, options), machine)


def _levels(checked: Checked, options: Mapping[str, list[str]]) -> Levels:
    from zlang.lint import levels

    name = checked.program.source.name
    directory = Path(name).absolute().parent if name.endswith(".zexp") else Path.cwd()
    return levels.levels(directory, options)


def choose(checked: Checked, name: str | None) -> Experiment:
    """The experiment that is meant: the only one, or the one that is named. Raises RunError, ProgramError."""
    experiments = checked.program.experiments
    if not experiments:
        raise ProgramError(
            Code.NO_EXPERIMENT.at(
                Span(checked.program.source, 0, 0), hint="write one: `experiment name { on = …  run = … }`"
            )
        )
    if name is None and len(experiments) > 1:
        listed = ", ".join(experiments)
        raise RunError(f"the program has {len(experiments)} experiments", f"say which with --experiment: {listed}")
    if name is not None and name not in experiments:
        raise RunError(
            f"there is no experiment `{name}`", did_you_mean(name, experiments) or "it has " + ", ".join(experiments)
        )
    return experiments[name] if name is not None else next(iter(experiments.values()))


@dataclass(frozen=True, slots=True)
class Planned:
    """An experiment with its order of trials and its plan."""

    experiment: Experiment
    schedule: Schedule
    plan: Plan


def plan(
    checked: Checked,
    experiment: Experiment,
    seed: int,
    overrides: Overrides,
    host: str | None = None,
    order: str | None = None,
) -> Planned:
    """What will be done, by all hosts or by one of them, as a stream. Raises ProgramError, RunError."""
    from zlang.plan import build
    from zlang.plan.order import Order

    settings = dict(overrides.values) | ({"--profile": overrides.profile} if overrides.profile else {})
    schedule = build.Schedule(experiment, seed, host, Order(order or Order.PLANNED))
    if host is not None and host not in schedule.hosts:
        known = [name for name in schedule.hosts if name]
        near = did_you_mean(host, known) or ("they are on " + ", ".join(known) if known else "they are on no host")
        raise RunError(f"`{experiment.name}` has no trials on a host `{host}`", near)
    findings = tuple(_said(checked, experiment))
    return Planned(experiment, schedule, build.plan(checked.program, schedule, settings, findings))


def _said(checked: Checked, experiment: Experiment) -> Iterator[Finding]:
    """What the rules say of an experiment, as its plan has it."""
    from zlang.lint import lint as rules
    from zlang.plan.plan import Finding

    for found, allowed in rules.judged(checked.program, experiment, _levels(checked, {})):
        line, column = found.span.source.position(found.span.start)
        place = f"{found.span.source.name}:{line}:{column}"
        code = found.code
        name = code.name if isinstance(code, Lint) else ""
        yield Finding(code.id, name, code.severity.value, found.message, found.hint, place, allowed)


@dataclass(frozen=True, slots=True)
class Side:
    """One of two plans that are compared: what it was called, the plan, and its program if it was made of one."""

    name: str
    plan: Plan
    planned: Planned | None = None


def saved(word: str) -> Side | None:
    """A plan that was kept, as a run folder or a file of JSON lines; None for anything else. Raises RunError."""
    from zlang.plan import wire
    from zlang.run.folder import Folder

    path = Path(word)
    if (path / "plan.jsonl").is_file():
        return Side(word, Folder(path.resolve()).read_plan())
    if path.suffix != ".jsonl" or not path.is_file():
        return None

    def lines() -> Iterator[bytes]:
        try:
            with path.open("rb") as file:
                yield from file
        except OSError as error:
            raise RunError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None

    return Side(word, wire.load(lines, word))


def side(word: str, overrides: Overrides, experiment: str | None, seed: int, order: str | None) -> Side:
    """A program, or one of a revision (`REVISION:FILE`), as it would be planned. Raises ProgramError, RunError."""
    from zlang.run import revisions

    revision, colon, path = word.partition(":")
    if Path(word).is_file() or not colon:
        checked = check(read(word), overrides)
    else:
        source = Source(path, revisions.text(revision, path))
        checked = checking.program(source, lambda imported: revisions.text(revision, imported), overrides)
    if not checked.is_sound:
        finding = next(one for one in checked.findings if one.code.severity is Severity.ERROR)
        raise ProgramError(finding)
    planned = plan(checked, choose(checked, experiment), seed, overrides, order=order)
    return Side(word, planned.plan, planned)


def said_of(header: Header) -> Overrides:
    """What was said of a program when a plan was made of it."""
    values = dict(header.settings)
    profile = values.pop("--profile", None)
    return Overrides(values, profile)


def difference(one: Side, other: Side) -> Difference:
    """What differs between two plans.

    Of two programs it is known without their commands; a plan that was kept may be that of another release, so there
    they are compared as well.
    """
    from zlang.plan import build
    from zlang.plan import difference as differences

    if one.planned and other.planned:
        return differences.difference(*(build.told(side.planned.schedule) for side in (one, other) if side.planned))
    return differences.difference(differences.told(one.plan), differences.told(other.plan))


def edits(one: Side, other: Side, changed: Sequence[Changed]) -> dict[int, tuple[Edit, ...]]:
    """The commands that differ, by the newer number of the trial."""
    from zlang.plan import difference as differences

    was = differences.steps(one.plan, [point.was for point in changed])
    now = differences.steps(other.plan, [point.now for point in changed])
    return {point.now: differences.edits(was[point.was], now[point.now]) for point in changed}


def snapshot_path(checked: Checked, experiment: Experiment) -> Path:
    """Where the plan of a program is kept: beside it, with the experiment's name if it has several."""
    path = Path(checked.program.source.name)
    named = f".{experiment.name}" if len(checked.program.experiments) > 1 else ""
    return path.with_name(f"{path.stem}{named}.plan.jsonl")


def keep_plan(plan: Plan, path: Path) -> None:
    """Write a plan as JSON lines. Raises RunError."""
    from zlang.plan import wire

    try:
        replace_file(path, wire.dump(plan))
    except OSError as error:
        raise RunError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None


def contradictions(planned: Planned) -> list[str]:
    """What the program says of the host that is to carry the plan out, and this machine says otherwise."""
    from zlang.check import hosts
    from zlang.check.values import show
    from zlang.run import machine

    names = planned.plan.header.hosts
    here = planned.schedule.part or (names[0] if len(names) == 1 else "")
    said = {host.digest: host for _, host in hosts.used_by(planned.experiment) if host and host.label == here}
    if len(said) != 1:  # no host is named, or one in several states
        return []
    (host,) = said.values()
    probes = {name: command for name, command in hosts.probes().items() if name in host.values}
    found = hosts.facts({name: machine.answer(command) for name, command in probes.items()})
    return [
        f"`{here}` has {name} = {show(value)} in the program, and this machine has {show(other)}"
        for name, value, other in hosts.contradicted(host, found)
    ]


def makes(checked: Checked, planned: Planned) -> list[Setup]:
    """What will be made: setups in which every branch of every choice is, each once."""
    from zlang.plan import build

    return list({setup.signature: setup for setup in build.makes(checked.program, planned.schedule)}.values())


def estimate(checked: Checked, planned: Planned, db: Path, but: Container[str] = ()) -> Estimate:
    """How long the plan takes on this machine, what it writes and asks for, without trials at some places."""
    return next(iter(estimates(checked, planned, db, but, ()).values()))


def estimates(
    checked: Checked,
    planned: Planned,
    db: Path,
    but: Container[str] = (),
    others: Sequence[str] = ("as-written", "random"),
) -> dict[str, Estimate]:
    """The estimate of the plan as it is ordered, and what other orders would come to, without trials at some places."""
    from zlang.plan import estimate as estimating
    from zlang.plan import survey
    from zlang.plan.build import Builder
    from zlang.plan.order import Order

    schedule, found, past = planned.schedule, dict[str, "Estimate"](), _past(db)
    for how in dict.fromkeys((schedule.order, *map(Order, others))):
        other = schedule if how is schedule.order else schedule.ordered(how)
        stops = survey.stops(Builder(checked.program, planned.experiment, other), other, but)
        found[how] = estimating.estimate(stops, planned.plan.header.facts, past)
    return found


def _past(db: Path) -> Past:
    """What is known of this machine; what cannot be read, or is of another release, says nothing."""
    from zlang.plan.estimate import Past
    from zlang.run import machine

    if db.exists():
        from zlang.store import past

        with suppress(RunError):
            return past.past(db, machine.answer("uname -srvm"), machine.memory())
    return Past()


def trial(checked: Checked, planned: Planned, number: int) -> tuple[Trial, tuple[Setup, ...]]:
    """The trial of a number, and the setups that it needs, parents first. Raises ProgramError."""
    from zlang.plan.build import Builder

    return Builder(checked.program, planned.experiment, planned.schedule).trial(planned.schedule.slot(number))


def page(pieces: Iterator[str]) -> bool:
    """Show text in the user's pager; whether there is one."""
    from zlang.run import pager

    return pager.page(pieces)


def require_one_host(planned: Planned) -> None:
    """Raise RunError where a plan is of several machines, each of which can carry out its own part only."""
    known = planned.schedule.hosts
    if planned.schedule.part is not None or len(known) == 1:
        return
    named = [name for name in known if name]
    if len(named) < len(known):
        hint = "say of everything on which host it is: `… on HOST`, declared as `host HOST`"
        raise RunError(f"some trials are on {', '.join(named)}, and others on no host", hint)
    message = f"the trials are on {len(named)} hosts: {', '.join(named)}"
    raise RunError(message, f"say which of them this machine is: --host {named[0]}; or show all with --emit json")


def emit(planned: Planned, form: str) -> Iterator[str]:
    """The plan in one of the formats of `zlang.emit.registry`. Raises RunError."""
    from zlang.emit.registry import EMITTERS

    if form == "sh":
        require_one_host(planned)
    return EMITTERS[form](planned.plan)


def job_forms(planned: Planned) -> set[str]:
    """The tools for which the first trial can be written as a job file."""
    from zlang.plan import build

    slot = next(planned.schedule.slots())
    made = build.job(slot, planned.experiment, planned.schedule.seed)
    return {made[0]} if made else set()


def job_files(planned: Planned) -> Iterator[tuple[str, str]]:
    """Each trial as the job file of its own tool: names and texts. Raises ProgramError, RunError."""
    from zlang.plan import build

    for slot in planned.schedule.slots():
        made = build.job(slot, planned.experiment, planned.schedule.seed)
        if made is None:
            raise RunError("the workload has no job files", "`zlang plan --emit sh` writes it as a script")
        ending, text = made
        yield f"{slot.number:06d}-{slot.replicate}.{ending}", text


def missing_tools(tools: Mapping[str, str]) -> dict[str, str]:
    """The tools that are not on this machine (root is one, for who is not root), and how to get them."""
    from zlang.run import machine

    return {tool: hint for tool, hint in tools.items() if not machine.has(tool)}


def _require(tools: Mapping[str, str]) -> None:
    """Raise RunError where something that a plan needs is missing."""
    from zlang.plan.plan import ROOT

    missing = missing_tools(tools)
    if ROOT in missing:
        raise RunError("this plan has to be carried out by root", missing[ROOT])
    for tool, hint in missing.items():
        raise RunError(f"`{tool}` is not installed", f"{hint}; `zlang doctor` shows all that is missing")


def look(header: Header, wipe: Sequence[str] = ()) -> Iterator[tuple[Guarded, list[str], list[str]]]:
    """What is not the run's own and will be written to: what is there now, and what of that stands in the way."""
    from zlang.run import machine

    for one in header.guarded:
        said = [machine.look(step.command, Path.cwd(), " ".join(wipe)) for step in one.steps]
        yield one, [line for found, _ in said for line in found], [line for _, against in said for line in against]


def to_arm(header: Header) -> str:
    """The options by which all is armed that a plan writes to, as they are typed."""
    return " ".join(f"--arm {quote(name)}" for name in header.armed)


def arm(header: Header, armed: Armed, line: str) -> None:
    """Raise RunError unless all that will be written to is armed, and nothing else; `line` is what to type."""
    wanted = header.armed
    foreign = [name for name in (*armed.names, *armed.wipe) if name not in wanted]
    if foreign:
        hint = did_you_mean(foreign[0], wanted) or ("it writes to " + ", ".join(wanted) if wanted else "it needs none")
        raise RunError(f"the plan does not write to {foreign[0]}", hint)
    if set(wanted) - set(armed.names):
        wiped = "".join(f" --wipe {quote(name)}" for name in armed.wipe)
        message = "the plan writes to what the run did not make: " + ", ".join(wanted)
        raise RunError(message, f"if all on it may be lost: {line} {to_arm(header)}{wiped}")


def require_clear(header: Header, armed: Armed) -> None:
    """Raise RunError where something stands in the way of writing to what the run did not make."""
    against = [line for _, _, lines in look(header, armed.wipe) for line in lines]
    if against:
        raise RunError("; ".join(against), "nothing was begun and nothing was written")


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
    if header.trials - len(tried) * header.repeat > most:
        return None
    trials = tuple(build.trials(checked.program, planned.schedule, tried))
    return earlier.measured(header, trials, folders, judge, machine.answer)


def outlook(checked: Checked, planned: Planned, db: Path, found: Mapping[str, Measured] | None) -> Outlook:
    """What is left to do of a plan of which some trials were measured."""
    from zlang.plan.estimate import Outlook

    left = estimate(checked, planned, db, found or {})
    by_run: dict[str, list[int]] = {}
    for one in sorted(found.values(), key=lambda one: one.number) if found else ():
        by_run.setdefault(one.run, []).append(one.number)
    return Outlook(left, None if found is None else {run: tuple(numbers) for run, numbers in by_run.items()})


def lines(planned: Planned, outlook: Outlook) -> Iterator[str]:
    """The plan as JSON lines, with what is left to do of it here."""
    from zlang.plan import wire

    return (line.decode() for line in wire.dump(planned.plan, outlook))


def require_distinct(planned: Planned) -> None:
    """Raise RunError where two trials are the same measurement: their factors differ, and nothing that they decide."""
    from zlang.plan import build

    seen: dict[tuple[str, int], int] = {}
    for told in build.told(planned.schedule):
        first = seen.setdefault((told.identity, told.replicate), told.number)
        if first != told.number:
            message = f"trials {first:,} and {told.number:,} are the same measurement: their levels change nothing"
            raise RunError(message, "give each level once; `zlang plan --trial N` shows what a trial does")


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
    _require(planned.plan.header.tools)
    folder = _new_folder(planned, runs, armed)
    if found:
        earlier.bring(found, folder, time.time())
    if expected is not None:
        folder.estimate.write_text(json.dumps(asdict(expected)) + "\n", "utf-8")
    return folder


def require_endurance(header: Header, expected: Estimate, share_of: float = 1) -> None:
    """Raise RunError where more would be written to a device than it is to bear, by a share of what is expected."""
    for device in header.devices:
        written = expected.written.get(device.name, 0.0) * share_of
        if device.endurance is not None and written > device.endurance:
            share = f"{written:,.0f} bytes, {written / device.endurance:.0%} of its endurance, would be written to"
            raise RunError(f"{share} {device.name}", "--wear if that is what is wanted; or lay out less, or less often")


def free(header: Header) -> dict[str, int]:
    """Bytes that are free where each device is, as far as it is a directory of this machine."""
    from zlang.run import machine

    found = {device.name: machine.free(device.place) for device in header.devices if device.place}
    return {name: free for name, free in found.items() if free is not None}


def spent(folder: Folder) -> tuple[dict[str, float], dict[str, float]] | None:
    """Seconds by kind of step, as they were expected and as they were; None for a run that is not over.

    What several sessions took between their steps is not known, so they have none.
    """
    import json

    from zlang.plan import estimate as estimating
    from zlang.plan.plan import Setup
    from zlang.run import journal
    from zlang.store import outcomes

    ran = outcomes.follow(journal.Lines(folder.journal))
    if not (ran.finished and ran.sessions == 1 and folder.estimate.exists()):
        return None
    try:
        expected = {str(kind): float(took) for kind, took in json.loads(folder.estimate.read_text())["seconds"].items()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    places: dict[str, list[outcomes.StepTime]] = {}
    for out, steps in ran.steps.items():
        places.setdefault(out.rpartition("/")[0] or out, []).extend(steps)
    took = dict.fromkeys(estimating.KINDS, 0.0)
    for item in folder.read_plan().items():
        if isinstance(item, Setup):
            place, load, planned = f"setups/{item.signature}", item.load, (*item.make, *item.unmake)
        else:
            place, load, planned = item.place, None, item.steps
            if (item.identity, item.replicate) in ran.reused:
                continue
        named = {step.name: step for step in planned}
        for one in places.pop(place, ()):
            if one.ended is not None and one.step in named:
                took[estimating.kind_of(named[one.step], load)] += one.ended - one.started
    between = (ran.last or 0) - (ran.first or 0) - sum(took.values())
    took["making and removing"] += between
    return expected, took


def _new_folder(planned: Planned, runs: Path, armed: Armed | None = None) -> Folder:
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


def arm_again(folder: Folder, said: Armed, line: str) -> None:
    """Arm what a run writes to: by what is said now, or what was said for it since the machine started.

    Raises RunError.
    """
    from zlang.run import arming, machine

    header, boot = folder.read_plan().header, machine.boot()
    armed = said if said.names or said.wipe else arming.kept(folder.path, header.plan, boot)
    if header.armed or armed.names or armed.wipe:
        arm(header, armed, line)
        arming.keep(folder.path, armed, header.plan, boot)


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
    _require(plan.header.tools)
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


def bring_in_reports(runs: Path, directory: Path) -> tuple[Folder, int]:
    """The run made of reports that a tool left behind without zlang, and how many there are. Raises RunError."""
    from zlang.run import bare

    return bare.bring_in(runs, directory)


def begin_outside(planned: Planned, runs: Path) -> Folder:
    """A new run folder for a plan that somebody else carries out. Raises RunError."""
    from zlang.plan.plan import Trial
    from zlang.readers import outside

    for item in planned.plan.items():
        if isinstance(item, Trial) and outside.reader_of(item) is None:
            hint = "run it with `zlang run`, then bring in the results of the others with --run"
            raise RunError(f"trial {item.number} is one that zlang measures itself", hint)
    return _new_folder(planned, runs)


def discard(folder: Folder) -> None:
    """Remove a run folder in which nothing was carried out."""
    shutil.rmtree(folder.path, ignore_errors=True)


def bring_in(folder: Folder, file: str) -> int:
    """Take the results of a run's outside trials from a CSV file; how many they are. Raises RunError."""
    from zlang.plan.plan import Trial
    from zlang.readers import outside
    from zlang.run import outside as recording

    plan = folder.read_plan()
    trials = [item for item in plan.items() if isinstance(item, Trial) and outside.reader_of(item)]
    if not trials:
        raise RunError(f"no trial of {folder.name} takes its results from outside", "`zlang kinds external`")
    found = outside.match(_text(file, None), file, plan.header, trials)

    def artefact(trial: Trial) -> str:
        reader = outside.reader_of(trial)
        assert reader is not None, "BUG: results for a trial that measures itself"
        return reader.artefact

    try:
        recording.record(folder, trials, found, artefact)
        shutil.copyfile(file, folder.path / f"outside-{len(list(folder.path.glob('outside-*.csv'))) + 1}.csv")
    except OSError as error:
        raise RunError(f"cannot write {folder.path}: {error.strerror}") from None
    return len(trials)


def ingest(runs: Path, db: Path, progress: Progress | None = None) -> Ingested:
    """Build the database from the run folders, with what is found in each run. Raises RunError."""
    from zlang.report.findings.look import Look
    from zlang.store.ingest import ingest as build_database

    return build_database(runs, db, progress, Look())


def query(db: Path, sql: str, parameters: Parameters = ()) -> Result:
    """The answer to a question in SQL. Raises RunError."""
    from zlang.store.query import run_query

    return run_query(db, sql, parameters)


def session(db: Path, *, write: bool, unsafe: bool) -> AbstractContextManager[Session]:
    """A database open for several questions. Raises RunError."""
    from zlang.store.query import session as opened
    from zlang.store.store import Access

    return opened(db, Access(write, unsafe))


def write_parquet(db: Path, sql: str, parameters: Parameters, out: Path, partition: Sequence[str]) -> int:
    """Write an answer as Parquet, and give the number of its rows. Raises RunError."""
    from zlang.store.query import write_parquet as written

    return written(db, sql, parameters, out, partition)


def saved_query(name: str) -> Saved:
    """The saved query of that name. Raises RunError."""
    from zlang.store import saved

    return saved.named(name)


def saved_queries() -> list[Saved]:
    """All saved queries, by name."""
    from zlang.store import saved

    return saved.listed()


def summarise(db: Path) -> Summary:
    """Medians and intervals by factor, of the plan that ran last. Raises RunError."""
    from zlang.report.summary import summarise as medians

    return medians(db)


def judge(db: Path, run: str | None) -> list[Judged]:
    """What came of each expectation, of a run or the one that was worked on last. Raises RunError."""
    from zlang.report import answers

    return answers.judge(answers.trials_of(db, run))


def tables(db: Path, run: str | None, clause: str | None = None) -> list[Summary]:
    """The experiment's tables, or the one asked for, of a run or the one that was worked on last.

    Raises RunError, ProgramError.
    """
    from zlang.report import answers

    trials = answers.trials_of(db, run)
    return answers.tables(trials) if clause is None else [answers.table_now(trials, clause)]


def plots(db: Path, run: str | None, clause: str | None = None, *, as_fields: bool = False) -> list[Drawn]:
    """What the experiment's plots show, or the one asked for, of a run or the one worked on last.

    Raises RunError, ProgramError.
    """
    from zlang.report import answers

    trials = answers.trials_of(db, run)
    found = answers.plots(trials) if clause is None else answers.asked_now(trials, clause)
    return answers.fields(found) if as_fields else found


def compare(
    db: Path, pair: tuple[str, ...], by: str | None, run: str | None, metric: str | None
) -> tuple[list[Comparison], list[Doubt], tuple[str, ...]]:
    """Two runs, or levels of one factor or of all, what makes that doubtful, and the metrics not asked about.

    Those are what else might have been meant where no metric is named. Raises RunError.
    """
    from zlang.report import answers, design
    from zlang.report import compare as comparing
    from zlang.report.findings.look import found

    trials = answers.trials_of(db, run)
    if pair and by is None and not answers.has_runs(db, pair):
        by = comparing.factor_of(design.read(trials, metric), pair)
    if pair and by is None:
        both = [answers.trials_of(db, name) for name in pair]
        one = design.read(both[0], metric)
        other = design.read(both[1], one.metric)
        compared = comparing.runs((both[0].run, both[1].run), one, other)
        return [compared], [*found(both[0], one), *found(both[1], other)], one.others
    read = design.read(trials, metric)
    return comparing.factors(read, by, pair), found(trials, read), read.others


def effects(db: Path, run: str | None, metric: str | None) -> tuple[list[Effect], list[Doubt], tuple[str, ...]]:
    """What the variance of a metric comes from, what makes that doubtful, and the metrics not asked about.

    Raises RunError.
    """
    from zlang.report import answers, design
    from zlang.report import effects as sources
    from zlang.report.findings.look import found

    trials = answers.trials_of(db, run)
    read = design.read(trials, metric)
    return sources.effects(read), found(trials, read), read.others


def findings(db: Path, run: str | None) -> list[Doubt]:
    """What makes the figures of a run doubtful, as the database has it. Raises RunError."""
    from zlang.report import answers
    from zlang.report.findings.look import kept

    return kept(answers.trials_of(db, run))


def draw(drawn: Drawn, width: int, *, is_coloured: bool) -> str:
    """A plot as text. Raises RunError."""
    from zlang.report import drawing

    return drawing.terminal(drawn, width, is_coloured=is_coloured)


def write_plots(drawn: list[Drawn], path: Path) -> None:
    """Plots as a picture in a file. Raises RunError."""
    from zlang.report import drawing

    drawing.write(drawn, path)


def report(db: Path, run: str | None, runs: Path, place: Path) -> Document:
    """The report of a run, with paths that begin at the directory `place`. Raises RunError."""
    from zlang.report import answers, compose

    trials = answers.trials_of(db, run)
    return compose.document_of(trials, _known(trials.run, runs, place))


def _known(run: str, runs: Path, place: Path) -> Known | None:
    """What is known of a run beside its trials, where its folder is there."""
    from zlang.report.compose import Known
    from zlang.run.folder import Folder

    folder = Folder((runs / run).absolute())
    if not folder.plan.is_file():
        return None
    plan = folder.read_plan()
    folders = os.path.relpath(folder.path.parent, place.absolute())
    return Known(run, plan, folders)


def write_report(db: Path, run: str | None, runs: Path, form: str, target: Path) -> list[Path]:
    """Write the report of a run: a page, Markdown, or a directory of CSV files; gives the files. Raises RunError."""
    from zlang.report import page

    made = report(db, run, runs, target if form == "csv" else target.parent)
    match form:
        case "csv":
            texts = {target / name: text for name, text in page.csv(made).items()}
        case "markdown":
            texts = {target: page.markdown(made)}
        case _:
            texts = {target: page.html(made)}
    try:
        if form == "csv":
            target.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            replace_file(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise RunError(f"cannot write {target}: {(error.strerror or str(error)).lower()}") from None
    return list(texts)
