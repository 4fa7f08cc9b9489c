"""The order of trials: dear factors are whole plots in random order, the rest is shuffled within them.

In: how many whole plots, cheap points in each and replicates, and a seed.
Out: a stream of (block, plot, replicate, point).
Rule: the same numbers and seed give the same order; nothing is listed that is too long to list.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from enum import StrEnum

LONGEST_SHUFFLE = 1 << 20
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
) -> Iterator[Place]:
    """Every replicate of every point, in one of the orders; what is without plots has one plot.

    `keys` are the states that a plot needs, that beneath all others first: plots that share the first state are not
    parted, nor, among these, those that share the next, and so on. So each state is entered once, and no order enters
    fewer. Beyond `LONGEST_SORT` plots they are not sorted: between two of them every state may be left, where some
    state has to be.

    The data of a plot are laid out once (or as often as the workload spoils them), and drift over time falls on all
    cheap levels alike (split-plot with randomised blocks; Box, Hunter and Hunter, Statistics for Experimenters, ch. 9).
    """
    match how:
        case Order.PLANNED:
            runs = ((plot, replicate) for plot in _plots(plots, f"{seed}:plots", keys) for replicate in _to(repeat))
            for block, (plot, replicate) in enumerate(runs, start=1):
                for point in permutation(points(plot), f"{seed}:{plot}:{replicate}"):
                    yield Place(block, plot, replicate, point)
        case Order.BLOCKED:
            for replicate in _to(repeat):
                for plot in _plots(plots, f"{seed}:plots:{replicate}", keys):
                    for point in permutation(points(plot), f"{seed}:{plot}:{replicate}"):
                        yield Place(replicate, plot, replicate, point)
        case Order.RANDOM:
            for number in permutation(points(0) * repeat, f"{seed}:random"):
                yield Place(1, 0, number % repeat + 1, number // repeat)
        case Order.AS_WRITTEN:
            for point in range(points(0)):
                for replicate in _to(repeat):
                    yield Place(1, 0, replicate, point)


def _to(repeat: int) -> range:
    return range(1, repeat + 1)


def _plots(count: int, seed: str, keys: Keys | None) -> Iterator[int]:
    drawn = permutation(count, seed)
    return iter(_together(drawn, keys)) if keys is not None and count <= LONGEST_SORT else drawn


def _together(plots: Iterator[int], keys: Keys) -> list[int]:
    """Groups within groups, each where its first plot was drawn."""
    first: dict[tuple[Hashable, ...], int] = {}

    def places(plot: int) -> tuple[int, ...]:
        own = (*keys(plot), None)  # what needs less than others is drawn among them
        return tuple(first.setdefault(own[:depth], len(first)) for depth in range(1, len(own) + 1))

    return sorted(plots, key=places)


def permutation(count: int, seed: str) -> Iterator[int]:
    """0 … count - 1 in an order drawn by the seed."""
    if count <= LONGEST_SHUFFLE:
        numbers = array("L", range(count))
        random.Random(seed).shuffle(numbers)
        return iter(numbers)
    return _streamed(count, seed)


def _streamed(count: int, seed: str) -> Iterator[int]:
    """A Feistel network over the next even power of two, walking on where it leaves the range (Black and Rogaway)."""
    half = (count.bit_length() + 1) // 2
    mask = (1 << half) - 1
    keys = [random.Random(f"{seed}:{i}").getrandbits(64) | 1 for i in range(4)]
    for number in range(count):
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
