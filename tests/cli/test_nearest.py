"""Check that a message about any misspelt name suggests the nearest one."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.capture import CaptureFixture

from zlang.cli.app import guarded

PROGRAM = """\
import fio
import linux
import "./lab.zexp" as lab
param size: size = 64MiB
profile smoke { size = 1MiB }
dir here { path = "." }
file data on here { size = size  content = random | zeros }
fio reads { rw = randread | read  bs = 4KiB | 128KiB }
kind burst: workload {
  property blocks: count { required = on }
  run { sh "true {blocks}" { why = "x" } }
}
experiment sweep {
  on = data  run = reads  cache = cold
  where reads.bs >= 4KiB or data.content is zeros
  expect "fast" median(read_iops where bs == 4KiB) > median(read_iops where bs == 128KiB)
}
experiment other { on = data  run = lab.writes  collect = [vmstat {}] }
"""
LAB = "import fio\nfio writes { rw = write  size = 1MiB }\n"

MISSPELT = {
    "a word that begins an entry": ("param size", "parm size", "param"),
    "a module of the library": ("import linux", "import linx", "linux"),
    "an import's name": ("lab.writes", "lb.writes", "lab"),
    "what an import has": ("lab.writes", "lab.wirtes", "writes"),
    "a type": ("param size: size", "param size: siez", "size"),
    "a param in a profile": ("smoke { size", "smoke { siez", "size"),
    "a kind": ("fio reads", "foi reads", "fio"),
    "a kind of another module": ("[vmstat {}]", "[vmstta {}]", "vmstat"),
    "a declaration": ("on = data  run = reads", "on = dta  run = reads", "data"),
    "a parent": ("data on here", "data on her", "here"),
    "a property": ("bs = 4KiB | 128KiB", "bz = 4KiB | 128KiB", "bs"),
    "a property of a name": ("where reads.bs", "where reads.bz", "bs"),
    "a word of an enumeration": ("randread | read", "randraed | read", "randread"),
    "a variant after is": ("is zeros", "is zeroes", "zeros"),
    "a unit": ("1MiB }\ndir", "1MiBB }\ndir", "MiB"),
    "a field of an experiment": ("cache = cold", "cahce = cold", "cache"),
    "a protocol": ("cache = cold", "cache = clod", "cold"),
    "a function": ("size = size  content", "size = mni(size, 1MiB)  content", "min"),
    "an aggregate": ("> median(", "> medain(", "median"),
    "a metric": ("(read_iops where bs == 4KiB", "(read_ips where bs == 4KiB", "read_iops"),
    "a factor in an expectation": ("where bs == 128KiB", "where bss == 128KiB", "bs"),
    "a role": ("burst: workload", "burst: wrokload", "workload"),
    "what a property has": ("required = on", "requried = on", "required"),
    "a property in a template": ("{blocks}", "{blokcs}", "blocks"),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "lab.zexp").write_text(LAB, "utf-8")
    (tmp_path / "a.zexp").write_text(PROGRAM, "utf-8")
    return tmp_path


def test_nothing_is_misspelt(here: Path) -> None:
    assert guarded(["check", "a.zexp"]) == 0


@pytest.mark.parametrize("way", MISSPELT)
def test_names_in_programs(way: str, here: Path, capsys: CaptureFixture[str]) -> None:
    right, wrong, meant = MISSPELT[way]
    assert right in PROGRAM
    (here / "a.zexp").write_text(PROGRAM.replace(right, wrong, 1), "utf-8")
    assert guarded(["check", "a.zexp"]) == 1
    assert f"`{meant}`" in next(line for line in capsys.readouterr().err.splitlines() if "did you mean" in line)


def test_dissimilar_file_names_are_not_suggested(here: Path, capsys: CaptureFixture[str]) -> None:
    (here / "wrong.zexp").touch()
    assert guarded(["fmt", "no.zexp"]) == 1
    assert "did you mean" not in capsys.readouterr().err


COMMANDS = {
    "a command": (["chek", "a.zexp"], "check"),
    "an option": (["plan", "a.zexp", "--stesp"], "--steps"),
    "an option's beginning": (["plan", "a.zexp", "--ste"], "--steps"),
    "a format of findings": (["check", "a.zexp", "--format", "srif"], "sarif"),
    "a format of a plan": (["plan", "a.zexp", "-e", "sweep", "--emit", "jsn"], "json"),
    "a format of an answer": (["sql", "select 1", "--format", "jsn"], "json"),
    "an experiment": (["plan", "a.zexp", "-e", "swep"], "sweep"),
    "a param": (["check", "a.zexp", "--set", "siez=1MiB"], "size"),
    "a profile": (["check", "a.zexp", "--profile", "smok"], "smoke"),
    "a code": (["explain", "E2O3"], "E203"),
    "a kind": (["kinds", "fille"], "file"),
    "a program": (["check", "a.zex"], "a.zexp"),
    "a run": (["status", "swep-1"], "sweep-1"),
}


@pytest.mark.parametrize("way", COMMANDS)
def test_words_of_the_command_line(way: str, here: Path, capsys: CaptureFixture[str]) -> None:
    run = here / "runs/sweep-1"
    run.mkdir(parents=True)
    (run / "plan.jsonl").write_text("", "utf-8")
    arguments, meant = COMMANDS[way]
    assert guarded(arguments) in {1, 2}
    stderr = capsys.readouterr().err
    assert meant in stderr.partition("ean")[2] + stderr.partition("ossible")[2], stderr
