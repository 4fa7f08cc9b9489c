"""How often an `expect` passes that is not so, fails though it is so, and passes where it is well so.

In: nothing. Out: a table, and exit code 1 where more than 5 % of verdicts are wrong (by more than chance allows). Two
file systems in blocks at one combination or sixteen, or all of them `overall`; a wrong pass is counted where the true
ratio is exactly the limit. Usage: python bench/expectations.py [SIMULATIONS] [--write]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from itertools import product

import numpy as np
from rates import percent, publish, simulations, span

from zlang.check.questions import Term
from zlang.report.answers import Judge, Verdict
from zlang.report.formulas import Combination, Side
from zlang.report.margins import TrialTerms

NOISE = 0.1
METRIC = Term("metric", name="read_iops")
SIDES = tuple(Term("median", (METRIC, Term("value", value=name)), name) for name in ("ext4", "xfs"))
FASTER = Term(">", (SIDES[1], SIDES[0]))


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
    yield from [every] if pooled else ([one for one in every if one.levels[0] == c] for c in range(combinations))


def verdict(draw: np.random.Generator, ratio: float, n: int, combinations: int, *, pooled: bool) -> Verdict:
    """The verdict on one experiment."""
    every = list(samples(draw, ratio, n, combinations, pooled=pooled))
    judge = Judge(FASTER, SIDES, [0], len(every), 2)
    sides = tuple(Side(term, 1.0, n, n, ()) for term in SIDES)
    found = {judge.finding(Combination((), n, (True,), sides), own).verdict for own in every}
    return Verdict.FAIL if Verdict.FAIL in found else Verdict.PASS if found == {Verdict.PASS} else Verdict.INCONCLUSIVE


def main() -> int:
    count = simulations(500)
    slack = 2.6 * math.sqrt(0.05 * 0.95 / count)
    code = 0
    rows = []
    wrong: list[tuple[float, float]] = []
    for (combinations, pooled), n in product(((1, False), (16, False), (16, True)), (3, 5, 10)):
        draw = np.random.default_rng([combinations, pooled, n])
        told = {
            ratio: [verdict(draw, ratio, n, combinations, pooled=pooled) for _ in range(count)]
            for ratio in (1.0, 1.1, 1.5)
        }
        passes, fails = (told[1.0].count(one) / count for one in (Verdict.PASS, Verdict.FAIL))
        wrong.append((passes, fails))
        code |= max(passes, fails) > 0.05 + slack
        more = [percent(told[ratio].count(Verdict.PASS) / count) for ratio in (1.1, 1.5)]
        what = "1 combination" if combinations == 1 else f"16 combinations{', `overall`' if pooled else ''}"
        rows.append((f"{what}, n = {n}", percent(passes), percent(fails), *more))
    publish(
        "expectations.py",
        ("`expect` a ratio above 1", "passes at 1", "fails at 1", "passes at 1.1", "passes at 1.5"),
        rows,
        [
            (f"`expect` {what} where both sides are alike", "at most 5 %", span(shares))
            for what, shares in zip(("passes", "fails"), zip(*wrong, strict=True), strict=True)
        ],
    )
    return code


if __name__ == "__main__":
    sys.exit(main())
