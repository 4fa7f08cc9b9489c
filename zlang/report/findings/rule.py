"""A rule about results: what it finds in a run, and its page.

A rule is a function from what was measured to sentences. Its docstring is its page: a title, the story with its source,
data in which it is found, and data in which it is not (their form: `zlang/report/findings/examples.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap

from zlang.diagnostics import Lint, Severity
from zlang.lint.after import AFTER
from zlang.report.design import Design

_FEW_LEVELS = 3
"""More levels than these are not listed."""


OF_TIME = "_of_time"
"""A percentile of time, not of operations, is known as that of operations with this behind it."""


@dataclass(frozen=True, slots=True)
class MeasuredTrial:
    """A trial that counts: its levels as people write them, what is known of it, and its metrics.

    `traits` are those of its workload and its machine, in base units; `metrics` are in the units of the database, and
    called by what they mean (`read.operations`), not by their names.
    """

    run: str
    position: int
    cache_state: str
    levels: Mapping[str, str]
    traits: Mapping[str, float]
    metrics: Mapping[str, float]

    def each(self, meaning: str) -> Iterator[float]:
        """The metrics of a meaning, of reads, of writes and of whatever else there is."""
        return (value for name, value in self.metrics.items() if name.partition(".")[2] == meaning)

    def pairs(self, one: str, other: str) -> list[tuple[float, float]]:
        """The metrics of two meanings, of the same operations."""
        ways = [name.partition(".") for name in self.metrics]
        both = [(f"{way}.{one}", f"{way}.{other}") for way, _, meaning in ways if meaning == one]
        return [(self.metrics[a], self.metrics[b]) for a, b in both if b in self.metrics]


@dataclass(frozen=True, slots=True)
class Results:
    """What was measured in a run: its trials by one metric, and each of them by all that rules look at.

    Where it `is_sequential` what was measured decided which trials came after it.
    """

    design: Design
    trials: tuple[MeasuredTrial, ...]
    is_sequential: bool = False


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that makes figures doubtful, in one sentence."""

    lint: Lint
    message: str

    @property
    def is_denied(self) -> bool:
        """Whether the project takes it as an error."""
        return self.lint.severity is Severity.ERROR


Find = Callable[[Results], Iterator[str]]


@dataclass(frozen=True, slots=True)
class ResultRule:
    """A rule with its id and its name."""

    lint: Lint
    find: Find

    def __call__(self, results: Results) -> Iterator[Doubt]:
        """What it finds in a run."""
        return (Doubt(self.lint, sentence) for sentence in self.find(results))


class ResultRules(list[ResultRule]):
    """The rules of a family, in their order."""

    def add(self, name: str) -> Callable[[Find], Find]:
        """Take a function as the rule of that name."""

        def take(find: Find) -> Find:
            self.append(ResultRule(AFTER[name], find))
            return find

        return take


def in_trials(found: Sequence[MeasuredTrial], worst: MeasuredTrial, looked_at: Sequence[MeasuredTrial]) -> str:
    """`in 6 of 12 trials, where `bs` is 4KiB`, of those looked at: by a factor that decides it, else by the worst."""
    told = f"in {len(found):,} of {len(looked_at):,} trials"
    for name in worst.levels if len(found) < len(looked_at) else ():
        levels = list(dict.fromkeys(trial.levels.get(name) for trial in found))
        with_them = sum(trial.levels.get(name) in levels for trial in looked_at)
        if with_them == len(found) and None not in levels and len(levels) <= _FEW_LEVELS:
            return f"{told}, where `{name}` is {' or '.join(map(str, levels))}"
    such = " and ".join(starmap("`{}` is {}".format, worst.levels.items()))
    return f"{told}, such as where {such}" if such and len(found) < len(looked_at) else told
