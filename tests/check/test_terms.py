"""Test the terms that expectations compare factors with."""

from __future__ import annotations

import pytest

from zlang.check import check
from zlang.check.questions import Expectation, Term
from zlang.source import Source

PROGRAM = """import fio
dir here {{ path = "/srv" }}
file data on here {{ size = 1GiB }}
fio oltp {{ rw = randread  bs = 8KiB  runtime = 1s  time_based = on }}
fio backup {{ rw = read  bs = 1MiB  runtime = 1s  time_based = on }}
experiment e {{
  on     = data
  run    = oltp | {level}
  cache  = cold
  repeat = 5
  expect median(read_iops where run {condition}) > 1/s
}}
"""


def values(term: Term) -> list[object]:
    """Return the values in a formula, from left to right."""
    return [term.value] if term.op == "value" else [value for part in term.terms for value in values(part)]


@pytest.mark.parametrize("level", ["[oltp, backup]", "[ oltp,backup ]"])
@pytest.mark.parametrize("condition", ["== [oltp, backup]", "== [oltp,backup]"])
def test_a_list_matches_the_level_with_the_same_text(level: str, condition: str) -> None:
    """White space is ignored."""
    text = PROGRAM.format(level=level, condition=condition)
    checked = check.program(Source("program.zexp", text), str)
    assert checked.is_sound, [finding.message for finding in checked.findings]
    (clause,) = checked.program.experiments["e"].clauses
    assert isinstance(clause, Expectation)
    assert level in values(clause.term)
