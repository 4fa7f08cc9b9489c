"""Check programs that would take minutes to enumerate: each is read within seconds or refused."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from zlang.check import check
from zlang.diagnostics import Code, Diagnostic
from zlang.pipeline import plans
from zlang.source import Source
from zlang.space import faults

HEAD = 'import fio\ndir here { path = "." }\nfile data on here { size = 64MiB }\n'
LONGEST = 20
"""Seconds of a processor, several times what it takes on an idle machine: without the limits it would be minutes."""


def findings_of(text: str) -> list[Diagnostic]:
    """Return the findings of `check`."""
    checked = check.program(Source("program.zexp", text), lambda _: "")
    return [*checked.findings, *(faults.of(checked.program.experiments.values(), 1)[0] if checked.is_sound else ())]


def conditions(count: int = 300) -> str:
    """Write a program with 27,000 combinations and the given number of conditions on all of them."""
    axes = "fio r { rw = randread  bs = 4KiB..120KiB by 4KiB  iodepth = 1..30  numjobs = 1..30 }\n"
    wheres = "".join(f"  where r.iodepth * r.numjobs + {i} != r.bs / 4KiB * 1000 + {7 * i}\n" for i in range(count))
    return f"{HEAD}{axes}experiment e {{\n  on = data\n  run = r\n{wheres}}}\n"


def options(count: int) -> str:
    """Write a choice of the given number of numbers."""
    return f"let x = {' | '.join(map(str, range(count)))}\n"


def experiments(count: int) -> str:
    """Write a program with the given number of experiments, each derived from the one before."""
    derived = "".join(f"experiment e{i} = e{i - 1} with {{ repeat = 3 }}\n" for i in range(1, count))
    return f"{HEAD}fio r {{ rw = randread }}\nexperiment e0 {{ on = data  run = r }}\n{derived}"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (conditions, Code.TOO_CONNECTED),
        (lambda: options(20_000), Code.RANGE_TOO_LONG),
        (lambda: f"let x = {'|' * (1 << 20)}"[: 1 << 20], Code.TOO_LONG),
        (lambda: f"let x = 1{'|1' * 500_000}", Code.TOO_LONG),
        (lambda: f"let x = {'|' * 199_000}", Code.UNEXPECTED),
        (lambda: experiments(400), Code.TOO_LONG),
    ],
)
def test_evaluation_stops_at_the_limit(text: Callable[[], str], code: Code) -> None:
    """Exactly one finding names the limit."""
    program = text()
    before = time.process_time()
    findings = findings_of(program)
    assert time.process_time() - before < LONGEST
    assert [finding.code for finding in findings] == [code]


def test_many_conditions_on_few_combinations() -> None:
    """A program that is cheap to check is not refused."""
    assert findings_of(conditions(100).replace("1..30", "1..3")) == []


def streams(count: int) -> str:
    """Write a program with a trial of the given number of streams, each with a workload and a target of its own."""
    numbers = range(count)
    files = "".join(f"file d{i} on here {{ size = 1MiB }}\n" for i in numbers)
    jobs = "".join(f"fio r{i} on d{i} {{ rw = read  time_based = on  runtime = 5s }}\n" for i in numbers)
    return f"{HEAD}{files}{jobs}experiment e {{ run = [{', '.join(f'r{i}' for i in numbers)}] }}\n"


def targets(count: int) -> str:
    """Write a program that measures on the given number of files, one after the other."""
    files = "".join(f"file d{i} on here {{ size = {i + 1}MiB }}\n" for i in range(count))
    job = "fio r { rw = read  time_based = on  runtime = 5s }\n"
    return f"{HEAD}{files}{job}experiment e {{ on = {' | '.join(f'd{i}' for i in range(count))}  run = r }}\n"


@pytest.mark.parametrize("text", [streams(500), targets(4000), "# allow ZL003: it is meant\n" * 60_000 + HEAD])
def test_a_program_with_much_of_one_thing_is_checked_in_time(text: str) -> None:
    """The time is linear; where it was quadratic, it was more than a minute."""
    before = time.process_time()
    plans.report(check.program(Source("program.zexp", text), lambda _: ""))
    assert time.process_time() - before < LONGEST
