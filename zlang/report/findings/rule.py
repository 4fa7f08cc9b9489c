"""Rules about results.

A rule is a function from `Results` to sentences. Its docstring is its page: a title, an explanation with its source,
data with a finding, and data without one (`zlang/report/findings/examples.py` describes their form).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import starmap

from zlang.diagnostics import Lint, Severity
from zlang.frozen import frozen
from zlang.lint.after import AFTER
from zlang.report.design import Design

_FEW_LEVELS = 3
"""The most levels that a sentence lists."""


OF_TIME = "_of_time"
"""The suffix that turns the meaning of a percentile of operations into one of time."""
OF_MACHINE = "_of_machine"
"""The suffix that turns the meaning of a share of one processor into that of a share of all processors of a machine."""


@frozen
class MeasuredTrial:
    """A trial that counts, with its levels as people write them.

    `traits` are those of its workload and machine, in base units. `metrics` are in the units of the database, by their
    meaning (`read.operations`), not by name.
    """

    run: str
    position: int
    cache_state: str
    levels: Mapping[str, str]
    traits: Mapping[str, float]
    metrics: Mapping[str, float]

    def each(self, meaning: str) -> Iterator[float]:
        """The metrics of a meaning for all directions: reads, writes and others."""
        return (self.metrics[name] for _, name in _of_meaning(tuple(self.metrics), meaning))

    def pairs(self, item: str, other: str) -> list[tuple[float, float, str]]:
        """The metrics of two meanings, paired by direction, and the direction."""
        both = [(name, f"{way}.{other}", way) for way, name in _of_meaning(tuple(self.metrics), item)]
        return [(self.metrics[a], self.metrics[b], way) for a, b, way in both if b in self.metrics]


@lru_cache(maxsize=1024)
def _of_meaning(names: tuple[str, ...], meaning: str) -> tuple[tuple[str, str], ...]:
    """The directions of a meaning, with their names among these; most trials have the same names."""
    return tuple((way, name) for name in names for way, _, own in (name.partition("."),) if own == meaning)


@frozen
class Results:
    """The results of a run: its trials by one metric (`design`) and by all metrics and traits (`trials`).

    If it `is_sequential`, results decided which trials were carried out. The factor `of_passes` numbers
    the passes over kept data, which always follow each other; it is empty without kept data. Up to `repeat` replicates
    of a point were planned.
    """

    design: Design
    trials: tuple[MeasuredTrial, ...]
    is_sequential: bool = False
    of_passes: str = ""
    repeat: int = 0


@frozen
class ResultFinding:
    """A finding about results, in one sentence."""

    lint: Lint
    message: str

    @property
    def is_denied(self) -> bool:
        """Whether the project denies the rule: then the finding is an error."""
        return self.lint.severity is Severity.ERROR


Find = Callable[[Results], Iterator[str]]


@frozen
class ResultRule:
    """A rule about results."""

    lint: Lint
    find: Find

    def __call__(self, results: Results) -> Iterator[ResultFinding]:
        """The findings of the rule in a run."""
        return (ResultFinding(self.lint, sentence) for sentence in self.find(results))


class ResultRules(list[ResultRule]):
    """The rules of a family, in their order."""

    def add(self, name: str) -> Callable[[Find], Find]:
        """Take a function as the rule of that name."""

        def take(find: Find) -> Find:
            assert name in AFTER, f"BUG: the finding `{name}` has no line in `AFTER` in zlang/lint/after.py"
            self.append(ResultRule(AFTER[name], find))
            return find

        return take


def in_trials(
    measured_trials: Sequence[MeasuredTrial], worst: MeasuredTrial, looked_at: Sequence[MeasuredTrial]
) -> str:
    """`in 6 of 12 trials, where `bs` is 4KiB`: by a factor that explains the finding, or else by the worst trial."""
    how_many = f"in {len(measured_trials):,} of {len(looked_at):,} trials"
    for name in worst.levels if len(measured_trials) < len(looked_at) else ():
        levels = list(dict.fromkeys(trial.levels.get(name) for trial in measured_trials))
        with_them = sum(trial.levels.get(name) in levels for trial in looked_at)
        if with_them == len(measured_trials) and None not in levels and len(levels) <= _FEW_LEVELS:
            return f"{how_many}, where `{name}` is {' or '.join(map(str, levels))}"
    example = ", ".join(starmap("`{}` is {}".format, worst.levels.items()))
    return f"{how_many}, such as where {example}" if example and len(measured_trials) < len(looked_at) else how_many
