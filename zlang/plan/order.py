"""The order of trials: whole plots in random order, and the trials within each shuffled.

In: the numbers of whole plots, easy-to-change points in each, replicates and search rounds at each point, and a seed.
Out: a stream of places. Rule: the same numbers and seed give the same order; a list that would be too long is never
built.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from enum import StrEnum
from itertools import islice, pairwise

from zlang.frozen import frozen
from zlang.hints import NamedTuple, TypeVar

LONGEST_SHUFFLE = 1 << 20
_LEAST_DRAWN = 10
LONGEST_SORT = 10_000
"""The most plots that are sorted, which examines all of them before the first."""
T = TypeVar("T")
Keys = Callable[[int], tuple[Hashable, ...]]
Rounds = Sequence[Sequence[int]]
"""The levels of a search, by the round in which they may be measured."""


class Order(StrEnum):
    """The orders of trials.

    `PLANNED` measures each whole plot with all its replicates, each replicate a block. In `BLOCKED` a block is one
    replicate of everything, so whole plots are made again in each block. `RANDOM` has no plots. Neither has
    `AS_WRITTEN`, in which the first factor varies slowest and replicates run back to back.
    """

    PLANNED = "planned"
    BLOCKED = "blocked"
    RANDOM = "random"
    AS_WRITTEN = "as-written"

    @property
    def has_plots(self) -> bool:
        """Whether trials with the same levels of the hard-to-change factors stay together."""
        return self in {Order.PLANNED, Order.BLOCKED}


class Place(NamedTuple):
    """The position of a trial: its block, whole plot, replicate, easy-to-change point, and search level."""

    block: int
    plot: int
    replicate: int
    point: int
    level: int = 0


@frozen
class Layout:
    """The sizes of a plan to be ordered, and the seed: the numbers of whole plots, points in each, and replicates.

    `keys` are the states that a plot needs, the lowest first. `rounds` are those of a search at each point. If it
    `is_in_passes`, the levels are passes over the points of a plot, one after the other.
    """

    plots: int
    points: Callable[[int], int]
    repeat: int
    seed: int
    keys: Keys | None = None
    rounds: Rounds = ((0,),)
    is_in_passes: bool = False

    @property
    def levels(self) -> list[int]:
        """The levels of the search, in the order of its rounds."""
        return [level for levels in self.rounds for level in levels]

    @property
    def passes(self) -> int:
        """The number of passes through the points of a plot: one for each round and replicate."""
        return len(self.rounds) * self.repeat


def order(layout: Layout, how: Order = Order.PLANNED, start: int = 0) -> Iterator[Place]:
    """Every replicate of every point in an order, from the place `start` on; an order without plots has one plot.

    Plots that share the first state they need stay together, and within these the plots that share the next one, and so
    on. So each state is entered once, which is the minimum; all such orders are equally likely. More than
    `LONGEST_SORT` plots are not sorted: any state may then be left between two of them.

    The earlier rounds of a search decide each later one, so all replicates of a round come before the next round:
    within a plot, or among all points if there are no plots. Each round is shuffled as a block of its own.

    The data of a plot are laid out once (or whenever they are invalidated), and drift over time affects all
    easy-to-change levels equally (split-plot with randomised blocks; Box, Hunter and Hunter, Statistics for
    Experimenters, ch. 9).
    """
    repeat = layout.repeat
    if how.has_plots:
        yield from _by_plots(layout, how, start)
    elif how is Order.RANDOM:
        for nth, levels in enumerate(layout.rounds):
            count = layout.points(0) * repeat
            for number, level in _shuffled(count, levels, _drawn(layout.seed, "random", nth), start):
                yield Place(nth + 1, 0, number % repeat + 1, number // repeat, level)
            start = max(0, start - count * len(levels))
    else:
        levels = layout.levels
        for number in range(start, layout.points(0) * len(levels) * repeat):
            yield _place_as_written(repeat, levels, number)


def _by_plots(layout: Layout, how: Order, start: int) -> Iterator[Place]:
    """Yield one whole plot after another; skip the places before `start`."""
    is_planned = how is Order.PLANNED
    points, passes, rounds = layout.points, layout.passes, layout.rounds
    mixed = _in_passes if layout.is_in_passes else _shuffled
    for first, last in [(0, passes)] if is_planned else ((item, item + 1) for item in range(passes)):
        passed = 0
        if layout.plots > LONGEST_SHUFFLE:  # plots differ in size only if they can be listed
            times = layout.repeat * len(layout.levels) if is_planned else len(rounds[first // layout.repeat])
            passed = min(start // (points(0) * times), layout.plots)
            start -= passed * points(0) * times
        drawn = sequence(layout, None if is_planned else first % layout.repeat + 1, passed)
        for at, plot in enumerate(drawn, start=passed):
            for item in range(first, last):
                nth, replicate = divmod(item, layout.repeat)
                count = points(plot) * len(rounds[nth])
                block = (at * passes if is_planned else 0) + item + 1
                if start < count:
                    name = _drawn(layout.seed, plot, replicate + 1, nth)
                    for point, level in mixed(points(plot), rounds[nth], name, start):
                        yield Place(block, plot, replicate + 1, point, level)
                start = max(0, start - count)


def sampled(layout: Layout, how: Order, count: int) -> Iterator[tuple[float, Place | None, Place]]:
    """Sample an order: yield the weight of each drawn place, the place before it, and the place itself.

    The weight is the number of places that a drawn one represents. For `AS_WRITTEN` use `written`. Places that enter a
    whole plot and those within one are drawn separately, up to `count` of each. The cost is the same for every order
    that is too long to be listed.
    """
    plots, repeat, levels = layout.plots, layout.repeat, layout.levels
    source = random.Random(f"{layout.seed}:sample")

    def points(plot: int) -> int:
        return layout.points(plot) * len(levels)

    def at(plot: int, replicate: int, number: int) -> Place:
        return Place(1, plot, replicate, number // len(levels), levels[number % len(levels)])

    def drawn(plot: int, but: Place | None = None) -> Place:
        while True:
            number, replicate = source.randrange(points(plot)), source.randint(1, repeat)
            if (result := at(plot, replicate, number)) != but:
                return result

    sizes = [points(plot) for plot in range(plots)] if plots <= LONGEST_SORT else None
    total = repeat * (sum(sizes) if sizes is not None else plots * points(0))
    if how is Order.RANDOM:
        yield 1, None, drawn(0)
        for _ in range(min(count, total - 1)):
            place = drawn(0)
            yield (total - 1) / min(count, total - 1), drawn(0, place), place
        return
    visits = plots * layout.passes if how is Order.BLOCKED else plots
    first_pass = list(sequence(layout, 1 if how is Order.BLOCKED else None)) if sizes is not None else None
    yield 1, None, drawn(first_pass[0] if first_pass else 0)
    for _ in range(min(count, visits - 1)):
        nth = source.randrange(1, visits)
        one_plot, plot = (
            (first_pass[(nth - 1) % plots], first_pass[nth % plots]) if first_pass else source.sample(range(plots), 2)
        )
        yield (visits - 1) / min(count, visits - 1), drawn(one_plot), drawn(plot)
    weights = [size * repeat - visits // plots for size in sizes] if sizes is not None else None
    for _ in range(min(count, total - visits)):
        plot = source.choices(range(plots), weights)[0] if weights else source.randrange(plots)
        result = drawn(plot)
        yield (total - visits) / min(count, total - visits), drawn(plot, result), result


def written(layout: Layout, turns: Sequence[int], count: int) -> Iterator[tuple[float, Place | None, Place]]:
    """Sample the order `AS_WRITTEN`, as `sampled` does for the others.

    `turns` has, for each factor but the first, the number of points after which it begins anew, the last factor first.
    The trials at which a factor changes are drawn separately, because they are rare and slow.
    """
    source, levels = random.Random(f"{layout.seed}:sample"), layout.levels
    each = layout.repeat * len(levels)
    total = layout.points(0) * each
    steps = list(dict.fromkeys([1, layout.repeat, each, *(each * turn for turn in turns)]))
    most = max(_LEAST_DRAWN, count // len(steps))
    yield 1, None, _place_as_written(layout.repeat, levels, 0)
    for step, longer in zip(steps, (*steps[1:], total), strict=True):
        size = (total - 1) // step - (total - 1) // longer
        numbers = _multiples(step, longer, total, most, source)
        for number in numbers:
            item, place = (_place_as_written(layout.repeat, levels, at) for at in (number - 1, number))
            yield size / len(numbers), item, place


def sampled_neighbours(
    items: Sequence[T], plot_of: Callable[[T], object], seed: int, count: int
) -> Iterator[tuple[float, T | None, T]]:
    """Sample listed trials, as `sampled` does, for layouts in which some places have no trial."""
    source, pairs = random.Random(f"{seed}:sample"), list(pairwise(items))
    changes = [before != after for before, after in pairwise(map(plot_of, items))]
    yield 1, None, items[0]
    for enters in (True, False):
        some = [pair for pair, changed in zip(pairs, changes, strict=True) if changed is enters]
        drawn = source.sample(some, min(count, len(some)))
        for before, item in drawn:
            yield len(some) / len(drawn), before, item


def _place_as_written(repeat: int, levels: Sequence[int], number: int) -> Place:
    point, replicate = divmod(number, repeat)
    return Place(1, 0, replicate + 1, point // len(levels), levels[point % len(levels)])


def _multiples(step: int, longer: int, below: int, most: int, source: random.Random) -> list[int]:
    """The multiples of `step` below `below` that `longer` does not divide; if too many, a random `most` of them."""
    last = (below - 1) // step
    if last <= most:
        return [number for number in range(step, below, step) if number % longer]
    result: list[int] = []
    while len(result) < most:
        number = step * source.randint(1, last)
        result += [number] if number % longer else []
    return result


def sequence(layout: Layout, replicate: int | None = None, start: int = 0) -> Iterator[int]:
    """Whole plots in the order of measurement; `replicate` selects the block, if every block measures every plot."""
    name = f"{layout.seed}:plots" if replicate is None else f"{layout.seed}:plots:{replicate}"
    if layout.keys is not None and layout.plots <= LONGEST_SORT:
        return islice(_grouped(layout.plots, layout.keys, random.Random(name)), start, None)
    return permutation(layout.plots, name, start)


def _drawn(seed: int, *parts: str | int) -> str:
    """The key that seeds a shuffle; its last part is the round of a search, omitted for the first round."""
    return ":".join(map(str, (seed, *parts) if parts[-1] else (seed, *parts[:-1])))


def _shuffled(count: int, levels: Sequence[int], drawn: str, start: int) -> Iterator[tuple[int, int]]:
    """Shuffle all pairs of a number below `count` and a level, and yield them from the place `start` on."""
    for place in permutation(count * len(levels), drawn, start):
        yield place // len(levels), levels[place % len(levels)]


def _in_passes(count: int, levels: Sequence[int], drawn: str, start: int) -> Iterator[tuple[int, int]]:
    """Shuffle the numbers below `count` once for each level, and yield the levels one after the other."""
    for nth, level in enumerate(levels):
        for number in permutation(count, f"{drawn}:{level}", max(0, start - nth * count)):
            yield number, level


def _grouped(plots: int, keys: Keys, source: random.Random) -> list[int]:
    """Sort plots into groups within groups; within each group every order of its members is equally likely.

    A group counts as one member whatever its size, so large groups do not tend to come first.
    """
    drawn: dict[tuple[Hashable, ...], float] = {}

    def places(plot: int) -> tuple[float, ...]:
        own = (*keys(plot), (plot,))  # a plot that needs fewer states is a member of its own
        return tuple(drawn.setdefault(own[:depth], source.random()) for depth in range(1, len(own) + 1))

    return sorted(range(plots), key=places)


def permutation(count: int, seed: str, start: int = 0) -> Iterator[int]:
    """The numbers 0 … count - 1 in an order drawn from the seed, from the place `start` on."""
    if count <= LONGEST_SHUFFLE:
        numbers = array("L", range(count))
        random.Random(seed).shuffle(numbers)
        return islice(numbers, start, None)
    return _streamed(count, seed, start)


def _streamed(count: int, seed: str, start: int = 0) -> Iterator[int]:
    """A Feistel network over the next even power of two, walking cycles for values out of range (Black and Rogaway)."""
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
