"""The order of trials: dear factors are whole plots in random order, the rest is shuffled within them.

In: how many whole plots, cheap points in each and replicates, and a seed.
Out: a stream of (block, plot, replicate, point).
Rule: the same numbers and seed give the same order; nothing is listed that is too long to list.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

LONGEST_SHUFFLE = 1 << 20
_LEAST_DRAWN = 10
LONGEST_SORT = 10_000
"""So many plots are looked at one by one before the first of them."""
Keys = Callable[[int], tuple[Hashable, ...]]


class Order(StrEnum):
    """How trials are ordered.

    `PLANNED` measures a whole plot with all its replicates, each a block; in `BLOCKED` a block is a replicate of
    everything, so that whole plots are made anew for each; `RANDOM` has no plots, and neither has `AS_WRITTEN`, in
    which the first factor varies slowest and replicates run back to back.
    """

    PLANNED = "planned"
    BLOCKED = "blocked"
    RANDOM = "random"
    AS_WRITTEN = "as-written"

    @property
    def has_plots(self) -> bool:
        """Whether trials of the same dear levels stay together."""
        return self in {Order.PLANNED, Order.BLOCKED}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a trial stands: its block, the whole plot, the replicate, and the cheap point."""

    block: int
    plot: int
    replicate: int
    point: int


def order(
    plots: int,
    points: Callable[[int], int],
    repeat: int,
    seed: int,
    keys: Keys | None = None,
    how: Order = Order.PLANNED,
    start: int = 0,
) -> Iterator[Place]:
    """Every replicate of every point from one on, in one of the orders; what is without plots has one plot.

    `keys` are the states that a plot needs, that beneath all others first: plots that share the first state are not
    parted, nor, among these, those that share the next, and so on. So each state is entered once, and no order enters
    fewer. Beyond `LONGEST_SORT` plots they are not sorted: between two of them every state may be left, where some
    state has to be.

    The data of a plot are laid out once (or as often as the workload spoils them), and drift over time falls on all
    cheap levels alike (split-plot with randomised blocks; Box, Hunter and Hunter, Statistics for Experimenters, ch. 9).
    """
    match how:
        case Order.PLANNED | Order.BLOCKED:
            yield from _by_plots(plots, points, repeat, seed, keys, how, start)
        case Order.RANDOM:
            for number in permutation(points(0) * repeat, f"{seed}:random", start):
                yield Place(1, 0, number % repeat + 1, number // repeat)
        case Order.AS_WRITTEN:
            for number in range(start, points(0) * repeat):
                yield Place(1, 0, number % repeat + 1, number // repeat)


def _by_plots(
    plots: int,
    points: Callable[[int], int],
    repeat: int,
    seed: int,
    keys: Keys | None,
    how: Order,
    start: int,
) -> Iterator[Place]:
    """One whole plot after the other; those before `start` are passed over."""
    is_planned = how is Order.PLANNED
    visited = [_to(repeat)] if is_planned else [range(replicate, replicate + 1) for replicate in _to(repeat)]
    for replicates in visited:
        passed = 0
        if plots > LONGEST_SHUFFLE:  # only plots that can be listed differ in size
            size = points(0) * len(replicates)
            passed = min(start // size, plots)
            start -= passed * size
        drawn = sequence(plots, seed, keys, None if is_planned else replicates[0], passed)
        for at, plot in enumerate(drawn, start=passed):
            for replicate in replicates:
                block = at * repeat + replicate if is_planned else replicate
                if start < points(plot):
                    for point in permutation(points(plot), f"{seed}:{plot}:{replicate}", start):
                        yield Place(block, plot, replicate, point)
                start = max(0, start - points(plot))


def sampled(
    plots: int,
    points: Callable[[int], int],
    repeat: int,
    seed: int,
    keys: Keys | None,
    how: Order,
    count: int,
) -> Iterator[tuple[float, Place | None, Place]]:
    """Places with those before them, drawn from an order, and how many places of the order each stands for.

    What is ordered as it is written is for `written`.
    Those that enter a whole plot and those within one are drawn apart, up to `count` of each kind. It costs the same
    for every order that is too long to be gone through.
    """
    source = random.Random(f"{seed}:sample")
    sizes = [points(plot) for plot in range(plots)] if plots <= LONGEST_SORT else None
    total = repeat * (sum(sizes) if sizes is not None else plots * points(0))

    def drawn(plot: int, but: tuple[int, int] | None = None) -> Place:
        while True:
            point, replicate = source.randrange(points(plot)), source.randint(1, repeat)
            if (point, replicate) != but:
                return Place(1, plot, replicate, point)

    if how is Order.RANDOM:
        yield 1, None, drawn(0)
        for _ in range(min(count, total - 1)):
            place = drawn(0)
            yield (total - 1) / min(count, total - 1), drawn(0, (place.point, place.replicate)), place
        return
    visits = plots * repeat if how is Order.BLOCKED else plots
    known = list(sequence(plots, seed, keys, 1 if how is Order.BLOCKED else None)) if sizes is not None else None
    yield 1, None, drawn(known[0] if known else 0)
    for _ in range(min(count, visits - 1)):
        at = source.randrange(1, visits)
        one_plot, plot = (known[(at - 1) % plots], known[at % plots]) if known else source.sample(range(plots), 2)
        yield (visits - 1) / min(count, visits - 1), drawn(one_plot), drawn(plot)
    weights = [size * repeat - visits // plots for size in sizes] if sizes is not None else None
    for _ in range(min(count, total - visits)):
        plot = source.choices(range(plots), weights)[0] if weights else source.randrange(plots)
        place = drawn(plot)
        yield (total - visits) / min(count, total - visits), drawn(plot, (place.point, place.replicate)), place


def written(
    points: int, repeat: int, seed: int, turns: Sequence[int], count: int
) -> Iterator[tuple[float, Place | None, Place]]:
    """The same of `points` as they are written.

    `turns` are after how many points each factor but the first begins anew, the last factor first: what changes then is
    drawn apart, for it is seldom and dear.
    """
    source = random.Random(f"{seed}:sample")
    total = points * repeat
    steps = list(dict.fromkeys([1, repeat, *(repeat * turn for turn in turns)]))
    most = max(_LEAST_DRAWN, count // len(steps))
    yield 1, None, Place(1, 0, 1, 0)
    for step, longer in zip(steps, (*steps[1:], total), strict=True):
        size = (total - 1) // step - (total - 1) // longer
        numbers = _multiples(step, longer, total, most, source)
        for number in numbers:
            one, place = (Place(1, 0, at % repeat + 1, at // repeat) for at in (number - 1, number))
            yield size / len(numbers), one, place


def _multiples(step: int, longer: int, below: int, most: int, source: random.Random) -> list[int]:
    """Numbers that `step` divides and `longer` does not: all, or if there are too many, `most` of them."""
    last = (below - 1) // step
    if last <= most:
        return [number for number in range(step, below, step) if number % longer]
    found: list[int] = []
    while len(found) < most:
        number = step * source.randint(1, last)
        found += [number] if number % longer else []
    return found


def sequence(plots: int, seed: int, keys: Keys | None, replicate: int | None = None, start: int = 0) -> Iterator[int]:
    """Whole plots in the order in which they are measured, or in that of a block where each is measured in each."""
    name = f"{seed}:plots" if replicate is None else f"{seed}:plots:{replicate}"
    if keys is not None and plots <= LONGEST_SORT:
        return islice(_together(permutation(plots, name), keys), start, None)
    return permutation(plots, name, start)


def _to(repeat: int) -> range:
    return range(1, repeat + 1)


def _together(plots: Iterator[int], keys: Keys) -> list[int]:
    """Groups within groups, each where its first plot was drawn."""
    first: dict[tuple[Hashable, ...], int] = {}

    def places(plot: int) -> tuple[int, ...]:
        own = (*keys(plot), None)  # what needs less than others is drawn among them
        return tuple(first.setdefault(own[:depth], len(first)) for depth in range(1, len(own) + 1))

    return sorted(plots, key=places)


def permutation(count: int, seed: str, start: int = 0) -> Iterator[int]:
    """0 … count - 1 in an order drawn by the seed, from a place in it on."""
    if count <= LONGEST_SHUFFLE:
        numbers = array("L", range(count))
        random.Random(seed).shuffle(numbers)
        return islice(numbers, start, None)
    return _streamed(count, seed, start)


def _streamed(count: int, seed: str, start: int = 0) -> Iterator[int]:
    """A Feistel network over the next even power of two, walking on where it leaves the range (Black and Rogaway)."""
    half = (count.bit_length() + 1) // 2
    mask = (1 << half) - 1
    keys = [random.Random(f"{seed}:{i}").getrandbits(64) | 1 for i in range(4)]
    for number in range(start, count):
        value = number
        while True:
            left, right = value >> half, value & mask
            for key in keys:
                mixed = ((right + 1) * key * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
                left, right = right, left ^ ((mixed >> 29) & mask)
            value = (left << half) | right
            if value < count:
                break
        yield value
