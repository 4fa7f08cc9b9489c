"""`zlang report`: a run as one page, as Markdown, or as CSV files."""

from __future__ import annotations

from pathlib import Path

from zlang.cli import render, result_notes, words
from zlang.errors import UsageError
from zlang.pipeline import reports
from zlang.report.page import FORMATS

_OTHERWISE_NAMED = {".html", ".md", ".csv", ".pdf"}
"""Ends of file names that promise a format."""


def report(run: str | None, runs: Path, db: Path, form: str, out: Path | None, *, is_bundle: bool) -> int:
    """Write the report of a run."""
    words.one_of("--format", form, FORMATS)
    if is_bundle:
        if form != "html":
            raise UsageError("only the HTML report can be bundled", option="--bundle")
        archive = out or Path("report.zip")
        reports.write_bundle(db, run, runs, archive)
        print(f"written: {render.visible(str(archive))}")
    else:
        target = out or Path(FORMATS[form].file)
        if target.suffix in _OTHERWISE_NAMED - {Path(FORMATS[form].file).suffix}:
            content = "be a directory of CSV files" if FORMATS[form].is_directory else f"contain {form}"
            message = f"`{target.name}` would {content}: choose another name, or another --format"
            raise UsageError(message, option="--out")
        for path in reports.write_report(db, run, runs, form, target):
            print(f"written: {render.visible(str(path))}")
    result_notes.warn_of_damage(db, run)
    return 0
