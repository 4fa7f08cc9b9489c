"""Test `zlang diff` and `zlang snapshot` on programs, revisions, run folders and saved plans."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from command_line import Zlang

LAB = """
dir here { path = "." }
"""
PROGRAM = """
import "./lab.zexp"
param most: count = 2
let n = 1 .. most
shell says { command = "echo {n}"  metrics = [time] }
experiment counts { on = here  run = says  repeat = 2 }
"""


@pytest.fixture
def lab(zlang: Zlang) -> Zlang:
    """Create a directory with a program in two files."""
    zlang.program(LAB, "lab.zexp")
    zlang.program(PROGRAM)
    return zlang


def _difference(zlang: Zlang, *arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(zlang("diff", *arguments, "--json", code=None).out)
    return {name: answer[name] for name in ("come", "go", "change", "same", "reordered")}


def test_two_programs(lab: Zlang) -> None:
    lab.program(
        PROGRAM.replace("most: count = 2", "most: count = 3").replace("echo {n}", "echo {if n == 1 then 7 else n}"),
        "new.zexp",
    )
    counts = _difference(lab, "program.zexp", "new.zexp")
    (changed,) = counts.pop("change")
    (edit,) = changed.pop("commands")
    assert changed == {"levels": {"n": 1}, "replicates": 2}
    assert (edit["step"], "echo 1" in edit["was"], "echo 7" in edit["now"]) == ("measure", True, True)
    assert counts == {"come": [{"levels": {"n": 3}, "replicates": 2}], "go": [], "same": 2, "reordered": False}
    stdout = lab("diff", "program.zexp", "new.zexp", code=6).out
    assert "2 trials added, 0 removed, 2 changed, 2 unchanged" in stdout
    assert "echo 7" in stdout
    assert "the same 4 trials in the same order" in lab("diff", "program.zexp", "program.zexp").out


def test_a_revision_is_compared_with_its_imports(lab: Zlang) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a"]):
        subprocess.run([*git, *words], cwd=lab.at, check=True)
    lab.program(LAB.replace('"."', '"/tmp"'), "lab.zexp")
    counts = _difference(lab, "HEAD:program.zexp", "program.zexp")
    assert (counts["same"], [point["levels"] for point in counts["change"]]) == (0, [{"n": 1}, {"n": 2}])
    assert "git cannot show other.zexp in HEAD" in lab("diff", "HEAD:other.zexp", "program.zexp", code=1).err
    assert "git cannot show program.zexp in v9" in lab("diff", "v9:program.zexp", "program.zexp", code=1).err


def test_a_snapshot_is_validated_with_its_own_options(lab: Zlang) -> None:
    lab("snapshot", "program.zexp", "--set", "most=3", "--seed", "7", "--order", "as-written")
    assert "6 trials in the same order" in lab("snapshot", "program.zexp", "--validate").out
    lab.program(PROGRAM + "# a comment\n")
    lab("snapshot", "program.zexp", "--validate")
    lab.program(PROGRAM.replace("repeat = 2", "repeat = 3"))
    assert "3 trials added, 0 removed" in lab("snapshot", "program.zexp", "--validate", code=6).out
    (lab.at / "program.plan.jsonl").unlink()
    assert "`zlang snapshot program.zexp` writes it" in lab("snapshot", "program.zexp", "--validate", code=1).err


def test_a_run_and_the_program_that_it_was(lab: Zlang) -> None:
    lab("run", "program.zexp", "--set", "most=1")
    assert "the same 2 trials in the same order" in lab("diff", str(lab.folder()), "program.zexp").out
    (lab.at / "broken.jsonl").write_text("{}\n")
    assert "does not begin with a plan header" in lab("diff", "broken.jsonl", "program.zexp", code=1).err
