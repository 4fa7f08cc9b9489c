"""Test the algorithm that determines the changes between consecutive trials."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zlang.plan.plan import Action, Setting, Setup, Step
from zlang.plan.state import Alter, Make, State, Unmake, Walk


def setup(signature: str, key: str, parent: str | None = None) -> Setup:
    return Setup(signature=signature, key=key, parent=parent, creates=key, make=(), unmake=())


POOL, POOL2 = setup("p1", "pool"), setup("p2", "pool")
DATA, DATA2 = setup("d1", "data", "pool"), setup("d2", "data", "pool")
FILE = setup("f1", "file", "data")
OTHER = setup("o1", "other")


def state(signature: str, sync: str, block: str, base: str = "b") -> Setup:
    """Return a state of a dataset: `sync` is live, `block` a rewrite. The commands distinguish the settings."""

    def setting(name: str, value: str, *, rewrites: bool) -> Setting:
        step = Step(name, Action.PREPARE, f"{name}={value}", "a test", 1)
        return Setting(name, (step,), rewrites)

    settings = (setting("sync", sync, rewrites=False), setting("block", block, rewrites=True))
    return Setup(signature, "set", "pool", "set", (), (), base, settings)


SET, QUICK, COARSE, ELSE = state("s", "1", "8"), state("q", "0", "8"), state("c", "1", "9"), state("e", "1", "8", "x")
UPON, UPON_THAT = setup("u1", "upon", "set"), setup("u2", "upon_that", "upon")


def bring(state: State, *needed: Setup) -> tuple[State, list[str]]:
    words = []
    for change in state.changes(needed):
        match change:
            case Make():
                words.append(f"+{change.setup.signature}")
            case Alter():
                words.append(f"{change.was.signature}>{change.setup.signature}")
                words += [step.command for step in change.steps]
            case Unmake():
                words.append(f"-{change.setup.signature}")
        state = state.after(change)
    return state, words


def box(signature: str, tune: int, gain: int, command: str) -> Setup:
    """Return a state of a resource with a live property and one that rewrites; one command may set both."""

    def setting(name: str, value: int, *, rewrites: bool) -> Setting:
        text = command.format(name=name, value=value, tune=tune, gain=gain)
        return Setting(name, (Step(name, Action.PREPARE, text, "a test", 1),), rewrites, str(value))

    settings = (setting("tune", tune, rewrites=False), setting("gain", gain, rewrites=True))
    return Setup(signature, "box", None, "box", (), (), "b", settings)


def test_a_command_that_sets_two_properties_runs_once_and_rewrites_only_where_it_must() -> None:
    first, tuned, both = (
        box(f"b{tune}{gain}", tune, gain, "set {tune} {gain}") for tune, gain in ((1, 1), (2, 1), (1, 2))
    )
    data = setup("d", "data", "box")
    state, _ = bring(State(), first, data)
    state, words = bring(state, tuned, data)
    assert words == ["b11>b21", "set 2 1"]
    assert bring(state, both, data)[1] == ["b21>b12", "set 1 2", "-d", "+d"]


def test_a_command_that_reads_another_property_runs_again_with_it() -> None:
    first, tuned = (box(f"b{tune}1", tune, 1, "set {name}={value} at {tune}") for tune in (1, 2))
    state, _ = bring(State(), first)
    assert bring(state, tuned)[1] == ["b11>b21", "set tune=2 at 2", "set gain=1 at 2"]


def test_makes_parents_first_and_then_nothing() -> None:
    state, words = bring(State(), POOL, DATA, FILE)
    assert words == ["+p1", "+d1", "+f1"]
    assert bring(state, POOL, DATA, FILE)[1] == []
    assert bring(state, POOL)[1] == []


def test_children_are_destroyed_first_in_reverse_order() -> None:
    state, _ = bring(State(), POOL, OTHER, DATA, FILE)
    assert bring(state, POOL2)[1] == ["-f1", "-d1", "-p1", "+p2"]
    assert bring(state, POOL, DATA2)[1] == ["-f1", "-d1", "+d2"]


def test_children_of_a_recreated_parent_are_recreated() -> None:
    state, _ = bring(State(), POOL, DATA, FILE)
    assert bring(state.invalidate(["pool"]), POOL, DATA, FILE)[1] == ["-f1", "-d1", "-p1", "+p1", "+d1", "+f1"]


def test_two_states_of_one_key_alternate() -> None:
    state, words = bring(State(), POOL)
    for needed in (POOL2, POOL, POOL2):
        state, more = bring(state, needed)
        words += more
    assert words == ["+p1", "-p1", "+p2", "-p2", "+p1", "-p1", "+p2"]


def test_a_stale_resource_is_recreated_only_when_needed() -> None:
    state, _ = bring(State(), POOL, DATA, OTHER)
    state = state.invalidate(["data", "unheard-of"])
    assert state.stale == {"data"}
    state, words = bring(state, POOL, OTHER)
    assert words == []
    state, words = bring(state, POOL, DATA)
    assert words == ["-d1", "+d1"]
    assert not state.stale


def test_a_live_change_keeps_children_and_a_rewrite_recreates_them() -> None:
    state, _ = bring(State(), POOL, SET, UPON, UPON_THAT)
    state, words = bring(state, POOL, QUICK, UPON, UPON_THAT)
    assert words == ["s>q", "sync=0"]
    state, words = bring(state, POOL, COARSE)
    assert words == ["q>c", "sync=1", "block=9"]
    assert state.stale == {"upon", "upon_that"}
    state, words = bring(state, POOL, SET, UPON)
    assert words == ["c>s", "block=8", "-u2", "-u1", "+u1"]


def test_a_changed_base_or_stale_resource_is_recreated() -> None:
    state, _ = bring(State(), POOL, SET, UPON)
    assert bring(state, POOL, ELSE, UPON)[1] == ["-u1", "-s", "+e", "+u1"]
    assert bring(state.invalidate(["set"]), POOL, QUICK, UPON)[1] == ["-u1", "-s", "+q", "+u1"]


def test_teardown_is_the_reverse_of_making() -> None:
    state, _ = bring(State(), POOL, OTHER, DATA)
    assert [unmake.setup for unmake in state.teardown()] == [DATA, OTHER, POOL]


needs = st.sampled_from(
    [
        *((POOL,), (POOL2,), (POOL, DATA), (POOL, DATA2, FILE), (OTHER,), (OTHER, POOL2, DATA)),
        *((POOL, SET, UPON), (POOL, QUICK, UPON, UPON_THAT), (POOL, COARSE), (POOL, COARSE, UPON), (POOL, ELSE, UPON)),
    ]
)
spoiled = st.sets(st.sampled_from(["pool", "data", "file", "other", "set", "upon"]))


@given(st.lists(st.tuples(needs, spoiled), max_size=8))
def test_the_rules_hold_along_any_way(way: list[tuple[tuple[Setup, ...], set[str]]]) -> None:
    state = State()
    for needed, invalidates in way:
        for change in state.changes(needed):
            keys = [there.key for there in state.standing]
            match change:
                case Make(made):
                    assert made.key not in keys
                    assert made.parent is None or made.parent in keys
                case Alter(was, altered):
                    assert was in state.standing
                    assert was.key not in state.stale
                    assert (was.key, was.base) == (altered.key, altered.base)
                case Unmake(gone):
                    assert gone in state.standing
                    assert all(there.parent != gone.key for there in state.standing)
            state = state.after(change)
        assert all(state.has(made) for made in needed)
        assert not state.changes(needed)
        state = state.invalidate(invalidates)
    for unmake in state.teardown():
        state = state.after(unmake)
    assert state == State()


@given(st.lists(st.tuples(needs, spoiled), max_size=8))
def test_a_walk_goes_through_the_same_states_also_the_second_time(
    way: list[tuple[tuple[Setup, ...], set[str]]],
) -> None:
    state, walk = State(), Walk()
    for needed, invalidates in way + way:
        changes = state.changes(needed)
        for change in changes:
            state = state.after(change)
        assert walk.enter(needed) == changes
        assert walk.state == state
        state = state.invalidate(invalidates)
        walk.leave(invalidates)
        assert walk.state == state


def test_an_ambient_resource_exists_only_for_trials_that_need_it() -> None:
    def tuned(signature: str, key: str) -> Setup:
        return Setup(signature, key, None, key, (), (), is_ambient=True)

    quiet, loud = tuned("q1", "quiet"), tuned("l1", "loud")
    state, words = bring(State(), quiet, POOL, DATA)
    assert words == ["+q1", "+p1", "+d1"]
    assert bring(state, quiet, POOL, DATA)[1] == []
    state, words = bring(state, loud, POOL, DATA)
    assert words == ["-q1", "+l1"]
    assert bring(state, POOL, DATA)[1] == ["-l1"]
    upon = setup("u1", "upon", "quiet")
    state, _ = bring(State(), POOL, quiet, upon)
    assert bring(state, POOL, DATA)[1] == ["-u1", "-q1", "+d1"]


def test_stale_resources_stay_stale_until_recreated() -> None:
    stale = State((POOL, OTHER, SET), frozenset({"other"}))
    assert stale.after(Make(POOL2)).stale == {"other"}
    assert stale.after(Alter(SET, QUICK)).stale == {"other"}
    assert stale.after(Make(OTHER)).stale == frozenset()


def test_stale_resources_stay_stale_until_recreated_or_destroyed() -> None:
    state, _ = bring(State(), POOL, OTHER, DATA)
    stale = state.invalidate(["pool", "data", "other"])
    assert stale.after(Unmake(DATA)).stale == {"pool", "other"}
    assert stale.after(Make(OTHER)).stale == {"pool", "data"}
    assert stale.after(Alter(POOL, POOL2)).stale == {"pool", "data", "other"}
