"""Compare the counting and indexing of spaces with a plain enumeration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.check.program import Axis
from zlang.space import designs, space
from zlang.space.space import Condition


def brute(axes: tuple[Axis, ...], chosen: dict[str, int]) -> Iterator[dict[str, int]]:
    """Generate every point by backtracking: the next axis to choose is the first one reached but not yet chosen."""
    stack = list(axes)
    while stack:
        axis = stack.pop(0)
        if axis.path not in chosen:
            for level in range(axis.size):
                yield from brute(axes, {**chosen, axis.path: level})
            return
        if axis.branches is not None:
            stack = list(axis.branches[chosen[axis.path]]) + stack
    yield chosen


def key(point: dict[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(point.items()))


@st.composite
def axes(draw: st.DrawFn) -> tuple[Axis, ...]:
    """Generate a few axes that may contain each other, like names that can be reached in several ways."""
    made: list[Axis] = []
    for i in range(draw(st.integers(1, 5))):
        size = draw(st.integers(1, 3))
        branches: tuple[tuple[Axis, ...], ...] | None = None
        if len(made) > 0 and draw(st.booleans()):
            pick = st.lists(st.sampled_from(made), max_size=2, unique_by=lambda a: a.path)
            branches = tuple(tuple(draw(pick)) for _ in range(size))
        made.append(Axis(f"f{i}", size, branches))
    return tuple(draw(st.lists(st.sampled_from(made), min_size=1, max_size=4, unique_by=lambda a: a.path)))


@st.composite
def conditions(draw: st.DrawFn) -> tuple[Condition, ...]:
    """Generate predicates in three-valued logic over up to two factors, which may be absent."""
    conditions_ = []
    for _ in range(draw(st.integers(0, 2))):
        reads = draw(st.lists(st.sampled_from([f"f{i}" for i in range(5)]), min_size=1, max_size=2, unique=True))
        odd = draw(st.booleans())

        def holds(point: object, reads: list[str] = reads, odd: bool = odd) -> bool | None:
            assert isinstance(point, dict)
            levels = [point.get(name) for name in reads]
            if any(level is None for level in levels):
                return None
            return (sum(level for level in levels if level is not None) % 2 == 1) is odd

        conditions_.append(Condition(frozenset(reads), holds))
    return tuple(conditions_)


@given(axes(), conditions())
@settings(max_examples=400, deadline=None)
def test_a_space_is_its_enumeration(some: tuple[Axis, ...], rules: tuple[Condition, ...]) -> None:
    expected = [p for p in brute(some, {}) if all(rule.holds(p) is not False for rule in rules)]
    built = space.build(some, rules)
    listed = list(built)
    assert built.count == len(expected)
    assert sorted(map(key, listed)) == sorted(map(key, expected))
    assert [built[i] for i in range(built.count)] == listed


@given(axes(), conditions(), st.integers(0, 5), st.integers())
@settings(deadline=None)
def test_a_sample_is_of_the_space_and_repeatable(
    some: tuple[Axis, ...], rules: tuple[Condition, ...], size: int, seed: int
) -> None:
    built = space.build(some, rules)
    drawn = built.sample(size, seed)
    assert drawn == built.sample(size, seed)
    assert len({key(p) for p in drawn}) == len(drawn) == min(size, built.count)
    assert {key(p) for p in drawn} <= {key(p) for p in built}
    assert {key(p) for p in drawn} <= {key(p) for p in built.sample(size + 1, seed)}


def together(point: dict[str, int], strength: int) -> set[tuple[tuple[str, int | None], ...]]:
    """Return all combinations of levels in a point, of the factors of the tests; a factor may be absent."""
    return set(combinations([(path, point.get(path)) for path in (f"f{i}" for i in range(5))], strength))


@given(axes(), conditions(), st.integers(1, 3), st.integers(0, 9))
@settings(max_examples=400, deadline=None)
def test_a_covering_design_has_every_combination_that_the_space_has(
    some: tuple[Axis, ...], rules: tuple[Condition, ...], strength: int, seed: int
) -> None:
    points = [p for p in brute(some, {}) if all(rule.holds(p) is not False for rule in rules)]
    if not points:
        return
    chosen = designs.covering(some, rules, strength, seed)
    assert chosen == designs.covering(some, rules, strength, seed)
    keys = list(map(key, chosen))
    assert len(set(keys)) == len(keys)
    assert set(keys) <= set(map(key, points))
    strength = min(strength, len({path for p in points for path in p}))
    assert set().union(*(together(p, strength) for p in chosen)) == set().union(
        *(together(p, strength) for p in points)
    )


@given(axes(), conditions(), st.sets(st.sampled_from([f"f{i}" for i in range(5)])), st.integers(1, 9))
@settings(deadline=None)
def test_whole_plots_of_a_part_are_those_of_the_space(
    some: tuple[Axis, ...], rules: tuple[Condition, ...], hard_to_change: set[str], size: int
) -> None:
    built = space.build(some, rules)
    if not built.count:
        return
    chosen = built.sample(size, seed=1)
    plots = designs.partial(hard_to_change, chosen)
    whole = designs.full(built, hard_to_change)
    for made, points in ((plots, chosen), (whole, list(built))):
        whole_plots = [[made.at(plot, i) for i in range(made.size(plot))] for plot in range(made.count)]
        assert made.points == sum(map(len, whole_plots)) == len(points)
        assert {key(p) for plot in whole_plots for p in plot} == set(map(key, points))
        states = [{tuple((path, p.get(path)) for path in sorted(hard_to_change)) for p in plot} for plot in whole_plots]
        assert all(len(state) == 1 for state in states)
        assert len(set(map(frozenset, states))) == len(states)


def test_a_covering_design_of_many_branches_has_every_pair() -> None:
    branches = [tuple(Axis(f"i{branch}{i}", 3) for i in range(3)) for branch in range(4)]
    some = (Axis("target", 4, tuple(branches)), Axis("f0", 4), Axis("f1", 4))
    rules = [Condition(frozenset({"target", "f0"}), lambda p: p["target"] <= p["f0"])]

    def pairs(points: Iterable[dict[str, int]]) -> set[tuple[tuple[str, int], ...]]:
        return {pair for p in points for pair in combinations(sorted(p.items()), 2)}

    built = space.build(some, rules)
    chosen = designs.covering(some, rules, 2, seed=1)
    assert pairs(chosen) == pairs(built)
    assert len(chosen) < built.count / 10


def test_few_points_have_all_pairs_of_many() -> None:
    some = tuple(Axis(f"f{i}", 3) for i in range(13))
    assert space.build(some).count == 3**13
    assert len(designs.covering(some, (), 2, seed=1)) < 30


def test_the_smallest_of_several_designs_is_taken() -> None:
    assert len(designs.covering(tuple(Axis(f"f{i}", 3) for i in range(4)), (), 2, seed=1)) == 9
    assert len(designs.covering(tuple(Axis(f"f{i}", 3) for i in range(13)), (), 2, seed=1)) <= 18


def test_many_combinations_are_covered_if_few_points_suffice() -> None:
    some = tuple(Axis(f"f{i}", 2) for i in range(40))
    chosen = designs.covering(some, (), 3, seed=1)
    assert len(chosen) < 60
    for three in [("f0", "f1", "f2"), ("f7", "f21", "f39"), ("f37", "f38", "f39")]:
        assert len({tuple(point[path] for path in three) for point in chosen}) == 8


def test_more_combinations_than_can_be_covered_are_refused() -> None:
    some = tuple(Axis(f"f{i}", 1000) for i in range(4))
    with pytest.raises(designs.TooManyCombinations) as error:
        designs.covering(some, (), 2, seed=1)
    assert error.value.combinations == 6 * 1000**2


@given(axes(), st.sets(st.sampled_from([f"f{i}" for i in range(5)])))
@settings(deadline=None)
def test_a_split_space_multiplies_back(some: tuple[Axis, ...], paths: set[str]) -> None:
    built = space.build(some)
    having, others = built.split(paths)
    assert having.count * others.count == built.count
    assert {key(a | b) for a in having for b in others} == {key(p) for p in built}


def test_a_huge_space_is_counted_and_indexed_at_once() -> None:
    built = space.build(tuple(Axis(f"f{i}", 1000) for i in range(4)))
    assert built.count == 10**12
    assert built[10**12 - 1] == {f"f{i}": 999 for i in range(4)}
    assert len(built.sample(10, seed=1)) == 10


def test_a_condition_lists_only_the_factors_that_it_mentions() -> None:
    inner = tuple(Axis(f"i{i}", 1000) for i in range(3))
    target = Axis("target", 2, (inner, ()))
    built = space.build((target, Axis("bs", 10)), [Condition(frozenset({"target", "bs"}), lambda p: p["bs"] > 4)])
    assert built.count == (10**9 + 1) * 5


def test_more_connections_than_can_be_listed_are_refused() -> None:
    some = tuple(Axis(f"f{i}", 1000) for i in range(3))
    with pytest.raises(space.TooConnected) as error:
        space.build(some, [Condition(frozenset({"f0", "f1", "f2"}), lambda _: True)])
    assert error.value.paths == ("f0", "f1", "f2")


def test_names_that_many_branches_share_are_worked_out_once() -> None:
    axis = Axis("f0", 2)
    for i in range(1, 50):
        axis = Axis(f"f{i}", 2, ((axis,), (axis,)))
    built = space.build((axis, Axis("other", 3)))
    assert built.count == 2**50 * 3
    assert len(built[built.count - 1]) == 51
