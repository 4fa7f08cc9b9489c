"""Check that commands print nothing unexpected on standard error when opening the database (`make newest`, too)."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Zlang
from reports import plain

COMMANDS = (
    ("ingest", "runs", "--db", "results.duckdb"),
    ("sql", "select count(*) from trials", "--format", "csv"),
    ("table",),
    ("compare", "--by", "bs"),
    ("findings",),
    ("status",),
    ("report", "--out", "report.html"),
)

UNSEALED = "its results cannot be verified: it has no seal, or a damaged one"
"""The test writes the run folder itself."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("measured")
    plain(directory)
    Zlang(directory)(*COMMANDS[0])
    return directory


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_standard_error_has_nothing_unexpected(words: tuple[str, ...], measured: Path) -> None:
    lines = Zlang(measured)(*words).err.splitlines()
    unexpected = [line for line in lines if not line.endswith(UNSEALED)]
    assert unexpected == (["no findings"] if words == ("findings",) else [])
    assert len(lines) - len(unexpected) == (words[0] != "status")
