"""Test obstacles to running and querying: missing tools, no database, another user's database, hostile job files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest
from command_line import Tools, Zlang, left_of

SMALL = """
import fio
dir here { path = "." }
file data on here { size = 1MiB }
fio reads { rw = read  bs = 64KiB | 128KiB }
experiment small { on = data  run = reads }
"""

SAYS = """
dir here { path = "." }
shell says { command = "echo 1" }
experiment says { on = here  run = says }
"""


def test_without_fio(zlang: Zlang) -> None:
    """Everything else is there."""
    tools = zlang.at.parent / "bin"
    tools.mkdir()
    for directory in os.environ["PATH"].split(":"):
        for path in Path(directory).glob("*"):
            if path.name not in {"fio", "python", "zlang"} and not (tools / path.name).exists():
                (tools / path.name).symlink_to(path)
    zlang.environment["PATH"] = str(tools)
    ended = zlang.run(SMALL, code=1)
    assert "error: `fio` is not installed" in ended.err
    assert "apt-get install fio" in ended.err
    assert zlang.names() == {"program.zexp"}, "nothing was begun"
    assert "missing here: `fio`" in zlang("plan", "program.zexp").out
    assert "fio        missing: apt-get install fio" in zlang("doctor", "program.zexp", code=1).out


def test_a_command_that_has_to_succeed(zlang: Zlang) -> None:
    """Such as one that asks a daemon whether it is there: the program alone says nothing."""
    zlang.program("""
kind served: workload {
  doc = "What a daemon does."
  needs dir as at
  requires "test -e daemon" "start it with: touch daemon"
  run { sh "ls {at.dir}" { why = "do it" } }
}
dir here { path = "." }
served work {}
experiment asks { on = here  run = work }
""")
    assert "`run` only: `test -e daemon`" in zlang("plan", "program.zexp").out
    assert "test -e daemon" in zlang("doctor", "program.zexp", code=None).out
    assert "error: `test -e daemon` fails" in zlang("run", "-y", "program.zexp", code=1).err
    script = zlang("plan", "program.zexp", "--emit", "sh").out
    (zlang.at / "script.sh").write_text(script, "utf-8")
    refused = subprocess.run(["dash", "script.sh"], cwd=zlang.at, capture_output=True, text=True, check=False)
    assert "`test -e daemon` must succeed, but it fails: start it with: touch daemon" in refused.stderr
    assert zlang.names() == {"program.zexp", "script.sh"}, "nothing was begun"
    (zlang.at / "daemon").touch()
    zlang("run", "-y", "program.zexp")
    assert subprocess.run(["dash", "script.sh"], cwd=zlang.at, capture_output=True, check=False).returncode == 0


def test_a_database_of_another_version(zlang: Zlang) -> None:
    zlang.run(SAYS)
    with duckdb.connect(str(zlang.at / "results.duckdb")) as connection:
        connection.execute("update about set value = '0' where key = 'format'")
    refused = zlang("sql", "from trials", code=1).err
    assert "another version of zlang" in refused
    assert "zlang ingest" in refused
    zlang("ingest", "runs")
    assert len(zlang.rows("from trials")) == 1


@pytest.mark.parametrize("content", [b"", b"not a database at all\n" * 100, b"\0" * 8192])
def test_a_file_that_is_no_database(zlang: Zlang, content: bytes) -> None:
    zlang.program(SAYS)
    path = zlang.at / "results.duckdb"
    path.write_bytes(content)
    assert "is not a results database of zlang" in zlang("sql", "from trials", code=1).err
    ended = zlang("run", "program.zexp", code=None)
    if content:
        assert ended.code == 1
        assert "is not a database, so it is not replaced" in ended.err
        assert path.read_bytes() == content
        path.unlink()
        zlang("ingest", "runs")
    assert len(zlang.rows("from trials")) == 1, "what was measured is kept"


def test_a_foreign_database_is_not_overwritten(zlang: Zlang) -> None:
    path = zlang.at / "mine.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table precious as select 42 as x")
    ended = zlang.run(SAYS, "--db", "mine.duckdb", code=1)
    assert "not a results database of zlang, so it is not replaced" in ended.err
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("from precious").fetchall() == [(42,)]


def test_a_truncated_database(zlang: Zlang) -> None:
    zlang.run(SAYS)
    path = zlang.at / "results.duckdb"
    path.write_bytes(path.read_bytes()[:9000])
    assert "zlang ingest" in zlang("sql", "from trials", code=1).err


def test_sql_in_every_format(zlang: Zlang) -> None:
    zlang.run(SMALL)
    query = "select bs, replicate, null as nothing, 'a,\"b\"|c' as text from trials order by bs"
    assert zlang("sql", query, "--format", "csv").out.splitlines() == [
        "bs,replicate,nothing,text",
        '65536,1,,"a,""b""|c"',
        '131072,1,,"a,""b""|c"',
    ]
    assert zlang.rows(query)[0] == {"bs": 65536, "replicate": 1, "nothing": None, "text": 'a,"b"|c'}
    assert "| 65536 |" in " ".join(zlang("sql", query, "--format", "markdown").out.split())
    table = zlang("sql", "-", stdin=query)
    assert table.out.split()[:4] == ["bs", "replicate", "nothing", "text"]
    assert table.err == "2 rows\n"
    assert "1 row\n" in zlang("sql", "select 1 as one").err
    wrong = zlang("sql", "select read_iop from trials", code=1)
    assert "did you mean `read_iops`" in wrong.err
    refused = zlang("sql", "copy trials to 'stolen.csv'", code=1)
    assert "can only read" in refused.err
    assert "stolen.csv" not in zlang.names()


def test_no_program_and_no_place(zlang: Zlang) -> None:
    ended = zlang.run(SMALL.replace('"."', '"no such place"'), code=1)
    assert "no such place" in ended.err
    assert "0 of 2 trials count" in ended.out
    zlang.at.joinpath("file").write_text("")
    assert "cannot create a run folder" in zlang("run", "program.zexp", "--runs", "file/runs", code=1).err
    assert "cannot create" in zlang("plan", "program.zexp", "--emit", "sh", "--out", "file/out", code=1).err


def test_several_experiments_and_runs_side_by_side(zlang: Zlang) -> None:
    zlang.run(SAYS)
    zlang.run(SMALL)
    zlang.run(SMALL, "--again")
    assert len(zlang.rows("from says.trials")) == 1
    assert len(zlang.rows("from small.trials")) == 4
    assert len(zlang.rows("from trials")) == 4
    assert zlang("status").out.count("finished") == 3
    newest = max((zlang.at / "runs").iterdir())
    shutil.rmtree(newest)
    zlang("ingest", "runs")
    assert len(zlang.rows("from trials")) == 2


def test_runs_that_are_in_another_directory_are_named_when_they_go(zlang: Zlang) -> None:
    zlang.run(SAYS)
    note = "note: results.duckdb no longer has 1 run that is not in"
    ended = zlang("run", "program.zexp", "--runs", "other", "--again")
    assert f"{note} {zlang.at / 'other'}\n" in ended.err
    assert f"{note} runs\n" in zlang("ingest", "runs").err
    assert "note:" not in zlang("ingest", "runs").err


@pytest.mark.parametrize("place", ["a:b", "new\nline\nexec_prerun=touch pwned", "${HOME}", "semi;colon # [x]"])
def test_job_files_hold_names_or_are_refused(zlang: Zlang, place: str) -> None:
    import subprocess

    (zlang.at / place).mkdir()
    text = SMALL.replace('"."', '"' + place.replace("\n", "\\n").replace("{", "{{").replace("}", "}}") + '"')
    ended = zlang("plan", zlang.program(text), "--emit", "fio", "--out", "jobs", code=None)
    if ended.code == 0:
        job = min((zlang.at / "jobs").iterdir())
        (zlang.at / place / "zlang-by-hand").mkdir()
        (zlang.at / place / "zlang-by-hand" / "data").write_bytes(bytes(1 << 20))
        done = subprocess.run(
            ["fio", job], cwd=zlang.at, capture_output=True, text=True, env={**os.environ, "RUN": "by-hand"}
        )
        assert done.returncode == 0, (job.read_text(), done.stderr)
    else:
        assert ended.code == 1
        assert "Traceback" not in ended.err
    assert not list(zlang.at.rglob("pwned"))


def test_no_workload_is_left_when_zlang_ends(zlang: Zlang) -> None:
    text = SAYS.replace("echo 1", "sleep 300 & echo 1")
    zlang.run(text)
    assert left_of(zlang.folder().name) == []


IN_MEMORY = """
import fio
dir here { path = "." }
file data on here { size = 4MiB }
fio reads { rw = randread  bs = 4KiB  ioengine = psync  runtime = 1s }
experiment small { on = data  run = reads  repeat = 3 }
"""


def test_findings_about_the_machine_are_in_the_results(zlang: Zlang) -> None:
    """The size of memory is known on the machine that carries out the plan, not where it is built."""
    program = zlang.program(IN_MEMORY)
    assert "working-set-in-cache" not in zlang("plan", program, "--json").out
    assert "working-set-in-cache" in zlang("run", program).err
    stored = "select name from findings where code = 'ZL001'"
    assert zlang.rows(stored) == [{"name": "working-set-in-cache"}]
    zlang("report", "--format", "markdown")
    assert "working" in (zlang.at / "report.md").read_text("utf-8").partition("Findings about the program")[2]
    kept = zlang.folder() / "findings.json"
    of_machine = kept.read_bytes()
    kept.write_bytes(of_machine.replace(b"warning", b"note"))
    assert "results cannot be verified: its plan.jsonl" in zlang("status", zlang.folder().name).out
    kept.write_bytes(b"[1]")
    zlang("ingest", "runs")
    problem = "only the findings of the plan are known: findings.json is damaged"
    assert {"problem": problem} in zlang.rows("select problem from problems")
    assert zlang.rows(stored) == []
    kept.unlink()
    assert "results cannot be verified: its plan.jsonl" in zlang("status", zlang.folder().name).out


def test_each_slurm_part_has_the_findings_of_its_machine(zlang: Zlang) -> None:
    tools = Tools(zlang)
    task = "SLURM_ARRAY_TASK_ID=$n sh task.sh >>tasks.txt 2>&1"
    tools.wrap("sbatch", f"cd runs; cat >task.sh; n=1; {task}; n=2; {task}; echo 7")
    (zlang.at / "shared.zexp").write_text("param length: duration = 1s\n", "utf-8")
    text = IN_MEMORY.replace("import fio", 'import fio\nimport "shared.zexp"').replace(
        "runtime = 1s", "runtime = length"
    )
    program = zlang.program(text.replace("4KiB ", "4KiB | 8KiB "))
    zlang("submit", program, "--slurm", "--parts", "2", "--set", "length=2s")
    zlang("ingest", "runs")
    stored = "select count(distinct run) as runs, count(*) as n from findings where name = 'working-set-in-cache'"
    assert zlang.rows(stored) == [{"runs": 2, "n": 2}]
    assert (zlang.at / "runs/tasks.txt").read_text().count("fits into the memory") == 2
    assert "cannot be verified" not in zlang("status").out


def test_less_memory_than_the_program_states_is_reported(zlang: Zlang) -> None:
    """More is not: a program may state the least that it needs."""
    (zlang.at / "zlang.toml").write_text("[hosts.box]\nlocal = true\n")
    text = "host box { ram = SIZE }\n" + SAYS.replace("dir here {", "dir here on box {")
    enough, lacking = (
        zlang("doctor", zlang.program(text.replace("SIZE", size)), code=None) for size in ("1MiB", "900TiB")
    )
    assert "`box` has ram" not in enough.out
    assert "`box` has ram = 900TiB in the program" in lacking.out


def test_contradicted_host_facts_are_in_the_results(zlang: Zlang) -> None:
    program = zlang.program("host tiny { cores = 4096 }\n" + SAYS.replace("dir here {", "dir here on tiny {"))
    assert "`tiny` has cores = 4096 in the program" in zlang("run", program).err
    assert zlang.rows("select count(*) as n from findings where message like '`tiny` has cores = 4096%'") == [{"n": 1}]
