"""Check that final messages concern the run that ended, and that the run is safe whatever happens to the database."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from command_line import COMMAND, Zlang

from zlang.run.events import Finish

PROGRAM = """
param trials: count = 2
let n = 1..trials
dir here { path = "." }
shell io { command = "true {n}" }
experiment e { on = here  run = io }
"""
ABORTS = "import os, sys\nos.write(2, b'terminate called\\n  what():  Too many open files\\n')\nos.abort()\n"


@pytest.fixture
def zlang(tmp_path: Path) -> Zlang:
    return Zlang(tmp_path)


def counted(out: str) -> str:
    match = re.search(r"(\d+) of \d+ trials count", out)
    assert match, out
    return match[1]


def test_of_runs_that_end_together_each_shows_its_own_table(zlang: Zlang) -> None:
    name = zlang.program(PROGRAM)
    for _ in range(2):
        trials = ("1", "2", "3")
        running = [zlang.start("run", name, "--again", "--set", f"trials={n}") for n in trials]
        ended = [process.communicate(timeout=120)[0].decode() for process in running]
        assert [process.returncode for process in running] == [0, 0, 0]
        assert [counted(out) for out in ended] == list(trials)


def test_the_table_after_again_is_of_the_new_run(zlang: Zlang) -> None:
    zlang.run(PROGRAM)
    assert "2 of 2 trials count" in zlang("run", "program.zexp", "--again").out


@pytest.mark.parametrize(
    ("order", "shares_setups", "is_back_to_back"),
    [("planned", True, False), ("blocked", False, False), ("as-written", True, True)],
)
def test_the_answer_says_what_its_intervals_do_not_include(
    zlang: Zlang, order: str, shares_setups: bool, is_back_to_back: bool
) -> None:
    name = zlang.program("""
dir here { path = "." }
file data on here { size = 4KiB  content = zeros | random }
let n = 1 | 2 | 3
shell io { command = "true {n}"  writes = off }
experiment e { on = data  run = io  repeat = 3  table elapsed by content }
""")
    shown = zlang("run", name, "--order", order).out
    assert ("differences between setups" in shown) == shares_setups
    assert ("followed each other directly" in shown) == is_back_to_back
    assert zlang("table").out in shown
    plot = zlang("plot", "elapsed over content").out
    assert ("differences between setups" in plot) == shares_setups
    assert ("followed each other directly" in plot) == is_back_to_back
    zlang("plot", "elapsed over content", "-o", "plot.svg")
    assert ("not include differences" in (zlang.at / "plot.svg").read_text("utf-8")) == shares_setups
    zlang("report")
    assert ("differences between setups" in (zlang.at / "report.html").read_text("utf-8")) == shares_setups


def test_questions_are_answered_while_the_database_is_built(zlang: Zlang) -> None:
    """Several processes replace it at once; each query sees the old or new database, with the same answer."""
    zlang.run(PROGRAM)
    table = zlang("table", "elapsed by n").out
    for _ in range(2):
        building = [zlang.start("ingest"), zlang.start("ingest")]
        asking = [
            zlang.start("sql", "select count(*) as n from trials", "--format", "csv"),
            zlang.start("table", "elapsed by n"),
        ]
        asking.append(zlang.start("report", "--out", "report.html"))
        ended = [process.communicate(timeout=120) for process in [*building, *asking]]
        assert [process.returncode for process in [*building, *asking]] == [0] * 5, ended
        assert ended[2][0].split() == [b"n", b"2"]
        assert ended[3][0].decode() == table
    assert not list(zlang.at.glob(".zlang-*"))


@pytest.fixture
def aborting(zlang: Zlang) -> Zlang:
    """Install a database library that aborts as soon as it is loaded."""
    fake = zlang.at / "fake"
    fake.mkdir()
    (fake / "duckdb.py").write_text(ABORTS)
    return zlang


def broken(zlang: Zlang) -> Zlang:
    return Zlang(zlang.at, {"PYTHONPATH": f"{zlang.at / 'fake'}:{zlang.variables()['PYTHONPATH']}"})


def test_a_run_outlives_its_database(aborting: Zlang) -> None:
    ended = broken(aborting).run(PROGRAM, code=1)
    assert "SIGABRT: Too many open files" in ended.err
    assert "the run is complete" in ended.err
    assert "zlang ingest" in ended.err
    assert isinstance(aborting.events()[-1], Finish)
    aborting("ingest")
    assert aborting.rows("select count(*) as n from trials") == [{"n": 2}]


@pytest.mark.parametrize(
    "command",
    ["ingest", "sql select", "table", "plot", "expect", "compare", "effects", "findings", "report", "sql --write x"],
)
def test_an_aborted_query_is_reported(aborting: Zlang, command: str) -> None:
    aborting.run(PROGRAM)
    ended = broken(aborting)(*command.split(), code=1)
    assert "SIGABRT: Too many open files" in ended.err
    assert "bug" not in ended.err
    assert not list(aborting.at.glob("core*"))


def test_a_plan_does_without_a_database_that_aborts(aborting: Zlang) -> None:
    aborting.run(PROGRAM)
    assert "2 points" in broken(aborting)("plan", "program.zexp").out


@pytest.mark.parametrize("command", ["table", "ingest", "run program.zexp --again", "sql select"])
@pytest.mark.parametrize("number", [5, 7, 9, 12, 16])
def test_few_descriptors(zlang: Zlang, command: str, number: int) -> None:
    """Whichever file cannot be opened, zlang ends with a message, never with an abort or a reported bug."""
    zlang.run(PROGRAM)
    done = subprocess.run(
        ["bash", "-c", f"ulimit -n {number}; exec {' '.join(COMMAND)} {command}"],
        cwd=zlang.at,
        env=zlang.variables(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode in {0, 1}, done.stderr
    assert "bug in zlang" not in done.stderr
    assert "Traceback" not in done.stderr or number < 7  # so few that Python itself does not start


def test_a_message_of_the_database_that_is_not_text(zlang: Zlang) -> None:
    zlang.run(PROGRAM)
    err = zlang("sql", "--write", "select * from read_duckdb('results.duckdb')", code=1).err
    assert "bug" not in err


def test_a_question_spills_to_half_of_the_free_disk_at_most(zlang: Zlang) -> None:
    zlang.run(PROGRAM)
    (row,) = zlang.rows("select current_setting('max_temp_directory_size') as most")
    amount, unit = str(row["most"]).split()
    assert float(amount) * {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit] <= 16 << 30


@pytest.mark.parametrize(
    "command", ["check program.zexp", "plan program.zexp", "status", "sql select", "init", "doctor"]
)
def test_a_deleted_working_directory(zlang: Zlang, command: str) -> None:
    line = f"mkdir gone && cd gone && rmdir ../gone && exec {' '.join(COMMAND)} {command}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=zlang.at, env=zlang.variables(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode in {0, 1}
    assert "bug in zlang" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_plan_does_not_load_the_database_library_itself(zlang: Zlang) -> None:
    """A database exists, as after `make demo`."""
    zlang.run(PROGRAM)
    program = (
        "import sys; from zlang.cli.app import guarded; code = guarded(['plan', 'program.zexp']); "
        "print(code, 'duckdb' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [COMMAND[0], "-c", program], cwd=zlang.at, env=zlang.variables(), capture_output=True, text=True, timeout=60
    )
    assert done.stderr == "0 False\n"


def test_names_that_are_not_utf8(zlang: Zlang) -> None:
    name = zlang.program(PROGRAM, "a\udcffb.zexp")
    assert r'"a\\xffb.zexp"' in zlang("plan", name, "--json").out
    zlang("run", name)
    assert [path.name for path in (zlang.folder() / "source").iterdir()] == [r"a\xffb.zexp"]
    ended = zlang("plan", name, "--set", "trials=\udcff", code=1)
    assert ended.err == "error: `--set trials=\\xff` is not UTF-8 text\n"


def test_the_database_library_takes_no_path_that_is_not_utf8(zlang: Zlang) -> None:
    inner = Zlang(zlang.at / "a\udcffb")
    inner.at.mkdir()
    ended = inner.run(PROGRAM, code=1)
    assert "is not a path in UTF-8, and DuckDB takes no other" in ended.err
    assert "bug" not in ended.err
    inner("ingest", "--db", str(zlang.at / "results.duckdb"))
    assert zlang.rows("select count(*) as n from trials") == [{"n": 2}]
