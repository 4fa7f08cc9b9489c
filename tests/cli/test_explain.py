"""Check each page of `zlang explain`: its wrong program has only that finding, and its corrected program has none."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from _pytest.capture import CaptureFixture

from zlang.cli import explaining
from zlang.cli.app import guarded
from zlang.diagnostics import Code, Diagnostic, Lint, Severity
from zlang.lint.rules import EXCLUDED
from zlang.lint.rules.excluded import Excluded

CODES = pytest.mark.parametrize("code", explaining.every(), ids=lambda code: code.id)
OF_FINDINGS = pytest.mark.parametrize(
    "code", [code for code in explaining.every() if explaining.page(code).wrong], ids=lambda code: code.id
)
PLANNED = pytest.mark.parametrize(
    "code", [code for code in explaining.every() if explaining.page(code).planned], ids=lambda code: code.id
)


@pytest.fixture(autouse=True)
def each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cache findings: several tests need the same ones, and E312 takes seconds to give up counting."""
    monkeypatch.setattr(explaining, "findings", cached_findings)


@cache
def cached_findings(
    page: explaining.Page, text: str, look: Callable[..., list[Diagnostic]] = explaining.findings
) -> list[Diagnostic]:
    return look(page, text)


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert {path.stem for path in explaining.PAGES.iterdir()} == {code.id for code in (*Code, *EXCLUDED)}


@OF_FINDINGS
def test_the_wrong_program_has_this_finding_and_no_other(code: explaining.Explained) -> None:
    page = explaining.page(code)
    codes = [finding.code.id for finding in explaining.findings(page, explaining.wrong_program(page))]
    assert page.by in codes
    assert set(codes) == {page.by, page.also or page.by}
    assert isinstance(code, Lint) or codes[0] == (page.also or page.by)


def test_pitfalls_are_numbered_without_gaps() -> None:
    ids = sorted(code.id for code in (*explaining.every(), *explaining.after_a_run()) if code.id.startswith("ZL"))
    assert len(ids) >= 78
    assert ids == [f"ZL{number:03}" for number in range(1, len(ids) + 1)]


def test_every_pitfall_is_found_or_shown_to_be_excluded() -> None:
    pages = [explaining.page(code) for code in explaining.every()]
    assert [page.code.id for page in pages if bool(page.wrong) == bool(page.planned)] == []
    assert [
        page.code.id
        for page in pages
        if isinstance(page.code, Excluded) == (page.by == page.code.id and not page.planned)
    ] == []


@PLANNED
def test_the_command_of_a_page_prints_what_the_page_shows(
    code: explaining.Explained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: CaptureFixture[str]
) -> None:
    page = explaining.page(code)
    monkeypatch.chdir(tmp_path)
    Path(explaining.PROGRAM).write_text(page.right, "utf-8")
    if page.data:
        Path("data.csv").write_text(page.data, "utf-8")
        assert guarded(["ingest", "--csv", "data.csv", "--program", explaining.PROGRAM]) == 0
    assert guarded(shlex.split(page.command)[1:]) == 0
    lines = iter(capsys.readouterr().out.splitlines())
    assert [wanted for wanted in page.planned.splitlines() if wanted not in lines] == []


@CODES
def test_the_mended_program_is_clean(code: explaining.Explained) -> None:
    page = explaining.page(code)
    assert [f"{finding.code.id} {finding.message}" for finding in explaining.findings(page, page.right)] == []


@OF_FINDINGS
def test_the_command_prints_the_message(
    code: explaining.Explained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: CaptureFixture[str]
) -> None:
    page = explaining.page(code)
    (tmp_path / explaining.PROGRAM).write_text(explaining.wrong_program(page), "utf-8")
    monkeypatch.chdir(tmp_path)
    exit_code = guarded(shlex.split(page.command)[1:])
    assert explaining.message(page, colour=False).rstrip() in capsys.readouterr().err
    assert exit_code == (1 if isinstance(code, Excluded) or code.severity is Severity.ERROR else 0)


@CODES
def test_a_page_fits_on_the_screen(code: explaining.Explained, capsys: CaptureFixture[str]) -> None:
    assert guarded(["explain", code.id.lower()]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{code.id}: ")
    assert shown.count("\n") <= 60
    assert all(len(line) <= 190 for line in shown.split("\n"))


def test_without_a_code_all_are_listed(capsys: CaptureFixture[str]) -> None:
    assert guarded(["explain"]) == 0
    listed = capsys.readouterr().out.splitlines()
    every = sorted(code.id for code in (*explaining.every(), *explaining.after_a_run()))
    assert [line.split()[0] for line in listed[:-2]] == every


@pytest.mark.parametrize("word", ["R101", "drift", "zl044", "littles-law"])
def test_findings_about_results_have_a_page(word: str, capsys: CaptureFixture[str]) -> None:
    assert guarded(["explain", word]) == 0
    shown = capsys.readouterr().out
    assert shown.count("\n") < 60
    assert re.search(rf"warning\[.*{word}", shown, re.IGNORECASE)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("E1O1", "did you mean `E101`?"),
        ("e2l4", "did you mean `E214`?"),
        ("E2033", "did you mean `E203`"),
        ("frog", "`zlang explain` lists the codes"),
        ("drfit", "did you mean `drift`?"),
        ("bs-below", "did you mean `bs-below-recordsize`?"),
        ("atime", "it is a property: `zlang kinds ext4.atime`, "),
        ("datasets", "did you mean `dataset`?"),
    ],
)
def test_an_unknown_code_has_a_suggestion(word: str, hint: str, capsys: CaptureFixture[str]) -> None:
    assert guarded(["explain", word]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: `{word}` is not a code, a rule, a metric, a kind or a column\n  = help: {hint}")


@pytest.mark.parametrize("word", ["ext4", "ext4.atime"])
def test_a_kind_and_a_property_are_explained_as_kinds_describes_them(word: str, capsys: CaptureFixture[str]) -> None:
    assert guarded(["explain", word]) == 0
    explained = capsys.readouterr().out
    assert guarded(["kinds", word]) == 0
    assert explained == capsys.readouterr().out
    assert explained.endswith(f"page of the documentation: kinds/filesystems.html#{word}\n")
    assert guarded(["explain", "ext4.attime"]) == 1
    assert "did you mean `atime`?" in capsys.readouterr().err


@pytest.mark.parametrize("site", ["https://docs.example.org/zlang", "https://docs.example.org/zlang/"])
def test_the_address_of_the_documentation_can_be_set(
    site: str, monkeypatch: pytest.MonkeyPatch, capsys: CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ZLANG_DOCS", site)
    assert guarded(["explain", "E203"]) == 0
    assert capsys.readouterr().out.endswith(
        "page of the documentation: https://docs.example.org/zlang/errors/E203.html\n"
    )
    assert guarded(["kinds", "pool"]) == 0
    assert capsys.readouterr().out.endswith(
        "page of the documentation: https://docs.example.org/zlang/kinds/zfs.html#pool\n"
    )


def test_a_metric_of_a_stream_is_explained_as_that_of_all(capsys: CaptureFixture[str]) -> None:
    assert guarded(["explain", "oltp.read_iops"]) == guarded(["explain", "read_iops"]) == 0
    explained = capsys.readouterr().out
    assert explained == 2 * explained[: len(explained) // 2]
