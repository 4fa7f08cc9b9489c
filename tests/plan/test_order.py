"""Test the order of trials: each occurs once, the order is repeatable, and replicates are spread over blocks."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from unittest import mock

import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.plan import order
from zlang.plan.order import Layout, Order, Place
from zlang.plan.plan import Setup
from zlang.plan.state import Make, State
from zlang.space import bisection


@given(st.sampled_from(Order), st.lists(st.integers(0, 6), max_size=6), st.integers(1, 4), st.integers())
@settings(deadline=None)
def test_every_trial_comes_once(how: Order, plots: list[int], repeat: int, seed: int) -> None:
    sizes = plots if how.has_plots else [sum(plots)]

    def places() -> list[Place]:
        return list(order.order(Layout(len(sizes), sizes.__getitem__, repeat, seed), how))

    seen = Counter((p.plot, p.replicate, p.point) for p in places())
    assert set(seen.values()) <= {1}
    assert len(places()) == sum(plots) * repeat
    assert places() == places()


@given(
    st.sampled_from(Order),
    st.lists(st.integers(1, 6), min_size=1, max_size=6)
    | st.builds(lambda n, size: [size] * n, st.integers(1, 9), st.integers(1, 9)),
    st.integers(1, 4),
    st.integers(1, 5),
    st.data(),
)
@settings(deadline=None)
def test_an_order_can_be_entered_anywhere(
    how: Order, plots: list[int], repeat: int, levels: int, draw: st.DataObject
) -> None:
    sizes = plots if how.has_plots else [sum(plots)]
    start = draw.draw(st.integers(0, sum(plots) * repeat * levels))
    rounds = bisection.rounds(levels)
    # A plan too long to be shuffled has plots of equal size.
    with mock.patch.object(order, "LONGEST_SHUFFLE", 4 if len(set(sizes)) == 1 else 1000):
        whole, tail = (
            list(order.order(Layout(len(sizes), sizes.__getitem__, repeat, 1, rounds=rounds), how, at))
            for at in (0, start)
        )
    assert tail == whole[start:]


@given(
    st.sampled_from(Order), st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 3), st.integers(1, 9)
)
@settings(deadline=None)
def test_a_round_of_a_search_is_whole_before_the_next(how: Order, plots: list[int], repeat: int, levels: int) -> None:
    sizes = plots if how.has_plots else [sum(plots)]
    rounds = bisection.rounds(levels)
    numbers = {level: number for number, round_ in enumerate(rounds) for level in round_}
    places = list(order.order(Layout(len(sizes), sizes.__getitem__, repeat, 1, rounds=rounds), how))
    seen = Counter((p.plot, p.replicate, p.point, p.level) for p in places)
    assert set(seen.values()) == {1}
    assert len(places) == sum(plots) * repeat * levels
    by_point: dict[tuple[int, int], list[int]] = {}
    for place in places:
        by_point.setdefault((place.plot, place.point), []).append(numbers[place.level])
    assert all(numbers == sorted(numbers) for numbers in by_point.values())


def test_a_plot_is_not_left_before_it_is_done_and_its_replicates_are_blocks() -> None:
    places = list(order.order(Layout(5, lambda _: 7, 3, seed=1)))
    assert [p.plot for p in places] == [plot for plot in dict.fromkeys(p.plot for p in places) for _ in range(21)]
    blocks: dict[int, list[Place]] = {}
    for place in places:
        blocks.setdefault(place.block, []).append(place)
    assert len(blocks) == 15
    for block in blocks.values():
        assert len({(p.plot, p.replicate) for p in block}) == 1
        assert sorted(p.point for p in block) == list(range(7))


def test_blocks_are_shuffled_each_in_its_own_way() -> None:
    places = list(order.order(Layout(1, lambda _: 30, 3, seed=1)))
    orders = {tuple(p.point for p in places if p.replicate == r) for r in (1, 2, 3)}
    assert len(orders) == 3
    assert tuple(range(30)) not in orders


def test_another_seed_is_another_order() -> None:
    assert list(order.order(Layout(1, lambda _: 30, 1, seed=1))) != list(
        order.order(Layout(1, lambda _: 30, 1, seed=2))
    )


@given(st.integers(2, 3000), st.text(max_size=5))
@settings(deadline=None, max_examples=50)
def test_a_streamed_permutation_is_one(count: int, seed: str) -> None:
    numbers = list(order._streamed(count, seed))
    assert sorted(numbers) == list(range(count))
    assert numbers == list(order._streamed(count, seed))


def test_a_long_permutation_is_not_listed() -> None:
    stream = order.permutation(10**12, "a seed")
    first = [next(stream) for _ in range(1000)]
    assert len(set(first)) == 1000
    assert all(0 <= number < 10**12 for number in first)
    assert max(first) > 10**11


def test_a_block_has_every_plot_once_with_one_replicate_of_its_points() -> None:
    places = list(order.order(Layout(5, lambda _: 7, 3, seed=1), Order.BLOCKED))
    for replicate, block in itertools.groupby(places, lambda p: p.block):
        plots = [(plot, list(ones)) for plot, ones in itertools.groupby(block, lambda p: p.plot)]
        assert sorted(plot for plot, _ in plots) == list(range(5))
        assert {p.replicate for _, ones in plots for p in ones} == {replicate}
    assert len({tuple(dict.fromkeys(p.plot for p in places if p.block == block)) for block in (1, 2, 3)}) == 3


def test_as_written_replicates_run_back_to_back_and_random_has_no_plots() -> None:
    written = list(order.order(Layout(1, lambda _: 4, 2, seed=1), Order.AS_WRITTEN))
    assert [(p.point, p.replicate) for p in written] == list(itertools.product(range(4), (1, 2)))
    drawn = list(order.order(Layout(1, lambda _: 40, 2, seed=1), Order.RANDOM))
    assert {p.block for p in (*written, *drawn)} == {1}
    assert sum(a.point == b.point for a, b in itertools.pairwise(drawn)) < 10


def chains() -> st.SearchStrategy[list[tuple[str, ...]]]:
    """Return what plots need: pools, datasets on them, files on those; a plot may need fewer levels."""
    pool, some, file = (st.sampled_from(names) for names in (["p1", "p2", "q1"], ["s1", "s2"], ["f1", "f2"]))
    chain = st.one_of(st.tuples(pool), st.tuples(pool, some), st.tuples(pool, some, file))
    return st.lists(chain, unique=True, min_size=1, max_size=5)


def setups(chain: tuple[str, ...]) -> list[Setup]:
    """Create setups: a different number is another state of the same resource, a different path another resource."""
    keys = ["/".join(name[0] for name in chain[: i + 1]) for i in range(len(chain))]
    signatures = ["/".join(chain[: i + 1]) for i in range(len(chain))]
    parents = [None, *keys]
    return [
        Setup(signature, key, parent, key, (), ())
        for signature, key, parent in zip(signatures, keys, parents, strict=False)
    ]


def made(needs: Iterable[tuple[str, ...]]) -> list[str]:
    """Return the resources that must be created, by the algorithm used for real runs."""
    state, signatures = State(), list[str]()
    for chain in needs:
        for change in state.changes(setups(chain)):
            state = state.after(change)
            signatures += [change.setup.signature] if isinstance(change, Make) else []
    return signatures


@given(chains(), st.integers())
@settings(deadline=None, max_examples=60)
def test_no_order_makes_less(needs: list[tuple[str, ...]], seed: int) -> None:
    drawn = [p.plot for p in order.order(Layout(len(needs), lambda _: 1, 1, seed, needs.__getitem__))]
    planned = made(needs[plot] for plot in drawn)
    assert len(planned) == len(set(planned))
    assert len(planned) == min(len(made(way)) for way in itertools.permutations(needs))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), max_size=20), st.integers())
@settings(deadline=None)
def test_the_dearest_levels_are_left_least_often(keys: list[tuple[int, int, int]], seed: int) -> None:
    drawn = [place.plot for place in order.order(Layout(len(keys), lambda _: 1, 1, seed, keys.__getitem__))]
    assert sorted(drawn) == list(range(len(keys)))
    for depth in (1, 2, 3):
        runs = [key for key, _ in itertools.groupby(keys[plot][:depth] for plot in drawn)]
        assert len(runs) == len(set(runs))


@given(chains(), st.integers(0, 2**32))
@settings(deadline=None, max_examples=30)
def test_all_orders_of_groups_are_equally_likely(needs: list[tuple[str, ...]], seed: int) -> None:
    def sequence(number: int) -> tuple[int, ...]:
        return tuple(order.sequence(Layout(len(needs), lambda _: 1, 1, number, needs.__getitem__)))

    seen = Counter(sequence(number) for number in range(seed, seed + 1000))
    allowed = [
        way
        for way in itertools.permutations(range(len(needs)))
        if all(
            len(runs) == len(set(runs))
            for depth in (1, 2, 3)
            if (runs := [key for key, _ in itertools.groupby((*needs[plot], ("only", plot))[:depth] for plot in way)])
        )
    ]
    assert set(seen) <= set(allowed)
    assert scipy.stats.chisquare([seen[way] for way in allowed]).pvalue > 1e-6 or len(allowed) == 1
