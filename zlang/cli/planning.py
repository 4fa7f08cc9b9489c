"""`zlang plan`: what a program would do, on one screen, as a list, in full, or as a file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import orjson

from zlang.cache import Cache
from zlang.check.check import Checked
from zlang.check.program import Axis, Experiment
from zlang.cli import checking, streams, words
from zlang.cli.render import visible
from zlang.emit.registry import EMITTERS
from zlang.errors import RunError, reason_of, unwritable
from zlang.files import replace_file
from zlang.pipeline import arming, costs, machines, plans, programs, runs, verdicts
from zlang.pipeline.plans import Planned
from zlang.plan.estimate import PlanEstimate
from zlang.plan.order import Order
from zlang.plan.plan import LOCAL, ROOT, Action, Factor, Header, Setup, Step
from zlang.plan.schedule import Slot
from zlang.plan.state import Walk
from zlang.plan.survey import EXACT
from zlang.report import wording
from zlang.text import LAYOUT

if TYPE_CHECKING:
    from zlang.run.reuse import Measured

FIRST = 10


class View(NamedTuple):
    """How a plan is shown: in one of these ways, or as an overview."""

    trials: bool = False
    steps: bool = False
    trial: int | None = None
    emit: str | None = None
    out: Path | None = None
    as_json: bool = False

    @property
    def is_of_one(self) -> bool:
        """Whether it can show only one experiment."""
        return self.as_json or self.emit is not None or self.trial is not None

    @property
    def is_of_one_machine(self) -> bool:
        """Whether it is for the machine that carries out its steps."""
        return self.emit is not None and (self.emit not in EMITTERS or not EMITTERS[self.emit].of_all_hosts)


OVERVIEW = View()


def plan(
    file: str,
    settings: list[str] | None = None,
    profile: str | None = None,
    experiment: str | None = None,
    seed: int | None = None,
    host: str | None = None,
    order: str | None = None,
    runs_dir: Path = words.RUNS,
    db: Path = words.DATABASE,
    view: View = OVERVIEW,
    *,
    reach: Sequence[str] = (),
    again: bool = False,
) -> int:
    """Show or write the plan."""
    words.ordered(order)
    overrides = checking.overrides(settings, profile)
    checked = checking.sound(file, overrides)
    experiments = programs.chosen(checked, experiment, is_one=view.is_of_one)
    for number, chosen in enumerate(experiments):
        if len(experiments) > 1:
            heading = f"experiment {chosen.name}\n" if view.trials or view.steps else ""
            print("\n" * bool(number) + heading, end="")
        reached = _reached(checked, chosen, view, host, reach)
        seed_used = plans.DEFAULT_SEED if seed is None else seed
        planned = plans.plan(checked, chosen, seed_used, overrides, host, order, reached)
        measured = dict if again else partial(runs.measured, planned, runs_dir, words.refuse)
        if _show_view(planned, view, db, measured):
            continue
        name = experiment if len(experiments) == 1 else chosen.name
        program = words.program(
            "FILE" if file == checking.STANDARD else file,
            settings,
            profile,
            name,
            seed,
            host,
            order,
            runs=runs_dir,
            again=again,
        )
        _overview(planned, db, measured(), program, arming.own_commands(checked.program))
    return 0


def _reached(
    checked: Checked, experiment: Experiment, view: View, host: str | None, reach: Sequence[str]
) -> Iterable[str]:
    """The hosts that the plan of a view includes besides this machine."""
    names = machines.hosts_of(experiment) if view.emit == "sh" and view.out is not None and host is None else []
    if len(names) > 1:  # a script for each
        return names
    return machines.reached(checked, experiment, reach) if host is None and not view.is_of_one_machine else ()


def _show_view(planned: Planned, view: View, db: Path, measured: Callable[[], Mapping[str, Measured] | None]) -> bool:
    """Show a plan in the way that was asked for; False if that is the overview."""
    if view.as_json or view.emit is not None:
        streams.use_utf8()
    if view.trial is not None:
        _in_full(planned, view.trial)
    elif view.trials and view.as_json:
        _write(_trial_lines(planned))
    elif view.emit is not None:
        _emit(planned, view.emit, view.out)
    elif view.as_json:
        _put(plans.lines(planned, costs.remaining_estimate(planned, db, measured())), "json", view.out)
    elif view.trials:
        _write(_trial_table(planned))
    elif view.steps:
        if not (sys.stdout.isatty() and plans.page(_steps(planned))):
            _write(_steps(planned))
    else:
        return False
    return True


def _write(pieces: Iterator[str]) -> None:
    """Print in large pieces: a plan may have millions of lines."""
    write = sys.stdout.write
    while batch := "".join(islice(pieces, 1024)):
        write(batch)


# -- overview


def _overview(
    planned: Planned, db: Path, measured: Mapping[str, Measured] | None, program: str, untried: Container[str]
) -> None:
    header = planned.plan.header
    first = _first_trials(planned)
    setups = plans.setups_by_branch(planned)
    print(f"{header.experiment}: {visible(header.title)}" if header.title else header.experiment)
    print()
    print("the run will create, and remove again:")
    _print_tree(_creations(setups))
    if planned.schedule.plots.count > len(setups) and planned.schedule.order.has_plots:
        print(f"  … in {planned.schedule.plots.count:,} states, one after another")
    _devices(planned, program)
    if header.machines:
        print(f"hosts: {', '.join(header.machines)}; `run` reaches them from here, as `zlang hosts` shows")
    elif len(header.hosts) > 1:
        print(f"hosts: {', '.join(header.hosts)}; type --host NAME on each to run its trials there")
    requested = [step.why for setup in setups for step in setup.make if step.action is Action.ASK]
    if requested:
        print("manual steps:" + "".join(f"\n  {visible(text)}" for text in requested))
    print()
    print("factors and their cost of change:" if header.factors else "factors: none")
    _print_factors(planned)
    print(header.counts)
    if header.is_sequential:
        print(f"  the run decides which of the {header.trials:,} trials are needed")
    if measured is None:
        print("  earlier results were not looked up, because there are so many trials")
    elif measured:
        print(f"  {words.measured(Counter(entry.run for entry in measured.values()), header.trials)}")
    print()
    if measured and not runs.remaining_trials(planned, measured):
        print("estimate: nothing left to do")
    else:
        once, limits = verdicts.set_up_once(planned), verdicts.limits_of_one_setup(planned)
        is_mended = bool(once or limits) and verdicts.is_mended_by_blocks(planned)
        others = ("blocked", *costs.OTHERS) if is_mended else costs.OTHERS
        estimates = costs.estimates(planned, db, measured or {}, others)
        _print_order(planned, estimates)
        if once or limits:
            print(f"  {words.set_up_once(once, limits, header.repeat, is_mended=is_mended)}")
        _print_confounded(planned)
        print()
        _estimate(header, estimates[header.order], "of the rest " if measured else "")
        fitting = costs.fitting_budget(planned, db, estimates[header.order], measured or {})
        if fitting is not None:
            budget = float(planned.experiment.budget or 0)
            print("  {}: {}".format(*words.over_budget(estimates[header.order].total, budget, fitting)))
    print()
    print(f"the first {len(first)} trials:" if len(first) < header.trials else "all trials:")
    _write(iter(_rows([_cells(planned, slot) for slot in first], header.factors)))
    _print_missing(header.tools, untried)
    print(f"\nall commands: zlang plan {program} --steps        run it: zlang run {program}")


def _first_trials(planned: Planned) -> list[Slot]:
    """The first trials. Raises ProgramError where one cannot be carried out."""
    slots = list(islice(planned.schedule.slots(), FIRST))
    for slot in slots:
        planned.builder.like(slot)
    return slots


def _print_missing(tools: Mapping[str, str], untried: Container[str]) -> None:
    for tool in (tool for tool in tools if tool in untried):
        print(f"\nrequired, and tried by `run` only: `{visible(tool)}`")
    for tool, hint in arming.missing_tools(arming.without(tools, untried)).items():
        print(f"\nmissing here: {arming.lack(tool)} ({hint})")


def _creations(setups: list[Setup]) -> list[tuple[int, str]]:
    """The resources of a plan, each beneath the one on which it stands."""
    result: dict[tuple[str | None, str, str], tuple[int, str]] = {}
    depths: dict[str | None, int] = {None: -1}
    for setup in setups:
        depth = depths[setup.key] = depths.get(setup.parent, -1) + bool(setup.creates)
        if setup.creates:
            result.setdefault((setup.parent, setup.key, setup.creates), (depth, setup.creates))
    return list(result.values()) or [(0, "nothing")]


def _print_tree(lines: list[tuple[int, str]]) -> None:
    for depth, text in lines:
        print(f"  {'  ' * depth}{visible(text)}")


_COSTS = {
    "": "nothing",
    "none": "nothing",
    "live": "a command",
    "rewrite": "a command, then write data again",
    "create": "created again",
    "manual": "a person",
}


def _print_factors(planned: Planned) -> None:
    """A tree: a factor that exists under one level of another stands beneath it."""
    by_path = {factor.path: factor for factor in planned.plan.header.factors}
    search = planned.experiment.search
    lines: list[tuple[str, Factor, str]] = []
    seen: set[str] = set()

    def walk(axes: Iterable[Axis], depth: int) -> None:
        for axis in axes:
            definition = planned.experiment.factors.get(axis.path)
            if axis.path in seen or definition is None:
                continue
            seen.add(axis.path)
            takes = _COSTS[definition.cost or ("create" if axis.path in planned.schedule.hard_to_change else "")]
            takes = "is searched" if search is not None and search.path == axis.path else takes
            for i in range(len(definition.columns)):
                factor = by_path[definition.column_path(i)]
                lines.append(("  " * depth + visible(factor.name), factor, takes))
            walk((inner for branch in axis.branches or () for inner in branch), depth + 1)

    walk(planned.experiment.axes, 0)
    names, cost_words = (
        max(map(len, words), default=0) for words in ([line[0] for line in lines], [line[2] for line in lines])
    )
    for name, factor, takes in lines:
        print(f"  {name:{names}}  {takes:{cost_words}}  {factor.count:>5,} levels  {_levels(factor)}")


def _print_confounded(planned: Planned) -> None:
    if confounded := verdicts.confounded_with_order(planned):
        are_set_up = not frozenset(confounded).isdisjoint(planned.schedule.whole)
        note = words.confounded_with_order(confounded, planned.plan.header.repeat, are_set_up=are_set_up)
        print(f"  {note}")


def _print_order(planned: Planned, estimates: dict[str, PlanEstimate]) -> None:
    """The order of trials, its design, and what it saves."""
    header, schedule = planned.plan.header, planned.schedule
    print(f"order: {header.order}{'' if schedule.order is Order.AS_WRITTEN else f', seed {header.seed}'}")
    if schedule.order.has_plots:
        plots = schedule.plots.count
        factors = ", ".join(map(visible, header.whole_plot_factors))
        whole_plots = words.counted(plots, "whole plot") + (f" of {factors}" if factors else "")
        print(f"  {whole_plots}; {words.counted(schedule.blocks, 'block')}, each in a new random order")
    about = "" if header.at_most <= EXACT else "about "
    own = estimates[header.order]
    if all((item.made, item.altered) == (own.made, own.altered) for item in estimates.values()):
        print(f"  {_changes(own, about)} (the minimum)")
        return
    for how, estimate in estimates.items():
        more = estimate.total - own.total
        than = f": {words.duration(abs(more))} {'longer' if more > 0 else 'shorter'}" if abs(more) >= 1 else ""
        print(f"  {how:{max(map(len, estimates))}}  {_changes(estimate, about)}{than}")


def _changes(estimate: PlanEstimate, about: str) -> str:
    changed = f", changes {about}{round(estimate.altered):,} in place" if estimate.altered else ""
    return f"creates {about}{words.counted(round(estimate.made), 'resource')}{changed}"


def _estimate(header: Header, estimate: PlanEstimate, subject: str) -> None:
    """Print the cost of a plan: time, bytes, space, people."""
    # What is left out may be more than what is not needed.
    bound = "at least " if estimate.unknown_seconds else "at most " if header.is_sequential else ""
    about = bound + ("" if header.at_most <= EXACT else "about ")
    kinds = ", ".join(f"{kind} {words.duration(took)}" for kind, took in estimate.seconds.items() if took >= 1)
    commands = f"{round(estimate.steps):,} commands{kinds and f' ({kinds})'}"
    most = "at most " if header.is_sequential and estimate.unknown_seconds else ""
    print(f"estimate: {subject}{about}{words.duration(estimate.total)} for {most}{commands}")
    if estimate.lanes:
        took = ", ".join(f"{visible(lane)} {words.duration(spent)}" for lane, spent in estimate.lanes.items())
        print(f"  lanes, which work at the same time: {took}")
    if estimate.unknown_seconds:
        print(f"  not included: {words.setups_and_trials(round(estimate.unknown_seconds))} of unknown duration")
    free = costs.free(header)
    budgets = {device.name: device.endurance for device in header.devices}
    for device in dict.fromkeys([*estimate.written, *estimate.space]):
        written, space, budget = estimate.written.get(device, 0.0), estimate.space.get(device), budgets.get(device)
        parts = [f"writes {'at least ' if estimate.unknown_bytes else ''}{wording.measured(written, 'bytes')}"]
        parts += [f"{written / budget:.0%} of its endurance"] if budget else []
        parts += [f"uses {wording.measured(space, 'bytes')}"] if space else []
        parts += [f"{wording.measured(free[device], 'bytes')} free"] if device in free else []
        print(f"  {visible(device)}: {', '.join(parts)}")
        if space and device in free and space > free[device]:
            print("    this exceeds the free space")
    if estimate.unknown_bytes:
        unknown = round(estimate.unknown_bytes)
        print(f"  not included: what {words.setups_and_trials(unknown)} write{'s' if unknown == 1 else ''}")
    if ROOT in header.tools:
        print(f"  must be run by root: {header.tools[ROOT]}")
    if estimate.manual_steps:
        times = words.counted(round(estimate.manual_steps), "time")
        print(f"  asks for a manual step {times}; waiting for a person is not included")


def _devices(planned: Planned, program: str) -> None:
    """Print what the run writes to and does not make, and what is wrong with how devices are named."""
    _guarded(planned.plan.header, program)
    for sentence in (*plans.shared_devices(planned), *plans.named_by_node(planned)):
        print(f"  warning: {visible(sentence)}")


def _guarded(header: Header, program: str) -> None:
    """Print the devices that the run writes to and does not make: their content, and how they are armed."""
    if not header.guarded:
        print("the run will overwrite or destroy nothing that it did not create")
        return
    print("the run will overwrite:")
    is_clear = True
    for guarded_thing, output, against in arming.inspect_targets(header):
        print(f"  {visible(guarded_thing.what)}: {visible(', '.join(guarded_thing.names))}")
        for line in output:
            print(f"    now: {visible(line)}")
        for line in against:
            print(f"    prevents it: {visible(line)}")
        is_clear = is_clear and not against
    then = "" if is_clear else ", once nothing prevents it"
    print(f"  to permit this: zlang run {program} {arming.arm_options(header)}{then}")


def _levels(factor: Factor) -> str:
    shown = [wording.level(value, factor.type) for value in factor.levels[:8]]
    if factor.count > len(shown):
        shown.append("…")
    return visible(" | ".join(shown))


def _cells(planned: Planned, slot: Slot) -> tuple[int, int, list[object]]:
    """Number, replicate and levels of a trial."""
    return slot.number, slot.replicate, list(planned.schedule.factors(slot.point).values())


def _rows(rows: list[tuple[int, int, list[object]]], factors: tuple[Factor, ...]) -> list[str]:
    table = [["trial", "replicate", *(visible(factor.name) for factor in factors)]]
    for number, replicate, cells in rows:
        shown = [wording.level(value, factor.type) for value, factor in zip(cells, factors, strict=True)]
        table.append([str(number), str(replicate), *shown])
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    return ["  " + _justified(row, widths) for row in table]


def _justified(cells: list[str], widths: list[int]) -> str:
    return "  ".join([f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)]) + "\n"


# -- one trial


def _in_full(planned: Planned, number: int) -> None:
    """All that a trial is: its levels, its place, what it stands on, and every command."""
    header = planned.plan.header
    if not 1 <= number <= header.trials:
        import typer

        raise typer.BadParameter(f"the plan has trials 1 to {header.trials:,}", param_hint="--trial")
    trial, setups = plans.trial(planned, number)
    print(f"trial {trial.number:,} of {header.trials:,}: {trial.identity}, replicate {trial.replicate}")
    plot = f", whole plot {trial.whole_plot:,}" if trial.whole_plot else ""
    print(f"  block {trial.block:,}{plot}; caches: {trial.cache}", end="")
    print(f"; on {visible(trial.host)}" if trial.host else "")
    print("\nlevels:" if header.factors else "")
    width = max((len(factor.path) for factor in header.factors), default=0)
    for factor in header.factors:
        level = wording.level(trial.factors[factor.name], factor.type)
        print(f"  {visible(factor.path):{width}}  {visible(level)}")
    for setup in setups:
        where = f" on {' and '.join(reversed(setup.beneath))}" if setup.beneath else ""
        print(f"\n# {visible(setup.creates or setup.key)}{where}: state {setup.signature}, unless it is in that state")
        _write(_step(step) for step in setup.make)
    print("\n# the trial")
    _write(_step(step) for step in trial.steps)
    if trial.invalidates:
        print(
            f"# it writes to {', '.join(map(visible, trial.invalidates))}, which is written again before the next trial"
        )


# -- lists


def _trial_table(planned: Planned) -> Iterator[str]:
    factors = planned.plan.header.factors
    widths = [len(str(planned.plan.header.trials)), 9]
    for factor in factors:
        longest = max((len(wording.level(value, factor.type)) for value in factor.levels), default=12)
        widths.append(max(longest, len(visible(factor.name)), 1))
    heads = ["trial", "replicate", *(visible(factor.name) for factor in factors)]
    yield _justified(heads, widths)
    schedule = planned.schedule
    for slot in schedule.slots():
        row = schedule.factors(slot.point)
        shown = [wording.level(row[factor.name], factor.type) for factor in factors]
        cells = [str(slot.number), str(slot.replicate), *shown]
        yield _justified(cells, widths)


def _trial_lines(planned: Planned) -> Iterator[str]:
    schedule, dumps = planned.schedule, orjson.dumps
    for slot in schedule.slots():
        row = {"trial": slot.number, "replicate": slot.replicate, "factors": schedule.factors(slot.point)}
        yield dumps(row, option=orjson.OPT_APPEND_NEWLINE).decode()


def _steps(planned: Planned) -> Iterator[str]:
    """Every command in the order in which it is carried out if nothing fails."""
    header, show = planned.plan.header, _shown_steps()
    walk = Walk()
    setups: dict[str, Setup] = {}
    for host, command, hint in arming.required_commands(header):
        where = f" on {host}" if host else ""
        yield f"# required{where}, or the run does not start: {visible(hint)}\n{visible(command, LAYOUT)}\n"
    yield from map(show, header.facts)
    for item in planned.plan.items():
        if isinstance(item, Setup):
            setups[item.signature] = item
            continue
        for change in walk.enter([setups[signature] for signature in item.setups]):
            yield from map(show, change.steps)
        shown = ", ".join(f"{name} = {value}" for name, value in item.factors.items())
        where = f" on {item.host}" if len(header.hosts) > 1 else ""
        yield f"\n# trial {item.number} of {header.trials}{where}, replicate {item.replicate}: {visible(shown)}\n"
        yield from map(show, item.steps)
        walk.leave(item.invalidates)
    yield "\n# at the end\n"
    for unmake in walk.state.teardown():
        yield from map(show, unmake.steps)


def _shown_steps() -> Callable[[Step], str]:
    """How a step is shown, worked out once for those that many trials share."""
    cached = Cache[int, tuple[Step, str]]()

    def show(step: Step) -> str:
        shown = cached.get(id(step))
        if shown is None:
            shown = cached[id(step)] = step, _step(step)  # the step is kept, so that no other gets its place in memory
        return shown[1]

    return show


def _step(step: Step) -> str:
    expect = f", must print {step.expect}" if step.expect is not None and step.action is not Action.ASK else ""
    command = f"{visible(step.command, LAYOUT)}\n" if step.command else ""
    where = "" if step.host == LOCAL or step.why.startswith(f"on {step.host}: ") else f" on {step.host}"
    return f"# {step.action}{where}: {visible(step.why)}{visible(expect)}\n{command}"


# -- files


def _emit(planned: Planned, form: str, out: Path | None) -> None:
    if form == "sh" and planned.schedule.reached and out is not None:
        for machine, pieces in plans.scripts(planned):
            _save(_directory(out) / f"{machine}.sh", pieces)
            print(f"written: {visible(str(out / f'{machine}.sh'))}")
        return
    if form not in plans.formats():
        _emit_jobs(planned, form, out)
        return
    _put(plans.emit(planned, form), form, out)


def _put(pieces: Iterator[str], form: str, out: Path | None) -> None:
    """Show a plan, or write it into a directory."""
    if out is None:
        _write(pieces)
        return
    path = _directory(out) / plans.formats()[form].file
    _save(path, pieces)
    print(f"written: {visible(str(path))}")


def _emit_jobs(planned: Planned, form: str, out: Path | None) -> None:
    words.one_of("--emit", form, (*plans.formats(), *plans.job_forms(planned)))
    written = 0
    for name, text in plans.job_files(planned):
        if out is None:
            sys.stdout.write(f"; {name}\n{text}\n")
        else:
            _save(_directory(out) / name, [text])
        written += 1
    if out is not None:
        print(f"written: {written} job files in {visible(str(out))}")


def _directory(out: Path) -> Path:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot create the directory {out}: {reason_of(error)}") from None
    return out


def _save(path: Path, pieces: Iterable[str]) -> None:
    try:
        replace_file(path, (piece.encode() for piece in pieces))
    except OSError as error:
        raise unwritable(path, error) from None
