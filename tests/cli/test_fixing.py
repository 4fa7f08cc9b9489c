"""Test the changes that `zlang check --fix` and `--diff` make to files."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from _pytest.capture import CaptureFixture

from zlang.cli.app import guarded

WRONG = """\
# A first line.
dir here { path: "." }
file data on here { size = 4MiB, content = "zeros" }
fio reads { rw = randred  bs = 4KiB | 8KiB  iodpeth = 4; }
experiment e { on = dat  run = reads  cache == 'cold' }
"""
RIGHT = """\
# A first line.
import fio
dir here { path = "." }
file data on here { size = 4MiB content = zeros }
fio reads { rw = randread  bs = 4KiB | 8KiB  iodepth = 4 }
experiment e { on = data  run = reads  cache = cold }
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.zexp").write_text(WRONG, "utf-8")
    return tmp_path


def test_safe_fixes_are_made_until_none_is_left(here: Path, capsys: CaptureFixture[str]) -> None:
    assert guarded(["check", "--fix", "a.zexp"]) == 0
    assert (here / "a.zexp").read_text("utf-8") == RIGHT
    out, err = capsys.readouterr()
    assert out == "a.zexp: e: 2 points, 2 trials\n"
    assert "a.zexp: fixed: write `iodepth`\n" in err


def test_diff_shows_the_same_and_changes_nothing(here: Path, capsys: CaptureFixture[str]) -> None:
    assert guarded(["check", "--diff", "a.zexp"]) == 1
    assert (here / "a.zexp").read_text("utf-8") == WRONG
    out, err = capsys.readouterr()
    assert err == ""
    assert [line[1:] + "\n" for line in out.splitlines()[3:] if line[0] in " +"] == RIGHT.splitlines(keepends=True)


def test_ambiguous_mistakes_are_not_fixed(here: Path, capsys: CaptureFixture[str]) -> None:
    text = "let size = 4mb\nlet b = 4KB\n"
    (here / "b.zexp").write_text(text, "utf-8")
    assert guarded(["check", "--fix", "b.zexp"]) == 1
    assert (here / "b.zexp").read_text("utf-8") == text
    assert "mends" not in capsys.readouterr().err


def test_a_fixed_file_keeps_its_link_mode_and_line_ends(here: Path) -> None:
    real = here / "real.zexp"
    real.write_bytes(WRONG.replace("\n", "\r\n").encode())
    real.chmod(0o640)
    (here / "link.zexp").symlink_to(real)
    assert guarded(["check", "--fix", "link.zexp"]) == 0
    assert (here / "link.zexp").is_symlink()
    assert real.read_bytes() == RIGHT.replace("\n", "\r\n").encode()
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in here.iterdir()) == ["a.zexp", "link.zexp", "real.zexp"]


def test_a_file_with_line_ends_of_several_kinds_is_left(here: Path, capsys: CaptureFixture[str]) -> None:
    mixed = WRONG.replace("\n", "\r\n", 1).encode()
    (here / "a.zexp").write_bytes(mixed)
    assert guarded(["check", "--fix", "a.zexp"]) == 1
    assert (here / "a.zexp").read_bytes() == mixed
    assert "cannot fix a.zexp" in capsys.readouterr().err


def test_imported_files_are_fixed_too(here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub/lab.zexp").write_text("import fio\nfio reads { rw = randred }\n", "utf-8")
    main = 'import "./sub/lab.zexp"\ndir here { path = "." }\nfile data on here { size = 1MiB }\n'
    (here / "a.zexp").write_text(f"{main}experiment e {{ on = dta  run = reads }}\n", "utf-8")
    assert guarded(["check", "--fix", "a.zexp"]) == 0
    assert (here / "sub/lab.zexp").read_text("utf-8") == "import fio\nfio reads { rw = randread }\n"
    assert "on = data" in (here / "a.zexp").read_text("utf-8")


def test_standard_input_goes_to_standard_output(
    here: Path, capfd: CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(WRONG.encode())))
    assert guarded(["check", "--fix", "-"]) == 0
    assert capfd.readouterr().out == RIGHT


def test_formats_carry_the_fixes(here: Path, capsys: CaptureFixture[str]) -> None:
    (here / "b.zexp").write_text("let a = 4mb\nlet b = floor(1.5) + flor(2.5)\n", "utf-8")
    assert guarded(["check", "--json", "b.zexp"]) == 1
    first, second = (json.loads(line)["fixes"] for line in capsys.readouterr().out.splitlines())
    assert [(fix["applicability"], fix["edits"][0]["text"]) for fix in first] == [("maybe", "4MiB"), ("maybe", "4MB")]
    assert [fix["applicability"] for fix in second] == ["safe"]
    place = {"file": "b.zexp", "line": 2, "column": 22, "end_line": 2, "end_column": 26}
    assert second[0]["edits"] == [{**place, "text": "floor"}]
    assert guarded(["check", "--format", "sarif", "b.zexp"]) == 1
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    (fix,) = results[1]["fixes"]
    region = {"startLine": 2, "startColumn": 22, "endLine": 2, "endColumn": 26}
    replacements = [{"deletedRegion": region, "insertedContent": {"text": "floor"}}]
    assert fix["artifactChanges"] == [{"artifactLocation": {"uri": "b.zexp"}, "replacements": replacements}]
    assert fix["properties"] == {"applicability": "safe"}
