"""Test faults that occur at some points only: one finding for each place, with the trials concerned."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.check import check
from zlang.check.check import Checked
from zlang.check.instances import InstanceBuilder
from zlang.check.program import FaultPoint, Instance
from zlang.diagnostics import Diagnostic, ProgramError
from zlang.source import Source
from zlang.space import faults, points

HEAD = 'import fio\ndir here { path = "." }\nfile data on here { size = 16MiB }\n'
EXPERIMENT = "experiment e { on = data  run = w }\n"


def checked(text: str) -> Checked:
    result = check.program(Source("program.zexp", text), str)
    assert result.is_sound, [finding.message for finding in result.findings]
    return result


def messages(text: str) -> list[str]:
    return [finding.message for finding in faults.of(checked(text).program.experiments.values(), 1)[0]]


CASES = {
    "one level": (
        "let n = 0 | 1",
        "fio w { rw = read | randread  bs = 4KiB / n }",
        "on = data  run = w  repeat = 3",
        ["division by zero, in 6 of 12 trials, where `n` is 0"],
    ),
    "all trials": (
        "let n = 1 | 2",
        "fio w { rw = read  iodepth = n - 2 * n }",
        "on = data  run = w",
        ["`iodepth` cannot be -1, in all 2 trials, such as where `n` is 1"],
    ),
    "two factors, together": (
        "let a = 1 | 2  let b = 1 | 2",
        "fio w { rw = read  iodepth = floor(a / (a - b)) }",
        "on = data  run = w",
        [
            "`iodepth` cannot be -1, in 1 of 4 trials, where `a` is 1 and `b` is 2",
            "division by zero, in 2 of 4 trials, such as where `a` is 1 and `b` is 1",
        ],
    ),
    "two places": (
        "let n = 0 | 1",
        "fio w { rw = read  bs = 4KiB / n  size = 1MiB / n }",
        "on = data  run = w",
        ["division by zero, in 1 of 2 trials, where `n` is 0"] * 2,
    ),
    "a where that excludes it": (
        "let n = 0 | 1",
        "fio w { rw = read  bs = 4KiB / n }",
        "on = data  run = w  where n > 0",
        [],
    ),
    "a branch that does not reach it": (
        'let n = 0 | 1  let target = data | file on here { size = 1MiB / n  label = "small" }',
        "fio w { rw = read  iodepth = n + 1 }",
        "on = target  run = w",
        ["division by zero, in 1 of 4 trials, where `target` is small and `n` is 0"],
    ),
    "the side of a condition": (
        "let n = 0 | 1  let safe = on | off  let block = if safe then 4KiB else 4KiB / n",
        "fio w { rw = read  bs = block }",
        "on = data  run = w",
        ["division by zero, in 1 of 3 trials, where `n` is 0"],
    ),
    "no whole number of bytes": (
        "let n = 1 | 3",
        "fio w { rw = read  bs = 4KiB / n }",
        "on = data  run = w",
        ["`bs` is 1365.3333333333333B, which is not a whole number of bytes, in 1 of 2 trials, where `n` is 3"],
    ),
    "a range": (
        "let n = 1..100",
        "fio w { rw = read  iodepth = n - 50 }",
        "on = data  run = w",
        ["`iodepth` cannot be -49, in 50 of 100 trials, such as where `n` is 1"],
    ),
    "a text": (
        'let n = 0 | 1  dir sub { path = "d{1 / n}" }',
        'shell w { command = "true" }',
        "on = sub  run = w",
        ["division by zero, in 1 of 2 trials, where `n` is 0"],
    ),
    "what is run on something else": (
        "let target = here | data",
        "fio w { rw = read }",
        "on = target  run = w  where target is data or w.rw == read",
        ["`fio` needs a `file` or a `block`, but `dir` offers only `dir`, in 1 of 2 trials, where `target` is here"],
    ),
    "a condition that cannot be worked out": (
        "let n = 0 | 1",
        "fio w { rw = read  iodepth = n + 1 }",
        "on = data  run = w  where 1 / n > 0",
        ["division by zero, where `n` is 0"],
    ),
    "a design that takes some of the points": (
        "let n = 0 | 1",
        "fio w { rw = read  bs = 4KiB / n  iodepth = 1..100 }",
        "on = data  run = w  design = sample(5)  repeat = 3",
        ["division by zero, in 100 of 200 points, where `n` is 0"],
    ),
    "among more points than can be listed": (
        "let n = 0 | 1",
        "fio w { rw = read  bs = 4KiB / n  iodepth = 1..10000  numjobs = 1..10000  openfiles = 1..10000 }",
        "on = data  run = w",
        ["division by zero, in 1,000,000,000,000 of 2,000,000,000,000 trials, where `n` is 0"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_messages(name: str) -> None:
    names, workload, fields, expected = CASES[name]
    lines = names.replace("  let ", "\nlet ").replace("  dir ", "\ndir ")
    assert messages(f"{HEAD}{lines}\n{workload}\nexperiment e {{ {fields} }}\n") == expected


def test_a_place_is_named_once_for_several_experiments() -> None:
    text = f"{HEAD}let n = 0 | 1\nfio w {{ rw = read  bs = 4KiB / n }}\n{EXPERIMENT}"
    assert len(messages(f"{text}experiment f {{ on = data  run = w }}\n")) == 1


def test_the_levels_are_shown_at_their_places() -> None:
    text = f"{HEAD}let n = 0 | 1\nparam total = 4KiB\nfio w {{ rw = read  bs = total / n }}\n{EXPERIMENT}"
    ((finding,), _) = faults.of(checked(text).program.experiments.values(), 1)
    shown = [(note.span.source.text[note.span.start : note.span.end], note.text) for note in finding.notes]
    assert shown == [("total", "this is 4KiB"), ("n", "this is 0"), ("0", "`n` is 0")]


def test_untried_combinations_are_reported() -> None:
    text = f"{HEAD}let a = 1..1000\nlet b = 1..1000\nfio w {{ rw = read  iodepth = a + b }}\n{EXPERIMENT}"
    findings, notes = faults.of(checked(text).program.experiments.values(), 1)
    assert findings == []
    each_once = "4,088 combinations of `a`, `b` were tried"
    assert notes == [f"e: 1,000,000 points, 1,000,000 trials, {each_once}"]


def test_sampling_with_every_level_has_no_note() -> None:
    text = (
        f"{HEAD}let a = 1..20\nlet b = 1..20\nlet c = 1..20\n"
        "fio w { rw = read  iodepth = 20 - a  numjobs = b  startdelay = c * 1s }\n"
        "experiment e { on = data  run = w  where a < b or b < c }\n"
    )
    findings, notes = faults.of(checked(text).program.experiments.values(), 1)
    assert [finding.message for finding in findings] == [
        "`iodepth` cannot be 0, in some points, such as where `a` is 20"
    ]
    assert notes == ["e: 6,460 points, 6,460 trials"]


numbers = st.lists(st.integers(-2, 3), min_size=2, max_size=3, unique=True)


@settings(max_examples=60)
@given(numbers, numbers, st.sampled_from(["a / b", "a - b", "a * b", "(a + b) / (a - b)"]), st.booleans())
def test_counts_agree_with_trying_each_point(a: list[int], b: list[int], expression: str, has_where: bool) -> None:
    where = "  where a != 1 or b != 1" if has_where else ""
    text = (
        f"{HEAD}let a = {' | '.join(map(str, a))}\nlet b = {' | '.join(map(str, b))}\n"
        f"fio w {{ rw = read | write  iodepth = floor({expression})  size = (a + 9) * 1MiB  bs = (b + 9) * 4KiB }}\n"
        f"experiment e {{ on = data  run = w{where} }}\n"
    )
    experiment = checked(text).program.experiments["e"]
    expected = 0
    if has_where and not any((x, y) != (1, 1) for x, y in product(a, b)):
        return
    space = points.of(experiment)
    for point in space:
        try:
            experiment.run.value(point)
        except ProgramError:
            expected += 1
    total = 0
    for message in messages(text):
        share = message.partition(", in ")[2].split(" trials")[0].split()  # empty for the same at every point
        total += int(share[-1] if share[0] == "all" else share[0]) if share else space.count
    assert total == expected


def test_among_many_factors_only_those_with_the_problem_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    branches = " | ".join(f"fio {{ rw = read  bs = {n}KiB  iodepth = 3..{n} }}" for n in range(4, 9))
    branches += " | fio { rw = read  iodepth = 5 - a  numjobs = a }"
    text = f"{HEAD}let a = 1..5\nexperiment e {{ on = data  run = {branches} }}\n"
    others = f"{HEAD}let a = 1..5\nexperiment e {{ on = data  run = fio {{ rw = read  iodepth = 5 - a }} }}\n"
    expected = messages(text), messages(others)
    assert [first.split(", ")[-1] for first, *_ in expected] == ["where `a` is 5"] * 2
    monkeypatch.setattr(faults, "_MOST_COMPARED", 0)
    assert (messages(text), messages(others)) == expected


def test_a_failed_assertion_shows_its_values() -> None:
    asserted = 'param most: size = 8KiB\nfio w { rw = read  bs = 4KiB | 16KiB }\nassert "it fits" bs <= most\n'
    (finding,) = faults.of(checked(HEAD + asserted + EXPERIMENT).program.experiments.values(), 1)[0]
    notes = [(note.span.text, note.text) for note in finding.notes]
    assert notes[:2] == [("bs", "this is 16KiB"), ("most", "this is 8KiB")]


def test_things_are_made_once_for_the_points_that_share_their_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        HEAD + "let a = 1..20\nlet b = 1..20\nfile more on here { size = 1MiB }\n"
        "fio v { rw = read  bs = 4KiB * a }\nfio w { rw = read  bs = 4KiB / (21 - b) }\n"
        "experiment e { on = [data, more]  run = [v, w] }\n"
    )
    experiments = checked(text).program.experiments.values()
    made: list[str] = []
    build = InstanceBuilder._build

    def counted(builder: InstanceBuilder, point: FaultPoint) -> Instance:
        made.append(builder.key)
        return build(builder, point)

    monkeypatch.setattr(InstanceBuilder, "_build", counted)
    faults.of(experiments, 1)
    assert made.count("v") <= 2 * 20


def test_a_fault_of_what_a_thing_uses_is_found_at_all_its_points() -> None:
    """At the points of which `on` is `data`, its fault is found before `w` is made."""
    text = (
        'import fio\ndir here { path = "." }\nlet n = 0 | 1\nfile data on here { size = 16MiB / n }\n'
        "file other on here { size = 2MiB }\nfio w on data { rw = read  iodepth = n + 1 }\n"
        "fio v { rw = read }\nexperiment e { on = data | other  run = [w, v] }\n"
    )
    assert [message for message in messages(text) if "zero" in message] == [
        "division by zero, in 2 of 4 trials, where `n` is 0"
    ]


def test_each_workload_and_target_is_asked_once_for_names_without_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    loads = "".join(f"fio w{n} {{ rw = read  iodepth = 1 | {n} }}\n" for n in range(2, 6))
    text = f"{HEAD}{loads}experiment e {{ on = data  run = [w2, w3, w4, w5] }}\n"
    experiments = checked(text).program.experiments.values()
    names: list[str] = []

    def recorded(_experiment: object, workload: Instance, _on: object) -> list[Diagnostic]:
        names.append(workload.label)
        return []

    monkeypatch.setattr(faults, "_without_value_in", recorded)
    faults.of(experiments, 1)
    assert sorted(names) == sorted(["w2", "w3", "w4", "w5"] * 2)
