"""Test programs that are read from standard input."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from zlang.cli.app import guarded

PROGRAM = """
import "./lab.zexp"
shell quick { command = "true"  writes = off }
experiment brief { on = here  run = quick }
"""


@pytest.fixture(autouse=True)
def piped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pass the program on standard input, in a directory with the files that it imports."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.zexp").write_text('dir here { path = "." }\n', "utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PROGRAM.encode())))


@pytest.mark.parametrize("options", [(), ("--trials",), ("--steps",), ("--json",), ("--emit", "sh")], ids=" ".join)
def test_a_program_from_standard_input_is_planned_like_a_file(
    options: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert guarded(["plan", "-", *options]) == 0
    piped = capfd.readouterr().out
    name = "FILE" if not options else "standard input"
    (tmp_path / name).write_text(PROGRAM, "utf-8")
    assert guarded(["plan", name, *options]) == 0
    assert piped == capfd.readouterr().out


@pytest.mark.parametrize("command", [("run",), ("snapshot",), ("submit", "--slurm")], ids=" ".join)
def test_commands_that_need_a_file_refuse_standard_input(
    command: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert guarded([*command, "-"]) == 1
    assert capfd.readouterr().err == (
        "error: this command does not read a program from standard input\n  = help: save it in a file first\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["lab.zexp"]
