"""Test the output of `zlang check --format` and the choice of files that it reads."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import pytest
from _pytest.capture import CaptureFixture
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from zlang.cli.app import guarded
from zlang.diagnostics import Code
from zlang.lint.rules import RULES

# 🦎 is one character on the screen's line, two units of UTF-16 and four bytes.
WRONG = 'let a = ["🦎", tme]\nlet c = 1\nlet c = 2\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str) -> int:
    return guarded(["check", *arguments])


# -- text, short, json


def test_short_is_a_line_for_each_finding(here: Path, capsys: CaptureFixture[str]) -> None:
    (here / "a.zexp").write_text(WRONG, "utf-8")
    assert check("a.zexp", "--format", "short") == 1
    assert capsys.readouterr() == (
        "a.zexp:1:15: error[E201]: unknown name `tme`\na.zexp:3:5: error[E204]: `c` is defined twice\n",
        "",
    )


@pytest.mark.parametrize("option", [["--json"], ["--format", "json"], ["--format=json"]])
def test_json_is_an_object_a_line(option: list[str], here: Path, capsys: CaptureFixture[str]) -> None:
    (here / "a.zexp").write_text(WRONG, "utf-8")
    assert check("a.zexp", *option) == 1
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert [first[key] for key in ("code", "file", "line", "column", "end_column")] == ["E201", "a.zexp", 1, 15, 18]
    assert second["notes"] == [
        {"message": "first defined here", "file": "a.zexp", "line": 2, "column": 5, "end_line": 2, "end_column": 6}
    ]


def test_an_unknown_format_has_a_suggestion(here: Path, capsys: CaptureFixture[str]) -> None:
    assert check("a.zexp", "--format", "srif") == 2
    assert "`srif`: did you mean `sarif`?" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("form", ["short", "json", "github"])
def test_a_clean_program_prints_nothing(form: str, here: Path, capsys: CaptureFixture[str]) -> None:
    (here / "a.zexp").write_text("let a = 1\n", "utf-8")
    assert check("a.zexp", "--format", form) == 0
    assert capsys.readouterr() == ("", "")


# -- github


def test_github_gets_annotations(here: Path, capsys: CaptureFixture[str]) -> None:
    (here / "100%, a:b.zexp").write_text(WRONG, "utf-8")
    assert check("100%, a:b.zexp", "--format", "github") == 1
    place = "file=100%25%2C a%3Ab.zexp"
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(
        f"::error {place},line=1,endLine=1,col=15,endColumn=18,title=E201::unknown name `tme`%0Ahelp: "
    )
    assert second.startswith(f"::error {place},line=3,")


def test_a_message_of_github_is_one_line(here: Path, capsys: CaptureFixture[str]) -> None:
    (here / "a.zexp").write_text("let time = 50%\nlet b = tme\nlet c = (1\n", "utf-8")
    check("a.zexp", "gone\n.zexp", "--format", "github")
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("::error") for line in lines)
    assert any(line.endswith("%0Ahelp: did you mean `time`?") for line in lines)
    assert lines[-1].startswith("::error::cannot read gone%0A.zexp: ")


def test_a_warning_is_one_in_every_format(here: Path, capsys: CaptureFixture[str]) -> None:
    source = "import fio\ndir d { path = '.' }\nfile f on d { size = 1MiB }\nfio r { rw = read  bs = 4KiB }\n"
    source += "experiment e { on = f  run = r  where r.bs >= 4KiB }\n"
    (here / "a.zexp").write_text(source.replace("'", '"'), "utf-8")
    printed = {}
    for form in ("short", "json", "sarif", "github"):
        assert check("a.zexp", "--format", form) == 0
        printed[form] = capsys.readouterr().out
    assert "a.zexp:5:39: warning[W501]: " in printed["short"]
    assert json.loads(printed["json"])["severity"] == "warning"
    assert json.loads(printed["sarif"])["runs"][0]["results"][0]["level"] == "warning"
    assert printed["github"].startswith("::warning file=a.zexp,line=5,")


# -- sarif: the part of its schema that zlang uses. What the schema does not have is refused here as it is there
# (`additionalProperties: false`). Source: sarif-schema-2.1.0.json of OASIS, definitions of the same names.


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Message(Part):
    text: str


Positive = Annotated[int, Field(ge=1)]
Level = Literal["none", "note", "warning", "error"]
Reference = Annotated[str, Field(pattern=r"^([a-z][a-z0-9+.-]*://)?([A-Za-z0-9._~!$&'()*+,;=@/-]|%[0-9A-F]{2})*$")]


class ArtifactLocation(Part):
    uri: Reference


class Region(Part):
    startLine: Positive  # noqa: N815 - the schema's names
    startColumn: Positive  # noqa: N815
    endLine: Positive  # noqa: N815
    endColumn: Positive  # noqa: N815


class PhysicalLocation(Part):
    artifactLocation: ArtifactLocation  # noqa: N815
    region: Region


class LogicalLocation(Part):
    fullyQualifiedName: str  # noqa: N815


class Location(Part):
    physicalLocation: PhysicalLocation | None = None  # noqa: N815
    logicalLocations: list[LogicalLocation] | None = None  # noqa: N815
    message: Message | None = None


class Insertion(Part):
    text: str


class Replacement(Part):
    deletedRegion: Region  # noqa: N815
    insertedContent: Insertion  # noqa: N815


class ArtifactChange(Part):
    artifactLocation: ArtifactLocation  # noqa: N815
    replacements: Annotated[list[Replacement], Field(min_length=1)]


class Fix(Part):
    description: Message
    artifactChanges: Annotated[list[ArtifactChange], Field(min_length=1)]  # noqa: N815
    properties: dict[str, str]


class Result(Part):
    ruleId: str  # noqa: N815
    ruleIndex: Annotated[int, Field(ge=-1)]  # noqa: N815
    level: Level
    message: Message
    locations: list[Location]
    relatedLocations: list[Location] | None = None  # noqa: N815
    fixes: list[Fix] | None = None


class ReportingConfiguration(Part):
    level: Level


class ReportingDescriptor(Part):
    id: str
    name: str
    shortDescription: Message  # noqa: N815
    help: Message
    defaultConfiguration: ReportingConfiguration  # noqa: N815


class ToolComponent(Part):
    name: str
    semanticVersion: str  # noqa: N815
    rules: list[ReportingDescriptor]


class Tool(Part):
    driver: ToolComponent


class Notification(Part):
    level: Level
    message: Message


class Invocation(Part):
    executionSuccessful: bool  # noqa: N815
    toolExecutionNotifications: list[Notification] | None = None  # noqa: N815


class Run(Part):
    tool: Tool
    columnKind: Literal["utf16CodeUnits", "unicodeCodePoints"]  # noqa: N815
    invocations: list[Invocation]
    results: list[Result]


class Sarif(Part):
    schema_: Annotated[str, Field(alias="$schema", pattern="^https://")]
    version: Literal["2.1.0"]
    runs: list[Run]


def sarif(capsys: CaptureFixture[str]) -> Run:
    (run,) = TypeAdapter(Sarif).validate_json(capsys.readouterr().out).runs
    return run


def test_sarif_holds_all_findings_of_all_files(here: Path, capsys: CaptureFixture[str]) -> None:
    (here / "ä b:c.zexp").write_text(WRONG, "utf-8")
    (here / "sub").mkdir()
    (here / "sub/d.zexp").write_text("\n\nlet x = y\n", "utf-8")
    absolute = here / "e.zexp"
    absolute.write_text("let x = y\n", "utf-8")
    assert check("ä b:c.zexp", "sub", str(absolute), "--format", "sarif") == 1
    run = sarif(capsys)
    places = [result.locations[0].physicalLocation for result in run.results]
    assert [place and place.artifactLocation.uri for place in places] == [
        *["%C3%A4%20b%3Ac.zexp"] * 2,
        "sub/d.zexp",
        absolute.as_uri(),
    ]
    assert run.columnKind == "unicodeCodePoints"
    assert places[0] is not None
    assert places[0].region.model_dump() == {"startLine": 1, "startColumn": 15, "endLine": 1, "endColumn": 18}
    rules = run.tool.driver.rules
    assert [rule.id for rule in rules] == [*(code.id for code in Code), *(rule.lint.id for rule in RULES)]
    assert all(rules[result.ruleIndex].id == result.ruleId for result in run.results)
    second = run.results[1].relatedLocations
    assert second is not None
    assert second[0].message == Message(text="first defined here")
    assert run.invocations == [Invocation(executionSuccessful=True)]


def test_braces_in_sarif_are_doubled(here: Path, capsys: CaptureFixture[str]) -> None:
    (here / "a.zexp").write_text('let a = "}"\n', "utf-8")
    assert check("a.zexp", "--format", "sarif") == 1
    (result,) = sarif(capsys).results
    assert result.message.text.startswith("unmatched `}}` in a text")


def test_sarif_has_unreadable_files_and_errors_on_the_command_line(here: Path, capsys: CaptureFixture[str]) -> None:
    (here / "a.zexp").write_text("param time: duration = 1s\n", "utf-8")
    assert check("gone.zexp", "a.zexp", "--set", "tme=2s", "--format", "sarif") == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("error: cannot read gone.zexp: ")
    (run,) = TypeAdapter(Sarif).validate_json(captured.out).runs
    (invocation,) = run.invocations
    assert not invocation.executionSuccessful
    assert invocation.toolExecutionNotifications is not None
    assert run.results[0].locations[0].logicalLocations == [LogicalLocation(fullyQualifiedName="--set")]


def test_sarif_of_clean_programs_has_no_results(here: Path, capsys: CaptureFixture[str]) -> None:
    (here / "a.zexp").write_text("let a = 1\n", "utf-8")
    assert check("a.zexp", "--format", "sarif") == 0
    assert sarif(capsys).results == []


# -- which files


def test_a_directory_is_all_programs_in_it_but_the_copies_of_runs(here: Path, capsys: CaptureFixture[str]) -> None:
    for name in ("b.zexp", "a.zexp", "sub/c.zexp", ".hidden/x.zexp", "runs/one/source/x.zexp", "notes.txt"):
        path = here / "lab" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("let x = y\n", "utf-8")
    (here / "lab/runs/one/plan.jsonl").touch()
    assert check("lab", "lab/a.zexp", "--format", "short") == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["lab/a.zexp", "lab/b.zexp", "lab/sub/c.zexp"]


def test_a_directory_without_programs_is_an_error(here: Path, capsys: CaptureFixture[str]) -> None:
    (here / "lab").mkdir()
    assert check("lab") == 1
    assert capsys.readouterr().err == "error: no program in lab\n  = help: file names of programs end in .zexp\n"


def test_a_finding_in_a_shared_import_is_reported_once(here: Path, capsys: CaptureFixture[str]) -> None:
    (here / "lab.zexp").write_text("let x = y\n", "utf-8")
    for name in ("a.zexp", "b.zexp"):
        (here / name).write_text('import "./lab.zexp" as lab\n', "utf-8")
    assert check("a.zexp", "b.zexp", "--format", "short") == 1
    assert capsys.readouterr().out == "lab.zexp:1:9: error[E201]: unknown name `y`\n"
    assert check("a.zexp", "b.zexp") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("unknown name") == 1


def test_one_wrong_program_does_not_hide_the_others(here: Path, capsys: CaptureFixture[str]) -> None:
    (here / "a.zexp").write_text("let x = y\n", "utf-8")
    (here / "b.zexp").write_text("let x = 1\n", "utf-8")
    assert check("gone.zexp", "a.zexp", "b.zexp") == 1
    captured = capsys.readouterr()
    assert captured.out == "b.zexp: no experiments, no problems\n"
    assert "cannot read gone.zexp" in captured.err
    assert "E201" in captured.err


def test_standard_input(here: Path) -> None:
    (here / "lab.zexp").write_text("let x = 1\n", "utf-8")
    command = [sys.executable, "-c", "from zlang.cli.app import main; main()", "check", "-", "--format", "short"]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    source = 'import "./lab.zexp" as lab\nlet y = lab.x + z\n'
    done = subprocess.run(command, input=source.encode(), capture_output=True, cwd=here, env=environment, check=False)
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout == b"standard input:2:17: error[E201]: unknown name `z`\n"


def test_standard_input_that_is_no_text(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
    assert check("-") == 1
    assert capsys.readouterr().err == "error: standard input is not UTF-8 text\n"
