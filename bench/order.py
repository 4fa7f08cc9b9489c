"""Measure the ordering and hashing of 100,000 trials, and whether ten times as many take ten times as long.

In: `matrix.zexp` beside this file. Out: the table.
Usage: python bench/order.py [ROUNDS]
"""

from __future__ import annotations

import sys

import measure
import peers

MOST = 5.0
"""CPU seconds for 100,000 trials."""
PLAN = """
import sys
from zlang.pipeline import plans, programs
from zlang.check.check import Overrides
from zlang.plan import trial_keys
said = Overrides({"tenths": sys.argv[2]})
checked = programs.check(programs.read(sys.argv[1]), said)
planned = plans.plan(checked, programs.choose(checked, None), 1, said)
assert trial_keys.twins(planned.schedule) is None
"""


def main() -> int:
    """Measure, print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    few, many = (measure.Command([sys.executable, "-c", PLAN, str(peers.PROGRAM), tenths]) for tenths in ("10", "100"))
    once, tenfold = measure.in_turn([few, many], rounds)
    return measure.verdict(
        [
            measure.Check("100,000 trials, order and identity, CPU", once.cpu, "s", "asked for", MOST),
            measure.Check("1,000,000, CPU", tenfold.cpu, "s", "10 x 100,000", 10 * once.cpu, measure.LINEAR_MOST),
        ]
    )


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
