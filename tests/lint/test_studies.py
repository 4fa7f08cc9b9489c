"""Compare lint findings in the published studies, as first made, with a golden file: new false alarms are noticed."""

from __future__ import annotations

import os
from pathlib import Path

from zlang.check.check import Overrides
from zlang.diagnostics import Lint
from zlang.pipeline import programs

STUDIES = sorted((Path(__file__).parents[2] / "examples/studies").glob("*.zexp"))
GOLDEN = Path(__file__).parent / "golden/studies.txt"


def test_the_studies_have_exactly_these_findings() -> None:
    lines = []
    for path in STUDIES:
        checked = programs.check(programs.read(str(path)), Overrides())
        findings = [finding for finding in programs.lint(checked) if isinstance(finding.code, Lint)]
        lines += [
            path.stem,
            *(f"  {finding.code.severity.value}: {finding.code.name}: {finding.message}" for finding in findings),
        ]
    text = "\n".join([*lines, ""])
    if os.environ.get("BLESS"):
        GOLDEN.write_text(text, "utf-8")
    assert text == GOLDEN.read_text("utf-8")
