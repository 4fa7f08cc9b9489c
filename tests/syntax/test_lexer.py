"""Test errors that the lexer reports in any context."""

from __future__ import annotations

import pytest

from zlang.diagnostics import Code
from zlang.source import Source
from zlang.syntax import parse


@pytest.mark.parametrize("place", ['let a = "x{}y"', "# x{}y", "let a = 1  # {}"])
@pytest.mark.parametrize("turn", ["\u202e", "\u2066", "\u200f", "\u061c"])
def test_bidirectional_control_characters_are_errors_everywhere(place: str, turn: str) -> None:
    findings = parse.program(Source("program.zexp", place.format(turn) + "\n")).findings
    assert [(finding.code, finding.message) for finding in findings] == [
        (Code.BAD_CHARACTER, f"unexpected character `U+{ord(turn):04X}`")
    ]
