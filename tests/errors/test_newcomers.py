"""Test mistakes of newcomers from other languages or tools: one error at its place, and a hint that fixes it.

`newcomers.txt` alternates between a program and its hint, which a reader has found to fix it. `newcomers_unmended.txt`
has programs with several errors, with errors outside these lines, or with a hint that is not sufficient to fix them.
`⏎` represents the end of a line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from zlang.check import check
from zlang.diagnostics import Diagnostic, Severity
from zlang.source import Source

HEAD = """\
import fio
import linux
import wrappers
dir here { path = "." }
file data on here { size = 64MiB }
fio reads { rw = randread  bs = 4KiB | 8KiB }
"""
LINES = (Path(__file__).parent / "newcomers.txt").read_text("utf-8").splitlines()
CASES = list(zip(LINES[::2], LINES[1::2], strict=True))
UNMENDED = (Path(__file__).parent / "newcomers_unmended.txt").read_text("utf-8").splitlines()
FIO_LEFT_OUT = ("filename", "directory", "randseed", "group_reporting", "cgroup_nodelete", "pre_read", "buffered")


def errors_of(text: str) -> list[Diagnostic]:
    """Return the errors of a program that begins as these do."""

    def read(path: str) -> str:
        raise FileNotFoundError(2, "No such file or directory", path)

    lines = text.replace(" ⏎ ", "\n")
    findings = check.program(Source("program.zexp", f"{HEAD}{lines}\n"), read).findings
    return [finding for finding in findings if finding.code.severity is Severity.ERROR]


@pytest.mark.parametrize(("text", "hint"), CASES)
def test_one_error_with_the_hint_that_mends_it(text: str, hint: str) -> None:
    """The error is reported on the faulty line."""
    (finding,) = errors_of(text)
    assert f"  => {finding.hint}" == hint
    assert finding.span.start >= len(HEAD) - 1


@pytest.mark.parametrize("text", UNMENDED)
def test_mistakes_without_a_fixing_hint_are_errors(text: str) -> None:
    assert errors_of(text)


@pytest.mark.parametrize("option", FIO_LEFT_OUT)
def test_an_option_that_is_left_out_has_its_reason(option: str) -> None:
    """No other option is suggested, so no fix inserts one."""
    (finding,) = errors_of(f"fio other {{ rw = read  {option} = 1 }}")
    assert "did you mean" not in finding.hint
    assert finding.hint
    assert finding.fixes == ()


def test_a_where_from_another_experiment_is_not_in_the_line_of_a_table() -> None:
    base = "experiment base { on = data  run = reads  where reads.bs == 4KiB }"
    assert errors_of(f"{base}\nexperiment more = base with {{ table read_iops }}") == []
