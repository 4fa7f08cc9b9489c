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

LONGEST_SHUFFLE = 1 << 20
LONGEST_SORT = 10_000
"""So many plots are looked at one by one before the first of them."""
Keys = Callable[[int], tuple[Hashable, ...]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a trial stands: its block, the whole plot, the replicate, and the cheap point."""

    block: int
    plot: int
    replicate: int
    point: int


def order(
    plots: int, points: Callable[[int], int], repeat: int, seed: int, keys: Keys | None = None
) -> Iterator[Place]:
    """Whole plots in random order; in each, every replicate is a block of all its points in an order of its own.

    `keys` are the levels of a plot's factors by what it takes to change them, the dearest first: plots that share the
    dearest are not parted, nor, among these, those that share the next, and so on.

    The data of a plot are laid out once (or as often as the workload spoils them), and drift over time falls on all
    cheap levels alike (split-plot with randomised blocks; Box, Hunter and Hunter, Statistics for Experimenters, ch. 9).
    """
    block = 0
    drawn = permutation(plots, f"{seed}:plots")
    for plot in _together(drawn, keys) if keys is not None and plots <= LONGEST_SORT else drawn:
        for replicate in range(1, repeat + 1):
            block += 1
            for point in permutation(points(plot), f"{seed}:{plot}:{replicate}"):
                yield Place(block, plot, replicate, point)


def _together(plots: Iterator[int], keys: Keys) -> list[int]:
    """Groups within groups, each where its first plot was drawn."""
    first: dict[tuple[Hashable, ...], int] = {}

    def places(plot: int) -> tuple[int, ...]:
        own = keys(plot)
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
