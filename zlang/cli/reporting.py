"""`zlang report`: a run as one page, as Markdown, or as CSV files."""

from __future__ import annotations

from pathlib import Path

from zlang.cli import render, words
from zlang.pipeline import reports
from zlang.report.page import FORMATS


def report(run: str | None, runs: Path, db: Path, form: str, out: Path | None) -> int:
    """Write the report of a run."""
    words.one_of("--format", form, FORMATS)
    target = out or Path(FORMATS[form].file)
    for path in reports.write_report(db, run, runs, form, target):
        print(render.visible(str(path)))
    return 0
