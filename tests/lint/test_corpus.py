"""Test lint rules on programs that they were not written for, with and without findings."""

# ruff: noqa: E501

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from zlang.check.check import Overrides
from zlang.lint.rules import RULES
from zlang.pipeline import programs
from zlang.source import Source

HOME = 'import fio\nimport filesystems\nimport disks\nimport zfs\nimport linux\nimport nfs\ndir scratch { path = "/srv" }\n'
POOL = HOME + "pool fast on scratch { size = 8GiB }\n"
LOOP = HOME + "loop nbd on scratch { size = 8GiB }\n"
DISK = HOME + 'disk drive { id = "/dev/disk/by-id/a"  serial = "a"  size = 4TiB  %s }\n'
TWO = "loop one on scratch { size = 8GiB }\nlet store = ext4 on one {} | xfs on one {}\nfile log on store { size = 4GiB }\n"

CORPUS = [
    # Direct I/O on some targets only.
    ("ZL035", HOME + TWO + "fio io { rw = randread  direct = store is ext4 }", "on = log  run = io  cache = cold", True),
    ("ZL035", HOME + TWO + "fio io { rw = randread  direct = if store is xfs then off else on  bs = 4KiB | 64KiB }",
     "on = log  run = io  repeat = 5  cache = cold", True),
    ("ZL035", HOME + TWO + "fio io { rw = randread  direct = off | on }", "on = log  run = io  cache = cold", False),
    ("ZL035", HOME + TWO + "fio io { rw = randread  direct = on }", "on = log  run = io  cache = cold", False),
    ("ZL035", POOL + "dataset db on fast\nfile log on db { size = 1GiB }\nfio io { rw = read | randread  direct = on }",
     "on = log  run = io  cache = cold", True),
    # A dataset that makes every write synchronous.
    ("ZL049", POOL + "dataset db on fast { sync = always }\nfile log on db { size = 1GiB }\nfio io { rw = randwrite }",
     "on = log  run = io", False),
    ("ZL049", POOL + "dataset all on fast { sync = always }\ndataset db on all\nfile log on db { size = 1GiB }\n"
     "fio io { rw = write  bs = 1MiB }", "on = log  run = io", False),
    ("ZL049", POOL + "dataset db on fast { sync = standard | always }\nfile log on db { size = 1GiB }\n"
     "fio io { rw = randwrite }", "on = log  run = io", True),
    ("ZL049", LOOP + "xfs v on nbd\nfile log on v { size = 1GiB }\nfio io { rw = randrw  rwmixread = 30% | 70% }",
     "on = log  run = io", True),
    ("ZL046", POOL + "dataset db on fast { sync = always }\nfile log on db { size = 1GiB }\nfio io { rw = randwrite }",
     "on = log  run = io", True),
    ("ZL046", HOME + "pool fast on scratch { size = 8GiB  log = stripe(1) }\ndataset db on fast { sync = always }\n"
     "file log on db { size = 1GiB }\nfio io { rw = randwrite }", "on = log  run = io", False),
    ("ZL046", POOL + "dataset all on fast { sync = disabled }\ndataset db on all\nfile log on db { size = 1GiB }\n"
     "fio io { rw = randwrite  fsync = 1 | 32 }", "on = log  run = io", True),
    ("ZL046", POOL + "dataset all on fast { sync = disabled }\ndataset db on all { sync = standard }\n"
     "file log on db { size = 1GiB }\nfio io { rw = randwrite  end_fsync = on }", "on = log  run = io", False),
    # Blocks that are smaller than the sectors of the device.
    ("ZL023", DISK % "sector = 4KiB" + "pool fast on drive { ashift = 9 }\ndataset db on fast\n"
     "file log on db { size = 1GiB }\nfio io { rw = randread }", "on = log  run = io  cache = cold", True),
    ("ZL023", HOME + "loop nbd on scratch { size = 8GiB  sector_size = 4KiB }\npool fast on nbd { ashift = 9 | 12 }\n"
     "dataset db on fast\nfile log on db { size = 1GiB }\nfio io { rw = randread }", "on = log  run = io  cache = cold", True),
    ("ZL023", DISK % "sector = 4KiB" + "pool fast on drive { ashift = 12 | 13 }\ndataset db on fast\n"
     "file log on db { size = 1GiB }\nfio io { rw = randread }", "on = log  run = io  cache = cold", False),
    ("ZL023", DISK % "sector = 512B" + "pool fast on drive { ashift = 9 }\ndataset db on fast\n"
     "file log on db { size = 1GiB }\nfio io { rw = randread }", "on = log  run = io  cache = cold", False),
    # A property that a dataset inherits from its parent.
    ("ZL021", POOL + "dataset all on fast { recordsize = 16KiB }\ndataset db on all\nfile log on db { size = 1GiB }\n"
     "fio io { rw = randread  bs = 16KiB }", "on = log  run = io  cache = cold", False),
    ("ZL021", POOL + "dataset all on fast { recordsize = 1MiB }\ndataset db on all\nfile log on db { size = 1GiB }\n"
     "fio io { rw = randread  bs = 128KiB }", "on = log  run = io  cache = cold", True),
    ("ZL021", POOL + "dataset all on fast { recordsize = 16KiB }\ndataset db on all { recordsize = 64KiB | 128KiB }\n"
     "file log on db { size = 1GiB }\nfio io { rw = randread  bs = 16KiB }", "on = log  run = io  cache = cold", True),
    ("ZL032", HOME + "pool fast on scratch { size = 8GiB  cache = 1 }\ndataset all on fast { primarycache = metadata }\n"
     "dataset db on all\nfile log on db { size = 1GiB }\nfio io { rw = randread }", "on = log  run = io  cache = cold", True),
    ("ZL009", POOL + "dataset all on fast { primarycache = all | none }\ndataset db on all\nfile log on db { size = 1GiB }\n"
     "fio io { rw = randread }", "on = log  run = io", True),
    ("ZL033", POOL + "dataset all on fast { compression = off | lz4 }\ndataset db on all\n"
     "file log on db { size = 1GiB  content = compressible(40%) }\nfio io { rw = read }",
     "on = log  run = io  cache = cold", False),
    ("ZL043", POOL + "dataset all on fast { compression = off | zstd }\nzvol volume on all { size = 1GiB }\n"
     "fio io { rw = randread  numjobs = 4 }", "on = volume  run = io  cache = cold", True),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "program", "experiment", "is_found"), CORPUS)
def test_a_rule_on_a_fresh_program(rule: str, program: str, experiment: str, is_found: bool) -> None:
    assert rule in {listed.lint.id for listed in RULES}
    checked = programs.check(Source("fresh.zexp", f"{program}\nexperiment fresh {{ {experiment} }}\n"), Overrides())
    assert checked.is_sound, [finding.message for finding in checked.findings]
    assert (rule in {finding.code.id for finding in programs.lint(checked, {})}) is is_found


# --- programs in files, one file for each rule

FILES = sorted((Path(__file__).parent / "corpus").glob("*.txt"))
IMPORTS = "".join(f"import {name}\n" for name in ("disks", "filesystems", "fio", "linux", "nfs", "treatments", "zfs"))
HERE = 'dir here { path = "/srv" }\n'


def programs_of(file: Path) -> Iterator[tuple[str, str]]:
    """Return each program with its expected outcome: `found`, `silent` or the code of an error."""
    parts = re.split(r"^#! (\w+)\n", file.read_text("utf-8"), flags=re.MULTILINE)[1:]
    for expected, text in zip(parts[::2], parts[1::2], strict=True):
        has_place = re.search(r"^dir \w+ on", text, re.MULTILINE)
        yield expected, IMPORTS + ("" if has_place else HERE) + text


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_rule_on_programs_of_others(file: Path) -> None:
    counts = {"silent": 0, "found": 0}
    for number, (expected, text) in enumerate(programs_of(file), start=1):
        checked = programs.check(Source(f"{file.stem}.{number}.zexp", text), Overrides())
        errors = {finding.code.id for finding in checked.findings if finding.code.id.startswith("E")}
        if expected.startswith("E"):
            assert errors == {expected}, (number, text)
        else:
            assert checked.is_sound, (number, [finding.message for finding in checked.findings])
            codes = {finding.code.id for finding in programs.lint(checked, {})}
            assert (file.stem in codes) is (expected == "found"), (number, text)
        counts["silent" if expected == "silent" else "found"] += 1
    assert min(counts.values()) >= 2, f"{counts}: two programs with the finding, and two without"


def test_each_rule_has_programs() -> None:
    covered = {file.stem for file in FILES} - EXCLUDED | {case[0] for case in CORPUS}
    assert {rule.lint.id for rule in RULES} == covered, (
        "write tests/lint/corpus/ID.txt for each new rule: two programs after `#! found`, and two after `#! silent`"
    )


EXCLUDED = {"ZL027", "ZL061", "ZL062", "ZL065", "ZL066", "ZL075"}
"""What the language excludes by an error, so that there is no rule."""
