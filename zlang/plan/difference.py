"""The differences of two plans: trials added, removed and changed, and their commands.

In: the trial keys of each side, in order. Out: a `PlanDifference`. A trial is identified by its identity and replicate.
A point has changed if its levels are the same on both sides and its identity is not.
"""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from zlang.plan.plan import Plan, Scalar, Setup, Step, Trial

_SHORT, _MOST_WORDS = 200, 4000
"""The longest command, in characters, that is shown in full, and the most words that are compared one by one."""


@dataclass(frozen=True, slots=True)
class TrialKey:
    """The key of a trial when two plans are compared; `commands` is their hash, if both plans have one."""

    identity: str
    replicate: int
    number: int
    factors: Mapping[str, Scalar]
    commands: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """A point that only one side has, or of which it has more replicates; `number` is that of one of its trials."""

    factors: Mapping[str, Scalar]
    replicates: int
    number: int


@dataclass(frozen=True, slots=True)
class Changed:
    """A point whose levels are the same on both sides but that is carried out differently; a trial from each side."""

    factors: Mapping[str, Scalar]
    replicates: int
    was: int
    now: int


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """All differences. `same` counts equal trials; `is_reordered` if only the order differs."""

    come: tuple[Point, ...]
    go: tuple[Point, ...]
    changed: tuple[Changed, ...]
    same: int
    is_reordered: bool

    @property
    def is_none(self) -> bool:
        """Whether both sides do the same in the same order."""
        return not (self.come or self.go or self.changed or self.is_reordered)


Key = tuple[str, int, str]
Place = tuple[frozenset[tuple[str, Scalar]], int]


def difference(was: Iterable[TrialKey], now: Iterable[TrialKey]) -> PlanDifference:
    """Compare two sides; each is read once."""
    before, first = _index_trials(was)
    after, second = _index_trials(now)
    gone = {_place(item): item for key, item in before.items() if key not in after}
    new = [item for key, item in after.items() if key not in before]
    changed: dict[frozenset[tuple[str, Scalar]], Changed] = {}
    come: list[TrialKey] = []
    for item in new:
        old = gone.pop(_place(item), None)
        if old is None:
            come.append(item)
            continue
        levels, _ = _place(item)
        cached = changed.get(levels) or Changed(item.factors, 0, old.number, item.number)
        changed[levels] = replace(cached, replicates=cached.replicates + 1)
    same = len(after) - len(new)
    is_same = not (gone or new)
    return PlanDifference(
        _points(come), _points(gone.values()), tuple(changed.values()), same, is_same and first != second
    )


def _index_trials(keys: Iterable[TrialKey]) -> tuple[dict[Key, TrialKey], str]:
    """A side's trials by key, and the hash of their order."""
    trial_keys: dict[Key, TrialKey] = {}
    order = hashlib.sha256()
    for key in keys:
        trial_keys[key.identity, key.replicate, key.commands] = key
        order.update(f"{key.identity} {key.replicate}\n".encode())
    return trial_keys, order.hexdigest()


def _place(key: TrialKey) -> Place:
    return frozenset(key.factors.items()), key.replicate


def _points(trials: Iterable[TrialKey]) -> tuple[Point, ...]:
    """The points of some trials."""
    points: dict[frozenset[tuple[str, Scalar]], Point] = {}
    for trial in trials:
        levels, _ = _place(trial)
        cached = points.get(levels) or Point(trial.factors, 0, trial.number)
        points[levels] = replace(cached, replicates=cached.replicates + 1)
    return tuple(points.values())


# -- the trials of a plan


def trial_keys(plan: Plan) -> Iterator[TrialKey]:
    """The trials of a plan with the hash of their commands."""
    for item in plan.items():
        if isinstance(item, Trial):
            yield of_trial(item)


def of_trial(trial: Trial) -> TrialKey:
    """A trial with the hash of its commands."""
    step_keys = [(step.name, step.action, step.command, step.expect) for step in trial.steps]
    digest = hashlib.sha256(repr((step_keys, trial.setups)).encode()).hexdigest()
    return TrialKey(trial.identity, trial.replicate, trial.number, trial.factors, digest)


def steps(plan: Plan, numbers: Iterable[int]) -> dict[int, list[Step]]:
    """The steps of some trials, including those that make their setups."""
    wanted = set(numbers)
    setups: dict[str, Setup] = {}
    result: dict[int, list[Step]] = {}
    for item in plan.items() if wanted else ():
        if isinstance(item, Setup):
            setups[item.signature] = item
        elif item.number in wanted:
            made = [step for signature in item.setups for step in setups[signature].make]
            result[item.number] = [*made, *item.steps]
            if len(result) == len(wanted):
                break
    return result


# -- commands


@dataclass(frozen=True, slots=True)
class CommandEdit:
    """A command that differs: its step, and the removed and added text (only the words that differ if it is long)."""

    step: str
    was: str
    now: str


def edits(was: Iterable[Step], now: Iterable[Step]) -> tuple[CommandEdit, ...]:
    """The commands that differ, in the order of the newer plan; removed commands come last."""
    before, after = _by_name(was), _by_name(now)
    result = [_edit(name, before.get(name, ""), text) for name, text in after.items() if before.get(name, "") != text]
    return (*result, *(CommandEdit(name, text, "") for name, text in before.items() if name not in after))


def _by_name(steps_: Iterable[Step]) -> dict[str, str]:
    result: dict[str, str] = {}
    times: Counter[str] = Counter()
    for step in steps_:
        times[step.name] += 1
        name = f"{step.name} {times[step.name]}" if times[step.name] > 1 else step.name
        result[name] = step.command if step.expect is None else f"{step.command} = {step.expect}"
    return result


def _edit(name: str, was: str, now: str) -> CommandEdit:
    old, new = was.split(" "), now.split(" ")
    if not was or max(len(was), len(now)) <= _SHORT or len(old) + len(new) > _MOST_WORDS:
        return CommandEdit(name, was, now)
    went: list[str] = []
    came: list[str] = []
    for how, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if how != "equal":
            went += old[i:j]
            came += new[k:m]
    return CommandEdit(name, " ".join(went), " ".join(came))
