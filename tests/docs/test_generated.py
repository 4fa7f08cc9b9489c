"""Check that generated files match what their generators would write now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

GENERATORS = sorted((Path(__file__).parents[2] / "tools").glob("generate_*.py"))


@pytest.mark.parametrize("generator", GENERATORS, ids=[path.stem for path in GENERATORS])
def test_generated_pages_are_up_to_date(generator: Path) -> None:
    done = subprocess.run([sys.executable, generator, "--check"], capture_output=True, text=True, check=False)
    problem = done.stdout + done.stderr
    assert (done.returncode, problem) == (0, ""), f"type .venv/bin/python tools/{generator.name}\n{problem}"
