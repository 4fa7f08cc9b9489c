"""Count false positives of `zlang effects` (p < 0.05) if nothing differs, by the order of the trials.

In: nothing. Out: a table, and exit code 1 where a share is not within 4 and 6 % (by more than chance allows), or where
more than 5 % of the experiments have a note that an effect depends on another factor. The
experiments are those of `verdicts.py`; setups and blocks differ by 0, 0.5 and 1 times as much as trials. In the last
rows, two file systems in blocks are read and written in random order, and after each write the data are laid out again.
Usage: python bench/effects.py [SIMULATIONS] [--write]
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product

import measure
import numpy as np
from rates import percent, publish, simulations, span
from verdicts import LEAST, MOST, NOISES, TRIAL, designs

from zlang.plan.order import Order
from zlang.report import compare, effects, interactions
from zlang.report.design import Design, Row
from zlang.report.summary import Cell, TableColumn

SIGNIFICANT = 0.05
FILES: dict[str, tuple[Cell, ...]] = {"fs": ("ext4", "xfs"), "bs": (4096, 65536), "iodepth": (1, 16)}
"""The factors of the experiments in which data are laid out again."""
Designs = Callable[[int, float, int], Iterator[Design]]
"""Experiments with so many replicates, with that noise of setups and blocks, and how many."""


def reads_after_writes(repeat: int, noise: float, count: int) -> Iterator[Design]:
    """Experiments in which no level differs; a read uses the file that was laid out after the last write."""
    draw = np.random.default_rng([repeat, int(10 * noise)])
    columns = tuple(TableColumn(name, "word", "") for name in FILES)
    trials = list(product((True, False), FILES["bs"], FILES["iodepth"]))
    for _ in range(count):
        rows: list[Row] = []
        position = makings = 0
        for block in range(1, repeat + 1):
            of_block = draw.normal(0, noise * TRIAL)
            for place in draw.permutation(len(FILES["fs"])):
                file_system, file = makings + 1, makings + 2
                of_setups = draw.normal(0, noise * TRIAL, 2)
                makings, is_dirty = file, False
                for n in draw.permutation(len(trials)):
                    is_read, *levels = trials[n]
                    position += 1
                    if is_dirty:
                        makings = file = makings + 1
                        of_setups[1] = draw.normal(0, noise * TRIAL)
                    is_dirty = not is_read
                    log = of_block + of_setups.sum() + draw.normal(0, TRIAL)
                    own = (FILES["fs"][place], *levels)
                    if is_read:
                        rows.append(Row(str(own), "r", block, position, block, "", own, log, (file_system, file)))
        yield Design("read_iops", "1/s", columns, tuple(FILES.values()), tuple(rows), better="higher")


def shares(made: Designs, repeat: int, count: int) -> tuple[float, float | None, int, float]:
    """The shares of significant terms, within setups and of setups, the number of terms of setups; the share of notes.

    A note says that the effect of a factor depends on another one.
    """
    false, judged = Counter[bool](), Counter[bool]()
    notes = 0
    for noise in NOISES:
        for design in made(repeat, noise, count):
            sources = effects.effects(design)
            notes += any(interactions.dependences(design, sources, compare.factors(design, None, ())))
            for term in sources:
                if term.p is not None:
                    judged[term.is_of_setups] += 1
                    false[term.is_of_setups] += term.p < SIGNIFICANT
    of_setups = false[True] / judged[True] if judged[True] else None
    return false[False] / judged[False], of_setups, judged[True] or judged[False], notes / count / len(NOISES)


def _of_order(how: Order) -> Designs:
    return lambda repeat, noise, count: designs(how, repeat, noise, noise, count)


def main() -> int:
    count = simulations(2000)
    code = 0
    rows, every, every_note = [], [], []
    made: dict[str, tuple[Designs, int]] = {f"`{how}`": (_of_order(how), count) for how in Order}
    made["`blocked`, reads after writes"] = reads_after_writes, count
    for (name, (own, times)), repeat in product(made.items(), (3, 5, 10)):
        within, of_setups, judged, notes = shares(own, repeat, times)
        slack = 2.6 * math.sqrt(0.05 * 0.95 / judged)
        shares_known = [share for share in (within, of_setups) if share is not None]
        code |= any(not LEAST - slack <= share <= MOST + slack for share in shares_known)
        code |= notes > SIGNIFICANT + 2.6 * math.sqrt(0.05 * 0.95 / times / len(NOISES))
        every += shares_known
        every_note.append(notes)
        rows.append((f"{name}, n = {repeat}", percent(of_setups), percent(within), percent(notes)))
        print(*rows[-1], file=sys.stderr, flush=True)
    figures = [
        ("terms that `effects` calls significant although nothing differs", "4 to 6 %", span(every)),
        ("notes that an effect depends on another factor, although there is none", "at most 5 %", span(every_note)),
    ]
    publish("effects.py", ("order", "of setups", "within setups", "with a note"), rows, figures)
    return code


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
