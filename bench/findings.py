"""Count findings about values and run order where blocks, setups and trials differ by chance only.

In: nothing. Out: a table, and exit code 1 where a rule finds something in more than 5 % of runs (by more than chance
allows). The experiments are those of `verdicts.py`; the last rows are runs that do drift, and runs whose first
repetition is slower. Usage: python bench/findings.py [SIMULATIONS] [--write]
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import measure
from rates import percent, publish, simulations, span
from verdicts import NOISES, POINTS, designs

from zlang.plan.order import Order
from zlang.report.design import Design, Row
from zlang.report.findings import RULES
from zlang.report.findings.rule import Results

SHOWN = ("drift", "first-differs", "outlier", "two-modes", "confounded-with-order")
TESTED = SHOWN[:-1]
MIXED = (Order.BLOCKED, Order.RANDOM)
"""The orders that confound no factor with run order."""
CHANGES: dict[str, Callable[[Row, int], float]] = {
    "a drift of 50 %": lambda row, repeat: 0.4 * row.position / (len(POINTS) * repeat),
    "a first repetition half as fast": lambda row, _: -0.7 * (row.replicate == 1),
}
"""The amount that is added to the logarithm of a trial."""


def names_of_findings(design: Design) -> list[str]:
    """The names of the rules that find something."""
    return [rule.lint.name for rule in RULES if list(rule(Results(design, ())))]


def shares(
    how: Order, repeat: int, setup: float, block: float, count: int, change: Callable[[Row], float]
) -> list[float]:
    """The share of experiments in which each rule finds something, with a change in every trial."""
    counts: Counter[str] = Counter()
    for design in designs(how, repeat, setup, block, count):
        rows = tuple(replace(row, log=row.log + change(row)) for row in design.rows)
        counts.update(names_of_findings(replace(design, rows=rows)))
    return [counts[name] / count for name in SHOWN]


def main() -> int:
    count = simulations(400)
    slack = 2.6 * math.sqrt(0.05 * 0.95 / count)
    code = 0
    rows = []
    worst: dict[str, list[float]] = {name: [] for name in SHOWN}
    for how, repeat in product(Order, (2, 3, 5, 10)):
        every = [shares(how, repeat, setup, block, count, lambda _: 0.0) for setup, block in product(NOISES, NOISES)]
        cells = []
        for name, cases in zip(SHOWN, zip(*every, strict=True), strict=True):
            if name in TESTED or how in MIXED:
                code |= max(cases) > 0.05 + slack
                worst[name] += cases
            cells.append(f"{percent(sum(cases) / len(cases))} (at most {percent(max(cases))})")
        rows.append((f"no effect: `{how}`, n = {repeat}", *cells))
        print(*rows[-1], file=sys.stderr, flush=True)
    for (label, change), repeat in product(CHANGES.items(), (3, 5, 10)):
        shares_of_rules = shares(Order.BLOCKED, repeat, 0.5, 0.5, count, lambda row: change(row, repeat))  # noqa: B023
        rows.append((f"{label}: `blocked`, n = {repeat}", *map(percent, shares_of_rules)))
        print(*rows[-1], file=sys.stderr, flush=True)
    figures = [(f"findings of `{name}` without a cause", "at most 5 %", span(cases)) for name, cases in worst.items()]
    publish("findings.py", ("simulated effect, and the findings", *SHOWN), rows, figures)
    return code


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
