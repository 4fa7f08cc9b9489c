"""Compare the points of valid programs with golden files: the factors' rows in the order of the space."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from zlang.check import check
from zlang.check.check import Overrides
from zlang.plan.schedule import Schedule
from zlang.source import Source

PROGRAMS = Path(__file__).parent / "programs"


def points_of(text: str) -> str:
    """Print each experiment with its count, followed by a line for each point."""
    overrides = Overrides(
        dict(line.removeprefix("#: set ").split("=", 1) for line in text.splitlines() if line.startswith("#: set ")),
        next((line.split()[2] for line in text.splitlines() if line.startswith("#: profile ")), None),
    )
    read = (PROGRAMS / "imports").joinpath
    checked = check.program(Source("program.zexp", text), lambda path: read(path).read_text("utf-8"), overrides)
    assert checked.is_sound, [finding.message for finding in checked.findings]
    shown = []
    for experiment in checked.program.experiments.values():
        schedule = Schedule(experiment, 1)
        shown.append(f"{experiment.name}: {schedule.space.count} points, {schedule.trials} trials")
        shown += [json.dumps(schedule.factors(point)) for point in schedule.space]
    return "\n".join(shown) + "\n"


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.zexp")), ids=lambda path: path.stem)
def test_points(path: Path) -> None:
    shown = points_of(path.read_text("utf-8"))
    golden = path.with_suffix(".points")
    if os.environ.get("BLESS"):
        golden.write_text(shown, "utf-8")
    assert shown == golden.read_text("utf-8")
