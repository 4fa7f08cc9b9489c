"""Test search by bisection: the points measured, in which rounds, and the result."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zlang.space import bisection


@given(st.integers(1, 1000), st.integers(0, 1000), st.booleans())
def test_bisection_finds_the_last_level_where_the_condition_holds(levels: int, until: int, rising: bool) -> None:
    def holds(level: int) -> bool:
        return (level < until) != rising

    measured = list(bisection.course(levels, holds))
    assert len(measured) == len(set(measured)) <= len(bisection.longest(levels))
    if 0 < until < levels:
        assert {until - 1, until} <= set(measured)
    else:
        assert set(measured) == {0, levels - 1}


@given(st.integers(1, 300))
def test_every_level_is_in_one_round_and_the_bound_is_reached(levels: int) -> None:
    rounds = bisection.rounds(levels)
    assert sorted(level for round_ in rounds for level in round_) == list(range(levels))
    courses = [list(bisection.course(levels, range(until).__contains__)) for until in range(levels + 1)]
    assert max(map(len, courses)) == len(bisection.longest(levels))
    assert list(bisection.longest(levels)) in courses


@given(st.integers(1, 300), st.data())
def test_a_round_is_decided_by_those_before_it(levels: int, data: st.DataObject) -> None:
    answers = data.draw(st.lists(st.booleans(), min_size=levels, max_size=levels))
    numbers = {level: number for number, round_ in enumerate(bisection.rounds(levels)) for level in round_}
    course = [numbers[level] for level in bisection.course(levels, answers.__getitem__)]
    assert course == sorted(course)
    assert len(set(course[2:])) == len(course[2:])


def test_an_unknown_condition_ends_the_search() -> None:
    levels_asked: list[int] = []

    def holds(level: int) -> bool | None:
        levels_asked.append(level)
        return None if level == 49 else level < 30

    assert list(bisection.course(100, holds)) == [0, 99, 49]
    assert list(bisection.course(100, lambda _: None)) == [0, 99]
