"""Check that the parser recovers after one mistake with a single error, at the line of the mistake."""

from __future__ import annotations

import pytest
import recovery

from zlang.diagnostics import Code, Diagnostic
from zlang.source import Source
from zlang.syntax import parse


def findings(text: str) -> list[Diagnostic]:
    return list(parse.program(Source("program.zexp", text)).findings)


def lines(text: str) -> list[int]:
    return [finding.span.source.position(finding.span.start)[0] for finding in findings(text)]


def test_single_token_mutations() -> None:
    every = list(recovery.mutations(100, seed=7))
    assert sum(mutation.is_one_error for mutation in every) >= 100 * recovery.ONE_ERROR
    assert sum(mutation.is_at_the_line for mutation in every) >= 100 * recovery.RIGHT_LINE


MISTAKES = {
    "a head without its brace": ("dir d\n  path = 1\n  # or\n  path = 2\n}\nlet 5 = 1\n", [1, 6]),
    "a head of an experiment that goes on": ("experiment e 5 {\n  run = x\n}\nlet 5 = 1\n", [1, 4]),
    "a head that ends early": ("experiment e 5\n  run = x\n  where x\n}\nlet 5 = 1\n", [1, 5]),
    "a brace within a line": ("profile p { a = 1  b } 1s }\nlet 5 = 1\n", [1, 2]),
    "two mistakes in a line, far apart": ("let a = [1 | { b }, 2, 3 4]\n", [1]),
    "something else where a block ends": ("dir d {\n  path = 1\n4KiB\n\nlet 5 = 1\n", [3, 5]),
    "a block that is open to the end": ("dir d {\n  path = 1\n", [1]),
    "mistakes after a block that is never closed": ("dir d {\nfio x { a = | }\nexperiment e {\n  run = x\n}\n", [1, 2]),
    "a line that begins wrong": ("let a = 1\n4 fio x { }\nlet 5 = 1\n", [2, 3]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_lines_of_mistakes(name: str) -> None:
    text, expected = MISTAKES[name]
    assert lines(text) == expected


def test_declarations_before_a_broken_line_are_kept() -> None:
    parsed = parse.program(Source("program.zexp", "let a = 1\n4 fio x { }\nlet b = 2\n"))
    assert [type(entry).__name__ for entry in parsed.tree.entries] == ["Let", "Let"]
    assert "x" in parsed.broken
    assert "a" not in parsed.broken


def test_a_missing_brace_is_reported_where_it_belongs() -> None:
    (finding,) = findings("dir d  # here\n  path = 1\n}\n")
    assert (finding.code, finding.message) == (Code.UNEXPECTED, "expected `{`, found the end of the line")
    assert finding.span.source.position(finding.span.start) == (1, 6)
