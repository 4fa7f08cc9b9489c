"""Test the score of `make campaign`; `make test` includes a minute of the campaign itself."""

from __future__ import annotations

from pathlib import Path

from campaign import BEGIN, END, Part, write_scores


def test_only_earlier_scores_are_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_scores(page, [Part("power cut", 1200, 0, "3 kept")], seed=4, seconds=61, where="tmpfs")
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "| power cut | 1,200 | 1,200 | 3 kept |" in text
    assert "old" not in text
