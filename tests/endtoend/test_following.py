"""Test `status --follow` in a separate process while the run is in progress."""

from __future__ import annotations

import re
import subprocess
from functools import partial
from pathlib import Path

import pytest
from command_line import COMMAND, Zlang
from waiting import wait_for

from zlang.cli import following
from zlang.pipeline import runs

PROGRAM = """
dir here {{ path = "." }}
let option = "a-mount-option-with-a-long-name" | "another-one-with-a-name-that-is-as-long" | "broken"
shell waits {{
  command = \"\"\"
    until test -e {at}/{{option}}; do sleep 0.05; done
    case {{option}} in broken) exit 3 ;; esac
    echo rate=12345
  \"\"\"
  writes  = off
  metrics = [regex("rate=rate=([0-9]+)")]
}}
experiment followed {{ on = here  run = waits  repeat = 2  table rate by option }}
"""
LONG, LONGER, BROKEN = "a-mount-option-with-a-long-name", "another-one-with-a-name-that-is-as-long", "broken"
RATE = "median rate 12,345"


def _wait_for_trial(zlang: Zlang) -> None:
    """Wait until a trial is being measured."""
    wait_for(lambda: list(zlang.at.glob("runs/*/trials/*/*/a1/measure.out")))


def _is_measured(shown: Path, option: str) -> bool:
    """Check whether `status --follow` has reported that this level is being measured."""
    return re.search(rf"now:\s+{option}\n", shown.read_text()) is not None


@pytest.fixture
def program(zlang: Zlang) -> Path:
    return zlang.at / zlang.program(PROGRAM.format(at=zlang.at))


def test_trials_are_shown_as_they_begin_and_end(zlang: Zlang, program: Path) -> None:
    zlang.environment["COLUMNS"] = "60"
    run = zlang.start("run", program.name, "--order", "as-written")
    _wait_for_trial(zlang)
    shown = zlang.at / "shown"
    with shown.open("wb") as file:
        follower = subprocess.Popen([*COMMAND, "status", "--follow"], cwd=zlang.at, env=zlang.variables(), stdout=file)
    for option in (LONG, LONGER, BROKEN):
        wait_for(partial(_is_measured, shown, option))
        (zlang.at / option).touch()
    run.communicate(timeout=100)
    assert follower.wait(timeout=100) == 0
    lines = shown.read_text().splitlines()
    assert max(map(len, lines)) <= int(zlang.environment["COLUMNS"])
    text = " ".join(line.strip() for line in lines)
    assert text.startswith(f"0 of 6 trials; now: {LONG} ")
    for option in (LONG, LONGER):
        assert f"{option}: median rate 12,345 (n = 1)" in text
        assert f"{option}: median rate 12,345 (n = 2)" in text
    assert re.search(rf" 2 of 6 trials, [\d.]+ s left; now: {LONGER} ", text)
    assert re.search(
        r" 4 of 6 trials, [\d.]+ s left; now: broken trial 5 does not count: measure: exited with 3 ", text
    )
    assert text.endswith(f" {zlang.folder().name}: 6 of 6 trials, finished")
    assert zlang("status", "--follow").out.splitlines() == [
        f"{LONG}: median rate 12,345 (n = 2)",
        f"{LONGER}:",
        "  median rate 12,345 (n = 2)",
        lines[-1],
    ]


def test_a_run_that_is_about_to_begin_is_followed(
    zlang: Zlang, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its folder exists before its process holds it and writes the journal."""
    zlang.run('dir here { path = "." }\nshell says { command = "true" }\nexperiment e { on = here  run = says }\n')
    journal = zlang.folder() / "journal.jsonl"
    lines = journal.read_bytes()
    journal.write_bytes(b"")
    monkeypatch.setattr("zlang.cli.following.time.sleep", lambda _: journal.write_bytes(lines))
    following.follow(runs.find(zlang.at / "runs", None))
    assert capsys.readouterr().out.splitlines()[-1].endswith("1 of 1 trials, finished")
