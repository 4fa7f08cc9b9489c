"""Test how the output formats represent every type of value that DuckDB returns."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
import uuid
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlang.report.formats import FORMATS, as_csv, as_json, as_markdown, cell
from zlang.text import is_visible, visible

ODD = (
    (None, "", ""),
    (math.nan, "NaN", "NaN"),
    (math.inf, "Infinity", "Infinity"),
    (-math.inf, "-Infinity", "-Infinity"),
    (b"\x00\xff", "00ff", "00ff"),
    (dt.date(2026, 11, 21), "2026-11-21", "2026-11-21"),
    (dt.datetime(2026, 11, 21, 6, 13, 16, 5), "2026-11-21 06:13:16.000005", "2026-11-21 06:13:16.000005"),  # noqa: DTZ001 - as TIMESTAMP is
    (dt.time(6, 13), "06:13:00", "06:13:00"),
    (dt.timedelta(days=1, seconds=1), "1 day, 0:00:01", "1 day, 0:00:01"),
    (Decimal("1.50"), "1.50", 1.5),
    (Decimal("0.12345678901234567890"), "0.12345678901234567890", "0.12345678901234567890"),
    (2**63 - 1, str(2**63 - 1), 2**63 - 1),
    (1 << 100, str(1 << 100), str(1 << 100)),
    (True, "true", True),
    (1e300, "1e+300", 1e300),
    ([1, math.nan, None], '[1,"NaN",null]', [1, "NaN", None]),
    ({"a": b"\x01", 2: dt.date(2026, 1, 1)}, '{"a":"01","2":"2026-01-01"}', {"a": "01", "2": "2026-01-01"}),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005", "00000000-0000-0000-0000-000000000005"),
    ('a "b",\nc|d\\', 'a "b",\nc|d\\', 'a "b",\nc|d\\'),
)


def test_csv() -> None:
    written = as_csv(["n", "v"], [(n, value) for n, (value, *_) in enumerate(ODD)])
    read = list(csv.reader(io.StringIO(written, newline="")))
    assert read == [["n", "v"], *([str(n), text] for n, (_, text, _) in enumerate(ODD))]
    assert "\r" not in written


def test_json() -> None:
    read = json.loads(as_json(["v"], [(value,) for value, *_ in ODD]), parse_constant=_refuse)
    assert read[0] == {"v": None}
    assert [row["v"] for row in read[1:]] == [expected for *_, expected in ODD[1:]]


def _refuse(word: str) -> float:
    raise ValueError(word)


def test_markdown() -> None:
    assert as_markdown(["bs", "a|b", "x"], [(4096, "p|q\nr", None), (None, "\\", 1.5)]) == (
        "| bs | a\\|b | x |\n| ---: | --- | ---: |\n| 4096 | p\\|q<br>r |  |\n|  | \\\\ | 1.5 |\n"
    )


def test_latex() -> None:
    assert FORMATS["latex"](["bs_%", "x"], [(4096, "a&b\\~\n{1}"), (None, "<^>$#")]) == (
        "\\begin{tabular}{rl}\n\\toprule\nbs\\_\\% & x \\\\\n\\midrule\n"
        "4096 & a\\&b\\textbackslash{}\\textasciitilde{} \\{1\\} \\\\\n"
        " & \\textless{}\\textasciicircum{}\\textgreater{}\\$\\# \\\\\n\\bottomrule\n\\end{tabular}\n"
    )


def test_a_line_of_json_for_each_row() -> None:
    written = FORMATS["ndjson"](["v"], [(value,) for value, *_ in ODD])
    assert [json.loads(line)["v"] for line in written.splitlines()][1:] == [expected for *_, expected in ODD[1:]]


def test_nothing() -> None:
    written = {name: write(["a"], []) for name, write in FORMATS.items()}
    assert written["latex"].count("\\\\") == 1
    assert written == {**written, "csv": "a\n", "json": "[]\n", "ndjson": "", "markdown": "| a |\n| --- |\n"}


def test_a_mixed_column_keeps_to_the_left() -> None:
    assert "| --- |" in as_markdown(["a"], [(True,), (1,)])


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.floats() | st.integers())))
def test_every_format_keeps_text_and_numbers(rows: list[tuple[str, float]]) -> None:
    expected = [[cell(value) for value in row] for row in rows]
    shown = [[_in_csv(value) for value in row] for row in rows]
    read = csv.reader(io.StringIO(as_csv(["a", "b"], rows), newline=""))
    assert list(read)[1:] == shown
    assert [[row["a"], cell(row["b"])] for row in json.loads(as_json(["a", "b"], rows))] == expected
    assert len(as_markdown(["a", "b"], rows).split("\n")) == len(rows) + 3


def _in_csv(value: object) -> str:
    text = visible(cell(value), "\n\t")
    return f"'{text}" if isinstance(value, str) and text[:1] in {"=", "+", "-", "@", "\t"} else text


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
def test_a_spreadsheet_executes_no_cell(text: str) -> None:
    assert next(csv.reader(io.StringIO(as_csv([text], []), newline=""))) == [f"'{text}"]
    assert list(csv.reader(io.StringIO(as_csv(["a"], [[text]]), newline="")))[1] == [f"'{text}"]


def test_numbers_stay_numbers() -> None:
    assert as_csv(["a"], [[-1], [-1.5], [Decimal(-2)]]) == "a\n-1\n-1.5\n-2\n"


HIDING = [
    "\x1b[8m",
    "\x07",
    "\u202e",
    "\u2066",
    "\u200b",
    "\ufeff",
    "\x9b2J",
    "\x00",
    "\u3164",
    "\ufe00",
    "\U000e0100",
    "\udc80",
]


@pytest.mark.parametrize("form", ["json", "ndjson"])
@pytest.mark.parametrize("text", [*HIDING[:-1], "\x7f", "\U000e0041"])
def test_json_hides_nothing_and_stays_exact(form: str, text: str) -> None:
    written = FORMATS[form]([f"a{text}b"], [[f"c{text}d"]])
    assert is_visible(written.replace("\n", ""))
    read = json.loads(written)
    assert (read if form == "ndjson" else read[0]) == {f"a{text}b": f"c{text}d"}


@pytest.mark.parametrize("form", ["csv", "markdown", "latex"])
@pytest.mark.parametrize("text", HIDING)
def test_nothing_steers_the_terminal_or_hides(form: str, text: str) -> None:
    shown = FORMATS[form]([f"a{text}b"], [[f"c{text}d"]])
    assert is_visible(shown.replace("\n", ""))
    assert text.encode("unicode_escape").decode() in shown.replace(r"\textbackslash{}", "\\").replace(r"\[", "[")
