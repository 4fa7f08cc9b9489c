"""Test how query results are displayed: numbers in the units of their columns, and rows that are too wide."""

from __future__ import annotations

import os
import sys

import pytest

from zlang.cli import query_results
from zlang.cli.query_results import Meaning
from zlang.store.query import NamedColumn, Result

CATALOGUE = [
    NamedColumn("main", "trials", "bs", "factor", "size", "bytes"),
    NamedColumn("main", "trials", "read_bw", "metric", "number", "bytes/s"),
    NamedColumn("main", "trials", "write_bw", "metric", "number", "bytes/s"),
    NamedColumn("main", "trials", "read_clat_p99", "metric", "number", "ns"),
    NamedColumn("main", "trials", "elapsed", "trial", "", "s"),
    NamedColumn("other", "trials", "odd", "factor", "size", "bytes"),
    NamedColumn("main", "trials", "odd", "factor", "duration", "s"),
]
MEANINGS = query_results.meanings(CATALOGUE, {"metric": "read_clat_p99"}, "-- unit slowest = ns\nselect 1")


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        ("bs", "4KiB"),
        ("t.bs", "4KiB"),
        ("read_bw", "4 KiB/s"),
        ("median(read_bw)", "4 KiB/s"),
        ("max(t.read_bw) FILTER (WHERE (bs > 1))", "4 KiB/s"),
        ("quantile_cont(read_bw, 0.5)", "4 KiB/s"),
        ("(median(read_bw) + avg(write_bw))", "4 KiB/s"),
        ("avg((read_bw - write_bw))", "4 KiB/s"),
        ("slowest", "4.1 us"),
        ("latency_percentile(l.ns, l.count, 99)", "4.1 us"),
        ('median("value")', "4.1 us"),
        ("greatest", "4.1 us"),
        # Columns without a single, known unit:
        ("(read_bw + elapsed)", "4096"),
        ("(read_bw / write_bw)", "4096"),
        ("(2 * read_bw)", "4096"),
        ("ln(read_bw)", "4096"),
        ("count(bs)", "4096"),
        ("bw", "4096"),
        ("some_ratio", "4096"),
        ("odd", "4096"),
    ],
)
def test_units_of_columns(capsys: pytest.CaptureFixture[str], column: str, shown: str) -> None:
    query_results.print_table(Result((column,), ("BIGINT",), ((4096,),)), MEANINGS)
    assert capsys.readouterr().out.splitlines()[-1].strip() == shown


def test_without_meanings_numbers_are_plain(capsys: pytest.CaptureFixture[str]) -> None:
    query_results.print_table(Result(("bs",), ("BIGINT",), ((4096,),)), {})
    assert capsys.readouterr().out.split()[-1] == "4096"


def test_whole_numbers_have_no_fraction(capsys: pytest.CaptureFixture[str]) -> None:
    query_results.print_table(Result(("ios", "us"), ("DOUBLE", "DOUBLE"), ((61433.0, 2281.53),)), {})
    assert capsys.readouterr().out.split()[-2:] == ["61433", "2281.5"]


def test_rows_wider_than_the_terminal_are_shown_a_line_a_column(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for width, lines in ((200, 4), (20, 6)):
        monkeypatch.setattr("shutil.get_terminal_size", lambda width=width: os.terminal_size((width, 24)))
        result = Result(("bs", "a long name"), ("BIGINT", "VARCHAR"), ((4096, "x" * 20), (1, "\x1b[2J")))
        query_results.print_table(result, {"bs": Meaning("size", "bytes")})
        stdout = capsys.readouterr().out
        assert len(stdout.splitlines()) == lines
        assert "4KiB" in stdout
        assert "\x1b[2J" not in stdout
