"""Check that any text is handled quickly, with findings instead of exceptions."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wild_programs import BOMBS, SIZE, WAYS, WORDS, findings, formatted

from zlang import diagnostics
from zlang.cli import render


@pytest.mark.parametrize("name", BOMBS)
def test_no_program_is_too_hard(name: str) -> None:
    """Checking ends, with no more findings than a person would read; the time depends on the machine."""
    text = BOMBS[name][:SIZE]
    assert len(findings(text)) <= diagnostics.MOST + 1
    formatted(text)


def test_windows_line_ends_tabs_and_a_byte_order_mark() -> None:
    assert findings('\ufefflet\ta = 1\r\n  | 2\r\ndir d {\r\n\tpath = "."\r\n}\r\n') == []


def test_a_text_of_several_lines_with_any_characters() -> None:
    assert formatted('let a = """\n  \0\ue000{1}\n  \ue001\n"""\n')


def test_a_control_character_does_not_reach_the_terminal() -> None:
    (finding,) = findings("let a = \x1b[31m\n")[:1]
    assert "\x1b" not in render.diagnostic(finding, colour=False)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=st.characters(codec=None), max_size=200))
def test_any_text(text: str) -> None:
    findings(text)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_any_words(words: list[str]) -> None:
    findings(" ".join(words))


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_wild_programs(way: str, seed: int) -> None:
    text = WAYS[way](random.Random(seed))
    findings(text)
    formatted(text)
