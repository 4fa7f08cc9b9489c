"""The LALR tables of the grammar: made by lark when the package is built, loaded without lark when zlang runs.

In: zexp.lark. Out: `Tables`, kept in tables.bin beside this file (in an editable install it is rebuilt when
the grammar changes). Importing lark costs more than everything else in `zlang check` (bench/README.md), and the
driver over the tables, with its recovery, is forty lines.
"""

from __future__ import annotations

import marshal
import re
import sys
from functools import cache
from pathlib import Path

from zlang.hints import Any
from zlang.record import Record

_HERE = Path(__file__).parent
GRAMMAR = _HERE / "zexp.lark"
SAVED = _HERE / "tables.bin"
FORMAT = 4
"""The format of marshal: every Python since 3.4 reads it, whichever version built the wheel."""
LONG = 4096
"""Characters of a text that no code has as a constant. It is not interned, which would cost each start a hash of it."""


class Tables(Record):
    """The tables of the parser.

    `actions[state][terminal]` is a state to shift to, or -1 - rule to reduce by; `rules` are (origin, length, kept
    parts, builder).
    """

    scanner: re.Pattern[str]
    keywords: dict[str, str]
    literals: dict[str, str]
    actions: list[dict[str, int]]
    gotos: list[dict[str, int]]
    rules: list[tuple[str, int, tuple[int, ...], str]]
    starts: dict[str, int]
    ends: dict[str, int]


@cache
def load() -> Tables:
    """Return the tables, which are made first if necessary."""
    kept = _saved()
    if kept[0] != GRAMMAR.read_text("utf-8"):
        kept = save(must=False)
    _, pattern, *remaining = kept
    fields = (re.compile(pattern), *remaining)
    return Tables(*fields)


def _saved() -> tuple[Any, ...]:
    """Return the stored tables; the first element is the grammar that they were made from."""
    try:
        kept: tuple[Any, ...] = marshal.loads(SAVED.read_bytes())  # noqa: S302 - a file of the package, as .pyc are
    except (OSError, ValueError, EOFError, TypeError):
        return ("", "")
    return kept


def save(*, must: bool = True) -> tuple[Any, ...]:
    """Make the tables from the grammar and store them, unless the package directory is read-only."""
    from zlang.files import replace_file

    made = (GRAMMAR.read_text("utf-8"), *build())
    try:
        replace_file(SAVED, marshalled(made), 0o644)
    except OSError:
        if must:
            raise
    return made


def marshalled(value: Any) -> bytes:
    """Serialize a value to bytes that are the same in every process and every version of Python.

    Otherwise they would depend on which equal texts and numbers happen to be the same object, and on interning
    (Python/marshal.c, `w_ref`).
    """
    seen = dict[Any, Any]()
    return marshal.dumps(_shared(value, seen), FORMAT)


def _shared(value: Any, seen: dict[Any, Any]) -> Any:
    """Return the same value with equal texts and numbers as the same object."""
    if isinstance(value, dict):
        return {_shared(key, seen): _shared(inner, seen) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shared(inner, seen) for inner in value]
    if isinstance(value, str) and len(value) < LONG:
        return sys.intern(value)
    if isinstance(value, tuple):
        return tuple([_shared(inner, seen) for inner in value])
    return seen.setdefault((type(value), value), value)


def build(*, strict: bool = False) -> tuple[Any, ...]:
    """Return the stored form: the fields of `Tables`, with the scanner as its pattern."""
    from lark import Lark
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    starts = ["file", "expr", "item"]
    lark: Any = Lark(GRAMMAR.read_text("utf-8"), parser="lalr", start=starts, lexer="basic", strict=strict)
    keywords: dict[str, str] = {}
    literals: dict[str, str] = {}
    patterns: list[tuple[str, str]] = []
    for terminal in lark.terminals:
        if terminal.pattern.type == "str":
            text = terminal.pattern.value
            (keywords if text.isidentifier() else literals)[text] = terminal.name
        else:
            patterns.append((terminal.name, terminal.pattern.to_regexp()))
    tried = ["STRING", "OPEN_END", "ZIP_OPEN", "FUNCTION", "NOT_IN", "FIELD", "NAME", "NUMBER", "COMPARE", "NEWLINE"]
    patterns.sort(key=lambda p: tried.index(p[0]))
    named = [f"(?P<{name}>{regex})" for name, regex in patterns if name != "COMPARE"]
    compare = next(f"(?P<COMPARE>{regex})" for name, regex in patterns if name == "COMPARE")
    longest_first = [re.escape(mark) for mark in sorted(literals, key=len, reverse=True) if len(mark) > 1]
    single = "".join(re.escape(mark) for mark in literals if len(mark) == 1)  # a set is compiled in half the time
    marks = f"(?P<MARK>{'|'.join([*longest_first, f'[{single}]'])})"
    pattern = "|".join([*named, compare, marks, r"(?P<COMMENT>#[^\n]*)", r"(?P<BLANK>(?:[ \t\r]|\\\n)+)"])

    value, memo = lark.memo_serialize([TerminalDef, Rule])  # the input of lark's own standalone parsers
    table = value["parser"]["parser"]
    order = _in_order(table)
    new = {state: number for number, state in enumerate(order)}
    numbers: dict[int, int] = {}
    rules: list[tuple[str, int, tuple[int, ...], str]] = []
    actions: list[dict[str, int]] = []
    gotos: list[dict[str, int]] = []
    for state in order:
        acts: dict[str, int] = {}
        goes: dict[str, int] = {}
        for symbol, is_reduced, argument in _entries(table, state):
            if is_reduced:
                rule = argument["@"]
                if rule not in numbers:
                    numbers[rule] = len(rules)
                    rules.append(_rule(memo[rule]))
                acts[symbol] = -1 - numbers[rule]
            elif _is_terminal(symbol):
                acts[symbol] = new[argument]
            else:
                goes[symbol] = new[argument]
        actions.append(acts)
        gotos.append(goes)
    begins = {start: new[state] for start, state in sorted(table["start_states"].items())}
    ends = {start: new[state] for start, state in sorted(table["end_states"].items())}
    return pattern, keywords, literals, actions, gotos, rules, begins, ends


def _entries(table: Any, state: int) -> list[tuple[str, int, Any]]:
    """Return the action of a state for each symbol: reduce by a rule of the memo, or go to a state."""
    entries = ((table["tokens"][token], *entry) for token, entry in table["states"][state].items())
    return sorted(entries, key=lambda entry: entry[0])


def _in_order(table: Any) -> list[int]:
    """Return the states in order of discovery: lark numbers them in set order, which differs between processes."""
    result: list[int] = [state for _, state in sorted(table["start_states"].items())]
    visited = set(result)
    for state in result:
        for _, is_reduced, argument in _entries(table, state):
            if not is_reduced and argument not in visited:
                visited.add(argument)
                result.append(argument)
    return result


def _is_terminal(symbol: str) -> bool:
    return symbol.isupper() or symbol.startswith("$")


def _rule(rule: Any) -> tuple[str, int, tuple[int, ...], str]:
    kept = tuple(i for i, symbol in enumerate(rule["expansion"]) if not symbol.get("filter_out", False))
    return rule["origin"]["name"], len(rule["expansion"]), kept, rule["alias"] or ""
