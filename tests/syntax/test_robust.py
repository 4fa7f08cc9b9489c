"""Whatever the text, there are findings and no exception, and soon."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zlang import diagnostics
from zlang.check import check
from zlang.cli import render
from zlang.diagnostics import Diagnostic
from zlang.source import Source
from zlang.space import faults

ROOT = Path(__file__).parents[2]
TEXTS = [path.read_text("utf-8") for folder in ("examples", "stdlib") for path in sorted(ROOT.glob(f"{folder}/*.zexp"))]
SIZE = 1 << 16


def missing(path: str) -> str:
    raise FileNotFoundError(2, "No such file or directory", path)


def findings(text: str) -> list[Diagnostic]:
    """All that `zlang check` does with a text."""
    checked = check.program(Source("program.zexp", text), missing)
    found = list(checked.findings)
    if checked.is_sound:
        found += faults.of(checked.program.experiments.values(), 1)[0]
    for finding in found:
        assert render.diagnostic(finding, colour=False)
        assert render.as_json(finding)
    return found


def lines(pattern: str, count: int) -> str:
    return "\n".join(pattern.format(i=i, j=i + 1) for i in range(count))


NINES = "9" * 10_000
BOMBS = {
    "parentheses": "let a = " + "(" * SIZE,
    "braces": "{" * SIZE,
    "brackets": "let a = " + "[" * SIZE,
    "all sorts": "let a = " + "([{" * 20_000,
    "balanced": "let a = " + "(" * 9_000 + "1" + ")" * 9_000,
    "names in a choice": "let a = " + "|".join(["a"] * 30_000),
    "numbers in a choice": "let a = " + "|".join(map(str, range(10_000))),
    "not": "let a = " + "not " * 16_000 + "on",
    "a long sum": "let a = " + " + ".join(["1"] * 10_000),
    "a long product": "let a = " + " * ".join(["9999999"] * 6_000),
    "a long conjunction": "let a = " + " and ".join(["1 == 1"] * 6_000),
    "conditionals": "let a = " + "if on then 1 else " * 3_500 + "1",
    "calls": "let a = " + "max(" * 15_000,
    "declarations": "let a = " + "dir { path = " * 4_000,
    "texts in texts": "let a = " + '"{' * 15_000,
    "long texts in texts": "let a = " + '"""{"{' * 9_000,
    "a path": "let a = " + ".".join(["a"] * 30_000),
    "a list": "let a = [" + ",".join(["1"] * 20_000) + "]",
    "arguments": "let a = max(" + ",".join(["1"] * 20_000) + ")",
    "names, each by the next": lines("let a{i} = a{j}", 5_000),
    "names, each by the last": "let a0 = 1 | 2\n" + lines("let a{j} = a{i} + 1", 3_000),
    "a circle of names": lines("let a{i} = a{j}", 3_000) + "\nlet a3000 = a0",
    "choices of choices": lines("let a{i} = a{j} | 1", 3_000),
    "twice the same sum": "let a0 = 1 | 2\n" + lines("let a{j} = a{i} + a{i}", 60),
    "twice the same choice": "let a0 = 1 | 2\n" + lines("let a{j} = a{i} | a{i}", 60),
    "twice the same text": 'let a0 = "x"\n' + lines('let a{j} = "{{a{i}}}{{a{i}}}"', 60),
    "twice the same list": "let a0 = [1]\n" + lines("let a{j} = [a{i}, a{i}]", 60),
    "squares": "let a0 = 9999\n" + lines("let a{j} = a{i} * a{i}", 60),
    "squares of fractions": "let a0 = 0.3333\n" + lines("let a{j} = a{i} * a{i}", 60),
    "what stands on what": "kind k: resource on k { }\nk k0 { }\n" + lines("k k{j} on k{i} {{ }}", 2_000),
    "properties by each other": "kind k: workload {\n" + lines("property p{i}: count {{ default = p{j} }}", 900) + "}",
    "a circle of properties": "kind k: resource { property a: size { default = b }  property b: size { default = a } }",
    "a long range": "let a = 1.." + "9" * 200,
    "a range of a million": "let a = 1..1000000 | 5",
    "a range by a little more": f"let a = 1..{NINES[:200]} by *1.0001",
    "digits": f"let a = {NINES}",
    "digits and a unit": f"let a = {NINES}KB\nlet b = {NINES}foo\nlet c = 0.{NINES}KiB",
    "a long unit": "let a = 5" + "K" * SIZE,
    "a long name": "let a = " + "b" * SIZE,
    "control characters": "".join(map(chr, range(32))) * 2_000,
    "NUL": "let a = \0\n" * 6_000,
    "surrogates": 'let a = "\ud800"\nlet \udfff = 1\n' * 1_000,
    "stray characters": "$%" * (SIZE // 2),
    "quotes": '"' * SIZE,
    "single quotes": "'" * SIZE,
    "texts that are not closed": '"a\n' * 20_000,
    "line ends": "\n" * SIZE,
    "line ends in parentheses": "let a = (" + "\n" * SIZE,
    "line ends before a bar": "let a = 1" + "\n" * SIZE + "| 2",
    "nothing bound": "let a =\n" * 8_000,
    "the same name": "let a = 1\n" * 6_000,
    "unknown names": lines("let x{i} = y{i}", 4_000),
    "unknown kinds": lines("foo x{i} {{ }}", 4_000),
    "unknown properties": "dir d {\n" + "pathh = 1\n" * 6_000 + "}",
    "blocks without a name": "experiment {\n" * 5_000,
    "zips": "dir d { " + "(a, b) = (1, 2) " * 3_500 + "}",
    "open zips": ("(" + "a," * 300 + "\n") * 100,
    "blanks": "let a = 1" + " " * SIZE + "2",
    "continued lines": "\\\n" * (SIZE // 2),
}


@pytest.mark.parametrize("name", BOMBS)
def test_no_program_is_too_hard(name: str) -> None:
    """It ends, and with no more than a person would read; how long it takes depends on the machine."""
    assert len(findings(BOMBS[name][:SIZE])) <= diagnostics.MOST + 1


def test_windows_line_ends_tabs_and_a_byte_order_mark() -> None:
    assert findings('\ufefflet\ta = 1\r\n  | 2\r\ndir d {\r\n\tpath = "."\r\n}\r\n') == []


def test_a_control_character_does_not_reach_the_terminal() -> None:
    (finding,) = findings("let a = \x1b[31m\n")[:1]
    assert "\x1b" not in render.diagnostic(finding, colour=False)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=st.characters(codec=None), max_size=200))
def test_any_text(text: str) -> None:
    findings(text)


WORDS = (  # noqa: SIM905 - a list of texts would be longer
    "let param profile import given experiment kind on if then else is in not and or by of as where property offers "
    'needs sh run collect repeat cache reads a b c d dir file fio shell size path 1 2 4KiB 5s 50% 0 "x" "{a}" """y""" '
    "( ) [ ] { } = == < <= + - * / | .. , . : # \n \n \n"
).split(" ")


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_any_words(words: list[str]) -> None:
    findings(" ".join(words))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 1 << 32))
def test_mutations_of_programs(seed: int) -> None:
    draw = random.Random(seed)
    text = draw.choice([text for text in TEXTS if len(text) < 20_000])
    for _ in range(draw.randint(1, 4)):
        start = draw.randrange(len(text))
        end = min(len(text), start + draw.choice((0, 1, 1, 5, 40)))
        piece = draw.choice((*WORDS, "", text[draw.randrange(len(text)) :][:20]))
        text = text[:start] + piece + text[end:]
    findings(text)
