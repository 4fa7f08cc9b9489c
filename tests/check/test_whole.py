"""Check that a condition has the same truth value in integer and in fraction arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from zlang.check import check
from zlang.diagnostics import ProgramError
from zlang.source import Source
from zlang.space import points

# A number of 961 bits, whose square is beyond the limit; fractions; factors that are absent at some points.
PROGRAM = """
import fio
let big = 1TiB * 1TiB / 1B / 1B
let huge = big * big * big * big * big * big * big * big * big * big * big * big
let a = 0..2
let b = 0.5 | 2 | huge
let c = 4KiB | 6KiB
let d = 4096B | 1.5KiB
dir here { path = "." }
file data on here { size = 1MiB }
fio w { cpus_allowed = "{a} {b} {c} {d}"  bs = 4KiB | 8KiB  iodepth = 3 | 5 }
fio v { cpus_allowed = "{a} {b} {c} {d}"  numjobs = 1 | 2 }
experiment e { on = data  run = w | v  where HERE }
"""
LEVELS = {"a": 3, "b": 3, "c": 2, "d": 2, "e.run": 2, "w.bs": 2, "w.iodepth": 2, "v.numjobs": 2}
COMPARED = ["==", "!=", "<", "<=", ">", ">="]


def sums(leaves: list[str], operators: list[str]) -> st.SearchStrategy[str]:
    def more(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.builds("({} {} {})".format, inner, st.sampled_from(operators), inner)

    return st.recursive(st.sampled_from(leaves), more, max_leaves=4)


NUMBERS = sums(["a", "b", "2", "0", "1.5", "w.iodepth", "v.numjobs"], ["+", "-", "*", "/", "%"])
SIZES = sums(["c", "d", "4KiB", "w.bs"], ["+", "-", "%"])
COMPARISONS = st.one_of(
    st.builds("{} {} {}".format, NUMBERS, st.sampled_from(COMPARED), NUMBERS),
    st.builds("{} {} {}".format, SIZES, st.sampled_from(COMPARED), SIZES),
)


def joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner)


def every_point() -> list[dict[str, int]]:
    """Return all combinations of levels; those of a workload only where it runs."""
    points = []
    for levels in product(*(range(size) for size in LEVELS.values())):
        point = dict(zip(LEVELS, levels, strict=True))
        gone = ("v.", "w.")[point["e.run"]]
        points.append({name: level for name, level in point.items() if not name.startswith(gone)})
    return points


POINTS = every_point()


def truth(holds: Callable[[dict[str, int]], object], point: dict[str, int]) -> object:
    """Return the truth value of a condition at a point, or the message that explains why it has none."""
    try:
        return holds(point)
    except ProgramError as error:
        return error.diagnostic.code


@settings(max_examples=60, deadline=None)
@given(st.recursive(COMPARISONS, joined, max_leaves=3))
def test_whole_numbers_and_fractions_agree(condition: str) -> None:
    checked = check.program(Source("e.zexp", PROGRAM.replace("HERE", condition)), str)
    (experiment,) = checked.program.experiments.values()
    assume(experiment.conditions)
    (where,) = experiment.conditions
    (quick,) = points.conditions(experiment)
    for point in POINTS:
        assert truth(quick.holds, point) == truth(where.value, point)
