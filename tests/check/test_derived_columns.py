"""Test tables by properties that are not factors but follow from the levels of factors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from zlang.check import check
from zlang.check.questions import Clause, Expectation, LevelsWithValue, Plot, Table, Term
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


def resolved(clause: str, run: str) -> Clause:
    """Return a clause of an experiment with this workload."""
    text = PROGRAM.replace("CLAUSE", clause).replace("RUN", run)
    checked = check.program(Source("program.zexp", text), str)
    assert checked.is_sound, [finding.message for finding in checked.findings]
    (clause_,) = checked.program.experiments["e"].clauses
    return clause_


def by(clause: str, run: str = "queue") -> tuple[tuple[str, ...], str, dict[tuple[object, ...], object]]:
    """Return the factors that determine a column, its type, and its values by their levels."""
    clause_ = resolved(clause, run)
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


def parts(term: Term) -> Iterator[Term]:
    """Yield a formula and all its parts."""
    yield term
    for part in term.terms:
        yield from parts(part)


@pytest.mark.parametrize("condition", ["bs == 4KiB", "run.bs < 8KiB", "bs in [4KiB, 8KiB]", "not bs > 4KiB"])
def test_a_condition_in_an_aggregate_can_use_a_property_that_follows_from_factors(condition: str) -> None:
    clause = resolved(f"expect median(read_iops where {condition}) > 1000/s", "queue")
    assert isinstance(clause, Expectation)
    (column,) = [part for part in parts(clause.term) if part.op == "factor"]
    assert (column.paths, column.type) == (("queue",), "size")
    assert {item.levels: item.value for item in column.values} == BLOCKS
    assert [item.name for item in clause.by] == ["iodepth"]  # the condition decides `queue`


def test_a_condition_in_an_aggregate_uses_the_constant_of_the_other_branch_too() -> None:
    clause = resolved("expect median(read_iops where iodepth == 32) > 1000/s", "queue")
    assert isinstance(clause, Expectation)
    (column,) = [part for part in parts(clause.term) if part.op == "factor"]
    assert {item.value for item in column.values} == {1, 2, 32}
    assert clause.by == ()


def test_a_level_of_a_factor_in_a_condition_stays_a_level() -> None:
    clause = resolved("expect median(read_iops where queue == reads) > 1000/s", "queue")
    assert isinstance(clause, Expectation)
    assert [part.value for part in parts(clause.term) if part.op == "value"] == ["reads", 1000]


@pytest.mark.parametrize("condition", ["direct == on", "direct != off", "direct in [on]"])
def test_a_switch_is_on_and_not_what_the_experiment_is_on(condition: str) -> None:
    """The target depends on a factor, so the experiment's `on` is a column too."""
    text = f"""
import fio
dir here {{ path = "." }}
file small on here {{ size = 64MiB }}
file large on here {{ size = 1GiB }}
let target = small | large
fio reads {{ rw = randread  direct = on | off }}
experiment e {{ on = target  run = reads  expect median(read_iops where {condition}) > 1000/s }}
"""
    checked = check.program(Source("program.zexp", text), str)
    assert checked.is_sound, [finding.message for finding in checked.findings]
    (clause,) = checked.program.experiments["e"].clauses
    assert isinstance(clause, Expectation)
    assert [part.name for part in parts(clause.term) if part.op == "factor"] == ["direct"]
    values = [part.value for part in parts(clause.term) if part.op == "value"]
    assert values in ([True, 1000], [False, 1000])
