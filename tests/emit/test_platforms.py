"""Compare the commands of plans for FreeBSD, illumos and ONTAP, which no machine here can run, with golden files.

`BLESS=1 pytest tests/emit` rewrites the files.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from zlang.check.check import Checked, Overrides
from zlang.pipeline import plans, programs
from zlang.plan.plan import Action, Plan, Setup, Step, Trial

PROGRAMS = sorted((Path(__file__).parent / "platforms").glob("*.zexp"))
_EXCLUDED = "SC2016,SC2034,SC2086,SC2050,SC2043,SC2078,SC2209"
"""What comes of values that are filled in: conditions and lists that are constant, words without quotes."""
_LINUX = re.compile(
    r"/proc/|/sys/|\b(fincore|losetup|lsblk|findmnt|readlink -e|status=none|iflag=|%N|grep -q)\b|--file-system"
)


def checked(path: Path) -> Checked:
    result = programs.check(programs.read(str(path)), Overrides())
    assert [finding.message for finding in result.findings] == []
    return result


def made_plans(path: Path) -> list[tuple[str, Plan]]:
    program = checked(path)
    return [
        (name, plans.plan(program, experiment, 1, Overrides()).plan)
        for name, experiment in program.program.experiments.items()
    ]


def commands(plan: Plan) -> dict[str, Step]:
    """Return each distinct command once, ignoring the seeds drawn for each trial."""
    steps = list(plan.header.facts)
    for item in plan.items():
        match item:
            case Setup():
                steps += (*item.make, *item.unmake)
            case Trial():
                steps += item.steps
    return {re.sub(r"--randseed=\d+", "--randseed=1", step.command): step for step in steps}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_commands_are_as_blessed(path: Path) -> None:
    lines = []
    for name, plan in made_plans(path):
        lines.append(f"# {name}\n")
        for command, step in commands(plan).items():
            claim = "" if step.expect is None else f", has to print {step.expect!r}"
            text = "" if step.action is Action.ASK else f"{command}\n"
            lines.append(f"\n# {step.action}: {step.why}{claim}\n{text}")
        lines.append(f"\n# needs {' '.join(sorted(plan.header.tools))}\n")
    golden = path.with_suffix(".txt")
    if os.environ.get("BLESS"):
        golden.write_text("".join(lines), "utf-8")
    assert "".join(lines) == golden.read_text("utf-8")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_shellcheck_finds_nothing(path: Path, tmp_path: Path) -> None:
    program = checked(path)
    for number, (name, experiment) in enumerate(program.program.experiments.items()):
        planned = plans.plan(program, experiment, 1, Overrides())
        script = tmp_path / f"{name}.sh"
        script.write_text("".join(plans.emit(planned, "sh")))
        each = tmp_path / f"{name}-commands.sh"
        each.write_text("#!/bin/sh\n" + "\n".join(f"(\n{command}\n)" for command in commands(planned.plan) if command))
        for file, more in [(each, ["-e", _EXCLUDED]), *([(script, list[str]())] if number == 0 else [])]:
            done = subprocess.run(["shellcheck", "-s", "sh", *more, file], capture_output=True, check=False)
            assert (done.stdout.decode(), done.returncode) == ("", 0)


@pytest.mark.parametrize("path", [path for path in PROGRAMS if path.stem != "ontap"], ids=lambda path: path.stem)
def test_other_platforms_need_no_linux_tools(path: Path) -> None:
    for _, plan in made_plans(path):
        assert [match.group() for command in commands(plan) if (match := _LINUX.search(command))] == []
        assert not plan.header.tools.keys() & {"fincore", "losetup", "findmnt", "truncate"} - (
            {"truncate"} if path.stem == "freebsd" else set()
        )


def test_every_word_passes_both_shells_to_the_filer() -> None:
    (_, plan) = made_plans(next(path for path in PROGRAMS if path.stem == "ontap"))[0]
    (create,) = [command for command in commands(plan) if "vol create" in command]
    spied = f"RUN=r-1; export RUN; ssh() {{ shift 4; printf '%s\\n' \"$*\" >&2; }}\n{create}"
    done = subprocess.run(["sh", "-c", spied], capture_output=True, text=True, check=True)
    sent = [shlex.split(line) for line in done.stderr.splitlines()]
    assert sent[0] == ["vol", "create", "zlang_r_1_work", "it's aggr0", "204800m"]
