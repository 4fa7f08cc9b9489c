"""Check that help texts name all result formats; the commands themselves take them from the registries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from zlang.cli import formats_of_findings
from zlang.cli.app import guarded
from zlang.emit.registry import EMITTERS
from zlang.report import formats, page

CLI = Path(__file__).parents[2] / "zlang/cli"
HELP = "".join((CLI / name).read_text("utf-8") for name in ("commands.py", "options.py"))


@pytest.mark.parametrize(
    ("begins", "words"),
    [
        ("table, csv, json, ndjson, markdown or", ["table", *formats.FORMATS]),
        ("table, csv, json, ndjson, markdown, latex or", ["table", *formats.FORMATS, "parquet"]),
        ("text, ", ["text", *formats_of_findings.FORMATS]),
        ("html, ", page.FORMATS),
    ],
)
def test_help_names_all_formats(begins: str, words: Iterable[str]) -> None:
    (text,) = re.findall(f'help="({begins}[^"]*)"', HELP)
    assert {*re.findall(r"\w+", text)} - {"or"} == {*words}


@pytest.mark.parametrize("form", EMITTERS)
def test_an_emitted_plan_replaces_only_an_emitted_plan(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    program = """
        dir here { path = "." }
        shell quick { command = "true" }
        experiment one { on = here  run = quick }
    """
    (tmp_path / "p.zexp").write_text(program, "utf-8")
    emit = ["plan", "p.zexp", "--emit", form, "--out", "."]
    assert [guarded(emit), guarded([*emit, "--seed", "2"])] == [0, 0]
    path = tmp_path / EMITTERS[form].file
    path.write_text("my own notes", "utf-8")
    assert guarded(emit) == 1
    assert path.read_text("utf-8") == "my own notes"
    assert f"{path.name} exists, and is not a plan that zlang wrote" in capsys.readouterr().err
