"""Compare the output of the emitters with golden files, word for word. `BLESS=1 pytest tests/emit` rewrites them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from emit_plans import full_plan, write

from zlang.emit.registry import EMITTERS

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", EMITTERS)
def test_output_equals_the_golden_file(name: str) -> None:
    text = "".join(EMITTERS[name].emit(full_plan()))
    path = (GOLDEN / EMITTERS[name].file).with_stem("full")
    if os.environ.get("BLESS"):
        path.write_text(text, "utf-8")
    bless = "type BLESS=1 .venv/bin/pytest tests/emit"
    assert path.exists(), f"no golden file of `{name}`: {bless}"
    assert text == path.read_text("utf-8"), f"if that is what you want, {bless}, and read the diff"


@pytest.mark.parametrize("name", EMITTERS)
def test_emitting_twice_gives_the_same_output(name: str) -> None:
    plan = full_plan()
    assert list(EMITTERS[name].emit(plan)) == list(EMITTERS[name].emit(plan))


def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    done = subprocess.run(["shellcheck", "-s", "sh", write(tmp_path, full_plan())], capture_output=True, check=False)
    assert (done.stdout.decode(), done.returncode) == ("", 0)
