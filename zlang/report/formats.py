"""Rows as text: CSV, JSON (also as one line for each row), Markdown and LaTeX.

Rule: no value from DuckDB stops the output or is silently changed. A value that a format cannot express is written as
text (`NaN`, `Infinity`, a blob in hexadecimal); NULL is empty in CSV and Markdown and null in JSON. In CSV, Markdown
and LaTeX a control or invisible character is shown as its escape; JSON escapes them its own way; Parquet is exact.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal

from zlang.text import visible, visible_json

Rows = Iterable[Sequence[object]]

_LARGEST = 2**63
_BREAKS = "\n\t"
_MARKUP = re.compile(r"([\\`\[\]<>|&])")
"""Characters that Markdown takes for HTML, a link, code or the end of a cell."""
_NUMBERS = {int, float}
_EXECUTED = ("=", "+", "-", "@", "\t")
"""The first characters that make spreadsheets read a text as a formula (OWASP, CSV injection)."""


def as_csv(columns: Sequence[str], rows: Rows) -> str:
    """CSV as in RFC 4180, with a header line, but with bare newlines."""
    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\r\n")
    writer.writerow(map(_cell_of_csv, columns))
    writer.writerows([_cell_of_csv(value) for value in row] for row in rows)
    return "".join(lines.kept)


def _cell_of_csv(value: object) -> str:
    """One value; text that a spreadsheet would execute is prefixed with an apostrophe."""
    if type(value) in _NUMBERS:
        return cell(value)
    text = visible(cell(value), _BREAKS)
    return f"'{text}" if isinstance(value, str) and text.startswith(_EXECUTED) else text


class _Lines:
    """Collects CSV line by line: with another line terminator, the csv module would not quote a carriage return."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    def write(self, line: str) -> None:
        self.kept.append(line.removesuffix("\r\n") + "\n")


def as_json(columns: Sequence[str], rows: Rows) -> str:
    """A JSON array with an object for each row, one row per line."""
    lines = [_object(columns, row) for row in rows]
    return "[" + ",\n ".join(lines) + "]\n"


def as_one_json(tables: Iterable[tuple[str, Sequence[str], Rows]]) -> str:
    """A JSON array with an object for each of several tables: the text of its clause, and its rows."""
    objects = [
        f'{{"table": {_string(text)}, "rows": {as_json(columns, rows).rstrip()}}}' for text, columns, rows in tables
    ]
    return "[" + ",\n ".join(objects) + "]\n"


def _string(text: str) -> str:
    return visible_json(_dumped(text))


def as_ndjson(columns: Sequence[str], rows: Rows) -> str:
    """A JSON object for each row, each on its own line."""
    return "".join(_object(columns, row) + "\n" for row in rows)


def _object(columns: Sequence[str], row: Sequence[object]) -> str:
    return visible_json(_dumped({c: _json(v) for c, v in zip(columns, row, strict=True)}))


def as_latex(columns: Sequence[str], rows: Rows) -> str:
    """A `tabular` with the rules of booktabs; columns of numbers are right-aligned."""
    kept = [list(row) for row in rows]
    sides = "".join("r" if _is_numeric([row[n] for row in kept]) else "l" for n in range(len(columns)))
    lines = [" & ".join(_cell_of_latex(cell(value)) for value in row) + " \\\\\n" for row in kept]
    head = " & ".join(map(_cell_of_latex, columns)) + " \\\\\n"
    return (
        f"\\begin{{tabular}}{{{sides}}}\n\\toprule\n{head}\\midrule\n{''.join(lines)}\\bottomrule\n\\end{{tabular}}\n"
    )


def as_markdown(columns: Sequence[str], rows: Rows) -> str:
    """A table in GitHub's Markdown; columns of numbers are right-aligned."""
    kept = [list(row) for row in rows]
    rules = ["---:" if _is_numeric([row[n] for row in kept]) else "---" for n in range(len(columns))]
    lines = [[_cell_of_markdown(c) for c in columns], rules]
    lines += [[_cell_of_markdown(cell(value)) for value in row] for row in kept]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


FORMATS: Mapping[str, Callable[[Sequence[str], Rows], str]] = {
    "csv": as_csv,
    "json": as_json,
    "ndjson": as_ndjson,
    "latex": as_latex,
    "markdown": as_markdown,
}


def cell(value: object) -> str:
    """One value as the shortest text that reads back as the same value."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case float():
            return _float(value)
        case dict() | list() | tuple():
            return _dumped(_json(value))
        case Decimal():
            return str(value)
        case _:
            return str(_json(value))


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _dumped(value: object) -> str:
    import orjson

    return orjson.dumps(value).decode()


def _json(value: object) -> object:
    """The value in the types of JSON: 64-bit numbers, text, lists and objects."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if -_LARGEST <= value < _LARGEST else str(value)
        case float():
            return value if math.isfinite(value) else _float(value)
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case datetime():
            return value.isoformat(sep=" ")
        case date() | time():
            return value.isoformat()
        case Decimal():
            return _decimal(value)
        case dict():
            return {cell(k): _json(v) for k, v in value.items()}
        case list() | tuple() | set():
            return [_json(v) for v in value]
        case _:
            return str(value)


def _decimal(value: Decimal) -> float | str:
    """A number if a 64-bit floating-point reader gets the same digits, else text."""
    near = float(value)
    return near if Decimal(repr(near)) == value else str(value)


def _is_numeric(values: Sequence[object]) -> bool:
    names = [v for v in values if v is not None]
    return bool(names) and all(isinstance(v, (int, float, Decimal)) and not isinstance(v, bool) for v in names)


def _cell_of_markdown(text: str) -> str:
    escaped = visible(_MARKUP.sub(r"\\\1", text), _BREAKS)
    return escaped.replace("\n", "<br>")


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "\n": " ",
        "\r": " ",
        **{char: f"\\{char}" for char in "&%$#_{}"},
    }
)


def _cell_of_latex(text: str) -> str:
    return visible(text, _BREAKS).translate(_LATEX)
