"""Test tables by properties that are not factors but follow from the levels of factors."""

from __future__ import annotations

import pytest

from zlang.check import check
from zlang.check.questions import LevelsWithValue, Plot, Table
from zlang.source import Source

PROGRAM = """
import fio
dir here { path = "." }
file data on here { size = 64MiB }
fio reads { rw = randread  bs = 4KiB  iodepth = 1 | 2  ioengine = libaio }
let deeper = reads with { iodepth = 32  bs = 64KiB }
let (n, pages) = (1, 10) | (2, 20)
let queue = reads | deeper
fio plain { rw = read  bs = n * 4KiB  runtime = pages * 1s }
experiment e { on = data  run = RUN  CLAUSE }
"""


def by(clause: str, run: str = "queue") -> tuple[tuple[str, ...], str, dict[tuple[object, ...], object]]:
    """Return the factors that determine a column, its type, and its values by their levels."""
    text = PROGRAM.replace("CLAUSE", clause).replace("RUN", run)
    checked = check.program(Source("program.zexp", text), str)
    assert checked.is_sound, [finding.message for finding in checked.findings]
    (clause_,) = checked.program.experiments["e"].clauses
    assert isinstance(clause_, Table | Plot)
    item = clause_.by[0] if isinstance(clause_, Table) else clause_.over
    assert all(isinstance(value, LevelsWithValue) for value in item.values)
    return item.paths, item.type, {value.levels: value.value for value in item.values}


BLOCKS: dict[tuple[object, ...], object] = {("reads",): 4096, ("deeper",): 65536}


@pytest.mark.parametrize(
    "clause",
    ["table read_iops by bs", "table read_iops by run.bs", "plot read_iops over bs", "table read_iops by bs, queue"],
)
def test_a_property_that_each_branch_has_once_is_a_column(clause: str) -> None:
    assert by(clause) == (("queue",), "size", BLOCKS)


def test_a_factor_of_one_branch_has_the_constant_of_the_other_too() -> None:
    paths, sort, values = by("table read_iops by iodepth")
    assert (paths, sort) == (("queue", "reads.iodepth"), "count")
    assert {levels: values[levels] for levels in (("reads", 1), ("reads", 2), ("deeper", None))} == {
        ("reads", 1): 1,
        ("reads", 2): 2,
        ("deeper", None): 32,
    }


def test_a_path_of_one_thing_gives_the_values_of_that_thing() -> None:
    assert by("table read_iops by reads.iodepth") == (("reads.iodepth",), "count", {})
    assert by("table read_iops by deeper.bs") == (("queue",), "size", {("deeper",): 65536})


def test_a_value_that_is_computed_from_a_factor_is_a_column() -> None:
    paths, sort, values = by("table read_iops by bs", "plain")
    assert (paths, sort) == (("n", "pages"), "size")
    assert {levels: value for levels, value in values.items() if None not in levels} == {(1, 10): 4096, (2, 20): 8192}
