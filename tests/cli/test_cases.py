"""Compare the output of commands with golden files: a program, arguments, and all output. BLESS=1 rewrites them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.capture import CaptureFixture

from zlang.cli.app import guarded
from zlang.cli.commands import COMMANDS

GOLDEN = Path(__file__).parent / "golden"

SWEEP = """\
import fio
param size: size = 64MiB
profile small { size = 1MiB }
dir here { path = "/mnt/disk" }
file data on here { size = size }
fio reads { rw = randread | read  bs = 4KiB | 128KiB  direct = on }
experiment sweep "What does the block size do?" { on = data  run = reads  cache = cold  repeat = 2 }
"""

SHORT = """\
dir here { path = "/mnt/disk" }
shell says { command = "echo hello" }
experiment short { on = here  run = says }
"""

HUGE = """\
dir here { path = "/mnt/disk" }
file data on here { size = 1MiB | 2MiB }
shell says { command = "echo {a} {b}" }
let a = 1..1000000
let b = 1..1000000
experiment huge { on = data  run = says }
"""

WRONG = """\
import fio
dir here { path = "/mnt/disk" }
file data on here { size = 4ms }
fio reads { rw = randread  bss = 4KiB }
experiment sweep { on = dat  run = reads }
"""

TWO = SHORT + "experiment second { on = here  run = says }\n"

BRANCHES = """\
import filesystems
dir here { path = "/mnt/disk" }
loop drive on here { size = 1GiB }
let store = ext4 on drive {} | xfs on drive {}
file log on store { size = 1MiB }
file data on store { size = 1MiB }
shell appends on log { command = "sleep 1" }
shell reads on data { command = "sleep 1"  writes = off }
let both = [appends, reads]
experiment branches { on = log  run = appends | both  repeat = 3 }
"""


@dataclass(frozen=True)
class Case:
    """A command line, typed where `program.zexp` contains `program`; the golden file has its output."""

    name: str
    program: str
    arguments: tuple[str, ...]
    code: int = 0


def case(name: str, program: str, *arguments: str, code: int = 0) -> Case:
    return Case(name, program, arguments, code)


CASES = [
    *(case(f"help-{command.__name__}", "", command.__name__, "--help") for command in COMMANDS),
    case("help", "", "--help"),
    case("nothing", "", code=2),
    case("version", "", "--version"),
    case("check", SWEEP, "check", "program.zexp"),
    case("check-wrong", WRONG, "check", "program.zexp", code=1),
    case("check-missing", "", "check", "missing.zexp", code=1),
    case("check-directory", SWEEP, "check", "."),
    case("plan", SWEEP, "plan", "program.zexp"),
    case("plan-branches", BRANCHES, "plan", "program.zexp"),
    case("plan-as-said", SWEEP, "plan", "program.zexp", "--set", "size=8MiB", "--profile", "small", "--seed", "7"),
    case("plan-trials", SWEEP, "plan", "program.zexp", "--trials"),
    case("plan-trials-json", SWEEP, "plan", "program.zexp", "--trials", "--json"),
    case("plan-json", SHORT, "plan", "program.zexp", "--json"),
    case("plan-emit-json", SHORT, "plan", "program.zexp", "--emit", "json"),
    case("plan-steps", SWEEP, "plan", "program.zexp", "--steps"),
    case("plan-emit-markdown", SHORT, "plan", "program.zexp", "--emit", "markdown"),
    case("plan-emit-fio", SWEEP, "plan", "program.zexp", "--emit", "fio"),
    case("plan-emit-fio-out", SWEEP, "plan", "program.zexp", "--emit", "fio", "--out", "jobs"),
    case("plan-emit-of-another-tool", SHORT, "plan", "program.zexp", "--emit", "fio", code=2),
    case("plan-trial", SWEEP, "plan", "program.zexp", "--trial", "2"),
    case("plan-trial-far", HUGE, "plan", "program.zexp", "--trial", "123456789012"),
    case("plan-trial-far-at-random", HUGE, "plan", "program.zexp", "--trial", "123456789012", "--order", "random"),
    case("plan-trial-beyond", SWEEP, "plan", "program.zexp", "--trial", "0", code=2),
    case("submit-no-parts", SWEEP, "submit", "program.zexp", "--slurm", "--parts", "0", code=2),
    case("submit-lanes-in-words", SWEEP, "submit", "program.zexp", "--slurm", "--lanes", "two", code=2),
    case("report-of-another-kind", SWEEP, "report", "--out", "report.md", code=2),
    case("report-csv-in-a-file", SWEEP, "report", "--format", "csv", "--out", "report.csv", code=2),
    case("plan-two-views", SWEEP, "plan", "program.zexp", "--trials", "--steps", code=2),
    case("plan-json-of-steps", SWEEP, "plan", "program.zexp", "--json", "--steps", code=2),
    case("plan-as-written", SWEEP, "plan", "program.zexp", "--order", "as-written", "--trials"),
    case("plan-order-unknown", SWEEP, "plan", "program.zexp", "--order", "randon", code=2),
    case("plan-emit-mermaid", SWEEP, "plan", "program.zexp", "--emit", "mermaid"),
    case("plan-emit-dot", SWEEP, "plan", "program.zexp", "--emit", "dot"),
    case("plan-out", SHORT, "plan", "program.zexp", "--emit", "sh", "--out", "out"),
    case("plan-out-without-a-format", SHORT, "plan", "program.zexp", "--out", "out", code=2),
    case("plan-wrong", WRONG, "plan", "program.zexp", code=1),
    case("plan-two", TWO, "plan", "program.zexp", "--trials"),
    case("plan-two-json", TWO, "plan", "program.zexp", "--json", code=1),
    case("plan-second", TWO, "plan", "program.zexp", "-e", "second"),
    case("plan-third", TWO, "plan", "program.zexp", "-e", "secnd", code=1),
    case("plan-no-experiment", "let x = 1\n", "plan", "program.zexp", code=1),
    case("set-unknown", SWEEP, "plan", "program.zexp", "--set", "sizes=1MiB", code=1),
    case("set-wrong", SWEEP, "plan", "program.zexp", "--set", "size=1s", code=1),
    case("set-nothing", SWEEP, "plan", "program.zexp", "--set", "size", code=2),
    case("profile-unknown", SWEEP, "plan", "program.zexp", "--profile", "smal", code=1),
    case("usage-command", "", "plann", code=2),
    case("usage-option", "", "plan", "program.zexp", "--trails", code=2),
    case("usage-argument", "", "plan", code=2),
    case("usage-number", "", "plan", "program.zexp", "--seed", "x", code=2),
    case("usage-format", "", "sql", "select 1", "--format", "xml", code=2),
    case("usage-emit", SHORT, "plan", "program.zexp", "--emit", "pdf", code=2),
    case("run-missing", "", "run", "missing.zexp", code=1),
    case("run-wrong", WRONG, "run", "program.zexp", code=1),
    case("run-only", SHORT, "run", "program.zexp", "--only", "9", code=2),
    case("status-none", "", "status"),
    case("status-follow-json", "", "status", "--follow", "--json", code=2),
    case("status-unknown", "", "status", "nothing", code=1),
    case("resume-none", "", "resume", code=1),
    case("ingest-none", "", "ingest", ".", code=1),
    case("ingest-missing", "", "ingest", "missing", code=1),
    case("sql-none", "", "sql", "select 1", code=1),
    case("sql-comment", "", "sql", "-- what it is\nselect 1", code=1),
    case("sql-saved", "", "sql", "@"),
    case("sql-saved-unknown", "", "sql", "@driff", code=1),
    case("sql-nothing", "", "sql", code=2),
    case("sql-param", "", "sql", "select 1", "--param", "bs", code=2),
    case("sql-partition-of-nothing", "", "sql", "select 1", "--partition", "bs", code=2),
    case("sql-parquet-nowhere", "", "sql", "select 1", "--format", "parquet", code=2),
    case("sql-garbage", SHORT, "sql", "select 1", "--db", "program.zexp", code=1),
    case("init", "", "init", "first.zexp"),
    case("init-there", SHORT, "init", "program.zexp", code=1),
    case("kinds-file", "", "kinds", "file"),
    case("kinds-unknown", "", "kinds", "fille", code=1),
    case("kinds-property", "", "kinds", "file.content"),
    case("kinds-protocol", "", "kinds", "cold"),
    case("kinds-property-unknown", "", "kinds", "ext4.blocksiz", code=1),
    case("kinds-property-alone", "", "kinds", "blocksize", code=1),
    case("explain-metric", "", "explain", "read_clat_p99"),
    case("explain-column", "", "explain", "whole_plot"),
    case("explain-column-of-factor", "", "explain", "mine_cache"),
    case("explain-metric-of-wrapper", "", "explain", "task_clock"),
    case("explain-distribution", "", "explain", "sync_lat"),
    case("kinds-json", "", "kinds", "vmstat", "--json"),
]


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.name)
def test_case(each: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("zlang.run.machine.ToolSearch.missing", lambda _: {})
    monkeypatch.setattr("zlang.pipeline.costs.free", lambda _: {})
    (tmp_path / "program.zexp").write_text(each.program, "utf-8")
    code = guarded(list(each.arguments))
    out, err = capfd.readouterr()
    transcript = f"$ zlang {' '.join(each.arguments)}\n{out}--- standard error\n{err}--- exit code {code}\n"
    transcript = transcript.replace(str(tmp_path), "/here")
    transcript = re.sub(
        r'"plan":"[0-9a-f]+"', '"plan":"…"', re.sub(r"^zlang [0-9].*$", "zlang VERSION", transcript, flags=re.MULTILINE)
    )
    golden = GOLDEN / f"{each.name}.txt"
    if os.environ.get("BLESS"):
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(transcript, "utf-8")
    assert code == each.code
    bless = "type BLESS=1 .venv/bin/pytest tests/cli/test_cases.py"
    assert golden.exists(), f"no golden file of `{each.name}`: {bless}"
    assert transcript == golden.read_text("utf-8"), f"if that is what you want, {bless}, and read the diff"


def test_every_command_is_carried_out_by_a_test() -> None:
    tests = "".join(path.read_text("utf-8") for path in Path(__file__).parents[1].rglob("*.py"))
    names = [command.__name__.rstrip("_") for command in COMMANDS]
    unused = [name for name in names if not re.search(rf'[(\[,]\s*"{name}"(?!, "--help")', tests)]
    assert unused == [], "add a `case` that carries it out"


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {each.name for each in CASES}
