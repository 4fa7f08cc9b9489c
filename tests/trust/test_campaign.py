"""A seeded part of `make campaign`: runs survive a power cut and failing system calls."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from aftermath import Score
from campaign import BEGIN, END, Part, write_scores
from hostile_texts import OUTPUTS, try_room
from power_loss import lose_power
from syscall_faults import inject_faults

TOGETHER = ("single quote", "substitution", "escape", "zero width", "end of a script", "link", "SQL", "carriage return")
SHOWN = {"plan --steps", "runbook", "sql as Markdown", "sql as CSV", "report as HTML", "no such option"}


def test_a_run_survives_a_power_cut(tmp_path: Path) -> None:
    score = lose_power(seed=1, count=15, place=tmp_path)
    assert score.wrong == []
    assert score.tried.total() == 15


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_run_survives_failing_system_calls(tmp_path: Path) -> None:
    score = inject_faults(seed=1, count=12, place=tmp_path)
    assert score.wrong == []
    assert score.tried.total() == 12


def test_hostile_texts_are_shown_and_not_carried_out(tmp_path: Path) -> None:
    some = [output for output in OUTPUTS if output.name in SHOWN]
    shapes: dict[str, object] = {}
    try_room(["harmless"], tmp_path, shapes, Score(), some)
    score = Score()
    try_room(TOGETHER, tmp_path, shapes, score, some)
    assert score.wrong == []
    assert score.tried.total() > 500


def test_scores_replace_those_of_before_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_scores(page, [Part("power cut", 1200, 0, "3 kept")], seed=4, seconds=61)
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "| power cut | 1,200 | 1,200 | 3 kept |" in text
    assert "old" not in text
