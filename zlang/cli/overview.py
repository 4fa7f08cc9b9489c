"""The overview of a plan on one screen: what the run would create and overwrite, and its cost."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from zlang.check.program import Axis
from zlang.cli import words
from zlang.cli.render import visible
from zlang.hints import TYPE_CHECKING
from zlang.pipeline import arming, costs, plans, runs, verdicts
from zlang.pipeline.plans import Planned
from zlang.plan.estimate import COMMAND, PlanEstimate
from zlang.plan.order import Order
from zlang.plan.plan import ROOT, Action, Factor, Header, Setup
from zlang.plan.schedule import Slot
from zlang.plan.survey import EXACT
from zlang.report import wording

if TYPE_CHECKING:
    from zlang.run.reuse import Measured

FIRST = 10
"""The trials that are listed."""
_COSTS = {
    "": "nothing",
    "none": "nothing",
    "live": "a command",
    "rewrite": "a command, then write data again",
    "create": "created again",
    "manual": "a person",
}


def print_overview(
    planned: Planned, db: Path, measured: Mapping[str, Measured] | None, program: str, untried: Container[str]
) -> None:
    """Print what the run of a plan would do, how long it would take, its first trials, and what this machine lacks."""
    tools = planned.plan.header.tools
    with arming.search_tools(arming.without(tools, untried)) as search:
        _print_plan(planned, db, measured, program)
        _print_missing(tools, untried, search.missing())
    print(f"\nall commands: zlang plan {program} --steps        run it: zlang run {program}")


def _print_plan(planned: Planned, db: Path, measured: Mapping[str, Measured] | None, program: str) -> None:
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
        print(f"hosts: {', '.join(header.hosts)}; without an address, as `zlang hosts {program}` shows")
        print("  a trial on one host can also be run there, with --host NAME")
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
    _print_estimate(planned, db, measured)
    print()
    print(f"the first {len(first)} trials:" if len(first) < header.trials else "all trials:")
    sys.stdout.writelines(_rows([_cells(planned, slot) for slot in first], header.factors))


def _print_estimate(planned: Planned, db: Path, measured: Mapping[str, Measured] | None) -> None:
    """Print the order of the remaining trials, and their duration."""
    header = planned.plan.header
    if measured and not runs.remaining_trials(planned, measured):
        print("estimate: nothing left to do")
        return
    once, limits = verdicts.set_up_once(planned), verdicts.limits_of_one_setup(planned)
    has_fix = bool(once or limits) and verdicts.is_removed_by_blocks(planned)
    others = ("blocked", *costs.OTHERS) if has_fix else costs.OTHERS
    estimates = costs.estimates(planned, db, measured or {}, others)
    _print_order(planned, estimates)
    if once or limits:
        print(f"  {words.set_up_once(once, limits, header.repeat, has_fix=has_fix)}")
    _print_confounded(planned)
    print()
    _estimate(header, estimates[header.order], "of the rest " if measured else "")
    fitting = costs.fitting_budget(planned, db, estimates[header.order], measured or {})
    if fitting is not None:
        budget = float(planned.experiment.budget or 0)
        print("  {}: {}".format(*words.over_budget(estimates[header.order].total, budget, fitting)))


def _first_trials(planned: Planned) -> list[Slot]:
    """The first trials. Raises ProgramError if one cannot be carried out."""
    slots = list(islice(planned.schedule.slots(), FIRST))
    for slot in slots:
        planned.builder.like(slot, is_identified=False)  # as in an estimate without earlier results
    return slots


def _print_missing(tools: Mapping[str, str], untried: Container[str], missing: Mapping[str, str]) -> None:
    for tool in (tool for tool in tools if tool in untried):
        print(f"\nrequired, and tried by `run` only: `{visible(tool)}`")
    for tool, hint in missing.items():
        print(f"\nmissing here: {arming.lack(tool)} ({hint})")


def _creations(setups: list[Setup]) -> list[tuple[int, str]]:
    """The resources of a plan as a tree: depth and text, each below the resource that it is on."""
    keys = {setup.key for setup in setups}
    below: dict[str | None, dict[tuple[str, str], None]] = {}
    for setup in setups:
        below.setdefault(setup.parent if setup.parent in keys else None, {})[setup.key, setup.creates] = None

    def walk(parent: str | None, depth: int) -> Iterator[tuple[int, str]]:
        for key, creates in below.pop(parent, {}):
            if creates:
                yield depth, creates
            yield from walk(key, depth + bool(creates))

    return [*walk(None, 0)] or [(0, "nothing")]


def _print_tree(lines: list[tuple[int, str]]) -> None:
    for depth, text in lines:
        print(f"  {'  ' * depth}{visible(text)}")


def _print_factors(planned: Planned) -> None:
    """Print the factors as a tree: a factor that exists only under one level of another is below that level."""
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
    """Print the order of trials, its design, and what it saves."""
    header, schedule = planned.plan.header, planned.schedule
    print(f"order: {header.order}{'' if schedule.order is Order.AS_WRITTEN else f', seed {header.seed}'}")
    if schedule.order.has_plots:
        plots = schedule.plots.count
        factors = ", ".join(map(visible, header.whole_plot_factors))
        whole_plots = words.counted(plots, "whole plot") + (f" of {factors}" if factors else "")
        orders = "in random order" if schedule.blocks == 1 else "each in a new random order"
        print(f"  {whole_plots}; {words.counted(schedule.blocks, 'block')}, {orders}")
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
    is_open = header.is_sequential and estimate.is_lower_bound  # less may be needed, and what is unknown may be more
    bound = "" if is_open else "at least " if estimate.is_lower_bound else "at most " if header.is_sequential else ""
    about = bound + ("" if header.at_most <= EXACT else "about ")
    kinds = ", ".join(f"{kind} {words.duration(took)}" for kind, took in estimate.seconds.items() if took >= 1)
    kinds += " in all lanes together" if kinds and estimate.lanes else ""
    commands = f"{round(estimate.steps):,} commands{kinds and f' ({kinds})'}"
    most = " plus what is not included, for at most " if is_open else " for "
    print(f"estimate: {subject}{about}{words.duration(estimate.total)}{most}{commands}")
    if estimate.lanes:
        took = [f"{visible(lane)} {words.duration(spent)}" for lane, spent in estimate.lanes.items()]
        print(words.folded("  lanes, which work at the same time: ", took, indent="    "))
    if estimate.unknown_seconds:
        print(f"  unknown, so not included: {words.unknown_time(estimate)}")
    if estimate.are_commands_unknown:
        commands = words.counted(round(estimate.unmeasured), "command")
        print(f"  not measured here before, and included as {1000 * COMMAND:.0f} ms each: {commands}")
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
            print("    this exceeds the free space, so `run` asks for --yes")
    if estimate.unknown_bytes:
        print(f"  unknown, so not included: {words.unknown_writes(estimate)}")
    if ROOT in header.tools:
        print(f"  must be run by root: {header.tools[ROOT]}")
    if estimate.manual_steps:
        times = words.counted(round(estimate.manual_steps), "time")
        print(f"  asks for a manual step {times}; waiting for a person is not included")


def _devices(planned: Planned, program: str) -> None:
    """Print the devices that the run writes to without creating them, and problems with their names."""
    _guarded(planned.plan.header, program)
    for sentence in (*plans.shared_devices(planned), *plans.named_by_node(planned)):
        print(f"  warning: {visible(sentence)}")


def _guarded(header: Header, program: str) -> None:
    """Print the devices that the run writes to without creating them: their content, and how they are armed."""
    if not header.guarded:
        print("the run will not overwrite or destroy anything that it did not create")
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
    """The number, replicate and levels of a trial."""
    return slot.number, slot.replicate, list(planned.schedule.factors(slot.point).values())


def _rows(rows: list[tuple[int, int, list[object]]], factors: tuple[Factor, ...]) -> list[str]:
    table = [["trial", "replicate", *(visible(factor.name) for factor in factors)]]
    for number, replicate, cells in rows:
        shown = [wording.level(value, factor.type) for value, factor in zip(cells, factors, strict=True)]
        table.append([str(number), str(replicate), *shown])
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    return ["  " + justified(row, widths) for row in table]


def justified(cells: list[str], widths: list[int]) -> str:
    """A line of right-aligned cells."""
    return "  ".join([f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)]) + "\n"
