"""Random small programs have the points that an interpreter finds which chooses, goes on, and comes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.check import check
from zlang.check.program import Instance
from zlang.diagnostics import ProgramError
from zlang.plan.build import Schedule
from zlang.source import Source
from zlang.units import Quantity

# An expression: a number, ("name", i), ("choice", expressions) or ("sum", expression, expression).
FIELDS = ("iodepth", "numjobs", "loops", "nrfiles")
HEAD = 'import fio\ndir d { path = "." }\nfile f on d { size = 1MiB }\n'


Program = tuple[list[Any], list[Any], list[tuple[int, int]], list[tuple[int, str, int]]]


class Undecided(Exception):
    """A choice that has not been made: which, and of how many."""


def value(expr: Any, path: str, lets: list[Any], chosen: dict[str, int]) -> int:
    """The value where everything that is asked for has been chosen. Raises Undecided."""
    if isinstance(expr, int):
        return expr
    kind, *parts = expr
    if kind == "name":
        return value(lets[parts[0]], f"x{parts[0]}", lets, chosen)
    if kind == "sum":
        return value(parts[0], path, lets, chosen) + value(parts[1], path, lets, chosen)
    if path not in chosen:
        raise Undecided(path, len(parts[0]))
    option = parts[0][chosen[path]]
    return value(option, f"{path}.{chosen[path]}", lets, chosen)


def trials(program: Program, chosen: dict[str, int]) -> Iterator[tuple[int, ...]]:
    lets, fields, zipped, wheres = program
    try:
        row = [value(expr, f"w.{i}", lets, chosen) for i, expr in enumerate(fields)]
        if zipped:
            if "zip" not in chosen:
                raise Undecided("zip", len(zipped))  # noqa: TRY301 - the same as of any other choice
            row += zipped[chosen["zip"]]
    except Undecided as undecided:
        path, size = undecided.args
        for level in range(size):
            yield from trials(program, {**chosen, path: level})
        return
    for name, operator, number in wheres:
        try:
            known = value(("name", name), "", lets, chosen)
        except Undecided:
            continue
        if not (known <= number if operator == "<=" else known != number):
            return
    yield tuple(row)


def constant(expr: Any, lets: list[Any]) -> int | None:
    """The value where it is the same at every point: a choice has no such level twice."""
    try:
        return value(expr, "", lets, {})
    except Undecided:
        return None


def written(expr: Any) -> str:
    if isinstance(expr, int):
        return str(expr)
    kind, *parts = expr
    if kind == "name":
        return f"x{parts[0]}"
    return " | ".join(map(written, parts[0])) if kind == "choice" else " + ".join(map(written, parts))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    numbers = st.integers(1, 4)
    lets: list[Any] = []

    def single() -> object:
        return ("name", draw(st.integers(0, len(lets) - 1))) if len(lets) > 0 and draw(st.booleans()) else draw(numbers)

    def expr() -> object:
        how = draw(st.sampled_from(("choice", "choice", "sum", "single")))
        if how == "choice":
            options = [single() for _ in range(draw(st.integers(2, 3)))]
            known = [constant(option, lets) for option in options]
            same = [one if value is None else value for one, value in zip(options, known, strict=True)]
            distinct = [one for n, one in enumerate(options) if same[n] not in same[:n]]
            return ("choice", distinct) if len(distinct) > 1 else distinct[0]
        return ("sum", single(), single()) if how == "sum" else single()

    for _ in range(draw(st.integers(0, 4))):
        lets.append(expr())  # noqa: PERF401 - an expression uses the lets before it
    fields = [expr() for _ in range(draw(st.integers(1, 3)))]
    pairs: st.SearchStrategy[list[tuple[int, int]]] = st.lists(st.tuples(numbers, numbers), min_size=2, max_size=3)
    zipped = draw(pairs | st.builds(list))
    wheres: list[tuple[int, str, int]] = []
    if lets:
        names = st.integers(0, len(lets) - 1)
        wheres = draw(st.lists(st.tuples(names, st.sampled_from(("<=", "!=")), st.integers(1, 8)), max_size=2))
    return lets, fields, zipped, wheres


def text_of(program: Program) -> str:
    lets, fields, zipped, wheres = program
    lines = [HEAD, *(f"let x{i} = {written(expr)}" for i, expr in enumerate(lets)), "fio w {", "  rw = read"]
    lines += [f"  {FIELDS[i]} = {written(expr)}" for i, expr in enumerate(fields)]
    if zipped:
        lines.append("  (openfiles, iodepth_batch) = " + " | ".join(f"({a}, {b})" for a, b in zipped))
    lines += ["}", "experiment e {", "  on = f  run = w"]
    lines += [f"  where x{name} {operator} {number}" for name, operator, number in wheres]
    return "\n".join([*lines, "}", ""])


@settings(max_examples=250, deadline=None)
@given(programs())
def test_points_agree_with_brute_force(program: Program) -> None:
    expected = Counter(trials(program, {}))
    text = text_of(program)
    checked = check.program(Source("program.zexp", text), str)
    assert checked.is_sound, [finding.message for finding in checked.findings]
    experiment = checked.program.experiments["e"]
    if not expected:
        with pytest.raises(ProgramError):
            Schedule(experiment, 1)
        return
    columns = [*FIELDS[: len(program[1])], *(("openfiles", "iodepth_batch") if program[2] else ())]
    found: Counter[tuple[int, ...]] = Counter()
    for point in Schedule(experiment, 1).space:
        workload = experiment.run.value(point)
        assert isinstance(workload, Instance)
        row = [workload.values[column] for column in columns]
        found[tuple(int(cell.amount) for cell in row if isinstance(cell, Quantity))] += 1
    assert found == expected, text
