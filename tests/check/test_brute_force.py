"""Compare the points of small random programs with those of a simple backtracking interpreter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.check import check
from zlang.check.program import Instance
from zlang.diagnostics import ProgramError
from zlang.plan.order import Order
from zlang.plan.schedule import Schedule
from zlang.source import Source
from zlang.units import Quantity

# An expression: a number, ("name", i), ("choice", expressions), ("sum", expression, expression), ("twice", expression)
# by a function, ("all", expressions) by a list that is made from a list, ("range", i) up to a name,
# ("column", j, values), the j-th name of a `let (a, b) = …`, or ("if", i, number, expression, expression), which is the
# third where the name has that value, else the fourth.
FIELDS = ("iodepth", "numjobs", "loops", "nrfiles")
HEAD = 'import fio\ndir d { path = "." }\nfile f on d { size = 1MiB }\nlet twice(n) = n + n\n'


Repeat = tuple[int, int, int, int]
"""Of which field of `w`, up to which number of it, how many replicates there are, and how many elsewhere."""
Program = tuple[list[Any], list[Any], list[tuple[int, int]], list[tuple[Any, str, int]], list[Any], bool, Repeat]
"""The names, the fields of `w`, a zip in it, the conditions, the fields of `v` if `run = w | v`, whether it is
`w with` these, and how often a point is measured."""


class Undecided(Exception):
    """A choice that has not been made: its name and its number of levels."""


def value(expr: Any, path: str, lets: list[Any], chosen: dict[str, int]) -> int:
    """Return the value if all choices that it needs have been made. Raises Undecided."""
    if isinstance(expr, int):
        return expr
    kind, *parts = expr
    if kind == "name":
        return value(lets[parts[0]], f"x{parts[0]}", lets, chosen)
    if kind == "sum":
        return value(parts[0], path, lets, chosen) + value(parts[1], path, lets, chosen)
    if kind == "twice":
        return 2 * value(parts[0], path, lets, chosen)
    if kind == "all":
        return sum(value(part, path, lets, chosen) + 1 for part in parts[0])
    if kind == "if":
        is_so = value(("name", parts[0]), "", lets, chosen) == parts[1]
        return value(parts[2 if is_so else 3], path, lets, chosen)
    if kind == "column":
        pair = f"zip{path.removeprefix('x')}" if parts[0] == 0 else f"zip{int(path.removeprefix('x')) - 1}"
        if pair not in chosen:
            raise Undecided(pair, len(parts[1]))
        return int(parts[1][chosen[pair]])
    if kind == "range":
        last = value(("name", parts[0]), "", lets, chosen)
        powers = [1 << i for i in range((last + 1).bit_length())]
        if path not in chosen:
            raise Undecided(path, len(powers))
        return powers[chosen[path]]
    if path not in chosen:
        raise Undecided(path, len(parts[0]))
    option = parts[0][chosen[path]]
    return value(option, f"{path}.{chosen[path]}", lets, chosen)


def holds(operator: str, bound: int | None, number: int) -> bool:
    """Decide whether a condition keeps a trial; an unknown condition does."""
    if operator == "< 3 <=":
        return (bound is None or bound < 3) and number >= 3
    if operator == "in pairs":
        return bound is None or bound in {number, number + 1}
    return bound is None or (bound <= number if operator == "<=" else bound != number)


def trials(program: Program, chosen: dict[str, int]) -> Iterator[tuple[int, ...]]:
    lets, fields, zipped, wheres, others, amends, (repeating, most, some, else_some) = program
    try:
        if others and "run" not in chosen:
            raise Undecided("run", 2)  # noqa: TRY301 - the same as of any other choice
        workload = "wv"[chosen.get("run", 0)]
        mine = others if workload == "v" else fields
        row = [value(expr, f"{workload}.{i}", lets, chosen) for i, expr in enumerate(mine)]
        if workload == "v" and amends:  # the other fields are those of `w`
            row += [value(fields[i], f"w.{i}", lets, chosen) for i in range(len(others), len(fields))]
        if zipped and (workload == "w" or amends):
            if "zip" not in chosen:
                raise Undecided("zip", len(zipped))  # noqa: TRY301
            row += zipped[chosen["zip"]]
        is_so = workload == "w" and row[repeating] <= most
    except Undecided as undecided:
        path, size = undecided.args
        for level in range(size):
            yield from trials(program, {**chosen, path: level})
        return
    for name, operator, number in wheres:
        bound: int | None = None
        with suppress(Undecided):
            if isinstance(name, int):
                bound = value(("name", name), "", lets, chosen)
            elif name[0] == workload:  # else the workload is not part of this trial
                bound = value(mine[name[1]], f"{workload}.{name[1]}", lets, chosen)
        if not holds(operator, bound, number):
            return
    for _ in range(some if is_so else else_some):
        yield tuple(row)


def constant(expr: Any, lets: list[Any]) -> int | None:
    """Return the value if it is the same at every point: a choice does not contain such a level twice."""
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
    if kind == "twice":
        return f"twice({written(parts[0])})"
    if kind == "all":
        return f"sum([n + 1 for n in [{', '.join(map(written, parts[0]))}]])"
    if kind == "range":
        return f"1..(x{parts[0]} + 1) by *2"
    if kind == "if":
        return f"if x{parts[0]} == {parts[1]} then {written(parts[2])} else {written(parts[3])}"
    return " | ".join(map(written, parts[0])) if kind == "choice" else " + ".join(map(written, parts))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    numbers = st.integers(1, 4)
    lets: list[Any] = []

    def single() -> object:
        return ("name", draw(st.integers(0, len(lets) - 1))) if len(lets) > 0 and draw(st.booleans()) else draw(numbers)

    def expr() -> object:
        how = draw(st.sampled_from(("choice", "choice", "sum", "single", "if", "twice", "all", "range")))
        if how == "range" and lets:
            return ("range", draw(st.integers(0, len(lets) - 1)))
        if how == "if" and lets:
            return ("if", draw(st.integers(0, len(lets) - 1)), draw(numbers), single(), single())
        if how == "choice":
            options = [single() for _ in range(draw(st.integers(2, 3)))]
            values = [constant(option, lets) for option in options]
            same = [option if value is None else value for option, value in zip(options, values, strict=True)]
            distinct = [option for n, option in enumerate(options) if same[n] not in same[:n]]
            return ("choice", distinct) if len(distinct) > 1 else distinct[0]
        if how in {"twice", "all"}:
            return (how, single()) if how == "twice" else (how, [single() for _ in range(draw(st.integers(1, 3)))])
        return ("sum", single(), single()) if how == "sum" else single()

    for _ in range(draw(st.integers(0, 4))):
        if draw(st.integers(0, 4)) == 0:
            rows = draw(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=3, unique=True))
            lets += [("column", 0, [row[0] for row in rows]), ("column", 1, [row[1] for row in rows])]
        else:
            lets.append(expr())
    fields = [expr() for _ in range(draw(st.integers(1, 3)))]
    pairs: st.SearchStrategy[list[tuple[int, int]]] = st.lists(st.tuples(numbers, numbers), min_size=2, max_size=3)
    zipped = draw(pairs | st.builds(list))
    others = [expr() for _ in range(draw(st.integers(0, 2)))]
    named: list[Any] = [*range(len(lets)), *(("w", i) for i in range(len(fields)))]
    named += [("v", i) for i in range(len(others))]
    operators = st.sampled_from(("<=", "!=", "< 3 <=", "in pairs"))
    wheres = draw(st.lists(st.tuples(st.sampled_from(named), operators, st.integers(1, 8)), max_size=2))
    times = st.integers(1, 3)
    repeat = (draw(st.integers(0, len(fields) - 1)), draw(numbers), draw(times), draw(times))
    return lets, fields, zipped, wheres, others, bool(others) and draw(st.booleans()), repeat


def declared(lets: list[Any]) -> Iterator[str]:
    for i, expr in enumerate(lets):
        if isinstance(expr, tuple) and expr[0] == "column":
            if expr[1] == 0:
                rows = zip(expr[2], lets[i + 1][2], strict=True)
                yield f"let (x{i}, x{i + 1}) = " + " | ".join(map(str, rows))
        else:
            yield f"let x{i} = {written(expr)}"


def text_of(program: Program) -> str:
    lets, fields, zipped, wheres, others, amends, (repeating, most, some, else_some) = program
    lines = [HEAD, *declared(lets), "fio w {", "  rw = read"]
    lines += [f"  {FIELDS[i]} = {written(expr)}" for i, expr in enumerate(fields)]
    if zipped:
        lines.append("  (openfiles, iodepth_batch) = " + " | ".join(f"({a}, {b})" for a, b in zipped))
    lines.append("}")
    if others:
        head = ["let v = w with {"] if amends else ["fio v {", "  rw = write"]
        lines += [*head, *(f"  {FIELDS[i]} = {written(e)}" for i, e in enumerate(others)), "}"]
    lines += ["experiment e {", "  on = f  run = w | v" if others else "  on = f  run = w"]
    so = f"run is w and w.{FIELDS[repeating]} <= {most}"
    lines.append(f"  repeat = if {so} then {some} else {else_some}")
    for name, operator, number in wheres:
        subject = f"x{name}" if isinstance(name, int) else f"{name[0]}.{FIELDS[name[1]]}"
        pairs = f"({subject}, {subject}) in [({number}, {number}), ({number + 1}, {number + 1})]"
        lines.append(f"  where {pairs}" if operator == "in pairs" else f"  where {subject} {operator} {number}")
    return "\n".join([*lines, "}", ""])


@settings(max_examples=250, deadline=None)
@given(programs(), st.data())
def test_points_agree_with_brute_force(program: Program, draw: st.DataObject) -> None:
    expected = Counter(trials(program, {}))
    text = text_of(program)
    checked = check.program(Source("program.zexp", text), str)
    assert checked.is_sound, [finding.message for finding in checked.findings]
    experiment = checked.program.experiments["e"]
    if not expected:
        with pytest.raises(ProgramError):
            Schedule(experiment, 1)
        return
    columns = {
        "w": [*FIELDS[: len(program[1])], *(("openfiles", "iodepth_batch") if program[2] else ())],
        "v": FIELDS[: len(program[4])],
    }
    if program[5]:
        columns["v"] = [*FIELDS[: max(len(program[1]), len(program[4]))], *columns["w"][len(program[1]) :]]
    counted: Counter[tuple[int, ...]] = Counter()
    schedule = Schedule(experiment, 1, order=draw.draw(st.sampled_from(Order)))
    slots = list(schedule.slots())
    assert len({(tuple(slot.point.items()), slot.replicate) for slot in slots}) == len(slots) == schedule.trials
    for point in (slot.point for slot in slots):
        workload = experiment.run.value(point)
        assert isinstance(workload, Instance)
        row = [workload.values[column] for column in columns[workload.label]]
        counted[tuple(int(cell.amount) for cell in row if isinstance(cell, Quantity))] += 1
    assert counted == expected, text
