"""Compare two plans, and save a plan beside its program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from zlang.check import check as checking
from zlang.check.check import Checked, Overrides
from zlang.check.program import Experiment
from zlang.diagnostics import ProgramError, Severity
from zlang.errors import RunError, reason_of, unwritable
from zlang.files import write_output
from zlang.hints import TYPE_CHECKING
from zlang.pipeline.plans import plan
from zlang.pipeline.programs import check, choose, read
from zlang.source import Source
from zlang.syntax.tree import KindDef

if TYPE_CHECKING:
    from zlang.pipeline.plans import Planned
    from zlang.plan.difference import Changed, CommandEdit, PlanDifference
    from zlang.plan.plan import Header, Plan


@dataclass(frozen=True, slots=True)
class DiffOperand:
    """One of two plans to be compared: the name that the user typed, the plan, and its program if it was made from one.

    `kinds` are the texts of the kinds that the program declares.
    """

    name: str
    plan: Plan
    planned: Planned | None = None
    kinds: frozenset[str] = frozenset()


def load_saved_plan(word: str) -> DiffOperand | None:
    """A saved plan, from a run folder or a file of JSON lines; None for anything else. Raises RunError."""
    from zlang.plan import wire
    from zlang.run.folder import Folder

    path = Path(word)
    if (path / "plan.jsonl").is_file():
        return DiffOperand(word, Folder(path.resolve()).read_plan())
    if path.suffix != ".jsonl" or not path.is_file():
        return None

    def lines() -> Iterator[bytes]:
        try:
            with path.open("rb") as file:
                yield from file
        except OSError as error:
            raise RunError(f"cannot read {path}: {reason_of(error)}") from None

    return DiffOperand(word, wire.load(lines, word))


def diff_operand(word: str, overrides: Overrides, experiment: str | None, seed: int, order: str | None) -> DiffOperand:
    """The plan of a program, or of one at a revision (`REVISION:FILE`). Raises ProgramError, RunError."""
    from zlang.run import revisions

    revision, colon, path = word.partition(":")
    if Path(word).is_file() or not colon:
        checked = check(read(word), overrides)
    else:
        source = Source(path, revisions.text(revision, path))
        checked = checking.program(source, lambda imported: revisions.text(revision, imported), overrides)
    if not checked.is_sound:
        finding = next(item for item in checked.findings if item.code.severity is Severity.ERROR)
        raise ProgramError(finding)
    planned = plan(checked, choose(checked, experiment), seed, overrides, order=order)
    declared = [entry for parsed in checked.program.trees for entry in parsed.entries if isinstance(entry, KindDef)]
    return DiffOperand(word, planned.plan, planned, frozenset(kind.span.text for kind in declared))


def plan_overrides(header: Header) -> Overrides:
    """Return the settings and the profile with which a plan was made."""
    values = dict(header.settings)
    profile = values.pop("--profile", None)
    return Overrides(values, profile)


def difference(diff_operand: DiffOperand, other: DiffOperand) -> PlanDifference:
    """Compare two plans.

    Two programs can be compared without building their commands; a saved plan may be from another release, so there the
    commands are compared as well.
    """
    from zlang.plan import difference as differences
    from zlang.plan import trial_keys

    if diff_operand.planned and other.planned:
        schedules = [side.planned.schedule for side in (diff_operand, other) if side.planned]
        by_values = diff_operand.kinds == other.kinds and not any(schedule.kept for schedule in schedules)
        keys = trial_keys.trial_keys_by_values if by_values else trial_keys.trial_keys
        return differences.difference(*map(keys, schedules))
    return differences.difference(differences.trial_keys(diff_operand.plan), differences.trial_keys(other.plan))


def edits(
    diff_operand: DiffOperand, other: DiffOperand, changed: Sequence[Changed]
) -> dict[int, tuple[CommandEdit, ...]]:
    """The commands that differ, by the trial's number in the newer plan."""
    from zlang.plan import difference as differences

    was = differences.steps(diff_operand.plan, [point.was for point in changed])
    now = differences.steps(other.plan, [point.now for point in changed])
    return {point.now: differences.edits(was[point.was], now[point.now]) for point in changed}


def snapshot_path(checked: Checked, experiment: Experiment) -> Path:
    """The file for the saved plan of a program: beside it, with the experiment's name if the program has several."""
    path = Path(checked.program.source.name)
    named = f".{experiment.name}" if len(checked.program.experiments) > 1 else ""
    return path.with_name(f"{path.stem}{named}.plan.jsonl")


def keep_plan(plan: Plan, path: Path) -> None:
    """Write a plan as JSON lines. Raises RunError."""
    from zlang.plan import wire

    try:
        write_output(path, wire.dump(plan))
    except OSError as error:
        raise unwritable(path, error) from None
