"""`zlang diff` and `zlang snapshot`: added, removed and changed trials, and the changes of their commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from zlang.cli import checking, render, words
from zlang.errors import RunError
from zlang.pipeline import differences, plans, programs
from zlang.pipeline.differences import DiffOperand
from zlang.plan.difference import Changed, CommandEdit, PlanDifference, Point
from zlang.plan.plan import Factor
from zlang.report import wording

DIFFERS = 6
"""Exit code: two plans differ."""
_SHOWN = 10
"""The number of points of one sort that are listed."""
_LOOKED_AT = 20
"""For how many changed points the commands are compared."""
_MOST_SHOWN = 3
"""For how many of these points the commands are printed."""
_LONGEST = 200
"""Characters of what went from a command, or came."""


def diff(
    old: str,
    new: str,
    settings: list[str] | None,
    profile: str | None,
    experiment: str | None,
    seed: int | None,
    order: str | None,
    *,
    as_json: bool,
) -> int:
    """Compare two programs or plans."""
    words.ordered(order)
    overrides = checking.overrides(settings, profile)
    saved = next((side.plan.header for word in (old, new) if (side := differences.load_saved_plan(word))), None)
    if saved is not None:
        # A program that is compared with a saved plan is planned with its options, unless others are given.
        overrides = overrides if settings or profile else differences.plan_overrides(saved)
        experiment, seed, order = (
            experiment or saved.experiment,
            saved.seed if seed is None else seed,
            order or saved.order,
        )
    seed = plans.DEFAULT_SEED if seed is None else seed
    item, other = (
        differences.load_saved_plan(word) or differences.diff_operand(word, overrides, experiment, seed, order)
        for word in (old, new)
    )
    return _answer(item, other, as_json=as_json)


def snapshot(
    file: str,
    settings: list[str] | None,
    profile: str | None,
    experiment: str | None,
    seed: int | None,
    order: str | None,
    *,
    validate: bool,
    as_json: bool,
) -> int:
    """Save the plan beside its program, or report how it would differ now."""
    words.ordered(order)
    if validate and (settings or profile or seed is not None or order):
        raise RunError("a saved plan has its own settings", "remove --set, --profile, --seed and --order")
    checking.require_file(file)
    checked = checking.sound(file, checking.overrides(settings, profile))
    chosen = programs.choose(checked, experiment)
    path = differences.snapshot_path(checked, chosen)
    if validate:
        kept = differences.load_saved_plan(str(path))
        if kept is None:
            raise RunError(f"there is no {path}", f"`zlang snapshot {words.file(file)}` writes it")
        header = kept.plan.header
        now = differences.diff_operand(
            file, differences.plan_overrides(header), header.experiment, header.seed, header.order
        )
        return _answer(kept, now, as_json=as_json)
    overrides = checking.overrides(settings, profile)
    side = differences.diff_operand(file, overrides, chosen.name, plans.DEFAULT_SEED if seed is None else seed, order)
    differences.keep_plan(side.plan, path)
    trials = side.plan.header.trials
    if as_json:
        print(json.dumps({"file": str(path), "trials": trials}))
    else:
        print(f"written: {render.visible(str(path))} ({trials:,} trials)")
    return 0


def _answer(diff_operand: DiffOperand, other: DiffOperand, *, as_json: bool) -> int:
    difference = differences.difference(diff_operand, other)
    edits = differences.edits(diff_operand, other, difference.changed[:_LOOKED_AT])
    if as_json:
        print(json.dumps(_as_json(diff_operand, other, difference, edits), default=str))
    else:
        _print(diff_operand, other, difference, edits)
    return 0 if difference.is_none and _have_same_rule(diff_operand, other) else DIFFERS


def _have_same_rule(diff_operand: DiffOperand, other: DiffOperand) -> bool:
    """Whether both plans decide in the same way which trials are needed."""
    before, now = diff_operand.plan.header, other.plan.header
    return (before.until, before.search) == (now.until, now.search)


def _print(
    diff_operand: DiffOperand,
    other: DiffOperand,
    plan_difference: PlanDifference,
    edits: Mapping[int, tuple[CommandEdit, ...]],
) -> None:
    factors = {factor.name: factor for side in (diff_operand, other) for factor in side.plan.header.factors}
    print(f"{render.visible(diff_operand.name)} → {render.visible(other.name)}: ", end="")
    if plan_difference.is_none:
        decided = (
            ""
            if _have_same_rule(diff_operand, other)
            else "; the rule that decides which of them are needed is different"
        )
        print(f"the same {plan_difference.same:,} trials in the same order{decided}")
        return
    if plan_difference.is_reordered:
        print(f"the same {plan_difference.same:,} trials in another order")
        return
    come, go, changed = (
        sum(item.replicates for item in some)
        for some in (plan_difference.come, plan_difference.go, plan_difference.changed)
    )
    print(f"{come:,} trials added, {go:,} removed, {changed:,} changed, {plan_difference.same:,} unchanged")
    for title, points in (("added", plan_difference.come), ("removed", plan_difference.go)):
        _list(title, [_named(point, factors) for point in points])
    _list("changed", [_named(point, factors) for point in plan_difference.changed])
    shown: list[tuple[CommandEdit, ...]] = []
    for point in plan_difference.changed[:_LOOKED_AT]:
        mine = edits[point.now]
        if mine not in shown and len(shown) < _MOST_SHOWN:
            shown.append(mine)
            print(
                f"\ncommands of {_named(point, factors)}:"
                if mine
                else f"\nno command has changed for {_named(point, factors)}"
            )
            _commands(mine)


def _list(title: str, lines: list[str]) -> None:
    if lines:
        print(f"\n{title}:")
        for line in lines[:_SHOWN]:
            print(f"  {line}")
        if len(lines) > _SHOWN:
            print(f"  … and {len(lines) - _SHOWN:,} more points: --json lists all")


def _named(point: Point | Changed, factors: Mapping[str, Factor]) -> str:
    levels = [
        f"{render.visible(name)}={wording.level(level, factors[name].type)}"
        for name, level in point.factors.items()
        if level is not None
    ]
    times = f"  × {point.replicates}" if point.replicates > 1 else ""
    return f"{' '.join(levels) or 'the only point'}{times}"


def _commands(edits: Iterable[CommandEdit]) -> None:
    for edit in edits:
        print(f"  {render.visible(edit.step)}")
        for mark, text in (("-", edit.was), ("+", edit.now)):
            if text:
                shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
                print(f"    {mark} {render.visible(shown)}")


def _as_json(
    diff_operand: DiffOperand,
    other: DiffOperand,
    plan_difference: PlanDifference,
    edits: Mapping[int, tuple[CommandEdit, ...]],
) -> dict[str, object]:
    def listed(points: Iterable[Point]) -> list[dict[str, object]]:
        return [{"levels": dict(point.factors), "replicates": point.replicates} for point in points]

    changed = [
        {
            "levels": dict(point.factors),
            "replicates": point.replicates,
            "commands": [{"step": edit.step, "was": edit.was, "now": edit.now} for edit in edits.get(point.now, ())],
        }
        for point in plan_difference.changed
    ]
    return {
        "old": diff_operand.name,
        "new": other.name,
        "same": plan_difference.same,
        "reordered": plan_difference.is_reordered,
        "decided_alike": _have_same_rule(diff_operand, other),
        "come": listed(plan_difference.come),
        "go": listed(plan_difference.go),
        "change": changed,
    }
