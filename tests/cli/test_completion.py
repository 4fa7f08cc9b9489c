"""Test shell completion: the words offered after a command, requested as a shell requests them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

STUDY = """\
param size: size = 1GiB
param half: size = size / 2
profile small { size = 1MiB }
host lab { address = "lab" }
host store { address = "store" }
experiment first { }
experiment second { }
"""


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("zlang pl", {"plan", "plot"}),
        ("zlang kinds datas", {"dataset"}),
        ("zlang explain W50", None),
        ("zlang explain ZL001", {"ZL001"}),
        ("zlang explain R110", {"R110"}),
        ("zlang explain coordinated", {"coordinated-omission"}),
        ("zlang explain datas", {"dataset"}),
        ("zlang status study-", {"study-1"}),
        ("zlang plan study.zexp --profile s", {"small"}),
        ("zlang run study.zexp --experiment ", {"first", "second"}),
        ("zlang run study.zexp --host ", {"lab", "store"}),
        ("zlang run study.zexp --set s", {"size=", "size=1GiB"}),
        ("zlang run study.zexp --set h", {"half=", "half=VALUE"}),
        ("zlang run missing.zexp --profile ", set()),
        ("zlang check --deny client-", {"client-on-the-server"}),
    ],
)
def test_shell_completion(words: str, completed: set[str] | None, tmp_path: Path) -> None:
    (tmp_path / "runs/study-1").mkdir(parents=True)
    (tmp_path / "study.zexp").write_text(STUDY)
    variables = {"_ZLANG_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [sys.executable, "-m", "zlang.cli.app"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **variables}, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    offers = set(done.stdout.split())
    assert offers == completed or (completed is None and {"W501", "W507"} <= offers)
