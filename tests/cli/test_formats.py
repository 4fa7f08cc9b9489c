"""Help texts name all formats of results; the commands themselves ask the registries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from zlang.cli import formats_of_findings
from zlang.report import formats, page

COMMANDS = (Path(__file__).parents[2] / "zlang" / "cli" / "commands.py").read_text("utf-8")


@pytest.mark.parametrize(
    ("begins", "words"),
    [
        ("table, csv, json, ndjson, markdown or", ["table", *formats.FORMATS]),
        ("table, csv, json, ndjson, markdown, latex or", ["table", *formats.FORMATS, "parquet"]),
        ("text, ", ["text", *formats_of_findings.FORMATS]),
        ("html, ", page.FORMATS),
    ],
)
def test_help_names_all_formats(begins: str, words: Iterable[str]) -> None:
    (text,) = re.findall(f'help="({begins}[^"]*)"', COMMANDS)
    assert {*re.findall(r"\w+", text)} - {"or"} == {*words}
