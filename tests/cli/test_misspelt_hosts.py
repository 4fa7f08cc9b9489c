"""Test entries of zlang.toml whose names are misspelt: without a warning, the program would run on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Zlang

PROGRAM = """
host san1
dir here on san1 { path = "." }
shell quick { command = "true"  writes = off }
experiment brief { on = here  run = quick }
experiment again { on = here  run = quick }
"""
MESSAGE = "zlang.toml has [hosts.san01], but the program has no host `san01`: did you mean [hosts.san1]?"


@pytest.mark.parametrize("command", [("run", "--yes"), ("hosts",), ("doctor",)], ids=" ".join)
def test_a_misspelt_entry_is_reported_once(command: tuple[str, ...], tmp_path: Path) -> None:
    zlang = Zlang(tmp_path)
    program = zlang.program(PROGRAM)
    (tmp_path / "zlang.toml").write_text('[hosts.san01]\nssh = "root@san1.lab"\n')
    ended = zlang(command[0], program, *command[1:], code=None)
    assert (ended.out + ended.err).count(MESSAGE) == 1


def test_entries_of_other_programs_are_not_reported(tmp_path: Path) -> None:
    zlang = Zlang(tmp_path)
    program = zlang.program(PROGRAM)
    (tmp_path / "zlang.toml").write_text('[hosts.tape]\nssh = "root@tape.lab"\n[hosts.san1]\nlocal = true\n')
    assert "did you mean" not in zlang("hosts", program).out
