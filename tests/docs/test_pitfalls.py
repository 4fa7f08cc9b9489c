"""Test examples/pitfalls: the mistake in each is found before it runs, and some are carried out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from private_daemon import ZfsFuse

from tools import pitfalls
from zlang.check.check import Overrides
from zlang.diagnostics import Lint
from zlang.pipeline import programs
from zlang.source import Source

# A requested duration, bytes read from a disk, and bytes in a file are the same under any load.
# Bytes written back later are not: other tests wait for all dirty pages.
HANDFUL = ["runtime-without-time_based", "jobs-share-one-file", "compression-below-sector-gain"]


def names_of_findings(path: Path, text: str) -> list[str]:
    checked = programs.check(Source(str(path), text), Overrides())
    assert checked.is_sound, [finding.message for finding in checked.findings]
    return [finding.code.name for finding in programs.lint(checked) if isinstance(finding.code, Lint)]


def only(way: str, text: str) -> str:
    """Return the program with only one of its variants."""
    return re.sub(r"^(experiment .*{)$", rf'\1\n  where way == "{way}"', text, flags=re.MULTILINE)


@pytest.mark.parametrize("path", pitfalls.every(), ids=lambda path: path.stem)
def test_each_pitfall_has_exactly_its_own_finding(path: Path) -> None:
    text, name = path.read_text("utf-8"), pitfalls.rule(path)
    assert names_of_findings(path, text) == []
    plain = re.sub(rf"# allow {name}:.*", "", text)
    assert (plain != text) is (name in pitfalls.NAMES)
    # Without a `way`, one measurement has two answers.
    wrong, right = (only("wrong", plain), only("right", plain)) if "let way" in text else (plain, None)
    assert names_of_findings(path, wrong) == [name] * (name in pitfalls.NAMES)
    assert right is None or names_of_findings(path, right) == []


@pytest.mark.parametrize("name", HANDFUL)
def test_a_pitfall_is_carried_out(zfs_fuse: ZfsFuse, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pitfalls.PITFALLS / f"{name}.zexp"
    zfs_fuse.zlang("run", str(path), "--yes", "--order", pitfalls.order(path))
    monkeypatch.setattr(pitfalls, "every", lambda: [path])
    page = pitfalls.page(zfs_fuse.place / "results.duckdb")
    assert f"| [{name}](#{name}) | [{pitfalls.NAMES[name]}]" in page
    assert "**not** as expected" not in page
