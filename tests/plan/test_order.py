"""The order of trials: each once, repeatable, replicates spread over blocks."""

from __future__ import annotations

import itertools
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.plan import order
from zlang.plan.order import Place


@given(st.lists(st.integers(0, 6), max_size=6), st.integers(1, 4), st.integers())
@settings(deadline=None)
def test_every_trial_comes_once(plots: list[int], repeat: int, seed: int) -> None:
    places = list(order.order(len(plots), plots.__getitem__, repeat, seed))
    seen = Counter((p.plot, p.replicate, p.point) for p in places)
    assert set(seen.values()) <= {1}
    assert len(places) == sum(plots) * repeat
    assert places == list(order.order(len(plots), plots.__getitem__, repeat, seed))


def test_a_plot_is_not_left_before_it_is_done_and_its_replicates_are_blocks() -> None:
    places = list(order.order(5, lambda _: 7, 3, seed=1))
    assert [p.plot for p in places] == [plot for plot in dict.fromkeys(p.plot for p in places) for _ in range(21)]
    blocks: dict[int, list[Place]] = {}
    for place in places:
        blocks.setdefault(place.block, []).append(place)
    assert len(blocks) == 15
    for block in blocks.values():
        assert len({(p.plot, p.replicate) for p in block}) == 1
        assert sorted(p.point for p in block) == list(range(7))


def test_blocks_are_shuffled_each_in_its_own_way() -> None:
    places = list(order.order(1, lambda _: 30, 3, seed=1))
    orders = {tuple(p.point for p in places if p.replicate == r) for r in (1, 2, 3)}
    assert len(orders) == 3
    assert tuple(range(30)) not in orders


def test_another_seed_is_another_order() -> None:
    assert list(order.order(1, lambda _: 30, 1, seed=1)) != list(order.order(1, lambda _: 30, 1, seed=2))


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


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), max_size=20), st.integers())
@settings(deadline=None)
def test_the_dearest_levels_are_left_least_often(keys: list[tuple[int, int, int]], seed: int) -> None:
    drawn = [place.plot for place in order.order(len(keys), lambda _: 1, 1, seed, keys.__getitem__)]
    assert sorted(drawn) == list(range(len(keys)))
    for depth in (1, 2, 3):
        runs = [key for key, _ in itertools.groupby(keys[plot][:depth] for plot in drawn)]
        assert len(runs) == len(set(runs))
