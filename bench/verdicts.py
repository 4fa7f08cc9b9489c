"""Count differences that `zlang compare` finds where there are none, by the order of the trials.

In: nothing. Out: a table, the mean over the noises of setups and blocks with the least and the most, and exit code 1
where a share is not within 4 and 6 % (by more than chance allows). Each experiment has two pools with three datasets
each and two block sizes, in the order in which zlang plans it; everything that is set up, each block and each trial
varies. `-` stands for no verdict: set up once. Usage: python bench/verdicts.py [SIMULATIONS] [--write]
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import measure
import numpy as np
from rates import percent, publish, simulations, span

from zlang.plan.order import Layout, Order, order
from zlang.report import compare
from zlang.report.design import Design, Row
from zlang.report.summary import Cell, TableColumn

FACTORS = ("pool", "dataset", "bs")
LEVELS: tuple[tuple[Cell, ...], ...] = (("p1", "p2"), ("d1", "d2", "d3"), (4096, 65536))
PAIRS: dict[str, tuple[str, str]] = {"pool": ("p1", "p2"), "dataset": ("d1", "d3"), "bs": ("4096", "65536")}
RUNS = "runs"
PLOTS = list(product(*LEVELS[:2]))
POINTS = list(product(*LEVELS))
TRIAL = 0.1
NOISES = (0.0, 0.5, 1.0)
LEAST, MOST = 0.04, 0.06


def placed(how: Order, repeat: int, seed: int) -> Iterator[tuple[int, int, tuple[Cell, ...]]]:
    """Block, replicate and levels of each trial, as it is planned."""
    if how.has_plots:
        layout = Layout(len(PLOTS), lambda _: len(LEVELS[2]), repeat, seed, lambda plot: PLOTS[plot])
    else:
        layout = Layout(1, lambda _: len(POINTS), repeat, seed)
    for place in order(layout, how):
        levels = (*PLOTS[place.plot], LEVELS[2][place.point]) if how.has_plots else POINTS[place.point]
        yield place.block, place.replicate, levels


def setups_of_trials(how: Order, trials: Sequence[tuple[int, int, tuple[Cell, ...]]]) -> Iterator[tuple[int, int]]:
    """The pool and the dataset on which each trial stands; one in the needed state is not created again."""
    pool = dataset = makings = 0
    before: tuple[int, int, tuple[Cell, ...]] | None = None
    for trial in trials:
        is_new = before is None or (how is Order.BLOCKED and trial[0] != before[0])
        if is_new or before is None or trial[2][0] != before[2][0]:
            pool, dataset, makings = makings + 1, makings + 2, makings + 2
        elif trial[2][1] != before[2][1]:
            dataset = makings = makings + 1
        before = trial
        yield pool, dataset


def designs(how: Order, repeat: int, setup: float, block: float, count: int) -> Iterator[Design]:
    """Experiments in which no level differs from another."""
    draw = np.random.default_rng([list(Order).index(how), repeat, int(10 * setup), int(10 * block)])
    columns = tuple(TableColumn(name, "word", "") for name in FACTORS)
    for seed in range(count):
        trials = list(placed(how, repeat, seed))
        makings = list(setups_of_trials(how, trials))
        of_setups = draw.normal(0, setup * TRIAL, max(dataset for _, dataset in makings) + 1)
        of_blocks = draw.normal(0, block * TRIAL, max(number for number, *_ in trials) + 1)
        noise = draw.normal(0, TRIAL, len(trials))
        rows = [
            Row(
                str(levels),
                "r",
                replicate,
                n,
                number,
                "",
                levels,
                of_setups[list(made)].sum() + of_blocks[number] + own,
                made,
            )
            for n, ((number, replicate, levels), made, own) in enumerate(zip(trials, makings, noise, strict=True), 1)
        ]
        yield Design("read_iops", "1/s", columns, LEVELS, tuple(rows), better="higher")


def shares(how: Order, repeat: int, setup: float, block: float, count: int) -> list[float | None]:
    """The share of verdicts that levels of each factor, and runs, differ; None where there is never a verdict."""
    false: Counter[str] = Counter()
    judged: Counter[str] = Counter()
    before: Design | None = None
    for design in designs(how, repeat, setup, block, count):
        every = [
            (factor, comparison)
            for factor, pair in PAIRS.items()
            for comparison in compare.factors(design, factor, pair)
        ]
        run = replace(design, rows=tuple(replace(row, run="s") for row in design.rows))
        # Without blocks, what varies from block to block is a change of the whole run, of which nothing is known.
        if before is not None and (how.has_plots or not block):
            every.append((RUNS, compare.compare_runs(("r", "s"), before, run)))
        before = design
        for name, comparison in every:
            judged[name] += comparison.is_judged
            false[name] += comparison.is_significant
    return [false[name] / judged[name] if judged[name] else None for name in (*FACTORS, RUNS)]


def main() -> int:
    count = simulations(1000)
    slack = 2.6 * math.sqrt(0.05 * 0.95 / count)
    code = 0
    rows = []
    means: list[list[float | None]] = []
    cells: list[list[float | None]] = []
    for how, repeat in product(Order, (3, 5, 10)):
        every = [shares(how, repeat, setup, block, count) for setup, block in product(NOISES, NOISES)]
        cells_of_row = []
        cells += every
        means.append([])
        for of_factor in zip(*every, strict=True):
            judged = [share for share in of_factor if share is not None]
            code |= any(not LEAST - slack <= share <= MOST + slack for share in judged)
            mean = sum(judged) / len(judged) if judged else None
            means[-1].append(mean)
            cells_of_row.append(
                percent(mean) + (f" ({percent(min(judged))} to {percent(max(judged))})" if judged else "")
            )
        rows.append((f"`{how}`, n = {repeat}", *cells_of_row))
        print(*rows[-1], file=sys.stderr, flush=True)
    kinds = ("a pool", "a dataset, nested in pools", "a block size, easy to change", "two runs")
    figures = [
        (
            f"false verdicts on {label}, by order and n (at each noise)",
            f"{100 * LEAST:.0f} to {100 * MOST:.0f} %",
            f"{span(averages)} ({span(every)})",
        )
        for label, every, averages in zip(kinds, zip(*cells, strict=True), zip(*means, strict=True), strict=True)
    ]
    publish("verdicts.py", ("order", "pool", "dataset", "block size", "two runs"), rows, figures)
    return code


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
