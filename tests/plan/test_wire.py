"""Write plans as JSON lines and read them back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlang.errors import RunError
from zlang.plan import wire
from zlang.plan.estimate import Outlook, PlanEstimate
from zlang.plan.plan import Action, Factor, Footprint, Header, Plan, Reader, Scalar, Setup, Step, Trial

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

text = st.text(st.characters(codec="utf-8"), max_size=12)
whole = st.integers(-(2**63), 2**63 - 1)
scalars: SearchStrategy[Scalar] = st.one_of(
    st.none(), st.booleans(), whole, st.floats(allow_nan=False, allow_infinity=False), text
)
readers = st.builds(Reader, text, text, st.dictionaries(text, scalars, max_size=2))
steps = st.builds(
    Step,
    text,
    st.sampled_from(Action),
    text,
    text,
    whole,
    text,
    st.none() | text,
    st.none() | readers,
)
setups = st.builds(Setup, text, text, st.none() | text, text, st.lists(steps, max_size=2).map(tuple), st.just(()))
trials = st.builds(
    Trial,
    whole,
    text,
    whole,
    whole,
    st.dictionaries(text, scalars, max_size=3),
    text,
    text,
    st.lists(text, max_size=2).map(tuple),
    st.just(()),
    st.lists(steps, max_size=2).map(tuple),
)


def a_plan(items: list[Setup | Trial]) -> Plan:
    header = Header(
        experiment="e",
        title="Größe `$(x)`\n",
        plan="ff",
        seed=7,
        points=2,
        repeat=3,
        trials=sum(isinstance(item, Trial) for item in items),
        factors=(Factor("bs", "run.bs", "size", (4096, None, 1.5, True, "x"), 5),),
        sources={"a.zexp": "text"},
        facts=(Step("uname", Action.FACT, "uname -a", "to know", 5),),
        tools={"fio": "3.33"},
    )
    return Plan(header, lambda: iter(items))


@given(st.lists(setups | trials, max_size=4))
def test_a_dumped_plan_can_be_loaded(items: list[Setup | Trial]) -> None:
    plan = a_plan(items)
    lines = list(wire.dump(plan))
    again = wire.load(lambda: lines, "plan.jsonl")
    assert again.header == plan.header
    assert list(again.items()) == items
    assert list(again.items()) == items
    assert list(wire.dump(again)) == lines


def test_the_outlook_is_not_part_of_a_plan() -> None:
    trial = Trial(1, "ab", 1, 1, {"bs": 4096}, "cold", "cold", (), (), ())
    plan = a_plan([trial])
    lines = list(wire.dump(plan, Outlook(PlanEstimate(trials=1, space={"dir here": 5}), {"a-run": (1,)})))
    again = wire.load(lambda: lines, "plan.jsonl")
    assert list(again.items()) == [trial]
    assert list(wire.dump(again)) == [lines[0], lines[2]]


def test_trials_that_are_done_are_not_read_unless_others_find_their_data() -> None:
    setup = Setup("s", "k", None, "k", (), ())
    first, second, third = (Trial(n, "ab", n, 1, {}, "cold", "cold", (), (), ()) for n in (1, 2, 3))
    kept = Trial(4, "ab", 4, 1, {}, "cold", "cold", (), (), (), keeps=("k",))
    lines = list(wire.dump(a_plan([setup, first, second, third, kept])))
    assert [b'"keeps"' in line for line in lines[1:]] == [False, False, False, False, True]
    lines[2] = lines[2].replace(b'"factors":{}', b'"factors":[]')  # what is not read is not refused
    again = wire.load(lambda: lines, "p")
    assert list(again.remaining({first.place, third.place, kept.place})) == [setup, second, kept]
    with pytest.raises(RunError, match="line 3"):
        list(again.remaining({third.place}))


def lines_of_two() -> list[bytes]:
    trial = Trial(1, "ab", 1, 1, {"bs": 4096}, "cold", "cold", (), (), ())
    return list(wire.dump(a_plan([Setup("s", "k", None, "k", (), ()), trial, trial])))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: [], "p does not begin with a plan header"),
        (lambda lines: lines[1:], "p does not begin with a plan header"),
        (lambda lines: [*lines[:-1], lines[-1][:20]], "p ends in the middle of line 4"),
        (lambda lines: lines[:-1], "p is incomplete: it has 1 of 2 trials"),
        (lambda _: [b"\x7fELF\x00\xff\n"], "p, line 1, is not a line of a plan: Invalid JSON"),
        (lambda lines: [*lines[:2], b'{"trial":{"number":"1"}}\n'], "p, line 3, is not a line of a plan: trial.number"),
        (lambda lines: [*lines[:2], b"{}\n"], "p, line 3, is neither a setup nor a trial"),
        (lambda lines: [lines[0].replace(b'"format":2', b'"format":3')], "p has plan format 3"),
        (lambda lines: [lines[0].replace(b'"format":2', b'"format":1'), b"[]\n"], "p, line 2, is not a line of a plan"),
        (lambda lines: [lines[0].replace(b'"format":2', b'"format":1'), b'{"trial":1}\n'], "p, line 2, is not a line"),
    ],
)
def test_an_incomplete_plan_is_refused(change: object, message: str) -> None:
    assert callable(change)
    lines: list[bytes] = change(lines_of_two())
    with pytest.raises(RunError) as caught:
        list(wire.load(lambda: lines, "p").items())
    assert caught.value.message.startswith(message)
    assert caught.value.hint


def test_a_plan_of_format_1_is_read_under_the_present_names() -> None:
    footprint = Footprint("disk", 4096)
    setup = Setup("s", "k", None, "k", (), (), footprint=footprint)
    trial = Trial(
        number=1,
        identity="ab",
        replicate=1,
        block=1,
        factors={"load": 1},
        cache="cold",
        cache_state="cold",
        setups=("s",),
        invalidates=("k",),
        steps=(),
        traits={"depth": 2},
        footprint=footprint,
    )
    now = list(wire.dump(a_plan([setup, trial])))
    before = [
        line.replace(b'"invalidates":', b'"spoils":')
        .replace(b'"traits":', b'"natures":')
        .replace(b'"footprint":', b'"load":')
        .replace(b'"format":2', b'"format":1')
        for line in now
    ]
    assert [line != then for line, then in zip(now, before, strict=True)] == [True, True, True]
    plan = wire.load(lambda: before, "p")
    assert list(plan.items()) == [setup, trial]
    assert list(wire.dump(plan)) == now


def test_lines_are_read_one_at_a_time() -> None:
    read = 0

    def lines() -> Iterator[bytes]:
        nonlocal read
        for line in lines_of_two():
            read += 1
            yield line

    plan = wire.load(lines, "p")
    assert read == 1
    next(iter(plan.items()))
    assert read == 3


def test_dumping_does_not_import_pydantic() -> None:
    code = "import sys, zlang.plan.wire; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0
