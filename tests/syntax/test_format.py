"""Check that the formatter changes layout and nothing else."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.cli.app import guarded
from zlang.source import Source
from zlang.syntax import format as formatting
from zlang.syntax import parse

ROOT = Path(__file__).parents[2]


def programs() -> list[str]:
    """Return every valid program of the repository, and every wrong program of the corpus that parses."""
    texts: list[str] = []
    for folder in ("examples", "stdlib", "tests"):
        for path in sorted((ROOT / folder).rglob("*.zexp")):
            texts += path.read_text("utf-8", "replace").split("\n---\n")
    return [text for text in texts if not parse.program(Source("x", text)).findings]


PROGRAMS = programs()


def formatted(text: str) -> str:
    return formatting.program(Source("x", text)).text


def assert_only_layout_changes(text: str) -> None:
    before = parse.program(Source("x", text))
    result = formatted(text)
    after = parse.program(Source("x", result))
    assert after.findings == ()
    assert after.tree.entries == before.tree.entries
    assert [c.text.rstrip() for c in after.tree.comments] == [c.text.rstrip() for c in before.tree.comments]
    assert formatted(result) == result


def test_there_are_programs_to_format() -> None:
    assert len(PROGRAMS) > 150


@pytest.mark.parametrize("text", PROGRAMS, ids=range(len(PROGRAMS)))
def test_the_tree_and_the_comments_stay(text: str) -> None:
    assert_only_layout_changes(text)


@given(st.sampled_from([p for p in PROGRAMS if len(p) < 3000]), st.data())
@settings(max_examples=150, deadline=None)
def test_so_they_do_however_it_was_laid_out(text: str, data: st.DataObject) -> None:
    """Blanks, line ends, and comments are added at existing blanks and line ends."""
    pieces = []
    for char in text:
        pieces.append(char)
        if char == "\n" and data.draw(st.integers(0, 9)) == 0:
            pieces.append(data.draw(st.sampled_from(["\n", "\n\n\n", "   ", "# a comment\n", "  # another\n"])))
    changed = "".join(pieces)
    if not parse.program(Source("x", changed)).findings:
        assert_only_layout_changes(changed)


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_no_text_breaks_it(text: str) -> None:
    result = formatting.program(Source("x", text))
    assert result.findings or formatted(result.text) == result.text


def test_the_style() -> None:
    text = """
import fio
fio  reads{rw=randread
   bs = 4k|128K   # sizes
  iodepth = 1..32   by *2
}


dir here {path="."}
let target = file on here { size = 1M }
   | file on here {size = 2M  content=zeros}
"""
    assert (
        formatted(text)
        == """\
import fio
fio reads {
  rw      = randread
  bs      = 4KiB | 128KiB  # sizes
  iodepth = 1..32 by *2
}

dir here { path = "." }
let target = file on here { size = 1MiB }
           | file on here { size = 2MiB  content = zeros }
"""
    )


def test_a_file_is_rewritten_keeping_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a b.zexp"
    path.write_text('dir here{path="."}\r\n')
    path.chmod(0o600)
    assert guarded(["fmt", "--check", str(path)]) == 1
    assert path.read_bytes().endswith(b"\r\n")
    assert guarded(["fmt", str(path)]) == 0
    assert path.read_text() == 'dir here { path = "." }\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert guarded(["fmt", "--check", str(path)]) == 0


def test_a_directory_means_all_programs_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "none").mkdir()
    path = tmp_path / "inner" / "one.zexp"
    path.write_text("let a = 4k\n")
    assert guarded(["fmt", str(tmp_path)]) == 0
    assert path.read_text() == "let a = 4KiB\n"
    assert guarded(["fmt", str(tmp_path / "none")]) == 1
    assert f"no program in {tmp_path}/none" in capsys.readouterr().err


def test_a_wrong_program_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.zexp"
    path.write_text("dir here {\n")
    assert guarded(["fmt", str(path)]) == 1
    assert path.read_text() == "dir here {\n"
    assert "E102" in capsys.readouterr().err


def test_a_difference_is_shown_and_nothing_written(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "one.zexp"
    path.write_text("let a = 4k\n")
    assert guarded(["fmt", "--diff", str(path)]) == 0
    assert b"-let a = 4k\n+let a = 4KiB\n" in capfdbinary.readouterr().out
    assert path.read_text() == "let a = 4k\n"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.zexp")), ids=lambda p: p.name)
def test_the_examples_are_in_the_style(path: Path) -> None:
    assert formatted(path.read_text("utf-8")) == path.read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("fio r { direct = yes | no  time_based = true }\n", "fio r { direct = on | off  time_based = on }\n"),
        ("let x = if not yes then no else a != false\n", "let x = if not on then off else a != off\n"),
        *(
            (text, text)
            for text in (
                "param p: yes | no = yes\n",
                "param p: some | no | all = no\n",
                "let no = 1\nlet b  = no\n",
                "let f(no) = no\n",
                "let b = [no for no in c]\n",
                "dir yes { path = yes }\n",
                "import zfs as no\nlet b = no.x\n",
                'import "./lab.zexp"\nlet b = no\n',
                "kind k: workload { property x: yes | some  default y = no }\n",
            )
        ),
    ],
)
def test_switches_are_written_as_on_or_off_unless_redefined(text: str, written: str) -> None:
    assert formatted(text) == written
    assert formatted(written) == written


@pytest.mark.parametrize("path", sorted((ROOT / "stdlib").glob("*.zexp")), ids=lambda path: path.stem)
def test_the_library_is_in_the_style(path: Path) -> None:
    text = path.read_text("utf-8")
    assert formatted(text) == text
