"""How often the 95 % interval of a ratio holds the true ratio, by the number of repetitions.

In: nothing. Out: a table, and exit code 1 where a share is not within 93 and 97 %, or, where it was repeated until the
interval was narrow, below 88 %: who stops as soon as it looks good is a little too sure. Values are log-normal, as
times and rates of storage are: bounded by zero, skewed to the right. Usage: python bench/intervals.py [SIMULATIONS]
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

from zlang import intervals
from zlang.report import ratios
from zlang.report.ratios import Ratio
from zlang.report.summary import estimate

TRUE = 0.1
SPREAD = 0.2
"""Of the logarithms: a coefficient of variation of 20 %."""
WITHIN, MOST = 0.05, 20


def paired(draw: random.Random, n: int) -> Ratio | None:
    """Blocks of two, which share what the block adds."""
    return ratios.paired({(): [TRUE + draw.gauss(0, SPREAD) for _ in range(n)]})


def combinations(draw: random.Random, n: int) -> Ratio | None:
    """Blocks of two in four combinations whose own ratios differ about the true one."""
    centres = (-0.3, -0.1, 0.1, 0.3)
    return ratios.paired({i: [TRUE + c + draw.gauss(0, SPREAD) for _ in range(n)] for i, c in enumerate(centres)})


def apart(draw: random.Random, n: int) -> Ratio | None:
    """Two runs at one point."""
    ones = [draw.gauss(0, SPREAD) for _ in range(n)]
    return ratios.apart({(): ones}, {(): [TRUE + draw.gauss(0, SPREAD) for _ in range(n)]})


def holds_ratio(found: Ratio | None) -> bool:
    interval = found.interval() if found else None
    return interval is not None and interval[0] <= 2.718281828459045**TRUE <= interval[1]


def median(draw: random.Random, n: int) -> bool:
    """The interval of a table: about the median of log-normal values, which is 1."""
    told = estimate([draw.lognormvariate(0, SPREAD) for _ in range(n)])
    return told.low is not None and told.high is not None and told.low <= 1 <= told.high


def until(draw: random.Random, least: int) -> bool:
    """The same of `repeat = LEAST..20 until ci(…) < 5%`, of values with a coefficient of variation of 10 %."""
    values = [draw.lognormvariate(0, SPREAD / 2) for _ in range(least)]
    while (found := intervals.of_logs(values)) and intervals.exp(found[1]) - 1 >= WITHIN and len(values) < MOST:
        values.append(draw.lognormvariate(0, SPREAD / 2))
    return found is not None and abs(found[0]) <= found[1]


METHODS: dict[str, Callable[[random.Random, int], bool]] = {
    "blocks": lambda draw, n: holds_ratio(paired(draw, n)),
    "blocks, 4 combinations": lambda draw, n: holds_ratio(combinations(draw, n)),
    "two runs": lambda draw, n: holds_ratio(apart(draw, n)),
    "one median": median,
    "one, until 5 %": until,
}


def main() -> int:
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    draw = random.Random(1)
    code = 0
    print("method                  n = 3   n = 5  n = 10")
    for name, holds in METHODS.items():
        shares = [sum(holds(draw, n) for _ in range(simulations)) / simulations for n in (3, 5, 10)]
        print(f"{name:22}" + "".join(f"{100 * share:7.1f}%" for share in shares))
        code |= not all((0.88 if name == "one, until 5 %" else 0.93) <= share <= 0.97 for share in shares)
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
