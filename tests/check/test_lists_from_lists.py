"""Test lists made from lists: their cost, and their value where a name is absent."""

from __future__ import annotations

import pytest

from zlang.check.check import Overrides
from zlang.diagnostics import Code
from zlang.pipeline import plans, programs
from zlang.source import Source

HEAD = """
import fio
dir here { path = "." }
file data on here { size = 16MiB }
fio reads { rw = read  bs = 4KiB }
"""


def counted_errors(text: str) -> list[tuple[Code, int]]:
    """Count each error of a program."""
    checked = programs.check(Source("a.zexp", HEAD + text), Overrides())
    codes = [finding.code for finding in checked.findings if isinstance(finding.code, Code)]
    return [(code, codes.count(code)) for code in dict.fromkeys(codes)]


@pytest.mark.parametrize(
    "lets",
    [
        "".join(f"let a{i} = [n * 2 for n in 1..9000]\n" for i in range(300)),
        "".join(f"let a{i} = [1..9000]\n" for i in range(300)),
        "let k = 1..4000\nlet a = [n * k for n in 1..9000]\n",
        "let k = 1..4000\nlet a = [n for n in 1..9000 if n > k]\n",
        "let l = [1..9000]\nlet a = [len([m for m in l if m < n]) for n in l]\n",
        "let k = 1 | 2\nlet l = [n * k for n in 1..9000]\nlet a = [len([m for m in l if m < n]) for n in l]\n",
        "let twice(n) = n + n\n" + "".join(f"let a{i} = twice({i})\n" for i in range(6000)),
    ],
)
def test_the_work_of_a_program_is_bounded_and_reported_once(lets: str) -> None:
    assert counted_errors(lets + "experiment e { on = data  run = reads }") == [(Code.TOO_MUCH, 1)]


def test_a_list_is_absent_where_its_condition_is_unknown() -> None:
    lets = "let k = 1..3\nlet some = [n for n in 1..9 if n > k]\n"
    program = lets + "experiment e { on = data  run = reads  where some[0] > 2 }"
    checked = programs.check(Source("a.zexp", HEAD + program), Overrides())
    assert checked.is_sound
    (experiment,) = checked.program.experiments.values()
    assert plans.plan(checked, experiment, 1, Overrides()).plan.header.trials == 1


def test_a_list_within_a_list_reads_the_value_of_the_list_around_it() -> None:
    lets = """let l = [1..4]
let k = 2 | 3
let below(n) = [m for m in l if m < n]
let a = [n + len([m for m in l if m < n]) for n in l]
let b = [sum([m * n for m in [k, n]]) for n in [1, 2]]
let c = [len(below(n)) for n in l]
"""
    is_right = "a == [1, 3, 5, 7] and b == (if k == 2 then [3, 8] else [4, 10]) and c == [0, 1, 2, 3]"
    assert _points_where(lets, is_right) == 2


def test_conditions_joined_in_a_list_are_tried_for_each_value() -> None:
    lets = """let l = [1..4]
let k = 2 | 3
let d = [n for n in l if n not in [2] and n != l[-1]]
let e = [n for n in l if n + k > 5 or n * 2 == k]
"""
    assert _points_where(lets, "d == [1, 3] and e == (if k == 2 then [1, 4] else [3, 4])") == 2


def _points_where(lets: str, condition: str) -> int:
    """Count the points of the factor `k` at which a condition holds."""
    declared = f"fio w {{ rw = read  iodepth = k }}\nexperiment e {{ on = data  run = w  where {condition} }}"
    checked = programs.check(Source("a.zexp", HEAD + lets + declared), Overrides())
    assert checked.is_sound
    (experiment,) = checked.program.experiments.values()
    return plans.plan(checked, experiment, 1, Overrides()).plan.header.trials


def test_an_if_within_a_list_reads_the_value_of_the_list() -> None:
    lets = "let k = 2 | 3\nlet l = [if n > 1 then n + k else n for n in [1, 2]]\n"
    assert _points_where(lets, "l == (if k == 2 then [1, 4] else [1, 5])") == 2
