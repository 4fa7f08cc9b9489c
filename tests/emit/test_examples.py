"""Emit scripts from examples with events and schedules: they are sound; commands for an md array match golden files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import REPOSITORY

from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.plan.plan import Setup, Step

EXAMPLES = REPOSITORY / "examples/streams"
GOLDEN = Path(__file__).parent / "golden/rebuilding_md.txt"


def plan_of(name: str) -> plans.Planned:
    checked = programs.check(programs.read(str(EXAMPLES / f"{name}.zexp")), Overrides())
    assert checked.is_sound, checked.findings
    return plans.plan(checked, programs.choose(checked, None), 1, Overrides())


def steps_of(name: str) -> Iterator[Step]:
    """Return all steps of setups, and of the first trial of each point."""
    for item in plan_of(name).plan.items():
        if isinstance(item, Setup):
            yield from (*item.make, *item.unmake)
        elif item.replicate == 1:
            yield from item.steps


@pytest.mark.parametrize("name", ["rebuilding", "rebuilding_md", "working_day"])
def test_shellcheck_finds_nothing(name: str) -> None:
    script = "".join(plans.emit(plan_of(name), "sh"))
    done = subprocess.run(["shellcheck", "-s", "sh", "-"], input=script.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stdout.decode()) == (0, "")


def test_the_commands_around_an_array_that_is_rebuilt_or_checked() -> None:
    commands = dict.fromkeys(f"# {step.action.value} {step.name}\n{step.command}\n" for step in steps_of(GOLDEN.stem))
    text = "\n".join(commands)
    if os.environ.get("BLESS"):
        GOLDEN.write_text(text, "utf-8")
    assert text == GOLDEN.read_text("utf-8")
