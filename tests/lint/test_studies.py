"""What the rules find in the published studies, as they were made: a golden file, so that no rule cries wolf unseen."""

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
        found = [one for one in programs.lint(checked) if isinstance(one.code, Lint)]
        lines += [path.stem, *(f"  {one.code.severity.value}: {one.code.name}: {one.message}" for one in found)]
    said = "\n".join([*lines, ""])
    if os.environ.get("BLESS"):
        GOLDEN.write_text(said, "utf-8")
    assert said == GOLDEN.read_text("utf-8")
