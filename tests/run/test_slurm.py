"""Test what Slurm reports about tasks that have ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlang.errors import RunError
from zlang.run import slurm

SAYS = """\
7_1|COMPLETED|n1
7_2|NODE_FAIL|n2
7_3|CANCELLED by 0|None assigned
"""


QUEUE = """\
6_1|COMPLETED|n4
7_1|NODE_FAIL|n1
8_1|CANCELLED|
"""


@pytest.mark.parametrize(
    ("script", "states"),
    [
        (
            f"printf '%s' '{SAYS}'",
            {"7_1": "COMPLETED on n1", "7_2": "NODE_FAIL on n2", "7_3": "CANCELLED by 0"},
        ),
        ("echo 'Slurm accounting storage is disabled' >&2; exit 1", {"7_1": "NODE_FAIL on n1"}),
    ],
    ids=["accounts", "no accounts"],
)
def test_states_of_ended_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, states: dict[str, str]
) -> None:
    """Accounting retains more than squeue, which forgets a task some minutes after its end."""
    sacct = f'case "$*" in *--jobs=7,8*) {script} ;; *) exit 2 ;; esac'
    squeue = f"""case "$*" in *--states=all*) printf '%s' '{QUEUE}' ;; *) exit 2 ;; esac"""
    for name, body in (("sacct", sacct), ("squeue", squeue)):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert slurm.outcomes({"8", "7"}) == {"6_1": "COMPLETED on n4", "8_1": "CANCELLED", **states}


def test_a_machine_without_slurm_knows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert slurm.outcomes({"7"}) == {}


def test_errors_of_several_lines_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "squeue"
    command.write_text("#!/bin/sh\nprintf 'no controller\\nno configuration\\n' >&2; exit 1\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(RunError, match=r"`squeue` failed: no controller; no configuration$"):
        slurm.tasks()
