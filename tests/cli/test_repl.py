"""Test the interactive query prompt: input, output and completion."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import COMMAND
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input.defaults import create_pipe_input
from prompt_toolkit.output import DummyOutput
from run_folders import MakeRun, factor

from zlang.cli import repl
from zlang.cli.query_results import QueryOptions
from zlang.errors import RunError
from zlang.pipeline import results
from zlang.store.ingest import ingest
from zlang.store.query import QuerySession, session

pytestmark = pytest.mark.usefixtures("judged_by_print")

_MOST_SECONDS = 120
FACTORS = (factor("bs", "size"), factor("rw", "word"))


@pytest.fixture
def built(make_run: MakeRun, runs: Path, db: Path) -> Path:
    run = make_run(factors=FACTORS)
    for n, rw in enumerate(("read", "randread")):
        run.measured(f"p{n}", 1, {"bs": 4096, "rw": rw}, '{"metrics": {"read_iops": 1234.5, "read_clat_p99": 1500000}}')
    run.done()
    ingest(runs, db)
    return db


Say = Callable[[str], tuple[str, str]]


@pytest.fixture
def say(built: Path, capsys: pytest.CaptureFixture[str]) -> Say:
    """Type some input, then Ctrl-D; return standard output and error."""

    def typed(text: str) -> tuple[str, str]:
        options = QueryOptions("table", None, (), raw=False, write=False, unsafe=False)
        with create_pipe_input() as source:
            source.send_text(text + "\x04")
            assert repl.converse(built, options, source, DummyOutput()) == 0
        printed = capsys.readouterr()
        return printed.out, printed.err

    return typed


def test_a_statement_of_several_lines_is_answered_with_units(say: Say) -> None:
    out, err = say("select bs, read_clat_p99\rfrom trials\r where rw = 'read';\r")
    assert out.split()[-3:] == ["4KiB", "1.5", "ms"]
    assert "1 row" in err


def test_an_empty_line_ends_a_statement_and_raw_shows_numbers(say: Say) -> None:
    assert "1500000" in say(".raw\rselect read_clat_p99 from trials\r\r")[0].replace(",", "")


def test_a_mistake_is_answered_and_the_conversation_goes_on(say: Say) -> None:
    out, err = say("select red_iops from trials;\r.tabels\rselect 7 as seven;\r@runs\r")
    assert "`read_iops`" in err
    assert "`.tables`" in err
    assert "seven" in out
    assert "quickstart" in out


def test_ctrl_c_discards_the_typed_line(say: Say) -> None:
    out, _ = say("select 'dropped'\x03select 'kept';\r")
    assert "kept" in out
    assert "dropped" not in out


def test_commands(say: Say) -> None:
    out, err = say(".tables\r.describe trials\r.help\r.queries\r.quit\rselect 'never';\r")
    assert "quickstart.trials" in out
    assert "read_clat_p99  metric  duration  ns" in out
    assert "@medians" in out
    assert "never" not in out
    assert ".describe" in out
    assert "error" not in err


def test_a_plot(say: Say) -> None:
    out, err = say(".plot read_iops over rw\r.plot red_iops over rw\r")
    assert "read_iops" in out
    assert "randread" in out
    assert "did you mean `read_iops`" in err


def test_nothing_can_be_written(say: Say, built: Path) -> None:
    before = built.read_bytes()
    _, err = say("drop view trials;\rset lock_configuration = false;\rcopy trials to 'x.csv';\r")
    assert err.count("error:") == 3
    assert built.read_bytes() == before


@pytest.mark.parametrize(
    ("before", "offered"),
    [
        ("select read_cl", {"read_clat_p99"}),
        ("from quickstart.tr", {"trials"}),
        ("from tri", {"trials", "trial"}),
        ("select * from trials where rw = ", {"'read'", "'randread'"}),
        ("where rw in ('read', 'ran", {"'randread'"}),
        ("where bs = 4", {"4096"}),
        (".de", {".describe"}),
        ("@mea", set()),
        ("@med", {"@medians"}),
    ],
)
def test_completion(built: Path, before: str, offered: set[str]) -> None:
    with session(built) as opened:
        completions = repl.Names(opened).get_completions(Document(before), CompleteEvent())
        assert {completion.text for completion in completions} >= offered


def test_ctrl_c_cancels_a_query_and_the_next_one_works(built: Path) -> None:
    with results.session(built, write=False, unsafe=False) as opened:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            opened.ask("select count(*) from range(100000000000) t(i) where hash(i) = 3")
        assert opened.ask("select 1").rows == ((1,),)
        with pytest.raises(RunError):
            opened.ask("from nowhere")


def test_ctrl_c_before_a_question_has_begun_ends_it_too(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = QuerySession._answer

    def late(self: QuerySession, *arguments: Any) -> object:
        time.sleep(0.5)
        return answer(self, *arguments)

    monkeypatch.setattr(QuerySession, "_answer", late)
    with results.session(built, write=False, unsafe=False) as opened:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            opened.ask("select count(*) from range(100000000000) t(i) where hash(i) = 3")
        assert opened.ask("select 1").rows == ((1,),)


def test_on_a_terminal_ctrl_c_ends_a_question_and_ctrl_d_the_conversation(built: Path) -> None:
    child, terminal = pty.fork()
    if child == 0:
        environment = {**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "XDG_STATE_HOME": str(built.parent)}
        os.execve(COMMAND[0], [*COMMAND, "sql", "--db", str(built)], environment)
    shown = b""

    latest = time.monotonic() + _MOST_SECONDS

    def until(wanted: bytes, again: bytes = b"") -> None:
        nonlocal shown
        while wanted not in shown:
            assert time.monotonic() < latest, shown.decode("utf-8", "replace")
            if select.select([terminal], [], [], 0.5)[0]:
                shown += os.read(terminal, 65536)
            elif again:
                os.write(terminal, again)

    try:
        until(b"zlang>")
        os.write(terminal, b"select count(*) from range(1000000000000) t(i) where hash(i) = 3;\r")
        until(b"cancelled", again=b"\x03")
        until(b"42", again=b"select 41\r + 1 as answer;\r")
        with contextlib.suppress(OSError):  # it has ended
            until(b"never said", again=b"\x04")
    except AssertionError:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    assert b"Traceback" not in shown
