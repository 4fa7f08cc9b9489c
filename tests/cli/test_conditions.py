"""Run every command in unusual environments: locales, home directories, terminals, streams, directories.

No command may print a traceback or report a bug in zlang, and its exit code must be documented. Where the environment
takes nothing away from the command, it exits with its usual code. Each command is tried in some of the environments, in
turn, and each environment with some of the commands; ZLANG_ALL_CONDITIONS=1 tries all combinations.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from _pytest.capture import CaptureFixture
from command_line import COMMAND, Zlang
from machine import LET_GO

from zlang.cli.app import EXIT_CODES, guarded
from zlang.cli.commands import COMMANDS

PROGRAM = """
import fio
dir here { path = "." }
file data on here { size = 64KiB }
shell greets { command = "echo '→ 日本' speed {n}"  metrics = [regex("speed=speed ([0-9]+)")] }
let n = 1 | 2
experiment over "Größe → 日本 µ" {
  on = data  run = greets  repeat = 2
  expect "größer → 日本" (median(speed) > 0)
  table speed by n
  plot speed over n
}
"""
WRONG = 'dir here { path = "größe → 日本" }\nexperiment e { on = heer }\n'
COMMAND_LINES = {
    "check program.zexp": 0,
    "check wrong.zexp": 1,
    "check wrong.zexp --json": 1,
    "explain E201": 0,
    "fmt program.zexp --check": 1,
    "plan program.zexp": 0,
    "plan program.zexp --steps": 0,
    "plan program.zexp --json": 0,
    "diff program.zexp other.zexp": 6,
    "snapshot program.zexp": 0,
    "run program.zexp --yes --again": 0,
    "resume --yes": 0,
    "clean": 0,
    "status": 0,
    "status --json": 0,
    "ingest": 0,
    "sql 'select * from trials'": 0,
    "sql 'select * from trials' --format csv": 0,
    "expect": 0,
    "table": 0,
    "plot": 0,
    "report --out report.html": 0,
    "compare": 0,
    "effects": 0,
    "findings": 0,
    "init fresh.zexp": 0,
    "kinds fio": 0,
    "doctor program.zexp": 0,
    "-h": 0,
    "sql -h": 0,
}
"""Commands with the exit codes that they have."""
KEEP_ON = {"run", "resume", "clean"}
"""Those for which it does not matter what becomes of their output."""


@dataclass(frozen=True)
class Surrounding:
    """The environment (None removes a variable), shell set-up, redirections, and what the command lacks there."""

    environment: Mapping[str, str | None] = field(default_factory=dict)
    before: str = ""
    streams: str = ""
    takes_away: bool = False
    needs_root: bool = False


LATIN = {"LC_ALL": "en_US.ISO-8859-1", "LOCPATH": "LOCALES"}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
PRIVATE = "unshare --mount --propagation private"
SURROUNDINGS = {
    "latin-1": Surrounding(LATIN),
    "latin-1 that is not installed": Surrounding({"LC_ALL": "en_US.ISO-8859-1"}),
    "C": Surrounding({"LC_ALL": "C"}),
    "ASCII": Surrounding(ASCII),
    "C.UTF-8": Surrounding({"LC_ALL": "C.UTF-8"}),
    "no sbin": Surrounding({"PATH": "/usr/bin:/bin"}),
    "no path": Surrounding({"PATH": None}),
    "no home": Surrounding({"HOME": None}),
    "home is a file": Surrounding({"HOME": "PLACE/program.zexp", "XDG_STATE_HOME": None}, takes_away=True),
    "state in a file": Surrounding(
        {"XDG_STATE_HOME": "PLACE/program.zexp", "XDG_CONFIG_HOME": "PLACE/program.zexp"}, takes_away=True
    ),
    "no TMPDIR": Surrounding({"TMPDIR": "PLACE/missing"}),
    "full TMPDIR": Surrounding(
        {"TMPDIR": "PLACE/full"},
        f"{PRIVATE} sh -c 'sh {LET_GO}; mkdir -p PLACE/full; mount -t tmpfs -o size=4k,nr_inodes=2 none PLACE/full;"
        ' : >PLACE/full/taken; exec "$@"\' - ',
        takes_away=True,
        needs_root=True,
    ),
    "read-only directory": Surrounding(
        before=f"{PRIVATE} sh -c 'sh {LET_GO}; mount --bind PLACE PLACE && mount -o remount,bind,ro PLACE && cd PLACE;"
        ' exec "$@"\' - ',
        takes_away=True,
        needs_root=True,
    ),
    "deleted directory": Surrounding(
        before="mkdir PLACE/gone && cd PLACE/gone && rmdir PLACE/gone && ", takes_away=True
    ),
    **{f"{n} columns": Surrounding({"COLUMNS": str(n)}) for n in (1, 20, 60, 80, 200)},
    "columns in words": Surrounding({"COLUMNS": "many", "LINES": "-1"}),
    "closed output": Surrounding(streams=">&-"),
    "full output": Surrounding(streams=">/dev/full", takes_away=True),
    "no reader": Surrounding(streams="| true"),
    "closed error": Surrounding(streams="2>&-"),
    "full error": Surrounding(streams="2>/dev/full"),
    "closed input": Surrounding(streams="<&-"),
    "NO_COLOR": Surrounding({"NO_COLOR": "1", "FORCE_COLOR": "1"}),
    "dumb": Surrounding({"TERM": "dumb"}),
    "no TERM": Surrounding({"TERM": None}),
}
_EVERY = 1 if os.environ.get("ZLANG_ALL_CONDITIONS") else 23
"""Not a divisor of the number of commands, so that all meet some."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a directory with a program, a run and its results."""
    at = tmp_path_factory.mktemp("original")
    zlang = Zlang(at)
    zlang.run(PROGRAM)
    zlang.program(WRONG, "wrong.zexp")
    zlang.program(PROGRAM.replace("1 | 2", "1 | 3"), "other.zexp")
    return at


@pytest.fixture(scope="module")
def locales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a directory with the Latin-1 locale."""
    at = tmp_path_factory.mktemp("locales")
    if shutil.which("localedef"):
        words: list[str | Path] = ["localedef", "-i", "en_US", "-f", "ISO-8859-1", at / "en_US.ISO-8859-1"]
        subprocess.run(words, capture_output=True, check=False)
    return at


def ended(zlang: Zlang, words: str, here: Surrounding, locales: Path = Path()) -> tuple[int, bytes]:
    """Return how a command ended, and its output."""

    def placed(text: str) -> str:
        return text.replace("PLACE", str(zlang.at)).replace("LOCALES", str(locales))

    given = {**zlang.variables(), **{name: placed(value) for name, value in here.environment.items() if value}}
    environment = {name: value for name, value in given.items() if here.environment.get(name, "") is not None}
    line = f"{placed(here.before)}{' '.join(COMMAND)} {words} {here.streams}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["/bin/bash", "-c", line],
        cwd=zlang.at, env=environment, input=b"", capture_output=True, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def pairs() -> list[tuple[str, str]]:
    """Choose the pairs of environment and command to try."""
    every = [(where, line) for where in SURROUNDINGS for line in COMMAND_LINES]
    return every[::_EVERY]


@pytest.mark.parametrize(("where", "line"), pairs())
def test_a_command_ends_as_documented(where: str, line: str, original: Path, locales: Path, tmp_path: Path) -> None:
    here = SURROUNDINGS[where]
    if here.needs_root and os.geteuid() != 0:
        pytest.skip("only root can make this surrounding")
    place = tmp_path / "place"
    shutil.copytree(original, place)
    code, output = ended(Zlang(place), line, here, locales)
    assert b"Traceback" not in output
    assert b"bug in zlang" not in output
    assert code in EXIT_CODES, output
    if not here.takes_away or (here.streams and line.split(maxsplit=1)[0] in KEEP_ON):
        assert code == COMMAND_LINES[line], output


def test_a_command_may_have_characters_that_the_locale_has_not(original: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    shutil.copytree(original, place)
    code, output = ended(Zlang(place), "run program.zexp --yes --again", Surrounding(ASCII))
    assert code == 0, output


@pytest.mark.parametrize(
    "line",
    [
        "check wrong.zexp --json",
        "check wrong.zexp --format sarif",
        "fmt program.zexp --diff",
        "plan program.zexp --json",
        "plan program.zexp --emit sh",
        "plan program.zexp --emit markdown",
        "plan program.zexp --trials --json",
        "status --json",
        "sql 'select title from runs' --format csv",
        "sql 'select title from runs' --format json",
        "sql 'select title from runs' --format markdown",
        "expect --json",
        "table --format markdown",
        "compare --format csv",
        "report --format markdown --out /dev/stdout",
    ],
)
def test_machine_readable_output_is_utf8_in_every_locale(line: str, original: Path, locales: Path) -> None:
    zlang = Zlang(original)
    code, output = ended(zlang, line, Surrounding({"LC_ALL": "C.UTF-8"}, streams="2>/dev/null"))
    output.decode("utf-8")
    for environment in (LATIN, ASCII):
        assert ended(zlang, line, Surrounding(environment, streams="2>/dev/null"), locales) == (code, output)


@pytest.mark.parametrize("columns", [20, 60, 200])
def test_every_command_has_help_on_every_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in COMMANDS:
        assert guarded([command.__name__, "-h"]) == 0
        printed = capsys.readouterr()
        assert f"zlang {command.__name__}" in " ".join(printed.out.split())
        assert printed.err == ""
