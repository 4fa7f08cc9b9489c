"""The algorithm that says what has to change between trials."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zlang.plan.plan import Setup
from zlang.plan.state import Make, State, Unmake


def setup(signature: str, key: str, parent: str | None = None) -> Setup:
    return Setup(signature=signature, key=key, parent=parent, creates=key, make=(), unmake=())


POOL, POOL2 = setup("p1", "pool"), setup("p2", "pool")
DATA, DATA2 = setup("d1", "data", "pool"), setup("d2", "data", "pool")
FILE = setup("f1", "file", "data")
OTHER = setup("o1", "other")


def bring(state: State, *needed: Setup) -> tuple[State, list[str]]:
    words = []
    for change in state.changes(needed):
        words.append(("+" if isinstance(change, Make) else "-") + change.setup.signature)
        state = state.after(change)
    return state, words


def test_makes_parents_first_and_then_nothing() -> None:
    state, words = bring(State(), POOL, DATA, FILE)
    assert words == ["+p1", "+d1", "+f1"]
    assert bring(state, POOL, DATA, FILE)[1] == []
    assert bring(state, POOL)[1] == []


def test_unmakes_what_stands_on_it_first_in_reverse_order() -> None:
    state, _ = bring(State(), POOL, OTHER, DATA, FILE)
    assert bring(state, POOL2)[1] == ["-f1", "-d1", "-p1", "+p2"]
    assert bring(state, POOL, DATA2)[1] == ["-f1", "-d1", "+d2"]


def test_children_of_a_parent_made_anew_are_made_anew() -> None:
    state, _ = bring(State(), POOL, DATA, FILE)
    assert bring(state.spoil(["pool"]), POOL, DATA, FILE)[1] == ["-f1", "-d1", "-p1", "+p1", "+d1", "+f1"]


def test_two_states_of_one_key_alternate() -> None:
    state, words = bring(State(), POOL)
    for needed in (POOL2, POOL, POOL2):
        state, more = bring(state, needed)
        words += more
    assert words == ["+p1", "-p1", "+p2", "-p2", "+p1", "-p1", "+p2"]


def test_stale_is_made_anew_only_when_needed() -> None:
    state, _ = bring(State(), POOL, DATA, OTHER)
    state = state.spoil(["data", "unheard-of"])
    assert state.stale == {"data"}
    state, words = bring(state, POOL, OTHER)
    assert words == []
    state, words = bring(state, POOL, DATA)
    assert words == ["-d1", "+d1"]
    assert not state.stale


def test_teardown_is_the_reverse_of_making() -> None:
    state, _ = bring(State(), POOL, OTHER, DATA)
    assert [unmake.setup for unmake in state.teardown()] == [DATA, OTHER, POOL]


needs = st.sampled_from([(POOL,), (POOL2,), (POOL, DATA), (POOL, DATA2, FILE), (OTHER,), (OTHER, POOL2, DATA)])
spoiled = st.sets(st.sampled_from(["pool", "data", "file", "other"]))


@given(st.lists(st.tuples(needs, spoiled), max_size=8))
def test_the_rules_hold_along_any_way(way: list[tuple[tuple[Setup, ...], set[str]]]) -> None:
    state = State()
    for needed, spoils in way:
        for change in state.changes(needed):
            keys = [there.key for there in state.standing]
            match change:
                case Make(made):
                    assert made.key not in keys
                    assert made.parent is None or made.parent in keys
                case Unmake(gone):
                    assert gone in state.standing
                    assert all(there.parent != gone.key for there in state.standing)
            state = state.after(change)
        assert all(state.has(made) for made in needed)
        assert not state.changes(needed)
        state = state.spoil(spoils)
    for unmake in state.teardown():
        state = state.after(unmake)
    assert state == State()
