"""Run programs with names that resemble shell code, options or patterns: only what was named may be touched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import REPOSITORY, Zlang, changed, tree
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.check.values import quote

HOSTILE = (
    "two words",
    'it\'s "quoted"',
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned #",
    "new\nline\ntouch pwned",
    "-rf",
    "--help",
    "a:b",
    "*?[a]",
    "{braces},{x..y}",
    "~root",
    "größe 数据 🦎",
    "back\\slash\\",
    "$HOME ${PATH} %s",
    "tab\there",
    "!history",
    "#comment",
    "&",
)

TOGETHER = (
    "-rf",
    "--help",
    "~root two words $(touch pwned) `touch pwned` ; touch pwned #",
    '#comment it\'s "quoted" a:b *?[a]',
    "!history {braces},{x..y} größe 数据 🦎 $HOME ${PATH} %s",
    "&new\nline\ntouch pwned tab\there back\\slash\\",
)
"""The same in few names: what matters at the beginning or the end of a name is there."""

PROGRAM = """
import fio
import linux
param word: string = {word}
dir here {{ path = {path} }}
file data on here {{ size = 128KiB  label = {word} }}
let reads = fio {{ rw = read  bs = 64KiB  label = {word} }} | fio {{ rw = read  bs = 128KiB  label = "plain" }}
experiment names {word} {{ on = data  run = reads  cache = cold  collect = [diskstats {{}}] }}
"""

SHELL = """
param word: string = {word}
param more: string = "{{word}} and {{word}}"
dir here {{ path = {path} }}
shell says {{ command = "printf %s {{word}} > said; printf %s {{more}} > more; cp said more $OUT/"  label = {word} }}
experiment says {word} {{ on = here  run = says }}
"""

VALUES = """
let word = {word}
let more = "{{word}} and {{word}}"
dir here {{ path = "." }}
shell says {{ command = "printf %s {{word}} > said; printf %s {{more}} > more; cp said more $OUT/" }}
experiment says {{ on = here  run = says }}
"""


def text(value: str) -> str:
    """Write a string literal of the language."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("{", "{{").replace("}", "}}")
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t") + '"'


def one_line(name: str) -> str:
    """Turn a name into one that a path may have: line ends are refused."""
    return name.replace("\n", " ")


@pytest.fixture
def room(zlang: Zlang) -> Zlang:
    """Create a directory with files that must stay untouched, with names that patterns and tildes would match."""
    for name in ("a", "b", "x", "data", "pwn", "root"):
        (zlang.at / name).write_text(name)
    return zlang


@pytest.mark.parametrize("name", TOGETHER)
def test_names_are_names(room: Zlang, name: str) -> None:
    path = one_line(name)
    place = room.at / path
    place.mkdir()
    (place / "keep").write_text("keep")
    program = room.program(PROGRAM.format(word=text(name), path=text(path)), f"{path}.zexp")
    before = tree(room.at)
    files = ["--runs", f"{path} runs", "--db", f"{path}.duckdb"]
    shown = room("run", "--yes", *files, "--", program)
    assert "2 of 2 trials count" in shown.out
    after = tree(room.at)
    assert changed(before, after) == {f"{path} runs", f"{path}.duckdb"}
    assert {path.name for path in place.iterdir()} == {"keep"}
    kept = after[str((room.folder(f"{path} runs") / "source" / program).relative_to(room.at))]
    assert kept == (room.at / program).read_bytes()
    rows = room.rows("select reads, title from trials join runs using (run)", f"--db={path}.duckdb")
    assert sorted((str(row["reads"]), row["title"]) for row in rows) == sorted([(name, name), ("plain", name)])
    suggested = shown.out[shown.out.index("  zlang sql ") :].split("  zlang status")[0].strip()
    again = subprocess.run(
        ["bash", "-c", as_typed(suggested)], cwd=room.at, env=room.variables(), capture_output=True, text=True
    )
    assert again.returncode == 0, (suggested, again.stderr)
    assert changed(after, tree(room.at)) == set()


def as_typed(suggestion: str) -> str:
    """Return a suggested command as a user would type it, with the zlang of the tests."""
    return f'zlang() {{ {quote(sys.executable)} -m zlang.cli.app "$@"; }}\n{suggestion}'


def test_a_directory_of_a_hostile_name(zlang: Zlang) -> None:
    """The directory holds everything: the program, the data, the runs and the database."""
    place = zlang.at / "a?b=c&*[x] 'q' $(touch pwned){y}"
    place.mkdir()
    before = tree(zlang.at)
    inside = Zlang(place)
    inside.run(PROGRAM.format(word='"w"', path='"."'))
    assert len(inside.rows("from trials")) == 2
    inside("ingest", "runs")
    inside("resume", str(inside.folder()))
    assert len(inside.rows("from trials")) == 2
    assert changed(before, tree(zlang.at)) == {place.name}
    assert inside.names() == {"program.zexp", "runs", "results.duckdb"}


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox sh"])
def test_names_are_names_in_the_script(room: Zlang, shell: str) -> None:
    name = "".join(each for each in HOSTILE if len(each) < 20 and "/" not in each)[:120]
    path = one_line(name)
    (room.at / path).mkdir()
    program = room.program(PROGRAM.format(word=text(name), path=text(path)))
    room("plan", "--emit", "sh", "--out", f"{path} out", program)
    before = tree(room.at)
    try:
        done = subprocess.run(
            [*shell.split(), f"./{path} out/plan.sh"],
            cwd=room.at,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        pytest.skip(f"{shell} is not here")
    assert done.returncode == 0, done.stderr
    assert changed(before, tree(room.at)) == {"runs"}
    room("ingest", "runs")
    assert len(room.rows("from trials")) == 2


def test_values_in_commands_are_values(room: Zlang) -> None:
    """Each value has its own trial; `test_names_are_names` uses each as a label and as a title."""
    before = tree(room.at)
    room.run(VALUES.format(word=" | ".join(map(text, HOSTILE))))
    assert changed(before, tree(room.at)) == {"program.zexp", "runs", "results.duckdb"}
    outputs = {str(trial.factors["word"]): room.folder() / trial.place / "a1" for trial in room.trials()}
    assert outputs.keys() == set(HOSTILE)
    for name, out in outputs.items():
        assert (out / "said").read_bytes().decode() == name
        assert (out / "more").read_bytes().decode() == f"{name} and {name}"


@pytest.mark.parametrize("name", HOSTILE[1::4])
def test_set_gives_values(room: Zlang, name: str) -> None:
    before = tree(room.at)
    program = room.program(SHELL.format(word='"other"', path='"."'))
    room("run", program, "--set", f"word={text(name)}")
    assert changed(before, tree(room.at)) == {"program.zexp", "runs", "results.duckdb"}
    (out,) = room.folder().glob("trials/*/*/a1")
    assert (out / "said").read_bytes().decode() == name


def test_a_name_that_no_file_can_have(room: Zlang) -> None:
    for bad in ('"nul\\0byte"', '"a/b\\0"'):
        before = tree(room.at)
        ended = room.run(PROGRAM.format(word='"x"', path=bad), code=1)
        assert "\0" not in ended.err
        assert changed(before, tree(room.at)) <= {"program.zexp", "runs", "results.duckdb"}
    missing = room("check", "no/such\nfile.zexp", code=1)
    assert "cannot read no/such\\nfile.zexp" in missing.err


def test_the_terminal_is_not_steered(room: Zlang) -> None:
    name = "\x1b[2J\x1b]0;title\x07"
    program = room.program(PROGRAM.format(word='"' + name + '"', path='"."'), f"{name}.zexp")
    for command in (
        ["plan", program],
        ["run", program],
        ["status"],
        ["sql", "select reads from trials"],
        ["check", program],
    ):
        ended = room(*command)
        assert "\x1b" not in ended.out + ended.err
    json.loads(room("sql", "select reads from trials limit 1", "--format", "json").out)


@settings(max_examples=60)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30), min_size=1, max_size=20))
def test_quoting(texts: list[str]) -> None:
    command = "printf '%s\\0' " + " ".join(quote(each) for each in texts)
    for shell in (["dash"], ["bash"], ["bash", "--posix"], ["busybox", "sh"]):
        try:
            done = subprocess.run([*shell, "-c", command], capture_output=True, check=True, cwd=REPOSITORY)
        except FileNotFoundError:
            continue
        assert done.stdout == b"".join(each.encode() + b"\0" for each in texts)


def test_quoting_leaves_plain_words_plain() -> None:
    assert quote("plain-word_1.2/3") == "plain-word_1.2/3"
    assert quote("") == "''"
    for special in ("=x", "~", "*", "?", "[", "{a,b}", "#", "!", "a b", "$x", "-n;", "\n"):
        assert quote(special) != special


def test_paths_of_the_library(tmp_path: Path) -> None:
    """An import is found beside the importing program, whatever the names of both."""
    (tmp_path / "it's $(x)").mkdir()
    (tmp_path / "it's $(x)" / "lab.zexp").write_text("param size: size = 4KiB\n")
    (tmp_path / "it's $(x)" / "main.zexp").write_text('import "./lab.zexp" as lab\nlet twice = 2 * lab.size\n')
    assert "no problems" in Zlang(tmp_path)("check", "it's $(x)/main.zexp").out
