"""Provide real output of real tools (stored beside this file), and steps and trials that read it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from zlang.plan.plan import Action, Reader, Step, Trial
from zlang.readers.reading import Reading, Window
from zlang.readers.registry import READERS

DATA = Path(__file__).parent / "data"


def step(name: str, tool: str, artefact: str, action: Action = Action.MEASURE, **args: Any) -> Step:
    """Create a step whose artefact is read by one tool's reader."""
    return Step(name, action, "true", "a test", 10, reader=Reader(tool, artefact, args))


def check(name: str, expect: str) -> Step:
    """Create a step that verifies a claim."""
    return Step(name, Action.VERIFY, "true", "a test", 10, expect=expect)


def trial(*steps: Step, cache: str = "as_is") -> Trial:
    """Create a trial of these steps."""
    return Trial(1, "ab12", 1, 0, {}, cache, cache, (), (), steps)


def read(directory: Path, tool: str, artefact: str, window: Window | None = None, **args: Any) -> Reading:
    """Read a file with a tool's reader."""
    measuring = step("measure", tool, artefact, **args)
    assert measuring.reader is not None
    return READERS[tool](directory, measuring.reader, measuring, window)


def fio(tmp_path: Path, name: str, **args: Any) -> Reading:
    """Read one of the stored fio runs, with the standard error that it left."""
    if (DATA / f"{name}.json").exists():
        shutil.copy(DATA / f"{name}.json", tmp_path / "fio.json")
    if (DATA / f"{name}.err").exists():
        shutil.copy(DATA / f"{name}.err", tmp_path / "measure.err")
    return read(tmp_path, "fio", "fio.json", **args)


def report(name: str) -> Any:
    """Return the report of one of the stored fio runs."""
    return json.loads((DATA / f"{name}.json").read_text())
