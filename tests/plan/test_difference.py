"""Compare the differences between two plans with a trial-by-trial count."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zlang.plan.difference import CommandEdit, TrialKey, difference, edits
from zlang.plan.plan import Action, Step

IDENTITIES = st.sampled_from("abcdef")
LEVELS = st.integers(1, 4)
SIDES = st.lists(
    st.tuples(IDENTITIES, LEVELS, st.integers(1, 3)), max_size=8, unique_by=(lambda p: p[0], lambda p: p[1])
)


def _keys(points: list[tuple[str, int, int]]) -> list[TrialKey]:
    return [
        TrialKey(identity, replicate, number, {"bs": level})
        for number, (identity, level, repeat) in enumerate(points, 1)
        for replicate in range(1, repeat + 1)
    ]


@given(SIDES, SIDES)
def test_every_trial_is_counted_once(was: list[tuple[str, int, int]], now: list[tuple[str, int, int]]) -> None:
    counts = difference(_keys(was), _keys(now))
    changed = sum(point.replicates for point in counts.changed)
    come, go = (sum(point.replicates for point in some) for some in (counts.come, counts.go))
    assert counts.same + changed + come == len(_keys(now))
    assert counts.same + changed + go == len(_keys(was))
    before, after = ({identity: repeat for identity, _, repeat in side} for side in (was, now))
    assert counts.same == sum(min(repeat, after.get(identity, 0)) for identity, repeat in before.items())
    for point in counts.changed:
        (level,) = point.factors.values()
        assert {old for old, at, _ in was if at == level} != {new for new, at, _ in now if at == level}


@given(SIDES, st.randoms(use_true_random=False))
def test_a_changed_order_alone_is_reported(points: list[tuple[str, int, int]], draw: object) -> None:
    keys = _keys(points)
    mixed = list(keys)
    draw.shuffle(mixed)  # type: ignore[attr-defined]
    assert difference(keys, keys).is_none
    assert difference(keys, mixed).is_reordered == (
        [(key.identity, key.replicate) for key in keys] != [(key.identity, key.replicate) for key in mixed]
    )


def test_commands_of_the_same_trial_are_compared() -> None:
    was, now = TrialKey("a", 1, 1, {"bs": 1}, "old"), TrialKey("a", 1, 1, {"bs": 1}, "new")
    (changed,) = difference([was], [now]).changed
    assert (changed.was, changed.now) == (1, 1)


def _step(name: str, command: str) -> Step:
    return Step(name, Action.MEASURE, command, "", 60)


def test_a_long_command_is_compared_word_by_word() -> None:
    words = " ".join(f"--option{n}={n}" for n in range(40))
    was = [_step("make", "mkdir a"), _step("fio", f"fio {words} --iodepth=1"), _step("gone", "rm a")]
    now = [_step("make", "mkdir b"), _step("fio", f"fio {words} --iodepth=4"), _step("flush", "sync")]
    assert edits(was, now) == (
        CommandEdit("make", "mkdir a", "mkdir b"),
        CommandEdit("fio", "--iodepth=1", "--iodepth=4"),
        CommandEdit("flush", "", "sync"),
        CommandEdit("gone", "rm a", ""),
    )
