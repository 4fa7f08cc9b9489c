"""Simulate runs: designs with known effects, noise and faults."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence

from zlang.report.design import Design, Row
from zlang.report.summary import Cell, TableColumn

Levels = tuple[Cell, ...]


def simulated(
    factors: Sequence[tuple[str, Sequence[Cell]]],
    repeat: int,
    log: Callable[[Levels, int, int], float],
    seed: int = 1,
    *,
    noise: float = 0.02,
    whole: int = 0,
    shuffled: bool = True,
    is_blocked: bool = False,
    host: Callable[[Levels], str] = lambda _: "",
) -> Design:
    """Simulate every combination, `repeat` times; `log` gets the levels, the replicate and the position in the order.

    What the first `whole` factors say is set up once for each combination of them, in each replicate where the order
    `is_blocked`; `shuffled` as `zlang plan` does it.
    """
    draw = random.Random(seed)
    rows: list[Row] = []
    hard_to_change = list(itertools.product(*(levels for _, levels in factors[:whole])))
    if shuffled:
        draw.shuffle(hard_to_change)
    visits = [(plot, replicate) for plot in hard_to_change for replicate in range(1, repeat + 1)]
    if is_blocked:
        visits.sort(key=lambda visit: visit[1])
    for number, (plot, replicate) in enumerate(visits, 1):
        block = replicate if is_blocked else number
        setups = ((number if is_blocked else hard_to_change.index(plot) + 1),) if whole else ()
        points = list(itertools.product(*(levels for _, levels in factors[whole:])))
        if shuffled:
            draw.shuffle(points)
        for point in points:
            levels = (*plot, *point)
            place = len(rows) + 1
            value = log(levels, replicate, place) + draw.gauss(0, noise)
            rows.append(Row(str(levels), "r", replicate, place, block, host(levels), levels, value, setups))
    types = {name: "word" if isinstance(levels[0], str) else "count" for name, levels in factors}
    columns = tuple(TableColumn(name, type_, "") for name, type_ in types.items())
    return Design(
        metric="read_iops",
        unit="1/s",
        factors=columns,
        levels=tuple(tuple(levels) for _, levels in factors),
        rows=tuple(rows),
        better="higher",
    )
