"""Check that the grammar is LALR(1) without conflicts, and that files built from it and the library are stable."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlang.check import library
from zlang.syntax import tables


def test_the_grammar_is_strict_lalr() -> None:
    pytest.importorskip("interegular")
    tables.build(strict=True)


def test_the_tables_are_made_the_same_each_time() -> None:
    assert tables.build() == tables.build()


def test_the_library_is_noted_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for name in ("one", "other"):
        monkeypatch.setattr(library, "SAVED", tmp_path / name)
        library.save()
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]


def test_every_builder_is_used_and_every_rule_has_one() -> None:
    from zlang.syntax.build import BUILDERS

    assert {builder for *_, builder in tables.load().rules if builder} == set(BUILDERS)
