"""Test how commands exit and format their output: terminals, pipes, signals, and bugs in zlang itself."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.capture import CaptureFixture
from command_line import COMMAND, REPOSITORY, Zlang
from prompt_toolkit.history import InMemoryHistory

from zlang.cli import app, repl
from zlang.cli.app import guarded
from zlang.errors import RunError
from zlang.pipeline import programs
from zlang.plan.plan import Plan
from zlang.store import saved

WRONG = "experiment e { run = nothing }\n"
SHORT = 'dir here { path = "." }\nshell says { command = "true" }\nexperiment e { on = here  run = says }\n'
LARGE = """
import fio
dir here { path = "." }
file data on here { size = 1MiB }
fio io {
  rw = randread  ioengine = io_uring
  bs = 1KiB..1000KiB by 1KiB  iodepth = 1..1000  numjobs = 1..1000  thinktime = 1us..1000us by 1us
}
experiment large { on = data  run = io }
"""


@pytest.fixture
def zlang(tmp_path: Path) -> Zlang:
    return Zlang(tmp_path)


def on_a_terminal(zlang: Zlang, *arguments: str) -> tuple[int, str]:
    """Run a command on a terminal; return its exit code and output."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(zlang.at)
        os.execve(COMMAND[0], [*COMMAND, *arguments], {**zlang.variables(), "TERM": "xterm", **zlang.environment})
    output = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        output += piece
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), output.decode()


def test_colours_are_for_terminals(zlang: Zlang) -> None:
    name = zlang.program(WRONG)
    code, shown = on_a_terminal(zlang, "check", name)
    assert code == 1
    assert "\x1b[1;31merror[E201]" in shown
    assert "\x1b" not in zlang("check", name, code=1).err
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r\n", "\n")
    assert plain == zlang("check", name, code=1).err


@pytest.mark.parametrize("variable", ["NO_COLOR=1", "NO_COLOR=", "TERM=dumb"])
def test_colours_can_be_refused(zlang: Zlang, variable: str) -> None:
    name, _, value = variable.partition("=")
    zlang.environment[name] = value
    code, shown = on_a_terminal(zlang, "check", zlang.program(WRONG))
    assert code == 1
    assert "\x1b" not in shown


def test_a_run_asks_for_confirmation_on_a_terminal(zlang: Zlang) -> None:
    zlang.program(SHORT)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(zlang.at)
        os.execve(COMMAND[0], [*COMMAND, "run", "program.zexp"], dict(zlang.variables()))
    output = b""
    while b"[Y/n]" not in output:
        output += os.read(terminal, 4096)
    os.write(terminal, b"n\n")
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert b"e: run 1 trial?" in output
    assert os.waitstatus_to_exitcode(status) == 130
    assert zlang.names() == {"program.zexp"}


@pytest.mark.parametrize("arguments", [["--trials"], ["--trials", "--json"], ["--steps"], ["--json"]])
def test_a_reader_that_leaves(zlang: Zlang, arguments: list[str]) -> None:
    """`zlang plan … | head -1` ends at once, although the plan is practically endless."""
    process = zlang.start("plan", zlang.program(LARGE), *arguments)
    assert process.stdout
    assert process.stderr
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_ctrl_c(zlang: Zlang, number: signal.Signals, code: int) -> None:
    process = zlang.start("plan", zlang.program(LARGE), "--trials")
    assert process.stdout
    process.stdout.readline()
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"Traceback" not in err


@pytest.mark.parametrize("error", [ZeroDivisionError(), KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_run_that_cannot_be_planned_to_the_end_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def dump(plan: Plan) -> Iterator[bytes]:
        yield b"{}"
        raise error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zlang.plan.wire.dump", dump)
    Path("program.zexp").write_text(SHORT)
    assert guarded(["run", "program.zexp", "--yes"]) != 0
    assert list(tmp_path.glob("runs/*")) == []


def test_a_full_standard_output(zlang: Zlang) -> None:
    name = zlang.program(WRONG.replace("nothing", "shell {}"))
    zlang.program("let a = 1\n", "right.zexp")
    with Path("/dev/full").open("wb") as full:
        for arguments in (["check", "right.zexp"], ["kinds"], ["plan", name]):
            done = subprocess.run(
                [*COMMAND, *arguments], cwd=zlang.at, env=zlang.variables(), stdout=full, stderr=subprocess.PIPE
            )
            assert done.returncode != 0
            assert b"Traceback" not in done.stderr


def test_ctrl_c_while_the_command_starts(monkeypatch: pytest.MonkeyPatch, capsys: CaptureFixture[str]) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("zlang.cli.standard_streams.prepare", lambda keep_on: None)  # noqa: ARG005
    monkeypatch.setattr(app, "_widen_path", interrupt)
    monkeypatch.setattr("gc.freeze", lambda: None)
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert ended.value.code == 130
    assert capsys.readouterr() == ("", "")


def test_ctrl_c_twice_in_a_query(monkeypatch: pytest.MonkeyPatch, capsys: CaptureFixture[str]) -> None:
    def interrupt(_: object) -> object:
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr(app, "_carried_out", interrupt)
    assert guarded(["ingest"]) == 130
    assert capsys.readouterr() == ("", "")


def test_no_memory_for_a_call_is_no_bug(monkeypatch: pytest.MonkeyPatch, capsys: CaptureFixture[str]) -> None:
    def fail(_: object) -> object:
        raise SystemError("error return without exception set")

    monkeypatch.setattr(app, "_carried_out", fail)
    assert guarded(["resume"]) == 1
    assert capsys.readouterr() == ("", "error: there is not enough memory\n")


def test_a_library_that_cannot_be_read_before_the_command_begins(
    monkeypatch: pytest.MonkeyPatch, capsys: CaptureFixture[str]
) -> None:
    def fail(keep_on: bool) -> None:
        raise ModuleNotFoundError("No module named 'ctypes'")

    monkeypatch.setattr("zlang.cli.standard_streams.prepare", fail)
    monkeypatch.setattr("gc.freeze", lambda: None)
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert ended.value.code == 1
    assert capsys.readouterr() == ("", "error: zlang cannot start: No module named 'ctypes'\n")


def test_a_bug_gives_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: CaptureFixture[str]) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("something\x1b[2J impossible")

    monkeypatch.setattr(programs, "check", broken)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "a.zexp").write_text("let a = 1\n")
    assert guarded(["check", str(tmp_path / "a.zexp")]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert "\x1b" not in err
    (log,) = tmp_path.glob("zlang-bug-*.log")
    assert str(log) in err
    assert "ZeroDivisionError" in log.read_text()
    assert "Traceback" in log.read_text()


# -- output without golden files, because it depends on this machine or grows


def test_options_named_in_messages_exist(zlang: Zlang) -> None:
    """Check every `zlang COMMAND … --option` mentioned in the code and the library."""
    files = [*(REPOSITORY / "zlang").rglob("*.py"), *(REPOSITORY / "stdlib").glob("*.zexp")]
    named = {
        (command, option)
        for file in files
        for command, words in re.findall(r"`zlang ([a-z]+)\b([^`\n]*)`", file.read_text("utf-8"))
        for option in re.findall(r"--[a-z][a-z-]*", words)
    }
    helps = {command: zlang(command, "--help").out for command, _ in named}
    assert len(named) > 10
    assert sorted((command, option) for command, option in named if option not in helps[command]) == []


def test_a_directory_that_is_missing_is_named(zlang: Zlang) -> None:
    assert zlang("init", "lost/a.zexp", code=1).err == "error: cannot write lost/a.zexp: there is no directory lost\n"


def test_kinds_are_listed(zlang: Zlang) -> None:
    listed = zlang("kinds").out
    assert all(f"\n{kind} " in f"\n{listed}" for kind in ("dir", "file", "host", "shell", "fio", "vmstat", "diskstats"))
    for line in zlang("kinds", "--json").out.splitlines():
        assert {"kind", "role", "module", "doc"} <= json.loads(line).keys()


def test_doctor(zlang: Zlang) -> None:
    answer = json.loads(zlang("doctor", "--json", code=None).out)
    assert {"fio", "fincore", "dd", "vmstat"} <= {tool["tool"] for tool in answer["tools"]}
    in_guest = {"exportfs", "lvcreate", "mdadm", "nfsstat", "zpool list -H -o name"}  # what only the guest has
    only_planned = {"perf"}  # what no test here carries out
    assert set(answer["missing"]) <= in_guest | only_planned
    assert answer["root"] is (os.geteuid() == 0)
    fio = next(tool for tool in answer["tools"] if tool["tool"] == "fio")
    assert fio["version"].startswith("fio-")
    only = json.loads(zlang("doctor", zlang.program(LARGE), "--json").out)
    assert "vmstat" not in {tool["tool"] for tool in only["tools"]}
    zlang.environment["PATH"] = str(zlang.at)
    missing = json.loads(zlang("doctor", "--json", code=1).out)
    assert "fio" in missing["missing"]
    assert "apt-get install fio" in zlang("doctor", code=1).out


def test_the_first_program_is_sound(zlang: Zlang) -> None:
    zlang("init")
    zlang("plan", "experiment.zexp")
    assert "--profile smoke" in zlang("init", "other.zexp").out
    zlang("plan", "other.zexp", "--profile", "smoke")


def test_suggested_commands_can_be_typed(zlang: Zlang) -> None:
    zlang.program("param n: count = 1\nprofile p { n = 2 }\n" + LARGE.replace("1..1000 ", "n "))
    shown = zlang("plan", "program.zexp", "--set", "n= 3 ", "--profile", "p", "--seed", "4").out
    suggested = shown.splitlines()[-1]
    assert "zlang plan program.zexp --set 'n= 3 ' --profile p --seed 4 --steps" in suggested
    assert suggested.endswith("zlang run program.zexp --set 'n= 3 ' --profile p --seed 4")


# -- spaces that are too large to carry out


def test_a_million_million_points(zlang: Zlang) -> None:
    name = zlang.program(LARGE)
    assert zlang("check", name).out == "program.zexp: large: 1,000,000,000,000 points, 1,000,000,000,000 trials\n"
    before = os.times()
    shown = zlang("plan", name).out
    after = os.times()
    assert "1,000,000,000,000 points" in shown
    assert "the first 10 trials:" in shown
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    assert spent < 60, "seconds; it takes three, and would take years if it were listed"
    refused = zlang("run", name, code=1).err
    assert "the plan has 1,000,000,000,000 trials, and `run` accepts at most 10,000" in refused
    assert "--limit 1000000000000" in refused
    assert zlang.names() == {name}


def test_the_limit_can_be_lowered_and_raised(zlang: Zlang) -> None:
    name = zlang.program(
        'dir here { path = "." }\nshell s { command = "true"  timeout = 1s | 2s | 3s }\n'
        "experiment e { on = here  run = s }\n"
    )
    assert "has 3 trials, and `run` accepts at most 2" in zlang("run", name, "--limit", "2", code=1).err
    assert "3 of 3 trials count" in zlang("run", name, "--limit", "3").out


def test_the_repository_is_found() -> None:
    assert (REPOSITORY / "zlang" / "cli" / "app.py").is_file()


NEW = """
kind scratch: resource on host {
  property quick: bool { default = off  since = "kernel 99.1"  doc = "a new way" }
  offers dir = "/tmp/{name}"
  create { sh "mkdir -- {dir}" }
  destroy { sh "rmdir -- {dir}" }
}
scratch here { quick = QUICK }
shell look { command = "ls"  writes = off }
experiment e { on = here  run = look }
"""


def test_doctor_lists_properties_that_need_newer_versions(zlang: Zlang) -> None:
    release = os.uname().release
    answer = json.loads(zlang("doctor", zlang.program(NEW.replace("QUICK", "on")), "--json", code=1).out)
    assert (answer["missing"], answer["facts"]["platform"], answer["facts"]["kernel"]) == ([], "linux", release)
    assert answer["lacking"] == [f"`quick` requires kernel 99.1, but `this machine` has {release}"]
    assert (
        json.loads(zlang("doctor", zlang.program(NEW.replace("{ quick = QUICK }", "")), "--json").out)["lacking"] == []
    )


def test_doctor_saves_the_machine_as_a_host(zlang: Zlang) -> None:
    zlang("doctor", "--save", "box.zexp", code=None)
    name = (zlang.at / "box.zexp").read_text("utf-8").split()[1]
    text = f'import "./box.zexp"\ndir here on {name} {{ path = "." }}\nshell look {{ command = "ls"  writes = off }}\n'
    memory = f"where {name}.ram > 1MiB and {name}.cores >= 1 and len({name}.disks) >= 1"
    zlang("check", zlang.program(f"{text}experiment e {{ on = here  run = look  {memory} }}\n"))
    assert "already exists" in zlang("doctor", "--save", "box.zexp", code=1).err


BY_HAND = """
kind cards: resource {
  property count: count { required = on  cost = manual  ask = "fit {count} cards"  doc = "how many" }
  offers dir = "."
}
cards box { count = 0 | 1 }
shell look { command = "ls"  writes = off }
experiment e { on = box  run = look }
"""


def test_a_manual_step_without_a_terminal_stops_the_run(zlang: Zlang) -> None:
    stopped = zlang("run", zlang.program(BY_HAND), "--yes", code=1)
    (text,) = re.findall("^manual step: (fit [01] cards)\n", stopped.err, re.MULTILINE)
    assert f"the run is waiting for a manual step: {text}" in stopped.err
    assert f"manual step: {text}\n" in zlang("resume", code=1).err
    other = zlang("resume", "--yes", code=1)
    assert f"manual step: {text}\n" not in other.err
    assert f"manual step: fit {1 - int(text[4])} cards\n" in other.err
    assert "2 of 2 trials count" in zlang("resume", "--yes").out


def test_a_user_without_a_home_has_no_queries_and_no_history(monkeypatch: pytest.MonkeyPatch) -> None:
    def has_no_home() -> Path:
        message = "Could not determine home directory."
        raise RuntimeError(message)

    monkeypatch.setattr(Path, "home", has_no_home)
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    assert isinstance(repl._history(), InMemoryHistory)
    with pytest.raises(RunError, match="nothing"):
        saved.named("nothing")
    assert saved.listed()


@pytest.mark.parametrize(
    "error", ["AttributeError('no type')", "KeyError('x')", "SystemError('half')", "ImportError('y')"]
)
def test_a_database_library_that_is_loaded_in_part_is_no_bug(zlang: Zlang, tmp_path: Path, error: str) -> None:
    """A system call that fails during the import of a module can raise any exception there."""
    program = zlang.program(SHORT)
    zlang("run", program)
    broken = tmp_path / "broken" / "duckdb"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text(f"raise {error}\n")
    ill = Zlang(tmp_path, {"PYTHONPATH": str(broken.parent)})
    for words in (["table"], ["ingest"], ["sql", "from trials"], ["resume"], ["findings"], ["run", program, "--again"]):
        ended = ill(*words, code=1)
        assert "a library cannot be loaded: " in ended.err, words
        assert f"{broken / '__init__.py'}:1" in ended.err, words
        assert "bug" not in ended.err
    assert "measured" in ill("plan", program).out
