"""Check that a program can import only a regular file of finite size."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from zlang import project
from zlang.check import check
from zlang.check.check import Overrides
from zlang.diagnostics import Code
from zlang.errors import RunError
from zlang.pipeline import programs
from zlang.source import Source


def _hole(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 42)


ODD: dict[str, tuple[Callable[[Path], None], str]] = {
    "a pipe": (os.mkfifo, "not a regular file"),
    "endless zeros": (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
    "a hole": (_hole, "almost nothing but a hole"),
}


@pytest.mark.parametrize("statement", ['import "odd"', 'let (a, b) = rows("odd.csv")'])
@pytest.mark.parametrize("way", ODD)
def test_only_regular_files_can_be_imported(tmp_path: Path, way: str, statement: str) -> None:
    make, why = ODD[way]
    make(tmp_path / ("odd.csv" if "csv" in statement else "odd"))
    program = tmp_path / "program.zexp"
    program.write_text(statement)
    findings = programs.check(programs.read(str(program)), Overrides()).findings
    assert any(why in finding.message for finding in findings), findings


def test_lines_of_an_import_may_end_as_on_windows(tmp_path: Path) -> None:
    (tmp_path / "other.zexp").write_bytes(b"let a = 1\r\nlet b = a\r\n")
    program = tmp_path / "program.zexp"
    program.write_text('import "other.zexp" as other\nlet c = other.b')
    assert not programs.check(programs.read(str(program)), Overrides()).findings


def test_a_table_may_begin_with_the_mark_of_a_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "axes.csv").write_bytes(b'\xef\xbb\xbf"record",unit\r\n8k,4k\r\n128k,1M\r\n')
    program = tmp_path / "program.zexp"
    program.write_text('let (record, unit) = rows("axes.csv")')
    assert not programs.check(programs.read(str(program)), Overrides()).findings


@pytest.mark.parametrize(("head", "hint"), [("8k,4k", "its first line names its columns"), ("a;b", "by commas")])
def test_a_table_without_names_of_columns_has_a_hint(tmp_path: Path, head: str, hint: str) -> None:
    (tmp_path / "axes.csv").write_text(f"{head}\n{head}\n")
    program = tmp_path / "program.zexp"
    program.write_text('let (a, b) = rows("axes.csv")')
    (finding,) = programs.check(programs.read(str(program)), Overrides()).findings
    assert hint in finding.hint


def test_a_program_is_not_endless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_LONGEST", 1000)
    with pytest.raises(RunError, match="cannot read /dev/zero: it has more than 1,000 characters"):
        programs.read("/dev/zero")


def test_a_project_file_is_not_endless(tmp_path: Path) -> None:
    (tmp_path / project.FILE).write_text("#" * 1_048_577)
    with pytest.raises(RunError, match=r"cannot read .*longer than 1,048,576 bytes"):
        project.table(tmp_path / project.FILE, "lint")


def test_a_column_of_texts_that_should_be_words_has_a_hint() -> None:
    text = """
import fio
dir here { path = "." }
file data on here { size = 64MiB }
let (pattern, block) = rows("axes.csv")
fio reads { rw = pattern  bs = block }
experiment e { on = data  run = reads }
"""
    tables = {"axes.csv": "pattern,block\nread,4k\nrandread,8k\n"}
    checked = check.program(Source("program.zexp", text), tables.__getitem__)
    assert [finding.hint for finding in checked.findings if finding.code is Code.WRONG_TYPE] == [
        "say in the first line of `axes.csv` that this column has words: `pattern: word`"
    ]
    tables = {"axes.csv": "pattern: word,block\nread,4k\nrandread,8k\n"}
    assert check.program(Source("program.zexp", text), tables.__getitem__).is_sound


def test_files_that_import_each_other_twice_are_not_endless(tmp_path: Path) -> None:
    """Each file is read twice as often as the one that imports it, because it has other values for its params."""
    for number in range(12):
        twice = "".join(f'import "./f{number + 1}.zexp" as {name} {{ p = {name[1]} }}\n' for name in ("a1", "a2"))
        (tmp_path / f"f{number}.zexp").write_text(f"{twice}param p: count = 1\nlet v = a1.v + a2.v + p\n")
    (tmp_path / "f12.zexp").write_text("param p: count = 1\nlet v = p\n")
    program = tmp_path / "program.zexp"
    program.write_text('import "./f0.zexp" as top\nlet v = top.v\n')
    (finding,) = programs.check(programs.read(str(program)), Overrides()).findings
    assert (finding.code, finding.message) == (Code.TOO_LONG, "the program has more than 1,000 files")


def test_a_file_with_params_that_lacks_an_import_has_one_finding(tmp_path: Path) -> None:
    (tmp_path / "lab.zexp").write_text('import "./missing.zexp" as other\nparam p: count = 2\nlet v = other.v + p\n')
    program = tmp_path / "program.zexp"
    program.write_text('import "./lab.zexp" as lab { p = 1 }\nlet v = lab.v\n')
    (finding,) = programs.check(programs.read(str(program)), Overrides()).findings
    assert finding.code is Code.MISSING_IMPORT
