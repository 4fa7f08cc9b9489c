"""How often `zlang effects` calls a term significant (p < 0.05) where nothing differs, by the order of the trials.

In: nothing. Out: a table, and exit code 1 where a share is not within 4 and 6 % (by more than chance allows). The
experiments are those of `verdicts.py`; setups and blocks differ by 0, 0.5 and 1 times as much as trials.
Usage: python bench/effects.py [SIMULATIONS] [--write]
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from itertools import product

from rates import percent, publish, simulations, span
from verdicts import LEAST, MOST, NOISES, designs

from zlang.plan.order import Order
from zlang.report import effects

SIGNIFICANT = 0.05


def shares(how: Order, repeat: int, count: int) -> tuple[float, float | None, int]:
    """How often terms within setups are called significant, and terms of setups, of so many that are."""
    false, judged = Counter[bool](), Counter[bool]()
    for noise in NOISES:
        for design in designs(how, repeat, noise, noise, count):
            for term in effects.effects(design):
                if term.p is not None:
                    judged[term.is_of_setups] += 1
                    false[term.is_of_setups] += term.p < SIGNIFICANT
    of_setups = false[True] / judged[True] if judged[True] else None
    return false[False] / judged[False], of_setups, judged[True] or judged[False]


def main() -> int:
    count = simulations(2000)
    code = 0
    rows, every = [], []
    for how, repeat in product(Order, (3, 5, 10)):
        within, of_setups, judged = shares(how, repeat, count)
        slack = 2.6 * math.sqrt(0.05 * 0.95 / judged)
        shares_known = [share for share in (within, of_setups) if share is not None]
        code |= any(not LEAST - slack <= share <= MOST + slack for share in shares_known)
        every += shares_known
        rows.append((f"`{how}`, n = {repeat}", percent(of_setups), percent(within)))
        print(*rows[-1], file=sys.stderr, flush=True)
    figures = [("terms that `effects` calls significant although nothing differs", "4 to 6 %", span(every))]
    publish("effects.py", ("order", "of setups", "within setups"), rows, figures)
    return code


if __name__ == "__main__":
    sys.exit(main())
