"""Generate programs that nobody would write; any text must yield findings and no exception.

Programs are generated in three ways: derived from the grammar, so that new productions are tested immediately; spliced,
with an expression, an item or an entry of one program replacing one in another; or mutated word by word.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from lark import Lark
from lark.grammar import NonTerminal, Symbol

from zlang.check import check
from zlang.check.used_kinds import resolve_used_kinds
from zlang.cli import render
from zlang.diagnostics import Diagnostic, ProgramError, Severity
from zlang.lint import lint
from zlang.lint.levels import Levels
from zlang.plan import build
from zlang.plan.schedule import Schedule
from zlang.record import Record
from zlang.source import Source, Span
from zlang.space import faults
from zlang.syntax import format as formatting
from zlang.syntax import parse, tree

ROOT = Path(__file__).parents[1]
SIZE = 1 << 16
_MOST_STEPS = 40
_LOOKED_AT = 3
_LONGEST_PARENT = 20_000

WORDS = (  # noqa: SIM905 - a list of texts would be longer
    "let param profile import given experiment kind on if then else is in not and or by of as where property offers "
    "expect table plot over facet design pairwise sample(3) overall median( p99( protocol phases change live rewrite "
    'needs sh run collect repeat cache reads a b c d dir file fio shell size path 1 2 4KiB 5s 50% 0 "x" "{a}" """y""" '
    "( ) [ ] { } = == < <= + - * / | .. , . : # \n \n \n"
).split(" ")
_TEXTS = {
    "NAME": ["a", "b", "c", "dir", "file", "fio", "shell", "size", "bs", "rw", "max", "median", "f", "d", "count"],
    "FIELD": ["a", "b", "c", "on", "run", "size", "path", "repeat", "design", "cache", "collect", "bs", "default"],
    "NUMBER": ["0", "1", "2", "-3", "4KiB", "1.5", "5s", "50%", "10/s", "1MiB/s", "99999999999", "0.0001", "4k", "4mb"],
    "STRING": ['"x"', '"{a}"', '"{a + 1}{b}"', '""', '"sdb"', '"sdf"', '"disk1"', '"disk9"', '"""t\n  {c}\n"""'],
    "ZIP_OPEN": ["("],
    "OPEN_END": [".."],
    "FUNCTION": ["twice"],
    "NOT_IN": ["not in"],
    "COMPARE": ["==", "!=", "<", "<=", ">", ">="],
    "NEWLINE": ["\n"],
}  # fmt: skip


def missing(path: str) -> str:
    """Refuse every import."""
    raise FileNotFoundError(2, "No such file or directory", path)


def findings(text: str) -> list[Diagnostic]:
    """Return all findings of `zlang check`. A valid program is also planned: a few trials of each experiment."""
    checked = check.program(Source("program.zexp", text), missing)
    all_findings = list(checked.findings)
    if checked.is_sound:
        all_findings += faults.of(checked.program.experiments.values(), 1)[0]
        if not any(finding.code.severity is Severity.ERROR for finding in all_findings):
            all_findings += lint.findings(checked.program, Levels({}))
        for experiment in checked.program.experiments.values():
            try:
                schedule = Schedule(experiment, 1)
                kinds = resolve_used_kinds(checked.program, experiment)
                for item in islice(build.plan(checked.program, kinds, build.Builder(schedule), {}).items(), _LOOKED_AT):
                    assert repr(item)
                count = schedule.space.count
                for index in {0, count // 2, count - 1}:
                    assert schedule.factors(schedule.space[index]) is not None
            except ProgramError as error:
                all_findings.append(error.diagnostic)
    for finding in all_findings:
        assert render.diagnostic(finding, colour=False)
        assert render.as_json(finding)
    return all_findings


def formatted(text: str) -> str:
    """Return the output of `zlang fmt`: same tree and comments, and unchanged by formatting it again."""
    before = parse.program(Source("x", formatting.plain(text)))
    result = formatting.program(Source("x", text))
    if before.findings or result.findings:
        assert result.findings
        assert result.text == formatting.plain(text) or result.text == text
        return text
    after = parse.program(Source("x", result.text))
    assert after.findings == ()
    assert after.tree.entries == before.tree.entries
    assert [c.text.rstrip() for c in after.tree.comments] == [c.text.rstrip() for c in before.tree.comments]
    assert formatting.program(Source("x", result.text)).text == result.text
    return result.text


# -- sources of programs


@cache
def parents() -> list[str]:
    """Return every valid program of the repository that is not too long, and the library."""
    places = ("examples", "stdlib", "tests/check/programs", "tests/emit", "docs")
    texts: list[str] = []
    for place in places:
        for path in sorted((ROOT / place).rglob("*")):
            if path.suffix == ".zexp":
                texts.append(path.read_text("utf-8"))
            elif path.suffix == ".md":
                texts += [part.split("\n", 1)[1] for part in path.read_text("utf-8").split("```")[1::2] if "\n" in part]
    return [t for t in texts if len(t) < _LONGEST_PARENT and not parse.program(Source("x", t)).findings]


@cache
def _pieces() -> dict[object, list[str]]:
    """Return the texts of the nodes of all programs, grouped by interchangeable class."""
    made: dict[object, list[str]] = {}
    for text in parents():
        for node, span in _nodes(parse.program(Source("x", text)).tree.entries):
            made.setdefault(_class(node), []).append(text[span.start : span.end])
    return made


_CLASSES = [get_args(union) for union in (tree.Expr, tree.Item, tree.KindItem, tree.Entry)]


def _class(node: Record) -> object:
    """Return the class of a node; nodes of one class are interchangeable."""
    return next((n for n, union in enumerate(_CLASSES) if isinstance(node, union)), type(node))


def _nodes(value: Any) -> Iterator[tuple[Record, Span]]:
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, tuple):
            stack.extend(part)
        elif isinstance(part, Record) and not isinstance(part, Span):
            span = getattr(part, "span", None)
            if isinstance(span, Span):
                yield part, span
                stack.extend(getattr(part, name) for name in type(part).record_fields)  # type: ignore[attr-defined]


# -- generation


def spliced(draw: random.Random) -> str:
    """Generate a program in which some nodes were replaced with nodes of others."""
    text = draw.choice(parents())
    for _ in range(draw.randint(1, 4)):
        parsed = parse.program(Source("x", text))
        nodes = [] if parsed.findings else list(_nodes(parsed.tree.entries))
        if not nodes:
            break
        node, span = draw.choice(nodes)
        text = text[: span.start] + draw.choice(_pieces()[_class(node)]) + text[span.end :]
    return text


def mutated(draw: random.Random) -> str:
    """Generate a program with words and pieces inserted, replaced and removed."""
    text = draw.choice(parents())
    for _ in range(draw.randint(1, 4)):
        start = draw.randint(0, len(text))
        end = min(len(text), start + draw.choice((0, 1, 1, 5, 40)))
        piece = draw.choice((*WORDS, "", text[draw.randint(0, len(text)) :][:20]))
        text = text[:start] + piece + text[end:]
    return text


@cache
def _productions() -> dict[Symbol, list[Sequence[Symbol]]]:
    """The right sides of each name of the grammar, the shortest first."""
    grammar = (ROOT / "zlang" / "syntax" / "zexp.lark").read_text("utf-8")
    made: dict[Symbol, list[Sequence[Symbol]]] = {}
    for rule in Lark(grammar, parser="lalr", start="file", keep_all_tokens=True).rules:
        made.setdefault(rule.origin, []).append(rule.expansion)
    return {name: sorted(sides, key=len) for name, sides in made.items()}


@cache
def _literals() -> dict[str, str]:
    """The words of the grammar that are always the same."""
    grammar = (ROOT / "zlang" / "syntax" / "zexp.lark").read_text("utf-8")
    terminals = Lark(grammar, parser="lalr", start="file", keep_all_tokens=True).terminals
    return {t.name: t.pattern.value for t in terminals if t.pattern.type == "str"}


def derived(draw: random.Random) -> str:
    """Generate a text that the grammar allows; recursive rules get rarer, so that it ends soon."""
    lines = [_derive(draw, NonTerminal("entry")) for _ in range(draw.randint(1, 5))]
    return "import fio\n" * draw.randint(0, 1) + "\n".join(lines) + "\n"


def _derive(draw: random.Random, start: Symbol) -> str:
    words: list[str] = []
    stack, steps = [start], 0
    while stack:
        symbol = stack.pop()
        if not symbol.is_term:
            steps += 1
            sides = _productions()[symbol]
            side = draw.choice(sides) if steps < _MOST_STEPS else _ends(symbol)
            stack.extend(reversed(side))
        else:
            words.append(draw.choice(_TEXTS[symbol.name]) if symbol.name in _TEXTS else _literals()[symbol.name])
    return " ".join(words)


@cache
def _heights() -> dict[Symbol, int]:
    """Return the minimum number of rules below each name."""
    heights: dict[Symbol, int] = {}
    while True:
        count_before = len(heights)
        for name, sides in _productions().items():
            heights_of_rule = [
                1 + _height(side, heights) for side in sides if all(s.is_term or s in heights for s in side)
            ]
            if heights_of_rule and name not in heights:
                heights[name] = min(heights_of_rule)
        if len(heights) == count_before:
            return heights


def _height(side: Sequence[Symbol], heights: dict[Symbol, int]) -> int:
    return max((heights[s] for s in side if not s.is_term), default=0)


@cache
def _ends(symbol: Symbol) -> Sequence[Symbol]:
    """Return the right side that ends soonest."""
    return min(_productions()[symbol], key=lambda side: (_height(side, _heights()), len(side)))


WAYS: dict[str, Callable[[random.Random], str]] = {"derived": derived, "mutated": mutated, "spliced": spliced}


# -- programs that are hard because of their size


def _lines(pattern: str, count: int) -> str:
    return "\n".join(pattern.format(i=i, j=i + 1) for i in range(count))


_NINES = "9" * 10_000
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
    "names, each by the next": _lines("let a{i} = a{j}", 5_000),
    "names, each by the last": "let a0 = 1 | 2\n" + _lines("let a{j} = a{i} + 1", 3_000),
    "a circle of names": _lines("let a{i} = a{j}", 3_000) + "\nlet a3000 = a0",
    "choices of choices": _lines("let a{i} = a{j} | 1", 3_000),
    "twice the same sum": "let a0 = 1 | 2\n" + _lines("let a{j} = a{i} + a{i}", 60),
    "twice the same choice": "let a0 = 1 | 2\n" + _lines("let a{j} = a{i} | a{i}", 60),
    "twice the same text": 'let a0 = "x"\n' + _lines('let a{j} = "{{a{i}}}{{a{i}}}"', 60),
    "twice the same list": "let a0 = [1]\n" + _lines("let a{j} = [a{i}, a{i}]", 60),
    "squares": "let a0 = 9999\n" + _lines("let a{j} = a{i} * a{i}", 60),
    "squares of fractions": "let a0 = 0.3333\n" + _lines("let a{j} = a{i} * a{i}", 60),
    "what is built on what": "kind k: resource on k { }\nk k0 { }\n" + _lines("k k{j} on k{i} {{ }}", 2_000),
    "properties by each other": "kind k: workload {\n" + _lines("property p{i}: count {{ default = p{j} }}", 900) + "}",
    "a circle of properties": "kind k: resource { property a: size { default = b }  property b: size { default = a } }",
    "a long range": "let a = 1.." + "9" * 200,
    "a range of a million": "let a = 1..1000000 | 5",
    "a range by a little more": f"let a = 1..{_NINES[:200]} by *1.0001",
    "digits": f"let a = {_NINES}",
    "digits and a unit": f"let a = {_NINES}KB\nlet b = {_NINES}foo\nlet c = 0.{_NINES}KiB",
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
    "unknown names": _lines("let x{i} = y{i}", 4_000),
    "unknown kinds": _lines("foo x{i} {{ }}", 4_000),
    "unknown properties": "dir d {\n" + "pathh = 1\n" * 6_000 + "}",
    "blocks without a name": "experiment {\n" * 5_000,
    "zips": "dir d { " + "(a, b) = (1, 2) " * 3_500 + "}",
    "open zips": ("(" + "a," * 300 + "\n") * 100,
    "blanks": "let a = 1" + " " * SIZE + "2",
    "branches with a finding each": 'import fio\ndir d { path = "." }\nfile f on d { size = 1MiB }\n'
    "experiment e { on = f  run = "
    + " | ".join(f"fio {{ rw = read  bs = {n * 4}KiB  iodepth = 1..{n % 16 + 3} }}" for n in range(1, 81))
    + " }",
    "continued lines": "\\\n" * (SIZE // 2),
}
