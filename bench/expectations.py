"""Count expectations that pass though they are false, fail though they are true, and pass if they are clearly true.

In: nothing. Out: a table, and exit code 1 where more than 5 % of verdicts are wrong (by more than chance allows). Two
file systems in blocks at one combination or sixteen, or all of them `overall`; and a limit of one point, or `overall`,
in the experiments of `verdicts.py`. A wrong pass is counted where the true ratio is exactly the limit.
Usage: python bench/expectations.py [SIMULATIONS] [--write]
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import measure
import numpy as np
from rates import percent, publish, simulations, span
from verdicts import NOISES, POINTS, designs

from zlang.check.questions import Term
from zlang.plan.order import Order
from zlang.report import design
from zlang.report.formulas import Combination, Side
from zlang.report.judging import Judge, Verdict
from zlang.report.margins import TrialTerms

NOISE = 0.1
METRIC = Term("metric", name="read_iops")
SIDES = tuple(Term("median", (METRIC, Term("value", value=name)), name) for name in ("ext4", "xfs"))
FASTER = Term(">", (SIDES[1], SIDES[0]))
MEDIAN = Term("median", (METRIC,), "median(read_iops)")
LIMIT = Term(">", (MEDIAN, Term("value", value=1.0)))
RATIOS = (1.0, 1.1, 1.5)


def samples(
    draw: np.random.Generator, ratio: float, n: int, combinations: int, *, pooled: bool
) -> Iterator[list[TrialTerms]]:
    """The trials of each combination, or of all together, in blocks that differ as much as trials do."""
    blocks = draw.normal(0, NOISE, n)
    logs = draw.normal(0, NOISE, (combinations, 2, n)) + blocks
    logs[:, 1] += math.log(ratio)
    every = [
        TrialTerms((), (c, side), (("r", block),), (None, math.exp(log)) if side else (math.exp(log), None))
        for (c, side, block), log in np.ndenumerate(logs)
    ]
    yield from [every] if pooled else ([trial for trial in every if trial.levels[0] == c] for c in range(combinations))


def verdict(draw: np.random.Generator, ratio: float, n: int, combinations: int, *, pooled: bool) -> Verdict:
    """The verdict on one experiment."""
    every = list(samples(draw, ratio, n, combinations, pooled=pooled))
    judge = Judge(FASTER, SIDES, [0], len(every), 2)
    verdicts = {judge.finding(shown(SIDES, own), own).verdict for own in every}
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL
    return Verdict.PASS if verdicts == {Verdict.PASS} else Verdict.INCONCLUSIVE


def shown(terms: Sequence[Term], own: Sequence[TrialTerms]) -> Combination:
    """The medians that the user sees, of all trials together."""
    values = [[value for trial in own if (value := trial.values[place]) is not None] for place in range(len(terms))]
    sides = [Side(term, statistics.median(of), len(of), len(of), ()) for term, of in zip(terms, values, strict=True)]
    return Combination((), len(own), (True,), tuple(sides))


def of_limits(how: Order, n: int, ratio: float, count: int, *, pooled: bool) -> list[Verdict]:
    """The verdicts on a limit, where setups and blocks vary 0, 0.5 and 1 times as much as trials."""
    verdicts = []
    judge = Judge(LIMIT, (MEDIAN,), [], 1, 2)
    for setup, block in product(NOISES, NOISES if how.has_plots else (0.0,)):
        for made in designs(how, n, setup, block, count):
            own = [
                TrialTerms((), row.levels, groups, (math.exp(row.log) * ratio,))
                for row, groups in zip(made.rows, design.groups(made.rows), strict=True)
                if pooled or row.levels == POINTS[0]
            ]
            verdicts.append(judge.finding(shown((MEDIAN,), own), own).verdict)
    return verdicts


def shares(verdicts: Mapping[float, Sequence[Verdict]]) -> tuple[float, float]:
    """The shares of expectations that pass, and that fail, if the ratio is exactly the limit."""
    alike = verdicts[1.0]
    return alike.count(Verdict.PASS) / len(alike), alike.count(Verdict.FAIL) / len(alike)


def row_of(label: str, verdicts_by_ratio: Mapping[float, Sequence[Verdict]]) -> tuple[str, ...]:
    """A line of the table; `-` where nothing is ever said."""
    if all(verdict is Verdict.INCONCLUSIVE for verdicts in verdicts_by_ratio.values() for verdict in verdicts):
        return label, *["-"] * 4
    more = [verdicts_by_ratio[ratio].count(Verdict.PASS) / len(verdicts_by_ratio[ratio]) for ratio in RATIOS[1:]]
    return label, *map(percent, (*shares(verdicts_by_ratio), *more))


def main() -> int:
    count = simulations(500)
    slack = 2.6 * math.sqrt(0.05 * 0.95 / count)
    code = 0
    rows = []
    wrong: list[tuple[float, float]] = []
    for (combinations, pooled), n in product(((1, False), (16, False), (16, True)), (3, 5, 10)):
        draw = np.random.default_rng([combinations, pooled, n])
        verdicts = {
            ratio: [verdict(draw, ratio, n, combinations, pooled=pooled) for _ in range(count)] for ratio in RATIOS
        }
        label = "1 combination" if combinations == 1 else f"16 combinations{', `overall`' if pooled else ''}"
        wrong.append(shares(verdicts))
        rows.append(row_of(f"{label}, n = {n}", verdicts))
        print(*rows[-1], file=sys.stderr, flush=True)
    for pooled, how, n in product((False, True), Order, (3, 5, 10)):
        verdicts = {ratio: of_limits(how, n, ratio, max(count // 5, 1), pooled=pooled) for ratio in RATIOS}
        wrong.append(shares(verdicts))
        rows.append(row_of(f"a limit{', `overall`' if pooled else ''}: `{how}`, n = {n}", verdicts))
    code |= any(max(pair) > 0.05 + slack for pair in wrong)
    publish(
        "expectations.py",
        ("`expect` a ratio above 1", "passes at 1", "fails at 1", "passes at 1.1", "passes at 1.5"),
        rows,
        [
            (f"`expect` {label} although both sides, or the value and its limit, are equal", "at most 5 %", span(rates))
            for label, rates in zip(("passes", "fails"), zip(*wrong, strict=True), strict=True)
        ],
    )
    return code


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
